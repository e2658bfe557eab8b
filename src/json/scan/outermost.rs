//! The members of the outermost object, or the elements of the outermost array, as their separators go by.

use super::grammar::Claims;
use super::group::Tokens;
use super::nesting::{Levels, Nesting};
use super::pass::Rejected;
use super::text::Text;
use super::{Members, Root, Span};

/// The outermost container, and the separators in it that have been seen but not delivered yet.
#[derive(Default)]
pub(super) struct Outermost {
    pub(super) root: Root,
    has_begun: bool,
    /// Just after the bracket or comma before the first undelivered member.
    start: usize,
    /// The positions of the members' colons and ends, in turn.
    positions: [u32; 2 * MEMBERS + STEP],
    len: usize,
}

/// How many members are delivered at once: a few more than messages have.
const MEMBERS: usize = 8;

/// How many positions are written at a time.
const STEP: usize = 4;

impl Outermost {
    /// Whether there has been any token.
    #[inline(always)]
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Opens the outermost container, with the bracket at `at`.
    #[inline(always)]
    pub(super) fn open(
        &mut self,
        at: usize,
        curly: bool,
        nesting: &mut Nesting,
        max_depth: u32,
    ) -> Result<(), Rejected> {
        if max_depth == 0 {
            return Err(Rejected);
        }
        self.has_begun = true;
        self.start = at + 1;
        self.root = if curly { Root::Object } else { Root::Array { len: 0 } };
        nesting.push(curly);
        Ok(())
    }

    /// Enters the outermost container if `tokens` begin with its bracket, and returns the bracket's bit. `places` locates
    /// tokens in the text.
    ///
    /// Outside containers, a text has exactly one token.
    #[inline(always)]
    pub(super) fn enter<I: Iterator<Item = (u32, u64)>>(
        &mut self,
        tokens: Tokens,
        places: impl FnOnce(u64) -> I,
        nesting: &mut Nesting,
        max_depth: u32,
    ) -> Result<u64, Rejected> {
        if nesting.depth() > 0 || tokens.new == 0 {
            return Ok(0);
        }
        let first = tokens.new & tokens.new.wrapping_neg();
        if self.has_begun || (tokens.open & first == 0 && tokens.new != first) {
            return Err(Rejected);
        }
        self.has_begun = true;
        if tokens.open & first == 0 {
            return Ok(0);
        }
        let (at, place) = places(first).find(|&(_, place)| place != 0).unwrap_or_default();
        self.open((at + place.trailing_zeros()) as usize, tokens.curly & first != 0, nesting, max_depth)?;
        Ok(first)
    }

    /// Notes the separators of members, or counts those of elements. `places` locates tokens in the text.
    ///
    /// All other checks have passed, so in an object colons alternate with commas.
    #[inline(always)]
    pub(super) fn separators<M: Members, I: Iterator<Item = (u32, u64)>>(
        &mut self,
        tokens: Tokens,
        claims: Claims,
        levels: Levels,
        places: impl FnOnce(u64) -> I,
        text: &Text<'_>,
        members: &mut M,
    ) -> Result<(), Rejected> {
        let Levels { outermost, end, .. } = levels;
        // Nothing may follow the outermost container.
        if end != 0 && tokens.new > (end | (end - 1)) {
            return Err(Rejected);
        }
        let separators = ((tokens.comma | tokens.colon) & tokens.new & outermost) | end;
        if separators == 0 {
            return Ok(());
        }
        if let Root::Array { len } = &mut self.root {
            // Each separator ends an element, except the end of an empty array.
            if claims.empty & end == 0 {
                *len += separators.count_ones() as usize;
            }
            return Ok(());
        }
        for (at, here) in places(separators) {
            self.note(at, here, text, members);
        }
        Ok(())
    }

    /// Notes the separators of one block. Always writes [`STEP`] positions at a time, since a branch on their number would
    /// often be mispredicted.
    #[inline(always)]
    fn note<M: Members>(&mut self, at: u32, mut separators: u64, text: &Text<'_>, members: &mut M) {
        let mut count = separators.count_ones() as usize;
        loop {
            if self.len > 2 * MEMBERS {
                self.deliver_some(text.as_bytes(), text.has_blanks(), members);
            }
            if let Some(step) = self.positions[self.len..].first_chunk_mut::<STEP>() {
                for position in step {
                    *position = at.wrapping_add(separators.trailing_zeros());
                    separators &= separators.wrapping_sub(1);
                }
            }
            if count <= STEP {
                self.len += count;
                return;
            }
            self.len += STEP;
            count -= STEP;
        }
    }

    /// Passes on the members that have not been delivered, at the end of the text.
    #[inline(always)]
    pub(super) fn deliver<M: Members>(&mut self, text: &Text<'_>, members: &mut M) {
        if text.has_blanks() {
            return self.deliver_some(text.as_bytes(), true, members);
        }
        let mut start = self.start;
        // An empty object has no pair, just its end.
        for &[colon, end] in self.positions[..self.len].as_chunks().0 {
            let (colon, end) = (colon as usize, end as usize);
            members.member(text.as_bytes(), Span::new(start, colon), Span::new(colon + 1, end));
            start = end + 1;
        }
    }

    /// Passes on the members that are complete, to make room for others.
    #[inline(never)]
    fn deliver_some<M: Members>(&mut self, text: &[u8], has_blanks: bool, members: &mut M) {
        let (pairs, rest) = self.positions[..self.len].as_chunks();
        for &[colon, end] in pairs {
            let (colon, end) = (colon as usize, end as usize);
            let (key, value) = if has_blanks {
                (trimmed(text, self.start, colon), trimmed(text, colon + 1, end))
            } else {
                (Span::new(self.start, colon), Span::new(colon + 1, end))
            };
            members.member(text, key, value);
            self.start = end + 1;
        }
        // What remains is a colon whose value has not ended yet, or the end of an empty object.
        let rest = rest.first().copied();
        self.len = usize::from(rest.is_some());
        self.positions[0] = rest.unwrap_or(0);
    }
}

/// The span from `start` to `end`, which is not all blank, without the blanks at both ends.
fn trimmed(text: &[u8], start: usize, end: usize) -> Span {
    let item = text[start..end].trim_ascii_start();
    let start = end - item.len();
    Span::new(start, start + item.trim_ascii_end().len())
}

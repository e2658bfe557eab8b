//! The members of the outermost object, or the elements of the outermost array, as their separators go by.

use super::cpu::Masks;
use super::group::Origin;
use super::nesting::Nesting;
use super::pack::{JUDGED, Tokens};
use super::pairs::Levels;
use super::pass::Rejected;
use super::text::Text;
use super::{Members, Root, Span};

/// What has been seen and not delivered yet.
#[derive(Default)]
pub(super) struct Outermost {
    pub(super) root: Root,
    has_begun: bool,
    /// Just after the bracket or comma before the first member that has not been delivered.
    start: usize,
    /// Where the members' colons and ends are, one after the other.
    positions: [u32; 2 * MEMBERS],
    len: usize,
}

/// How many members are delivered at once: as many as messages have, and a few more.
const MEMBERS: usize = 8;

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

    /// Opens the outermost container, if `tokens` begin with it: the token that did.
    ///
    /// Outside of containers there is one token only.
    #[inline(always)]
    pub(super) fn enter(
        &mut self,
        tokens: Tokens,
        origins: &[Origin],
        nesting: &mut Nesting,
        max_depth: u32,
    ) -> Result<u64, Rejected> {
        if nesting.depth() > 0 {
            return Ok(0);
        }
        let first = 1 << JUDGED;
        if self.has_begun || (tokens.open & first == 0 && tokens.new != first) {
            return Err(Rejected);
        }
        self.has_begun = true;
        if tokens.open & first == 0 {
            return Ok(0);
        }
        let at = origins[0].at + origins[0].tokens.trailing_zeros();
        self.open(at as usize, tokens.curly & first != 0, nesting, max_depth)?;
        Ok(first)
    }

    /// Takes the separators among `tokens`, which have been found right: so colons and ends take turns in an object.
    #[inline(always)]
    pub(super) fn separators<C: Masks, M: Members>(
        &mut self,
        cpu: C,
        tokens: Tokens,
        levels: Levels,
        origins: &[Origin],
        text: &Text<'_>,
        members: &mut M,
    ) -> Result<(), Rejected> {
        let Levels { outermost, end, .. } = levels;
        if end != 0 && tokens.new > (end | (end - 1)) {
            return Err(Rejected);
        }
        let separators = ((tokens.comma | tokens.colon) & tokens.new & outermost) | end;
        if separators == 0 {
            return Ok(());
        }
        if let Root::Array { len } = &mut self.root {
            // Without elements, its end comes right after its beginning.
            if tokens.open << 1 & end == 0 {
                *len += separators.count_ones() as usize;
            }
            return Ok(());
        }
        for origin in origins {
            let mut here = cpu.scatter(separators >> (origin.before & 63), origin.tokens);
            while here != 0 {
                if self.len == self.positions.len() {
                    self.deliver(text, members);
                }
                self.positions[self.len] = origin.at + here.trailing_zeros();
                self.len += 1;
                here &= here - 1;
            }
        }
        Ok(())
    }

    /// Passes all members on that are complete.
    #[inline(always)]
    pub(super) fn deliver<M: Members>(&mut self, text: &Text<'_>, members: &mut M) {
        let (bytes, has_blanks) = (text.as_bytes(), text.has_blanks());
        // An empty object has one separator, which makes no member.
        for [colon, end] in self.positions[..self.len].as_chunks().0 {
            let (colon, end) = (*colon as usize, *end as usize);
            let (key, value) = if has_blanks {
                (trimmed(bytes, self.start, colon), trimmed(bytes, colon + 1, end))
            } else {
                (Span::new(self.start, colon), Span::new(colon + 1, end))
            };
            members.member(bytes, key, value);
            self.start = end + 1;
        }
        self.len = 0;
    }
}

/// The span from `start` to `end`, which is not empty, without the blanks at both ends.
#[inline(never)]
fn trimmed(text: &[u8], start: usize, end: usize) -> Span {
    let item = text[start..end].trim_ascii_start();
    let start = end - item.len();
    Span::new(start, start + item.trim_ascii_end().len())
}

//! Reports the members of the outermost object, or counts the elements of the outermost array, as their ends are
//! scanned.

use super::block_reader::BlockReader;
use super::grammar::Claims;
use super::group::Tokens;
use super::nesting::{Levels, Nesting};
use super::pass::Rejected;
use super::{Member, Members, Root, Span};

/// The outermost container, and how much of it has been delivered.
#[derive(Default)]
pub(super) struct Outermost {
    pub(super) root: Root,
    has_begun: bool,
    /// The position after the bracket or comma before the next member.
    start: usize,
}

impl Outermost {
    /// Whether any token has been scanned.
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

    /// Enters the outermost container if `tokens` begin with its bracket, and returns the bracket's bit. `places`
    /// locates tokens in the text.
    ///
    /// A text that isn't a container must have exactly one token.
    #[inline(always)]
    pub(super) fn enter<I: Iterator<Item = usize>>(
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
        let at = places(first).next().unwrap_or_default();
        self.open(at, tokens.curly & first != 0, nesting, max_depth)?;
        Ok(first)
    }

    /// Reports the members that end in this group, or counts the elements. `places` locates tokens in the text.
    ///
    /// All other checks have passed, so each member of an object is a key, a colon and a value.
    #[inline(always)]
    pub(super) fn deliver<M: Members, I: Iterator<Item = usize>>(
        &mut self,
        tokens: Tokens,
        claims: Claims,
        levels: Levels,
        places: impl FnOnce(u64) -> I,
        text: &BlockReader<'_>,
        members: &mut M,
    ) -> Result<(), Rejected> {
        let Levels { outermost, end, .. } = levels;
        // Nothing may follow the outermost container.
        if end != 0 && tokens.new > (end | (end - 1)) {
            return Err(Rejected);
        }
        // The end of an empty container isn't the end of a member or element.
        let ends = (tokens.comma & tokens.new & outermost) | (end & !claims.empty);
        if ends == 0 {
            return Ok(());
        }
        if let Root::Array { len } = &mut self.root {
            *len += ends.count_ones() as usize;
            return Ok(());
        }
        for end in places(ends) {
            let span = Span::new(self.start, end);
            members.member(text.as_bytes(), Member { span, may_have_blanks: text.has_blanks() });
            self.start = end + 1;
        }
        Ok(())
    }
}

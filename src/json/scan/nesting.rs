//! Which brackets are open: a bit each.

use super::pairs::{Brackets, Levels};
use super::pass::Rejected;

/// How deep a text may be, whatever the rules say: what fits here.
pub(crate) const DEEPEST: u32 = 1024;

const WORD: u32 = u64::BITS;

/// The open containers: 1 for an object, 0 for an array.
#[derive(Debug, Default)]
pub(in crate::json) struct Nesting {
    depth: u32,
    /// The innermost 64, the innermost of all in bit 0.
    kinds: u64,
    /// Those around them, the outermost in bit 0 of the first word.
    outer: [u64; (DEEPEST / WORD) as usize],
}

impl Nesting {
    #[inline(always)]
    pub(in crate::json) fn depth(&self) -> u32 {
        self.depth
    }

    /// All ones in an object, otherwise zero.
    #[inline(always)]
    pub(in crate::json) fn in_object(&self) -> u64 {
        (self.kinds & 1).wrapping_neg()
    }

    /// The innermost 64 containers, the innermost in bit 0.
    #[inline(always)]
    pub(super) fn kinds(&self) -> u64 {
        self.kinds
    }

    /// The depth must be below [`DEEPEST`].
    #[inline(always)]
    pub(in crate::json) fn push(&mut self, curly: bool) {
        if let Some(place) = self.depth.checked_sub(WORD) {
            let word = &mut self.outer[(place / WORD) as usize];
            *word = *word & !(1 << (place % WORD)) | (self.kinds >> (WORD - 1)) << (place % WORD);
        }
        self.depth += 1;
        self.kinds = self.kinds << 1 | u64::from(curly);
    }

    /// The depth must not be zero.
    #[inline(always)]
    pub(in crate::json) fn pop(&mut self) {
        self.depth -= 1;
        self.kinds >>= 1;
        if let Some(place) = self.depth.checked_sub(WORD) {
            self.kinds |= (self.outer[(place / WORD) as usize] >> (place % WORD) & 1) << (WORD - 1);
        }
    }

    /// Whether `opened` more brackets may be deeper than `max_depth`, or than a word has bits.
    #[inline(always)]
    pub(super) fn may_be_deep(&self, opened: u32, max_depth: u32) -> bool {
        self.depth + opened >= max_depth.min(WORD)
    }

    /// Closes as many containers, and opens those in `open`, which `curly` says the kind of. It must not
    /// [be deep](Self::may_be_deep), nor must more be closed than are open.
    #[inline(always)]
    pub(super) fn close_and_open(&mut self, closed: u32, mut open: u64, curly: u64) {
        self.depth = self.depth - closed + open.count_ones();
        self.kinds >>= closed;
        while open != 0 {
            self.kinds = self.kinds << 1 | (curly >> open.trailing_zeros() & 1);
            open &= open - 1;
        }
    }

    /// Goes through brackets one by one, for as deep as they may get.
    #[cold]
    #[inline(never)]
    pub(super) fn walk(&mut self, brackets: Brackets, max_depth: u32) -> Result<Levels, Rejected> {
        let mut levels = Levels { close_in_object: 0, outermost: 0, end: 0 };
        let mut rest = brackets.open | brackets.close;
        // The tokens up to the bracket before.
        let mut past = 0;
        while rest != 0 {
            let bracket = rest & rest.wrapping_neg();
            rest ^= bracket;
            if self.depth == 1 {
                levels.outermost |= (bracket - 1) & !past;
            }
            past = bracket | (bracket - 1);
            if brackets.open & bracket != 0 {
                if self.depth == 0 || self.depth >= max_depth {
                    return Err(Rejected);
                }
                self.push(brackets.curly & bracket != 0);
            } else {
                if self.depth == 0 {
                    return Err(Rejected);
                }
                self.pop();
                levels.close_in_object |= self.in_object() & bracket;
                if self.depth == 0 {
                    levels.end = bracket;
                }
            }
        }
        if self.depth == 1 {
            levels.outermost |= !past;
        }
        Ok(levels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_stack_down_to_the_deepest() {
        let mut nesting = Nesting::default();
        let mut model = vec![false];
        for i in 0..DEEPEST {
            let curly = i % 3 == 0 || i % 64 == 63;
            nesting.push(curly);
            model.push(curly);
        }
        while let Some(innermost) = model.pop() {
            assert_eq!(nesting.in_object() != 0, innermost);
            assert_eq!(nesting.depth() as usize, model.len());
            if nesting.depth() > 0 {
                nesting.pop();
            }
        }
    }
}

//! The stack of open brackets, one bit each.

use super::cpu::Masks;
use super::pass::Rejected;

/// The deepest nesting supported, regardless of the rules.
pub const DEEPEST: u32 = 1024;

const WORD: u32 = u64::BITS;

/// The stack of open containers: 1 for an object, 0 for an array.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    depth: u32,
    /// The innermost 64 containers, starting with the innermost in bit 0.
    kinds: u64,
    /// The remaining containers, starting with the outermost. `None` until there are any, because few texts are that
    /// deep, and initializing the array takes time.
    outer: Option<[u64; (DEEPEST / WORD) as usize]>,
}

/// Brackets among the tokens of a group.
#[derive(Clone, Copy)]
pub(super) struct Brackets {
    pub(super) open: u64,
    pub(super) close: u64,
    /// Which of the brackets are curly. Bits of other tokens are arbitrary.
    pub(super) curly: u64,
    /// Opening brackets after a colon, which therefore must be in an object.
    pub(super) open_in_object: u64,
}

/// The nesting of the tokens of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    /// Closing brackets whose container is in an object.
    pub(super) close_in_object: u64,
    /// Tokens that are directly in the outermost container. Bits of brackets are arbitrary.
    pub(super) outermost: u64,
    /// The bracket that closes the outermost container, or 0.
    pub(super) end: u64,
}

impl Nesting {
    #[inline(always)]
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// All ones in an object, otherwise zero.
    #[inline(always)]
    pub(crate) fn in_object(&self) -> u64 {
        (self.kinds & 1).wrapping_neg()
    }

    /// The innermost 64 containers, starting with the innermost in bit 0.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn kinds(&self) -> u64 {
        self.kinds
    }

    /// Opens a container. The depth must be below [`DEEPEST`].
    #[inline(always)]
    pub(crate) fn push(&mut self, curly: bool) {
        if let Some(place) = self.depth.checked_sub(WORD) {
            let word = &mut self.outer.get_or_insert_default()[(place / WORD) as usize];
            *word = *word & !(1 << (place % WORD)) | (self.kinds >> (WORD - 1)) << (place % WORD);
        }
        self.depth += 1;
        self.kinds = self.kinds << 1 | u64::from(curly);
    }

    /// Closes the innermost container. The depth must not be zero.
    #[inline(always)]
    pub(crate) fn pop(&mut self) {
        self.depth -= 1;
        self.kinds >>= 1;
        if let Some(place) = self.depth.checked_sub(WORD) {
            let word = self.outer.get_or_insert_default()[(place / WORD) as usize];
            self.kinds |= (word >> (place % WORD) & 1) << (WORD - 1);
        }
    }

    /// Whether `brackets` might exceed `max_depth` or the 64 levels that fit in a word, so that only
    /// [`walk`](Self::walk) can handle them.
    #[inline(always)]
    pub(super) fn may_be_deep(&self, brackets: Brackets, max_depth: u32) -> bool {
        self.depth + brackets.open.count_ones() >= max_depth.min(WORD)
    }

    /// Closes some containers and opens others. The low bits of `kinds` are the kinds of the opened ones, outermost
    /// first.
    ///
    /// No more containers may be closed than are open, and the nesting must not [be deep](Self::may_be_deep).
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn close_and_open(&mut self, closed: u32, opened: u32, kinds: u64) {
        self.depth = self.depth - closed + opened;
        self.kinds >>= closed;
        if opened == 0 {
            return;
        }
        // Reverse them, since `self.kinds` begins with the innermost.
        let inner = kinds.reverse_bits() >> (WORD - opened);
        self.kinds = self.kinds << opened | inner;
    }

    /// Processes brackets one by one. They must not [be deep](Self::may_be_deep).
    ///
    /// No branch depends on the type of a bracket, because it would often be mispredicted.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the depth was 32 bits wide, and has changed by 64 at most")]
    pub(super) fn steps<C: Masks>(&mut self, cpu: C, brackets: Brackets) -> Result<Levels, Rejected> {
        let Brackets { open, close, curly, .. } = brackets;
        let mut kinds = self.kinds;
        let mut rest = open | close;
        let mut in_object = 0;
        if self.depth >= close.count_ones() + 2 {
            // These brackets can't reach the outermost container.
            while rest != 0 {
                let at = rest.trailing_zeros();
                rest &= rest - 1;
                let opens = open >> at & 1;
                kinds = (kinds << opens >> (1 - opens)) | (curly >> at & opens);
                in_object |= (kinds & 1) << at;
            }
            (self.depth, self.kinds) = (self.depth + open.count_ones() - close.count_ones(), kinds);
            return Ok(Levels { close_in_object: in_object & close, outermost: 0, end: 0 });
        }
        let mut depth = u64::from(self.depth);
        // Brackets that open or close a container directly in the outermost one.
        let mut second = 0;
        let mut lowest = 0;
        while rest != 0 {
            let at = rest.trailing_zeros();
            rest &= rest - 1;
            let opens = open >> at & 1;
            kinds = (kinds << opens >> (1 - opens)) | (curly >> at & opens);
            in_object |= (kinds & 1) << at;
            second |= u64::from(depth.wrapping_add(opens) == 2) << at;
            lowest |= depth.wrapping_sub(1);
            depth = depth.wrapping_add(2 * opens).wrapping_sub(1);
        }
        if lowest >> 63 != 0 {
            return Err(Rejected);
        }
        let deeper = cpu.prefix_xor(second) ^ if self.depth >= 2 { !0 } else { 0 };
        let end = if depth == 0 && close != 0 { 1 << (63 - close.leading_zeros()) } else { 0 };
        (self.depth, self.kinds) = (depth as u32, kinds);
        Ok(Levels { close_in_object: in_object & close, outermost: !deeper, end })
    }

    /// Processes brackets one by one, at any depth.
    #[cold]
    #[inline(never)]
    pub(super) fn walk(&mut self, brackets: Brackets, max_depth: u32) -> Result<Levels, Rejected> {
        let mut levels = Levels { close_in_object: 0, outermost: 0, end: 0 };
        let mut rest = brackets.open | brackets.close;
        // Tokens up to the previous bracket.
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
        // The second round uses the opposite kinds, to check that no bits of the first round remain.
        for opposite in [false, true] {
            let mut model = vec![false];
            for i in 0..DEEPEST {
                let curly = (i % 3 == 0 || i % 64 == 63) ^ opposite;
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
}

//! Which brackets are open: a bit each.

/// How deep a text may be at the most, whatever the rules say: what fits here.
pub(crate) const DEEPEST: u32 = 1024;

const WORD: u32 = u64::BITS;

/// A stack of bits: set for `{`, clear for `[`.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    /// The innermost brackets, the last one lowest: up to 64 of them.
    top: u64,
    depth: u32,
    /// The ones further out, 64 a word.
    below: [u64; (DEEPEST / WORD) as usize - 1],
}

impl Nesting {
    #[inline(always)]
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// All ones if the innermost bracket is `{`, otherwise zero.
    #[inline(always)]
    pub(super) fn in_object(&self) -> u64 {
        (self.top & 1).wrapping_neg()
    }

    /// The depth must be below [`DEEPEST`].
    #[inline(always)]
    pub(super) fn push(&mut self, curly: bool) {
        if self.depth.is_multiple_of(WORD) && self.depth != 0 {
            self.below[(self.depth / WORD) as usize - 1] = self.top;
        }
        self.top = self.top << 1 | u64::from(curly);
        self.depth += 1;
    }

    /// The depth must not be zero.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> bool {
        let curly = self.top & 1 != 0;
        self.top >>= 1;
        self.depth -= 1;
        if self.depth.is_multiple_of(WORD) && self.depth != 0 {
            self.top = self.below[(self.depth / WORD) as usize - 1];
        }
        curly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_stack_down_to_the_deepest() {
        let mut nesting = Nesting::default();
        let mut model = Vec::new();
        for i in 0..DEEPEST {
            let curly = i % 3 == 0 || i % 64 == 63;
            nesting.push(curly);
            model.push(curly);
            assert_eq!(nesting.in_object() != 0, curly);
        }
        while let Some(curly) = model.pop() {
            assert_eq!(nesting.in_object() != 0, curly);
            assert_eq!(nesting.pop(), curly);
            assert_eq!(nesting.depth() as usize, model.len());
        }
    }
}

//! Which brackets are open: a bit each.

/// How deep a text may be at the most, whatever the rules say: what fits here.
pub(crate) const DEEPEST: u32 = 1024;

const WORD: u32 = u64::BITS;

/// The containers around a byte: 1 for an object, 0 for an array.
#[derive(Debug, Default)]
pub(in crate::json) struct Nesting {
    depth: u32,
    /// All ones in an object, otherwise zero.
    innermost: u64,
    /// What the container at each depth is, as far as it is open, a bit each. At depth 0 that is the text, a 0.
    containers: [u64; (DEEPEST / WORD) as usize + 1],
}

/// What the brackets of a block do.
pub(super) struct Levels {
    /// Those after which there is an object where there was an array, or the other way round.
    pub(super) changes: u64,
    /// Those that enter the second level, or leave it; `None` if all is below it.
    pub(super) second: Option<u64>,
}

impl Nesting {
    #[inline(always)]
    pub(in crate::json) fn depth(&self) -> u32 {
        self.depth
    }

    /// All ones in an object, otherwise zero.
    #[inline(always)]
    pub(in crate::json) fn in_object(&self) -> u64 {
        self.innermost
    }

    fn is_object(&self, depth: u32) -> bool {
        self.containers[(depth / WORD) as usize] >> (depth % WORD) & 1 != 0
    }

    /// Goes through the brackets of a block, of which `curly` says which open an object. `None` if they get too deep, or one
    /// closes what is not open.
    ///
    /// In a block that certainly stays below the second level, that is not looked at.
    // No branch depends on what the brackets are: nobody could predict it.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the depth was 32 bits wide, and has changed by 64 at the most")]
    pub(super) fn block(&mut self, open: u64, close: u64, curly: u64, max_depth: u32) -> Option<Levels> {
        if self.depth + open.count_ones() >= max_depth.min(WORD - 1) {
            return self.deep_block(open, close, curly, max_depth);
        }
        let mut depth = u64::from(self.depth);
        let mut containers = self.containers[0];
        let mut rest = open | close;
        let mut before = containers >> depth;
        let mut changes = 0;
        let mut second = None;
        if self.depth >= close.count_ones() + 2 {
            while rest != 0 {
                let at = rest.trailing_zeros();
                rest &= rest - 1;
                // For a bracket that closes this says nothing, and is overwritten when the next one opens.
                containers = containers & !(2 << depth) | (curly >> at & 1) << 1 << depth;
                depth = depth + 2 * (open >> at & 1) - 1;
                let after = containers >> depth;
                changes |= ((before ^ after) & 1) << at;
                before = after;
            }
        } else {
            let mut lowest = 0;
            let mut crossings = 0;
            while rest != 0 {
                let at = rest.trailing_zeros();
                rest &= rest - 1;
                let opens = open >> at & 1;
                containers = containers & !(2 << (depth & 63)) | (curly >> at & 1) << 1 << (depth & 63);
                crossings |= u64::from(depth.wrapping_add(opens) == 2) << at;
                lowest |= depth.wrapping_sub(1);
                depth = depth.wrapping_add(2 * opens).wrapping_sub(1);
                let after = containers >> (depth & 63);
                changes |= ((before ^ after) & 1) << at;
                before = after;
            }
            if lowest >> 63 != 0 {
                return None;
            }
            second = Some(crossings);
        }
        (self.depth, self.containers[0], self.innermost) = (depth as u32, containers, (before & 1).wrapping_neg());
        Some(Levels { changes, second })
    }

    /// [`block`](Self::block) for a block that may get deeper than `max_depth`, or than a word has bits.
    #[cold]
    #[inline(never)]
    fn deep_block(&mut self, open: u64, close: u64, curly: u64, max_depth: u32) -> Option<Levels> {
        let mut rest = open | close;
        let mut changes = 0;
        let mut second = 0;
        while rest != 0 {
            let bracket = rest & rest.wrapping_neg();
            rest ^= bracket;
            let (depth, in_object) = (self.depth, self.in_object());
            if depth == 0 || (open & bracket != 0 && depth == max_depth) {
                return None;
            }
            if open & bracket != 0 {
                self.push(curly & bracket != 0);
            } else {
                self.pop();
            }
            if depth + self.depth == 3 {
                second |= bracket;
            }
            if in_object != self.in_object() {
                changes |= bracket;
            }
        }
        Some(Levels { changes, second: Some(second) })
    }

    /// The depth must be below [`DEEPEST`].
    #[inline(always)]
    pub(in crate::json) fn push(&mut self, curly: bool) {
        self.depth += 1;
        let word = &mut self.containers[(self.depth / WORD) as usize];
        *word = *word & !(1 << (self.depth % WORD)) | u64::from(curly) << (self.depth % WORD);
        self.innermost = u64::from(curly).wrapping_neg();
    }

    /// The depth must not be zero.
    #[inline(always)]
    pub(in crate::json) fn pop(&mut self) {
        self.depth -= 1;
        self.innermost = u64::from(self.is_object(self.depth)).wrapping_neg();
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

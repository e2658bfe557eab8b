//! A stack of the open brackets inside the outermost object.

/// How many brackets can be open. Each takes one bit, 128 KiB in all.
pub(super) const MAX_OPEN: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Brackets {
    /// One bit per bracket, set for `{`. The first bracket is the lowest bit of the first byte.
    bits: Vec<u8>,
    depth: usize,
}

impl Brackets {
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether the innermost open value is an object. At depth 0, that is the outermost object.
    pub(super) fn in_object(&self) -> bool {
        match self.depth.checked_sub(1) {
            Some(last) => self.bits[last / 8] >> (last % 8) & 1 == 1,
            None => true,
        }
    }

    /// Pushes a bracket. Returns false if too many are open already.
    pub(super) fn open(&mut self, byte: u8) -> bool {
        if self.depth == MAX_OPEN {
            return false;
        }
        let (at, bit) = (self.depth / 8, 1 << (self.depth % 8));
        if at == self.bits.len() {
            self.bits.push(0);
        }
        match byte {
            b'{' => self.bits[at] |= bit,
            _ => self.bits[at] &= !bit,
        }
        self.depth += 1;
        true
    }

    pub(super) fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
}

//! The brackets that are open inside the outermost object.

/// How many can be open. Each takes a bit of memory, so these are 128 KiB.
pub(super) const MOST: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Brackets {
    /// A bit for each, set for `{`: the first one is the lowest bit of the first byte.
    bits: Vec<u8>,
    depth: usize,
}

impl Brackets {
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether the innermost value that is open is an object. The outermost one always is.
    pub(super) fn in_object(&self) -> bool {
        match self.depth.checked_sub(1) {
            Some(last) => self.bits[last / 8] >> (last % 8) & 1 == 1,
            None => true,
        }
    }

    /// False if too many are open already.
    pub(super) fn open(&mut self, byte: u8) -> bool {
        if self.depth == MOST {
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

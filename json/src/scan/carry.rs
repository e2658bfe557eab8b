//! Moves the bits of masks to the next byte, or to the end of a run of bytes, with carries between blocks.

/// A bit carried from one block into the next.
#[derive(Clone, Copy, Default)]
pub(super) struct Carry(pub(super) u64);

impl Carry {
    /// Moves each bit of `marks` that is in a run of ones in `run` to the first position after that run. Bits outside
    /// runs stay in place, and several bits in one run become one. The carry of the previous block is treated like a
    /// bit at position 0.
    #[inline(always)]
    pub(super) fn land(&mut self, marks: u64, run: u64) -> u64 {
        let marks = marks | self.0;
        let (sum, overflows) = run.overflowing_add(marks & run);
        self.0 = u64::from(overflows);
        (sum | marks) & !run
    }

    /// Moves each bit of `marks` to the next byte.
    #[inline(always)]
    pub(super) fn step(&mut self, marks: u64) -> u64 {
        let stepped = marks << 1 | self.0;
        self.0 = marks >> 63;
        stepped
    }

    /// Moves each bit of `marks` to the next byte, and then as [`land`](Self::land) does.
    #[inline(always)]
    pub(super) fn land_after(&mut self, marks: u64, run: u64) -> u64 {
        let landed = self.land(marks << 1, run);
        self.0 |= marks >> 63;
        landed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lands_after_the_run() {
        let mut carry = Carry::default();
        assert_eq!(carry.land(0b0000_0100, 0b0011_1110), 0b0100_0000);
        assert_eq!(carry.land(0b0001_0100, 0b0011_1110), 0b0100_0000);
        assert_eq!(carry.land(0b0100_0000, 0b0011_1110), 0b0100_0000);
        assert_eq!(carry.land(0b0100_0001, 0b1011_1110), 0b0100_0001);
        assert_eq!(carry.land(0b0100_0100, 0b0011_1110), 0b0100_0000);
        assert_eq!(carry.0, 0);
    }

    #[test]
    fn runs_on_into_the_next_block() {
        let mut carry = Carry::default();
        assert_eq!(carry.land(1 << 62, 0b11 << 62), 0);
        assert_eq!(carry.land(0, !0), 0);
        assert_eq!(carry.land(0, 0b111), 0b1000);
        assert_eq!(carry.land(0, 0b111), 0);
        assert_eq!(carry.land(1 << 63, 1 << 63), 0);
        assert_eq!(carry.land(1, 0b111), 0b1000);
        assert_eq!(carry.step(1 << 63 | 1), 0b10);
        assert_eq!(carry.step(0), 1);
        assert_eq!(carry.land_after(1 << 63, 0), 0);
        assert_eq!(carry.land_after(0, 0b1), 0b10);
    }
}

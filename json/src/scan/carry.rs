//! Masks that move: what stands at one byte is asked of the next, or of the next that is something else.

/// A bit that runs on from one block into the next.
#[derive(Clone, Copy, Default)]
pub(super) struct Carry(pub(super) u64);

impl Carry {
    /// Where each bit of `marks` comes out of the run of ones in `run` that it stands in, or where it is if it stands
    /// in none; and so for a bit that ran out of the block before. Several bits in one run come out as one.
    #[inline(always)]
    pub(super) fn land(&mut self, marks: u64, run: u64) -> u64 {
        let marks = marks | self.0;
        let (sum, overflows) = run.overflowing_add(marks & run);
        self.0 = u64::from(overflows);
        (sum | marks) & !run
    }

    /// The byte after each bit of `marks`.
    #[inline(always)]
    pub(super) fn step(&mut self, marks: u64) -> u64 {
        let stepped = marks << 1 | self.0;
        self.0 = marks >> 63;
        stepped
    }

    /// [`land`](Self::land) from the byte after each bit of `marks`.
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

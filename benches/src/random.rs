//! Numbers that look random, and are the same everywhere.

/// A generator of the xorshift64* family. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence that belongs to `seed`.
    pub fn new(seed: u64) -> Self {
        // Zero is the one state that it would never leave.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next 64 bits, of which the upper ones are the better ones.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, which is not zero and fits 32 bits.
    pub fn below(&mut self, limit: usize) -> usize {
        debug_assert!(0 < limit && u32::try_from(limit).is_ok());
        (((self.bits() >> 32) * limit as u64) >> 32) as usize
    }

    /// A number from `least` up to `most`.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// A number that is `mean` on average, and a quarter more or less at the most.
    pub fn around(&mut self, mean: usize) -> usize {
        self.between(mean - mean / 4, mean + mean / 4)
    }

    /// Whether something happens that does so `percent` times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which are not none.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

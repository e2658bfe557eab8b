//! Pseudo-random numbers that are the same on every machine.

/// An xorshift64* generator. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator from `seed`.
    pub fn new(seed: u64) -> Self {
        // A state of zero would never change.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next 64 bits. The upper bits are of better quality.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, which must be positive and fit into 32 bits.
    pub fn below(&mut self, limit: usize) -> usize {
        debug_assert!(0 < limit && u32::try_from(limit).is_ok());
        (((self.bits() >> 32) * limit as u64) >> 32) as usize
    }

    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// A number within a quarter of `mean`, and `mean` on average.
    pub fn around(&mut self, mean: usize) -> usize {
        self.between(mean - mean / 4, mean + mean / 4)
    }

    /// True with a probability of `percent` in 100.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

//! One bit for each request in flight, which tells without a lock whether it was cancelled.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of words in the first segment. Each further segment has twice as many as the one before.
const FIRST: usize = 4;
/// Enough segments for a bit for each 32-bit number.
const SEGMENTS: usize = 25;

/// A bit set that grows with the highest bit set, and never moves. Nothing is allocated until a bit is set.
#[derive(Default)]
pub(super) struct Marks {
    segments: [OnceLock<Box<[AtomicU64]>>; SEGMENTS],
}

impl Marks {
    #[inline]
    pub(super) fn is_set(&self, number: u32) -> bool {
        let (segment, word, bit) = place(number);
        self.segments[segment].get().is_some_and(|words| words[word].load(Ordering::Acquire) & bit != 0)
    }

    pub(super) fn set(&self, number: u32) {
        let (segment, word, bit) = place(number);
        let words = self.segments[segment].get_or_init(|| (0..FIRST << segment).map(|_| AtomicU64::new(0)).collect());
        words[word].fetch_or(bit, Ordering::Release);
    }

    pub(super) fn clear(&self, number: u32) {
        let (segment, word, bit) = place(number);
        if let Some(words) = self.segments[segment].get() {
            words[word].fetch_and(!bit, Ordering::Release);
        }
    }
}

/// The segment, the word in it, and the bit of the word.
fn place(number: u32) -> (usize, usize, u64) {
    let word = number as usize / 64;
    let segment = (word / FIRST + 1).ilog2() as usize;
    (segment, word - FIRST * ((1 << segment) - 1), 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_a_bit_of_its_own() {
        let marks = Marks::default();
        let numbers: Vec<u32> = (0..3000).chain([100_000, 1 << 24]).collect();
        for &number in &numbers {
            assert!(!marks.is_set(number));
            marks.set(number);
            assert!(marks.is_set(number));
        }
        for &number in &numbers {
            marks.clear(number);
            assert!(!marks.is_set(number), "{number}");
        }
        let (segment, word, _) = place(u32::MAX);
        assert!(segment < SEGMENTS && word < FIRST << segment);
    }
}

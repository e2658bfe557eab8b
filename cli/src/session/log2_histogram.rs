//! How many values lie between successive powers of two.

#[derive(Clone, Debug)]
pub(crate) struct Log2Histogram {
    /// The number of values with as many binary digits as the index.
    counts: [u64; 65],
}

/// The values from the previous bucket's bound up to this one's.
#[derive(Debug, PartialEq)]
pub(crate) struct Bucket {
    /// All values in the bucket are below this.
    pub(crate) bound: u64,
    pub(crate) count: u64,
}

impl Log2Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: [0; 65] }
    }

    pub(crate) fn add(&mut self, value: u64, count: u64) {
        self.counts[64 - value.leading_zeros() as usize] += count;
    }

    /// The buckets from the first to the last that is not empty.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let first = self.counts.iter().position(|count| *count > 0).unwrap_or(0);
        let end = self.counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        (first..end).map(|digits| Bucket {
            bound: 1_u64.checked_shl(digits as u32).unwrap_or(u64::MAX),
            count: self.counts[digits],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_powers_of_two() {
        let mut histogram = Log2Histogram::new();
        assert_eq!(histogram.buckets().count(), 0);
        for value in [4, 7, 8, 8, 40] {
            histogram.add(value, 1);
        }
        let buckets: Vec<_> = histogram.buckets().map(|Bucket { bound, count }| (bound, count)).collect();
        assert_eq!(buckets, [(8, 2), (16, 2), (32, 0), (64, 1)]);
        histogram.add(0, 1);
        histogram.add(u64::MAX, 1);
        assert_eq!(histogram.buckets().next(), Some(Bucket { bound: 1, count: 1 }));
        assert_eq!(histogram.buckets().last(), Some(Bucket { bound: u64::MAX, count: 1 }));
    }
}

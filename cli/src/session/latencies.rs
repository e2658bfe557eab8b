//! The latencies of a method, for percentiles.

use hdrhistogram::Histogram;

use super::log2_histogram::Log2Histogram;

/// How far a percentile may be from the exact one if there are too many latencies to keep: the histogram has two
/// significant digits.
pub(crate) const MAX_ERROR: f64 = 0.01;

/// How many latencies of all methods together are kept one by one.
pub(super) const MAX_KEPT: usize = 1 << 19;

/// In nanoseconds.
pub(super) struct Latencies {
    /// All of them, in the order in which they came. `None` if there was no room for them.
    exact: Option<Vec<u64>>,
    histogram: Histogram<u32>,
    slowest: u64,
}

impl Latencies {
    pub(super) fn new() -> Self {
        let histogram = Histogram::new(2).expect("hdrhistogram supports 0 to 5 significant digits");
        Self { exact: Some(Vec::new()), histogram, slowest: 0 }
    }

    /// Adds a latency. `room` is for how many more ones there is room.
    pub(super) fn add(&mut self, nanoseconds: u64, room: &mut usize) {
        // The histogram resizes itself, and fails only where that is beyond `usize`.
        let _ = self.histogram.record(nanoseconds.max(1));
        self.slowest = self.slowest.max(nanoseconds);
        match &mut self.exact {
            Some(exact) if *room > 0 => {
                exact.push(nanoseconds);
                *room -= 1;
            }
            Some(exact) => {
                *room += exact.len();
                self.exact = None;
            }
            None => {}
        }
    }

    /// The least latency that this fraction of all did not exceed. `None` if there are none.
    pub(super) fn quantile(&self, quantile: f64) -> Option<u64> {
        if self.histogram.is_empty() {
            return None;
        }
        match &self.exact {
            Some(exact) => {
                let rank = (exact.len() as f64 * quantile).ceil() as usize;
                let mut sorted = exact.clone();
                let index = rank.clamp(1, sorted.len()) - 1;
                Some(*sorted.select_nth_unstable(index).1)
            }
            // The histogram rounds up, possibly beyond the slowest.
            None => Some(self.histogram.value_at_quantile(quantile).min(self.slowest)),
        }
    }

    /// Whether percentiles may be off by [`MAX_ERROR`].
    pub(super) fn is_approximate(&self) -> bool {
        self.exact.is_none()
    }

    pub(super) fn add_to(&self, all: &mut Log2Histogram) {
        match &self.exact {
            Some(exact) => exact.iter().for_each(|nanoseconds| all.add(*nanoseconds, 1)),
            None => self
                .histogram
                .iter_recorded()
                .for_each(|step| all.add(step.value_iterated_to(), step.count_at_value().into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact_while_there_is_room() {
        let mut room = 100;
        let mut latencies = Latencies::new();
        assert_eq!(latencies.quantile(0.5), None);
        for value in (1..=100).rev() {
            latencies.add(1_000_003 * value, &mut room);
        }
        let quantiles =
            [0.0, 0.5, 0.501, 0.9, 0.99, 1.0].map(|quantile| latencies.quantile(quantile).unwrap() / 1_000_003);
        assert_eq!((quantiles, room), ([1, 50, 51, 90, 99, 100], 0));
        assert!(!latencies.is_approximate());

        // Then they are approximate, and leave their room to others.
        latencies.add(100_000_301, &mut room);
        assert!(latencies.is_approximate() && room == 100);
        for (quantile, exact) in [(0.5, 51.0), (0.9, 91.0), (1.0, 100.000_301 / 1.000_003)] {
            let found = latencies.quantile(quantile).unwrap() as f64 / 1_000_003.0;
            assert!((found / exact - 1.0).abs() <= MAX_ERROR, "{quantile}: {found}");
        }
    }
}

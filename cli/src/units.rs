//! Numbers as people read them.

use std::fmt;
use std::time::Duration;

use indicatif::HumanCount;

/// A count, with separators: `12,345`.
pub(crate) struct Count(pub(crate) u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&HumanCount(self.0).to_string())
    }
}

/// Bytes, in seven columns at the most: `182 B`, `1.23 kB`, `34.1 MB`.
pub(crate) struct Size(pub(crate) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            bytes @ ..1000 => format!("{bytes} B"),
            bytes => scaled(bytes as f64, &["B", "kB", "MB", "GB", "TB", "PB", "EB"]),
        };
        f.pad(&text)
    }
}

/// A time that passed, in seven columns at the most unless it is longer than a day: `0.25 µs`, `12.3 ms`, `98.0 s`.
pub(crate) struct Span(pub(crate) Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0.as_secs() {
            ..1000 => scaled(self.0.as_nanos() as f64, &["ns", "µs", "ms", "s"]),
            seconds => format!("{seconds} s"),
        };
        f.pad(&text)
    }
}

/// In the largest unit that leaves something before the point, with three digits.
fn scaled(mut value: f64, units: &[&str]) -> String {
    let mut unit = 0;
    // What would be rounded to 1000 is 1 of the next.
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        for (count, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (12345, "12,345"), (1_234_567, "1,234,567")] {
            assert_eq!(Count(count).to_string(), text);
        }
        assert_eq!(format!("{:>7}", Count(1000)), "  1,000");
    }

    #[test]
    fn sizes() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (1234, "1.23 kB"),
            (9996, "10.0 kB"),
            (99_960, "100 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (34_100_000, "34.1 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(Size(bytes).to_string(), text, "{bytes}");
        }
        assert!((0..64).all(|shift| Size(u64::MAX >> shift).to_string().len() <= 7));
    }

    #[test]
    fn spans() {
        for (nanoseconds, text) in [
            (0, "0.00 ns"),
            (250, "250 ns"),
            (12_345, "12.3 µs"),
            (999_600, "1.00 ms"),
            (1_000_000_000, "1.00 s"),
            (98_000_000_000, "98.0 s"),
            (3_600_000_000_000, "3600 s"),
        ] {
            assert_eq!(Span(Duration::from_nanos(nanoseconds)).to_string(), text);
        }
    }
}

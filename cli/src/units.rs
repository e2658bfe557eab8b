//! Numbers and units as people read and write them: SI throughout, as in `1.23 kB` and `4.56 ms`.

use std::fmt;
use std::time::Duration;

use indicatif::HumanCount;

/// SI prefixes, each a thousand times the one before.
const PREFIXES: [&str; 10] = ["n", "µ", "m", "", "k", "M", "G", "T", "P", "E"];

/// Where the prefixes of nanoseconds and of whole units are in [`PREFIXES`].
const NANO: usize = 0;
const ONE: usize = 3;

/// A count with thousands separators: `12,345`.
pub(crate) struct Count(pub(crate) u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&HumanCount(self.0).to_string())
    }
}

/// A count and its noun, in the singular or the plural: `1 line`, `2 lines`.
pub(crate) fn counted(count: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", Count(count), if count == 1 { singular } else { plural })
}

/// A number of bytes, at most seven columns wide: `182 B`, `1.23 kB`, `34.1 MB`.
pub(crate) struct Bytes(pub(crate) u64);

impl Bytes {
    /// The average per second over `elapsed`.
    pub(crate) fn per_second(self, elapsed: Duration) -> Self {
        Self((self.0 as f64 / elapsed.as_secs_f64().max(1e-9)) as u64)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes @ ..1000 if f.width().is_none() => write!(f, "{bytes} B"),
            bytes @ ..1000 => f.pad(&format!("{bytes} B")),
            bytes => f.pad(&with_prefix(bytes, &PREFIXES[ONE..], "B")),
        }
    }
}

/// A duration, at most seven columns wide below 100,000 seconds: `250 ns`, `12.3 ms`, `98.0 s`.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0.as_secs() {
            0 if self.0.is_zero() => "0 s".to_owned(),
            ..1000 => with_prefix(self.0.as_nanos() as u64, &PREFIXES[NANO..=ONE], "s"),
            seconds => format!("{seconds} s"),
        };
        f.pad(&text)
    }
}

/// Three significant digits of `value`, which counts units with the first of `prefixes`.
fn with_prefix(value: u64, prefixes: &[&str], unit: &str) -> String {
    let (value, mut divisor) = (u128::from(value), 1);
    let mut prefixes = prefixes.iter();
    let mut prefix = prefixes.next();
    // 999.5 would be rounded to 1000, which is 1.00 with the next prefix.
    while 10 * value >= 9995 * divisor
        && let Some(next) = prefixes.next()
    {
        divisor *= 1000;
        prefix = Some(next);
    }
    let rounded = |scale: u128| (2 * scale * value + divisor) / (2 * divisor);
    let prefix = prefix.unwrap_or(&"");
    if 1000 * value < 9995 * divisor {
        let hundredths = rounded(100);
        format!("{}.{:02} {prefix}{unit}", hundredths / 100, hundredths % 100)
    } else if 100 * value < 9995 * divisor {
        let tenths = rounded(10);
        format!("{}.{} {prefix}{unit}", tenths / 10, tenths % 10)
    } else {
        format!("{} {prefix}{unit}", rounded(1))
    }
}

/// Parses a length in bytes: `4096`, `64K`, `16M` or `1G`, where the suffixes are powers of 1024.
///
/// Limits on buffers are powers of two by custom, unlike everything that [`Bytes`] prints.
pub(crate) fn parse_len(text: &str) -> Result<u64, String> {
    const EXPECTED: &str = "expected a number of bytes, such as 4096, 64K, 16M or 1G";
    let prefixes = &PREFIXES[ONE + 1..=ONE + 3];
    let suffix = text.char_indices().next_back().and_then(|(at, _)| {
        let power = prefixes.iter().position(|prefix| text[at..].eq_ignore_ascii_case(prefix))?;
        Some((at, 10 * (power as u32 + 1)))
    });
    let (digits_end, shift) = suffix.unwrap_or((text.len(), 0));
    let digits = &text[..digits_end];
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(EXPECTED.to_owned());
    }
    // A number too large for 64 bits is as far out of range as the largest one that fits.
    Ok(digits.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1 << shift))
}

/// Parses a duration: `250ms`, `1.5s`, `2m`, or a number of seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "expected a duration, such as 250ms, 1.5s or 2m";
    let digits_end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits_end);
    let seconds = match unit.trim_start() {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        _ => return Err(EXPECTED.to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| EXPECTED)?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| EXPECTED.to_owned())
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
        assert_eq!(counted(1, "line", "lines"), "1 line");
        assert_eq!(counted(2000, "line", "lines"), "2,000 lines");
    }

    #[test]
    fn bytes() {
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
            assert_eq!(Bytes(bytes).to_string(), text, "{bytes}");
        }
        assert!((0..64).all(|shift| Bytes(u64::MAX >> shift).to_string().len() <= 7));
        assert_eq!(Bytes(3_000_000).per_second(Duration::from_secs(2)).to_string(), "1.50 MB");
    }

    #[test]
    fn seconds() {
        for (nanoseconds, text) in [
            (0, "0 s"),
            (250, "250 ns"),
            (12_345, "12.3 µs"),
            (999_600, "1.00 ms"),
            (1_000_000_000, "1.00 s"),
            (98_000_000_000, "98.0 s"),
            (3_600_000_000_000, "3600 s"),
        ] {
            assert_eq!(Seconds(Duration::from_nanos(nanoseconds)).to_string(), text);
        }
    }

    #[test]
    fn lengths() {
        for (text, len) in [
            ("0", 0),
            ("1", 1),
            ("4096", 4096),
            ("64K", 65536),
            ("64k", 65536),
            ("16M", 16 << 20),
            ("1G", 1 << 30),
            ("99999999999999999999", u64::MAX),
        ] {
            assert_eq!(parse_len(text), Ok(len), "{text}");
        }
        for text in ["", "K", "-1", "+1", "1.5M", "16MB", "16 M", "1T", "1é", "é"] {
            assert!(parse_len(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("2", 2_000_000_000),
            ("1.5s", 1_500_000_000),
            ("100ms", 100_000_000),
            ("100 ms", 100_000_000),
            ("5us", 5000),
            ("5µs", 5000),
            ("2m", 120_000_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanoseconds)), "{text}");
        }
        for text in ["", "s", "-1s", "1h30", "1.2.3s", "1e9s", "99999999999999999999999s", "inf", "é"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}

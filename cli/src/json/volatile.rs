//! Values that are different each time: times and UUIDs, alone or within a text.

use std::borrow::Cow;
use std::sync::LazyLock;

use clap::ValueEnum;
use regex_lite::Regex;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VolatileKind {
    /// Dates and times of day, as in 2025-11-16T01:50:06Z, and numbers of seconds or milliseconds since 1970
    Time,
    /// UUIDs, with or without hyphens
    Uuid,
}

/// Stand in for what was found.
const TIME: &str = "<time>";
const UUID: &str = "<uuid>";

static TIMES: LazyLock<Regex> = LazyLock::new(|| {
    const DAY_TIME: &str =
        r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?";
    const DAY: &str = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*";
    const MONTH: &str = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*";
    let dates = format!(r"\d{{4}}-\d{{2}}-\d{{2}}|(?:{DAY},? )?(?:\d{{1,2}} {MONTH}|{MONTH} \d{{1,2}}),?(?: \d{{4}})?");
    regex(&format!(r"\b(?:(?:{dates})(?:(?:T|,? ){DAY_TIME}(?: \d{{4}})?)?|{DAY_TIME})"))
});

static UUIDS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b|\b[0-9A-Fa-f]{32}\b"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant, and tested")
}

/// A text with placeholders instead of these kinds of values.
pub(super) fn without<'a>(text: &'a str, kinds: &[VolatileKind]) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    // The digits of a UUID could be taken for a time.
    for (kind, regex, placeholder) in [(VolatileKind::Uuid, &UUIDS, UUID), (VolatileKind::Time, &TIMES, TIME)] {
        if kinds.contains(&kind) && regex.is_match(&text) {
            text = Cow::Owned(regex.replace_all(&text, placeholder).into_owned());
        }
    }
    text
}

/// Whether a number looks like the seconds or milliseconds since 1970 of a time from 2001 to 2096.
pub(super) fn is_epoch(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(|number| (1e9..4e9).contains(&number) || (1e12..4e12).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_uuids_are_found() {
        let both = [VolatileKind::Time, VolatileKind::Uuid];
        for (text, expected) in [
            ("at 2025-11-16T01:50:06Z.", "at <time>."),
            ("2025-11-16 01:50:06.123456+01:00", "<time>"),
            ("2025-11-16", "<time>"),
            ("it is 9:05 PM", "it is <time>"),
            ("Sun, 16 Nov 2025 01:50:06 GMT", "<time>"),
            ("Sun Nov 16 01:50:06 2025", "<time>"),
            ("id 0190b5a4-7c2e-7000-8000-00000000000F!", "id <uuid>!"),
            ("0190b5a47c2e7000800000000000000f", "<uuid>"),
            ("10 of 12 may be in 5 days", "10 of 12 may be in 5 days"),
            ("version 2.10.1", "version 2.10.1"),
            ("", ""),
        ] {
            assert_eq!(without(text, &both), expected);
        }
        assert_eq!(without("2025-11-16", &[VolatileKind::Uuid]), "2025-11-16");
        for (number, is_time) in [("1763257806", true), ("1763257806.5", true), ("1763257806123", true), ("17", false)]
        {
            assert_eq!(is_epoch(number), is_time);
        }
    }
}

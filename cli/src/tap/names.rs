//! The names of a tap's files, as they stand in the configuration of a client, which expands nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How many files are tried if others are in use.
const MAX_NEIGHBOURS: u32 = 99;

/// Expands `~` at the start to the home directory, `%t` to the time in UTC, `%p` to the process id and `%%` to `%`.
pub(super) fn expand(path: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    expand_with(path, now, std::process::id(), std::env::home_dir().as_deref())
}

fn expand_with(path: &Path, now: Duration, process: u32, home: Option<&Path>) -> PathBuf {
    // A name that is no text has no placeholders.
    let Some(text) = path.to_str() else { return path.to_owned() };
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        expanded.push_str(before);
        let (value, len) = match after.chars().next() {
            Some('t') => (utc(now.as_secs()), 1),
            Some('p') => (process.to_string(), 1),
            Some('%') => ("%".to_owned(), 1),
            _ => ("%".to_owned(), 0),
        };
        expanded.push_str(&value);
        rest = &after[len..];
    }
    expanded.push_str(rest);
    match (expanded.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(below), Some(home)) if below.starts_with(std::path::is_separator) => home.join(&below[1..]),
        _ => expanded.into(),
    }
}

/// A path, then the same with a number: `x.tap`, `x-2.tap`, `x-3.tap`.
pub(super) fn neighbours(path: &Path) -> impl Iterator<Item = PathBuf> {
    let numbered = |number: u32| {
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{number}"));
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name)
    };
    std::iter::once(path.to_owned()).chain((2..=MAX_NEIGHBOURS).map(numbered))
}

/// A point in time as a file name can have it, by the calendar's rules for days since 1970: `20251116T015006Z`.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March have the leap day at their end. Day 0 is 1 March of the year 0.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_expanded() {
        let expanded = |path: &str| {
            let path =
                expand_with(Path::new(path), Duration::from_secs(1_763_257_806), 42, Some(Path::new("/home/me")));
            path.to_str().unwrap().replace('\\', "/")
        };
        for (path, expected) in [
            ("x.tap", "x.tap"),
            ("%t-%p.tap", "20251116T015006Z-42.tap"),
            ("100%.tap", "100%.tap"),
            ("%%t%x%", "%t%x%"),
            ("~", "/home/me"),
            ("~/x", "/home/me/x"),
            ("~other/x", "~other/x"),
            ("a/~/x", "a/~/x"),
        ] {
            assert_eq!(expanded(path), expected, "{path}");
        }
        assert_eq!(expand_with(Path::new("~/x"), Duration::ZERO, 1, None), Path::new("~/x"));
    }

    #[test]
    fn dates() {
        for (seconds, expected) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_800, "20000301T000000Z"),
            (4_107_542_400, "21000301T000000Z"),
            (1_767_225_599, "20251231T235959Z"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }

    #[test]
    fn neighbours_are_numbered() {
        let first = |path: &str| neighbours(Path::new(path)).take(3).collect::<Vec<_>>();
        assert_eq!(first("a/x.tap"), ["a/x.tap", "a/x-2.tap", "a/x-3.tap"].map(PathBuf::from));
        assert_eq!(first("x"), ["x", "x-2", "x-3"].map(PathBuf::from));
    }
}

//! The part of a line around a fault, with a caret below it.

use super::escape::{Cell, cells, fitting};

/// The width of an excerpt in a terminal of 80 columns, which its indent and the cuts leave, or if there is no terminal.
const COLUMNS: usize = 72;
const MARGIN: usize = super::width::DEFAULT_COLUMNS - COLUMNS;

/// The least width.
const MIN_COLUMNS: usize = 8;

/// A part of a line around a column, escaped for a terminal.
#[derive(Debug, PartialEq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// How many columns to the left of the caret.
    pub(crate) caret: usize,
}

impl Excerpt {
    /// Cuts `line` around `column`, which counts bytes from 1 and may be one past the end.
    ///
    /// It fits a terminal of `width` columns, if that is limited.
    pub(crate) fn new(line: &[u8], column: u64, width: usize) -> Self {
        let columns = if width == usize::MAX { COLUMNS } else { width.saturating_sub(MARGIN).max(MIN_COLUMNS) };
        let at = usize::try_from(column - 1).unwrap_or(usize::MAX).min(line.len());
        let reach = Cell::MAX_BYTES * columns;
        let end = line.len().min(at + reach);
        let mut start = at.saturating_sub(reach);
        while start > 0 && start < at && is_utf8_continuation(line[start]) {
            start += 1;
        }
        let before: Vec<Cell> = cells(&line[start..at]).collect();
        let after: Vec<Cell> = cells(&line[at..end]).collect();

        // Half the width for each side. What one side leaves unused, the other gets.
        let (_, after_columns) = fitting(after.iter(), columns / 2);
        let (kept_before, caret) = fitting(before.iter().rev(), columns - after_columns);
        let (kept_after, _) = fitting(after.iter(), columns - caret);

        let is_cut_before = start > 0 || kept_before < before.len();
        let is_cut_after = end < line.len() || kept_after < after.len();
        let mut text = String::new();
        text.extend(is_cut_before.then_some('…'));
        text.extend(before[before.len() - kept_before..].iter().map(|cell| cell.text.as_str()));
        text.extend(after[..kept_after].iter().map(|cell| cell.text.as_str()));
        text.extend(is_cut_after.then_some('…'));
        Self { text, caret: caret + usize::from(is_cut_before) }
    }
}

fn is_utf8_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_at_the_column() {
        for (line, column, text, caret) in [
            (&b""[..], 1, "", 0),
            (b"abc", 1, "abc", 0),
            (b"abc", 3, "abc", 2),
            (b"abc", 4, "abc", 3),
            (b"abc", 1000, "abc", 3),
            (b"\x1bbc", 2, "\\x1bbc", 4),
            ("東京x".as_bytes(), 7, "東京x", 4),
            (b"ab\xffc", 3, "ab\\xffc", 2),
        ] {
            assert_eq!(
                Excerpt::new(line, column, usize::MAX),
                Excerpt { text: text.to_owned(), caret },
                "{line:?} {column}"
            );
        }
    }

    #[test]
    fn fills_the_width() {
        let line = "x".repeat(1000);
        for column in [1, 2, 36, 37, 38, 500, 960, 963, 999, 1000, 1001] {
            let Excerpt { text, caret } = Excerpt::new(line.as_bytes(), column, usize::MAX);
            let is_cut_before = text.starts_with('…');
            let before = text.trim_matches('…').len().min(caret - usize::from(is_cut_before));
            assert_eq!(text.trim_matches('…').len(), COLUMNS, "{column}");
            assert_eq!(is_cut_before, (before as u64) < column - 1, "{column}");
            assert_eq!(text.ends_with('…'), 1000 - (column - 1) > (COLUMNS - before) as u64, "{column}");
        }
        let line = "é京\x01".repeat(1000);
        for column in 1..200 {
            let Excerpt { text, .. } = Excerpt::new(line.as_bytes(), column, usize::MAX);
            assert!(super::super::columns(&text) <= COLUMNS + 2, "{column}");
        }
    }
}

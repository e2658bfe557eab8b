//! Untrusted bytes, escaped for a terminal and cut to a width.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

use super::printable::printable_columns;

/// Escapes everything in `bytes` that a terminal must not get, by the rule of [`printable_columns`].
pub(crate) fn escape(bytes: &[u8]) -> String {
    cells(bytes).map(|cell| cell.text).collect()
}

/// Like [`escape`], cut at the end to fit into `columns`.
pub(crate) fn escape_start(bytes: &[u8], columns: usize) -> Cow<'_, str> {
    // Nearly all names are ASCII. Whatever follows the first columns of it takes at least one more.
    let plain = &bytes[..bytes.len().min(columns)];
    if plain.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return match plain.len() == bytes.len() {
            true => String::from_utf8_lossy(plain),
            false => Cow::Owned(format!("{}…", String::from_utf8_lossy(&plain[..columns.saturating_sub(1)]))),
        };
    }
    let start = &bytes[..bytes.len().min(Cell::MAX_BYTES.saturating_mul(columns.saturating_add(1)))];
    let cells: Vec<Cell> = cells(start).collect();
    let (fitting_len, _) = fitting(cells.iter(), columns);
    if fitting_len == cells.len() && start.len() == bytes.len() {
        return cells.into_iter().map(|cell| cell.text).collect();
    }
    let (kept, _) = fitting(cells.iter(), columns.saturating_sub(1));
    cells[..kept].iter().map(|cell| cell.text.as_str()).chain(["…"]).collect()
}

/// Like [`escape`], cut at the start to fit into `columns`.
pub(crate) fn escape_end(bytes: &[u8], columns: usize) -> String {
    let cells: Vec<Cell> = cells(bytes).collect();
    let (fitting_len, _) = fitting(cells.iter().rev(), columns);
    if fitting_len == cells.len() {
        return cells.into_iter().map(|cell| cell.text).collect();
    }
    let (kept, _) = fitting(cells.iter().rev(), columns.saturating_sub(1));
    let end = cells[cells.len() - kept..].iter().map(|cell| cell.text.as_str());
    std::iter::once("…").chain(end).collect()
}

/// The width of escaped text.
pub(crate) fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().filter_map(UnicodeWidthChar::width).sum() }
}

/// A visible character, or the escape of an unsafe one or of a byte that is not UTF-8.
pub(super) struct Cell {
    pub(super) text: String,
    columns: usize,
}

impl Cell {
    /// How many bytes of input make a cell, at most. Each cell takes at least one column.
    pub(super) const MAX_BYTES: usize = 4;

    fn new(character: char) -> Self {
        match printable_columns(character) {
            Some(columns) => Self { text: character.into(), columns },
            None => Self::escaped(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    fn escaped(bytes: &[u8]) -> Self {
        let mut text = String::new();
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
        Self { columns: text.len(), text }
    }
}

pub(super) fn cells(bytes: &[u8]) -> impl Iterator<Item = Cell> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(Cell::new);
        valid.chain(chunk.invalid().iter().map(|byte| Cell::escaped(&[*byte])))
    })
}

/// How many of `cells` fit into `columns`, and how many columns those take.
pub(super) fn fitting<'a>(cells: impl Iterator<Item = &'a Cell>, columns: usize) -> (usize, usize) {
    let totals = cells.scan(0, |total, cell| {
        *total += cell.columns;
        Some(*total)
    });
    totals.take_while(|total| *total <= columns).enumerate().last().map_or((0, 0), |(last, total)| (last + 1, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_a_terminal_could_act_upon() {
        for (bytes, expected) in [
            (&b"plain \\ text"[..], "plain \\ text"),
            (b"\x1b[31mred\x07", "\\x1b[31mred\\x07"),
            (b"a\r\n\tb\0\x7f", "a\\x0d\\x0a\\x09b\\x00\\x7f"),
            (b"\xff\xc3\xa9\xc3", "\\xff\u{e9}\\xc3"),
            ("\u{9b}31m".as_bytes(), "\\xc2\\x9b31m"),
            ("\u{202e}abc\u{2066}".as_bytes(), "\\xe2\\x80\\xaeabc\\xe2\\x81\\xa6"),
            ("a\u{2028}b\u{ad}".as_bytes(), "a\\xe2\\x80\\xa8b\\xc2\\xad"),
            ("e\u{301}".as_bytes(), "e\\xcc\\x81"),
            ("東京 😀".as_bytes(), "東京 😀"),
        ] {
            assert_eq!(escape(bytes), expected);
        }
    }

    #[test]
    fn cuts_at_the_end() {
        for (text, columns, expected) in [
            ("", 1, ""),
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("東京", 4, "東京"),
            ("東京", 3, "東…"),
            ("\x1b[m", 6, "\\x1b[m"),
            ("\x1b[mm", 6, "\\x1b[…"),
            (&"x".repeat(1000), 2, "x…"),
            ("ab\x1b", 2, "a…"),
            ("ab東", 3, "ab…"),
            ("ab", 0, "…"),
            ("", 0, ""),
        ] {
            assert_eq!(escape_start(text.as_bytes(), columns), expected);
        }
    }

    #[test]
    fn cuts_at_the_start() {
        for (bytes, columns, expected) in [
            (&b""[..], 3, ""),
            (b"abc", 3, "abc"),
            (b"abcd", 3, "…cd"),
            (b"ab\x1bd", 5, "…d"),
            (b"ab\x1bd", 6, "…\\x1bd"),
            ("東京".as_bytes(), 4, "東京"),
            ("x東京".as_bytes(), 4, "…京"),
        ] {
            assert_eq!(escape_end(bytes, columns), expected, "{bytes:?} {columns}");
        }
    }
}

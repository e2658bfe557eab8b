//! Foreign bytes, made fit for a terminal.

use std::fmt::Write;
use std::ops::RangeInclusive;

/// How many columns an excerpt has: it fits on a line of 80, with an indent.
const COLUMNS: usize = 72;

/// A part of a line around a column, with what a terminal could act upon escaped.
#[derive(Debug, PartialEq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// How many columns of the text stand before the one that it is about.
    pub(crate) caret: usize,
}

impl Excerpt {
    /// Around `column`, which counts bytes from 1 on, and may be just behind the line.
    pub(crate) fn new(line: &[u8], column: u64) -> Self {
        let at = usize::try_from(column - 1).unwrap_or(usize::MAX).min(line.len());
        // No cell stands for more than four bytes.
        let end = line.len().min(at + 4 * COLUMNS);
        let mut start = at.saturating_sub(4 * COLUMNS);
        while start > 0 && start < at && is_continuation(line[start]) {
            start += 1;
        }
        let before: Vec<Cell> = cells(&line[start..at]).collect();
        let after: Vec<Cell> = cells(&line[at..end]).collect();

        // Half of the room for each side, and what one side does not need for the other.
        let (_, least) = fitting(after.iter(), COLUMNS / 2);
        let (kept_before, caret) = fitting(before.iter().rev(), COLUMNS - least);
        let (kept_after, _) = fitting(after.iter(), COLUMNS - caret);

        let cut_before = start > 0 || kept_before < before.len();
        let cut_after = end < line.len() || kept_after < after.len();
        let mut text = String::new();
        text.extend(cut_before.then_some('…'));
        text.extend(before[before.len() - kept_before..].iter().map(|cell| cell.text.as_str()));
        text.extend(after[..kept_after].iter().map(|cell| cell.text.as_str()));
        text.extend(cut_after.then_some('…'));
        Self { text, caret: caret + usize::from(cut_before) }
    }
}

/// All of `bytes`, with what a terminal could act upon escaped.
pub(crate) fn escape(bytes: &[u8]) -> String {
    cells(bytes).map(|cell| cell.text).collect()
}

/// How many columns a text takes that has been made fit.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|character| if is_any_of(character, WIDE) { 2 } else { 1 }).sum()
}

/// The beginning of `bytes` in that many columns at the most, with what a terminal could act upon escaped.
pub(crate) fn cut(bytes: &[u8], columns: usize) -> String {
    // As nearly all names are.
    if bytes.len() <= columns && bytes.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    // No cell stands for more than four bytes, and each has a column at least.
    let start = &bytes[..bytes.len().min(4 * (columns + 1))];
    let cells: Vec<Cell> = cells(start).collect();
    let (kept, _) = fitting(cells.iter(), columns);
    if kept == cells.len() && start.len() == bytes.len() {
        return cells.into_iter().map(|cell| cell.text).collect();
    }
    let (kept, _) = fitting(cells.iter(), columns - 1);
    cells[..kept].iter().map(|cell| cell.text.as_str()).chain(["…"]).collect()
}

/// The end of `bytes`, in at most that many columns, escaped likewise.
pub(crate) fn escape_end(bytes: &[u8], columns: usize) -> String {
    let cells: Vec<Cell> = cells(bytes).collect();
    let (kept, _) = fitting(cells.iter().rev(), columns);
    if kept == cells.len() {
        return escape(bytes);
    }
    let (kept, _) = fitting(cells.iter().rev(), columns.saturating_sub(1));
    let end = cells[cells.len() - kept..].iter().map(|cell| cell.text.as_str());
    std::iter::once("…").chain(end).collect()
}

/// A character, or the escape for one or for a byte that is part of none.
struct Cell {
    text: String,
    columns: usize,
}

fn cells(bytes: &[u8]) -> impl Iterator<Item = Cell> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|character| {
            if is_any_of(character, UNSHOWN) {
                let mut bytes = [0; 4];
                escaped(character.encode_utf8(&mut bytes).as_bytes())
            } else {
                Cell { text: character.into(), columns: if is_any_of(character, WIDE) { 2 } else { 1 } }
            }
        });
        valid.chain(chunk.invalid().iter().map(|byte| escaped(&[*byte])))
    })
}

fn escaped(bytes: &[u8]) -> Cell {
    let mut text = String::new();
    for byte in bytes {
        // A string is always written.
        let _ = write!(text, "\\x{byte:02x}");
    }
    Cell { columns: text.len(), text }
}

/// How many of `cells` fit into that many columns, and how many columns those have.
fn fitting<'a>(cells: impl Iterator<Item = &'a Cell>, columns: usize) -> (usize, usize) {
    let totals = cells.scan(0, |total, cell| {
        *total += cell.columns;
        Some(*total)
    });
    totals.take_while(|total| *total <= columns).enumerate().last().map_or((0, 0), |(last, total)| (last + 1, total))
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

fn is_any_of(character: char, ranges: &[RangeInclusive<char>]) -> bool {
    ranges.iter().any(|range| range.contains(&character))
}

/// Control characters, and those that turn the writing around, break lines, or cannot be seen.
const UNSHOWN: &[RangeInclusive<char>] = &[
    '\0'..='\x1f',
    '\x7f'..='\u{9f}',
    '\u{ad}'..='\u{ad}',
    '\u{300}'..='\u{36f}',
    '\u{e31}'..='\u{e31}',
    '\u{e34}'..='\u{e3a}',
    '\u{e47}'..='\u{e4e}',
    '\u{115f}'..='\u{1160}',
    '\u{3164}'..='\u{3164}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{61c}'..='\u{61c}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
    '\u{e0000}'..='\u{e0fff}',
];

/// The large blocks of what takes two columns.
const WIDE: &[RangeInclusive<char>] = &[
    '\u{1100}'..='\u{115e}',
    '\u{2705}'..='\u{2705}',
    '\u{270a}'..='\u{270b}',
    '\u{2728}'..='\u{2728}',
    '\u{274c}'..='\u{274c}',
    '\u{274e}'..='\u{274e}',
    '\u{2753}'..='\u{2757}',
    '\u{2795}'..='\u{2797}',
    '\u{2b50}'..='\u{2b55}',
    '\u{2e80}'..='\u{303e}',
    '\u{3041}'..='\u{a4cf}',
    '\u{ac00}'..='\u{d7a3}',
    '\u{f900}'..='\u{faff}',
    '\u{fe30}'..='\u{fe6f}',
    '\u{ff00}'..='\u{ff60}',
    '\u{ffe0}'..='\u{ffe6}',
    '\u{1f300}'..='\u{1f64f}',
    '\u{1f680}'..='\u{1f6ff}',
    '\u{1f900}'..='\u{1f9ff}',
    '\u{1fa70}'..='\u{1faff}',
    '\u{20000}'..='\u{3fffd}',
];

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
        ] {
            assert_eq!(cut(text.as_bytes(), columns), expected);
        }
    }

    #[test]
    fn keeps_the_end() {
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
            assert_eq!(Excerpt::new(line, column), Excerpt { text: text.to_owned(), caret }, "{line:?} {column}");
        }
    }

    #[test]
    fn cuts_to_the_room_there_is() {
        let line = "x".repeat(1000);
        for column in [1, 2, 36, 37, 38, 500, 960, 963, 999, 1000, 1001] {
            let Excerpt { text, caret } = Excerpt::new(line.as_bytes(), column);
            let cut_before = text.starts_with('…');
            let before = text.trim_matches('…').len().min(caret - usize::from(cut_before));
            assert_eq!(text.trim_matches('…').len(), COLUMNS, "{column}");
            assert_eq!(cut_before, (before as u64) < column - 1, "{column}");
            assert_eq!(text.ends_with('…'), 1000 - (column - 1) > (COLUMNS - before) as u64, "{column}");
        }
        let line = "é京\x01".repeat(1000);
        for column in 1..200 {
            let Excerpt { text, .. } = Excerpt::new(line.as_bytes(), column);
            assert!(text.chars().count() <= COLUMNS + 2, "{column}");
        }
    }
}

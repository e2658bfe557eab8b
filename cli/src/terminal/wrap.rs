//! Lines that are broken between words.

use unicode_width::UnicodeWidthChar;

/// Splits escaped text between words into lines of at most `columns` columns. A word that is longer is split.
pub(crate) fn wrap(text: &str, columns: usize) -> impl Iterator<Item = &str> {
    wrap_after(text, columns, columns)
}

/// Like [`wrap`], with a width of its own for the first line, after which there may be none.
fn wrap_after(text: &str, first: usize, columns: usize) -> impl Iterator<Item = &str> {
    let (mut rest, mut room, columns) = (text, first.max(1), columns.max(1));
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = line_end(rest, std::mem::replace(&mut room, columns));
        let (line, following) = rest.split_at(end);
        rest = following.trim_start();
        Some(line)
    })
}

/// Writes a message for people who may read it on a terminal: its second line and the following ones are indented.
pub(crate) fn wrap_message(message: &str, columns: usize) -> String {
    const INDENT: usize = 2;
    let room = columns.saturating_sub(1);
    let lines: Vec<&str> = wrap_after(message, room, room.saturating_sub(INDENT)).collect();
    lines.join(&format!("\n{:INDENT$}", ""))
}

/// Where a line of at most `columns` columns ends.
fn line_end(text: &str, columns: usize) -> usize {
    let mut taken = 0;
    let limit = text.char_indices().find(|(_, character)| {
        taken += character.width().unwrap_or(0);
        taken > columns
    });
    let Some((limit, character)) = limit else { return text.len() };
    // A space right after the limit still ends a line of full width.
    let end = text[..limit + character.len_utf8()].rfind(' ').filter(|end| *end > 0).unwrap_or(limit);
    // At least one character, or there would be no end.
    if end == 0 { character.len_utf8() } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_between_words() {
        for (text, lines) in [
            ("", &[][..]),
            ("a bc", &["a bc"]),
            ("abcd", &["abcd"]),
            ("abcd ef", &["abcd", "ef"]),
            ("ab cd ef", &["ab", "cd", "ef"]),
            ("abcdefg", &["abcd", "efg"]),
            ("éééé é", &["éééé", "é"]),
            ("ééééé", &["éééé", "é"]),
            ("東京 東京", &["東京", "東京"]),
            ("東京都", &["東京", "都"]),
        ] {
            assert_eq!(wrap(text, 4).collect::<Vec<_>>(), lines, "{text}");
        }
        assert_eq!(wrap("東京", 1).collect::<Vec<_>>(), ["東", "京"]);
    }

    #[test]
    fn later_lines_of_a_message_are_indented() {
        assert_eq!(wrap_message("a bc de f", 5), "a bc\n  de\n  f");
        assert_eq!(wrap_message("a bc de f", usize::MAX), "a bc de f");
    }
}

//! Lines that are broken between words.

/// Splits text between words into lines of at most `columns` characters.
pub(crate) fn wrap(text: &str, columns: usize) -> impl Iterator<Item = &str> {
    let (mut rest, columns) = (text, columns.max(1));
    std::iter::from_fn(move || {
        let Some((limit, character)) = rest.char_indices().nth(columns) else {
            return (!rest.is_empty()).then(|| std::mem::take(&mut rest));
        };
        // A space right after the limit still ends a line of full width.
        let end = rest[..limit + character.len_utf8()].rfind(' ').filter(|end| *end > 0).unwrap_or(limit);
        let (line, following) = rest.split_at(end);
        rest = following.trim_start();
        Some(line)
    })
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
        ] {
            assert_eq!(wrap(text, 4).collect::<Vec<_>>(), lines, "{text}");
        }
    }
}

//! The one rule for what a terminal may get of text from others.
//!
//! Escaped text for people ([`escape`](super::escape)) and JSON for programs ([`printable_json`]) both follow it: what
//! programs print often ends up on a terminal as well.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

/// The number of columns that a character takes, or `None` if a terminal must not get it.
///
/// A character is refused if a terminal could act upon it, if it could reorder, hide or combine with text around it, or
/// if it would not be seen: all control, format, combining and line-breaking characters, and invisible fillers.
pub(crate) fn printable_columns(character: char) -> Option<usize> {
    match character {
        ' '..='~' => return Some(1),
        // Line and paragraph separators, and a filler: all have a width.
        '\u{2028}' | '\u{2029}' | '\u{115f}' => return None,
        _ if is_format(character) => return None,
        _ => {}
    }
    // Control characters have no width, combining and other invisible ones a width of zero.
    character.width().filter(|columns| *columns > 0)
}

/// Whether a character has the general category Cf.
fn is_format(character: char) -> bool {
    let position = FORMAT.partition_point(|(_, last)| *last < character);
    FORMAT.get(position).is_some_and(|(first, _)| *first <= character)
}

/// The characters of the general category Cf. A test compares it with Unicode's data.
const FORMAT: [(char, char); 21] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{2064}'),
    ('\u{2066}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0001}', '\u{e0001}'),
    ('\u{e0020}', '\u{e007f}'),
];

/// Makes a JSON text printable without changing its value: `\u` escapes replace what a terminal must not get.
///
/// The text must be valid JSON without line breaks. Such characters are in its strings then, where escapes are allowed.
pub(crate) fn printable_json(json: &str) -> Cow<'_, str> {
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(json);
    }
    let mut printable = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if printable_columns(character).is_some() {
            printable.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(printable, "\\u{unit:04x}");
        }
    }
    Cow::Owned(printable)
}

#[cfg(test)]
mod tests {
    use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

    use super::super::escape;
    use super::*;

    /// Of all characters, exactly those get through that one can see.
    #[test]
    fn nothing_that_acts_or_hides_is_printable() {
        use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator, Surrogate};
        for character in '\0'..=char::MAX {
            let category = character.general_category();
            let columns = printable_columns(character);
            assert_eq!(is_format(character), category == Format, "{character:?}");
            if matches!(category, Control | Format | LineSeparator | ParagraphSeparator | Surrogate) {
                assert_eq!(columns, None, "{character:?}");
            }
            assert_ne!(columns, Some(0), "{character:?}");
            if character.is_alphanumeric() && character.width().is_some_and(|columns| columns > 0) {
                assert_eq!(columns.is_none(), character == '\u{115f}', "{character:?}");
            }
        }
        // Invisible fillers.
        for character in ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}', '\u{17b4}', '\u{34f}'] {
            assert_eq!(printable_columns(character), None, "{character:?}");
        }
    }

    #[test]
    fn escapes_and_json_follow_the_rule() {
        for character in '\0'..=char::MAX {
            let escaped = escape(character.encode_utf8(&mut [0; 4]).as_bytes());
            assert!(escaped.chars().all(|character| printable_columns(character).is_some()), "{character:?}");

            let json = serde_json::to_string(&character).unwrap();
            let printable = printable_json(&json);
            assert!(printable.chars().all(|character| printable_columns(character).is_some()), "{character:?}");
            assert_eq!(serde_json::from_str::<char>(&printable).unwrap(), character);
        }
        assert_eq!(printable_json("{\"a\":\"\u{7f}\u{1d173}é\"}"), "{\"a\":\"\\u007f\\ud834\\udd73é\"}");
    }
}

//! What can be put right about a single line without changing a value, and where a message may be within one.

use std::ops::Range;

use memchr::{memchr, memmem};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line without what doesn't belong to its message.
pub(super) struct Trimmed<'a> {
    pub(super) line: &'a [u8],
    /// Whether it started with a byte order mark.
    pub(super) had_mark: bool,
    /// Whether it ended in a carriage return.
    pub(super) had_return: bool,
}

impl<'a> Trimmed<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        let without_mark = line.strip_prefix(BYTE_ORDER_MARK);
        let had_mark = without_mark.is_some();
        let line = without_mark.unwrap_or(line);
        let without_return = line.strip_suffix(b"\r");
        Self { line: without_return.unwrap_or(line), had_mark, had_return: without_return.is_some() }
    }
}

pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// Replaces each escape of half a surrogate pair in a JSON text by the escape of U+FFFD, which has the same length.
/// Returns `None` if there is none.
///
/// Such an escape is valid JSON, but no character, and can't be expressed in UTF-8. Strict clients refuse the whole
/// message because of it, so the one damaged character is given up for the rest of the message.
pub(super) fn without_lone_surrogates(json: &[u8]) -> Option<Vec<u8>> {
    // Most messages have no escape of this kind at all.
    let mut escapes = memmem::find_iter(json, b"\\u");
    escapes.find(|at| json.get(at + 2).is_some_and(|digit| matches!(digit, b'd' | b'D')))?;

    let mut repaired: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = memchr(b'\\', &json[at..]) {
        at += found;
        at += match (unit(json, at), unit(json, at + 6)) {
            (None, _) => 2,
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                repaired.get_or_insert_with(|| json.to_vec())[at..at + 6].copy_from_slice(b"\\ufffd");
                6
            }
            (Some(_), _) => 6,
        };
        if at >= json.len() {
            break;
        }
    }
    repaired
}

/// The UTF-16 code unit that the escape at a position stands for.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

/// Finds the first object in a line, if there is nothing before it that could contain it.
///
/// The contents of a message are never taken for a message, not even if its end is missing: the search doesn't go on
/// within an object.
pub(super) fn find_object(line: &[u8]) -> Option<Range<usize>> {
    let mut open = 0_u32;
    for (at, byte) in line.iter().enumerate() {
        match byte {
            b'{' if open == 0 && starts_object(&line[at..]) => return object_len(&line[at..]).map(|len| at..at + len),
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Whether a bracket is followed by a string, as a member's name is.
fn starts_object(text: &[u8]) -> bool {
    text[1..].iter().find(|byte| !matches!(byte, b' ' | b'\t')) == Some(&b'"')
}

/// The length of the object at the start of a text, if it ends.
fn object_len(text: &[u8]) -> Option<usize> {
    let mut brackets = Brackets::default();
    text.iter().position(|byte| brackets.close_with(*byte)).map(|last| last + 1)
}

/// Follows the brackets of a JSON text.
#[derive(Clone, Copy, Default)]
pub(super) struct Brackets {
    open: usize,
    in_string: bool,
    after_backslash: bool,
}

impl Brackets {
    /// Takes the next byte, and returns whether it closes the outermost bracket.
    fn close_with(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.after_backslash => self.after_backslash = false,
                b'\\' => self.after_backslash = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.open += 1,
            b'}' | b']' => {
                self.open = self.open.saturating_sub(1);
                return self.open == 0;
            }
            _ => {}
        }
        false
    }

    /// Takes a whole line of a text that is printed over several lines.
    pub(super) fn add_line(&mut self, line: &[u8]) -> Progress {
        let mut is_closed = false;
        for byte in line {
            if is_closed && !matches!(byte, b' ' | b'\t' | b'\r') {
                return Progress::Broken;
            }
            is_closed |= self.close_with(*byte);
        }
        match (is_closed, self.in_string) {
            (true, _) => Progress::Complete,
            // A string doesn't go on in the next line.
            (false, true) => Progress::Broken,
            (false, false) => Progress::Open,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Progress {
    Open,
    Complete,
    Broken,
}

/// Whether a text is nothing but white space, control characters and the escape sequences of terminals.
pub(super) fn is_invisible(text: &[u8]) -> bool {
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = match (first, after) {
            // A sequence such as `ESC [ 3 2 m`: parameters, and a last byte.
            (0x1b, [b'[', after @ ..]) => {
                let Some(last) = after.iter().position(|byte| (0x40..=0x7e).contains(byte)) else { return false };
                &after[last + 1..]
            }
            // A title, such as `ESC ] 0 ; t e x t BEL`.
            (0x1b, [b']', after @ ..]) => {
                let Some(last) = after.iter().position(|byte| matches!(byte, 0x07 | b'\\')) else { return false };
                &after[last + 1..]
            }
            (0x1b, [b' '..=b'~', after @ ..]) => after,
            (..=0x20 | 0x7f, after) => after,
            (0xef, [0xbb, 0xbf, after @ ..]) => after,
            _ => return false,
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates() {
        for (json, expected) in [
            (r#""plain \n text""#, None),
            (r#""\ud83d\ude00 \uD83D\uDE00""#, None),
            (r#""\\ud800""#, None),
            (r#""\\\ud800""#, Some(r#""\\\ufffd""#)),
            (r#""\ud800""#, Some(r#""\ufffd""#)),
            (r#""\ude00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\uD83D\n\u00e9\ud7ff\ue000""#, Some(r#""\ufffd\n\u00e9\ud7ff\ue000""#)),
        ] {
            let found = without_lone_surrogates(json.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{json}");
        }
    }

    #[test]
    fn objects_behind_other_text() {
        for (line, expected) in [
            ("{\"a\":1}", Some("{\"a\":1}")),
            ("\x1b[32m{\"a\":{\"b\":\"}\\\"}\"}}\x1b[0m", Some("{\"a\":{\"b\":\"}\\\"}\"}}")),
            ("Point { x: 1 } { \"a\":[{}]} tail", Some("{ \"a\":[{}]}")),
            ("[{\"a\":1},{\"b\":2}]", Some("{\"a\":1}")),
            // What is inside something else stays there.
            ("{\"a\":{\"b\":1}", None),
            ("{'a': {\"b\":1}}", None),
            ("{ {\"b\":1}", None),
            ("no object", None),
            ("{}", None),
        ] {
            let found = find_object(line.as_bytes()).map(|range| &line[range]);
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn what_nobody_sees() {
        for text in ["", " \t\r", "\x1b[0m\x1b[2K\r", "\x1b]0;title\x07", "\x1b]0;title\x1b\\", "\x1b7", "\u{feff}\0"] {
            assert!(is_invisible(text.as_bytes()), "{text:?}");
        }
        for text in ["x", "\x1b[0mx", "\x1b[", ">", "\u{e9}"] {
            assert!(!is_invisible(text.as_bytes()), "{text:?}");
        }
    }
}

//! Iterates over the members and elements of valid JSON, without parsing them.
//!
//! Nothing is validated here. For a text that the scanner didn't accept, the results are meaningless, but never out of
//! bounds.

use std::ops::Range;

use super::{is_blank, swar};

/// Iterates over the members of an object. Yields each key, as a string literal, and the text of its value.
#[inline]
pub fn members(object: &str) -> impl Iterator<Item = (&str, &str)> {
    placed_members(object).map(|(_, key, value)| (key, value))
}

/// Like [`members`], but also yields each member's range, from the start of its key to the end of its value.
#[inline]
pub fn placed_members(object: &str) -> impl Iterator<Item = (Range<usize>, &str, &str)> {
    let mut cursor = Cursor { text: object, at: 0 };
    cursor.skip_to_inside();
    std::iter::from_fn(move || {
        let start = cursor.at;
        let key = cursor.item()?;
        cursor.skip_to_inside(); // the colon
        let value = cursor.item()?;
        let end = cursor.at;
        cursor.skip_to_inside(); // the comma or the end
        Some((start..end, key, value))
    })
}

/// Iterates over the elements of an array. Yields the start and the text of each element.
#[inline]
pub fn elements(array: &str) -> Elements<'_> {
    let mut cursor = Cursor { text: array, at: 0 };
    cursor.skip_to_inside();
    Elements { cursor }
}

/// See [`elements`].
#[derive(Clone)]
pub struct Elements<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Elements<'a> {
    /// Continues at byte `at`, which [`position`](Self::position) returned for the same text.
    pub fn resume(array: &'a str, at: usize) -> Self {
        Self { cursor: Cursor { text: array, at } }
    }

    /// Where to look for the next element.
    pub fn position(&self) -> usize {
        self.cursor.at
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = (usize, &'a str);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.cursor.skip_blanks();
        let start = self.cursor.at;
        let element = self.cursor.item()?;
        self.cursor.skip_to_inside();
        Some((start, element))
    }
}

/// A position in valid JSON.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// Skips an opening bracket, a comma or a colon, and the blanks around it.
    pub(super) fn skip_to_inside(&mut self) {
        self.skip_blanks();
        if let Some(b'{' | b'[' | b',' | b':') = self.peek() {
            self.at += 1;
            self.skip_blanks();
        }
    }

    /// Steps over the value that starts here and returns its text, or `None` at a closing bracket or the end of the
    /// text.
    pub(super) fn item(&mut self) -> Option<&'a str> {
        let start = self.at;
        match self.peek()? {
            b'}' | b']' => return None,
            b'"' => self.skip_string(),
            b'{' | b'[' => self.skip_container(),
            _ => self.skip_scalar(),
        }
        Some(&self.text[start..self.at])
    }

    fn skip_string(&mut self) {
        self.at = string_end(self.text.as_bytes(), self.at);
    }

    fn skip_container(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_scalar(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || is_blank(*byte);
        self.at += rest.iter().position(end).unwrap_or(rest.len());
    }
}

/// The end of the string that starts at `start`, after its closing quote.
pub(super) fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(special) = text.get(at..).and_then(quote_or_backslash) {
        at += special + 1;
        if text[at - 1] == b'"' {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// The position of the first quote or backslash, which is usually so near that a call to `memchr2` costs more than it
/// saves.
#[inline]
fn quote_or_backslash(text: &[u8]) -> Option<usize> {
    let (near, _) = text[..text.len().min(32)].as_chunks();
    let mut at = 0;
    for &eight in near {
        match swar::special(eight) {
            Some(special) if matches!(eight[special], b'"' | b'\\') => return Some(at + special),
            // Non-ASCII text is likely to contain more such bytes.
            Some(_) => break,
            None => at += 8,
        }
    }
    memchr::memchr2(b'"', b'\\', &text[at..]).map(|found| at + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_over_everything() {
        let object = r#" { "a" : [1, {"b":"]}\""}] , "c\"":"\\" ,"d":-1.5e3,"e":{},"f" : null } "#;
        let found: Vec<_> = members(object).collect();
        assert_eq!(
            found,
            [
                (r#""a""#, r#"[1, {"b":"]}\""}]"#),
                (r#""c\"""#, r#""\\""#),
                (r#""d""#, "-1.5e3"),
                (r#""e""#, "{}"),
                (r#""f""#, "null"),
            ]
        );
        assert_eq!(members("{}").count(), 0);
        assert_eq!(members(" { } ").count(), 0);

        let array = r#" [ 1 ,"a,]" , [[],[]] ,{"x":[1,2]},true ] "#;
        let found: Vec<_> = elements(array).collect();
        for (start, element) in &found {
            assert_eq!(&array[*start..*start + element.len()], *element);
        }
        let texts: Vec<_> = found.iter().map(|(_, element)| *element).collect();
        assert_eq!(texts, ["1", r#""a,]""#, "[[],[]]", r#"{"x":[1,2]}"#, "true"]);
        assert_eq!(elements("[]").count(), 0);
        assert_eq!(elements(" [ ] ").count(), 0);
    }
}

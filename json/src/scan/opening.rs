//! Recognizes the start of a text without a scan.
//!
//! Most peers begin each message with the same few members, spelled the same way. Comparing these directly, eight bytes
//! at a time, takes fewer instructions than scanning them.

use super::super::swar;
use super::Span;

/// The start of a text, extended piece by piece.
///
/// Each method checks the bytes that it adds, which are always ASCII without line feeds. The caller ensures that the
/// pieces form valid JSON.
#[derive(Clone, Copy)]
pub struct Opening<'a> {
    buffer: &'a [u8],
    /// The end of the known bytes.
    at: usize,
}

impl<'a> Opening<'a> {
    /// An empty start of `buffer`.
    #[inline(always)]
    pub fn of(buffer: &'a [u8]) -> Self {
        Self { buffer, at: 0 }
    }

    /// The bytes added so far.
    #[inline(always)]
    pub fn known(self) -> &'a [u8] {
        &self.buffer[..self.at]
    }

    /// Returns `other` if it is the start of the same buffer, as it should be.
    ///
    /// A receiver of members could return the start of a different buffer. Without this check, which takes about seven
    /// instructions, the scanner would then accept bytes without validating them.
    #[inline(always)]
    pub(super) fn extended(self, other: Opening<'a>) -> Self {
        if std::ptr::eq(self.buffer, other.buffer) { other } else { self }
    }

    /// Adds `literal` if it comes next.
    #[inline(always)]
    pub fn literal(self, literal: &'static str) -> Option<Self> {
        debug_assert!(literal.is_ascii() && !literal.contains('\n'));
        let end = self.at + literal.len();
        (self.buffer.get(self.at..end)? == literal.as_bytes()).then_some(Self { at: end, ..self })
    }

    /// Adds a number of up to seven digits.
    #[inline(always)]
    pub fn natural(self) -> Option<(Span, Self)> {
        let rest = self.rest();
        let len = swar::digits(swar::eight(rest))?;
        let has_leading_zero = rest.first() == Some(&b'0') && len > 1;
        (len > 0 && !has_leading_zero).then_some(self.with(len))
    }

    /// Adds an ASCII string without escapes.
    #[inline(always)]
    pub fn string(self) -> Option<(Span, Self)> {
        let body = self.rest().strip_prefix(b"\"")?;
        let len = plain_len(body)?;
        (body.get(len) == Some(&b'"')).then_some(self.with(len + 2))
    }

    #[inline(always)]
    fn rest(self) -> &'a [u8] {
        &self.buffer[self.at..]
    }

    /// Adds the next `len` bytes, and returns their span.
    #[inline(always)]
    fn with(self, len: usize) -> (Span, Self) {
        let end = self.at + len;
        (Span::new(self.at, end), Self { at: end, ..self })
    }
}

/// The position of the first byte that ends a plain string: a quote, a backslash, a control character, or a non-ASCII
/// byte.
#[inline(always)]
fn plain_len(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match swar::special(swar::eight(text.get(at..)?)) {
            Some(special) => return Some(at + special),
            None => at += 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(text: &str) -> Opening<'_> {
        Opening::of(text.as_bytes())
    }

    #[test]
    fn adds_short_naturals() {
        for (text, len) in [
            ("0,xxxxxxxxx", Some(1)),
            ("7}xxxxxxxxx", Some(1)),
            ("42,99999999", Some(2)),
            ("9999999,", Some(7)),
            ("12345678,", None),
            ("00,xxxxxxxx", None),
            ("01,xxxxxxxx", None),
            ("-1,xxxxxxxx", None),
            (",xxxxxxxxxx", None),
            // The number is at the end of the buffer.
            ("123,xxx", Some(3)),
            ("123", Some(3)),
            ("", None),
        ] {
            let added = opening(text).natural().map(|(span, opening)| (span, opening.known().len()));
            assert_eq!(added, len.map(|len| (Span::new(0, len), len)), "{text}");
        }
    }

    #[test]
    fn adds_strings_without_escapes() {
        for len in 0..100 {
            let plain = "m".repeat(len);
            let whole = Some((Span::new(0, len + 2), len + 2));
            for (text, expected) in [
                (format!("\"{plain}\",xxxxxxxx"), whole),
                (format!("\"{plain}\""), whole),
                (format!("\"{plain}\"}}xxxxxxxx"), whole),
                (format!("\"{plain}\\n\",xxxxxxxx"), None),
                (format!("\"{plain}é\",xxxxxxxx"), None),
                (format!("\"{plain}\n\",xxxxxxxx"), None),
                (format!("{plain}\",xxxxxxxx"), None),
                (format!("\"{plain}"), None),
            ] {
                let added = opening(&text).string().map(|(span, opening)| (span, opening.known().len()));
                assert_eq!(added, expected, "{text}");
            }
        }
    }

    #[test]
    fn adds_pieces_in_turn() {
        let text = r#"{"id":17,"method":"a/b","params":{}}"#;
        let opening = opening(text);
        let (id, after) = opening.literal("{\"id\":").and_then(Opening::natural).unwrap();
        let (method, after) = after.literal(",\"method\":").and_then(Opening::string).unwrap();
        assert_eq!((id.in_str(text), method.in_str(text)), ("17", "\"a/b\""));
        assert_eq!(&text[after.known().len()..], r#","params":{}}"#);
        assert!(after.literal("\"params\":").is_none() && after.natural().is_none() && after.string().is_none());
    }
}

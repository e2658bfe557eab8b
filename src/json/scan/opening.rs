//! The start of a text, recognised without a scan.
//!
//! Most peers begin each message with the same few members, spelled the same way. Comparing these directly, eight bytes at
//! a time, takes fewer instructions than scanning them.

use super::super::swar;
use super::{Input, Span};

/// An [`Input`] whose start is known, extended piece by piece.
///
/// Each method checks the bytes it adds, and that they are ASCII without line feeds. The caller makes sure that they add up
/// to valid JSON.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    input: Input<'a>,
    /// What is not known yet.
    rest: &'a [u8],
}

impl<'a> Opening<'a> {
    #[inline(always)]
    pub(crate) fn of(input: Input<'a>) -> Self {
        Self { input, rest: input.buffer }
    }

    /// The whole text. What has been added is neither scanned nor reported. It must be nothing, or a `{`, members of an
    /// object, and a comma.
    #[inline(always)]
    pub(crate) fn into_input(self) -> Input<'a> {
        Input { known: self.len(), ..self.input }
    }

    /// Adds `literal`, if it comes next.
    #[inline(always)]
    pub(crate) fn literal(self, literal: &'static str) -> Option<Self> {
        debug_assert!(literal.is_ascii() && !literal.contains('\n'));
        self.rest.strip_prefix(literal.as_bytes()).map(|rest| Self { rest, ..self })
    }

    /// Adds a number of up to seven digits.
    #[inline(always)]
    pub(crate) fn natural(self) -> Option<(Span, Self)> {
        let len = swar::digits(swar::eight(self.rest))?;
        let has_leading_zero = self.rest.first() == Some(&b'0') && len > 1;
        (len > 0 && !has_leading_zero).then_some(self.with(&self.rest[len..]))
    }

    /// Adds a string of ASCII without escapes.
    #[inline(always)]
    pub(crate) fn string(self) -> Option<(Span, Self)> {
        let mut rest = self.rest.strip_prefix(b"\"")?;
        loop {
            match swar::special(swar::eight(rest)) {
                Some(end) => return Some(self.with(rest.get(end..)?.strip_prefix(b"\"")?)),
                None => rest = rest.get(8..)?,
            }
        }
    }

    /// Adds what comes before `rest`, and returns that too.
    #[inline(always)]
    fn with(self, rest: &'a [u8]) -> (Span, Self) {
        let longer = Self { rest, ..self };
        (Span::new(self.len(), longer.len()), longer)
    }

    #[inline(always)]
    fn len(self) -> usize {
        self.input.buffer.len() - self.rest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(text: &str) -> Opening<'_> {
        Opening::of(Input::from(text.as_bytes()))
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
            // At the end of the buffer.
            ("123,xxx", Some(3)),
            ("123", Some(3)),
            ("", None),
        ] {
            let added = opening(text).natural().map(|(span, opening)| (span, opening.len()));
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
                let added = opening(&text).string().map(|(span, opening)| (span, opening.len()));
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
        assert_eq!(&text[after.len()..], r#","params":{}}"#);
        assert!(after.literal("\"params\":").is_none() && after.natural().is_none() && after.string().is_none());
    }
}

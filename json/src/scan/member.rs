//! A member of the outermost object: its key, a colon, and its value.

use super::super::{is_blank, walk};
use super::Span;

/// A member of an object, including the blanks around its parts.
#[derive(Clone, Copy)]
pub struct Member {
    /// From the bracket or comma before the member to the comma or bracket after it, excluding both.
    pub span: Span,
    /// Whether there may be blanks. If not, the span starts with the key and ends with the value.
    pub may_have_blanks: bool,
}

impl Member {
    /// The key with its quotes, and the value, without the blanks around them.
    pub fn key_and_value(self, text: &[u8]) -> (Span, Span) {
        let member = self.span.of(text);
        let key = blanks(member);
        let key_end = walk::string_end(member, key);
        let colon = key_end + blanks(&member[key_end..]);
        let value = member.get(colon + 1..).unwrap_or_default().trim_ascii();
        let value_end = member.trim_ascii_end().len();
        let at = |start: usize, end: usize| Span::new(self.span.start() + start, self.span.start() + end);
        (at(key, key_end), at(value_end - value.len(), value_end))
    }
}

/// The number of blanks at the start of `text`.
fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|&&byte| is_blank(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_key_and_a_value() {
        for (key, value) in
            [("\"a\"", "1"), ("\"\"", "\"\""), ("\"a\\\":\\\\\"", "[ 1 , {\"b\" : \"c\"} ]"), ("\"é,:\"", "-1.5e3")]
        {
            for [a, b, c, d] in [["", "", "", ""], [" ", "\t", "\r\n", "  "], ["", "", " ", ""], ["", " ", "", "\n"]] {
                let (before, member) = ("{", format!("{a}{key}{b}:{c}{value}{d}"));
                let text = format!("{before}{member},\"z\":0}}");
                let span = Span::new(1, 1 + member.len());
                let (found, what) = Member { span, may_have_blanks: true }.key_and_value(text.as_bytes());
                assert_eq!((found.in_str(&text), what.in_str(&text)), (key, value), "{text}");
            }
        }
    }

    /// Members are reported before the rest of the text has been validated.
    #[test]
    fn stays_within_bounds_whatever_the_text() {
        for text in ["", " ", "\"", "\"a", "\"a\\", "\"a\"", "\"a\":", "\"a\" :  ", ":", "::", "1:2", "\u{e9}"] {
            for end in 0..=text.len() {
                for start in 0..=end {
                    let member = Member { span: Span::new(start, end), may_have_blanks: true };
                    let (key, value) = member.key_and_value(text.as_bytes());
                    assert!(key.end() <= text.len() && value.end() <= text.len());
                }
            }
        }
    }
}

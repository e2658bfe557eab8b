//! What a JSON string says, given its spelling.
//!
//! All of these take a string *literal*, quotes included, from a text that the scanner accepted. On any other bytes
//! they answer `None` or `false`.

use std::borrow::Cow;

/// The characters of the literal, or `None` if an escape in it stands for half a surrogate pair: JSON permits that,
/// but there is no such character.
pub(crate) fn decode(literal: &[u8]) -> Option<Cow<'_, str>> {
    let body = body(literal)?;
    if memchr::memchr(b'\\', body.as_bytes()).is_none() {
        return Some(Cow::Borrowed(body));
    }
    Characters { rest: body }.collect::<Option<String>>().map(Cow::Owned)
}

/// [`decode`], with U+FFFD in place of what is no character.
pub(crate) fn decode_lossy(literal: &[u8]) -> Cow<'_, str> {
    decode(literal).unwrap_or_else(|| {
        characters(literal).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    })
}

/// Whether the literal stands for characters at all, see [`decode`].
pub(crate) fn is_decodable(literal: &[u8]) -> bool {
    memchr::memchr(b'\\', literal).is_none()
        || body(literal).is_some_and(|body| Characters { rest: body }.all(|character| character.is_some()))
}

/// Whether two literals say the same.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    one == other
        || body(one).zip(body(other)).is_some_and(|(one, other)| {
            // Two halves of surrogate pairs are not the same character: they are none.
            let mut other = Characters { rest: other };
            Characters { rest: one }.all(|c| c.is_some() && other.next() == Some(c)) && other.rest.is_empty()
        })
}

/// Whether the literal says `text`.
pub(crate) fn says(literal: &[u8], text: &str) -> bool {
    match literal {
        [b'"', body @ .., b'"'] if memchr::memchr(b'\\', body).is_none() => body == text.as_bytes(),
        _ => body(literal).is_some_and(|body| Characters { rest: body }.eq(text.chars().map(Some))),
    }
}

/// The characters of the literal, one by one; see [`decode`] for `None`.
pub(crate) fn characters(literal: &[u8]) -> impl Iterator<Item = Option<char>> + '_ {
    Characters { rest: body(literal).unwrap_or_default() }
}

/// What stands between the quotes.
fn body(literal: &[u8]) -> Option<&str> {
    match literal {
        [b'"', body @ .., b'"'] => std::str::from_utf8(body).ok(),
        _ => None,
    }
}

struct Characters<'a> {
    rest: &'a str,
}

impl Characters<'_> {
    fn hex(&mut self) -> Option<u16> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        // `from_str_radix` would take a sign as well.
        u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
    }

    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(u32::from(first));
        }
        // The first half of a pair: the second must follow, and is taken only if it does.
        let mut ahead = Characters { rest: self.rest.strip_prefix("\\u")? };
        let second = ahead.hex().filter(|second| (0xdc00..0xe000).contains(second))?;
        self.rest = ahead.rest;
        char::from_u32(0x10000 + ((u32::from(first) - 0xd800) << 10) + (u32::from(second) - 0xdc00))
    }
}

impl Iterator for Characters<'_> {
    type Item = Option<char>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut characters = self.rest.chars();
        let mut character = characters.next()?;
        self.rest = characters.as_str();
        if character == '\\' {
            let Some(escaped) = characters.next() else {
                self.rest = "";
                return Some(None);
            };
            self.rest = characters.as_str();
            character = match escaped {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => return Some(self.unicode()),
                '"' | '\\' | '/' => escaped,
                _ => return Some(None),
            };
        }
        Some(Some(character))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_serde_json_does() {
        for literal in [
            r#""""#,
            r#""a""#,
            r#""\"\\\/\b\f\n\r\t""#,
            r#""\u0041\u00e9\u20AC""#,
            r#""\ud83d\ude00""#,
            r#""é😀""#,
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800x""#,
            r#""\ud800\n""#,
            r#""\ud800\ud800""#,
            r#""\ud800\u0041""#,
            r#""\ude00\ud83d""#,
            r#""\uD83D\uDE00\ud83d""#,
            r#""x\u0000y""#,
        ] {
            let expected = serde_json::from_str::<String>(literal).ok();
            assert_eq!(decode(literal.as_bytes()).as_deref(), expected.as_deref(), "{literal}");
            assert_eq!(is_decodable(literal.as_bytes()), expected.is_some(), "{literal}");
            let lossy = decode_lossy(literal.as_bytes());
            assert_eq!(lossy.contains('\u{fffd}'), expected.is_none(), "{literal}");
            if let Some(text) = expected {
                assert_eq!(lossy, text);
                assert!(says(literal.as_bytes(), &text), "{literal}");
                assert!(!says(literal.as_bytes(), &(text.clone() + "x")), "{literal}");
                assert!(same(literal.as_bytes(), serde_json::to_string(&text).unwrap().as_bytes()), "{literal}");
            }
        }
    }

    #[test]
    fn compares_what_is_said() {
        let same = |a: &str, b: &str| super::same(a.as_bytes(), b.as_bytes());
        assert!(same(r#""a""#, r#""\u0061""#));
        assert!(same(r#""\u00E9""#, r#""é""#));
        assert!(!same(r#""a""#, r#""ab""#));
        assert!(!same(r#""ab""#, r#""a""#));
        assert!(!same(r#""a""#, r#""A""#));
        assert!(!same(r#""\ud800x""#, r#""\ud801x""#));
        assert!(!says(br#""\\""#, "\\\\"));
        assert!(says(br#""\\""#, "\\"));
        assert!(!says(br#""id\u0000""#, "id"));
        assert!(!says(br#""\id""#, "id"));
        assert!(!says(br#""\u+069d""#, "id"));
        assert!(!says(br#""id"#, "id"));
        assert!(!says(br#""id\""#, "id"));
    }
}

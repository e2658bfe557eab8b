//! Decodes and compares JSON strings.
//!
//! These functions take a string *literal*, including its quotes, from a text that the scanner accepted. For any other
//! text they return `None` or `false`.

use std::borrow::Cow;

use super::unescape::unescape;

/// Decodes the literal. Returns `None` if one of its escapes is a lone surrogate, which is valid JSON but not a
/// character.
pub fn decode(literal: &str) -> Option<Cow<'_, str>> {
    let body = body(literal)?;
    let Some(escape) = memchr::memchr(b'\\', body.as_bytes()) else { return Some(Cow::Borrowed(body)) };
    let (mut at, mut scratch) = (1 + escape, Vec::new());
    let decoded = unescape(literal, 1, &mut at, &mut scratch).ok()?;
    (at + 1 == literal.len()).then(|| Cow::Owned(decoded.to_owned()))
}

/// Like [`decode`], but with U+FFFD in place of lone surrogates.
pub(crate) fn decode_lossy(literal: &str) -> Cow<'_, str> {
    decode(literal).unwrap_or_else(|| {
        characters(literal).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    })
}

/// Whether [`decode`] succeeds.
#[inline]
pub fn is_decodable(literal: &str) -> bool {
    memchr::memchr(b'\\', literal.as_bytes()).is_none()
        || body(literal).is_some_and(|body| Characters { rest: body }.all(|character| character.is_some()))
}

/// Whether two literals represent the same string. Lone surrogates equal nothing, not even each other.
pub fn equal(one: &str, other: &str) -> bool {
    one == other
        || body(one).zip(body(other)).is_some_and(|(one, other)| {
            let mut other = Characters { rest: other };
            Characters { rest: one }.all(|c| c.is_some() && other.next() == Some(c)) && other.rest.is_empty()
        })
}

/// Whether the literal represents `text`.
pub fn decodes_to(literal: &str, text: &str) -> bool {
    match body(literal) {
        Some(body) if memchr::memchr(b'\\', body.as_bytes()).is_none() => body == text,
        Some(body) => Characters { rest: body }.eq(text.chars().map(Some)),
        None => false,
    }
}

/// Iterates over the characters of the literal. A lone surrogate is `None`.
pub fn characters(literal: &str) -> impl Iterator<Item = Option<char>> + '_ {
    Characters { rest: body(literal).unwrap_or_default() }
}

/// Decodes the escape that `text` starts with. Returns the character and the length of the escape, or `None` if it is a
/// lone surrogate.
#[inline]
pub(crate) fn escape(text: &str) -> Option<(char, usize)> {
    let character = match text.as_bytes().get(1)? {
        b'n' => '\n',
        b'"' => '"',
        b'\\' => '\\',
        b't' => '\t',
        b'u' => {
            let mut characters = Characters { rest: text };
            return Some((characters.next()??, text.len() - characters.rest.len()));
        }
        b'r' => '\r',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        _ => return None,
    };
    Some((character, 2))
}

/// The part between the quotes.
fn body(literal: &str) -> Option<&str> {
    literal.strip_prefix('"')?.strip_suffix('"')
}

struct Characters<'a> {
    rest: &'a str,
}

impl Characters<'_> {
    fn hex(&mut self) -> Option<u16> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        // `from_str_radix` would also accept a sign.
        u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
    }

    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(u32::from(first));
        }
        // A high surrogate. Consume the next escape only if it is a low surrogate.
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
    fn decodes_like_serde_json() {
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
            assert_eq!(decode(literal).as_deref(), expected.as_deref(), "{literal}");
            assert_eq!(is_decodable(literal), expected.is_some(), "{literal}");
            let lossy = decode_lossy(literal);
            assert_eq!(lossy.contains('\u{fffd}'), expected.is_none(), "{literal}");
            if let Some(text) = expected {
                assert_eq!(lossy, text);
                assert!(decodes_to(literal, &text), "{literal}");
                assert!(!decodes_to(literal, &(text.clone() + "x")), "{literal}");
                assert!(equal(literal, &serde_json::to_string(&text).unwrap()), "{literal}");
            }
        }
    }

    #[test]
    fn compares_decoded_strings() {
        let equal = |a: &str, b: &str| super::equal(a, b);
        assert!(equal(r#""a""#, r#""\u0061""#));
        assert!(equal(r#""\u00E9""#, r#""é""#));
        assert!(!equal(r#""a""#, r#""ab""#));
        assert!(!equal(r#""ab""#, r#""a""#));
        assert!(!equal(r#""a""#, r#""A""#));
        assert!(!equal(r#""\ud800x""#, r#""\ud801x""#));
        assert!(!decodes_to(r#""\\""#, "\\\\"));
        assert!(decodes_to(r#""\\""#, "\\"));
        assert!(!decodes_to(r#""id\u0000""#, "id"));
        assert!(!decodes_to(r#""\id""#, "id"));
        assert!(!decodes_to(r#""\u+069d""#, "id"));
        assert!(!decodes_to(r#""id"#, "id"));
        assert!(!decodes_to(r#""id\""#, "id"));
    }
}

//! The id of a request, with its exact spelling.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use wireline_json::{self as json, Decimal, ShortText, string};

/// The id that ties a response to its request: a string, a number or null.
///
/// An id of any length keeps the spelling it was sent with, so it can be sent back byte for byte. Two ids are equal if
/// they have the same type and value, however they are spelled: `"a"` equals `"\u0061"`, and `1`, `1.0` and `1e0` are
/// one number, but `1` isn't `"1"`. (Numbers whose exponents have 18 or more digits are only equal if both their
/// exponents and the rest are.)
///
/// ```
/// use wireline::Id;
///
/// let id = Id::parse("9007199254740993.0").unwrap();
/// assert_eq!(id.as_json(), "9007199254740993.0");
/// assert_eq!(id, Id::from(9007199254740993_u64));
/// assert_ne!(id, Id::from("9007199254740993"));
/// ```
///
/// Cloning or owning an id of up to 24 bytes doesn't allocate.
///
/// With serde, an id is a string, a number or null. Inside a payload, an [`Encoder`](crate::Encoder) writes it with its
/// exact spelling:
///
/// ```
/// use wireline::{Id, Rules, to_line};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Cancelled<'a> { request_id: Id<'a> }
///
/// let cancelled = Cancelled { request_id: Id::parse("1.50").unwrap() };
/// let line = to_line(&Rules::mcp(), |encoder| encoder.notification("notifications/cancelled", &cancelled))?;
/// assert!(line.as_bytes().ends_with(b"\"params\":{\"requestId\":1.50}}\n"));
///
/// let read: Cancelled = serde_json::from_str(r#"{"requestId":1.50}"#)?;
/// assert_eq!(read.request_id.as_json(), "1.50");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Any other serializer gets an equal id, perhaps spelled differently (`1.5`), or an error if it is a number that serde
/// can't express exactly. An encoder also gets ids with their exact spelling if serde has buffered them, as it does in
/// some flattened and internally tagged types, unless the number has more than 64 characters or serde can't express it.
#[derive(Clone)]
pub struct Id<'a> {
    /// A JSON string without lone surrogate escapes, a number or `null`.
    json: ShortText<'a>,
}

impl<'a> Id<'a> {
    /// The id `null`.
    pub const NULL: Id<'static> = Id { json: ShortText::borrowed("null") };

    /// Parses a JSON string, number or null. Returns `None` for anything else. White space around it is ignored.
    #[must_use]
    pub fn parse(json: &'a str) -> Option<Self> {
        let json = json.trim_matches([' ', '\t', '\r', '\n']);
        let is_json = json::explain(json.as_bytes(), 0).is_none();
        if is_json { Self::of_json(ShortText::borrowed(json)) } else { None }
    }

    /// The id spelled by `json`, a JSON text without white space around it.
    pub(crate) fn of_json(json: ShortText<'a>) -> Option<Self> {
        let is_id = match IdKind::of(json.as_str()) {
            IdKind::String => string::is_decodable(json.as_str()),
            IdKind::Number | IdKind::Null => true,
            IdKind::Other => false,
        };
        is_id.then_some(Self { json })
    }

    /// The id spelled by `json`, which has passed the rules for ids.
    #[inline(always)]
    pub(crate) fn of_permitted(json: ShortText<'a>) -> Self {
        Self { json }
    }

    /// The id as JSON text, with its exact spelling.
    #[inline]
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.json.as_str()
    }

    /// The decoded string, if the id is one.
    ///
    /// ```
    /// use wireline::Id;
    ///
    /// assert_eq!(Id::parse(r#""\u0061b""#).unwrap().as_str().unwrap(), "ab");
    /// assert_eq!(Id::from(1).as_str(), None);
    /// ```
    #[must_use]
    pub fn as_str(&self) -> Option<Cow<'_, str>> {
        string::decode(self.as_json())
    }

    /// The value, if the id is a whole number in the range of `i64`, however it is spelled: `1e2` is 100.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.decimal()?.to_integer().and_then(|integer| integer.try_into().ok())
    }

    /// The value, if the id is a whole number in the range of `u64`, however it is spelled.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.decimal()?.to_integer().and_then(|integer| integer.try_into().ok())
    }

    /// Whether the id is a string.
    #[must_use]
    pub fn is_string(&self) -> bool {
        self.kind() == IdKind::String
    }

    /// Whether the id is a number.
    #[must_use]
    pub fn is_number(&self) -> bool {
        self.kind() == IdKind::Number
    }

    /// Whether the id is a number without a fraction, by value: `1e2` is, `1.5` isn't.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.decimal().is_some_and(|decimal| decimal.is_integer())
    }

    /// Whether the id is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.kind() == IdKind::Null
    }

    /// The string that spells this integer, or the integer that this string spells, if it spells one in the usual way.
    pub(crate) fn in_other_type(&self) -> Option<Id<'static>> {
        if let Some(text) = self.as_str() {
            let integer = text.parse::<i64>().map(Id::from).or_else(|_| text.parse::<u64>().map(Id::from)).ok()?;
            return (integer.as_json() == text).then_some(integer);
        }
        let text = self.as_i64().map(|id| id.to_string()).or_else(|| Some(self.as_u64()?.to_string()))?;
        Some(Id::from(text))
    }

    /// Turns this into an id that owns its spelling and keeps no buffer alive.
    #[must_use]
    pub fn into_owned(self) -> Id<'static> {
        Id { json: self.json.into_owned() }
    }

    /// Replaces `place` with a copy of this id.
    #[inline(always)]
    pub(crate) fn copy_to(&self, place: &mut Id<'static>) {
        self.json.copy_to(&mut place.json);
    }

    /// This id in a form of which several copies cost as much as one.
    #[inline]
    pub(crate) fn shareable(&self) -> Id<'_> {
        Id { json: self.json.shareable() }
    }

    fn kind(&self) -> IdKind {
        IdKind::of(self.as_json())
    }

    /// The value, if it is an integer from 0 to below 10¹⁸, however it is spelled. Most ids are, and hash faster as such.
    fn small_integer(&self) -> Option<u64> {
        const BOUND: u64 = 1_000_000_000_000_000_000;
        let digits = self.as_json().as_bytes();
        if digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit) {
            return Some(digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')));
        }
        let value = self.decimal()?.to_integer()?;
        u64::try_from(value).ok().filter(|value| *value < BOUND)
    }

    fn decimal(&self) -> Option<Decimal<'_>> {
        self.is_number().then(|| Decimal::new(self.as_json().as_bytes()))
    }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Id<'static> {
            fn from(id: $integer) -> Self {
                Self { json: ShortText::displayed(id) }
            }
        }
    )*};
}

from_integer!(i32, i64, u32, u64);

/// A string id.
impl From<&str> for Id<'static> {
    fn from(id: &str) -> Self {
        // `Value` writes strings as JSON.
        Self { json: ShortText::displayed(serde_json::Value::from(id)) }
    }
}

/// A string id.
impl From<String> for Id<'static> {
    fn from(id: String) -> Self {
        Self { json: ShortText::displayed(serde_json::Value::from(id)) }
    }
}

/// Shows the JSON text, which [`FromStr`] can parse again.
impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_json())
    }
}

/// Parses JSON text, like [`Id::parse`].
///
/// ```
/// use wireline::Id;
///
/// let id: Id = "17".parse()?;
/// assert_eq!(id, Id::from(17));
/// assert_eq!(r#""a""#.parse::<Id>()?.to_string(), r#""a""#);
/// assert!("a".parse::<Id>().is_err()); // a string has quotes
/// # Ok::<(), wireline::ParseIdError>(())
/// ```
impl FromStr for Id<'static> {
    type Err = ParseIdError;

    fn from_str(json: &str) -> Result<Self, ParseIdError> {
        Id::parse(json).map(Id::into_owned).ok_or(ParseIdError(()))
    }
}

/// The text isn't an id, that is, a JSON string, number or null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseIdError(());

impl fmt::Display for ParseIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a JSON string, number or null")
    }
}

impl std::error::Error for ParseIdError {}

impl PartialEq<Id<'_>> for Id<'_> {
    fn eq(&self, other: &Id<'_>) -> bool {
        match (self.kind(), other.kind()) {
            (IdKind::String, IdKind::String) => string::equal(self.as_json(), other.as_json()),
            (IdKind::Number, IdKind::Number) => self.as_json() == other.as_json() || self.decimal() == other.decimal(),
            (one, other) => one == other,
        }
    }
}

impl Eq for Id<'_> {}

impl Hash for Id<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let kind = self.kind();
        kind.hash(state);
        match kind {
            IdKind::String => {
                hash_string(self.as_json(), state);
                state.write_u8(0xff);
            }
            IdKind::Number => match self.small_integer() {
                Some(value) => state.write_u64(value),
                None => self.decimal().hash(state),
            },
            IdKind::Null | IdKind::Other => {}
        }
    }
}

/// Hashes the characters of a string in blocks. The result is the same however the string is spelled.
fn hash_string<H: Hasher>(json: &str, state: &mut H) {
    const BLOCK: usize = 64;
    if let [b'"', plain @ .., b'"'] = json.as_bytes()
        && memchr::memchr(b'\\', plain).is_none()
    {
        plain.chunks(BLOCK).for_each(|block| state.write(block));
        return;
    }
    let (mut block, mut len) = ([0; BLOCK], 0);
    for character in string::characters(json).flatten() {
        for &byte in character.encode_utf8(&mut [0; 4]).as_bytes() {
            block[len] = byte;
            len += 1;
            if len == BLOCK {
                state.write(&block);
                len = 0;
            }
        }
    }
    if len > 0 {
        state.write(&block[..len]);
    }
}

/// Shows only the type and the length, none of the peer's bytes.
impl fmt::Debug for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({:?}, {} bytes)", self.kind(), self.as_json().len())
    }
}

/// The type of a JSON text, as far as ids are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum IdKind {
    String,
    Number,
    Null,
    Other,
}

impl IdKind {
    fn of(json: &str) -> Self {
        match json.as_bytes().first() {
            Some(b'"') => Self::String,
            Some(b'-' | b'0'..=b'9') => Self::Number,
            Some(b'n') => Self::Null,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use super::*;

    #[test]
    fn compares_by_value_and_type() {
        let classes: &[&[&str]] = &[
            &["null"],
            &["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000", "1E+0", "0.00001e5", "100000e-5"],
            &["\"1\"", "\"\\u0031\""],
            &["-1", "-1.0"],
            &["0", "-0", "0.0", "0e5", "-0.000e-7", "0e99999999999999999999999"],
            &["\"\""],
            &["\"a\"", "\"\\u0061\""],
            &["\"A\""],
            &["\"é\"", "\"\\u00e9\"", "\"\\u00E9\""],
            &["\"😀\"", "\"\\ud83d\\ude00\""],
            &["1.5", "15e-1"],
            &["9007199254740993"],
            &["9007199254740992", "9007199254740992.0"],
            &["123456789012345678901234567890", "12345678901234567890123456789e1"],
            &["123456789012345678901234567891"],
            &["100000000000000000", "1e17", "10.0e16"],
            &["999999999999999999", "999999999999999999.0"],
            &["1000000000000000000", "1e18"],
            &["1e400", "10e399"],
            &["1e401"],
            &["1e99999999999999999999999999", "1.0e+099999999999999999999999999"],
            &["10e99999999999999999999999999"],
            &["1e-99999999999999999999999999"],
            &["1e99999999999999999999999998"],
            &["\"null\""],
        ];
        let hasher = RandomState::new();
        for (i, class) in classes.iter().enumerate() {
            for one in *class {
                let one = Id::parse(one).unwrap();
                for (j, others) in classes.iter().enumerate() {
                    for other in *others {
                        let other = Id::parse(other).unwrap();
                        assert_eq!(one == other, i == j, "{} {}", one.as_json(), other.as_json());
                        if i == j {
                            assert_eq!(hasher.hash_one(&one), hasher.hash_one(&other), "{}", one.as_json());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn long_ids_hash_alike_however_they_are_spelled() {
        let hasher = RandomState::new();
        for len in 60..70 {
            for (text, escaped) in [("x", "\\u0078"), ("é", "\\u00e9"), ("😀", "\\ud83d\\ude00")] {
                let plain = format!("\"{}\"", text.repeat(len));
                let plain = Id::parse(&plain).unwrap();
                for at in [0, len / 2, len - 1] {
                    let spelled = format!("\"{}{escaped}{}\"", text.repeat(at), text.repeat(len - at - 1));
                    let spelled = Id::parse(&spelled).unwrap();
                    assert_eq!(plain, spelled);
                    assert_eq!(hasher.hash_one(&plain), hasher.hash_one(&spelled), "{}", spelled.as_json());
                }
            }
        }
    }

    #[test]
    fn refuses_what_is_no_id() {
        for json in
            ["", " ", "true", "{}", "[]", "01", "1.", "\"", "\"\\ud800\"", "nul", "1 2", "\"a\"x", "-", "\"\t\""]
        {
            assert!(Id::parse(json).is_none(), "{json}");
        }
    }

    #[test]
    fn gives_its_value() {
        let id = |json| Id::parse(json).unwrap();
        assert_eq!(id("17").as_i64(), Some(17));
        assert_eq!(id("17e1").as_u64(), Some(170));
        assert_eq!(id("-9223372036854775808").as_i64(), Some(i64::MIN));
        assert_eq!(id("-9223372036854775809").as_i64(), None);
        assert_eq!(id("18446744073709551615").as_u64(), Some(u64::MAX));
        assert_eq!(id("18446744073709551616").as_u64(), None);
        assert_eq!(id("1.5").as_i64(), None);
        assert_eq!(id("1e30").as_u64(), None);
        assert_eq!(id("1e99999999999999999999").as_u64(), None);
        assert_eq!(id("0.0").as_u64(), Some(0));
        assert_eq!(id("-1").as_u64(), None);
        assert_eq!(id("\"17\"").as_i64(), None);
        assert_eq!(id("\"\\u00e9\"").as_str().as_deref(), Some("é"));
        assert_eq!(id("1").as_str(), None);
        assert!(id("1e2").is_integer() && !id("12.5").is_integer() && !id("\"1\"").is_integer());
        assert!(id("1e400").is_integer() && !id("1e-400").is_integer() && id("0e-400").is_integer());
        assert_eq!(Id::from("a\"\n").as_json(), r#""a\"\n""#);
    }

    #[test]
    fn is_made_from_strings_of_any_length() {
        for text in ["", "a\"\n", "é😀", &"x".repeat(28), &"x".repeat(29), &"long \u{1} ".repeat(100)] {
            let id = Id::from(text);
            assert_eq!(id.as_json(), serde_json::to_string(text).unwrap());
            assert_eq!(id.as_str().unwrap(), text);
            assert_eq!(Id::from(text.to_owned()), id);
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for number in [0, 1, -1, i64::MIN, i64::MAX] {
            assert_eq!(Id::from(number).as_json(), number.to_string());
        }
    }

    #[test]
    fn changes_its_type() {
        for (id, other) in [
            ("7", Some("\"7\"")),
            ("0", Some("\"0\"")),
            ("-3", Some("\"-3\"")),
            ("7e0", Some("\"7\"")),
            ("18446744073709551615", Some("\"18446744073709551615\"")),
            ("-9223372036854775808", Some("\"-9223372036854775808\"")),
            ("\"7\"", Some("7")),
            ("\"\\u0037\"", Some("7")),
            ("\"18446744073709551615\"", Some("18446744073709551615")),
            ("18446744073709551616", None),
            ("7.5", None),
            ("null", None),
        ] {
            assert_eq!(Id::parse(id).unwrap().in_other_type().as_ref().map(Id::as_json), other, "{id}");
        }
        for text in ["", "a", "07", "+7", "-0", "7.0", "7e0", " 7", "7 ", "18446744073709551616", "٧"] {
            assert_eq!(Id::from(text).in_other_type(), None, "{text}");
        }
    }

    #[test]
    fn does_not_show_itself() {
        assert_eq!(format!("{:?}", Id::from("secret")), "Id(String, 8 bytes)");
    }
}

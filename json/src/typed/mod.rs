//! Deserializes valid JSON.
//!
//! This is faster than serde_json, because the text has been validated already. It gives the same results or none: if a
//! text doesn't fit its type, the caller falls back to serde_json, whose errors give the reason and the position.
//! Individual numbers that aren't plain integers are also left to serde_json, since its features determine how floats are
//! parsed.

mod access;
mod string;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, Deserialize, Visitor};

use self::access::{Elements, Members, RawValue, UnitVariant, Variant};
use self::string::DecodedStr;
use super::fragment::RAW_VALUE;
use super::walk::Cursor;

/// The deepest nesting, the same as serde_json's limit.
const DEPTH: u8 = 127;

/// Deserializes `json`, which must be valid JSON. Fails with [`Unread`] if serde_json should decode it instead, or give
/// the reason why it can't.
///
/// Strings with escapes are decoded in `scratch`.
pub fn from_json<'de, T: Deserialize<'de>>(json: &'de str, scratch: &mut Vec<u8>) -> Result<T, Unread> {
    let cursor = Cursor { text: json, at: 0 };
    let mut deserializer = Deserializer { cursor, scratch, depth: DEPTH, has_failed: false };
    let value = T::deserialize(&mut deserializer)?;
    // A type that recovers from an error might get a different value from serde_json.
    match deserializer.cursor.at == json.len() && !deserializer.has_failed {
        true => Ok(value),
        false => Err(Unread),
    }
}

/// The text doesn't fit the type, or only serde_json can decode it.
#[derive(Debug)]
pub struct Unread;

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("left to serde_json")
    }
}

impl std::error::Error for Unread {}

/// Discards the details of errors. serde_json reproduces them, with a position.
impl de::Error for Unread {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self
    }

    fn invalid_type(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self
    }

    fn invalid_value(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self
    }

    fn invalid_length(_: usize, _: &dyn de::Expected) -> Self {
        Self
    }
}

pub(super) struct Deserializer<'de, 's> {
    /// The start of the next value, or of the blanks before it.
    cursor: Cursor<'de>,
    /// The buffer in which strings with escapes are decoded.
    scratch: &'s mut Vec<u8>,
    /// How many more levels of nesting are allowed.
    depth: u8,
    /// Whether any call has returned an error.
    has_failed: bool,
}

impl<'de> Deserializer<'de, '_> {
    /// Records an error, in case the type recovers from it.
    #[inline]
    fn noting<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Unread>) -> Result<T, Unread> {
        let value = read(self);
        self.has_failed |= value.is_err();
        value
    }

    /// The next byte that isn't blank.
    #[inline]
    fn peek(&mut self) -> Result<u8, Unread> {
        match self.cursor.peek() {
            Some(byte) if byte > b' ' => Ok(byte),
            _ => {
                self.cursor.skip_blanks();
                self.cursor.peek().ok_or(Unread)
            }
        }
    }

    /// Steps over the next byte, which must be `byte`.
    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), Unread> {
        match self.peek()? == byte {
            true => {
                self.cursor.at += 1;
                Ok(())
            }
            false => Err(Unread),
        }
    }

    /// Steps over the next value.
    fn skip(&mut self) -> Result<&'de str, Unread> {
        self.peek()?;
        self.cursor.item().ok_or(Unread)
    }

    /// Steps over a literal that has been identified by its first byte.
    #[inline]
    fn literal(&mut self, literal: &str) {
        self.cursor.at += literal.len();
    }

    /// Reads the string that starts here.
    #[inline]
    fn string(&mut self) -> Result<DecodedStr<'de, '_>, Unread> {
        self.expect(b'"')?;
        string::read(&mut self.cursor, self.scratch)
    }

    #[inline]
    fn visit_string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Unread> {
        match self.string()? {
            DecodedStr::Borrowed(text) => visitor.visit_borrowed_str(text),
            DecodedStr::Decoded(text) => visitor.visit_str(text),
        }
    }

    /// Reads a number, using `other` to decode it if it isn't a plain integer.
    #[inline]
    fn number<V: Visitor<'de>>(
        &mut self,
        visitor: V,
        other: fn(&mut SerdeJson<'de>, V) -> Result<V::Value, serde_json::Error>,
    ) -> Result<V::Value, Unread> {
        match self.peek()? {
            b'-' | b'0'..=b'9' => {}
            _ => return Err(Unread),
        }
        let number = self.skip()?;
        match integer(number) {
            Some(Integer::Positive(integer)) => visitor.visit_u64(integer),
            Some(Integer::Negative(integer)) => visitor.visit_i64(integer),
            None => by_serde_json(number, visitor, other),
        }
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Unread>) -> Result<T, Unread> {
        self.depth = self.depth.checked_sub(1).ok_or(Unread)?;
        self.cursor.at += 1; // the opening bracket
        let value = read(self)?;
        self.depth += 1;
        Ok(value)
    }

    fn sequence<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Unread> {
        self.nested(|this| {
            let value = visitor.visit_seq(Elements::new(this))?;
            this.expect(b']')?; // fails if the visitor stopped early
            Ok(value)
        })
    }

    fn map<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Unread> {
        self.nested(|this| {
            let value = visitor.visit_map(Members::new(this))?;
            this.expect(b'}')?;
            Ok(value)
        })
    }
}

/// Has serde_json decode a number.
#[cold]
fn by_serde_json<'de, V: Visitor<'de>>(
    number: &'de str,
    visitor: V,
    decode: fn(&mut SerdeJson<'de>, V) -> Result<V::Value, serde_json::Error>,
) -> Result<V::Value, Unread> {
    let mut deserializer = serde_json::Deserializer::from_str(number);
    let value = decode(&mut deserializer, visitor).map_err(|_| Unread)?;
    // A type may have read only the digits before the decimal point.
    deserializer.end().map_err(|_| Unread)?;
    Ok(value)
}

type SerdeJson<'de> = serde_json::Deserializer<serde_json::de::StrRead<'de>>;

enum Integer {
    Positive(u64),
    Negative(i64),
}

/// Parses an integer of up to 18 digits. Excludes `-0`, which serde_json treats as a float.
#[inline]
fn integer(number: &str) -> Option<Integer> {
    let digits = number.strip_prefix('-').unwrap_or(number).as_bytes();
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = 10 * value + i64::from(digit);
    }
    match digits.len() == number.len() {
        true => Some(Integer::Positive(value.unsigned_abs())),
        false if value == 0 => None,
        false => Some(Integer::Negative(-value)),
    }
}

/// Defines methods of `Deserializer`, each with a body that reads the value from `$this`.
macro_rules! methods {
    ($($(#[$attribute:meta])* fn $method:ident($this:ident, $visitor:ident $(, $argument:ident: $type:ty)*) $body:block)*) => {$(
        #[inline]
        $(#[$attribute])*
        fn $method<V: Visitor<'de>>(self $(, $argument: $type)*, $visitor: V) -> Result<V::Value, Unread> {
            self.noting(|$this| $body)
        }
    )*};
}

macro_rules! numbers {
    ($($method:ident)*) => {
        methods! {$(
            fn $method(this, visitor) {
                this.number(visitor, |deserializer, visitor| de::Deserializer::$method(deserializer, visitor))
            }
        )*}
    };
}

macro_rules! wide_numbers {
    ($($method:ident)*) => {
        methods! {$(
            fn $method(this, visitor) {
                by_serde_json(this.skip()?, visitor, |deserializer, visitor| {
                    de::Deserializer::$method(deserializer, visitor)
                })
            }
        )*}
    };
}

impl<'de> de::Deserializer<'de> for &mut Deserializer<'de, '_> {
    type Error = Unread;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }
    wide_numbers! { deserialize_i128 deserialize_u128 }

    methods! {
        fn deserialize_any(this, visitor) {
            match this.peek()? {
                b'"' => this.visit_string(visitor),
                b'{' => this.map(visitor),
                b'[' => this.sequence(visitor),
                b't' | b'f' => this.deserialize_bool(visitor),
                b'n' => this.deserialize_unit(visitor),
                _ => this.number(visitor, |deserializer, visitor| de::Deserializer::deserialize_any(deserializer, visitor)),
            }
        }

        fn deserialize_bool(this, visitor) {
            match this.peek()? {
                b't' => {
                    this.literal("true");
                    visitor.visit_bool(true)
                }
                b'f' => {
                    this.literal("false");
                    visitor.visit_bool(false)
                }
                _ => Err(Unread),
            }
        }

        fn deserialize_char(this, visitor) {
            this.visit_string(visitor)
        }

        fn deserialize_str(this, visitor) {
            this.visit_string(visitor)
        }

        fn deserialize_string(this, visitor) {
            this.visit_string(visitor)
        }

        fn deserialize_identifier(this, visitor) {
            this.visit_string(visitor)
        }

        fn deserialize_bytes(this, visitor) {
            match this.peek()? {
                b'[' => this.sequence(visitor),
                // serde_json also accepts lone surrogates as bytes, so these are left to it.
                _ => match this.string()? {
                    DecodedStr::Borrowed(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
                    DecodedStr::Decoded(text) => visitor.visit_bytes(text.as_bytes()),
                },
            }
        }

        fn deserialize_byte_buf(this, visitor) {
            this.deserialize_bytes(visitor)
        }

        fn deserialize_option(this, visitor) {
            match this.peek()? {
                b'n' => {
                    this.literal("null");
                    visitor.visit_none()
                }
                _ => visitor.visit_some(this),
            }
        }

        fn deserialize_unit(this, visitor) {
            match this.peek()? {
                b'n' => {
                    this.literal("null");
                    visitor.visit_unit()
                }
                _ => Err(Unread),
            }
        }

        fn deserialize_unit_struct(this, visitor, _name: &'static str) {
            this.deserialize_unit(visitor)
        }

        fn deserialize_newtype_struct(this, visitor, name: &'static str) {
            match name == RAW_VALUE {
                true => visitor.visit_map(RawValue::new(this.skip()?)),
                false => visitor.visit_newtype_struct(this),
            }
        }

        fn deserialize_seq(this, visitor) {
            match this.peek()? {
                b'[' => this.sequence(visitor),
                _ => Err(Unread),
            }
        }

        fn deserialize_tuple(this, visitor, _len: usize) {
            this.deserialize_seq(visitor)
        }

        fn deserialize_tuple_struct(this, visitor, _name: &'static str, _len: usize) {
            this.deserialize_seq(visitor)
        }

        fn deserialize_map(this, visitor) {
            match this.peek()? {
                b'{' => this.map(visitor),
                _ => Err(Unread),
            }
        }

        fn deserialize_struct(this, visitor, _name: &'static str, _fields: &'static [&'static str]) {
            match this.peek()? {
                b'{' => this.map(visitor),
                b'[' => this.sequence(visitor),
                _ => Err(Unread),
            }
        }

        fn deserialize_enum(this, visitor, _name: &'static str, _variants: &'static [&'static str]) {
            match this.peek()? {
                b'{' => this.nested(|this| {
                    let value = visitor.visit_enum(Variant { deserializer: this })?;
                    this.expect(b'}')?;
                    Ok(value)
                }),
                b'"' => visitor.visit_enum(UnitVariant { deserializer: this }),
                _ => Err(Unread),
            }
        }

        fn deserialize_ignored_any(this, visitor) {
            this.skip()?;
            visitor.visit_unit()
        }
    }
}

#[cfg(test)]
mod tests;

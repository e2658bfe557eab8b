//! Typed values from a text that is known to be JSON.
//!
//! Does what serde_json does, in less time, since nothing has to be checked again. It does it exactly, or not at all: a
//! text that doesn't fit its type is left to serde_json, whose errors say where and why. So are numbers that aren't plain
//! integers, one by one: how floats are read is up to serde_json and its features.

mod access;
mod text;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, Deserialize, Visitor};

use self::access::{Elements, Members, RawValue, UnitVariant, Variant};
use self::text::Text;
use super::walk::Cursor;

/// As deep as serde_json goes.
const DEPTH: u8 = 127;

/// How serde_json's `RawValue` asks for a text as it is.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// The value of `json`, a JSON text, or [`Unread`] if serde_json should decode it, and knows why.
pub(crate) fn from_json<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, Unread> {
    let mut deserializer = Deserializer { cursor: Cursor { text: json, at: 0 }, scratch: Vec::new(), depth: DEPTH };
    let value = T::deserialize(&mut deserializer)?;
    match deserializer.cursor.at == json.len() {
        true => Ok(value),
        false => Err(Unread),
    }
}

/// The text doesn't fit the type, or takes something that only serde_json does.
#[derive(Debug)]
pub(crate) struct Unread;

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("left to serde_json")
    }
}

impl std::error::Error for Unread {}

/// What a type has to say against a text isn't kept: serde_json will say it again, and where.
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

pub(super) struct Deserializer<'de> {
    /// Where the next value starts, or the blanks before it.
    cursor: Cursor<'de>,
    /// Where strings with escapes are decoded.
    scratch: Vec<u8>,
    /// How many more containers may be opened.
    depth: u8,
}

impl<'de> Deserializer<'de> {
    /// The next byte that is no blank.
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

    /// Steps over a literal, of which the first byte has been looked at.
    #[inline]
    fn literal(&mut self, literal: &str) {
        self.cursor.at += literal.len();
    }

    /// The string that starts here.
    #[inline]
    fn string(&mut self) -> Result<Text<'de, '_>, Unread> {
        self.expect(b'"')?;
        text::read(&mut self.cursor, &mut self.scratch)
    }

    #[inline]
    fn visit_string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Unread> {
        match self.string()? {
            Text::Borrowed(text) => visitor.visit_borrowed_str(text),
            Text::Decoded(text) => visitor.visit_str(text),
        }
    }

    /// A number, which `other` decodes if it isn't a plain integer.
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
            this.expect(b']')?; // or not all elements were wanted
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
    // It may have wanted only the digits before a point.
    deserializer.end().map_err(|_| Unread)?;
    Ok(value)
}

type SerdeJson<'de> = serde_json::Deserializer<serde_json::de::StrRead<'de>>;

enum Integer {
    Positive(u64),
    Negative(i64),
}

/// The value of an integer of few digits. Not of `-0`, which is a float to serde_json.
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

macro_rules! numbers {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
            self.number(visitor, |deserializer, visitor| de::Deserializer::$method(deserializer, visitor))
        }
    )*};
}

macro_rules! wide_numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
            by_serde_json(self.skip()?, visitor, |deserializer, visitor| {
                de::Deserializer::$method(deserializer, visitor)
            })
        }
    )*};
}

macro_rules! strings {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
            self.visit_string(visitor)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for &mut Deserializer<'de> {
    type Error = Unread;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        match self.peek()? {
            b'"' => self.visit_string(visitor),
            b'{' => self.map(visitor),
            b'[' => self.sequence(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            b'n' => self.deserialize_unit(visitor),
            _ => self.number(visitor, |deserializer, visitor| de::Deserializer::deserialize_any(deserializer, visitor)),
        }
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        match self.peek()? {
            b't' => {
                self.literal("true");
                visitor.visit_bool(true)
            }
            b'f' => {
                self.literal("false");
                visitor.visit_bool(false)
            }
            _ => Err(Unread),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }
    wide_numbers! { deserialize_i128 deserialize_u128 }
    strings! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    /// Strings with escapes of half a character are valid here, which nobody else sends.
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        match self.peek()? {
            b'[' => self.sequence(visitor),
            _ => match self.string()? {
                Text::Borrowed(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
                Text::Decoded(text) => visitor.visit_bytes(text.as_bytes()),
            },
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        match self.peek()? {
            b'n' => {
                self.literal("null");
                visitor.visit_none()
            }
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        match self.peek()? {
            b'n' => {
                self.literal("null");
                visitor.visit_unit()
            }
            _ => Err(Unread),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Unread> {
        self.deserialize_unit(visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Unread> {
        match name == RAW_VALUE {
            true => visitor.visit_map(RawValue::new(self.skip()?)),
            false => visitor.visit_newtype_struct(self),
        }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        match self.peek()? {
            b'[' => self.sequence(visitor),
            _ => Err(Unread),
        }
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Unread> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Unread> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        match self.peek()? {
            b'{' => self.map(visitor),
            _ => Err(Unread),
        }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unread> {
        match self.peek()? {
            b'{' => self.map(visitor),
            b'[' => self.sequence(visitor),
            _ => Err(Unread),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unread> {
        match self.peek()? {
            b'{' => self.nested(|this| {
                let value = visitor.visit_enum(Variant { deserializer: this })?;
                this.expect(b'}')?;
                Ok(value)
            }),
            b'"' => visitor.visit_enum(UnitVariant { deserializer: self }),
            _ => Err(Unread),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.skip()?;
        visitor.visit_unit()
    }
}

#[cfg(test)]
mod tests;

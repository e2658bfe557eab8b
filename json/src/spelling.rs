//! Passes the spelling of a number through serde's buffers, which only keep its value.
//!
//! serde buffers the contents of some flattened and tagged types, and its buffers can't hold a number's spelling. But
//! they keep the names of newtype structs, which JSON and similar formats leave out. So `1.10` is serialized as the
//! float 1.1 in four newtype structs, named after its four characters:
//!
//! ```text
//! Number:1(Number:.(Number:1(Number:0(1.1))))
//! ```
//!
//! Other serializers see 1.1. Wireline's serializer writes `1.10`, provided that this is a number with the value that
//! it receives.

use std::str;

use serde::ser::{Serialize, Serializer};

use super::collect::is_json_number;
use super::number::Decimal;

/// The longest spelling that is preserved. Each character takes a level of recursion.
pub const LONGEST: usize = 64;

/// The prefix of the names of newtype structs that spell a number.
const PREFIX: &str = "$wireline::Number:";

/// The name of a newtype struct around a number whose spelling is too long.
const TOO_LONG: &str = "$wireline::Number:…";

macro_rules! names {
    ($($byte:literal => $name:literal,)*) => {
        /// The name of the newtype struct for a character of a number.
        fn name_of(byte: u8) -> Option<&'static str> {
            match byte {
                $($byte => Some(concat!("$wireline::Number:", $name)),)*
                _ => None,
            }
        }
    };
}

names! {
    b'0' => "0", b'1' => "1", b'2' => "2", b'3' => "3", b'4' => "4",
    b'5' => "5", b'6' => "6", b'7' => "7", b'8' => "8", b'9' => "9",
    b'-' => "-", b'+' => "+", b'.' => ".", b'e' => "e", b'E' => "E",
}

/// Information about the spelling of a number, in the name of a newtype struct around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clue {
    /// The next character.
    Character(u8),
    /// The spelling is too long to be preserved.
    TooLong,
}

/// Returns the clue in the name of a newtype struct.
#[inline(always)]
pub fn clue(name: &'static str) -> Option<Clue> {
    // Evaluated at compile time if the name is a constant.
    match name.strip_prefix(PREFIX)?.as_bytes() {
        &[byte] => name_of(byte).map(|_| Clue::Character(byte)),
        _ => (name == TOO_LONG).then_some(Clue::TooLong),
    }
}

/// A number in serde's data model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An unsigned integer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// An integer of up to 128 bits.
    Wide(i128),
    /// A float.
    Float(f64),
}

impl Number {
    /// Whether `text` is a JSON number with this value. A float must be the one nearest to `text`.
    pub fn is_value_of(self, text: &str) -> bool {
        let integer = || Decimal::new(text.as_bytes()).to_integer();
        is_json_number(text)
            && match self {
                Self::Unsigned(value) => integer() == Some(value.into()),
                Self::Signed(value) => integer() == Some(value.into()),
                Self::Wide(value) => integer() == Some(value),
                Self::Float(value) => text.parse::<f64>().is_ok_and(|parsed| parsed.to_bits() == value.to_bits()),
            }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Unsigned(value) => serializer.serialize_u64(value),
            Self::Signed(value) => serializer.serialize_i64(value),
            Self::Wide(value) => serializer.serialize_i128(value),
            Self::Float(value) => serializer.serialize_f64(value),
        }
    }
}

/// A number and the part of its spelling that is yet to be serialized.
pub(crate) struct Spelled<'a> {
    value: Number,
    rest: &'a [u8],
    is_too_long: bool,
}

impl<'a> Spelled<'a> {
    pub(crate) fn new(value: Number, spelling: &'a str) -> Self {
        match spelling.len() <= LONGEST {
            true => Self { value, rest: spelling.as_bytes(), is_too_long: false },
            false => Self { value, rest: b"", is_too_long: true },
        }
    }
}

impl Serialize for Spelled<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_too_long {
            return serializer.serialize_newtype_struct(TOO_LONG, &self.value);
        }
        match self.rest.split_first().map(|(&byte, rest)| (name_of(byte), rest)) {
            Some((Some(name), rest)) => serializer.serialize_newtype_struct(name, &Self { rest, ..*self }),
            _ => self.value.serialize(serializer),
        }
    }
}

/// A spelling that is being assembled from clues.
#[derive(Clone, Copy)]
pub struct Spelling {
    bytes: [u8; LONGEST],
    len: usize,
    is_too_long: bool,
}

impl Spelling {
    /// An empty spelling.
    pub fn new() -> Self {
        Self { bytes: [0; LONGEST], len: 0, is_too_long: false }
    }

    /// Adds a clue.
    pub fn add(&mut self, clue: Clue) {
        match (clue, self.bytes.get_mut(self.len)) {
            (Clue::Character(byte), Some(place)) => {
                *place = byte;
                self.len += 1;
            }
            _ => self.is_too_long = true,
        }
    }

    /// Whether the number has more characters than fit.
    pub fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// The characters so far.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_clues() {
        for byte in 0..=255 {
            if let Some(name) = name_of(byte) {
                assert_eq!(clue(name), Some(Clue::Character(byte)));
                assert_eq!(name.strip_prefix(PREFIX).unwrap().as_bytes(), [byte]);
            }
        }
        assert_eq!((0..=255).filter_map(name_of).count(), 15);
        assert_eq!(clue(TOO_LONG), Some(Clue::TooLong));
        for name in
            ["", "Number:1", PREFIX, "$wireline::Number:x", "$wireline::Number:11", crate::fragment::RAW_FRAGMENT]
        {
            assert_eq!(clue(name), None, "{name}");
        }
    }

    #[test]
    fn values_are_compared_exactly() {
        let big = Number::Unsigned(9_007_199_254_740_993);
        assert!(big.is_value_of("9007199254740993.0") && !big.is_value_of("9007199254740992.0"));
        assert!(Number::Float(1.1).is_value_of("1.10") && !Number::Float(1.1).is_value_of("1.2"));
        assert!(Number::Float(-0.0).is_value_of("-0") && !Number::Float(0.0).is_value_of("-0"));
        assert!(
            Number::Signed(-1).is_value_of("-1e0") && Number::Wide(1 << 100).is_value_of(&(1_i128 << 100).to_string())
        );
        for text in ["", "1x", "+1", "01", "1.", "inf", "NaN", "--1", "\"1\"", "1 "] {
            assert!(!Number::Float(1.0).is_value_of(text) && !Number::Unsigned(1).is_value_of(text), "{text}");
        }
    }
}

//! Reads a value from a deserializer as JSON text: the original text if the deserializer has it, otherwise newly
//! written.
//!
//! This crate's deserializer and serde_json's have the original text, and pass it on as they do to serde_json's
//! `RawValue`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor};

use super::fragment::{NUMBER, RAW_VALUE};
use super::{explain, is_blank, is_number};

/// The deepest nesting, the same as serde_json's limit.
const DEEPEST: u8 = 127;

/// Reads the next value of `deserializer` as text, which may not be valid JSON.
///
/// Floats are an error if the format is human-readable, because they may have been rounded.
pub fn collect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    let floats = Floats::of(&deserializer);
    deserializer.deserialize_newtype_struct(RAW_VALUE, AnyText { floats })
}

/// Whether floats are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floats {
    /// The format stores floats.
    Exact,
    /// The format stores text, so floats may have been rounded when they were parsed.
    Rounded,
}

impl Floats {
    /// Whether the floats of `deserializer` are exact.
    pub fn of<'de, D: Deserializer<'de>>(deserializer: &D) -> Self {
        if deserializer.is_human_readable() { Self::Rounded } else { Self::Exact }
    }

    /// Formats a float, unless it may have been rounded.
    pub fn print<E: de::Error>(self, float: f64) -> Result<String, E> {
        let number = serde_json::Number::from_f64(float)
            .ok_or_else(|| E::invalid_value(Unexpected::Float(float), &"a finite number"))?;
        match self {
            Self::Exact => Ok(number.to_string()),
            Self::Rounded => Err(E::custom(
                "number may have been rounded to a float; read it with a type that serde doesn't buffer, that is, \
                 neither untagged nor internally tagged nor flattened",
            )),
        }
    }
}

/// The key of a map's first entry, which shows whether the map stands for something else.
pub enum FirstKey {
    /// The map stands for a value of which it holds the original text.
    RawValue,
    /// The map stands for a number, as serde_json passes them with the feature `arbitrary_precision`.
    Number,
    /// An ordinary key of an ordinary map.
    Other(String),
}

impl FirstKey {
    /// Reads the first key of a map, or `None` if the map is empty.
    pub fn read<'de, A: MapAccess<'de>>(members: &mut A) -> Result<Option<Self>, A::Error> {
        Ok(members.next_key_seed(KeySeed)?.map(|key| match &*key {
            RAW_VALUE => Self::RawValue,
            NUMBER if serde_json_keeps_spelling() => Self::Number,
            _ => Self::Other(key.into_owned()),
        }))
    }
}

/// Whether any crate in the build has enabled serde_json's feature `arbitrary_precision`.
fn serde_json_keeps_spelling() -> bool {
    "1.10".parse().is_ok_and(|number: serde_json::Number| number.to_string() == "1.10")
}

/// Deserializes a string, borrowed if possible.
pub struct StringSeed;

impl<'de> DeserializeSeed<'de> for StringSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for StringSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }
}

/// Deserializes a key as text. A scalar becomes a string.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! displayed {
    ($($visit:ident: $type:ty),*) => {$(
        fn $visit<E>(self, value: $type) -> Result<Self::Value, E> {
            Ok(Cow::Owned(value.to_string()))
        }
    )*};
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    displayed! { visit_str: &str, visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128 }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Visits a value's original text, or otherwise writes the value as text.
struct AnyText {
    floats: Floats,
}

impl AnyText {
    fn written<E>(self, write: impl FnOnce(Value<'_>) -> Result<(), E>) -> Result<String, E> {
        let mut out = String::new();
        write(Value { out: &mut out, floats: self.floats, depth: DEEPEST })?;
        Ok(out)
    }
}

macro_rules! written {
    ($($visit:ident($($value:ident: $type:ty)?)),*) => {$(
        fn $visit<E: de::Error>(self, $($value: $type)?) -> Result<Self::Value, E> {
            self.written(|value| value.$visit($($value)?)).map(Cow::Owned)
        }
    )*};
}

impl<'de> Visitor<'de> for AnyText {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.written(|value| deserializer.deserialize_any(value)).map(Cow::Owned)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        match FirstKey::read(&mut members)? {
            Some(FirstKey::RawValue) => members.next_value_seed(StringSeed),
            first => self.written(|value| value.map(first, members)).map(Cow::Owned),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Self::Value, A::Error> {
        self.written(|value| value.visit_seq(elements)).map(Cow::Owned)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.written(|value| deserializer.deserialize_any(value)).map(Cow::Owned)
    }

    written! {
        visit_bool(value: bool),
        visit_i64(value: i64),
        visit_u64(value: u64),
        visit_i128(value: i128),
        visit_u128(value: u128),
        visit_f64(value: f64),
        visit_str(value: &str),
        visit_bytes(value: &[u8]),
        visit_unit(),
        visit_none()
    }
}

/// Writes a value to `out`.
struct Value<'w> {
    out: &'w mut String,
    floats: Floats,
    /// How many more levels of nesting are allowed.
    depth: u8,
}

impl Value<'_> {
    /// Returns the writer for the values inside this one.
    fn inner<E: de::Error>(&mut self) -> Result<Value<'_>, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom("recursion limit exceeded"))?;
        Ok(Value { out: self.out, floats: self.floats, depth })
    }

    fn push_string(&mut self, text: &str) {
        // serde_json's `Value` displays strings as JSON.
        self.out.push_str(&serde_json::Value::from(text).to_string());
    }

    /// Writes the rest of a map after its first key.
    fn map<'de, A: MapAccess<'de>>(mut self, first: Option<FirstKey>, mut members: A) -> Result<(), A::Error> {
        let mut key = match first {
            Some(FirstKey::Number) => return self.number(members),
            Some(FirstKey::RawValue) => Some(Cow::Borrowed(RAW_VALUE)),
            Some(FirstKey::Other(key)) => Some(Cow::Owned(key)),
            None => None,
        };
        self.out.push('{');
        let mut separator = "";
        while let Some(text) = key {
            self.out.push_str(separator);
            self.push_string(&text);
            self.out.push(':');
            members.next_value_seed(self.inner()?)?;
            key = members.next_key_seed(KeySeed)?;
            separator = ",";
        }
        self.out.push('}');
        Ok(())
    }

    /// Writes the number that is the map's only value.
    fn number<'de, A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let number = members.next_value_seed(StringSeed)?;
        if !is_json_number(&number) {
            return Err(de::Error::invalid_value(Unexpected::Other("text"), &"a number"));
        }
        self.out.push_str(&number);
        Ok(())
    }
}

/// Whether `text` is a JSON number, without blanks around it.
pub fn is_json_number(text: &str) -> bool {
    is_number(text) && !text.bytes().any(is_blank) && explain(text.as_bytes(), 0).is_none()
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! printed {
    ($($visit:ident: $type:ty),*) => {$(
        fn $visit<E: de::Error>(self, value: $type) -> Result<(), E> {
            self.out.push_str(&value.to_string());
            Ok(())
        }
    )*};
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    printed! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128 }

    fn visit_f64<E: de::Error>(self, float: f64) -> Result<(), E> {
        self.out.push_str(&self.floats.print::<E>(float)?);
        Ok(())
    }

    fn visit_str<E: de::Error>(mut self, text: &str) -> Result<(), E> {
        self.push_string(text);
        Ok(())
    }

    /// Writes bytes as serde_json does, as an array of numbers.
    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<(), E> {
        self.out.push_str(&serde_json::Value::from(bytes).to_string());
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.out.push_str("null");
        Ok(())
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        self.out.push('[');
        let start = self.out.len();
        loop {
            let end = self.out.len();
            if end > start {
                self.out.push(',');
            }
            if elements.next_element_seed(self.inner()?)?.is_none() {
                self.out.truncate(end);
                break;
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let first = FirstKey::read(&mut members)?;
        self.map(first, members)
    }
}

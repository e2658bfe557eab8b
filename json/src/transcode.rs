//! Serializes the value that a JSON text represents, for serializers that don't accept the text itself.
//!
//! The parts of the text are themselves serialized as [fragments](super::fragment). If a serializer that accepts text
//! is wrapped in one that doesn't, it still receives as much as possible verbatim, such as the values of a flattened
//! object.

use std::cell::Cell;

use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};

use super::fragment::{self, RAW_FRAGMENT};
use super::number::Decimal;
use super::spelling::{Number, Spelled};
use super::walk::Cursor;
use super::{is_number, string};

/// The deepest nesting, the same as serde_json's limit.
const DEEPEST: u8 = 127;

/// Serializes the value of `json`, a JSON text without blanks around it.
///
/// As in serde_json, integers of up to 64 bits become integers, and other numbers become floats. A number that is too
/// large for a float is an error.
#[cold]
#[inline(never)]
pub fn transcode<S: Serializer>(json: &str, serializer: S) -> Result<S::Ok, S::Error> {
    Contents(&Part::new(json, 0, DEEPEST)).value(serializer)
}

/// Like [`transcode`], for a string, a number or null. A number that serde can't express exactly is an error.
#[cold]
#[inline(never)]
pub fn transcode_exactly<S: Serializer>(json: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if !is_number(json) {
        return transcode(json, serializer);
    }
    if let Some(number) = plain_integer(json) {
        return number.serialize(serializer);
    }
    let decimal = Decimal::new(json.as_bytes());
    if let Some((float, printed)) = nearest_float(json)
        && Decimal::new(printed.as_bytes()) == decimal
    {
        return spelled(Number::Float(float), &printed, json, serializer);
    }
    let number = decimal.to_integer().map(|integer| match (u64::try_from(integer), i64::try_from(integer)) {
        (Ok(integer), _) => Number::Unsigned(integer),
        (_, Ok(integer)) => Number::Signed(integer),
        _ => Number::Wide(integer),
    });
    match number {
        Some(number) => spelled(number, "", json, serializer),
        None => Err(S::Error::custom("number can't be expressed exactly")),
    }
}

/// A value inside a text.
struct Part<'t> {
    text: &'t str,
    start: usize,
    /// The end of the value, once known.
    end: Cell<Option<usize>>,
    /// How many more levels of nesting are allowed.
    depth: u8,
}

impl<'t> Part<'t> {
    fn new(text: &'t str, start: usize, depth: u8) -> Self {
        Self { text, start, end: Cell::new(None), depth }
    }

    fn cursor(&self) -> Cursor<'t> {
        Cursor { text: self.text, at: self.start }
    }

    /// The end of the value. It is known already if a serializer has read the whole value, but not if it ignored it.
    fn end(&self) -> usize {
        self.end.get().unwrap_or_else(|| {
            let mut cursor = self.cursor();
            cursor.item();
            cursor.at
        })
    }

    /// The text of the value.
    fn as_str(&self) -> &'t str {
        let end = self.end();
        self.end.set(Some(end));
        &self.text[self.start..end]
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(RAW_FRAGMENT, &Contents(self))
    }
}

/// The newtype struct's inner value.
struct Contents<'p, 't>(&'p Part<'t>);

impl Serialize for Contents<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match fragment::is_welcome(&serializer) {
            true => fragment::pass(self.0.as_str(), serializer),
            false => self.value(serializer),
        }
    }
}

impl Contents<'_, '_> {
    fn value<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.cursor().peek() {
            Some(b'{') => self.object(serializer),
            Some(b'[') => self.array(serializer),
            Some(b'"') => serializer.serialize_str(&decode(self.0.as_str())?),
            Some(b't') => self.scalar(|_| serializer.serialize_bool(true)),
            Some(b'f') => self.scalar(|_| serializer.serialize_bool(false)),
            Some(b'n') => self.scalar(|_| serializer.serialize_unit()),
            _ => self.scalar(|text| number(text, serializer)),
        }
    }

    fn scalar<T>(&self, serialize: impl FnOnce(&str) -> T) -> T {
        serialize(self.0.as_str())
    }

    fn object<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let depth = self.deeper()?;
        let mut cursor = self.0.cursor();
        let mut map = serializer.serialize_map(None)?;
        cursor.skip_to_inside();
        while let Some(key) = cursor.item() {
            map.serialize_key(&*decode(key)?)?;
            cursor.skip_to_inside(); // the colon
            let value = Part::new(cursor.text, cursor.at, depth);
            map.serialize_value(&value)?;
            cursor.at = value.end();
            cursor.skip_to_inside(); // the comma
        }
        self.0.end.set(Some(cursor.at + 1));
        map.end()
    }

    fn array<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let depth = self.deeper()?;
        let mut cursor = self.0.cursor();
        let mut seq = serializer.serialize_seq(None)?;
        cursor.skip_to_inside();
        while !matches!(cursor.peek(), Some(b']') | None) {
            let element = Part::new(cursor.text, cursor.at, depth);
            seq.serialize_element(&element)?;
            cursor.at = element.end();
            cursor.skip_to_inside();
        }
        self.0.end.set(Some(cursor.at + 1));
        seq.end()
    }

    fn deeper<E: serde::ser::Error>(&self) -> Result<u8, E> {
        self.0.depth.checked_sub(1).ok_or_else(|| E::custom("recursion limit exceeded"))
    }
}

fn decode<E: serde::ser::Error>(literal: &str) -> Result<std::borrow::Cow<'_, str>, E> {
    string::decode(literal).ok_or_else(|| E::custom("string contains a lone surrogate escape"))
}

fn number<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if let Some(number) = plain_integer(text) {
        return number.serialize(serializer);
    }
    match nearest_float(text) {
        Some((float, printed)) => spelled(Number::Float(float), &printed, text, serializer),
        None => Err(S::Error::custom("number out of range")),
    }
}

/// Serializes `number`, preserving its spelling `text`, which takes no extra effort if serializers would print it as
/// `printed` anyway.
fn spelled<S: Serializer>(number: Number, printed: &str, text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match printed == text {
        true => number.serialize(serializer),
        false => Spelled::new(number, text).serialize(serializer),
    }
}

/// Parses an integer of up to 64 bits, without fraction and exponent. Excludes `-0`, which only a float can represent.
fn plain_integer(text: &str) -> Option<Number> {
    match text.parse() {
        Ok(integer) => Some(Number::Unsigned(integer)),
        Err(_) => text.parse().ok().filter(|&integer| integer != 0).map(Number::Signed),
    }
}

/// The float nearest to a number, and its printed form. Returns `None` if it is infinite.
fn nearest_float(text: &str) -> Option<(f64, String)> {
    let float: f64 = text.parse().ok()?;
    // Formats floats exactly as a serializer does.
    let printed = serde_json::Number::from_f64(float)?.to_string();
    Some((float, printed))
}

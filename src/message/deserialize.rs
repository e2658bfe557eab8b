//! `Deserialize` for ids and raw JSON.
//!
//! This crate's deserializer and serde_json's hand over text as it is spelled. Any other hands over a value, which must be
//! exact.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Unexpected, Visitor};

use crate::json::collect::{FirstKey, Floats, StringSeed, collect, is_json_number};
use crate::json::fragment::RAW_VALUE;

use super::id::Id;
use super::raw::RawJson;

/// The id with its exact spelling, from serde_json and [`RawJson::deserialize`].
///
/// From any other deserializer, serde's buffers for untagged, internally tagged and flattened types included, it is the
/// same id or an error. A float is an error unless the format is binary: it may have been rounded.
///
/// ```
/// use wireline::{Id, RawJson};
///
/// let json = RawJson::parse(b"[9007199254740993.0]")?;
/// let [id]: [Id; 1] = json.deserialize()?;
/// assert_eq!(id.as_json(), "9007199254740993.0");
///
/// #[derive(serde::Deserialize)]
/// #[serde(untagged)]
/// enum Untagged { Ids([Id<'static>; 1]) }
/// assert!(json.deserialize::<Untagged>().is_err()); // as a float it would be 9007199254740992
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<'de> Deserialize<'de> for Id<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let floats = Floats::of(&deserializer);
        deserializer.deserialize_newtype_struct(RAW_VALUE, IdVisitor { floats })
    }
}

struct IdVisitor {
    floats: Floats,
}

impl IdVisitor {
    fn id<E: de::Error>(&self, json: &str) -> Result<Id<'static>, E> {
        json.parse().map_err(|_| E::invalid_type(unexpected(json), self))
    }
}

/// What a text is that isn't an id.
fn unexpected(json: &str) -> Unexpected<'static> {
    match json.as_bytes().first() {
        Some(b'{') => Unexpected::Map,
        Some(b'[') => Unexpected::Seq,
        Some(byte @ (b't' | b'f')) => Unexpected::Bool(*byte == b't'),
        Some(b'"') => Unexpected::Other("string with a lone surrogate escape"),
        _ => Unexpected::Other("text that isn't JSON"),
    }
}

impl<'de> Visitor<'de> for IdVisitor {
    type Value = Id<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or null")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let first = FirstKey::read(&mut members)?;
        if let Some(FirstKey::Other(_)) | None = first {
            return Err(de::Error::invalid_type(Unexpected::Map, &self));
        }
        let json = members.next_value_seed(StringSeed)?;
        match first {
            Some(FirstKey::Number) if !is_json_number(&json) => Err(de::Error::invalid_type(Unexpected::Map, &self)),
            _ => self.id(&json),
        }
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_str<E: de::Error>(self, id: &str) -> Result<Self::Value, E> {
        Ok(Id::from(id))
    }

    fn visit_i64<E: de::Error>(self, id: i64) -> Result<Self::Value, E> {
        Ok(Id::from(id))
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> Result<Self::Value, E> {
        Ok(Id::from(id))
    }

    fn visit_i128<E: de::Error>(self, id: i128) -> Result<Self::Value, E> {
        self.id(&id.to_string())
    }

    fn visit_u128<E: de::Error>(self, id: u128) -> Result<Self::Value, E> {
        self.id(&id.to_string())
    }

    fn visit_f64<E: de::Error>(self, id: f64) -> Result<Self::Value, E> {
        self.id(&self.floats.print::<E>(id)?)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Id::NULL)
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Id::NULL)
    }
}

/// A copy of the text as it is spelled, from serde_json and [`RawJson::deserialize`]. To borrow it instead, see
/// [`RawJson::borrow_from`].
///
/// From any other deserializer, serde's buffers for untagged, internally tagged and flattened types included, it is the
/// value, written as compact JSON. Its numbers are exact: a float is an error unless the format is binary, since it may
/// have been rounded.
impl<'de> Deserialize<'de> for RawJson<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawJson::borrow_from(deserializer).map(RawJson::into_owned)
    }
}

impl<'de> RawJson<'de> {
    /// Reads a text, and borrows it if possible. For fields of your own types:
    ///
    /// ```
    /// use wireline::RawJson;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Call<'a> {
    ///     name: &'a str,
    ///     #[serde(borrow, deserialize_with = "RawJson::borrow_from")]
    ///     arguments: RawJson<'a>,
    /// }
    ///
    /// let params = RawJson::parse(br#"{"name":"sqrt","arguments":{"x": 2.00}}"#)?;
    /// let call: Call = params.deserialize_borrowed()?;
    /// assert_eq!((call.name, call.arguments.as_json()), ("sqrt", r#"{"x": 2.00}"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `Deserialize` for `RawJson`.
    pub fn borrow_from<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match collect(deserializer)? {
            Cow::Borrowed(json) => Self::parse(json.as_bytes()),
            Cow::Owned(json) => RawJson::from_bytes(json.into()),
        }
        .map_err(de::Error::custom)
    }
}

//! `Serialize` for ids and raw JSON, and `Deserialize` for ids.
//!
//! Inside the payload of an [`Encoder`](crate::Encoder), both are written verbatim. Any other serializer gets their
//! values.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{self, Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::json::{RAW_FRAGMENT, fragment_was_asked};

use super::id::Id;
use super::raw::RawJson;

impl Serialize for RawJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(RAW_FRAGMENT, &Fragment(self.as_json()))
    }
}

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(RAW_FRAGMENT, &Fragment(self.as_json()))
    }
}

/// A valid JSON text. This crate's serializer gets it verbatim, any other its values.
struct Fragment<'a>(&'a str);

impl Serialize for Fragment<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match fragment_was_asked() {
            true => serializer.serialize_str(self.0),
            false => transcode(self.0, serializer),
        }
    }
}

/// Feeds the values of `json` to `serializer`, in order and without building a tree.
fn transcode<S: Serializer>(json: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Transcode::new(&mut deserializer).serialize(serializer)
}

/// A deserializer's next value, as something that serializes, once.
struct Transcode<D> {
    deserializer: RefCell<Option<D>>,
}

impl<D> Transcode<D> {
    fn new(deserializer: D) -> Self {
        Self { deserializer: RefCell::new(Some(deserializer)) }
    }
}

impl<'de, D: Deserializer<'de>> Serialize for Transcode<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(deserializer) = self.deserializer.take() else {
            return Err(ser::Error::custom("JSON text was serialized twice"));
        };
        // The error of `serializer` has to pass through the deserializer's, which can only hold its text.
        let failed = Cell::new(None);
        let forwarded = deserializer.deserialize_any(Forward { serializer, failed: &failed });
        forwarded.map_err(|error| failed.take().unwrap_or_else(|| ser::Error::custom(error)))
    }
}

/// Hands each value that it visits to a serializer.
struct Forward<'f, S: Serializer> {
    serializer: S,
    failed: &'f Cell<Option<S::Error>>,
}

impl<S: Serializer> Forward<'_, S> {
    fn keep<T, E: de::Error>(failed: &Cell<Option<S::Error>>, result: Result<T, S::Error>) -> Result<T, E> {
        result.map_err(|error| {
            failed.set(Some(error));
            E::custom("the serializer failed")
        })
    }
}

macro_rules! forward {
    ($($visit:ident: $type:ty => $serialize:ident),*) => {$(
        fn $visit<E: de::Error>(self, value: $type) -> Result<S::Ok, E> {
            Self::keep(self.failed, self.serializer.$serialize(value))
        }
    )*};
}

impl<'de, S: Serializer> Visitor<'de> for Forward<'_, S> {
    type Value = S::Ok;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    forward! {
        visit_bool: bool => serialize_bool,
        visit_i64: i64 => serialize_i64,
        visit_u64: u64 => serialize_u64,
        visit_f64: f64 => serialize_f64,
        visit_str: &str => serialize_str
    }

    fn visit_unit<E: de::Error>(self) -> Result<S::Ok, E> {
        Self::keep(self.failed, self.serializer.serialize_unit())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<S::Ok, A::Error> {
        let mut seq = Self::keep(self.failed, self.serializer.serialize_seq(None))?;
        while elements.next_element_seed(Element { seq: &mut seq, failed: self.failed })?.is_some() {}
        Self::keep(self.failed, seq.end())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<S::Ok, A::Error> {
        let mut map = Self::keep(self.failed, self.serializer.serialize_map(None))?;
        while members.next_key_seed(Key { map: &mut map, failed: self.failed })?.is_some() {
            members.next_value_seed(Member { map: &mut map, failed: self.failed })?;
        }
        Self::keep(self.failed, map.end())
    }
}

/// A seed that passes one part of a container on to a serializer, through [`Transcode`].
macro_rules! part {
    ($name:ident, $field:ident: $trait:ident, $serialize:ident) => {
        struct $name<'p, P: $trait> {
            $field: &'p mut P,
            failed: &'p Cell<Option<P::Error>>,
        }

        impl<'de, P: $trait> DeserializeSeed<'de> for $name<'_, P> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                self.$field.$serialize(&Transcode::new(deserializer)).map_err(|error| {
                    self.failed.set(Some(error));
                    de::Error::custom("the serializer failed")
                })
            }
        }
    };
}

part!(Element, seq: SerializeSeq, serialize_element);
part!(Key, map: SerializeMap, serialize_key);
part!(Member, map: SerializeMap, serialize_value);

impl<'de> Deserialize<'de> for Id<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdVisitor;

        impl Visitor<'_> for IdVisitor {
            type Value = Id<'static>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a number or null")
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

            fn visit_f64<E: de::Error>(self, id: f64) -> Result<Self::Value, E> {
                let json = serde_json::Number::from_f64(id).map(|number| number.to_string());
                json.and_then(|json| json.parse().ok())
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Float(id), &"a finite number"))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(Id::NULL)
            }

            fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(Id::NULL)
            }
        }

        deserializer.deserialize_any(IdVisitor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Through serde_json, which doesn't know this crate: as text, and as a tree.
    #[test]
    fn other_serializers_get_the_values() {
        for json in [
            "null",
            "true",
            "0",
            "-1",
            "18446744073709551615",
            "-9223372036854775808",
            "1.5",
            r#""a\"b\u00e9""#,
            "[]",
            "{}",
            r#"{"z":1,"a":[1,{"b":null},"x"],"é":{"c":[]}}"#,
        ] {
            let raw = RawJson::parse(json.as_bytes()).unwrap();
            let expected: Value = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_value(&raw).unwrap(), expected, "{json}");
            let text = serde_json::to_string(&[&raw]).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap()[0], expected, "{json}");
            if let Some(id) = Id::parse(json) {
                assert_eq!(serde_json::to_value(&id).unwrap(), expected, "{json}");
                let read: Id<'_> = serde_json::from_str(json).unwrap();
                assert_eq!(read, id);
            }
        }
    }

    #[test]
    fn order_and_repetition_of_members_are_kept() {
        let json = r#"{"z":1,"a":2,"z":{"y":[],"b":3}}"#;
        assert_eq!(serde_json::to_string(&RawJson::parse(json.as_bytes()).unwrap()).unwrap(), json);
    }

    #[test]
    fn blanks_and_spelling_are_the_other_serializers_own() {
        let raw = RawJson::parse(br#"{ "a" : 1.50, "b" : "\u0061" }"#).unwrap();
        assert_eq!(serde_json::to_string(&raw).unwrap(), r#"{"a":1.5,"b":"a"}"#);
    }

    /// serde_json stops at 128 levels, and a serializer may refuse anything. Either way, the reason is reported.
    #[test]
    fn failures_are_passed_on() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        let error = serde_json::to_string(&RawJson::parse(deep.as_bytes()).unwrap()).unwrap_err();
        assert!(error.to_string().contains("recursion limit"), "{error}");

        struct Writer;
        impl std::io::Write for Writer {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                if bytes.contains(&b'7') { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(bytes.len()) }
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        for json in ["7", "[1,7]", r#"{"a":7}"#, r#"{"7":1}"#, r#"{"a":[{"b":[7]}]}"#] {
            let error = serde_json::to_writer(Writer, &RawJson::parse(json.as_bytes()).unwrap()).unwrap_err();
            assert_eq!(error.io_error_kind(), Some(std::io::ErrorKind::StorageFull), "{json}");
        }
    }

    #[test]
    fn ids_of_other_types_are_refused() {
        for json in ["true", "[]", "{}", "[1]"] {
            let error = serde_json::from_str::<Id<'_>>(json).unwrap_err();
            assert!(error.to_string().contains("expected a string, a number or null"), "{error}");
        }
        assert_eq!(serde_json::from_str::<Id<'_>>("1.50").unwrap().as_json(), "1.5");
        assert_eq!(serde_json::from_str::<Option<Id<'_>>>("null").unwrap(), None);
    }
}

//! `Serialize` for ids and raw JSON.
//!
//! An [`Encoder`](crate::Encoder) writes both verbatim in a payload. Any other serializer gets their values.

use serde::ser::{Serialize, Serializer};
use wireline_json as json;
use wireline_json::fragment::{self, RAW_FRAGMENT};

use super::id::Id;
use super::raw::RawJson;

impl Serialize for RawJson<'_> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(RAW_FRAGMENT, &Json(self.as_json()))
    }
}

impl Serialize for Id<'_> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(RAW_FRAGMENT, &IdJson(self.as_json()))
    }
}

/// A JSON text. Numbers that don't fit an integer become floats for other serializers, as they do in serde_json.
struct Json<'a>(&'a str);

/// The JSON text of an id. Other serializers get an equal id or an error.
struct IdJson<'a>(&'a str);

impl Serialize for Json<'_> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match fragment::is_welcome(&serializer) {
            true => fragment::pass(self.0, serializer),
            false => json::transcode(self.0, serializer),
        }
    }
}

impl Serialize for IdJson<'_> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match fragment::is_welcome(&serializer) {
            true => fragment::pass(self.0, serializer),
            false => json::transcode_exactly(self.0, serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Serializes with serde_json, which has no special support for these types, to text and to a tree.
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
        assert_eq!(serde_json::from_str::<Id<'_>>("1.50").unwrap().as_json(), "1.50");
        assert_eq!(serde_json::from_str::<Option<Id<'_>>>("null").unwrap(), None);
    }
}

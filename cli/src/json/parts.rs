//! The members of an object and the elements of an array, as the texts that they are.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// The kind of a JSON text, by its first byte.
pub(crate) fn kind(json: &str) -> Kind {
    match json.trim_ascii_start().as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Boolean,
        Some(b'n') => Kind::Null,
        _ => Kind::Number,
    }
}

/// The members of an object by their names. If several have the same name, the last one counts.
///
/// `None` if a name cannot be decoded, because it has half a surrogate pair.
pub(super) fn members(object: &str) -> Option<BTreeMap<Cow<'_, str>, &str>> {
    serde_json::from_str::<Members<'_>>(object).ok().map(|Members(members)| members)
}

/// The object with another value for one of its members. Everything else is as it was spelled.
///
/// `None` if it has no such member.
pub(crate) fn with_member(object: &str, name: &str, value: &str) -> Option<String> {
    let old = members(object)?.remove(name)?;
    let start = old.as_ptr().addr().checked_sub(object.as_ptr().addr())?;
    Some([object.get(..start)?, value, object.get(start + old.len()..)?].concat())
}

/// The elements of an array.
pub(super) fn elements(array: &str) -> Option<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_str(array).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

/// The characters of a string. `None` if it has half a surrogate pair.
pub(super) fn decoded(string: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(string).ok().map(|Text(text)| text)
}

struct Members<'a>(BTreeMap<Cow<'a, str>, &'a str>);

/// A string, borrowed if it has no escapes. A plain `Cow` is always copied.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = BTreeMap::new();
        while let Some((Text(name), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
            members.insert(name, value.get());
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_is_replaced() {
        let object = r#"{ "a" : 1 , "\u0062":{"a":2},"c":"x" }"#;
        assert_eq!(with_member(object, "a", "17").unwrap(), object.replace("1 ,", "17 ,"));
        assert_eq!(with_member(object, "b", "null").unwrap(), object.replace(r#"{"a":2}"#, "null"));
        assert_eq!(with_member(object, "d", "null"), None);
        assert_eq!(with_member("[]", "d", "null"), None);
    }
}

//! JSON Schemas of tools. Nothing is ever fetched, and texts that take too long to check are not checked.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use wireline::RawJson;

use crate::terminal::escape_start;

/// The longest schema and the longest value that are checked, in bytes.
const MAX_SCHEMA_LEN: usize = 256 << 10;
const MAX_VALUE_LEN: usize = 1 << 20;

/// The largest regular expression, as the engine measures it.
const MAX_PATTERN_LEN: usize = 1 << 20;

/// The width that a position in a value is cut to.
const PATH_COLUMNS: usize = 60;

/// What a schema is good for.
pub(super) enum Schema {
    Valid(Box<Validator>),
    /// The keyword that is wrong.
    Invalid(String),
    /// It refers to another document.
    Remote,
    /// It is too long to be checked.
    Unchecked,
}

/// Where a value doesn't match its schema.
pub(super) struct Mismatch {
    /// The keyword that doesn't match.
    pub(super) keyword: String,
    /// The position in the value, with the peer's names.
    pub(super) path: String,
}

impl Schema {
    pub(super) fn new(json: &RawJson<'_>) -> Self {
        if json.as_bytes().len() > MAX_SCHEMA_LEN {
            return Self::Unchecked;
        }
        let Ok(schema) = json.deserialize::<Value>() else { return Self::Unchecked };
        if !schema.is_object() {
            return Self::Invalid("type".to_owned());
        }
        // Without backtracking, a pattern takes time in proportion to the text.
        let linear = PatternOptions::regex().size_limit(MAX_PATTERN_LEN);
        match jsonschema::options().offline().with_pattern_options(linear).build(&schema) {
            Ok(validator) => Self::Valid(Box::new(validator)),
            Err(error) => match error.kind() {
                ValidationErrorKind::Referencing(_) if refers_elsewhere(&schema) => Self::Remote,
                // Only `fancy-regex` understands look-around: valid, but not checked here.
                ValidationErrorKind::Format { format } if format == "regex" => Self::Unchecked,
                kind => Self::Invalid(kind.keyword().to_owned()),
            },
        }
    }

    /// Where a value doesn't match.
    pub(super) fn mismatch(&self, value: Option<&RawJson<'_>>) -> Option<Mismatch> {
        let Self::Valid(validator) = self else { return None };
        let value = match value {
            None => Value::Object(serde_json::Map::new()),
            Some(value) if value.as_bytes().len() > MAX_VALUE_LEN => return None,
            // Lone surrogates can't be decoded. They are a finding of their own.
            Some(value) => value.deserialize().ok()?,
        };
        let error = validator.iter_errors(&value).next()?;
        let path = escape_start(error.instance_path().as_str().as_bytes(), PATH_COLUMNS).into_owned();
        Some(Mismatch { keyword: error.kind().keyword().to_owned(), path })
    }
}

/// Whether a schema refers to another document.
fn refers_elsewhere(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(name, value)| {
            let is_elsewhere = name == "$ref" && value.as_str().is_some_and(|uri| !uri.starts_with('#'));
            is_elsewhere || refers_elsewhere(value)
        }),
        Value::Array(elements) => elements.iter().any(refers_elsewhere),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(json: &str) -> Schema {
        Schema::new(&RawJson::parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn schemas_that_are_not_checked_are_not_faulty() {
        assert!(matches!(schema(r#"{"type":"object"}"#), Schema::Valid(_)));
        assert!(matches!(schema(r#"{"type":"objct"}"#), Schema::Invalid(_)));
        assert!(matches!(schema("true"), Schema::Invalid(_)));
        assert!(matches!(schema(r##"{"$ref":"#/$defs/missing"}"##), Schema::Invalid(_)));
        assert!(matches!(schema(r#"{"properties":{"a":{"$ref":"https://example.org/a.json"}}}"#), Schema::Remote));
        assert!(matches!(schema(r#"{"properties":{"a":{"$ref":"file:///etc/passwd"}}}"#), Schema::Remote));
        let long = format!(r#"{{"description":"{}"}}"#, "x".repeat(MAX_SCHEMA_LEN));
        assert!(matches!(schema(&long), Schema::Unchecked));
        // Look-ahead is valid in ECMA-262.
        assert!(!matches!(schema(r#"{"pattern":"^(?!a)b"}"#), Schema::Invalid(_)));
        assert!(matches!(schema(r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#), Schema::Valid(_)));
    }

    #[test]
    fn mismatches_name_keyword_and_position() {
        let schema = schema(r#"{"properties":{"a":{"type":"integer"}},"required":["a"]}"#);
        let at = |json: &str| {
            let mismatch = schema.mismatch(Some(&RawJson::parse(json.as_bytes()).unwrap()));
            mismatch.map(|mismatch| (mismatch.keyword, mismatch.path))
        };
        assert_eq!(at(r#"{"a":1}"#), None);
        assert_eq!(at(r#"{"a":"x"}"#), Some(("type".to_owned(), "/a".to_owned())));
        assert_eq!(at("{}"), Some(("required".to_owned(), String::new())));
        assert_eq!(schema.mismatch(None).map(|mismatch| mismatch.keyword), Some("required".to_owned()));
        assert_eq!(at(r#"{"a":"\ud83d"}"#), None);
    }
}

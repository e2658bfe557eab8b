//! A plain view of JSON-RPC messages, independent of the library, which may be what is tested.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::rules_args::Dialect;

/// A text as JSON, as far as messages need it.
pub(super) enum Text<'a> {
    /// Not JSON, or not UTF-8.
    NotJson,
    Array(Vec<&'a RawValue>),
    Object(Members<'a>),
    /// A string, a number, a boolean or null; or an object whose member names can't be compared.
    Other,
}

/// The members of an object in their order.
pub(super) struct Members<'a>(Vec<(String, &'a RawValue)>);

/// The value of an id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum IdKey {
    Null,
    Text(String),
    /// Without leading or trailing zeros: `-120` is `(true, "12", 1)`, and zero is `(false, "", 0)`.
    Number(bool, String, i64),
}

/// A valid message.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Request {
        id: IdKey,
        id_text: String,
        method: String,
    },
    Notification {
        method: String,
    },
    /// A response. The id of an error may be null or missing, which is `None`.
    Response {
        id: Option<IdKey>,
        outcome: Outcome,
    },
}

/// What a response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Result,
    /// The error's code, if it fits.
    Error(i64),
}

/// The members that mean something in every message.
const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

impl<'a> Text<'a> {
    pub(super) fn parse(text: &'a [u8]) -> Self {
        let Ok(text) = str::from_utf8(text) else { return Self::NotJson };
        if serde_json::from_str::<IgnoredAny>(text).is_err() {
            return Self::NotJson;
        }
        match text.trim_start_matches([' ', '\t', '\r', '\n']).as_bytes().first() {
            Some(b'{') => serde_json::from_str(text).map_or(Self::Other, Self::Object),
            Some(b'[') => serde_json::from_str(text).map_or(Self::Other, Self::Array),
            _ => Self::Other,
        }
    }
}

impl<'a> Members<'a> {
    /// The first member of this name.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.all(name).next()
    }

    pub(super) fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'a str> + 's {
        self.0.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.get())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.get()))
    }

    /// Whether a member of the envelope is there twice.
    pub(super) fn has_duplicate(&self) -> bool {
        ENVELOPE.iter().any(|name| self.all(name).nth(1).is_some())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;

        impl<'de> Visitor<'de> for All {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(All).map(Self)
    }
}

impl IdKey {
    /// The value of a JSON text, if it is a string, a number or null.
    pub(super) fn parse(json: &str) -> Option<Self> {
        match json.as_bytes().first()? {
            b'"' => serde_json::from_str(json).ok().map(Self::Text),
            b'n' => Some(Self::Null),
            b'-' | b'0'..=b'9' => Some(Self::number(json)),
            _ => None,
        }
    }

    fn number(json: &str) -> Self {
        let (is_negative, digits) = json.strip_prefix('-').map_or((false, json), |digits| (true, digits));
        let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let all = all.trim_start_matches('0');
        let significant = all.trim_end_matches('0');
        if significant.is_empty() {
            return Self::Number(false, String::new(), 0);
        }
        // An exponent that doesn't fit is kept apart from all that do.
        let exponent = exponent.parse::<i64>().unwrap_or(i64::MAX / 2);
        let exponent = exponent + (all.len() - significant.len()) as i64 - fraction.len() as i64;
        Self::Number(is_negative, significant.to_owned(), exponent)
    }

    /// Whether every JSON parser preserves it: a string, null, or an integer of at most 53 bits.
    pub(super) fn is_ordinary(&self) -> bool {
        match self {
            Self::Number(_, digits, exponent) => {
                let zeros = usize::try_from(*exponent).unwrap_or(usize::MAX);
                let len = digits.len().saturating_add(zeros);
                // Sixteen digits are compared like numbers.
                len < 16 || len == 16 && format!("{digits:0<16}").as_str() <= "9007199254740991"
            }
            Self::Null | Self::Text(_) => true,
        }
    }
}

impl fmt::Display for IdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Text(text) => write!(f, "{}", serde_json::Value::from(text.as_str())),
            Self::Number(_, digits, _) if digits.is_empty() => f.write_str("0"),
            Self::Number(is_negative, digits, exponent) => {
                let sign = if *is_negative { "-" } else { "" };
                match exponent {
                    0..=20 => write!(f, "{sign}{digits}{}", "0".repeat(*exponent as usize)),
                    _ => write!(f, "{sign}{digits}e{exponent}"),
                }
            }
        }
    }
}

/// Parses a message that the other side sent, or says what is wrong with it.
pub(super) fn parse_message(members: &Members<'_>, dialect: Dialect) -> Result<Message, &'static str> {
    let is_mcp = dialect == Dialect::Mcp;
    if members.has_duplicate() {
        return Err("an object that has a member twice");
    }
    if members.get("jsonrpc").and_then(string).as_deref() != Some("2.0") {
        return Err("an object whose jsonrpc isn't \"2.0\"");
    }
    let id_text = members.get("id");
    let id = id_text.map(|id| IdKey::parse(id).ok_or("an id that is no string, number or null")).transpose()?;
    let is_response = members.get("result").is_some() || members.get("error").is_some();
    if let Some(method) = members.get("method") {
        let method = string(method).ok_or("a method that isn't a string")?;
        let params = members.get("params").map_or(b'{', |params| params.as_bytes()[0]);
        if params != b'{' && (is_mcp || params != b'[') {
            return Err("params of the wrong type");
        }
        return match (is_response, id, id_text) {
            (true, ..) => Err("an object with a method and a result or an error"),
            (false, Some(IdKey::Null), _) if is_mcp => Err("a request whose id is null"),
            (false, Some(id), Some(text)) => Ok(Message::Request { id, id_text: text.to_owned(), method }),
            _ => Ok(Message::Notification { method }),
        };
    }
    match (members.get("result"), members.get("error")) {
        (Some(result), None) if is_mcp && !result.starts_with('{') => Err("a result that isn't an object"),
        (Some(_), None) => match id {
            None => Err("a result without an id"),
            Some(IdKey::Null) if is_mcp => Err("a result whose id is null"),
            Some(id) => Ok(Message::Response { id: Some(id), outcome: Outcome::Result }),
        },
        (None, Some(error)) => {
            let Text::Object(error) = Text::parse(error.as_bytes()) else {
                return Err("an error that isn't an object");
            };
            let code = error.get("code").filter(|code| is_integer(code)).ok_or("an error without an integer code")?;
            error.get("message").and_then(string).ok_or("an error without a message")?;
            if id.is_none() && !is_mcp {
                return Err("an error without an id");
            }
            let id = id.filter(|id| *id != IdKey::Null);
            Ok(Message::Response { id, outcome: Outcome::Error(code.parse().unwrap_or(i64::MIN)) })
        }
        (Some(_), Some(_)) => Err("a response with a result and an error"),
        (None, None) => Err("an object that is no message"),
    }
}

/// The content of a string.
pub(super) fn string(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

fn is_integer(json: &str) -> bool {
    json.strip_prefix('-').unwrap_or(json).bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use quickcheck::{TestResult, quickcheck};
    use wireline::{Frame, Rules};

    use super::*;

    #[test]
    fn ids_are_compared_by_value() {
        let key = |json| IdKey::parse(json).unwrap();
        for equal in
            [&["1", "1.0", "1e0", "10e-1", "0.1E+1"][..], &["0", "-0", "0.0", "0e9"], &["\"a\"", "\"\\u0061\""]]
        {
            assert!(equal.iter().all(|id| key(id) == key(equal[0])), "{equal:?}");
        }
        let different = ["1", "\"1\"", "-1", "10", "9007199254740992", "9007199254740993", "null", "1e400", "1.5"];
        for (at, id) in different.iter().enumerate() {
            assert!(different[..at].iter().all(|other| key(other) != key(id)), "{id}");
        }
        for json in ["true", "[]", "{}", "\"\\ud800\""] {
            assert_eq!(IdKey::parse(json), None);
        }
    }

    #[test]
    fn ids_that_every_parser_preserves() {
        for (json, is_ordinary) in [
            ("0", true),
            ("9007199254740991", true),
            ("-9007199254740991", true),
            ("9007199254740993", false),
            ("90071992547409910", false),
            ("1e15", true),
            ("1e16", false),
            ("1.5", false),
            ("1.0", true),
            ("\"9007199254740993\"", true),
            ("1e999999999999999999999", false),
        ] {
            assert_eq!(IdKey::parse(json).unwrap().is_ordinary(), is_ordinary, "{json}");
        }
    }

    /// What can be part of a member of a message.
    const VALUES: [&str; 14] = [
        "1",
        "-7",
        "1.5",
        "null",
        "\"x\"",
        "\"2.0\"",
        "{}",
        "[]",
        "true",
        "{\"code\":1,\"message\":\"m\"}",
        "{\"code\":1.5,\"message\":\"m\"}",
        "{\"code\":1}",
        "{\"a\":[1]}",
        "\"\\u0032.0\"",
    ];

    quickcheck! {
        /// The library and this module agree on what a message is, except that the id of an error may be null in MCP.
        fn agrees_with_the_library(members: Vec<(u8, u8)>, dialect: u8) -> TestResult {
            let names = ["jsonrpc", "id", "method", "params", "result", "error", "other"];
            let mut members: Vec<String> = members.iter().take(7).map(|(name, value)| {
                format!("\"{}\":{}", names[usize::from(*name) % 7], VALUES[usize::from(*value) % VALUES.len()])
            }).collect();
            if dialect & 8 == 0 {
                members.insert(0, "\"jsonrpc\":\"2.0\"".to_owned());
            }
            let line = format!("{{{}}}", members.join(","));
            let (dialect, rules) = [
                (Dialect::JsonRpc, Rules::json_rpc()),
                (Dialect::Mcp, Rules::mcp()),
                (Dialect::Acp, Rules::acp()),
            ][usize::from(dialect) % 3];
            let Text::Object(object) = Text::parse(line.as_bytes()) else { return TestResult::failed() };
            let ours = parse_message(&object, dialect);
            let theirs = Frame::parse(line.as_bytes(), &rules);
            let is_number = object.get("id").is_some_and(|id| id.contains('.'));
            if is_number || object.get("id") == Some("null") {
                return TestResult::discard();
            }
            TestResult::from_bool(ours.is_ok() == theirs.is_ok())
        }
    }
}

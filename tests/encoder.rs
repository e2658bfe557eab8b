//! Encoding: every encoded message decodes to the same message, and a refused one leaves the buffer unchanged.

use crate::common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::BytesMut;
use common::{Dialect, describe};
use quickcheck::{Arbitrary, Gen, QuickCheck};
use serde::Serialize;
use serde::ser::{Error as _, SerializeMap, SerializeSeq, SerializeStruct, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wireline::{
    AnswerWithoutId, Decoder, EncodeError, EncodeErrorKind, Encoder, FaultKind, Frame, Id, Message, RawJson, RpcError,
    Rules, to_line,
};

/// A string of pieces that are likely to break a line or a string literal.
#[derive(Clone, Debug)]
struct Hostile(String);

impl Arbitrary for Hostile {
    fn arbitrary(g: &mut Gen) -> Self {
        let pieces = [
            "\"",
            "\\",
            "\n",
            "\r\n",
            "\t",
            "\0",
            "\u{1f}",
            "\u{7f}",
            "\u{85}",
            "\u{2028}",
            "\u{2029}",
            "😀",
            "é",
            "\u{feff}",
            "\\n",
            "\\u000a",
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            "id",
            "plain text",
            "\u{10ffff}",
            "null",
        ];
        let len = usize::arbitrary(g) % 12;
        Self(
            (0..len)
                .map(|_| {
                    if u8::arbitrary(g) % 8 == 0 {
                        String::arbitrary(g)
                    } else {
                        (*g.choose(&pieces).unwrap()).to_owned()
                    }
                })
                .collect(),
        )
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        Box::new(self.0.shrink().map(Self))
    }
}

/// A message to encode.
#[derive(Clone, Debug)]
enum Sent {
    Request { id: String, method: String, params: Option<Content> },
    Notification { method: String, params: Option<Content> },
    Result { id: String, result: Content },
    Error { id: String, code: i64, message: String, data: Option<Content> },
}

#[derive(Clone, Debug)]
enum Content {
    Typed(Value),
    Raw(String),
}

impl Content {
    fn json(&self) -> String {
        match self {
            Self::Typed(value) => value.to_string(),
            Self::Raw(json) => json.clone(),
        }
    }
}

impl Arbitrary for Content {
    fn arbitrary(g: &mut Gen) -> Self {
        let (Hostile(key), Hostile(text)) = (Hostile::arbitrary(g), Hostile::arbitrary(g));
        let value =
            json!({key: text, "list": [i64::arbitrary(g), f64::from(i32::arbitrary(g)) / 8.0, null, true, {"a": []}]});
        match u8::arbitrary(g) % 3 {
            0 => Self::Typed(value),
            1 => Self::Raw(value.to_string()),
            // Valid JSON that no serializer produces.
            _ => Self::Raw(
                r#"{ "\ud800":"\udc00\ud800", "n" : [1e999, -0.0, 123456789012345678901234567890] ,"a":1,"a":2 }"#
                    .into(),
            ),
        }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let simple = Self::Typed(json!({}));
        match self.json() == simple.json() {
            true => quickcheck::empty_shrinker(),
            false => quickcheck::single_shrinker(simple),
        }
    }
}

impl Arbitrary for Sent {
    fn arbitrary(g: &mut Gen) -> Self {
        let id = match u8::arbitrary(g) % 4 {
            0 => Id::from(i64::arbitrary(g)).as_json().to_owned(),
            1 => "123456789012345678901234567890".to_owned(),
            2 => "\"\\u00e9\\/\"".to_owned(),
            _ => loop {
                // A longer one would be refused, in all dialects.
                let id = Id::from(Hostile::arbitrary(g).0);
                if id.as_json().len() <= Rules::json_rpc().settings().max_id_len {
                    break id.as_json().to_owned();
                }
            },
        };
        let Hostile(method) = Hostile::arbitrary(g);
        match u8::arbitrary(g) % 4 {
            0 => Self::Request { id, method, params: Option::arbitrary(g) },
            1 => Self::Notification { method, params: Option::arbitrary(g) },
            2 => Self::Result { id, result: Content::arbitrary(g) },
            _ => Self::Error { id, code: i64::arbitrary(g), message: method, data: Option::arbitrary(g) },
        }
    }

    /// The same with the id 0, with a simpler payload, or with a simpler text.
    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let mut parts = self.clone();
        let (id, text, content) = parts.parts();
        let with = |change: &dyn Fn(&mut Self)| {
            let mut changed = self.clone();
            change(&mut changed);
            changed
        };
        let ids = id.filter(|id| *id != "0").map(|_| with(&|sent| *sent.parts().0.unwrap() = "0".to_owned()));
        let contents = content.into_iter().flat_map(|content| content.shrink());
        let contents = contents.map(|content| with(&|sent| *sent.parts().2.unwrap() = content.clone()));
        let texts = text.into_iter().flat_map(|text| Hostile(text.clone()).shrink());
        let texts = texts.map(|Hostile(text)| with(&|sent| *sent.parts().1.unwrap() = text.clone()));
        Box::new(ids.into_iter().chain(contents).chain(texts).collect::<Vec<_>>().into_iter())
    }
}

impl Sent {
    /// The id, the method or message, and the payload.
    fn parts(&mut self) -> (Option<&mut String>, Option<&mut String>, Option<&mut Content>) {
        match self {
            Self::Request { id, method, params } => (Some(id), Some(method), params.as_mut()),
            Self::Notification { method, params } => (None, Some(method), params.as_mut()),
            Self::Result { id, result } => (Some(id), None, Some(result)),
            Self::Error { id, message, data, .. } => (Some(id), Some(message), data.as_mut()),
        }
    }

    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        // A macro, because typed and raw payloads are different types.
        macro_rules! with_payload {
            ($content:expr, |$payload:ident| $call:expr) => {
                match $content {
                    None => {
                        let $payload = &();
                        $call
                    }
                    Some(Content::Typed(value)) => {
                        let $payload = value;
                        $call
                    }
                    Some(Content::Raw(json)) => {
                        let raw = RawJson::parse(json.as_bytes()).unwrap();
                        let $payload = &raw;
                        $call
                    }
                }
            };
        }
        match self {
            Self::Request { id, method, params } => {
                with_payload!(params, |payload| encoder.request(&Id::parse(id).unwrap(), method, payload))
            }
            Self::Notification { method, params } => {
                with_payload!(params, |payload| encoder.notification(method, payload))
            }
            Self::Result { id, result } => {
                with_payload!(Some(result), |payload| encoder.response(&Id::parse(id).unwrap(), payload))
            }
            Self::Error { id, code, message, data } => {
                let mut error = RpcError::new(*code, message.clone());
                if data.is_some() {
                    error = with_payload!(data, |payload| error.with_data(payload)).unwrap();
                }
                encoder.error(&Id::parse(id).unwrap(), &error)
            }
        }
    }

    /// The expected decoder output, in the notation of `describe`.
    fn expected(&self, dialect: Dialect) -> String {
        let payload = |content: &Option<Content>| content.as_ref().map_or("-".into(), Content::json);
        // Stratum always has params, and data that may be null.
        let params_text = |params: &Option<Content>| match payload(params).as_str() {
            "-" if dialect == Dialect::Stratum => "[]".to_owned(),
            params => params.to_owned(),
        };
        let data_text = |data: &Option<Content>| match payload(data).as_str() {
            "null" if dialect == Dialect::Stratum => "-".to_owned(),
            data => data.to_owned(),
        };
        match self {
            Self::Request { id, method, params } => format!("request {id} {method:?} {}", params_text(params)),
            Self::Notification { method, params } => format!("notification {method:?} {}", params_text(params)),
            Self::Result { id, result } => format!("result {id} {}", result.json()),
            Self::Error { id, code, message, data } => format!("error {id} {code} {message:?} {}", data_text(data)),
        }
    }
}

/// Encodes one message and returns its text without the line feed.
fn line_text(
    rules: &Rules,
    write: impl FnOnce(&mut Encoder) -> Result<(), wireline::EncodeError>,
) -> Result<bytes::Bytes, wireline::EncodeError> {
    to_line(rules, write).map(wireline::Line::into_message)
}

/// 1,000 random responses in one stream come back as 1,000 equal ones.
#[test]
fn a_thousand_responses_split_cleanly() {
    let (mut g, mut encoder) = (Gen::new(20), Encoder::new(Rules::json_rpc()));
    let mut expected = Vec::new();
    while expected.len() < 1000 {
        let message = Sent::arbitrary(&mut g);
        if matches!(message, Sent::Result { .. } | Sent::Error { .. }) {
            message.encode(&mut encoder).unwrap();
            expected.push(message.expected(Dialect::JsonRpc));
        }
    }
    let stream = encoder.take();
    let mut decoder = Decoder::new(Rules::json_rpc());
    let mut found = Vec::new();
    for piece in stream.chunks(977) {
        decoder.feed(piece);
        while let Some(frame) = decoder.next_frame() {
            found.push(common::describe(&frame));
        }
    }
    assert_eq!(stream.iter().filter(|&&byte| byte == b'\n').count(), 1000);
    assert_eq!(found, expected);
}

#[test]
fn integrity() {
    fn property(messages: Vec<Sent>, sizes: Vec<u8>) -> bool {
        for dialect in Dialect::ALL {
            let mut encoder = Encoder::new(dialect.rules());
            let mut expected = Vec::new();
            for message in &messages {
                let before = encoder.as_bytes().len();
                message.encode(&mut encoder).unwrap();
                let line = encoder.as_bytes()[before..].to_vec();
                let (end, text) = line.split_last().unwrap();
                assert_eq!(*end, b'\n');
                assert!(!text.contains(&b'\n') && !text.contains(&b'\r'));
                // serde_json's `Value` doesn't decode lone surrogates and numbers beyond 64 bits.
                let json = String::from_utf8(text.to_vec()).unwrap();
                assert!(serde_json::from_str::<&RawValue>(&json).unwrap().get().starts_with('{'));
                if !json.contains("\\ud800") && !json.contains("123456789012345678901234567890") {
                    assert!(serde_json::from_str::<Value>(&json).unwrap().is_object());
                }
                expected.push(message.expected(dialect));
            }
            let stream = encoder.take();
            let mut pieces = Vec::new();
            let mut rest = &stream[..];
            for size in sizes.iter().map(|&size| usize::from(size) + 1).chain([1, 77]).cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at(size.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            assert_eq!(common::decode(dialect.rules(), pieces), expected);

            // The same messages as one batch.
            if !messages.is_empty() {
                let rules = dialect.rules().batches(true);
                let mut encoder = Encoder::new(rules);
                let lines = stream.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
                encoder.batch(|batch| lines.into_iter().try_for_each(|line| batch.raw(line))).unwrap();
                let found = common::decode(rules, [&encoder.take()[..]]);
                assert_eq!(found, [format!("batch [{}]", expected.join(" | "))]);
            }
        }
        true
    }
    QuickCheck::new().tests(common::times(30) as u64).quickcheck(property as fn(_, _) -> _);
}

struct FailsHalfway;

impl Serialize for FailsHalfway {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("FailsHalfway", 2)?;
        fields.serialize_field("fine", &[1, 2, 3])?;
        Err(S::Error::custom("hunter2"))
    }
}

struct Panics;

impl Serialize for Panics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Panics", 2)?;
        fields.serialize_field("fine", &[1, 2, 3])?;
        panic!("on purpose")
    }
}

struct KeyWithoutValue;

impl Serialize for KeyWithoutValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_key("key")?;
        map.end()
    }
}

/// A payload that ignores errors of its parts, or announces fewer elements than it has.
#[derive(Clone, Copy, Debug)]
enum Careless {
    Seq,
    Struct,
    Key,
    NoSeq,
    NoMap,
    NoStruct,
    NoTuple,
}

impl Serialize for Careless {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Seq => {
                let mut seq = serializer.serialize_seq(None)?;
                seq.serialize_element(&1)?;
                let _ = seq.serialize_element(&f64::NAN);
                seq.end()
            }
            Self::Struct => {
                let mut fields = serializer.serialize_struct("Careless", 2)?;
                fields.serialize_field("a", &1)?;
                let _ = fields.serialize_field("b", &FailsHalfway);
                fields.end()
            }
            Self::Key => {
                let mut map = serializer.serialize_map(None)?;
                let _ = map.serialize_key(&[1]);
                let _ = map.serialize_value(&1);
                map.end()
            }
            Self::NoSeq => {
                let mut seq = serializer.serialize_seq(Some(0))?;
                seq.serialize_element(&1)?;
                seq.end()
            }
            Self::NoMap => {
                let mut map = serializer.serialize_map(Some(0))?;
                map.serialize_entry("method", "evil")?;
                map.end()
            }
            Self::NoStruct => {
                let mut fields = serializer.serialize_struct("Careless", 0)?;
                fields.serialize_field("method", "evil")?;
                fields.end()
            }
            Self::NoTuple => {
                let mut tuple = serializer.serialize_tuple(0)?;
                serde::ser::SerializeTuple::serialize_element(&mut tuple, &1)?;
                serde::ser::SerializeTuple::end(tuple)
            }
        }
    }
}

#[test]
fn a_careless_payload_cannot_break_the_message() {
    for payload in [Careless::Seq, Careless::Struct, Careless::Key] {
        assert!(to_line(&Rules::json_rpc(), |e| e.response(&Id::from(1), &payload)).is_err(), "{payload:?}");
    }
    for (payload, result) in [
        (Careless::NoSeq, "[1]"),
        (Careless::NoMap, r#"{"method":"evil"}"#),
        (Careless::NoStruct, r#"{"method":"evil"}"#),
        (Careless::NoTuple, "[1]"),
    ] {
        let line = to_line(&Rules::json_rpc(), |e| e.response(&Id::from(1), &payload)).unwrap();
        assert_eq!(common::decode(Rules::json_rpc(), [line.as_bytes()]), [format!("result 1 {result}")]);
    }
    // Empty containers stay empty.
    let empty = (Vec::<i32>::new(), std::collections::BTreeMap::<String, i32>::new(), [(); 0]);
    let line = line_text(&Rules::json_rpc(), |e| e.response(&Id::from(1), &empty)).unwrap();
    assert_eq!(line, r#"{"jsonrpc":"2.0","id":1,"result":[[],{},[]]}"#);
}

/// `Serializer::is_human_readable` is true, as in serde_json.
#[test]
fn payloads_are_human_readable() {
    let line = line_text(&Rules::json_rpc(), |e| e.response(&Id::from(1), &std::net::Ipv4Addr::LOCALHOST)).unwrap();
    assert_eq!(line, r#"{"jsonrpc":"2.0","id":1,"result":"127.0.0.1"}"#);
}

struct Nested(usize);

impl Serialize for Nested {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            0 => serializer.serialize_unit(),
            depth => [Nested(depth - 1)].serialize(serializer),
        }
    }
}

/// Payloads of every shape are encoded as serde_json encodes them, and a non-finite float is refused anywhere in them.
#[test]
fn every_shape_of_payload() {
    #[derive(Serialize)]
    struct Unit;
    #[derive(Serialize)]
    struct Newtype<T>(T);
    #[derive(Serialize)]
    struct Pair<T>(u8, T);
    #[derive(Serialize)]
    struct Named<T> {
        unit: Unit,
        option: Option<T>,
    }
    #[derive(Serialize)]
    enum Shape<T> {
        Unit,
        Newtype(T),
        Tuple(i128, T),
        Struct { character: char, value: T },
    }
    #[track_caller]
    fn check<T: Serialize>(payload: impl Fn(f64) -> T) {
        let mut encoder = Encoder::new(Rules::json_rpc());
        encoder.response(&Id::from(1), &payload(0.5)).unwrap();
        let expected = serde_json::to_string(&payload(0.5)).unwrap();
        assert_eq!(encoder.take(), format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{expected}}}\n"));
        let error = encoder.response(&Id::from(1), &payload(f64::INFINITY)).unwrap_err();
        assert_eq!(error.kind(), EncodeErrorKind::NonFiniteFloat);
    }
    check(Newtype);
    check(|float| Pair(1, float as f32));
    check(|float| Named { unit: Unit, option: Some(float) });
    check(|float| (Shape::<()>::Unit, None::<u8>, u128::MAX, Shape::Newtype(float)));
    check(|float| Shape::Tuple(i128::MIN, float));
    check(|float| Shape::Struct { character: '\u{2028}', value: Newtype(Some([float])) });
    check(|float| std::collections::BTreeMap::from([(-1_i8, float)]));
    check(|float| Err::<(), _>(Ok::<_, ()>(Pair(2, Newtype(float)))));
}

/// Each refusal reports its kind, and leaves the buffer and its contents unchanged.
#[test]
fn refusals_leave_no_trace() {
    type Attempt = Box<dyn Fn(&mut Encoder<'_>) -> Result<(), EncodeError>>;
    let rule = EncodeErrorKind::Rule;
    let id = || Id::from(1);
    let pretty = || RawValue::from_string("{\n  \"a\": 1\r\n}".into()).unwrap();
    let deep = |depth: usize| RawValue::from_string("[".repeat(depth) + &"]".repeat(depth)).unwrap();
    let attempts: Vec<(Dialect, EncodeErrorKind, Attempt)> = vec![
        (Dialect::JsonRpc, EncodeErrorKind::Serialize, Box::new(move |e| e.response(&id(), &FailsHalfway))),
        (Dialect::JsonRpc, EncodeErrorKind::Serialize, Box::new(move |e| e.response(&id(), &KeyWithoutValue))),
        (
            Dialect::JsonRpc,
            EncodeErrorKind::Serialize,
            Box::new(move |e| e.response(&id(), &std::collections::BTreeMap::from([((), 1)]))),
        ),
        (Dialect::JsonRpc, EncodeErrorKind::NonFiniteFloat, Box::new(move |e| e.response(&id(), &f64::NAN))),
        (
            Dialect::JsonRpc,
            EncodeErrorKind::NonFiniteFloat,
            Box::new(move |e| e.response(&id(), &vec![Some(1.0), Some(f32::INFINITY)])),
        ),
        (
            Dialect::JsonRpc,
            EncodeErrorKind::NonFiniteFloat,
            Box::new(move |e| e.notification("m", &std::collections::BTreeMap::from([("x", f64::NEG_INFINITY)]))),
        ),
        (Dialect::JsonRpc, EncodeErrorKind::LineBreak, Box::new(move |e| e.response(&id(), &pretty()))),
        (Dialect::JsonRpc, EncodeErrorKind::LineBreak, Box::new(move |e| e.request(&id(), "m", &[pretty()]))),
        (
            Dialect::JsonRpc,
            EncodeErrorKind::LineBreak,
            Box::new(move |e| e.response(&id(), &RawJson::parse(b"[1,\n2]").unwrap())),
        ),
        (
            Dialect::JsonRpc,
            EncodeErrorKind::LineBreak,
            Box::new(|e| e.raw(b"{\"jsonrpc\":\"2.0\",\n\"method\":\"m\"}")),
        ),
        (
            Dialect::JsonRpc,
            EncodeErrorKind::LineBreak,
            Box::new(|e| e.raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n")),
        ),
        (
            Dialect::JsonRpc,
            EncodeErrorKind::LineBreak,
            Box::new(|e| e.raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\r")),
        ),
        (
            Dialect::JsonRpc,
            rule(FaultKind::ControlCharacter),
            Box::new(|e| e.flatten(b"{\"jsonrpc\":\"2.0\",\"method\":\"a\nb\"}")),
        ),
        (Dialect::JsonRpc, rule(FaultKind::MissingVersion), Box::new(|e| e.raw(b"{}"))),
        (
            Dialect::JsonRpc,
            rule(FaultKind::NotAnObject),
            Box::new(|e| e.raw(b"[{\"jsonrpc\":\"2.0\",\"method\":\"m\"},1]")),
        ),
        (Dialect::JsonRpc, rule(FaultKind::MissingVersion), Box::new(|e| e.flatten(b"[{}]"))),
        (
            Dialect::JsonRpc,
            rule(FaultKind::InvalidLiteral),
            Box::new(|e| e.flatten(b"\x0c{\"jsonrpc\":\"2.0\",\"method\":\"m\"}")),
        ),
        (Dialect::JsonRpc, rule(FaultKind::BlankLine), Box::new(|e| e.raw(b""))),
        (Dialect::JsonRpc, rule(FaultKind::BlankLine), Box::new(|e| e.flatten(b"\n\n"))),
        (
            Dialect::JsonRpc,
            rule(FaultKind::TrailingData),
            Box::new(|e| e.raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"m\"}{}")),
        ),
        (Dialect::JsonRpc, rule(FaultKind::InvalidParams), Box::new(move |e| e.request(&id(), "m", &1))),
        (Dialect::Mcp, rule(FaultKind::InvalidParams), Box::new(move |e| e.request(&id(), "m", &[1]))),
        (Dialect::Mcp, rule(FaultKind::InvalidResult), Box::new(move |e| e.response(&id(), &()))),
        (
            Dialect::Mcp,
            rule(FaultKind::InvalidResult),
            Box::new(move |e| e.response(&id(), &RawJson::parse(b"[]").unwrap())),
        ),
        (Dialect::Mcp, rule(FaultKind::InvalidId), Box::new(|e| e.request(&Id::NULL, "m", &()))),
        (Dialect::Mcp, rule(FaultKind::InvalidId), Box::new(|e| e.response(&Id::parse("1.5").unwrap(), &json!({})))),
        (Dialect::Stratum, rule(FaultKind::InvalidId), Box::new(|e| e.response(&Id::NULL, &json!({})))),
        (Dialect::Stratum, rule(FaultKind::InvalidId), Box::new(|e| e.request(&Id::NULL, "m", &()))),
        (Dialect::Electrum, rule(FaultKind::InvalidId), Box::new(|e| e.request(&Id::NULL, "m", &()))),
        (Dialect::Codex, rule(FaultKind::InvalidId), Box::new(|e| e.error(&Id::NULL, &RpcError::internal()))),
        (Dialect::Codex, rule(FaultKind::BatchNotAllowed), Box::new(|e| e.batch(|b| b.notification("m", &())))),
        (Dialect::Stratum, rule(FaultKind::BatchNotAllowed), Box::new(|e| e.batch(|b| b.notification("m", &())))),
        (Dialect::Stratum, rule(FaultKind::InvalidParams), Box::new(|e| e.notification("m", "x"))),
        (Dialect::JsonRpc, rule(FaultKind::MissingId), Box::new(|e| e.error(None, &RpcError::internal()))),
        (Dialect::JsonRpc, rule(FaultKind::TooDeep), Box::new(move |e| e.response(&id(), &Nested(128)))),
        (Dialect::JsonRpc, rule(FaultKind::TooDeep), Box::new(move |e| e.response(&id(), &deep(128)))),
        (Dialect::JsonRpc, rule(FaultKind::TooDeep), Box::new(move |e| e.batch(|b| b.response(&id(), &Nested(127))))),
        (Dialect::JsonRpc, rule(FaultKind::TooDeep), Box::new(move |e| e.batch(|b| b.response(&id(), &deep(127))))),
        (Dialect::JsonRpc, rule(FaultKind::EmptyBatch), Box::new(|e| e.batch(|_| Ok(())))),
        (Dialect::Mcp, rule(FaultKind::BatchNotAllowed), Box::new(|e| e.batch(|b| b.notification("m", &())))),
        (Dialect::Acp, rule(FaultKind::BatchNotAllowed), Box::new(|e| e.batch(|b| b.notification("m", &())))),
        (
            Dialect::JsonRpc,
            EncodeErrorKind::Serialize,
            Box::new(move |e| {
                e.batch(|b| {
                    b.notification("m", &())?;
                    b.response(&id(), &FailsHalfway)
                })
            }),
        ),
        (Dialect::JsonRpc, rule(FaultKind::NotAnObject), Box::new(|e| e.batch(|b| b.raw(b"[]")))),
        (Dialect::JsonRpc, rule(FaultKind::LineTooLong), Box::new(move |e| e.response(&id(), &"x".repeat(2000)))),
        (
            Dialect::JsonRpc,
            rule(FaultKind::IdTooLong),
            Box::new(move |e| e.request(&Id::from("x".repeat(2000).as_str()), "m", &())),
        ),
        (Dialect::JsonRpc, rule(FaultKind::LineTooLong), Box::new(move |e| e.request(&id(), &"x".repeat(2000), &()))),
        (Dialect::JsonRpc, rule(FaultKind::LineTooLong), Box::new(|e| e.raw(&[b' '; 2000]))),
        (
            Dialect::JsonRpc,
            rule(FaultKind::LineTooLong),
            Box::new(move |e| e.batch(|b| (0..100).try_for_each(|_| b.notification("notify", &())))),
        ),
        (
            Dialect::JsonRpc,
            rule(FaultKind::BatchTooLong),
            Box::new(|e| e.batch(|b| (0..5).try_for_each(|_| b.notification("m", &())))),
        ),
    ];
    for (at, (dialect, kind, attempt)) in attempts.iter().enumerate() {
        for before in ["", "what was there\n"] {
            let mut buffer = BytesMut::from(before);
            let mut rules = dialect.rules().max_line_len(1000);
            if *kind == rule(FaultKind::BatchTooLong) {
                rules = rules.max_batch_len(4);
            }
            let error = attempt(&mut Encoder::append_to(&mut buffer, rules)).unwrap_err();
            assert_eq!(error.kind(), *kind, "attempt {at}");
            assert_eq!(buffer, before, "attempt {at}");
            assert!(!format!("{error} {error:?}").contains("hunter2"));
            assert!(error.offset().is_none_or(|offset| offset <= 2000));
        }
    }
}

/// Offsets count bytes from the start of the message, for the entries of a batch too.
#[test]
fn a_refusal_reports_its_offset() {
    let offset = |dialect: Dialect, write: &dyn Fn(&mut Encoder) -> Result<(), EncodeError>| {
        let mut encoder = Encoder::new(dialect.rules());
        encoder.notification("before", &()).unwrap();
        write(&mut encoder).unwrap_err().offset()
    };
    let (note, id) = (br#"{"jsonrpc":"2.0","method":"m"}"#, Id::from(1));
    let wrong = br#"{"jsonrpc":"2.0","method":1}"#;
    let list = [&b"["[..], note, b", ", wrong, b"]"].concat();
    assert_eq!(offset(Dialect::JsonRpc, &|e| e.raw(&list)), Some(33 + 26));
    assert_eq!(offset(Dialect::JsonRpc, &|e| e.raw(wrong)), Some(26));
    assert_eq!(offset(Dialect::JsonRpc, &|e| e.raw(b"{\"jsonrpc\":\n\"2.0\"}")), Some(11));
    assert_eq!(offset(Dialect::Mcp, &|e| e.response(&id, &[1])), Some(33));
    assert_eq!(offset(Dialect::Mcp, &|e| e.request(&id, "m", &[1])), Some(46));
    assert_eq!(offset(Dialect::JsonRpc, &|e| e.response(&id, &(12, f64::NAN))), Some(37));
    let second = |e: &mut Encoder| {
        e.batch(|batch| {
            batch.raw(note)?;
            batch.request(&id, "m", &1)
        })
    };
    assert_eq!(offset(Dialect::JsonRpc, &second), Some(46));
    assert_eq!(offset(Dialect::Mcp, &|e| e.request(&Id::NULL, "m", &())), None);
}

#[test]
fn refusals_and_encoders_never_show_message_contents() {
    use std::error::Error as _;

    let mut encoder = Encoder::new(Rules::json_rpc());
    let mut shown = |payload: &dyn Fn(&mut Encoder) -> Result<(), EncodeError>| {
        let error = payload(&mut encoder).unwrap_err();
        (error.to_string(), format!("{error:?}"), error.source().map(ToString::to_string))
    };
    let id = Id::from("hunter2");
    let (text, debug, source) = shown(&|e| e.response(&id, &FailsHalfway));
    assert_eq!(text, "payload failed to serialize (at byte 56)");
    assert_eq!(debug, "EncodeError { kind: Serialize, offset: Some(56), .. }");
    assert_eq!(source.as_deref(), Some("hunter2"));
    let (text, _, source) = shown(&|e| e.error(None, &RpcError::internal()));
    assert_eq!((&text[..], source), (r#"a response must have an "id""#, None));
    assert_eq!(shown(&|e| e.response(&id, &f64::NAN)).0, "payload contains NaN or infinity (at byte 41)");
    assert_eq!(shown(&|e| e.raw(b"{\n}")).0, "message contains a line break (at byte 1)");

    encoder.notification("hunter2", &()).unwrap();
    assert!(format!("{encoder:?}").starts_with("Encoder { rules: Rules { dialect: JSON-RPC, "));
    encoder
        .batch(|batch| {
            batch.notification("hunter2", &())?;
            assert!(!format!("{batch:?}").contains("hunter2"));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_panic_leaves_no_trace() {
    let mut encoder = Encoder::new(Rules::json_rpc());
    encoder.notification("before", &()).unwrap();
    let before = encoder.as_bytes().to_vec();
    assert!(catch_unwind(AssertUnwindSafe(|| encoder.response(&Id::from(1), &Panics))).is_err());
    assert_eq!(encoder.as_bytes(), before);
    let batch = |encoder: &mut Encoder| {
        encoder.batch(|batch| {
            batch.notification("m", &())?;
            batch.response(&Id::from(1), &Panics)
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(|| batch(&mut encoder))).is_err());
    assert_eq!(encoder.as_bytes(), before);
    encoder.notification("after", &()).unwrap();
    assert!(encoder.as_bytes().starts_with(&before) && encoder.as_bytes().ends_with(b"\"after\"}\n"));
}

/// A panic caught inside a batch removes the entry and the comma before it.
#[test]
fn a_panic_within_a_batch_leaves_no_trace() {
    let mut encoder = Encoder::new(Rules::json_rpc());
    encoder
        .batch(|batch| {
            assert!(catch_unwind(AssertUnwindSafe(|| batch.response(&Id::from(1), &Panics))).is_err());
            batch.notification("m", &())?;
            assert!(catch_unwind(AssertUnwindSafe(|| batch.response(&Id::from(1), &Panics))).is_err());
            batch.notification("n", &())
        })
        .unwrap();
    let expected = br#"[{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","method":"n"}]"#;
    assert_eq!(encoder.as_bytes().trim_ascii_end(), expected);
}

/// Null params are omitted, so they don't count towards the line limit.
#[test]
fn a_call_without_params_may_be_as_long_as_the_limit() {
    let line = r#"{"jsonrpc":"2.0","id":0,"method":"m"}"#;
    for (limit, fits) in [(line.len(), true), (line.len() - 1, false)] {
        let mut encoder = Encoder::new(Rules::mcp().max_line_len(limit));
        assert_eq!(encoder.request(&Id::from(0), "m", &()).is_ok(), fits);
        assert_eq!(encoder.as_bytes().trim_ascii_end(), if fits { line.as_bytes() } else { b"" });
        // Params that are written do count.
        assert!(encoder.request(&Id::from(0), "m", &[()]).is_err());
    }
}

/// A refused entry is left out of the batch; the others are kept.
#[test]
fn a_batch_continues_after_a_refusal() {
    let mut encoder = Encoder::new(Rules::json_rpc());
    encoder
        .batch(|batch| {
            assert!(batch.response(&Id::from(1), &f64::NAN).is_err());
            batch.response(&Id::from(2), &1)?;
            assert!(batch.response(&Id::from(3), &FailsHalfway).is_err());
            batch.error(&Id::NULL, &RpcError::internal())?;
            Ok(())
        })
        .unwrap();
    let found = common::decode(Rules::json_rpc(), [&encoder.take()[..]]);
    assert_eq!(found, [r#"batch [result 2 1 | error null -32603 "Internal error" -]"#]);
}

/// Where a batch can't be, nothing of it is written, and what surrounds it is left alone.
#[test]
fn a_batch_within_a_batch_is_refused() {
    let mut encoder = Encoder::new(Rules::json_rpc());
    encoder.notification("before", &()).unwrap();
    encoder
        .batch(|batch| {
            batch.notification("first", &())?;
            let nested = batch.batch(|batch| batch.notification("nested", &())).unwrap_err();
            assert_eq!(nested.kind(), EncodeErrorKind::Rule(FaultKind::NotAnObject));
            // Nor can the line be taken apart while it is being written.
            assert!(batch.take().is_empty());
            batch.clear();
            batch.notification("second", &())
        })
        .unwrap();
    assert_eq!(
        common::decode(Rules::json_rpc(), [&encoder.take()[..]]),
        [r#"notification "before" -"#, r#"batch [notification "first" - | notification "second" -]"#]
    );
}

#[test]
fn a_batch_takes_all_kinds_of_messages() {
    let fault = Frame::parse(br#"{"id":6}"#, &Rules::json_rpc()).unwrap_err();
    let mut encoder = Encoder::new(Rules::json_rpc());
    encoder
        .batch(|batch| {
            batch.request(&Id::from(1), "m", &[2])?;
            batch.notification("n", &())?;
            batch.response(&Id::from(3), &4)?;
            batch.error(&Id::from(5), &RpcError::new(1, "e"))?;
            batch.error_reply(&fault.reply().unwrap())?;
            batch.raw(br#"{"jsonrpc":"2.0","method":"raw"}"#)
        })
        .unwrap();
    let data = r#"{"fault":"missing-version","line":1,"column":1}"#;
    let entries = [
        r#"request 1 "m" [2]"#,
        r#"notification "n" -"#,
        "result 3 4",
        r#"error 5 1 "e" -"#,
        &format!(r#"error 6 -32600 "Invalid Request" {data}"#),
        r#"notification "raw" -"#,
    ];
    let found = common::decode(Rules::json_rpc(), [&encoder.take()[..]]);
    assert_eq!(found, [format!("batch [{}]", entries.join(" | "))]);
}

/// Params that ignore the failure of an element.
struct IgnoresFailure;

impl Serialize for IgnoresFailure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut elements = serializer.serialize_seq(None)?;
        let _ = elements.serialize_element(&FailsHalfway);
        elements.end()
    }
}

/// The first failure is the one reported, also where the rules would refuse what has been written.
#[test]
fn an_ignored_failure_is_reported() {
    for rules in [Rules::json_rpc(), Rules::mcp()] {
        let mut encoder = Encoder::new(rules);
        let error = encoder.notification("m", &IgnoresFailure).unwrap_err();
        assert_eq!(error.kind(), EncodeErrorKind::Serialize);
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(source.to_string(), "an error in a nested value was ignored");
        assert_eq!(encoder.as_bytes(), b"");
    }
}

type Way = fn(&mut Encoder<'_>) -> Result<(), EncodeError>;

/// The ways to write a message, as a line or into a batch.
const WAYS: [Way; 11] = [
    |encoder| encoder.request(&Id::from(1), "m", &[2]),
    |encoder| encoder.request(&Id::from(1), "m", &()),
    |encoder| encoder.notification("a longer method\n", &[2]),
    |encoder| encoder.notification("m", &()),
    |encoder| encoder.response(&Id::from("one"), "result"),
    |encoder| encoder.error(&Id::from(1), &RpcError::internal()),
    |encoder| encoder.error(&Id::from(1), &RpcError::internal().with_data(&[1]).unwrap()),
    |encoder| encoder.message(&json!({"jsonrpc": "2.0", "method": "m"})),
    |encoder| encoder.raw(br#"{"jsonrpc":"2.0","method":"m"}"#),
    |encoder| encoder.forward(&message(br#"{"jsonrpc":"2.0","method":"m"}"#)),
    |encoder| encoder.forward_with_id(&message(br#"{"jsonrpc":"2.0","method":"m","id":1}"#), &Id::from(17)),
];

fn message(line: &[u8]) -> Message<'_> {
    match Frame::parse(line, &Rules::json_rpc()) {
        Ok(Frame::Message(message)) => message,
        other => panic!("{other:?}"),
    }
}

/// Whatever is written, and wherever: the limit counts neither the line feed nor what comes before the line, and the
/// offset of an error counts from the start of the message.
#[test]
fn every_message_fits_exactly() {
    let first = r#"[{"jsonrpc":"2.0","method":"first"},"#;
    for (nth, write) in WAYS.into_iter().enumerate() {
        let mut whole = BytesMut::new();
        write(&mut Encoder::append_to(&mut whole, Rules::json_rpc())).unwrap();
        whole.truncate(whole.len() - 1);
        for less in [0, 1, 5] {
            let mut out = BytesMut::from("before\n");
            let mut encoder = Encoder::append_to(&mut out, Rules::json_rpc().max_line_len(whole.len() - less));
            let done = write(&mut encoder).map_err(|error| (error.kind(), error.offset()));
            let too_long = EncodeErrorKind::Rule(FaultKind::LineTooLong);
            if less == 0 {
                assert_eq!(done, Ok(()), "way {nth}");
                assert_eq!(out, [b"before\n", &whole[..], b"\n"].concat(), "way {nth}");
            } else {
                assert_eq!(done, Err((too_long, Some(whole.len() - less))), "way {nth}");
                assert_eq!(out, "before\n", "way {nth}");
            }

            // A bracket follows, for which an entry must leave room.
            let limit = first.len() + whole.len() + 1 - less;
            let mut encoder = Encoder::new(Rules::json_rpc().max_line_len(limit));
            let mut done = Ok(());
            encoder
                .batch(|batch| {
                    batch.notification("first", &())?;
                    done = write(batch).map_err(|error| (error.kind(), error.offset()));
                    Ok(())
                })
                .unwrap();
            if less == 0 {
                assert_eq!(done, Ok(()), "way {nth}");
                assert_eq!(encoder.as_bytes(), [first.as_bytes(), &whole, b"]\n"].concat(), "way {nth}");
            } else {
                assert_eq!(done, Err((too_long, Some(whole.len() + 1 - less))), "way {nth}");
                assert_eq!(encoder.as_bytes(), [&first.as_bytes()[..first.len() - 1], b"]\n"].concat(), "way {nth}");
            }
        }
    }
}

#[test]
fn limits_are_exact() {
    let line = line_text(&Rules::json_rpc(), |e| e.response(&Id::from(1), "result")).unwrap();
    for (limit, fits) in [(line.len() - 1, false), (line.len(), true)] {
        let rules = Rules::json_rpc().max_line_len(limit);
        assert_eq!(to_line(&rules, |e| e.response(&Id::from(1), "result")).is_ok(), fits);
        assert_eq!(to_line(&rules, |e| e.raw(&line)).is_ok(), fits);
    }
    let batch = |e: &mut Encoder| e.batch(|b| b.raw(&line));
    for (limit, fits) in [(line.len() + 1, false), (line.len() + 2, true)] {
        assert_eq!(to_line(&Rules::json_rpc().max_line_len(limit), batch).is_ok(), fits);
    }
    for (depth, fits) in [(1, false), (2, true)] {
        let error = |e: &mut Encoder| e.error(&Id::from(1), &RpcError::internal());
        let batch = |e: &mut Encoder| e.batch(|b| b.error(&Id::from(1), &RpcError::internal()));
        assert_eq!(to_line(&Rules::json_rpc().max_depth(depth), error).is_ok(), fits);
        assert_eq!(to_line(&Rules::json_rpc().max_depth(depth + 1), batch).is_ok(), fits);
    }
    // Sibling containers don't add to the depth.
    let flat = (vec![[(); 0]; 200], vec![std::collections::BTreeMap::from([("a", 1)]); 200]);
    assert!(to_line(&Rules::json_rpc().max_depth(4), |e| e.response(&Id::from(1), &flat)).is_ok());
    assert!(to_line(&Rules::json_rpc().max_depth(3), |e| e.response(&Id::from(1), &flat)).is_err());
    for (depth, fits) in [(127, true), (128, false)] {
        assert_eq!(to_line(&Rules::json_rpc(), |e| e.response(&Id::from(1), &Nested(depth))).is_ok(), fits);
        assert_eq!(
            to_line(&Rules::json_rpc(), |e| e.batch(|b| b.response(&Id::from(1), &Nested(depth - 1)))).is_ok(),
            fits
        );
    }
}

#[test]
fn flattens_line_breaks_between_tokens() {
    let pretty = "\n{\r\n  \"jsonrpc\": \"2.0\",\n\t\"id\": 1,\n  \"result\": [\n 1,\r 2, \"a\\nb\"\n]\n}\r\n";
    let line = to_line(&Rules::json_rpc(), |e| e.flatten(pretty.as_bytes())).unwrap();
    assert_eq!(line, "{    \"jsonrpc\": \"2.0\", \t\"id\": 1,   \"result\": [  1,  2, \"a\\nb\" ] }\n");
    let value = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap();
    assert_eq!(value(line.as_bytes()), value(pretty.as_bytes()));
}

#[test]
fn replies_to_faults_are_accepted() {
    for case in common::cases() {
        for (dialect, answer) in Dialect::ALL.iter().flat_map(|dialect| {
            let answers = [AnswerWithoutId::Never, AnswerWithoutId::NullId, AnswerWithoutId::OmitId];
            answers.into_iter().map(move |answer| (dialect, answer))
        }) {
            let rules = dialect.rules().answer_without_id(answer);
            let Err(fault) = Frame::parse(&case.line, &rules) else { continue };
            let Some(reply) = fault.reply() else { continue };
            let line = to_line(&rules, |encoder| encoder.error_reply(&reply)).unwrap();
            let found = common::decode(rules, [line.as_bytes()]);
            let id = reply.id().map_or("-".to_owned(), |id| id.as_json().to_owned());
            assert!(found[0].starts_with(&format!("error {id} {} ", fault.code())), "{found:?}");
        }
    }
}

#[test]
fn with_id_changes_only_the_id() {
    let long = "8".repeat(200);
    let ids = ["7", "9007199254740993", "123456789012345678901234567890", &long, "\"\\u00e9\"", "\"a b\"", "\"\""];
    let templates = [
        r#"{"jsonrpc":"2.0","id":@,"method":"m","params":{"id":1,"x":[1.10,2e0]}}"#,
        r#"{"method":"m","params":{"n":123456789012345678901234567890},"jsonrpc":"2.0","id":@}"#,
        r#" { "i\u0064" : @ , "jsonrpc" : "\u0032.0" , "result" : { "id" : 0 , "a":1,"a":2 } , "extra" : 1 } "#,
        r#"{"error":{"code":1,"message":"id","data":{"id":2}},"id":@,"jsonrpc":"2.0"}"#,
    ];
    for dialect in Dialect::ALL {
        for template in templates {
            for (old, new) in ids.iter().flat_map(|old| ids.iter().map(move |new| (old, new))) {
                let line = template.replace('@', old);
                let Frame::Message(message) = Frame::parse(line.as_bytes(), &dialect.rules()).unwrap() else {
                    panic!()
                };
                let new = Id::parse(new).unwrap();
                assert_eq!(line_text(&dialect.rules(), |e| e.forward(&message)).unwrap(), line);
                let forwarded = line_text(&dialect.rules(), |e| e.forward_with_id(&message, &new)).unwrap();
                assert_eq!(forwarded, template.replace('@', new.as_json()));
            }
        }
    }
}

#[test]
fn with_id_checks_the_rules_of_the_encoder() {
    let parse = |line: &'static str, rules: Rules| match Frame::parse(line.as_bytes(), &rules).unwrap() {
        Frame::Message(message) => message,
        Frame::Batch(_) => panic!(),
    };
    let kind = |message: &Message<'_>, id: Id<'_>, rules: Rules| {
        to_line(&rules, |e| e.forward_with_id(message, &id)).err().map(|error| error.kind())
    };
    let rule = |kind| Some(EncodeErrorKind::Rule(kind));

    let list = parse(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[[1]]}"#, Rules::json_rpc());
    assert_eq!(kind(&list, Id::from(2), Rules::json_rpc()), None);
    assert_eq!(kind(&list, Id::from(2), Rules::acp()), None);
    assert_eq!(kind(&list, Id::from(2), Rules::mcp()), rule(FaultKind::InvalidParams));
    let forwarded = to_line(&Rules::mcp(), |e| e.forward(&list)).unwrap_err();
    assert_eq!(Some(forwarded.kind()), rule(FaultKind::InvalidParams));
    assert_eq!(kind(&list, Id::NULL, Rules::mcp()), rule(FaultKind::InvalidId));
    assert_eq!(kind(&list, Id::from(2), Rules::json_rpc().max_depth(2)), rule(FaultKind::TooDeep));
    assert_eq!(kind(&list, Id::from(2), Rules::json_rpc().max_line_len(51)), rule(FaultKind::LineTooLong));
    assert_eq!(kind(&list, Id::from(2), Rules::json_rpc().max_line_len(52)), None);
    let null = parse(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#, Rules::json_rpc().null_params(true));
    assert_eq!(kind(&null, Id::from(2), Rules::json_rpc()), rule(FaultKind::InvalidParams));
    assert_eq!(kind(&null, Id::from(2), Rules::json_rpc().null_params(true)), None);
    let note = parse(r#"{"jsonrpc":"2.0","method":"m"}"#, Rules::mcp());
    assert_eq!(kind(&note, Id::from(2), Rules::mcp()), Some(EncodeErrorKind::NoId));
    let broken = parse("{\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"m\"}", Rules::mcp());
    let forwarded = to_line(&Rules::mcp(), |e| e.forward_with_id(&broken, &Id::from(2))).unwrap();
    assert_eq!(forwarded, "{\"jsonrpc\":\"2.0\", \"id\":2,\"method\":\"m\"}\n");
    let returned = parse("{\"jsonrpc\":\"2.0\",\r\"id\":1,\"method\":\"m\"}", Rules::mcp());
    assert_eq!(kind(&returned, Id::from(2), Rules::mcp()), None);
}

/// The value at the pointer and the id change, wherever they are, and nothing else.
#[test]
fn forward_with_changes_two_values() {
    let members = [
        r#""jsonrpc" :"2.0""#,
        r#""id": @ "#,
        r#""method":"m""#,
        r#" "params":{"n\u0061me" : # ,"x":[1.10,{"name":2}]}"#,
    ];
    for order in 0..24 {
        // The order-th permutation.
        let (mut left, mut rest, mut line) = (members.to_vec(), order, Vec::new());
        while !left.is_empty() {
            let count = left.len();
            line.push(left.remove(rest % count));
            rest /= count;
        }
        let template = format!(" {{{}}} ", line.join(","));
        for (old, new) in [(r#""a.long/name""#, json!("b")), ("1", json!({"deep": [[]]})), (r#"{"a":[]}"#, json!(null))]
        {
            let line = template.replace('@', "1.0").replace('#', old);
            let Frame::Message(message) = Frame::parse(line.as_bytes(), &Rules::json_rpc()).unwrap() else { panic!() };
            let expected = template.replace('#', &new.to_string());
            for id in [None, Some(Id::from("\"x")), Some(Id::from(12345))] {
                let spelled = id.as_ref().map_or("1.0", Id::as_json);
                let forwarded =
                    line_text(&Rules::json_rpc(), |e| e.forward_with(&message, id.as_ref(), "/params/name", &new))
                        .unwrap();
                assert_eq!(forwarded, expected.replace('@', spelled));
            }
        }
    }
}

#[test]
fn forward_with_refuses_what_is_ambiguous_or_against_the_rules() {
    use EncodeErrorKind::{LineBreak, NonFiniteFloat, Pointer};

    let rule = EncodeErrorKind::Rule;
    let rules = Rules::json_rpc().max_depth(5).max_line_len(200);
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,{"b":2}],"c":3,"c":4,"d":{"c":5},"d":{}}}"#;
    let note = r#"{"jsonrpc":"2.0","method":"m","params":[1]}"#;
    type Row = (&'static str, Option<i64>, &'static str, Value, Option<EncodeErrorKind>);
    let rows: Vec<Row> = vec![
        (line, Some(2), "/params/a/1/b", json!([]), None),
        (line, Some(2), "/params/a/0", json!("x"), None),
        (line, Some(2), "/params/a", json!(0), None),
        (line, Some(2), "/method", json!("other"), None),
        (line, Some(2), "/params", json!([]), None),
        (line, Some(2), "/params", json!(1), Some(rule(FaultKind::InvalidParams))),
        (line, Some(2), "/method", json!(1), Some(rule(FaultKind::InvalidMethod))),
        (line, Some(2), "/jsonrpc", json!("1.0"), Some(rule(FaultKind::InvalidVersion))),
        (line, Some(2), "/params/a/1/b", json!([[]]), Some(rule(FaultKind::TooDeep))),
        (line, Some(2), "/params/a/0", json!("x".repeat(150)), Some(rule(FaultKind::LineTooLong))),
        (note, Some(2), "/params/0", json!(2), Some(EncodeErrorKind::NoId)),
        (note, None, "/params/0", json!(2), None),
        (line, Some(2), "/params/e", json!(0), Some(Pointer)),
        (line, Some(2), "/params/a/2", json!(0), Some(Pointer)),
        (line, Some(2), "/params/a/01", json!(0), Some(Pointer)),
        (line, Some(2), "/params/c", json!(0), Some(Pointer)),
        (line, Some(2), "/params/d/c", json!(0), Some(Pointer)),
        (line, Some(2), "params", json!({}), Some(Pointer)),
        (line, Some(2), "", json!({}), Some(Pointer)),
        (line, Some(2), "/id", json!(3), Some(Pointer)),
        (line, None, "/id", json!(3), Some(Pointer)),
        (line, None, "", json!([]), Some(Pointer)),
    ];
    for (line, id, pointer, value, expected) in rows {
        let Frame::Message(message) = Frame::parse(line.as_bytes(), &rules).unwrap() else { panic!() };
        let id = id.map(Id::from);
        let mut encoder = Encoder::new(rules);
        encoder.notification("before", &()).unwrap();
        let before = encoder.as_bytes().to_vec();
        let encoded = encoder.forward_with(&message, id.as_ref(), pointer, &value);
        assert_eq!(encoded.err().map(|error| error.kind()), expected, "{pointer} in {line}");
        assert_eq!(encoder.as_bytes() == before, expected.is_some());
        // As an entry of a batch, which is one level deeper and two bytes longer.
        let batched = to_line(&rules.max_depth(6).max_line_len(202), |e| {
            e.batch(|batch| batch.forward_with(&message, id.as_ref(), pointer, &value))
        });
        assert_eq!(batched.err().map(|error| error.kind()), expected, "{pointer} in {line}");
    }
    let Frame::Message(message) = Frame::parse(line.as_bytes(), &rules).unwrap() else { panic!() };
    let mut encoder = Encoder::new(rules);
    let nan = encoder.forward_with(&message, None, "/params/a", &f64::NAN).unwrap_err();
    assert_eq!(nan.kind(), NonFiniteFloat);
    let broken = RawJson::parse(b"[\n]").unwrap();
    assert_eq!(encoder.forward_with(&message, None, "/params/a", &broken).unwrap_err().kind(), LineBreak);
    assert_eq!(Pointer.to_string(), "the pointer must lead to exactly one value");

    // Line breaks between tokens become spaces, as for `forward`.
    let body = "{\"jsonrpc\":\"2.0\",\n\"id\":1,\r\n\"method\":\"m\",\"params\":[1]}";
    let Frame::Message(message) = Frame::parse(body.as_bytes(), &rules).unwrap() else { panic!() };
    let forwarded = line_text(&rules, |e| e.forward_with(&message, &Id::from(2), "/params/0", "\n")).unwrap();
    assert_eq!(forwarded, r#"{"jsonrpc":"2.0", "id":2,  "method":"m","params":["\n"]}"#);
}

/// Two clients share one server: ids are mapped in both directions, and nothing else changes.
#[test]
fn a_proxy_maps_ids() {
    use std::collections::HashMap;

    let ids = ["1", "9007199254740993", "123456789012345678901234567890", "\"\\u00e9\"", "\"1\"", "1.0"];
    let rules = Rules::json_rpc();
    let mut upstream = Encoder::new(rules);
    let mut open = HashMap::new();
    for client in 0..2 {
        for id in ids {
            let line =
                format!(r#"{{"method":"m{client}", "params":{{"k":[1.50, "\u00e9"]}}, "id":{id}, "jsonrpc":"2.0"}}"#);
            let Frame::Message(message) = Frame::parse(line.as_bytes(), &rules).unwrap() else { panic!() };
            let new = Id::from(open.len() as u64);
            upstream.forward_with_id(&message, &new).unwrap();
            open.insert(new, (client, message.id().unwrap().clone().into_owned()));
        }
    }
    // The server answers in reverse order and spells ids differently: `1.0` for `1`.
    let requests: Vec<_> = common::decode(rules, [&upstream.take()[..]]);
    let mut downstream: HashMap<i32, Encoder> = (0..2).map(|client| (client, Encoder::new(rules))).collect();
    for request in requests.iter().rev() {
        let id = request.split(' ').nth(1).unwrap();
        assert!(request.ends_with(r#"{"k":[1.50, "\u00e9"]}"#), "{request}");
        let answer = format!(r#"{{"result": [ 1e2 ,"\u00e9"],"id":{id}.0,"jsonrpc":"2.0"}}"#);
        let Frame::Message(message) = Frame::parse(answer.as_bytes(), &rules).unwrap() else { panic!() };
        let Message::Response(response) = &message else { panic!() };
        let (client, old) = open.remove(&response.id().unwrap().clone().into_owned()).unwrap();
        downstream.get_mut(&client).unwrap().forward_with_id(&message, &old).unwrap();
    }
    assert!(open.is_empty());
    for encoder in downstream.values_mut() {
        let expected: String = ids
            .iter()
            .rev()
            .map(|id| format!("{{\"result\": [ 1e2 ,\"\\u00e9\"],\"id\":{id},\"jsonrpc\":\"2.0\"}}\n"))
            .collect();
        assert_eq!(encoder.take(), expected);
    }
}

#[test]
fn whole_messages_that_serialize() {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": [1]}});
    let line = to_line(&Rules::mcp(), |e| e.message(&message)).unwrap();
    assert_eq!(common::decode(Rules::mcp(), [line.as_bytes()]), [r#"request 1 "m" {"a":[1]}"#]);
    assert!(to_line(&Rules::mcp().max_depth(3), |e| e.message(&message)).is_ok());
    assert!(to_line(&Rules::mcp().max_depth(2), |e| e.message(&message)).is_err());
    let kind = |value: Value| to_line(&Rules::mcp(), |e| e.message(&value)).unwrap_err().kind();
    assert_eq!(kind(json!({})), EncodeErrorKind::Rule(FaultKind::MissingVersion));
    assert_eq!(kind(json!("x")), EncodeErrorKind::Rule(FaultKind::NotAnObject));
    let Frame::Message(parsed) = Frame::parse(line.text().as_bytes(), &Rules::mcp()).unwrap() else { panic!() };
    assert_eq!(parsed.raw().deserialize::<Value>().unwrap(), message);
}

#[test]
fn one_shots() {
    let line = to_line(&Rules::mcp(), |e| e.notification("m", &json!({"a": 1}))).unwrap();
    let text = line_text(&Rules::mcp(), |e| e.notification("m", &json!({"a": 1}))).unwrap();
    assert_eq!(line.as_bytes(), [&text[..], b"\n"].concat());
    let mut decoder = Decoder::new(Rules::mcp());
    decoder.feed(line.as_bytes());
    assert_eq!(describe(&decoder.next_frame().unwrap()), r#"notification "m" {"a":1}"#);
    assert!(line_text(&Rules::mcp(), |e| e.response(&Id::from(1), &1)).is_err());
    assert_eq!(to_line(&Rules::mcp(), |_| Ok(())).unwrap_err().kind(), EncodeErrorKind::NotOneLine);
    let two = |e: &mut Encoder| e.notification("m", &()).and_then(|()| e.notification("m", &()));
    assert_eq!(to_line(&Rules::mcp(), two).unwrap_err().kind(), EncodeErrorKind::NotOneLine);
    let error = line_text(&Rules::mcp(), |e| e.error(None, &RpcError::new(1, "m"))).unwrap();
    assert_eq!(error, r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#);
}

/// A payload as an encoder writes it.
fn params<T: Serialize>(payload: &T) -> Result<String, EncodeError> {
    let line = to_line(&Rules::json_rpc(), |encoder| encoder.notification("m", payload))?;
    let line = std::str::from_utf8(line.as_bytes()).unwrap();
    let params = line.strip_prefix(r#"{"jsonrpc":"2.0","method":"m","params":"#).and_then(|it| it.strip_suffix("}\n"));
    Ok(params.unwrap().to_owned())
}

#[derive(Serialize)]
enum External<T> {
    Newtype(T),
    Tuple(T, u8),
    Struct { id: T },
}

#[derive(Serialize)]
#[serde(tag = "t")]
enum Internal<T> {
    Newtype(T),
    Struct { id: T },
}

#[derive(Serialize)]
struct Flat<T> {
    #[serde(flatten)]
    inner: T,
}

/// serde buffers the contents of some of these. Strings stay strings, and numbers keep their spelling.
#[test]
fn what_serde_buffers_stays_the_same() {
    fn check<T: Serialize + Clone>(value: T, json: &str) {
        use External::{Newtype, Struct, Tuple};
        let flat = |inner| params(&Flat { inner }).unwrap();
        assert_eq!(flat(Newtype(value.clone())), format!(r#"{{"Newtype":{json}}}"#));
        assert_eq!(flat(Tuple(value.clone(), 1)), format!(r#"{{"Tuple":[{json},1]}}"#));
        assert_eq!(flat(Struct { id: value.clone() }), format!(r#"{{"Struct":{{"id":{json}}}}}"#));
        let internal = |inner| params(&Internal::Newtype(inner)).unwrap();
        assert_eq!(internal(Newtype(value.clone())), format!(r#"{{"t":"Newtype","Newtype":{json}}}"#));
        assert_eq!(internal(Tuple(value.clone(), 1)), format!(r#"{{"t":"Newtype","Tuple":[{json},1]}}"#));
        assert_eq!(internal(Struct { id: value.clone() }), format!(r#"{{"t":"Newtype","Struct":{{"id":{json}}}}}"#));
        assert_eq!(
            params(&Internal::Struct { id: value.clone() }).unwrap(),
            format!(r#"{{"t":"Struct","id":{json}}}"#)
        );
    }
    for text in ["1", "null", "[1]", "{\"admin\":true}", "\"", "", "not JSON", "$wireline::RawJson"] {
        check(Id::from(text), &json!(text).to_string());
        check(RawJson::from_bytes(json!(text).to_string().into()).unwrap(), &json!(text).to_string());
    }
    for text in ["null", "0", "-0", "1.50", "1e2", "9007199254740993.0", "-1.0E-3", "18446744073709551615"] {
        check(Id::parse(text).unwrap(), text);
        check(RawJson::parse(text.as_bytes()).unwrap(), text);
    }
    for text in ["true", "12345678901234567890123", r#"{"n":12345678901234567890123,"p":[1.10,-0,{"a":"1"}]}"#] {
        check(RawJson::parse(text.as_bytes()).unwrap(), text);
    }
}

#[test]
fn flattened_raw_json_keeps_its_numbers() {
    let json = r#"{"n":12345678901234567890123,"p":1.10,"deep":{"q":[1.0e5, 1e400]}}"#;
    let raw = RawJson::parse(json.as_bytes()).unwrap();
    assert_eq!(params(&Flat { inner: &raw }).unwrap(), json);
    let tagged = params(&Internal::Newtype(&raw)).unwrap();
    assert_eq!(tagged, json.replacen('{', r#"{"t":"Newtype","#, 1));
}

/// The reasons for which a buffered value is refused. None has been sent as something else.
#[test]
fn what_serde_cannot_buffer_is_refused() {
    fn reason<T: Serialize>(value: T) -> String {
        let error = params(&Flat { inner: External::Struct { id: value } }).unwrap_err();
        assert_eq!(error.kind(), EncodeErrorKind::Serialize);
        std::error::Error::source(&error).unwrap().to_string()
    }
    let raw = |json: &str| RawJson::from_bytes(json.to_owned().into()).unwrap();
    assert_eq!(reason(raw("[1e400]")), "number out of range");
    let long = format!("0.{}", "1".repeat(63));
    assert_eq!(reason(raw(&long)), "serde can't buffer a number of more than 64 characters exactly");
    assert_eq!(reason(raw(r#""\ud800""#)), "string contains a lone surrogate escape");
    assert_eq!(reason(raw(&("[".repeat(128) + &"]".repeat(128)))), "recursion limit exceeded");
    assert_eq!(reason(Id::parse("0.12345678901234567890123").unwrap()), "number can't be expressed exactly");
    assert_eq!(reason(Id::parse("1e400").unwrap()), "number can't be expressed exactly");
}

/// Other serializers never get another id.
#[test]
fn an_id_is_the_same_elsewhere() {
    for (id, expected) in [
        ("9007199254740993.0", "9007199254740993"),
        ("-9007199254740993.0", "-9007199254740993"),
        ("1.50", "1.5"),
        ("-0", "-0.0"),
        ("1e2", "100.0"),
        ("12345678901234567890123", "12345678901234567890123"),
    ] {
        assert_eq!(serde_json::to_string(&Id::parse(id).unwrap()).unwrap(), expected);
        assert_eq!(Id::parse(expected), Id::parse(id));
    }
    for id in ["0.12345678901234567890123", "1e400", "1e-400"] {
        let error = serde_json::to_string(&Id::parse(id).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "number can't be expressed exactly");
    }
}

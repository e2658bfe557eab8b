//! The encoder emits a whole line that passes the rules, as intended, or refuses the message and emits nothing.
//!
//! Input: messages to send, by `arbitrary`. The expected text of each is built naively. If it is one line that passes
//! the rules, the encoder must emit exactly that; otherwise it must emit nothing.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use arbitrary::{Arbitrary, Unstructured};
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use wireline::{Decoder, EncodeError, Encoder, Frame, Id, Message, RawJson, RpcError, Rules};

use super::common::{Dialect, quiet_panics_on_purpose};
use super::input::{Choices, Settings};

/// See the [module](self).
pub fn run(data: &[u8]) {
    let Ok(session) = Session::arbitrary_take_rest(Unstructured::new(data)) else { return };
    quiet_panics_on_purpose();
    let settings = Settings::choose(&mut Choices::new(&session.settings));
    let rules = settings.rules();
    let mut encoder = Encoder::new(rules);
    let mut lines = Vec::new();
    for sent in &session.sent {
        let before = encoder.as_bytes().to_vec();
        let text = match sent {
            Sent::Batch { entries, goes_on } => send_batch(entries, *goes_on, &mut encoder, &settings),
            sent => {
                let Some(attempt) = sent.attempt(&settings) else { continue };
                let accepted = attempt.send(|how| how.put(&mut encoder).is_ok());
                let fits = attempt.text.as_deref().is_some_and(|text| passes(text, &rules));
                assert!(accepted == fits, "{sent:?} as {:?} under {rules:?}", attempt.shown());
                attempt.text.filter(|_| accepted)
            }
        };
        let line = text.iter().flat_map(|text| [text, &b"\n"[..]]).flatten();
        let after: Vec<u8> = before.iter().chain(line).copied().collect();
        assert_eq!(encoder.as_bytes(), after, "the buffer after {sent:?}");
        if let Some(text) = text {
            sent.check_parts(&text, &rules);
            lines.push(text);
        }
    }
    let mut decoder = Decoder::new(rules);
    let mut lines = lines.into_iter();
    for piece in encoder.take().chunks(session.settings[0].max(1).into()) {
        decoder.feed(piece);
        while let Some(frame) = decoder.next_frame() {
            let frame = frame.expect("an emitted line is accepted");
            assert_eq!(Some(frame.as_bytes()), lines.next().as_deref());
        }
    }
    decoder.finish();
    assert!(decoder.next_frame().is_none() && lines.next().is_none(), "lines are missing or left over");
}

/// Sends those of `entries` that can be sent as a batch, and returns its expected text if there is one.
fn send_batch(entries: &[Sent<'_>], goes_on: bool, encoder: &mut Encoder, settings: &Settings) -> Option<Vec<u8>> {
    let rules = &settings.rules();
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut refused = false;
    let sent = encoder.batch(|batch| {
        for entry in entries.iter().filter(|entry| entry.can_be_entry()) {
            let Some(attempt) = entry.attempt(settings) else { continue };
            let mut error = None;
            let accepted = attempt.send(|how| match how.put(batch) {
                Ok(()) => true,
                Err(refusal) => {
                    error = Some(refusal);
                    false
                }
            });
            let with = attempt.text.as_ref().map(|text| array(texts.iter().chain([text])));
            let fits = with.is_some_and(|with| passes(&with, rules));
            assert!(accepted == fits, "{entry:?} as {:?} after {texts:?} under {rules:?}", attempt.shown());
            texts.extend(attempt.text.filter(|_| accepted));
            if let Some(error) = error.filter(|_| !goes_on) {
                refused = true;
                return Err(error);
            }
        }
        Ok(())
    });
    let array = array(texts.iter());
    let fits = !refused && passes(&array, rules);
    assert_eq!(sent.is_ok(), fits, "a batch of {} under {rules:?}", texts.len());
    fits.then_some(array)
}

fn array<'t>(texts: impl Iterator<Item = &'t Vec<u8>>) -> Vec<u8> {
    let texts: Vec<&[u8]> = texts.map(Vec::as_slice).collect();
    [b"[", &texts.join(&b","[..])[..], b"]"].concat()
}

/// Whether a text is one line that passes the rules, including all entries of a batch.
fn passes(text: &[u8], rules: &Rules) -> bool {
    !text.contains(&b'\n')
        && !text.contains(&b'\r')
        && match Frame::parse(text, rules) {
            Ok(Frame::Message(_)) => true,
            Ok(Frame::Batch(batch)) => batch.iter().all(|entry| entry.is_ok()),
            Err(_) => false,
        }
}

#[derive(Arbitrary, Debug)]
struct Session<'a> {
    settings: [u8; 5],
    sent: Vec<Sent<'a>>,
}

/// Bytes after their length, so that the fuzzer can remove and insert them.
#[derive(Debug)]
struct Part<'a>(&'a [u8]);

impl<'a> Arbitrary<'a> for Part<'a> {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let len = usize::from(u.arbitrary::<u8>()?);
        u.bytes(len.min(u.len())).map(Self)
    }
}

/// The longest prefix of some bytes that is UTF-8.
#[derive(Debug)]
struct Words<'a>(&'a str);

impl<'a> Arbitrary<'a> for Words<'a> {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let Part(bytes) = u.arbitrary()?;
        Ok(Self(bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())))
    }
}

/// A message to send.
#[derive(Arbitrary, Debug)]
enum Sent<'a> {
    Request {
        id: AnyId<'a>,
        method: Words<'a>,
        params: Content<'a>,
    },
    Notification {
        method: Words<'a>,
        params: Content<'a>,
    },
    Result {
        id: AnyId<'a>,
        result: Content<'a>,
    },
    Error {
        id: Option<AnyId<'a>>,
        code: i64,
        message: Words<'a>,
        data: Option<Content<'a>>,
    },
    /// A whole message, envelope and all.
    Message(Content<'a>),
    Raw(Text<'a>),
    Flatten(Text<'a>),
    /// A message that passes other rules.
    Forward {
        text: Text<'a>,
        settings: [u8; 5],
    },
    WithId {
        text: Text<'a>,
        settings: [u8; 5],
        id: AnyId<'a>,
    },
    /// The reply to a text that other rules refuse.
    Reply {
        text: Text<'a>,
        settings: [u8; 5],
    },
    Batch {
        entries: Vec<Sent<'a>>,
        goes_on: bool,
    },
}

#[derive(Arbitrary, Debug)]
enum AnyId<'a> {
    Integer(i64),
    Text(Words<'a>),
    Json(Words<'a>),
    Null,
}

impl AnyId<'_> {
    fn id(&self) -> Option<Id<'static>> {
        match self {
            Self::Integer(integer) => Some(Id::from(*integer)),
            Self::Text(Words(text)) => Some(Id::from(*text)),
            Self::Json(Words(json)) => Id::parse(json).map(Id::into_owned),
            Self::Null => Some(Id::NULL),
        }
    }
}

/// A text, hostile or not.
#[derive(Arbitrary, Debug)]
enum Text<'a> {
    Bytes(Part<'a>),
    Pieces(Part<'a>),
    Nested(u8),
}

/// The pieces that texts are built from.
const PIECES: [&str; 40] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
    r#"{"jsonrpc":"2.0","id":"a","result":{}}"#,
    r#"{"jsonrpc":"2.0","#,
    r#""jsonrpc":"2.0""#,
    r#""id":1"#,
    r#""id":"\u00e9""#,
    r#""id":null"#,
    r#""id":1.5"#,
    r#""method":"m""#,
    r#""method":"\ud800""#,
    r#""params":"#,
    r#""result":"#,
    r#""error":{"code":1,"message":"m"}"#,
    r#""error":{"code":1.5,"message":"m"}"#,
    r#""extra":"#,
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\t",
    "\n",
    "\r",
    "null",
    "1",
    "-0.0e-7",
    "1e999",
    "123456789012345678901234567890",
    "\"\"",
    "\"a\\nb\"",
    "\"a\nb\"",
    "\"\\",
    "\"\u{2028}\"",
    "\"\\ud800\"",
    "{}",
    "[]",
    "NaN",
    "\u{feff}",
];

impl Text<'_> {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes(Part(bytes)) => bytes.to_vec(),
            Self::Pieces(Part(choices)) => {
                choices.iter().flat_map(|&choice| PIECES[usize::from(choice) % PIECES.len()].bytes()).collect()
            }
            Self::Nested(depth) => nested(*depth).into_bytes(),
        }
    }
}

/// The text with line breaks replaced by spaces.
fn flat(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| if b"\r\n".contains(byte) { b' ' } else { *byte }).collect()
}

fn nested(depth: u8) -> String {
    "[".repeat(depth.into()) + "null" + &"]".repeat(depth.into())
}

/// A value for params, a result or data.
#[derive(Arbitrary, Debug)]
enum Content<'a> {
    Nothing,
    Scalar(Scalar<'a>),
    List(Vec<Scalar<'a>>),
    Object(Vec<(Words<'a>, Scalar<'a>)>),
    Nested(u8),
    /// JSON validated by wireline.
    Raw(Text<'a>),
    /// JSON validated by serde_json.
    RawValue(Text<'a>),
    Fails,
    Panics,
}

#[derive(Arbitrary, Debug)]
enum Scalar<'a> {
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(Words<'a>),
}

impl Serialize for Scalar<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(bool) => bool.serialize(serializer),
            Self::Integer(integer) => integer.serialize(serializer),
            Self::Unsigned(integer) => integer.serialize(serializer),
            Self::Float(float) => float.serialize(serializer),
            Self::Text(Words(text)) => text.serialize(serializer),
        }
    }
}

impl Scalar<'_> {
    fn is_json(&self) -> bool {
        !matches!(self, Self::Float(float) if !float.is_finite())
    }
}

/// Content in the form that the encoder takes.
enum Payload<'s> {
    Typed(&'s Content<'s>),
    Nested(u8),
    Raw(Vec<u8>),
    RawValue(Box<RawValue>),
}

impl Content<'_> {
    /// The payload, and its text unless it fails to serialize; `None` if it is not valid JSON.
    fn payload(&self) -> Option<(Payload<'_>, Option<String>)> {
        let written = |is_json: bool| is_json.then(|| serde_json::to_string(self).expect("it serializes"));
        Some(match self {
            Self::Raw(text) => {
                let bytes = text.bytes();
                let json = RawJson::parse(&bytes).ok()?.as_json().to_owned();
                (Payload::Raw(bytes), Some(json))
            }
            Self::RawValue(text) => {
                let raw = RawValue::from_string(String::from_utf8(text.bytes()).ok()?).ok()?;
                let json = raw.get().to_owned();
                (Payload::RawValue(raw), Some(json))
            }
            Self::Nested(depth) => (Payload::Nested(*depth), Some(nested(*depth))),
            Self::Nothing => (Payload::Typed(self), written(true)),
            Self::Scalar(scalar) => (Payload::Typed(self), written(scalar.is_json())),
            Self::List(list) => (Payload::Typed(self), written(list.iter().all(Scalar::is_json))),
            Self::Object(members) => (Payload::Typed(self), written(members.iter().all(|(_, value)| value.is_json()))),
            Self::Fails | Self::Panics => (Payload::Typed(self), None),
        })
    }
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing | Self::Nested(_) | Self::Raw(_) | Self::RawValue(_) => serializer.serialize_unit(),
            Self::Scalar(scalar) => scalar.serialize(serializer),
            Self::List(list) => list.serialize(serializer),
            Self::Object(members) => serializer.collect_map(members.iter().map(|(Words(name), value)| (name, value))),
            Self::Fails => {
                let mut seq = serializer.serialize_seq(None)?;
                seq.serialize_element("half")?;
                Err(S::Error::custom("on purpose"))
            }
            Self::Panics => {
                let mut seq = serializer.serialize_seq(None)?;
                seq.serialize_element("half")?;
                panic!("on purpose")
            }
        }
    }
}

/// Nested arrays as a typed value.
struct Nested(u8);

impl Serialize for Nested {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            0 => serializer.serialize_unit(),
            depth => [Self(depth - 1)].serialize(serializer),
        }
    }
}

/// A message to send and its expected text, or `None` if it can't be encoded.
struct Attempt<'s> {
    how: How<'s>,
    text: Option<Vec<u8>>,
}

enum How<'s> {
    Request(Id<'static>, &'s str, Payload<'s>),
    Notification(&'s str, Payload<'s>),
    Result(Id<'static>, Payload<'s>),
    Error(Option<Id<'static>>, RpcError),
    Message(Payload<'s>),
    Raw(Vec<u8>),
    Flatten(Vec<u8>),
    /// A text that passes these rules, and the id to replace its own with.
    Forward(Vec<u8>, Rules, Option<Id<'static>>),
    /// A text that these rules refuse.
    Reply(Vec<u8>, Rules),
}

impl Attempt<'_> {
    /// Whether `send` accepts it. It may panic only if the payload does.
    fn send(&self, send: impl FnOnce(&How<'_>) -> bool) -> bool {
        catch_unwind(AssertUnwindSafe(|| send(&self.how))).unwrap_or_else(|panic| {
            assert!(self.text.is_none(), "panicked while sending {:?}", self.shown());
            match panic.downcast_ref() {
                Some(&"on purpose") => false,
                _ => resume_unwind(panic),
            }
        })
    }

    fn shown(&self) -> Option<String> {
        self.text.as_ref().map(|text| String::from_utf8_lossy(text).into_owned())
    }
}

/// Calls a method with a payload, whose type depends on its variant.
macro_rules! with_payload {
    ($payload:expr, |$name:ident| $call:expr) => {
        match $payload {
            Payload::Typed($name) => $call,
            Payload::Nested(depth) => {
                let $name = &Nested(*depth);
                $call
            }
            Payload::Raw(text) => {
                let $name = &RawJson::parse(text).expect("validated before");
                $call
            }
            Payload::RawValue($name) => $call,
        }
    };
}

impl How<'_> {
    fn put(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        match self {
            Self::Request(id, method, params) => with_payload!(params, |params| encoder.request(id, method, params)),
            Self::Notification(method, params) => {
                with_payload!(params, |params| encoder.notification(method, params))
            }
            Self::Result(id, result) => with_payload!(result, |result| encoder.response(id, result)),
            Self::Error(id, error) => encoder.error(id.as_ref(), error),
            Self::Message(message) => with_payload!(message, |message| encoder.message(message)),
            Self::Raw(text) => encoder.raw(text),
            Self::Flatten(text) => encoder.flatten(text),
            Self::Forward(text, rules, id) => {
                let Ok(Frame::Message(message)) = Frame::parse(text, rules) else { panic!("the text passed before") };
                match id {
                    Some(id) => encoder.forward_with_id(&message, id),
                    None => encoder.forward(&message),
                }
            }
            Self::Reply(text, rules) => {
                let fault = Frame::parse(text, rules).expect_err("the text was refused before");
                encoder.error_reply(&fault.reply().expect("there was a reply before"))
            }
        }
    }
}

impl Sent<'_> {
    fn can_be_entry(&self) -> bool {
        !matches!(self, Self::Batch { .. })
    }

    /// How to send it, or `None` if there is nothing to send.
    fn attempt(&self, target: &Settings) -> Option<Attempt<'_>> {
        let dialect = target.dialect;
        let other_rules = |settings: &[u8; 5]| Settings::choose(&mut Choices::new(settings)).rules();
        let literal = |text: &str| serde_json::to_string(text).expect("strings serialize");
        let (how, text) = match self {
            Self::Request { id, method: Words(method), params: content } => {
                let (id, (payload, json)) = (id.id()?, content.payload()?);
                let is_request = !id.is_null() || !has_null_notifications(dialect);
                let text = json
                    .filter(|_| is_request)
                    .map(|params| call_text(dialect, Some(id.as_json()), &literal(method), &params));
                (How::Request(id, method, payload), text.map(String::into_bytes))
            }
            Self::Notification { method: Words(method), params: content } => {
                let (payload, json) = content.payload()?;
                let text = json.map(|params| call_text(dialect, None, &literal(method), &params));
                (How::Notification(method, payload), text.map(String::into_bytes))
            }
            Self::Result { id, result } => {
                let (id, (payload, json)) = (id.id()?, result.payload()?);
                let text = json.map(|json| {
                    let error = (dialect == Dialect::Stratum).then(|| "\"error\":null".to_owned());
                    let id = format!("\"id\":{}", id.as_json());
                    object(dialect, [Some(id), Some(format!("\"result\":{json}")), error])
                });
                (How::Result(id, payload), text.map(String::into_bytes))
            }
            Self::Error { id, code, message: Words(message), data } => {
                let id = match id {
                    Some(id) => Some(id.id()?),
                    None => None,
                };
                let mut error = RpcError::new(*code, (*message).to_owned());
                let mut data_text = None;
                if let Some(data) = data {
                    if matches!(data, Content::Panics) {
                        return None;
                    }
                    let (payload, json) = data.payload()?;
                    let fits = json.filter(|json| !json.contains(['\n', '\r']));
                    let with_data = with_payload!(&payload, |data| error.with_data(data));
                    assert_eq!(with_data.is_ok(), fits.is_some(), "{data:?} as data");
                    error = with_data.ok()?;
                    data_text = Some(fits?);
                }
                let text = error_text(dialect, id.as_ref(), *code, &literal(message), data_text);
                (How::Error(id, error), Some(text.into_bytes()))
            }
            Self::Message(content) => {
                let (payload, json) = content.payload()?;
                (How::Message(payload), json.map(String::into_bytes))
            }
            Self::Raw(text) => (How::Raw(text.bytes()), Some(text.bytes())),
            Self::Flatten(text) => {
                let text = text.bytes();
                let is_blank = |byte: &u8| b" \t\r\n".contains(byte);
                let end = text.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
                let trimmed = text[..end].iter().skip_while(|byte| is_blank(byte)).copied().collect::<Vec<_>>();
                // Line breaks become spaces, which is allowed only between tokens.
                let is_json = RawJson::parse(&trimmed).is_ok();
                let flat = flat(&trimmed);
                (How::Flatten(text), is_json.then_some(flat))
            }
            Self::Forward { text, settings } => {
                let (text, rules) = (text.bytes(), other_rules(settings));
                let Ok(Frame::Message(message)) = Frame::parse(&text, &rules) else { return None };
                let stays = keeps_its_kind(&message, &text, target);
                (How::Forward(text.clone(), rules, None), stays.then(|| flat(&text)))
            }
            Self::WithId { text, settings, id } => {
                let (text, rules, id) = (text.bytes(), other_rules(settings), id.id()?);
                let Ok(Frame::Message(message)) = Frame::parse(&text, &rules) else { return None };
                let id_before = message.id().filter(|_| {
                    let is_request = matches!(message, Message::Request(_));
                    !is_request || !id.is_null() || !has_null_notifications(dialect)
                });
                let spliced = id_before.map(|old| {
                    let start = old.as_json().as_ptr() as usize - text.as_ptr() as usize;
                    let (before, after) = (&text[..start], &text[start + old.as_json().len()..]);
                    flat(&[before, id.as_json().as_bytes(), after].concat())
                });
                (How::Forward(text.clone(), rules, Some(id)), spliced)
            }
            Self::Reply { text, settings } => {
                let (faulty, rules) = (text.bytes(), other_rules(settings));
                let Err(fault) = Frame::parse(&faulty, &rules) else { return None };
                let reply = fault.reply()?;
                let (name, line, column) = (fault.kind().name(), fault.line(), fault.column());
                let data = format!(r#"{{"fault":"{name}","line":{line},"column":{column}}}"#);
                let message = literal(reply.message());
                let text = error_text(dialect, reply.id().as_ref(), reply.code(), &message, Some(data));
                (How::Reply(faulty, rules), Some(text.into_bytes()))
            }
            Self::Batch { .. } => return None,
        };
        Some(Attempt { how, text })
    }

    /// Checks that the emitted message has the intended parts.
    fn check_parts(&self, text: &[u8], rules: &Rules) {
        let Ok(Frame::Message(message)) = Frame::parse(text, rules) else { return };
        let is_id = |id: &AnyId<'_>| {
            let spelled = id.id().map(|id| id.as_json().to_owned());
            message.id().map(|id| id.as_json().to_owned()) == spelled
        };
        let is_content = |content: &Content<'_>, found: Option<RawJson<'_>>| {
            let json = content.payload().and_then(|(_, json)| json).unwrap_or_default();
            let found = found.as_ref().map_or("null", RawJson::as_json);
            // Stratum always has params.
            json == found || json == "null" && found == "[]"
        };
        let as_meant = match (self, &message) {
            (Self::Request { id, method: Words(method), params }, Message::Request(request)) => {
                is_id(id) && request.method() == *method && is_content(params, request.params())
            }
            (Self::Notification { method: Words(method), params }, Message::Notification(notification)) => {
                notification.method() == *method && is_content(params, notification.params())
            }
            (Self::Result { id, result }, Message::Response(response)) => {
                is_id(id) && is_content(result, response.result())
            }
            (Self::Error { id, code, message: Words(message), data }, Message::Response(response)) => {
                response.error().is_some_and(|error| {
                    id.as_ref().map_or(response.id().is_none(), is_id)
                        && (error.code(), &*error.message()) == (*code, *message)
                        && data.as_ref().map_or(error.data().is_none(), |data| is_content(data, error.data()))
                })
            }
            (Self::WithId { id, .. }, _) => is_id(id),
            (Self::Reply { .. }, Message::Response(response)) => response.error().is_some(),
            (Self::Request { .. } | Self::Notification { .. } | Self::Result { .. } | Self::Error { .. }, _) => false,
            _ => true,
        };
        assert!(as_meant, "{self:?} was encoded as {:?}", String::from_utf8_lossy(text));
    }
}

/// An object with these members, after the version if the dialect writes one.
fn object<const N: usize>(dialect: Dialect, members: [Option<String>; N]) -> String {
    let version = dialect.writes_version().then(|| r#""jsonrpc":"2.0""#.to_owned());
    let members: Vec<String> = [version].into_iter().chain(members).flatten().collect();
    format!("{{{}}}", members.join(","))
}

fn call_text(dialect: Dialect, id: Option<&str>, method: &str, params: &str) -> String {
    let is_stratum = dialect == Dialect::Stratum;
    let id = id.or(is_stratum.then_some("null")).map(|id| format!("\"id\":{id}"));
    let params = match params {
        "null" if is_stratum => Some("[]"),
        "null" => None,
        params => Some(params),
    };
    object(dialect, [id, Some(format!("\"method\":{method}")), params.map(|params| format!("\"params\":{params}"))])
}

fn error_text(dialect: Dialect, id: Option<&Id<'_>>, code: i64, message: &str, data: Option<String>) -> String {
    let id = id.map(|id| format!("\"id\":{}", id.as_json()));
    if dialect == Dialect::Stratum {
        let data = data.unwrap_or("null".to_owned());
        let error = format!("\"error\":[{code},{message},{data}]");
        return object(dialect, [id, Some("\"result\":null".to_owned()), Some(error)]);
    }
    let data = data.map_or(String::new(), |data| format!(",\"data\":{data}"));
    object(dialect, [id, Some(format!(r#""error":{{"code":{code},"message":{message}{data}}}"#))])
}

/// Whether a call with the id null is a notification.
fn has_null_notifications(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Electrum | Dialect::Stratum)
}

/// Whether a message would be a request under these rules if, and only if, it is one.
fn keeps_its_kind(message: &Message<'_>, text: &[u8], target: &Settings) -> bool {
    match Frame::parse(text, &target.rules()) {
        Ok(Frame::Message(read)) => matches!(read, Message::Request(_)) == matches!(message, Message::Request(_)),
        _ => true,
    }
}

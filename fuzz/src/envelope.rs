//! Compares the rules for messages with a naive implementation on top of serde_json.
//!
//! Input: five bytes of [`Settings`], and a text.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use wireline::{AnswerWithoutId, Fault, FaultKind, Frame, Message};
use wireline_json::Cpu;

use super::common::Dialect;
use super::input::{Choices, Settings};
use super::recovered;

/// See the [module](self).
pub fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    let settings = Settings::choose(&mut choices);
    let text = choices.rest();
    let verdict = verdict(text, &settings);
    for kernel in Cpu::available() {
        let found = kernel.run(|| Frame::parse(text, &settings.rules()));
        let context = || format!("{kernel:?} {settings:?} on {:?}", String::from_utf8_lossy(text));
        match (&found, &verdict) {
            (Ok(Frame::Message(found)), Verdict::Message(expected)) => {
                assert_eq!(&Naive::of(found), expected, "{}", context());
            }
            (Ok(Frame::Batch(found)), Verdict::Batch(expected)) => {
                assert_eq!(found.len(), expected.len(), "{}", context());
                for (found, expected) in found.iter().zip(expected) {
                    match (&found, expected) {
                        (Ok(found), Ok(expected)) => assert_eq!(&Naive::of(found), expected, "{}", context()),
                        (Err(found), Err(expected)) => expected.check(found, &settings, context),
                        _ => panic!("found {found:?}, expected {expected:?}: {}", context()),
                    }
                }
            }
            (Err(found), Verdict::Fault(expected)) => {
                expected.check(found, &settings, context);
                assert_eq!(found.line_len(), text.len() as u64, "{}", context());
            }
            (Err(found), Verdict::NotJson(expected)) => {
                match expected {
                    Some(kind) => assert_eq!(found.kind(), *kind, "{}", context()),
                    None => assert!(found.code() == -32700 || found.kind() == FaultKind::TooDeep, "{}", context()),
                }
                if has_outcome_only(text) && is_beyond_reading(found.kind()) {
                    assert!(found.is_response(), "expected a response: {}", context());
                }
                // The recovered id must be that of the outermost object.
                let id = found.id().map(|id| id.as_json().to_owned());
                if let Some(id) = &id {
                    assert!(is_permitted_id(id, Kind::Error, &settings), "the id {id}: {}", context());
                    assert!(recovered::is_in_place(text, id), "the id {id} is out of place: {}", context());
                }
                let at = found.column() as usize - 1;
                let complaint = Complaint { kind: found.kind(), at, id, is_response: found.is_response() };
                complaint.check(found, &settings, context);
            }
            _ => panic!("found {found:?}, expected {verdict:?}: {}", context()),
        }
    }
}

/// The naive verdict on a text.
#[derive(Debug)]
enum Verdict {
    /// Not JSON, with the kind of fault where that is simple to determine.
    NotJson(Option<FaultKind>),
    Fault(Complaint),
    Message(Naive),
    Batch(Vec<Result<Naive, Complaint>>),
}

/// The parts of a message.
#[derive(Debug, PartialEq)]
struct Naive {
    id: Option<String>,
    body: Body,
}

#[derive(Debug, PartialEq)]
enum Body {
    Call { method: String, params: Option<String> },
    Result(String),
    Error { code: i64, message: String, data: Option<String> },
}

/// The parts of a fault.
#[derive(Debug)]
struct Complaint {
    kind: FaultKind,
    /// Its offset in the text.
    at: usize,
    id: Option<String>,
    is_response: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Request,
    Notification,
    Result,
    Error,
}

impl Naive {
    fn of(message: &Message<'_>) -> Self {
        let body = match message {
            Message::Request(request) => Body::Call {
                method: request.method().into_owned(),
                params: request.params().map(|params| params.as_json().to_owned()),
            },
            Message::Notification(notification) => Body::Call {
                method: notification.method().into_owned(),
                params: notification.params().map(|params| params.as_json().to_owned()),
            },
            Message::Response(response) => match response.outcome() {
                Ok(result) => Body::Result(result.as_json().to_owned()),
                Err(error) => Body::Error {
                    code: error.code(),
                    message: error.message().into_owned(),
                    data: error.data().map(|data| data.as_json().to_owned()),
                },
            },
        };
        let id = match message {
            Message::Request(request) => Some(request.id().as_json().to_owned()),
            Message::Notification(_) => None,
            other => other.id().map(|id| id.as_json().to_owned()),
        };
        Self { id, body }
    }
}

impl Complaint {
    fn about(kind: FaultKind, at: usize) -> Self {
        Self { kind, at, id: None, is_response: false }
    }

    fn check(&self, fault: &Fault, settings: &Settings, context: impl Fn() -> String) {
        let id = fault.id().map(|id| id.as_json().to_owned());
        assert_eq!((fault.kind(), fault.column()), (self.kind, self.at as u64 + 1), "{}", context());
        assert_eq!(id, self.id, "{}", context());
        assert_eq!(fault.is_response(), self.is_response, "{}", context());
        let is_json = !matches!(
            self.kind,
            FaultKind::BlankLine
                | FaultKind::ByteOrderMark
                | FaultKind::InvalidUtf8
                | FaultKind::ControlCharacter
                | FaultKind::InvalidEscape
                | FaultKind::InvalidNumber
                | FaultKind::InvalidLiteral
                | FaultKind::UnexpectedByte
                | FaultKind::UnexpectedEnd
                | FaultKind::TrailingData
        );
        assert_eq!(fault.code(), if is_json { -32600 } else { -32700 }, "{}", context());
        // Whether to answer, and with which id; `Some(None)` is an answer without one.
        let answer = match (&self.id, settings.answer) {
            _ if self.is_response => None,
            (Some(id), _) => Some(Some(id.clone())),
            (None, AnswerWithoutId::NullId) => Some(Some("null".to_owned())),
            (None, AnswerWithoutId::OmitId) => Some(None),
            (None, _) => None,
        };
        let found = fault.reply().map(|reply| reply.id().map(|id| id.as_json().to_owned()));
        assert_eq!(found, answer, "{}", context());
    }
}

fn verdict(text: &[u8], settings: &Settings) -> Verdict {
    let json = std::str::from_utf8(text).ok().and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
    let Some(json) = json.map(RawValue::get) else {
        return Verdict::NotJson(match () {
            () if text.len() > settings.max_line_len => Some(FaultKind::LineTooLong),
            () if text.starts_with(b"\xef\xbb\xbf") => Some(FaultKind::ByteOrderMark),
            () if text.iter().all(|byte| b" \t\r\n".contains(byte)) => Some(FaultKind::BlankLine),
            () => None,
        });
    };
    let start = place(json, text);
    let object = Object::parse(json);
    // A fault with what can be recovered from an object that isn't checked.
    let recovered = |kind, at| {
        let id = object.as_ref().and_then(|object| object.readable_id(settings));
        Complaint { kind, at, id, is_response: object.as_ref().is_some_and(Object::is_response) }
    };
    if text.len() > settings.max_line_len {
        return Verdict::Fault(recovered(FaultKind::LineTooLong, settings.max_line_len));
    }
    if let Some(at) = deeper_than(json, settings.max_depth) {
        let complaint = recovered(FaultKind::TooDeep, start + at);
        // The ids of a batch's entries aren't recovered, but a batch of responses isn't answered.
        let is_response = complaint.is_response || json.starts_with('[') && mentions_outcome_only(json);
        return Verdict::Fault(Complaint { is_response, ..complaint });
    }
    if let Some(object) = object {
        return object.message_or_complaint(text, settings).map_or_else(Verdict::Fault, Verdict::Message);
    }
    let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(json) else {
        return Verdict::Fault(Complaint::about(FaultKind::NotAnObject, start));
    };
    let kind = match entries.len() {
        _ if !settings.batches => FaultKind::BatchNotAllowed,
        0 => FaultKind::EmptyBatch,
        len if len > settings.max_batch_len => FaultKind::BatchTooLong,
        _ => {
            let entry = |entry: &&RawValue| match Object::parse(entry.get()) {
                Some(object) => object.message_or_complaint(text, settings),
                None => Err(Complaint::about(FaultKind::NotAnObject, place(entry.get(), text))),
            };
            return Verdict::Batch(entries.iter().map(entry).collect());
        }
    };
    let first = entries.first().and_then(|entry| Object::parse(entry.get()));
    let is_response = first.is_some_and(|first| first.is_response());
    Verdict::Fault(Complaint { is_response, ..Complaint::about(kind, start) })
}

/// Whether the structure of the text is unknown after such a fault.
fn is_beyond_reading(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::UnexpectedByte | FaultKind::TrailingData)
}

/// Whether a text, however broken, contains `"result":` or `"error":`, but nothing like a method.
fn has_outcome_only(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let has = |name: &str| text.match_indices(name).any(|(at, _)| text[at + name.len()..].starts_with(':'));
    (has("\"result\"") || has("\"error\"")) && !text.contains("method") && !text.contains('\\')
}

/// Whether a text contains `"result":` or `"error":`, but no `"method":`.
fn mentions_outcome_only(json: &str) -> bool {
    let has =
        |name: &str| json.match_indices(name).any(|(at, _)| json[at + name.len()..].trim_start().starts_with(':'));
    (has("\"result\"") || has("\"error\"")) && !has("\"method\"")
}

/// The offset of `part` in `text`.
fn place(part: &str, text: &[u8]) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// An object and its members in order, including duplicates.
struct Object<'t> {
    json: &'t str,
    members: Vec<Member<'t>>,
}

struct Member<'t> {
    key: &'t str,
    /// The decoded key, or `None` if it has a lone surrogate.
    name: Option<String>,
    value: &'t str,
}

impl<'t> Object<'t> {
    fn parse(json: &'t str) -> Option<Self> {
        let member = |(key, value)| Member { key, name: text(key), value };
        Some(Self { json, members: members(json)?.into_iter().map(member).collect() })
    }

    fn count(&self, name: &str) -> usize {
        self.members.iter().filter(|member| member.name.as_deref() == Some(name)).count()
    }

    fn value(&self, name: &str) -> Option<&'t str> {
        self.members.iter().find(|member| member.name.as_deref() == Some(name)).map(|member| member.value)
    }

    fn is_response(&self) -> bool {
        (self.count("result") > 0 || self.count("error") > 0) && self.count("method") == 0
    }

    fn readable_id(&self, settings: &Settings) -> Option<String> {
        let id = self
            .value("id")
            .filter(|id| is_permitted_id(id, Kind::Error, settings) && id.len() <= max_id_len(settings))
            .filter(|id| *id != "null" || !is_from_version_1(settings.dialect));
        id.filter(|_| self.count("id") == 1).map(str::to_owned)
    }

    fn message_or_complaint(&self, text: &[u8], settings: &Settings) -> Result<Naive, Complaint> {
        self.message(settings).map_err(|(kind, part)| Complaint {
            kind,
            at: place(part, text),
            id: self.readable_id(settings),
            is_response: self.is_response(),
        })
    }

    /// The message, or the kind of fault and the part that has it.
    fn message(&self, settings: &Settings) -> Result<Naive, (FaultKind, &'t str)> {
        const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

        // Names are checked first, in order.
        for (at, Member { key, name, .. }) in self.members.iter().enumerate() {
            let Some(name) = name else { return Err((FaultKind::InvalidMemberName, key)) };
            let seen = self.members[..at].iter().any(|before| before.name.as_ref() == Some(name));
            if seen && NAMES.contains(&name.as_str()) {
                return Err((FaultKind::DuplicateMember, key));
            }
        }
        match self.value("jsonrpc") {
            None if settings.dialect == Dialect::Codex || is_from_version_1(settings.dialect) => {}
            None => return Err((FaultKind::MissingVersion, self.json)),
            Some(version) => match text(version).as_deref() {
                Some("2.0") => {}
                Some("1.0") if settings.dialect == Dialect::Electrum => {}
                _ => return Err((FaultKind::InvalidVersion, version)),
            },
        }
        let kind = match (self.value("method"), self.value("result"), self.value("error")) {
            (None, None, None) => return Err((FaultKind::MissingMethod, self.json)),
            (Some(_), None, None) if is_from_version_1(settings.dialect) && self.value("id") == Some("null") => {
                Kind::Notification
            }
            (Some(_), None, None) if self.count("id") == 1 => Kind::Request,
            (Some(_), None, None) => Kind::Notification,
            (None, Some(_), Some("null")) if is_from_version_1(settings.dialect) => Kind::Result,
            (None, Some("null"), Some(_)) if is_from_version_1(settings.dialect) => Kind::Error,
            (None, Some("false"), Some(_)) if settings.dialect == Dialect::Stratum => Kind::Error,
            (None, Some(_), None) => Kind::Result,
            (None, None, Some(_)) => Kind::Error,
            (_, Some(conflicting), _) | (_, None, Some(conflicting)) => {
                return Err((FaultKind::ConflictingMembers, conflicting));
            }
        };
        let may_lack_id = match kind {
            Kind::Request | Kind::Notification => true,
            Kind::Result => false,
            Kind::Error => settings.dialect == Dialect::Mcp || settings.answer == AnswerWithoutId::OmitId,
        };
        let id = self.value("id").filter(|_| kind != Kind::Notification);
        match id {
            None if !may_lack_id => return Err((FaultKind::MissingId, self.json)),
            Some(id) if !is_permitted_id(id, kind, settings) => return Err((FaultKind::InvalidId, id)),
            Some(id) if id.len() > max_id_len(settings) => return Err((FaultKind::IdTooLong, id)),
            _ => {}
        }
        let body = match kind {
            Kind::Request | Kind::Notification => {
                let method = self.value("method").unwrap_or_default();
                let method = text(method).ok_or((FaultKind::InvalidMethod, method))?;
                let params = match self.value("params") {
                    Some("null") if settings.null_params => None,
                    Some(params) if params.starts_with('{') => Some(params),
                    Some(params) if params.starts_with('[') && settings.dialect != Dialect::Mcp => Some(params),
                    Some(params) if params != "null" && settings.dialect == Dialect::Codex => Some(params),
                    Some(params) => return Err((FaultKind::InvalidParams, params)),
                    None => None,
                };
                Body::Call { method, params: params.map(str::to_owned) }
            }
            Kind::Result => {
                let result = self.value("result").unwrap_or_default();
                if settings.dialect == Dialect::Mcp && !result.starts_with('{') {
                    return Err((FaultKind::InvalidResult, result));
                }
                Body::Result(result.to_owned())
            }
            Kind::Error => {
                let error = self.value("error").unwrap_or_default();
                let body = match error.as_bytes()[0] {
                    b'"' if is_from_version_1(settings.dialect) => {
                        let message = text(error).unwrap_or_else(|| lossy(error));
                        Some(Body::Error { code: 0, message, data: None })
                    }
                    b'[' if settings.dialect == Dialect::Stratum => array_as_error(error),
                    _ => Object::parse(error).and_then(|error| error.as_error()),
                };
                body.ok_or((FaultKind::InvalidError, error))?
            }
        };
        Ok(Naive { id: id.map(str::to_owned), body })
    }

    fn as_error(&self) -> Option<Body> {
        let once = self.count("code") == 1 && self.count("message") == 1 && self.count("data") <= 1;
        if !once || self.members.iter().any(|member| member.name.is_none()) {
            return None;
        }
        let message = self.value("message").filter(|message| message.starts_with('"'))?;
        Some(Body::Error {
            code: self.value("code").and_then(integer)?,
            message: text(message).unwrap_or_else(|| lossy(message)),
            data: self.value("data").map(str::to_owned),
        })
    }
}

/// Whether a dialect descends from JSON-RPC 1.0.
fn is_from_version_1(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Electrum | Dialect::Stratum)
}

/// An error as `[code, message]` or `[code, message, data]`.
fn array_as_error(json: &str) -> Option<Body> {
    let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    let (code, message, data) = match elements[..] {
        [code, message] => (code, message, None),
        [code, message, data] => (code, message, Some(data.get())),
        _ => return None,
    };
    Some(Body::Error {
        code: integer(code.get())?,
        message: Some(message.get())
            .filter(|json| json.starts_with('"'))
            .map(|json| text(json).unwrap_or_else(|| lossy(json)))?,
        data: data.filter(|data| *data != "null").map(str::to_owned),
    })
}

/// The raw name and value of each member.
struct Members<'t>(Vec<(&'t str, &'t str)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    members.push((key.get(), value.get()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// The members of an object in order: the raw name and value of each.
pub fn members(json: &str) -> Option<Vec<(&str, &str)>> {
    serde_json::from_str::<Members<'_>>(json).ok().map(|Members(members)| members)
}

/// The longest id: 1024 bytes, or less to leave room for an error in an array on a line, which may always have 128
/// bytes.
fn max_id_len(settings: &Settings) -> usize {
    let error = r#"[{"jsonrpc":"2.0","id":,"error":{"code":-32800,"message":"Request cancelled"}}]"#;
    (settings.max_line_len.max(128) - error.len()).min(1024)
}

fn is_permitted_id(id: &str, kind: Kind, settings: &Settings) -> bool {
    match (id.as_bytes().first(), settings.dialect) {
        (Some(b'"'), _) => text(id).is_some(),
        (Some(b'n'), Dialect::JsonRpc | Dialect::Acp) => true,
        (Some(b'n'), Dialect::Electrum | Dialect::Stratum) => kind == Kind::Error,
        (Some(b'n'), Dialect::Mcp | Dialect::Codex) => {
            kind == Kind::Error && settings.answer == AnswerWithoutId::NullId
        }
        (Some(b'-' | b'0'..=b'9'), Dialect::JsonRpc | Dialect::Electrum | Dialect::Stratum) => true,
        (Some(b'-' | b'0'..=b'9'), Dialect::Mcp | Dialect::Acp | Dialect::Codex) => integer(id).is_some(),
        _ => false,
    }
}

/// The decoded string, or `None` if it has a lone surrogate or isn't a string.
fn text(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

/// The decoded string, with U+FFFD for each lone surrogate.
fn lossy(json: &str) -> String {
    // serde_json passes a lone surrogate as the three bytes that would encode it as a character: 0xed, then a byte
    // above 0x9f, which never follows 0xed in UTF-8.
    struct Bytes(Vec<u8>);
    impl<'de> Deserialize<'de> for Bytes {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Collect;
            impl Visitor<'_> for Collect {
                type Value = Bytes;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a string")
                }

                fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                    Ok(Bytes(bytes.to_vec()))
                }
            }
            deserializer.deserialize_bytes(Collect)
        }
    }
    let Ok(Bytes(mut bytes)) = serde_json::from_str(json) else { return String::new() };
    for at in 0..bytes.len().saturating_sub(2) {
        if bytes[at] == 0xed && bytes[at + 1] > 0x9f {
            bytes[at..at + 3].copy_from_slice("\u{fffd}".as_bytes());
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The value of a number without a fraction, clamped to the range of `i64`.
fn integer(number: &str) -> Option<i64> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or((1, mantissa), |digits| (-1, digits));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) || whole.is_empty() {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    // The number is `significant` followed by `zeros` zeros; if `zeros` is negative, it has a fraction.
    let exponent = exponent.parse::<i128>().unwrap_or(if exponent.starts_with('-') { -1 << 100 } else { 1 << 100 });
    let zeros = exponent + (digits.len() - significant.len()) as i128 - fraction.len() as i128;
    if zeros < 0 {
        return None;
    }
    let value = significant.parse::<i128>().ok().filter(|_| zeros <= 40);
    let value = value.and_then(|value| (0..zeros).try_fold(value, |value, _| value.checked_mul(10)));
    let value = value.unwrap_or(i128::MAX);
    Some((sign * value).clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

/// The offset at which the brackets of a JSON text are first nested deeper than `most`.
pub fn deeper_than(json: &str, most: usize) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    json.bytes().position(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
        depth > most
    })
}

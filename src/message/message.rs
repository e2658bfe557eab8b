//! Messages that passed the rules.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use wireline_json::{Span, Text};

use super::dialect::MessageKind;
use super::envelope::Envelope;
use super::id::Id;
use super::raw::RawJson;

/// One message.
///
/// There are three kinds, and JSON-RPC 2.0 will have no fourth, so a `match` needs no wildcard arm.
///
/// The method, params, result and error of a message don't borrow from the message, so they, and the values that they
/// return in turn, can outlive it: they borrow from the line, or share its buffer if the message does. Only the id
/// borrows from the message; clone it to keep it.
///
/// ```
/// use std::borrow::Cow;
/// use wireline::{Id, Message, RawJson};
///
/// fn arguments(message: Message<'_>) -> Option<RawJson<'_>> {
///     message.params()?.pointer("/arguments")
/// }
///
/// fn tool(message: Message<'_>) -> Option<Cow<'_, str>> {
///     message.params()?.pointer("/name")?.as_str()
/// }
///
/// fn id(message: Message<'_>) -> Option<Id<'_>> {
///     message.id().cloned()
/// }
/// ```
#[derive(Clone, Debug)]
pub enum Message<'a> {
    /// Calls a method and expects one response.
    Request(Request<'a>),
    /// Calls a method and expects no response.
    Notification(Notification<'a>),
    /// Answers a request with a result or an error.
    Response(Response<'a>),
}

/// A call that expects one response with its id.
#[derive(Clone)]
pub struct Request<'a> {
    /// Its id is always `Some`.
    parts: Parts<'a>,
}

/// A call that expects no response.
#[derive(Clone)]
pub struct Notification<'a> {
    parts: Parts<'a>,
}

/// The answer to a request: a result or an error, never both.
///
/// ```
/// use wireline::{Frame, Message, Rules};
///
/// let line = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no such tool","data":{"name":"ad"}}}"#;
/// let Frame::Message(Message::Response(response)) = Frame::parse(line, &Rules::mcp())? else { panic!() };
/// match response.outcome() {
///     Ok(_) => panic!(),
///     Err(error) => {
///         assert_eq!((error.code(), &*error.message()), (-32000, "no such tool"));
///         assert_eq!(error.data().unwrap().pointer("/name").unwrap().as_str().unwrap(), "ad");
///     }
/// }
/// # Ok::<(), wireline::Fault>(())
/// ```
#[derive(Clone)]
pub struct Response<'a> {
    parts: Parts<'a>,
}

impl<'a> Message<'a> {
    /// `text` starts at byte `start` of its line.
    #[inline(always)]
    pub(crate) fn new(text: Text<'a>, position: Position, start: usize, envelope: Envelope) -> Self {
        let id = match envelope.id.is_empty() {
            true => None,
            false => Some(Id::of_permitted(text.short_part(envelope.id.range()))),
        };
        let parts = Parts { text, id, position, start, envelope };
        // All three have the same layout, so this costs no more than setting a tag.
        match envelope.kind {
            MessageKind::Request => Self::Request(Request { parts }),
            MessageKind::Notification => Self::Notification(Notification { parts }),
            MessageKind::Result | MessageKind::Error => Self::Response(Response { parts }),
        }
    }

    /// The id of a request or a response.
    #[inline]
    #[must_use]
    pub fn id(&self) -> Option<&Id<'a>> {
        self.parts().id.as_ref()
    }

    /// The method of a request or a notification.
    #[must_use]
    pub fn method(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Request(request) => Some(request.method()),
            Self::Notification(notification) => Some(notification.method()),
            Self::Response(_) => None,
        }
    }

    /// The params of a request or a notification, if there are any.
    #[inline]
    #[must_use]
    pub fn params(&self) -> Option<RawJson<'a>> {
        match self {
            Self::Request(request) => request.params(),
            Self::Notification(notification) => notification.params(),
            Self::Response(_) => None,
        }
    }

    /// Turns this into a message that shares the decoder's buffer instead of borrowing from it; see
    /// [`Frame::into_owned`](crate::Frame::into_owned).
    #[must_use]
    pub fn into_owned(self) -> Message<'static> {
        match self {
            Self::Request(request) => Message::Request(request.into_owned()),
            Self::Notification(notification) => Message::Notification(notification.into_owned()),
            Self::Response(response) => Message::Response(response.into_owned()),
        }
    }

    pub(crate) fn position(&self) -> Position {
        self.parts().position
    }

    /// The method as JSON: a string with its quotes. Empty if there is none.
    pub(crate) fn method_json(&self) -> &str {
        let Parts { text, envelope, .. } = self.parts();
        &text.as_str()[envelope.method.range()]
    }

    #[inline]
    fn parts(&self) -> &Parts<'a> {
        match self {
            Self::Request(Request { parts })
            | Self::Notification(Notification { parts })
            | Self::Response(Response { parts }) => parts,
        }
    }
}

impl<'a> Request<'a> {
    /// The id, with its exact spelling.
    ///
    /// ```
    /// use wireline::{Encoder, Frame, Message, Rules};
    ///
    /// let line = br#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#;
    /// let Frame::Message(Message::Request(ping)) = Frame::parse(line, &Rules::mcp())? else { panic!() };
    /// let spelled = ping.id().as_json();
    /// assert_eq!(spelled, "1.0");
    /// let mut encoder = Encoder::new(Rules::mcp());
    /// encoder.response(ping.id(), &serde_json::json!({}))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn id(&self) -> &Id<'a> {
        static NULL: Id<'static> = Id::NULL;
        self.parts.id.as_ref().unwrap_or(&NULL)
    }

    /// The method. It borrows from the line unless it was spelled with escapes or the request is owned.
    #[must_use]
    pub fn method(&self) -> Cow<'a, str> {
        self.parts.method()
    }

    /// The params, if there are any.
    #[inline]
    #[must_use]
    pub fn params(&self) -> Option<RawJson<'a>> {
        self.parts.payload()
    }

    /// Turns this into a request that shares the decoder's buffer instead of borrowing from it; see
    /// [`Frame::into_owned`](crate::Frame::into_owned).
    #[must_use]
    pub fn into_owned(self) -> Request<'static> {
        Request { parts: self.parts.into_owned() }
    }
}

impl<'a> Notification<'a> {
    /// The method. It borrows from the line unless it was spelled with escapes or the notification is owned.
    #[must_use]
    pub fn method(&self) -> Cow<'a, str> {
        self.parts.method()
    }

    /// The params, if there are any.
    #[inline]
    #[must_use]
    pub fn params(&self) -> Option<RawJson<'a>> {
        self.parts.payload()
    }

    /// Turns this into a notification that shares the decoder's buffer instead of borrowing from it; see
    /// [`Frame::into_owned`](crate::Frame::into_owned).
    #[must_use]
    pub fn into_owned(self) -> Notification<'static> {
        Notification { parts: self.parts.into_owned() }
    }
}

impl<'a> Response<'a> {
    /// The id of the request that this answers. Only an error may have no id, and only if the rules permit it.
    #[inline]
    #[must_use]
    pub fn id(&self) -> Option<&Id<'a>> {
        self.parts.id.as_ref()
    }

    /// Whether the id has another type than that of the request which a [connection](crate::connection) matched with
    /// this; see [`Rules::loose_ids`](crate::Rules::loose_ids).
    #[must_use]
    pub fn has_loose_id(&self) -> bool {
        self.parts.envelope.passed.has_loose_id()
    }

    /// Says that the id has another type than that of the request.
    pub(crate) fn with_loose_id(mut self) -> Self {
        let passed = &mut self.parts.envelope.passed;
        *passed = passed.with_loose_id();
        self
    }

    /// The result or the error.
    ///
    /// # Errors
    ///
    /// The peer answered the request with an error.
    #[inline]
    pub fn outcome(&self) -> Result<RawJson<'a>, ErrorObject<'a>> {
        let json = self.parts.part(self.parts.envelope.payload);
        match self.parts.envelope.kind {
            MessageKind::Error => Err(ErrorObject { json }),
            _ => Ok(json),
        }
    }

    /// The result, unless the response is an error.
    #[inline]
    #[must_use]
    pub fn result(&self) -> Option<RawJson<'a>> {
        self.outcome().ok()
    }

    /// The error, unless the response is a result.
    #[inline]
    #[must_use]
    pub fn error(&self) -> Option<ErrorObject<'a>> {
        self.outcome().err()
    }

    /// Turns this into a response that shares the decoder's buffer instead of borrowing from it; see
    /// [`Frame::into_owned`](crate::Frame::into_owned).
    #[must_use]
    pub fn into_owned(self) -> Response<'static> {
        Response { parts: self.parts.into_owned() }
    }
}

/// Methods that every message has, for its text and its position in the stream.
macro_rules! any_message {
    ($($type:ident: |$message:ident| $parts:expr;)*) => {$(
        impl<'a> $type<'a> {
            /// The message as it was sent, byte for byte: its line without the line ending, or its entry in a batch.
            #[inline]
            #[must_use]
            pub fn as_bytes(&self) -> &[u8] {
                self.any_parts().text.as_str().as_bytes()
            }

            /// The same bytes as a buffer, shared if possible, otherwise copied.
            #[must_use]
            pub fn to_bytes(&self) -> Bytes {
                self.any_parts().text.to_bytes()
            }

            /// The whole message as JSON, for decoding it into types that include the envelope.
            ///
            /// ```
            /// use wireline::{Frame, Rules};
            ///
            /// let line = br#"{"jsonrpc":"2.0","method":"note","traceparent":"00-4bf9"}"#;
            /// let Frame::Message(message) = Frame::parse(line, &Rules::json_rpc())? else { panic!() };
            /// // A member that JSON-RPC doesn't know.
            /// assert_eq!(message.raw().pointer("/traceparent").unwrap().as_str().unwrap(), "00-4bf9");
            /// # Ok::<(), wireline::Fault>(())
            /// ```
            #[must_use]
            pub fn raw(&self) -> RawJson<'a> {
                self.any_parts().raw()
            }

            /// The number of the line in the stream, starting at 1.
            #[inline]
            #[must_use]
            pub fn line(&self) -> u64 {
                self.any_parts().position.line
            }

            /// Where the line starts in the stream, in bytes.
            #[inline]
            #[must_use]
            pub fn offset(&self) -> u64 {
                self.any_parts().position.offset
            }

            /// The ranges of the message and its parts in the line.
            #[must_use]
            pub fn ranges(&self) -> Ranges {
                self.any_parts().ranges()
            }

            #[inline]
            fn any_parts(&self) -> &Parts<'a> {
                let $message = self;
                $parts
            }
        }

        impl HasEnvelope for $type<'_> {
            fn text_and_envelope(&self) -> (&str, &Envelope) {
                let Parts { text, envelope, .. } = self.any_parts();
                (text.as_str(), envelope)
            }
        }

        impl AnyMessage for $type<'_> {}
    )*};
}

any_message! {
    Message: |message| message.parts();
    Request: |request| &request.parts;
    Notification: |notification| &notification.parts;
    Response: |response| &response.parts;
}

macro_rules! into_message {
    ($($type:ident),*) => {$(
        impl<'a> From<$type<'a>> for Message<'a> {
            fn from(message: $type<'a>) -> Self {
                Self::$type(message)
            }
        }

        /// Shows only the position and the length, none of the peer's bytes.
        impl fmt::Debug for $type<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.parts.debug(stringify!($type), f)
            }
        }
    )*};
}

into_message!(Request, Notification, Response);

/// A [`Message`], [`Request`], [`Notification`] or [`Response`], which an [`Encoder`](crate::Encoder) can forward.
///
/// It can't be implemented for other types.
#[expect(private_bounds, reason = "how a message is forwarded is private")]
pub trait AnyMessage: HasEnvelope {}

pub(crate) trait HasEnvelope {
    fn text_and_envelope(&self) -> (&str, &Envelope);
}

/// The ranges of a message and its parts in its line, in bytes from the start of the line.
///
/// This is for bindings to other languages, which can't use borrowed values.
///
/// ```
/// use wireline::{Frame, Rules};
///
/// let line = br#"[{"jsonrpc":"2.0","method":"a"}, {"jsonrpc":"2.0","method":"b","params":[1],"id":2}]"#;
/// let Frame::Batch(batch) = Frame::parse(line, &Rules::json_rpc())? else { panic!() };
/// let ranges = batch.iter().nth(1).unwrap()?.ranges();
/// assert_eq!(&line[ranges.method.unwrap()], br#""b""#);
/// assert_eq!(&line[ranges.params.unwrap()], b"[1]");
/// assert_eq!(&line[ranges.id.unwrap()], b"2");
/// assert_eq!(ranges.message, 33..83);
/// # Ok::<(), wireline::Fault>(())
/// ```
///
/// Parts may be added: this struct can be read, but not constructed or matched exhaustively.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ranges {
    /// The whole message: a line, an entry of a batch, or what follows noise that was [skipped](crate::Rules::salvage).
    pub message: Range<usize>,
    /// The `id`, as JSON.
    pub id: Option<Range<usize>>,
    /// The `method`, as JSON: a string with its quotes.
    pub method: Option<Range<usize>>,
    /// The `params`, as JSON.
    pub params: Option<Range<usize>>,
    /// The `result`, as JSON.
    pub result: Option<Range<usize>>,
    /// The `error`, as JSON.
    pub error: Option<Range<usize>>,
}

/// The error of a response.
#[derive(Clone)]
pub struct ErrorObject<'a> {
    json: RawJson<'a>,
}

impl<'a> ErrorObject<'a> {
    /// The code, or the nearest integer that fits 64 bits; see [`raw`](Self::raw) for its exact spelling. An error that is
    /// only a string, which some [`Rules`](crate::Rules) permit, has the code 0.
    #[must_use]
    pub fn code(&self) -> i64 {
        let code = match self.form() {
            ErrorForm::Object => self.json.member("code"),
            ErrorForm::Array => self.json.pointer("/0"),
            ErrorForm::Text => None,
        };
        let json = code.as_ref().map_or("0", RawJson::as_json);
        let nearest = if json.starts_with('-') { i64::MIN } else { i64::MAX };
        Id::parse(json).and_then(|code| code.as_i64()).unwrap_or(nearest)
    }

    /// The message, with U+FFFD in place of lone surrogate escapes.
    #[must_use]
    pub fn message(&self) -> Cow<'a, str> {
        match self.form() {
            ErrorForm::Object => self.json.member("message"),
            ErrorForm::Array => self.json.pointer("/1"),
            ErrorForm::Text => Some(self.json.clone()),
        }
        .map(|message| message.text())
        .unwrap_or_default()
    }

    /// The data, if there is any.
    #[must_use]
    pub fn data(&self) -> Option<RawJson<'a>> {
        match self.form() {
            ErrorForm::Object => self.json.pointer("/data"),
            // In its place, null means that there is none.
            ErrorForm::Array => self.json.pointer("/2").filter(|data| data.as_json() != "null"),
            ErrorForm::Text => None,
        }
    }

    /// The whole error, as it was sent.
    #[must_use]
    pub fn raw(&self) -> RawJson<'a> {
        self.json.clone()
    }

    fn form(&self) -> ErrorForm {
        match self.json.as_bytes().first() {
            Some(b'[') => ErrorForm::Array,
            Some(b'"') => ErrorForm::Text,
            _ => ErrorForm::Object,
        }
    }
}

/// The JSON type of an error.
enum ErrorForm {
    Object,
    /// Of the code, the message and perhaps data.
    Array,
    /// Only a message.
    Text,
}

/// Shows only the length, none of the peer's bytes.
impl fmt::Debug for ErrorObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ErrorObject({} bytes)", self.json.as_bytes().len())
    }
}

/// The position of a line in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// Starting at 1.
    pub(crate) line: u64,
    /// The offset of its first byte.
    pub(crate) offset: u64,
}

impl Position {
    /// The position of a text that isn't part of a stream.
    pub(crate) const START: Self = Self { line: 1, offset: 0 };
}

/// The parts that all kinds of messages have.
#[derive(Clone)]
struct Parts<'a> {
    text: Text<'a>,
    id: Option<Id<'a>>,
    position: Position,
    /// Where `text` starts in the line.
    start: usize,
    envelope: Envelope,
}

impl<'a> Parts<'a> {
    #[inline(always)]
    fn part(&self, span: Span) -> RawJson<'a> {
        RawJson::of_json(self.text.part(span.range()))
    }

    fn method(&self) -> Cow<'a, str> {
        self.text.decoded_part(self.envelope.method.range())
    }

    #[inline(always)]
    fn payload(&self) -> Option<RawJson<'a>> {
        let payload = self.envelope.payload;
        if payload.is_empty() { None } else { Some(self.part(payload)) }
    }

    fn raw(&self) -> RawJson<'a> {
        let text = self.text.as_str();
        let start = text.len() - text.trim_ascii_start().len();
        RawJson::of_json(self.text.part(start..start + text.trim_ascii().len()))
    }

    fn ranges(&self) -> Ranges {
        let Envelope { kind, id, method, payload, .. } = self.envelope;
        let start = self.start;
        let range =
            |span: Span, wanted: bool| (wanted && !span.is_empty()).then(|| start + span.start()..start + span.end());
        Ranges {
            message: start..start + self.text.as_str().len(),
            id: range(id, true),
            method: range(method, true),
            params: range(payload, matches!(kind, MessageKind::Request | MessageKind::Notification)),
            result: range(payload, kind == MessageKind::Result),
            error: range(payload, kind == MessageKind::Error),
        }
    }

    fn into_owned(self) -> Parts<'static> {
        let Self { text, id, position, start, envelope } = self;
        Parts { text: text.into_owned(), id: id.map(Id::into_owned), position, start, envelope }
    }

    fn debug(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("line", &self.position.line)
            .field("offset", &self.position.offset)
            .field("len", &self.text.as_str().len())
            .finish()
    }
}

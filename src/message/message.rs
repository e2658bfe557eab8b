//! Messages that passed the rules.

use std::borrow::Cow;
use std::fmt;

use crate::json::scan::Span;
use crate::json::string;
use crate::json::walk;
use crate::message::cow_bytes::{Position, Text};
use crate::message::envelope::{Envelope, Kind};
use crate::message::id::Id;
use crate::message::raw::RawJson;

/// One message.
#[derive(Clone, Debug)]
pub enum Message<'a> {
    /// Calls a method, and wants one response.
    Request(Request<'a>),
    /// Calls a method, and wants none.
    Notification(Notification<'a>),
    /// Answers a request, by a result or an error.
    Response(Response<'a>),
}

impl<'a> Message<'a> {
    #[inline]
    pub(crate) fn new(text: Text<'a>, position: Position, envelope: Envelope) -> Self {
        let parts = Parts { text, position, envelope };
        match envelope.kind {
            Kind::Request => Self::Request(Request { parts }),
            Kind::Notification => Self::Notification(Notification { parts }),
            Kind::Result | Kind::Error => Self::Response(Response { parts }),
        }
    }

    /// The message as it came, byte for byte: its line, or its entry in a batch.
    pub fn as_bytes(&self) -> &[u8] {
        self.parts().text.bytes()
    }

    /// The whole message as JSON, for decoding it into types that have the envelope as well.
    ///
    /// ```
    /// use wireline::{Frame, Rules};
    ///
    /// let line = br#"{"jsonrpc":"2.0","method":"note","traceparent":"00-4bf9"}"#;
    /// let Frame::Message(message) = Frame::parse(line, &Rules::json_rpc())? else { panic!() };
    /// // A member that JSON-RPC does not know.
    /// assert_eq!(message.raw().pointer("/traceparent").unwrap().as_str(), "\"00-4bf9\"");
    /// # Ok::<(), wireline::Fault>(())
    /// ```
    pub fn raw(&self) -> RawJson<'_> {
        RawJson::checked(self.as_bytes().trim_ascii())
    }

    /// The id of a request or a response.
    pub fn id(&self) -> Option<Id<'_>> {
        self.parts().id()
    }

    /// The same message, sharing the decoder's buffer instead of borrowing from it; see
    /// [`Frame::into_owned`](crate::Frame::into_owned).
    pub fn into_owned(self) -> Message<'static> {
        match self {
            Self::Request(Request { parts }) => Message::Request(Request { parts: parts.into_owned() }),
            Self::Notification(Notification { parts }) => {
                Message::Notification(Notification { parts: parts.into_owned() })
            }
            Self::Response(Response { parts }) => Message::Response(Response { parts: parts.into_owned() }),
        }
    }

    pub(crate) fn text_and_envelope(&self) -> (&[u8], &Envelope) {
        let Parts { text, envelope, .. } = self.parts();
        (text.bytes(), envelope)
    }

    pub(crate) fn position(&self) -> Position {
        self.parts().position
    }

    fn parts(&self) -> &Parts<'a> {
        match self {
            Self::Request(Request { parts })
            | Self::Notification(Notification { parts })
            | Self::Response(Response { parts }) => parts,
        }
    }
}

/// A call that wants one response with its id.
#[derive(Clone)]
pub struct Request<'a> {
    parts: Parts<'a>,
}

impl Request<'_> {
    /// The id, as it was spelled.
    pub fn id(&self) -> Id<'_> {
        self.parts.id().unwrap_or(Id::NULL)
    }

    /// The method's name. It is borrowed unless it was spelled with escapes.
    pub fn method(&self) -> Cow<'_, str> {
        self.parts.method()
    }

    /// The params, if there are any.
    pub fn params(&self) -> Option<RawJson<'_>> {
        self.parts.payload()
    }
}

/// A call that wants no response.
#[derive(Clone)]
pub struct Notification<'a> {
    parts: Parts<'a>,
}

impl Notification<'_> {
    /// The method's name. It is borrowed unless it was spelled with escapes.
    pub fn method(&self) -> Cow<'_, str> {
        self.parts.method()
    }

    /// The params, if there are any.
    pub fn params(&self) -> Option<RawJson<'_>> {
        self.parts.payload()
    }
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
///         assert_eq!(error.data().unwrap().pointer("/name").unwrap().as_str(), "\"ad\"");
///     }
/// }
/// # Ok::<(), wireline::Fault>(())
/// ```
#[derive(Clone)]
pub struct Response<'a> {
    parts: Parts<'a>,
}

impl Response<'_> {
    /// The id of the request it answers. Only an error may have none, and only where the rules permit that.
    pub fn id(&self) -> Option<Id<'_>> {
        self.parts.id()
    }

    /// The result or the error.
    ///
    /// # Errors
    ///
    /// The peer's: the request was answered by an error.
    pub fn outcome(&self) -> Result<RawJson<'_>, ErrorObject<'_>> {
        let json = self.parts.part(self.parts.envelope.payload);
        match self.parts.envelope.kind {
            Kind::Error => Err(ErrorObject { json }),
            _ => Ok(RawJson::checked(json)),
        }
    }

    /// The result, if it is one.
    pub fn result(&self) -> Option<RawJson<'_>> {
        self.outcome().ok()
    }

    /// The error, if it is one.
    pub fn error(&self) -> Option<ErrorObject<'_>> {
        self.outcome().err()
    }
}

/// The error of a response.
#[derive(Clone, Copy)]
pub struct ErrorObject<'a> {
    json: &'a [u8],
}

impl<'a> ErrorObject<'a> {
    /// The code, or the nearest that fits 64 bits; [`raw`](Self::raw) has its spelling.
    pub fn code(&self) -> i64 {
        let json = self.member("code").unwrap_or(b"0");
        let negative = json.first() == Some(&b'-');
        let code = std::str::from_utf8(json).ok().and_then(Id::parse).and_then(|code| code.as_i64());
        code.unwrap_or(if negative { i64::MIN } else { i64::MAX })
    }

    /// The message, with U+FFFD for escapes that stand for no character.
    pub fn message(&self) -> Cow<'a, str> {
        string::decode_lossy(self.member("message").unwrap_or_default())
    }

    /// The data, if there is any.
    pub fn data(&self) -> Option<RawJson<'a>> {
        self.member("data").map(RawJson::checked)
    }

    /// The error object as it was sent.
    pub fn raw(&self) -> RawJson<'a> {
        RawJson::checked(self.json)
    }

    fn member(&self, name: &str) -> Option<&'a [u8]> {
        walk::members(self.json).find_map(|(key, value)| string::says(key, name).then_some(value))
    }
}

/// What each kind of message is made of.
#[derive(Clone)]
struct Parts<'a> {
    text: Text<'a>,
    position: Position,
    envelope: Envelope,
}

impl Parts<'_> {
    fn part(&self, span: Span) -> &[u8] {
        span.of(self.text.bytes())
    }

    fn id(&self) -> Option<Id<'_>> {
        Id::checked(self.part(self.envelope.id))
    }

    fn method(&self) -> Cow<'_, str> {
        string::decode_lossy(self.part(self.envelope.method))
    }

    fn payload(&self) -> Option<RawJson<'_>> {
        let payload = self.envelope.payload;
        (!payload.is_empty()).then(|| RawJson::checked(self.part(payload)))
    }

    fn into_owned(self) -> Parts<'static> {
        Parts { text: self.text.into_owned(), position: self.position, envelope: self.envelope }
    }

    /// The place and the size, not the words: they are the peer's.
    fn debug(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("line", &self.position.line)
            .field("offset", &self.position.offset)
            .field("len", &self.text.bytes().len())
            .finish()
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.debug("Request", f)
    }
}

impl fmt::Debug for Notification<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.debug("Notification", f)
    }
}

impl fmt::Debug for Response<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.debug("Response", f)
    }
}

impl fmt::Debug for ErrorObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ErrorObject({} bytes)", self.json.len())
    }
}

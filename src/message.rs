//! Messages that passed the rules.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

use crate::cursor;
use crate::envelope::{self, Envelope, Kind, Verdict};
use crate::fault::Fault;
use crate::id::Id;
use crate::raw::RawJson;
use crate::recover::Recovery;
use crate::rules::Rules;
use crate::scan::Span;
use crate::string;

/// A line that passed the rules: one message, or a batch of them.
///
/// A frame from a [`Decoder`](crate::Decoder) borrows from its buffer. [`into_owned`](Self::into_owned) makes one that
/// can be kept, sent to other threads, and read in the same way.
#[derive(Clone, Debug)]
pub enum Frame<'a> {
    /// One message.
    Message(Message<'a>),
    /// An array of messages.
    Batch(Batch<'a>),
}

impl<'a> Frame<'a> {
    /// Judges one text whose boundaries are known already: an HTTP body, an event of an event stream, a WebSocket
    /// message. Line breaks may stand between its tokens.
    ///
    /// ```
    /// use wireline::{Frame, Message, Rules};
    ///
    /// let body = b"{\n  \"jsonrpc\": \"2.0\",\n  \"method\": \"ping\",\n  \"id\": 1\n}\n";
    /// let Frame::Message(Message::Request(ping)) = Frame::parse(body, &Rules::mcp())? else { panic!() };
    /// assert_eq!(ping.method(), "ping");
    /// # Ok::<(), wireline::Fault>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with the text. The fault counts the whole text as one line.
    pub fn parse(text: &'a [u8], rules: &Rules) -> Result<Self, Fault> {
        Self::judge(Text::Borrowed { bytes: text, shared: None }, Position { line: 1, offset: 0 }, rules)
    }

    /// Judges the text of one line.
    #[inline]
    pub(crate) fn judge(text: Text<'a>, position: Position, rules: &Rules) -> Result<Self, Fault> {
        let bytes = text.bytes();
        let verdict = if bytes.len() <= rules.max_line_len {
            envelope::judge(bytes, rules)
        } else {
            Err(envelope::too_long(Recovery::of(bytes), rules))
        };
        match verdict {
            Ok(Verdict::Message(envelope)) => Ok(Self::Message(Message::new(text, position, envelope))),
            Ok(Verdict::Batch { len }) => Ok(Self::Batch(Batch { text, position, len, rules: *rules })),
            Err(complaint) => Err(Fault::new(complaint, position, bytes.len() as u64, rules)),
        }
    }

    /// The number of the line in the stream, from 1 on.
    pub fn line(&self) -> u64 {
        self.position().line
    }

    /// Where in the stream the line begins, in bytes.
    pub fn offset(&self) -> u64 {
        self.position().offset
    }

    /// The line as it came, byte for byte, without its line end.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Message(message) => message.as_bytes(),
            Self::Batch(batch) => batch.as_bytes(),
        }
    }

    /// The same frame, holding on to the decoder's buffer by reference count instead of borrowing from it. Nothing is
    /// copied, unless the frame was made from a slice by [`parse`](Self::parse).
    ///
    /// As long as it lives it keeps the whole read that it came in.
    pub fn into_owned(self) -> Frame<'static> {
        match self {
            Self::Message(message) => Frame::Message(message.into_owned()),
            Self::Batch(batch) => Frame::Batch(batch.into_owned()),
        }
    }

    fn position(&self) -> Position {
        match self {
            Self::Message(message) => message.parts().position,
            Self::Batch(batch) => batch.position,
        }
    }
}

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
    fn new(text: Text<'a>, position: Position, envelope: Envelope) -> Self {
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
    pub fn raw(&self) -> RawJson<'_> {
        RawJson::checked(self.as_bytes().trim_ascii())
    }

    /// The id of a request or a response.
    pub fn id(&self) -> Option<Id<'_>> {
        self.parts().id()
    }

    /// See [`Frame::into_owned`].
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
    /// The code. One that does not fit is replaced by the nearest that does; [`raw`](Self::raw) has its spelling.
    pub fn code(&self) -> i64 {
        let json = self.member("code").unwrap_or(b"0");
        let negative = json.first() == Some(&b'-');
        let code = std::str::from_utf8(json).ok().and_then(Id::parse).and_then(|code| code.as_i64());
        code.unwrap_or(if negative { i64::MIN } else { i64::MAX })
    }

    /// The message. Escapes in it that stand for no character are replaced by U+FFFD.
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
        cursor::members(self.json).find_map(|(key, value)| string::says(key, name).then_some(value))
    }
}

/// An array of messages. Each entry is judged on its own, when it is reached.
///
/// ```
/// use wireline::{Frame, Message, Rules};
///
/// let line = br#"[{"jsonrpc":"2.0","method":"a"}, 1, {"jsonrpc":"2.0","method":"b","id":2}]"#;
/// let Frame::Batch(batch) = Frame::parse(line, &Rules::json_rpc())? else { panic!() };
/// assert_eq!(batch.len(), 3);
/// let good = batch.iter().filter(|entry| entry.is_ok()).count();
/// assert_eq!(good, 2);
/// # Ok::<(), wireline::Fault>(())
/// ```
#[derive(Clone)]
pub struct Batch<'a> {
    text: Text<'a>,
    position: Position,
    len: usize,
    rules: Rules,
}

impl<'a> Batch<'a> {
    /// How many entries there are: at least one.
    #[expect(clippy::len_without_is_empty, reason = "an empty batch is a fault")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The batch as it came, byte for byte.
    pub fn as_bytes(&self) -> &[u8] {
        self.text.bytes()
    }

    /// The entries in order, each a message or a fault of its own.
    pub fn iter(&self) -> Entries<'_> {
        self.reborrow().into_iter()
    }

    /// See [`Frame::into_owned`].
    pub fn into_owned(self) -> Batch<'static> {
        Batch { text: self.text.into_owned(), position: self.position, len: self.len, rules: self.rules }
    }

    fn reborrow(&self) -> Batch<'_> {
        let (bytes, shared) = match &self.text {
            Text::Borrowed { bytes, shared } => (*bytes, *shared),
            Text::Shared(shared) => (&shared[..], Some(shared)),
        };
        Batch { text: Text::Borrowed { bytes, shared }, position: self.position, len: self.len, rules: self.rules }
    }
}

impl<'a> IntoIterator for Batch<'a> {
    type Item = Result<Message<'a>, Fault>;
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        let at = cursor::elements(self.text.bytes()).position();
        Entries { left: self.len, at, batch: self }
    }
}

impl<'b> IntoIterator for &'b Batch<'_> {
    type Item = Result<Message<'b>, Fault>;
    type IntoIter = Entries<'b>;

    fn into_iter(self) -> Entries<'b> {
        self.iter()
    }
}

/// The entries of a [`Batch`].
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    batch: Batch<'a>,
    /// Where in the batch's text the next entry begins.
    at: usize,
    left: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Message<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let Batch { text, position, rules, .. } = &self.batch;
        let mut elements = cursor::Elements::resume(text.bytes(), self.at);
        let (start, entry) = elements.next()?;
        let len = entry.len();
        let judged = envelope::judge_entry(entry, rules);
        self.at = elements.position();
        self.left = self.left.saturating_sub(1);
        Some(match judged {
            Ok(envelope) => Ok(Message::new(text.part(start, len), *position, envelope)),
            Err(mut complaint) => {
                complaint.at += start;
                Err(Fault::new(complaint, *position, text.bytes().len() as u64, rules))
            }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Entries<'_> {}

/// Where a line is in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// From 1 on.
    pub(crate) line: u64,
    /// Of its first byte.
    pub(crate) offset: u64,
}

/// The bytes of a line or of a part of it.
#[derive(Clone)]
pub(crate) enum Text<'a> {
    Borrowed {
        bytes: &'a [u8],
        /// What `bytes` is a part of, if that can be shared.
        shared: Option<&'a Bytes>,
    },
    Shared(Bytes),
}

impl<'a> Text<'a> {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed { bytes, .. } => bytes,
            Self::Shared(bytes) => bytes,
        }
    }

    fn part(&self, start: usize, len: usize) -> Self {
        match self {
            Self::Borrowed { bytes, shared } => Self::Borrowed { bytes: &bytes[start..start + len], shared: *shared },
            Self::Shared(bytes) => Self::Shared(bytes.slice(start..start + len)),
        }
    }

    fn into_owned(self) -> Text<'static> {
        Text::Shared(match self {
            Self::Borrowed { bytes, shared: Some(shared) } => shared.slice_ref(bytes),
            Self::Borrowed { bytes, shared: None } => Bytes::copy_from_slice(bytes),
            Self::Shared(bytes) => bytes,
        })
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

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("line", &self.position.line)
            .field("offset", &self.position.offset)
            .field("entries", &self.len)
            .finish()
    }
}

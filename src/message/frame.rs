//! Lines that passed the rules.

use std::fmt;

use crate::decode::fault::Fault;
use crate::decode::recover::Recovery;
use crate::json::walk;
use crate::message::cow_bytes::{Position, Text};
use crate::message::envelope::{self, Verdict};
use crate::message::message::Message;
use crate::message::rules::Rules;

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
        let whole = Text::Borrowed { bytes: text, shared: None };
        let position = Position { line: 1, offset: 0 };
        if text.len() <= rules.max_line_len
            && text.first() == Some(&b'{')
            && let Some((_, envelope)) = envelope::judge_message(text.into(), rules)
        {
            return Ok(Self::Message(Message::new(whole, position, envelope)));
        }
        Self::judge(whole, position, rules)
    }

    /// Judges the text of one line.
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

    /// The same frame, holding on to the decoder's buffer by reference count instead of borrowing from it.
    ///
    /// Nothing is copied, unless the frame was made from a slice by [`parse`](Self::parse).
    ///
    /// As long as it lives it keeps the whole buffer that it came in, which may be several reads.
    ///
    /// ```
    /// use wireline::{Decoder, Frame, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::mcp());
    /// decoder.feed(b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n");
    /// let mut kept: Vec<Frame<'static>> = Vec::new();
    /// while let Some(Ok(frame)) = decoder.next_frame() {
    ///     kept.push(frame.into_owned());
    /// }
    /// drop(decoder);
    /// assert_eq!(kept[1].as_bytes(), br#"{"jsonrpc":"2.0","method":"b"}"#);
    /// ```
    pub fn into_owned(self) -> Frame<'static> {
        match self {
            Self::Message(message) => Frame::Message(message.into_owned()),
            Self::Batch(batch) => Frame::Batch(batch.into_owned()),
        }
    }

    fn position(&self) -> Position {
        match self {
            Self::Message(message) => message.position(),
            Self::Batch(batch) => batch.position,
        }
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
        let Self { text, position, len, rules } = self;
        Batch { text: text.reborrow(), position: *position, len: *len, rules: *rules }.into_iter()
    }

    /// The same batch, sharing the decoder's buffer instead of borrowing from it; see [`Frame::into_owned`].
    pub fn into_owned(self) -> Batch<'static> {
        Batch { text: self.text.into_owned(), position: self.position, len: self.len, rules: self.rules }
    }
}

impl<'a> IntoIterator for Batch<'a> {
    type Item = Result<Message<'a>, Fault>;
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        let at = walk::elements(self.text.bytes()).position();
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
        let mut elements = walk::Elements::resume(text.bytes(), self.at);
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

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("line", &self.position.line)
            .field("offset", &self.position.offset)
            .field("entries", &self.len)
            .finish()
    }
}

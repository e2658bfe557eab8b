//! Lines that passed the rules: one message, or a batch of them.

use std::fmt;

use bytes::Bytes;
use wireline_json::Text;

use super::message::{Message, Position};
use super::rules::Rules;

/// A line that passed the rules: one message, or a batch of them.
///
/// JSON-RPC has no other lines, so a `match` needs no wildcard arm.
///
/// A frame from a [`Decoder`](crate::Decoder) borrows from its buffer. [`into_owned`](Self::into_owned) turns it into
/// one that you can keep and send to other threads.
#[derive(Clone, Debug)]
pub enum Frame<'a> {
    /// One message.
    Message(Message<'a>),
    /// An array of messages.
    Batch(Batch<'a>),
}

impl<'a> Frame<'a> {
    /// The number of the line in the stream, starting at 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.position().line
    }

    /// Where the line starts in the stream, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.position().offset
    }

    /// The message or batch as it was sent, byte for byte, without its line ending.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Message(message) => message.as_bytes(),
            Self::Batch(batch) => batch.as_bytes(),
        }
    }

    /// The same bytes as a buffer, shared if possible, otherwise copied.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        match self {
            Self::Message(message) => message.to_bytes(),
            Self::Batch(batch) => batch.to_bytes(),
        }
    }

    /// Turns this into a frame that shares the decoder's buffer by reference count instead of borrowing from it.
    ///
    /// Nothing is copied, unless the frame was parsed from a slice. The frame keeps the whole buffer that it arrived in
    /// alive, which may hold several reads.
    ///
    /// ```
    /// use wireline::{Decoder, Frame, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::mcp());
    /// decoder.feed(b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n");
    /// let mut kept: Vec<Frame<'static>> = Vec::new();
    /// while let Some(frame) = decoder.next_frame() {
    ///     match frame {
    ///         Ok(frame) => kept.push(frame.into_owned()),
    ///         Err(fault) => eprintln!("{fault}"),
    ///     }
    /// }
    /// drop(decoder);
    /// assert_eq!(kept[1].as_bytes(), br#"{"jsonrpc":"2.0","method":"b"}"#);
    /// ```
    #[must_use]
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

impl<'a> From<Message<'a>> for Frame<'a> {
    fn from(message: Message<'a>) -> Self {
        Self::Message(message)
    }
}

impl<'a> From<Batch<'a>> for Frame<'a> {
    fn from(batch: Batch<'a>) -> Self {
        Self::Batch(batch)
    }
}

/// An array of messages. Each entry is checked separately, when the iterator reaches it.
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
    pub(crate) text: Text<'a>,
    pub(crate) position: Position,
    pub(crate) len: usize,
    pub(crate) rules: Rules,
}

impl<'a> Batch<'a> {
    /// The number of entries: at least one.
    #[expect(clippy::len_without_is_empty, reason = "an empty batch is a fault")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of the line in the stream, starting at 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.position.line
    }

    /// Where the line starts in the stream, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.position.offset
    }

    /// The batch as it was sent, byte for byte.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.text.as_str().as_bytes()
    }

    /// The same bytes as a buffer, shared if possible, otherwise copied.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.text.to_bytes()
    }

    /// Turns this into a batch that shares the decoder's buffer instead of borrowing from it; see
    /// [`Frame::into_owned`].
    #[must_use]
    pub fn into_owned(self) -> Batch<'static> {
        Batch { text: self.text.into_owned(), position: self.position, len: self.len, rules: self.rules }
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

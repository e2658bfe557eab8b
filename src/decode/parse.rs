//! Parses a single text as a frame, and a batch into its entries.

use bytes::Bytes;
use wireline_json::{Text, walk};

use crate::message::{Batch, Contents, Envelope, Frame, Message, Position, Rules, envelope};

use super::diagnose;
use super::fault::Fault;
use super::recover::Recovery;

impl<'a> Frame<'a> {
    /// Parses one text whose boundaries are already known: an HTTP body, a server-sent event, a WebSocket message.
    /// Line breaks are allowed between its tokens.
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
    /// The text isn't valid. The fault counts the whole text as one line.
    pub fn parse(text: &'a [u8], rules: &Rules) -> Result<Self, Fault> {
        Self::parse_in(None, text, rules)
    }

    /// Parses one text, which is part of `buffer` if one is given.
    #[inline(always)]
    fn parse_in(buffer: Option<&'a Bytes>, text: &'a [u8], rules: &Rules) -> Result<Self, Fault> {
        if text.len() <= rules.limits.max_line_len
            && text.first() == Some(&b'{')
            && let Some((text, envelope)) = envelope::read_message(text.into(), rules)
        {
            return Reading::Message(text, envelope, 0).into_frame(buffer, Position::START, rules);
        }
        let reading = Reading::of(text, Position::START, rules);
        reading.into_frame(buffer, Position::START, rules)
    }

    /// Parses one text as [`parse`](Self::parse) does, but shares its buffer instead of borrowing from it.
    ///
    /// ```
    /// use wireline::{Frame, Rules};
    ///
    /// let body = bytes::Bytes::from(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    /// let frame: Frame<'static> = Frame::from_bytes(body.clone(), &Rules::mcp())?;
    /// assert_eq!(frame.as_bytes().as_ptr(), body.as_ptr()); // nothing was copied
    /// # Ok::<(), wireline::Fault>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`parse`](Self::parse).
    pub fn from_bytes(text: Bytes, rules: &Rules) -> Result<Frame<'static>, Fault> {
        Frame::parse_in(Some(&text), &text, rules).map(Frame::into_owned)
    }
}

/// The contents of a line, before it becomes a frame.
///
/// Callers build the frame in place with [`into_frame`](Self::into_frame). A function that isn't inlined would write
/// the frame to memory, and moving it from there right away stalls the CPU until the write is done: up to 4 ns for each
/// frame.
pub(super) enum Reading<'a> {
    /// The text of a message, its envelope, and where it starts in the line.
    Message(&'a str, Envelope, usize),
    /// The text of a batch, and its number of entries.
    Batch(&'a str, usize),
    Faulty(Box<Fault>),
}

impl<'a> Reading<'a> {
    /// Reads a whole line.
    #[inline(never)]
    pub(super) fn of(line: &'a [u8], position: Position, rules: &Rules) -> Self {
        let fault = if line.len() > rules.limits.max_line_len {
            diagnose::too_long(Recovery::of(line, rules.longest_id()), line.len() as u64, position, rules)
        } else {
            match envelope::read_line(line, rules) {
                Ok((text, Contents::Message(envelope))) => return Self::Message(text, envelope, 0),
                Ok((text, Contents::Batch { len })) => return Self::Batch(text, len),
                Err(violation) => diagnose::line(violation, line, position, rules),
            }
        };
        fault.log();
        Self::Faulty(Box::new(fault))
    }

    /// Makes the frame or fault. The line is at `position` in the stream, and is part of `buffer` if one is given.
    #[inline(always)]
    pub(super) fn into_frame(
        self,
        buffer: Option<&'a Bytes>,
        position: Position,
        rules: &Rules,
    ) -> Result<Frame<'a>, Fault> {
        match self {
            Self::Message(text, envelope, start) => {
                Ok(Frame::Message(Message::new(Text::borrowed(text, buffer), position, start, envelope)))
            }
            Self::Batch(text, len) => {
                Ok(Frame::Batch(Batch { text: Text::borrowed(text, buffer), position, len, rules: *rules }))
            }
            Self::Faulty(fault) => Err(*fault),
        }
    }
}

impl<'a> Batch<'a> {
    /// The entries in order, each of them a message or a fault.
    #[must_use]
    pub fn iter(&self) -> Entries<'a> {
        self.clone().into_iter()
    }
}

impl<'a> IntoIterator for Batch<'a> {
    type Item = Result<Message<'a>, Fault>;
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        let at = walk::elements(self.text.as_str()).position();
        Entries { left: self.len, at, batch: self }
    }
}

impl<'a> IntoIterator for &Batch<'a> {
    type Item = Result<Message<'a>, Fault>;
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        self.iter()
    }
}

/// The entries of a [`Batch`].
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    batch: Batch<'a>,
    /// Where in the text of the batch the next entry starts.
    at: usize,
    left: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Message<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let Batch { text, position, rules, .. } = &self.batch;
        let line = text.as_str();
        let mut elements = walk::Elements::resume(line, self.at);
        let (start, entry) = elements.next()?;
        self.at = elements.position();
        self.left = self.left.saturating_sub(1);
        Some(match envelope::read_entry(entry.as_bytes(), rules) {
            Ok(envelope) => Ok(Message::new(text.part(start..start + entry.len()), *position, start, envelope)),
            Err(violation) => Err(diagnose::entry(violation, entry, start, line.len(), *position, rules)),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Entries<'_> {}

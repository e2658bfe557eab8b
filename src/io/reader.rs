//! Frames from a reader.

use std::fmt;
use std::io::{self, ErrorKind, Read};

use bytes::BytesMut;

use crate::decode::{Decoder, Fault, Input};
use crate::message::{Frame, Rules};

/// Reads frames from a reader, straight into the decoder's buffer.
///
/// ```
/// use wireline::{Frame, Message, Rules, io::FrameReader};
///
/// let input = &b"{\"jsonrpc\":\"2.0\",\"method\":\"one\"}\nnoise\n{\"jsonrpc\":\"2.0\",\"method\":\"two\"}\n"[..];
/// let mut reader = FrameReader::new(input, Rules::mcp());
/// let mut methods = Vec::new();
/// while let Some(frame) = reader.next_frame()? {
///     match frame {
///         Ok(Frame::Message(Message::Notification(notification))) => methods.push(notification.method().into_owned()),
///         Ok(_) => {}
///         Err(fault) => assert_eq!(fault.line(), 2), // an item like any other
///     }
/// }
/// assert_eq!(methods, ["one", "two"]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct FrameReader<R> {
    reader: R,
    input: Input,
}

impl<R: Read> FrameReader<R> {
    /// Reads frames from `reader` under `rules`.
    pub fn new(reader: R, rules: Rules) -> Self {
        Self::with_decoder(reader, Decoder::new(rules))
    }

    /// Reads frames from `reader` with a decoder that may already contain bytes.
    pub fn with_decoder(reader: R, decoder: Decoder) -> Self {
        Self { reader, input: Input::new(decoder) }
    }

    /// The next frame or fault, or `None` when the stream has ended.
    ///
    /// # Errors
    ///
    /// The reader failed. No bytes are lost: after [`WouldBlock`](ErrorKind::WouldBlock) or a timeout, just call it
    /// again. [`Interrupted`](ErrorKind::Interrupted) is retried.
    pub fn next_frame(&mut self) -> io::Result<Option<Result<Frame<'_>, Fault>>> {
        let Self { reader, input } = self;
        input.next_frame(|input| input.fill(|room| read(reader, room)))
    }

    /// The next frame or fault in the bytes already read, or `None` if more must be read.
    ///
    /// When it returns `None`, write out your answers before [`fill`](Self::fill) blocks.
    ///
    /// ```
    /// use bytes::BytesMut;
    /// use wireline::{Frame, Message, Rules, io::FrameReader, ledger::Inbound};
    ///
    /// let input = &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n"[..];
    /// let mut reader = FrameReader::new(input, Rules::json_rpc());
    /// let owed = Inbound::new(Rules::json_rpc(), 100);
    /// let (mut answers, mut writes) = (BytesMut::new(), Vec::new());
    /// loop {
    ///     while let Some(frame) = reader.next_buffered() {
    ///         if let Ok(Frame::Message(Message::Request(request))) = frame {
    ///             match owed.admit(&request) {
    ///                 Ok(ticket) => ticket.respond(&request.method()).accept_into(&mut answers),
    ///                 Err(refusal) => refusal.accept_into(&mut answers),
    ///             }
    ///         }
    ///     }
    ///     writes.push(answers.split()); // all answers to one read, in one write
    ///     if !reader.fill()? {
    ///         break;
    ///     }
    /// }
    /// assert_eq!(writes[1].iter().filter(|&&byte| byte == b'\n').count(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn next_buffered(&mut self) -> Option<Result<Frame<'_>, Fault>> {
        self.input.decoder.next_frame()
    }

    /// Reads once. Returns false when the stream has ended and [`next_buffered`](Self::next_buffered) has returned all
    /// of it.
    ///
    /// # Errors
    ///
    /// As for [`next_frame`](Self::next_frame).
    pub fn fill(&mut self) -> io::Result<bool> {
        let Self { reader, input } = self;
        input.fill(|room| read(reader, room))
    }

    /// The reader.
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// The decoder, for [`last_line`](Decoder::last_line) and the like.
    pub fn decoder(&self) -> &Decoder {
        &self.input.decoder
    }

    /// The reader, and the bytes read from it that aren't part of any frame or fault yet.
    pub fn into_parts(self) -> (R, BytesMut) {
        (self.reader, self.input.decoder.into_buffer())
    }
}

fn read(reader: &mut impl Read, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(room) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

impl<R> fmt::Debug for FrameReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameReader")
            .field("decoder", &self.input.decoder)
            .field("ended", &self.input.ended)
            .finish_non_exhaustive()
    }
}

//! Lines to a writer that threads share.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, BytesMut};

use crate::encode::{EncodeError, Encoder, Line};
use crate::message::Rules;

/// No line is added while more than this waits to be written.
const BACKLOG: usize = 1 << 20;

/// Sends lines to a writer, each in one call, so that lines from several threads never mix.
///
/// Clones share the writer. Nothing is flushed until [`flush`](Self::flush): call it when there is nothing more to send
/// for now, or use a writer that doesn't buffer.
///
/// ```
/// use wireline::{Id, Rules, io::FrameWriter};
///
/// let writer = FrameWriter::new(Vec::new(), Rules::mcp());
/// std::thread::scope(|scope| {
///     for id in 0..4 {
///         let writer = writer.clone();
///         scope.spawn(move || writer.send(|encoder| encoder.request(&Id::from(id), "ping", &())).unwrap());
///     }
/// });
/// let (lines, unwritten) = writer.into_parts().unwrap();
/// assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), 4);
/// assert!(unwritten.is_empty());
/// ```
///
/// # When the writer fails
///
/// No half line is ever followed by another line. What a writer hasn't taken yet is kept, and goes first. If the writer
/// would block, that is [`Progress::Pending`]. If it fails for good, the error is returned once, and from then on every
/// call returns [`SendError::Broken`].
pub struct FrameWriter<W> {
    shared: Arc<Mutex<Shared<W>>>,
    rules: Rules,
}

struct Shared<W> {
    writer: W,
    /// What has been encoded and not been written: nothing, or the rest of one line and whole lines after it.
    unwritten: BytesMut,
    broken: bool,
}

/// How far a message has got.
///
/// There is nothing in between, so a `match` needs no wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "pending lines must be written by `flush`"]
pub enum Progress {
    /// The writer has taken everything.
    Written,
    /// The writer would block. The rest is kept: call [`FrameWriter::flush`] when it is ready again.
    Pending,
}

impl<W: Write> FrameWriter<W> {
    /// Sends lines to `writer` that pass `rules`.
    #[must_use]
    pub fn new(writer: W, rules: Rules) -> Self {
        let shared = Shared { writer, unwritten: BytesMut::new(), broken: false };
        Self { shared: Arc::new(Mutex::new(shared)), rules }
    }

    /// Sends whatever `write` makes an [`Encoder`] append: one line, or several that stay together.
    ///
    /// ```
    /// use wireline::io::{FrameWriter, Progress, SendError};
    /// use wireline::{Id, Rules};
    ///
    /// let writer = FrameWriter::new(Vec::new(), Rules::json_rpc());
    /// assert_eq!(writer.send(|encoder| encoder.notification("started", &()))?, Progress::Written);
    /// // A message that can't be encoded isn't sent, and the next one is.
    /// assert!(matches!(writer.send(|encoder| encoder.response(&Id::from(1), &f64::NAN)), Err(SendError::Encode(_))));
    /// assert_eq!(writer.send(|encoder| encoder.response(&Id::from(1), &0.5))?, Progress::Written);
    /// let (lines, _) = writer.into_parts().unwrap();
    /// assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), 2);
    /// # Ok::<(), SendError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Nothing of it has been sent, unless the error is [`Io`](SendError::Io): then some of it may have been, and nothing
    /// will follow it.
    pub fn send(
        &self,
        write: impl FnOnce(&mut Encoder<&mut BytesMut>) -> Result<(), EncodeError>,
    ) -> Result<Progress, SendError> {
        // Not under the lock: whatever the caller does here, it may want to send too.
        let mut lines = BytesMut::new();
        write(&mut Encoder::append_to(&mut lines, self.rules))?;

        let mut shared = self.lock_for_more()?;
        if shared.unwritten.is_empty() {
            shared.unwritten = lines;
        } else {
            shared.unwritten.extend_from_slice(&lines);
        }
        shared.write_out()
    }

    /// Sends a line that was encoded elsewhere.
    ///
    /// ```
    /// use wireline::io::{FrameWriter, SendError};
    /// use wireline::{Rules, to_line};
    ///
    /// let line = to_line(&Rules::mcp(), |encoder| encoder.notification("note", &()))?;
    /// let writer = FrameWriter::new(Vec::new(), Rules::mcp());
    /// for _ in 0..2 {
    ///     let _ = writer.send_line(&line)?;
    /// }
    /// assert_eq!(writer.into_parts().unwrap().0.len(), 2 * line.as_bytes().len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`send`](Self::send).
    pub fn send_line(&self, line: &Line) -> Result<Progress, SendError> {
        let mut shared = self.lock_for_more()?;
        shared.unwritten.extend_from_slice(line.as_bytes());
        shared.write_out()
    }

    /// Writes what is pending and flushes the writer.
    ///
    /// ```
    /// use std::io::{self, Write};
    /// use wireline::io::{FrameWriter, Progress};
    /// use wireline::Rules;
    ///
    /// /// A pipe that takes ten bytes, and no more until there is room again.
    /// struct Pipe { room: usize, taken: Vec<u8> }
    ///
    /// impl Write for Pipe {
    ///     fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
    ///         let len = bytes.len().min(self.room);
    ///         if len == 0 {
    ///             self.room = 100;
    ///             return Err(io::ErrorKind::WouldBlock.into());
    ///         }
    ///         self.room -= len;
    ///         self.taken.extend_from_slice(&bytes[..len]);
    ///         Ok(len)
    ///     }
    ///     fn flush(&mut self) -> io::Result<()> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let writer = FrameWriter::new(Pipe { room: 10, taken: Vec::new() }, Rules::mcp());
    /// assert_eq!(writer.send(|encoder| encoder.notification("note", &()))?, Progress::Pending);
    /// assert_eq!(writer.flush()?, Progress::Written); // when the pipe is ready again
    /// let (pipe, unwritten) = writer.into_parts().unwrap();
    /// assert_eq!(pipe.taken, b"{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n");
    /// assert!(unwritten.is_empty());
    /// # Ok::<(), wireline::io::SendError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The writer failed, or is broken.
    pub fn flush(&self) -> Result<Progress, SendError> {
        let mut shared = self.lock();
        if shared.write_out()? == Progress::Pending {
            return Ok(Progress::Pending);
        }
        loop {
            match shared.guarded(W::flush) {
                Ok(()) => return Ok(Progress::Written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Progress::Pending),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(shared.breaks(error)),
            }
        }
    }

    /// The writer and what it hasn't taken yet, or `None` if there are other clones.
    #[must_use]
    pub fn into_parts(self) -> Option<(W, BytesMut)> {
        let shared = Arc::into_inner(self.shared)?.into_inner().unwrap_or_else(PoisonError::into_inner);
        Some((shared.writer, shared.unwritten))
    }

    /// For adding to what is unwritten, if that is still possible.
    fn lock_for_more(&self) -> Result<MutexGuard<'_, Shared<W>>, SendError> {
        let shared = self.lock();
        match () {
            () if shared.broken => Err(SendError::Broken),
            () if shared.unwritten.len() > BACKLOG => Err(SendError::Full),
            () => Ok(shared),
        }
    }

    // If somebody panicked while holding the lock, it was the writer, which is broken then.
    fn lock(&self) -> MutexGuard<'_, Shared<W>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> Shared<W> {
    fn write_out(&mut self) -> Result<Progress, SendError> {
        if self.broken {
            return Err(SendError::Broken);
        }
        while !self.unwritten.is_empty() {
            let lines = mem::take(&mut self.unwritten);
            let written = self.guarded(|writer| writer.write(&lines));
            self.unwritten = lines;
            match written {
                Ok(0) => return Err(self.breaks(ErrorKind::WriteZero.into())),
                Ok(written) => self.unwritten.advance(written.min(self.unwritten.len())),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Progress::Pending),
                Err(error) => return Err(self.breaks(error)),
            }
        }
        // Gives back the memory of a long line.
        self.unwritten = BytesMut::new();
        Ok(Progress::Written)
    }

    /// If the writer panics, nobody knows how much it has taken, and it counts as broken.
    fn guarded<T>(&mut self, call: impl FnOnce(&mut W) -> T) -> T {
        self.broken = true;
        let result = call(&mut self.writer);
        self.broken = false;
        result
    }

    fn breaks(&mut self, error: io::Error) -> SendError {
        self.broken = true;
        SendError::Io(error)
    }
}

impl<W> Clone for FrameWriter<W> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), rules: self.rules }
    }
}

impl<W> fmt::Debug for FrameWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameWriter").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// Why a message was not sent.
///
/// Reasons may be added, so a `match` needs a wildcard arm.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// It could not be encoded. Nothing of it was sent, and the next message can be.
    Encode(EncodeError),
    /// The writer failed. This is returned once.
    Io(io::Error),
    /// The writer failed before.
    Broken,
    /// Too much is waiting to be written. The message was not added.
    Full,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encode(error) => fmt::Display::fmt(error, f),
            Self::Io(_) => f.write_str("failed to write the message"),
            Self::Broken => f.write_str("the writer has failed before"),
            Self::Full => f.write_str("send backlog is full"),
        }
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Encode(error) => std::error::Error::source(error),
            Self::Io(error) => Some(error),
            Self::Broken | Self::Full => None,
        }
    }
}

impl From<EncodeError> for SendError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

impl From<io::Error> for SendError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The writer's own error, or one whose kind says what happened: [`InvalidInput`](ErrorKind::InvalidInput) for a message
/// that can't be encoded, [`BrokenPipe`](ErrorKind::BrokenPipe) for a writer that failed before, and
/// [`WouldBlock`](ErrorKind::WouldBlock) for a full backlog.
impl From<SendError> for io::Error {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Encode(error) => error.into(),
            SendError::Io(error) => error,
            SendError::Broken => Self::new(ErrorKind::BrokenPipe, error),
            SendError::Full => Self::new(ErrorKind::WouldBlock, error),
        }
    }
}

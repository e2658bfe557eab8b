//! Lines to a writer that is shared by threads.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;

use crate::encode::{EncodeError, Encoder, Line};
use crate::ledger::{Answer, Wakes};
use crate::message::Rules;

use super::pending::Pending;

/// Sends lines to a writer. Lines from several threads never mix.
///
/// Clones share the writer. By default, each line is written before the call returns, together with lines that other
/// threads have added in the meantime; [`collect`](Self::collect) changes that. The writer itself is only flushed by
/// [`flush`](Self::flush). Call it when there is nothing more to send for now, or use a writer that doesn't buffer.
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
/// A partly written line is never followed by another line. Bytes that the writer hasn't accepted yet are kept, and
/// written first. If the writer would block, the result is [`Progress::Pending`]. If it fails permanently, the error is
/// returned once, and every later call returns [`SendError::Broken`].
pub struct FrameWriter<W> {
    shared: Arc<Shared<W>>,
    rules: Rules,
}

/// Lines are added under the lock on `queue`, which is never held for long, and written under the lock on `output`. If
/// both are needed, `output` is locked first.
struct Shared<W> {
    queue: Mutex<Queue>,
    output: Mutex<Output<W>>,
}

#[derive(Default)]
struct Queue {
    pending: Pending,
    collect: usize,
}

struct Output<W> {
    writer: W,
    lines: BytesMut,
    /// How much of `lines` is written.
    written: usize,
}

/// Whether everything has been written.
///
/// There won't be other cases, so a `match` needs no wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "pending lines must be written by `flush`"]
pub enum Progress {
    /// The writer has accepted everything.
    Written,
    /// Some bytes will be written later, because the writer would block, or lines are
    /// [collected](FrameWriter::collect). Call [`FrameWriter::flush`] when the writer is ready again, or when there is
    /// nothing more to send for now.
    Pending,
}

impl<W: Write> FrameWriter<W> {
    /// Sends lines that pass `rules` to `writer`.
    #[must_use]
    pub fn new(writer: W, rules: Rules) -> Self {
        let output = Output { writer, lines: BytesMut::new(), written: 0 };
        Self { shared: Arc::new(Shared { queue: Mutex::default(), output: Mutex::new(output) }), rules }
    }

    /// Sets how many bytes may wait for a writer that would block. The default is 1 MiB.
    ///
    /// While more are waiting, sending fails with [`SendError::Full`].
    #[must_use]
    pub fn backlog(self, bytes: usize) -> Self {
        self.queue().pending.backlog = bytes;
        self
    }

    /// Sets how many bytes are collected before they are written in one call. The default is 0: each line is written at
    /// once.
    ///
    /// [`flush`](Self::flush) also writes the collected bytes.
    ///
    /// ```
    /// use wireline::Rules;
    /// use wireline::io::{FrameWriter, Progress};
    ///
    /// let writer = FrameWriter::new(Vec::new(), Rules::mcp()).collect(16 << 10);
    /// for _ in 0..100 {
    ///     assert_eq!(writer.send(|encoder| encoder.notification("note", &()))?, Progress::Pending);
    /// }
    /// assert_eq!(writer.flush()?, Progress::Written); // in one call
    /// # Ok::<(), wireline::io::SendError>(())
    /// ```
    #[must_use]
    pub fn collect(self, bytes: usize) -> Self {
        self.queue().collect = bytes;
        self
    }

    /// Sends the lines that `write` appends to an [`Encoder`]: one, or several that stay together.
    ///
    /// To answer a request, use [`answer`](Self::answer).
    ///
    /// ```
    /// use wireline::io::{FrameWriter, Progress, SendError};
    /// use wireline::{Id, Rules};
    ///
    /// let writer = FrameWriter::new(Vec::new(), Rules::json_rpc());
    /// assert_eq!(writer.send(|encoder| encoder.notification("started", &()))?, Progress::Written);
    /// // A message that can't be encoded isn't sent, but the next one is.
    /// assert!(matches!(writer.send(|encoder| encoder.response(&Id::from(1), &f64::NAN)), Err(SendError::Encode(_))));
    /// assert_eq!(writer.send(|encoder| encoder.response(&Id::from(1), &0.5))?, Progress::Written);
    /// let (lines, _) = writer.into_parts().unwrap();
    /// assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), 2);
    /// # Ok::<(), SendError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// After an [`Io`](SendError::Io) error, some of the lines may have been sent, and nothing will follow them. After
    /// any other error, none of them has. If the error is [`Full`](SendError::Full) or [`Broken`](SendError::Broken),
    /// `write` may not have been called.
    pub fn send(
        &self,
        write: impl FnOnce(&mut Encoder<&mut BytesMut>) -> Result<(), EncodeError>,
    ) -> Result<Progress, SendError> {
        let mut lines = self.queue().pending.take_spare()?;
        // Not under the lock, because `write` may send something too.
        if let Err(error) = write(&mut Encoder::append_to(&mut lines, self.rules)) {
            self.queue().pending.keep(lines);
            return Err(error.into());
        }
        match self.add(lines) {
            true => self.write_out(),
            false => Ok(Progress::Pending),
        }
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
        let is_due = {
            let mut queue = self.queue();
            queue.pending.check()?;
            queue.pending.lines.extend_from_slice(line.as_bytes());
            queue.is_due()
        };
        match is_due {
            true => self.write_out(),
            false => Ok(Progress::Pending),
        }
    }

    /// Sends an answer. Its request is settled once its line is in the queue.
    ///
    /// ```
    /// # use wireline::{Frame, Message};
    /// use wireline::Rules;
    /// use wireline::io::{FrameWriter, SendError, Unsent};
    /// use wireline::ledger::Inbound;
    ///
    /// # let owed = Inbound::new(Rules::mcp(), 100);
    /// # let line = br#"{"jsonrpc":"2.0","id":1,"method":"work"}"#;
    /// # let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &Rules::mcp()) else { panic!() };
    /// let writer = FrameWriter::new(Vec::new(), Rules::mcp());
    /// let answer = match owed.admit(&request) {
    ///     Ok(ticket) => ticket.respond(&serde_json::json!({"done": true})),
    ///     Err(refusal) => refusal,
    /// };
    /// match writer.answer(answer) {
    ///     Ok(_progress) => {}
    ///     // The client doesn't read. Send the answer later; if it is dropped, it is still owed.
    ///     Err(Unsent { error: SendError::Full, answer }) => drop(answer),
    ///     Err(unsent) => eprintln!("{unsent}"),
    /// }
    /// assert_eq!(owed.in_flight(), 0);
    /// ```
    ///
    /// # Errors
    ///
    /// The writer failed, now or before, or too much is waiting for it. The error contains the answer, unless it was
    /// already accepted when the writer failed.
    pub fn answer(&self, answer: Answer) -> Result<Progress, Unsent> {
        // Dropped after the lock is released, because a task that is woken may send something too.
        let mut wakes = Wakes::default();
        let is_due = {
            let mut queue = self.queue();
            if let Err(error) = queue.pending.check() {
                return Err(Unsent { error, answer: Some(answer) });
            }
            // Under the lock: a thread that sees nothing in flight any more, and then flushes, must find the line.
            answer.accept_quietly_into(&mut queue.pending.lines, &mut wakes);
            queue.is_due()
        };
        drop(wakes);
        match is_due {
            true => self.write_out().map_err(|error| Unsent { error, answer: None }),
            false => Ok(Progress::Pending),
        }
    }

    /// Writes all pending lines and flushes the writer.
    ///
    /// ```
    /// use std::io::{self, Write};
    /// use wireline::io::{FrameWriter, Progress};
    /// use wireline::Rules;
    ///
    /// /// A pipe that accepts ten bytes, and no more until there is room again.
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
        let mut output = lock(&self.shared.output);
        if self.write_all(&mut output)? == Progress::Pending {
            return Ok(Progress::Pending);
        }
        loop {
            match self.guarded(|| output.writer.flush()) {
                Ok(()) => return Ok(Progress::Written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Progress::Pending),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.breaks(error)),
            }
        }
    }

    /// The writer and the bytes it hasn't accepted yet, or `None` if there are other clones.
    #[must_use]
    pub fn into_parts(self) -> Option<(W, BytesMut)> {
        let Shared { queue, output } = Arc::into_inner(self.shared)?;
        let queue = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Output { writer, lines, written } = output.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut unwritten = BytesMut::from(&lines[written..]);
        unwritten.extend_from_slice(&queue.pending.lines);
        Some((writer, unwritten))
    }

    fn write_out(&self) -> Result<Progress, SendError> {
        // While one thread is writing, lines accumulate in the queue, and the next thread writes all of them.
        self.write_all(&mut lock(&self.shared.output))
    }

    /// Writes all lines, as far as the writer accepts them.
    fn write_all(&self, output: &mut Output<W>) -> Result<Progress, SendError> {
        loop {
            if output.written == output.lines.len() {
                let pending = &mut self.queue().pending;
                if pending.is_broken {
                    return Err(SendError::Broken);
                }
                output.written = 0;
                if !pending.take(&mut output.lines) {
                    return Ok(Progress::Written);
                }
            } else if self.queue().pending.is_broken {
                return Err(SendError::Broken);
            }
            let written = self.guarded(|| output.writer.write(&output.lines[output.written..]));
            match written {
                Ok(0) => return Err(self.breaks(ErrorKind::WriteZero.into())),
                Ok(written) => {
                    output.written = (output.written + written).min(output.lines.len());
                    self.queue().pending.taken = output.lines.len() - output.written;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Progress::Pending),
                Err(error) => return Err(self.breaks(error)),
            }
        }
    }

    /// Adds lines to the queue. Returns whether it is time to write.
    fn add(&self, lines: BytesMut) -> bool {
        let mut queue = self.queue();
        queue.pending.add(lines);
        queue.is_due()
    }

    /// Calls the writer. If it panics, nobody knows how much it has written, so it counts as broken.
    fn guarded<T>(&self, call: impl FnOnce() -> T) -> T {
        struct Breaks<'q>(&'q Mutex<Queue>);

        impl Drop for Breaks<'_> {
            fn drop(&mut self) {
                lock(self.0).pending.is_broken = true;
            }
        }

        let breaks = Breaks(&self.shared.queue);
        let result = call();
        mem::forget(breaks);
        result
    }

    fn breaks(&self, error: io::Error) -> SendError {
        self.queue().pending.is_broken = true;
        SendError::Io(error)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.shared.queue)
    }
}

impl Queue {
    fn is_due(&self) -> bool {
        self.pending.lines.len() >= self.collect
    }
}

/// Only the writer can panic while a lock is held, and then it is marked as broken.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

/// An answer that was not sent, and why.
///
/// If the answer is dropped, as `?` does when it converts this error, its request is still owed an answer; see
/// [`Inbound::dropped`](crate::ledger::Inbound::dropped).
#[derive(Debug)]
#[must_use = "the answer in it hasn't been sent"]
pub struct Unsent {
    /// Why it wasn't sent.
    pub error: SendError,
    /// The answer, unless it was already accepted when the writer failed.
    pub answer: Option<Answer>,
}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for Unsent {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.error)
    }
}

impl From<Unsent> for SendError {
    fn from(unsent: Unsent) -> Self {
        unsent.error
    }
}

impl From<Unsent> for io::Error {
    fn from(unsent: Unsent) -> Self {
        unsent.error.into()
    }
}

/// Why a message was not sent.
///
/// Reasons may be added, so a `match` needs a wildcard arm.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The message could not be encoded. Nothing was sent, and the next message can be.
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

/// The writer's own error, or one with the kind [`InvalidInput`](ErrorKind::InvalidInput) for a message that can't be
/// encoded, [`BrokenPipe`](ErrorKind::BrokenPipe) for a writer that failed before, and
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

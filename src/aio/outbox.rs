//! Lines on their way from many tasks to one writer.

use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;

use crate::encode::{EncodeError, Encoder, Line};
use crate::io::{SendError, Unsent};
use crate::ledger::{Answer, Wakes};
use crate::message::Rules;

/// How many bytes may wait to be written, unless set.
pub(super) const BACKLOG: usize = 1 << 20;

/// Buffers larger than this are given back when they are empty.
const KEPT: usize = 64 << 10;

/// What senders and the writer share.
pub(super) struct Outbox {
    pub(super) rules: Rules,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// Whole lines that are to be written after those that the writer has taken.
    lines: BytesMut,
    /// How much the writer has taken and not written.
    taken: usize,
    /// Empty, for encoding.
    spare: BytesMut,
    backlog: usize,
    /// The writer failed, or is gone.
    is_broken: bool,
    /// Senders that aren't clones of each other.
    senders: usize,
    /// The task that writes, while it has nothing to write.
    writer: Option<Waker>,
    /// Tasks that wait for room.
    waiting: Vec<Waker>,
}

impl Outbox {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, queue: Mutex::new(Queue { backlog: BACKLOG, ..Queue::default() }) }
    }

    pub(super) fn set_backlog(&self, bytes: usize) {
        self.queue().backlog = bytes;
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty buffer to encode into, as soon as lines may be added.
    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<Result<BytesMut, SendError>> {
        let mut queue = self.queue();
        match queue.take_spare() {
            Err(SendError::Full) => {
                queue.wait(cx.waker());
                Poll::Pending
            }
            room => Poll::Ready(room),
        }
    }

    /// Whether lines may be added.
    #[cfg(feature = "futures-io")]
    pub(super) fn has_room(&self) -> Result<bool, SendError> {
        match self.queue().check() {
            Ok(()) => Ok(true),
            Err(SendError::Full) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Adds lines to what is to be written.
    pub(super) fn add(&self, lines: BytesMut) {
        let writer = {
            let mut queue = self.queue();
            if lines.is_empty() || queue.is_broken {
                queue.keep(lines);
                return;
            }
            if queue.lines.is_empty() {
                // The other way round they would be copied.
                let empty = mem::replace(&mut queue.lines, lines);
                queue.keep(empty);
            } else {
                queue.lines.extend_from_slice(&lines);
                queue.keep(lines);
            }
            queue.writer.take()
        };
        // Not under the lock: nobody knows what a waker does.
        writer.into_iter().for_each(Waker::wake);
    }

    /// Adds an answer to what is to be written, and settles it; or hands it back, and wakes `waiting` when there is room.
    pub(super) fn accept(&self, answer: Answer, waiting: Option<&Waker>) -> Result<(), Unsent> {
        // Dropped after the lock: whoever waits for the last answer may want to send too.
        let mut wakes = Wakes::default();
        let writer = {
            let mut queue = self.queue();
            if let Err(error) = queue.check() {
                if let (SendError::Full, Some(waker)) = (&error, waiting) {
                    queue.wait(waker);
                }
                return Err(Unsent { error, answer: Some(answer) });
            }
            // Under the lock: whoever finds that nothing is in flight any more must find the line here.
            answer.accept_quietly_into(&mut queue.lines, &mut wakes);
            if queue.lines.is_empty() { None } else { queue.writer.take() }
        };
        drop(wakes);
        writer.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Swaps `lines`, which have been written, for those that are to be written next. False if there are none.
    pub(super) fn take_lines(&self, lines: &mut BytesMut) -> bool {
        lines.clear();
        if lines.capacity() > KEPT {
            *lines = BytesMut::new();
        }
        let mut queue = self.queue();
        mem::swap(lines, &mut queue.lines);
        queue.taken = lines.len();
        !lines.is_empty()
    }

    /// Notes how much of what was taken is not written yet, and wakes those who wait for room if there is some.
    pub(super) fn has_written(&self, left: usize) {
        let waiting = {
            let mut queue = self.queue();
            queue.taken = left;
            match queue.check() {
                Err(SendError::Full) => Vec::new(),
                _ => mem::take(&mut queue.waiting),
            }
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Ready when there is something to write, or no more will come: whether there is something.
    pub(super) fn poll_lines(&self, cx: &mut Context<'_>) -> Poll<bool> {
        let mut queue = self.queue();
        if queue.lines.is_empty() && queue.senders > 0 {
            queue.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(!queue.lines.is_empty())
    }

    /// Nothing will be written any more.
    pub(super) fn break_off(&self) {
        let waiting = {
            let mut queue = self.queue();
            queue.is_broken = true;
            mem::take(&mut queue.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Queue {
    /// Whether lines may be added.
    fn check(&self) -> Result<(), SendError> {
        match () {
            () if self.is_broken => Err(SendError::Broken),
            () if self.lines.len() + self.taken > self.backlog => Err(SendError::Full),
            () => Ok(()),
        }
    }

    /// Has `waker` woken when there is room.
    fn wait(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|waiting| waiting.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }

    fn take_spare(&mut self) -> Result<BytesMut, SendError> {
        self.check()?;
        Ok(mem::take(&mut self.spare))
    }

    /// Keeps a buffer for the next line, unless it is very large, or smaller than the one that is kept.
    fn keep(&mut self, mut buffer: BytesMut) {
        buffer.clear();
        if (self.spare.capacity()..=KEPT).contains(&buffer.capacity()) {
            self.spare = buffer;
        }
    }
}

/// Sends lines to a [`LineWriter`](super::LineWriter), from any task or thread.
///
/// Clones are cheap. A message counts as sent when it is among what the writer is to write. If more than the
/// [backlog](super::LineWriter::backlog) waits for that, the `async` methods wait, and the others fail with
/// [`SendError::Full`].
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use wireline::aio::{LineWriter, Tokio};
/// use wireline::{Id, Rules};
///
/// let writer = LineWriter::new(Tokio(Vec::new()), Rules::mcp());
/// let sender = writer.sender();
/// let writing = tokio::spawn(writer.run());
/// for id in 1..=3 {
///     let sender = sender.clone();
///     tokio::spawn(async move { sender.send(|encoder| encoder.request(&Id::from(id), "ping", &())).await });
/// }
/// drop(sender);
/// // The writer ends when the last sender is gone.
/// let Tokio(lines) = writing.await??;
/// assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), 3);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "tokio"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct LineSender {
    shared: Arc<Sender>,
}

/// One sender and all its clones.
struct Sender {
    outbox: Arc<Outbox>,
}

impl Drop for Sender {
    fn drop(&mut self) {
        let writer = {
            let mut queue = self.outbox.queue();
            queue.senders -= 1;
            if queue.senders == 0 { queue.writer.take() } else { None }
        };
        writer.into_iter().for_each(Waker::wake);
    }
}

impl LineSender {
    pub(super) fn new(outbox: &Arc<Outbox>) -> Self {
        outbox.queue().senders += 1;
        Self { shared: Arc::new(Sender { outbox: Arc::clone(outbox) }) }
    }

    /// Sends what `write` encodes, all of it or nothing, once there is room for it.
    ///
    /// If the future is dropped before, `write` isn't called.
    ///
    /// # Errors
    ///
    /// The message can't be encoded, or the writer has failed or is gone. Nothing has been sent.
    pub async fn send(
        &self,
        write: impl FnOnce(&mut Encoder<&mut BytesMut>) -> Result<(), EncodeError>,
    ) -> Result<(), SendError> {
        let room = self.room().await?;
        self.encode(room, write)
    }

    /// Sends what `write` encodes, or fails if there is no room for it.
    ///
    /// # Errors
    ///
    /// As for [`send`](Self::send), or the backlog is [full](SendError::Full); then `write` hasn't been called.
    pub fn try_send(
        &self,
        write: impl FnOnce(&mut Encoder<&mut BytesMut>) -> Result<(), EncodeError>,
    ) -> Result<(), SendError> {
        let room = self.outbox().queue().take_spare()?;
        self.encode(room, write)
    }

    /// Sends a line that was encoded elsewhere, once there is room for it.
    ///
    /// # Errors
    ///
    /// The writer has failed or is gone.
    pub async fn send_line(&self, line: &Line) -> Result<(), SendError> {
        let mut room = self.room().await?;
        room.extend_from_slice(line.as_bytes());
        self.outbox().add(room);
        Ok(())
    }

    /// Sends an answer, once there is room for it. From then on its request counts as answered.
    ///
    /// If the future is dropped before, so is the answer, and its request is [still
    /// owed](crate::ledger::Inbound::dropped).
    ///
    /// # Errors
    ///
    /// The writer has failed or is gone. The answer is in the error.
    pub async fn answer(&self, answer: Answer) -> Result<(), Unsent> {
        let mut unsent = Some(answer);
        poll_fn(|cx| {
            let Some(answer) = unsent.take() else { return Poll::Ready(Ok(())) };
            match self.outbox().accept(answer, Some(cx.waker())) {
                Err(Unsent { error: SendError::Full, answer }) => {
                    unsent = answer;
                    Poll::Pending
                }
                done => Poll::Ready(done),
            }
        })
        .await
    }

    /// Sends an answer, or fails if there is no room for it.
    ///
    /// # Errors
    ///
    /// The backlog is [full](SendError::Full), or the writer has failed or is gone. The answer is in the error.
    pub fn try_answer(&self, answer: Answer) -> Result<(), Unsent> {
        self.outbox().accept(answer, None)
    }

    fn outbox(&self) -> &Outbox {
        &self.shared.outbox
    }

    async fn room(&self) -> Result<BytesMut, SendError> {
        poll_fn(|cx| self.outbox().poll_room(cx)).await
    }

    fn encode(
        &self,
        mut room: BytesMut,
        write: impl FnOnce(&mut Encoder<&mut BytesMut>) -> Result<(), EncodeError>,
    ) -> Result<(), SendError> {
        // Not under the lock: whatever the caller does here, it may want to send too.
        let encoded = write(&mut Encoder::append_to(&mut room, self.outbox().rules));
        match encoded {
            Ok(()) => self.outbox().add(room),
            Err(_) => self.outbox().queue().keep(room),
        }
        Ok(encoded?)
    }
}

impl fmt::Debug for LineSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineSender").field("rules", &self.outbox().rules).finish_non_exhaustive()
    }
}

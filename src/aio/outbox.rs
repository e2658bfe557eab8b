//! Lines on their way from many tasks to one writer.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;

use crate::encode::{EncodeError, Encoder, Line};
use crate::io::{Pending, SendError, Unsent};
use crate::ledger::{Answer, Wakes};
use crate::message::Rules;

/// What senders and the writer share.
pub(super) struct Outbox {
    pub(super) rules: Rules,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    pending: Pending,
    /// Senders that aren't clones of each other.
    senders: usize,
    /// The task that writes, while it has nothing to write.
    writer: Option<Waker>,
    /// Whether the writer has found nothing to write once since something was added or somebody woken.
    has_paused: bool,
    /// Tasks that wait for room, in their order.
    waiting: BTreeMap<u64, Waker>,
    next_number: u64,
}

impl Outbox {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, queue: Mutex::default() }
    }

    pub(super) fn set_backlog(&self, bytes: usize) {
        self.queue().pending.backlog = bytes;
    }

    #[inline]
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether lines may be added.
    #[cfg(feature = "futures-io")]
    pub(super) fn has_room(&self) -> Result<bool, SendError> {
        match self.queue().pending.check() {
            Ok(()) => Ok(true),
            Err(SendError::Full) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Adds lines to what is to be written.
    pub(super) fn add(&self, lines: BytesMut) -> Result<(), SendError> {
        let woken = {
            let mut queue = self.queue();
            if queue.pending.is_broken {
                return Err(SendError::Broken);
            }
            queue.pending.add(lines);
            queue.wake_after_adding()
        };
        woken.wake();
        Ok(())
    }

    /// Adds an answer to what is to be written, and settles it. If it can't be added, it is left where it is.
    ///
    /// `anyway` is whether it may exceed the backlog.
    #[inline]
    fn accept(&self, answer: &mut Option<Answer>, anyway: bool) -> Result<(), SendError> {
        // Dropped after the lock: whoever waits for the last answer may want to send too.
        let mut wakes = Wakes::default();
        let woken = {
            let mut queue = self.queue();
            match queue.pending.check() {
                Err(SendError::Full) if anyway => {}
                Err(error) => return Err(error),
                Ok(()) => {}
            }
            // Under the lock: whoever finds that nothing is in flight any more must find the line here.
            if let Some(answer) = answer.take() {
                answer.accept_quietly_into(&mut queue.pending.lines, &mut wakes);
            }
            queue.wake_after_adding()
        };
        woken.wake();
        Ok(())
    }

    /// Adds an answer as [`accept`](Self::accept) does, at once or not at all.
    pub(super) fn accept_now(&self, answer: Answer, anyway: bool) -> Result<(), Unsent> {
        let mut answer = Some(answer);
        self.accept(&mut answer, anyway).map_err(|error| Unsent { error, answer })
    }

    /// Whether to let other tasks add more before writing: one large write takes less time than several small ones.
    pub(super) fn is_growing(&self, growth: &mut Growth) -> bool {
        let queue = self.queue();
        let len = queue.pending.lines.len();
        let may_grow = queue.senders > 0 && (1..ENOUGH).contains(&len) && queue.pending.check().is_ok();
        growth.goes_on(len, may_grow)
    }

    /// Swaps `lines`, which have been written, for those that are to be written next. False if there are none.
    pub(super) fn take_lines(&self, lines: &mut BytesMut) -> bool {
        self.queue().pending.take(lines)
    }

    /// Notes how much of what was taken is not written yet, and wakes the first who waits for room if there is some.
    pub(super) fn has_written(&self, left: usize) {
        let next = {
            let mut queue = self.queue();
            queue.pending.taken = left;
            queue.next_waiting()
        };
        next.into_iter().for_each(Waker::wake);
    }

    /// Ready when there is something to write, or no more will come: whether there is something.
    pub(super) fn poll_lines(&self, cx: &mut Context<'_>) -> Poll<bool> {
        let waker = cx.waker().clone();
        let mut queue = self.queue();
        if queue.pending.lines.is_empty() && queue.senders > 0 {
            let before = queue.writer.replace(waker);
            // Whoever was woken last may be a future that is kept but no longer polled, and nothing else would happen here.
            // So the next one is woken if nothing has come when this is polled again.
            queue.has_paused = !queue.has_paused;
            let next = if queue.has_paused { None } else { queue.next_waiting() };
            let are_more = !queue.waiting.is_empty();
            // In this order: dropping a waker may drop a task, and with it a sender.
            drop(queue);
            drop(before);
            next.into_iter().for_each(Waker::wake);
            if are_more {
                cx.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
        Poll::Ready(!queue.pending.lines.is_empty())
    }

    /// Nothing will be written any more.
    pub(super) fn break_off(&self) {
        let (waiting, writer) = {
            let mut queue = self.queue();
            queue.pending.is_broken = true;
            (mem::take(&mut queue.waiting), queue.writer.take())
        };
        waiting.into_values().for_each(Waker::wake);
        // Senders may live on, but must not keep its task.
        drop(writer);
    }
}

/// Whether more is added while the writer lets others have a turn.
pub(super) struct Growth {
    /// How much there was before the last turn.
    len: usize,
    /// How many turns others had since the last write.
    turns: u32,
    /// How many more writes to do without such a turn.
    skipped: u32,
    /// How many to do so after the next turn that brings too little.
    penalty: u32,
}

/// How much is written at once, without waiting for more.
const ENOUGH: usize = 64 << 10;

/// How much a turn of others must bring to be worth another one. Nobody knows how long a turn takes, so lines don't wait for
/// a trickle.
const WORTH: usize = 512;

/// How many turns of others a line waits to be written with more at most.
const TURNS: u32 = 16;

/// How many writes are done without such a turn at most, if the last turns brought too little.
const MOST_SKIPPED: u32 = 255;

impl Growth {
    /// The first write doesn't wait for anything.
    pub(super) fn new() -> Self {
        Self { len: 0, turns: 0, skipped: 1, penalty: 1 }
    }

    /// Whether to let others have a turn before writing `len` bytes.
    fn goes_on(&mut self, len: usize, may_grow: bool) -> bool {
        if self.turns == 0 && (!may_grow || self.skipped > 0) {
            self.skipped -= u32::from(may_grow);
            return false;
        }
        let has_grown = len >= self.len + if self.turns == 0 { 1 } else { WORTH };
        if may_grow && has_grown && self.turns < TURNS {
            (self.len, self.turns) = (len, self.turns + 1);
            return true;
        }
        if self.turns == 1 && !has_grown {
            self.skipped = self.penalty;
            self.penalty = (2 * self.penalty).min(MOST_SKIPPED);
        } else {
            self.penalty = 1;
        }
        (self.len, self.turns) = (0, 0);
        false
    }
}

impl Queue {
    /// The first who waits for room, if there is some. Whoever is woken wakes the next, after adding something or giving
    /// up.
    #[inline]
    fn next_waiting(&mut self) -> Option<Waker> {
        if self.waiting.is_empty() || matches!(self.pending.check(), Err(SendError::Full)) {
            return None;
        }
        self.waiting.pop_first().map(|(_, waker)| waker)
    }

    /// Whom to wake when something was added: the writer, and the next who waits if there is still room.
    #[inline]
    fn wake_after_adding(&mut self) -> Woken {
        self.has_paused = false;
        let writer = if self.pending.lines.is_empty() { None } else { self.writer.take() };
        Woken { writer, next: self.next_waiting() }
    }
}

/// Whom to wake once the lock is released: nobody knows what a waker does.
#[must_use]
struct Woken {
    writer: Option<Waker>,
    next: Option<Waker>,
}

impl Woken {
    #[inline]
    fn wake(self) {
        if let Some(writer) = self.writer {
            writer.wake();
        }
        if let Some(next) = self.next {
            next.wake();
        }
    }
}

/// Waits for its turn to add something.
///
/// Those who wait are woken one after the other, in their order. One who gives up after it was woken wakes the next.
struct Turn<'o> {
    outbox: &'o Outbox,
    /// While it waits.
    number: Option<u64>,
}

impl<'o> Turn<'o> {
    fn new(outbox: &'o Outbox) -> Self {
        Self { outbox, number: None }
    }

    /// Has `waker` woken when there is room.
    fn wait(&mut self, waker: &Waker) {
        let waker = waker.clone();
        let mut queue = self.outbox.queue();
        let number = *self.number.get_or_insert_with(|| {
            queue.next_number += 1;
            queue.next_number
        });
        let before = queue.waiting.insert(number, waker);
        // There may be room since it was asked for.
        let woken = queue.next_waiting();
        drop(queue);
        drop(before);
        woken.into_iter().for_each(Waker::wake);
    }
}

/// An empty buffer to encode into, as soon as lines may be added.
impl Future for Turn<'_> {
    type Output = Result<BytesMut, SendError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let spare = self.outbox.queue().pending.take_spare();
        match spare {
            Err(SendError::Full) => {
                self.wait(cx.waker());
                Poll::Pending
            }
            spare => Poll::Ready(spare),
        }
    }
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.give_up(number);
        }
    }
}

impl Turn<'_> {
    #[cold]
    fn give_up(&self, number: u64) {
        let mut queue = self.outbox.queue();
        let waker = queue.waiting.remove(&number);
        // It was woken, and somebody else may be able to use that.
        let next = if waker.is_none() { queue.next_waiting() } else { None };
        drop(queue);
        drop(waker);
        next.into_iter().for_each(Waker::wake);
    }
}

/// Sends an answer when it is its turn.
///
/// By hand, and not `async`: it is a part of each task that answers a request, and half as large this way.
struct Answering<'o> {
    /// Until it is sent.
    answer: Option<Answer>,
    turn: Turn<'o>,
}

impl Future for Answering<'_> {
    type Output = Result<(), Unsent>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { answer, turn } = &mut *self;
        match turn.outbox.accept(answer, false) {
            Ok(()) => Poll::Ready(Ok(())),
            Err(SendError::Full) => {
                turn.wait(cx.waker());
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(Unsent { error, answer: answer.take() })),
        }
    }
}

/// Sends lines to a [`LineWriter`](super::LineWriter), from any task or thread.
///
/// Clones are cheap. A message counts as sent once it is in the writer's queue. While the queue exceeds the
/// [backlog](super::LineWriter::backlog), the `async` methods wait, and the others fail with [`SendError::Full`].
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
        let room = Turn::new(self.outbox()).await?;
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
        let room = self.outbox().queue().pending.take_spare()?;
        self.encode(room, write)
    }

    /// Sends a line that was encoded elsewhere, once there is room for it.
    ///
    /// # Errors
    ///
    /// The writer has failed or is gone.
    pub async fn send_line(&self, line: &Line) -> Result<(), SendError> {
        let mut room = Turn::new(self.outbox()).await?;
        room.extend_from_slice(line.as_bytes());
        self.outbox().add(room)
    }

    /// Sends an answer, once there is room for it. From then on its request counts as answered.
    ///
    /// If the future is dropped before, so is the answer, and its request is [still
    /// owed](crate::ledger::Inbound::dropped).
    ///
    /// # Errors
    ///
    /// The writer has failed or is gone. The answer is in the error.
    #[inline]
    pub fn answer(&self, answer: Answer) -> impl Future<Output = Result<(), Unsent>> + Unpin {
        Answering { answer: Some(answer), turn: Turn::new(self.outbox()) }
    }

    /// Sends an answer, or fails if there is no room for it.
    ///
    /// # Errors
    ///
    /// The backlog is [full](SendError::Full), or the writer has failed or is gone. The answer is in the error.
    pub fn try_answer(&self, answer: Answer) -> Result<(), Unsent> {
        self.outbox().accept_now(answer, false)
    }

    fn outbox(&self) -> &Outbox {
        &self.shared.outbox
    }

    fn encode(
        &self,
        mut room: BytesMut,
        write: impl FnOnce(&mut Encoder<&mut BytesMut>) -> Result<(), EncodeError>,
    ) -> Result<(), SendError> {
        // Not under the lock: whatever the caller does here, it may want to send too.
        match write(&mut Encoder::append_to(&mut room, self.outbox().rules)) {
            Ok(()) => self.outbox().add(room),
            Err(error) => {
                self.outbox().queue().pending.keep(room);
                Err(error.into())
            }
        }
    }
}

impl fmt::Debug for LineSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineSender").field("rules", &self.outbox().rules).finish_non_exhaustive()
    }
}

//! State shared by a connection, its tickets and its handles: the peer's requests in flight and the outgoing queue.
//!
//! Both are under one lock, so a request is settled and its answer queued in one step: once nothing is in flight, every
//! answer is in the queue.

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;

use crate::encode::{EncodeError, Encoder, RpcError};
use crate::ledger::{InFlight, Number, Refusal, Settled};
use crate::message::{Id, Rules};
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard};

use super::Config;
use super::batches::{BatchLimits, Batches};
use super::queue::Queue;
use super::ticket::{Body, encode_answer};

/// The lowest ceiling: while a response is awaited, at least this many bytes may be buffered before reading pauses.
const MIN_CEILING: usize = 1 << 20;

/// Reading may continue.
const CONTINUE: u8 = 0;
/// The peer doesn't read its answers. Reading continues only while a response is awaited; if it paused then too, two
/// peers, each with answers for the other, would wait forever.
const PAUSE_UNLESS_AWAITING: u8 = 1;
/// So many bytes are buffered that reading pauses in any case.
const PAUSE: u8 = 2;

/// The most memory that the spare bodies of settled requests may keep allocated.
const MAX_SPARE_BYTES: usize = 128 << 10;

pub(crate) struct Link {
    /// The rules for answers, which leave room for an error whatever the limits.
    pub(super) rules: Rules,
    pub(super) backlog: usize,
    ceiling: usize,
    limits: BatchLimits,
    /// How many bytes are queued, readable without the lock.
    level: AtomicUsize,
    /// Whether to pause reading, readable without the lock: one of [`CONTINUE`], [`PAUSE_UNLESS_AWAITING`] and
    /// [`PAUSE`].
    pause: AtomicU8,
    /// Counts the events that may have stopped a request, so that a ticket looks up its own request only after one of
    /// them.
    stops: AtomicU64,
    /// Counts writes, to detect a peer that has stopped reading.
    progress: AtomicU64,
    /// How many requests to the peer are in flight.
    pub(super) calls: AtomicUsize,
    /// Whether the connection is gone, readable without the lock.
    is_broken: AtomicBool,
    /// Whether the writer will be woken when there is something to write, readable without the lock.
    is_writer_waiting: AtomicBool,
    state: Mutex<LinkState>,
}

pub(super) struct LinkState {
    pub(super) in_flight: InFlight,
    pub(super) batches: Batches,
    pub(super) queue: Queue,
    #[allow(clippy::vec_box, reason = "they are moved to tickets and back")]
    spares: Vec<Box<Body>>,
    spare_bytes: usize,
    /// Woken when there is something to write, or when there never will be again.
    writer: Option<Waker>,
    reader: Option<(Until, Waker)>,
}

/// What a reader waits for. A broken connection ends the wait too, unless noted.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// Few enough bytes are buffered to continue reading.
    Room,
    /// No request of the peer is in flight.
    Idle,
    /// The outgoing stream is closed.
    Closed,
    /// No request to the peer is in flight. Used after the connection has broken.
    NoCalls,
}

/// Wakers to wake or to drop once the lock is released.
#[derive(Default)]
pub(super) struct DeferredWakers {
    pub(super) to_wake: Vec<Waker>,
    pub(super) to_drop: Vec<Waker>,
}

impl Drop for DeferredWakers {
    #[inline]
    fn drop(&mut self) {
        self.to_wake.drain(..).for_each(Waker::wake);
    }
}

/// Guards the locked state. Dropping it carries out what the change made possible: it queues lines whose turn it is,
/// and wakes the writer, the reader and senders.
pub(super) struct LinkGuard<'l> {
    link: &'l Link,
    state: MutexGuard<'l, LinkState>,
    /// Dropped after the lock is released: fields are dropped in this order.
    pub(super) wakers: DeferredWakers,
}

impl LinkGuard<'_> {
    pub(super) fn parts(&mut self) -> (&mut LinkState, &mut DeferredWakers) {
        (&mut self.state, &mut self.wakers)
    }
}

impl Deref for LinkGuard<'_> {
    type Target = LinkState;

    fn deref(&self) -> &LinkState {
        &self.state
    }
}

impl DerefMut for LinkGuard<'_> {
    fn deref_mut(&mut self) -> &mut LinkState {
        &mut self.state
    }
}

impl Drop for LinkGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let Self { link, state, wakers } = self;
        let state = &mut **state;
        state.queue.push_waiting(link.backlog, wakers);
        link.level.store(state.queue.level(), Ordering::Relaxed);
        link.pause.store(link.pause_for(&state.queue), Ordering::Relaxed);
        if state.writer.is_some() && state.should_wake_writer() {
            wakers.to_wake.extend(state.writer.take());
        }
        link.is_writer_waiting.store(state.writer.is_some(), Ordering::Relaxed);
        if let Some((until, _)) = state.reader
            && link.is_reached(until, state)
        {
            wakers.to_wake.extend(state.reader.take().map(|(_, waker)| waker));
        }
    }
}

impl LinkState {
    fn should_wake_writer(&self) -> bool {
        self.queue.has_lines() || self.queue.is_broken() || self.is_ended()
    }

    /// Whether everything that will ever be sent has been written, so that the stream can be closed.
    pub(super) fn is_ended(&self) -> bool {
        self.queue.is_ending() && self.is_quiet()
    }

    /// Whether nothing is in flight, queued or being written.
    fn is_quiet(&self) -> bool {
        self.in_flight.len() == 0 && self.queue.is_empty()
    }
}

impl Link {
    pub(super) fn new(config: &Config) -> Self {
        // A null id always fits, however low the limit on ids.
        let rules = config.rules.for_answers();
        let rules = rules.max_id_len(rules.limits.max_id_len.max("null".len()));
        Self {
            rules,
            backlog: config.backlog,
            ceiling: config.backlog.saturating_mul(64).max(MIN_CEILING),
            limits: BatchLimits::new(&rules, config.backlog),
            level: AtomicUsize::new(0),
            pause: AtomicU8::new(CONTINUE),
            stops: AtomicU64::new(0),
            progress: AtomicU64::new(0),
            calls: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
            is_writer_waiting: AtomicBool::new(false),
            state: Mutex::new(LinkState {
                in_flight: InFlight::new(config.in_flight),
                batches: Batches::default(),
                queue: Queue::new(config.framing),
                spares: Vec::new(),
                spare_bytes: 0,
                writer: None,
                reader: None,
            }),
        }
    }

    #[inline]
    pub(super) fn lock(&self) -> LinkGuard<'_> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        LinkGuard { link: self, state, wakers: DeferredWakers::default() }
    }

    /// How many bytes are queued or being written.
    #[inline]
    pub(crate) fn level(&self) -> usize {
        self.level.load(Ordering::Relaxed)
    }

    /// Whether too much is buffered to read more.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        let pause = self.pause.load(Ordering::Relaxed);
        pause != CONTINUE && self.is_paused(pause)
    }

    #[cold]
    fn is_paused(&self, pause: u8) -> bool {
        pause == PAUSE || self.calls.load(Ordering::Relaxed) == 0
    }

    /// Whether reading should pause. Below the ceiling, only answers count: senders wait when there is no room, and if
    /// reading paused as well, two peers that send to each other would wait forever.
    #[inline]
    fn pause_for(&self, queue: &Queue) -> u8 {
        match () {
            () if queue.buffered() <= self.backlog => CONTINUE,
            () if queue.buffered() > self.ceiling => PAUSE,
            () if queue.answers() > self.backlog => PAUSE_UNLESS_AWAITING,
            () => CONTINUE,
        }
    }

    fn is_reached(&self, until: Until, state: &LinkState) -> bool {
        match until {
            Until::NoCalls => self.calls.load(Ordering::Relaxed) == 0,
            _ if state.queue.is_broken() => true,
            Until::Room => match self.pause_for(&state.queue) {
                CONTINUE => true,
                pause => !self.is_paused(pause),
            },
            Until::Idle => state.in_flight.len() == 0,
            Until::Closed => state.queue.is_closed(),
        }
    }

    /// Admits a request, and fills in the body of its ticket.
    #[inline]
    pub(super) fn admit(&self, id: &Id<'_>, batch: Option<u32>) -> Result<Box<Body>, Refusal> {
        let id = &id.shareable();
        // Locks without the guard: no waiter can be waiting for a request to be admitted.
        let mut locked = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *locked;
        let number = state.in_flight.admit(id, batch)?;
        if let Some(batch) = batch {
            state.batches.expect(batch);
        }
        let mut body = match state.spares.pop() {
            Some(spare) => {
                state.spare_bytes -= spare.line.capacity();
                spare
            }
            None => Box::default(),
        };
        // Must happen under the lock, so that no later stop of this request is missed.
        *body.seen_stops.get_mut() = self.stops.load(Ordering::Relaxed);
        drop(locked);
        id.copy_to(&mut body.id);
        (body.number, body.in_batch) = (number, batch.is_some());
        Ok(body)
    }

    /// Settles a request with the answer in its body, or without an answer if that line is empty.
    #[inline]
    pub(super) fn settle(&self, mut body: Box<Body>) {
        let mut locked = self.lock();
        let (state, wakers) = locked.parts();
        if let Some(settled) = state.in_flight.settle(body.number.slot) {
            wakers.to_drop.extend(settled.waker);
            if settled.is_cancelled && !self.rules.dialect.answers_cancelled {
                body.line.clear();
            }
            let LinkState { batches, queue, .. } = state;
            self.put_answer(settled.batch, &mut body.line, body.is_alone, batches, queue);
            if let Some(key) = settled.batch {
                batches.complete_one(key, queue);
            }
        }
        // Keep the body for the next request, unless the spares already hold too much memory.
        body.line.clear();
        body.is_alone = false;
        if state.spare_bytes + body.line.capacity() <= MAX_SPARE_BYTES && state.spares.len() < 1024 {
            state.spare_bytes += body.line.capacity();
            state.spares.push(body);
        }
    }

    /// Queues the answer to a line, or to an entry of a batch, that has no ticket.
    pub(super) fn answer(&self, batch: Option<u32>, write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>) {
        let mut line = BytesMut::new();
        let is_alone = encode_answer(&mut line, self.rules, batch.is_some(), write);
        debug_assert!(is_alone.is_ok(), "no room for an answer: {is_alone:?}");
        let mut locked = self.lock();
        let LinkState { batches, queue, .. } = &mut *locked;
        self.put_answer(batch, &mut line, is_alone.unwrap_or(true), batches, queue);
    }

    /// Notes that all entries of a batch have been handed out.
    pub(super) fn seal_batch(&self, key: u32) {
        let mut locked = self.lock();
        let state = &mut *locked;
        state.batches.complete_one(key, &mut state.queue);
    }

    /// Marks a request as cancelled by its caller. Returns false if it isn't in flight.
    pub(super) fn cancel(&self, id: &Id<'_>) -> bool {
        let mut locked = self.lock();
        let found = locked.in_flight.cancel(id);
        self.stops.fetch_add(1, Ordering::Release);
        let is_found = found.is_some();
        locked.wakers.to_wake.extend(found.flatten());
        is_found
    }

    /// Whether work on a request can stop. Takes the lock only if some request was stopped since the last call.
    #[inline]
    pub(super) fn is_stopped(&self, body: &Body) -> bool {
        let stops = self.stops.load(Ordering::Acquire);
        body.seen_stops.load(Ordering::Relaxed) != stops && self.look_up_stopped(body, stops)
    }

    #[cold]
    fn look_up_stopped(&self, body: &Body, stops: u64) -> bool {
        let is_stopped = self.lock().in_flight.is_stopped(body.number.slot);
        if !is_stopped {
            body.seen_stops.store(stops, Ordering::Relaxed);
        }
        is_stopped
    }

    pub(super) fn poll_stopped(&self, body: &Body, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_stopped(body) {
            return Poll::Ready(());
        }
        let waker = cx.waker().clone();
        let mut locked = self.lock();
        let before = locked.in_flight.wake_when_stopped(body.number.slot, waker);
        locked.wakers.to_drop.extend(before);
        match locked.in_flight.is_stopped(body.number.slot) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// Refuses all further requests.
    pub(super) fn close(&self) {
        self.lock().in_flight.close();
    }

    /// Answers all requests in flight with `error`, even if their tickets still exist, and refuses further ones.
    pub(super) fn abort(&self, error: &RpcError) {
        let mut locked = self.lock();
        let (LinkState { in_flight, batches, queue, .. }, wakers) = locked.parts();
        in_flight.close();
        in_flight.settle_all(|id, settled| self.answer_early(id, settled, error, batches, queue, wakers));
        self.stops.fetch_add(1, Ordering::Release);
    }

    /// Answers one request with `error`, even if its ticket still exists, unless it was answered before.
    pub(crate) fn expire(&self, number: Number, error: &RpcError) {
        let mut locked = self.lock();
        let (LinkState { in_flight, batches, queue, .. }, wakers) = locked.parts();
        if let Some((id, settled)) = in_flight.settle_early(number) {
            self.answer_early(&id, settled, error, batches, queue, wakers);
            self.stops.fetch_add(1, Ordering::Release);
        }
    }

    fn answer_early(
        &self,
        id: &Id<'_>,
        settled: Settled,
        error: &RpcError,
        batches: &mut Batches,
        queue: &mut Queue,
        wakers: &mut DeferredWakers,
    ) {
        wakers.to_wake.extend(settled.waker);
        let mut line = BytesMut::new();
        let mut is_alone = true;
        if !settled.is_cancelled || self.rules.dialect.answers_cancelled {
            let encoded = encode_answer(&mut line, self.rules, settled.batch.is_some(), |encoder| {
                encoder.error(id, error).or_else(|_| encoder.error(id, &RpcError::internal()))
            });
            is_alone = encoded.unwrap_or(true);
        }
        self.put_answer(settled.batch, &mut line, is_alone, batches, queue);
        if let Some(key) = settled.batch {
            batches.complete_one(key, queue);
        }
    }

    /// Queues an answer, or adds it to the array of its batch.
    #[inline]
    fn put_answer(
        &self,
        batch: Option<u32>,
        line: &mut BytesMut,
        is_alone: bool,
        batches: &mut Batches,
        queue: &mut Queue,
    ) {
        match batch {
            Some(key) if !is_alone => batches.add(key, line, self.limits, queue),
            _ => queue.push_answer(line),
        }
    }

    /// Ends the outgoing stream once everything is answered and written.
    pub(crate) fn end(&self) {
        self.lock().queue.end();
    }

    /// Notes that the outgoing stream is closed.
    pub(crate) fn mark_closed(&self) {
        self.lock().queue.close();
    }

    /// Marks the connection as gone: nothing more is written, and work on requests can stop.
    pub(crate) fn break_off(&self) {
        let mut locked = self.lock();
        let (LinkState { in_flight, batches, queue, .. }, wakers) = locked.parts();
        in_flight.close();
        in_flight.settle_all(|_, settled| wakers.to_wake.extend(settled.waker));
        *batches = Batches::default();
        queue.break_off(wakers);
        self.is_broken.store(true, Ordering::Release);
        self.stops.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.lock().in_flight.len()
    }

    /// Whether nothing is in flight, queued or being written.
    pub(super) fn is_quiet(&self) -> bool {
        self.lock().is_quiet()
    }

    /// Swaps a buffer of written lines for the lines to write next.
    pub(crate) fn take(&self, written: &mut BytesMut) {
        self.lock().queue.take(written);
    }

    /// Notes how many of the taken bytes aren't written yet.
    pub(crate) fn set_unwritten(&self, bytes: usize) {
        self.progress.fetch_add(1, Ordering::Relaxed);
        self.lock().queue.set_unwritten(bytes);
    }

    /// A number that changes whenever something is written.
    pub(crate) fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    /// Notes how many requests to the peer are in flight. Returns whether to [recheck](Self::recheck_waiters) the
    /// reader.
    #[inline]
    pub(super) fn set_calls(&self, before: usize, after: usize) -> bool {
        self.calls.store(after, Ordering::Relaxed);
        let is_first = before == 0 && after > 0;
        let is_last = before > 0 && after == 0;
        // The first call lets a paused reader continue; after the last, the reader of a broken connection can end.
        is_first && self.pause.load(Ordering::Relaxed) != CONTINUE || is_last && self.is_broken()
    }

    /// Wakes the reader if it waits for a condition that now holds.
    pub(super) fn recheck_waiters(&self) {
        drop(self.lock());
    }

    /// Whether there is nothing to write, and the writer that asked last will be woken when there is.
    #[inline]
    pub(crate) fn is_writer_waiting(&self) -> bool {
        self.is_writer_waiting.load(Ordering::Relaxed)
    }

    /// Stops waking the writer, which is running and will [ask](Self::poll_writable) before it waits again. Otherwise a
    /// task that reads, answers and writes would wake itself with each answer.
    #[inline]
    pub(crate) fn forget_writer(&self) {
        if self.is_writer_waiting() {
            let writer = self.lock().writer.take();
            drop(writer);
        }
    }

    /// Ready when there is something to write, or when there never will be again. Otherwise registers the waker.
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<Writable> {
        let mut locked = self.lock();
        if locked.queue.has_lines() {
            return Poll::Ready(Writable::Lines);
        }
        if locked.is_ended() {
            // Anything queued from now on would never be written.
            locked.queue.start_closing();
        }
        if !locked.queue.will_be_written() {
            return Poll::Ready(Writable::Ended);
        }
        let before = match &locked.writer {
            Some(waker) if waker.will_wake(cx.waker()) => None,
            _ => locked.writer.replace(cx.waker().clone()),
        };
        locked.wakers.to_drop.extend(before);
        Poll::Pending
    }

    /// Ready when `until` is reached, or the connection is broken. Otherwise registers the waker.
    pub(crate) fn poll_until(&self, until: Until, cx: &mut Context<'_>) -> Poll<()> {
        let mut locked = self.lock();
        if self.is_reached(until, &locked) {
            return Poll::Ready(());
        }
        let before = locked.reader.replace((until, cx.waker().clone()));
        locked.wakers.to_drop.extend(before.map(|(_, waker)| waker));
        Poll::Pending
    }
}

/// The outcome of [`Link::poll_writable`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writable {
    Lines,
    /// The stream can be closed.
    Ended,
}

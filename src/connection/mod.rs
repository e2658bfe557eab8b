//! A connection to a peer, without I/O: bytes in, events out, bytes out.
//!
//! [`Connection`] does everything that a program on either side of JSON-RPC needs, except reading and writing: it
//! decodes, hands out a [`Ticket`] for each request, answers bad lines, refuses repeated ids, joins the answers to a
//! batch, notices cancellations, matches responses to requests, and queues what it sends. It has no runtime, starts no
//! thread and reads no clock. [`io::Connection`](crate::io::Connection) and [`aio::Connection`](crate::aio::Connection)
//! drive one over a stream; this module is for programs with an event loop of their own, and for tests.
//!
//! ```
//! use wireline::Rules;
//! use wireline::connection::{Connection, Event};
//!
//! // The client asks, and keeps a value for the answer.
//! let mut client = Connection::new(Rules::json_rpc());
//! client.peer().request("add", &(1, 2), "the sum")?;
//!
//! // The server answers requests. Batches, bad lines and repeated ids need no code.
//! let mut server: Connection<()> = Connection::new(Rules::json_rpc());
//! server.feed(client.pending());
//! while let Some(event) = server.next_event() {
//!     if let Event::Request(request, ticket) = event {
//!         match &*request.method() {
//!             "add" => ticket.settle(request.params_as::<(i64, i64)>().map(|(a, b)| a + b)),
//!             _ => ticket.fail(&wireline::RpcError::method_not_found()),
//!         }
//!     }
//! }
//!
//! // The client gets the answer together with its value.
//! client.feed(server.pending());
//! let Some(Event::Response(response, "the sum")) = client.next_event() else { panic!() };
//! assert_eq!(response.result().unwrap().as_json(), "3");
//! # Ok::<(), wireline::connection::SendError>(())
//! ```
//!
//! # An event loop
//!
//! 1. Take events with [`next_event`](Connection::next_event) until there are none.
//! 2. Write [`pending`](Connection::pending) bytes, and call [`advance`](Connection::advance) with the number of bytes
//!    written. If that made room in the backlog, there may be more events to take before anything is read.
//! 3. While [`wants_read`](Connection::wants_read), let [`read_with`](Connection::read_with) read, or
//!    [`feed`](Connection::feed) it.
//! 4. Stop when the connection [is done](Connection::is_done).
//!
//! Tickets and [`Peer`]s can be used by other threads and tasks. [`poll_wake`](Connection::poll_wake) wakes the loop
//! when they have queued something.
//!
//! # What dropping means
//!
//! - A dropped [`Ticket`] answers with an internal error, or "Request cancelled" if the request was cancelled.
//! - A dropped [`Reply`] cancels its call, and tells the peer.
//! - A dropped [`Connection`] stops handlers (their tickets [are cancelled](Ticket::is_cancelled)) and fails callers.

mod batches;
mod call;
mod config;
mod event;
pub(crate) mod handler;
mod incident;
mod link;
#[cfg(all(test, wireline_loom))]
mod models;
mod peer;
mod queue;
mod reply;
mod send_error;
mod sending;
mod ticket;

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::BytesMut;

use crate::decode::parse::Entries;
use crate::decode::{Decoder, Fault, Input, Ready};
use crate::encode::RpcError;
use crate::ledger::Outbound;
use crate::message::{Frame, Id, Message, Notification, Response, Rules};
use crate::sync::atomic::Ordering;
use crate::sync::{Mutex, MutexGuard};

pub use crate::ledger::{Refusal, Stray};
pub use call::Call;
pub use config::Config;
pub use event::{Event, Lost};
pub(crate) use handler::{Report, most_notifications};
pub use incident::Incident;
pub(crate) use link::{Link, Until, Writable};
pub use peer::Peer;
pub use reply::{CallError, Caller, Reply};
pub(crate) use reply::{block_on, block_on_for};
pub use send_error::SendError;
pub use sending::Sending;
pub use ticket::Ticket;

/// A connection to a peer, without I/O.
///
/// `T` is a value that the connection keeps for each request to the peer and returns with its response. See the
/// [module](self) for an example.
pub struct Connection<T> {
    input: Input,
    /// A line that was found but not taken yet.
    ready: Option<Ready>,
    batch: Option<BatchEntries>,
    /// The line number of the last batch.
    batch_line: Option<u64>,
    /// Requests to the peer that won't be answered because the stream has ended.
    lost: VecDeque<(Id<'static>, T)>,
    /// The lines being written.
    lines: BytesMut,
    written: usize,
    shared: Arc<Shared<T>>,
}

/// A batch whose entries are being handed out.
struct BatchEntries {
    entries: Entries<'static>,
    key: u32,
}

/// State that a connection shares with its [`Peer`]s.
struct Shared<T> {
    rules: Rules,
    link: Arc<Link>,
    /// `None` once the stream has ended.
    calls: Mutex<Option<Outbound<T>>>,
}

impl<T> Shared<T> {
    fn calls(&self) -> MutexGuard<'_, Option<Outbound<T>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Connection<T> {
    /// A new connection.
    #[must_use]
    pub fn new(config: impl Into<Config>) -> Self {
        let config = config.into();
        let shared = Shared {
            rules: config.rules,
            link: Arc::new(Link::new(&config)),
            calls: Mutex::new(Some(Outbound::new(config.calls))),
        };
        Self {
            input: Input::new(Decoder::new(config.rules).framing(config.framing)),
            ready: None,
            batch: None,
            batch_line: None,
            lost: VecDeque::new(),
            lines: BytesMut::new(),
            written: 0,
            shared: Arc::new(shared),
        }
    }

    /// A handle for sending requests and notifications, from any thread or task, also while an event is borrowed.
    #[must_use]
    pub fn peer(&self) -> Peer<T> {
        Peer { shared: Arc::clone(&self.shared) }
    }

    /// Copies the next bytes from the peer into the buffer. They can be split anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.input.decoder.feed(bytes);
    }

    /// Takes a frame that didn't come through [`feed`](Self::feed), from a transport with its own message boundaries
    /// such as WebSocket, and returns its event. If it is a batch, [`next_event`](Self::next_event) returns the events
    /// of its other entries.
    ///
    /// Each line that is [pending](Self::pending) is then a message to send.
    ///
    /// ```
    /// use wireline::connection::{Connection, Event};
    /// use wireline::{Frame, Rules};
    ///
    /// let rules = Rules::json_rpc();
    /// let mut connection: Connection<()> = Connection::new(rules);
    /// let text = b"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1, \"method\": \"ping\"\n}";
    /// let Some(Event::Request(_, ticket)) = connection.accept(Frame::parse(text, &rules)) else { panic!() };
    /// ticket.respond("pong");
    /// assert_eq!(connection.pending(), b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"pong\"}\n");
    /// ```
    pub fn accept<'a>(&mut self, frame: Result<Frame<'a>, Fault>) -> Option<Event<'a, T>> {
        let Self { shared, batch, batch_line, .. } = self;
        shared.frame(frame, batch, batch_line, |value, _| value)
    }

    /// Calls `read` to read the next bytes from the peer, straight into the buffer. Returns false once the stream has
    /// ended, that is, `read` has returned 0.
    ///
    /// # Errors
    ///
    /// The error that `read` returned.
    pub fn read_with(&mut self, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<bool> {
        self.input.fill(read)?;
        Ok(!self.input.ended)
    }

    /// Ends the incoming stream. A last line without a line feed becomes an event too, and requests to the peer that
    /// are in flight are [lost](Event::Lost).
    pub fn finish(&mut self) {
        self.input.ended = true;
        self.input.decoder.finish();
    }

    /// Whether to read more: the stream hasn't ended, and the peer keeps up with its answers.
    #[must_use]
    pub fn wants_read(&self) -> bool {
        !self.input.ended && !self.shared.link.is_full()
    }

    /// The next event. `None` until more bytes are read, or, if too many are waiting, until some are written.
    #[inline(always)]
    pub fn next_event(&mut self) -> Option<Event<'_, T>> {
        if !self.is_ready() {
            return None;
        }
        self.take_event(|value, _| value)
    }

    /// When the next request to the peer expires, if any has a [deadline](Peer::set_deadline).
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.shared.calls().as_ref()?.next_deadline()
    }

    /// The next request to the peer whose deadline isn't after `now`, as an [`Event::Lost`]. Also tells the peer that
    /// the request is cancelled.
    pub fn next_expired(&mut self, now: Instant) -> Option<Event<'static, T>> {
        let (id, value) = self.shared.with_calls(|calls| calls.take_expired(now))??;
        self.shared.send_cancellation(&id);
        Some(Event::Lost(id, value, Lost::Expired))
    }

    /// Whether there are bytes to write.
    #[must_use]
    pub fn wants_write(&self) -> bool {
        self.written < self.lines.len() || self.shared.link.level() > 0
    }

    /// The next bytes to write: whole lines, or the rest of lines that were written in part.
    ///
    /// They stay pending until [`advance`](Self::advance) marks them as written.
    pub fn pending(&mut self) -> &[u8] {
        if self.written == self.lines.len() {
            self.written = 0;
            self.shared.link.take(&mut self.lines);
        }
        &self.lines[self.written..]
    }

    /// Marks this many of the [pending](Self::pending) bytes as written.
    pub fn advance(&mut self, bytes: usize) {
        self.written = (self.written + bytes).min(self.lines.len());
        self.shared.link.set_unwritten(self.lines.len() - self.written);
    }

    /// Like [`advance`](Self::advance), for callers that ask for more [pending](Self::pending) bytes right away. That
    /// takes the lock anyway, so this doesn't if all bytes are written.
    pub(crate) fn advance_before_pending(&mut self, bytes: usize) {
        match self.written + bytes >= self.lines.len() {
            true => self.written = self.lines.len(),
            false => self.advance(bytes),
        }
    }

    /// Ready when there are bytes to write, or when the last request in flight is settled and none will follow.
    /// Otherwise registers the waker, which any thread or task may wake.
    pub fn poll_wake(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.written < self.lines.len() {
            return Poll::Ready(());
        }
        if self.input.ended && self.shared.link.poll_until(Until::Idle, cx).is_ready() {
            return Poll::Ready(());
        }
        self.shared.link.poll_writable(cx).map(|_| ())
    }

    /// Refuses all further requests. Those in flight can still be answered.
    pub fn close(&self) {
        self.shared.link.close();
    }

    /// Answers all requests in flight with `error`, even if their tickets still exist, and refuses further ones.
    pub fn abort(&self, error: &RpcError) {
        self.shared.link.abort(error);
    }

    /// The number of the peer's requests in flight: those whose ticket isn't settled.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.shared.link.in_flight()
    }

    /// Whether the incoming stream has ended, all events have been taken, every request is answered, and every byte is
    /// written.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_drained() && self.shared.link.is_quiet()
    }

    /// How many entries of a batch are still to come, if the event from this line was an entry of a batch.
    ///
    /// Works for the most recent batch only.
    #[must_use]
    pub fn entries_left(&self, line: u64) -> Option<usize> {
        let left = self.batch.as_ref().map_or(0, |batch| batch.entries.len());
        (self.batch_line == Some(line)).then_some(left)
    }

    /// Whether the incoming stream has ended and all its events have been taken.
    pub(crate) fn is_drained(&self) -> bool {
        self.input.ended
            && self.ready.is_none()
            && self.batch.is_none()
            && self.lost.is_empty()
            && self.input.decoder.buffered() == 0
            && !self.input.decoder.is_discarding()
            && self.shared.calls().as_ref().is_none_or(|calls| calls.in_flight() == 0)
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.shared.link
    }

    /// Whether the incoming stream has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.input.ended
    }

    /// Whether the entries of a batch are being handed out.
    pub(crate) fn is_in_batch(&self) -> bool {
        self.batch.is_some()
    }

    /// Whether a request to the peer is in flight.
    pub(crate) fn awaits_responses(&self) -> bool {
        self.shared.link.calls.load(Ordering::Relaxed) > 0
    }

    /// Whether handlers may be waiting for the peer, either for a response or for room to send.
    pub(crate) fn handlers_may_wait(&self) -> bool {
        self.awaits_responses() || self.shared.link.level() > self.shared.link.backlog
    }

    /// Ready when no request to the peer is in flight, after the connection has [broken](Link::break_off). Otherwise
    /// registers the waker.
    pub(crate) fn poll_no_calls(&self, cx: &mut Context<'_>) -> Poll<()> {
        // Registers the waker before checking, so that a request that ends in between wakes it.
        let polled = self.shared.link.poll_until(Until::NoCalls, cx);
        match self.shared.calls().as_ref().is_some_and(|calls| calls.in_flight() > 0) {
            true => polled,
            false => Poll::Ready(()),
        }
    }

    /// Whether the last read filled the buffer, so that there is probably more to read.
    pub(crate) fn was_read_full(&self) -> bool {
        self.input.was_full
    }

    /// The event for a message or a fault that didn't come through the decoder.
    pub(crate) fn event_of<'a>(&self, message: Result<Message<'a>, Fault>) -> Event<'a, T> {
        match message {
            Ok(message) => self.shared.message(message, None, |value, _| value),
            Err(fault) => self.shared.fault(fault, None, |value, _| value),
        }
    }

    /// Whether there is an event to take.
    #[inline(always)]
    pub(crate) fn is_ready(&mut self) -> bool {
        if self.ready.is_some() {
            return true;
        }
        if self.shared.link.is_full() {
            // Callers whose request is lost needn't wait until the peer reads.
            return !self.lost.is_empty();
        }
        if self.batch.is_some() {
            return true;
        }
        self.ready = self.input.decoder.next_ready();
        self.ready.is_some() || self.input.ended && self.collect_lost()
    }

    #[cold]
    fn collect_lost(&mut self) -> bool {
        if let Some(mut calls) = self.shared.calls().take() {
            self.lost.extend(calls.drain());
            self.shared.link.calls.store(0, Ordering::Relaxed);
        }
        !self.lost.is_empty()
    }

    /// Takes the event that [is ready](Self::is_ready). `settle` maps the value kept for a request.
    ///
    /// The event is built in place: it is large, and moving it right after it was written would stall the CPU.
    #[inline(always)]
    pub(crate) fn take_event<U>(
        &mut self,
        settle: impl FnOnce(T, Result<&Response<'_>, &Lost>) -> U,
    ) -> Option<Event<'_, U>> {
        let Some(ready) = self.ready.take() else { return self.take_entry_or_lost(settle) };
        let Self { input, shared, batch, batch_line, .. } = self;
        shared.frame(input.decoder.take(ready)?, batch, batch_line, settle)
    }

    #[cold]
    fn take_entry_or_lost<U>(
        &mut self,
        settle: impl FnOnce(T, Result<&Response<'_>, &Lost>) -> U,
    ) -> Option<Event<'_, U>> {
        if self.batch.is_some() {
            return self.shared.next_entry(&mut self.batch, settle);
        }
        let (id, value) = self.lost.pop_front()?;
        Some(Event::Lost(id, settle(value, Err(&Lost::Ended)), Lost::Ended))
    }
}

impl<T> Shared<T> {
    #[inline(always)]
    fn frame<'a, U>(
        &self,
        frame: Result<Frame<'a>, Fault>,
        batch: &mut Option<BatchEntries>,
        batch_line: &mut Option<u64>,
        settle: impl FnOnce(T, Result<&Response<'_>, &Lost>) -> U,
    ) -> Option<Event<'a, U>> {
        match frame {
            Ok(Frame::Message(message)) => Some(self.message(message, None, settle)),
            Ok(Frame::Batch(frame)) => {
                let key = self.link.lock().batches.open();
                *batch_line = Some(frame.line());
                *batch = Some(BatchEntries { entries: frame.into_owned().into_iter(), key });
                self.next_entry(batch, settle)
            }
            Err(fault) => Some(self.fault(fault, None, settle)),
        }
    }

    #[inline(always)]
    fn message<'a, U>(
        &self,
        message: Message<'a>,
        batch: Option<u32>,
        settle: impl FnOnce(T, Result<&Response<'_>, &Lost>) -> U,
    ) -> Event<'a, U> {
        match message {
            Message::Request(request) => match self.link.admit(request.id(), batch) {
                Ok(body) => Event::Request(request, Ticket::new(&self.link, body)),
                Err(refusal) => {
                    self.refuse(request.id(), refusal, batch);
                    Event::Refused(request, refusal)
                }
            },
            Message::Notification(notification) => match self.cancelled(&notification) {
                Some(id) => {
                    let is_found = self.link.cancel(&id);
                    Event::Cancelled(notification, id, is_found)
                }
                None => Event::Notification(notification),
            },
            Message::Response(response) => {
                let settled = self.with_calls(|calls| calls.settle(&response)).unwrap_or(Err(Stray::Unknown));
                match settled {
                    Ok(value) => {
                        let value = settle(value, Ok(&response));
                        Event::Response(response, value)
                    }
                    Err(stray) => self.loose_or_stray(response, stray, settle),
                }
            }
        }
    }

    /// The event of a response whose id isn't that of a request in flight.
    #[cold]
    fn loose_or_stray<'a, U>(
        &self,
        response: Response<'a>,
        stray: Stray,
        settle: impl FnOnce(T, Result<&Response<'_>, &Lost>) -> U,
    ) -> Event<'a, U> {
        match response.id().and_then(|id| self.withdraw_loosely(id)) {
            Some((_, value)) => {
                let response = response.with_loose_id();
                let value = settle(value, Ok(&response));
                Event::Response(response, value)
            }
            None => Event::Stray(response, stray),
        }
    }

    /// Gives up on the request with this id in the other type, if the rules permit that.
    fn withdraw_loosely(&self, id: &Id<'_>) -> Option<(Id<'static>, T)> {
        if !self.rules.allows_loose_ids() {
            return None;
        }
        let withdrawn = self.with_calls(|calls| calls.withdraw_loosely(id)).flatten()?;
        #[cfg(feature = "tracing")]
        tracing::warn!(is_string = id.is_string(), "response with an id of another type than the request's");
        Some(withdrawn)
    }

    #[cold]
    fn refuse(&self, id: &Id<'_>, refusal: Refusal, batch: Option<u32>) {
        self.link.answer(batch, |encoder| {
            encoder.error(id, &refusal.error()).or_else(|_| encoder.error(id, &RpcError::internal()))
        });
    }

    #[cold]
    fn fault<U>(
        &self,
        fault: Fault,
        batch: Option<u32>,
        settle: impl FnOnce(T, Result<&Response<'_>, &Lost>) -> U,
    ) -> Event<'static, U> {
        // The fault may be a response that a request waits for.
        if !fault.is_call()
            && let Some(id) = fault.id()
            && let Some((id, value)) = self
                .with_calls(|calls| calls.withdraw(id))
                .flatten()
                .map(|value| (id.clone(), value))
                .or_else(|| self.withdraw_loosely(id))
        {
            let lost = Lost::Faulty(Box::new(fault));
            return Event::Lost(id, settle(value, Err(&lost)), lost);
        }
        if let Some(reply) = fault.reply() {
            // Leaves out the position of the fault if there is no room for it.
            let brief = RpcError::new(reply.code(), reply.message());
            self.link.answer(batch, |encoder| {
                encoder.error_reply(&reply).or_else(|_| encoder.error(reply.id().as_ref(), &brief))
            });
        }
        Event::Fault(fault)
    }

    /// The id of the request that a notification cancels, if it is the dialect's cancellation.
    #[inline]
    fn cancelled(&self, notification: &Notification<'_>) -> Option<Id<'static>> {
        let cancellation = self.rules.dialect.cancellation.as_ref()?;
        if notification.method() != cancellation.method {
            return None;
        }
        let id = notification.params()?.pointer(cancellation.id)?;
        Id::parse(id.as_json()).map(Id::into_owned)
    }

    fn next_entry<U>(
        &self,
        batch: &mut Option<BatchEntries>,
        settle: impl FnOnce(T, Result<&Response<'_>, &Lost>) -> U,
    ) -> Option<Event<'static, U>> {
        let BatchEntries { entries, key } = batch.as_mut()?;
        let key = *key;
        let event = match entries.next()? {
            Ok(message) => self.message(message, Some(key), settle),
            Err(fault) => {
                fault.log();
                self.fault(fault, Some(key), settle)
            }
        };
        if entries.len() == 0 {
            *batch = None;
            self.link.seal_batch(key);
        }
        Some(event)
    }
}

/// Stops handlers, and fails callers.
impl<T> Drop for Connection<T> {
    fn drop(&mut self) {
        self.shared.link.break_off();
        let calls = self.shared.calls().take();
        drop(calls);
    }
}

impl<T> fmt::Debug for Connection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("rules", &self.shared.rules)
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}

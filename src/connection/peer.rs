//! The other side of a connection, as a handle.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use serde::Serialize;

use crate::encode::{EncodeError, Encoder, Line, RpcError};
use crate::ledger::Outbound;
use crate::message::{AnyMessage, Id, Request, Rules};

use super::sending::Sending;
use super::{SendError, Shared};

/// A handle to the other side of a connection, for sending requests and notifications.
///
/// Clones are cheap and can be sent to any thread or task. A handle doesn't keep its connection alive: once the
/// connection is gone, sending fails with [`SendError::Closed`].
pub struct Peer<T> {
    pub(super) shared: Arc<Shared<T>>,
}

impl<T> Peer<T> {
    /// Sends a request, and keeps `value` until its response arrives or the request is lost.
    ///
    /// # Errors
    ///
    /// It can't be encoded; too many bytes are waiting or too many requests are in flight; or the connection has ended.
    pub fn request(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        value: T,
    ) -> Result<Id<'static>, SendError> {
        self.send(value, |encoder, id| encoder.request(id, method, params))
    }

    /// Sends another peer's request under an id of this connection, as a proxy does, and keeps `value` until its
    /// response arrives or the request is lost. Only the id is replaced.
    ///
    /// # Errors
    ///
    /// As for [`request`](Self::request).
    pub fn forward_request(&self, request: &Request<'_>, value: T) -> Result<Id<'static>, SendError> {
        self.send(value, |encoder, id| encoder.forward_with_id(request, id))
    }

    /// Keeps `value` for a request that already has an id, until its response arrives or the request is lost.
    ///
    /// This is for adapters whose SDK assigns ids itself and refers to them in other messages. Send the request with
    /// [`send_line`](Self::send_line). Returns false if the connection has ended, too many requests are in flight, or a
    /// request with this id already is.
    ///
    /// ```
    /// use wireline::connection::{Connection, Event};
    /// use wireline::{Id, Rules, to_line};
    ///
    /// let mut connection = Connection::new(Rules::mcp());
    /// let (peer, id) = (connection.peer(), Id::from("made elsewhere"));
    /// assert!(peer.track(&id, "its value"));
    /// let line = to_line(peer.rules(), |encoder| encoder.request(&id, "ping", &()))?;
    /// peer.send_line(line).wait()?;
    ///
    /// connection.feed(b"{\"jsonrpc\":\"2.0\",\"id\":\"made elsewhere\",\"result\":{}}\n");
    /// assert!(matches!(connection.next_event(), Some(Event::Response(_, "its value"))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn track(&self, id: &Id<'_>, value: T) -> bool {
        self.shared.with_calls(|calls| calls.track(id, value)).unwrap_or_default()
    }

    /// Sets when a request expires. Returns false if it isn't in flight.
    ///
    /// Nothing happens automatically at that time; see [`Connection::next_expired`](super::Connection::next_expired).
    ///
    /// wasm32-unknown-unknown has no [`Instant`]s. There, [cancel](Self::cancel) the request from a timer of the host.
    pub fn set_deadline(&self, id: &Id<'_>, at: Instant) -> bool {
        self.shared.with_calls(|calls| calls.set_deadline(id, at)).unwrap_or_default()
    }

    /// Gives up on a request: returns its value, and sends the peer the dialect's cancellation, if it has one.
    ///
    /// Returns `None` if the request isn't in flight. A response that was already on its way is then a
    /// [stray](super::Event::Stray).
    pub fn cancel(&self, id: &Id<'_>) -> Option<T> {
        let value = self.withdraw(id)?;
        self.shared.send_cancellation(id);
        Some(value)
    }

    /// Gives up on a request without telling the peer: returns its value, or `None` if the request isn't in flight.
    pub fn withdraw(&self, id: &Id<'_>) -> Option<T> {
        self.shared.with_calls(|calls| calls.withdraw(id)).flatten()
    }

    /// Sends a notification, at once or, if too many bytes are waiting to be written, as soon as there is room.
    ///
    /// Await the result, or call [`wait`](Sending::wait), to send no faster than the peer reads. Dropping it takes back
    /// a notification that still waits.
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Sending {
        self.sending(|encoder| encoder.notification(method, params))
    }

    /// Sends a message as it was received; otherwise like [`notify`](Self::notify).
    ///
    /// This is for notifications. For a request, use [`forward_request`](Self::forward_request), which matches its
    /// response; for a response, use [`Ticket::relay`](super::Ticket::relay), which makes sure that the request is
    /// answered only once.
    pub fn forward(&self, message: &impl AnyMessage) -> Sending {
        self.sending(|encoder| encoder.forward(message))
    }

    /// Sends a line that is already encoded; otherwise like [`notify`](Self::notify).
    ///
    /// If the line contains requests, [`track`](Self::track) them first.
    pub fn send_line(&self, line: Line) -> Sending {
        let line = line.into_bytes().try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        Sending::new(&self.shared.link, Ok(line))
    }

    /// Sends a notification if there is room.
    ///
    /// # Errors
    ///
    /// It can't be encoded, too many bytes are waiting, or the connection has ended.
    pub fn try_notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), SendError> {
        let mut line = BytesMut::new();
        Encoder::append_to(&mut line, self.shared.rules).notification(method, params)?;
        self.shared.try_push(&mut line)
    }

    /// Sends a message as it was received, if there is room; otherwise like [`forward`](Self::forward).
    ///
    /// # Errors
    ///
    /// As for [`try_notify`](Self::try_notify), or the rules don't permit the message.
    pub fn try_forward(&self, message: &impl AnyMessage) -> Result<(), SendError> {
        let mut line = BytesMut::new();
        Encoder::append_to(&mut line, self.shared.rules).forward(message)?;
        self.shared.try_push(&mut line)
    }

    /// Refuses all further requests of the peer. Those in flight can still be answered.
    pub fn close(&self) {
        self.shared.link.close();
    }

    /// Answers all of the peer's requests in flight with `error`, even if their tickets still exist, and refuses
    /// further ones.
    pub fn abort(&self, error: &RpcError) {
        self.shared.link.abort(error);
    }

    /// Ends the outgoing stream once all requests in flight are answered and everything is written.
    ///
    /// No more requests or notifications can be sent. If the peer is a child process, this closes its stdin, which
    /// tells it to exit.
    pub fn end(&self) {
        self.shared.link.end();
    }

    /// The rules of the connection.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.shared.rules
    }

    fn send(
        &self,
        value: T,
        write: impl FnOnce(&mut Encoder<'_>, &Id<'static>) -> Result<(), EncodeError>,
    ) -> Result<Id<'static>, SendError> {
        let (id, mut line) = self.issue(value, write)?;
        match self.shared.try_push(&mut line) {
            Ok(()) => Ok(id),
            Err(error) => match self.withdraw(&id) {
                Some(_) => Err(error),
                // The connection has just ended, so the request is reported as lost instead.
                None => Ok(id),
            },
        }
    }

    /// Keeps `value` under a new id, and encodes the request with that id.
    pub(super) fn issue(
        &self,
        value: T,
        write: impl FnOnce(&mut Encoder<'_>, &Id<'static>) -> Result<(), EncodeError>,
    ) -> Result<(Id<'static>, BytesMut), SendError> {
        let issued = self.shared.with_calls(|calls| calls.issue(value)).ok_or(SendError::Closed)?;
        let id = issued.ok_or(SendError::Full)?;
        // Removes the value again if encoding fails or panics.
        let guard = WithdrawGuard { peer: self, id };
        let mut line = BytesMut::with_capacity(128);
        write(&mut Encoder::append_to(&mut line, self.shared.rules), &guard.id)?;
        Ok((guard.keep(), line))
    }

    fn sending(&self, write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Sending {
        let mut line = BytesMut::new();
        let encoded = write(&mut Encoder::append_to(&mut line, self.shared.rules));
        Sending::new(&self.shared.link, encoded.map_err(SendError::Encode).map(|()| line))
    }
}

impl<T> Shared<T> {
    /// Runs `change` on the requests to the peer. Returns `None` once the connection has ended.
    pub(super) fn with_calls<R>(&self, change: impl FnOnce(&mut Outbound<T>) -> R) -> Option<R> {
        let mut calls = self.calls();
        let open = calls.as_mut()?;
        let before = open.in_flight();
        let changed = change(open);
        let after = open.in_flight();
        let must_recheck = self.link.set_calls(before, after);
        // Release the lock first: a task that is woken may need it.
        drop(calls);
        if must_recheck {
            self.link.recheck_waiters();
        }
        Some(changed)
    }

    /// Tells the peer that a request was cancelled. Ignores the backlog: there is at most one such message for each
    /// request.
    pub(super) fn send_cancellation(&self, id: &Id<'_>) {
        let Some(cancellation) = &self.rules.dialect.cancellation else { return };
        let params = CancelParams { member: &cancellation.id[1..], id };
        let mut line = BytesMut::new();
        if Encoder::append_to(&mut line, self.rules).notification(cancellation.method, &params).is_ok() {
            self.link.lock().queue.push(&mut line);
        }
    }

    fn try_push(&self, line: &mut BytesMut) -> Result<(), SendError> {
        self.link.lock().queue.try_push(line, self.link.backlog)
    }
}

/// Withdraws a request when dropped, unless `keep` was called.
struct WithdrawGuard<'p, T> {
    peer: &'p Peer<T>,
    id: Id<'static>,
}

impl<T> WithdrawGuard<'_, T> {
    fn keep(mut self) -> Id<'static> {
        let id = mem::replace(&mut self.id, Id::NULL);
        mem::forget(self);
        id
    }
}

impl<T> Drop for WithdrawGuard<'_, T> {
    fn drop(&mut self) {
        drop(self.peer.withdraw(&self.id));
    }
}

/// The params of a cancellation.
struct CancelParams<'a> {
    member: &'static str,
    id: &'a Id<'a>,
}

impl Serialize for CancelParams<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.member, self.id)])
    }
}

impl<T> Clone for Peer<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> fmt::Debug for Peer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("rules", &self.shared.rules).finish_non_exhaustive()
    }
}

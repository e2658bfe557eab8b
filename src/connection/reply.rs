//! Calls whose response a task or a thread waits for.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::encode::{EncodeError, Encoder, RpcError};
use crate::message::{Id, Request, Response};
use crate::sync::{Mutex, MutexGuard};

use super::sending::Sending;
use super::{Lost, Peer, SendError};

/// The value that the drivers keep for each request. It delivers the response to a [`Reply`].
///
/// Only the drivers, [`io::Connection`](crate::io::Connection) and [`aio::Connection`](crate::aio::Connection), can deliver
/// through it. In an event loop of your own, keep a value of your own.
pub struct Caller(Arc<Mutex<ReplySlot>>);

#[derive(Default)]
struct ReplySlot {
    outcome: Option<Result<Response<'static>, Lost>>,
    waker: Option<Waker>,
}

fn lock(slot: &Mutex<ReplySlot>) -> MutexGuard<'_, ReplySlot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Caller {
    /// Delivers a response, or the reason why there won't be one.
    #[inline]
    pub(crate) fn deliver(self, outcome: Result<&Response<'_>, &Lost>) {
        self.fill(match outcome {
            Ok(response) => Ok(response.clone().into_owned()),
            Err(lost) => Err(lost.clone()),
        });
    }

    fn fill(&self, outcome: Result<Response<'static>, Lost>) {
        let waker = {
            let mut slot = lock(&self.0);
            if slot.outcome.is_some() {
                return;
            }
            slot.outcome = Some(outcome);
            slot.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// If a caller is dropped before it delivered anything, the connection is gone.
impl Drop for Caller {
    fn drop(&mut self) {
        if Arc::strong_count(&self.0) > 1 {
            self.fill(Err(Lost::Ended));
        }
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Caller")
    }
}

impl Peer<Caller> {
    /// Calls a method, and returns a future of its result.
    ///
    /// The request is sent at once or, if too many bytes are waiting to be written, as soon as there is room. So
    /// several calls run at the same time without `join!`. Dropping the reply cancels the call and sends the peer the
    /// dialect's cancellation.
    pub fn call<R: DeserializeOwned>(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Reply<R> {
        self.start(|encoder, id| encoder.request(id, method, params))
    }

    /// Sends another peer's request under an id of this connection, as a proxy does. Only the id is replaced.
    ///
    /// Await its [`response`](Reply::response), and pass it on with [`Ticket::relay`](super::Ticket::relay).
    pub fn relay(&self, request: &Request<'_>) -> Reply<()> {
        self.start(|encoder, id| encoder.forward_with_id(request, id))
    }

    /// Like [`relay`](Self::relay), but also replaces the value at a JSON pointer, as a gateway that renames tools
    /// does. See [`Encoder::forward_with`].
    pub fn relay_with(&self, request: &Request<'_>, pointer: &str, value: &(impl Serialize + ?Sized)) -> Reply<()> {
        self.start(|encoder, id| encoder.forward_with(request, id, pointer, value))
    }

    fn start<R>(&self, write: impl FnOnce(&mut Encoder<'_>, &Id<'static>) -> Result<(), EncodeError>) -> Reply<R> {
        let slot = Arc::new(Mutex::new(ReplySlot::default()));
        let (id, line) = match self.issue(Caller(Arc::clone(&slot)), write) {
            Ok((id, line)) => (Some(id), Ok(line)),
            Err(error) => (None, Err(error)),
        };
        let sending = Some(Sending::new(&self.shared.link, line));
        Reply { peer: self.clone(), id, slot, sending, result: PhantomData }
    }
}

/// The reply to a [call](Peer::call): a future of its result. A thread can [`wait`](Self::wait) for it.
///
/// Dropping it cancels the call.
#[must_use = "dropping it cancels the call"]
pub struct Reply<R> {
    peer: Peer<Caller>,
    /// `None` if the request wasn't sent, or its outcome was taken.
    id: Option<Id<'static>>,
    slot: Arc<Mutex<ReplySlot>>,
    /// `None` once the request is queued.
    sending: Option<Sending>,
    result: PhantomData<fn() -> R>,
}

impl<R> Reply<R> {
    /// The id of the request, until its outcome is known.
    #[must_use]
    pub fn id(&self) -> Option<&Id<'static>> {
        self.id.as_ref()
    }

    /// Whether the request still waits for room, because too many bytes are waiting to be written.
    ///
    /// A proxy that would rather refuse a request than hold it can drop the reply in that case: nothing was sent.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.sending.as_ref().is_some_and(Sending::is_waiting)
    }

    /// The whole response. A proxy uses this to pass on results and errors alike.
    ///
    /// # Errors
    ///
    /// The request wasn't sent, or no response will come.
    pub async fn response(mut self) -> Result<Response<'static>, CallError> {
        poll_fn(|cx| self.poll_response(cx)).await
    }

    /// Blocks until there is a [`response`](Self::response).
    ///
    /// # Errors
    ///
    /// As for [`response`](Self::response).
    pub fn wait_response(self) -> Result<Response<'static>, CallError> {
        block_on(self.response())
    }

    fn poll_response(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response<'static>, CallError>> {
        let mut slot = lock(&self.slot);
        let outcome = slot.outcome.take().filter(|_| self.id.is_some());
        let before = match outcome {
            Some(_) => None,
            None => slot.waker.replace(cx.waker().clone()),
        };
        drop(slot);
        drop(before);
        if let Some(outcome) = outcome {
            self.id = None;
            // If the connection ended while the request waited for room, it wasn't sent.
            let is_unsent = self.sending.take().is_some_and(|mut sending| sending.withdraw());
            return Poll::Ready(match is_unsent {
                true => Err(CallError::Send(SendError::Closed)),
                false => outcome.map_err(CallError::Lost),
            });
        }
        if let Some(sending) = &mut self.sending
            && let Poll::Ready(sent) = Pin::new(sending).poll(cx)
        {
            self.sending = None;
            if let Err(error) = sent {
                if let Some(id) = self.id.take() {
                    drop(self.peer.withdraw(&id));
                }
                return Poll::Ready(Err(CallError::Send(error)));
            }
        }
        Poll::Pending
    }
}

impl<R: DeserializeOwned> Reply<R> {
    /// Blocks until there is a result.
    ///
    /// # Errors
    ///
    /// The request wasn't sent, the peer answered with an error, the result doesn't fit `R`, or no response will come.
    pub fn wait(self) -> Result<R, CallError> {
        block_on(self)
    }

    /// Blocks until there is a result, or `timeout` has passed. Then the call is cancelled.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait), and [`Lost::Expired`] after the timeout.
    pub fn wait_for(self, timeout: Duration) -> Result<R, CallError> {
        block_on_for(self, timeout).unwrap_or(Err(CallError::Lost(Lost::Expired)))
    }
}

impl<R: DeserializeOwned> Future for Reply<R> {
    type Output = Result<R, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_response(cx).map(|response| match response?.outcome() {
            Ok(result) => result.deserialize().map_err(CallError::Decode),
            Err(error) => Err(CallError::Rpc(error.into())),
        })
    }
}

impl<R> Drop for Reply<R> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let is_unsent = self.sending.as_mut().is_some_and(Sending::withdraw);
        drop(match is_unsent {
            true => self.peer.withdraw(&id),
            false => self.peer.cancel(&id),
        });
    }
}

impl<R> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why a call has no result.
///
/// Reasons may be added, so a `match` needs a wildcard arm. The text contains none of the peer's bytes; if the peer
/// sent an error, its message is in the [`RpcError`].
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The request wasn't sent.
    Send(SendError),
    /// The peer answered with an error.
    Rpc(RpcError),
    /// The result doesn't fit the type.
    Decode(serde_json::Error),
    /// No response will come.
    Lost(Lost),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(error) => fmt::Display::fmt(error, f),
            Self::Rpc(error) => fmt::Display::fmt(error, f),
            Self::Decode(_) => f.write_str("the result doesn't fit the expected type"),
            Self::Lost(lost) => fmt::Display::fmt(lost, f),
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Send(error) => Some(error),
            Self::Rpc(_) | Self::Decode(_) | Self::Lost(_) => None,
        }
    }
}

/// Lets a handler pass on the peer's error with `?`. Other failures become an internal error that says why.
impl From<CallError> for RpcError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Rpc(error) => error,
            error => Self::new(Self::INTERNAL_ERROR, error.to_string()),
        }
    }
}

/// The kind is that of the [`SendError`], or [`Other`](io::ErrorKind::Other).
impl From<CallError> for io::Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Send(error) => error.into(),
            error => Self::other(error),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to completion on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Runs a future on this thread, and drops it after `timeout`.
pub(crate) fn block_on_for<F: Future>(future: F, timeout: Duration) -> Option<F::Output> {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let start = Instant::now();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        thread::park_timeout(timeout.checked_sub(start.elapsed()).filter(|left| !left.is_zero())?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{Config, Connection, Event};
    use crate::message::Rules;

    /// A request from `line`, and the connection that relays it.
    fn received(line: &str) -> (Request<'static>, Connection<Caller>) {
        let mut clients: Connection<()> = Connection::new(Rules::mcp());
        clients.feed(line.as_bytes());
        let Some(Event::Request(request, _)) = clients.next_event() else { panic!() };
        (request.into_owned(), Connection::new(Config::new(Rules::mcp()).backlog(10)))
    }

    #[test]
    fn relays_with_another_value() {
        let line = r#"{"id":"a", "method":"m","params":{"name":"x.y","n":1.10},"jsonrpc":"2.0"}"#.to_owned() + "\n";
        let (request, mut server) = received(&line);
        let reply = server.peer().relay_with(&request, "/params/name", "y");
        let sent = line.replace("\"a\"", reply.id().unwrap().as_json()).replace("x.y", "y");
        assert_eq!(server.pending(), sent.as_bytes());
        let failed = server.peer().relay_with(&request, "/params/title", "y");
        assert!(matches!(failed.wait_response(), Err(CallError::Send(SendError::Encode(_)))));
    }

    #[test]
    fn becomes_an_answer() {
        let passed_on = RpcError::from(CallError::Rpc(RpcError::new(7, "no")));
        assert_eq!((passed_on.code(), passed_on.message()), (7, "no"));
        let lost = RpcError::from(CallError::Lost(Lost::Ended));
        assert_eq!((lost.code(), lost.message()), (RpcError::INTERNAL_ERROR, "the connection has ended"));
        let unsent = RpcError::from(SendError::Closed);
        assert_eq!((unsent.code(), unsent.message()), (RpcError::INTERNAL_ERROR, "the connection has ended"));
    }

    #[test]
    fn knows_whether_it_waits() {
        let (request, mut server) = received("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n");
        let (first, second) = (server.peer().relay(&request), server.peer().relay(&request));
        let third = server.peer().relay(&request);
        assert_eq!([&first, &second, &third].map(Reply::is_waiting), [false, true, true]);
        drop(third);
        let written = server.pending().len();
        server.advance(written);
        assert!(!second.is_waiting());
        assert_eq!(server.pending().iter().filter(|&&byte| byte == b'\n').count(), 1); // the third was taken back
        let closed = server.peer().relay(&request);
        drop(server);
        assert_eq!([&first, &second, &closed].map(Reply::is_waiting), [false; 3]);
    }
}

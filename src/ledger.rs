//! Who owes whom an answer: exactly one response for each request.
//!
//! [`Inbound`] is the side that is asked. Admitting a request gives a [`Ticket`]; answering consumes it, so that nothing
//! is answered twice, and a ticket that is dropped is answered by an internal error, so that nobody waits for ever.
//! [`Outbound`] is the side that asks. It makes the ids, keeps a value for each request, and gives it back once.
//!
//! Both do no I/O, have a limit, and compare ids by type and value: `1` is `1.0`, but not `"1"`.
//!
//! ```
//! use wireline::ledger::{Inbound, Outbound};
//! use wireline::{Decoder, Encoder, Frame, Message, Rules};
//!
//! let rules = Rules::json_rpc();
//! let (mut wire, mut back) = (Encoder::new(rules), Encoder::new(rules));
//!
//! // The client asks, and remembers what for.
//! let mut asked = Outbound::new(100);
//! let id = asked.issue("greeting")?;
//! wire.request(&id, "hello", &())?;
//!
//! // The server takes the request in, and answers it.
//! let owed = Inbound::new(rules, 100);
//! let mut decoder = Decoder::new(rules);
//! decoder.feed(&wire.take());
//! let Some(Ok(Frame::Message(Message::Request(request)))) = decoder.next_frame() else { panic!() };
//! let ticket = owed.admit(&request)?;
//! ticket.respond(&mut back, "world")?;
//!
//! // The client finds what the answer is to.
//! let mut decoder = Decoder::new(rules);
//! decoder.feed(&back.take());
//! let Some(Ok(Frame::Message(Message::Response(response)))) = decoder.next_frame() else { panic!() };
//! assert_eq!(asked.settle(&response)?, "greeting");
//! assert!(asked.settle(&response).is_err()); // only once
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::BorrowMut;
use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;

use crate::encode_error::EncodeError;
use crate::encoder::{BatchEncoder, Encoder};
use crate::id::Id;
use crate::message::{Request, Response};
use crate::payload::Payload;
use crate::rpc_error::RpcError;
use crate::rules::{Dialect, Rules};

/// For each request that may be in flight, so many bytes of ids are kept at the most.
const ID_BYTES: usize = 1024;

/// The requests that have come in and are to be answered.
///
/// Clones share one ledger, for threads and tasks.
#[derive(Clone)]
pub struct Inbound {
    shared: Arc<Shared>,
}

struct Shared {
    dialect: Dialect,
    limit: usize,
    owed: Mutex<Owed>,
    on_drop: Option<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct Owed {
    /// By value: the spelling is the ticket's. Whether it has been cancelled.
    requests: HashMap<Id<'static>, bool>,
    id_bytes: usize,
    /// Tickets that were dropped, with whether they had been cancelled. Each still counts as in flight.
    dropped: Vec<(Id<'static>, bool)>,
}

impl Inbound {
    /// A ledger for requests under `rules`, of which at most `limit` may be in flight.
    pub fn new(rules: Rules, limit: usize) -> Self {
        Self { shared: Arc::new(Shared { dialect: rules.dialect, limit, owed: Mutex::default(), on_drop: None }) }
    }

    /// Calls `wake` whenever a ticket has been dropped, from wherever that was, so that whoever writes answers gets to
    /// [`answer_dropped`](Self::answer_dropped).
    ///
    /// It is set once, before the ledger is cloned or used; otherwise the ledger stays as it was.
    #[must_use]
    pub fn on_drop(mut self, wake: impl Fn() + Send + Sync + 'static) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.on_drop = Some(Box::new(wake));
        }
        self
    }

    /// Takes in a request, which is from now on to be answered.
    ///
    /// # Errors
    ///
    /// Its id is in use, or too many requests are in flight. It still wants an answer: [`Refusal::error`].
    pub fn admit(&self, request: &Request<'_>) -> Result<Ticket, Refusal> {
        let id = request.id().into_owned();
        let mut owed = self.shared.owed();
        if owed.requests.len() >= self.shared.limit
            || owed.id_bytes + id.as_json().len() > self.shared.limit.saturating_mul(ID_BYTES)
        {
            return Err(Refusal::TooMany);
        }
        if owed.requests.contains_key(&id) {
            return Err(Refusal::Duplicate);
        }
        owed.requests.insert(id.clone(), false);
        owed.id_bytes += id.as_json().len();
        Ok(Ticket { id, shared: Arc::clone(&self.shared), open: true })
    }

    /// Marks a request as cancelled by its caller. False if it is not in flight.
    ///
    /// Under MCP a cancelled request is not answered any more. Otherwise it is, by whatever its ticket is given; and if
    /// that is dropped, by the error -32800, "Request cancelled".
    pub fn cancel(&self, id: &Id<'_>) -> bool {
        match self.shared.owed().requests.get_mut(&id.clone().into_owned()) {
            Some(cancelled) => {
                *cancelled = true;
                true
            }
            None => false,
        }
    }

    /// Encodes the answers to all requests whose tickets have been dropped, and says how many there were.
    ///
    /// # Errors
    ///
    /// An answer could not be encoded, which is so only if not even an error fits into a line.
    pub fn answer_dropped<B: BorrowMut<BytesMut>>(&self, encoder: &mut Encoder<B>) -> Result<usize, EncodeError> {
        let dropped = mem::take(&mut self.shared.owed().dropped);
        let count = dropped.len();
        for (id, cancelled) in dropped {
            self.shared.owed().forget(&id);
            let error = match cancelled {
                true => RpcError::new(-32800, "Request cancelled"),
                false => RpcError::internal(),
            };
            encoder.error(&id, &error)?;
        }
        Ok(count)
    }

    /// How many requests are in flight: those with a ticket, and those whose ticket was dropped and that have not been
    /// answered yet.
    pub fn in_flight(&self) -> usize {
        self.shared.owed().requests.len()
    }
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbound").field("in_flight", &self.in_flight()).field("limit", &self.shared.limit).finish()
    }
}

impl Shared {
    /// A panic while it was locked leaves nothing half done.
    fn owed(&self) -> MutexGuard<'_, Owed> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Owed {
    fn forget(&mut self, id: &Id<'static>) -> Option<bool> {
        let (id, cancelled) = self.requests.remove_entry(id)?;
        self.id_bytes -= id.as_json().len();
        Some(cancelled)
    }
}

/// The duty to answer one request.
///
/// It can be answered once: that consumes it.
///
/// ```compile_fail,E0382
/// # use wireline::{Encoder, RpcError, ledger::Ticket};
/// fn twice(ticket: Ticket, encoder: &mut Encoder) {
///     ticket.respond(encoder, "one").unwrap();
///     ticket.fail(encoder, &RpcError::internal()).unwrap(); // the ticket is gone
/// }
/// ```
///
/// ```compile_fail,E0599
/// # use wireline::ledger::Ticket;
/// fn copy(ticket: &Ticket) -> Ticket {
///     ticket.clone() // there is only one
/// }
/// ```
#[must_use = "a ticket that is dropped is answered by an internal error"]
pub struct Ticket {
    id: Id<'static>,
    shared: Arc<Shared>,
    open: bool,
}

impl Ticket {
    /// The request's id, spelled as it was; the answer will spell it so.
    pub fn id(&self) -> &Id<'static> {
        &self.id
    }

    /// Whether the caller has cancelled the request, so that the work on it can stop.
    pub fn is_cancelled(&self) -> bool {
        self.shared.owed().requests.get(&self.id).copied().unwrap_or_default()
    }

    /// Answers with a result.
    ///
    /// # Errors
    ///
    /// The result could not be encoded, or the rules do not permit it. The request has then been answered by an
    /// internal error, if that could be encoded.
    pub fn respond(self, encoder: &mut impl Answers, result: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.answer(encoder, Ok::<_, &RpcError>(result))
    }

    /// Answers with an error.
    ///
    /// # Errors
    ///
    /// The error could not be encoded. The request has then been answered by an internal error, if that could be.
    pub fn fail(self, encoder: &mut impl Answers, error: &RpcError) -> Result<(), EncodeError> {
        self.answer(encoder, Err::<&(), _>(error))
    }

    fn answer<P: Payload + ?Sized>(
        mut self,
        encoder: &mut impl Answers,
        outcome: Result<&P, &RpcError>,
    ) -> Result<(), EncodeError> {
        let answered = match self.is_cancelled() && self.shared.dialect == Dialect::Mcp {
            true => Ok(()),
            // If a payload panics while it is written, `self` is dropped on the way, and answered so.
            false => answer(encoder, &self.id, outcome),
        };
        self.open = false;
        self.shared.owed().forget(&self.id);
        answered
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        let mut owed = self.shared.owed();
        let cancelled = owed.requests.get(&self.id).copied().unwrap_or_default();
        if cancelled && self.shared.dialect == Dialect::Mcp {
            owed.forget(&self.id);
            return;
        }
        let id = mem::replace(&mut self.id, Id::NULL);
        owed.dropped.push((id, cancelled));
        drop(owed);
        if let Some(wake) = &self.shared.on_drop {
            wake();
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Encodes one answer: `outcome`, or an internal error in its place if that cannot be encoded.
pub(crate) fn answer<P: Payload + ?Sized>(
    encoder: &mut impl Answers,
    id: &Id<'_>,
    outcome: Result<&P, &RpcError>,
) -> Result<(), EncodeError> {
    let encoded = match outcome {
        Ok(result) => encoder.put_response(id, result),
        Err(error) => encoder.put_error(id, error),
    };
    encoded.or_else(|reason| {
        encoder.put_error(id, &RpcError::internal())?;
        Err(reason)
    })
}

/// What answers are encoded to: an [`Encoder`] or, for a batch of them, a [`BatchEncoder`].
pub trait Answers: sealed::Answers {}

impl<B: BorrowMut<BytesMut>> Answers for Encoder<B> {}

impl Answers for BatchEncoder<'_> {}

mod sealed {
    use super::*;

    pub trait Answers {
        #[doc(hidden)]
        fn put_response(&mut self, id: &Id<'_>, result: &(impl Payload + ?Sized)) -> Result<(), EncodeError>;
        #[doc(hidden)]
        fn put_error(&mut self, id: &Id<'_>, error: &RpcError) -> Result<(), EncodeError>;
    }

    impl<B: BorrowMut<BytesMut>> Answers for Encoder<B> {
        fn put_response(&mut self, id: &Id<'_>, result: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
            self.response(id, result)
        }

        fn put_error(&mut self, id: &Id<'_>, error: &RpcError) -> Result<(), EncodeError> {
            self.error(id, error)
        }
    }

    impl Answers for BatchEncoder<'_> {
        fn put_response(&mut self, id: &Id<'_>, result: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
            self.response(id, result)
        }

        fn put_error(&mut self, id: &Id<'_>, error: &RpcError) -> Result<(), EncodeError> {
            self.error(id, error)
        }
    }
}

/// Why a request was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A request with the same id is in flight.
    Duplicate,
    /// As many requests are in flight as the ledger takes.
    TooMany,
}

impl Refusal {
    /// The error to answer the request with. It has an id, so it wants an answer like any other.
    pub fn error(self) -> RpcError {
        match self {
            Self::Duplicate => RpcError::invalid_request("the id is in use by a request that is not answered yet"),
            Self::TooMany => RpcError::new(-32000, "too many requests are in flight"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Duplicate => "expected an id that no request in flight has",
            Self::TooMany => "expected fewer requests in flight",
        })
    }
}

impl std::error::Error for Refusal {}

/// The requests that have been sent and are to be answered by the peer, each with a value of the caller's: a channel to
/// send the answer to, a time, a name.
#[derive(Clone)]
pub struct Outbound<T> {
    open: HashMap<u64, T>,
    next: u64,
    limit: usize,
}

impl<T> Outbound<T> {
    /// A ledger of at most `limit` requests in flight.
    pub fn new(limit: usize) -> Self {
        Self { open: HashMap::new(), next: 1, limit }
    }

    /// A new id for a request, and `value` kept with it.
    ///
    /// # Errors
    ///
    /// As many requests are in flight as the ledger takes; `value` is in the error.
    pub fn issue(&mut self, value: T) -> Result<Id<'static>, Full<T>> {
        if self.open.len() >= self.limit {
            return Err(Full(value));
        }
        let id = self.next;
        self.next += 1;
        self.open.insert(id, value);
        Ok(Id::from(id))
    }

    /// The value that was kept for the request that `response` answers, which is thereby settled.
    ///
    /// # Errors
    ///
    /// It answers no request that is open.
    pub fn settle(&mut self, response: &Response<'_>) -> Result<T, Stray> {
        let id = response.id().ok_or(Stray::NoId)?.as_u64().ok_or(Stray::Unknown)?;
        match self.open.remove(&id) {
            Some(value) => Ok(value),
            None if (1..self.next).contains(&id) => Err(Stray::Repeated),
            None => Err(Stray::Unknown),
        }
    }

    /// Gives up on a request, which is then no longer open, and gives back its value.
    pub fn withdraw(&mut self, id: &Id<'_>) -> Option<T> {
        self.open.remove(&id.as_u64()?)
    }

    /// Takes out all requests that are open, the oldest first: at the end of the stream nobody will answer them.
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = (Id<'static>, T)> {
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_unstable_by_key(|(id, _)| *id);
        open.into_iter().map(|(id, value)| (Id::from(id), value))
    }

    /// How many requests are open.
    pub fn in_flight(&self) -> usize {
        self.open.len()
    }
}

impl<T> fmt::Debug for Outbound<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").field("in_flight", &self.open.len()).field("limit", &self.limit).finish()
    }
}

/// As many requests are in flight as an [`Outbound`] takes. Has the value that was to be kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Full(_)")
    }
}

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected fewer requests in flight")
    }
}

impl<T> std::error::Error for Full<T> {}

/// Why a response settles nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stray {
    /// It has no id: the peer could not read the id of what it answers.
    NoId,
    /// No request had this id.
    Unknown,
    /// The request with this id has been answered, or withdrawn, before.
    Repeated,
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoId => "expected a response with an id",
            Self::Unknown => "expected the id of a request that was sent",
            Self::Repeated => "expected the id of a request that is not answered yet",
        })
    }
}

impl std::error::Error for Stray {}

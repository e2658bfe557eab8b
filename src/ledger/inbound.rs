//! The side that is asked.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::encode::encoder::Sink;
use crate::encode::{EncodeError, Encoder, RpcError};
use crate::message::dialect::Dialect;
use crate::message::{Id, Request, Rules, code};

/// For each request that may be in flight, so many bytes of ids are kept at the most.
const ID_BYTES: usize = 1024;

/// The requests that have come in and are to be answered.
///
/// Clones share one ledger, for threads and tasks.
///
/// ```
/// use wireline::ledger::{Inbound, Refusal};
/// use wireline::{Encoder, Frame, Message, Rules};
///
/// let rules = Rules::json_rpc();
/// let (owed, mut encoder) = (Inbound::new(rules, 100), Encoder::new(rules));
/// let line = br#"{"jsonrpc":"2.0","id":1,"method":"work"}"#;
/// let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &rules) else { panic!() };
///
/// let ticket = owed.admit(&request)?;
/// // The same id once more, before it is answered.
/// let refusal = owed.admit(&request).unwrap_err();
/// assert_eq!(refusal, Refusal::Duplicate);
/// encoder.error(request.id(), &refusal.error())?;
///
/// // Whoever was to answer has failed, and dropped the ticket on the way.
/// drop(ticket);
/// assert_eq!(owed.answer_dropped(&mut encoder)?, 1);
/// assert_eq!(owed.in_flight(), 0);
/// assert!(encoder.take().ends_with(b"{\"code\":-32603,\"message\":\"Internal error\"}}\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Inbound {
    shared: Arc<Shared>,
}

struct Shared {
    dialect: &'static Dialect,
    limit: usize,
    owed: Mutex<Owed>,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Owed {
    /// By value: the spelling is the ticket's. Whether it has been cancelled.
    requests: HashMap<Id<'static>, bool>,
    id_bytes: usize,
    /// The ids of tickets that were dropped, as they were spelled. Each still counts as in flight.
    dropped: VecDeque<Id<'static>>,
}

impl Inbound {
    /// A ledger for requests under `rules`, of which at most `limit` may be in flight.
    pub fn new(rules: Rules, limit: usize) -> Self {
        Self::with_wake(rules, limit, || {})
    }

    /// A ledger that calls `wake` whenever a ticket has been dropped, from wherever that was, so that whoever writes
    /// answers gets to [`answer_dropped`](Self::answer_dropped).
    ///
    /// It should only give a signal: it may be called while a panic unwinds, or while somebody holds the lock on a writer.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use wireline::ledger::Inbound;
    /// use wireline::{Frame, Message, Rules};
    ///
    /// let (signal, signals) = channel();
    /// let owed = Inbound::with_wake(Rules::mcp(), 100, move || drop(signal.send(())));
    /// let line = br#"{"jsonrpc":"2.0","id":1,"method":"work"}"#;
    /// let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &Rules::mcp()) else { panic!() };
    /// let ticket = owed.admit(&request)?;
    ///
    /// assert!(std::thread::spawn(move || { let _ticket = ticket; panic!("out of luck") }).join().is_err());
    /// assert!(signals.try_recv().is_ok()); // the writer is told
    /// # Ok::<(), wireline::ledger::Refusal>(())
    /// ```
    pub fn with_wake(rules: Rules, limit: usize, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let shared = Shared { dialect: rules.dialect, limit, owed: Mutex::default(), wake: Box::new(wake) };
        Self { shared: Arc::new(shared) }
    }

    /// Takes in a request, which is from now on to be answered.
    ///
    /// # Errors
    ///
    /// Its id is in use or too long, or too many requests are in flight. It still wants an answer: [`Refusal::error`].
    pub fn admit(&self, request: &Request<'_>) -> Result<Ticket, Refusal> {
        let id = request.id().clone().into_owned();
        let most_bytes = self.shared.limit.saturating_mul(ID_BYTES);
        let mut owed = self.shared.owed();
        if id.as_json().len() > most_bytes {
            return Err(Refusal::IdTooLong);
        }
        if owed.requests.len() >= self.shared.limit || owed.id_bytes + id.as_json().len() > most_bytes {
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
    ///
    /// ```
    /// use wireline::ledger::Inbound;
    /// use wireline::{Encoder, Frame, Id, Message, Rules};
    ///
    /// let (owed, mut encoder) = (Inbound::new(Rules::mcp(), 100), Encoder::new(Rules::mcp()));
    /// let line = br#"{"jsonrpc":"2.0","id":1,"method":"work"}"#;
    /// let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &Rules::mcp()) else { panic!() };
    /// let ticket = owed.admit(&request)?;
    ///
    /// assert!(owed.cancel(&Id::from(1)));
    /// assert!(ticket.is_cancelled()); // time to stop working on it
    /// ticket.respond(&mut encoder, &serde_json::json!({}))?;
    /// assert!(encoder.take().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// An answer could not be encoded, which is so only if not even an error with its id fits into a line. The others
    /// have been all the same.
    #[expect(private_bounds, reason = "what an encoder can append to is this crate's business")]
    pub fn answer_dropped(&self, encoder: &mut Encoder<impl Sink>) -> Result<usize, EncodeError> {
        let mut answered = Ok(0);
        while let Some((id, cancelled)) = self.next_dropped() {
            let error = match cancelled {
                true if !self.shared.dialect.answers_cancelled => continue,
                true => RpcError::new(code::REQUEST_CANCELLED, "Request cancelled"),
                false => RpcError::internal(),
            };
            let encoded = encoder.error(&id, &error);
            answered = answered.and_then(|count| encoded.map(|()| count + 1));
        }
        answered
    }

    /// Takes out a request whose ticket has been dropped, with whether it has been cancelled.
    fn next_dropped(&self) -> Option<(Id<'static>, bool)> {
        let mut owed = self.shared.owed();
        let id = owed.dropped.pop_front()?;
        let cancelled = owed.forget(&id).unwrap_or_default();
        Some((id, cancelled))
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
/// ```compile_fail,E0308
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

#[expect(private_bounds, reason = "what an encoder can append to is this crate's business")]
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
    pub fn respond(
        self,
        encoder: &mut Encoder<impl Sink>,
        result: &(impl Serialize + ?Sized),
    ) -> Result<(), EncodeError> {
        self.answer(encoder, Ok::<_, &RpcError>(result))
    }

    /// Answers with an error.
    ///
    /// # Errors
    ///
    /// The error could not be encoded. The request has then been answered by an internal error, if that could be.
    pub fn fail(self, encoder: &mut Encoder<impl Sink>, error: &RpcError) -> Result<(), EncodeError> {
        self.answer(encoder, Err::<&(), _>(error))
    }

    fn answer<P: Serialize + ?Sized>(
        mut self,
        encoder: &mut Encoder<impl Sink>,
        outcome: Result<&P, &RpcError>,
    ) -> Result<(), EncodeError> {
        let answered = match self.is_cancelled() && !self.shared.dialect.answers_cancelled {
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
        if cancelled && !self.shared.dialect.answers_cancelled {
            owed.forget(&self.id);
            return;
        }
        owed.dropped.push_back(mem::replace(&mut self.id, Id::NULL));
        drop(owed);
        (self.shared.wake)();
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Encodes one answer: `outcome`, or an internal error in its place if that cannot be encoded.
pub(crate) fn answer<P: Serialize + ?Sized>(
    encoder: &mut Encoder<impl Sink>,
    id: &Id<'_>,
    outcome: Result<&P, &RpcError>,
) -> Result<(), EncodeError> {
    let encoded = match outcome {
        Ok(result) => encoder.response(id, result),
        Err(error) => encoder.error(id, error),
    };
    encoded.or_else(|reason| {
        encoder.error(id, &RpcError::internal())?;
        Err(reason)
    })
}

/// Why a request was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A request with the same id is in flight.
    Duplicate,
    /// As many requests are in flight as the ledger takes, or their ids take up as much as it has room for.
    TooMany,
    /// The id is longer than all that the ledger has room for.
    IdTooLong,
}

impl Refusal {
    /// The error to answer the request with. It has an id, so it wants an answer like any other.
    pub fn error(self) -> RpcError {
        match self {
            Self::Duplicate => RpcError::invalid_request("the id is in use by a request that is not answered yet"),
            Self::TooMany => RpcError::new(code::SERVER_BUSY, "too many requests are in flight"),
            Self::IdTooLong => RpcError::invalid_request("the id is too long"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Duplicate => "expected an id that no request in flight has",
            Self::TooMany => "expected fewer requests in flight",
            Self::IdTooLong => "expected a shorter id",
        })
    }
}

impl std::error::Error for Refusal {}

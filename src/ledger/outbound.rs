//! The side that asks.

use std::collections::HashMap;
use std::fmt;

use crate::message::{Id, Response};

/// The requests that have been sent and are to be answered by the peer, each with a value of the caller's: a channel to
/// send the answer to, a time, a name.
///
/// ```
/// use wireline::ledger::{Outbound, Stray};
/// use wireline::{Frame, Message, Rules};
///
/// let mut asked = Outbound::new(2);
/// let (first, second) = (asked.issue("first")?, asked.issue("second")?);
/// assert_eq!(asked.issue("third").unwrap_err().0, "third"); // as many as it takes
///
/// let line = br#"{"jsonrpc":"2.0","id":2,"result":null}"#;
/// let Ok(Frame::Message(Message::Response(response))) = Frame::parse(line, &Rules::json_rpc()) else { panic!() };
/// assert_eq!(asked.settle(&response), Ok("second"));
/// assert_eq!(asked.settle(&response), Err(Stray::Repeated));
///
/// // The stream has ended. Who is still waiting?
/// let unanswered: Vec<_> = asked.drain().collect();
/// assert_eq!(unanswered, [(first, "first")]);
/// # Ok::<(), wireline::ledger::Full<&str>>(())
/// ```
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
        let id = response.id().filter(|id| !id.is_null()).ok_or(Stray::NoId)?.as_u64().ok_or(Stray::Unknown)?;
        match self.open.remove(&id) {
            Some(value) => Ok(value),
            None if (1..self.next).contains(&id) => Err(Stray::Repeated),
            None => Err(Stray::Unknown),
        }
    }

    /// Gives up on a request, which is then no longer open, and gives back its value: because it was cancelled, or took
    /// too long, or its answer could not be read ([`Fault::is_response`](crate::Fault::is_response)).
    ///
    /// If it is answered after all, that is [`Stray::Repeated`].
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
    /// It has no id, or null: the peer could not read the id of what it answers.
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

//! The side that sends requests.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Instant;

use crate::message::{Id, Response};

use super::hash::Key;
use super::slab::Slab;

/// The most requests in flight, so that their numbers fit 32 bits.
const MOST: usize = 1 << 28;

/// The requests that were sent and that the peer must answer.
///
/// Each has a value of the caller's, such as a channel for the answer, a time or a name.
///
/// ```
/// use wireline::ledger::{Outbound, Stray};
/// use wireline::{Frame, Message, Rules};
///
/// let mut asked = Outbound::new(2);
/// let (first, second) = (asked.issue("first")?, asked.issue("second")?);
/// assert_eq!(asked.issue("third").unwrap_err().0, "third"); // the ledger is full
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
///
/// It generates ids ([`issue`](Self::issue)), or accepts existing ones ([`track`](Self::track)). It keeps the deadlines
/// of requests, but doesn't read a clock:
///
/// ```
/// use std::time::{Duration, Instant};
/// use wireline::Id;
/// use wireline::ledger::Outbound;
///
/// let mut asked = Outbound::new(100);
/// let now = Instant::now();
/// asked.track(&Id::from("made-elsewhere"), "a call")?;
/// asked.set_deadline(&Id::from("made-elsewhere"), now + Duration::from_secs(30));
///
/// // An event loop waits until the next deadline, and then asks what has expired.
/// assert_eq!(asked.next_deadline(), Some(now + Duration::from_secs(30)));
/// assert_eq!(asked.take_expired(now), None);
/// let later = now + Duration::from_secs(31);
/// assert_eq!(asked.take_expired(later), Some((Id::from("made-elsewhere"), "a call")));
/// assert_eq!(asked.next_deadline(), None);
/// # Ok::<(), wireline::ledger::Untracked<&str>>(())
/// ```
pub struct Outbound<T> {
    open: Slab<Open<T>>,
    /// Each with the number of its entry.
    deadlines: BTreeSet<(Instant, u32)>,
    key: Key,
    next_id: u64,
    next_turn: u64,
    limit: usize,
}

struct Open<T> {
    value: T,
    /// Counts the requests, for their order.
    turn: u64,
    deadline: Option<Instant>,
}

impl<T> Outbound<T> {
    /// A ledger of at most `limit` requests in flight.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            open: Slab::default(),
            deadlines: BTreeSet::new(),
            key: Key::random(),
            next_id: 1,
            next_turn: 0,
            limit: limit.min(MOST),
        }
    }

    /// Generates an id for a request, and keeps `value` with it. Ids are integers, counted from 1.
    ///
    /// # Errors
    ///
    /// The ledger is full. The error contains `value`.
    pub fn issue(&mut self, value: T) -> Result<Id<'static>, Full<T>> {
        if self.open.len() >= self.limit {
            return Err(Full(value));
        }
        let mut value = Some(value);
        loop {
            let id = Id::from(self.next_id);
            self.next_id += 1;
            // A tracked request may have the same id.
            if self.find(&id).is_none() {
                self.insert(&id, value.take());
                return Ok(id);
            }
        }
    }

    /// Keeps `value` with a request that already has an id.
    ///
    /// # Errors
    ///
    /// The ledger is full, or a request with this id is in flight. The error contains `value`.
    pub fn track(&mut self, id: &Id<'_>, value: T) -> Result<(), Untracked<T>> {
        if self.find(id).is_some() {
            return Err(Untracked::Duplicate(value));
        }
        if self.open.len() >= self.limit {
            return Err(Untracked::Full(value));
        }
        self.insert(&id.copied(), Some(value));
        Ok(())
    }

    /// Settles the request that `response` answers, and returns its value.
    ///
    /// # Errors
    ///
    /// The response answers no request in flight.
    pub fn settle(&mut self, response: &Response<'_>) -> Result<T, Stray> {
        let id = response.id().filter(|id| !id.is_null() || self.find(id).is_some()).ok_or(Stray::NoId)?;
        match self.withdraw(id) {
            Some(value) => Ok(value),
            None if id.as_u64().is_some_and(|id| (1..self.next_id).contains(&id)) => Err(Stray::Repeated),
            None => Err(Stray::Unknown),
        }
    }

    /// Gives up on a request and returns its value.
    ///
    /// Call this if the request was cancelled, or if its response is a fault
    /// ([`Fault::is_response`](crate::Fault::is_response)). A later response to it is a [`Stray`].
    pub fn withdraw(&mut self, id: &Id<'_>) -> Option<T> {
        let number = self.find(id)?;
        Some(self.remove(number)?.1.value)
    }

    /// Sets when a request expires. Returns false if it isn't in flight.
    ///
    /// Nothing happens automatically at that time; see [`next_deadline`](Self::next_deadline) and
    /// [`take_expired`](Self::take_expired).
    pub fn set_deadline(&mut self, id: &Id<'_>, deadline: Instant) -> bool {
        let Some(number) = self.find(id) else { return false };
        let Some(open) = self.open.get_mut(number) else { return false };
        if let Some(before) = open.deadline.replace(deadline) {
            self.deadlines.remove(&(before, number));
        }
        self.deadlines.insert((deadline, number));
        true
    }

    /// When the next request expires, if any has a deadline.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Removes the request with the earliest deadline, if that isn't after `now`, and returns its id and value.
    pub fn take_expired(&mut self, now: Instant) -> Option<(Id<'static>, T)> {
        let &(_, number) = self.deadlines.first().filter(|(deadline, _)| *deadline <= now)?;
        self.remove(number).map(|(id, open)| (id, open.value))
    }

    /// Removes all requests, the oldest first, for example at the end of the stream.
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = (Id<'static>, T)> + use<T> {
        self.deadlines.clear();
        let mut numbers: Vec<_> = self.open.iter_mut().map(|(number, _, open)| (open.turn, number)).collect();
        numbers.sort_unstable();
        let drained: Vec<_> = numbers.iter().filter_map(|(_, number)| self.open.remove(*number)).collect();
        drained.into_iter().map(|(id, open)| (id, open.value))
    }

    /// The number of requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.open.len()
    }

    fn find(&self, id: &Id<'_>) -> Option<u32> {
        self.open.find(self.key.hash32(id), id)
    }

    fn insert(&mut self, id: &Id<'static>, value: Option<T>) {
        let turn = self.next_turn;
        self.next_turn += 1;
        if let Some(value) = value {
            self.open.insert(self.key.hash32(id), id, Open { value, turn, deadline: None });
        }
    }

    fn remove(&mut self, number: u32) -> Option<(Id<'static>, Open<T>)> {
        let (id, open) = self.open.remove(number)?;
        if let Some(deadline) = open.deadline {
            self.deadlines.remove(&(deadline, number));
        }
        Some((id, open))
    }
}

impl<T> fmt::Debug for Outbound<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").field("in_flight", &self.in_flight()).field("limit", &self.limit).finish()
    }
}

/// As many requests are in flight as an [`Outbound`] allows. Contains the request's value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Full(_)")
    }
}

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many requests in flight")
    }
}

impl<T> std::error::Error for Full<T> {}

/// Why an [`Outbound`] doesn't [track](Outbound::track) a request. Contains the request's value.
///
/// There is nothing else that could go wrong, so a `match` needs no wildcard arm.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Untracked<T> {
    /// A request with the same id is in flight.
    Duplicate(T),
    /// As many requests are in flight as the ledger allows.
    Full(T),
}

impl<T> Untracked<T> {
    /// The request's value.
    pub fn into_value(self) -> T {
        match self {
            Self::Duplicate(value) | Self::Full(value) => value,
        }
    }
}

impl<T> fmt::Debug for Untracked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Duplicate(_) => "Duplicate(_)",
            Self::Full(_) => "Full(_)",
        })
    }
}

impl<T> fmt::Display for Untracked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Duplicate(_) => "a request with the same id is in flight",
            Self::Full(_) => "too many requests in flight",
        })
    }
}

impl<T> std::error::Error for Untracked<T> {}

/// Why a response settles nothing.
///
/// Reasons may be added, so a `match` needs a wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stray {
    /// It has no id, or a null id: the peer couldn't read the id of the request.
    NoId,
    /// No request with this id is in flight.
    Unknown,
    /// The ledger issued this id, but the request was already answered or withdrawn.
    Repeated,
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoId => "the response has no id",
            Self::Unknown => "the response answers no request in flight",
            Self::Repeated => "the request was answered or withdrawn before",
        })
    }
}

impl std::error::Error for Stray {}

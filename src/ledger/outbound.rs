//! Requests to the peer that still need an answer.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Instant;

use crate::message::{Id, Response};

use super::hash::HashKey;
use super::slab::Slab;

/// The highest limit on requests in flight. Keeps their numbers within 32 bits.
const MAX_LIMIT: usize = 1 << 28;

/// The requests that the peer still has to answer, each with a value that the caller provided.
pub(crate) struct Outbound<T> {
    open: Slab<OpenCall<T>>,
    /// The deadlines of requests, each with the number of its entry in `open`.
    deadlines: BTreeSet<(Instant, u32)>,
    key: HashKey,
    next_id: u64,
    next_turn: u64,
    limit: usize,
    /// Whether a request has had a number, or a string that spells an integer, as its id.
    has_sent: SentIds,
}

#[derive(Default)]
struct SentIds {
    numbers: bool,
    numeric_strings: bool,
}

struct OpenCall<T> {
    value: T,
    /// The request's position in the order of sending.
    turn: u64,
    deadline: Option<Instant>,
}

impl<T> Outbound<T> {
    /// A ledger of at most `limit` requests in flight.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            open: Slab::default(),
            deadlines: BTreeSet::new(),
            key: HashKey::random(),
            next_id: 1,
            next_turn: 0,
            limit: limit.min(MAX_LIMIT),
            has_sent: SentIds::default(),
        }
    }

    /// Generates an id for a request, and keeps `value` with it. Ids are integers, counted from 1. Returns `None` if
    /// the limit on requests in flight is reached.
    pub(crate) fn issue(&mut self, value: T) -> Option<Id<'static>> {
        if self.open.len() >= self.limit {
            return None;
        }
        loop {
            let id = Id::from(self.next_id);
            self.next_id += 1;
            // A tracked request may already have this id.
            if self.find(&id).is_none() {
                self.insert(&id, value);
                return Some(id);
            }
        }
    }

    /// Keeps `value` with a request that already has an id. Returns false if the limit on requests in flight is
    /// reached, or a request with this id is in flight.
    pub(crate) fn track(&mut self, id: &Id<'_>, value: T) -> bool {
        let is_new = self.open.len() < self.limit && self.find(id).is_none();
        if is_new {
            self.insert(&id.clone().into_owned(), value);
        }
        is_new
    }

    fn insert(&mut self, id: &Id<'static>, value: T) {
        match id.is_string() {
            true => self.has_sent.numeric_strings |= id.in_other_type().is_some(),
            false => self.has_sent.numbers = true,
        }
        let open = OpenCall { value, turn: self.next_turn, deadline: None };
        self.open.insert(self.key.hash32(id), id, open);
        self.next_turn += 1;
    }

    /// Settles the request that `response` answers, and returns its value.
    ///
    /// # Errors
    ///
    /// The response answers no request in flight.
    pub(crate) fn settle(&mut self, response: &Response<'_>) -> Result<T, Stray> {
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
    pub(crate) fn withdraw(&mut self, id: &Id<'_>) -> Option<T> {
        let number = self.find(id)?;
        Some(self.remove(number)?.1.value)
    }

    /// Gives up on the request whose id in the other type is `id`, as `7` is of `"7"`, and returns its own id and value.
    ///
    /// Returns `None` if an id of this type was ever sent: then it may be the id of another request, answered before.
    pub(crate) fn withdraw_loosely(&mut self, id: &Id<'_>) -> Option<(Id<'static>, T)> {
        let is_ambiguous = if id.is_string() { self.has_sent.numeric_strings } else { self.has_sent.numbers };
        if is_ambiguous {
            return None;
        }
        let own = id.in_other_type()?;
        let value = self.withdraw(&own)?;
        Some((own, value))
    }

    /// Sets when a request expires. Returns false if it isn't in flight.
    ///
    /// Nothing happens automatically at that time; see [`next_deadline`](Self::next_deadline) and
    /// [`take_expired`](Self::take_expired).
    pub(crate) fn set_deadline(&mut self, id: &Id<'_>, deadline: Instant) -> bool {
        let Some(number) = self.find(id) else { return false };
        let Some(open) = self.open.get_mut(number) else { return false };
        if let Some(before) = open.deadline.replace(deadline) {
            self.deadlines.remove(&(before, number));
        }
        self.deadlines.insert((deadline, number));
        true
    }

    /// When the next request expires, if any has a deadline.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Removes the request with the earliest deadline, if that isn't after `now`, and returns its id and value.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Option<(Id<'static>, T)> {
        let &(_, number) = self.deadlines.first().filter(|(deadline, _)| *deadline <= now)?;
        self.remove(number).map(|(id, open)| (id, open.value))
    }

    /// Removes all requests, the oldest first, for example at the end of the stream.
    pub(crate) fn drain(&mut self) -> impl ExactSizeIterator<Item = (Id<'static>, T)> + use<T> {
        self.deadlines.clear();
        let mut numbers: Vec<_> = self.open.iter_mut().map(|(number, _, open)| (open.turn, number)).collect();
        numbers.sort_unstable();
        let drained: Vec<_> = numbers.iter().filter_map(|(_, number)| self.open.remove(*number)).collect();
        drained.into_iter().map(|(id, open)| (id, open.value))
    }

    /// The number of requests in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.open.len()
    }

    fn find(&self, id: &Id<'_>) -> Option<u32> {
        self.open.find(self.key.hash32(id), id)
    }

    fn remove(&mut self, number: u32) -> Option<(Id<'static>, OpenCall<T>)> {
        let (id, open) = self.open.remove(number)?;
        if let Some(deadline) = open.deadline {
            self.deadlines.remove(&(deadline, number));
        }
        Some((id, open))
    }
}

/// Why a response settles nothing.
///
/// Reasons may be added, so a `match` needs a wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stray {
    /// It has no id or a null id: the peer couldn't read the id of the request.
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

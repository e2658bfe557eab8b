//! The peer's requests that still need an answer.
//!
//! Plain bookkeeping without locks: a connection keeps it under the lock of its outgoing queue, so that a request is
//! settled and its answer queued in one step.
//!
//! A request has a *slot* from its admission until its ticket releases it. The request can be settled earlier, without
//! its ticket; then its id is free for another request, but the slot isn't yet.

use std::mem;
use std::task::Waker;

use crate::message::Id;

use super::Refusal;
use super::hash::HashKey;
use super::slab::Slab;

/// The highest limit on requests in flight. Keeps slot numbers within 32 bits.
const MAX_LIMIT: usize = 1 << 28;

pub(crate) struct InFlight {
    requests: Slab<RequestState>,
    key: HashKey,
    limit: usize,
    is_closed: bool,
    /// The number of requests so far.
    count: u64,
    /// The number of tickets that haven't released their slot. They count towards the limit even if their requests were
    /// settled early: otherwise a peer could start any number of handlers that take too long.
    tickets: usize,
}

/// Identifies a request, even among those that used the same slot before.
#[derive(Clone, Copy, Default)]
pub(crate) struct Number {
    pub(crate) slot: u32,
    serial: u64,
}

struct RequestState {
    serial: u64,
    /// The batch that the request belongs to.
    batch: Option<u32>,
    /// Whether work on the request can stop: its caller has cancelled it, or it was settled early.
    is_stopped: bool,
    is_settled: bool,
    /// Woken when work on the request can stop.
    waker: Option<Waker>,
}

/// A request that was just settled.
pub(crate) struct Settled {
    pub(crate) batch: Option<u32>,
    /// Whether its caller had cancelled it.
    pub(crate) is_cancelled: bool,
    /// Must be dropped outside the lock: dropping a waker may drop a task, and with it another ticket, which locks.
    pub(crate) waker: Option<Waker>,
}

impl InFlight {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            requests: Slab::default(),
            key: HashKey::random(),
            limit: limit.min(MAX_LIMIT),
            is_closed: false,
            count: 0,
            tickets: 0,
        }
    }

    /// Admits a request and returns its number.
    #[inline]
    pub(crate) fn admit(&mut self, id: &Id<'_>, batch: Option<u32>) -> Result<Number, Refusal> {
        if self.is_closed {
            return Err(Refusal::Closed);
        }
        let hash = self.key.hash32(id);
        if self.tickets >= self.limit {
            // If both reasons apply, report the more specific one.
            let is_duplicate = self.requests.find(hash, id).is_some();
            return Err(if is_duplicate { Refusal::Duplicate } else { Refusal::TooMany });
        }
        let serial = self.count;
        let state = RequestState { serial, batch, is_stopped: false, is_settled: false, waker: None };
        let slot = self.requests.insert(hash, id, state).ok_or(Refusal::Duplicate)?;
        self.count += 1;
        self.tickets += 1;
        Ok(Number { slot, serial })
    }

    /// Settles a request and releases its slot. Returns `None` if the request was settled early.
    #[inline]
    pub(crate) fn settle(&mut self, slot: u32) -> Option<Settled> {
        let state = self.requests.get_mut(slot)?;
        let RequestState { batch, is_stopped, is_settled, ref mut waker, .. } = *state;
        let waker = waker.take();
        self.tickets -= 1;
        if is_settled {
            self.requests.discard(slot);
            return None;
        }
        self.requests.forget(slot);
        self.requests.discard(slot);
        Some(Settled { batch, is_cancelled: is_stopped, waker })
    }

    /// Settles a request while its ticket still exists. Returns `None` if it was settled before.
    pub(crate) fn settle_early(&mut self, number: Number) -> Option<(Id<'static>, Settled)> {
        let id = self.requests.id(number.slot)?.clone();
        let state = self.requests.get_mut(number.slot)?;
        if state.serial != number.serial || state.is_settled {
            return None;
        }
        let settled = state.settle_early();
        self.requests.forget(number.slot);
        Some((id, settled))
    }

    /// Settles all requests while their tickets still exist, and calls `each` for every one.
    pub(crate) fn settle_all(&mut self, mut each: impl FnMut(&Id<'static>, Settled)) {
        let mut open = Vec::with_capacity(self.requests.len());
        for (slot, id, state) in self.requests.iter_mut().filter(|(_, _, state)| !state.is_settled) {
            each(id, state.settle_early());
            open.push(slot);
        }
        open.into_iter().for_each(|slot| self.requests.forget(slot));
    }

    /// Marks a request as cancelled by its caller. Returns the waker to wake, or `None` if the request isn't in flight.
    pub(crate) fn cancel(&mut self, id: &Id<'_>) -> Option<Option<Waker>> {
        let slot = self.requests.find(self.key.hash32(id), id)?;
        let state = self.requests.get_mut(slot)?;
        state.is_stopped = true;
        Some(state.waker.take())
    }

    /// Whether work on a request can stop.
    pub(crate) fn is_stopped(&mut self, slot: u32) -> bool {
        self.requests.get_mut(slot).is_none_or(|state| state.is_stopped)
    }

    /// Registers `waker` to be woken when work on a request can stop. Returns a waker to drop: the previous one, or
    /// `waker` itself if work can stop already.
    pub(crate) fn wake_when_stopped(&mut self, slot: u32, waker: Waker) -> Option<Waker> {
        match self.requests.get_mut(slot) {
            Some(state) if !state.is_stopped => state.waker.replace(waker),
            _ => Some(waker),
        }
    }

    /// Refuses all further requests.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    /// The number of requests in flight.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }
}

impl RequestState {
    /// Leaves the slot to the ticket, which finds that work can stop and nothing is left to settle.
    fn settle_early(&mut self) -> Settled {
        let is_cancelled = mem::replace(&mut self.is_stopped, true);
        self.is_settled = true;
        Settled { batch: self.batch, is_cancelled, waker: self.waker.take() }
    }
}

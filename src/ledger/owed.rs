//! The requests that are owed an answer: the state shared by an [`Inbound`](super::Inbound) and its tickets and
//! answers.
//!
//! A request has a *slot* from its admission until nobody holds it any more. It is held by its ticket, then by the
//! answer that the ticket became, or by the queue of dropped requests; and by a second answer, if somebody answers in
//! place of the ticket's owner. The first holder that settles it sends its line. The others find it settled and send
//! nothing.
//!
//! Slots are spread over shards by the hash of their ids. Each shard has its own lock, so threads seldom wait for each
//! other.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::message::{Id, Rules};

use super::Refusal;
use super::hash::Key;
use super::marks::Marks;
use super::share::Share;
use super::spares::Spares;
use super::table::Table;

/// Requests in flight per shard, until there are [`MOST_SHARDS`].
const PER_SHARD: usize = 64;
const MOST_SHARDS: usize = 32;
/// The most requests in flight. Even if as many again are settled and still held, a slot's number fits 32 bits.
const MOST_SLOTS: usize = 1 << 28;
/// How many permits a shard takes at a time from the shared ones, if it isn't the only shard.
const PERMITS: u32 = 16;

pub(super) struct Owed {
    pub(super) rules: Rules,
    pub(super) limit: usize,
    key: Key,
    /// The permits to admit a request that no shard has taken yet.
    permits: AtomicU32,
    closed: AtomicBool,
    /// By slot: whether the request was cancelled by its caller, or settled by somebody else.
    stopped: Marks,
    /// The slots of requests whose ticket or answer was dropped, the oldest first. This queue holds them.
    dropped: Mutex<VecDeque<u32>>,
    /// Whether somebody waits in `idle`.
    is_idle_awaited: AtomicBool,
    idle: Mutex<Vec<(Waiter, Waker)>>,
    next_waiter: AtomicU64,
    wake: Box<dyn Fn() + Send + Sync>,
    /// A power of two.
    shards: Box<[Padded]>,
    pub(super) spares: Spares,
}

/// A shard and its lock. Aligned so that no two shards share a cache line.
#[repr(align(64))]
struct Padded(Mutex<Shard>);

/// In this order, so that what is used first is on the same cache line as the lock.
#[derive(Default)]
#[repr(C)]
struct Shard {
    permits: u32,
    table: Table<State>,
}

/// Tells apart those who wait in `idle`, which may have the same waker: it is the task's.
pub(super) type Waiter = u64;
/// Somebody who can't be told apart from others of the same task.
pub(super) const ANYBODY: Waiter = 0;

struct State {
    flags: u8,
    holders: u16,
    /// Woken when the request is cancelled. Boxed, since it is rare and would make every state larger.
    waker: Option<Box<Waker>>,
}

/// The caller has cancelled it, or it was settled in place of the ticket's owner. The mark of the slot is set.
const STOPPED: u8 = 1;
/// Answered, or needs no answer: its id is free.
const SETTLED: u8 = 2;
/// Held by the queue of dropped requests.
const QUEUED: u8 = 4;

impl Owed {
    pub(super) fn new(rules: Rules, limit: usize, wake: Box<dyn Fn() + Send + Sync>) -> Self {
        let limit = limit.min(MOST_SLOTS);
        let shards = 1 << (limit / PER_SHARD).clamp(1, MOST_SHARDS).ilog2();
        // A single shard has all permits.
        let permits = u32::try_from(limit).unwrap_or(u32::MAX);
        let (shared, own) = if shards == 1 { (0, permits) } else { (permits, 0) };
        Self {
            rules: rules.for_answers(),
            limit,
            key: Key::random(),
            permits: AtomicU32::new(shared),
            closed: AtomicBool::new(false),
            stopped: Marks::default(),
            dropped: Mutex::default(),
            is_idle_awaited: AtomicBool::new(false),
            idle: Mutex::default(),
            next_waiter: AtomicU64::new(1),
            wake,
            shards: (0..shards).map(|_| Padded(Mutex::new(Shard { permits: own, ..Shard::default() }))).collect(),
            spares: Spares::new(shards),
        }
    }

    /// Enters a request. Returns its slot.
    #[inline(always)]
    pub(super) fn enter(&self, id: &Id<'_>) -> Result<u32, Refusal> {
        let hash = self.key.hash(id);
        let mut shard = self.lock(self.shard_of(hash));
        if shard.permits == 0 {
            drop(shard);
            self.find_permits(hash, id)?;
            shard = self.lock(self.shard_of(hash));
        }
        // Read under the lock under which the request is entered, so that none is entered once `close` has taken each
        // lock.
        if self.closed.load(Ordering::Relaxed) {
            return Err(Refusal::Closed);
        }
        // Somebody else may have taken the permits.
        if shard.permits == 0 {
            return Err(Refusal::TooMany);
        }
        let state = State { flags: 0, holders: 1, waker: None };
        let number = shard.table.insert(low(hash), id, state).ok_or(Refusal::Duplicate)?;
        shard.permits -= 1;
        drop(shard);
        Ok(self.slot(number, self.shard_of(hash)))
    }

    /// Gets permits for a shard that has none: from the shared ones, or from other shards.
    #[cold]
    fn find_permits(&self, hash: u64, id: &Id<'_>) -> Result<(), Refusal> {
        let wanting = self.shard_of(hash);
        for attempt in 0..2 {
            let take = |left: u32| (left > 0).then(|| left - left.min(PERMITS));
            if let Ok(before) = self.permits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
                self.lock(wanting).permits += before.min(PERMITS);
                return Ok(());
            }
            if attempt == 0 {
                for at in 0..self.shards.len() {
                    if at != wanting {
                        let unused = mem::take(&mut self.lock(at).permits);
                        self.permits.fetch_add(unused, Ordering::Relaxed);
                    }
                }
            }
        }
        // Of several reasons, report the most informative: closed, then a duplicate id, then full.
        let is_closed = self.is_closed();
        match self.lock(wanting).table.find(low(hash), id) {
            _ if is_closed => Err(Refusal::Closed),
            Some(_) => Err(Refusal::Duplicate),
            None => Err(Refusal::TooMany),
        }
    }

    /// Settles a request for one of its holders, and releases it. Returns whether to send the answer: nobody else has
    /// settled the request, and its caller still expects an answer. Those waiting for this are added to `wakes`.
    #[inline(always)]
    pub(super) fn settle(&self, slot: u32, wakes: &mut Wakes) -> bool {
        let (number, at) = self.number_and_shard(slot);
        let mut shard = self.lock(at);
        let Some(state) = shard.table.get_mut(number) else { return false };
        let (before, is_last) = (state.flags, state.holders == 1);
        if let Some(waker) = state.waker.take_if(|_| is_last) {
            wakes.waiting().unneeded.push(*waker);
        }
        if is_last && before & SETTLED == 0 {
            // The usual case.
            shard.table.forget(number);
            shard.table.discard(number);
        } else {
            state.flags |= SETTLED;
            state.holders -= 1;
            if before & SETTLED == 0 {
                // Somebody is still working on it, in vain.
                if let Some(waker) = self.stop(slot, state) {
                    wakes.waiting().due.push(waker);
                }
                shard.table.forget(number);
            } else if is_last {
                shard.table.discard(number);
            }
        }
        if is_last && before & STOPPED != 0 {
            self.stopped.clear(slot);
        }
        if before & SETTLED != 0 {
            return false;
        }
        self.return_permit(&mut shard);
        let may_be_idle = self.is_idle_awaited.load(Ordering::Relaxed) && shard.table.len() == 0;
        drop(shard);
        if may_be_idle {
            self.add_if_idle(wakes);
        }
        before & STOPPED == 0 || self.rules.dialect.answers_cancelled
    }

    fn return_permit(&self, shard: &mut Shard) {
        shard.permits += 1;
        if shard.permits > 2 * PERMITS && self.shards.len() > 1 {
            shard.permits -= PERMITS;
            self.permits.fetch_add(PERMITS, Ordering::Relaxed);
        }
    }

    /// Marks a request as cancelled. Returns false if it isn't in flight.
    pub(super) fn cancel(&self, id: &Id<'_>) -> bool {
        let hash = self.key.hash(id);
        let at = self.shard_of(hash);
        let mut shard = self.lock(at);
        let Some(number) = shard.table.find(low(hash), id) else { return false };
        let Some(state) = shard.table.get_mut(number) else { return false };
        let waker = self.stop(self.slot(number, at), state);
        drop(shard);
        waker.into_iter().for_each(Waker::wake);
        true
    }

    /// Marks a request as stopped. Returns the waker to wake once the lock is released.
    fn stop(&self, slot: u32, state: &mut State) -> Option<Waker> {
        state.flags |= STOPPED;
        self.stopped.set(slot);
        state.waker.take().map(|waker| *waker)
    }

    #[inline]
    pub(super) fn is_stopped(&self, slot: u32) -> bool {
        self.stopped.is_set(slot)
    }

    /// Whether an answer would be dropped anyway, because the request was cancelled under rules that don't answer it
    /// then.
    #[inline]
    pub(super) fn is_unwanted(&self, slot: u32) -> bool {
        !self.rules.dialect.answers_cancelled && self.is_stopped(slot)
    }

    pub(super) fn poll_stopped(&self, slot: u32, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_stopped(slot) {
            return Poll::Ready(());
        }
        let (number, at) = self.number_and_shard(slot);
        let waker = Box::new(cx.waker().clone());
        let mut shard = self.lock(at);
        let (before, poll) = match shard.table.get_mut(number) {
            Some(state) if state.flags & STOPPED == 0 => (state.waker.replace(waker), Poll::Pending),
            _ => (Some(waker), Poll::Ready(())),
        };
        // In this order, because dropping a waker may drop a task, and with it another ticket.
        drop(shard);
        drop(before);
        poll
    }

    /// Queues a request whose holder won't answer it. If it was in the queue before (`is_known`), nobody is woken.
    #[cold]
    pub(super) fn abandon(&self, slot: u32, is_known: bool) {
        if self.is_unwanted(slot) {
            self.settle(slot, &mut Wakes::default());
            return;
        }
        let (number, at) = self.number_and_shard(slot);
        let mut shard = self.lock(at);
        let Some(state) = shard.table.get_mut(number) else { return };
        if state.flags & (SETTLED | QUEUED) != 0 {
            let is_owed = state.flags & SETTLED == 0;
            drop(shard);
            self.release(slot);
            // Whoever queued it may have been known, and then nobody has been woken for it.
            if is_owed && !is_known {
                (self.wake)();
            }
            return;
        }
        state.flags |= QUEUED;
        drop(shard);
        lock(&self.dropped).push_back(slot);
        if !is_known {
            (self.wake)();
        }
    }

    /// Releases a request that somebody else holds or has settled.
    fn release(&self, slot: u32) {
        let (number, at) = self.number_and_shard(slot);
        let mut shard = self.lock(at);
        let Some(state) = shard.table.get_mut(number) else { return };
        state.holders -= 1;
        if state.holders > 0 {
            return;
        }
        let (is_stopped, waker) = (state.flags & STOPPED != 0, state.waker.take());
        shard.table.discard(number);
        if is_stopped {
            self.stopped.clear(slot);
        }
        drop(shard);
        drop(waker);
    }

    pub(super) fn dropped_len(&self) -> usize {
        lock(&self.dropped).len()
    }

    /// Takes the oldest request that still needs an answer out of the queue. Returns its slot, its id, and whether it
    /// was cancelled.
    pub(super) fn take_dropped(&self) -> Option<(u32, Id<'static>, bool)> {
        loop {
            let slot = {
                let mut dropped = lock(&self.dropped);
                let slot = dropped.pop_front()?;
                if dropped.capacity() > 64 && 4 * dropped.len() < dropped.capacity() {
                    let len = dropped.len();
                    dropped.shrink_to(2 * len);
                }
                slot
            };
            let (number, at) = self.number_and_shard(slot);
            let mut shard = self.lock(at);
            let Some(state) = shard.table.get_mut(number) else { continue };
            state.flags &= !QUEUED;
            let flags = state.flags;
            let Some(id) = shard.table.id(number).cloned() else { continue };
            drop(shard);
            match () {
                () if flags & SETTLED != 0 => self.release(slot),
                () if flags & STOPPED != 0 && !self.rules.dialect.answers_cancelled => {
                    self.settle(slot, &mut Wakes::default());
                }
                () => return Some((slot, id, flags & STOPPED != 0)),
            }
        }
    }

    /// All requests in flight. Each gets one more holder.
    pub(super) fn hold_all(&self) -> Vec<(u32, Id<'static>)> {
        let mut held = Vec::new();
        for at in 0..self.shards.len() {
            for (number, id, state) in self.lock(at).table.iter_mut() {
                // A request with the maximum number of holders needs no other.
                if state.flags & SETTLED == 0 && state.holders < u16::MAX {
                    state.holders += 1;
                    held.push((self.slot(number, at), id.clone()));
                }
            }
        }
        held
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        // A thread that had taken its lock before this may still be entering a request.
        for at in 0..self.shards.len() {
            drop(self.lock(at));
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// The number of requests in flight, with all shards locked at once.
    pub(super) fn in_flight(&self) -> usize {
        // No deadlock: nobody else holds more than one of these locks at a time.
        let shards: Vec<_> = (0..self.shards.len()).map(|at| self.lock(at)).collect();
        shards.iter().map(|shard| shard.table.len()).sum()
    }

    /// A number of its own for somebody who waits in [`poll_idle`](Self::poll_idle).
    pub(super) fn new_waiter(&self) -> Waiter {
        self.next_waiter.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn poll_idle(&self, waiter: Waiter, cx: &mut Context<'_>) -> Poll<()> {
        let new = cx.waker().clone();
        let is_it =
            |(other, waker): &(Waiter, Waker)| *other == waiter && (waiter != ANYBODY || waker.will_wake(cx.waker()));
        // Set before the requests are counted, so that a thread that settles one after that, under its lock, sees it.
        let mut idle = lock(&self.idle);
        let before = take_first(&mut idle, is_it);
        idle.push((waiter, new));
        self.is_idle_awaited.store(true, Ordering::Relaxed);
        drop(idle);
        if self.in_flight() > 0 {
            return Poll::Pending;
        }
        let mut idle = lock(&self.idle);
        let own = take_first(&mut idle, is_it);
        self.is_idle_awaited.store(!idle.is_empty(), Ordering::Relaxed);
        drop(idle);
        drop(own);
        // It may be somebody else's of the same task, who then finds out as well.
        before.filter(|_| waiter == ANYBODY).into_iter().for_each(|(_, waker)| waker.wake());
        Poll::Ready(())
    }

    /// Removes the waker of a [waiter](Self::new_waiter).
    pub(super) fn forget_idle(&self, waiter: Waiter) {
        let mut idle = lock(&self.idle);
        let forgotten = take_first(&mut idle, |(other, _)| *other == waiter);
        self.is_idle_awaited.store(!idle.is_empty(), Ordering::Relaxed);
        // In this order, because dropping a waker may drop a task, and with it a waiter.
        drop(idle);
        drop(forgotten);
    }

    #[cold]
    fn add_if_idle(&self, wakes: &mut Wakes) {
        if self.in_flight() > 0 {
            return;
        }
        let mut idle = lock(&self.idle);
        self.is_idle_awaited.store(false, Ordering::Relaxed);
        wakes.waiting().due.extend(idle.drain(..).map(|(_, waker)| waker));
    }

    #[allow(clippy::cast_possible_truncation, reason = "at most `MOST_SHARDS`")]
    fn slot(&self, number: u32, shard: usize) -> u32 {
        number * self.shards.len() as u32 + shard as u32
    }

    #[inline]
    fn number_and_shard(&self, slot: u32) -> (u32, usize) {
        let bits = self.shards.len().trailing_zeros();
        (slot >> bits, slot as usize & (self.shards.len() - 1))
    }

    /// Uses the upper half of the hash. The lower half is for the index of the shard.
    #[inline]
    fn shard_of(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.shards.len() - 1)
    }

    pub(super) fn shards(&self) -> usize {
        self.shards.len()
    }

    #[inline]
    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        lock(&self.shards[shard].0)
    }
}

/// What to do once a lock is released, when this is dropped: wake others, and let go of the ledger. Either may run code of
/// the program that takes the same lock.
#[derive(Default)]
pub(crate) struct Wakes {
    /// Boxed, because there are hardly ever any.
    waiting: Option<Box<Waiting>>,
    /// What was settled last. It may be the last reference to its ledger, with which `wake` is dropped.
    kept: Option<Arc<Share>>,
}

#[derive(Default)]
struct Waiting {
    due: Vec<Waker>,
    /// Wakers that are only dropped. That may drop a task, and with it another ticket.
    unneeded: Vec<Waker>,
    /// Other ledgers, if a batch has answers of several.
    kept: Vec<Arc<Share>>,
}

impl Wakes {
    /// Keeps a ledger alive until this is dropped.
    #[inline(always)]
    pub(super) fn keep(&mut self, share: Arc<Share>) {
        let owed = Arc::as_ptr(share.owed());
        if let Some(before) = self.kept.replace(share)
            && Arc::as_ptr(before.owed()) != owed
        {
            self.waiting().kept.push(before);
        }
    }

    #[cold]
    fn waiting(&mut self) -> &mut Waiting {
        self.waiting.get_or_insert_default()
    }
}

impl Drop for Wakes {
    #[inline]
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.due.into_iter().for_each(Waker::wake);
        }
    }
}

fn take_first<T>(list: &mut Vec<T>, is_it: impl Fn(&T) -> bool) -> Option<T> {
    list.iter().position(is_it).map(|at| list.swap_remove(at))
}

/// Only running out of memory can panic under a lock, and that leaves no inconsistent state.
#[inline]
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(clippy::cast_possible_truncation, reason = "the lower half is as good as the upper")]
fn low(hash: u64) -> u32 {
    hash as u32
}

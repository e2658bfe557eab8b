//! Runs handlers concurrently, in one task.

use std::collections::VecDeque;
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use serde::Serialize;

use crate::connection::{Report, Ticket, handler};
use crate::encode::RpcError;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// If there are more slots than this, they are freed when no handler is left.
const MAX_SPARE_SLOTS: usize = 64;

/// The futures of running handlers, each with the ticket of its request.
///
/// A future is dropped if it panics or if its request is cancelled. Either way, dropping its ticket answers.
pub(super) struct Handlers<F> {
    slots: Vec<HandlerSlot<F>>,
    free: Vec<usize>,
    woken: Arc<WokenSlots>,
}

struct HandlerSlot<F> {
    /// The box is reused for the next future.
    future: Pin<Box<Option<F>>>,
    /// `None` for a notification, or if the slot is free.
    ticket: Option<Ticket>,
    waker: Waker,
    slot_waker: Arc<SlotWaker>,
}

/// The slots that were woken and have to be polled.
#[derive(Default)]
struct WokenSlots {
    /// Whether `queue` isn't empty, readable without the lock.
    any: AtomicBool,
    queue: Mutex<WakeQueue>,
}

#[derive(Default)]
struct WakeQueue {
    slots: VecDeque<usize>,
    /// The task that polls the handlers.
    task: Option<Waker>,
}

struct SlotWaker {
    at: usize,
    /// Whether the slot is in the queue. It must not be queued twice.
    is_queued: AtomicBool,
    woken: Arc<WokenSlots>,
}

impl WokenSlots {
    fn queue(&self) -> MutexGuard<'_, WakeQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.is_queued.swap(true, Ordering::AcqRel) {
            return;
        }
        let task = {
            let mut queue = self.woken.queue();
            queue.slots.push_back(self.at);
            self.woken.any.store(true, Ordering::Release);
            queue.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl<F, T> Handlers<F>
where
    F: Future<Output = Result<T, RpcError>>,
    T: Serialize,
{
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), woken: Arc::default() }
    }

    /// How many handlers are running.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Registers the task, which is woken when a handler is.
    pub(super) fn register(&self, cx: &mut Context<'_>) {
        let mut queue = self.woken.queue();
        if queue.task.as_ref().is_none_or(|task| !task.will_wake(cx.waker())) {
            let before = queue.task.replace(cx.waker().clone());
            drop(queue);
            drop(before);
        }
    }

    /// Adds a handler, and polls it once.
    pub(super) fn add(&mut self, future: F, ticket: Option<Ticket>, report: &mut Report) {
        let at = self.free.pop().unwrap_or_else(|| {
            let at = self.slots.len();
            let slot_waker =
                Arc::new(SlotWaker { at, is_queued: AtomicBool::new(false), woken: Arc::clone(&self.woken) });
            let waker = Waker::from(Arc::clone(&slot_waker));
            self.slots.push(HandlerSlot { future: Box::pin(None), ticket: None, waker, slot_waker });
            at
        });
        let slot = &mut self.slots[at];
        slot.future.as_mut().set(Some(future));
        slot.ticket = ticket;
        self.poll_slot(at, report);
    }

    /// Whether there are handlers to [poll](Self::poll).
    #[inline]
    pub(super) fn are_woken(&self) -> bool {
        self.woken.any.load(Ordering::Acquire)
    }

    /// Polls the handlers that were woken.
    #[inline]
    pub(super) fn poll(&mut self, report: &mut Report) {
        if self.are_woken() {
            // Each slot is polled once. A handler that wakes itself also wakes the task, which polls it again.
            let slots = {
                let mut queue = self.woken.queue();
                self.woken.any.store(false, Ordering::Release);
                mem::take(&mut queue.slots)
            };
            for at in slots {
                // The slots may have been freed.
                if let Some(slot) = self.slots.get(at) {
                    // A swap, not a store, which would let the poll miss what another thread did before it woke the
                    // handler again.
                    slot.slot_waker.is_queued.swap(false, Ordering::AcqRel);
                    self.poll_slot(at, report);
                }
            }
        }
    }

    fn poll_slot(&mut self, at: usize, report: &mut Report) {
        let slot = &mut self.slots[at];
        // The handler may have been removed after it was woken.
        let Some(future) = slot.future.as_mut().as_pin_mut() else { return };
        let cx = &mut Context::from_waker(&slot.waker);
        let id = slot.ticket.as_ref().map(Ticket::id);
        match handler::catch(id, report, || future.poll(cx)) {
            Some(Poll::Pending) => {
                let is_cancelled = slot.ticket.as_ref().is_some_and(|ticket| ticket.poll_cancelled(cx).is_ready());
                if is_cancelled {
                    self.remove(at, report);
                }
            }
            Some(Poll::Ready(outcome)) => {
                let ticket = slot.ticket.take();
                self.remove(at, report);
                handler::settle(ticket, outcome, report);
            }
            None => self.remove(at, report),
        }
    }

    /// Drops all handlers.
    pub(super) fn clear(&mut self, report: &mut Report) {
        for at in 0..self.slots.len() {
            if self.slots[at].future.is_some() {
                self.remove(at, report);
            }
        }
    }

    /// Drops a future and then its ticket, which answers if it still has to.
    fn remove(&mut self, at: usize, report: &mut Report) {
        self.free.push(at);
        let slot = &mut self.slots[at];
        let ticket = slot.ticket.take();
        if handler::catch(None, report, || slot.future.as_mut().set(None)).is_none() {
            // Its destructor panicked. Leak what is left of the future.
            mem::forget(mem::replace(&mut slot.future, Box::pin(None)));
        }
        drop(ticket);
        if self.len() == 0 && self.slots.len() > MAX_SPARE_SLOTS {
            self.slots = Vec::new();
            self.free = Vec::new();
        }
    }
}

/// Drops futures one by one, so that the others are dropped even if a destructor panics.
impl<F> Drop for Handlers<F> {
    fn drop(&mut self) {
        for slot in &mut self.slots {
            let future = mem::replace(&mut slot.future, Box::pin(None));
            let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
        }
    }
}

#[cfg(all(test, wireline_loom))]
mod models {
    use std::future::poll_fn;

    use loom::future::block_on;

    use super::*;
    use crate::connection::Incident;
    use crate::sync::{check, spawn};

    /// A handler that shares nothing but a flag with the thread that wakes it.
    #[test]
    fn a_wake_up_shows_what_came_before_it() {
        check("a handler that is woken twice", 2, || {
            let shared = Arc::new((AtomicBool::new(false), Mutex::new(None)));
            let handler = poll_fn({
                let shared = Arc::clone(&shared);
                let mut is_first = true;
                move |cx| {
                    if mem::take(&mut is_first) {
                        *shared.1.lock().unwrap() = Some(cx.waker().clone());
                    }
                    match shared.0.load(Ordering::Acquire) {
                        true => Poll::Ready(Ok(())),
                        false => Poll::Pending,
                    }
                }
            });
            let (mut handlers, mut report) = (Handlers::new(), |_: Incident<'_>| {});
            handlers.add(handler, None, &mut report);
            let waker = shared.1.lock().unwrap().take().unwrap();
            let other = spawn(move || {
                waker.wake_by_ref();
                shared.0.store(true, Ordering::Release);
                waker.wake();
            });
            block_on(poll_fn(|cx| {
                handlers.register(cx);
                handlers.poll(&mut report);
                match handlers.len() {
                    0 => Poll::Ready(()),
                    _ => Poll::Pending,
                }
            }));
            other.join().unwrap();
        });
    }
}

//! The bodies of earlier answers, for reuse.
//!
//! Each thread keeps a few, which are then in the cache of its CPU. If one thread admits requests and another accepts
//! their answers, the bodies return by way of the ledger, several at a time.

use std::cell::RefCell;
use std::sync::Mutex;

use bytes::BytesMut;

use crate::message::Id;

use super::ticket::Body;

/// How many bodies a thread keeps, and how many go from one thread to another at a time.
const OWN: usize = 2 * BATCH;
const BATCH: usize = 4;
/// How many bodies a ledger keeps for each of its shards, and at most: a small ledger is meant to stay small.
const PER_SHARD: usize = 4;
const MOST_SHARED: usize = 64;
/// How large their buffers may be.
const MOST_LEN: usize = 2048;

#[allow(clippy::vec_box, reason = "the boxes are reused")]
type Bodies = Vec<Box<Body>>;

thread_local! {
    static SPARES: RefCell<Bodies> = const { RefCell::new(Vec::new()) };
}

/// The bodies that a ledger keeps for threads that have none. Nobody waits for this lock: a body can also be allocated.
pub(super) struct Spares {
    shared: Mutex<Bodies>,
    most_shared: usize,
}

impl Spares {
    pub(super) fn new(shards: usize) -> Self {
        Self { shared: Mutex::default(), most_shared: (PER_SHARD * shards).min(MOST_SHARED) }
    }

    #[inline]
    pub(super) fn take(&self) -> Box<Body> {
        // A thread that is ending may have none any more.
        let spare = SPARES.try_with(|own| {
            let own = &mut *own.borrow_mut();
            own.pop().or_else(|| self.fetch(own))
        });
        spare.ok().flatten().unwrap_or_else(|| Body::new(Id::NULL, BytesMut::new()))
    }

    #[inline]
    pub(super) fn keep(&self, mut body: Box<Body>) {
        if body.line.capacity() > MOST_LEN {
            return;
        }
        body.line.clear();
        body.id = Id::NULL; // a long one is on the heap
        let _ = SPARES.try_with(|own| {
            let own = &mut *own.borrow_mut();
            if own.len() == OWN {
                self.hand_over(own);
            }
            own.push(body);
        });
    }

    #[cold]
    fn fetch(&self, own: &mut Bodies) -> Option<Box<Body>> {
        let mut shared = self.shared.try_lock().ok()?;
        let left = shared.len().saturating_sub(BATCH);
        own.extend(shared.drain(left..));
        own.pop()
    }

    #[cold]
    fn hand_over(&self, own: &mut Bodies) {
        let surplus = own.drain(BATCH..);
        if let Ok(mut shared) = self.shared.try_lock() {
            let room = self.most_shared.saturating_sub(shared.len());
            shared.extend(surplus.take(room));
        }
    }
}

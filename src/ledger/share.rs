//! References to a ledger that threads don't contend for.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::owed::Owed;

/// The most threads with a reference count of their own.
const MOST_SHARES: usize = 16;

/// What tickets and answers hold: one reference to the ledger, with a count for those who hold it. Each thread uses its
/// own share, since with a single count its cache line would move between CPUs with every request.
#[repr(align(64))]
pub(super) struct Share(Arc<Owed>);

impl Share {
    #[inline]
    pub(super) fn owed(&self) -> &Arc<Owed> {
        &self.0
    }
}

impl Deref for Share {
    type Target = Owed;

    #[inline]
    fn deref(&self) -> &Owed {
        &self.0
    }
}

/// The shares of all threads. There are a power of two, and no more than shards: a small ledger is meant to stay small.
pub(super) struct Shares(Box<[Arc<Share>]>);

impl Shares {
    pub(super) fn new(owed: Owed) -> Self {
        let owed = Arc::new(owed);
        Self((0..owed.shards().min(MOST_SHARES)).map(|_| Arc::new(Share(Arc::clone(&owed)))).collect())
    }

    /// The share of the current thread.
    #[inline]
    pub(super) fn own(&self) -> &Arc<Share> {
        &self.0[thread_number() & (self.0.len() - 1)]
    }
}

impl Deref for Shares {
    type Target = Owed;

    #[inline]
    fn deref(&self) -> &Owed {
        &self.0[0]
    }
}

/// Threads are numbered as they come to need a number.
#[inline]
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    }

    // Where thread-locals are emulated, a thread that is ending may have none any more.
    NUMBER.try_with(Cell::get).ok().flatten().unwrap_or_else(|| {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let _ = NUMBER.try_with(|own| own.set(Some(number)));
        number
    })
}

//! Calls back into C when a connection has something to do.

use std::ffi::c_void;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// Called when a connection has something to do; see `wl_connection_poll_wake`. It is called on the thread that answers
/// a ticket, sends to the peer or uses the connection.
///
/// It should only wake up the thread of the connection, for example by writing to a pipe or setting a flag. It must not
/// call the library or throw an exception. It may be called more often than necessary.
pub type wl_wake = Option<unsafe extern "C" fn(context: *mut c_void)>;

struct Callback {
    wake: unsafe extern "C" fn(*mut c_void),
    context: *mut c_void,
}

// SAFETY: the header documents that the callback may be called on any thread.
unsafe impl Send for Callback {}
// SAFETY: likewise, and by several threads at once.
unsafe impl Sync for Callback {}

impl Wake for Callback {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // SAFETY: the caller of `wl_connection_new` promises that `wake` can be called with `context`, at any time and
        // on any thread.
        unsafe { (self.wake)(self.context) };
    }
}

/// Creates a waker that calls `wake`, or does nothing if `wake` is NULL.
pub(crate) fn waker(wake: wl_wake, context: *mut c_void) -> Waker {
    wake.map_or_else(|| Waker::noop().clone(), |wake| Waker::from(Arc::new(Callback { wake, context })))
}

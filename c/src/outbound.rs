//! The side that asks.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wireline::Message;
use wireline::ledger::{Outbound, Stray, Untracked};

use crate::boundary::guarded;
use crate::json::id;
use crate::memory::{given, shared, store, taken, wl_span};
use crate::message::{message_at, wl_message};
use crate::status::wl_status;

/// The requests that were sent and that the peer hasn't answered yet. It keeps a pointer of yours with each and gives it
/// back once. Any number of threads may use it at once.
pub struct wl_outbound {
    outbound: Mutex<Outbound<Value>>,
}

/// A pointer that this library only keeps.
struct Value(*mut c_void);

// SAFETY: it is never dereferenced here, and the header says that any thread may get it back.
unsafe impl Send for Value {}

impl wl_outbound {
    fn lock(&self) -> MutexGuard<'_, Outbound<Value>> {
        self.outbound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A ledger of at most `limit` requests in flight.
#[unsafe(no_mangle)]
pub extern "C" fn wl_outbound_new(limit: usize) -> *mut wl_outbound {
    guarded(std::ptr::null_mut(), || given(wl_outbound { outbound: Mutex::new(Outbound::new(limit)) }))
}

/// Frees a ledger, but not the values in it: get those with `wl_outbound_drain` first. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_outbound_free(outbound: *mut wl_outbound) {
    // SAFETY: the caller promises that it is NULL or a ledger that is no longer used.
    guarded((), || drop(unsafe { taken(outbound) }));
}

/// Makes an id for a request, and keeps `value` with it. Ids are 1, 2, 3 and so on; pass them to `wl_encoder_call`.
/// `WL_STATUS_FULL` if too many requests are in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_outbound_issue(
    outbound: *const wl_outbound,
    value: *mut c_void,
    id: *mut u64,
) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a ledger.
        let Some(outbound) = (unsafe { shared(outbound) }) else { return wl_status::InvalidArgument };
        if id.is_null() {
            return wl_status::InvalidArgument;
        }
        match outbound.lock().issue(Value(value)) {
            Ok(issued) => {
                // SAFETY: the caller promises that it points to memory for a number.
                unsafe { store(id, issued.as_u64().unwrap_or_default()) };
                wl_status::Ok
            }
            Err(_) => wl_status::Full,
        }
    })
}

/// Keeps `value` with a request that has an id of your own, as JSON. `WL_STATUS_FULL` or `WL_STATUS_DUPLICATE` if it can't
/// be kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_outbound_track(outbound: *const wl_outbound, id: wl_span, value: *mut c_void) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a ledger, and that there are as many bytes.
        let (Some(outbound), id) = (unsafe { (shared(outbound), self::id(id)) }) else {
            return wl_status::InvalidArgument;
        };
        match id {
            Err(status) => status,
            Ok(None) => wl_status::InvalidArgument,
            Ok(Some(id)) => match outbound.lock().track(&id, Value(value)) {
                Ok(()) => wl_status::Ok,
                Err(Untracked::Duplicate(_)) => wl_status::Duplicate,
                Err(Untracked::Full(_)) => wl_status::Full,
            },
        }
    })
}

/// Stores in `value` what was kept with the request that `response` answers, which is then no longer in flight. If the
/// response answers no request, the result is one of the three `WL_STATUS_STRAY_…`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_outbound_settle(
    outbound: *const wl_outbound,
    response: *const wl_message,
    value: *mut *mut c_void,
) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that each is NULL or valid.
        let parts = unsafe { (shared(outbound), message_at(response)) };
        let (Some(outbound), Some(Message::Response(response))) = parts else { return wl_status::InvalidArgument };
        if value.is_null() {
            return wl_status::InvalidArgument;
        }
        match outbound.lock().settle(response) {
            Ok(Value(kept)) => {
                // SAFETY: the caller promises that it points to memory for a pointer.
                unsafe { store(value, kept) };
                wl_status::Ok
            }
            Err(Stray::NoId) => wl_status::StrayWithoutId,
            Err(Stray::Repeated) => wl_status::StrayRepeated,
            Err(_) => wl_status::StrayUnknown,
        }
    })
}

/// Gives up on the request with this id, because it was cancelled or its answer can't be read, and gives back its value.
/// `WL_STATUS_NOT_FOUND` if it isn't in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_outbound_withdraw(
    outbound: *const wl_outbound,
    id: wl_span,
    value: *mut *mut c_void,
) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a ledger, and that there are as many bytes.
        let (Some(outbound), id) = (unsafe { (shared(outbound), self::id(id)) }) else {
            return wl_status::InvalidArgument;
        };
        let id = match id {
            Ok(Some(id)) if !value.is_null() => id,
            Ok(_) => return wl_status::InvalidArgument,
            Err(status) => return status,
        };
        match outbound.lock().withdraw(&id) {
            Some(Value(kept)) => {
                // SAFETY: the caller promises that it points to memory for a pointer.
                unsafe { store(value, kept) };
                wl_status::Ok
            }
            None => wl_status::NotFound,
        }
    })
}

/// How many requests are in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_outbound_in_flight(outbound: *const wl_outbound) -> usize {
    // SAFETY: the caller promises that it is NULL or a ledger.
    guarded(0, || unsafe { shared(outbound) }.map_or(0, |outbound| outbound.lock().in_flight()))
}

/// Called with each request that is drained: its id as JSON, valid during the call, and its value.
pub type wl_each = Option<unsafe extern "C" fn(context: *mut c_void, id: wl_span, value: *mut c_void)>;

/// Removes all requests, the oldest first, and calls `each` for every one: at the end of the stream they won't be answered.
/// Returns how many there were. `each` may be NULL. It may use the ledger, but must not throw an exception.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_outbound_drain(outbound: *const wl_outbound, each: wl_each, context: *mut c_void) -> usize {
    guarded(0, || {
        // SAFETY: the caller promises that it is NULL or a ledger.
        let Some(outbound) = (unsafe { shared(outbound) }) else { return 0 };
        let drained = outbound.lock().drain();
        let count = drained.len();
        if let Some(each) = each {
            for (id, Value(value)) in drained {
                // SAFETY: the caller promises that it can be called so.
                unsafe { each(context, wl_span::of(id.as_json().as_bytes()), value) };
            }
        }
        count
    })
}

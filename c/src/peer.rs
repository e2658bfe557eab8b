//! The other side of a connection.

use std::ffi::c_void;
use std::time::{Duration, Instant};

use wireline::connection::{Peer, SendError};
use wireline::{Id, Message};

use crate::boundary::catch_panic;
use crate::encoder::{required, rpc_error};
use crate::event::Value;
use crate::json::{payload, text};
use crate::memory::{from_handle, shared, store, wl_span};
use crate::message::{message_at, wl_message};
use crate::status::wl_status;

/// A handle for sending requests and notifications to the other side of a connection. Any number of threads may use it
/// at once, even while the connection's thread uses the connection.
///
/// These functions never wait: they queue messages, which the thread of the connection writes. A handle can outlive its
/// connection. Then sending fails with `WL_STATUS_CLOSED`.
pub struct wl_peer {
    pub(crate) peer: Peer<Value>,
    pub(crate) clock: Clock,
}

/// Converts times of the caller's clock, in milliseconds.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    /// The instant that stands for the caller's zero. It is arbitrary, since instants are only compared with each
    /// other.
    zero: Instant,
}

impl Clock {
    /// About 1,100 years. Later times are replaced by this one, so that an `Instant` can represent them.
    const LATEST: u64 = 1 << 45;

    pub(crate) fn new() -> Self {
        Self { zero: Instant::now() }
    }

    pub(crate) fn instant(self, milliseconds: u64) -> Instant {
        self.zero + Duration::from_millis(milliseconds.min(Self::LATEST))
    }

    pub(crate) fn milliseconds(self, instant: Instant) -> u64 {
        u64::try_from(instant.duration_since(self.zero).as_millis()).unwrap_or(Self::LATEST)
    }
}

/// Frees a handle, which doesn't affect the connection. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_peer_free(peer: *mut wl_peer) {
    // SAFETY: the caller promises that it is NULL or a handle that is no longer used.
    catch_panic((), || drop(unsafe { from_handle(peer) }));
}

/// Sends a request. `params`, JSON on one line, may be absent.
///
/// The connection keeps `value`, which may be NULL, and returns it once: with the response, with the event that the
/// request is lost, or from `wl_peer_cancel`. The id, for `wl_peer_cancel` and `wl_peer_set_deadline`, is stored in
/// `id` unless that is NULL. The response may arrive before this function returns, if another thread drives the
/// connection.
///
/// Returns `WL_STATUS_FULL` if too many bytes are pending or too many requests are in flight, and `WL_STATUS_CLOSED` if
/// the connection has ended. The value isn't kept if this function fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_peer_call(
    peer: *const wl_peer,
    method: wl_span,
    params: wl_span,
    value: *mut c_void,
    id: *mut u64,
) -> wl_status {
    // SAFETY: the caller promises that each span is valid, and that `peer` and `id` are as `send` requires.
    unsafe {
        send(peer, id, |peer| {
            let (method, params) = (required(text(method)?)?, payload(params)?);
            Ok(peer.request(method, &params, Value(value)))
        })
    }
}

/// Sends another peer's request with an id of this connection, as a proxy does. Only the id is replaced. Otherwise
/// works like `wl_peer_call`.
///
/// Forward the response with `wl_ticket_relay`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_peer_forward_request(
    peer: *const wl_peer,
    request: *const wl_message,
    value: *mut c_void,
    id: *mut u64,
) -> wl_status {
    // SAFETY: the caller promises that the message is still valid, and that `peer` and `id` are as `send` requires.
    unsafe {
        send(peer, id, |peer| match message_at(request) {
            Some(Message::Request(request)) => Ok(peer.forward_request(request, Value(value))),
            _ => Err(wl_status::InvalidArgument),
        })
    }
}

/// # Safety
///
/// Each pointer is NULL, or points to a peer and to memory for a number, respectively.
unsafe fn send(
    peer: *const wl_peer,
    id: *mut u64,
    send: impl FnOnce(&Peer<Value>) -> Result<Result<Id<'static>, SendError>, wl_status>,
) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: as the caller promises.
        let Some(peer) = (unsafe { shared(peer) }) else { return wl_status::InvalidArgument };
        match send(&peer.peer) {
            Ok(Ok(sent)) => {
                // SAFETY: as the caller promises.
                unsafe { store(id, sent.as_u64().unwrap_or_default()) };
                wl_status::Ok
            }
            Ok(Err(error)) => wl_status::of_sending(&error),
            Err(status) => status,
        }
    })
}

/// Sends a notification. `params`, JSON on one line, may be absent. Returns `WL_STATUS_FULL` if too many bytes are
/// pending, and `WL_STATUS_CLOSED` if the connection has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_peer_notify(peer: *const wl_peer, method: wl_span, params: wl_span) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a peer, and that each span is valid.
        let (peer, method, params) = unsafe { (shared(peer), text(method).and_then(required), payload(params)) };
        match (peer, method, params) {
            (None, ..) => wl_status::InvalidArgument,
            (_, Err(status), _) | (_, _, Err(status)) => status,
            (Some(peer), Ok(method), Ok(params)) => match peer.peer.try_notify(method, &params) {
                Ok(()) => wl_status::Ok,
                Err(error) => wl_status::of_sending(&error),
            },
        }
    })
}

/// Sets when a request expires, in milliseconds of your clock, which can be any clock that doesn't go backwards.
/// Returns `WL_STATUS_NOT_FOUND` if the request isn't in flight.
///
/// Nothing happens automatically at that time; call `wl_connection_next_expired` to find expired requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_peer_set_deadline(peer: *const wl_peer, id: u64, milliseconds: u64) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a peer.
        let Some(peer) = (unsafe { shared(peer) }) else { return wl_status::InvalidArgument };
        match peer.peer.set_deadline(&Id::from(id), peer.clock.instant(milliseconds)) {
            true => wl_status::Ok,
            false => wl_status::NotFound,
        }
    })
}

/// Cancels a request: sends the dialect's notification to the peer, and stores the value that was kept with the request
/// in `value`. Returns `WL_STATUS_NOT_FOUND` if the request isn't in flight. A response that still arrives is a stray.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_peer_cancel(peer: *const wl_peer, id: u64, value: *mut *mut c_void) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a peer.
        let Some(peer) = (unsafe { shared(peer) }) else { return wl_status::InvalidArgument };
        let Some(Value(kept)) = peer.peer.cancel(&Id::from(id)) else { return wl_status::NotFound };
        // SAFETY: the caller promises that it is NULL or points to memory for a pointer.
        unsafe { store(value, kept) };
        wl_status::Ok
    })
}

/// Refuses all further requests of the peer with an error. Requests in flight can still be answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_peer_close(peer: *const wl_peer) {
    catch_panic((), || {
        // SAFETY: the caller promises that it is NULL or a peer.
        if let Some(peer) = unsafe { shared(peer) } {
            peer.peer.close();
        }
    });
}

/// Answers all requests of the peer that are in flight with an error, and refuses further ones. `data`, JSON on one
/// line, may be absent. Tickets of these requests must still be answered or freed, but that sends nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_peer_abort(peer: *const wl_peer, code: i64, message: wl_span, data: wl_span) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a peer, and that each span is valid.
        let (Some(peer), error) = (unsafe { (shared(peer), rpc_error(code, message, data)) }) else {
            return wl_status::InvalidArgument;
        };
        match error {
            Ok(Ok(error)) => {
                peer.peer.abort(&error);
                wl_status::Ok
            }
            Ok(Err(error)) => wl_status::of(&error),
            Err(status) => status,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_maps_times_both_ways() {
        let clock = Clock::new();
        for time in [0, 1, 1_700_000_000_000, Clock::LATEST] {
            assert_eq!(clock.milliseconds(clock.instant(time)), time);
        }
        assert_eq!(clock.instant(u64::MAX), clock.instant(Clock::LATEST));
    }
}

//! The duty to answer one request.

use wireline::Message;
use wireline::connection::Ticket;

use crate::boundary::catch_panic;
use crate::encoder::{required, rpc_error};
use crate::json::payload;
use crate::memory::{from_handle, shared, wl_span};
use crate::message::{message_at, wl_message};
use crate::status::wl_status;

/// The duty to answer one request, once. Any thread may use it, but only one at a time, even while the thread of the
/// connection uses the connection.
///
/// Answering consumes the ticket and never waits: the answer is queued, and the thread of the connection writes it.
/// Freeing a ticket answers with an internal error. The answer to an entry of a batch is held until all requests of the
/// batch are answered, and then sent with these answers in one array.
///
/// A ticket can outlive its connection. Then `wl_ticket_is_cancelled` is true, and answers go nowhere.
pub struct wl_ticket {
    pub(crate) ticket: Ticket,
}

/// The id of the request as JSON, spelled as in the request. Valid as long as the ticket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_ticket_id(ticket: *const wl_ticket) -> wl_span {
    catch_panic(wl_span::ABSENT, || {
        // SAFETY: the caller promises that it is NULL or a ticket.
        let ticket = unsafe { shared(ticket) };
        ticket.map_or(wl_span::ABSENT, |ticket| wl_span::of(ticket.ticket.id().as_json().as_bytes()))
    })
}

/// Whether you can stop working on the request: the peer has cancelled it, `wl_peer_abort` has answered it, or the
/// connection is gone. Cheap enough to call in a loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_ticket_is_cancelled(ticket: *const wl_ticket) -> bool {
    // SAFETY: the caller promises that it is NULL or a ticket.
    catch_panic(false, || unsafe { shared(ticket) }.is_some_and(|ticket| ticket.ticket.is_cancelled()))
}

/// Answers with a result, JSON on one line, and consumes the ticket.
///
/// If the result isn't JSON, or the rules don't permit it, the answer is an internal error, and the status is the
/// reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_ticket_respond(ticket: *mut wl_ticket, result: wl_span) -> wl_status {
    // SAFETY: the caller promises that it is a ticket that is no longer used, and that each span is valid.
    unsafe {
        answer(ticket, |ticket| match payload(result).and_then(required) {
            Ok(result) => match ticket.try_respond(&result) {
                Ok(()) => wl_status::Ok,
                Err((ticket, error)) => {
                    drop(ticket);
                    wl_status::of(&error)
                }
            },
            Err(status) => status,
        })
    }
}

/// Answers with an error, and consumes the ticket. `data`, JSON on one line, may be absent.
///
/// If an argument is invalid, the answer is an internal error, and the status is the reason. The answer is also an
/// internal error if the given error is too long for a line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_ticket_fail(
    ticket: *mut wl_ticket,
    code: i64,
    message: wl_span,
    data: wl_span,
) -> wl_status {
    // SAFETY: the caller promises that it is a ticket that is no longer used, and that each span is valid.
    unsafe {
        answer(ticket, |ticket| match rpc_error(code, message, data) {
            Ok(Ok(error)) => {
                ticket.fail(&error);
                wl_status::Ok
            }
            Ok(Err(error)) => wl_status::of(&error),
            Err(status) => status,
        })
    }
}

/// Answers with the response to another request, as a proxy does, and consumes the ticket. Only the id is replaced.
///
/// If the message isn't a response, the answer is an internal error, and the status `WL_STATUS_INVALID_ARGUMENT`. The
/// answer is also an internal error if the rules of this connection don't permit the response.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_ticket_relay(ticket: *mut wl_ticket, response: *const wl_message) -> wl_status {
    // SAFETY: the caller promises that it is a ticket that is no longer used, and that the message is still valid.
    unsafe {
        answer(ticket, |ticket| match message_at(response) {
            Some(Message::Response(response)) => {
                ticket.relay(response);
                wl_status::Ok
            }
            _ => wl_status::InvalidArgument,
        })
    }
}

/// Answers with an internal error, or with "Request cancelled" if the peer has cancelled the request, and frees the
/// ticket. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_ticket_free(ticket: *mut wl_ticket) {
    // SAFETY: the caller promises that it is NULL or a ticket that is no longer used.
    catch_panic((), || drop(unsafe { from_handle(ticket) }));
}

/// Passes a ticket to `answer`, which consumes it. A ticket that it drops answers with an internal error.
///
/// # Safety
///
/// `ticket` is NULL or a ticket that is no longer used.
unsafe fn answer(ticket: *mut wl_ticket, answer: impl FnOnce(Ticket) -> wl_status) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: as the caller promises.
        unsafe { from_handle(ticket) }.map_or(wl_status::InvalidArgument, |ticket| answer(ticket.ticket))
    })
}

//! The side that is asked: one answer for each request.

use std::ffi::c_void;
use std::time::Duration;

use bytes::Bytes;
use wireline::Message;
use wireline::RpcError;
use wireline::ledger::{Answer, Inbound, Ticket};

use crate::boundary::guarded;
use crate::encoder::rpc_error;
use crate::json::{id, payload};
use crate::kinds::wl_refusal;
use crate::memory::{exclusive, given, shared, store, taken, wl_span};
use crate::message::{fault_at, message_at, wl_fault, wl_message};
use crate::rules::{rules_at, wl_rules};
use crate::status::wl_status;

/// The requests that were received and not answered yet. Any number of threads may use it at once.
///
/// Admitting a request gives you a ticket, responding turns the ticket into an answer, and accepting the answer settles
/// the request. If you free a ticket or an answer before that, the peer still waits: `wl_inbound_next_dropped` then gives
/// you an error to send instead.
pub struct wl_inbound {
    inbound: Inbound,
}

/// The duty to answer one request. One thread at a time may use it. It stays valid if the ledger's handle is freed.
pub struct wl_ticket {
    ticket: Ticket,
}

/// A line to send. Accepting it settles the request that it answers. One thread at a time may use it.
pub struct wl_answer {
    /// Until it is accepted.
    answer: Option<Answer>,
    accepted: Bytes,
    refusal: wl_refusal,
    status: wl_status,
}

impl wl_answer {
    fn given(answer: Answer, status: wl_status) -> *mut Self {
        let status = match answer.instead_of() {
            Some(error) => wl_status::of(error),
            None => status,
        };
        let refusal = answer.refusal().map_or(wl_refusal::None, wl_refusal::from);
        given(Self { answer: Some(answer), accepted: Bytes::new(), refusal, status })
    }
}

/// Called when a ticket or its answer is freed without being accepted and its request is still owed, on whichever thread
/// frees it. Freeing an answer that came from the queue of dropped requests doesn't call it again.
///
/// It should only signal another thread. It must not call the library or throw an exception.
pub type wl_wake = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// Whatever a callback wants to have.
struct Context(*mut c_void);

// SAFETY: the header says that the callback is called on any thread.
unsafe impl Send for Context {}
// SAFETY: likewise.
unsafe impl Sync for Context {}

impl Context {
    fn pointer(&self) -> *mut c_void {
        self.0
    }
}

/// A ledger for requests under `rules`, of which at most `limit` may be in flight. NULL if `rules` is invalid.
///
/// `wake` may be NULL. Otherwise it is called with `context`, which must stay valid until the ledger and all of its
/// tickets and answers are freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_inbound_new(
    rules: *const wl_rules,
    limit: usize,
    wake: wl_wake,
    context: *mut c_void,
) -> *mut wl_inbound {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or points to rules.
        let Some(rules) = (unsafe { rules_at(rules) }) else { return std::ptr::null_mut() };
        let inbound = match wake {
            None => Inbound::new(rules, limit),
            Some(wake) => {
                let context = Context(context);
                // SAFETY: the caller promises that it can be called so, at any time and on any thread.
                Inbound::with_wake(rules, limit, move || unsafe { wake(context.pointer()) })
            }
        };
        given(wl_inbound { inbound })
    })
}

/// Frees a ledger's handle. Tickets and answers that are still around remain usable. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_inbound_free(inbound: *mut wl_inbound) {
    // SAFETY: the caller promises that it is NULL or a ledger that is no longer used.
    guarded((), || drop(unsafe { taken(inbound) }));
}

/// Admits a request, which is in flight from now on, and returns the ticket for it.
///
/// NULL if the request is refused. Its sender still waits, so the answer that says why is stored in `refusal`; send it
/// like any other. If an argument is invalid, such as a message that isn't a request, `refusal` is set to NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_inbound_admit(
    inbound: *const wl_inbound,
    request: *const wl_message,
    refusal: *mut *mut wl_answer,
) -> *mut wl_ticket {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that each is NULL or valid.
        let parts = unsafe {
            store(refusal, std::ptr::null_mut());
            (shared(inbound), message_at(request))
        };
        let (Some(inbound), Some(Message::Request(request))) = parts else { return std::ptr::null_mut() };
        if refusal.is_null() {
            // Nobody could send it.
            return std::ptr::null_mut();
        }
        match inbound.inbound.admit(request) {
            Ok(ticket) => given(wl_ticket { ticket }),
            Err(answer) => {
                // SAFETY: as above.
                unsafe { store(refusal, wl_answer::given(answer, wl_status::Ok)) };
                std::ptr::null_mut()
            }
        }
    })
}

/// The error response to a fault, to be sent or put into a batch like any other answer. NULL if the fault should not be
/// answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_inbound_reply(inbound: *const wl_inbound, fault: *const wl_fault) -> *mut wl_answer {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that each is NULL or valid.
        let (Some(inbound), Some(fault)) = (unsafe { (shared(inbound), fault_at(fault)) }) else {
            return std::ptr::null_mut();
        };
        match fault.reply() {
            Some(reply) => wl_answer::given(inbound.inbound.reply(&reply), wl_status::Ok),
            None => std::ptr::null_mut(),
        }
    })
}

/// Joins the answers to a batch into one array, or into several lines where the rules or limits demand it. Consumes the
/// answers. NULL entries are skipped. NULL if there are no others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_inbound_batch(
    inbound: *const wl_inbound,
    answers: *const *mut wl_answer,
    count: usize,
) -> *mut wl_answer {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or a ledger.
        let Some(inbound) = (unsafe { shared(inbound) }) else { return std::ptr::null_mut() };
        if answers.is_null() {
            return std::ptr::null_mut();
        }
        let answers: Vec<Answer> = (0..count)
            // SAFETY: the caller promises that there are as many, each NULL or an answer that is no longer used.
            .filter_map(|at| unsafe { taken(*answers.add(at)) })
            .filter_map(|answer| answer.answer)
            .collect();
        if answers.is_empty() {
            return std::ptr::null_mut();
        }
        wl_answer::given(inbound.inbound.batch(answers), wl_status::Ok)
    })
}

/// An error response to a request whose ticket or answer was freed, the oldest first: an internal error, or "Request
/// cancelled" if it was cancelled. NULL if there is none.
///
/// If you free this answer without accepting it, you will get it again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_inbound_next_dropped(inbound: *const wl_inbound) -> *mut wl_answer {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or a ledger.
        let answer = unsafe { shared(inbound) }.and_then(|inbound| inbound.inbound.dropped().next());
        answer.map_or(std::ptr::null_mut(), |answer| wl_answer::given(answer, wl_status::Ok))
    })
}

/// Marks the request with this id as cancelled by its caller. False if it isn't in flight.
///
/// Under MCP rules it must not be answered then: accepting its answer gives no bytes to send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_inbound_cancel(inbound: *const wl_inbound, id: wl_span) -> bool {
    guarded(false, || {
        // SAFETY: the caller promises that it is NULL or a ledger, and that there are as many bytes.
        match unsafe { (shared(inbound), self::id(id)) } {
            (Some(inbound), Ok(Some(id))) => inbound.inbound.cancel(&id),
            _ => false,
        }
    })
}

/// How many requests are admitted and not settled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_inbound_in_flight(inbound: *const wl_inbound) -> usize {
    // SAFETY: the caller promises that it is NULL or a ledger.
    guarded(0, || unsafe { shared(inbound) }.map_or(0, |inbound| inbound.inbound.in_flight()))
}

/// Refuses all requests from now on. Those in flight can still be answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_inbound_close(inbound: *const wl_inbound) {
    guarded((), || {
        // SAFETY: the caller promises that it is NULL or a ledger.
        if let Some(inbound) = unsafe { shared(inbound) } {
            inbound.inbound.close();
        }
    });
}

/// Blocks until no request is in flight, or until `milliseconds` have passed. True if no request is in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_inbound_wait_idle(inbound: *const wl_inbound, milliseconds: u64) -> bool {
    guarded(false, || {
        // SAFETY: the caller promises that it is NULL or a ledger.
        let inbound = unsafe { shared(inbound) };
        inbound.is_some_and(|inbound| inbound.inbound.wait_idle(Duration::from_millis(milliseconds)))
    })
}

/// Answers every request in flight with the same error, no matter who holds its ticket: one answer of several lines. Each
/// request is still answered only once, by the answer that is accepted first. NULL if nothing is in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_inbound_answer_rest(
    inbound: *const wl_inbound,
    code: i64,
    message: wl_span,
) -> *mut wl_answer {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or a ledger, and that there are as many bytes.
        let (inbound, error) = unsafe { (shared(inbound), rpc_error(code, message, wl_span::ABSENT)) };
        let (Some(inbound), Ok(Ok(error))) = (inbound, error) else { return std::ptr::null_mut() };
        let rest = inbound.inbound.answer_rest(&error);
        if rest.is_empty() {
            return std::ptr::null_mut();
        }
        wl_answer::given(rest.into_iter().collect(), wl_status::Ok)
    })
}

/// The id of the request: JSON, spelled as in the request. Valid as long as the ticket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_ticket_id(ticket: *const wl_ticket) -> wl_span {
    guarded(wl_span::ABSENT, || {
        // SAFETY: the caller promises that it is NULL or a ticket.
        let ticket = unsafe { shared(ticket) };
        ticket.map_or(wl_span::ABSENT, |ticket| wl_span::of(ticket.ticket.id().as_json().as_bytes()))
    })
}

/// Whether you can stop working on the request: it was cancelled, or answered by `wl_inbound_answer_rest`. It takes no
/// lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_ticket_is_cancelled(ticket: *const wl_ticket) -> bool {
    // SAFETY: the caller promises that it is NULL or a ticket.
    guarded(false, || unsafe { shared(ticket) }.is_some_and(|ticket| ticket.ticket.is_cancelled()))
}

/// Answers with a result, JSON on one line, and consumes the ticket. NULL only if `ticket` is.
///
/// If the result isn't JSON, or the rules don't permit it, the answer is an internal error; `wl_answer_status` says why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_ticket_respond(ticket: *mut wl_ticket, result: wl_span) -> *mut wl_answer {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or a ticket that is no longer used.
        let Some(ticket) = (unsafe { taken(ticket) }) else { return std::ptr::null_mut() };
        // SAFETY: the caller promises that there are as many bytes.
        let (answer, status) = match unsafe { payload(result) } {
            Ok(Some(result)) => (ticket.ticket.respond(&result), wl_status::Ok),
            Ok(None) => (ticket.ticket.fail(&RpcError::internal()), wl_status::InvalidArgument),
            Err(status) => (ticket.ticket.fail(&RpcError::internal()), status),
        };
        wl_answer::given(answer, status)
    })
}

/// Answers with an error, and consumes the ticket. `data`, JSON on one line, may be absent. NULL only if `ticket` is.
///
/// If that can't be encoded, the answer is an internal error; `wl_answer_status` says why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_ticket_fail(
    ticket: *mut wl_ticket,
    code: i64,
    message: wl_span,
    data: wl_span,
) -> *mut wl_answer {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or a ticket that is no longer used.
        let Some(ticket) = (unsafe { taken(ticket) }) else { return std::ptr::null_mut() };
        // SAFETY: the caller promises that there are as many bytes.
        let (error, status) = match unsafe { rpc_error(code, message, data) } {
            Ok(Ok(error)) => (error, wl_status::Ok),
            Ok(Err(error)) => (RpcError::internal(), wl_status::of(&error)),
            Err(status) => (RpcError::internal(), status),
        };
        wl_answer::given(ticket.ticket.fail(&error), status)
    })
}

/// Frees a ticket without answering. Its request is still owed. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_ticket_free(ticket: *mut wl_ticket) {
    // SAFETY: the caller promises that it is NULL or a ticket that is no longer used.
    guarded((), || drop(unsafe { taken(ticket) }));
}

/// The line or lines to send, with their line feeds. Valid until the answer is accepted, joined or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_answer_bytes(answer: *const wl_answer) -> wl_span {
    guarded(wl_span::ABSENT, || {
        // SAFETY: the caller promises that it is NULL or an answer that nobody changes.
        let Some(answer) = (unsafe { shared(answer) }) else { return wl_span::ABSENT };
        wl_span::of(answer.answer.as_ref().map_or(&answer.accepted, Answer::as_bytes))
    })
}

/// `WL_STATUS_OK`, or the reason why the answer is an internal error instead of what you gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_answer_status(answer: *const wl_answer) -> wl_status {
    // SAFETY: the caller promises that it is NULL or an answer.
    guarded(wl_status::Panic, || unsafe { shared(answer) }.map_or(wl_status::InvalidArgument, |answer| answer.status))
}

/// Why the request wasn't admitted, if this answer is a refusal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_answer_refusal(answer: *const wl_answer) -> wl_refusal {
    // SAFETY: the caller promises that it is NULL or an answer.
    guarded(wl_refusal::None, || unsafe { shared(answer) }.map_or(wl_refusal::None, |answer| answer.refusal))
}

/// Settles the request and returns the bytes to write. They are valid until the answer is freed.
///
/// Accept before writing: the peer may use the id again as soon as it has read the answer. The bytes are empty if nothing
/// should be sent, because the request was cancelled under MCP rules or was already answered. Accepting twice returns the
/// same bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_answer_accept(answer: *mut wl_answer) -> wl_span {
    guarded(wl_span::ABSENT, || {
        // SAFETY: the caller promises that it is NULL or an answer that nobody else uses.
        let Some(answer) = (unsafe { exclusive(answer) }) else { return wl_span::ABSENT };
        if let Some(pending) = answer.answer.take() {
            answer.accepted = pending.accept();
        }
        wl_span::of(&answer.accepted)
    })
}

/// Frees an answer. If it wasn't accepted, its request is still owed. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_answer_free(answer: *mut wl_answer) {
    // SAFETY: the caller promises that it is NULL or an answer that is no longer used.
    guarded((), || drop(unsafe { taken(answer) }));
}

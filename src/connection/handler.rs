//! Calling a handler, which may panic.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;

use crate::encode::RpcError;
use crate::message::Id;

use super::{Incident, Ticket};

/// Receives incidents.
pub(crate) type Report = dyn FnMut(Incident<'_>) + Send;

/// How many notifications may wait for a handler before reading pauses.
///
/// More are allowed while handlers may be waiting for the peer, because the peer may be waiting for this side to read.
pub(crate) fn most_notifications(is_peer_waited_for: bool) -> usize {
    if is_peer_waited_for { 64 << 10 } else { 1 << 10 }
}

/// Calls `run`, and reports a panic.
pub(crate) fn catch<R>(
    id: Option<&Id<'_>>,
    report: &mut (impl FnMut(Incident<'_>) + ?Sized),
    run: impl FnOnce() -> R,
) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(output) => Some(output),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let message = text.or_else(|| payload.downcast_ref::<&str>().copied());
            report(Incident::Panic { id, message });
            drop_payload(payload);
            None
        }
    }
}

/// Answers with a handler's outcome, and reports a panic or an answer that can't be encoded. A notification has no
/// ticket.
pub(crate) fn settle<T: Serialize>(
    ticket: Option<Ticket>,
    outcome: Result<T, RpcError>,
    report: &mut (impl FnMut(Incident<'_>) + ?Sized),
) {
    let id = ticket.as_ref().map(|ticket| ticket.id().clone());
    // If the result panics while it is encoded, dropping the ticket answers. If it panics while it is dropped, the
    // answer is already queued.
    let replaced = catch(id.as_ref(), report, || match ticket {
        Some(ticket) => ticket.settle_or_replace(&outcome).err(),
        None => None,
    });
    let dropped = catch(id.as_ref(), report, || drop(outcome));
    if let (Some(id), Some(Some(error)), _) = (&id, &replaced, dropped) {
        report(Incident::Replaced { id, error });
    }
}

/// Drops the payload of a panic. If that panics in turn, the second payload is leaked.
fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(payload);
    }
}

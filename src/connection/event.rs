//! The events of a connection.

use std::fmt;

use crate::decode::Fault;
use crate::ledger::{Refusal, Stray};
use crate::message::{Id, Notification, Request, Response};

use super::ticket::Ticket;

/// Something the peer has sent, or the outcome of a request to it.
///
/// Every line, and every entry of a batch, is exactly one event. Events may be added, so a `match` needs a wildcard
/// arm: `_ => {}` is safe, because a request that isn't handled is answered when its ticket is dropped.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a, T> {
    /// A request, and the duty to answer it.
    Request(Request<'a>, Ticket),
    /// A notification.
    Notification(Notification<'a>),
    /// The response to a request, and the value kept for that request.
    Response(Response<'a>, T),
    /// The dialect's notification that cancels a request, the id of that request, and whether it was in flight. Its
    /// ticket is already cancelled.
    Cancelled(Notification<'a>, Id<'static>, bool),
    /// No response will come to the request with this id.
    Lost(Id<'static>, T, Lost),
    /// A response that answers no request in flight.
    Stray(Response<'a>, Stray),
    /// A request that was refused, and already answered with an error.
    Refused(Request<'a>, Refusal),
    /// A line, or an entry of a batch, that isn't a valid message. It is already answered if it has a
    /// [`reply`](Fault::reply).
    Fault(Fault),
}

/// Why no response will come to a request.
///
/// Reasons may be added, so a `match` needs a wildcard arm.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Lost {
    /// The peer sent a response that isn't a valid message.
    Faulty(Box<Fault>),
    /// Its deadline has passed.
    Expired,
    /// The connection has ended.
    Ended,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faulty(fault) => write!(f, "invalid response: {fault}"),
            Self::Expired => f.write_str("no response in time"),
            Self::Ended => f.write_str("the connection has ended"),
        }
    }
}

impl std::error::Error for Lost {}

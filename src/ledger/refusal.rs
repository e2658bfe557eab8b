//! Why a request is refused.

use std::fmt;

use crate::encode::RpcError;
use crate::message::code;

/// Why a request wasn't admitted.
///
/// The request is answered with error -32600 if its id is in use, and otherwise with -32000 and a message that says
/// why.
///
/// Reasons may be added, so a `match` needs a wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A request with the same id is in flight.
    Duplicate,
    /// The [limit](crate::connection::Config::in_flight) on requests in flight is reached.
    TooMany,
    /// The connection is [closed](crate::connection::Connection::close) for further requests.
    Closed,
}

impl Refusal {
    /// The error to answer the request with.
    #[must_use]
    pub fn error(self) -> RpcError {
        match self {
            Self::Duplicate => RpcError::invalid_request("the id is already in use by a request in flight"),
            Self::TooMany => RpcError::new(code::SERVER_BUSY, "too many requests in flight"),
            Self::Closed => RpcError::shutting_down(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Duplicate => "a request with the same id is in flight",
            Self::TooMany => "too many requests in flight",
            Self::Closed => "no more requests are accepted",
        })
    }
}

impl std::error::Error for Refusal {}

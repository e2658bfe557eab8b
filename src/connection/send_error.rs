//! Why a request or a notification wasn't sent.

use std::fmt;
use std::io;

use crate::encode::{EncodeError, RpcError};

/// Why a request or a notification wasn't sent.
///
/// Reasons may be added, so a `match` needs a wildcard arm.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// It can't be encoded, or the rules don't permit it.
    Encode(EncodeError),
    /// Too many bytes are waiting to be written, or too many requests are in flight.
    Full,
    /// The connection has ended, or is [ending](super::Peer::end).
    Closed,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encode(error) => fmt::Display::fmt(error, f),
            Self::Full => f.write_str("too many bytes or requests are waiting"),
            Self::Closed => f.write_str("the connection has ended"),
        }
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Encode(error) => std::error::Error::source(error),
            Self::Full | Self::Closed => None,
        }
    }
}

impl From<EncodeError> for SendError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

/// Lets a handler use `?` when it sends: the answer is an internal error that says why.
impl From<SendError> for RpcError {
    fn from(error: SendError) -> Self {
        Self::new(Self::INTERNAL_ERROR, error.to_string())
    }
}

/// The kind is [`InvalidInput`](io::ErrorKind::InvalidInput), [`WouldBlock`](io::ErrorKind::WouldBlock) or
/// [`BrokenPipe`](io::ErrorKind::BrokenPipe).
impl From<SendError> for io::Error {
    fn from(error: SendError) -> Self {
        let kind = match error {
            SendError::Encode(error) => return error.into(),
            SendError::Full => io::ErrorKind::WouldBlock,
            SendError::Closed => io::ErrorKind::BrokenPipe,
        };
        Self::new(kind, error)
    }
}

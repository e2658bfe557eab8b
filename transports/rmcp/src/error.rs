//! Why a message was not sent.

use std::io;

use wireline::EncodeError;

/// An error from sending a message or closing a transport.
///
/// Only [`Io`](Self::Io) is about the connection. A refused message does not end it: if it is a call, that fails at once;
/// if it is an answer, the peer gets an internal error with the same id.
///
/// rmcp wraps it in a [`DynamicTransportError`](rmcp::transport::DynamicTransportError):
///
/// ```
/// use rmcp::ServiceError;
/// use wireline_rmcp::SendError;
///
/// fn was_refused(error: &ServiceError) -> bool {
///     match error {
///         ServiceError::TransportSend(error) => matches!(error.error.downcast_ref(), Some(SendError::Refused(_))),
///         _ => false,
///     }
/// }
/// ```
///
/// Reasons may be added, so a `match` needs a wildcard arm.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The message could not be encoded: it breaks the transport's [rules](wireline::Rules), for example the line
    /// limit, or does not serialize.
    #[error("message refused: {0}")]
    Refused(EncodeError),
    /// The writer failed, or the transport is closed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

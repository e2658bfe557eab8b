//! Why a connection ended.

use std::io;

/// Why a connection ended. Its text contains nothing that the server sent.
///
/// jsonrpsee returns it for each call that was open:
///
/// ```
/// use jsonrpsee_core::client::Error;
/// use wireline_jsonrpsee::Disconnected;
///
/// fn why(error: &Error) -> Option<&Disconnected> {
///     match error {
///         Error::RestartNeeded(error) => why(error),
///         Error::Transport(error) => error.downcast_ref(),
///         _ => None,
///     }
/// }
/// ```
///
/// Reasons may be added, so a `match` needs a wildcard arm.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Disconnected {
    /// The server ended its output.
    #[error("server closed the connection")]
    Closed,
    /// The server, a child process, has exited.
    #[error("server exited ({0})")]
    Exited(std::process::ExitStatus),
    /// Reading failed.
    #[error("reading from the server failed: {0}")]
    Read(#[source] io::Error),
    /// Writing failed, and the server has sent nothing since that would say why.
    #[error("writing to the server failed: {0}")]
    Write(#[source] io::Error),
}

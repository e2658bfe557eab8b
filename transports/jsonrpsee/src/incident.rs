//! What a transport reports besides messages.

use std::fmt;

use wireline::{EncodeError, Fault};

/// Something that happened on a connection and that no call was told of in full, for logs and counters.
///
/// Its `Display` never contains bytes that the server sent.
///
/// ```
/// use wireline_jsonrpsee::{Incident, LineTransport};
///
/// let transport = LineTransport::new(tokio::io::empty(), tokio::io::sink()).on_incident(|incident| match incident {
///     Incident::Fault(fault) => eprintln!("bad line: {fault}"),
///     other => eprintln!("{other}"),
/// });
/// # let _ = transport;
/// ```
///
/// Incidents may be added, so a `match` needs a wildcard arm.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Incident<'a> {
    /// A line, or an entry of a batch, that is not a valid message. If it is the answer to a call, that fails.
    Fault(&'a Fault),
    /// A response that answers no call: it was answered before, or never made, or the id is null.
    #[non_exhaustive]
    Stray {
        /// The line number, counted from 1.
        line: u64,
    },
    /// A request from the server. jsonrpsee's clients serve none, so it was answered with the error -32601.
    #[non_exhaustive]
    Request {
        /// The line number, counted from 1.
        line: u64,
    },
    /// A message of the client's that breaks the rules, and was not sent. If it is a call, that fails.
    Refused(&'a EncodeError),
    /// The server, a child process, has exited.
    Exited(std::process::ExitStatus),
}

impl fmt::Display for Incident<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Stray { line } => write!(f, "line {line}: response to no call in flight"),
            Self::Request { line } => write!(f, "line {line}: request, which a client doesn't serve"),
            Self::Refused(error) => write!(f, "message not sent: {error}"),
            Self::Exited(status) => write!(f, "server exited ({status})"),
        }
    }
}

/// What a transport does with incidents until it is told otherwise.
pub(crate) fn log(incident: Incident<'_>) {
    match incident {
        Incident::Exited(status) if status.success() => tracing::debug!("{incident}"),
        _ => tracing::warn!("{incident}"),
    }
}

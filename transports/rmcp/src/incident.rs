//! What a transport reports besides messages.

use std::fmt;
use std::io;

use wireline::Fault;

/// Something that happened on a connection and did not become a message, for logs and counters.
///
/// Its `Display` never contains bytes that the peer sent.
///
/// ```
/// use wireline_rmcp::{Incident, LineTransport};
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
    /// A line that is not a valid message.
    Fault(&'a Fault),
    /// A valid message that does not fit rmcp's types, for example a request with an id beyond 64 bits.
    #[non_exhaustive]
    Mismatch {
        /// The line number, counted from 1.
        line: u64,
        /// The reason. Unlike the rest of the incident it may quote what the peer sent.
        error: &'a serde_json::Error,
    },
    /// A valid response to no call: it was answered or cancelled before, or never made, or the id is missing.
    #[non_exhaustive]
    Stray {
        /// The line number, counted from 1.
        line: u64,
    },
    /// A request that was answered with an error, since another one with its id is in flight, or too many are.
    #[non_exhaustive]
    Refused {
        /// The line number, counted from 1.
        line: u64,
    },
    /// The reader or the writer failed, which ends the connection.
    Read(&'a io::Error),
    /// The child process of a `ChildProcess` transport exited.
    #[cfg(feature = "child-process")]
    Exited(std::process::ExitStatus),
}

impl fmt::Display for Incident<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Mismatch { line, .. } => write!(f, "line {line}: valid message, but not of a type that rmcp knows"),
            Self::Stray { line } => write!(f, "line {line}: response to no call in flight"),
            Self::Refused { line } => write!(f, "line {line}: request refused"),
            Self::Read(error) => write!(f, "connection failed: {error}"),
            #[cfg(feature = "child-process")]
            Self::Exited(status) => write!(f, "child process exited with {status}"),
        }
    }
}

/// What a transport does with incidents until it is told otherwise.
pub(crate) fn log(incident: Incident<'_>) {
    match incident {
        #[cfg(feature = "child-process")]
        Incident::Exited(status) if status.success() => tracing::debug!("{incident}"),
        _ => tracing::warn!("{incident}"),
    }
}

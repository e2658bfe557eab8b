//! What a transport reports besides messages.

use std::fmt;
use std::process::ExitStatus;

use wireline::{EncodeError, Fault};

/// Something that happened on a connection and did not become a message, for logs and counters.
///
/// Its `Display` never contains bytes that the peer sent.
///
/// ```
/// use wireline_acp::{Futures, Incident, LineTransport};
///
/// # let (reader, writer) = (futures::io::empty(), futures::io::sink());
/// let transport = LineTransport::new(Futures(reader), Futures(writer)).on_incident(|incident| match incident {
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
    /// A valid message that does not fit the SDK's types, for example a request with an id beyond 64 bits.
    #[non_exhaustive]
    Mismatch {
        /// The line number, counted from 1.
        line: u64,
    },
    /// A valid response to no call: it was answered before, or never made, or the id is null.
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
    /// A message of this side that breaks the rules, such as the line limit, and was not sent. If it is a call, that
    /// fails; if it is an answer, an internal error is sent in its place.
    NotSent(&'a EncodeError),
    /// The agent of a [`ChildProcess`](crate::ChildProcess) has exited.
    Exited(ExitStatus),
}

impl fmt::Display for Incident<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Mismatch { line } => write!(f, "line {line}: valid message, but not of a type that the SDK knows"),
            Self::Stray { line } => write!(f, "line {line}: response to no call in flight"),
            Self::Refused { line } => write!(f, "line {line}: request refused"),
            Self::NotSent(error) => write!(f, "message not sent: {error}"),
            Self::Exited(status) => write!(f, "agent exited ({status})"),
        }
    }
}

/// What is done with incidents.
pub(crate) type Report = Box<dyn FnMut(Incident<'_>) + Send>;

/// What a transport does with incidents until it is told otherwise.
pub(crate) fn log(incident: Incident<'_>) {
    match incident {
        Incident::Exited(status) if status.success() => tracing::debug!("{incident}"),
        _ => tracing::warn!("{incident}"),
    }
}

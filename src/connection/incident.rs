//! Problems that a server handles and reports.

use std::fmt;
#[cfg(not(feature = "tracing"))]
use std::io::{self, Write};

use crate::decode::Fault;
use crate::encode::EncodeError;
use crate::message::Id;

/// A problem that a server has handled and reports.
///
/// Its text contains none of the peer's bytes, unless a handler's panic message does. Incidents may be added, so a
/// `match` needs a wildcard arm.
#[derive(Debug)]
#[non_exhaustive]
pub enum Incident<'a> {
    /// A line, or an entry of a batch, that isn't a valid message. It was answered if it has a [`reply`](Fault::reply).
    Fault(&'a Fault),
    /// The handler panicked, or its result panicked while it was encoded or dropped. A request was answered with an
    /// internal error, unless its result had already been encoded.
    Panic {
        /// The request's id, or `None` for a notification.
        id: Option<&'a Id<'a>>,
        /// The panic message, if there is one.
        message: Option<&'a str>,
    },
    /// The handler's result, or its error, couldn't be sent. The request was answered with an internal error.
    Replaced {
        /// The request's id.
        id: &'a Id<'a>,
        /// Why it couldn't be encoded.
        error: &'a EncodeError,
    },
}

impl Incident<'_> {
    /// Writes a line to stderr, with the [hint](Fault::hint) of a fault, or emits an event if the feature `tracing` is on.
    /// This is what servers do by default.
    pub fn log(&self) {
        #[cfg(feature = "tracing")]
        match self {
            // These were reported where they were found.
            Self::Fault(_) | Self::Replaced { .. } => {}
            Self::Panic { id, message } => tracing::error!(has_id = id.is_some(), message, "handler panicked"),
        }
        // If stderr is closed, there is nowhere to report to.
        #[cfg(not(feature = "tracing"))]
        let _ = writeln!(io::stderr().lock(), "wireline: {}", Logged(self));
    }
}

/// An incident, and the [hint](Fault::hint) of a fault.
#[cfg(any(test, not(feature = "tracing")))]
struct Logged<'a>(&'a Incident<'a>);

#[cfg(any(test, not(feature = "tracing")))]
impl fmt::Display for Logged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0, f)?;
        let hint = match self.0 {
            Incident::Fault(fault) => fault.hint(),
            _ => None,
        };
        hint.map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl fmt::Display for Incident<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fmt::Display::fmt(fault, f),
            Self::Panic { message: Some(message), .. } => write!(f, "handler panicked: {message}"),
            Self::Panic { message: None, .. } => f.write_str("handler panicked"),
            Self::Replaced { error, .. } => write!(f, "answered with an internal error: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Frame, Rules};

    #[test]
    fn hints_are_logged() {
        let logged = |line: &[u8]| {
            let fault = Frame::parse(line, &Rules::mcp()).unwrap_err();
            Logged(&Incident::Fault(&fault)).to_string()
        };
        assert_eq!(
            logged(b"Content-Length: 42"),
            "line 1, column 1: not JSON: expected an object; this looks like a Content-Length header: the peer uses LSP framing"
        );
        assert_eq!(logged(b"[]"), "line 1, column 1: batches are not allowed under MCP rules");
        assert_eq!(Logged(&Incident::Panic { id: None, message: None }).to_string(), "handler panicked");
    }
}

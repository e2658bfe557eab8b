//! What a server did that it must not do.

use super::check::Property;
use super::message::{IdKey, Outcome};
use super::oracle::Content;
use crate::terminal::escape_start;
use crate::units::{Bytes, Seconds};

use std::time::Duration;

/// A rule that was broken. `sent` is the number of the line that it is about, from 0, in the order of its script. The
/// request after the script has the next number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Violation {
    /// The command can't be run.
    CannotRun {
        why: String,
    },
    /// The server didn't answer the first request in time.
    NotStarted {
        how: String,
    },
    NotAMessage {
        line: Vec<u8>,
        why: &'static str,
    },
    /// The output ended within a line.
    Unterminated {
        line: Vec<u8>,
    },
    NeverAnswered {
        sent: usize,
        waited: Duration,
        how: Missing,
    },
    AnsweredTwice {
        sent: usize,
        line: Vec<u8>,
    },
    /// A response that belongs to no request.
    Unasked {
        id: Option<IdKey>,
        line: Vec<u8>,
    },
    WrongContent {
        sent: usize,
        came: Outcome,
        wanted: Content,
        line: Vec<u8>,
    },
    NotInOneArray {
        sent: usize,
    },
    /// The server exited or closed its output although its input is open.
    Ended {
        how: String,
    },
    StillRunning {
        waited: Duration,
    },
    ExitCode {
        how: String,
    },
    ProcessesLeft,
    Growth {
        bytes: u64,
    },
}

/// What is known about a missing answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// Later requests were answered.
    OthersAnswered,
    /// Nothing more came.
    Silence,
    /// The server doesn't read its input any more.
    NotReading,
    /// The output ended.
    Ended,
}

impl Violation {
    /// Whether two violations are of the same kind, so that one explains the other.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// What the specification asks and what happens to a user, if a check of `property` failed for a reason of its own.
    pub(super) fn meaning(&self, property: Property) -> Option<(&'static str, &'static str)> {
        match (self, property) {
            (Self::NotAMessage { .. } | Self::Unterminated { .. }, Property::Integrity) => None,
            (Self::NotAMessage { .. } | Self::Unterminated { .. }, _) => Some((
                "nothing but messages on stdout, one per line (MCP, Transports / stdio)",
                "the client reads bytes that aren't a message, and drops the connection or a response",
            )),
            (Self::AnsweredTwice { .. }, _) => Some((
                "exactly one response for each request (JSON-RPC 2.0, section 5)",
                "the client gets a response that belongs to no request, and may disconnect",
            )),
            (Self::Unasked { .. }, Property::Integrity | Property::Framing | Property::Lifecycle) => Some((
                "a response has the id of its request (JSON-RPC 2.0, section 5)",
                "the client gets a response that belongs to no request, and its own is never answered",
            )),
            (Self::Ended { .. }, Property::Integrity | Property::Framing | Property::ExactlyOneResponse) => Some((
                "a server that goes on until its input is closed (MCP, Lifecycle / Shutdown)",
                "the session ends, and all requests in flight are lost",
            )),
            (Self::NeverAnswered { .. }, Property::Integrity) => {
                Some(("exactly one response for each request (JSON-RPC 2.0, section 5)", "the client waits for ever"))
            }
            _ => None,
        }
    }

    /// Which line it is about.
    pub(super) fn sent(&self) -> Option<usize> {
        match self {
            Self::NeverAnswered { sent, .. }
            | Self::AnsweredTwice { sent, .. }
            | Self::WrongContent { sent, .. }
            | Self::NotInOneArray { sent } => Some(*sent),
            _ => None,
        }
    }

    /// The same, with lines counted from `first`. Earlier lines count as that.
    pub(super) fn relative_to(mut self, first: usize) -> Self {
        if let Self::NeverAnswered { sent, .. }
        | Self::AnsweredTwice { sent, .. }
        | Self::WrongContent { sent, .. }
        | Self::NotInOneArray { sent } = &mut self
        {
            *sent = sent.saturating_sub(first);
        }
        self
    }

    /// The line of the server that it is about.
    fn line(&self) -> Option<&[u8]> {
        match self {
            Self::NotAMessage { line, .. }
            | Self::Unterminated { line }
            | Self::AnsweredTwice { line, .. }
            | Self::Unasked { line, .. }
            | Self::WrongContent { line, .. } => Some(line),
            _ => None,
        }
    }

    /// What came, in words. The server's bytes are only shown if the user asked for them.
    pub(super) fn came(&self, show: bool) -> String {
        let text = match self {
            Self::CannotRun { why: text } | Self::NotStarted { how: text } => text.clone(),
            Self::NotAMessage { line, why } => format!("{why} ({})", Bytes(line.len() as u64)),
            Self::Unterminated { line } => {
                format!("the end of the output after {} without a line ending", Bytes(line.len() as u64))
            }
            Self::NeverAnswered { waited, how, .. } => match how {
                Missing::OthersAnswered => {
                    format!("no response within {}, although a later request was answered", Seconds(*waited))
                }
                Missing::Silence => format!("no response within {}, and none to any later request", Seconds(*waited)),
                Missing::NotReading => {
                    format!("no response within {}, and the server stopped reading its input", Seconds(*waited))
                }
                Missing::Ended => "no response before the end of the output".to_owned(),
            },
            Self::AnsweredTwice { .. } => "a second response with the same id".to_owned(),
            Self::Unasked { id: Some(id), .. } => {
                // An id that the server made up is its own text.
                let id = if show { format!(" {id}") } else { String::new() };
                format!("a response with an id{id} that no request has")
            }
            Self::Unasked { id: None, .. } => "an error without an id, although nothing was invalid".to_owned(),
            Self::WrongContent { came, wanted, .. } => format!("{}, not {}", outcome(*came), content(*wanted)),
            Self::NotInOneArray { .. } => "a response outside of an array".to_owned(),
            Self::Ended { how } => format!("{how}, although its input was open"),
            Self::StillRunning { waited } => {
                format!("no exit within {} after the end of input; it was killed", Seconds(*waited))
            }
            Self::ExitCode { how } => how.clone(),
            Self::ProcessesLeft => "an exit that left a process of the server running; it was killed".to_owned(),
            Self::Growth { bytes } => format!("a refusal, after which the server used {} more memory", Bytes(*bytes)),
        };
        match self.line().filter(|_| show) {
            Some(line) => format!("{text}: {}", escape_start(line, 200)),
            None => text,
        }
    }
}

fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Result => "a result".to_owned(),
        Outcome::Error(code) => format!("error {code}"),
    }
}

fn content(content: Content) -> String {
    match content {
        Content::Anything => "anything else".to_owned(),
        Content::Result => "a result".to_owned(),
        Content::Error => "an error".to_owned(),
        Content::NotParseError => "what a valid request gets".to_owned(),
        Content::Codes(codes) => {
            let codes: Vec<String> = codes.iter().map(ToString::to_string).collect();
            format!("error {}", codes.join(" or "))
        }
    }
}

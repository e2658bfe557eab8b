//! A line for each message: when, from whom, what, how large, and how long its answer took.
//!
//! ```text
//!    0.012 → request      tools/call #2                             112 B
//!    0.019 ← response     tools/call #2                           1.93 kB  6.84 ms
//!    0.019 ← fault        line 3, column 1: expected a number, true, false or null
//!                         [invalid-literal]
//!                         this looks like a log line on stdout: logs belong on stderr
//! ```

use std::fmt::Write;
use std::time::Duration;

use wireline::{Fault, Message};

use crate::colours::Colours;
use crate::excerpt::{cut, width};
use crate::follow::Seen;
use crate::session::{Role, Session, Side, shown_id};
use crate::tally::Kind;
use crate::units::{Size, Span};

/// How many columns stand before what a line is about.
const INDENT: usize = 24;

/// How many columns that has.
const WHAT: usize = 38;

/// How many columns text has that is wrapped.
const WRAPPED: usize = 80 - 1 - INDENT;

/// How many columns a payload has, and how many stand before it.
const PAYLOAD: usize = 80 - 1 - PAYLOAD_INDENT;
const PAYLOAD_INDENT: usize = 11;

/// Makes text of what is seen.
pub(crate) struct Transcript {
    pub(crate) colours: Colours,
    /// Whether payloads are shown.
    pub(crate) show: bool,
    /// Whether only what is wrong is told.
    pub(crate) quiet: bool,
    pub(crate) text: String,
}

impl Transcript {
    /// Adds what there is to say. A string takes whatever is written to it, so that no result needs to be looked at.
    pub(crate) fn tell(&mut self, session: &Session, from: Side, seen: &Seen<'_>, at: Duration) {
        match *seen {
            Seen::Batch { entries, len } => {
                let noun = if entries == 1 { "entry" } else { "entries" };
                if !self.quiet {
                    self.start(from, Kind::Batch.name(), false, at);
                    self.end(&format!("{entries} {noun}"), "", len, None);
                }
            }
            Seen::Fault { fault, is_entry } => self.fault(from, fault, is_entry, at),
            Seen::Message { message, role, is_entry } => {
                let remark = match role {
                    Role::Stray => Some("nothing that waits for an answer has this id"),
                    Role::Call { is_double: true } => Some("this id is in use: its request is not answered yet"),
                    _ => None,
                };
                if self.quiet && remark.is_none() {
                    return;
                }
                self.message(session, from, message, role, is_entry, at);
                if let Some(remark) = remark {
                    let style = self.colours.bad;
                    self.wrapped(remark, style);
                }
            }
        }
    }

    fn message(
        &mut self,
        session: &Session,
        from: Side,
        message: &Message<'_>,
        role: Role,
        is_entry: bool,
        at: Duration,
    ) {
        let (mut note, mut latency) = (shown_id(message.id().as_ref()), None);
        let (method, payload) = match message {
            Message::Request(request) => (request.method().into_owned(), request.params()),
            Message::Notification(notification) => (notification.method().into_owned(), notification.params()),
            Message::Response(response) => {
                if let Some(error) = response.error() {
                    let _ = write!(note, " ({})", error.code());
                }
                let method = match role {
                    Role::Answer { method, latency: taken } => {
                        latency = taken;
                        session.methods[method].name.clone()
                    }
                    Role::AnswerToFault => "(to a faulty line)".to_owned(),
                    Role::Stray | Role::Call { .. } => "(to nothing)".to_owned(),
                };
                (method, Some(response.outcome().unwrap_or_else(|error| error.raw())))
            }
        };
        self.start(from, Kind::of(message).name(), is_entry, at);
        self.end(&method, note.trim_start(), message.as_bytes().len(), latency);
        if let Some(payload) = payload.filter(|_| self.show) {
            let _ = writeln!(self.text, "{:PAYLOAD_INDENT$}{}", "", cut(payload.as_bytes(), PAYLOAD));
        }
    }

    fn fault(&mut self, from: Side, fault: &Fault, is_entry: bool, at: Duration) {
        let Colours { bad, hint, .. } = self.colours;
        self.start(from, "fault", is_entry, at);
        let text = format!("{fault} [{}]", fault.kind().name());
        let mut lines = wrap(&text, WRAPPED);
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(self.text, "{bad}{first}{bad:#}");
        for line in lines {
            let _ = writeln!(self.text, "{:INDENT$}{bad}{line}{bad:#}", "");
        }
        if let Some(guess) = fault.hint() {
            self.wrapped(&guess.to_string(), hint);
        }
    }

    /// Begins a line.
    fn start(&mut self, from: Side, kind: &str, is_entry: bool, at: Duration) {
        let Colours { bad, good, quiet, .. } = self.colours;
        let style = match kind {
            "response" => good,
            "error" | "fault" => bad,
            _ => Default::default(),
        };
        let (seconds, arrow, mark) = (at.as_secs_f64(), from.arrow(), if is_entry { '·' } else { ' ' });
        let _ = write!(self.text, "{quiet}{seconds:8.3} {arrow}{mark}{quiet:#}{style}{kind:<12}{style:#} ");
    }

    /// Ends a line. The note is not cut: an id that is not long, and the code of an error.
    fn end(&mut self, what: &str, note: &str, len: usize, latency: Option<Duration>) {
        let Colours { place, quiet, hint, .. } = self.colours;
        let note = if note.is_empty() { String::new() } else { format!(" {note}") };
        let room = WHAT.saturating_sub(width(&note));
        let what = cut(what.as_bytes(), room.max(4));
        let gap = " ".repeat(room.saturating_sub(width(&what)));
        let size = Size(len as u64).to_string();
        let _ = write!(self.text, "{place}{what}{place:#}{note}{gap} {quiet}{size:>7}{quiet:#}");
        if let Some(latency) = latency {
            let _ = write!(self.text, " {hint}{:>8}{hint:#}", Span(latency));
        }
        self.text.push('\n');
    }

    /// Adds text below what a line is about.
    fn wrapped(&mut self, text: &str, style: clap::builder::styling::Style) {
        for line in wrap(text, WRAPPED) {
            let _ = writeln!(self.text, "{:INDENT$}{style}{line}{style:#}", "");
        }
    }
}

/// Cuts ASCII text between words into lines of that many columns.
fn wrap(text: &str, columns: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.len() <= columns {
            return (!rest.is_empty()).then(|| std::mem::take(&mut rest));
        }
        let end = rest[..=columns].rfind(' ').unwrap_or(columns);
        let (line, following) = rest.split_at(end);
        rest = following.trim_start();
        Some(line)
    })
}

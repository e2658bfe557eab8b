//! The log's lines, one per message: time, direction, kind, method, id, size and latency.
//!
//! ```text
//!    0.012 → request      tools/call #2                             112 B
//!    0.019 ← response     tools/call #2                           1.93 kB  6.84 ms
//!    0.019 ← fault        line 3, column 1: what was expected [invalid-literal]
//!                         what the line looks like
//! ```

use std::fmt::Write;
use std::time::Duration;

use clap::builder::styling::Style;
use wireline::{Fault, Message};

use crate::message_kind::MessageKind;
use crate::session::{Role, Seen, Session, Side, displayed_id};
use crate::terminal::{DEFAULT_COLUMNS, Styles, columns, escape_start};
use crate::units::{Bytes, Seconds, counted};

/// The width of time, direction and kind.
const INDENT: usize = 24;

/// The width of method and id.
const SUBJECT_COLUMNS: usize = 38;

/// The width of wrapped text, with one column to spare.
const WRAPPED_COLUMNS: usize = DEFAULT_COLUMNS - 1 - INDENT;

/// The width of a payload, with one column to spare.
const PAYLOAD_COLUMNS: usize = DEFAULT_COLUMNS - 1 - PAYLOAD_INDENT;
const PAYLOAD_INDENT: usize = 11;

/// Collects the lines. Writing to its string cannot fail, so results of `write!` are ignored.
pub(super) struct Transcript {
    pub(super) styles: Styles,
    /// Whether to show payloads.
    pub(super) show: bool,
    /// Whether to leave out messages without a problem.
    pub(super) quiet: bool,
    pub(super) text: String,
}

impl Transcript {
    pub(super) fn add(&mut self, session: &Session, from: Side, seen: &Seen<'_>, at: Duration) {
        match *seen {
            Seen::Batch { entries, len } => {
                if !self.quiet {
                    self.start_line(from, MessageKind::Batch.name(), false, at);
                    self.end_line(&counted(entries as u64, "entry", "entries"), "", len, None);
                }
            }
            Seen::Fault { fault, is_entry, .. } => self.add_fault(from, fault, is_entry, at),
            Seen::Message { message, role, is_entry } => {
                let problem = match role {
                    Role::UnmatchedResponse => Some("no pending request has this id"),
                    Role::Call { reuses_id: true, .. } => Some("a pending request already has this id"),
                    _ => None,
                };
                if self.quiet && problem.is_none() {
                    return;
                }
                self.add_message(session, from, message, role, is_entry, at);
                if let Some(problem) = problem {
                    self.add_wrapped(problem, self.styles.bad);
                }
            }
        }
    }

    fn add_message(
        &mut self,
        session: &Session,
        from: Side,
        message: &Message<'_>,
        role: Role,
        is_entry: bool,
        at: Duration,
    ) {
        let (mut note, mut latency) = (displayed_id(message.id()), None);
        let (method, payload) = match message {
            Message::Request(request) => (request.method().into_owned(), request.params()),
            Message::Notification(notification) => (notification.method().into_owned(), notification.params()),
            Message::Response(response) => {
                if let Some(error) = response.error() {
                    let _ = write!(note, " ({})", error.code());
                }
                let method = match role {
                    Role::Response { method, latency: taken, .. } => {
                        latency = taken;
                        session.methods[method].name.clone()
                    }
                    Role::ResponseToFault => "(to a faulty line)".to_owned(),
                    Role::UnmatchedResponse | Role::Call { .. } => "(unmatched)".to_owned(),
                };
                (method, Some(response.outcome().unwrap_or_else(|error| error.raw())))
            }
        };
        self.start_line(from, MessageKind::of(message).name(), is_entry, at);
        self.end_line(&method, note.trim_start(), message.as_bytes().len(), latency);
        if let Some(payload) = payload.filter(|_| self.show) {
            let payload = escape_start(payload.as_bytes(), PAYLOAD_COLUMNS);
            let _ = writeln!(self.text, "{:PAYLOAD_INDENT$}{payload}", "");
        }
    }

    fn add_fault(&mut self, from: Side, fault: &Fault, is_entry: bool, at: Duration) {
        let Styles { bad, accent, .. } = self.styles;
        self.start_line(from, "fault", is_entry, at);
        let text = format!("{fault} [{}]", fault.kind().name());
        let mut lines = wrap(&text, WRAPPED_COLUMNS);
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(self.text, "{bad}{first}{bad:#}");
        for line in lines {
            let _ = writeln!(self.text, "{:INDENT$}{bad}{line}{bad:#}", "");
        }
        if let Some(hint) = fault.hint() {
            self.add_wrapped(&hint.to_string(), accent);
        }
    }

    /// Writes time, direction and kind.
    fn start_line(&mut self, from: Side, kind: &str, is_entry: bool, at: Duration) {
        let Styles { bad, good, dim, .. } = self.styles;
        let style = match kind {
            "response" => good,
            "error" | "fault" => bad,
            _ => Style::new(),
        };
        let (seconds, arrow, mark) = (at.as_secs_f64(), from.arrow(), if is_entry { '·' } else { ' ' });
        let _ = write!(self.text, "{dim}{seconds:8.3} {arrow}{mark}{dim:#}{style}{kind:<12}{style:#} ");
    }

    /// Writes the subject, cut to leave room for the note, then size and latency.
    fn end_line(&mut self, subject: &str, note: &str, len: usize, latency: Option<Duration>) {
        let Styles { strong, dim, accent, .. } = self.styles;
        let note = if note.is_empty() { String::new() } else { format!(" {note}") };
        let room = SUBJECT_COLUMNS.saturating_sub(columns(&note));
        let subject = escape_start(subject.as_bytes(), room.max(4));
        let gap = " ".repeat(room.saturating_sub(columns(&subject)));
        let size = Bytes(len as u64);
        let _ = write!(self.text, "{strong}{subject}{strong:#}{note}{gap} {dim}{size:>7}{dim:#}");
        if let Some(latency) = latency {
            let _ = write!(self.text, " {accent}{:>8}{accent:#}", Seconds(latency));
        }
        self.text.push('\n');
    }

    /// Writes text below the subject.
    fn add_wrapped(&mut self, text: &str, style: Style) {
        for line in wrap(text, WRAPPED_COLUMNS) {
            let _ = writeln!(self.text, "{:INDENT$}{style}{line}{style:#}", "");
        }
    }
}

/// Splits text between words into lines of at most `columns` characters.
fn wrap(text: &str, columns: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let Some((limit, character)) = rest.char_indices().nth(columns) else {
            return (!rest.is_empty()).then(|| std::mem::take(&mut rest));
        };
        // A space right after the limit still ends a line of full width.
        let end = rest[..limit + character.len_utf8()].rfind(' ').filter(|end| *end > 0).unwrap_or(limit);
        let (line, following) = rest.split_at(end);
        rest = following.trim_start();
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_between_words() {
        for (text, lines) in [
            ("", &[][..]),
            ("a bc", &["a bc"]),
            ("abcd", &["abcd"]),
            ("abcd ef", &["abcd", "ef"]),
            ("ab cd ef", &["ab", "cd", "ef"]),
            ("abcdefg", &["abcd", "efg"]),
            ("éééé é", &["éééé", "é"]),
            ("ééééé", &["éééé", "é"]),
        ] {
            assert_eq!(wrap(text, 4).collect::<Vec<_>>(), lines, "{text}");
        }
    }
}

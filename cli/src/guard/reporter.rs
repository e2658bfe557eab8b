//! What goes to standard error: the server's standard error, its stray output, and what the guard did about that.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::incident::{INCIDENTS, Incident};
use super::repair::is_invisible;
use crate::framing;
use crate::session::Side;
use crate::tap::log::Log;
use crate::terminal::escape;
use crate::units::{Bytes, Count};

/// How much of a stray line is shown, in bytes.
const MAX_SHOWN: usize = 4 << 10;

pub(super) struct Reporter {
    state: Mutex<State>,
    /// Whether repairs are neither told nor summarised.
    is_quiet: bool,
    /// Whether invalid messages are shown.
    shows_messages: bool,
}

struct State {
    /// `None` once it is closed.
    log: Option<Log>,
    /// Whether the server's standard error has ended within a line.
    is_within_line: bool,
    /// For each side and incident, how often it has happened.
    counts: [[u64; INCIDENTS.len()]; 2],
    told: HashSet<(Side, Incident, &'static str)>,
    /// For each side, whether it was told that it sends Content-Length headers.
    headers_are_told: [bool; 2],
}

/// The place that an incident is about, and what kind of fault it is.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) from: Side,
    /// `None` if it is about no line.
    pub(super) line: Option<u64>,
    /// The name of the fault, and its reason.
    pub(super) fault: Option<(&'static str, &'a str)>,
}

impl Place<'_> {
    pub(super) fn line(from: Side, line: u64) -> Self {
        Self { from, line: Some(line), fault: None }
    }
}

impl Reporter {
    pub(super) fn new(log: Log, is_quiet: bool, shows_messages: bool) -> Self {
        let counts = [[0; INCIDENTS.len()]; 2];
        let state =
            State { log: Some(log), is_within_line: false, counts, told: HashSet::new(), headers_are_told: [false; 2] };
        Self { state: Mutex::new(state), is_quiet, shows_messages }
    }

    /// Counts an incident, and tells it if it is the first of its kind.
    pub(super) fn note(&self, incident: Incident, place: Place<'_>) {
        let mut state = self.lock();
        state.counts[place.from as usize][incident as usize] += 1;
        let (name, reason) = place.fault.unwrap_or(("", ""));
        if self.is_quiet || !state.told.insert((place.from, incident, name)) {
            return;
        }
        let line = place.line.map(|line| format!(" line {}", Count(line))).unwrap_or_default();
        let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        state.say(&format!("wireline: {}{line}: {}{reason}\n", place.from.arrow(), incident.text()));
    }

    /// Passes on what the server has printed to standard output and is no message.
    pub(super) fn noise(&self, text: &[u8], line: u64) {
        let incident = if is_invisible(text) { Incident::TerminalEscape } else { Incident::Noise };
        self.note(incident, Place::line(Side::Server, line));
        if incident == Incident::Noise {
            if framing::is_content_length(text) {
                self.note_headers(Side::Server);
            }
            self.lock().say(&format!("stdout: {}\n", shown(text)));
        }
    }

    /// Shows an invalid message of the server, if the user has asked for it.
    pub(super) fn invalid_message(&self, text: &[u8]) {
        if self.shows_messages {
            self.lock().say(&format!("    | {}\n", shown(text)));
        }
    }

    /// Passes on what the server has printed to standard error.
    pub(super) fn server_stderr(&self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        let mut state = self.lock();
        state.is_within_line = *last != b'\n';
        if let Some(log) = &state.log {
            log.write_bytes(bytes);
        }
    }

    /// Tells, once, that the messages of a side aren't lines.
    pub(super) fn note_headers(&self, from: Side) {
        if !std::mem::replace(&mut self.lock().headers_are_told[from as usize], true) {
            let (side, what) = (from.name(), framing::CONTENT_LENGTH);
            self.event(&format!(
                "the {side} sends {what}: `wireline guard` understands only messages on a line of their own"
            ));
        }
    }

    /// Tells something that happens to the server itself.
    pub(super) fn event(&self, message: &str) {
        self.lock().say(&format!("wireline: {message}\n"));
    }

    /// Ends the log with a summary, if there is anything to summarise, and how the server ended, if not well.
    pub(super) fn close(&self, outcome: Option<&str>) {
        let mut state = self.lock();
        let mut summary = String::new();
        if state.is_within_line {
            summary.push('\n');
        }
        if !self.is_quiet && state.counts.iter().flatten().any(|count| *count > 0) {
            summary.push_str("wireline: put right in this session\n");
            for side in Side::BOTH {
                for (count, (_, text)) in state.counts[side as usize].iter().zip(INCIDENTS).filter(|(n, _)| **n > 0) {
                    summary.push_str(&format!("{:>6} {} {text}\n", Count(*count), side.arrow()));
                }
            }
        }
        if let Some(outcome) = outcome {
            summary.push_str(&format!("wireline: {outcome}\n"));
        }
        if let Some(log) = state.log.take() {
            log.close(&summary);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Writes whole lines.
    fn say(&mut self, text: &str) {
        let Some(log) = &self.log else { return };
        if std::mem::take(&mut self.is_within_line) {
            log.write_bytes(b"\n");
        }
        log.write_bytes(text.as_bytes());
    }
}

/// The start of a stray line, escaped.
fn shown(text: &[u8]) -> String {
    match text.get(..MAX_SHOWN) {
        Some(start) if text.len() > MAX_SHOWN => format!("{}… ({} in all)", escape(start), Bytes(text.len() as u64)),
        _ => escape(text),
    }
}

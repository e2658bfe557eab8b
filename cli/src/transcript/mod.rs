//! The log's lines, one per message: time, direction, kind, method, id, size and latency.
//!
//! ```text
//!    0.012 → request      tools/call echo #2                        112 B
//!    0.019 ← response     tools/call echo #2                      1.93 kB  6.84 ms
//!    0.019 ← fault        line 3, column 1: what was expected [invalid-literal]
//!                         what the line looks like
//! ```

mod called_with;
mod faults;

use std::borrow::Cow;
use std::fmt::{Display, Write};
use std::time::Duration;

use clap::builder::styling::Style;
use wireline::{Framing, Message};

use crate::filter::Filter;
use crate::json::pretty;
use crate::judge::{Finding, Severity};
use crate::line_ends::{RETURN_HINT, UNTERMINATED_HINT};
use crate::message_kind::MessageKind;
use crate::protocol::{Hello, Progress};
use crate::session::{MethodIndex, Open, OverdueRequest, Role, Seen, Session, Side, cut_id, displayed_id};
use crate::terminal::{Styles, Width, columns, escape, escape_start, wrap};
use crate::units::{Bytes, Seconds, counted};
pub(crate) use called_with::CalledWith;
pub(crate) use faults::{Faults, RUN_PAUSE};

/// The width of time, direction and kind.
const INDENT: usize = 24;

/// The width of the kind alone.
const KIND: usize = 12;

/// The widths of size and latency, and of both with the spaces before them and one column to spare at the end.
const SIZE: usize = 7;
const LATENCY: usize = 8;
const NUMBERS: usize = 1 + SIZE + 1 + LATENCY + 1;

/// The least width of what is said of a message, whatever the terminal's.
const MIN_SUBJECT_COLUMNS: usize = 12;

/// How much of a method must be left beside its id. Otherwise, both are below time, direction and kind.
const MIN_METHOD_COLUMNS: usize = 8;

/// The narrowest terminal on which everything about a message is in one line.
const MIN_COLUMNS: usize = INDENT + MIN_SUBJECT_COLUMNS + NUMBERS;

/// How far everything else is indented on narrower ones.
const NARROW_INDENT: usize = 4;

const PAYLOAD_INDENT: usize = 11;

/// How many lines of a payload are shown, and how far they are indented at most.
const MAX_PRETTY_LINES: u64 = 20;
const MAX_PRETTY_INDENT: usize = 40;

/// Collects the lines. Writing to its string cannot fail, so results of `write!` are ignored.
pub(crate) struct Transcript {
    pub(crate) styles: Styles,
    pub(crate) width: Width,
    pub(crate) payloads: Payloads,
    /// Whether to show the texts of errors.
    pub(crate) reasons: bool,
    /// The arguments of pending calls, if those of failed ones are shown.
    pub(crate) called_with: Option<CalledWith>,
    pub(crate) filter: Filter,
    /// Whether to leave out messages without a problem.
    pub(crate) quiet: bool,
    pub(crate) faults: Faults,
    pub(crate) text: String,
}

/// How much of params, results and errors to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payloads {
    Hidden,
    /// What fits into one line.
    Start,
    /// All of it, in one line.
    Line,
    /// One member or element per line, cut to the width of the terminal and to [`MAX_PRETTY_LINES`].
    Pretty,
    /// One member or element per line, all of it.
    Full,
}

/// The line about a message.
struct Line<'a> {
    kind: &'a str,
    /// Method and subject, unescaped or escaped already.
    subject: Cow<'a, str>,
    /// The id, and what else there is to say.
    note: String,
    len: usize,
    latency: Option<Duration>,
}

impl Transcript {
    pub(crate) fn add(&mut self, session: &Session, from: Side, seen: &Seen<'_>, at: Duration) {
        if let (Some(called_with), Seen::Message { message, role, .. }) = (&mut self.called_with, seen) {
            called_with.note(session, message, role);
        }
        if !self.filter.shows(session, from, seen) {
            return;
        }
        if !matches!(seen, Seen::Fault { .. }) {
            self.end_run();
        }
        let Styles { bad, accent, .. } = self.styles;
        match seen {
            Seen::Fault { fault, line, is_entry, in_frame } => {
                self.add_fault(from, fault, *in_frame, line, *is_entry, at);
            }
            Seen::Batch { entries, text, .. } => {
                if !self.quiet {
                    self.start_line(from.arrow(), MessageKind::Batch.name(), false, at);
                    self.end_line(&counted(*entries as u64, "entry", "entries"), "", Some(text.len()), None);
                }
            }
            Seen::CarriageReturn => {
                self.start_line(from.arrow(), "warning", false, at);
                self.add_wrapped_after(&format!("a line ends in CRLF: {RETURN_HINT}"), accent);
            }
            Seen::Unterminated { len } => {
                self.start_line(from.arrow(), "fault", false, at);
                let len = counted(*len, "byte", "bytes");
                self.add_wrapped_after(&format!("the stream ended after {len} without a line end"), bad);
                self.add_wrapped(UNTERMINATED_HINT, accent);
            }
            Seen::Finding(finding) => self.add_finding(finding, at),
            Seen::Message { message, role, is_entry, hello, findings, .. } => {
                let is_late = matches!(role, Role::Response { is_overdue: true, .. });
                if self.quiet && findings.is_empty() && !is_late {
                    return;
                }
                self.add_message(session, from, message, role, *is_entry, at);
                if let Some(hello) = hello.filter(|_| !self.quiet) {
                    self.add_hello(from, hello);
                }
                for finding in *findings {
                    self.add_wrapped(&self.described(finding), self.style_of(finding));
                }
            }
        }
    }

    /// Says which rule is broken by something else than the last message.
    fn add_finding(&mut self, finding: &Finding, now: Duration) {
        self.start_line(
            finding.place.from.arrow(),
            finding.rule.severity().name(),
            false,
            finding.place.at.unwrap_or(now),
        );
        self.add_wrapped_after(&self.described(finding), self.style_of(finding));
    }

    fn described(&self, Finding { rule, evidence, detail, .. }: &Finding) -> String {
        let detail = detail.as_deref().filter(|_| self.payloads != Payloads::Hidden);
        let detail = detail.map_or_else(String::new, |detail| format!(" ({detail})"));
        format!("{evidence}{detail} [{}]", rule.name())
    }

    fn style_of(&self, finding: &Finding) -> Style {
        match finding.rule.severity() {
            Severity::Error => self.styles.bad,
            Severity::Warning => self.styles.accent,
        }
    }

    /// Says that a request is still pending after `waited`.
    pub(crate) fn add_overdue(&mut self, session: &Session, request: &OverdueRequest, at: Duration) {
        if !self.filter.shows_overdue(session, request, at) {
            return;
        }
        self.end_run();
        let OverdueRequest { from, method, id, sent } = request;
        self.start_line('…', "waiting", false, at);
        let latency = at.saturating_sub(*sent);
        self.end_line(&session.methods[*method].name, &cut_id(id, self.width), None, Some(latency));
        let peer = from.other().name();
        self.add_wrapped(&format!("no answer from the {peer} for {}", Seconds(latency)), self.styles.bad);
    }

    /// Says that a side has not ended its line or its message for `waited`.
    pub(crate) fn add_open_line(&mut self, from: Side, open: &Open, waited: Duration, at: Duration) {
        self.end_run();
        self.start_line('…', "waiting", false, at);
        let (len, waited) = (counted(open.len, "byte", "bytes"), waited.as_secs());
        let end = if open.framing == Framing::Lines { "a line end" } else { "the end of their message" };
        let text = format!(
            "{len} from the {} without {end} for {waited} s: the {} is still waiting",
            from.name(),
            from.other().name()
        );
        self.add_wrapped_after(&text, self.styles.bad);
    }

    /// Writes what the server wrote to its standard error: a line with its newline, or a part of one. It belongs to no
    /// message, so a filter leaves it out.
    pub(crate) fn add_stderr(&mut self, bytes: &[u8], at: Duration) {
        if !self.filter.shows_stderr(bytes) {
            return;
        }
        self.end_run();
        self.start_line(Side::Server.arrow(), "stderr", false, at);
        if self.is_narrow() {
            self.end_start();
            self.pad(self.indent());
        }
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let room = self.width.cut_to(self.room());
        let line = escape_start(line.strip_suffix(b"\r").unwrap_or(line), room);
        self.styled(self.styles.dim, |text| text.push_str(&line));
        self.end_start();
    }

    fn add_message(
        &mut self,
        session: &Session,
        from: Side,
        message: &Message<'_>,
        role: &Role,
        is_entry: bool,
        at: Duration,
    ) {
        let payload = match message {
            Message::Response(response) => Some(response.outcome().unwrap_or_else(|error| error.raw())),
            _ if matches!(self.payloads, Payloads::Start | Payloads::Line) => session.arguments(message),
            _ => message.params(),
        };
        let Line { kind, subject, note, len, latency } = line(session, message, role, self.width);
        self.start_line(from.arrow(), kind, is_entry, at);
        self.end_line(&subject, note.trim_start(), Some(len), latency);
        self.add_reason(session, message, role);
        if let Some(payload) = payload {
            self.add_payload(payload.as_json());
        }
    }

    /// Writes why a call failed, and what it was called with if that is known.
    fn add_reason(&mut self, session: &Session, message: &Message<'_>, role: &Role) {
        let is_failure = matches!(role, Role::Response { is_failure: true, .. });
        let Some(reason) = session.reason(message, is_failure) else { return };
        // That a result is a failure is in the line above.
        let is_worth_a_line = reason.code.is_some() || self.reasons && !reason.text.is_empty();
        if let Some(detail) = reason.detail(self.reasons).filter(|_| is_worth_a_line) {
            self.add_cut(&detail, self.styles.bad);
        }
        let called_with = self.called_with.as_mut().and_then(CalledWith::take_last);
        if let Some(arguments) = called_with {
            self.add_cut(&format!("called with {arguments}"), self.styles.dim);
        }
    }

    /// Writes text below the subject, in one line.
    fn add_cut(&mut self, text: &str, style: Style) {
        let (indent, text) = (self.indent(), escape_start(text.as_bytes(), self.width.cut_to(self.room())));
        let _ = writeln!(self.text, "{:indent$}{style}{text}{style:#}", "");
    }

    fn add_payload(&mut self, payload: &str) {
        let room = self.width.columns().saturating_sub(PAYLOAD_INDENT + 1).max(MIN_SUBJECT_COLUMNS);
        match self.payloads {
            Payloads::Hidden => {}
            Payloads::Start => {
                let payload = escape_start(payload.as_bytes(), room);
                let _ = writeln!(self.text, "{:PAYLOAD_INDENT$}{payload}", "");
            }
            Payloads::Line => {
                let _ = writeln!(self.text, "{:PAYLOAD_INDENT$}{}", "", escape(payload.as_bytes()));
            }
            Payloads::Full => pretty(payload, |depth, line| {
                let indent = PAYLOAD_INDENT + 2 * depth;
                let _ = writeln!(self.text, "{:indent$}{}", "", escape(line.as_bytes()));
                true
            }),
            Payloads::Pretty => {
                let mut count = 0;
                pretty(payload, |depth, line| {
                    count += 1;
                    if count > MAX_PRETTY_LINES {
                        let Styles { dim, .. } = self.styles;
                        let _ = writeln!(self.text, "{:PAYLOAD_INDENT$}{dim}… (--full shows all){dim:#}", "");
                        return false;
                    }
                    let inner = (2 * depth).min(MAX_PRETTY_INDENT).min(room / 2);
                    let indent = PAYLOAD_INDENT + inner;
                    let _ = writeln!(self.text, "{:indent$}{}", "", escape_start(line.as_bytes(), room - inner));
                    true
                });
            }
        }
    }

    /// Writes what a side says of itself when the session starts.
    fn add_hello(&mut self, from: Side, hello: &Hello) {
        let Hello { protocol, version, program, capabilities } = hello;
        let verb = if from == Side::Client { "offers" } else { "accepts" };
        let program = if program.is_empty() { from.name() } else { program };
        let capabilities = match capabilities {
            None => String::new(),
            Some(none) if none.is_empty() => ": no capabilities".to_owned(),
            Some(some) => format!(": {}", some.join(", ")),
        };
        let text = format!("{program} {verb} {protocol} {version}{capabilities}");
        self.add_wrapped(&escape(text.as_bytes()), self.styles.dim);
    }

    /// Writes time, direction and kind.
    fn start_line(&mut self, arrow: char, kind: &str, is_entry: bool, at: Duration) {
        let Styles { bad, good, dim, accent, .. } = self.styles;
        let style = match kind {
            "response" => good,
            "error" | "failure" | "fault" | "waiting" => bad,
            "warning" | "cancelled" => accent,
            _ => Style::new(),
        };
        let mark = if is_entry { '·' } else { ' ' };
        let milliseconds = (at.as_micros() as u64 + 500) / 1000;
        self.styled(dim, |text| {
            let _ = write!(text, "{:4}.{:03} {arrow}{mark}", milliseconds / 1000, milliseconds % 1000);
        });
        self.styled(style, |text| text.push_str(kind));
        self.pad(KIND.saturating_sub(kind.len()) + 1);
    }

    /// Writes the subject, cut to leave room for the note, then size and latency.
    fn end_line(&mut self, subject: &str, note: &str, len: Option<usize>, latency: Option<Duration>) {
        let note_columns = if note.is_empty() { 0 } else { columns(note) + 1 };
        let room = self.width.columns().saturating_sub(INDENT + NUMBERS);
        if self.width.is_limited()
            && (self.is_narrow() || room < note_columns + columns(subject).min(MIN_METHOD_COLUMNS))
        {
            return self.end_line_below(subject, note, len, latency);
        }
        let Styles { strong, dim, accent, .. } = self.styles;
        let room = room.saturating_sub(note_columns);
        let subject = escape_start(subject.as_bytes(), self.width.cut_to(room));
        self.styled(strong, |text| text.push_str(&subject));
        if !note.is_empty() {
            self.text.push(' ');
            self.text.push_str(note);
        }
        self.pad(room.saturating_sub(columns(&subject)) + 1);
        self.styled(dim, |text| push_right(text, len.map(|len| Bytes(len as u64)), SIZE));
        if let Some(latency) = latency {
            self.text.push(' ');
            self.styled(accent, |text| push_right(text, Some(Seconds(latency)), LATENCY));
        }
        self.text.push('\n');
    }

    /// Like [`end_line`](Self::end_line), in as many lines as it takes.
    fn end_line_below(&mut self, subject: &str, note: &str, len: Option<usize>, latency: Option<Duration>) {
        let Styles { strong, dim, .. } = self.styles;
        let (indent, room) = (self.indent(), self.room());
        let subject = escape_start(subject.as_bytes(), room);
        let numbers = [len.map(|len| Bytes(len as u64).to_string()), latency.map(|it| Seconds(it).to_string())];
        let numbers = numbers.into_iter().flatten().collect::<Vec<_>>().join("  ");
        let parts = [(&*subject, strong), (note, Style::new()), (&numbers, dim)];
        let lines = parts.iter().flat_map(|(part, style)| wrap(part, room).map(|line| (line, *style)));

        let mut left = if self.is_narrow() { 0 } else { room };
        for (number, (line, style)) in lines.enumerate() {
            let gap = usize::from(number > 0);
            if columns(line) + gap <= left {
                self.pad(gap);
                left -= gap + columns(line);
            } else {
                self.end_start();
                self.pad(indent);
                left = room - columns(line).min(room);
            }
            self.styled(style, |text| text.push_str(line));
        }
        self.text.push('\n');
    }

    /// Ends a line that may have blanks at its end.
    fn end_start(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text.push('\n');
    }

    fn is_narrow(&self) -> bool {
        self.width.columns() < MIN_COLUMNS
    }

    /// How far everything but time, direction and kind is indented.
    fn indent(&self) -> usize {
        if self.is_narrow() { NARROW_INDENT } else { INDENT }
    }

    /// What that leaves of the width.
    fn room(&self) -> usize {
        self.width.columns().saturating_sub(self.indent() + 1).max(MIN_SUBJECT_COLUMNS)
    }

    /// Writes something in a style. Most logs have none.
    fn styled(&mut self, style: Style, write: impl FnOnce(&mut String)) {
        if style.is_plain() {
            write(&mut self.text);
            return;
        }
        let _ = write!(self.text, "{style}");
        write(&mut self.text);
        let _ = write!(self.text, "{style:#}");
    }

    fn pad(&mut self, columns: usize) {
        self.text.extend(std::iter::repeat_n(' ', columns));
    }

    /// Writes text that begins after time, direction and kind.
    fn add_wrapped_after(&mut self, text: &str, style: Style) {
        if self.is_narrow() {
            self.end_start();
            return self.add_wrapped(text, style);
        }
        let start = self.text.len();
        self.add_wrapped(text, style);
        self.text.replace_range(start..(start + INDENT).min(self.text.len()), "");
    }

    /// Writes text below the subject.
    fn add_wrapped(&mut self, text: &str, style: Style) {
        let (indent, room) = (self.indent(), self.room());
        for line in wrap(text, room) {
            let _ = writeln!(self.text, "{:indent$}{style}{line}{style:#}", "");
        }
    }
}

/// What there is to say about a message.
fn line<'a>(session: &'a Session, message: &'a Message<'_>, role: &Role, width: Width) -> Line<'a> {
    let kind = MessageKind::of(message).name();
    let id = cut_id(&displayed_id(message.id()), width).into_owned();
    let of = |kind, subject, note, latency| Line { kind, subject, note, len: message.as_bytes().len(), latency };
    let name = |method: &MethodIndex| Cow::Borrowed(session.methods[*method].name.as_str());
    match role {
        Role::Call { subject, .. } => {
            let method = message.method().unwrap_or_default();
            let subject = match subject {
                Some(subject) => [&method, " ", subject].concat().into(),
                None => method,
            };
            of(kind, subject, id, None)
        }
        Role::Progress { method, id, progress } => {
            of("progress", name(method), format!("{} ({})", cut_id(id, width), share(progress)), None)
        }
        Role::Cancellation { method, id, after } => {
            of("cancelled", name(method), cut_id(id, width).into_owned(), *after)
        }
        Role::Response { method, latency, is_failure, is_cancelled, .. } => {
            let kind = if *is_failure && kind == "response" { "failure" } else { kind };
            let cancelled = if *is_cancelled { " (cancelled)" } else { "" };
            of(kind, name(method), id + &error_code(message) + cancelled, *latency)
        }
        Role::ResponseToFault => of(kind, "(to a faulty line)".into(), id + &error_code(message), None),
        Role::UnmatchedResponse { .. } => of(kind, "(unmatched)".into(), id + &error_code(message), None),
    }
}

/// Writes a value, or nothing, at the right of a column.
fn push_right(text: &mut String, value: Option<impl Display>, width: usize) {
    const BLANK: &str = "            ";
    let start = text.len();
    if let Some(value) = value {
        let _ = write!(text, "{value}");
    }
    let padding = width.saturating_sub(text[start..].chars().count());
    text.insert_str(start, &BLANK[..padding]);
}

fn error_code(message: &Message<'_>) -> String {
    let Message::Response(response) = message else { return String::new() };
    response.error().map_or_else(String::new, |error| format!(" ({})", error.code()))
}

/// How much is done: `2 of 5`.
fn share(progress: &Progress) -> String {
    match progress.total {
        Some(total) => format!("{} of {total}", progress.done),
        None => progress.done.to_string(),
    }
}

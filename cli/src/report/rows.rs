//! Turns the records of a recording into the rows of the page.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::time::Duration;

use serde_json::json;
use wireline::{Fault, Id, Message};

use super::embed;
use super::page::{Page, Row};
use crate::judge::{Finding, Severity};
use crate::message_kind::MessageKind;
use crate::protocol::Hello;
use crate::recording::{Content, Entry, Reader};
use crate::rules_args::RulesArgs;
use crate::session::{Follower, Role, Seen, Session, Side};

/// A row's bits: who sent it, the kind in the next three, and flags.
const FROM_SERVER: u32 = 1;
const KIND_SHIFT: u32 = 1;
const IS_ENTRY: u32 = 1 << 4;
const IS_CUT: u32 = 1 << 5;
/// A request, also a faulty one.
const IS_CALL: u32 = 1 << 6;
const REUSES_ID: u32 = 1 << 7;
const IS_UNMATCHED: u32 = 1 << 8;
/// A result that says that the call has failed.
const IS_FAILURE: u32 = 1 << 9;
/// A notification that cancels a request.
const IS_CANCELLATION: u32 = 1 << 10;
/// It breaks a rule whose severity is `error`.
const BREAKS_RULE: u32 = 1 << 11;

/// The kind of a row that is not a [`MessageKind`], whose kinds have their position in [`MessageKind::ALL`].
const FAULT: u32 = MessageKind::ALL.len() as u32;

/// The kind of a line of standard error.
const STDERR: u32 = FAULT + 1;

/// How many methods are told apart, and the longest name and id to keep, in bytes.
const MAX_LABELS: usize = 4096;
const MAX_NAME_LEN: usize = 256;
const MAX_ID_LEN: usize = 128;

/// How many findings about a session as a whole are listed.
const MAX_FINDINGS: usize = 20;

/// Stands in for all methods beyond the limit.
const OTHERS: &str = "(others)";

/// What may be in the page.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) payload_len: usize,
    pub(super) page_len: u64,
    /// Whether the texts of errors are in the page.
    pub(super) has_reasons: bool,
    /// Whether the server's standard error is in the page.
    pub(super) has_stderr: bool,
}

/// What the page leaves out.
#[derive(Clone, Copy, Default)]
pub(super) struct LeftOut {
    pub(super) cut_payloads: u64,
    pub(super) rows: u64,
    pub(super) stderr_lines: u64,
}

pub(super) struct Rows<W> {
    page: Page<W>,
    rules: RulesArgs,
    limits: Limits,
    left_out: LeftOut,
    labels: Labels,
    /// For each side, what has been read of its current line.
    lines: [RawLine; 2],
    /// The same of the server's standard error.
    stderr: RawLine,
    session: SessionInfo,
    /// The first error in writing the page.
    written: io::Result<()>,
}

#[derive(Default)]
struct RawLine {
    start: Vec<u8>,
    len: u64,
    /// Whether it has its line end, so that it counts although it is empty.
    is_ended: bool,
}

/// What is called: a method, and what the call is about, which is empty if it is about nothing in particular.
type Label = (String, String);

/// All that is called, in the order of the first call.
#[derive(Default)]
struct Labels {
    labels: Vec<Label>,
    indexes: HashMap<Label, u32>,
}

/// A session so far.
#[derive(Default)]
struct SessionInfo {
    /// When it started, in seconds since 1970.
    start: Option<f64>,
    at: Duration,
    /// How the server ended, if it has: with a code or by a signal.
    end: Option<(Option<i32>, Option<i32>)>,
    /// For each side, whether some of its lines end in a carriage return and a line feed.
    has_returns: [bool; 2],
    /// What is wrong with the session, apart from single messages.
    findings: Vec<serde_json::Value>,
    /// For each side, whether its last line has no line end.
    is_unterminated: [bool; 2],
    /// How many rows are lines of standard error.
    stderr_lines: u64,
}

impl<W: Write> Rows<W> {
    pub(super) fn new(page: Page<W>, limits: Limits, rules: RulesArgs) -> Self {
        Self {
            page,
            rules,
            limits,
            left_out: LeftOut::default(),
            labels: Labels::default(),
            lines: Default::default(),
            stderr: RawLine::default(),
            session: SessionInfo::default(),
            written: Ok(()),
        }
    }

    /// Adds all sessions of a recording. The outer error is about reading, the inner one about writing.
    pub(super) fn add_recording(
        &mut self,
        reader: &mut Reader<impl BufRead>,
        mut on_progress: impl FnMut(u64),
    ) -> io::Result<io::Result<()>> {
        let mut follower = Follower::new(&self.rules);
        let read = loop {
            let entry = match reader.next_telling(&mut on_progress) {
                Ok(Some(entry)) => entry,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            self.add_entry(&mut follower, entry);
            if self.written.is_err() {
                break Ok(());
            }
        };
        self.end_session(&mut follower);
        let written = std::mem::replace(&mut self.written, Ok(()));
        read.map(|()| written)
    }

    fn add_entry(&mut self, follower: &mut Follower, Entry { time, at, content }: Entry) {
        if content == Content::Start {
            self.end_session(follower);
        }
        self.session.start.get_or_insert(time);
        // Times that go backwards would give negative latencies.
        let at = at.max(self.session.at);
        self.session.at = at;
        match content {
            Content::Start => {}
            Content::Stderr { bytes } => self.add_stderr(&bytes),
            Content::End { code, signal } => self.session.end = Some((code, signal)),
            Content::Bytes { from, bytes, is_last } => {
                let text = bytes.strip_suffix(b"\n");
                self.lines[from as usize].add(text.unwrap_or(&bytes), self.limits.payload_len);
                follower.add_bytes(from, &bytes, Some(at), |session, seen| self.add_seen(session, from, &seen));
                if text.is_some() {
                    self.lines[from as usize] = RawLine::default();
                }
                if is_last {
                    follower.end_stream(from, Some(at), |session, seen| self.add_seen(session, from, &seen));
                }
            }
        }
    }

    /// Ends the session, if there is one.
    fn end_session(&mut self, follower: &mut Follower) {
        let at = Some(self.session.at);
        self.end_stderr_line();
        for from in Side::BOTH {
            follower.end_stream(from, at, |session, seen| self.add_seen(session, from, &seen));
        }
        follower.end_session(at, |session, seen| self.add_seen(session, Side::Client, &seen));
        let follower = std::mem::replace(follower, Follower::new(&self.rules));
        self.lines = Default::default();
        let session = std::mem::take(&mut self.session);
        if session.start.is_some() {
            let written = self.page.end_session(&escaped(&session.json(&follower.session)));
            self.note_error(written);
        }
    }

    /// Adds a line of standard error, or a part of one.
    fn add_stderr(&mut self, bytes: &[u8]) {
        if !self.limits.has_stderr {
            return;
        }
        let text = bytes.strip_suffix(b"\n");
        self.stderr.add(text.unwrap_or(bytes), self.limits.payload_len);
        self.stderr.is_ended = text.is_some();
        if self.stderr.is_ended {
            self.end_stderr_line();
        }
    }

    /// Adds the row of a line of standard error, if there is one.
    fn end_stderr_line(&mut self) {
        let line = std::mem::take(&mut self.stderr);
        if line.len == 0 && !line.is_ended {
            return;
        }
        if self.page.len() >= self.limits.page_len {
            self.left_out.stderr_lines += 1;
            return;
        }
        self.session.stderr_lines += 1;
        let row = Row::new(micros(self.session.at), FROM_SERVER | STDERR << KIND_SHIFT, line.len);
        self.add_to_page(row, &line.start);
    }

    fn add_seen(&mut self, session: &Session, from: Side, seen: &Seen<'_>) {
        match seen {
            Seen::Finding(finding) => {
                if self.session.findings.len() < MAX_FINDINGS {
                    self.session.findings.push(finding_json(finding));
                }
            }
            Seen::CarriageReturn => self.session.has_returns[from as usize] = true,
            Seen::Unterminated { .. } => self.session.is_unterminated[from as usize] = true,
            _ => self.add_row(session, from, seen),
        }
    }

    fn add_row(&mut self, session: &Session, from: Side, seen: &Seen<'_>) {
        if self.page.len() >= self.limits.page_len {
            self.left_out.rows += 1;
            return;
        }
        let line = std::mem::take(&mut self.lines[from as usize]);
        let bits = if from == Side::Server { FROM_SERVER } else { 0 };
        let mut row = Row::new(micros(self.session.at), bits, line.len);
        let mut payload = &line.start[..];
        match seen {
            Seen::Finding(_) | Seen::CarriageReturn | Seen::Unterminated { .. } => return,
            Seen::Batch { .. } => row.bits |= kind_bits(MessageKind::Batch),
            Seen::Message { message, role, is_entry, findings, .. } => {
                describe_findings(&mut row, findings);
                row.len = message.as_bytes().len() as u64;
                if *is_entry {
                    row.bits |= IS_ENTRY;
                    payload = embed::cut(message.as_bytes(), self.limits.payload_len);
                }
                self.describe_message(&mut row, session, message, role);
            }
            Seen::Fault { fault, is_entry, .. } => {
                row.bits |= FAULT << KIND_SHIFT;
                if *is_entry {
                    // The batch has it.
                    row.bits |= IS_ENTRY;
                    (row.len, payload) = (0, &[]);
                }
                describe_fault(&mut row, fault);
            }
        }
        row.request = session.last_request();
        self.add_to_page(row, payload);
        // The entries of a batch follow.
        self.lines[from as usize] = line;
    }

    fn add_to_page(&mut self, mut row: Row, payload: &[u8]) {
        if (payload.len() as u64) < row.len {
            row.bits |= IS_CUT;
            self.left_out.cut_payloads += 1;
        }
        let written = self.page.add(&row, payload);
        self.note_error(written);
    }

    fn describe_message(&mut self, row: &mut Row, session: &Session, message: &Message<'_>, role: &Role) {
        row.bits |= match role {
            Role::Call { reuses_id: true, .. } => REUSES_ID,
            Role::Cancellation { .. } => IS_CANCELLATION,
            Role::Response { is_failure: true, .. } if MessageKind::of(message) == MessageKind::Response => IS_FAILURE,
            Role::UnmatchedResponse { .. } => IS_UNMATCHED,
            _ => 0,
        };
        row.bits |= kind_bits(MessageKind::of(message));
        match message {
            Message::Request(request) => {
                row.id = id_json(Some(request.id()));
                row.bits |= IS_CALL;
                row.label = Some(self.labels.index_of(&request.method(), subject(role)));
            }
            Message::Notification(notification) => {
                row.label = Some(self.labels.index_of(&notification.method(), subject(role)));
            }
            Message::Response(response) => {
                row.id = id_json(response.id());
                let is_failure = matches!(role, Role::Response { is_failure: true, .. });
                if let Some(reason) = session.reason(message, is_failure) {
                    let text = match self.limits.has_reasons {
                        true if !reason.text.is_empty() => reason.text.as_str(),
                        _ => reason.meaning.unwrap_or_default(),
                    };
                    row.note = escaped(&json!([reason.code, text]));
                }
            }
        }
    }

    /// Ends the page with a summary. `unreadable` says which part of the recording could not be read.
    pub(super) fn finish(self, title: &str, unreadable: Option<&str>) -> io::Result<LeftOut> {
        let Self { page, limits, left_out, labels, .. } = self;
        let summary = json!({
            "title": title,
            "tool": concat!("wireline ", env!("CARGO_PKG_VERSION")),
            "maxPayload": limits.payload_len,
            "cutPayloads": left_out.cut_payloads,
            "leftOut": left_out.rows,
            "leftOutLines": left_out.stderr_lines,
            "unreadable": unreadable,
            "labels": labels.labels,
        });
        page.finish(&escaped(&summary))?;
        Ok(left_out)
    }

    fn note_error(&mut self, written: io::Result<()>) {
        if self.written.is_ok() {
            self.written = written;
        }
    }
}

impl RawLine {
    /// Adds a part, of which the first `max_len` bytes of the line are kept.
    fn add(&mut self, part: &[u8], max_len: usize) {
        self.len += part.len() as u64;
        let room = max_len - self.start.len();
        self.start.extend_from_slice(&part[..part.len().min(room)]);
        if part.len() > room {
            let whole = embed::cut(&[&self.start, &b"x"[..]].concat(), max_len).len();
            self.start.truncate(whole);
        }
    }
}

impl Labels {
    fn index_of(&mut self, method: &str, subject: &str) -> u32 {
        let label = [method, subject].map(|text| String::from_utf8_lossy(embed::cut(text.as_bytes(), MAX_NAME_LEN)));
        let label: Label = label.map(Into::into).into();
        if let Some(index) = self.indexes.get(&label) {
            return *index;
        }
        let label = if self.labels.len() < MAX_LABELS { label } else { (OTHERS.to_owned(), String::new()) };
        *self.indexes.entry(label.clone()).or_insert_with(|| {
            self.labels.push(label);
            self.labels.len() as u32 - 1
        })
    }
}

impl SessionInfo {
    fn json(&self, session: &Session) -> serde_json::Value {
        let hello = |side| {
            session.hello(side).map(|Hello { protocol, version, program, capabilities }| {
                json!({ "protocol": protocol, "version": version, "program": program, "capabilities": capabilities })
            })
        };
        json!({
            "start": self.start,
            "duration": micros(self.at),
            "exit": self.end,
            // `wireline tap` writes the end of every session, unless it is killed.
            "isCutOff": self.end.is_none(),
            "hasReturns": self.has_returns,
            "isUnterminated": self.is_unterminated,
            "findings": self.findings,
            "stderrLines": self.stderr_lines,
            "hellos": Side::BOTH.map(hello),
            "traffic": Side::BOTH.map(|side| {
                let traffic = &session.traffic[side as usize];
                json!({ "messages": traffic.messages, "bytes": traffic.bytes })
            }),
        })
    }
}

fn describe_findings(row: &mut Row, findings: &[Finding]) {
    if findings.iter().any(|finding| finding.rule.severity() == Severity::Error) {
        row.bits |= BREAKS_RULE;
    }
    if !findings.is_empty() {
        row.findings = escaped(&findings.iter().map(finding_json).collect());
    }
}

/// A finding for the page: who, severity, rule, evidence, and the section of the specification.
fn finding_json(finding: &Finding) -> serde_json::Value {
    let Finding { rule, dialect, place, evidence, .. } = finding;
    json!([place.from.name(), rule.severity().name(), rule.name(), evidence, rule.reference(*dialect)])
}

fn kind_bits(kind: MessageKind) -> u32 {
    (kind as u32) << KIND_SHIFT
}

/// What a call is about.
fn subject(role: &Role) -> &str {
    match role {
        Role::Call { subject: Some(subject), .. } => subject,
        _ => "",
    }
}

fn describe_fault(row: &mut Row, fault: &Fault) {
    row.id = id_json(fault.id());
    // One with an id counts as a request unless it was meant as a response.
    row.bits |= if fault.id().is_some() && !fault.is_response() { IS_CALL } else { 0 };
    let hint = fault.hint().map(|hint| hint.to_string());
    row.note = escaped(&json!([fault.kind().name(), fault.to_string(), hint]));
}

fn id_json(id: Option<&Id<'_>>) -> Vec<u8> {
    let Some(id) = id else { return b"0".to_vec() };
    let mut json = Vec::new();
    embed::push_string(&mut json, embed::cut(id.as_json().as_bytes(), MAX_ID_LEN));
    json
}

fn micros(at: Duration) -> u64 {
    u64::try_from(at.as_micros()).unwrap_or(u64::MAX)
}

/// JSON without `<`, which can only be within strings.
fn escaped(json: &serde_json::Value) -> Vec<u8> {
    json.to_string().replace('<', "\\u003c").into_bytes()
}

//! What is different between a recording and its replay, for people and for programs.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::process::ExitStatus;

use clap::builder::styling::Style;
use serde::Serialize;
use wireline::{Fault, FaultKind, Id, Request};

use super::args::{Args, Format};
use super::player::Stopped;
use super::server_process::ServerEnd;
use crate::exit;
use crate::json::{Change, ChangeKind, Comparison, kind};
use crate::output::{print, report_error};
use crate::protocol::Protocols;
use crate::session::{Side, displayed_id};
use crate::terminal::{Styles, columns, escape_start, printable_json, terminal_columns, wrap};
use crate::units::counted;

/// How many differences of one message are printed for people.
const MAX_PRINTED: usize = 20;

/// How many problems are kept for programs.
const MAX_PROBLEMS: usize = 10_000;

/// How many faults of a session are described.
const MAX_FAULTS: usize = 5;

/// The width that a subject and a path are cut to.
const MAX_COLUMNS: usize = 300;

/// How much of a value is shown to programs, in bytes.
const MAX_VALUE_LEN: usize = 4096;

const INDENT: usize = 13;

/// Counts, and prints for people as it goes. Writing to its string cannot fail, so results of `write!` are ignored.
pub(super) struct Report {
    format: Format,
    show: bool,
    styles: Styles,
    /// The width that values are cut to.
    columns: usize,
    /// The width that lines are wrapped to: the terminal's, or unlimited.
    line_columns: usize,
    counts: Counts,
    session: u64,
    /// Whether the number of the session has been printed.
    is_session_named: bool,
    recorded_faults: u64,
    live_faults: u64,
    /// The first of them.
    fault_texts: Vec<String>,
    unmatched: [u64; 2],
    problems: Vec<JsonProblem>,
    servers: Vec<JsonServer>,
    write_error: Option<io::Error>,
}

/// The message that a problem is about.
pub(super) struct Subject {
    /// Who sent the request.
    from: Side,
    method: Option<String>,
    target: Option<String>,
    id: Option<Id<'static>>,
}

pub(super) enum Problem {
    /// The answer did not come in time, or before the replay ended.
    NeverCame { stopped: Option<Stopped> },
    /// The answer is faulty, and was not so in the recording.
    Faulty(FaultKind),
    /// The answer was faulty in this way in the recording, and is a message now.
    NoLongerFaulty(FaultKind),
    /// An answer to a request that was never answered in the recording.
    ExtraAnswer,
    /// A request of the server did not come in time.
    RequestNeverCame { stopped: Option<Stopped> },
    /// A request of the server that is not in the recording.
    ExtraRequest,
}

#[derive(Default, Serialize)]
struct Counts {
    sessions: u64,
    /// Lines of the client.
    sent: u64,
    /// Answers, and requests of the server.
    compared: u64,
    same: u64,
    different: u64,
    ignored: u64,
    never_came: u64,
    /// Recorded answers and requests to which the replay did not get.
    unreached: u64,
    extra: u64,
    /// Answers that match no request, beyond those in the recording.
    unmatched: u64,
    /// Faulty lines of the server, beyond those in the recording.
    faults: u64,
    notifications: u64,
    /// Servers that did not exit as in the recording.
    failed_servers: u64,
}

#[derive(Serialize)]
struct JsonProblem {
    session: u64,
    problem: &'static str,
    from: &'static str,
    method: Option<String>,
    target: Option<String>,
    id: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<JsonChange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    more_changes: Option<u64>,
}

#[derive(Serialize)]
struct JsonChange {
    change: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed: Option<String>,
}

#[derive(Serialize)]
struct JsonServer {
    session: u64,
    code: Option<i32>,
    signal: Option<i32>,
    recorded_code: Option<i32>,
    terminated: bool,
    stopped: Option<&'static str>,
}

#[derive(Serialize)]
struct JsonReport<'a> {
    is_same: bool,
    #[serde(flatten)]
    counts: &'a Counts,
    problems: &'a [JsonProblem],
    servers: &'a [JsonServer],
}

impl Subject {
    /// A request that the client sent.
    pub(super) fn of_call(request: &Request<'_>, protocols: Protocols) -> Self {
        Self { from: Side::Client, ..Self::of_request(request, protocols) }
    }

    /// A request of the server.
    pub(super) fn of_request(request: &Request<'_>, protocols: Protocols) -> Self {
        let method = request.method().into_owned();
        let target = protocols.subject(&method, request.params().as_ref());
        Self { from: Side::Server, method: Some(method), target, id: Some(request.id().clone().into_owned()) }
    }

    /// A faulty line that the client sent.
    pub(super) fn of_fault(id: Option<&Id<'_>>) -> Self {
        Self { from: Side::Client, method: None, target: None, id: id.map(|id| id.clone().into_owned()) }
    }

    /// The name for people, escaped.
    fn text(&self) -> String {
        let mut text = self.method.clone().unwrap_or_else(|| "(faulty line)".to_owned());
        if let Some(target) = &self.target {
            text.push(' ');
            text.push_str(target);
        }
        let id = displayed_id(self.id.as_ref());
        let space = if id.is_empty() { "" } else { " " };
        format!("{} {}{space}{id}", self.from.arrow(), escape_start(text.as_bytes(), MAX_COLUMNS))
    }
}

impl Problem {
    fn name(&self) -> &'static str {
        match self {
            Self::NeverCame { .. } => "never-answered",
            Self::Faulty(_) => "faulty-answer",
            Self::NoLongerFaulty(_) => "no-longer-faulty",
            Self::ExtraAnswer => "extra-answer",
            Self::RequestNeverCame { .. } => "missing-request",
            Self::ExtraRequest => "extra-request",
        }
    }

    fn text(&self) -> String {
        let before = |stopped: &Option<Stopped>| match stopped {
            None => " in time",
            Some(Stopped::Exited) => " before the server's output ended",
            Some(Stopped::NotReading) => " before the server stopped reading",
            Some(Stopped::Silent) => "",
        };
        match self {
            Self::NeverCame { stopped } => format!("never answered{}", before(stopped)),
            Self::Faulty(kind) => format!("the answer is faulty [{}]", kind.name()),
            Self::NoLongerFaulty(kind) => format!("the recorded answer was faulty [{}]", kind.name()),
            Self::ExtraAnswer => "answered, but never in the recording".to_owned(),
            Self::RequestNeverCame { stopped } => format!("the server never sent this request{}", before(stopped)),
            Self::ExtraRequest => "the recorded server did not send this request".to_owned(),
        }
    }
}

impl Stopped {
    fn name(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::NotReading => "not-reading",
            Self::Silent => "silent",
        }
    }
}

impl Report {
    pub(super) fn new(args: &Args) -> Self {
        let stdout = io::stdout();
        Self {
            format: args.format,
            show: args.show,
            styles: Styles::detect(stdout.is_terminal()),
            columns: terminal_columns(&stdout),
            line_columns: if stdout.is_terminal() { terminal_columns(&stdout) } else { usize::MAX },
            counts: Counts::default(),
            session: 0,
            is_session_named: true,
            recorded_faults: 0,
            live_faults: 0,
            fault_texts: Vec::new(),
            unmatched: [0; 2],
            problems: Vec::new(),
            servers: Vec::new(),
            write_error: None,
        }
    }

    /// Starts the report on the session with this number.
    pub(super) fn start_session(&mut self, number: u64) {
        self.session = number;
        self.counts.sessions += 1;
        self.is_session_named = number == 1;
        (self.recorded_faults, self.live_faults, self.unmatched) = (0, 0, [0; 2]);
        self.fault_texts.clear();
    }

    pub(super) fn count_sent(&mut self) {
        self.counts.sent += 1;
    }

    pub(super) fn count_unreached(&mut self) {
        self.counts.unreached += 1;
    }

    pub(super) fn count_notification(&mut self) {
        self.counts.notifications += 1;
    }

    pub(super) fn count_recorded_fault(&mut self) {
        self.recorded_faults += 1;
    }

    /// Counts an answer that matches no request.
    pub(super) fn count_unmatched(&mut self, is_recorded: bool) {
        self.unmatched[usize::from(is_recorded)] += 1;
    }

    /// Counts a message that is as faulty as in the recording.
    pub(super) fn count_same(&mut self) {
        self.counts.compared += 1;
        self.counts.same += 1;
    }

    /// Adds two messages that were compared.
    pub(super) fn add_compared(&mut self, subject: &Subject, comparison: &Comparison<'_>) {
        self.counts.ignored += comparison.ignored;
        if comparison.is_same() {
            return self.count_same();
        }
        self.counts.compared += 1;
        self.counts.different += 1;
        let left_out = comparison.count - comparison.changes.len() as u64;
        let changes = comparison.changes.iter().map(|change| self.json_change(change)).collect();
        self.keep(subject, "different", None, changes, (left_out > 0).then_some(left_out));

        let Styles { strong, dim, .. } = self.styles;
        let mut text = self.lines(&subject.text(), 0, strong);
        for change in comparison.changes.iter().take(MAX_PRINTED) {
            self.write_change(&mut text, change);
        }
        let more = comparison.count.saturating_sub(MAX_PRINTED as u64);
        if more > 0 {
            let _ = writeln!(text, "    {dim}and {}{dim:#}", counted(more, "more difference", "more differences"));
        }
        self.write(&text);
    }

    /// Adds something that is wrong with a message as a whole.
    pub(super) fn add(&mut self, subject: &Subject, problem: &Problem) {
        let fault = match problem {
            Problem::NeverCame { .. } | Problem::RequestNeverCame { .. } => {
                self.counts.never_came += 1;
                None
            }
            Problem::ExtraAnswer | Problem::ExtraRequest => {
                self.counts.extra += 1;
                None
            }
            Problem::Faulty(kind) | Problem::NoLongerFaulty(kind) => {
                self.counts.compared += 1;
                self.counts.different += 1;
                Some(kind.name())
            }
        };
        self.keep(subject, problem.name(), fault, Vec::new(), None);
        let Styles { strong, bad, .. } = self.styles;
        let (subject, problem) = (subject.text(), problem.text());
        if columns(&subject) + 2 + columns(&problem) < self.line_columns {
            return self.write(&format!("{strong}{subject}{strong:#}: {bad}{problem}{bad:#}\n"));
        }
        let text = self.lines(&format!("{subject}:"), 0, strong) + &self.lines(&problem, 4, bad);
        self.write(&text);
    }

    /// Adds a line of the server that is not a message.
    pub(super) fn add_fault(&mut self, fault: &Fault) {
        self.live_faults += 1;
        // Whether there are more than in the recording shows at the end.
        if self.fault_texts.len() < MAX_FAULTS {
            let plain = Style::new();
            let hint = fault.hint().map(|hint| self.lines(&hint.to_string(), 8, plain)).unwrap_or_default();
            self.fault_texts.push(self.lines(&format!("{fault} [{}]", fault.kind().name()), 4, plain) + &hint);
        }
    }

    /// Adds the end of the session.
    pub(super) fn end_session(&mut self, end: &ServerEnd, stopped: Option<Stopped>, recorded_code: Option<i32>) {
        let Styles { bad, .. } = self.styles;
        let faults = self.live_faults.saturating_sub(self.recorded_faults);
        self.counts.faults += faults;
        if faults > 0 {
            let lines = counted(self.live_faults, "faulty line", "faulty lines");
            let recorded = self.recorded_faults;
            let first = self.fault_texts.concat();
            let heading = self.lines(&format!("{lines} from the server, {recorded} in the recording"), 0, bad);
            self.write(&format!("{heading}{first}"));
        }
        let [live, recorded] = self.unmatched;
        self.counts.unmatched += live.saturating_sub(recorded);
        if live > recorded {
            let (answers, verb) = (counted(live, "answer", "answers"), if live == 1 { "matches" } else { "match" });
            self.write(&self.lines(&format!("{answers} {verb} no request, {recorded} in the recording"), 0, bad));
        }

        let (status, is_terminated) = match end {
            ServerEnd::Exited(status) => (Some(status), false),
            ServerEnd::Terminated => (None, true),
        };
        let (code, signal) = (status.and_then(ExitStatus::code), status.and_then(signal_of));
        // Beyond that a shell reports the signal by which the client ended the server.
        let is_comparable = recorded_code.is_some_and(|code| (0..128).contains(&code)) && !is_terminated;
        let is_failed = stopped.is_some() || is_comparable && code != recorded_code;
        self.counts.failed_servers += u64::from(is_failed);
        if is_failed {
            let when = match stopped {
                None => "",
                Some(Stopped::Exited) => " before it had everything",
                Some(Stopped::NotReading) => " after it stopped reading",
                Some(Stopped::Silent) => " after it stopped answering",
            };
            let recorded = match recorded_code {
                Some(recorded) if is_comparable && code != Some(recorded) => format!(", {recorded} in the recording"),
                _ => String::new(),
            };
            let end = end_text(code, signal, is_terminated);
            self.write(&self.lines(&format!("server {end}{when}{recorded}"), 0, bad));
        }
        let stopped = stopped.map(Stopped::name);
        let session = self.session;
        self.servers.push(JsonServer { session, code, signal, recorded_code, terminated: is_terminated, stopped });
    }

    /// Prints the rest, and returns the exit code.
    pub(super) fn finish(mut self) -> u8 {
        let is_same = self.is_same();
        let code = if is_same { exit::SUCCESS } else { exit::DIFFERENCES_FOUND };
        match self.format {
            Format::Human => self.write_summary(is_same),
            Format::Json => {
                let Self { counts, problems, servers, .. } = &self;
                let json = serde_json::to_string(&JsonReport { is_same, counts, problems, servers });
                let json = json.unwrap_or_else(|_| "{}".to_owned());
                let printed = print(format!("{}\n", printable_json(&json)).as_bytes());
                return if printed == exit::SUCCESS { code } else { printed };
            }
        }
        match self.write_error {
            None => code,
            Some(error) => {
                if error.kind() != io::ErrorKind::BrokenPipe {
                    report_error(&format!("cannot write to standard output: {error}"));
                }
                exit::FAILURE
            }
        }
    }

    fn is_same(&self) -> bool {
        let Counts { different, never_came, unreached, extra, unmatched, faults, failed_servers, .. } = &self.counts;
        [different, never_came, unreached, extra, unmatched, faults, failed_servers]
            .into_iter()
            .all(|count| *count == 0)
    }

    fn write_summary(&mut self, is_same: bool) {
        let Styles { good, bad, dim, .. } = self.styles;
        let Counts { sent, compared, different, ignored, never_came, unreached, extra, .. } = self.counts;
        let mut text = String::new();
        if !is_same {
            text.push('\n');
        }
        let lines = counted(sent, "message sent", "messages sent");
        let answers = counted(compared, "answer compared", "answers compared");
        let (style, verdict) = match (is_same, different) {
            (true, _) => (good, "all as recorded".to_owned()),
            (false, 0) => (Style::new(), "none differ".to_owned()),
            (false, different) => (bad, counted(different, "differs", "differ")),
        };
        let counts = format!("{lines}, {answers}:");
        if columns(&counts) + 1 + columns(&verdict) < self.line_columns {
            let _ = writeln!(text, "{counts} {style}{verdict}{style:#}");
        } else {
            text.push_str(&(self.lines(&counts, 0, Style::new()) + &self.lines(&verdict, 4, style)));
        }
        for (count, words) in [
            (never_came, counted(never_came, "answer or request never came", "answers or requests never came")),
            (unreached, counted(unreached, "recorded answer was not reached", "recorded answers were not reached")),
            (extra, counted(extra, "answer or request is extra", "answers or requests are extra")),
        ] {
            if count > 0 {
                let _ = writeln!(text, "{bad}{words}{bad:#}");
            }
        }
        if ignored > 0 {
            let differences = counted(ignored, "difference was ignored", "differences were ignored");
            let _ = writeln!(text, "{dim}{differences}{dim:#}");
        }
        self.is_session_named = true;
        self.write(&text);
    }

    fn write_change(&self, text: &mut String, change: &Change<'_>) {
        let Styles { bad, good, dim, .. } = self.styles;
        let style = match change.kind {
            ChangeKind::Added => good,
            ChangeKind::Missing => bad,
            ChangeKind::Changed => self.styles.accent,
        };
        let path = escape_start(change.path.as_bytes(), MAX_COLUMNS);
        let path = if path.is_empty() { "(the whole message)" } else { &path };
        let _ = write!(text, "    {style}{:<8}{style:#} {path}", change.kind.name());
        if let (Some(before), Some(after)) = (change.before, change.after)
            && kind(before) != kind(after)
        {
            let _ = write!(text, " {dim}({} → {}){dim:#}", kind(before).name(), kind(after).name());
        }
        text.push('\n');
        if self.show {
            for (mark, style, value) in [('-', bad, change.before), ('+', good, change.after)] {
                if let Some(value) = value {
                    let value = escape_start(value.as_bytes(), self.columns.saturating_sub(INDENT + 3).max(20));
                    let _ = writeln!(text, "{:INDENT$}{style}{mark} {value}{style:#}", "");
                }
            }
        }
    }

    fn json_change(&self, change: &Change<'_>) -> JsonChange {
        let value = |value: Option<&str>| {
            let value = value.filter(|_| self.show)?;
            let end = (0..=MAX_VALUE_LEN.min(value.len())).rev().find(|end| value.is_char_boundary(*end))?;
            Some(value[..end].to_owned())
        };
        JsonChange {
            change: change.kind.name(),
            path: change.path.clone(),
            recorded: value(change.before),
            replayed: value(change.after),
        }
    }

    fn keep(
        &mut self,
        subject: &Subject,
        problem: &'static str,
        fault: Option<&'static str>,
        changes: Vec<JsonChange>,
        more_changes: Option<u64>,
    ) {
        if self.format != Format::Json || self.problems.len() >= MAX_PROBLEMS {
            return;
        }
        self.problems.push(JsonProblem {
            session: self.session,
            problem,
            from: subject.from.name(),
            method: subject.method.clone(),
            target: subject.target.clone(),
            id: subject.id.as_ref().and_then(|id| serde_json::to_value(id).ok()),
            fault,
            changes,
            more_changes,
        });
    }

    /// Text in lines that fit the terminal.
    fn lines(&self, text: &str, indent: usize, style: Style) -> String {
        let lines = wrap(text, self.line_columns.saturating_sub(indent + 1));
        lines.map(|line| format!("{:indent$}{style}{line}{style:#}\n", "")).collect()
    }

    /// Prints text for people.
    fn write(&mut self, text: &str) {
        if self.format != Format::Human || self.write_error.is_some() {
            return;
        }
        let mut stdout = io::stdout().lock();
        let heading = if self.is_session_named { String::new() } else { format!("session {}:\n", self.session) };
        self.is_session_named = true;
        let written = stdout.write_all(heading.as_bytes()).and_then(|()| stdout.write_all(text.as_bytes()));
        self.write_error = written.and_then(|()| stdout.flush()).err();
    }
}

fn end_text(code: Option<i32>, signal: Option<i32>, is_terminated: bool) -> String {
    match (code, signal) {
        _ if is_terminated => "had to be terminated".to_owned(),
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "exited".to_owned(),
    }
}

fn signal_of(status: &ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(status);
    #[cfg(not(unix))]
    return {
        let _ = status;
        None
    };
}

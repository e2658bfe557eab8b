//! What is different between a recording and its replay, for people and for programs.

mod json;
mod problem;
mod text;

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::process::ExitStatus;

use clap::builder::styling::Style;
use serde::Serialize;
use wireline::Fault;

use super::args::{Args, Format};
use super::player::Stopped;
use super::server_process::ServerEnd;
use crate::exit;
use crate::json::{ChangeKind, Comparison};
use crate::output::{print, report_error};
use crate::session::Side;
use crate::terminal::{Styles, Width, columns, printable_json};
use crate::units::counted;

use json::{JsonProblem, JsonReport, JsonServer};
pub(super) use problem::{Problem, Subject};
use text::end_text;

/// How many differences of one message are printed for people.
const MAX_PRINTED: usize = 20;

/// The width that a subject and a path are cut to.
const MAX_COLUMNS: usize = 300;

/// How many different kinds of differences are remembered, to print each once.
const MAX_REPEATED: usize = 1000;

/// How many faults of a session are described.
const MAX_FAULTS: usize = 5;

/// Counts, and prints for people as it goes.
pub(super) struct Report {
    format: Format,
    show: bool,
    styles: Styles,
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
    /// What was different in the same way in other messages about the same.
    repeated: Vec<RepeatedDifference>,
    servers: Vec<JsonServer>,
    write_error: Option<io::Error>,
}

/// Differences that several messages about the same method and tool have.
struct RepeatedDifference {
    about: (Side, Option<String>, Option<String>),
    what: Vec<(ChangeKind, String)>,
    /// The message that was printed, escaped.
    first: String,
    /// How many more there are.
    more: u64,
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

impl Report {
    pub(super) fn new(args: &Args) -> Self {
        let stdout = io::stdout();
        Self {
            format: args.format,
            show: args.show,
            styles: Styles::detect(stdout.is_terminal()),
            line_columns: Width::of(&stdout).limit(),
            counts: Counts::default(),
            session: 0,
            is_session_named: true,
            recorded_faults: 0,
            live_faults: 0,
            fault_texts: Vec::new(),
            unmatched: [0; 2],
            problems: Vec::new(),
            repeated: Vec::new(),
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

        if self.is_repeated(subject, comparison) {
            return;
        }
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

    /// Whether a message about the same was different in the same way, and has been printed.
    fn is_repeated(&mut self, subject: &Subject, comparison: &Comparison<'_>) -> bool {
        let what: Vec<_> = comparison.changes.iter().map(|change| (change.kind, change.path.clone())).collect();
        let about = (subject.from, subject.method.clone(), subject.target.clone());
        match self.repeated.iter_mut().find(|one| one.about == about && one.what == what) {
            Some(one) => {
                one.more += 1;
                true
            }
            None => {
                if self.repeated.len() < MAX_REPEATED {
                    self.repeated.push(RepeatedDifference { about, what, first: subject.text(), more: 0 });
                }
                false
            }
        }
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
}

pub(super) fn signal_of(status: &ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(status);
    #[cfg(not(unix))]
    return {
        let _ = status;
        None
    };
}

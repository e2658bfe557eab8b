//! Runs checks against servers, which they share as long as nothing fails, and describes failures.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::checks::ServerCheck;
use super::command;
use super::live::{Live, Patience, Settings, Transcript};
use super::maker::Maker;
use super::outcome::{Failure, Finding, Outcome};
use super::profile::Profile;
use super::random::Random;
use super::script::{Chunks, Line, Policy, Script, Setup, Start, Stderr, Step};
use super::shrink::{integer_id, shrink};
use super::violation::Violation;
use crate::session::Side;
use crate::tap::recorder::Recorder;
use crate::terminal::escape_start;
use crate::units::{Count, counted};

/// How much of a line is shown.
const MAX_COLUMNS: usize = 160;

/// How many lines are shown.
const MAX_LINES: usize = 3;

/// How many times as long as for one failure all failures are shrunk.
const MAX_SHRUNK: u32 = 4;

pub(super) struct Bench<'a> {
    settings: Settings<'a>,
    profile: Profile,
    /// The server for scripts that don't need one of their own, and what it has been sent.
    shared: Option<(Live, Vec<Script>)>,
    last_id: u64,
    /// What needed more than one script to fail.
    failed_later: Vec<Violation>,
    /// Failures that plain requests are enough for: how many, and of which check. They explain later ones.
    plain_failures: Vec<(&'static str, usize, Violation)>,
    /// How long failures have been shrunk.
    shrunk: Duration,
    pub(super) warnings: Vec<String>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(settings: Settings<'a>, profile: Profile) -> Self {
        Self {
            settings,
            profile,
            shared: None,
            last_id: 9,
            failed_later: Vec::new(),
            plain_failures: Vec::new(),
            shrunk: Duration::ZERO,
            warnings: Vec::new(),
        }
    }

    pub(super) fn run(&mut self, check: &'static ServerCheck) -> Finding {
        let started = Instant::now();
        let outcome = self.outcome(check);
        Finding { check: &check.check, outcome, elapsed: started.elapsed() }
    }

    fn outcome(&mut self, check: &'static ServerCheck) -> Outcome {
        let args = self.settings.args;
        if let Some((name, ..)) = self.plain_failures.iter().find(|(_, count, _)| *count <= 1) {
            return Outcome::Skipped(format!("a single request already fails, see {name}").into());
        }
        let mut maker = Maker {
            profile: &self.profile,
            random: Random::new(args.seed, check.check.name),
            cases: args.cases as usize,
            last_id: &mut self.last_id,
        };
        let script = match (check.script)(&mut maker) {
            Ok(script) => script,
            Err(reason) => return Outcome::Skipped(reason.into()),
        };
        let patience = Patience::new(args);
        let played = if script.setup.is_alone { self.play(&script, patience) } else { self.play_shared(&script) };
        let Err(violation) = played else { return Outcome::Passed };
        if let Some(explained) = self.explained(&script, &violation) {
            self.shared = None;
            return explained;
        }
        if script.setup.is_alone {
            return self.fail(check, script, violation, None);
        }
        // The server had seen other scripts. Did those matter?
        let history = self.shared.take().map_or(Vec::new(), |(_, history)| history);
        if let Err(violation) = self.play(&script, patience.short()) {
            return self.fail(check, script, violation, None);
        }
        if self.failed_later.iter().any(|known| known.is_like(&violation)) {
            return Outcome::Passed;
        }
        let steps = history.into_iter().flat_map(|script| {
            let is_waiting = script.steps.last() == Some(&Step::Await);
            script.steps.into_iter().chain((!is_waiting).then_some(Step::Await))
        });
        let whole = Script { steps: steps.chain(script.steps.iter().cloned()).collect(), ..script.clone() };
        match self.play(&whole, patience.short()) {
            Err(again) if again.is_like(&violation) => {
                self.failed_later.push(violation);
                self.fail(check, whole, again, Some("after what earlier checks had sent"))
            }
            _ => self.fail(check, script, violation, Some("once, and not again with the same input")),
        }
    }

    /// The outcome, if an earlier failure explains this one.
    fn explained(&self, script: &Script, violation: &Violation) -> Option<Outcome> {
        let lines = script.lines().count();
        let (name, ..) =
            self.plain_failures.iter().find(|(_, count, known)| *count <= lines && known.is_like(violation))?;
        let failure = Failure {
            sent: counted(lines as u64, "line", "lines"),
            came: format!("{}, for the same reason as in {name}", violation.came(self.settings.args.show)),
            ..Failure::default()
        };
        Some(Outcome::Failed(Box::new(failure)))
    }

    /// Plays a script on the server that scripts share.
    fn play_shared(&mut self, script: &Script) -> Result<(), Violation> {
        if self.shared.is_none() {
            let patience = Patience::new(self.settings.args);
            let live = Live::start(&self.settings, &self.profile, Setup::default(), patience, false)?;
            self.shared = Some((live, Vec::new()));
        }
        let Some((live, history)) = &mut self.shared else { return Ok(()) };
        live.play(script, &mut self.settings)?;
        history.push(script.clone());
        Ok(())
    }

    /// Plays a script on a server of its own.
    fn play(&mut self, script: &Script, patience: Patience) -> Result<(), Violation> {
        self.play_recorded(script, patience, false).0
    }

    fn play_recorded(
        &mut self,
        script: &Script,
        patience: Patience,
        is_recorded: bool,
    ) -> (Result<(), Violation>, Transcript) {
        let started = Live::start(&self.settings, &self.profile, script.setup, patience, script.policy.whole_stream);
        match started {
            Err(violation) => (Err(violation), Transcript::new()),
            Ok(mut live) => {
                if is_recorded {
                    live.record();
                }
                let played = live.play(script, &mut self.settings);
                (played, live.into_transcript())
            }
        }
    }

    /// Shrinks, records and describes a failure.
    fn fail(
        &mut self,
        check: &ServerCheck,
        script: Script,
        violation: Violation,
        circumstance: Option<&str>,
    ) -> Outcome {
        let (script, violation) = self.shrink(script, violation);
        let (script, repeat, transcript) = self.repeat(script, &violation);
        let mut came = violation.came(self.settings.args.show);
        if let Some(circumstance) = circumstance {
            came = format!("{came}; {circumstance}");
        }
        let recording = match self.save(check.check.name, &transcript) {
            Ok(path) => path,
            Err(error) => {
                let directory = self.settings.args.recordings.display();
                self.warnings.push(format!("cannot save recordings in {directory}: {error}"));
                None
            }
        };
        if self.is_plain(&script) {
            self.plain_failures.push((check.check.name, script.lines().count(), violation.clone()));
        }
        let sent = describe(&script, violation.sent());
        let (asks, effect) = violation.meaning(check.check.property).unzip();
        let (asks, effect) = (asks.map(Into::into), effect.map(Into::into));
        Outcome::Failed(Box::new(Failure { sent, came, asks, effect, repeat: Some(repeat), recording }))
    }

    /// Whether a script consists of probes in one write, and is judged like any other.
    fn is_plain(&self, script: &Script) -> bool {
        let is_probe = |line: &Line| integer_id(line).is_some_and(|id| *line == Line::new(self.profile.request(&id)));
        let is_ordinary = script.setup.stderr == Stderr::Discarded && script.setup.start != Start::ByteOrderMark;
        let is_one_write = matches!(&script.steps[..], [Step::Send(_, Chunks::Whole)]);
        let policy = Policy { whole_stream: false, ..script.policy };
        is_ordinary && is_one_write && policy == Policy::default() && script.lines().all(is_probe)
    }

    fn shrink(&mut self, script: Script, violation: Violation) -> (Script, Violation) {
        let budget = self.settings.args.shrink;
        let left = (budget * MAX_SHRUNK).saturating_sub(self.shrunk).min(budget);
        // A server that doesn't start fails whatever is sent.
        if left.is_zero() || matches!(violation, Violation::NotStarted { .. }) {
            return (script, violation);
        }
        let started = Instant::now();
        let patience = Patience::new(self.settings.args);
        let (original, first) = (script.clone(), violation.clone());
        let profile = self.profile.clone();
        let mut play = |candidate: &Script| {
            self.play(candidate, patience.short()).err().filter(|violation| violation.is_like(&first))
        };
        let smallest = shrink(script, violation, &profile, &mut play, started + left);
        self.shrunk += started.elapsed();
        // What was found in a hurry is confirmed at leisure.
        match self.play(&smallest.0, patience) {
            Err(violation) if violation.is_like(&first) => (smallest.0, violation),
            _ => (original, first),
        }
    }

    /// A command that shows the failure, and what was sent and received when it was played for the last time.
    ///
    /// The command doesn't send the request that follows each script. If that one fails, it becomes part of the script.
    fn repeat(&mut self, mut script: Script, violation: &Violation) -> (Script, String, Transcript) {
        let server = &self.settings.args.command;
        let patience = Patience::new(self.settings.args).short();
        // A server that loses requests at the end of input must not be mistaken for one that loses them anyway.
        let is_told_by_end = script.is_closing() || !matches!(violation, Violation::NeverAnswered { .. });
        let followed = self.followed(&script);
        let is_about_next = violation.sent().is_some_and(|sent| sent >= script.lines().count());
        for script in [&script, &followed] {
            if let Some(whole) = command::in_one_write(script, &self.profile).filter(|_| is_told_by_end) {
                let (played, transcript) = self.play_recorded(&whole, patience, true);
                if played.is_err_and(|again| again.is_like(violation)) {
                    return (script.clone(), command::short(&whole, server), transcript);
                }
            }
        }
        let transcript = self.play_recorded(&script, patience, true).1;
        if is_about_next {
            script = followed;
        }
        let command = command::long(&script, &self.profile, server);
        (script, command, transcript)
    }

    /// A script, and the request that follows it.
    fn followed(&self, script: &Script) -> Script {
        let mut followed = script.clone();
        let ids = script.lines().filter_map(|line| integer_id(line)?.parse().ok());
        let id: u64 = ids.max().unwrap_or(1) + 1;
        let line = Line::new(self.profile.request(&id.to_string()));
        let at = followed.steps.len() - usize::from(script.is_closing());
        match followed.steps[..at].last_mut() {
            Some(Step::Send(lines, Chunks::Whole)) => lines.push(line),
            _ => followed.steps.insert(at, Step::Send(vec![line], Chunks::Whole)),
        }
        followed
    }

    /// Saves a recording, unless the server didn't even start.
    fn save(&self, name: &str, transcript: &Transcript) -> io::Result<Option<PathBuf>> {
        if transcript.is_empty() {
            return Ok(None);
        }
        let directory = &self.settings.args.recordings;
        fs::create_dir_all(directory)?;
        let path = directory.join(format!("{name}.tap"));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let last = transcript.last().map_or(Duration::ZERO, |(at, ..)| *at);
        let file = io::BufWriter::new(fs::File::create(&path)?);
        let mut recorder = Recorder::new(file, now.saturating_sub(last))?;
        for (at, from, bytes) in transcript {
            recorder.bytes(*from, bytes, *at)?;
        }
        for side in Side::BOTH {
            recorder.end_of_stream(side, last)?;
        }
        recorder.flush()?;
        Ok(Some(path))
    }
}

/// What was sent, for people: the lines if they are few, and how they were written.
fn describe(script: &Script, about: Option<usize>) -> String {
    let lines: Vec<_> = script.lines().collect();
    let shown = |at: usize| escape_start(&lines[at].text, MAX_COLUMNS);
    let mut text = match lines.len() {
        0 if script.setup.start == Start::ByteOrderMark => "a byte order mark and the first request".to_owned(),
        0 => "the first request".to_owned(),
        count if count <= MAX_LINES => (0..count).map(shown).collect::<Vec<_>>().join(" and "),
        count => {
            let about = about.filter(|at| *at < count).unwrap_or(count - 1);
            let what = if about + 1 == count {
                "the last of them".to_owned()
            } else {
                format!("number {}", Count(about as u64 + 1))
            };
            format!("{}, {what} {}", counted(count as u64, "line", "lines"), shown(about))
        }
    };
    let longest = lines.iter().map(|line| line.text.len()).max().unwrap_or(0);
    if longest > MAX_COLUMNS {
        text.push_str(&format!(" ({} bytes)", Count(longest as u64)));
    }
    if script.setup.start == Start::ByteOrderMark && !lines.is_empty() {
        text = format!("a byte order mark at the start, later {text}");
    }
    let writes = script.steps.iter().find_map(|step| match step {
        Step::Send(_, Chunks::Bytes) => Some("byte by byte"),
        Step::Send(_, Chunks::Ends(_)) => Some("in parts"),
        Step::Send(lines, Chunks::Whole) if lines.len() > 1 => Some("in one write"),
        _ => None,
    });
    for circumstance in [
        writes,
        script.steps.contains(&Step::StopReading).then_some("while the output isn't read"),
        script.is_closing().then_some("then the end of input"),
    ]
    .into_iter()
    .flatten()
    {
        text = format!("{text}, {circumstance}");
    }
    text
}

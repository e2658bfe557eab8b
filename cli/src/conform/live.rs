//! Plays scripts against a server that runs, and judges what it sends.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::args::Args;
use super::handshake::Handshake;
use super::judge::Judge;
use super::message::IdKey;
use super::profile::Profile;
use super::script::{Exit, Line, Policy, Script, Setup, Start, Stderr, Step, bytes};
use super::server::{Event, Server};
use super::violation::{Missing, Violation};
use crate::framing;
use crate::session::Side;
use crate::spawn::cannot_run;
use crate::units::Seconds;

/// The id of the request after each script, which shows that the server goes on. Each next one is larger by one.
const FIRST_SENTINEL: u64 = 900_001;

/// How long after the last answer a server is watched that may send more than it should.
const GRACE: Duration = Duration::from_millis(250);

/// The same if only a second response to an answered request would be too much.
const SHORT_GRACE: Duration = Duration::from_millis(2);

/// How often to look whether the server takes its input.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a server that can't write may take to notice that, before it is read again.
const STALL_TIME: Duration = Duration::from_millis(300);

/// How many times `timeout` a server may take that keeps answering.
const MAX_EXTENSION: u32 = 20;

/// What is the same for all servers of a run.
#[derive(Debug)]
pub(super) struct Settings<'a> {
    pub(super) args: &'a Args,
    /// Whether a server didn't exit by itself, so that others needn't be waited for as long.
    pub(super) never_exits: bool,
}

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) timeout: Duration,
    /// How long to wait for an answer once a later request is answered.
    pub(super) after_others: Duration,
    pub(super) grace: Duration,
}

impl Patience {
    pub(super) fn new(args: &Args) -> Self {
        Self { timeout: args.timeout, after_others: args.timeout, grace: GRACE.min(args.timeout) }
    }

    /// For repetitions of something that failed already.
    pub(super) fn short(self) -> Self {
        let timeout = self.timeout.min(Duration::from_secs(2));
        Self { timeout, after_others: (GRACE / 2).min(timeout), grace: self.grace / 2 }
    }
}

/// What was sent and received, for a recording.
pub(super) type Transcript = Vec<(Duration, Side, Vec<u8>)>;

pub(super) struct Live {
    server: Server,
    judge: Judge,
    profile: Profile,
    patience: Patience,
    /// What came after the last newline.
    partial: Vec<u8>,
    has_ended: bool,
    /// Whether one of its lines was a `Content-Length` header.
    sends_headers: bool,
    /// Whether what comes isn't judged yet.
    is_lenient: bool,
    /// How many responses came.
    responses: u64,
    next_sentinel: u64,
    started: Instant,
    transcript: Option<Transcript>,
}

impl Live {
    /// Starts a server, and shakes hands as `setup` says.
    pub(super) fn start(
        settings: &Settings<'_>,
        profile: &Profile,
        setup: Setup,
        patience: Patience,
        is_whole_stream_judged: bool,
    ) -> Result<Self, Violation> {
        let command = &settings.args.command;
        let server = Server::start(command, setup.stderr)
            .map_err(|error| Violation::CannotRun { why: cannot_run(command, &error) })?;
        let mut live = Self {
            server,
            judge: Judge::new(profile.clone()),
            profile: profile.clone(),
            patience,
            partial: Vec::new(),
            has_ended: false,
            sends_headers: false,
            is_lenient: !is_whole_stream_judged,
            responses: 0,
            next_sentinel: FIRST_SENTINEL,
            started: Instant::now(),
            transcript: None,
        };
        if setup.start != Start::Nothing {
            live.shake_hands(setup, settings.args.start_timeout)?;
        }
        live.is_lenient = false;
        if setup.stderr == Stderr::Closed {
            live.server.close_stderr();
        }
        Ok(live)
    }

    /// Keeps what is sent and received from now on.
    pub(super) fn record(&mut self) {
        self.transcript = Some(Transcript::new());
    }

    pub(super) fn into_transcript(self) -> Transcript {
        self.transcript.unwrap_or_default()
    }

    fn shake_hands(&mut self, setup: Setup, timeout: Duration) -> Result<(), Violation> {
        let policy = Policy::default();
        if setup.start == Start::ByteOrderMark {
            let request = Handshake::with_id(&self.profile, "0").request;
            self.send(&[Line::new(format!("\u{feff}{request}"))], &[], &policy);
        }
        let handshake = Handshake::new(&self.profile);
        let first = self.send(&[Line::new(handshake.request)], &[], &policy);
        let deadline = Instant::now() + timeout;
        while self.judge.first_missing().is_some_and(|missing| missing <= first) {
            if self.has_ended {
                let how = format!("{} before it answered the first request", self.end_text());
                return Err(Violation::NotStarted { how });
            }
            if !self.pump(deadline)? && Instant::now() >= deadline {
                let how =
                    format!("no response to the first request within {}{}", Seconds(timeout), self.framing_text());
                return Err(Violation::NotStarted { how });
            }
        }
        self.is_lenient = false;
        for line in handshake.rest {
            self.send(&[Line::new(line)], &[], &policy);
        }
        Ok(())
    }

    /// Sends a line whose answer isn't judged.
    pub(super) fn send_unjudged(&mut self, line: &str) {
        self.write(format!("{line}\n").into_bytes());
    }

    /// Waits for the first response with one of these ids, whatever else comes. Returns which one it is.
    pub(super) fn answer_to(&mut self, ids: &[&str], timeout: Duration) -> Option<(usize, Value)> {
        let keys: Vec<Option<IdKey>> = ids.iter().map(|id| IdKey::parse(id)).collect();
        let deadline = Instant::now() + timeout;
        loop {
            match self.server.next(deadline) {
                Event::Bytes(more) => self.partial.extend(more),
                Event::Timeout => return None,
                Event::Ended => {
                    self.has_ended = true;
                    return None;
                }
            }
            let complete = memchr::memrchr(b'\n', &self.partial).map_or(0, |end| end + 1);
            let lines: Vec<u8> = self.partial.drain(..complete).collect();
            for line in lines.split(|byte| *byte == b'\n') {
                let line = without_mark(line);
                self.sends_headers |= framing::is_content_length(line);
                let Ok(value) = serde_json::from_slice::<Value>(line) else { continue };
                let found = value.get("id").and_then(|id| IdKey::parse(&id.to_string()));
                if let Some(at) = keys.iter().position(|key| key.is_some() && *key == found)
                    && value.get("method").is_none()
                {
                    return Some((at, value));
                }
            }
        }
    }

    /// How the server's output has ended, if it has.
    pub(super) fn end(&mut self) -> Option<String> {
        self.has_ended.then(|| self.end_text())
    }

    /// Plays a script. After an error, the server is of no more use.
    pub(super) fn play(&mut self, script: &Script, settings: &mut Settings<'_>) -> Result<(), Violation> {
        let first = self.judge.next_line();
        self.play_from(first, script, settings).map_err(|violation| violation.relative_to(first))
    }

    fn play_from(&mut self, first: usize, script: &Script, settings: &mut Settings<'_>) -> Result<(), Violation> {
        let policy = &script.policy;
        let memory = policy.growth.and_then(|_| self.server.memory());
        for step in &script.steps {
            match step {
                Step::Send(lines, chunks) => {
                    self.send(lines, &chunks.ends(lines), policy);
                }
                Step::Await => self.await_answers(None)?,
                Step::StopReading => self.server.stop_reading(),
                Step::Resume => {
                    self.wait_until_stalled();
                    self.server.resume_reading();
                }
                Step::Close => return self.close(policy, settings),
            }
        }
        let sentinel = self.profile.request(&self.next_sentinel.to_string());
        self.next_sentinel += 1;
        let sentinel = self.send(&[Line::new(sentinel)], &[], &Policy::default());
        self.await_answers(Some(sentinel))?;
        let grace = if self.judge.may_be_surprised(first) { self.patience.grace } else { SHORT_GRACE };
        self.watch(grace)?;
        match (policy.growth, memory) {
            (Some(limit), Some(before)) if !self.judge.has_result(first) => self.judge_memory(before, limit),
            _ => Ok(()),
        }
    }

    /// Sends lines, divided into writes that end at `ends`. Returns the number of the last one.
    fn send(&mut self, lines: &[Line], ends: &[usize], policy: &Policy) -> usize {
        let mut number = 0;
        for line in lines {
            number = self.judge.send(line, policy);
        }
        let all = bytes(lines);
        let mut start = 0;
        for end in ends.iter().copied().chain([all.len()]) {
            if end > start {
                self.write(all[start..end].to_vec());
            }
            start = end;
        }
        number
    }

    fn write(&mut self, bytes: Vec<u8>) {
        let at = self.started.elapsed();
        if let Some(transcript) = &mut self.transcript {
            transcript.push((at, Side::Client, bytes.clone()));
        }
        self.server.write(bytes);
    }

    /// Waits until everything is answered that must be.
    fn await_answers(&mut self, sentinel: Option<usize>) -> Result<(), Violation> {
        let started = Instant::now();
        let mut deadline = started + self.patience.timeout;
        let end = started + self.patience.timeout * MAX_EXTENSION;
        let mut seen = (self.responses, self.server.taken().0);
        let mut is_sentinel_answered = false;
        while self.judge.first_missing().is_some() {
            if self.has_ended {
                return Err(Violation::Ended { how: self.end_text() });
            }
            let now = Instant::now();
            if now >= deadline.min(end) {
                return Err(self.missing(now - started, sentinel));
            }
            self.pump(deadline.min(now + POLL_INTERVAL))?;
            let progress = (self.responses, self.server.taken().0);
            if progress != seen && !is_sentinel_answered {
                seen = progress;
                deadline = Instant::now() + self.patience.timeout;
            }
            if !is_sentinel_answered && sentinel.is_some_and(|sentinel| self.judge.is_answered(sentinel)) {
                is_sentinel_answered = true;
                deadline = Instant::now() + self.patience.after_others;
            }
        }
        Ok(())
    }

    fn missing(&mut self, waited: Duration, sentinel: Option<usize>) -> Violation {
        let first = self.judge.first_missing().unwrap_or(0);
        let how = if sentinel.is_some_and(|sentinel| self.judge.is_answered(sentinel))
            || self.judge.is_answered_after(first)
        {
            Missing::OthersAnswered
        } else if self.server.taken().1 {
            Missing::Silence
        } else {
            Missing::NotReading
        };
        Violation::NeverAnswered { sent: first, waited, how }
    }

    /// Judges what comes within a time.
    fn watch(&mut self, time: Duration) -> Result<(), Violation> {
        let deadline = Instant::now() + time;
        while Instant::now() < deadline && !self.has_ended {
            self.pump(deadline)?;
        }
        if self.has_ended { Err(Violation::Ended { how: self.end_text() }) } else { Ok(()) }
    }

    /// Waits until the server takes no more, as if its output were full.
    fn wait_until_stalled(&self) {
        let end = Instant::now() + self.patience.timeout;
        let mut last = (self.server.taken().0, Instant::now());
        while Instant::now() < end && last.1.elapsed() < STALL_TIME {
            std::thread::sleep(POLL_INTERVAL / 5);
            let (taken, is_all) = self.server.taken();
            if is_all && last.1.elapsed() >= STALL_TIME / 3 {
                return;
            }
            if taken != last.0 {
                last = (taken, Instant::now());
            }
        }
    }

    /// Closes the server's input, judges what it still sends, and its exit.
    fn close(&mut self, policy: &Policy, settings: &mut Settings<'_>) -> Result<(), Violation> {
        self.server.close_input();
        let started = Instant::now();
        let deadline = started + self.patience.timeout;
        let is_exit_judged = policy.exit.is_some();
        let mut quiet_since = Instant::now();
        while !self.has_ended && Instant::now() < deadline {
            let was = self.responses;
            if self.pump(deadline.min(Instant::now() + POLL_INTERVAL))? || was != self.responses {
                quiet_since = Instant::now();
            }
            let is_quiet = quiet_since.elapsed() >= self.patience.grace;
            // Another process may hold the output open.
            let is_over = settings.never_exits && !is_exit_judged || self.server.has_exited();
            if is_quiet && is_over && self.judge.first_missing().is_none() {
                break;
            }
        }
        if self.has_ended && !self.partial.is_empty() {
            return Err(Violation::Unterminated { line: std::mem::take(&mut self.partial) });
        }
        let how = if self.has_ended { Missing::Ended } else { Missing::Silence };
        if let Some(violation) = self.judge.never_answered(started.elapsed(), how) {
            return Err(violation);
        }
        let status = self.server.wait(if is_exit_judged { deadline } else { Instant::now() });
        settings.never_exits |= status.is_none() && !self.has_ended;
        match policy.exit {
            None => Ok(()),
            Some(Exit::InTime) if status.is_none() => Err(Violation::StillRunning { waited: self.patience.timeout }),
            Some(Exit::Code) if status.is_some_and(|status| !status.success()) => {
                Err(Violation::ExitCode { how: self.end_text() })
            }
            Some(Exit::NothingLeft) if status.is_some() => {
                match self.server.leaves_processes(Instant::now() + self.patience.timeout) {
                    true => Err(Violation::ProcessesLeft),
                    false => Ok(()),
                }
            }
            Some(_) => Ok(()),
        }
    }

    /// Waits for memory to be given back.
    fn judge_memory(&mut self, before: u64, limit: u64) -> Result<(), Violation> {
        let deadline = Instant::now() + self.patience.timeout.min(Duration::from_secs(2));
        loop {
            let growth = self.server.memory().unwrap_or(0).saturating_sub(before);
            if growth <= limit {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Violation::Growth { bytes: growth });
            }
            self.pump(Instant::now() + POLL_INTERVAL)?;
        }
    }

    /// Reads once. Returns whether something came.
    fn pump(&mut self, deadline: Instant) -> Result<bool, Violation> {
        let bytes = match self.server.next(deadline) {
            Event::Bytes(bytes) => bytes,
            Event::Timeout => return Ok(false),
            Event::Ended => {
                self.has_ended = true;
                return Ok(false);
            }
        };
        let at = self.started.elapsed();
        if let Some(transcript) = &mut self.transcript {
            transcript.push((at, Side::Server, bytes.clone()));
        }
        let searched = self.partial.len();
        self.partial.extend(bytes);
        let Some(end) = memchr::memrchr(b'\n', &self.partial[searched..]) else { return Ok(true) };
        let rest = self.partial.split_off(searched + end + 1);
        let lines = std::mem::replace(&mut self.partial, rest);
        for line in lines[..lines.len() - 1].split(|byte| *byte == b'\n') {
            let line = if self.is_lenient { without_mark(line) } else { line };
            self.sends_headers |= self.is_lenient && framing::is_content_length(line);
            match self.judge.receive(line) {
                Ok(requests) => {
                    self.responses += u64::from(requests.is_empty());
                    for (id, method) in requests {
                        self.reply(&id, &method);
                    }
                }
                Err(_) if self.is_lenient => {}
                Err(violation) => return Err(violation),
            }
        }
        Ok(true)
    }

    /// Answers a request of the server. A client without capabilities knows only `ping`.
    fn reply(&mut self, id: &str, method: &str) {
        let content = match method {
            "ping" => r#""result":{}"#,
            _ => r#""error":{"code":-32601,"message":"method not found"}"#,
        };
        self.write(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{content}}}\n").into_bytes());
    }

    /// Why a server doesn't answer whose messages aren't lines.
    pub(super) fn framing_text(&self) -> String {
        match self.sends_headers {
            true => {
                format!(": it sends {}, and these tests need messages on a line of their own", framing::CONTENT_LENGTH)
            }
            false => String::new(),
        }
    }

    /// How the server ended.
    fn end_text(&mut self) -> String {
        let status: Option<ExitStatus> = self.server.wait(Instant::now() + Duration::from_secs(1));
        match status.map(|status| (status.code(), status)) {
            Some((Some(code), _)) => format!("the server exited with code {code}"),
            Some((None, status)) => format!("the server was killed ({status})"),
            None => "the server closed its output".to_owned(),
        }
    }
}

/// A line without the byte order mark that it may start with.
fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
}

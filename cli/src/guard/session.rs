//! A session from its start to its end: servers come and go, and the client gets its answers.

use std::fs::File;
use std::io::Read;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wireline::RpcError;

use super::downstream::Downstream;
use super::group::{self, Group};
use super::handshake::Repetition;
use super::incident::Incident;
use super::outlet::Outlet;
use super::recording::Recording;
use super::reporter::{Place, Reporter};
use super::state::{Shared, State};
use super::upstream::{READ_LEN, Upstream};
use super::{Args, CONNECTION_CLOSED, Link, REQUEST_TIMEOUT};
use crate::recording::Stream;
use crate::rules_args::Dialect;
use crate::session::Side;
use crate::tap::files::Files;
use crate::tap::log::Log;
use crate::tap::sys::{self, Target};
use crate::tap::{Failure, cannot, cannot_run};
use crate::units::Seconds;

/// How long the output of an exited server must be silent before the guard stops reading it.
const SILENCE: Duration = Duration::from_secs(1);

/// How often to look whether something is still going on.
const INTERVAL: Duration = Duration::from_millis(100);

/// How long a server that has closed its output may take to exit, until it counts as one that goes on without output.
const EXIT_TIME: Duration = Duration::from_millis(500);

/// How long a restarted server may take to answer the repeated handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(30);

const START_THREAD: &str = "start a thread";

/// Runs a session, and returns how its last server ended.
pub(super) fn run(args: &Args) -> Result<ExitStatus, Failure> {
    let files = Files::open(args.log.as_deref(), args.record.clone().map(Ok));
    let target = group::forward_signals().map_err(cannot("catch signals"))?;
    let (server, to_server) = Server::start(args, &target)?;
    let (stdin, stdout) = sys::take_stdio().map_err(cannot("take over standard input and output"))?;
    let log = Log::start(files.log).map_err(cannot(START_THREAD))?;
    let (recording, recorder) = Recording::start(files.recording).map_err(cannot(START_THREAD))?;
    let hang_up = stdout.try_clone().map_err(cannot("take over standard output"))?;
    let rules = args.rules.rules();
    let link = Arc::new(Link {
        rules,
        answers: rules.max_line_len(usize::MAX).max_depth(usize::MAX),
        protocols: args.rules.protocols(),
        has_timeout: !args.timeout.is_zero(),
        can_restart: args.restart > 0,
        records_stderr: !args.no_stderr,
        drops_copies: args.rules.dialect() != Dialect::JsonRpc,
        shared: Shared::new(),
        reporter: Reporter::new(log, args.quiet, args.show),
        recording,
        to_client: Outlet::new(stdout),
        to_server: Outlet::new(to_server),
    });
    let session = Session { args, target, stdin: Arc::new(stdin), is_busy: Arc::new(AtomicBool::new(true)), link };
    session.start_threads(hang_up).map_err(cannot(START_THREAD))?;
    let status = session.serve(server);
    if let Ok(status) = status {
        session.link.recording.end(status);
        if let Some(recorder) = recorder {
            // Fails if it has panicked, which has been printed.
            let _ = recorder.join();
        }
    }
    let outcome = status
        .as_ref()
        .ok()
        .map(|status| describe(*status))
        .filter(|_| status.as_ref().is_ok_and(|status| !status.success()));
    session.link.reporter.close(outcome.map(|outcome| format!("the server {outcome}")).as_deref());
    status
}

struct Session<'a> {
    args: &'a Args,
    target: Target,
    stdin: Arc<File>,
    /// Whether the upstream relay has something to do.
    is_busy: Arc<AtomicBool>,
    link: Arc<Link>,
}

/// A server that has been started.
struct Server {
    group: Group,
    child: std::process::Child,
}

impl Server {
    /// Starts a server. Returns the pipe to its standard input as well.
    fn start(args: &Args, target: &Target) -> Result<(Self, File), Failure> {
        let group = Group::start(target).map_err(cannot("watch over the server"))?;
        let mut child = group.spawn(&args.command).map_err(|error| cannot_run(&args.command, &error))?;
        let Some(to_server) = child.stdin.take() else { return Err(no_pipes()) };
        Ok((Self { group, child }, sys::enlarged(to_server)))
    }

    /// Starts the threads that read from the server and wait for its exit.
    fn run(mut self, link: &Arc<Link>, number: u32) -> Result<Group, Failure> {
        let (Some(output), Some(mut stderr)) = (self.child.stdout.take(), self.child.stderr.take()) else {
            return Err(no_pipes());
        };
        let output = sys::enlarged(output);
        let downstream = Downstream::new(Arc::clone(link), number);
        spawn(move || downstream.run(&output))?;
        let reporting = Arc::clone(link);
        spawn(move || {
            let mut bytes = vec![0; READ_LEN];
            // An error can't be handled: the server may still print, but its output can't be read.
            while let Ok(len @ 1..) = stderr.read(&mut bytes) {
                if reporting.records_stderr {
                    reporting.recording.bytes(Stream::Stderr, &bytes[..len]);
                }
                reporting.reporter.server_stderr(&bytes[..len]);
            }
            reporting.update_server(number, |state| state.server.stderr_has_ended = true);
        })?;
        let (waiting, mut child) = (Arc::clone(link), self.child);
        spawn(move || {
            // Only fails if the child has been waited for already.
            if let Ok(status) = child.wait() {
                waiting.update_server(number, |state| state.server.status = Some(status));
            }
        })?;
        Ok(self.group)
    }
}

impl Link {
    fn update_server(&self, number: u32, change: impl FnOnce(&mut State)) {
        self.shared.update(|state| {
            if state.server.number == number {
                change(state);
            }
        });
    }

    /// Answers requests of the client with an error.
    fn fail(&self, ids: &[wireline::Id<'static>], incident: Incident, error: &RpcError) {
        for id in ids {
            self.reporter.note(incident, Place { from: Side::Client, line: None, fault: None });
            self.to_client.queue(&self.error_line(id, error));
        }
    }
}

impl Session<'_> {
    fn start_threads(&self, hang_up: File) -> std::io::Result<()> {
        let link = || Arc::clone(&self.link);
        let (upstream, stdin, is_busy) = (Upstream::new(link()), Arc::clone(&self.stdin), Arc::clone(&self.is_busy));
        let (client, server, reader, timer) = (link(), link(), link(), link());
        let timeout = self.args.timeout;
        let builder = thread::Builder::new;
        builder().spawn(move || upstream.run(&stdin, &is_busy))?;
        builder().spawn(move || client.to_client.run(|| client.shared.update(|state| state.client.is_gone = true)))?;
        builder().spawn(move || server.to_server.run(|| ()))?;
        builder().spawn(move || {
            sys::wait_for_hang_up(&hang_up);
            reader.shared.update(|state| state.client.is_gone = true);
        })?;
        if self.link.has_timeout {
            builder().spawn(move || answer_overdue(&timer, timeout))?;
        }
        Ok(())
    }

    /// Runs servers until the session is over.
    fn serve(&self, server: Server) -> Result<ExitStatus, Failure> {
        let shared = &self.link.shared;
        let mut restarts = self.args.restart;
        let mut group = server.run(&self.link, 0)?;
        loop {
            shared.wait(None, |state| state.server.is_over() || state.client.has_ended || state.client.is_gone);
            let had_time = self.end_of_client();
            let can_restart = self.is_worth_a_restart(restarts);
            let status = self.end_of_server(group, can_restart, had_time);
            if !can_restart {
                self.end_of_session();
                return status.ok_or_else(|| Failure { code: 125, message: "the server doesn't exit".to_owned() });
            }
            restarts -= 1;
            let how = status.map(describe).unwrap_or_else(|| "closed its output".to_owned());
            self.link.reporter.event(&format!("the server {how}; starting it again ({restarts} more)"));
            group = match self.restart() {
                Ok(group) => group,
                Err(failure) => {
                    let error = RpcError::new(CONNECTION_CLOSED, "the server could not be started again");
                    let ids = shared.update(|state| state.refuse_requests(error.clone()));
                    self.link.fail(&ids, Incident::Unanswered, &error);
                    self.link.to_server.close();
                    self.end_of_session();
                    return Err(failure);
                }
            };
        }
    }

    /// At the end of the client's input, waits until the server has answered what is in flight, and closes its input.
    /// Does nothing if the server has ended before. Returns whether the server has had its time to exit.
    fn end_of_client(&self) -> bool {
        let (shared, grace) = (&self.link.shared, self.args.grace);
        if shared.lock().server.is_over() {
            return false;
        }
        let deadline = Instant::now() + grace;
        shared.wait(Some(deadline), |state| {
            let is_answered = state.client.has_ended && state.ledger(Side::Client).waiting() == 0;
            is_answered || state.client.is_gone || state.server.is_over()
        });
        // What a client sent before it went still reaches the server.
        shared.wait(Some(deadline), |state| state.client.has_ended || state.server.is_over());
        while !self.link.to_server.is_flushed() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        if shared.lock().server.is_over() {
            return false;
        }
        self.link.to_server.close();
        let has_exited = shared.wait(Some(Instant::now() + grace), |state| state.server.status.is_some());
        if !has_exited {
            let grace = Seconds(grace);
            self.link
                .reporter
                .event(&format!("the server has not exited {grace} after its input was closed: ending it"));
        }
        !has_exited
    }

    fn is_worth_a_restart(&self, restarts: u32) -> bool {
        let state = self.link.shared.lock();
        restarts > 0 && !state.client.has_ended && !state.client.is_gone && !self.target.is_stop_requested()
    }

    /// Waits for the last answers of a server, ends its processes, and answers what it has left unanswered. Returns its
    /// exit status if it has exited, as it always does.
    fn end_of_server(&self, group: Group, can_restart: bool, had_time: bool) -> Option<ExitStatus> {
        let (link, shared) = (&self.link, &self.link.shared);
        if !had_time {
            shared.wait(Some(Instant::now() + EXIT_TIME), |state| state.server.status.is_some());
        }
        let how = |state: &State| match state.server.status {
            Some(status) => format!("the server {} before it answered", describe(status)),
            None if state.server.output_has_ended => "the server closed its output before it answered".to_owned(),
            None => "the server was ended before it answered".to_owned(),
        };
        if shared.lock().server.status.is_some() {
            self.drain();
        }
        if can_restart {
            // From now on, requests wait for the next server.
            link.to_server.hold();
        }
        let (ids, error) = shared.update(|state| {
            let error = RpcError::new(CONNECTION_CLOSED, how(state));
            // Under one lock, so that every request is either among these or meets what follows.
            let ids = match can_restart {
                true => {
                    link.recording.next_server(state.server.status);
                    state.expect_next_server()
                }
                false => state.refuse_requests(error.clone()),
            };
            (ids, error)
        });
        link.fail(&ids, Incident::Unanswered, &error);
        if !can_restart {
            link.to_server.close();
        }
        // A server without output has time to exit by itself, now that its input has ended.
        if !had_time {
            shared.wait(Some(Instant::now() + self.args.grace), |state| state.server.status.is_some());
        }
        drop(group);
        let until = Some(Instant::now() + SILENCE);
        shared.wait(until, |state| {
            let server = &state.server;
            server.status.is_some() && server.output_has_ended && server.stderr_has_ended
        });
        shared.lock().server.status
    }

    /// Waits until the output that an exited server left in its pipe has been relayed. A process that the server has
    /// started may hold it open for ever.
    fn drain(&self) {
        let shared = &self.link.shared;
        let (mut last, mut idle) = (None, Duration::ZERO);
        while !shared.wait(Some(Instant::now() + INTERVAL), |state| state.server.output_has_ended) {
            let activity = self.link.to_client.activity();
            idle = if last == Some(activity) { idle + INTERVAL } else { Duration::ZERO };
            last = Some(activity);
            if idle >= SILENCE && !(activity.is_writing && self.waits_for_client()) {
                return;
            }
        }
    }

    /// Whether the client still has to read what it was sent. It may have gone, or only wait for the end.
    fn waits_for_client(&self) -> bool {
        let state = self.link.shared.lock();
        !state.client.is_gone && !state.client.has_ended && !self.target.is_stop_requested()
    }

    /// Starts another server, and repeats the client's handshake.
    fn restart(&self) -> Result<Group, Failure> {
        let (link, shared) = (&self.link, &self.link.shared);
        let (server, to_server) = Server::start(self.args, &self.target)?;
        let to_server = Arc::new(to_server);
        let (number, request) = shared.update(|state| (state.next_server(), state.handshake.repeat()));
        let group = server.run(link, number)?;
        if let Some(request) = request {
            link.recording.bytes(Side::Client, &request);
            // The handshake fits into the pipe. If the server is dead already, that will be noticed.
            let _ = std::io::Write::write_all(&mut &*to_server, &request);
            let deadline = Some(Instant::now() + HANDSHAKE_TIME);
            shared
                .wait(deadline, |state| state.server.is_over() || state.handshake.repetition() != Repetition::Waiting);
            let state = shared.lock();
            if state.handshake.repetition() != Repetition::Agreed && !state.server.is_over() {
                drop(state);
                let message = "the server that was started again does not accept the client's handshake".to_owned();
                return Err(Failure { code: 125, message });
            }
            link.recording.bytes(Side::Client, state.handshake.conclusion());
            let _ = std::io::Write::write_all(&mut &*to_server, state.handshake.conclusion());
        }
        link.to_server.open(to_server, number);
        Ok(group)
    }

    /// Waits until the client has got its last answers.
    fn end_of_session(&self) {
        let link = &self.link;
        // What the client had sent before it could know gets an answer too.
        let deadline = Instant::now() + SILENCE;
        while Instant::now() < deadline && (self.is_busy.load(Ordering::SeqCst) || sys::has_input(&self.stdin)) {
            if link.shared.lock().client.has_ended {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let (mut last, mut idle) = (link.to_client.activity(), Duration::ZERO);
        while !link.to_client.is_flushed() && !link.shared.lock().client.is_gone {
            thread::sleep(Duration::from_millis(1));
            let activity = link.to_client.activity();
            idle = if activity == last { idle + Duration::from_millis(1) } else { Duration::ZERO };
            last = activity;
            if idle >= SILENCE && !self.waits_for_client() {
                return;
            }
        }
    }
}

/// Answers requests that have waited for too long, for ever.
fn answer_overdue(link: &Link, timeout: Duration) {
    let error = RpcError::new(REQUEST_TIMEOUT, format!("the server did not answer within {}", Seconds(timeout)));
    loop {
        let now = Instant::now();
        let (overdue, next) = link.shared.lock().ledger(Side::Client).take_overdue(now, timeout);
        link.fail(&overdue, Incident::TimedOut, &error);
        if !overdue.is_empty() {
            link.shared.notify();
        }
        // A request that is sent later is overdue later.
        thread::sleep(next.unwrap_or(now + timeout).saturating_duration_since(Instant::now()));
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    thread::Builder::new().spawn(work).map(drop).map_err(cannot(START_THREAD))
}

fn no_pipes() -> Failure {
    Failure { code: 125, message: "the server has no pipes".to_owned() }
}

/// How a server has ended, as in "the server exited with code 1".
fn describe(status: ExitStatus) -> String {
    match (status.code(), sys::signal(status)) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "exited".to_owned(),
    }
}

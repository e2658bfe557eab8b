//! `wireline tap`: relays between a client and the server that it runs, and logs what passes.
//!
//! ```text
//!            read               write
//!   client ────────→ relay ──────────→ server
//!          ←──────── relay ←──────────
//!                    │ │ events, in order
//!                    watcher: decoders, session, recorder
//!                      │ text
//!                    log: standard error or a file
//! ```
//!
//! A relay reads, sends an event to the watcher, and writes. It waits only for its two peers, and for the watcher if that
//! is [`MAX_EVENTS`] behind. The log has a thread of its own, because its reader may be slow or absent.

mod args;
pub(crate) mod files;
pub(crate) mod log;
mod names;
pub(crate) mod recorder;
mod relay;
mod server_stderr;
#[cfg(target_os = "linux")]
mod splice;
pub(crate) mod sys;
mod watcher;

use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal};
use std::path::Path;
use std::process::{Child, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use args::Args;
pub(crate) use recorder::Recorder;

use crate::output::report_error;
use crate::session::Side;
use crate::{recordings, spawn};
use files::{Files, LogFile};
use log::Log;
use relay::{Activity, ActivityMonitor, Event, Relay};
use server_stderr::StderrRelay;
use sys::{Signals, Target};
use watcher::Watcher;

/// How many events may be queued for the watcher before the relays wait.
const MAX_EVENTS: usize = 512;

/// How long an exited server's standard output must be silent before the tap stops reading it. A process that the server
/// started may hold it open for ever.
const SILENCE: Duration = Duration::from_secs(1);

/// The exit codes of `env`, `timeout` and other commands that run commands.
pub(crate) const EXIT_TAP_FAILED: u8 = 125;
const EXIT_CANNOT_RUN: u8 = 126;
const EXIT_NOT_FOUND: u8 = 127;

/// Runs the command, and exits as it does.
pub(crate) fn run(args: &Args) -> ExitCode {
    match tap(args) {
        Ok(status) => sys::exit_like(status),
        Err(Failure { code, message }) => {
            report_error(&message);
            ExitCode::from(code)
        }
    }
}

/// Why there was no session.
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
}

/// Makes a failure of an error: "cannot DO THIS: ERROR".
pub(crate) fn cannot(action: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |error| Failure { code: EXIT_TAP_FAILED, message: format!("cannot {action}: {error}") }
}

fn tap(args: &Args) -> Result<ExitStatus, Failure> {
    let signals = Signals::catch().map_err(cannot("catch signals"))?;
    let mut child = start_server(args)?;
    let target = signals.forward_to(&child);
    // After the server has started: opening a named pipe takes as long as its reader does.
    let status = relay_session(args, &mut child, target, open_files(args));
    if status.is_err() {
        // Nobody else would end it.
        let _ = child.kill().and_then(|()| child.wait());
    }
    status
}

fn open_files(args: &Args) -> Files {
    let recording = args.record.as_ref().map(|path| match (path, args.command.first()) {
        (Some(path), _) => Ok(path.clone()),
        (None, program) => recordings::new_name(program.map_or(Path::new(""), Path::new)),
    });
    let files = Files::open(args.log.as_deref(), recording);
    if let (Some(None), Some(_)) = (&args.record, &files.recording) {
        // The new one counts, and is never removed while it is being written.
        recordings::rotate(args.keep.max(1), args.keep_size);
    }
    files
}

fn start_server(args: &Args) -> Result<Child, Failure> {
    // A server may look whether its standard error is a terminal, so that is left to it.
    let is_recorded = args.record.is_some() && !args.no_stderr && !io::stderr().is_terminal();
    let spawned = spawn::start_with(&args.command, &|command| {
        if is_recorded {
            command.stderr(Stdio::piped());
        }
    });
    spawned.map_err(|error| cannot_run(&args.command, &error))
}

/// Makes a failure of the error with which a server could not be started.
pub(crate) fn cannot_run(command: &[OsString], error: &io::Error) -> Failure {
    let code = if error.kind() == ErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_CANNOT_RUN };
    Failure { code, message: spawn::cannot_run(command, error) }
}

/// Relays between the server and its client until the server has exited.
fn relay_session(args: &Args, child: &mut Child, target: Target, files: Files) -> Result<ExitStatus, Failure> {
    const START_THREAD: &str = "start a thread";
    let (stdin, stdout) = sys::take_stdio().map_err(cannot("take over standard input and output"))?;
    let (Some(to_server), Some(from_server)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Failure { code: EXIT_TAP_FAILED, message: "the server has no pipes".to_owned() });
    };
    let (to_server, from_server) = (sys::enlarged(to_server), sys::enlarged(from_server));
    let (events, event_receiver) = sync_channel(MAX_EVENTS);
    let (has_log, is_log_on_stderr) =
        (!matches!(files.log, LogFile::Missing), matches!(files.log, LogFile::Stderr | LogFile::Missing));
    let log = Log::start(files.log).map_err(cannot(START_THREAD))?;
    // Both go to one queue if they go to one stream, so that their lines stay in order.
    let stderr = match is_log_on_stderr {
        true => log.clone(),
        false => Log::start(LogFile::Stderr).map_err(cannot(START_THREAD))?,
    };
    let mut watcher = Watcher::new(args, Instant::now(), log, has_log, files.recording);
    let watching = thread::Builder::new().spawn(move || {
        watcher.run(&event_receiver);
        watcher
    });
    let watching = watching.map_err(cannot(START_THREAD))?;

    let upstream = Relay::new(Side::Client, stdin, to_server, events.clone());
    let downstream = Relay::new(Side::Server, from_server, stdout, events.clone());
    let monitor = downstream.monitor();
    thread::Builder::new().spawn(move || upstream.run()).map_err(cannot(START_THREAD))?;
    let is_done = start(move || downstream.run()).map_err(cannot(START_THREAD))?;
    let stderr_relay = child.stderr.take().map(|input| {
        let (input, output, events) = (sys::enlarged(input), stderr.clone(), events.clone());
        let relay = StderrRelay { input, output, events, monitor: ActivityMonitor::new() };
        let monitor = relay.monitor.clone();
        start(move || relay.run()).map(|is_done| (is_done, monitor))
    });
    let stderr_relay = stderr_relay.transpose().map_err(cannot(START_THREAD))?;

    let status = sys::wait(child, &target).map_err(cannot("wait for the server"))?;
    drain(&is_done, &monitor, &target);
    if let Some((is_done, monitor)) = stderr_relay {
        drain(&is_done, &monitor, &target);
    }
    // The upstream relay may still be reading from the client. It ends with the process.
    let _ = events.send(Event::session_over());
    if let Ok(watcher) = watching.join() {
        watcher.finish(status);
    }
    if !is_log_on_stderr {
        stderr.close("");
    }
    Ok(status)
}

/// Starts a thread, and returns what receives a message at its end.
fn start(work: impl FnOnce() + Send + 'static) -> io::Result<Receiver<()>> {
    let (done, is_done) = sync_channel(1);
    thread::Builder::new().spawn(move || {
        work();
        // Fails if nobody waits any longer.
        let _ = done.send(());
    })?;
    Ok(is_done)
}

/// Waits until the output that an exited server left in its pipe has been relayed.
fn drain(is_done: &Receiver<()>, monitor: &ActivityMonitor, target: &Target) {
    const CHECKS: u32 = 10;
    // Counts checks instead of looking at the clock, which goes on while this process is stopped. Silence before the
    // server exited does not count, because its last output may still be in the pipe.
    let (mut last, mut idle_checks) = (monitor.get(), 0);
    while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(SILENCE / CHECKS) {
        let now = monitor.get();
        idle_checks = if now == last { idle_checks + 1 } else { 0 };
        last = now;
        let may_stop = match now.0 {
            Activity::Reading => true,
            // A client that wants the session to end may not read any more.
            Activity::Writing => target.is_stop_requested(),
            Activity::Reporting => false,
        };
        if may_stop && idle_checks >= CHECKS {
            return;
        }
    }
}

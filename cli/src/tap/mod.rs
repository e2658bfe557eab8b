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
mod files;
mod log;
pub(crate) mod recorder;
mod relay;
#[cfg(target_os = "linux")]
mod splice;
mod sys;
mod watcher;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Child, ExitCode, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use args::Args;

use crate::output::report_error;
use crate::session::Side;
use crate::spawn;
use crate::terminal::escape;
use log::Log;
use relay::{Activity, ActivityMonitor, Event, Relay};
use sys::{Signals, Target};
use watcher::Watcher;

/// How many events may be queued for the watcher before the relays wait.
const MAX_EVENTS: usize = 512;

/// How long an exited server's standard output must be silent before the tap stops reading it. A process that the server
/// started may hold it open for ever.
const SILENCE: Duration = Duration::from_secs(1);

/// The exit codes of `env`, `timeout` and other commands that run commands.
const EXIT_TAP_FAILED: u8 = 125;
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
struct Failure {
    code: u8,
    message: String,
}

/// Makes a failure of an error: "cannot DO THIS: ERROR".
fn cannot(action: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |error| Failure { code: EXIT_TAP_FAILED, message: format!("cannot {action}: {error}") }
}

fn tap(args: &Args) -> Result<ExitStatus, Failure> {
    let (log, recording) = open_files(args)?;
    let signals = Signals::catch().map_err(cannot("catch signals"))?;
    let mut child = start_server(args)?;
    let target = signals.forward_to(&child);
    let status = relay_session(args, &mut child, target, log, recording);
    if status.is_err() {
        // Nobody else would end it.
        let _ = child.kill().and_then(|()| child.wait());
    }
    status
}

fn open_files(args: &Args) -> Result<(Option<File>, Option<File>), Failure> {
    let open = |path: &Option<_>, open: fn(&Path) -> io::Result<File>, action: &str| {
        let Some(path) = path.as_deref() else { return Ok(None) };
        open(path).map(Some).map_err(cannot(&format!("{action} {}", escaped_path(path))))
    };
    let log = open(&args.log, files::open_log, "open the log")?;
    let recording = open(&args.record, files::open_recording, "record to")?;
    if let (Some(log), Some(recording), Some(path)) = (&log, &recording, &args.record) {
        files::ensure_distinct(log, recording).map_err(cannot(&format!("record to {}", escaped_path(path))))?;
    }
    Ok((log, recording))
}

fn escaped_path(path: &Path) -> String {
    escape(path.as_os_str().as_encoded_bytes())
}

fn start_server(args: &Args) -> Result<Child, Failure> {
    spawn::start(&args.command).map_err(|error| {
        let code = if error.kind() == ErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_CANNOT_RUN };
        Failure { code, message: spawn::cannot_run(&args.command, &error) }
    })
}

/// Relays between the server and its client until the server has exited.
fn relay_session(
    args: &Args,
    child: &mut Child,
    target: Target,
    log: Option<File>,
    recording: Option<File>,
) -> Result<ExitStatus, Failure> {
    const START_THREAD: &str = "start a thread";
    let (stdin, stdout) = sys::take_stdio().map_err(cannot("take over standard input and output"))?;
    let (Some(to_server), Some(from_server)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Failure { code: EXIT_TAP_FAILED, message: "the server has no pipes".to_owned() });
    };
    let (to_server, from_server) = (sys::enlarged(to_server), sys::enlarged(from_server));
    let (events, event_receiver) = sync_channel(MAX_EVENTS);
    let log = Log::start(log, args.log.as_deref().map(escaped_path)).map_err(cannot(START_THREAD))?;
    let mut watcher = Watcher::new(args, Instant::now(), log, recording);
    let watching = thread::Builder::new().spawn(move || {
        watcher.run(&event_receiver);
        watcher
    });
    let watching = watching.map_err(cannot(START_THREAD))?;

    let upstream = Relay::new(Side::Client, stdin, to_server, events.clone());
    let downstream = Relay::new(Side::Server, from_server, stdout, events.clone());
    let monitor = downstream.monitor();
    thread::Builder::new().spawn(move || upstream.run()).map_err(cannot(START_THREAD))?;
    let (done, is_done) = sync_channel(1);
    let relaying = thread::Builder::new().spawn(move || {
        downstream.run();
        // Fails if nobody waits any longer.
        let _ = done.send(());
    });
    relaying.map_err(cannot(START_THREAD))?;

    let status = sys::wait(child, &target).map_err(cannot("wait for the server"))?;
    drain(&is_done, &monitor, &target);
    // The upstream relay may still be reading from the client. It ends with the process.
    let _ = events.send(Event::session_over());
    if let Ok(watcher) = watching.join() {
        watcher.finish(status);
    }
    Ok(status)
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

//! `wireline tap`: stands between a client and the server that it started, and tells what passes.
//!
//! ```text
//!            read               write
//!   client ────────→ relay ──────────→ server
//!          ←──────── relay ←──────────
//!                    │ │ what passed, in the order in which it did
//!                    watcher: decoders, session, recording
//!                      │ text
//!                    log: standard error or a file
//! ```
//!
//! The relays read, tell the watcher what they have read, and write it. They wait for nobody but the two peers; or for the
//! watcher, if it is behind by [`BEHIND`] reads. The log is written by a thread of its own, since nobody may be reading it.

mod log;
mod relay;
#[cfg(target_os = "linux")]
mod share;
mod signals;
mod watch;

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{WaitId, WaitIdOptions, waitid};
use rustix::stdio::{dup2_stdin, dup2_stdout};

use crate::args::Tap;
use crate::session::Side;
use log::Log;
use relay::{Passed, Progress, Relay, Step};
use signals::{Server, Signals};
use watch::Watcher;

/// By how many reads the watcher may be behind before the relays wait for it.
const BEHIND: usize = 512;

/// How long nothing must come from a server that has ended until it is believed. Something that it started may still have
/// its standard output, and never write to it.
const SILENCE: Duration = Duration::from_secs(1);

/// The exit codes of `timeout`, `env` and other commands that run commands.
const FAILED: u8 = 125;
const NOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs the command, and ends as it does.
pub(crate) fn run(args: &Tap) -> ExitCode {
    match tap(args) {
        Ok(status) => end_like(status),
        Err(Failure { code, what }) => {
            // If nobody hears it there is nothing left to be done.
            let _ = writeln!(io::stderr(), "wireline: {what}");
            ExitCode::from(code)
        }
    }
}

/// Why there is no session.
struct Failure {
    code: u8,
    what: String,
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |error| Failure { code: FAILED, what: format!("cannot {what}: {error}") }
}

fn tap(args: &Tap) -> Result<ExitStatus, Failure> {
    let log_file = args.log.as_deref().map(append).transpose().map_err(failed("write to the log"))?;
    let record_file = args.record.as_deref().map(recording).transpose().map_err(failed("write to the recording"))?;
    if let (Some(log), Some(record)) = (&log_file, &record_file) {
        refuse_one_for_both(log, record).map_err(failed("write to the recording"))?;
    }
    let signals = Signals::catch().map_err(failed("catch signals"))?;
    let mut child = spawn(args)?;
    let server = signals.forward_to(&child);
    let status = attend(args, &mut child, server, log_file, record_file);
    if status.is_err() {
        // Nobody would ever end it.
        let _ = child.kill().and_then(|()| child.wait());
    }
    status
}

/// Stands between the server and its client until the server has ended.
fn attend(
    args: &Tap,
    child: &mut Child,
    server: Server,
    log_file: Option<File>,
    record_file: Option<File>,
) -> Result<ExitStatus, Failure> {
    let (stdin, stdout) = claim_stdio().map_err(failed("use standard input and output"))?;
    let (Some(to_server), Some(from_server)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Failure { code: FAILED, what: "expected the server to have pipes".to_owned() });
    };
    let (to_server, from_server) = (enlarged(to_server), enlarged(from_server));
    let (passed, to_watch) = sync_channel(BEHIND);
    let log = Log::start(log_file).map_err(failed("start a thread"))?;
    let mut watcher = Watcher::new(args, Instant::now(), log, record_file);
    let watching = thread::Builder::new().spawn(move || {
        watcher.run(&to_watch);
        watcher
    });
    let watching = watching.map_err(failed("start a thread"))?;

    let upward = Relay::new(Side::Client, stdin, to_server, passed.clone());
    let downward = Relay::new(Side::Server, from_server, stdout, passed.clone());
    let progress = downward.progress();
    thread::Builder::new().spawn(move || upward.run()).map_err(failed("start a thread"))?;
    let (ended, has_ended) = sync_channel(1);
    let relaying = thread::Builder::new().spawn(move || {
        downward.run();
        // The other end may have stopped waiting.
        let _ = ended.send(());
    });
    relaying.map_err(failed("start a thread"))?;

    let status = wait(child, &server).map_err(failed("wait for the server"))?;
    drain(&has_ended, &progress, &server);
    // The relay of the client's bytes may be waiting for more, and is ended with the process.
    let _ = passed.send(Passed::finished());
    if let Ok(watcher) = watching.join() {
        watcher.finish(status);
    }
    Ok(status)
}

fn append(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

/// Opens a recording, which is no other tap's, and in which a line begins.
fn recording(path: &Path) -> io::Result<File> {
    // Of a pipe with a name the tap must not be the reader as well: then it would not learn that there is no other.
    let is_file = path.metadata().map_or(true, |metadata| metadata.is_file());
    let mut file = File::options().create(true).read(is_file).append(true).open(path)?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(io::Error::other("another tap is writing to it"));
    }
    if is_file && file.seek(SeekFrom::End(-1)).is_ok() {
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

fn refuse_one_for_both(log: &File, record: &File) -> io::Result<()> {
    let (log, record) = (log.metadata()?, record.metadata()?);
    match record.is_file() && (log.dev(), log.ino()) == (record.dev(), record.ino()) {
        true => Err(io::Error::other("it is the log as well")),
        false => Ok(()),
    }
}

fn spawn(args: &Tap) -> Result<Child, Failure> {
    let [program, arguments @ ..] = &args.command[..] else {
        return Err(Failure { code: FAILED, what: "expected a command".to_owned() });
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| {
        let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN };
        Failure { code, what: format!("cannot run {}: {error}", crate::excerpt::escape(program.as_encoded_bytes())) }
    })
}

/// Standard input and output, of which there is then no other copy in this process: to drop one is to close it.
fn claim_stdio() -> io::Result<(File, File)> {
    let claimed = (rustix::io::dup(io::stdin())?, rustix::io::dup(io::stdout())?);
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    Ok((enlarged(claimed.0), enlarged(claimed.1)))
}

/// How much a pipe is made to hold, if the system permits it: what does not fit costs two changes of threads. Not more, as a
/// user may have only so much of that.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PIPE: usize = 256 << 10;

/// A stream to read from or write to, made large if it is a pipe.
fn enlarged(stream: impl Into<OwnedFd>) -> File {
    let stream = stream.into();
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // Whoever made it larger may rely on that. And the system may not permit it: then it stays as it is.
        if rustix::pipe::fcntl_getpipe_size(&stream).is_ok_and(|size| size < PIPE) {
            let _ = rustix::pipe::fcntl_setpipe_size(&stream, PIPE);
        }
    }
    stream.into()
}

/// Waits until the server has ended, and sends it no signal after that: its number may be another process's by then.
fn wait(child: &mut Child, server: &Server) -> io::Result<ExitStatus> {
    let pid = rustix::process::Pid::from_child(child);
    while let Err(error) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
        if error != rustix::io::Errno::INTR {
            return Err(error.into());
        }
    }
    server.forget();
    child.wait()
}

/// Waits until all that an ended server has left in its pipe has been passed on.
fn drain(has_ended: &Receiver<()>, progress: &Progress, server: &Server) {
    // However long it was silent before: what it said last may still be in the pipe. And not by the clock, since all of this
    // process may have been stopped for a while.
    let (mut last, mut times) = (progress.get(), 0);
    while let Err(RecvTimeoutError::Timeout) = has_ended.recv_timeout(SILENCE / 10) {
        let now = progress.get();
        times = if now == last { times + 1 } else { 0 };
        last = now;
        let is_over = match now.0 {
            Step::Reads => true,
            // A client that wants it to end may wait for that, and read no more.
            Step::Writes => server.is_told_to_end(),
            Step::Tells => false,
        };
        if is_over && times >= 10 {
            return;
        }
    }
}

/// Ends as the server did, also by the same signal.
fn end_like(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        let limit = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        // The server has left a core already, if one is wanted.
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, limit);
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return ExitCode::from(128 + signal as u8);
    }
    ExitCode::from(status.code().map_or(FAILED, |code| code as u8))
}

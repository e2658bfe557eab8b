//! A server that runs: its process group, and a thread for each of its pipes.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read, Write};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::group::Group;
use super::script::Stderr;
use crate::input::read_retrying;
use crate::spawn;

const READ_LEN: usize = 64 << 10;

/// How many reads may be queued.
const MAX_QUEUED: usize = 64;

/// How long the server may take to read one write before the next one. Most servers take far less, except while they
/// start.
const SETTLE_TIME: Duration = Duration::from_millis(300);

/// The same once a server has exceeded that.
const SHORT_SETTLE_TIME: Duration = Duration::from_millis(5);

const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(super) struct Server {
    child: Child,
    group: Group,
    /// `None` once the input is closed.
    to_server: Option<Sender<Vec<u8>>>,
    from_server: Receiver<Vec<u8>>,
    progress: Arc<Progress>,
    gate: Arc<Gate>,
    queued: u64,
    stderr: Option<PipeReader>,
}

/// How much the server has taken.
#[derive(Default)]
struct Progress {
    bytes: AtomicU64,
}

/// Holds the thread that reads the server's output.
#[derive(Default)]
struct Gate {
    is_closed: Mutex<bool>,
    opened: Condvar,
}

/// What came while waiting.
pub(super) enum Event {
    Bytes(Vec<u8>),
    /// Nothing came in time.
    Timeout,
    /// The server has closed its output.
    Ended,
}

impl Server {
    pub(super) fn start(command: &[OsString], stderr: Stderr) -> io::Result<Self> {
        let pipe = match stderr {
            Stderr::Discarded => None,
            Stderr::Unread | Stderr::Closed => Some(io::pipe()?),
        };
        let start = || {
            spawn::start_with(command, &|command| {
                let writer = pipe.as_ref().and_then(|(_, writer)| writer.try_clone().ok());
                command.stderr(writer.map_or_else(Stdio::null, Stdio::from));
                // A group of its own, so that whatever it starts can be ended with it.
                #[cfg(unix)]
                std::os::unix::process::CommandExt::process_group(command, 0);
            })
        };
        let (mut child, group) = Group::start(start)?;
        let kept = pipe.map(|(reader, _)| reader);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (to_server, writes) = channel::<Vec<u8>>();
        let (reads, from_server) = sync_channel(MAX_QUEUED);
        let (progress, gate) = (Arc::new(Progress::default()), Arc::new(Gate::default()));
        let server = Self {
            child,
            group,
            to_server: Some(to_server),
            from_server,
            progress: Arc::clone(&progress),
            gate: Arc::clone(&gate),
            queued: 0,
            stderr: kept,
        };
        thread::Builder::new().spawn(move || write_all(stdin, &writes, &progress))?;
        thread::Builder::new().spawn(move || read_all(stdout, &reads, &gate))?;
        Ok(server)
    }

    /// Queues one write.
    pub(super) fn write(&mut self, bytes: Vec<u8>) {
        self.queued += bytes.len() as u64;
        if let Some(to_server) = &self.to_server {
            // Fails if the server has closed its input, which shows when answers are missing.
            let _ = to_server.send(bytes);
        }
    }

    /// Closes the input once everything is written.
    pub(super) fn close_input(&mut self) {
        self.to_server = None;
    }

    /// How many bytes the server has taken, and whether those are all.
    pub(super) fn taken(&self) -> (u64, bool) {
        let taken = self.progress.bytes.load(Ordering::Relaxed);
        (taken, taken >= self.queued)
    }

    pub(super) fn stop_reading(&self) {
        *self.gate.lock() = true;
    }

    pub(super) fn resume_reading(&self) {
        self.gate.open();
    }

    /// Lets the reader of stderr go away.
    pub(super) fn close_stderr(&mut self) {
        self.stderr = None;
    }

    /// What the server sends next. Waits until `deadline`.
    pub(super) fn next(&self, deadline: Instant) -> Event {
        match self.from_server.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(bytes) => Event::Bytes(bytes),
            Err(RecvTimeoutError::Timeout) => Event::Timeout,
            Err(RecvTimeoutError::Disconnected) => Event::Ended,
        }
    }

    pub(super) fn has_exited(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// The exit status, once the server has exited. Waits until `deadline`.
    pub(super) fn wait(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// The memory of all its processes in bytes, if the system tells.
    pub(super) fn memory(&self) -> Option<u64> {
        self.group.memory()
    }

    /// Whether processes are left that the server has started. Waits until `deadline` for their end.
    pub(super) fn leaves_processes(&self, deadline: Instant) -> bool {
        loop {
            if !self.group.has_members() {
                return false;
            }
            if Instant::now() >= deadline {
                return true;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// No process outlives the test.
impl Drop for Server {
    fn drop(&mut self) {
        self.gate.open();
        self.group.kill();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Gate {
    fn lock(&self) -> std::sync::MutexGuard<'_, bool> {
        self.is_closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) {
        *self.lock() = false;
        self.opened.notify_all();
    }

    fn wait(&self) {
        drop(self.opened.wait_while(self.lock(), |is_closed| *is_closed));
    }
}

fn write_all(mut stdin: ChildStdin, writes: &Receiver<Vec<u8>>, progress: &Progress) {
    let mut settle_time = SETTLE_TIME;
    for bytes in writes {
        // A write that the server reads together with the one before would not be a write of its own.
        settle_time = if settle(&stdin, settle_time) { SETTLE_TIME } else { SHORT_SETTLE_TIME };
        for part in bytes.chunks(READ_LEN) {
            if stdin.write_all(part).and_then(|()| stdin.flush()).is_err() {
                return;
            }
            progress.bytes.fetch_add(part.len() as u64, Ordering::Relaxed);
        }
    }
}

/// Waits until the server has read what is in the pipe. Returns whether it has.
#[cfg(unix)]
fn settle(stdin: &ChildStdin, time: Duration) -> bool {
    let deadline = Instant::now() + time;
    while rustix::io::ioctl_fionread(stdin).is_ok_and(|len| len > 0) {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(Duration::from_micros(20));
    }
    true
}

#[cfg(not(unix))]
fn settle(_: &ChildStdin, _: Duration) -> bool {
    thread::sleep(SHORT_SETTLE_TIME / 5);
    true
}

fn read_all(mut stdout: impl Read, reads: &SyncSender<Vec<u8>>, gate: &Gate) {
    let mut buffer = vec![0; READ_LEN];
    // A read error ends the stream like its end does.
    while let Ok(len @ 1..) = read_retrying(&mut stdout, &mut buffer) {
        if reads.send(buffer[..len].to_vec()).is_err() {
            return;
        }
        gate.wait();
    }
}

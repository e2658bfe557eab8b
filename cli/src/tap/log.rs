//! The log: standard error or a file, written by a thread of its own because the reader may be slow or absent.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::files::LogFile;
use super::relay::retry;
use super::sys::{self, Ready};
use crate::output::report_error;
use crate::terminal::{Width, wrap_message};
use crate::units::counted;

/// How much text may be queued.
const MAX_QUEUED: usize = 1 << 20;

/// How much to write at once: to a file, and to a reader that may be slow, whose progress then shows after each write.
const FILE_WRITE_LEN: usize = 64 << 10;
const STREAM_WRITE_LEN: usize = 4 << 10;

/// How long to wait for a reader that takes nothing: during the session, and at its end.
const STALL_TIMEOUT: Duration = Duration::from_millis(100);
const FINAL_STALL_TIMEOUT: Duration = Duration::from_secs(1);

/// How long to wait at the end of the session for a reader that takes something.
const FINAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Clones write to the same log.
#[derive(Clone)]
pub(crate) struct Log {
    shared: Arc<Shared>,
    /// Whether it is a regular file, which is always waited for.
    is_file: bool,
    pub(crate) is_terminal: bool,
    pub(crate) width: Width,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// The width that messages are wrapped to: the terminal's, or unlimited.
    message_columns: usize,
}

struct State {
    queued: Vec<u8>,
    dropped_lines: u64,
    /// When something was last written.
    last_progress: Instant,
    is_closed: bool,
    /// Whether everything has been written, or writing has failed.
    is_done: bool,
}

impl Log {
    /// Starts a log. If its file is missing, only messages about the tap itself should be written to it.
    pub(crate) fn start(file: LogFile) -> io::Result<Self> {
        let (output, name) = match file {
            LogFile::File(log) => (log.file, Some(log.name)),
            LogFile::Stderr | LogFile::Missing => (sys::stderr()?, None),
        };
        let (is_terminal, width) = (output.is_terminal(), Width::of(&output));
        let log = Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    queued: Vec::new(),
                    dropped_lines: 0,
                    last_progress: Instant::now(),
                    is_closed: false,
                    is_done: false,
                }),
                changed: Condvar::new(),
                message_columns: width.limit(),
            }),
            is_file: output.metadata().is_ok_and(|metadata| metadata.is_file()),
            is_terminal,
            width,
        };
        let shared = Arc::clone(&log.shared);
        let write_len = if log.is_file { FILE_WRITE_LEN } else { STREAM_WRITE_LEN };
        thread::Builder::new().spawn(move || {
            if let (Err(error), Some(name)) = (shared.write_to(output, write_len), name) {
                report_error(&format!("cannot write to the log {name}: {error}; the session goes on without a log"));
            }
        })?;
        Ok(log)
    }

    /// Queues whole lines, and clears `text`.
    pub(crate) fn write(&self, text: &mut String) {
        self.write_bytes(text.as_bytes());
        text.clear();
    }

    /// Queues bytes. While the queue is full, waits for a file, and for a stream as long as its reader takes something.
    pub(crate) fn write_bytes(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let is_full = |state: &State| !state.is_done && state.queued.len() + bytes.len() > MAX_QUEUED;
        let mut state = self.shared.lock();
        while is_full(&state) && (self.is_file || state.last_progress.elapsed() < STALL_TIMEOUT) {
            state = self.shared.wait(state);
        }
        if is_full(&state) {
            state.dropped_lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        } else if !state.is_done {
            state.push(bytes, self.shared.message_columns);
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Queues a message about the tap itself.
    pub(crate) fn write_message(&self, message: &str) {
        self.write(&mut (wrap_message(&format!("wireline: {message}"), self.shared.message_columns) + "\n"));
    }

    /// Queues the last lines, even if the queue is full, and waits until all is written or the reader has stalled.
    pub(crate) fn close(self, text: &str) {
        let mut state = self.shared.lock();
        state.push(text.as_bytes(), self.shared.message_columns);
        state.is_closed = true;
        let closed = Instant::now();
        state.last_progress = closed;
        self.shared.changed.notify_all();
        let is_reader_alive = |last: Instant| last.elapsed() < FINAL_STALL_TIMEOUT && closed.elapsed() < FINAL_TIMEOUT;
        while !state.is_done && (self.is_file || is_reader_alive(state.last_progress)) {
            state = self.shared.wait(state);
        }
    }
}

impl State {
    fn push(&mut self, bytes: &[u8], message_columns: usize) {
        if self.dropped_lines > 0 {
            let lines = counted(self.dropped_lines, "log line", "log lines");
            let note = format!("wireline: dropped {lines}: the reader is too slow; --log FILE keeps every line");
            self.queued.extend_from_slice(wrap_message(&note, message_columns).as_bytes());
            self.queued.push(b'\n');
            self.dropped_lines = 0;
        }
        self.queued.extend_from_slice(bytes);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change, at most [`STALL_TIMEOUT`].
    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, STALL_TIMEOUT).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Writes queued text until the log is closed or writing fails.
    fn write_to(&self, mut output: File, write_len: usize) -> io::Result<()> {
        let mut text = Vec::new();
        let mut written = Ok(());
        while written.is_ok() {
            let state = self.lock();
            let mut state = self
                .changed
                .wait_while(state, |state| state.queued.is_empty() && !state.is_closed)
                .unwrap_or_else(PoisonError::into_inner);
            if state.queued.is_empty() {
                break;
            }
            std::mem::swap(&mut state.queued, &mut text);
            state.last_progress = Instant::now();
            drop(state);
            self.changed.notify_all();
            written = self.write_all(&mut output, &text, write_len);
            text.clear();
        }
        let mut state = self.lock();
        state.is_done = true;
        state.queued = Vec::new();
        drop(state);
        self.changed.notify_all();
        written
    }

    /// Writes all of `text`, and notes the progress after each write.
    fn write_all(&self, output: &mut File, mut text: &[u8], write_len: usize) -> io::Result<()> {
        while !text.is_empty() {
            let len =
                retry(output, Ready::Output, |output| sys::write_text(output, &text[..text.len().min(write_len)]))?;
            text = &text[len..];
            self.lock().last_progress = Instant::now();
        }
        Ok(())
    }
}

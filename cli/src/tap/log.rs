//! Where the text goes: written by a thread of its own, since nobody may be reading it.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::relay::retry;
use crate::terminal::columns;

/// How much text may wait.
const FULL: usize = 1 << 20;

/// How much is written at once: to a file, and to what may be read slowly, where each piece shows that it is.
const PIECE: usize = 64 << 10;
const SMALL_PIECE: usize = 4 << 10;

/// How long nothing may be taken of what is written until it is not waited for any more: while there is a session, and at
/// the end of it.
const PATIENCE: Duration = Duration::from_millis(100);
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// How long whoever reads slowly is waited for at the end of a session.
const LONGEST: Duration = Duration::from_secs(10);

pub(crate) struct Log {
    shared: Arc<Shared>,
    /// A file takes everything, if not at once.
    is_file: bool,
    pub(crate) is_terminal: bool,
    pub(crate) columns: usize,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: String,
    left_out: u64,
    /// When something was last taken.
    taken: Instant,
    is_closed: bool,
    /// Whether all has been written, or cannot be.
    is_done: bool,
}

impl Log {
    /// To a file, or to standard error.
    pub(crate) fn start(file: Option<File>) -> io::Result<Self> {
        let is_named = file.is_some();
        let output = match file {
            Some(file) => file,
            None => rustix::io::dup(io::stderr())?.into(),
        };
        let log = Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    waiting: String::new(),
                    left_out: 0,
                    taken: Instant::now(),
                    is_closed: false,
                    is_done: false,
                }),
                changed: Condvar::new(),
            }),
            is_file: output.metadata().is_ok_and(|metadata| metadata.is_file()),
            is_terminal: output.is_terminal(),
            columns: columns(&output),
        };
        let shared = Arc::clone(&log.shared);
        let piece = if log.is_file { PIECE } else { SMALL_PIECE };
        thread::Builder::new().spawn(move || {
            let written = shared.write_to(output, piece);
            if let (Err(error), true) = (written, is_named) {
                // If nobody hears it there is nothing left to be done.
                let _ = writeln!(io::stderr(), "wireline: cannot write to the log any more: {error}");
            }
        })?;
        Ok(log)
    }

    /// Takes whole lines, and leaves `text` empty. Waits for a file, and for others only as long as they take something.
    pub(crate) fn write(&self, text: &mut String) {
        if text.is_empty() {
            return;
        }
        let is_full = |state: &State| !state.is_done && state.waiting.len() + text.len() > FULL;
        let mut state = self.shared.lock();
        while is_full(&state) && (self.is_file || state.taken.elapsed() < PATIENCE) {
            state = self.shared.wait(state);
        }
        if is_full(&state) {
            state.left_out += text.lines().count() as u64;
        } else if !state.is_done {
            state.add(text);
        }
        drop(state);
        text.clear();
        self.shared.changed.notify_all();
    }

    /// Takes the last lines, which are not left out. Waits until all has been written, as long as something is taken.
    pub(crate) fn close(self, text: &str) {
        let mut state = self.shared.lock();
        state.add(text);
        state.is_closed = true;
        let closed = Instant::now();
        state.taken = closed;
        self.shared.changed.notify_all();
        let is_patient = |taken: Instant| taken.elapsed() < LAST_PATIENCE && closed.elapsed() < LONGEST;
        while !state.is_done && (self.is_file || is_patient(state.taken)) {
            state = self.shared.wait(state);
        }
    }
}

impl State {
    fn add(&mut self, text: &str) {
        if self.left_out > 0 {
            let note = format!("wireline: {} lines left out, which came faster than they are read\n", self.left_out);
            self.waiting.push_str(&note);
            self.left_out = 0;
        }
        self.waiting.push_str(text);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change, but not for long.
    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Writes until there will be no more, or nobody wants it.
    fn write_to(&self, mut output: File, piece: usize) -> io::Result<()> {
        let mut text = String::new();
        let mut written = Ok(());
        while written.is_ok() {
            let state = self.lock();
            let mut state = self
                .changed
                .wait_while(state, |state| state.waiting.is_empty() && !state.is_closed)
                .unwrap_or_else(PoisonError::into_inner);
            if state.waiting.is_empty() {
                break;
            }
            std::mem::swap(&mut state.waiting, &mut text);
            state.taken = Instant::now();
            drop(state);
            self.changed.notify_all();
            written = self.write_all(&mut output, text.as_bytes(), piece);
            text.clear();
        }
        let mut state = self.lock();
        state.is_done = true;
        state.waiting = String::new();
        drop(state);
        self.changed.notify_all();
        written
    }

    /// Piece by piece, so that it can be seen whether something is taken.
    fn write_all(&self, output: &mut File, mut rest: &[u8], piece: usize) -> io::Result<()> {
        while !rest.is_empty() {
            let len = retry(output, PollFlags::OUT, |output| output.write(&rest[..rest.len().min(piece)]))?;
            rest = &rest[len..];
            self.lock().taken = Instant::now();
        }
        Ok(())
    }
}

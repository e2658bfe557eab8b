//! Where the text goes: written by a thread of its own, since nobody may be reading it.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::terminal::columns;

/// How much text may wait. What is more is counted, and left out.
const FULL: usize = 1 << 20;

/// How long the end of the text may take, if nobody reads it.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Log {
    shared: Arc<Shared>,
    pub(crate) is_terminal: bool,
    pub(crate) columns: usize,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: String,
    left_out: u64,
    is_closed: bool,
    /// Whether all has been written, or cannot be.
    is_done: bool,
}

impl Log {
    /// To a file, or to standard error.
    pub(crate) fn start(file: Option<File>) -> io::Result<Self> {
        let is_terminal = file.is_none() && io::stderr().is_terminal();
        let columns = file.as_ref().map_or_else(|| columns(io::stderr()), columns);
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let output: Box<dyn Write + Send> = match file {
            Some(file) => Box::new(file),
            None => Box::new(io::stderr()),
        };
        let theirs = Arc::clone(&shared);
        thread::Builder::new().spawn(move || theirs.write_to(output))?;
        Ok(Self { shared, is_terminal, columns })
    }

    /// Takes whole lines, and leaves `text` empty. Never waits.
    pub(crate) fn write(&self, text: &mut String) {
        if text.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        if state.waiting.len() + text.len() > FULL {
            state.left_out += text.lines().count() as u64;
        } else {
            state.add(text);
        }
        drop(state);
        text.clear();
        self.shared.changed.notify_all();
    }

    /// Takes the last lines, which are not left out. Waits until all has been written, but not for long.
    pub(crate) fn close(self, text: &str) {
        let mut state = self.shared.lock();
        state.add(text);
        state.is_closed = true;
        self.shared.changed.notify_all();
        let waited = self.shared.changed.wait_timeout_while(state, PATIENCE, |state| !state.is_done);
        drop(waited);
    }
}

impl State {
    fn add(&mut self, text: &str) {
        if self.left_out > 0 {
            let note = format!("wireline: {} lines left out, as this is not read\n", self.left_out);
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

    /// Writes until there will be no more, or nobody wants it.
    fn write_to(&self, mut output: impl Write) {
        let mut text = String::new();
        loop {
            let state = self.lock();
            let mut state = self
                .changed
                .wait_while(state, |state| state.waiting.is_empty() && !state.is_closed)
                .unwrap_or_else(PoisonError::into_inner);
            if state.waiting.is_empty() {
                break;
            }
            std::mem::swap(&mut state.waiting, &mut text);
            drop(state);
            if output.write_all(text.as_bytes()).and_then(|()| output.flush()).is_err() {
                break;
            }
            text.clear();
        }
        self.lock().is_done = true;
        self.changed.notify_all();
    }
}

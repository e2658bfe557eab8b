//! A stream that several threads write whole lines to.
//!
//! A relay writes to its outlet directly, and waits while the reader is slow, as the sender would without a guard. What
//! the guard itself has to say is queued, and written by a thread of the outlet between two lines of the relay. So no
//! relay ever waits for the reader of the other one.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::tap::sys::{self, Ready};

/// How many bytes may be queued before senders are asked to wait.
const BACKLOG: usize = 1 << 20;

pub(super) struct Outlet {
    state: Mutex<State>,
    /// Notified when the outlet is opened or closed, or has room again.
    changed: Condvar,
    /// Notified when something was queued, or may be written again. Waking a thread takes longer than writing a line, so
    /// no thread is woken for the lines of a relay.
    has_work: Condvar,
    /// Held while lines are written.
    writing: Mutex<()>,
}

struct State {
    /// `None` if the reader is gone.
    file: Option<Arc<File>>,
    /// Counts the readers.
    reader: u32,
    /// Whether lines have to wait, because a new reader is being prepared.
    is_held: bool,
    /// Lines of the guard.
    queued: Vec<u8>,
    /// How many threads are writing or waiting to.
    writers: usize,
    /// How often something was written.
    writes: u64,
}

/// What an outlet is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Activity {
    pub(super) is_writing: bool,
    writes: u64,
}

impl Outlet {
    pub(super) fn new(file: File) -> Self {
        let state =
            State { file: Some(Arc::new(file)), reader: 0, is_held: false, queued: Vec::new(), writers: 0, writes: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new(), has_work: Condvar::new(), writing: Mutex::new(()) }
    }

    /// Waits while lines have to wait.
    pub(super) fn wait_while_held(&self) {
        drop(self.not_held());
    }

    /// Writes whole lines for a reader, and waits until they are written. Fails if it is no longer the reader.
    pub(super) fn write(&self, lines: &[u8], reader: u32) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let state = self.not_held();
        match state.reader == reader {
            true => self.write_locked(state, lines),
            false => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn write_locked(&self, mut state: MutexGuard<'_, State>, lines: &[u8]) -> io::Result<()> {
        let Some(file) = state.file.clone() else { return Err(ErrorKind::BrokenPipe.into()) };
        state.writers += 1;
        drop(state);
        let written = {
            let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            self.write_all(&file, lines)
        };
        self.lock().writers -= 1;
        written
    }

    fn write_all(&self, mut file: &File, mut lines: &[u8]) -> io::Result<()> {
        while !lines.is_empty() {
            match file.write(lines) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(len) => {
                    lines = &lines[len..];
                    self.lock().writes += 1;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => sys::wait_until_ready(file, Ready::Output),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Queues whole lines of the guard. A caller that can wait should [wait for room](Self::wait_for_room) afterwards.
    pub(super) fn queue(&self, lines: &[u8]) {
        self.lock().queued.extend_from_slice(lines);
        self.has_work.notify_one();
    }

    /// Like [`queue`](Self::queue), but drops the lines and returns false if there is no room.
    pub(super) fn queue_if_room(&self, lines: &[u8]) -> bool {
        let has_room = self.lock().queued.len() <= BACKLOG;
        if has_room {
            self.queue(lines);
        }
        has_room
    }

    pub(super) fn wait_for_room(&self) {
        let mut state = self.lock();
        while state.queued.len() > BACKLOG && state.file.is_some() {
            state = self.wait(state);
        }
    }

    /// Writes queued lines for ever, and calls `fail` if that fails.
    pub(super) fn run(&self, fail: impl Fn()) {
        loop {
            let mut state = self.lock();
            while state.queued.is_empty() || state.is_held {
                state = self.has_work.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let lines = std::mem::take(&mut state.queued);
            self.changed.notify_all();
            if self.write_locked(state, &lines).is_err() {
                fail();
            }
        }
    }

    /// Makes lines wait until [`open`](Self::open) or [`close`](Self::close) is called.
    pub(super) fn hold(&self) {
        let mut state = self.lock();
        (state.file, state.is_held) = (None, true);
        state.queued.clear();
    }

    pub(super) fn open(&self, file: Arc<File>, reader: u32) {
        let mut state = self.lock();
        (state.file, state.reader, state.is_held) = (Some(file), reader, false);
        drop(state);
        self.changed.notify_all();
        self.has_work.notify_one();
    }

    /// Closes the stream once nothing is being written any more. Further lines are refused.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        (state.file, state.is_held) = (None, false);
        state.queued.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// Whether all lines have been written, or the reader is gone.
    pub(super) fn is_flushed(&self) -> bool {
        let state = self.lock();
        state.file.is_none() || state.queued.is_empty() && state.writers == 0
    }

    pub(super) fn activity(&self) -> Activity {
        let state = self.lock();
        Activity { is_writing: state.writers > 0, writes: state.writes }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn not_held(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while state.is_held {
            state = self.wait(state);
        }
        state
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

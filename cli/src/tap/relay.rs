//! One direction of a session: passes bytes on without delay.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::sys::{self, Ready};
use crate::session::Side;

/// How much to read at once.
const READ_LEN: usize = 64 << 10;

/// What a relay sends to the watcher.
pub(super) struct Event {
    pub(super) from: Side,
    pub(super) at: Instant,
    pub(super) kind: EventKind,
}

pub(super) enum EventKind {
    Bytes(Vec<u8>),
    /// Bytes that are in a pipe for the watcher to read.
    #[cfg(target_os = "linux")]
    Piped {
        pipe: Arc<File>,
        len: usize,
    },
    /// Bytes of the server's standard error.
    Stderr(Vec<u8>),
    /// The side sends no more.
    EndOfStream,
    /// Neither side sends any more.
    SessionOver,
}

impl Event {
    pub(super) fn session_over() -> Self {
        Self { from: Side::Client, at: Instant::now(), kind: EventKind::SessionOver }
    }
}

pub(super) struct Relay {
    pub(super) from: Side,
    pub(super) input: File,
    pub(super) output: File,
    pub(super) events: SyncSender<Event>,
    pub(super) monitor: ActivityMonitor,
}

/// Shows what a relay is doing, and how many steps it has made so far.
#[derive(Clone)]
pub(super) struct ActivityMonitor(Arc<Mutex<(Activity, u64)>>);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Activity {
    /// Reading, or waiting for input.
    Reading,
    /// Sending an event, or waiting for the watcher.
    Reporting,
    /// Writing, or waiting for the reader of the output.
    Writing,
}

impl ActivityMonitor {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new((Activity::Reading, 0))))
    }

    pub(super) fn get(&self) -> (Activity, u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, activity: Activity) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = (activity, state.1 + 1);
    }
}

impl Relay {
    pub(super) fn new(from: Side, input: File, output: File, events: SyncSender<Event>) -> Self {
        Self { from, input, output, events, monitor: ActivityMonitor::new() }
    }

    pub(super) fn monitor(&self) -> ActivityMonitor {
        self.monitor.clone()
    }

    /// Relays until one end is closed, and then closes the other, so that each peer notices.
    pub(super) fn run(mut self) {
        #[cfg(target_os = "linux")]
        let is_done = self.relay_by_splicing();
        #[cfg(not(target_os = "linux"))]
        let is_done = false;
        if !is_done {
            self.relay_by_copying();
        }
        let Self { from, input, output, events, .. } = self;
        drop((input, output));
        let _ = events.send(Event { from, at: Instant::now(), kind: EventKind::EndOfStream });
    }

    fn relay_by_copying(&mut self) {
        let mut buffer = vec![0; READ_LEN];
        loop {
            self.monitor.set(Activity::Reading);
            let read = retry(&mut self.input, Ready::Input, |input| input.read(&mut buffer));
            let at = Instant::now();
            self.monitor.set(Activity::Reporting);
            // A read error ends the stream like its end does.
            let Ok(len @ 1..) = read else { return };
            self.report(at, EventKind::Bytes(buffer[..len].to_vec()));
            if self.write(&buffer[..len]).is_err() {
                return;
            }
        }
    }

    /// Sends an event before the bytes are written, so that the watcher sees a request before its response. Returns
    /// whether the watcher is alive; relaying goes on without it.
    pub(super) fn report(&self, at: Instant, kind: EventKind) -> bool {
        self.events.send(Event { from: self.from, at, kind }).is_ok()
    }

    /// Copies `len` bytes that have been reported already.
    #[cfg(target_os = "linux")]
    pub(super) fn copy_reported(&mut self, len: usize) -> io::Result<()> {
        let mut buffer = vec![0; len];
        let mut unread = &mut buffer[..];
        while !unread.is_empty() {
            match retry(&mut self.input, Ready::Input, |input| input.read(unread))? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                read => unread = &mut unread[read..],
            }
        }
        self.write(&buffer)
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.monitor.set(Activity::Writing);
            match retry(&mut self.output, Ready::Output, |output| output.write(bytes))? {
                0 => return Err(ErrorKind::WriteZero.into()),
                written => bytes = &bytes[written..],
            }
        }
        Ok(())
    }
}

/// Tries again after an interruption, and waits for a non-blocking file to become ready.
pub(super) fn retry(
    file: &mut File,
    ready: Ready,
    mut attempt: impl FnMut(&mut File) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match attempt(file) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                // If this is interrupted, the attempt is merely repeated too early.
                sys::wait_until_ready(file, ready);
            }
            result => return result,
        }
    }
}

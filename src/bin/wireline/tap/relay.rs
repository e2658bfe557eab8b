//! One direction: passes bytes on as they come.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use crate::session::Side;

/// How much is read at once.
const READ: usize = 128 << 10;

/// What is smaller than this is copied for the watcher. What is larger it is lent.
const SMALL: usize = 4 << 10;

/// How many buffers are kept.
const SPARES: usize = 64;

/// What the watcher is told.
pub(crate) struct Passed {
    pub(crate) from: Side,
    pub(crate) at: Instant,
    pub(crate) what: What,
}

pub(crate) enum What {
    Bytes(Chunk),
    /// There will be no more bytes from that side.
    End,
    /// There will be nothing more from either side.
    Finished,
}

/// Some bytes: the beginning of a buffer, which the relay uses again when nobody else does.
pub(crate) struct Chunk {
    buffer: Arc<Vec<u8>>,
    len: usize,
}

impl std::ops::Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

impl Passed {
    pub(crate) fn finished() -> Self {
        Self { from: Side::Client, at: Instant::now(), what: What::Finished }
    }
}

pub(crate) struct Relay {
    from: Side,
    input: File,
    output: File,
    passed: SyncSender<Passed>,
    activity: Activity,
}

/// Since when a relay has been waiting for something to read, if it is.
#[derive(Clone)]
pub(crate) struct Activity(Arc<Mutex<Option<Instant>>>);

impl Activity {
    pub(crate) fn waits_since(&self, time: Duration) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|since| since.elapsed() >= time)
    }

    fn set(&self, since: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }
}

impl Relay {
    pub(crate) fn new(from: Side, input: File, output: File, passed: SyncSender<Passed>) -> Self {
        Self { from, input, output, passed, activity: Activity(Arc::default()) }
    }

    pub(crate) fn activity(&self) -> Activity {
        self.activity.clone()
    }

    /// Passes on until one end is closed, and then closes the other: whoever writes learns that nobody reads, and whoever
    /// reads that there is no more.
    pub(crate) fn run(mut self) {
        let mut spares: VecDeque<Arc<Vec<u8>>> = VecDeque::new();
        loop {
            // The oldest is the first that the watcher is done with.
            let is_free = spares.front_mut().is_some_and(|oldest| Arc::get_mut(oldest).is_some());
            let spare = if is_free { spares.pop_front() } else { None };
            let mut buffer = spare.unwrap_or_else(|| Arc::new(vec![0; READ]));
            self.activity.set(Some(Instant::now()));
            let read = retry(&mut self.input, PollFlags::IN, |input| input.read(&mut Arc::make_mut(&mut buffer)[..]));
            let at = Instant::now();
            self.activity.set(None);
            // What cannot be read any more has ended, whatever the reason.
            let Ok(len @ 1..) = read else { break };

            let told = if len < SMALL { Arc::new(buffer[..len].to_vec()) } else { Arc::clone(&buffer) };
            // Told before it is passed on, so that no answer can be seen before its question. If nobody listens, the bytes
            // are passed on all the same.
            let what = What::Bytes(Chunk { buffer: told, len });
            let _ = self.passed.send(Passed { from: self.from, at, what });
            if self.write(&buffer[..len]).is_err() {
                break;
            }
            if spares.len() < SPARES {
                spares.push_back(buffer);
            }
        }
        let Self { from, input, output, passed, .. } = self;
        drop((input, output));
        let _ = passed.send(Passed { from, at: Instant::now(), what: What::End });
    }

    fn write(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            match retry(&mut self.output, PollFlags::OUT, |output| output.write(rest))? {
                0 => return Err(ErrorKind::WriteZero.into()),
                written => rest = &rest[written..],
            }
        }
        Ok(())
    }
}

/// Tries again what was interrupted, and waits where whoever opened the file has asked not to be made wait.
fn retry(
    file: &mut File,
    ready: PollFlags,
    mut attempt: impl FnMut(&mut File) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match attempt(file) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                // An interruption is as good as readiness: it is tried again.
                let _ = poll(&mut [PollFd::new(file, ready)], None);
            }
            result => return result,
        }
    }
}

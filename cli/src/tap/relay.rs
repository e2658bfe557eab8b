//! One direction: passes bytes on as they come.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};

use crate::session::Side;

/// How much is read at once.
const READ: usize = 64 << 10;

/// What the watcher is told.
pub(crate) struct Passed {
    pub(crate) from: Side,
    pub(crate) at: Instant,
    pub(crate) what: What,
}

pub(crate) enum What {
    Bytes(Vec<u8>),
    /// As many bytes, which are in a pipe for the watcher to read.
    #[cfg(target_os = "linux")]
    Shared {
        pipe: Arc<File>,
        len: usize,
    },
    /// There will be no more bytes from that side.
    End,
    /// There will be nothing more from either side.
    Finished,
}

impl Passed {
    pub(crate) fn finished() -> Self {
        Self { from: Side::Client, at: Instant::now(), what: What::Finished }
    }
}

pub(crate) struct Relay {
    pub(super) from: Side,
    pub(super) input: File,
    pub(super) output: File,
    pub(super) passed: SyncSender<Passed>,
    pub(super) progress: Progress,
}

/// What a relay is doing, and how many steps it has taken so far.
#[derive(Clone)]
pub(crate) struct Progress(Arc<Mutex<(Step, u64)>>);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Waits for something to read.
    Reads,
    /// Tells the watcher, or waits for it.
    Tells,
    /// Writes, or waits for whoever reads that.
    Writes,
}

impl Progress {
    pub(crate) fn get(&self) -> (Step, u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, step: Step) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = (step, state.1 + 1);
    }
}

impl Relay {
    pub(crate) fn new(from: Side, input: File, output: File, passed: SyncSender<Passed>) -> Self {
        Self { from, input, output, passed, progress: Progress(Arc::new(Mutex::new((Step::Reads, 0)))) }
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Passes on until one end is closed, and then closes the other: whoever writes learns that nobody reads, and whoever
    /// reads that there is no more.
    pub(crate) fn run(mut self) {
        #[cfg(target_os = "linux")]
        let has_ended = self.share();
        #[cfg(not(target_os = "linux"))]
        let has_ended = false;
        if !has_ended {
            self.copy();
        }
        let Self { from, input, output, passed, .. } = self;
        drop((input, output));
        let _ = passed.send(Passed { from, at: Instant::now(), what: What::End });
    }

    /// Passes on by reading and writing.
    fn copy(&mut self) {
        let mut buffer = vec![0; READ];
        loop {
            self.progress.set(Step::Reads);
            let read = retry(&mut self.input, PollFlags::IN, |input| input.read(&mut buffer));
            let at = Instant::now();
            self.progress.set(Step::Tells);
            // What cannot be read any more has ended, whatever the reason.
            let Ok(len @ 1..) = read else { return };
            self.tell(at, What::Bytes(buffer[..len].to_vec()));
            if self.write(&buffer[..len]).is_err() {
                return;
            }
        }
    }

    /// Tells the watcher, before it is passed on, so that no answer can be seen before its question. Returns whether anybody
    /// listens; if not, the bytes are passed on all the same.
    pub(super) fn tell(&self, at: Instant, what: What) -> bool {
        self.passed.send(Passed { from: self.from, at, what }).is_ok()
    }

    /// Reads and writes so many bytes, without a word.
    #[cfg(target_os = "linux")]
    pub(super) fn copy_rest(&mut self, len: usize) -> io::Result<()> {
        let mut buffer = vec![0; len];
        let mut rest = &mut buffer[..];
        while !rest.is_empty() {
            match retry(&mut self.input, PollFlags::IN, |input| input.read(rest))? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                read => rest = &mut rest[read..],
            }
        }
        self.write(&buffer)
    }

    fn write(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            self.progress.set(Step::Writes);
            match retry(&mut self.output, PollFlags::OUT, |output| output.write(rest))? {
                0 => return Err(ErrorKind::WriteZero.into()),
                written => rest = &rest[written..],
            }
        }
        Ok(())
    }
}

/// Tries again what was interrupted, and waits where whoever opened the file has asked not to be made wait.
pub(super) fn retry(
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

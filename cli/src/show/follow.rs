//! A file that is being written.

use std::fs::File;
use std::io::{self, Read};
use std::thread;
use std::time::{Duration, Instant};

use crate::recording;

/// How long to wait before looking for more.
const INTERVAL: Duration = Duration::from_millis(50);

/// Waits at the end of a file instead of ending.
pub(super) struct FollowedFile {
    file: File,
    offset: u64,
}

impl FollowedFile {
    pub(super) fn new(file: File) -> Self {
        Self { file, offset: 0 }
    }

    /// Waits until there is enough of the file to see whether it is a recording.
    pub(super) fn is_recording(&self) -> io::Result<bool> {
        loop {
            let mut start = [0; recording::DETECTION_LEN];
            let len = crate::input::read_at(&self.file, &mut start, 0)?;
            if len == start.len() || !recording::may_be_recording(&start[..len]) {
                return Ok(recording::is_recording(&start[..len]));
            }
            thread::sleep(INTERVAL);
        }
    }

    /// A second handle, to see how long the file is.
    pub(super) fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

/// Whether something is true now and at every look until `time` is over. Returns as soon as it is not.
pub(super) fn stays_true(is_true: impl Fn() -> bool, time: Duration) -> bool {
    let started = Instant::now();
    while is_true() {
        let left = time.saturating_sub(started.elapsed());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(INTERVAL));
    }
    false
}

impl Read for FollowedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let len = match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if len > 0 || buffer.is_empty() {
                self.offset += len as u64;
                return Ok(len);
            }
            if self.file.metadata()?.len() < self.offset {
                return Err(io::Error::other("the file became shorter"));
            }
            thread::sleep(INTERVAL);
        }
    }
}

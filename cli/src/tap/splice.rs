//! Relays between pipes on Linux without copying, and duplicates the bytes for the watcher.
//!
//! ```text
//!   client's pipe ──tee──→ the watcher's pipe    duplicates references to the pages
//!         └───────splice──→ server's pipe        moves them on
//! ```

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice, tee};

use super::relay::{Activity, EventKind, Relay, retry};
use super::sys::{PIPE_CAPACITY, Ready};

/// The least capacity of the watcher's pipe: with less, the relay would wait for the watcher all the time.
const MIN_PIPE_CAPACITY: usize = 64 << 10;

const FLAGS: SpliceFlags = SpliceFlags::empty();

impl Relay {
    /// Relays until one end is closed. Returns false if this does not work, or no longer, and the rest must be copied.
    pub(super) fn relay_by_splicing(&mut self) -> bool {
        let Ok((watcher_end, own_end)) = pipe_with(PipeFlags::CLOEXEC) else { return false };
        // The system may refuse.
        let _ = fcntl_setpipe_size(&own_end, PIPE_CAPACITY);
        if fcntl_getpipe_size(&own_end).is_ok_and(|size| size < MIN_PIPE_CAPACITY) {
            return false;
        }
        let (watcher_end, own_end) = (Arc::new(File::from(watcher_end)), File::from(own_end));
        loop {
            self.monitor.set(Activity::Reading);
            while poll(&mut [PollFd::new(&self.input, PollFlags::IN)], None) == Err(Errno::INTR) {}
            let at = Instant::now();
            self.monitor.set(Activity::Reporting);
            let duplicated = retry(&mut self.input, Ready::Input, |input| {
                match tee(&*input, &own_end, PIPE_CAPACITY, FLAGS) {
                    Err(Errno::AGAIN) => {
                        // Either the input is empty, which `retry` waits for, or the watcher's pipe is full.
                        let _ = poll(&mut [PollFd::new(&own_end, PollFlags::OUT)], None);
                        Err(Errno::AGAIN.into())
                    }
                    duplicated => Ok(duplicated?),
                }
            });
            match duplicated {
                Ok(0) => return true,
                Ok(len) => {
                    let is_watched = self.report(at, EventKind::Piped { pipe: Arc::clone(&watcher_end), len });
                    match self.splice_reported(len) {
                        // Without a watcher, its pipe would fill up.
                        Ok(was_spliced) if !was_spliced || !is_watched => return false,
                        Ok(_) => {}
                        Err(_) => return true,
                    }
                }
                // The input is not a pipe. Reading it will show any other error again.
                Err(_) => return false,
            }
        }
    }

    /// Moves `len` bytes that have been reported already. Returns false if they had to be copied.
    fn splice_reported(&mut self, mut len: usize) -> io::Result<bool> {
        while len > 0 {
            self.monitor.set(Activity::Writing);
            let Self { input, output, .. } = self;
            let moved = retry(output, Ready::Output, |output| Ok(splice(&*input, None, &*output, None, len, FLAGS)?));
            match moved {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(moved) => len -= moved,
                // The output is a terminal, or a file opened for appending.
                Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                    return self.copy_reported(len).map(|()| false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

//! On Linux, between pipes: bytes are passed on without being copied, and shared with the watcher.
//!
//! ```text
//!   client's pipe ──tee──→ the watcher's pipe    the same pages, once more
//!         └───────splice──→ server's pipe        and on they go
//! ```

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice, tee};

use super::PIPE;
use super::relay::{Relay, Step, What, retry};

impl Relay {
    /// Passes on until one end is closed. False if it cannot be done, and what comes next is to be copied.
    pub(super) fn share(&mut self) -> bool {
        let Ok((theirs, ours)) = pipe_with(PipeFlags::CLOEXEC) else { return false };
        // The system may not permit it; and where pipes are small, the relay would wait for the watcher all the time.
        let _ = fcntl_setpipe_size(&ours, PIPE);
        if fcntl_getpipe_size(&ours).is_ok_and(|size| size < LEAST) {
            return false;
        }
        let (theirs, ours) = (Arc::new(File::from(theirs)), File::from(ours));
        loop {
            self.progress.set(Step::Reads);
            while poll(&mut [PollFd::new(&self.input, PollFlags::IN)], None) == Err(Errno::INTR) {}
            let at = Instant::now();
            self.progress.set(Step::Tells);
            let shared = retry(&mut self.input, PollFlags::IN, |input| match tee(&*input, &ours, PIPE, FLAGS) {
                Err(Errno::AGAIN) => {
                    // Either there is nothing to read, which is waited for by whoever asked, or the watcher is behind.
                    let _ = poll(&mut [PollFd::new(&ours, PollFlags::OUT)], None);
                    Err(Errno::AGAIN.into())
                }
                shared => Ok(shared?),
            });
            match shared {
                Ok(0) => return true,
                Ok(len) => {
                    let is_heard = self.tell(at, What::Shared { pipe: Arc::clone(&theirs), len });
                    match self.pass(len) {
                        // What nobody reads would fill the pipe.
                        Ok(was_shared) if !was_shared || !is_heard => return false,
                        Ok(_) => {}
                        Err(_) => return true,
                    }
                }
                // It is no pipe. Whatever else it may be, reading will show it.
                Err(_) => return false,
            }
        }
    }

    /// Passes on what has been shared. False if it had to be copied.
    fn pass(&mut self, mut rest: usize) -> io::Result<bool> {
        while rest > 0 {
            self.progress.set(Step::Writes);
            let Self { input, output, .. } = self;
            let passed =
                retry(output, PollFlags::OUT, |output| Ok(splice(&*input, None, &*output, None, rest, FLAGS)?));
            match passed {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(len) => rest -= len,
                // A terminal, a file that is appended to.
                Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                    return self.copy_rest(rest).map(|()| false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// How much the watcher's pipe must hold, so that it is worth it.
const LEAST: usize = 64 << 10;

const FLAGS: SpliceFlags = SpliceFlags::empty();

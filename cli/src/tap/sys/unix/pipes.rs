//! The pipes between client, tap and server.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::stdio::{dup2_stdin, dup2_stdout};

/// The capacity that pipes are given, if the system permits it: each time one is full, two context switches are due.
///
/// Not more, because the system limits the total of each user.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) const PIPE_CAPACITY: usize = 256 << 10;

/// Takes standard input and output. The process has no other copy of them, so dropping one closes it.
pub(crate) fn take_stdio() -> io::Result<(File, File)> {
    let (stdin, stdout) = (rustix::io::dup(io::stdin())?, rustix::io::dup(io::stdout())?);
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    Ok((enlarged(stdin), enlarged(stdout)))
}

/// Gives a stream [`PIPE_CAPACITY`] if it is a smaller pipe.
pub(crate) fn enlarged(stream: impl Into<OwnedFd>) -> File {
    let stream = stream.into();
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if rustix::pipe::fcntl_getpipe_size(&stream).is_ok_and(|size| size < PIPE_CAPACITY) {
        // If the system refuses, the pipe works as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(&stream, PIPE_CAPACITY);
    }
    stream.into()
}

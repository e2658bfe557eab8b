//! Unix.

mod pipes;
mod signals;

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use pipes::PIPE_CAPACITY;
pub(crate) use pipes::{enlarged, take_stdio};
pub(crate) use signals::{Signals, Target};

use super::Ready;
use crate::tap::EXIT_TAP_FAILED;

/// A copy of standard error.
pub(crate) fn stderr() -> io::Result<File> {
    Ok(rustix::io::dup(io::stderr())?.into())
}

/// Waits until a file that does not block is ready, or a signal interrupts.
pub(crate) fn wait_until_ready(file: &File, ready: Ready) {
    let flags = match ready {
        Ready::Input => PollFlags::IN,
        Ready::Output => PollFlags::OUT,
    };
    let _ = poll(&mut [PollFd::new(file, flags)], None);
}

/// Writes text for people.
pub(crate) fn write_text(file: &mut File, text: &[u8]) -> io::Result<usize> {
    file.write(text)
}

/// Waits until the server has exited, and stops forwarding signals before its process id can be reused.
pub(crate) fn wait(child: &mut Child, target: &Target) -> io::Result<ExitStatus> {
    let pid = rustix::process::Pid::from_child(child);
    while let Err(error) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
        if error != rustix::io::Errno::INTR {
            return Err(error.into());
        }
    }
    target.clear();
    child.wait()
}

/// The signal that ended a process.
pub(crate) fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Ends this process as the server ended, by the same signal if it was one.
pub(crate) fn exit_like(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        // The server has dumped core already, if at all.
        let limit = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, limit);
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return ExitCode::from(128 + signal as u8);
    }
    ExitCode::from(status.code().map_or(EXIT_TAP_FAILED, |code| code as u8))
}

/// Opens a named pipe, if `path` is one, as soon as it has a reader.
pub(crate) fn open_named_pipe(path: &Path, patience: Duration) -> Option<io::Result<File>> {
    if !path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        return None;
    }
    // Not for reading as well: the tap would not notice when the reader leaves.
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let started = Instant::now();
    loop {
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(pipe) => return Some(Ok(pipe.into())),
            Err(Errno::NXIO) if started.elapsed() < patience => std::thread::sleep(Duration::from_millis(20)),
            Err(Errno::NXIO) => {
                let seconds = patience.as_secs();
                let reason = format!("nobody has opened the named pipe for reading for {seconds} s");
                return Some(Err(io::Error::other(reason)));
            }
            Err(error) => return Some(Err(error.into())),
        }
    }
}

/// Whether there is something to read, or the stream has ended, before `patience` is over.
pub(crate) fn is_readable_within(file: &File, patience: Duration) -> bool {
    let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
    // After an interruption, reading waits instead.
    poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&timeout)) != Ok(0)
}

/// Whether there is something to read.
pub(crate) fn has_input(file: &File) -> bool {
    let mut files = [PollFd::new(file, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut files, Some(&now)).is_ok() && files[0].revents().contains(PollFlags::IN)
}

/// Waits until nobody reads a pipe any more.
pub(crate) fn wait_for_hang_up(file: &File) {
    let mut files = [PollFd::new(file, PollFlags::empty())];
    while !matches!(poll(&mut files, None), Ok(1..)) {}
}

/// Whether a file that does not block can be written to before `patience` is over.
pub(crate) fn is_writable_within(file: &File, patience: Duration) -> bool {
    let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: 0 };
    poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(&timeout)) != Ok(0)
}

/// Opens a file for appending that no other tap appends to. A new one is for its owner only, since recordings may hold
/// secrets.
pub(crate) fn open_exclusively(path: &Path, can_read: bool) -> io::Result<File> {
    let file = File::options().create(true).read(can_read).append(true).mode(0o600).open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(ErrorKind::ResourceBusy, crate::tap::files::RECORDED_BY_ANOTHER))
        }
        _ => Ok(file),
    }
}

pub(crate) fn is_same_file(one: &File, other: &File) -> io::Result<bool> {
    let (one, other) = (one.metadata()?, other.metadata()?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

//! Unix.

mod pipes;
mod signals;

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{WaitId, WaitIdOptions, waitid};

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(in crate::tap) use pipes::PIPE_CAPACITY;
pub(in crate::tap) use pipes::{enlarged, take_stdio};
pub(in crate::tap) use signals::{Signals, Target};

use super::Ready;
use crate::tap::EXIT_TAP_FAILED;

/// A copy of standard error.
pub(in crate::tap) fn stderr() -> io::Result<File> {
    Ok(rustix::io::dup(io::stderr())?.into())
}

/// Waits until a file that does not block is ready, or a signal interrupts.
pub(in crate::tap) fn wait_until_ready(file: &File, ready: Ready) {
    let flags = match ready {
        Ready::Input => PollFlags::IN,
        Ready::Output => PollFlags::OUT,
    };
    let _ = poll(&mut [PollFd::new(file, flags)], None);
}

/// Writes text for people.
pub(in crate::tap) fn write_text(file: &mut File, text: &[u8]) -> io::Result<usize> {
    file.write(text)
}

/// Starts the server.
pub(in crate::tap) fn spawn(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

/// Waits until the server has exited, and stops forwarding signals before its process id can be reused.
pub(in crate::tap) fn wait(child: &mut Child, target: &Target) -> io::Result<ExitStatus> {
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
pub(in crate::tap) fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Ends this process as the server ended, by the same signal if it was one.
pub(in crate::tap) fn exit_like(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        // The server has dumped core already, if at all.
        let limit = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, limit);
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return ExitCode::from(128 + signal as u8);
    }
    ExitCode::from(status.code().map_or(EXIT_TAP_FAILED, |code| code as u8))
}

/// Opens a file for appending that no other tap appends to.
pub(in crate::tap) fn open_exclusively(path: &Path, can_read: bool) -> io::Result<File> {
    let file = File::options().create(true).read(can_read).append(true).open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::other(crate::tap::files::RECORDED_BY_ANOTHER)),
        _ => Ok(file),
    }
}

pub(in crate::tap) fn is_same_file(one: &File, other: &File) -> io::Result<bool> {
    let (one, other) = (one.metadata()?, other.metadata()?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

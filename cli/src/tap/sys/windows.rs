//! Windows.
//!
//! There are no signals: Ctrl-C and Ctrl-Break reach every process of the console, so the server gets them without our
//! help, and the tap only has to survive them. Every other way to end a process there ends it at once.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, OwnedHandle};
use std::path::Path;
use std::process::{Child, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Ready;

/// Others may read a recording, but not write to it.
const FILE_SHARE_READ: u32 = 1;
const ERROR_SHARING_VIOLATION: i32 = 32;

/// Console events, caught before the server starts.
pub(crate) struct Signals(Arc<AtomicBool>);

/// Says whether the session was asked to stop.
#[derive(Clone)]
pub(crate) struct Target(Arc<AtomicBool>);

impl Signals {
    pub(crate) fn catch() -> io::Result<Self> {
        let is_stop_requested = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_stop_requested);
        // The server does not inherit the handler.
        let set = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
        set.map_err(io::Error::other)?;
        Ok(Self(is_stop_requested))
    }

    pub(crate) fn forward_to(self, _: &Child) -> Target {
        self.forward_to_group()
    }

    pub(crate) fn forward_to_group(self) -> Target {
        Target(self.0)
    }
}

impl Target {
    pub(crate) fn is_stop_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Copies standard input and output. The process keeps its own, so the client sees the end of the stream when the tap
/// exits.
pub(crate) fn take_stdio() -> io::Result<(File, File)> {
    Ok((copy(io::stdin())?, copy(io::stdout())?))
}

/// A copy of standard error.
pub(crate) fn stderr() -> io::Result<File> {
    copy(io::stderr())
}

fn copy(stream: impl AsHandle) -> io::Result<File> {
    Ok(stream.as_handle().try_clone_to_owned()?.into())
}

/// A child's pipe as a file. Its capacity is the system's business.
pub(crate) fn enlarged(stream: impl Into<OwnedHandle>) -> File {
    stream.into().into()
}

/// Never called: all files here block.
pub(crate) fn wait_until_ready(_: &File, _: Ready) {}

/// Writes text for people. A console takes UTF-8 only through the standard library, which converts it.
pub(crate) fn write_text(file: &mut File, text: &[u8]) -> io::Result<usize> {
    if file.is_terminal() { io::stderr().write(text) } else { file.write(text) }
}

pub(crate) fn wait(child: &mut Child, _: &Target) -> io::Result<ExitStatus> {
    child.wait()
}

/// No process is ended by a signal.
pub(crate) fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Exits with the server's code, of which `ExitCode` would keep eight bits.
pub(crate) fn exit_like(status: ExitStatus) -> ExitCode {
    std::process::exit(status.code().unwrap_or(crate::tap::EXIT_TAP_FAILED.into()))
}

/// Never: named pipes have a place of their own here.
pub(crate) fn open_named_pipe(_: &Path, _: Duration) -> Option<io::Result<File>> {
    None
}

/// Always, as far as anybody can tell: reading waits.
pub(crate) fn is_readable_within(_: &File, _: Duration) -> bool {
    true
}

/// Whether there is something to read, as far as anybody can tell.
pub(crate) fn has_input(_: &File) -> bool {
    false
}

/// Waits for ever: nothing tells that the reader of a pipe has gone.
pub(crate) fn wait_for_hang_up(_: &File) {
    loop {
        std::thread::park();
    }
}

/// Never called: all files here block.
pub(crate) fn is_writable_within(_: &File, _: Duration) -> bool {
    true
}

/// Opens a file for appending that nobody else writes to. A lock would keep others from reading it, too.
pub(crate) fn open_exclusively(path: &Path, can_read: bool) -> io::Result<File> {
    let mut options = File::options();
    let file = options.create(true).read(can_read).append(true).share_mode(FILE_SHARE_READ).open(path);
    file.map_err(|error| match error.raw_os_error() {
        Some(ERROR_SHARING_VIOLATION) => {
            io::Error::new(io::ErrorKind::ResourceBusy, crate::tap::files::RECORDED_BY_ANOTHER)
        }
        _ => error,
    })
}

/// Never: the second one could not have been opened.
pub(crate) fn is_same_file(_: &File, _: &File) -> io::Result<bool> {
    Ok(false)
}

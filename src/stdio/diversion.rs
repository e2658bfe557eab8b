//! Diverts descriptor 1, once standard output is claimed, into a pipe from which a thread copies to stderr.
//!
//! Descriptor 1 could lead to stderr directly, but then a print would fail or block whenever stderr does, and
//! `println!` panics on failure. The process itself keeps the reading end of this pipe open and drains it, so a print
//! does neither.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How long to wait for the reader of stderr before assuming that it never reads.
const PATIENCE: Duration = Duration::from_secs(1);

/// A write of this length doesn't block on a pipe that `poll` reports as writable. It is the smallest `PIPE_BUF` in
/// POSIX, and that of macOS.
const PIECE_LEN: usize = 512;

pub(super) struct Diversion {
    /// The reading end of descriptor 1, in non-blocking mode.
    pipe: File,
    /// A duplicate of stderr, if it was open.
    stderr: Option<File>,
    forwarding: Mutex<Forwarding>,
    process_id: u32,
}

/// The state of copying. Its lock is held while copying, so that output stays in order.
#[derive(Default)]
struct Forwarding {
    /// Whether stderr has been full for [`PATIENCE`] or longer.
    is_stalled: bool,
}

impl Diversion {
    /// Diverts descriptor 1. If that fails, descriptor 1 is unchanged.
    pub(super) fn start() -> io::Result<Arc<Self>> {
        let (pipe, descriptor_1) = io::pipe()?;
        let pipe = above_standard_streams(pipe)?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let stderr = match above_standard_streams(io::stderr()) {
            Ok(stderr) => Some(stderr),
            Err(error) if error.raw_os_error() == Some(Errno::BADF.raw_os_error()) => None,
            Err(error) => return Err(error),
        };
        let diversion = Arc::new(Self { pipe, stderr, forwarding: Mutex::default(), process_id: std::process::id() });
        thread::Builder::new().name("stray output".into()).spawn({
            let diversion = Arc::clone(&diversion);
            move || diversion.run()
        })?;
        rustix::stdio::dup2_stdout(descriptor_1)?;
        if is_main_thread() {
            AT_EXIT.with(|at_exit| drop(at_exit.set(AtExit(Arc::clone(&diversion)))));
        }
        Ok(diversion)
    }

    /// Copies until all writing ends of the pipe are closed, or until the process exits.
    fn run(&self) {
        loop {
            wait(&self.pipe, PollFlags::IN, None);
            if !self.forward_pending() {
                return;
            }
        }
    }

    /// Copies the output so far. Returns whether more may come.
    pub(super) fn forward_pending(&self) -> bool {
        // After a fork, the lock may be held by a thread that doesn't exist in the child. The parent copies for both.
        if std::process::id() != self.process_id {
            return false;
        }
        let mut forwarding = self.forwarding.lock().unwrap_or_else(PoisonError::into_inner);
        // Copy only what is pending now: other threads that keep printing could keep this one busy forever.
        let mut pending = rustix::io::ioctl_fionread(&self.pipe).unwrap_or(0);
        let mut piece = [0; PIECE_LEN];
        loop {
            match (&self.pipe).read(&mut piece) {
                Ok(0) => return false,
                Ok(len) => {
                    self.forward(&piece[..len], &mut forwarding);
                    pending = pending.saturating_sub(len as u64);
                    if pending == 0 {
                        return true;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    /// Copies to stderr, or discards output that stderr doesn't accept.
    fn forward(&self, mut piece: &[u8], forwarding: &mut Forwarding) {
        let Some(mut stderr) = self.stderr.as_ref() else { return };
        while !piece.is_empty() && self.accepts(forwarding) {
            match stderr.write(piece) {
                Ok(len @ 1..) => piece = &piece[len..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }

    /// Whether stderr can be written to without blocking, now or soon.
    fn accepts(&self, forwarding: &mut Forwarding) -> bool {
        let Some(stderr) = &self.stderr else { return false };
        let patience = if forwarding.is_stalled { Duration::ZERO } else { PATIENCE };
        let state = wait(stderr, PollFlags::OUT, Some(patience));
        forwarding.is_stalled = state.is_empty();
        // A write that is known to fail would also raise SIGPIPE, which programs in C may not ignore. macOS reports
        // some devices as invalid; only a write shows whether they work.
        !state.is_empty() && !state.intersects(PollFlags::ERR | PollFlags::HUP)
    }

    /// Copies the rest at the end of the process, and sends C's buffers, which are flushed later, to stderr directly.
    fn finish(&self) {
        if !self.forward_pending() {
            return;
        }
        let mut forwarding = self.forwarding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stderr) = &self.stderr
            && self.accepts(&mut forwarding)
        {
            let _ = rustix::stdio::dup2_stdout(stderr);
        }
    }
}

thread_local! {
    /// The main thread's value is dropped at exit, after Rust's buffers are flushed and before C's are.
    static AT_EXIT: OnceCell<AtExit> = const { OnceCell::new() };
}

struct AtExit(Arc<Diversion>);

impl Drop for AtExit {
    fn drop(&mut self) {
        self.0.finish();
    }
}

fn is_main_thread() -> bool {
    // In a program written in C, Rust can't identify the main thread.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return u32::try_from(rustix::thread::gettid().as_raw_pid()) == Ok(std::process::id());
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    return thread::current().name() == Some("main");
}

/// A duplicate that child processes don't inherit, and that doesn't take the place of a closed standard stream.
pub(super) fn above_standard_streams(descriptor: impl AsFd) -> io::Result<File> {
    Ok(File::from(rustix::io::fcntl_dupfd_cloexec(descriptor, 3)?))
}

/// Waits until `file` is ready or has failed. Returns its state, or nothing after the timeout.
fn wait(file: &File, ready: PollFlags, timeout: Option<Duration>) -> PollFlags {
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    loop {
        let mut polled = [PollFd::new(file, ready)];
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) => return polled[0].revents(),
            Err(Errno::INTR) => {}
            Err(_) => return PollFlags::empty(),
        }
    }
}

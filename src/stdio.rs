//! Reserves standard output for the protocol.
//!
//! A server that writes messages to standard output shares it with everything else in the process: a `println!` left
//! over from debugging, a C library's `printf`, a child process. Any of them can write between two messages, or into
//! the middle of one. [`claim`] reserves the real standard output for the protocol and diverts descriptor 1 to stderr,
//! where stray output is visible and harmless.
//!
//! ```no_run
//! use wireline::{RpcError, Rules, io, stdio};
//!
//! let stdout = stdio::claim()?;
//! println!("this goes to stderr");
//! io::serve(std::io::stdin().lock(), stdout, Rules::mcp(), |_| Err::<(), _>(RpcError::method_not_found()))?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Stray output
//!
//! Descriptor 1 stays diverted until the process exits, even after the [`Stdout`] is dropped. C buffers its output,
//! often until the exit, and that output must not follow the last message.
//!
//! Stray prints don't fail, and wait for stderr at most a second. Descriptor 1 is a pipe, and a thread copies from it
//! to the stderr that was open at the time of the claim. If stderr is closed, its reader is gone, or its disk is full,
//! that thread discards the output. It does the same if stderr is a full pipe that nothing reads. `eprintln!` writes to
//! stderr directly, so it can still panic or block.
//!
//! - Because of the pipe, a stray print may appear after output that was written to stderr later.
//! - The rest of the output is copied when the `Stdout` is dropped, and when the process exits, provided that the main
//!   thread made the claim and returns or calls [`exit`](std::process::exit). Output right before any other end of the
//!   process may be lost: a signal, [`abort`](std::process::abort), `exit` on another thread. On systems that don't
//!   drop the main thread's thread-locals, such as Linux with musl, output after the `Stdout` was dropped may be lost
//!   too.
//! - A child process may print to descriptor 1 as long as this process lives. After that, the pipe is broken, so give a
//!   child that outlives its parent its own stdout.
//! - Programs that wait for signals with `sigwait` or `signalfd` should block those signals before the claim, because
//!   new threads inherit the mask.
//!
//! Diversion works on Unix only. On other systems [`claim`] returns the ordinary standard output, and stray prints
//! still end up in it.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
mod diversion;

static CLAIMED: AtomicBool = AtomicBool::new(false);

/// Reserves standard output for the protocol, for the rest of the process.
///
/// Earlier output that Rust or C still buffers goes to stderr too.
///
/// ```
/// use std::io::Write;
/// use wireline::stdio;
///
/// let mut stdout = stdio::claim()?;
/// println!("a stray print"); // goes to stderr
/// stdout.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"started\"}\n")?; // goes to stdout
/// drop(stdout);
/// println!("still goes to stderr");
/// assert_eq!(stdio::claim().unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`AlreadyExists`](io::ErrorKind::AlreadyExists) if standard output was claimed before, or the system's error
/// if descriptor 1 is closed, there are too many descriptors, or no thread can be started. After any error but the
/// first, nothing has changed.
///
/// A program that was started with standard output closed gets no error: before `main`, Rust's runtime opens
/// `/dev/null` in its place, and that accepts all messages.
pub fn claim() -> io::Result<Stdout> {
    if CLAIMED.swap(true, Ordering::AcqRel) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "standard output is already claimed"));
    }
    let real = imp::RealStdout::take().inspect_err(|_| CLAIMED.store(false, Ordering::Release))?;
    Ok(Stdout { real })
}

/// The process's real standard output, reserved for the protocol. Writes are not buffered.
///
/// Dropping it closes the real standard output, so the peer sees the end of the stream. Stray output still goes to
/// stderr.
pub struct Stdout {
    real: imp::RealStdout,
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.real.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.real.file().flush()
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Stdout {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.real.file().as_fd()
    }
}

impl fmt::Debug for Stdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdout").finish_non_exhaustive()
    }
}

#[cfg(unix)]
mod imp {
    use std::fs::File;
    use std::io;
    use std::sync::Arc;

    use crate::stdio::diversion::{Diversion, above_standard_streams};

    /// A duplicate of the original descriptor 1.
    pub(super) struct RealStdout {
        file: File,
        diversion: Arc<Diversion>,
    }

    impl RealStdout {
        pub(super) fn take() -> io::Result<Self> {
            let file = above_standard_streams(io::stdout())?;
            let diversion = Diversion::start()?;
            Ok(Self { file, diversion })
        }

        pub(super) fn file(&self) -> &File {
            &self.file
        }
    }

    impl Drop for RealStdout {
        fn drop(&mut self) {
            self.diversion.forward_pending();
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use std::io;

    /// The ordinary standard output.
    pub(super) struct RealStdout;

    impl RealStdout {
        pub(super) fn take() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn file(&self) -> io::Stdout {
            io::stdout()
        }
    }
}

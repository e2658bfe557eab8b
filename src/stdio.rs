//! A standard output reserved for the protocol.
//!
//! A server that writes messages to standard output shares it with everything else in the process: a `println!` left
//! over from debugging, a C library's `printf`, a child process. Any of them can write between two messages, or into
//! the middle of one. [`claim`] reserves the real standard output for the protocol and redirects descriptor 1 to
//! stderr, where stray output is visible and harmless.
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
//! Redirection works on Unix only. On other systems [`claim`] returns the ordinary standard output, and stray prints
//! still end up in it.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static CLAIMED: AtomicBool = AtomicBool::new(false);

/// Reserves standard output for the protocol until the returned [`Stdout`] is dropped.
///
/// Output printed earlier that is still buffered goes to stderr too.
///
/// ```
/// use std::io::Write;
/// use wireline::stdio;
///
/// let mut stdout = stdio::claim()?;
/// println!("a stray print"); // goes to stderr
/// stdout.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"started\"}\n")?; // goes to stdout
/// assert_eq!(stdio::claim().unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
/// drop(stdout);
/// println!("goes to stdout again");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`AlreadyExists`](io::ErrorKind::AlreadyExists) if standard output is already claimed, or the system's error
/// if the descriptors can't be redirected, for example because standard output or stderr is closed.
pub fn claim() -> io::Result<Stdout> {
    if CLAIMED.swap(true, Ordering::AcqRel) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "standard output is already claimed"));
    }
    Stdout::new().inspect_err(|_| CLAIMED.store(false, Ordering::Release))
}

/// The process's real standard output, reserved for the protocol. Writes are not buffered.
///
/// Dropping it returns standard output to the rest of the process.
pub struct Stdout {
    real: imp::Real,
}

impl Stdout {
    fn new() -> io::Result<Self> {
        let real = imp::Real::take()?;
        // Descriptor 1 is stderr now, so buffered output goes there. If flushing fails, `drop` undoes the claim.
        let stdout = Self { real };
        io::stdout().flush()?;
        Ok(stdout)
    }
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
        self.real.as_fd()
    }
}

impl Drop for Stdout {
    fn drop(&mut self) {
        // Output that is still buffered belongs to stderr. Errors can't be reported from `drop`.
        drop(io::stdout().flush());
        self.real.give_back();
        CLAIMED.store(false, Ordering::Release);
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
    use std::os::fd::{AsFd, BorrowedFd};

    /// A duplicate of the original descriptor 1.
    pub(super) struct Real(File);

    impl Real {
        pub(super) fn take() -> io::Result<Self> {
            // Above the three standard descriptors, and not inherited by child processes.
            let real = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
            rustix::stdio::dup2_stdout(io::stderr())?;
            Ok(Self(File::from(real)))
        }

        pub(super) fn file(&self) -> &File {
            &self.0
        }

        pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }

        pub(super) fn give_back(&self) {
            let _ = rustix::stdio::dup2_stdout(&self.0);
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use std::io;

    /// The ordinary standard output.
    pub(super) struct Real;

    impl Real {
        pub(super) fn take() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn file(&self) -> io::Stdout {
            io::stdout()
        }

        pub(super) fn give_back(&self) {}
    }
}

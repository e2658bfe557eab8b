//! A stdout that nothing but the protocol gets on.
//!
//! A server that speaks on its standard output shares it with everything else in the process: a `println!` left from
//! debugging, a C library's `printf`, a child process. Any of them puts a line between two messages, or worse, into one.
//! [`claim`] takes the real standard output for the protocol, and makes descriptor 1 another name for stderr: what others
//! print there from then on is seen, and does no harm.
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
//! On systems other than Unix there is no such thing as a descriptor to point elsewhere: there, what [`claim`] gives is the
//! standard output as it is, and stray prints still get into it.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static CLAIMED: AtomicBool = AtomicBool::new(false);

/// Takes standard output for the protocol, until the result is dropped.
///
/// What has been printed before and not been written yet goes to stderr as well.
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
/// It has been claimed before ([`AlreadyExists`](io::ErrorKind::AlreadyExists)), or the descriptors could not be moved:
/// standard output or stderr is closed.
pub fn claim() -> io::Result<Stdout> {
    if CLAIMED.swap(true, Ordering::AcqRel) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "expected standard output not to be claimed already"));
    }
    Stdout::new().inspect_err(|_| CLAIMED.store(false, Ordering::Release))
}

/// The process's real standard output, claimed for the protocol. It does not buffer.
///
/// Dropping it gives standard output back to the rest of the process.
pub struct Stdout {
    real: imp::Real,
}

impl Stdout {
    fn new() -> io::Result<Self> {
        let real = imp::Real::take()?;
        // From here on a stray print is flushed to stderr.
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
        // What was printed meanwhile belongs to stderr. If any of this fails there is nobody left to tell.
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

    /// A descriptor of its own for what descriptor 1 was.
    pub(super) struct Real(File);

    impl Real {
        pub(super) fn take() -> io::Result<Self> {
            // Above the three standard ones, and not inherited by children.
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

    /// The standard output as it is.
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

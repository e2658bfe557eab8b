//! Standard input and output.
//!
//! On Linux a pipe is opened once more through `/proc`, in non-blocking mode, so that tokio can wait for it along with
//! everything else. The new descriptor has flags of its own: the original one, which other processes may share, stays
//! in blocking mode.
//!
//! Everything else (a socket, which is what Node.js clients provide, a file, a terminal, another system) is read and
//! written by a thread of its own. tokio's blocking pool would do as well, except that a runtime waits for its pool when
//! it is dropped: with `tokio::io::stdin` a server that wants to exit hangs until the client sends one more line.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
#[cfg(target_os = "linux")]
use tokio::net::unix::pipe;
use wireline::aio::{BlockingReader, BlockingWriter, Source, Target};
use wireline::stdio::claim;

use crate::LineTransport;

/// Creates a transport on the process's standard input and output.
///
/// ```no_run
/// use rmcp::{ServerHandler, ServiceExt};
///
/// struct Server;
/// impl ServerHandler for Server {}
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     println!("this goes to stdout");
///     let transport = wireline_rmcp::stdio()?;
///     println!("this goes to stderr");
///     Server.serve(transport).await?.waiting().await?;
///     Ok(())
/// }
/// ```
///
/// Standard output is [claimed](wireline::stdio::claim) for the rest of the process: file descriptor 1 leads to stderr,
/// so a stray `println!`, a C library's `printf` or a child process cannot corrupt the protocol. That holds even after
/// the transport is closed, since the client may still be reading. (Only Unix has descriptors to redirect. On Windows
/// stray prints still reach the client.)
///
/// # Errors
///
/// Fails with [`AlreadyExists`](io::ErrorKind::AlreadyExists) if standard input or output has been claimed before. Fails
/// as well if descriptor 1 is closed, or if a thread cannot be started.
///
/// # Panics
///
/// Panics outside of a tokio runtime with I/O enabled.
pub fn stdio() -> io::Result<LineTransport<Stdin, Stdout>> {
    let stdout = Stdout::claim()?;
    let stdin = Stdin::claim()?;
    Ok(LineTransport::new(stdin, stdout))
}

/// The reader of a [`stdio()`] transport.
pub struct Stdin(StdinKind);

enum StdinKind {
    #[cfg(target_os = "linux")]
    Pipe(pipe::Receiver),
    Thread(BlockingReader),
}

impl Stdin {
    fn claim() -> io::Result<Self> {
        // For good: a thread that waits for standard input cannot be stopped, and would take the next line.
        static CLAIMED: AtomicBool = AtomicBool::new(false);

        if CLAIMED.swap(true, Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "standard input is already claimed"));
        }
        #[cfg(target_os = "linux")]
        if let Ok(pipe) = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
            return Ok(Self(StdinKind::Pipe(pipe)));
        }
        Ok(Self(StdinKind::Thread(BlockingReader::new(io::stdin())?)))
    }
}

/// The writer of a [`stdio()`] transport.
pub struct Stdout(StdoutKind);

enum StdoutKind {
    #[cfg(target_os = "linux")]
    Pipe(pipe::Sender),
    Thread(BlockingWriter),
}

impl Stdout {
    fn claim() -> io::Result<Self> {
        let stdout = claim()?;
        #[cfg(target_os = "linux")]
        if let Ok(pipe) = reopen(&stdout) {
            return Ok(Self(StdoutKind::Pipe(pipe)));
        }
        Ok(Self(StdoutKind::Thread(BlockingWriter::new(stdout)?)))
    }
}

#[cfg(target_os = "linux")]
fn reopen(stdout: &wireline::stdio::Stdout) -> io::Result<pipe::Sender> {
    use std::os::fd::{AsFd, AsRawFd};

    let descriptor = stdout.as_fd().as_raw_fd();
    pipe::OpenOptions::new().open_sender(format!("/proc/self/fd/{descriptor}"))
}

impl AsyncRead for Stdin {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            #[cfg(target_os = "linux")]
            StdinKind::Pipe(pipe) => Pin::new(pipe).poll_read(cx, buf),
            StdinKind::Thread(reader) => {
                let len = ready!(reader.poll_read(cx, buf.initialize_unfilled()))?;
                buf.advance(len);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for Stdout {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().0 {
            #[cfg(target_os = "linux")]
            StdoutKind::Pipe(pipe) => Pin::new(pipe).poll_write(cx, bytes),
            StdoutKind::Thread(writer) => writer.poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            #[cfg(target_os = "linux")]
            StdoutKind::Pipe(pipe) => Pin::new(pipe).poll_flush(cx),
            StdoutKind::Thread(writer) => writer.poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            #[cfg(target_os = "linux")]
            StdoutKind::Pipe(pipe) => Pin::new(pipe).poll_shutdown(cx),
            StdoutKind::Thread(writer) => writer.poll_close(cx),
        }
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdin").finish_non_exhaustive()
    }
}

impl fmt::Debug for Stdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdout").finish_non_exhaustive()
    }
}

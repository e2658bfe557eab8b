//! Standard input and output.
//!
//! Each stream has a thread of its own that does the blocking calls, rather than tokio's pool. A runtime waits for its
//! pool when it is dropped, so with `tokio::io::stdin` a server that wants to exit hangs until the client sends one
//! more line. The threads also work for whatever the client has put there (a pipe, a socket, a file, a terminal) and
//! leave the descriptors in blocking mode, which matters because other processes may share them.

use std::fmt;
use std::io::{self, Read, Write};
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as blocking;
use std::task::{Context, Poll, ready};
use std::thread;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio_util::bytes::Bytes;
use wireline::stdio::claim;

use crate::LineTransport;

/// The most that is read or written at once: what a pipe holds on Linux.
const CHUNK: usize = 64 << 10;

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
/// Standard output is [claimed](wireline::stdio::claim) for the rest of the process: file descriptor 1 points at stderr,
/// so a stray `println!`, a C library's `printf` or a child process cannot corrupt the protocol. That holds even after
/// the transport is closed, since the client may still be reading. (Only Unix has descriptors to redirect. On Windows
/// stray prints still reach the client.)
///
/// # Errors
///
/// Fails with [`AlreadyExists`](io::ErrorKind::AlreadyExists) on a second call, because a thread that waits for
/// standard input cannot be stopped and would take the next line away from the second transport. Fails as well if
/// standard output or stderr is closed, or if a thread cannot be started.
pub fn stdio() -> io::Result<LineTransport<Stdin, Stdout>> {
    let stdout = Stdout::claim()?;
    let stdin = Stdin::claim()?;
    Ok(LineTransport::new(stdin, stdout))
}

/// The reader of a [`stdio`] transport.
pub struct Stdin {
    /// One chunk waits here at most, and the thread holds another.
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    /// What has not been read of the last chunk.
    rest: Bytes,
}

impl Stdin {
    fn claim() -> io::Result<Self> {
        static CLAIMED: AtomicBool = AtomicBool::new(false);

        if CLAIMED.swap(true, Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "standard input is already claimed"));
        }
        let (sender, chunks) = mpsc::channel(1);
        thread::Builder::new()
            .name("stdin".into())
            .spawn(move || read_chunks(&sender))
            .inspect_err(|_| CLAIMED.store(false, Ordering::Relaxed))?;
        Ok(Self { chunks, rest: Bytes::new() })
    }
}

fn read_chunks(chunks: &mpsc::Sender<io::Result<Bytes>>) {
    let mut stdin = io::stdin().lock();
    let mut buffer = vec![0; CHUNK];
    loop {
        let chunk = match stdin.read(&mut buffer) {
            Ok(0) => return,
            Ok(len) => Ok(Bytes::copy_from_slice(&buffer[..len])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = chunk.is_err();
        if chunks.blocking_send(chunk).is_err() || failed {
            return;
        }
    }
}

impl AsyncRead for Stdin {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            match ready!(self.chunks.poll_recv(cx)) {
                Some(chunk) => self.rest = chunk?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let len = self.rest.len().min(buf.remaining());
        buf.put_slice(&self.rest.split_to(len));
        Poll::Ready(Ok(()))
    }
}

/// The writer of a [`stdio`] transport.
///
/// A write completes when its bytes are on their way to the thread, a flush when the thread has written them. An error
/// is therefore returned by the call after the write that failed.
pub struct Stdout {
    /// To the thread; `None` once shut down.
    chunks: Option<blocking::Sender<Vec<u8>>>,
    /// From the thread: each chunk's outcome, and the chunk itself to be used again.
    written: mpsc::UnboundedReceiver<(io::Result<()>, Vec<u8>)>,
    /// The chunk, unless the thread has it.
    chunk: Option<Vec<u8>>,
}

impl Stdout {
    fn claim() -> io::Result<Self> {
        let mut stdout = claim()?;
        let (chunks, receiver) = blocking::channel::<Vec<u8>>();
        let (sender, written) = mpsc::unbounded_channel();
        thread::Builder::new().name("stdout".into()).spawn(move || {
            for chunk in receiver {
                let outcome = stdout.write_all(&chunk).and_then(|()| stdout.flush());
                // Nobody is left to hear of it if the transport was dropped.
                let _ = sender.send((outcome, chunk));
            }
            // Dropping it would let stray prints reach a client that still reads.
            mem::forget(stdout);
        })?;
        Ok(Self { chunks: Some(chunks), written, chunk: Some(Vec::new()) })
    }

    /// Waits until the thread has written its chunk.
    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.chunk.is_some() {
            return Poll::Ready(Ok(()));
        }
        let (outcome, mut chunk) = ready!(self.written.poll_recv(cx)).ok_or(io::ErrorKind::BrokenPipe)?;
        chunk.clear();
        self.chunk = Some(chunk);
        Poll::Ready(outcome)
    }
}

impl AsyncWrite for Stdout {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_written(cx))?;
        let bytes = &bytes[..bytes.len().min(CHUNK)];
        let mut chunk = mem::take(&mut self.chunk).unwrap_or_default();
        chunk.extend_from_slice(bytes);
        let sent = self.chunks.as_ref().is_some_and(|chunks| chunks.send(chunk).is_ok());
        Poll::Ready(if sent { Ok(bytes.len()) } else { Err(io::ErrorKind::BrokenPipe.into()) })
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_written(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let written = ready!(self.poll_written(cx));
        self.chunks = None;
        Poll::Ready(written)
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

//! A blocking stream behind a thread of its own.

use std::io::{self, Read, Write};
use std::mem;
use std::pin::Pin;
use std::sync::mpsc as blocking;
use std::task::{Context, Poll, ready};
use std::thread;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

/// The most that is read or written at once: what a pipe holds on Linux.
const CHUNK: usize = 64 << 10;

/// Reads on a thread, one chunk ahead.
pub(super) struct Reader {
    /// One chunk waits here at most, and the thread holds another.
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    /// What has not been read of the last chunk.
    rest: Bytes,
}

impl Reader {
    /// `open` runs on the thread, so what it returns need not be `Send`.
    pub(super) fn new<R: Read>(open: impl FnOnce() -> R + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(1);
        thread::Builder::new().name("stdin".into()).spawn(move || read_chunks(open(), &sender))?;
        Ok(Self { chunks, rest: Bytes::new() })
    }
}

fn read_chunks(mut reader: impl Read, chunks: &mpsc::Sender<io::Result<Bytes>>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let chunk = match reader.read(&mut buffer) {
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

impl AsyncRead for Reader {
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

/// Writes on a thread.
///
/// A write completes when its bytes are on their way to the thread, a flush when the thread has written them. An error
/// is therefore returned by the call after the write that failed.
pub(super) struct Writer {
    /// To the thread; `None` once shut down.
    chunks: Option<blocking::Sender<Vec<u8>>>,
    /// From the thread: each chunk's outcome, and the chunk itself to be used again.
    written: mpsc::UnboundedReceiver<(io::Result<()>, Vec<u8>)>,
    /// The chunk, unless the thread has it.
    chunk: Option<Vec<u8>>,
}

impl Writer {
    /// The writer is never dropped.
    pub(super) fn new(writer: impl Write + Send + 'static) -> io::Result<Self> {
        let mut writer = mem::ManuallyDrop::new(writer);
        let (chunks, receiver) = blocking::channel::<Vec<u8>>();
        let (sender, written) = mpsc::unbounded_channel();
        thread::Builder::new().name("stdout".into()).spawn(move || {
            for chunk in receiver {
                let outcome = writer.write_all(&chunk).and_then(|()| writer.flush());
                // Nobody is left to hear of it if the transport was dropped.
                let _ = sender.send((outcome, chunk));
            }
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

impl AsyncWrite for Writer {
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

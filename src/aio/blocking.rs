//! Blocking streams, read or written by a thread.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::task::{Context, Poll};
use std::thread;

use crate::connection::block_on;
use crate::pipe::{PipeReader, PipeWriter, pipe};

use super::traits::{Source, Target};

/// How many bytes may be buffered between the thread and the connection.
const CAPACITY: usize = 64 << 10;

/// A blocking reader, such as stdin, that a thread reads.
///
/// The thread reads ahead by up to 64 KiB. A blocked read can't be interrupted: if this is dropped meanwhile, the
/// thread stays until the next byte arrives or the process exits. It doesn't keep the process or a runtime from
/// exiting.
pub struct BlockingReader {
    pipe: PipeReader,
}

impl BlockingReader {
    /// Starts a thread that reads.
    ///
    /// # Errors
    ///
    /// The system can't start a thread.
    pub fn new(reader: impl Read + Send + 'static) -> io::Result<Self> {
        let (writer, pipe) = pipe(CAPACITY);
        thread::Builder::new().name("wireline reader".to_owned()).spawn(|| read(reader, writer))?;
        Ok(Self { pipe })
    }
}

fn read(mut reader: impl Read, mut pipe: PipeWriter) {
    let mut buffer = vec![0; CAPACITY];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return,
            Ok(len) => {
                let mut bytes = &buffer[..len];
                while !bytes.is_empty() {
                    match block_on(poll_fn(|cx| pipe.poll_write(cx, bytes))) {
                        Ok(len) => bytes = &bytes[len..],
                        Err(_) => return,
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return pipe.end(Some(error.kind())),
        }
    }
}

impl Source for BlockingReader {
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        self.pipe.poll_read(cx, room)
    }
}

impl fmt::Debug for BlockingReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingReader").finish_non_exhaustive()
    }
}

/// A blocking writer, such as a claimed stdout, that a thread writes to.
///
/// Flushing and closing wait until the thread has written everything. If this is dropped earlier, the thread still
/// writes the remaining bytes, unless the process exits first.
pub struct BlockingWriter {
    /// `None` once it is closed.
    pipe: Option<PipeWriter>,
}

impl BlockingWriter {
    /// Starts a thread that writes.
    ///
    /// # Errors
    ///
    /// The system can't start a thread.
    pub fn new(writer: impl Write + Send + 'static) -> io::Result<Self> {
        let (pipe, reader) = pipe(CAPACITY);
        thread::Builder::new().name("wireline writer".to_owned()).spawn(|| write(reader, writer))?;
        Ok(Self { pipe: Some(pipe) })
    }
}

fn write(mut pipe: PipeReader, mut writer: impl Write) {
    let mut bytes = Vec::new();
    loop {
        block_on(poll_fn(|cx| pipe.poll_peek(cx, &mut bytes)));
        if bytes.is_empty() {
            return drop(writer);
        }
        // The bytes stay in the pipe until they are written, because flushing waits until the pipe is empty.
        if let Err(error) = writer.write_all(&bytes).and_then(|()| writer.flush()) {
            return pipe.fail(error.kind());
        }
        pipe.consume(bytes.len());
    }
}

impl Target for BlockingWriter {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.pipe {
            Some(pipe) => pipe.poll_write(cx, bytes),
            None => Poll::Ready(Err(ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pipe.as_mut().map_or(Poll::Ready(Ok(())), |pipe| pipe.poll_flush(cx))
    }

    /// Waits until the thread has written everything and dropped the writer.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(pipe) = &mut self.pipe else { return Poll::Ready(Ok(())) };
        pipe.end(None);
        let closed = pipe.poll_broken(cx);
        if closed.is_ready() {
            self.pipe = None;
        }
        closed
    }
}

impl fmt::Debug for BlockingWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingWriter").finish_non_exhaustive()
    }
}

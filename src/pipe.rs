//! A bounded in-memory pipe between two threads or tasks.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::sync::{Mutex, MutexGuard};

/// A pipe that holds at most `capacity` bytes.
pub(crate) fn pipe(capacity: usize) -> (PipeWriter, PipeReader) {
    let shared = Arc::new(SharedPipe { capacity: capacity.max(1), state: Mutex::default() });
    (PipeWriter { shared: Arc::clone(&shared) }, PipeReader { shared })
}

struct SharedPipe {
    capacity: usize,
    state: Mutex<PipeState>,
}

#[derive(Default)]
struct PipeState {
    bytes: VecDeque<u8>,
    /// Set once the writer has ended the stream, perhaps with an error.
    end: Option<Option<ErrorKind>>,
    /// Set once the reader is gone or has failed: the error for further writes.
    broken: Option<ErrorKind>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl SharedPipe {
    fn state(&self) -> MutexGuard<'_, PipeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Releases the lock, and then wakes the waker, if there is one.
fn wake(state: MutexGuard<'_, PipeState>, waker: Option<Waker>) {
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The writing end. Dropping it ends the stream.
pub(crate) struct PipeWriter {
    shared: Arc<SharedPipe>,
}

impl PipeWriter {
    /// Writes as many of `bytes` as there is room for.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.shared.state();
        if let Some(kind) = state.broken {
            return Poll::Ready(Err(kind.into()));
        }
        let room = self.shared.capacity.saturating_sub(state.bytes.len());
        if room == 0 && !bytes.is_empty() {
            state.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let len = room.min(bytes.len());
        state.bytes.extend(&bytes[..len]);
        let reader = state.reader.take();
        wake(state, reader);
        Poll::Ready(Ok(len))
    }

    /// Ready when all bytes have been read.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.shared.state();
        match state.broken {
            _ if state.bytes.is_empty() => Poll::Ready(Ok(())),
            Some(kind) => Poll::Ready(Err(kind.into())),
            None => {
                state.writer = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Ready when the reader is gone. Returns an error if it hasn't read all bytes.
    pub(crate) fn poll_broken(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.shared.state();
        match state.broken {
            Some(_) if state.bytes.is_empty() => Poll::Ready(Ok(())),
            Some(kind) => Poll::Ready(Err(kind.into())),
            None => {
                state.writer = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Ends the stream after the bytes written so far, with an error if one is given.
    pub(crate) fn end(&mut self, error: Option<ErrorKind>) {
        let mut state = self.shared.state();
        state.end.get_or_insert(error);
        let reader = state.reader.take();
        wake(state, reader);
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.end(None);
    }
}

/// The reading end. Once it is dropped, writing fails.
pub(crate) struct PipeReader {
    shared: Arc<SharedPipe>,
}

impl PipeReader {
    /// Reads into `room`. Returns 0 at the end of the stream.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut state = self.shared.state();
        if state.bytes.is_empty() && !room.is_empty() {
            match &mut state.end {
                None => {
                    state.reader = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                Some(error) => return Poll::Ready(error.take().map_or(Ok(0), |kind| Err(kind.into()))),
            }
        }
        let len = room.len().min(state.bytes.len());
        for (place, byte) in room.iter_mut().zip(state.bytes.drain(..len)) {
            *place = byte;
        }
        let writer = state.writer.take();
        wake(state, writer);
        Poll::Ready(Ok(len))
    }

    /// Copies the next bytes without consuming them. `copy` is empty at the end of the stream.
    pub(crate) fn poll_peek(&mut self, cx: &mut Context<'_>, copy: &mut Vec<u8>) -> Poll<()> {
        let mut state = self.shared.state();
        if state.bytes.is_empty() && state.end.is_none() {
            state.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        copy.clear();
        copy.extend(state.bytes.as_slices().0);
        Poll::Ready(())
    }

    /// Removes the first `len` bytes.
    pub(crate) fn consume(&mut self, len: usize) {
        let mut state = self.shared.state();
        let len = len.min(state.bytes.len());
        state.bytes.drain(..len);
        let writer = state.writer.take();
        wake(state, writer);
    }

    /// Fails all further writes.
    pub(crate) fn fail(&mut self, kind: ErrorKind) {
        let mut state = self.shared.state();
        state.broken.get_or_insert(kind);
        let writer = state.writer.take();
        wake(state, writer);
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        self.fail(ErrorKind::BrokenPipe);
    }
}

#[cfg(all(test, wireline_loom))]
mod models {
    use std::future::poll_fn;

    use loom::future::block_on;

    use super::*;
    use crate::sync::{check, spawn};

    #[test]
    fn every_byte_arrives() {
        check("a writer that waits for room, flushes and ends", 2, || {
            let (mut writer, mut reader) = pipe(1);
            let writing = spawn(move || {
                for byte in [1, 2] {
                    assert_eq!(block_on(poll_fn(|cx| writer.poll_write(cx, &[byte]))).unwrap(), 1);
                }
                block_on(poll_fn(|cx| writer.poll_flush(cx))).unwrap();
            });
            let (mut bytes, mut room) = (Vec::new(), [0; 4]);
            loop {
                match block_on(poll_fn(|cx| reader.poll_read(cx, &mut room))).unwrap() {
                    0 => break,
                    len => bytes.extend_from_slice(&room[..len]),
                }
            }
            assert_eq!(bytes, [1, 2]);
            writing.join().unwrap();
        });
    }

    #[test]
    fn a_writer_notices_that_its_reader_is_gone() {
        check("a reader that leaves", 2, || {
            let (mut writer, reader) = pipe(1);
            let reading = spawn(move || drop(reader));
            let written = block_on(poll_fn(|cx| writer.poll_write(cx, &[1])));
            match written {
                Ok(_) => assert!(block_on(poll_fn(|cx| writer.poll_write(cx, &[2]))).is_err()),
                Err(error) => assert_eq!(error.kind(), ErrorKind::BrokenPipe),
            }
            reading.join().unwrap();
        });
    }
}

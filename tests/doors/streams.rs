//! The two ends of a connection, with the traits of every driver.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use wireline::aio::{Source, Target};

/// The peer's bytes, a few at a time.
#[derive(Clone)]
pub(crate) struct Feed {
    bytes: Arc<[u8]>,
    read: usize,
    size: usize,
}

impl Feed {
    pub(crate) fn new(bytes: &[u8], size: usize) -> Self {
        Self { bytes: bytes.into(), read: 0, size }
    }
}

impl Read for Feed {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let len = room.len().min(self.size).min(self.bytes.len() - self.read);
        room[..len].copy_from_slice(&self.bytes[self.read..][..len]);
        self.read += len;
        Ok(len)
    }
}

impl Source for Feed {
    fn poll_read(&mut self, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.read(room))
    }
}

/// What the peer reads. It may be asleep for a while, and the stream may break.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Mutex<State>>);

struct State {
    taken: Vec<u8>,
    /// The most bytes that one write takes.
    size: usize,
    /// For so many writes, the peer doesn't read.
    asleep: usize,
    /// How many bytes it takes before it breaks.
    room: usize,
    is_closed: bool,
}

impl Wire {
    pub(crate) fn new(size: usize) -> Self {
        let state = State { taken: Vec::new(), size, asleep: 0, room: usize::MAX, is_closed: false };
        Self(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn sleep(&self, writes: usize) {
        self.state().asleep = writes;
    }

    pub(crate) fn break_after(&self, bytes: usize) {
        self.state().room = bytes;
    }

    /// Everything that was written.
    pub(crate) fn taken(&self) -> Vec<u8> {
        self.state().taken.clone()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// `None` while the peer doesn't read.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> Option<io::Result<usize>> {
        let mut state = self.state();
        if state.asleep > 0 {
            state.asleep -= 1;
            return None;
        }
        let len = bytes.len().min(state.size).min(state.room);
        if len == 0 {
            return Some(Err(ErrorKind::BrokenPipe.into()));
        }
        state.room -= len;
        state.taken.extend_from_slice(&bytes[..len]);
        Some(Ok(len))
    }

    fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.try_write(bytes) {
            Some(written) => Poll::Ready(written),
            None => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    fn close(&self) {
        self.state().is_closed = true;
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.try_write(bytes) {
                Some(written) => return written,
                None => thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Target for Wire {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Self::poll_write(self, cx, bytes)
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close();
        Poll::Ready(Ok(()))
    }
}

#[cfg(feature = "tokio")]
mod on_tokio {
    use std::pin::Pin;

    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

    use super::*;

    impl AsyncRead for Feed {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let len = self.read(room.initialize_unfilled())?;
            room.advance(len);
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Wire {
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            Wire::poll_write(&self, cx, bytes)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.close();
            Poll::Ready(Ok(()))
        }
    }
}

#[cfg(feature = "futures-io")]
mod on_futures {
    use std::pin::Pin;

    use futures_io::{AsyncRead, AsyncWrite};

    use super::*;

    impl AsyncRead for Feed {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(self.read(room))
        }
    }

    impl AsyncWrite for Wire {
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            Wire::poll_write(&self, cx, bytes)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.close();
            Poll::Ready(Ok(()))
        }
    }
}

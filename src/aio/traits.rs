//! Streams to read from and write to, with adapters for tokio's traits and those of futures-io.

use std::io;
#[cfg(any(feature = "futures-io", feature = "tokio"))]
use std::pin::Pin;
#[cfg(any(feature = "futures-io", feature = "tokio"))]
use std::task::ready;
use std::task::{Context, Poll};

/// Something to read from.
///
/// ```
/// use std::io;
/// use std::task::{Context, Poll};
/// use wireline::aio::Source;
///
/// /// A serial port of some embedded system.
/// struct Port(&'static [u8]);
///
/// impl Source for Port {
///     fn poll_read(&mut self, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
///         Poll::Ready(io::Read::read(&mut self.0, room))
///     }
/// }
/// ```
pub trait Source {
    /// Reads into `room`, which isn't empty, and returns the number of bytes read, or 0 at the end of the stream. If no
    /// bytes are available yet, registers the task to be woken when some may be.
    ///
    /// # Errors
    ///
    /// The stream failed. Nothing has been read.
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>>;
}

/// Something to write to.
pub trait Target {
    /// Writes some of `bytes`, and returns how many. If there is no room, registers the task to be woken when there is.
    ///
    /// # Errors
    ///
    /// The stream failed.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Flushes buffered bytes.
    ///
    /// # Errors
    ///
    /// The stream failed.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Flushes buffered bytes and closes the stream.
    ///
    /// # Errors
    ///
    /// The stream failed.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// Wraps a stream with tokio's traits, such as half of a socket, or the stdin or stdout of a `tokio::process::Child`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use wireline::Rules;
/// use wireline::aio::{Connection, Tokio};
///
/// # let (stream, _other) = tokio::io::duplex(1000);
/// let (reader, writer) = tokio::io::split(stream); // or a socket's `into_split`
/// let (peer, connection) = Connection::new(Tokio(reader), Tokio(writer), Rules::mcp());
/// # let _ = (peer, connection);
/// # }
/// ```
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, Debug)]
pub struct Tokio<T>(pub T);

#[cfg(feature = "tokio")]
impl<T: tokio::io::AsyncRead + Unpin> Source for Tokio<T> {
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = tokio::io::ReadBuf::new(room);
        ready!(Pin::new(&mut self.0).poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

#[cfg(feature = "tokio")]
impl<T: tokio::io::AsyncWrite + Unpin> Target for Tokio<T> {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Wraps a stream with the traits of futures-io, which smol and async-std use.
#[cfg(feature = "futures-io")]
#[derive(Clone, Copy, Debug)]
pub struct Futures<T>(pub T);

#[cfg(feature = "futures-io")]
impl<T: futures_io::AsyncRead + Unpin> Source for Futures<T> {
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let read = ready!(Pin::new(&mut self.0).poll_read(cx, room))?;
        Poll::Ready(Ok(read))
    }
}

#[cfg(feature = "futures-io")]
impl<T: futures_io::AsyncWrite + Unpin> Target for Futures<T> {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

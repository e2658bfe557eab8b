//! Sockets, whose two directions are closed separately.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;

/// A socket, for [`Connection::over`](super::Connection::over): a TCP stream, a Unix stream, or your own.
///
/// Dropping a pipe closes it. A socket stays open because of the second handle that reads, so its writing side has to
/// be shut down.
pub trait Socket: Read + Write + Send + Sized + 'static {
    /// Another handle to the same socket.
    ///
    /// # Errors
    ///
    /// The system has no more handles.
    fn try_clone(&self) -> io::Result<Self>;

    /// Ends the outgoing stream. The peer can still be read from.
    ///
    /// # Errors
    ///
    /// The connection is broken.
    fn shutdown_write(&self) -> io::Result<()>;
}

impl Socket for TcpStream {
    fn try_clone(&self) -> io::Result<Self> {
        Self::try_clone(self)
    }

    fn shutdown_write(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

#[cfg(unix)]
impl Socket for UnixStream {
    fn try_clone(&self) -> io::Result<Self> {
        Self::try_clone(self)
    }

    fn shutdown_write(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// The writing side of a socket, which is shut down when it is dropped.
pub(super) struct WritingSide<S: Socket>(pub(super) S);

impl<S: Socket> Write for WritingSide<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<S: Socket> Drop for WritingSide<S> {
    fn drop(&mut self) {
        // If that fails, the connection is broken, so the stream has ended anyway.
        let _ = self.0.shutdown_write();
    }
}

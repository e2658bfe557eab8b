//! A source that may end early.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::traits::Source;

/// A source that also ends once a future is ready and there is nothing left to read.
///
/// After a server has exited, its stdout may stay open because a process that it started has inherited it. Without an
/// early end, calls would then wait forever:
///
/// ```
/// # #[cfg(all(unix, feature = "process", feature = "tokio"))]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use std::time::Duration;
/// use tokio::process::{ChildStdin, ChildStdout};
/// use wireline::Rules;
/// use wireline::aio::{Connection, ReadUntil, Tokio};
/// use wireline::process::Child;
///
/// let mut server = Child::spawn(std::process::Command::new("sh").arg("-c").arg("setsid sleep 5 & exit 3"))?;
/// let (Some(stdout), Some(stdin)) = (server.take_stdout(), server.take_stdin()) else { unreachable!() };
/// let exited = server.exited();
/// let stdout = ReadUntil::new(Tokio(ChildStdout::from_std(stdout)?), async {
///     exited.await;
///     tokio::time::sleep(Duration::from_millis(100)).await;
/// });
/// let (peer, connection) = Connection::new(stdout, Tokio(ChildStdin::from_std(stdin)?), Rules::mcp());
/// let (_, reply) = tokio::join!(connection.run(), peer.call::<()>("ping", &()));
/// assert!(reply.is_err());
/// # Ok(())
/// # }
/// # #[cfg(not(all(unix, feature = "process", feature = "tokio")))]
/// # fn main() {}
/// ```
pub struct ReadUntil<S> {
    source: S,
    end: End,
}

enum End {
    Never,
    When(Pin<Box<dyn Future<Output = ()> + Send>>),
    Now,
}

impl<S> ReadUntil<S> {
    /// A source that ends when `source` does, or when `end` is ready and `source` has nothing to read.
    #[must_use]
    pub fn new(source: S, end: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { source, end: End::When(Box::pin(end)) }
    }

    /// A source that ends when `source` does.
    #[must_use]
    pub fn end(source: S) -> Self {
        Self { source, end: End::Never }
    }
}

impl<S: Source> Source for ReadUntil<S> {
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        if let Poll::Ready(read) = self.source.poll_read(cx, room) {
            return Poll::Ready(read);
        }
        match &mut self.end {
            End::Never => return Poll::Pending,
            End::When(end) => {
                ready!(end.as_mut().poll(cx));
                self.end = End::Now;
            }
            End::Now => {}
        }
        Poll::Ready(Ok(0))
    }
}

impl<S: fmt::Debug> fmt::Debug for ReadUntil<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadUntil").field("source", &self.source).finish_non_exhaustive()
    }
}

//! The half that receives, and does the writing meanwhile.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use jsonrpsee_core::client::{ReceivedMessage, TransportReceiverT};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Sleep, sleep, timeout};
use wireline::aio::{Connection, ReadUntil, Tokio};

use crate::Disconnected;
use crate::calls::Call;
#[cfg(feature = "child-process")]
use crate::child_process::Keeper;
use crate::link::Link;

/// How long to go on reading after writing has failed. A server that has exited may have answered before.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long a server may take to read what was sent to it before the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The connection to a server.
pub(crate) type Lines<R> = Connection<ReadUntil<Tokio<R>>, Tokio<Box<dyn AsyncWrite + Unpin + Send>>, Call>;

/// Receives what a server says, as far as it makes sense for a client, and writes what is sent to it meanwhile.
pub struct Receiver<R: AsyncRead + Unpin + Send + 'static> {
    /// Until it is dropped.
    open: Option<Open<R>>,
    link: Arc<Link>,
}

struct Open<R> {
    connection: Lines<R>,
    write_failure: Option<WriteFailure>,
    #[cfg(feature = "child-process")]
    keeper: Option<Keeper>,
}

/// Writing has failed.
struct WriteFailure {
    error: io::Error,
    /// Until then, whatever the server sends is still received.
    last_words: Pin<Box<Sleep>>,
}

impl WriteFailure {
    fn new() -> Self {
        Self { error: io::ErrorKind::BrokenPipe.into(), last_words: Box::pin(sleep(LAST_WORDS)) }
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Receiver<R> {
    pub(crate) fn new(connection: Lines<R>, link: Arc<Link>) -> Self {
        let open = Open {
            connection,
            write_failure: None,
            #[cfg(feature = "child-process")]
            keeper: None,
        };
        Self { open: Some(open), link }
    }

    /// Ends the child process in the end.
    #[cfg(feature = "child-process")]
    pub(crate) fn keep(&mut self, keeper: Keeper) {
        if let Some(open) = &mut self.open {
            open.keeper = Some(keeper);
        }
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> TransportReceiverT for Receiver<R> {
    type Error = Disconnected;

    /// Nothing is lost if the future is dropped before it is done.
    async fn receive(&mut self) -> Result<ReceivedMessage, Disconnected> {
        let ended = loop {
            if let Some(message) = self.link.next_ready() {
                return Ok(message);
            }
            let Some(open) = &mut self.open else { break Disconnected::Closed };
            tokio::select! {
                biased;
                () = self.link.news() => {}
                accepted = poll_fn(|cx| open.poll_accept(cx, &self.link)) => match accepted {
                    Ok(true) => {}
                    Ok(false) => break open.why(Disconnected::Closed, &self.link).await,
                    Err(ended) => break open.why(ended, &self.link).await,
                },
            }
        };
        self.link.end();
        Err(ended)
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Open<R> {
    /// Ready when an event was accepted (true), or the stream has ended (false).
    fn poll_accept(&mut self, cx: &mut Context<'_>, link: &Link) -> Poll<Result<bool, Disconnected>> {
        let Self { connection, write_failure, .. } = self;
        let line = loop {
            let polled = pin!(connection.next_incoming()).poll(cx);
            match polled.map_ok(|event| event.map(|event| link.accept(event))) {
                Poll::Ready(Ok(Some(line))) => break line,
                Poll::Ready(Ok(None)) => return Poll::Ready(Ok(false)),
                Poll::Ready(Err(error)) if connection.can_write() => {
                    return Poll::Ready(Err(Disconnected::Read(error)));
                }
                // It is reported once no response is awaited. The server may say more all the same.
                Poll::Ready(Err(error)) => write_failure.get_or_insert_with(WriteFailure::new).error = error,
                Poll::Pending if connection.can_write() => return Poll::Pending,
                Poll::Pending => {
                    let failure = write_failure.get_or_insert_with(WriteFailure::new);
                    ready!(failure.last_words.as_mut().poll(cx));
                    let error = mem::replace(&mut failure.error, io::ErrorKind::BrokenPipe.into());
                    return Poll::Ready(Err(Disconnected::Write(error)));
                }
            }
        };
        match line.and_then(|line| connection.entries_left(line)) {
            Some(1..) => {}
            left => link.end_of_line(left.is_some()),
        }
        Poll::Ready(Ok(true))
    }

    /// Why the stream has ended: a child's exit explains more than what `ended` says.
    #[cfg_attr(
        not(feature = "child-process"),
        expect(clippy::unused_async, unused_variables, reason = "nothing exits")
    )]
    async fn why(&mut self, ended: Disconnected, link: &Link) -> Disconnected {
        #[cfg(feature = "child-process")]
        if let Some(keeper) = &mut self.keeper
            && let Some(status) = keeper.status_soon(link).await
        {
            return Disconnected::Exited(status);
        }
        ended
    }

    /// Writes what was sent, for a while, and ends the stream. Then a child process has to exit.
    async fn close(self, link: Arc<Link>) {
        let Self { mut connection, .. } = self;
        #[cfg(feature = "child-process")]
        if let Some(mut keeper) = self.keeper {
            let exited = keeper.exited();
            let read = async {
                end(&mut connection, &link).await;
                // With nobody to read what it prints, it might block before it notices the end of its input.
                discard(&mut connection).await;
            };
            let read = async {
                tokio::select! {
                    () = read => {}
                    _ = exited => {}
                }
            };
            tokio::join!(keeper.end(&link), read);
            return;
        }
        let _ = timeout(CLOSE_TIMEOUT, end(&mut connection, &link)).await;
    }
}

/// Writes what was sent, and ends the stream.
async fn end<R: AsyncRead + Unpin>(connection: &mut Lines<R>, link: &Link) {
    tokio::select! {
        () = link.sending_ended() => {}
        () = discard(connection) => {}
    }
    // If this fails, there is nobody left to be told.
    let _ = connection.finish().await;
}

/// Discards what arrives, until the end of the stream.
async fn discard<R: AsyncRead + Unpin>(connection: &mut Lines<R>) {
    while let Ok(Some(_)) = connection.next_event().await {}
}

impl<R: AsyncRead + Unpin + Send + 'static> Drop for Receiver<R> {
    fn drop(&mut self) {
        self.link.end();
        let runtime = tokio::runtime::Handle::try_current();
        if let (Some(open), Ok(runtime)) = (self.open.take(), runtime) {
            runtime.spawn(open.close(Arc::clone(&self.link)));
        }
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> fmt::Debug for Receiver<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("link", &self.link).finish_non_exhaustive()
    }
}

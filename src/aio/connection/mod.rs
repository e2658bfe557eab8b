//! A connection over an asynchronous stream.

mod limit;
mod next;
mod serve;

use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::mem;
use std::task::{Context, Poll, Waker, ready};

use crate::connection::{self, Caller, Config, Event, Incident, Lost, Peer, Report, Until, Writable};
use crate::encode::RpcError;
use crate::message::Response;

#[cfg(feature = "stdio")]
use super::blocking::{BlockingReader, BlockingWriter};
use super::traits::{Source, Target};
use limit::Limit;
use next::Next;

/// While there are events to take, outgoing bytes are written once this many are queued.
const WRITE_THRESHOLD: usize = 64 << 10;

/// How many events are handed out before the task yields.
const EVENTS_PER_TURN: u32 = 64;

/// A connection over an asynchronous stream, on any runtime.
///
/// It reads, writes and hands out events in the task that calls [`next`](Self::next), [`serve`](Self::serve) or
/// [`run`](Self::run). Unless one of these is polled, nothing is read or written. No tasks are spawned.
///
/// A client runs it in a task of its own and makes calls through the [`Peer`]:
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use wireline::aio::{Connection, Tokio};
/// use wireline::{RpcError, Rules};
///
/// let (ours, theirs) = tokio::io::duplex(1024);
/// # let (reader, writer) = tokio::io::split(theirs);
/// # let (_, server) = Connection::new(Tokio(reader), Tokio(writer), Rules::json_rpc());
/// # let server = tokio::spawn(server.serve(async |call| match call.method() {
/// #     "add" => call.params::<(i64, i64)>().map(|(a, b)| a + b),
/// #     _ => Err(RpcError::method_not_found()),
/// # }));
/// let (reader, writer) = tokio::io::split(ours);
/// let (peer, connection) = Connection::new(Tokio(reader), Tokio(writer), Rules::json_rpc());
/// tokio::spawn(connection.run());
///
/// let (three, seven) = (peer.call::<i64>("add", &(1, 2)), peer.call::<i64>("add", &(3, 4)));
/// assert_eq!((three.await?, seven.await?), (3, 7));
/// peer.end();
/// # server.await??;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "tokio"))]
/// # fn main() {}
/// ```
///
/// A server gives [`serve`](Self::serve) a handler:
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use wireline::aio::{Connection, Tokio};
/// use wireline::{RpcError, Rules};
///
/// let requests = &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":[1,2]}\n"[..];
/// let mut answers = Vec::new();
/// let (_, connection) = Connection::new(Tokio(requests), Tokio(&mut answers), Rules::json_rpc());
/// connection
///     .serve(async |call| match call.method() {
///         "add" => {
///             let (a, b): (i64, i64) = call.params()?;
///             Ok(a + b)
///         }
///         _ => Err(RpcError::method_not_found()),
///     })
///     .await?;
/// assert_eq!(answers, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n");
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "tokio"))]
/// # fn main() {}
/// ```
///
/// `T` is a value that the connection keeps for each request to the peer. It is usually a [`Caller`], which delivers
/// the response to the [`Reply`](connection::Reply) waiting for it. With [`keeping`](Self::keeping), it can be any
/// value, which is returned with the response.
pub struct Connection<R, W, T = Caller> {
    core: connection::Connection<T>,
    source: R,
    /// `None` once the outgoing stream is closed. Closing a pipe takes dropping it.
    target: Option<W>,
    /// The task that is woken when there is something to write.
    writer: Option<Waker>,
    /// Whether bytes were written since the last flush.
    is_dirty: bool,
    /// Set during each write to `target`. If it is still set later, that write has panicked.
    is_writing: bool,
    /// Why writing failed. Reported once no response is awaited.
    write_error: Option<io::Error>,
    /// How many events may still be handed out before the task yields.
    turn: u32,
    has_yielded: bool,
    /// Runs while there is something to write and the peer doesn't read.
    stall: Option<Limit>,
    /// Runs while responses are still awaited after writing has failed.
    last_words: Option<Limit>,
    concurrency: usize,
    report: Box<Report>,
}

impl<R: Source, W: Target> Connection<R, W> {
    /// A connection that reads from `source` and writes to `target`, and a handle to its other side.
    ///
    /// Put streams with tokio's traits in [`Tokio`](super::Tokio), and those with the traits of futures-io in
    /// [`Futures`](super::Futures).
    #[must_use]
    pub fn new(source: R, target: W, config: impl Into<Config>) -> (Peer<Caller>, Self) {
        Self::keeping(source, target, config)
    }

    /// The next event, or `None` when the stream has ended, every request is answered, and everything is written.
    ///
    /// Responses have already been delivered to their callers. Cancel-safe: no event is lost if the future is dropped.
    ///
    /// ```no_run
    /// # #[cfg(feature = "tokio")]
    /// # async fn handle(request: &wireline::Request<'_>) -> Result<(), wireline::RpcError> { Ok(()) }
    /// # #[cfg(feature = "tokio")]
    /// # async fn example<R: wireline::aio::Source, W: wireline::aio::Target>(
    /// #     mut connection: wireline::aio::Connection<R, W>,
    /// # ) -> std::io::Result<()> {
    /// use wireline::connection::Event;
    ///
    /// while let Some(event) = connection.next().await? {
    ///     if let Event::Request(request, ticket) = event {
    ///         let request = request.into_owned();
    ///         tokio::spawn(async move { ticket.settle(handle(&request).await) }); // a task for each request
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The stream failed. Requests in flight can no longer be answered, and their tickets are cancelled.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "an iterator can't lend its items")]
    pub fn next(&mut self) -> impl Future<Output = io::Result<Option<Event<'_, ()>>>> {
        self.next_with(Caller::deliver)
    }

    /// Delivers responses until the stream ends, for a client that handles no requests. Requests are answered with
    /// "Method not found", and notifications are dropped; to handle them, use [`serve`](Self::serve).
    ///
    /// # Errors
    ///
    /// As for [`next`](Self::next).
    pub async fn run(mut self) -> io::Result<()> {
        let mut report = mem::replace(&mut self.report, Box::new(|_| {}));
        while let Some(event) = self.next().await? {
            match event {
                Event::Request(_, ticket) => ticket.fail(&RpcError::method_not_found()),
                Event::Fault(fault) => report(Incident::Fault(&fault)),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(feature = "stdio")]
impl Connection<BlockingReader, BlockingWriter> {
    /// A connection over stdin and stdout. It [claims](crate::stdio::claim) stdout, so that nothing else can print
    /// there.
    ///
    /// ```no_run
    /// # async fn example() -> std::io::Result<()> {
    /// use wireline::aio::Connection;
    /// use wireline::{RpcError, Rules};
    ///
    /// let (_, connection) = Connection::stdio(Rules::mcp())?;
    /// connection.serve(async |_| Err::<(), _>(RpcError::method_not_found())).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Threads read and write, so this works on any runtime and doesn't keep it from shutting down.
    ///
    /// # Errors
    ///
    /// Stdout can't be claimed, or the system can't start a thread.
    pub fn stdio(config: impl Into<Config>) -> io::Result<(Peer<Caller>, Self)> {
        let (reader, writer) = (BlockingReader::new(io::stdin())?, BlockingWriter::new(crate::stdio::claim()?)?);
        Ok(Self::new(reader, writer, config))
    }
}

impl<R: Source, W: Target, T> Connection<R, W, T> {
    /// A connection that keeps a value of your own for each [request](Peer::request), for adapters and proxies; see
    /// [`next_event`](Self::next_event).
    #[must_use]
    pub fn keeping(source: R, target: W, config: impl Into<Config>) -> (Peer<T>, Self) {
        let connection = Self {
            core: connection::Connection::new(config),
            source,
            target: Some(target),
            writer: None,
            is_dirty: false,
            is_writing: false,
            write_error: None,
            turn: EVENTS_PER_TURN,
            has_yielded: false,
            stall: None,
            last_words: None,
            concurrency: usize::MAX,
            report: Box::new(|incident| incident.log()),
        };
        (connection.peer(), connection)
    }

    /// Ends the connection if there is something to write, but the peer reads nothing until a future returned by
    /// `timer` is ready.
    ///
    /// By default, the connection waits forever.
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # fn example<R: wireline::aio::Source, W: wireline::aio::Target>(connection: wireline::aio::Connection<R, W>) {
    /// use std::time::Duration;
    ///
    /// let connection = connection.end_if_stalled(|| tokio::time::sleep(Duration::from_secs(30)));
    /// # let _ = connection;
    /// # }
    /// ```
    #[must_use]
    pub fn end_if_stalled<F>(mut self, timer: impl FnMut() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.stall = Limit::new(timer);
        self
    }

    /// Limits how long to wait for responses after the peer has stopped accepting input: until the future that `timer`
    /// returns is ready.
    ///
    /// A server that has exited, or closed its stdin, may have sent answers before. By default, the connection reads
    /// until the stream ends; if it never ends, callers wait forever.
    #[must_use]
    pub fn last_words<F>(mut self, timer: impl FnMut() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.last_words = Limit::new(timer);
        self
    }

    /// How many handlers [`serve`](Self::serve) runs at a time. Further requests wait, and can still be cancelled. By
    /// default, all requests [in flight](Config::in_flight) run at once.
    ///
    /// Handlers, also those of notifications, start in the order of arrival, and each runs to the first `.await` that has
    /// to wait before the next one starts. With a concurrency of 1, each ends before the next one starts.
    #[must_use]
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.concurrency = handlers.max(1);
        self
    }

    /// Calls `report` for each [`Incident`] in [`serve`](Self::serve) or [`run`](Self::run), instead of logging it.
    #[must_use]
    pub fn report(mut self, report: impl FnMut(Incident<'_>) + Send + 'static) -> Self {
        self.report = Box::new(report);
        self
    }

    /// Changes the dialect and the limits, for builders. Call it first: any [`Peer`] created earlier belongs to the
    /// discarded connection.
    pub fn set_config(&mut self, config: impl Into<Config>) {
        self.core = connection::Connection::new(config);
    }

    /// A handle to the other side.
    #[must_use]
    pub fn peer(&self) -> Peer<T> {
        self.core.peer()
    }

    /// Like [`next`](Connection::next), but returns responses with the value kept for their request.
    ///
    /// # Errors
    ///
    /// As for [`next`](Connection::next).
    pub fn next_event(&mut self) -> impl Future<Output = io::Result<Option<Event<'_, T>>>> {
        self.next_with(|value, _| value)
    }

    /// The next event, or `None` as soon as the incoming stream has ended, even if requests are still in flight.
    ///
    /// Programs use this to limit how long the remaining requests may take. Call [`finish`](Self::finish) afterwards.
    ///
    /// # Errors
    ///
    /// As for [`next`](Connection::next).
    pub fn next_incoming(&mut self) -> impl Future<Output = io::Result<Option<Event<'_, T>>>> {
        Next { is_incoming: true, ..self.next_with(|value, _| value) }
    }

    /// Waits until all requests in flight are answered and everything is written, and closes the outgoing stream.
    ///
    /// Further requests are refused, and all other messages that arrive meanwhile are dropped. Cancel-safe: afterwards,
    /// you can call it again, or [`next_event`](Self::next_event).
    ///
    /// # Errors
    ///
    /// The stream failed.
    pub async fn finish(&mut self) -> io::Result<()> {
        let peer = self.peer();
        peer.close();
        peer.end();
        poll_fn(|cx| {
            while self.can_write() {
                match self.poll_ready(cx)? {
                    Poll::Ready(true) => drop(self.core.take_event(|_, _| ())),
                    Poll::Ready(false) => break,
                    Poll::Pending if self.can_write() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(self.write_error.take().map_or(Ok(()), Err))
        })
        .await
    }

    /// Whether the outgoing stream is open: it hasn't failed and wasn't closed. While requests to the peer are in
    /// flight, a failure isn't reported immediately, because the peer may still answer.
    #[must_use]
    pub fn can_write(&self) -> bool {
        self.target.is_some()
    }

    /// How many entries of a batch are still to come, if the event from this line was an entry of a batch.
    ///
    /// Works for the most recent batch only.
    #[must_use]
    pub fn entries_left(&self, line: u64) -> Option<usize> {
        self.core.entries_left(line)
    }

    fn next_with<S, U>(&mut self, settle: S) -> Next<'_, R, W, T, S, U>
    where
        S: FnOnce(T, Result<&Response<'_>, &Lost>) -> U,
    {
        Next { connection: Some(self), is_incoming: false, settle: Some(settle), made: PhantomData }
    }

    /// Ready with true when there is an event to take, or with false when the connection is done.
    #[inline(always)]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.turn == 0 {
            self.turn = EVENTS_PER_TURN;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.core.link().level() < WRITE_THRESHOLD && self.core.is_ready() {
            self.turn -= 1;
            return Poll::Ready(Ok(true));
        }
        self.poll_io(cx)
    }

    #[inline(never)]
    fn poll_io(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        loop {
            let written = self.poll_write(cx);
            if self.core.is_ready() {
                self.core.link().forget_writer();
                return Poll::Ready(Ok(true));
            }
            if self.write_error.is_some() && self.poll_last_response(cx).is_ready() {
                return Poll::Ready(self.write_error.take().map_or(Ok(false), Err));
            }
            if self.core.link().is_full() {
                if written.is_pending() {
                    ready!(self.core.link().poll_until(Until::Room, cx));
                }
                continue;
            }
            if self.core.has_ended() {
                ready!(self.core.link().poll_until(Until::Idle, cx));
                if self.target.is_none() {
                    return Poll::Ready(Ok(false));
                }
                // No more messages are accepted. Queued ones are written before the stream is closed.
                self.core.link().end();
                ready!(written);
                continue;
            }
            // Yield, so that a source that always has more can't starve other tasks.
            if self.core.was_read_full() && !mem::replace(&mut self.has_yielded, true) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.has_yielded = false;
            if let Err(error) = ready!(self.poll_fill(cx)) {
                self.core.link().break_off();
                return Poll::Ready(Err(error));
            }
        }
    }

    /// After writing has failed: ready when no more responses will come.
    #[cold]
    fn poll_last_response(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // A peer that has stopped reading won't answer either.
        let has_stalled = self.stall.as_ref().is_some_and(|stall| stall.is_over);
        if self.core.has_ended() || has_stalled || self.poll_last_words(cx).is_ready() {
            return Poll::Ready(());
        }
        self.core.poll_no_calls(cx)
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Self { source, core, .. } = self;
        loop {
            let mut is_pending = false;
            let filled = core.read_with(|room| match source.poll_read(cx, room) {
                Poll::Ready(read) => read,
                Poll::Pending => {
                    is_pending = true;
                    Err(ErrorKind::WouldBlock.into())
                }
            });
            match filled {
                _ if is_pending => return Poll::Pending,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                filled => return Poll::Ready(filled),
            }
        }
    }

    /// Ready when nothing is left to write. Also registers the task to be woken when there is.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Skips the lock if nothing has changed.
        if self.core.link().is_writer_waiting() && self.writer.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
            return Poll::Ready(());
        }
        match self.try_write(cx) {
            Poll::Pending => self.poll_stall(cx),
            Poll::Ready(Ok(())) => {
                self.stall.iter_mut().for_each(Limit::reset);
                Poll::Ready(())
            }
            Poll::Ready(Err(error)) => {
                self.fail_write(error);
                Poll::Ready(())
            }
        }
    }

    #[cold]
    fn fail_write(&mut self, error: io::Error) {
        self.core.link().break_off();
        self.target = None;
        self.is_dirty = false;
        self.write_error = Some(error);
    }

    fn poll_last_words(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.last_words.as_mut().map_or(Poll::Pending, |limit| limit.poll(cx))
    }

    fn poll_stall(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(limit) = &mut self.stall else { return Poll::Pending };
        ready!(limit.poll(cx));
        self.fail_write(io::Error::new(ErrorKind::TimedOut, "the peer has stopped reading"));
        Poll::Ready(())
    }

    fn try_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if mem::take(&mut self.is_writing) {
            return Poll::Ready(Err(io::Error::other("writing has panicked")));
        }
        loop {
            let Some(target) = &mut self.target else { return Poll::Ready(Ok(())) };
            let bytes = self.core.pending();
            if bytes.is_empty() {
                if self.is_dirty {
                    match ready!(target.poll_flush(cx)) {
                        Ok(()) => self.is_dirty = false,
                        Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                        Err(error) => return Poll::Ready(Err(error)),
                    }
                }
                match self.core.link().poll_writable(cx) {
                    Poll::Pending => {
                        self.writer.get_or_insert_with(|| cx.waker().clone()).clone_from(cx.waker());
                        return Poll::Ready(Ok(()));
                    }
                    Poll::Ready(Writable::Lines) => continue,
                    Poll::Ready(Writable::Ended) => return self.poll_close(cx).map(Ok),
                }
            }
            self.is_writing = true;
            let written = target.poll_write(cx, bytes);
            self.is_writing = false;
            match ready!(written) {
                Ok(0) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Ok(written) => {
                    self.is_dirty = true;
                    self.core.advance_before_pending(written);
                    self.stall.iter_mut().for_each(Limit::reset);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Closes the outgoing stream after everything was written. Ignores errors, which mean that the peer closed it
    /// first.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(target) = &mut self.target {
            let _ = ready!(target.poll_close(cx));
            self.target = None;
            self.core.link().mark_closed();
        }
        Poll::Ready(())
    }
}

impl<R, W, T> fmt::Debug for Connection<R, W, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("core", &self.core).finish_non_exhaustive()
    }
}

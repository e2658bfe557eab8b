//! A connection over an asynchronous stream.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use serde::Serialize;

use crate::connection::{
    self, Call, Caller, Config, Event, Incident, Lost, Peer, Report, Ticket, Until, Writable, handler,
    most_notifications,
};
use crate::encode::RpcError;
use crate::message::Response;

#[cfg(feature = "stdio")]
use super::blocking::{BlockingReader, BlockingWriter};
use super::handlers::Handlers;
use super::traits::{Source, Target};

/// How much is collected before it is written, while there are events to take.
const WRITE: usize = 64 << 10;

/// How many events are handed out before other tasks have a turn.
const TURN: u32 = 64;

/// A connection over an asynchronous stream, on any runtime.
///
/// It reads, writes and hands out events in one task: the one that calls [`next`](Self::next), [`serve`](Self::serve) or
/// [`run`](Self::run). Nothing happens on the stream unless one of them is polled. Nothing is spawned.
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
/// `T` is the value that is kept for each request to the peer. Usually that is a [`Caller`], which passes the response on
/// to the [`Reply`](connection::Reply) that waits for it. With [`keeping`](Self::keeping), it can be any value, which
/// comes back with the response.
pub struct Connection<R, W, T = Caller> {
    core: connection::Connection<T>,
    source: R,
    /// Until the outgoing stream is closed. A pipe is closed only by dropping it.
    target: Option<W>,
    /// The task that is woken when there is something to write.
    writer: Option<Waker>,
    /// Whether bytes were written since the last flush.
    is_dirty: bool,
    /// Whether a call of `target` hasn't returned: it has panicked.
    is_writing: bool,
    /// Why nothing can be written any more. It is reported once no response is awaited.
    write_error: Option<io::Error>,
    /// How many events may be handed out before other tasks have a turn.
    turn: u32,
    has_yielded: bool,
    /// Runs while there is something to write and nothing gets written.
    stall: Option<Limit>,
    /// Runs while responses are awaited although nothing can be written any more.
    last_words: Option<Limit>,
    concurrency: usize,
    report: Box<Report>,
}

/// How long something may take.
struct Limit {
    start: Box<dyn FnMut() -> Timer + Send>,
    timer: Option<Timer>,
    is_over: bool,
}

impl Limit {
    fn new<F: Future<Output = ()> + Send + 'static>(mut timer: impl FnMut() -> F + Send + 'static) -> Option<Self> {
        Some(Self { start: Box::new(move || Box::pin(timer())), timer: None, is_over: false })
    }

    /// Ready when the time is over, which starts now if it isn't running.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_over {
            ready!(self.timer.get_or_insert_with(&mut self.start).as_mut().poll(cx));
            self.is_over = true;
        }
        Poll::Ready(())
    }
}

type Timer = Pin<Box<dyn Future<Output = ()> + Send>>;

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
    /// Responses have already been passed on to those who called. Cancel-safe: no event is lost if the future is
    /// dropped.
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
    /// The stream failed. Requests in flight can't be answered any more, and their tickets are cancelled.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "an iterator can't lend its items")]
    pub fn next(&mut self) -> impl Future<Output = io::Result<Option<Event<'_, ()>>>> {
        self.next_with(Caller::deliver)
    }

    /// Passes on responses until the stream ends, for a client that serves nothing. Requests are answered with "Method
    /// not found", and notifications are dropped; to handle them, use [`serve`](Self::serve).
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

    /// Answers requests with what `handler` returns, many at a time, until the stream has ended and everything is
    /// answered and written.
    ///
    /// `handler` is also called for notifications; its return value is then dropped. If it panics, its request is
    /// answered with an internal error. If its request is cancelled, its future is dropped. A time limit belongs in the
    /// handler, for example as tokio's `timeout`.
    ///
    /// Handlers run in this task: they needn't be `Send` or `'static`, and one that blocks holds up all others. While
    /// the handlers of 1024 notifications run or wait, nothing more is read.
    ///
    /// # Errors
    ///
    /// As for [`next`](Self::next).
    pub async fn serve<H, F, T>(self, handler: H) -> io::Result<()>
    where
        H: FnMut(Call<'static>) -> F,
        F: Future<Output = Result<T, RpcError>>,
        T: Serialize,
    {
        self.serve_until(pending(), pending, handler).await
    }

    /// Answers requests as [`serve`](Self::serve) does, until `shutdown` is ready.
    ///
    /// From then on, further requests are refused, and those in flight have until the future of `grace` is ready. Then
    /// the rest is answered with an error, and all handlers are dropped. Then the outgoing stream is closed, and the
    /// connection ends with the peer's side, or with the grace period. `grace` also limits how long handlers may take
    /// after the incoming stream has ended.
    ///
    /// ```no_run
    /// # #[cfg(feature = "tokio")]
    /// # async fn example<R: wireline::aio::Source, W: wireline::aio::Target>(
    /// #     connection: wireline::aio::Connection<R, W>, signal: impl Future<Output = ()>,
    /// # ) -> std::io::Result<()> {
    /// # use wireline::RpcError;
    /// use std::time::Duration;
    ///
    /// let grace = || tokio::time::sleep(Duration::from_secs(5));
    /// connection.serve_until(signal, grace, async |_| Err::<(), _>(RpcError::method_not_found())).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`next`](Self::next).
    pub async fn serve_until<H, F, T, G>(
        mut self,
        shutdown: impl Future<Output = ()>,
        grace: impl FnOnce() -> G,
        mut handler: H,
    ) -> io::Result<()>
    where
        H: FnMut(Call<'static>) -> F,
        F: Future<Output = Result<T, RpcError>>,
        T: Serialize,
        G: Future<Output = ()>,
    {
        let peer = self.peer();
        let mut report = mem::replace(&mut self.report, Box::new(|_| {}));
        let mut handlers: Handlers<F> = Handlers::new();
        let mut waiting: VecDeque<(Call<'static>, Option<Ticket>)> = VecDeque::new();
        let mut shutdown = pin!(shutdown);
        let (mut begin_grace, mut in_grace) = (Some(grace), pin!(None::<G>));
        // Closed for requests; closed for writing; out of time.
        let (mut is_closing, mut is_leaving, mut is_over) = (false, false, false);
        poll_fn(|cx| {
            handlers.register(cx);
            loop {
                handlers.poll(&mut report);
                while handlers.len() < self.concurrency
                    && let Some((call, ticket)) = waiting.pop_front()
                {
                    start(&mut handlers, &mut handler, call, ticket, &mut report);
                }
                if !is_closing && (self.core.has_ended() || shutdown.as_mut().poll(cx).is_ready()) {
                    is_closing = true;
                    if !self.core.has_ended() {
                        peer.close();
                    }
                    in_grace.as_mut().set(begin_grace.take().map(|begin| begin()));
                }
                if let Some(ended) = in_grace.as_mut().as_pin_mut()
                    && ended.poll(cx).is_ready()
                {
                    in_grace.as_mut().set(None);
                    is_over = true;
                    peer.abort(&RpcError::shutting_down());
                    waiting.clear();
                    handlers.clear(&mut report);
                }
                if self.has_too_many(handlers.len() + waiting.len()) {
                    // This task is woken by a handler that ends, or sends something.
                    let _ = self.poll_write(cx);
                    if self.write_error.is_some() && self.poll_last_response(cx).is_ready() {
                        return Poll::Ready(self.write_error.take().map_or(Ok(()), Err));
                    }
                    return Poll::Pending;
                }
                let (call, ticket) = match self.poll_ready(cx) {
                    Poll::Ready(Err(_)) if is_leaving => return Poll::Ready(Ok(())),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Ready(Ok(true)) => match self.core.take_event(Caller::deliver) {
                        Some(Event::Request(request, ticket)) => (Call::request(request, &peer), Some(ticket)),
                        Some(Event::Notification(notification)) if !is_over && !is_leaving => {
                            (Call::notification(notification, &peer), None)
                        }
                        Some(Event::Fault(fault)) => {
                            report(Incident::Fault(&fault));
                            continue;
                        }
                        _ => continue,
                    },
                    Poll::Ready(Ok(false)) if handlers.len() == 0 => return Poll::Ready(Ok(())),
                    // It has just ended, and the grace period begins.
                    _ if !is_closing && self.core.has_ended() => continue,
                    // The peer may go on sending after a shutdown. What it sends is read and dropped, because closing a
                    // socket with unread input would discard what the peer hasn't read yet.
                    Poll::Pending if is_leaving && is_over && self.target.is_none() => return Poll::Ready(Ok(())),
                    Poll::Pending
                        if is_closing
                            && !is_leaving
                            && handlers.len() == 0
                            && waiting.is_empty()
                            && self.is_settled() =>
                    {
                        is_leaving = true;
                        self.core.link().end();
                        continue;
                    }
                    _ => return Poll::Pending,
                };
                match handlers.len() < self.concurrency && waiting.is_empty() {
                    true => start(&mut handlers, &mut handler, call, ticket, &mut report),
                    false => waiting.push_back((call, ticket)),
                }
            }
        })
        .await
    }
}

#[cfg(feature = "stdio")]
impl Connection<BlockingReader, BlockingWriter> {
    /// A connection over stdin and stdout, which it [claims](crate::stdio::claim): nothing else can print there.
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
    /// Threads read and write, so this works on any runtime, and doesn't keep one from ending.
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
            turn: TURN,
            has_yielded: false,
            stall: None,
            last_words: None,
            concurrency: usize::MAX,
            report: Box::new(|incident| incident.log()),
        };
        (connection.peer(), connection)
    }

    /// Ends the connection if there is something to write, and the peer reads nothing for as long as `timer` takes.
    ///
    /// By default, it waits forever.
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

    /// Limits how long responses are awaited once the peer takes no more input: as long as `timer` takes.
    ///
    /// A server that has exited, or closed its stdin, may have answered before that. By default, the connection reads
    /// until its stream ends; if that never happens, its callers wait forever.
    #[must_use]
    pub fn last_words<F>(mut self, timer: impl FnMut() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.last_words = Limit::new(timer);
        self
    }

    /// How many handlers [`serve`](Self::serve) runs at a time; further requests wait, and can still be cancelled. By
    /// default, as many run as may be [in flight](Config::in_flight).
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

    /// Changes the dialect and the limits, for builders. Call it before anything else: handles that were given out
    /// before belong to the connection as it was.
    pub fn set_config(&mut self, config: impl Into<Config>) {
        self.core = connection::Connection::new(config);
    }

    /// A handle to the other side.
    #[must_use]
    pub fn peer(&self) -> Peer<T> {
        self.core.peer()
    }

    /// The next event, with the value that was kept for a request; otherwise like [`next`](Connection::next).
    ///
    /// # Errors
    ///
    /// As for [`next`](Connection::next).
    pub fn next_event(&mut self) -> impl Future<Output = io::Result<Option<Event<'_, T>>>> {
        self.next_with(|value, _| value)
    }

    /// The next event, or `None` as soon as the incoming stream has ended, even if requests are still in flight.
    ///
    /// For programs that limit how long those may take. They [`finish`](Self::finish) the connection afterwards.
    ///
    /// # Errors
    ///
    /// As for [`next`](Connection::next).
    pub fn next_incoming(&mut self) -> impl Future<Output = io::Result<Option<Event<'_, T>>>> {
        Next { is_incoming: true, ..self.next_with(|value, _| value) }
    }

    /// Ends the outgoing stream: waits until all requests in flight are answered and everything is written, and closes
    /// it.
    ///
    /// Further requests are refused. Whatever else arrives meanwhile is dropped. Cancel-safe: it can be called again,
    /// and so can [`next_event`](Self::next_event).
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

    /// Whether the outgoing stream is open: it hasn't failed, and wasn't closed. While requests to the peer are in
    /// flight, a failure isn't reported at once, since the peer may still answer.
    #[must_use]
    pub fn can_write(&self) -> bool {
        self.target.is_some()
    }

    /// How many entries of a batch are still to come, if the event on this line was an entry of a batch.
    ///
    /// Only the last batch is known.
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

    /// Whether so many of the calls that run or wait are notifications that nothing more should be read.
    #[inline]
    fn has_too_many(&self, calls: usize) -> bool {
        calls >= most_notifications(false)
            && calls.saturating_sub(self.core.in_flight()) >= most_notifications(self.core.may_be_waited_for())
    }

    /// Whether every request is answered and everything is written, apart from lines that weren't looked at.
    fn is_settled(&self) -> bool {
        !self.core.is_in_batch() && self.core.in_flight() == 0 && !self.core.wants_write() && !self.is_dirty
    }

    /// Ready when there is an event to take (true), or everything is over (false).
    #[inline(always)]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.turn == 0 {
            self.turn = TURN;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.core.link().level() < WRITE && self.core.is_ready() {
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
                // From now on nothing is accepted. What was accepted is written before the stream is closed.
                self.core.link().end();
                ready!(written);
                continue;
            }
            // A source that always has more must not keep other tasks waiting.
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

    /// Ready when no response will come any more, after writing has failed.
    #[cold]
    fn poll_last_response(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // A peer that has stopped reading won't answer either.
        let has_stalled = self.stall.as_ref().is_some_and(|stall| stall.is_over);
        if self.core.has_ended() || has_stalled || self.poll_last_words(cx).is_ready() {
            return Poll::Ready(());
        }
        self.core.poll_unawaited(cx)
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

    /// Ready when nothing is left to write. The task is woken when there is more.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Without a lock if nothing has changed.
        if self.core.link().is_writer_waiting() && self.writer.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
            return Poll::Ready(());
        }
        match self.try_write(cx) {
            Poll::Pending => self.poll_stall(cx),
            Poll::Ready(Ok(())) => {
                self.stall.iter_mut().for_each(|stall| stall.timer = None);
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
                    self.stall.iter_mut().for_each(|stall| stall.timer = None);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Closes the outgoing stream, after everything was written. That it fails then means that the peer was faster.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(target) = &mut self.target {
            let _ = ready!(target.poll_close(cx));
            self.target = None;
            self.core.link().has_closed();
        }
        Poll::Ready(())
    }
}

/// Calls a handler and runs its future, or answers for it if it panics.
fn start<H, F, T>(
    handlers: &mut Handlers<F>,
    handler: &mut H,
    call: Call<'static>,
    ticket: Option<Ticket>,
    report: &mut Report,
) where
    H: FnMut(Call<'static>) -> F,
    F: Future<Output = Result<T, RpcError>>,
    T: Serialize,
{
    // Cancelled while it waited.
    if ticket.as_ref().is_some_and(Ticket::is_cancelled) {
        return;
    }
    let id = ticket.as_ref().map(Ticket::id);
    if let Some(future) = handler::catch(id, report, || handler(call)) {
        handlers.add(future, ticket, report);
    }
}

/// Written by hand, so that an event is built where the caller wants it.
struct Next<'c, R, W, T, S, U> {
    /// `None` once it is ready.
    connection: Option<&'c mut Connection<R, W, T>>,
    /// Whether the end of the incoming stream ends it, too.
    is_incoming: bool,
    settle: Option<S>,
    made: PhantomData<fn() -> U>,
}

impl<R, W, T, S, U> Unpin for Next<'_, R, W, T, S, U> {}

impl<'c, R: Source, W: Target, T, S, U> Future for Next<'c, R, W, T, S, U>
where
    S: FnOnce(T, Result<&Response<'_>, &Lost>) -> U,
{
    type Output = io::Result<Option<Event<'c, U>>>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { connection: Some(connection), is_incoming, .. } = &mut *self else {
            return Poll::Ready(Err(io::Error::other("polled after it was ready")));
        };
        let is_event = match connection.poll_ready(cx) {
            Poll::Ready(ready) => ready?,
            Poll::Pending if *is_incoming && connection.core.is_drained() => false,
            Poll::Pending => return Poll::Pending,
        };
        match (self.connection.take(), self.settle.take()) {
            (Some(connection), Some(settle)) if is_event => Poll::Ready(Ok(connection.core.take_event(settle))),
            _ => Poll::Ready(Ok(None)),
        }
    }
}

impl<R, W, T> fmt::Debug for Connection<R, W, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("core", &self.core).finish_non_exhaustive()
    }
}

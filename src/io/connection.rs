//! A connection over a blocking stream, driven by threads.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::pin::pin;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use serde::Serialize;

use crate::connection::{
    self, Call, Caller, Config, Event, Incident, Link, Peer, Until, Writable, block_on, block_on_for, handler,
    most_notifications,
};
use crate::encode::RpcError;
use crate::ledger::Number;

use super::serve::flush;
use super::socket::{Socket, WritingSide};

/// A connection over a blocking stream: a pipe, a socket, a child process.
///
/// The thread that calls [`next`](Self::next), [`serve`](Self::serve) or [`run`](Self::run) reads. A second thread
/// writes, so that neither answering nor calling waits for the peer.
///
/// A client runs it in a thread and makes calls through the [`Peer`]; a server gives [`serve`](Self::serve) a handler:
///
/// ```
/// use std::io::pipe;
/// use std::thread;
/// use wireline::io::Connection;
/// use wireline::{RpcError, Rules};
///
/// let (requests, to_server) = pipe()?;
/// let (answers, to_client) = pipe()?;
///
/// let (_, server) = Connection::new(requests, to_client, Rules::json_rpc());
/// let server = thread::spawn(|| {
///     server.serve(4, |call| match call.method() {
///         "add" => call.params::<(i64, i64)>().map(|(a, b)| a + b),
///         _ => Err(RpcError::method_not_found()),
///     })
/// });
///
/// let (peer, client) = Connection::new(answers, to_server, Rules::json_rpc());
/// let client = thread::spawn(|| client.run());
/// let (three, seven) = (peer.call::<i64>("add", &(1, 2)), peer.call::<i64>("add", &(3, 4)));
/// assert_eq!((three.wait()?, seven.wait()?), (3, 7));
///
/// peer.end(); // the server's input ends, so the server does too
/// server.join().unwrap()?;
/// client.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Connection<R> {
    core: connection::Connection<Caller>,
    reader: R,
    /// The thread that writes. `None` once it has been joined.
    writing: Option<JoinHandle<io::Result<()>>>,
    deadline: Option<Duration>,
    grace: Option<Duration>,
    stall: Option<Duration>,
    report: Arc<dyn Fn(Incident<'_>) + Send + Sync>,
}

#[cfg(feature = "stdio")]
impl Connection<io::Stdin> {
    /// A connection over stdin and stdout. It [claims](crate::stdio::claim) stdout, so that nothing else can print
    /// there.
    ///
    /// ```no_run
    /// use wireline::io::Connection;
    /// use wireline::{RpcError, Rules};
    ///
    /// let (_, connection) = Connection::stdio(Rules::mcp())?;
    /// connection.serve(4, |_| Err::<(), _>(RpcError::method_not_found()))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Stdout can't be claimed.
    pub fn stdio(config: impl Into<Config>) -> io::Result<(Peer<Caller>, Self)> {
        Ok(Self::new(io::stdin(), crate::stdio::claim()?, config))
    }
}

impl<S: Socket> Connection<S> {
    /// A connection over a socket. Its writing side is shut down when the outgoing stream [ends](Peer::end).
    ///
    /// ```
    /// use std::net::{TcpListener, TcpStream};
    /// use std::thread;
    /// use wireline::Rules;
    /// use wireline::io::{Connection, serve};
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let address = listener.local_addr()?;
    /// let server = thread::spawn(move || {
    ///     let (socket, _) = listener.accept()?;
    ///     serve(&socket, &socket, Rules::json_rpc(), |call| call.params::<[String; 1]>())
    /// });
    ///
    /// let (peer, client) = Connection::over(TcpStream::connect(address)?, Rules::json_rpc())?;
    /// let client = thread::spawn(|| client.run());
    /// assert_eq!(peer.call::<[String; 1]>("echo", &["hello"]).wait()?, ["hello"]);
    /// peer.end();
    /// server.join().unwrap()?;
    /// client.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The system has no more handles.
    pub fn over(socket: S, config: impl Into<Config>) -> io::Result<(Peer<Caller>, Self)> {
        let writer = WritingSide(socket.try_clone()?);
        Ok(Self::new(socket, writer, config))
    }
}

impl<R: Read> Connection<R> {
    /// A connection that reads from `reader`, and a handle to its other side. It starts a thread that writes to
    /// `writer`, and drops the writer when the outgoing stream ends. For sockets, see [`over`](Self::over).
    #[must_use]
    pub fn new(reader: R, writer: impl Write + Send + 'static, config: impl Into<Config>) -> (Peer<Caller>, Self) {
        let core = connection::Connection::new(config);
        let link = Arc::clone(core.link());
        let writing = Some(thread::spawn(move || write(&link, writer)));
        let report: Arc<dyn Fn(Incident<'_>) + Send + Sync> = Arc::new(|incident| incident.log());
        (core.peer(), Self { core, reader, writing, deadline: None, grace: None, stall: None, report })
    }

    /// How long requests may take in [`serve`](Self::serve), counted from their arrival, before they are answered with
    /// an error. By default, there is no limit.
    ///
    /// Handlers can check [`Call::is_cancelled`]. A handler that continues keeps its thread busy, and its request still
    /// counts towards the [limit on requests in flight](Config::in_flight).
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// How long requests may take after the stream has ended before they are answered with an error. By default, there
    /// is no limit.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Ends the connection if there is something to write, but the peer reads nothing for this long. By default, the
    /// connection waits forever.
    ///
    /// Blocking reads and writes can't be interrupted. The thread that writes stays until its write returns. While the
    /// connection is blocked in a read, it doesn't notice that the peer reads nothing.
    #[must_use]
    pub fn end_if_stalled(mut self, timeout: Duration) -> Self {
        self.stall = Some(timeout);
        self
    }

    /// Calls `report` for each [`Incident`] in [`serve`](Self::serve) or [`run`](Self::run), instead of logging it.
    #[must_use]
    pub fn report(mut self, report: impl Fn(Incident<'_>) + Send + Sync + 'static) -> Self {
        self.report = Arc::new(report);
        self
    }

    /// A handle to the other side.
    #[must_use]
    pub fn peer(&self) -> Peer<Caller> {
        self.core.peer()
    }

    /// The next event, or `None` when the stream has ended, every request is answered, and everything is written.
    ///
    /// Responses have already been delivered to their callers.
    ///
    /// # Errors
    ///
    /// The stream failed. Requests in flight can no longer be answered, and their tickets are cancelled.
    #[allow(clippy::should_implement_trait, reason = "an iterator can't lend its items")]
    pub fn next(&mut self) -> io::Result<Option<Event<'_, ()>>> {
        while !self.core.is_ready() {
            let link = self.core.link();
            if link.is_full() {
                self.wait(Until::Room, None)?;
            } else if link.is_broken() && (self.core.has_ended() || !self.core.awaits_responses()) {
                return self.finish().map(|()| None);
            } else if self.core.has_ended() {
                self.wait_idle()?;
                return self.finish().map(|()| None);
            } else {
                self.read()?;
            }
        }
        Ok(self.core.take_event(Caller::deliver))
    }

    /// Delivers responses until the stream ends, for a client that handles no requests. Requests are answered with
    /// "Method not found", and notifications are dropped; to handle them, use [`serve`](Self::serve).
    ///
    /// # Errors
    ///
    /// As for [`next`](Self::next).
    pub fn run(mut self) -> io::Result<()> {
        let report = Arc::clone(&self.report);
        while let Some(event) = self.next()? {
            match event {
                Event::Request(_, ticket) => ticket.fail(&RpcError::method_not_found()),
                Event::Fault(fault) => report(Incident::Fault(&fault)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Answers requests with what `handler` returns, in `workers` threads, until the stream has ended and everything is
    /// answered and written.
    ///
    /// `handler` is also called for notifications; its return value is then dropped. If it panics, its request is
    /// answered with an internal error. A long-running handler should check [`Call::is_cancelled`] now and then. While
    /// 1024 notifications are being handled or wait for a worker, nothing more is read.
    ///
    /// # Errors
    ///
    /// As for [`next`](Self::next).
    pub fn serve<T: Serialize>(
        mut self,
        workers: usize,
        handler: impl Fn(&Call<'static>) -> Result<T, RpcError> + Send + Sync + 'static,
    ) -> io::Result<()> {
        let peer = self.core.peer();
        let handler = Arc::new(handler);
        // The queue's length is bounded by the limits on requests in flight and on waiting notifications.
        let (queue, calls) = channel::<(Call<'static>, Option<PendingNotification>)>();
        let calls = Arc::new(Mutex::new(calls));
        // Disconnected once all workers have ended.
        let (working, workers_end) = channel::<()>();
        let notifications = NotificationCount::default();
        for _ in 0..workers.max(1) {
            let (calls, handler, report) = (Arc::clone(&calls), Arc::clone(&handler), Arc::clone(&self.report));
            let working = working.clone();
            thread::spawn(move || {
                let _working = working;
                loop {
                    let next = calls.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((call, _waiting)) = next else { return };
                    answer(call, &*handler, &*report);
                }
            });
        }
        let timer = self.deadline.map(|deadline| (deadline, start_timer(Arc::clone(self.core.link()))));
        // The workers hold the only other ends, so sending fails once they are all gone.
        drop((calls, working));
        while let Some(event) = self.next()? {
            let (call, waiting) = match event {
                Event::Request(request, ticket) => {
                    if let (Some((deadline, timer)), Some(number)) = (&timer, ticket.number()) {
                        let _ = timer.send((Instant::now() + *deadline, number));
                    }
                    let mut call = Call::request(request, &peer);
                    call.ticket = Some(ticket);
                    (call, None)
                }
                Event::Notification(notification) => {
                    (Call::notification(notification, &peer), Some(notifications.add()))
                }
                Event::Fault(fault) => {
                    (self.report)(Incident::Fault(&fault));
                    continue;
                }
                _ => continue,
            };
            if queue.send((call, waiting)).is_err() {
                return Err(io::Error::other("the worker threads are gone"));
            }
            notifications.wait_for_room(|| self.core.handlers_may_wait());
        }
        // All requests are answered by now, but notifications may still be running.
        drop(queue);
        let _ = match self.grace {
            None => workers_end.recv().map_err(drop),
            Some(grace) => workers_end.recv_timeout(grace).map_err(drop),
        };
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        let Self { core, reader, .. } = self;
        let read = core.read_with(|room| {
            loop {
                match reader.read(room) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    read => return read,
                }
            }
        });
        read.map(drop).inspect_err(|_| self.core.link().break_off())
    }

    /// Waits until `until` is reached. Returns false if that takes longer than `limit`.
    fn wait(&self, until: Until, limit: Option<Duration>) -> io::Result<bool> {
        let link = self.core.link();
        let mut reached = pin!(poll_fn(|cx| link.poll_until(until, cx)));
        let start = Instant::now();
        loop {
            let left = limit.map(|limit| limit.saturating_sub(start.elapsed()));
            let Some(pause) = [left, self.stall].into_iter().flatten().min() else {
                block_on(reached);
                return Ok(true);
            };
            let before = (link.progress(), link.level() > 0);
            if block_on_for(reached.as_mut(), pause).is_some() {
                return Ok(true);
            }
            if left.is_some_and(|left| left <= pause) {
                return Ok(false);
            }
            // There was something to write before and after the pause, but nothing was written.
            if before == (link.progress(), true) {
                link.break_off();
                return Err(io::Error::new(ErrorKind::TimedOut, "the peer has stopped reading"));
            }
        }
    }

    /// Waits until every request is answered. Answers the remaining ones when the grace period is over.
    fn wait_idle(&self) -> io::Result<()> {
        if !self.wait(Until::Idle, self.grace)? {
            self.core.abort(&RpcError::shutting_down());
        }
        Ok(())
    }

    /// Waits until everything is written, and closes the outgoing stream.
    fn finish(&mut self) -> io::Result<()> {
        self.core.peer().end();
        self.wait(Until::Closed, None)?;
        match self.writing.take() {
            Some(writing) => writing.join().unwrap_or_else(|_| Err(io::Error::other("writing has panicked"))),
            None => Ok(()),
        }
    }
}

/// Starts a thread that answers requests at their deadlines, which must be sent in order. It ends when the sender is
/// dropped.
fn start_timer(link: Arc<Link>) -> Sender<(Instant, Number)> {
    let (sender, deadlines) = channel::<(Instant, Number)>();
    thread::spawn(move || {
        let mut waiting: VecDeque<(Instant, Number)> = VecDeque::new();
        loop {
            let next = match waiting.front() {
                None => deadlines.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some((at, _)) => deadlines.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match next {
                Ok(deadline) => waiting.push_back(deadline),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    if let Some((_, number)) = waiting.pop_front() {
                        link.expire(number, &RpcError::timed_out());
                    }
                }
            }
        }
    });
    sender
}

/// Counts the notifications that are being handled or wait for a handler.
#[derive(Clone, Default)]
struct NotificationCount(Arc<(Mutex<usize>, Condvar)>);

/// A counted notification. Dropping it decrements the count.
struct PendingNotification(NotificationCount);

impl NotificationCount {
    fn count(&self) -> MutexGuard<'_, usize> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self) -> PendingNotification {
        *self.count() += 1;
        PendingNotification(self.clone())
    }

    /// Waits while too many notifications are counted.
    fn wait_for_room(&self, is_peer_waited_for: impl Fn() -> bool) {
        let mut count = self.count();
        while *count >= most_notifications(is_peer_waited_for()) {
            // Check again now and then: a handler may have begun to wait for the peer, which raises the limit.
            let waited = self.0.1.wait_timeout(count, Duration::from_millis(10));
            count = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for PendingNotification {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.0.1.notify_one();
    }
}

/// Calls a handler, and answers with its outcome.
fn answer<T: Serialize>(
    mut call: Call<'static>,
    handler: &impl Fn(&Call<'static>) -> Result<T, RpcError>,
    report: &(dyn Fn(Incident<'_>) + Send + Sync),
) {
    let mut report = |incident: Incident<'_>| report(incident);
    // The request was cancelled while it waited. Dropping its ticket answers.
    if call.is_cancelled() {
        return;
    }
    let outcome = handler::catch(call.id(), &mut report, || handler(&call));
    let ticket = call.ticket.take();
    if let Some(outcome) = outcome {
        handler::settle(ticket, outcome, &mut report);
    }
}

/// Writes queued lines until the stream ends or fails.
fn write(link: &Link, writer: impl Write) -> io::Result<()> {
    /// Breaks off the connection if the thread fails or panics.
    struct BreakOff<'l>(&'l Link);

    impl Drop for BreakOff<'_> {
        fn drop(&mut self) {
            self.0.break_off();
        }
    }

    let guard = BreakOff(link);
    let mut writer = writer;
    let mut lines = BytesMut::new();
    while block_on(poll_fn(|cx| link.poll_writable(cx))) == Writable::Lines {
        link.take(&mut lines);
        while !lines.is_empty() {
            write_all(link, &mut writer, &lines)?;
            link.take(&mut lines);
        }
        flush(&mut writer)?;
    }
    drop(writer);
    link.mark_closed();
    std::mem::forget(guard);
    Ok(())
}

fn write_all(link: &Link, writer: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match writer.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                link.set_unwritten(bytes.len());
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl<R> fmt::Debug for Connection<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("core", &self.core).finish_non_exhaustive()
    }
}

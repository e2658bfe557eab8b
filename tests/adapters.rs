//! Runs the same cases and splits through each adapter, which must give the same events and the same answers; and tests
//! misbehaving streams.

use crate::common;

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::io::{self, ErrorKind, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use common::{Dialect, cases, describe, describe_fault};
use futures_util::FutureExt;
use serde_json::json;
use wireline::aio::{self, Source, Target};
use wireline::connection::{Caller, Config, Connection, Event, Incident, Peer, SendError, Sending};
use wireline::{Frame, Message, RpcError, Rules};

const SIZES: [usize; 6] = [1, 3, 64, 1000, 5000, usize::MAX];
const PING: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\n";

/// All cases in one stream, and the expected events in each dialect: an entry of a batch is one as well.
fn all_cases(dialect: Dialect) -> (Vec<u8>, Vec<String>) {
    let stream = cases().iter().flat_map(|case| [&case.line[..], b"\r\n"].concat()).collect();
    let entries = |expected: &str| match expected.strip_prefix("batch [").and_then(|rest| rest.strip_suffix(']')) {
        Some(entries) => entries.split(" | ").map(str::to_owned).collect(),
        None => vec![expected.to_owned()],
    };
    (stream, cases().iter().flat_map(|case| entries(case.expected(dialect))).collect())
}

/// Describes an event, and answers requests with an empty object.
fn take<T>(event: Event<'_, T>) -> String {
    let message = match event {
        Event::Request(request, ticket) => {
            ticket.respond(&json!({}));
            Message::Request(request)
        }
        Event::Notification(notification) | Event::Cancelled(notification, ..) => Message::Notification(notification),
        Event::Stray(response, _) => Message::Response(response),
        Event::Fault(fault) => return describe_fault(&fault),
        _ => panic!("a request that was sent or refused"),
    };
    describe(&Ok(Frame::Message(message)))
}

/// What the core makes of a stream that comes in one piece: the events and the answers.
fn reference(dialect: Dialect) -> (Vec<u8>, Vec<String>, Vec<u8>) {
    let (stream, expected) = all_cases(dialect);
    let mut core: Connection<()> = Connection::new(dialect.rules());
    core.feed(&stream);
    core.finish();
    let mut found = Vec::new();
    while let Some(event) = core.next_event() {
        found.push(take(event));
    }
    assert_eq!(found, expected, "{dialect:?}");
    let answers = core.pending().to_vec();
    (stream, expected, answers)
}

/// Returns its bytes in pieces of a fixed size; and now and then nothing yet, or an error.
struct Unsteady<'a> {
    left: &'a [u8],
    size: usize,
    calls: usize,
    errors: &'static [ErrorKind],
}

impl<'a> Unsteady<'a> {
    fn new(left: &'a [u8], size: usize, errors: &'static [ErrorKind]) -> Self {
        Self { left, size, calls: 0, errors }
    }
}

impl Read for Unsteady<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls % 3 == 1
            && let Some(kind) = self.errors.get(self.calls / 3 % self.errors.len().max(1))
        {
            return Err((*kind).into());
        }
        let len = self.size.min(self.left.len()).min(room.len());
        room[..len].copy_from_slice(&self.left[..len]);
        self.left = &self.left[len..];
        Ok(len)
    }
}

impl Source for Unsteady<'_> {
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        match self.read(room) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            read => Poll::Ready(read),
        }
    }
}

#[cfg(feature = "tokio")]
impl tokio::io::AsyncRead for Unsteady<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Source::poll_read(&mut *self, cx, room.initialize_unfilled()).map_ok(|len| room.advance(len))
    }
}

#[cfg(feature = "futures-io")]
impl futures_io::AsyncRead for Unsteady<'_> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        Source::poll_read(&mut *self, cx, room)
    }
}

#[test]
fn the_core_gives_the_same_events() {
    for dialect in Dialect::ALL {
        let (stream, expected, answers) = reference(dialect);
        for size in SIZES {
            for feeds in [true, false] {
                let mut core: Connection<()> = Connection::new(dialect.rules());
                // An error loses nothing.
                let errors = &[ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted];
                let mut reader = Unsteady::new(&stream, size, errors);
                let (mut found, mut written) = (Vec::new(), Vec::new());
                while !core.is_done() {
                    if feeds {
                        let mut piece = [0; 5000];
                        match reader.read(&mut piece) {
                            Ok(0) => core.finish(),
                            Ok(len) => core.feed(&piece[..len]),
                            Err(_) => {}
                        }
                    } else if let Err(error) = core.read_with(|room| reader.read(room)) {
                        assert!(errors.contains(&error.kind()));
                    }
                    while let Some(event) = core.next_event() {
                        found.push(take(event));
                    }
                    // A byte at a time is written as well.
                    let some = core.pending().len().min(size);
                    written.extend_from_slice(&core.pending()[..some]);
                    core.advance(some);
                }
                assert_eq!(found, expected, "{dialect:?} in pieces of {size}");
                assert_eq!(written, answers, "{dialect:?} in pieces of {size}");
            }
        }
    }
}

/// A writer whose bytes can be looked at.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn taken(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_connection_on_threads_gives_the_same_events() {
    for dialect in Dialect::ALL {
        let (stream, expected, answers) = reference(dialect);
        for size in SIZES {
            let written = Shared::default();
            let reader = Unsteady::new(&stream, size, &[ErrorKind::Interrupted]);
            let (_, mut connection) = wireline::io::Connection::new(reader, written.clone(), dialect.rules());
            let mut found = Vec::new();
            while let Some(event) = connection.next().unwrap() {
                found.push(take(event));
            }
            assert_eq!(found, expected, "{dialect:?} in pieces of {size}");
            assert_eq!(written.taken(), answers, "{dialect:?} in pieces of {size}");
            assert!(matches!(connection.next(), Ok(None)));
        }
    }
}

/// `serve` hands out everything but responses and cancellations.
#[test]
fn serve_gives_the_same_calls_and_faults() {
    for dialect in Dialect::ALL {
        let (stream, mut expected, answers) = reference(dialect);
        expected.retain(|what| !what.starts_with("result ") && !what.starts_with("error "));
        for size in SIZES {
            let (found, mut written) = (RefCell::new(Vec::new()), Vec::new());
            let reader = Unsteady::new(&stream, size, &[ErrorKind::Interrupted]);
            wireline::io::serve_with(
                reader,
                &mut written,
                dialect.rules(),
                |call| {
                    found.borrow_mut().push(describe(&Ok(Frame::Message(call.message().clone()))));
                    Ok(json!({}))
                },
                |incident| match incident {
                    Incident::Fault(fault) => found.borrow_mut().push(describe_fault(fault)),
                    other => panic!("{other}"),
                },
            )
            .unwrap();
            assert_eq!(found.into_inner(), expected, "{dialect:?} in pieces of {size}");
            assert_eq!(written, answers, "{dialect:?} in pieces of {size}");
        }
    }
}

/// All cases in all dialects and pieces. Each call that would wait is cancelled and repeated.
fn check_asynchronous<S: Source>(wrap: impl Fn(Unsteady<'static>) -> S) {
    for dialect in Dialect::ALL {
        let (stream, expected, answers) = reference(dialect);
        let stream: &'static [u8] = stream.leak();
        for size in SIZES {
            let link = Link::new(State::Open(size));
            let source = wrap(Unsteady::new(stream, size, &[ErrorKind::WouldBlock, ErrorKind::Interrupted]));
            let (_, mut connection) = aio::Connection::new(source, link.clone(), dialect.rules());
            let mut found = Vec::new();
            loop {
                match connection.next().now_or_never() {
                    Some(Ok(Some(event))) => found.push(take(event)),
                    Some(Ok(None)) => break,
                    Some(Err(error)) => panic!("{error}"),
                    None => {}
                }
            }
            assert_eq!(found, expected, "{dialect:?} in pieces of {size}");
            assert_eq!(link.taken(), answers, "{dialect:?} in pieces of {size}");
            assert!(link.0.borrow().is_closed);
            assert!(matches!(connection.next().now_or_never(), Some(Ok(None))));
        }
    }
}

#[test]
fn an_asynchronous_connection_gives_the_same_events() {
    check_asynchronous(|source| source);
}

#[cfg(feature = "tokio")]
#[test]
fn an_asynchronous_connection_gives_the_same_events_on_tokio() {
    check_asynchronous(aio::Tokio);
}

#[cfg(feature = "futures-io")]
#[test]
fn an_asynchronous_connection_gives_the_same_events_on_futures() {
    check_asynchronous(aio::Futures);
}

/// Pieces of a stream, and errors between them.
struct Failing(VecDeque<io::Result<&'static [u8]>>);

impl Read for Failing {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let piece = self.0.pop_front().unwrap_or(Ok(b""))?;
        room[..piece.len()].copy_from_slice(piece);
        Ok(piece.len())
    }
}

impl Source for Failing {
    fn poll_read(&mut self, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.read(room))
    }
}

/// One request and a half, and then an error.
fn failing() -> Failing {
    let whole = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n";
    Failing([Ok(&whole[..10]), Ok(&whole[10..]), Ok(&whole[..10]), Err(ErrorKind::ConnectionReset.into())].into())
}

/// What came before it is handed out first, and whoever works on it learns that nobody waits for the answer.
#[test]
fn an_error_of_a_reader_surfaces_once() {
    let (_, mut connection) = wireline::io::Connection::new(failing(), io::sink(), Rules::json_rpc());
    let Ok(Some(Event::Request(_, ticket))) = connection.next() else { panic!() };
    assert_eq!(connection.next().unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(ticket.is_cancelled());
    assert!(matches!(connection.next(), Ok(None)));

    let (_, mut connection) = aio::Connection::new(failing(), Link::new(State::Blocked), Rules::json_rpc());
    let Some(Ok(Some(Event::Request(_, ticket)))) = connection.next().now_or_never() else { panic!() };
    assert_eq!(connection.next().now_or_never().unwrap().unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(ticket.is_cancelled());

    // Here it was answered before.
    let mut written = Vec::new();
    let served = wireline::io::serve(failing(), &mut written, Rules::json_rpc(), |_| Ok(1));
    assert_eq!(served.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(written, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n");
}

#[test]
fn a_reader_that_panics_leaves_no_garbage() {
    common::quiet_panics_on_purpose();
    let mut core: Connection<()> = Connection::new(Rules::mcp());
    let panics = |room: &mut [u8]| {
        room.fill(b'x');
        panic!("on purpose")
    };
    assert!(catch_unwind(AssertUnwindSafe(|| core.read_with(panics))).is_err());
    core.feed(PING.as_bytes());
    assert_eq!(take(core.next_event().unwrap()), r#"notification "ping" -"#);
    assert!(core.next_event().is_none());
}

/// Accepts as many bytes in each call as its plan says, or fails accordingly; and keeps what each call passed. Flushing
/// fails as planned too.
#[derive(Clone, Default)]
struct Planned {
    plan: Arc<Mutex<VecDeque<Result<usize, ErrorKind>>>>,
    flushes: Arc<Mutex<VecDeque<ErrorKind>>>,
    taken: Shared,
}

impl Write for Planned {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.plan.lock().unwrap().pop_front().unwrap_or(Ok(usize::MAX))?.min(bytes.len());
        self.taken.write(&bytes[..len])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushes.lock().unwrap().pop_front().map_or(Ok(()), |kind| Err(kind.into()))
    }
}

impl Target for Planned {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.write(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            written => Poll::Ready(written),
        }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.flush())
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

type Plan = [Result<usize, ErrorKind>];

/// Sends two notifications through a planned writer, in a thread or in a task, and returns how it ended.
fn send_two(plan: &Plan, flushes: &[ErrorKind]) -> [(io::Result<()>, Vec<u8>); 2] {
    let planned = || {
        let planned = Planned::default();
        planned.plan.lock().unwrap().extend(plan);
        planned.flushes.lock().unwrap().extend(flushes);
        planned
    };
    let send = |peer: &Peer<Caller>| (0..2).for_each(|_| drop(peer.try_notify("ping", &())));
    let writer = planned();
    let (peer, mut connection) = wireline::io::Connection::new(io::empty(), writer.clone(), Rules::mcp());
    send(&peer);
    let on_threads = (connection.next().map(drop), writer.taken.taken());
    let writer = planned();
    let (peer, mut connection) = aio::Connection::new(Unsteady::new(b"", 1, &[]), writer.clone(), Rules::mcp());
    send(&peer);
    let in_task = (block_on(connection.next()).map(drop), writer.taken.taken());
    [on_threads, in_task]
}

#[test]
fn a_writer_may_take_a_byte_at_a_time() {
    let plan: Vec<_> = (0..100).map(|i| if i % 3 == 0 { Err(ErrorKind::Interrupted) } else { Ok(1) }).collect();
    for (result, written) in send_two(&plan, &[]) {
        result.unwrap();
        assert_eq!(written, PING.repeat(2).as_bytes());
    }
}

/// Nothing follows a partly written line.
#[test]
fn a_writer_that_fails_half_way_ends_the_connection() {
    for (end, kind) in [(Err(ErrorKind::BrokenPipe), ErrorKind::BrokenPipe), (Ok(0), ErrorKind::WriteZero)] {
        for (result, written) in send_two(&[Ok(7), end], &[]) {
            assert_eq!(result.unwrap_err().kind(), kind);
            assert_eq!(written, &PING.as_bytes()[..7]);
        }
    }
}

#[test]
fn a_flush_is_repeated_or_fails() {
    for (result, written) in send_two(&[], &[ErrorKind::Interrupted, ErrorKind::Interrupted]) {
        result.unwrap();
        assert_eq!(written, PING.repeat(2).as_bytes());
    }
    for (result, _) in send_two(&[], &[ErrorKind::StorageFull]) {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::StorageFull);
    }
}

/// After that, nobody is told that something was sent.
#[test]
fn a_writer_that_panics_ends_the_connection() {
    struct Panics;

    impl Write for Panics {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            panic!("on purpose")
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Target for Panics {
        fn poll_write(&mut self, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            panic!("on purpose")
        }

        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    common::quiet_panics_on_purpose();
    let (peer, mut connection) = wireline::io::Connection::new(io::empty(), Panics, Rules::mcp());
    let reply = peer.call::<()>("m", &());
    let error = loop {
        match connection.next() {
            Ok(event) => assert!(event.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.to_string(), "writing has panicked");
    assert!(reply.wait().is_err());
    assert!(matches!(peer.try_notify("late", &()), Err(SendError::Closed)));

    let (peer, mut connection) = aio::Connection::new(Never, Panics, Rules::mcp());
    peer.try_notify("ping", &()).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| connection.next().now_or_never().is_some())).is_err());
    let error = connection.next().now_or_never().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "writing has panicked");
    assert!(matches!(peer.try_notify("late", &()), Err(SendError::Closed)));
}

/// A source that has nothing, and never ends.
struct Never;

impl Source for Never {
    fn poll_read(&mut self, _: &mut Context<'_>, _: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Pending
    }
}

/// What a [`Link`] does with a write.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Takes so many bytes at a time.
    Open(usize),
    Blocked,
}

/// The other end, as a target.
#[derive(Clone)]
struct Link(Rc<RefCell<Inner>>);

struct Inner {
    state: State,
    writes: Vec<Vec<u8>>,
    flushes: usize,
    is_closed: bool,
}

impl Link {
    fn new(state: State) -> Self {
        Self(Rc::new(RefCell::new(Inner { state, writes: Vec::new(), flushes: 0, is_closed: false })))
    }

    fn set(&self, state: State) {
        self.0.borrow_mut().state = state;
    }

    fn taken(&self) -> Vec<u8> {
        self.0.borrow().writes.concat()
    }
}

impl Target for Link {
    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut inner = self.0.borrow_mut();
        match inner.state {
            State::Open(most) => {
                let len = bytes.len().min(most);
                inner.writes.push(bytes[..len].to_vec());
                Poll::Ready(Ok(len))
            }
            State::Blocked => Poll::Pending,
        }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().flushes += 1;
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().is_closed = true;
        Poll::Ready(Ok(()))
    }
}

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn methods(lines: &[u8]) -> Vec<String> {
    let mut methods = Vec::new();
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        assert!(line.ends_with(b"\n"));
        match Frame::parse(line, &Rules::mcp()) {
            Ok(Frame::Message(Message::Notification(notification))) => methods.push(notification.method().into_owned()),
            other => panic!("{other:?}"),
        }
    }
    methods
}

#[test]
fn lines_that_were_sent_meanwhile_leave_in_one_write() {
    let link = Link::new(State::Open(usize::MAX));
    let (peer, mut connection) = aio::Connection::new(Never, link.clone(), Rules::mcp());
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut poll = || assert!(pin!(connection.next()).poll(&mut Context::from_waker(&waker)).is_pending());
    poll();
    for method in ["a", "b", "c"] {
        peer.try_notify(method, &()).unwrap();
    }
    // The task is woken once for all of them.
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    poll();
    assert_eq!((link.0.borrow().writes.len(), link.0.borrow().flushes), (1, 1));
    assert_eq!(methods(&link.taken()), ["a", "b", "c"]);
    // There are no needless flushes.
    poll();
    assert_eq!(link.0.borrow().flushes, 1);
    // The stream is closed behind the last line.
    peer.try_notify("d", &()).unwrap();
    peer.end();
    assert_eq!(count.0.load(Ordering::Relaxed), 2);
    poll();
    assert_eq!(methods(&link.taken()), ["a", "b", "c", "d"]);
    assert!(link.0.borrow().is_closed);
}

/// A source that always has more doesn't keep other tasks from their turn, and neither do many events.
#[test]
fn other_tasks_have_their_turn() {
    /// Fills whatever it is given.
    struct Endless(usize);

    impl Source for Endless {
        fn poll_read(&mut self, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
            let line = PING.as_bytes().iter().cycle().skip(self.0);
            room.iter_mut().zip(line).for_each(|(to, from)| *to = *from);
            self.0 = (self.0 + room.len()) % PING.len();
            Poll::Ready(Ok(room.len()))
        }
    }

    let (_, mut connection) = aio::Connection::new(Endless(0), Link::new(State::Open(1)), Rules::mcp());
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let (mut in_a_row, mut pauses) = (0, 0);
    for _ in 0..100_000 {
        match pin!(connection.next()).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(event) => {
                assert!(matches!(event, Ok(Some(Event::Notification(_)))));
                in_a_row += 1;
                assert!(in_a_row <= 1000, "no other task has had a turn");
            }
            Poll::Pending => {
                (in_a_row, pauses) = (0, pauses + 1);
                // It must be polled again without anything having happened.
                assert_eq!(count.0.load(Ordering::Relaxed), pauses);
            }
        }
    }
    assert!(pauses > 100);
    // Nor in a loop within one task.
    let poll = pin!(connection.run()).poll(&mut Context::from_waker(&waker));
    assert!(poll.is_pending());
}

#[test]
fn senders_wait_for_room_and_take_turns() {
    let link = Link::new(State::Blocked);
    let (peer, mut connection) = aio::Connection::new(Never, link.clone(), Config::new(Rules::mcp()).backlog(0));
    let mut idle = Context::from_waker(Waker::noop());
    peer.try_notify("first", &()).unwrap();
    assert!(matches!(peer.try_notify("refused", &()), Err(SendError::Full)));
    let counts: Vec<Arc<Count>> = (0..4).map(|_| Arc::default()).collect();
    let wakers: Vec<Waker> = counts.iter().map(|count| Waker::from(Arc::clone(count))).collect();
    let woken = || counts.iter().map(|count| count.0.load(Ordering::Relaxed)).collect::<Vec<_>>();
    let mut sends: Vec<Sending> = ["a", "b", "c", "d"].map(|method| peer.notify(method, &())).into();
    for (send, waker) in sends.iter_mut().zip(&wakers) {
        for _ in 0..3 {
            assert!(Pin::new(&mut *send).poll(&mut Context::from_waker(waker)).is_pending());
        }
    }
    // The third gives up, and leaves nothing behind. The first isn't polled again, and keeps nobody waiting.
    drop(sends.remove(2));
    assert_eq!(Arc::strong_count(&counts[2]), 2);
    assert!(pin!(connection.next()).poll(&mut idle).is_pending());
    assert_eq!(woken(), [0, 0, 0, 0]);
    link.set(State::Open(usize::MAX));
    for _ in 0..3 {
        assert!(pin!(connection.next()).poll(&mut idle).is_pending());
    }
    assert_eq!(woken(), [1, 1, 0, 1]);
    assert_eq!(methods(&link.taken()), ["first", "a", "b", "d"]);
    assert!(sends.into_iter().all(|send| matches!(send.now_or_never(), Some(Ok(())))));
}

/// The cost per waiting sender doesn't grow with their number.
#[test]
fn waiting_is_cheap() {
    const SENDERS: usize = 20_000;
    let link = Link::new(State::Blocked);
    let (peer, mut connection) = aio::Connection::new(Never, link.clone(), Config::new(Rules::mcp()).backlog(0));
    let mut idle = Context::from_waker(Waker::noop());
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut cx = Context::from_waker(&waker);
    peer.try_notify("first", &()).unwrap();
    let mut sends: Vec<_> = (0..SENDERS).map(|_| peer.notify("m", &())).collect();
    assert!(sends.iter_mut().all(|send| Pin::new(send).poll(&mut cx).is_pending()));
    // Those that give up are cheap as well.
    let mut number = 0;
    sends.retain(|_| {
        number += 1;
        number % 2 == 0
    });
    link.set(State::Open(usize::MAX));
    for send in sends {
        assert!(pin!(connection.next()).poll(&mut idle).is_pending());
        assert!(matches!(send.now_or_never(), Some(Ok(()))));
    }
    // Each was woken exactly once.
    assert_eq!(count.0.load(Ordering::Relaxed), SENDERS / 2);
    assert_eq!(methods(&link.taken()).len(), 1 + SENDERS / 2);
}

#[test]
fn a_connection_that_is_gone_fails_those_who_wait() {
    let config = Config::new(Rules::mcp()).backlog(0);
    let (peer, mut connection) = aio::Connection::new(Never, Link::new(State::Blocked), config);
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut cx = Context::from_waker(&waker);
    peer.try_notify("queued", &()).unwrap();
    let (mut waiting, mut reply) = (peer.notify("waits", &()), peer.call::<()>("m", &()));
    assert!(Pin::new(&mut waiting).poll(&mut cx).is_pending());
    assert!(Pin::new(&mut reply).poll(&mut cx).is_pending());
    assert!(pin!(connection.next()).poll(&mut cx).is_pending());
    drop(connection);
    assert!(matches!(Pin::new(&mut waiting).poll(&mut cx), Poll::Ready(Err(SendError::Closed))));
    assert!(matches!(Pin::new(&mut reply).poll(&mut cx), Poll::Ready(Err(_))));
    assert!(matches!(peer.notify("late", &()).now_or_never(), Some(Err(SendError::Closed))));
    // No task is kept alive by those who are left.
    drop(waker);
    drop((waiting, reply));
    assert_eq!(Arc::strong_count(&count), 1);
}

/// What a waker owns may use the connection when it is dropped, so that mustn't happen under a lock.
#[test]
fn a_waker_may_own_a_part_of_the_connection() {
    type Part = Box<dyn std::any::Any + Send>;

    struct Owns(#[expect(dead_code, reason = "only dropped")] Mutex<Vec<Part>>);

    impl Wake for Owns {
        fn wake(self: Arc<Self>) {}
    }

    let (done, is_done) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut core: Connection<Caller> = Connection::new(Config::new(Rules::json_rpc()).backlog(0));
        for id in 0..8 {
            core.feed(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"m\"}}\n").as_bytes());
        }
        let mut tickets = Vec::new();
        while let Some(event) = core.next_event() {
            let Event::Request(_, ticket) = event else { panic!() };
            tickets.push(ticket);
        }
        let peer = core.peer();
        let mut owner = |sends: bool| {
            let mut owned: Vec<Part> = Vec::new();
            if sends {
                owned.push(Box::new(peer.notify("m", &())));
                owned.push(Box::new(peer.call::<()>("m", &())));
            }
            owned.extend(tickets.pop().map(|ticket| Box::new(ticket) as Part));
            Waker::from(Arc::new(Owns(Mutex::new(owned))))
        };
        // Each waker is replaced by the next, or dropped with what it waits for.
        let (mut send, mut reply) = (peer.notify("m", &()), peer.call::<()>("m", &()));
        let mut other = peer.notify("m", &());
        let last = owner(true);
        let held = owner(false);
        for waker in [owner(true), owner(true), owner(false), owner(true)] {
            let cx = &mut Context::from_waker(&waker);
            let _ = Pin::new(&mut send).poll(cx);
            let _ = Pin::new(&mut other).poll(cx);
            let _ = Pin::new(&mut reply).poll(cx);
            let _ = core.poll_wake(cx);
        }
        drop(other);
        drop((last, held));
        let len = core.pending().len();
        core.advance(len);
        drop(core);
        drop((send, reply));
        done.send(()).unwrap();
    });
    assert_eq!(is_done.recv_timeout(std::time::Duration::from_secs(30)), Ok(()), "deadlock");
}

/// Both ends of a connection that is ready or not at random, takes and gives as much as it likes, and whose peer doesn't
/// read for a while now and then. Each call is given up when it would wait.
#[test]
fn ten_thousand_cancelled_calls_lose_nothing() {
    const CANCELLED: usize = 10_000;
    const BACKLOG: usize = 500;
    type Random = Rc<RefCell<common::Random>>;

    struct Moody {
        pipe: Rc<RefCell<VecDeque<u8>>>,
        random: Random,
        /// For so many calls the peer doesn't read.
        asleep: usize,
    }

    impl Target for Moody {
        fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.asleep = self.asleep.saturating_sub(1);
            let mut random = self.random.borrow_mut();
            match random.below(100) {
                0 => self.asleep = 100,
                1..30 => return Poll::Pending,
                30..35 => return Poll::Ready(Err(ErrorKind::Interrupted.into())),
                _ => {}
            }
            if self.asleep > 0 {
                return Poll::Pending;
            }
            let len = 1 + random.below(bytes.len());
            self.pipe.borrow_mut().extend(&bytes[..len]);
            Poll::Ready(Ok(len))
        }

        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            if self.random.borrow_mut().below(3) == 0 { Poll::Pending } else { Poll::Ready(Ok(())) }
        }

        fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    impl Source for Moody {
        fn poll_read(&mut self, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
            let mut pipe = self.pipe.borrow_mut();
            let mut random = self.random.borrow_mut();
            match random.below(10) {
                0 => Poll::Ready(Err(ErrorKind::Interrupted.into())),
                1..4 => Poll::Pending,
                _ if pipe.is_empty() => Poll::Pending,
                _ => {
                    let len = (1 + random.below(300)).min(room.len());
                    Poll::Ready(pipe.read(&mut room[..len]))
                }
            }
        }
    }

    let random: Random = Rc::new(RefCell::new(common::Random::new(7)));
    let [there, back] = [(); 2].map(|()| Rc::new(RefCell::new(VecDeque::new())));
    let moody =
        |pipe: &Rc<RefCell<VecDeque<u8>>>| Moody { pipe: Rc::clone(pipe), random: Rc::clone(&random), asleep: 0 };
    let config = Config::new(Rules::json_rpc()).backlog(BACKLOG);
    let (client, mut asks) = aio::Connection::new(moody(&back), moody(&there), config);
    let (_, mut answers) = aio::Connection::new(moody(&there), moody(&back), config);
    let (mut tried, mut sent, mut received, mut next, mut cancelled) = (0_u64, VecDeque::new(), 0, 0, [0; 3]);
    let (mut replies, mut tickets, mut answered) = (VecDeque::new(), Vec::new(), 0);
    while cancelled.iter().any(|&cancelled| cancelled < CANCELLED) || !sent.is_empty() || answered < next {
        let is_over = cancelled.iter().all(|&cancelled| cancelled >= CANCELLED);
        let number = random.borrow_mut().below(6);
        let text = "x".repeat(random.borrow_mut().below(100));
        match number {
            // If it doesn't wait for room but for other tasks, it is sent although it is given up.
            0 if !is_over => {
                tried += 1;
                match client.notify("note", &(tried, &text)).now_or_never() {
                    Some(result) => {
                        result.unwrap();
                        sent.push_back(tried);
                    }
                    None => cancelled[0] += 1,
                }
            }
            1 if !is_over && replies.len() < 100 => {
                replies.push_back((next, client.call::<u64>("ask", &(next, &text))));
                next += 1;
            }
            2 => {
                let Some((number, mut reply)) = replies.pop_front() else { continue };
                match (&mut reply).now_or_never() {
                    Some(result) => {
                        assert_eq!(result.unwrap(), number);
                        answered += 1;
                    }
                    None => replies.push_back((number, reply)),
                }
            }
            3 => match asks.next().now_or_never() {
                Some(event) => assert!(matches!(event, Ok(Some(Event::Response(..))))),
                None => cancelled[1] += 1,
            },
            4 => {
                if !tickets.is_empty() {
                    let at = random.borrow_mut().below(tickets.len());
                    let (ticket, number): (wireline::connection::Ticket, u64) = tickets.swap_remove(at);
                    ticket.respond(&number);
                }
            }
            _ => match answers.next().now_or_never() {
                Some(Ok(Some(Event::Notification(note)))) => {
                    let (number, _): (u64, String) = note.params().unwrap().deserialize().unwrap();
                    assert!(number > received && sent.front().is_none_or(|&next| number <= next), "{number}");
                    received = number;
                    if sent.front() == Some(&number) {
                        sent.pop_front();
                    }
                }
                Some(Ok(Some(Event::Request(request, ticket)))) => {
                    let (number, _): (u64, String) = request.params_as().unwrap();
                    tickets.push((ticket, number));
                }
                Some(event) => panic!("{event:?}"),
                None => cancelled[2] += 1,
            },
        }
    }
    assert!(received > 1000 && answered > 1000, "{received} notifications and {answered} answers");
}

/// Lines from many threads, with little room, through a pipe and through a target that takes a few bytes at a time.
#[test]
fn lines_from_many_threads_stay_whole() {
    const THREADS: usize = 8;
    const LINES: usize = 300;
    let send = |peer: Peer<Caller>, size: usize| {
        let senders: Vec<_> = (0..THREADS)
            .map(|thread| {
                let peer = peer.clone();
                thread::spawn(move || {
                    for line in 0..LINES {
                        let text = "x".repeat(line * 37 % size);
                        peer.notify(&format!("{thread}-{line}"), &json!({"text": text})).wait().unwrap();
                    }
                })
            })
            .collect();
        thread::spawn(move || {
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            peer.end();
        });
    };
    let check = |sent: Vec<String>| {
        assert_eq!(sent.len(), THREADS * LINES);
        assert_eq!(sent.iter().collect::<HashSet<_>>().len(), THREADS * LINES);
        // Those of one thread are in order.
        for thread in 0..THREADS {
            let prefix = format!("{thread}-");
            let lines = sent.iter().filter_map(|method| method.strip_prefix(&prefix)?.parse::<usize>().ok());
            assert!(lines.is_sorted());
        }
    };
    let config = Config::new(Rules::mcp()).backlog(200);
    let (mut receiver, writer) = io::pipe().unwrap();
    // Reads nothing: the stream is closed when the connection is dropped.
    let (idle, keep_open) = io::pipe().unwrap();
    let (peer, connection) = wireline::io::Connection::new(idle, writer, config);
    send(peer, 9000);
    let running = thread::spawn(|| connection.run());
    let mut lines = Vec::new();
    receiver.read_to_end(&mut lines).unwrap();
    drop(keep_open);
    running.join().unwrap().unwrap();
    check(methods(&lines));

    let link = Link::new(State::Open(7));
    let (peer, mut connection) = aio::Connection::new(Never, link.clone(), config);
    send(peer, 100);
    let is_closed = std::future::poll_fn(|cx| {
        assert!(pin!(connection.next()).poll(cx).is_pending());
        if link.0.borrow().is_closed { Poll::Ready(()) } else { Poll::Pending }
    });
    block_on(is_closed);
    check(methods(&link.taken()));
}

/// While many notifications wait for a handler, reading pauses; but not if a handler waits for a response.
#[test]
fn handlers_of_many_notifications_may_call_back() {
    const NOTES: usize = 3000;
    let notes = PING.repeat(NOTES);
    let (mut receiver, writer) = io::pipe().unwrap();
    let (reader, mut sender) = io::pipe().unwrap();
    let (_, connection) = wireline::io::Connection::new(reader, writer, Rules::json_rpc());
    let handled = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&handled);
    let serving = thread::spawn(|| {
        connection.serve(2, move |call| {
            call.peer().call::<u64>("back", &()).wait().map_err(|_| RpcError::internal())?;
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    });
    // Its calls are answered once all notifications have been sent.
    sender.write_all(notes.as_bytes()).unwrap();
    let (mut decoder, mut answered) = (wireline::Decoder::new(Rules::json_rpc()), 0);
    while answered < NOTES {
        let mut piece = [0; 5000];
        let len = receiver.read(&mut piece).unwrap();
        decoder.feed(&piece[..len]);
        while let Some(frame) = decoder.next_frame() {
            let Ok(Frame::Message(Message::Request(request))) = frame else { panic!("{frame:?}") };
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":1}}\n", request.id().as_json());
            sender.write_all(answer.as_bytes()).unwrap();
            answered += 1;
        }
    }
    while handled.load(Ordering::Relaxed) < NOTES {
        thread::yield_now();
    }
    drop(sender);
    serving.join().unwrap().unwrap();

    // The same in one task, where all handlers run at the same time.
    let link = Link::new(State::Open(usize::MAX));
    let answers: String = (1..=NOTES).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":1}}\n")).collect();
    let stream = notes + &answers;
    let source = Unsteady::new(stream.as_bytes(), usize::MAX, &[]);
    let config = Config::new(Rules::json_rpc()).calls(NOTES);
    let (_, connection) = aio::Connection::new(source, link, config);
    let handled = AtomicUsize::new(0);
    let served = block_on(connection.serve(async |call| {
        call.peer().call::<u64>("back", &()).await.map_err(|_| RpcError::internal())?;
        handled.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }));
    served.unwrap();
    assert_eq!(handled.load(Ordering::Relaxed), NOTES);
}

/// Runs a future on this thread, which is parked while it waits.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

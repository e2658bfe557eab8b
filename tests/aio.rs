//! The reader and the writer for asynchronous I/O: the same frames as elsewhere, cancelled calls, slow and broken
//! streams.

mod common;

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use common::{Dialect, cases, describe};
use futures_util::FutureExt;
use wireline::aio::{FrameReader, LineSender, LineWriter, Source, Target};
use wireline::io::SendError;
use wireline::ledger::Inbound;
use wireline::{EncodeErrorKind, Frame, Id, Line, Message, Rules, to_line};

/// Returns its bytes in pieces of a fixed size; and now and then nothing yet, or an error.
struct Unsteady<'a> {
    left: &'a [u8],
    size: usize,
    calls: usize,
}

impl Source for Unsteady<'_> {
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        self.calls += 1;
        match self.calls % 5 {
            1 => return Poll::Ready(Err(ErrorKind::TimedOut.into())),
            // Read again at once.
            2 => return Poll::Ready(Err(ErrorKind::Interrupted.into())),
            3 => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            _ => {}
        }
        let len = self.size.min(self.left.len()).min(room.len());
        room[..len].copy_from_slice(&self.left[..len]);
        self.left = &self.left[len..];
        Poll::Ready(Ok(len))
    }
}

#[cfg(feature = "tokio")]
impl tokio::io::AsyncRead for Unsteady<'_> {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Source::poll_read(&mut *self, cx, room.initialize_unfilled()).map_ok(|len| room.advance(len))
    }
}

#[cfg(feature = "futures-io")]
impl futures_io::AsyncRead for Unsteady<'_> {
    fn poll_read(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        Source::poll_read(&mut *self, cx, room)
    }
}

/// All cases in all dialects and pieces. Each call that would wait is cancelled and repeated.
fn check_frames<'s, S: Source>(stream: &'s [u8], wrap: impl Fn(Unsteady<'s>) -> S) {
    for dialect in Dialect::ALL {
        let expected: Vec<String> = cases().iter().map(|case| case.expected(dialect).to_owned()).collect();
        for size in [1, 3, 64, 1000, 5000, usize::MAX] {
            let mut reader = FrameReader::new(wrap(Unsteady { left: stream, size, calls: 0 }), dialect.rules());
            let mut found = Vec::new();
            loop {
                match reader.next_frame().now_or_never() {
                    Some(Ok(Some(frame))) => found.push(describe(&frame)),
                    Some(Ok(None)) => break,
                    Some(Err(error)) => assert_eq!(error.kind(), ErrorKind::TimedOut),
                    None => {}
                }
            }
            assert_eq!(found, expected, "{dialect:?} in pieces of {size}");
            assert!(matches!(reader.next_frame().now_or_never(), Some(Ok(None))));
        }
    }
}

fn all_cases() -> Vec<u8> {
    cases().iter().flat_map(|case| [&case.line[..], b"\r\n"].concat()).collect()
}

#[test]
fn gives_the_same_frames() {
    check_frames(&all_cases(), |source| source);
}

/// Frames that are there already, and reading only when there are none left.
#[test]
fn gives_the_same_frames_read_by_hand() {
    let stream = all_cases();
    for dialect in Dialect::ALL {
        for size in [1, 64, usize::MAX] {
            let mut reader = FrameReader::new(Unsteady { left: &stream, size, calls: 0 }, dialect.rules());
            let mut found = Vec::new();
            loop {
                while let Some(frame) = reader.next_buffered() {
                    found.push(describe(&frame));
                }
                match reader.fill().now_or_never() {
                    Some(Ok(false)) => break,
                    Some(Err(error)) => assert_eq!(error.kind(), ErrorKind::TimedOut),
                    Some(Ok(true)) | None => {}
                }
            }
            let expected: Vec<_> = cases().iter().map(|case| case.expected(dialect).to_owned()).collect();
            assert_eq!(found, expected, "{dialect:?} in pieces of {size}");
        }
    }
}

#[cfg(feature = "tokio")]
#[test]
fn gives_the_same_frames_on_tokio() {
    check_frames(&all_cases(), wireline::aio::Tokio);
}

#[cfg(feature = "futures-io")]
#[test]
fn gives_the_same_frames_on_futures() {
    check_frames(&all_cases(), wireline::aio::Futures);
}

/// A source that always has more doesn't keep others from their turn.
#[test]
fn a_full_read_is_followed_by_a_pause() {
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
    let stream = line.repeat(10_000);
    let mut reader = FrameReader::new(Endless { left: stream.as_bytes(), reads: 0 }, Rules::mcp());
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let (mut found, mut pauses) = (0, 0);
    loop {
        let poll = pin!(reader.next_frame()).poll(&mut Context::from_waker(&waker));
        match poll {
            Poll::Ready(Ok(Some(Ok(_)))) => found += 1,
            Poll::Ready(Ok(None)) => break,
            Poll::Ready(other) => panic!("{other:?}"),
            Poll::Pending => {
                pauses += 1;
                // It must be polled again without anything having happened.
                assert_eq!(count.0.load(Ordering::Relaxed), pauses);
            }
        }
    }
    let reads = reader.get_ref().reads;
    // All but the last one with bytes, and the one that finds the end.
    assert_eq!((found, pauses), (10_000, reads - 2));
    assert!(pauses >= stream.len() / (64 << 10), "{pauses}");
}

/// If frames are kept, others get their turn after some of them, to do what they are kept for. If not, they are handed out
/// without a pause.
#[test]
fn kept_frames_are_followed_by_a_pause() {
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
    // Few enough that no read is full.
    let bursts = [line.repeat(100), line.repeat(100), line.repeat(100)];
    for keeps in [false, true] {
        let source = Bursts { left: bursts.iter().map(String::as_bytes).collect(), is_ready: false };
        let mut reader = FrameReader::new(source, Rules::mcp());
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let (mut kept, mut found, mut pauses) = (Vec::new(), 0, Vec::new());
        loop {
            let poll = pin!(reader.next_frame()).poll(&mut Context::from_waker(&waker));
            match poll {
                Poll::Ready(Ok(Some(Ok(frame)))) => {
                    found += 1;
                    kept.extend(keeps.then(|| frame.into_owned()));
                }
                Poll::Ready(Ok(None)) => break,
                Poll::Ready(other) => panic!("{other:?}"),
                Poll::Pending => {
                    // It is to be polled again at once if something is left.
                    let woken = count.0.swap(0, Ordering::Relaxed);
                    assert_eq!(woken, 1);
                    pauses.push(found);
                    kept.clear();
                }
            }
        }
        assert_eq!(found, 300);
        // Before each burst; and within those that follow one whose frames were kept.
        let expected: &[usize] =
            if keeps { &[0, 100, 128, 160, 192, 200, 224, 256, 288, 300] } else { &[0, 100, 200, 300] };
        assert_eq!(pauses, expected);
    }
}

/// The start of a long line after them doesn't make frames seem kept.
#[test]
fn frames_before_a_long_line_are_not_kept() {
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
    let long = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{{\"x\":\"{}\"}}}}\n", "x".repeat(5000));
    let (start, rest) = long.split_at(2500);
    let bursts = [line.repeat(40) + start, rest.to_owned() + &line.repeat(40), line.repeat(100)];
    let source = Bursts { left: bursts.iter().map(String::as_bytes).collect(), is_ready: false };
    let mut reader = FrameReader::new(source, Rules::mcp());
    let (mut found, mut pauses) = (0, Vec::new());
    loop {
        match pin!(reader.next_frame()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(Some(Ok(_)))) => found += 1,
            Poll::Ready(Ok(None)) => break,
            Poll::Ready(other) => panic!("{other:?}"),
            Poll::Pending => pauses.push(found),
        }
    }
    assert_eq!((found, &pauses[..]), (181, &[0, 40, 81, 181][..]));
}

/// Has one burst at a time, and isn't ready before it.
struct Bursts<'a> {
    left: VecDeque<&'a [u8]>,
    is_ready: bool,
}

impl Source for Bursts<'_> {
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        self.is_ready = !self.is_ready;
        if self.is_ready {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let burst = self.left.pop_front().unwrap_or_default();
        room[..burst.len()].copy_from_slice(burst);
        Poll::Ready(Ok(burst.len()))
    }
}

/// Fills whatever it is given.
struct Endless<'a> {
    left: &'a [u8],
    reads: usize,
}

impl Source for Endless<'_> {
    fn poll_read(&mut self, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        self.reads += 1;
        io::Read::read(&mut self.left, room).into()
    }
}

/// Not as if the stream had ended.
#[test]
fn a_future_that_has_returned_its_frame_says_so() {
    let mut frames = FrameReader::new(Unsteady { left: REQUESTS, size: 1000, calls: 3 }, Rules::json_rpc());
    let mut next = frames.next_frame();
    assert!(matches!((&mut next).now_or_never(), Some(Ok(Some(Ok(_))))));
    let again = (&mut next).now_or_never().unwrap().unwrap_err();
    assert!(again.to_string().contains("call next_frame again"), "{again}");
    drop(next);
    assert!(matches!(frames.next_frame().now_or_never(), Some(Ok(Some(Ok(_))))));
}

const REQUESTS: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\"}\n";

/// Both ends of a connection that is ready or not at random, takes and gives as much as it likes, and whose peer doesn't
/// read for a while now and then. Each call is given up when it would wait.
#[test]
fn ten_thousand_cancelled_calls_lose_nothing() {
    const CANCELLED: usize = 10_000;
    const BACKLOG: usize = 500;
    #[derive(Clone)]
    struct Random(Rc<RefCell<common::Random>>);
    impl Random {
        fn below(&self, limit: usize) -> usize {
            self.0.borrow_mut().below(limit)
        }
    }
    struct Moody {
        pipe: Rc<RefCell<VecDeque<u8>>>,
        random: Random,
        /// For so many calls the peer doesn't read.
        asleep: usize,
    }
    impl Target for Moody {
        fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.asleep = self.asleep.saturating_sub(1);
            match self.random.below(100) {
                0 => self.asleep = 100,
                1..30 => return Poll::Pending,
                30..35 => return Poll::Ready(Err(ErrorKind::Interrupted.into())),
                _ => {}
            }
            if self.asleep > 0 {
                return Poll::Pending;
            }
            let len = 1 + self.random.below(bytes.len());
            self.pipe.borrow_mut().extend(&bytes[..len]);
            Poll::Ready(Ok(len))
        }
        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            if self.random.below(3) == 0 { Poll::Pending } else { Poll::Ready(Ok(())) }
        }
        fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
    impl Source for Moody {
        fn poll_read(&mut self, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
            let mut pipe = self.pipe.borrow_mut();
            match self.random.below(10) {
                0 => Poll::Ready(Err(ErrorKind::TimedOut.into())),
                1..4 => Poll::Pending,
                _ if pipe.is_empty() => Poll::Pending,
                _ => {
                    let len = (1 + self.random.below(300)).min(room.len());
                    io::Read::read(&mut *pipe, &mut room[..len]).into()
                }
            }
        }
    }

    let random = Random(Rc::new(RefCell::new(common::Random::new(7))));
    let pipe = Rc::new(RefCell::new(VecDeque::new()));
    let moody = || Moody { pipe: Rc::clone(&pipe), random: random.clone(), asleep: 0 };
    let mut reader = FrameReader::new(moody(), Rules::json_rpc());
    let writer = LineWriter::new(moody(), Rules::json_rpc()).backlog(BACKLOG);
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let sender = writer.sender();
    let mut run = pin!(writer.run());
    let mut idle = Context::from_waker(Waker::noop());
    let (mut sent, mut received, mut cancelled) = (0, 0, [0; 3]);
    let longest = 200;
    let (mut in_flight, mut most) = (VecDeque::new(), 0);
    while cancelled.iter().any(|&cancelled| cancelled < CANCELLED) || received < sent {
        let is_over = cancelled.iter().all(|&cancelled| cancelled >= CANCELLED);
        match random.below(4) {
            0 if !is_over => {
                let text = "x".repeat(random.below(100));
                match sender.send(|encoder| encoder.notification(&sent.to_string(), &[&text])).now_or_never() {
                    Some(done) => {
                        done.unwrap();
                        in_flight.push_back(to_line(&Rules::json_rpc(), |encoder| {
                            encoder.notification(&sent.to_string(), &[&text])
                        }));
                        sent += 1;
                    }
                    None => cancelled[0] += 1,
                }
            }
            1 if !is_over => {
                let line = format!(r#"{{"jsonrpc":"2.0","id":{sent},"method":"m"}}"#);
                let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line.as_bytes(), &Rules::json_rpc())
                else {
                    panic!()
                };
                match sender.answer(owed.admit(&request).unwrap().respond(&sent)).now_or_never() {
                    Some(done) => {
                        done.unwrap();
                        in_flight
                            .push_back(to_line(&Rules::json_rpc(), |encoder| encoder.response(request.id(), &sent)));
                        sent += 1;
                    }
                    None => {
                        cancelled[1] += 1;
                        // It is still owed, once.
                        let dropped: Vec<_> = owed.dropped().collect();
                        assert_eq!(dropped.len(), 1);
                        dropped.into_iter().for_each(|answer| drop(answer.accept()));
                    }
                }
                assert_eq!(owed.in_flight(), 0);
            }
            2 => assert!(run.as_mut().poll(&mut idle).is_pending()),
            _ => match reader.next_frame().now_or_never() {
                Some(Ok(frame)) => {
                    let Some(Ok(Frame::Message(message))) = frame else { panic!("{frame:?}") };
                    let expected: Line = in_flight.pop_front().unwrap().unwrap();
                    assert_eq!(message.as_bytes(), expected.as_bytes().trim_ascii_end());
                    received += 1;
                }
                Some(Err(error)) => assert_eq!(error.kind(), ErrorKind::TimedOut),
                None => cancelled[2] += 1,
            },
        }
        // What is neither written nor in the pipe is what the backlog permits, and one line.
        let unread: usize = in_flight.iter().flatten().map(|line| line.as_bytes().len()).sum();
        let waiting = unread.saturating_sub(pipe.borrow().len() + reader.decoder().buffered());
        most = most.max(waiting);
        assert!(waiting <= BACKLOG + longest, "{waiting}");
    }
    assert!(most > BACKLOG, "the backlog was never full");
    assert!(received > 1000, "{received}");
}

#[test]
fn a_reader_gives_back_what_it_holds() {
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
    let stream = line.repeat(2) + "{\"half";
    let mut reader = FrameReader::new(Unsteady { left: stream.as_bytes(), size: 1000, calls: 3 }, Rules::mcp());
    assert!(matches!(reader.next_frame().now_or_never(), Some(Ok(Some(Ok(_))))));
    assert_eq!(reader.decoder().last_line(), line.trim_end().as_bytes());
    let (rest, buffered) = reader.into_parts();
    assert_eq!([&buffered[..], rest.left].concat(), stream.as_bytes()[line.len()..]);
}

/// What a [`Link`] does with a write.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Takes so many bytes at a time.
    Open(usize),
    Blocked,
    Broken,
}

/// The other end, as a target.
#[derive(Clone)]
struct Link(Rc<RefCell<Inner>>);

struct Inner {
    state: State,
    writes: Vec<Vec<u8>>,
    flushed: usize,
    is_closed: bool,
}

impl Link {
    fn new(state: State) -> Self {
        Self(Rc::new(RefCell::new(Inner { state, writes: Vec::new(), flushed: 0, is_closed: false })))
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
            State::Broken => Poll::Ready(Err(ErrorKind::ConnectionReset.into())),
        }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().flushed += 1;
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

fn notify(sender: &LineSender, method: &str) -> Option<Result<(), SendError>> {
    sender.send(|encoder| encoder.notification(method, &())).now_or_never()
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
    let writer = LineWriter::new(link.clone(), Rules::mcp());
    let sender = writer.sender();
    let mut run = pin!(writer.run());
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut cx = Context::from_waker(&waker);
    assert!(run.as_mut().poll(&mut cx).is_pending());
    for method in ["a", "b", "c"] {
        assert!(matches!(notify(&sender, method), Some(Ok(()))));
    }
    // The task is woken once for all of them.
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    assert!(run.as_mut().poll(&mut cx).is_pending());
    assert_eq!((link.0.borrow().writes.len(), link.0.borrow().flushed), (1, 1));
    assert_eq!(methods(&link.taken()), ["a", "b", "c"]);
    // There are no needless flushes.
    assert!(run.as_mut().poll(&mut cx).is_pending());
    assert_eq!(link.0.borrow().flushed, 1);

    // When the last sender is dropped, the task ends and returns its target.
    let clone = sender.clone();
    drop(sender);
    assert!(run.as_mut().poll(&mut cx).is_pending());
    assert!(matches!(notify(&clone, "d"), Some(Ok(()))));
    drop(clone);
    assert!(matches!(run.as_mut().poll(&mut cx), Poll::Ready(Ok(_))));
    assert_eq!(methods(&link.taken()), ["a", "b", "c", "d"]);
    assert!(!link.0.borrow().is_closed);
}

/// While others add more in each of their turns, the writer waits, but not forever.
#[test]
fn lines_of_several_turns_leave_in_one_write() {
    let link = Link::new(State::Open(usize::MAX));
    let writer = LineWriter::new(link.clone(), Rules::mcp());
    let sender = writer.sender();
    let mut run = pin!(writer.run());
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut cx = Context::from_waker(&waker);
    let mut poll = || assert!(run.as_mut().poll(&mut cx).is_pending());
    let writes = || link.0.borrow().writes.len();
    poll();
    // The first line isn't kept waiting.
    assert!(matches!(notify(&sender, "first"), Some(Ok(()))));
    poll();
    assert_eq!(writes(), 1);
    let mut turns = 0;
    let more = "more".repeat(128);
    while writes() < 3 {
        assert!(matches!(notify(&sender, &more), Some(Ok(()))));
        // Once by the line that was added, or by itself.
        assert_eq!(count.0.swap(0, Ordering::Relaxed), if turns == 0 { 2 } else { 1 });
        poll();
        turns += 1;
        assert!(turns < 100);
    }
    assert_eq!(turns, 2 * 17);
    // One that comes alone waits for one turn at most, and after that for none.
    for expected in [4, 5] {
        assert!(matches!(notify(&sender, "alone"), Some(Ok(()))));
        poll();
        if writes() < expected {
            assert_eq!(expected, 4);
            poll();
        }
        assert_eq!(writes(), expected);
    }
    // Nor do lines wait for others if each turn brings just a short one.
    for _ in 0..10 {
        let before = writes();
        assert!(matches!(notify(&sender, "trickle"), Some(Ok(()))));
        poll();
        assert!(matches!(notify(&sender, "trickle"), Some(Ok(()))));
        poll();
        assert!(writes() > before);
    }
    assert_eq!(methods(&link.taken()).len(), 1 + 34 + 2 + 20);
    // It sleeps when it has nothing to do.
    count.0.store(0, Ordering::Relaxed);
    poll();
    assert_eq!(count.0.load(Ordering::Relaxed), 0);
}

#[test]
fn senders_wait_for_room() {
    let link = Link::new(State::Blocked);
    let writer = LineWriter::new(link.clone(), Rules::mcp()).backlog(0);
    let (sender, count) = (writer.sender(), Arc::new(Count::default()));
    let mut run = pin!(writer.run());
    let (idle, waker) = (Waker::noop(), Waker::from(Arc::clone(&count)));
    let (mut idle, mut cx) = (Context::from_waker(idle), Context::from_waker(&waker));
    assert!(matches!(notify(&sender, "first"), Some(Ok(()))));
    assert!(run.as_mut().poll(&mut idle).is_pending());

    // A cancelled send sends nothing, and those that don't wait are refused without being called.
    assert!(notify(&sender, "given up").is_none());
    let refused = sender.try_send(|_| unreachable!());
    assert!(matches!(refused, Err(SendError::Full)), "{refused:?}");
    let mut second = pin!(sender.send(|encoder| encoder.notification("second", &())));
    assert!(second.as_mut().poll(&mut cx).is_pending());

    // A part isn't enough.
    link.set(State::Open(10));
    let before = count.0.load(Ordering::Relaxed);
    assert!(run.as_mut().poll(&mut idle).is_pending());
    assert_eq!(count.0.load(Ordering::Relaxed), before + 1);
    assert!(matches!(second.as_mut().poll(&mut cx), Poll::Ready(Ok(()))));
    assert!(run.as_mut().poll(&mut idle).is_pending());
    assert_eq!(methods(&link.taken()), ["first", "second"]);
}

#[test]
fn what_cannot_be_encoded_is_not_sent() {
    let link = Link::new(State::Open(usize::MAX));
    let writer = LineWriter::new(link.clone(), Rules::mcp());
    let sender = writer.sender();
    let line = to_line(&Rules::mcp(), |encoder| encoder.notification("a line", &())).unwrap();
    assert!(matches!(sender.send_line(&line).now_or_never(), Some(Ok(()))));
    let refused = sender.try_send(|encoder| {
        encoder.notification("rolled back", &())?;
        encoder.response(&Id::from(1), &f64::NAN)
    });
    assert!(matches!(refused, Err(SendError::Encode(error)) if error.kind() == EncodeErrorKind::NonFiniteFloat));
    sender.try_send(|encoder| encoder.notification("the next", &())).unwrap();
    drop(sender);
    assert!(matches!(writer.run().now_or_never(), Some(Ok(_))));
    assert_eq!(methods(&link.taken()), ["a line", "the next"]);
}

/// No line follows a partly written line, and everybody who sends or waits gets an error.
#[test]
fn a_broken_target_breaks_all_senders() {
    let link = Link::new(State::Open(20));
    let writer = LineWriter::new(link.clone(), Rules::json_rpc()).backlog(0);
    let (sender, owed) = (writer.sender(), Inbound::new(Rules::json_rpc(), 10));
    let answer = |id: i64| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line.as_bytes(), &Rules::json_rpc()) else {
            panic!()
        };
        owed.admit(&request).unwrap().respond("done")
    };
    assert!(matches!(sender.answer(answer(1)).now_or_never(), Some(Ok(()))));
    let mut waiting = pin!(sender.answer(answer(2)));
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());

    link.set(State::Broken);
    let error = writer.run().now_or_never().unwrap().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    let Poll::Ready(Err(unsent)) = waiting.as_mut().poll(&mut Context::from_waker(&waker)) else { panic!() };
    assert!(matches!(unsent.error, SendError::Broken));
    let unsent = [unsent.answer, sender.try_answer(answer(3)).unwrap_err().answer];
    // The first is lost with the connection. The others are still owed.
    assert_eq!((owed.in_flight(), unsent.iter().flatten().count()), (2, 2));
    drop(unsent);
    assert_eq!(owed.dropped().count(), 2);
    assert!(matches!(notify(&sender, "late"), Some(Err(SendError::Broken))));
}

#[test]
fn a_dropped_writer_breaks_all_senders() {
    let writer = LineWriter::new(Link::new(State::Open(20)), Rules::mcp());
    let sender = writer.sender();
    assert!(matches!(notify(&sender, "early"), Some(Ok(()))));
    drop(writer);
    assert!(matches!(notify(&sender, "late"), Some(Err(SendError::Broken))));
}

#[test]
fn a_target_that_takes_nothing_is_broken() {
    let writer = LineWriter::new(Link::new(State::Open(0)), Rules::mcp());
    let sender = writer.sender();
    assert!(matches!(notify(&sender, "m"), Some(Ok(()))));
    assert_eq!(writer.run().now_or_never().unwrap().map(drop).unwrap_err().kind(), ErrorKind::WriteZero);
}

/// Lines that can't be written aren't reported as sent.
#[test]
fn a_writer_that_goes_while_a_message_is_encoded() {
    let writer = LineWriter::new(Link::new(State::Open(20)), Rules::mcp());
    let sender = writer.sender();
    let mut writer = Some(writer);
    let sent = sender.try_send(|encoder| {
        drop(writer.take());
        encoder.notification("late", &())
    });
    assert!(matches!(sent, Err(SendError::Broken)), "{sent:?}");
}

/// Waiting senders are woken one by one, in order. One that gives up leaves nothing behind, and passes on its turn.
#[test]
fn those_who_wait_take_turns() {
    let link = Link::new(State::Blocked);
    let writer = LineWriter::new(link.clone(), Rules::mcp()).backlog(0);
    let sender = writer.sender();
    let mut run = pin!(writer.run());
    let mut idle = Context::from_waker(Waker::noop());
    assert!(matches!(notify(&sender, "first"), Some(Ok(()))));
    assert!(run.as_mut().poll(&mut idle).is_pending());

    let counts: Vec<Arc<Count>> = (0..4).map(|_| Arc::default()).collect();
    let wakers: Vec<Waker> = counts.iter().map(|count| Waker::from(Arc::clone(count))).collect();
    let woken = || counts.iter().map(|count| count.0.load(Ordering::Relaxed)).collect::<Vec<_>>();
    let mut sends: Vec<_> = ["a", "b", "c", "d"]
        .map(|method| Box::pin(sender.send(move |encoder| encoder.notification(method, &()))))
        .into();
    for (send, waker) in sends.iter_mut().zip(&wakers) {
        for _ in 0..3 {
            assert!(send.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
        }
    }
    // The third gives up while it waits, and the first after it was woken.
    drop(sends.remove(2));
    assert_eq!(Arc::strong_count(&counts[2]), 2);
    link.set(State::Open(usize::MAX));
    assert!(run.as_mut().poll(&mut idle).is_pending());
    assert_eq!(woken(), [1, 0, 0, 0]);
    drop(sends.remove(0));
    assert_eq!(woken(), [1, 1, 0, 0]);
    assert!(matches!(sends[0].as_mut().poll(&mut Context::from_waker(&wakers[1])), Poll::Ready(Ok(()))));
    assert!(run.as_mut().poll(&mut idle).is_pending());
    assert_eq!(woken(), [1, 1, 0, 1]);
    assert!(matches!(sends[1].as_mut().poll(&mut Context::from_waker(&wakers[3])), Poll::Ready(Ok(()))));
    assert!(run.as_mut().poll(&mut idle).is_pending());
    assert_eq!(methods(&link.taken()), ["first", "b", "d"]);
}

/// One who has its turn and doesn't use it, as a future that is kept but no longer polled, doesn't stop the others.
#[test]
fn a_turn_that_is_not_taken_passes() {
    let link = Link::new(State::Blocked);
    let writer = LineWriter::new(link.clone(), Rules::mcp()).backlog(0);
    let sender = writer.sender();
    let mut run = pin!(writer.run());
    let task = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&task));
    let mut cx = Context::from_waker(&waker);
    assert!(matches!(notify(&sender, "first"), Some(Ok(()))));
    assert!(run.as_mut().poll(&mut cx).is_pending());
    let counts: [_; 4] = std::array::from_fn(|_| Arc::new(Count::default()));
    let mut sends: Vec<_> =
        counts.iter().map(|_| Box::pin(sender.send(|encoder| encoder.notification("next", &())))).collect();
    for (send, count) in sends.iter_mut().zip(&counts) {
        let waker = Waker::from(Arc::clone(count));
        assert!(send.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    link.set(State::Open(usize::MAX));
    // Only the last is ever polled again. The writer is polled when it is woken, and sleeps when it has done all it can.
    let mut polls = 0;
    while task.0.swap(0, Ordering::Relaxed) > 0 || polls == 0 {
        polls += 1;
        assert!(polls < 100);
        assert!(run.as_mut().poll(&mut cx).is_pending());
    }
    assert!(counts.iter().all(|count| count.0.load(Ordering::Relaxed) == 1));
    assert!(matches!(sends[3].as_mut().poll(&mut cx), Poll::Ready(Ok(()))));
    assert!(task.0.load(Ordering::Relaxed) > 0);
    assert!(run.as_mut().poll(&mut cx).is_pending());
    assert_eq!(methods(&link.taken()), ["first", "next"]);
}

/// The last answer may be the last that holds its ledger, whose `wake` holds a sender: dropping it needs the lock under
/// which the answer was settled.
#[test]
fn an_answer_may_be_the_end_of_its_ledger() {
    let (done, is_done) = std::sync::mpsc::channel();
    let _ = thread::spawn(move || {
        let link = Link::new(State::Open(usize::MAX));
        let writer = LineWriter::new(link.clone(), Rules::mcp());
        let (sender, other) = (writer.sender(), writer.sender());
        let owed = Inbound::with_wake(Rules::mcp(), 10, move || drop(other.try_send(|_| Ok(()))));
        let line = br#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;
        let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &Rules::mcp()) else { panic!() };
        let ticket = owed.admit(&request).unwrap();
        drop(owed);
        let sent = sender.try_answer(ticket.respond(&serde_json::json!({})));
        done.send(sent.is_ok()).unwrap();
    });
    assert_eq!(is_done.recv_timeout(std::time::Duration::from_secs(30)), Ok(true), "deadlock");
}

/// Senders may outlive the writer, but its task doesn't live on with them.
#[test]
fn a_writer_that_is_gone_is_not_kept() {
    let writer = LineWriter::new(Link::new(State::Open(usize::MAX)), Rules::mcp());
    let (sender, count) = (writer.sender(), Arc::new(Count::default()));
    {
        let mut run = pin!(writer.run());
        let waker = Waker::from(Arc::clone(&count));
        assert!(run.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(Arc::strong_count(&count) > 2);
    }
    assert_eq!(Arc::strong_count(&count), 1);
    assert!(matches!(notify(&sender, "late"), Some(Err(SendError::Broken))));
}

/// The cost per waiting sender doesn't grow with their number.
#[test]
fn waiting_is_cheap() {
    let link = Link::new(State::Blocked);
    let writer = LineWriter::new(link.clone(), Rules::mcp()).backlog(0);
    let sender = writer.sender();
    let mut run = pin!(writer.run());
    let mut idle = Context::from_waker(Waker::noop());
    assert!(matches!(notify(&sender, "first"), Some(Ok(()))));
    assert!(run.as_mut().poll(&mut idle).is_pending());
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut cx = Context::from_waker(&waker);
    let mut sends: VecDeque<_> =
        (0..20_000).map(|_| Box::pin(sender.send(|encoder| encoder.notification("m", &())))).collect();
    assert!(sends.iter_mut().all(|send| send.as_mut().poll(&mut cx).is_pending()));
    link.set(State::Open(usize::MAX));
    while let Some(mut send) = sends.pop_front() {
        assert!(run.as_mut().poll(&mut idle).is_pending());
        assert!(send.as_mut().poll(&mut cx).is_ready());
    }
    // Each was woken exactly once.
    assert_eq!(count.0.load(Ordering::Relaxed), 20_000);
}

/// The waker of a task may own a sender, which must not be dropped under a lock.
#[test]
fn a_waker_may_own_a_sender() {
    struct Owns(#[allow(dead_code)] LineSender);

    impl Wake for Owns {
        fn wake(self: Arc<Self>) {}
    }

    let writer = LineWriter::new(Link::new(State::Open(20)), Rules::mcp());
    let sender = writer.sender();
    let owns = [writer.sender(), writer.sender()].map(|sender| Waker::from(Arc::new(Owns(sender))));
    let mut run = pin!(writer.run());
    for waker in owns {
        assert!(run.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    drop(sender);
    assert!(run.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

/// Lines from many threads, with little room, through a target that takes a few bytes at a time.
#[test]
fn lines_from_many_threads_stay_whole() {
    const THREADS: usize = 8;
    const LINES: usize = 500;
    let link = Link::new(State::Open(7));
    let writer = LineWriter::new(link.clone(), Rules::mcp()).backlog(200);
    let sender = writer.sender();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let sender = sender.clone();
            scope.spawn(move || {
                for line in 0..LINES {
                    let method = format!("{thread}-{line}");
                    block_on(sender.send(|encoder| encoder.notification(&method, &()))).unwrap();
                }
            });
        }
        drop(sender);
        block_on(writer.run()).map(drop).unwrap();
    });
    let sent = methods(&link.taken());
    assert_eq!(sent.len(), THREADS * LINES);
    assert_eq!(sent.iter().collect::<HashSet<_>>().len(), THREADS * LINES);
    // Those of one thread are in order.
    for thread in 0..THREADS {
        let prefix = format!("{thread}-");
        let lines = sent.iter().filter_map(|method| method.strip_prefix(&prefix)?.parse::<usize>().ok());
        assert!(lines.is_sorted());
    }
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

/// Streams with tokio's traits.
#[cfg(feature = "tokio")]
mod on_tokio {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Barrier;
    use tokio::time::{sleep, timeout};
    use wireline::aio::Tokio;

    use super::*;

    #[tokio::test]
    async fn frames_there_and_lines_back() {
        let (mut client, server) = duplex(64);
        let (reader, writer) = split(server);
        let mut frames = FrameReader::new(Tokio(reader), Rules::mcp());
        let writer = LineWriter::new(Tokio(writer), Rules::mcp());
        let sender = writer.sender();
        let serve = async move {
            while let Some(frame) = frames.next_frame().await.unwrap() {
                let Ok(Frame::Message(message)) = frame else { panic!() };
                sender.send(|encoder| encoder.forward(&message)).await.unwrap();
            }
        };
        let serve = tokio::spawn(async move { tokio::join!(serve, async { writer.run().await.map(drop).unwrap() }) });
        let stream: String = (0..200).map(|i| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"m{i}\"}}\n")).collect();
        let mut said = vec![0; stream.len()];
        let (mut from_server, mut to_server) = split(&mut client);
        let (written, read) = tokio::join!(to_server.write_all(stream.as_bytes()), from_server.read_exact(&mut said));
        written.unwrap();
        read.unwrap();
        assert_eq!(said, stream.as_bytes());
        client.shutdown().await.unwrap();
        drop(client);
        serve.await.unwrap();
    }

    /// A server that answers each request in its own task, and whose reads are cancelled now and then.
    async fn answer(socket: TcpStream) {
        let rules = Rules::json_rpc();
        let (reader, writer) = socket.into_split();
        let (owed, mut frames) = (Inbound::new(rules, 1000), FrameReader::new(Tokio(reader), rules));
        let writer = LineWriter::new(Tokio(writer), rules).backlog(2000);
        let sender = writer.sender();
        let writing = tokio::spawn(writer.run());
        let mut random = common::Random::new(1);
        loop {
            let is_impatient = random.below(4) == 0;
            let frame = tokio::select! {
                biased;
                // A cancelled read loses nothing.
                () = tokio::task::yield_now(), if is_impatient => continue,
                frame = frames.next_frame() => frame.unwrap(),
            };
            let answer = match frame {
                None => break,
                Some(Ok(Frame::Message(Message::Request(request)))) => {
                    let ticket = owed.admit(&request).unwrap();
                    let (request, sender) = (request.into_owned(), sender.clone());
                    tokio::spawn(async move { sender.answer(ticket.respond(&request.params())).await.unwrap() });
                    continue;
                }
                Some(Ok(other)) => panic!("{other:?}"),
                Some(Err(fault)) => owed.reply(&fault.reply().unwrap()),
            };
            // A cancelled send is repeated.
            let mut answer = Some(answer);
            while let Some(unsent) = answer.take() {
                answer = sender.try_answer(unsent).err().and_then(|unsent| unsent.answer);
                tokio::task::yield_now().await;
            }
        }
        drop(sender);
        writing.await.unwrap().map(drop).unwrap();
        assert_eq!((owed.in_flight(), owed.dropped().count()), (0, 0));
    }

    /// Some of the clients don't read until they have sent everything.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_thousand_connections_lose_nothing() {
        const CONNECTIONS: usize = 1000;
        const REQUESTS: usize = 100;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let start = Arc::new(Barrier::new(CONNECTIONS));
        let client = |connection: usize, socket: TcpStream, start: Arc<Barrier>| async move {
            start.wait().await;
            let (mut reader, mut writer) = socket.into_split();
            let write = async {
                for i in 0..REQUESTS {
                    let params = format!("[{connection},{i}]");
                    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{i},\"method\":\"m\",\"params\":{params}}}\n");
                    // Each in two pieces, and noise now and then.
                    let (one, two) = line.split_at(i * 7 % line.len());
                    writer.write_all(one.as_bytes()).await.unwrap();
                    writer.write_all(two.as_bytes()).await.unwrap();
                    if i % 10 == 0 {
                        writer.write_all(b"noise\n").await.unwrap();
                    }
                }
                writer.shutdown().await.unwrap();
            };
            let mut said = Vec::new();
            let read = reader.read_to_end(&mut said);
            if connection.is_multiple_of(100) {
                write.await;
                sleep(Duration::from_millis(100)).await;
                read.await.unwrap();
            } else {
                tokio::join!(write, async { read.await.unwrap() });
            }
            let mut answers: HashSet<String> = (0..REQUESTS)
                .map(|i| format!("{{\"jsonrpc\":\"2.0\",\"id\":{i},\"result\":[{connection},{i}]}}"))
                .collect();
            let mut faults = 0;
            for line in String::from_utf8(said).unwrap().lines() {
                if !answers.remove(line) {
                    assert!(line.starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700"#), "{line}");
                    faults += 1;
                }
            }
            assert_eq!((answers.len(), faults), (0, REQUESTS / 10));
        };
        let mut clients = Vec::new();
        for connection in 0..CONNECTIONS {
            // One after the other, for the listener's backlog.
            let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
            tokio::spawn(answer(far.unwrap().0));
            clients.push(tokio::spawn(client(connection, near.unwrap(), Arc::clone(&start))));
        }
        for client in clients {
            timeout(Duration::from_secs(120), client).await.unwrap().unwrap();
        }
    }
}

/// Streams with the traits of futures-io, `Stream` and `Sink`.
#[cfg(feature = "futures-io")]
mod on_futures {
    use futures_util::{Sink, SinkExt, StreamExt};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::Pin;
    use wireline::Encoder;
    use wireline::aio::Futures;
    use wireline::ledger::Answer;

    use super::*;

    /// A pipe in memory that blocks when it is full.
    #[derive(Clone, Default)]
    struct Pipe(Rc<RefCell<(VecDeque<u8>, bool)>>);

    impl futures_io::AsyncRead for Pipe {
        fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
            let (bytes, is_closed) = &mut *self.0.borrow_mut();
            if bytes.is_empty() && !*is_closed {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            io::Read::read(bytes, room).into()
        }
    }

    impl futures_io::AsyncWrite for Pipe {
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            let (pipe, _) = &mut *self.0.borrow_mut();
            let room = 100 - pipe.len().min(100);
            if room == 0 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            pipe.extend(&bytes[..bytes.len().min(room)]);
            Poll::Ready(Ok(bytes.len().min(room)))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.0.borrow_mut().1 = true;
            Poll::Ready(Ok(()))
        }
    }

    fn line(method: &str) -> Line {
        to_line(&Rules::mcp(), |encoder: &mut Encoder| encoder.notification(method, &())).unwrap()
    }

    #[test]
    fn a_sink_and_a_stream() {
        let pipe = Pipe::default();
        let mut sink = LineWriter::new(Futures(pipe.clone()), Rules::mcp()).backlog(300);
        let stream = FrameReader::new(Futures(pipe), Rules::mcp());
        let write = async {
            for i in 0..100 {
                sink.feed(line(&i.to_string())).await.unwrap();
            }
            SinkExt::<Line>::close(&mut sink).await.unwrap();
        };
        let read = stream.map(|frame| frame.unwrap().unwrap().line()).collect::<Vec<_>>();
        let ((), lines) = block_on(futures_util::future::join(write, read));
        assert_eq!(lines, (1..=100).collect::<Vec<_>>());
    }

    #[test]
    fn a_sink_is_bounded() {
        let link = Link::new(State::Blocked);
        let mut sink = LineWriter::new(link.clone(), Rules::mcp()).backlog(100);
        let fed = (0..100).take_while(|_| sink.feed(line("m")).now_or_never().is_some()).count();
        assert_eq!(fed, 100 / line("m").as_bytes().len() + 1);
        link.set(State::Open(usize::MAX));
        assert!(sink.send(line("n")).now_or_never().unwrap().is_ok());
        assert_eq!(methods(&link.taken()).len(), fed + 1);

        link.set(State::Broken);
        assert!(sink.send(line("o")).now_or_never().unwrap().is_err());
        assert!(sink.feed(line("p")).now_or_never().unwrap().is_err());
    }

    /// Somebody else may have taken it since.
    #[test]
    fn a_sink_keeps_its_word_about_room() {
        let link = Link::new(State::Blocked);
        let mut sink = LineWriter::new(link.clone(), Rules::mcp()).backlog(10);
        let sender = sink.sender();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Sink::<Line>::poll_ready(Pin::new(&mut sink), &mut cx).is_ready());
        sender.try_send(|encoder| encoder.notification("first", &())).unwrap();
        assert!(matches!(sender.try_send(|encoder| encoder.notification("refused", &())), Err(SendError::Full)));
        Pin::new(&mut sink).start_send(line("second")).unwrap();
        link.set(State::Open(usize::MAX));
        SinkExt::<Line>::flush(&mut sink).now_or_never().unwrap().unwrap();
        assert_eq!(methods(&link.taken()), ["first", "second"]);
    }

    #[test]
    fn a_closed_sink_takes_nothing() {
        let link = Link::new(State::Open(usize::MAX));
        let mut sink = LineWriter::new(link.clone(), Rules::mcp());
        let sender = sink.sender();
        SinkExt::<Line>::close(&mut sink).now_or_never().unwrap().unwrap();
        assert!(link.0.borrow().is_closed);
        assert!(matches!(notify(&sender, "late"), Some(Err(SendError::Broken))));
        assert!(sink.send(line("late")).now_or_never().unwrap().is_err());
    }

    /// Their requests count as answered as soon as the sink has taken them.
    #[test]
    fn a_sink_of_answers() {
        let owed = Inbound::new(Rules::mcp(), 10);
        let answer = |id: i32| {
            let line = to_line(&Rules::mcp(), |encoder| encoder.request(&Id::from(id), "m", &())).unwrap();
            let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line.text(), &Rules::mcp()) else {
                panic!()
            };
            owed.admit(&request).unwrap().respond(&serde_json::json!({}))
        };
        let link = Link::new(State::Blocked);
        let mut sink = LineWriter::new(link.clone(), Rules::mcp()).backlog(30);
        assert!(sink.feed(answer(1)).now_or_never().unwrap().is_ok());
        assert_eq!((owed.in_flight(), link.taken().len()), (0, 0));
        // The backlog is full: the answer isn't taken, and is still owed.
        assert!(sink.feed(answer(2)).now_or_never().is_none());
        assert_eq!(owed.in_flight(), 1);

        link.set(State::Open(7));
        assert!(sink.send(answer(3)).now_or_never().unwrap().is_ok());
        let answered = |id: i32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n");
        assert_eq!(link.taken(), [answered(1), answered(3)].concat().as_bytes());

        // There was room when it was asked for.
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Sink::<Answer>::poll_ready(Pin::new(&mut sink), &mut cx).is_ready());
        sink.sender().try_answer(answer(4)).unwrap();
        assert!(matches!(
            sink.sender().try_answer(answer(5)),
            Err(wireline::io::Unsent { error: SendError::Full, .. })
        ));
        Pin::new(&mut sink).start_send(answer(6)).unwrap();
        SinkExt::<Answer>::flush(&mut sink).now_or_never().unwrap().unwrap();
        SinkExt::<Answer>::close(&mut sink).now_or_never().unwrap().unwrap();
        assert!(link.0.borrow().is_closed);
        assert!(sink.feed(answer(7)).now_or_never().unwrap().is_err());
        assert_eq!(link.taken(), [1, 3, 4, 6].map(answered).concat().as_bytes());
        assert_eq!(owed.dropped().count(), 3);
    }

    /// Nobody knows how much of a line it has taken.
    #[test]
    fn a_target_that_panics_is_broken() {
        struct Panics;

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
        let mut sink = LineWriter::new(Panics, Rules::mcp());
        let sent = catch_unwind(AssertUnwindSafe(|| sink.send(line("a")).now_or_never()));
        assert!(sent.is_err());
        assert!(SinkExt::<Line>::flush(&mut sink).now_or_never().unwrap().is_err());
        assert!(sink.send(line("b")).now_or_never().unwrap().is_err());
    }
}

//! A scripted peer in memory, for testing programs that use a connection.
//!
//! The program under test gets a stream: [`Incoming`] and [`Outgoing`], which work with
//! [`aio::Connection`](crate::aio::Connection), [`io::Connection`](crate::io::Connection) and anything else that reads
//! and writes. The test plays the other side with a [`ScriptedPeer`]: it expects messages, answers, sends noise, stays
//! silent, or closes the stream.
//!
//! ```
//! use wireline::testing::ScriptedPeer;
//! use wireline::{Id, Rules, io};
//!
//! let (mut server, incoming, outgoing) = ScriptedPeer::new(Rules::json_rpc());
//! let (peer, connection) = io::Connection::new(incoming, outgoing, Rules::json_rpc());
//! std::thread::spawn(|| connection.run());
//!
//! let sum = peer.call::<i64>("add", &(1, 2));
//! let request = server.expect_request("add").wait();
//! assert_eq!(request.params_as::<(i64, i64)>()?, (1, 2));
//! server.send_raw(b"Server started\n"); // noise on stdout
//! server.expect_response(Id::NULL).wait(); // is answered with an error
//! server.respond(&request, &3);
//! assert_eq!(sum.wait()?, 3);
//!
//! // No answer, and then the end.
//! let never = peer.call::<i64>("add", &(3, 4));
//! server.expect_request("add").wait();
//! server.close();
//! assert_eq!(never.wait().unwrap_err().to_string(), "the connection has ended");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Expectations are futures; threads call `wait`. Nothing here uses a clock, so under tokio's paused clock only the
//! timeouts of the program under test take time.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use serde::Serialize;

use crate::aio::{Source, Target};
use crate::connection::block_on;
use crate::decode::{Decoder, Fault};
use crate::encode::{EncodeError, Encoder, RpcError};
use crate::message::{Frame, Id, Message, Notification, Request, Response, Rules};
use crate::pipe::{PipeReader, PipeWriter, pipe};

/// How many bytes the program under test can write before the scripted peer has read them.
const CAPACITY: usize = 64 << 10;

/// The other side of a connection, played by a test; see the [module](self).
///
/// If a test gets something other than it expects, it panics and names both. Dropping the peer closes the stream.
pub struct ScriptedPeer {
    rules: Rules,
    decoder: Decoder,
    reader: PipeReader,
    /// `None` once it is closed.
    writer: Option<PipeWriter>,
    /// How many bytes the program reads at a time, at most.
    piece: Arc<AtomicUsize>,
}

impl ScriptedPeer {
    /// A scripted peer, and the two streams of the program under test: the one it reads and the one it writes.
    #[must_use]
    pub fn new(rules: Rules) -> (Self, Incoming, Outgoing) {
        Self::with_capacity(rules, CAPACITY)
    }

    /// A scripted peer with a limited stream: the program under test can write only `capacity` bytes before the test
    /// reads them.
    #[must_use]
    pub fn with_capacity(rules: Rules, capacity: usize) -> (Self, Incoming, Outgoing) {
        // A script never waits for the program to read.
        let (to_program, incoming) = pipe(usize::MAX);
        let (from_program, reader) = pipe(capacity);
        let piece = Arc::new(AtomicUsize::new(usize::MAX));
        let incoming = Incoming { pipe: incoming, piece: Arc::clone(&piece) };
        let peer = Self { rules, decoder: Decoder::new(rules), reader, writer: Some(to_program), piece };
        (peer, incoming, Outgoing { pipe: Some(from_program) })
    }

    /// Expects a request with this method as the next message.
    pub fn expect_request(&mut self, method: &str) -> Expected<'_, Request<'static>> {
        self.expect(format!("a request of {method:?}"), {
            let method = method.to_owned();
            move |message| match message {
                Message::Request(request) if request.method() == method => Ok(request),
                other => Err(other),
            }
        })
    }

    /// Expects a notification with this method as the next message.
    pub fn expect_notification(&mut self, method: &str) -> Expected<'_, Notification<'static>> {
        self.expect(format!("a notification of {method:?}"), {
            let method = method.to_owned();
            move |message| match message {
                Message::Notification(notification) if notification.method() == method => Ok(notification),
                other => Err(other),
            }
        })
    }

    /// Expects a response to the request with this id as the next message.
    pub fn expect_response<'i>(&mut self, id: impl Into<Id<'i>>) -> Expected<'_, Response<'static>> {
        let id = id.into().into_owned();
        self.expect(format!("a response to {id}"), move |message| match message {
            Message::Response(response) if response.id() == Some(&id) => Ok(response),
            other => Err(other),
        })
    }

    /// The next frame of any kind: a message, a batch or a faulty line. `None` at the end of the stream.
    pub async fn next_frame(&mut self) -> Option<Result<Frame<'static>, Fault>> {
        poll_fn(|cx| self.poll_frame(cx)).await
    }

    /// Expects the end of the stream: the program has closed or dropped it.
    pub fn expect_end(&mut self) -> Expected<'_, ()> {
        let accept = |frame: Option<Result<Frame<'static>, Fault>>| match frame {
            None => Ok(()),
            Some(frame) => Err(describe(&frame)),
        };
        Expected { peer: self, what: "the end of the stream".to_owned(), accept: Some(Box::new(accept)) }
    }

    /// Answers a request with a result.
    pub fn respond(&mut self, request: &Request<'_>, result: &(impl Serialize + ?Sized)) {
        self.send(|encoder| encoder.response(request.id(), result));
    }

    /// Answers a request with an error.
    pub fn fail(&mut self, request: &Request<'_>, error: &RpcError) {
        self.send(|encoder| encoder.error(request.id(), error));
    }

    /// Sends a request.
    pub fn request<'i>(&mut self, id: impl Into<Id<'i>>, method: &str, params: &(impl Serialize + ?Sized)) {
        let id = id.into();
        self.send(|encoder| encoder.request(&id, method, params));
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: &(impl Serialize + ?Sized)) {
        self.send(|encoder| encoder.notification(method, params));
    }

    /// Sends bytes unchanged: a line that isn't a message, several lines, or half a line.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let mut cx = Context::from_waker(Waker::noop());
        if let Some(writer) = &mut self.writer {
            // There is always room. If the program has dropped its side, the bytes are lost, as over a real stream.
            let _ = writer.poll_write(&mut cx, bytes);
        }
    }

    /// Limits the program to `bytes` per read from now on, so that messages arrive in pieces.
    pub fn trickle(&mut self, bytes: usize) {
        self.piece.store(bytes.max(1), Ordering::Relaxed);
    }

    /// Closes the stream to the program. You can still expect messages from the program.
    pub fn close(&mut self) {
        self.writer = None;
    }

    fn send(&mut self, write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>) {
        let mut encoder = Encoder::new(self.rules);
        match write(&mut encoder) {
            Ok(()) => self.send_raw(&encoder.take()),
            Err(error) => fail(&format!("the script's message can't be encoded: {error}")),
        }
    }

    fn expect<T>(
        &mut self,
        what: String,
        accept: impl FnOnce(Message<'static>) -> Result<T, Message<'static>> + Send + 'static,
    ) -> Expected<'_, T> {
        let accept = |frame: Option<Result<Frame<'static>, Fault>>| match frame {
            Some(Ok(Frame::Message(message))) => accept(message).map_err(|other| describe(&Ok(Frame::Message(other)))),
            Some(other) => Err(describe(&other)),
            None => Err("the end of the stream".to_owned()),
        };
        Expected { peer: self, what, accept: Some(Box::new(accept)) }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<'static>, Fault>>> {
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                return Poll::Ready(Some(frame.map(Frame::into_owned)));
            }
            if self.decoder.is_finished() {
                return Poll::Ready(None);
            }
            let mut room = [0; 4096];
            match self.reader.poll_read(cx, &mut room) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(len @ 1..)) => self.decoder.feed(&room[..len]),
                Poll::Ready(_) => self.decoder.finish(),
            }
        }
    }
}

/// Describes a frame or a fault for a panic message.
fn describe(frame: &Result<Frame<'static>, Fault>) -> String {
    match frame {
        Ok(frame) => String::from_utf8_lossy(frame.as_bytes()).into_owned(),
        Err(fault) => format!("a faulty line: {fault}"),
    }
}

#[track_caller]
#[expect(clippy::panic, reason = "that is how a test fails")]
fn fail(message: &str) -> ! {
    panic!("{message}")
}

/// Something that a [`ScriptedPeer`] expects. Await it, or call [`wait`](Self::wait) in a thread.
#[must_use = "an expectation is checked when it is awaited, or by `wait`"]
pub struct Expected<'p, T> {
    peer: &'p mut ScriptedPeer,
    what: String,
    accept: Option<Box<Accept<T>>>,
}

/// Accepts a frame, or describes an unexpected one.
type Accept<T> = dyn FnOnce(Option<Result<Frame<'static>, Fault>>) -> Result<T, String> + Send;

impl<T> Expected<'_, T> {
    /// Blocks until the expected message arrives.
    ///
    /// # Panics
    ///
    /// Something else arrived, or the stream has ended.
    #[track_caller]
    pub fn wait(mut self) -> T {
        let frame = block_on(poll_fn(|cx| self.peer.poll_frame(cx)));
        self.check(frame)
    }

    #[track_caller]
    fn check(&mut self, frame: Option<Result<Frame<'static>, Fault>>) -> T {
        let Some(accept) = self.accept.take() else { fail("polled after it was ready") };
        match accept(frame) {
            Ok(expected) => expected,
            Err(other) => fail(&format!("expected {}, found {other}", self.what)),
        }
    }
}

impl<T> Future for Expected<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        self.peer.poll_frame(cx).map(|frame| self.check(frame))
    }
}

/// The stream that the program under test reads.
pub struct Incoming {
    pipe: PipeReader,
    piece: Arc<AtomicUsize>,
}

impl Source for Incoming {
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let len = room.len().min(self.piece.load(Ordering::Relaxed));
        self.pipe.poll_read(cx, &mut room[..len])
    }
}

impl Read for Incoming {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        block_on(poll_fn(|cx| self.poll_read(cx, room)))
    }
}

/// The stream that the program under test writes.
pub struct Outgoing {
    /// `None` once it is closed.
    pipe: Option<PipeWriter>,
}

impl Target for Outgoing {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.pipe {
            Some(pipe) => pipe.poll_write(cx, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pipe = None;
        Poll::Ready(Ok(()))
    }
}

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        block_on(poll_fn(|cx| self.poll_write(cx, bytes)))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

macro_rules! debug {
    ($($name:literal: $type:ty),*) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    )*};
}

debug!("ScriptedPeer": ScriptedPeer, "Incoming": Incoming, "Outgoing": Outgoing);

impl<T> fmt::Debug for Expected<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected").field("what", &self.what).finish_non_exhaustive()
    }
}

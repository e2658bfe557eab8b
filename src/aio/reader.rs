//! Frames from a source.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;

use crate::decode::{Decoder, Fault, Input, Ready};
use crate::message::{Frame, Rules};

use super::traits::Source;

/// Frames from an asynchronous reader, which reads straight into the decoder's buffer.
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use wireline::aio::{FrameReader, Tokio};
/// use wireline::{Frame, Message, Rules};
///
/// let input = &b"{\"jsonrpc\":\"2.0\",\"method\":\"one\"}\nnoise\n{\"jsonrpc\":\"2.0\",\"method\":\"two\"}\n"[..];
/// let mut frames = FrameReader::new(Tokio(input), Rules::mcp());
/// let mut methods = Vec::new();
/// while let Some(frame) = frames.next_frame().await? {
///     match frame {
///         Ok(Frame::Message(Message::Notification(notification))) => methods.push(notification.method().into_owned()),
///         Ok(_) => {}
///         Err(fault) => assert_eq!(fault.line(), 2), // an item like any other
///     }
/// }
/// assert_eq!(methods, ["one", "two"]);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "tokio"))]
/// # fn main() {}
/// ```
///
/// With the feature `futures-io` it is also a `Stream` of owned frames.
pub struct FrameReader<R> {
    source: R,
    input: Input,
    turn: Turn,
}

/// When to give other tasks a turn.
struct Turn {
    /// How many frames may be handed out before that.
    left: u32,
    /// Whether so many have been handed out since the last read.
    is_over: bool,
    /// Whether frames were found to be kept when more was to be read, as by tasks that answer them.
    are_kept: bool,
}

/// How many frames are handed out before other tasks get a turn, if these keep the frames. So about as many tasks and
/// answers are alive at a time, few enough to stay in the CPU's caches.
const TURN: u32 = 32;

impl<R: Source> FrameReader<R> {
    /// Frames from `source` that are checked against `rules`.
    pub fn new(source: R, rules: Rules) -> Self {
        Self::with_decoder(source, Decoder::new(rules))
    }

    /// Frames from `source` by a decoder that may have been fed before.
    pub fn with_decoder(source: R, decoder: Decoder) -> Self {
        Self { source, input: Input::new(decoder), turn: Turn { left: TURN, is_over: false, are_kept: false } }
    }

    /// The next frame or fault, or `None` when the stream has ended.
    ///
    /// Nothing is lost if the future is dropped before it is done, as by `select!`.
    ///
    /// If the source has more than one read could take, other tasks get their turn before the next read, so tasks that
    /// answer can keep up with a peer that sends a lot. If they keep frames, as a task for each request does, they also get
    /// it after some frames. Being pending therefore doesn't mean that there is nothing to read.
    ///
    /// # Errors
    ///
    /// The source failed. What was read before isn't lost, so this can be called again if the source can.
    #[inline]
    pub fn next_frame(&mut self) -> impl Future<Output = io::Result<Option<Result<Frame<'_>, Fault>>>> + Unpin {
        NextFrame { reader: Some(self) }
    }

    /// The next frame or fault of what has been read already, or `None` if more must be read: time to pass on what was
    /// answered so far, before [`fill`](Self::fill) waits.
    pub fn next_buffered(&mut self) -> Option<Result<Frame<'_>, Fault>> {
        self.input.decoder.next_frame()
    }

    /// Reads once. False when the stream has ended, and all of it has been seen by
    /// [`next_buffered`](Self::next_buffered).
    ///
    /// # Errors
    ///
    /// As for [`next_frame`](Self::next_frame).
    pub async fn fill(&mut self) -> io::Result<bool> {
        poll_fn(|cx| self.poll_fill(cx)).await
    }

    /// Reads once, as [`fill`](Self::fill) does.
    ///
    /// # Errors
    ///
    /// As for [`next_frame`](Self::next_frame).
    pub fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Self { source, input, .. } = self;
        loop {
            let mut is_pending = false;
            let filled = input.fill(|room| match source.poll_read(cx, room) {
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

    /// Polls for the next frame, which is owned. It takes turns with other tasks as [`next_frame`](Self::next_frame)
    /// does.
    ///
    /// # Errors
    ///
    /// As for [`next_frame`](Self::next_frame).
    pub fn poll_owned(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Result<Frame<'static>, Fault>>>> {
        let Some(ready) = ready!(self.poll_ready(cx))? else { return Poll::Ready(Ok(None)) };
        Poll::Ready(Ok(self.input.decoder.take(ready).map(|frame| frame.map(Frame::into_owned))))
    }

    /// Ready when the decoder has something that may be handed out now, or the stream has ended.
    #[inline(always)]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Ready>>> {
        loop {
            if self.turn.left == 0 {
                ready!(self.poll_turn(cx));
            }
            if let Some(ready) = self.input.decoder.next_ready() {
                self.turn.left -= 1;
                return Poll::Ready(Ok(Some(ready)));
            }
            if !ready!(self.poll_more(cx))? {
                return Poll::Ready(Ok(None));
            }
        }
    }

    /// Ready when frames may be handed out again. If they are kept, other tasks get their turn first.
    #[cold]
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let turn = &mut self.turn;
        if turn.left > 0 {
            return Poll::Ready(());
        }
        (turn.left, turn.is_over) = (TURN, true);
        if !turn.are_kept {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads once, but gives other tasks a turn before it if the last read was full.
    #[inline(never)]
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Self { input, turn, .. } = self;
        if mem::take(&mut turn.is_over) && !turn.are_kept {
            turn.are_kept = input.decoder.are_frames_kept();
        }
        if mem::take(&mut input.was_full) {
            // A source that always has more would never let this task pause.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.poll_fill(cx)
    }

    /// The source.
    pub fn get_ref(&self) -> &R {
        &self.source
    }

    /// The decoder, for [`last_line`](Decoder::last_line) and the like.
    pub fn decoder(&self) -> &Decoder {
        &self.input.decoder
    }

    /// The source, and the bytes read from it that aren't part of any frame or fault yet.
    pub fn into_parts(self) -> (R, BytesMut) {
        (self.source, self.input.decoder.into_buffer())
    }
}

/// The next frame of a reader.
///
/// By hand, and not `async`: a frame is written where the caller gets it, and not moved right after, when the CPU would wait
/// for it.
struct NextFrame<'r, R> {
    /// Until it is done.
    reader: Option<&'r mut FrameReader<R>>,
}

impl<'r, R: Source> Future for NextFrame<'r, R> {
    type Output = io::Result<Option<Result<Frame<'r>, Fault>>>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(reader) = &mut self.reader else { return Poll::Ready(Err(done_before())) };
        let Some(ready) = ready!(reader.poll_ready(cx))? else { return Poll::Ready(Ok(None)) };
        match self.reader.take() {
            Some(reader) => Poll::Ready(Ok(reader.input.decoder.take(ready))),
            None => Poll::Ready(Err(done_before())),
        }
    }
}

/// For callers that poll a future again after it has given them a frame.
#[cold]
fn done_before() -> io::Error {
    io::Error::other("this future has already returned a frame; call next_frame again")
}

/// Each item is a frame that shares the buffer, or a fault; or the source's error.
#[cfg(feature = "futures-io")]
impl<R: Source + Unpin> futures_core::Stream for FrameReader<R> {
    type Item = io::Result<Result<Frame<'static>, Fault>>;

    fn poll_next(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_owned(cx).map(Result::transpose)
    }
}

impl<R> fmt::Debug for FrameReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameReader")
            .field("decoder", &self.input.decoder)
            .field("ended", &self.input.ended)
            .finish_non_exhaustive()
    }
}

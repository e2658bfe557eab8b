//! Lines to a target.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;

use crate::message::Rules;

use super::outbox::{Growth, LineSender, Outbox};
use super::traits::Target;

/// Writes the lines that its [senders](Self::sender) send, as many at a time as there are.
///
/// [`run`](Self::run) is the task that writes; see [`LineSender`] for an example. With the feature `futures-io` a writer
/// is also a `Sink` of lines and answers, for programs that have one task anyway.
///
/// # When the target fails
///
/// No half line is ever followed by another line. [`run`](Self::run) returns the error, and senders fail from then on
/// with [`SendError::Broken`](crate::io::SendError::Broken), also those that were waiting. The same happens if the writer
/// is dropped.
pub struct LineWriter<W> {
    /// Until it is given back.
    target: Option<W>,
    outbox: Arc<Outbox>,
    /// Taken from the outbox.
    lines: BytesMut,
    /// How much of `lines` is written.
    written: usize,
    /// Whether something was written after the last flush.
    is_dirty: bool,
    /// Whether the target is being called. If it panics, nobody knows how much it has taken.
    is_calling: bool,
    /// Whether to wait for more before writing.
    growth: Growth,
}

impl<W: Target> LineWriter<W> {
    /// Writes lines to `target` that pass `rules`.
    pub fn new(target: W, rules: Rules) -> Self {
        let outbox = Arc::new(Outbox::new(rules));
        Self {
            target: Some(target),
            outbox,
            lines: BytesMut::new(),
            written: 0,
            is_dirty: false,
            is_calling: false,
            growth: Growth::new(),
        }
    }

    /// Sets how many bytes may wait to be written. The default is 1 MiB. While more are waiting, senders wait.
    #[must_use]
    pub fn backlog(self, bytes: usize) -> Self {
        self.outbox.set_backlog(bytes);
        self
    }

    /// A sender of lines to this writer, to be cloned for others.
    #[must_use]
    pub fn sender(&self) -> LineSender {
        LineSender::new(&self.outbox)
    }

    /// Writes until all senders are gone and everything is written and flushed, and gives back the target, which isn't
    /// closed.
    ///
    /// If the future is dropped before, so is the target, and with it whatever wasn't written.
    ///
    /// # Errors
    ///
    /// The target failed. Answers that it hasn't taken are lost with the connection.
    pub async fn run(mut self) -> io::Result<W> {
        poll_fn(|cx| self.poll_run(cx)).await?;
        self.target.take().ok_or_else(|| ErrorKind::BrokenPipe.into())
    }

    fn poll_run(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.written == self.lines.len() && self.outbox.is_growing(&mut self.growth) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            ready!(self.poll_flush_lines(cx))?;
            if !ready!(self.outbox.poll_lines(cx)) {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Ready when everything that was sent before is written and flushed.
    fn poll_flush_lines(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_calling {
            self.target = None;
            self.outbox.break_off();
        }
        let Some(target) = &mut self.target else { return Poll::Ready(Err(ErrorKind::BrokenPipe.into())) };
        let done = loop {
            if self.written == self.lines.len() {
                self.written = 0;
                if self.outbox.take_lines(&mut self.lines) {
                    continue;
                }
                if !self.is_dirty {
                    break Ok(());
                }
                match ready!(target.poll_flush(cx)) {
                    Ok(()) => self.is_dirty = false,
                    Err(error) => break Err(error),
                }
            } else {
                self.is_calling = true;
                let written = target.poll_write(cx, &self.lines[self.written..]);
                self.is_calling = false;
                match ready!(written) {
                    Ok(0) => break Err(ErrorKind::WriteZero.into()),
                    Ok(written) => {
                        self.written = (self.written + written).min(self.lines.len());
                        self.is_dirty = true;
                        self.outbox.has_written(self.lines.len() - self.written);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => break Err(error),
                }
            }
        };
        if done.is_err() {
            // Whatever follows would follow half a line.
            self.target = None;
            self.outbox.break_off();
        }
        Poll::Ready(done)
    }
}

#[cfg(feature = "futures-io")]
mod sink {
    use std::pin::Pin;

    use futures_sink::Sink;

    use super::*;
    use crate::encode::Line;
    use crate::ledger::Answer;

    impl<W: Target> LineWriter<W> {
        /// Ready when lines may be added.
        fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            while !self.outbox.has_room()? {
                ready!(self.poll_flush_lines(cx))?;
            }
            Poll::Ready(Ok(()))
        }

        fn poll_close_target(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            ready!(self.poll_flush_lines(cx))?;
            let closed = match &mut self.target {
                Some(target) => ready!(target.poll_close(cx)),
                None => Ok(()),
            };
            self.outbox.break_off();
            Poll::Ready(closed)
        }
    }

    /// Whole lines, which are encoded already.
    impl<W: Target + Unpin> Sink<Line> for LineWriter<W> {
        type Error = io::Error;

        fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_room(cx)
        }

        fn start_send(self: Pin<&mut Self>, line: Line) -> io::Result<()> {
            Ok(self.outbox.add(BytesMut::from(line.as_bytes()))?)
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_flush_lines(cx)
        }

        fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_close_target(cx)
        }
    }

    /// The request counts as answered once the answer is in the queue.
    impl<W: Target + Unpin> Sink<Answer> for LineWriter<W> {
        type Error = io::Error;

        fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_room(cx)
        }

        fn start_send(self: Pin<&mut Self>, answer: Answer) -> io::Result<()> {
            // There was room when it was asked for.
            Ok(self.outbox.accept_now(answer, true)?)
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_flush_lines(cx)
        }

        fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_close_target(cx)
        }
    }
}

impl<W> Drop for LineWriter<W> {
    fn drop(&mut self) {
        self.outbox.break_off();
    }
}

impl<W> fmt::Debug for LineWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineWriter").field("rules", &self.outbox.rules).finish_non_exhaustive()
    }
}

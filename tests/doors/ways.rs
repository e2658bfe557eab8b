//! The paths that an answer can take.

use std::future::Future;
use std::io::{self, ErrorKind, Write};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use wireline::aio::{LineSender, LineWriter};
use wireline::io::FrameWriter;
use wireline::ledger::{Answer, Inbound};
use wireline::{Encoder, Id, Rules};

/// The state of the other end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    Open,
    Blocked,
    Broken,
}

/// The other end, as a writer.
#[derive(Clone)]
pub(crate) struct Link {
    state: Arc<Mutex<State>>,
    taken: Arc<Mutex<Vec<u8>>>,
}

impl Link {
    pub(crate) fn new() -> Self {
        Self { state: Arc::new(Mutex::new(State::Open)), taken: Arc::default() }
    }

    fn state(&self) -> State {
        *self.state.lock().unwrap()
    }

    pub(crate) fn set(&self, state: State) {
        *self.state.lock().unwrap() = state;
    }

    pub(crate) fn taken(&self) -> Vec<u8> {
        self.taken.lock().unwrap().clone()
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.state() {
            State::Open => self.taken.lock().unwrap().write(bytes),
            State::Blocked => Err(ErrorKind::WouldBlock.into()),
            State::Broken => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A path for answers.
pub(crate) trait Door {
    /// Whether it can return the accepted answers that a broken link didn't write.
    const KNOWS_WHAT_IS_LOST: bool = true;

    fn open(link: Link, rules: Rules) -> Self;
    /// Sends answers, and returns those that were handed back.
    fn send(&mut self, owed: &Inbound, answers: Vec<Answer>) -> Vec<Answer>;
    /// Writes the waiting answers, as far as possible.
    fn flush(&mut self);
    /// The answers that were accepted and aren't written.
    fn unwritten(self) -> Vec<u8>;
}

/// The program's own buffer, and an encoder on it.
pub(crate) struct OwnEncoder {
    link: Link,
    out: BytesMut,
    rules: Rules,
}

impl Door for OwnEncoder {
    fn open(link: Link, rules: Rules) -> Self {
        Self { link, out: BytesMut::new(), rules }
    }

    fn send(&mut self, _: &Inbound, answers: Vec<Answer>) -> Vec<Answer> {
        let mut handed_back = Vec::new();
        for answer in answers {
            // If the program refuses an answer itself, it does so before accepting it.
            match self.link.state() {
                State::Open => answer.accept_into(&mut self.out),
                State::Blocked | State::Broken => handed_back.push(answer),
            }
            // Another message, which is rolled back, leaves no trace.
            assert!(Encoder::append_to(&mut self.out, self.rules).response(&Id::from(1), &f64::NAN).is_err());
        }
        self.flush();
        handed_back
    }

    fn flush(&mut self) {
        if self.link.write_all(&self.out).is_ok() {
            self.out.clear();
        }
    }

    fn unwritten(self) -> Vec<u8> {
        self.out.to_vec()
    }
}

/// Answers through a writer: one by one, several together, or as a batch.
pub(crate) struct Writer<const TOGETHER: u8> {
    writer: FrameWriter<Link>,
}

pub(crate) const ONE_BY_ONE: u8 = 0;
pub(crate) const TOGETHER: u8 = 1;
pub(crate) const BATCH: u8 = 2;

impl<const HOW: u8> Door for Writer<HOW> {
    fn open(link: Link, rules: Rules) -> Self {
        Self { writer: FrameWriter::new(link, rules).backlog(0) }
    }

    fn send(&mut self, owed: &Inbound, answers: Vec<Answer>) -> Vec<Answer> {
        let answers = match HOW {
            ONE_BY_ONE => answers,
            TOGETHER => vec![answers.into_iter().collect()],
            _ => vec![owed.batch(answers)],
        };
        answers.into_iter().filter_map(|answer| self.writer.answer(answer).err()?.answer).collect()
    }

    fn flush(&mut self) {
        drop(self.writer.flush());
    }

    fn unwritten(self) -> Vec<u8> {
        self.writer.into_parts().unwrap().1.to_vec()
    }
}

/// A channel of answers to a writer thread, which accepts them.
pub(crate) struct Channel {
    link: Link,
    sender: SyncSender<Answer>,
    receiver: Option<Receiver<Answer>>,
}

impl Door for Channel {
    fn open(link: Link, _: Rules) -> Self {
        let (sender, receiver) = sync_channel(2);
        Self { link, sender, receiver: Some(receiver) }
    }

    fn send(&mut self, _: &Inbound, answers: Vec<Answer>) -> Vec<Answer> {
        let mut handed_back = Vec::new();
        for answer in answers {
            match self.sender.try_send(answer) {
                Ok(()) => {}
                Err(TrySendError::Full(answer) | TrySendError::Disconnected(answer)) => handed_back.push(answer),
            }
            self.flush();
        }
        handed_back
    }

    fn flush(&mut self) {
        match self.link.state() {
            State::Open => {
                for answer in self.receiver.iter().flat_map(Receiver::try_iter) {
                    self.link.write_all(&answer.accept()).unwrap();
                }
            }
            State::Blocked => {}
            // The writer's thread has ended.
            State::Broken => self.receiver = None,
        }
    }

    fn unwritten(self) -> Vec<u8> {
        Vec::new()
    }
}

impl wireline::aio::Target for Link {
    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.write(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
            written => Poll::Ready(written),
        }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Answers sent to the task that writes.
pub(crate) struct Task {
    sender: LineSender,
    link: Link,
    writing: Option<Pin<Box<dyn Future<Output = io::Result<Link>>>>>,
}

impl Door for Task {
    const KNOWS_WHAT_IS_LOST: bool = false;

    fn open(link: Link, rules: Rules) -> Self {
        let writer = LineWriter::new(link.clone(), rules).backlog(0);
        Self { sender: writer.sender(), link, writing: Some(Box::pin(writer.run())) }
    }

    fn send(&mut self, _: &Inbound, answers: Vec<Answer>) -> Vec<Answer> {
        let mut handed_back = Vec::new();
        for answer in answers {
            handed_back.extend(self.sender.try_answer(answer).err().and_then(|unsent| unsent.answer));
            self.flush();
        }
        handed_back
    }

    fn flush(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        if self.writing.as_mut().is_some_and(|writing| writing.as_mut().poll(&mut cx).is_ready()) {
            self.writing = None;
        }
    }

    /// The first answer is lost with a broken target.
    fn unwritten(self) -> Vec<u8> {
        match self.link.state() {
            State::Broken => b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n".to_vec(),
            State::Open | State::Blocked => Vec::new(),
        }
    }
}

#[cfg(feature = "tokio")]
pub(crate) mod framed {
    use futures_util::{FutureExt, SinkExt};
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
    use tokio_util::codec::Framed;
    use wireline::codec::Codec;

    use super::*;

    impl AsyncRead for Link {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Link {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            match self.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
                written => Poll::Ready(written),
            }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    pub(crate) struct TokioFramed {
        framed: Framed<Link, Codec>,
    }

    impl Door for TokioFramed {
        fn open(link: Link, rules: Rules) -> Self {
            let mut framed = Framed::new(link, Codec::new(rules));
            // There is no room for the second answer until the first is written.
            framed.set_backpressure_boundary(1);
            Self { framed }
        }

        /// Cancelling a send before the line is in the buffer drops the answer, which is then owed.
        fn send(&mut self, _: &Inbound, answers: Vec<Answer>) -> Vec<Answer> {
            for answer in answers {
                drop(self.framed.send(answer).now_or_never());
            }
            Vec::new()
        }

        fn flush(&mut self) {
            drop(SinkExt::<Answer>::flush(&mut self.framed).now_or_never());
        }

        fn unwritten(self) -> Vec<u8> {
            self.framed.write_buffer().to_vec()
        }
    }
}

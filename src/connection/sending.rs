//! A message that is being sent.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::BytesMut;

use super::link::Link;
use super::queue::Placement;
use super::{SendError, block_on};

/// How many times a sender yields. At the first yield, the waiting lines are queued; at the second, their senders run
/// before this one, so that another sender is the first to find room.
const YIELDS: u8 = 2;

/// A message that is queued, or waits for room in the queue.
///
/// Messages that wait are queued in the order in which they were sent.
#[must_use = "dropping it takes back a message that still waits: await it, or call `wait`"]
pub struct Sending {
    link: Arc<Link>,
    stage: Stage,
}

enum Stage {
    Failed(SendError),
    Waiting(u64),
    /// Queued, but the sender should still yield this many times.
    Queued(u8),
}

impl Sending {
    pub(super) fn new(link: &Arc<Link>, line: Result<BytesMut, SendError>) -> Self {
        let stage = match line.and_then(|line| link.lock().queue.offer(line, link.backlog)) {
            Err(error) => Stage::Failed(error),
            Ok(Placement::Waiting(turn)) => Stage::Waiting(turn),
            Ok(Placement::Queued { yields: false }) => Stage::Queued(0),
            Ok(Placement::Queued { yields: true }) => Stage::Queued(YIELDS),
        };
        Self { link: Arc::clone(link), stage }
    }

    /// Blocks until the message is queued. Another thread has to write meanwhile.
    ///
    /// # Errors
    ///
    /// It can't be encoded, or the connection has ended.
    pub fn wait(self) -> Result<(), SendError> {
        block_on(self)
    }

    /// Whether the message waits for room in the queue.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Waiting(turn) if self.link.lock().queue.is_waiting(turn))
    }

    /// Takes back the message. Returns false if it is queued.
    pub(super) fn withdraw(&mut self) -> bool {
        match mem::replace(&mut self.stage, Stage::Queued(0)) {
            Stage::Failed(_) => true,
            Stage::Waiting(turn) => {
                let mut locked = self.link.lock();
                let (state, wakers) = locked.parts();
                state.queue.withdraw(turn, wakers)
            }
            Stage::Queued(_) => false,
        }
    }
}

impl Future for Sending {
    type Output = Result<(), SendError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match mem::replace(&mut self.stage, Stage::Queued(0)) {
            Stage::Queued(0) => Poll::Ready(Ok(())),
            Stage::Failed(error) => Poll::Ready(Err(error)),
            Stage::Queued(yields) => {
                self.stage = Stage::Queued(yields - 1);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Stage::Waiting(turn) => {
                let polled = {
                    let mut locked = self.link.lock();
                    let (state, wakers) = locked.parts();
                    state.queue.poll_turn(turn, cx.waker(), wakers)
                };
                if polled.is_pending() {
                    self.stage = Stage::Waiting(turn);
                }
                polled
            }
        }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.withdraw();
    }
}

impl fmt::Debug for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending").finish_non_exhaustive()
    }
}

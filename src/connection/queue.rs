//! The queue of outgoing lines.
//!
//! Answers are always added. Requests and notifications wait in FIFO order while more than the backlog is queued. The
//! line itself waits here, so its place doesn't depend on when its sender is polled.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::task::{Poll, Waker};

use bytes::BytesMut;

use crate::decode::Framing;
use crate::encode::append_framed;

use super::SendError;
use super::link::DeferredWakers;

/// Buffers larger than this are freed once they are written.
const MAX_SPARE_CAPACITY: usize = 128 << 10;

/// A line of at least this length is moved into an empty queue instead of copied.
const MIN_MOVED_LEN: usize = 4 << 10;

/// A sender yields after this many lines in a row that didn't have to wait, or after the line that fills the backlog,
/// so that other tasks of its thread can run.
const MAX_STREAK: u32 = 32;

/// While more bytes than this are queued, all senders whose lines were queued in one round run before the next round
/// starts. With fewer bytes queued, the writer could run out of lines meanwhile.
const ROUND_THRESHOLD: usize = 64 << 10;

#[derive(Default)]
pub(super) struct Queue {
    framing: Framing,
    /// Whole lines, or frames of another framing, to be written after the taken ones.
    lines: BytesMut,
    /// How many bytes have been taken for writing but aren't written yet.
    taken: usize,
    /// How many bytes of `lines`, and of the taken bytes, belong to answers.
    answers: usize,
    taken_answers: usize,
    /// Lines that wait for room, by turn, and their total length in bytes.
    waiting: BTreeMap<u64, WaitingLine>,
    waiting_bytes: usize,
    next_turn: u64,
    /// The turns of queued lines whose senders were woken but haven't run yet.
    woken: BTreeSet<u64>,
    streak: u32,
    phase: Phase,
}

struct WaitingLine {
    /// `None` if the line can no longer be sent.
    line: Option<BytesMut>,
    waker: Option<Waker>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    /// Only answers are accepted. Queued lines will still be written.
    Ending,
    /// Everything is written, and nothing more is accepted. The stream is about to be closed.
    Closing,
    /// The stream is closed.
    Closed,
    /// The connection is gone, and nothing more will be written.
    Broken,
}

/// What became of a line that was offered.
pub(super) enum Placement {
    /// Queued. `yields` says whether its sender should yield.
    Queued { yields: bool },
    /// Waiting for its turn.
    Waiting(u64),
}

impl Queue {
    pub(super) fn new(framing: Framing) -> Self {
        Self { framing, ..Self::default() }
    }

    /// How many bytes are queued or being written.
    #[inline]
    pub(super) fn level(&self) -> usize {
        self.lines.len() + self.taken
    }

    /// An upper bound on the bytes of answers that are queued or being written.
    #[inline]
    pub(super) fn answers(&self) -> usize {
        self.answers + self.taken_answers
    }

    /// How many bytes are buffered: queued, being written, or waiting for room.
    #[inline]
    pub(super) fn buffered(&self) -> usize {
        self.level() + self.waiting_bytes
    }

    /// Whether there is nothing left to write.
    pub(super) fn is_empty(&self) -> bool {
        self.level() == 0 && self.waiting.is_empty()
    }

    /// Whether there are lines to take.
    #[inline]
    pub(super) fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    pub(super) fn is_ending(&self) -> bool {
        self.phase == Phase::Ending
    }

    pub(super) fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    pub(super) fn is_broken(&self) -> bool {
        self.phase == Phase::Broken
    }

    /// Whether queued lines will be written.
    #[inline]
    pub(super) fn will_be_written(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Ending)
    }

    /// Adds an answer, regardless of the backlog. `line` may be left with another buffer, for reuse.
    #[inline]
    pub(super) fn push_answer(&mut self, line: &mut BytesMut) {
        let before = self.lines.len();
        self.push(line);
        self.answers += self.lines.len() - before;
    }

    /// Adds a line, regardless of the backlog, without counting it as an answer.
    #[inline]
    pub(super) fn push(&mut self, line: &mut BytesMut) {
        if !self.will_be_written() || line.is_empty() {
            return;
        }
        if self.framing != Framing::Lines {
            append_framed(&mut self.lines, line, self.framing);
        } else if self.lines.is_empty() && line.len() >= MIN_MOVED_LEN {
            mem::swap(&mut self.lines, line);
        } else {
            self.lines.extend_from_slice(line);
        }
    }

    /// Adds a request or a notification, or lets it wait for its turn.
    pub(super) fn offer(&mut self, mut line: BytesMut, backlog: usize) -> Result<Placement, SendError> {
        match self.try_push(&mut line, backlog) {
            Ok(()) => {
                self.streak += 1;
                let yields = self.streak == MAX_STREAK || self.level() > backlog;
                if yields {
                    self.streak = 0;
                }
                Ok(Placement::Queued { yields })
            }
            Err(SendError::Full) => {
                let turn = self.next_turn;
                self.next_turn += 1;
                self.waiting_bytes += line.len();
                self.waiting.insert(turn, WaitingLine { line: Some(line), waker: None });
                Ok(Placement::Waiting(turn))
            }
            Err(error) => Err(error),
        }
    }

    /// Adds a request or a notification, if there is room and no other line is waiting.
    pub(super) fn try_push(&mut self, line: &mut BytesMut, backlog: usize) -> Result<(), SendError> {
        if self.phase != Phase::Open {
            return Err(SendError::Closed);
        }
        if !self.has_room(backlog) || !self.waiting.is_empty() {
            return Err(SendError::Full);
        }
        self.push(line);
        Ok(())
    }

    /// Whether requests and notifications can be queued. False while a woken sender hasn't run yet: otherwise the first
    /// sender to run would take all the room.
    #[inline]
    fn has_room(&self, backlog: usize) -> bool {
        self.level() <= backlog && (self.woken.is_empty() || self.level() <= ROUND_THRESHOLD)
    }

    /// Queues one round of waiting lines, as far as there is room: one line of each waiting sender.
    #[inline]
    pub(super) fn push_waiting(&mut self, backlog: usize, wakers: &mut DeferredWakers) {
        if self.waiting.is_empty() || !self.has_room(backlog) || !self.will_be_written() {
            return;
        }
        while self.level() <= backlog
            && let Some((turn, mut waiting)) = self.waiting.pop_first()
        {
            if let Some(line) = &mut waiting.line {
                self.waiting_bytes -= line.len();
                self.push(line);
            }
            if let Some(waker) = waiting.waker {
                self.woken.insert(turn);
                wakers.to_wake.push(waker);
            }
        }
    }

    /// Ready when the line with this turn is queued or can no longer be sent. Otherwise registers `waker`.
    pub(super) fn poll_turn(
        &mut self,
        turn: u64,
        waker: &Waker,
        wakers: &mut DeferredWakers,
    ) -> Poll<Result<(), SendError>> {
        match self.waiting.get_mut(&turn) {
            None => {
                self.woken.remove(&turn);
                Poll::Ready(Ok(()))
            }
            Some(WaitingLine { line: None, .. }) => {
                self.waiting.remove(&turn);
                Poll::Ready(Err(SendError::Closed))
            }
            Some(waiting) => {
                wakers.to_drop.extend(waiting.waker.replace(waker.clone()));
                Poll::Pending
            }
        }
    }

    /// Whether the line with this turn is still waiting.
    pub(super) fn is_waiting(&self, turn: u64) -> bool {
        self.waiting.get(&turn).is_some_and(|waiting| waiting.line.is_some())
    }

    /// Takes back a line that waits for its turn. Returns false if it is queued.
    pub(super) fn withdraw(&mut self, turn: u64, wakers: &mut DeferredWakers) -> bool {
        self.woken.remove(&turn);
        let waiting = self.waiting.remove(&turn);
        let is_withdrawn = waiting.is_some();
        self.waiting_bytes -=
            waiting.iter().filter_map(|waiting| waiting.line.as_ref()).map(BytesMut::len).sum::<usize>();
        wakers.to_drop.extend(waiting.and_then(|waiting| waiting.waker));
        is_withdrawn
    }

    /// Swaps a buffer of written lines for the lines to write next.
    pub(super) fn take(&mut self, written: &mut BytesMut) {
        written.clear();
        if written.capacity() > MAX_SPARE_CAPACITY {
            *written = BytesMut::new();
        }
        mem::swap(written, &mut self.lines);
        self.taken = written.len();
        self.taken_answers = mem::take(&mut self.answers);
    }

    /// Notes how many of the taken bytes aren't written yet.
    pub(super) fn set_unwritten(&mut self, bytes: usize) {
        if self.will_be_written() {
            self.taken = bytes;
            self.taken_answers = self.taken_answers.min(bytes);
        }
    }

    /// Accepts no more requests or notifications.
    pub(super) fn end(&mut self) {
        if self.phase == Phase::Open {
            self.phase = Phase::Ending;
        }
    }

    /// Accepts nothing more: the stream is about to be closed.
    pub(super) fn start_closing(&mut self) {
        if self.will_be_written() {
            self.phase = Phase::Closing;
        }
    }

    /// Notes that the stream is closed.
    pub(super) fn close(&mut self) {
        if self.phase != Phase::Broken {
            self.phase = Phase::Closed;
        }
    }

    /// Drops all lines: nothing more will be written.
    pub(super) fn break_off(&mut self, wakers: &mut DeferredWakers) {
        self.phase = Phase::Broken;
        self.lines = BytesMut::new();
        self.woken.clear();
        (self.taken, self.answers, self.taken_answers, self.waiting_bytes) = (0, 0, 0, 0);
        for waiting in self.waiting.values_mut() {
            waiting.line = None;
            wakers.to_wake.extend(waiting.waker.take());
        }
    }
}

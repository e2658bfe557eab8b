//! The queue of outgoing lines.
//!
//! Answers are always added. Requests and notifications wait in turn while more than the backlog is queued: the line
//! itself waits here, so that its place doesn't depend on when its sender is polled.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::task::{Poll, Waker};

use bytes::BytesMut;

use super::SendError;
use super::link::Wakes;

/// Larger buffers are freed when they are empty.
const KEPT: usize = 128 << 10;

/// A line at least this long is moved to an empty queue, not copied.
const WORTH_MOVING: usize = 4 << 10;

/// After this many lines that didn't have to wait, or the last for which there was room, a sender yields, so that others
/// of its thread have a turn.
const STREAK: u32 = 32;

/// While more bytes than this are queued, senders whose lines were queued in the same round all run before the next round.
/// Below it, the writer could run out of lines while they do.
const ROUNDS: usize = 64 << 10;

#[derive(Default)]
pub(super) struct Queue {
    /// Whole lines, which follow those that were taken for writing.
    lines: BytesMut,
    /// How many bytes were taken for writing and aren't written yet.
    taken: usize,
    /// How many bytes of `lines`, and of those that were taken, are answers.
    answers: usize,
    taken_answers: usize,
    /// Lines that wait for room, by turn, and how many bytes they have.
    waiting: BTreeMap<u64, Waiting>,
    waiting_bytes: usize,
    next_turn: u64,
    /// The turns of lines that were queued, and whose senders were woken and haven't run since.
    woken: BTreeSet<u64>,
    streak: u32,
    fate: Fate,
}

struct Waiting {
    /// `None` if it can't be sent any more.
    line: Option<BytesMut>,
    waker: Option<Waker>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Fate {
    #[default]
    Open,
    /// No more requests or notifications are accepted. Answers are, and what is queued will be written.
    Ending,
    /// Everything was written, and nothing more is accepted. The stream is about to be closed.
    Closing,
    /// The stream is closed.
    Closed,
    /// The connection is gone, and nothing will be written any more.
    Broken,
}

/// Where a line is that was offered.
pub(super) enum Place {
    /// Queued. `yields` if its sender should let others have a turn.
    Queued { yields: bool },
    /// Waiting for its turn.
    Waiting(u64),
}

impl Queue {
    /// How many bytes are queued or being written.
    #[inline]
    pub(super) fn level(&self) -> usize {
        self.lines.len() + self.taken
    }

    /// How many bytes of answers are queued or being written, at most.
    #[inline]
    pub(super) fn answers(&self) -> usize {
        self.answers + self.taken_answers
    }

    /// How many bytes are kept: queued, being written, or waiting for room.
    #[inline]
    pub(super) fn kept(&self) -> usize {
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
        self.fate == Fate::Ending
    }

    pub(super) fn is_closed(&self) -> bool {
        self.fate == Fate::Closed
    }

    pub(super) fn is_broken(&self) -> bool {
        self.fate == Fate::Broken
    }

    /// Whether what is queued will be written.
    #[inline]
    pub(super) fn is_written(&self) -> bool {
        matches!(self.fate, Fate::Open | Fate::Ending)
    }

    /// Adds an answer, whatever is queued. Leaves a buffer to use again.
    #[inline]
    pub(super) fn put(&mut self, line: &mut BytesMut) {
        if self.is_written() {
            self.answers += line.len();
            self.push(line);
        }
    }

    /// Adds a line that isn't an answer, whatever is queued.
    #[inline]
    pub(super) fn push(&mut self, line: &mut BytesMut) {
        if !self.is_written() {
            return;
        }
        if self.lines.is_empty() && line.len() >= WORTH_MOVING {
            mem::swap(&mut self.lines, line);
        } else {
            self.lines.extend_from_slice(line);
        }
    }

    /// Adds a request or a notification, or has it wait for its turn.
    pub(super) fn offer(&mut self, mut line: BytesMut, backlog: usize) -> Result<Place, SendError> {
        match self.add(&mut line, backlog) {
            Ok(()) => {
                self.streak += 1;
                let yields = self.streak == STREAK || self.level() > backlog;
                if yields {
                    self.streak = 0;
                }
                Ok(Place::Queued { yields })
            }
            Err(SendError::Full) => {
                let turn = self.next_turn;
                self.next_turn += 1;
                self.waiting_bytes += line.len();
                self.waiting.insert(turn, Waiting { line: Some(line), waker: None });
                Ok(Place::Waiting(turn))
            }
            Err(error) => Err(error),
        }
    }

    /// Adds a request or a notification, if there is room and no other waits for it.
    pub(super) fn add(&mut self, line: &mut BytesMut, backlog: usize) -> Result<(), SendError> {
        if self.fate != Fate::Open {
            return Err(SendError::Closed);
        }
        if !self.has_room(backlog) || !self.waiting.is_empty() {
            return Err(SendError::Full);
        }
        self.push(line);
        Ok(())
    }

    /// Whether requests and notifications can be queued. Not while a sender that was woken hasn't run: the first to run
    /// would take all the room.
    #[inline]
    fn has_room(&self, backlog: usize) -> bool {
        self.level() <= backlog && (self.woken.is_empty() || self.level() <= ROUNDS)
    }

    /// Adds lines whose turn it is: a round, with one line of each sender that waits.
    #[inline]
    pub(super) fn add_waiting(&mut self, backlog: usize, wakes: &mut Wakes) {
        if self.waiting.is_empty() || !self.has_room(backlog) || !self.is_written() {
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
                wakes.due.push(waker);
            }
        }
    }

    /// Ready when the line with this turn is queued, or can't be. Otherwise `waker` is woken when that is known.
    pub(super) fn poll_turn(&mut self, turn: u64, waker: &Waker, wakes: &mut Wakes) -> Poll<Result<(), SendError>> {
        match self.waiting.get_mut(&turn) {
            None => {
                self.woken.remove(&turn);
                Poll::Ready(Ok(()))
            }
            Some(Waiting { line: None, .. }) => {
                self.waiting.remove(&turn);
                Poll::Ready(Err(SendError::Closed))
            }
            Some(waiting) => {
                wakes.unneeded.extend(waiting.waker.replace(waker.clone()));
                Poll::Pending
            }
        }
    }

    /// Whether the line with this turn waits for it.
    pub(super) fn is_waiting(&self, turn: u64) -> bool {
        self.waiting.get(&turn).is_some_and(|waiting| waiting.line.is_some())
    }

    /// Takes back a line that waits for its turn. Returns false if it is queued.
    pub(super) fn withdraw(&mut self, turn: u64, wakes: &mut Wakes) -> bool {
        self.woken.remove(&turn);
        let waiting = self.waiting.remove(&turn);
        let is_withdrawn = waiting.is_some();
        self.waiting_bytes -=
            waiting.iter().filter_map(|waiting| waiting.line.as_ref()).map(BytesMut::len).sum::<usize>();
        wakes.unneeded.extend(waiting.and_then(|waiting| waiting.waker));
        is_withdrawn
    }

    /// Swaps lines that are written for the next ones.
    pub(super) fn take(&mut self, written: &mut BytesMut) {
        written.clear();
        if written.capacity() > KEPT {
            *written = BytesMut::new();
        }
        mem::swap(written, &mut self.lines);
        self.taken = written.len();
        self.taken_answers = mem::take(&mut self.answers);
    }

    /// Notes how many of the bytes that were taken aren't written yet.
    pub(super) fn set_unwritten(&mut self, bytes: usize) {
        if self.is_written() {
            self.taken = bytes;
            self.taken_answers = self.taken_answers.min(bytes);
        }
    }

    /// Accepts no more requests or notifications.
    pub(super) fn end(&mut self) {
        if self.fate == Fate::Open {
            self.fate = Fate::Ending;
        }
    }

    /// Accepts nothing more: the stream is about to be closed.
    pub(super) fn refuse(&mut self) {
        if self.is_written() {
            self.fate = Fate::Closing;
        }
    }

    /// The stream is closed.
    pub(super) fn close(&mut self) {
        if self.fate != Fate::Broken {
            self.fate = Fate::Closed;
        }
    }

    /// Drops everything: nothing will be written any more.
    pub(super) fn break_off(&mut self, wakes: &mut Wakes) {
        self.fate = Fate::Broken;
        self.lines = BytesMut::new();
        self.woken.clear();
        (self.taken, self.answers, self.taken_answers, self.waiting_bytes) = (0, 0, 0, 0);
        for waiting in self.waiting.values_mut() {
            waiting.line = None;
            wakes.due.extend(waiting.waker.take());
        }
    }
}

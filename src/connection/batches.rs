//! Collects the answers to a batch, which are sent as one array.

use std::mem;

use crate::encode::Array;
use crate::message::Rules;

use super::queue::Queue;

/// The batches with answers outstanding.
#[derive(Default)]
pub(super) struct Batches {
    batches: Vec<Option<PendingBatch>>,
    free: Vec<u32>,
    /// How many bytes of answers are held back, in all batches together.
    held: usize,
}

#[derive(Default)]
struct PendingBatch {
    answers: Array,
    /// The entries without an answer, plus one until all entries have been handed out.
    outstanding: usize,
}

/// Limits on an array, and on the bytes of answers held back until their batch is complete.
#[derive(Clone, Copy)]
pub(super) struct BatchLimits {
    pub(super) line: usize,
    pub(super) entries: usize,
    pub(super) held: usize,
}

impl BatchLimits {
    pub(super) fn new(rules: &Rules, held: usize) -> Self {
        Self { line: rules.limits.max_line_len, entries: rules.limits.max_batch_len, held }
    }
}

impl Batches {
    /// Starts a batch, whose entries are about to be handed out.
    #[allow(clippy::cast_possible_truncation, reason = "each open batch has at least one request in flight")]
    pub(super) fn open(&mut self) -> u32 {
        let key = self.free.pop().unwrap_or_else(|| {
            self.batches.push(None);
            (self.batches.len() - 1) as u32
        });
        self.batches[key as usize] = Some(PendingBatch { outstanding: 1, ..PendingBatch::default() });
        key
    }

    /// Expects one more answer.
    pub(super) fn expect(&mut self, key: u32) {
        if let Some(batch) = self.batch(key) {
            batch.outstanding += 1;
        }
    }

    /// Adds an answer, a line that fits an array. Nothing is added if it is empty.
    ///
    /// If too many bytes are held back, or the array is full, the answers so far are sent as an array of their own.
    pub(super) fn add(&mut self, key: u32, line: &[u8], limits: BatchLimits, queue: &mut Queue) {
        let Some(batch) = self.batch(key).filter(|_| !line.is_empty()) else { return };
        if batch.answers.entries() == limits.entries || batch.answers.len_with(line) > limits.line {
            self.flush(key, queue);
        }
        let Some(batch) = self.batch(key) else { return };
        let before = batch.answers.len();
        batch.answers.push(line);
        self.held += batch.answers.len() - before;
        if self.held > limits.held {
            self.flush(key, queue);
        }
    }

    /// Expects one answer fewer. After the last, the array is queued.
    pub(super) fn complete_one(&mut self, key: u32, queue: &mut Queue) {
        let Some(batch) = self.batch(key) else { return };
        batch.outstanding -= 1;
        if batch.outstanding == 0 {
            self.flush(key, queue);
            self.batches[key as usize] = None;
            self.free.push(key);
            if self.free.len() == self.batches.len() {
                *self = Self::default();
            }
        }
    }

    fn flush(&mut self, key: u32, queue: &mut Queue) {
        let Some(batch) = self.batch(key) else { return };
        let answers = mem::take(&mut batch.answers);
        self.held -= answers.len();
        if let Some(mut line) = answers.into_line() {
            queue.push_answer(&mut line);
        }
    }

    fn batch(&mut self, key: u32) -> Option<&mut PendingBatch> {
        self.batches.get_mut(key as usize)?.as_mut()
    }
}

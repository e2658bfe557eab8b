//! The lines that wait for a writer, their limit and their buffers.

use std::mem;

use bytes::BytesMut;

use super::writer::SendError;

/// How many bytes may wait by default.
const BACKLOG: usize = 1 << 20;

/// Buffers larger than this are freed when they are empty. It is enough for the answers to all requests of one read, unless
/// they are more than twice as long.
const KEPT: usize = 128 << 10;

pub(crate) struct Pending {
    /// Whole lines, which follow those that were taken for writing.
    pub(crate) lines: BytesMut,
    /// How many bytes were taken for writing and aren't written yet.
    pub(crate) taken: usize,
    /// An empty buffer for encoding.
    spare: BytesMut,
    pub(crate) backlog: usize,
    /// The writer failed, or is gone.
    pub(crate) is_broken: bool,
}

impl Default for Pending {
    fn default() -> Self {
        Self { lines: BytesMut::new(), taken: 0, spare: BytesMut::new(), backlog: BACKLOG, is_broken: false }
    }
}

impl Pending {
    /// Whether lines may be added.
    pub(crate) fn check(&self) -> Result<(), SendError> {
        match () {
            () if self.is_broken => Err(SendError::Broken),
            () if self.lines.len() + self.taken > self.backlog => Err(SendError::Full),
            () => Ok(()),
        }
    }

    /// An empty buffer to encode into, if lines may be added.
    pub(crate) fn take_spare(&mut self) -> Result<BytesMut, SendError> {
        self.check()?;
        Ok(mem::take(&mut self.spare))
    }

    /// Keeps a buffer for the next line, unless it is very large, or smaller than the one that is kept.
    pub(crate) fn keep(&mut self, mut buffer: BytesMut) {
        buffer.clear();
        if (self.spare.capacity()..=KEPT).contains(&buffer.capacity()) {
            self.spare = buffer;
        }
    }

    pub(crate) fn add(&mut self, lines: BytesMut) {
        if self.lines.is_empty() {
            // Swapping avoids a copy.
            let empty = mem::replace(&mut self.lines, lines);
            self.keep(empty);
        } else {
            self.lines.extend_from_slice(&lines);
            self.keep(lines);
        }
    }

    /// Swaps lines that are `written` for the next ones to write. Returns false if there are none.
    pub(crate) fn take(&mut self, written: &mut BytesMut) -> bool {
        written.clear();
        if written.capacity() > KEPT {
            *written = BytesMut::new();
        }
        mem::swap(written, &mut self.lines);
        self.taken = written.len();
        !written.is_empty()
    }
}

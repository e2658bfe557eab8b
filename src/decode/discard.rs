//! Discards a line beyond the limit as it arrives.

use super::recover::{Recovered, Recovery};

/// A line whose start has already been discarded.
pub(super) struct Discarding {
    recovery: Recovery,
    /// How many bytes have been discarded, and whether the last one was a carriage return.
    len: u64,
    ends_in_return: bool,
}

impl Discarding {
    pub(super) fn new(longest_id: usize) -> Self {
        Self { recovery: Recovery::new(longest_id), len: 0, ends_in_return: false }
    }

    /// Discards the next piece of the line, which must not include the line feed.
    pub(super) fn feed(&mut self, piece: &[u8]) {
        let Some(last) = piece.last() else { return };
        self.pass_return();
        // A carriage return at the end isn't part of the line if a line feed follows.
        self.ends_in_return = *last == b'\r';
        self.recovery.feed(&piece[..piece.len() - usize::from(self.ends_in_return)]);
        self.len += piece.len() as u64;
    }

    /// Ends the line, at a line feed or at the end of the stream.
    pub(super) fn finish(mut self, has_line_feed: bool) -> Discarded {
        let has_return = self.ends_in_return && has_line_feed;
        if !has_line_feed {
            self.pass_return();
        }
        Discarded { len: self.len, line_len: self.len - u64::from(has_return), recovered: self.recovery.finish() }
    }

    /// Counts a trailing carriage return as part of the line after all.
    fn pass_return(&mut self) {
        if std::mem::take(&mut self.ends_in_return) {
            self.recovery.feed(b"\r");
        }
    }
}

/// A line that has been discarded.
pub(super) struct Discarded {
    /// How many bytes came before the line feed, and how many of those belong to the line.
    pub(super) len: u64,
    pub(super) line_len: u64,
    pub(super) recovered: Recovered,
}

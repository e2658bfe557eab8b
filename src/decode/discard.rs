//! A line beyond the limit, which is discarded as it arrives.

use super::recover::{Recovered, Recovery};

/// A line whose start is already gone.
pub(super) struct Discarding {
    recovery: Recovery,
    /// How much of it is gone, and whether the last byte of that was a carriage return.
    len: u64,
    ends_in_return: bool,
}

impl Discarding {
    pub(super) fn new(longest_id: usize) -> Self {
        Self { recovery: Recovery::new(longest_id), len: 0, ends_in_return: false }
    }

    /// The next piece of the line, without its line feed.
    pub(super) fn feed(&mut self, piece: &[u8]) {
        self.recovery.feed(piece);
        self.len += piece.len() as u64;
        if let Some(last) = piece.last() {
            self.ends_in_return = *last == b'\r';
        }
    }

    /// The line has ended, with a line feed or with the stream.
    pub(super) fn finish(self, has_line_feed: bool) -> Discarded {
        Discarded {
            len: self.len,
            line_len: self.len - u64::from(self.ends_in_return && has_line_feed),
            recovered: self.recovery.finish(),
        }
    }
}

/// A line that has been discarded.
pub(super) struct Discarded {
    /// How many bytes came before the line feed, and how many of them belong to the line.
    pub(super) len: u64,
    pub(super) line_len: u64,
    pub(super) recovered: Recovered,
}

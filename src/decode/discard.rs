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
        let Some(last) = piece.last() else { return };
        self.pass_return();
        // A carriage return at the end isn't a part of the line if a line feed comes next.
        self.ends_in_return = *last == b'\r';
        self.recovery.feed(&piece[..piece.len() - usize::from(self.ends_in_return)]);
        self.len += piece.len() as u64;
    }

    /// The line has ended, with a line feed or with the stream.
    pub(super) fn finish(mut self, has_line_feed: bool) -> Discarded {
        let has_return = self.ends_in_return && has_line_feed;
        if !has_line_feed {
            self.pass_return();
        }
        Discarded { len: self.len, line_len: self.len - u64::from(has_return), recovered: self.recovery.finish() }
    }

    /// The carriage return that came last is a part of the line.
    fn pass_return(&mut self) {
        if std::mem::take(&mut self.ends_in_return) {
            self.recovery.feed(b"\r");
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

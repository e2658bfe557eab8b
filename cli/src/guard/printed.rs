//! Messages that the server has printed over several lines.

use super::repair::{Brackets, Progress};

/// The lines of a text that may become one message.
#[derive(Default)]
pub(super) struct Printed {
    lines: Vec<Vec<u8>>,
    brackets: Brackets,
    len: usize,
}

/// What a line makes of the text.
pub(super) enum Joined {
    /// More lines are needed.
    Open,
    /// The whole text, whose brackets are closed.
    Complete(Vec<u8>),
    /// The line doesn't belong to the text.
    Broken,
}

impl Printed {
    /// Starts with a line, if more lines may complete it.
    pub(super) fn start(line: &[u8]) -> Option<Self> {
        let mut printed = Self::default();
        match printed.add(line, usize::MAX) {
            Joined::Open => Some(printed),
            _ => None,
        }
    }

    /// Adds the next line, as long as the text isn't longer than `max_len`.
    pub(super) fn add(&mut self, line: &[u8], max_len: usize) -> Joined {
        let mut brackets = self.brackets;
        let progress = brackets.add_line(line);
        if progress == Progress::Broken || self.len + line.len() > max_len {
            return Joined::Broken;
        }
        self.brackets = brackets;
        self.len += line.len() + 1;
        self.lines.push(line.to_vec());
        match progress {
            Progress::Complete => Joined::Complete(self.lines.join(&b'\n')),
            _ => Joined::Open,
        }
    }

    /// Whether a line would complete the text.
    pub(super) fn would_be_completed(&self, line: &[u8]) -> bool {
        self.brackets.clone().add_line(line) == Progress::Complete
    }

    /// Whether a value may follow the text so far, which may be any line that is a message by itself.
    pub(super) fn expects_value(&self) -> bool {
        let last = self.lines.last().map(|line| line.trim_ascii_end());
        last.is_some_and(|line| line.ends_with(b"[") || line.ends_with(b":") || line.ends_with(b","))
            && self.lines.first().is_some_and(|line| line.trim_ascii_start().starts_with(b"["))
    }

    pub(super) fn into_lines(self) -> Vec<Vec<u8>> {
        self.lines
    }
}

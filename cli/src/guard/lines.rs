//! Splits what the server prints into lines.

use memchr::memchr;
use wireline::{Decoder, Fault, Rules};

/// What a line may have beyond its message: a byte order mark and a carriage return.
const SLACK: usize = 4;

/// The most capacity that is kept while no line is open.
const KEPT_CAPACITY: usize = 64 << 10;

/// Collects bytes until a line is complete. The lines may be anything, so this doesn't look into them.
///
/// It holds one line, up to the length limit. What is beyond the limit goes to a decoder, which discards it and finds
/// the id.
pub(super) struct Lines {
    rules: Rules,
    open: Vec<u8>,
    discarding: Option<Box<Decoder>>,
}

pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    TooLong(Fault),
}

impl Lines {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, open: Vec::new(), discarding: None }
    }

    /// Adds bytes, and calls `each` with every line that they complete.
    pub(super) fn add(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            if self.is_empty() {
                each(Line::Whole(line));
            } else {
                self.extend(line);
                self.end(&mut each);
            }
            bytes = &rest[1..];
        }
        self.extend(bytes);
    }

    /// Ends the open line, if there is one.
    pub(super) fn end(&mut self, mut each: impl FnMut(Line<'_>)) {
        if let Some(mut decoder) = self.discarding.take() {
            decoder.finish();
            if let Some(Err(fault)) = decoder.next_frame() {
                each(Line::TooLong(fault));
            }
        } else if !self.open.is_empty() {
            each(Line::Whole(&self.open));
            self.clear();
        }
    }

    /// The open line as far as it has arrived, unless it is beyond the limit.
    pub(super) fn open(&self) -> &[u8] {
        &self.open
    }

    /// Forgets the open line.
    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.open.shrink_to(KEPT_CAPACITY);
    }

    /// Whether no line is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.discarding.is_none()
    }

    fn extend(&mut self, bytes: &[u8]) {
        if let Some(decoder) = &mut self.discarding {
            feed(decoder, bytes);
            return;
        }
        self.open.extend_from_slice(bytes);
        if self.open.len() > self.rules.settings().max_line_len.saturating_add(SLACK) {
            let mut decoder = Box::new(Decoder::new(self.rules));
            feed(&mut decoder, &std::mem::take(&mut self.open));
            self.discarding = Some(decoder);
        }
    }
}

/// Feeds a part of a line that is beyond the limit.
fn feed(decoder: &mut Decoder, bytes: &[u8]) {
    decoder.feed(bytes);
    // Makes it discard what it can.
    let _ = decoder.next_frame();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a stream that arrives in pieces of this length. A line beyond the limit is shown as its id.
    fn lines(stream: &[u8], piece: usize) -> Vec<String> {
        let mut lines = Lines::new(Rules::mcp().max_line_len(60));
        let mut found = Vec::new();
        let mut each = |line: Line<'_>| {
            found.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                Line::TooLong(fault) => format!("too long: {:?}", fault.id().and_then(wireline::Id::as_i64)),
            });
        };
        stream.chunks(piece).for_each(|bytes| lines.add(bytes, &mut each));
        lines.end(&mut each);
        assert!(lines.is_empty());
        found
    }

    #[test]
    fn pieces_do_not_matter() {
        let long = format!("{{\"jsonrpc\":\"2.0\",\"result\":{{\"text\":\"{}\"}},\"id\":7}}\r\n", "x".repeat(5000));
        let stream = ["one\n\ntwo\r\n", &long, "three"].concat();
        for piece in [1, 2, 7, 64, 10_000] {
            let found = lines(stream.as_bytes(), piece);
            // The length of a line that arrives whole is checked by its parser.
            let long = if piece > stream.len() { long.trim_end_matches('\n') } else { "too long: Some(7)" };
            assert_eq!(found, ["one", "", "two\r", long, "three"], "{piece}");
        }
    }
}

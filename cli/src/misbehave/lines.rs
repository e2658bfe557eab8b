//! Splits the input into lines, and remembers how each arrived.

/// A line of input, with what a badly written server might take notice of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Without its line feed.
    pub(super) bytes: &'a [u8],
    /// Whether it has a line feed.
    pub(super) is_terminated: bool,
    /// Where in the line a read has ended and another begun.
    pub(super) cuts: &'a [usize],
    /// How many lines ended in the same read.
    pub(super) lines_in_read: usize,
    /// How many of them before this one.
    pub(super) index_in_read: usize,
    /// Whether another line ended in the read in which this one began.
    pub(super) begins_behind_another: bool,
    /// Whether the line before it was blank.
    pub(super) is_after_blank: bool,
}

impl Line<'_> {
    pub(super) fn is_blank(&self) -> bool {
        self.bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
    }
}

/// The longest line that is collected, unless the server keeps everything.
const MAX_COLLECTED: usize = 2 << 20;

/// The largest buffer that is kept for the next line.
const MAX_KEPT: usize = 64 << 10;

/// Collects lines. The memory is bounded: a line beyond the limit is passed on in pieces.
#[derive(Debug)]
pub(super) struct Lines {
    limit: usize,
    partial: Vec<u8>,
    cuts: Vec<usize>,
    begins_behind_another: bool,
    is_after_blank: bool,
    /// Whether the line is too long to be collected.
    is_passing: bool,
}

/// A part of the input, in order.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Line(Line<'a>),
    /// A piece of a line that is too long to be collected, with the line feed if it is the last.
    Piece(&'a [u8]),
}

impl Lines {
    pub(super) fn new(is_limited: bool) -> Self {
        Self {
            limit: if is_limited { MAX_COLLECTED } else { usize::MAX },
            partial: Vec::new(),
            cuts: Vec::new(),
            begins_behind_another: false,
            is_after_blank: false,
            is_passing: false,
        }
    }

    /// Calls `receive` for each part that is complete with this read.
    pub(super) fn feed(&mut self, read: &[u8], mut receive: impl FnMut(Part<'_>)) {
        let lines_in_read = memchr::memchr_iter(b'\n', read).count();
        let (mut rest, mut index) = (read, 0);
        while let Some(end) = memchr::memchr(b'\n', rest) {
            if self.is_passing {
                receive(Part::Piece(&rest[..=end]));
                self.is_passing = false;
            } else {
                self.partial.extend_from_slice(&rest[..end]);
                self.deliver(true, (index, lines_in_read), &mut receive);
            }
            rest = &rest[end + 1..];
            index += 1;
            self.begins_behind_another = true;
        }
        if self.is_passing {
            return receive(Part::Piece(rest));
        }
        self.partial.extend_from_slice(rest);
        if self.partial.is_empty() {
            self.begins_behind_another = false;
        } else {
            self.cuts.push(self.partial.len());
        }
        if self.partial.len() > self.limit {
            receive(Part::Piece(&self.partial));
            self.partial = Vec::new();
            self.cuts = Vec::new();
            self.is_passing = true;
        }
    }

    /// Ends the input. A last line without a line feed is a line too.
    pub(super) fn finish(&mut self, mut receive: impl FnMut(Part<'_>)) {
        if !self.partial.is_empty() {
            self.deliver(false, (0, 1), &mut receive);
        }
    }

    fn deliver(
        &mut self,
        is_terminated: bool,
        (index_in_read, lines_in_read): (usize, usize),
        receive: &mut impl FnMut(Part<'_>),
    ) {
        let line = Line {
            bytes: &self.partial,
            is_terminated,
            cuts: &self.cuts,
            lines_in_read,
            index_in_read,
            begins_behind_another: self.begins_behind_another,
            is_after_blank: self.is_after_blank,
        };
        self.is_after_blank = line.is_blank();
        receive(Part::Line(line));
        self.partial.clear();
        self.cuts.clear();
        self.partial.shrink_to(MAX_KEPT);
        self.cuts.shrink_to(MAX_KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines, each with how it arrived, and the pieces.
    fn split(limit: usize, reads: &[&str]) -> Vec<String> {
        let mut lines = Lines { limit, ..Lines::new(true) };
        let mut parts = Vec::new();
        let mut receive = |part: Part<'_>| {
            parts.push(match part {
                Part::Piece(piece) => format!("piece {:?}", String::from_utf8_lossy(piece)),
                Part::Line(line) => {
                    let marks = [
                        (!line.is_terminated, "open".to_owned()),
                        (!line.cuts.is_empty(), format!("cut {:?}", line.cuts)),
                        (line.lines_in_read > 1, format!("{}/{}", line.index_in_read, line.lines_in_read)),
                        (line.begins_behind_another, "behind".to_owned()),
                        (line.is_after_blank, "after-blank".to_owned()),
                    ];
                    let marks: String = marks.iter().filter(|mark| mark.0).map(|mark| format!(" {}", mark.1)).collect();
                    format!("{}{marks}", String::from_utf8_lossy(line.bytes))
                }
            });
        };
        for read in reads {
            lines.feed(read.as_bytes(), &mut receive);
        }
        lines.finish(receive);
        parts
    }

    #[test]
    fn lines_know_how_they_arrived() {
        let expected = ["a", "bc cut [1] 0/3", " 1/3 behind", "d 2/3 behind after-blank", "ef open cut [1, 2] behind"];
        assert_eq!(split(100, &["a\n", "b", "c\n\nd\ne", "f"]), expected);
    }

    #[test]
    fn long_lines_pass_in_pieces() {
        let expected = ["piece \"abcd\"", "piece \"ef\\n\"", "g 1/2 behind", "h"];
        assert_eq!(split(3, &["abcd", "ef\ng\n", "h\n"]), expected);
    }
}

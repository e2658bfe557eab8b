//! Finds messages in the data of server-sent events, as the HTML standard defines them.
//!
//! An event is lines of `name: value` up to a blank line. A line ends with a line feed, a carriage return, or both. After
//! a carriage return, an event is complete even if a line feed may still follow; that is then skipped.

use std::ops::Range;

use bytes::BytesMut;

use crate::message::{FaultKind, Rules};

use super::discard::Discarding;
use super::step::{Item, Oversized, Passed, Step};

/// How many bytes an event may have besides the longest data.
pub(super) const MAX_OTHER: usize = 4096;

/// The longest id or name of an event. A longer one counts as none.
const MAX_FIELD: usize = 1024;

/// How far an event has been read. It starts at byte 0.
#[derive(Default)]
pub(super) struct EventStream {
    /// Where the current line starts, and how many lines end before it.
    line: usize,
    lines: u64,
    /// No line ends between `line` and this.
    searched: usize,
    /// Whether the byte before the current line is a carriage return, so that a line feed belongs to it.
    after_return: bool,
    /// Whether the start of the current line, a comment, has been skipped.
    in_comment: bool,
    data: Option<Data>,
    name: EventField,
    id: EventField,
    /// The last reconnection time in milliseconds.
    retry: Option<u64>,
}

/// A field that takes effect at the end of its event.
#[derive(Default)]
struct EventField {
    value: String,
    /// The value in the current event, if it has been set there.
    next: String,
    is_set: bool,
}

/// The data of an event.
struct Data {
    /// The first line's value, and how many lines end before it.
    first: Range<usize>,
    line: u64,
    has_more: bool,
}

impl EventStream {
    /// The `event` field of the event that ended last, if it has one.
    pub(super) fn name(&self) -> Option<&str> {
        Some(&*self.name.value).filter(|name| !name.is_empty())
    }

    /// The last `retry` field, in milliseconds.
    pub(super) fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// The last `id` field of a complete event. An event that was cut off has to be sent again.
    pub(super) fn id(&self) -> Option<&str> {
        Some(&*self.id.value).filter(|id| !id.is_empty())
    }

    /// Takes the next step, given all bytes from the start of the event on.
    pub(super) fn step(&mut self, bytes: &[u8], is_end: bool, rules: &Rules) -> Step {
        let longest = rules.limits.max_line_len.saturating_add(MAX_OTHER);
        loop {
            if self.after_return
                && let Some(&first) = bytes.get(self.line)
            {
                self.after_return = false;
                match (first, self.line) {
                    (b'\n', 0) => return self.skip(1),
                    (b'\n', _) => (self.line, self.searched) = (self.line + 1, self.line + 1),
                    _ => {}
                }
            }
            let Some(end) = line_end(&bytes[self.searched..]).map(|at| self.searched + at) else {
                self.searched = bytes.len();
                return self.unfinished(bytes, is_end, longest, rules);
            };
            let line = self.line..end;
            // One that starts an event is skipped, however long it is.
            let is_comment = line.start == 0 && (self.in_comment || bytes[0] == b':');
            if end > longest && !line.is_empty() && !is_comment {
                return self.discard();
            }
            self.after_return = bytes[end] == b'\r';
            (self.line, self.searched, self.lines) = (end + 1, end + 1, self.lines + 1);
            if is_comment {
                return self.skip(end + 1);
            }
            if line.is_empty() {
                return self.end(end + 1, None, rules);
            }
            self.field(bytes, line);
        }
    }

    /// Notes the field on a line.
    fn field(&mut self, bytes: &[u8], line: Range<usize>) {
        match Field::of(&bytes[line.clone()]) {
            Field::Data(value) => match &mut self.data {
                Some(data) => data.has_more = true,
                None => {
                    let first = line.end - value.len()..line.end;
                    self.data = Some(Data { first, line: self.lines - 1, has_more: false });
                }
            },
            field => self.note(field),
        }
    }

    /// Notes a field other than the data.
    fn note(&mut self, field: Field<'_>) {
        match field {
            Field::Id(id) if !id.contains(&0) => self.id.set(id),
            Field::Name(name) => self.name.set(name),
            Field::Retry(milliseconds) => self.retry = Some(milliseconds),
            _ => {}
        }
    }

    /// There is no whole line left.
    fn unfinished(&mut self, bytes: &[u8], is_end: bool, longest: usize, rules: &Rules) -> Step {
        let line = self.line..bytes.len();
        if line.start == 0 && (self.in_comment || bytes.first() == Some(&b':')) {
            self.in_comment = true;
            return match bytes.len() {
                0 => Step::More,
                len => self.skip(len),
            };
        }
        if !line.is_empty() && line.end > longest {
            return self.discard();
        }
        if !is_end || bytes.is_empty() {
            return Step::More;
        }
        if !line.is_empty() {
            // `field` counts from the line after.
            self.lines += 1;
            self.field(bytes, line);
            self.lines -= 1;
        }
        self.end(bytes.len(), Some(FaultKind::IncompleteFrame), rules)
    }

    /// Ends the event before byte `after`.
    fn end(&mut self, after: usize, broken: Option<FaultKind>, rules: &Rules) -> Step {
        self.end_fields(broken.is_none());
        let Some(Data { first, line, has_more }) = self.data.take() else { return self.skip(after) };
        // Servers of MCP send such an event first, so that its id is known to a client that has to reconnect.
        if first.is_empty() && !has_more && broken.is_none() && rules.skip_blank_lines {
            return self.skip(after);
        }
        let passed = Passed { bytes: after, lines: self.lines };
        let broken = broken.map(|kind| (kind, usize::MAX));
        self.pass(Step::Item(Item { text: first, line, passed, may_have_lines: false, is_in_parts: has_more, broken }))
    }

    /// Ends the fields other than the data. An event keeps the id of the event before, but not its name.
    fn end_fields(&mut self, is_complete: bool) {
        if !self.name.end(true) {
            self.name.value.clear();
        }
        self.id.end(is_complete);
    }

    /// Skips all bytes up to `after`.
    fn skip(&mut self, after: usize) -> Step {
        let step = Step::Skip(Passed { bytes: after, lines: self.lines });
        self.in_comment &= self.lines == 0;
        self.pass(step)
    }

    /// Discards the event, which has to be read again from its start.
    fn discard(&mut self) -> Step {
        (self.data, self.after_return) = (None, false);
        (self.name.is_set, self.id.is_set) = (false, false);
        self.pass(Step::Discard(Passed::default(), Oversized::Event))
    }

    /// Continues at the start of the next event.
    fn pass(&mut self, step: Step) -> Step {
        (self.line, self.searched, self.lines) = (0, 0, 0);
        step
    }
}

/// A line of an event.
enum Field<'a> {
    Data(&'a [u8]),
    Id(&'a [u8]),
    Name(&'a [u8]),
    /// A number of milliseconds.
    Retry(u64),
    /// A comment, or a field that has no meaning.
    Other,
}

impl<'a> Field<'a> {
    fn of(line: &'a [u8]) -> Self {
        // No name is longer than this.
        let colon = line.iter().take(b"event:".len()).position(|&byte| byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => Self::Data(value),
            b"id" => Self::Id(value),
            b"event" => Self::Name(value),
            b"retry" => match std::str::from_utf8(value).map(str::parse) {
                Ok(Ok(milliseconds)) if value[0].is_ascii_digit() => Self::Retry(milliseconds),
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

impl EventField {
    fn set(&mut self, value: &[u8]) {
        self.is_set = true;
        // A name is mostly the same as before.
        if self.next.as_bytes() == value {
            return;
        }
        self.next.clear();
        if value.len() <= MAX_FIELD {
            self.next.push_str(std::str::from_utf8(value).unwrap_or_default());
        }
    }

    /// Ends the event, and returns whether the value in it takes effect.
    fn end(&mut self, is_complete: bool) -> bool {
        let takes_effect = std::mem::take(&mut self.is_set) && is_complete;
        if takes_effect {
            std::mem::swap(&mut self.value, &mut self.next);
        }
        takes_effect
    }
}

/// Where the first line ends.
#[inline]
fn line_end(bytes: &[u8]) -> Option<usize> {
    memchr::memchr2(b'\n', b'\r', bytes)
}

/// Appends the data of an event that has several lines of it.
pub(super) fn join_data(event: &[u8], joined: &mut BytesMut) {
    let mut is_first = true;
    // No line is between the characters of CR LF, but an empty one there makes no difference.
    for line in event.split(|byte| matches!(byte, b'\n' | b'\r')) {
        if let Field::Data(value) = Field::of(line) {
            if !std::mem::take(&mut is_first) {
                joined.extend_from_slice(b"\n");
            }
            joined.extend_from_slice(value);
        }
    }
}

/// An event beyond the limit, while it is discarded as it arrives.
#[derive(Default)]
pub(super) struct DiscardedEvent {
    /// How many bytes have been discarded, and how many lines end in them.
    pub(super) bytes: u64,
    pub(super) lines: u64,
    /// How many bytes and lines come before the data, if there is any.
    pub(super) data: Option<(u64, u64)>,
    after_return: bool,
    /// Whether the current line is data, if its start has been discarded.
    is_data: Option<bool>,
}

impl DiscardedEvent {
    /// Discards as many of the next bytes as possible, and passes the data on to `text`. Returns their number, and
    /// whether the event ends there.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        is_end: bool,
        stream: &mut EventStream,
        text: &mut Discarding,
    ) -> (usize, bool) {
        let mut at = 0;
        loop {
            let Some(&first) = bytes.get(at) else {
                if is_end {
                    stream.end_fields(false);
                }
                return (at, is_end);
            };
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                at += 1;
                self.bytes += 1;
                continue;
            }
            let end = line_end(&bytes[at..]);
            let mut line = &bytes[at..][..end.unwrap_or(bytes.len() - at)];
            let is_start = self.is_data.is_none();
            // Fields other than data have to be there as a whole.
            if is_start && end.is_none() && !is_end && line.len() <= b"event: ".len() + MAX_FIELD {
                return (at, false);
            }
            let (len, is_blank) = (line.len() + usize::from(end.is_some()), is_start && line.is_empty());
            if is_start {
                let field = Field::of(line);
                self.is_data = Some(matches!(field, Field::Data(_)));
                match field {
                    Field::Data(value) => {
                        let start = self.bytes + (line.len() - value.len()) as u64;
                        match self.data {
                            None => self.data = Some((start, self.lines)),
                            Some(_) => text.feed(b"\n"),
                        }
                        line = value;
                    }
                    field => stream.note(field),
                }
            }
            if self.is_data == Some(true) {
                text.feed(line);
            }
            at += len;
            self.bytes += len as u64;
            if end.is_some() {
                self.after_return = bytes[at - 1] == b'\r';
                self.lines += 1;
                self.is_data = None;
                if is_blank {
                    stream.after_return = self.after_return;
                    stream.end_fields(true);
                    return (at, true);
                }
            }
        }
    }
}

//! Decodes the framings other than lines. Their messages go the same way as lines: a complete one is split off the
//! buffer's tail, and its frame borrows from that.
//!
//! ```text
//!  lines                                         tail
//! ┌───────────────────────────┬──────────────┐  ┌───────────────────────────┬─ ─ ─ ─ ─
//! │ Content-Length: 5\r\n\r\n │ {...}        │  │ Content-Length: 7\r\n\r\n │ room
//! └───────────────────────────┴──────────────┘  └───────────────────────────┴─ ─ ─ ─ ─
//!  ↑ next                     ↑ text
//! ```
//!
//! A parser, one for each framing, finds the next item in the tail, and remembers how far it has read if that is
//! incomplete. Messages with the most common form of a header are split off together, and found again by turns.
//! `searched` is always `lines.len()`, which keeps [`LineCursor::take_message`] from taking them for lines.

use bytes::BytesMut;
use wireline_json::Input;

use crate::message::{Position, Rules, Violation, envelope};

use super::content_length::{self, COMMON_LINES, ContentLength, MAX_FIELD_AT_END, MAX_HEADER};
use super::decoder::{Decoder, LineCursor, Ready};
use super::diagnose;
use super::discard::Discarding;
use super::event_stream::{self, DiscardedEvent, EventStream, MAX_OTHER};
use super::fault::Fault;
use super::framing::{BYTE_ORDER_MARK, Framing};
use super::parse::Reading;
use super::step::{Item, Oversized, Passed, Step};

/// What a decoder needs for a framing other than lines.
pub(super) struct Framed {
    parser: Parser,
    /// The item that was found but not taken.
    found: Option<Item>,
    /// For messages that arrive in parts. Reused once their frames are dropped.
    joined: BytesMut,
    /// The length of the longest of them since the buffer was new.
    longest_joined: usize,
    discarding: Option<Box<Discarded>>,
}

enum Parser {
    ContentLength(ContentLength),
    EventStream(EventStream),
}

/// A text beyond the limit, while it is discarded as it arrives.
struct Discarded {
    text: Discarding,
    kind: Kind,
}

enum Kind {
    /// How many of its bytes are left, and how many lines end in the others.
    Body {
        len: u64,
        left: u64,
        lines: u64,
    },
    Noise {
        ends_a_line: bool,
    },
    Event(DiscardedEvent),
}

impl Framed {
    /// `None` for lines, which the decoder finds itself.
    pub(super) fn new(framing: Framing) -> Option<Self> {
        let parser = match framing {
            Framing::Lines => return None,
            Framing::ContentLength => Parser::ContentLength(ContentLength::default()),
            Framing::EventStream => Parser::EventStream(EventStream::default()),
        };
        Some(Self { parser, found: None, joined: BytesMut::new(), longest_joined: 0, discarding: None })
    }

    pub(super) fn framing(&self) -> Framing {
        match self.parser {
            Parser::ContentLength(_) => Framing::ContentLength,
            Parser::EventStream(_) => Framing::EventStream,
        }
    }

    pub(super) fn event_stream(&self) -> Option<&EventStream> {
        match &self.parser {
            Parser::EventStream(stream) => Some(stream),
            Parser::ContentLength(_) => None,
        }
    }

    /// The most bytes that are buffered besides the longest message.
    pub(super) fn overhead(&self) -> usize {
        match self.parser {
            Parser::ContentLength(_) => MAX_HEADER + MAX_FIELD_AT_END,
            Parser::EventStream(_) => MAX_OTHER,
        }
    }

    pub(super) fn is_discarding(&self) -> bool {
        self.discarding.is_some()
    }

    #[inline]
    fn step(&mut self, bytes: &[u8], is_end: bool, rules: &Rules) -> Step {
        match &mut self.parser {
            Parser::ContentLength(parser) => parser.step(bytes, is_end, rules),
            Parser::EventStream(parser) => parser.step(bytes, is_end, rules),
        }
    }

    /// Frees the buffer for joined messages if it is larger than the capacity to keep.
    fn release(&mut self, kept: usize) {
        if self.longest_joined > kept {
            (self.joined, self.longest_joined) = (BytesMut::new(), 0);
        }
    }

    fn start_discarding(&mut self, oversized: Oversized, rules: &Rules) {
        let kind = match oversized {
            Oversized::Body(len) => Kind::Body { len, left: len, lines: 0 },
            Oversized::Noise => Kind::Noise { ends_a_line: false },
            Oversized::Event => Kind::Event(DiscardedEvent::default()),
        };
        self.discarding = Some(Box::new(Discarded { text: Discarding::new(rules.longest_id()), kind }));
    }

    /// Discards as many of the next bytes as possible. Returns their number, and whether the text ends there.
    fn discard(&mut self, bytes: &[u8], is_end: bool) -> (usize, bool) {
        let Some(Discarded { text, kind }) = self.discarding.as_deref_mut() else { return (0, true) };
        match kind {
            Kind::Body { left, lines, .. } => {
                let len = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                text.feed(&bytes[..len]);
                *lines += count_lines(&bytes[..len]);
                *left -= len as u64;
                (len, *left == 0 || is_end)
            }
            Kind::Noise { ends_a_line } => {
                let line_feed = memchr::memchr(b'\n', bytes);
                let line = &bytes[..line_feed.unwrap_or(bytes.len())];
                let without_return = line.strip_suffix(b"\r").filter(|_| line_feed.is_some()).unwrap_or(line);
                let is_whole = line_feed.is_some() || is_end;
                let field = content_length::field_at_end(without_return).filter(|_| is_whole);
                // The last bytes of an incomplete line may be the start of a field.
                let kept = if is_whole { 0 } else { MAX_FIELD_AT_END + 1 };
                let len = field.unwrap_or(line.len().saturating_sub(kept));
                text.feed(&line[..len]);
                *ends_a_line = line_feed.is_some() && field.is_none();
                (len + usize::from(*ends_a_line), is_whole)
            }
            Kind::Event(event) => match &mut self.parser {
                Parser::EventStream(stream) => event.feed(bytes, is_end, stream, text),
                Parser::ContentLength(_) => (0, true),
            },
        }
    }
}

impl Discarded {
    /// The fault, unless the text isn't a message, and the position after the text.
    fn finish(self, start: Position, rules: &Rules) -> (Option<Fault>, Position) {
        let ends_a_line = matches!(self.kind, Kind::Noise { ends_a_line: true });
        let discarded = self.text.finish(ends_a_line);
        let (mut position, mut line_len, mut is_message) = (start, discarded.line_len, true);
        let passed = match self.kind {
            Kind::Body { len, left, lines } => {
                line_len = len;
                (lines, len - left)
            }
            Kind::Noise { .. } => (u64::from(ends_a_line), discarded.len + u64::from(ends_a_line)),
            Kind::Event(event) => {
                is_message = event.data.is_some();
                let (offset, line) = event.data.unwrap_or_default();
                position = moved(start, line, offset);
                // If the data alone is within the limit, the event as a whole isn't.
                if line_len <= rules.limits.max_line_len as u64 {
                    line_len = event.bytes;
                }
                (event.lines, event.bytes)
            }
        };
        let fault = is_message.then(|| diagnose::too_long(discarded.recovered, line_len, position, rules));
        (fault, moved(start, passed.0, passed.1))
    }
}

fn moved(position: Position, lines: u64, bytes: u64) -> Position {
    Position { line: position.line + lines, offset: position.offset + bytes }
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

impl Decoder {
    /// Does for other framings what [`next_ready_slow`](Self::next_ready_slow) does for lines.
    pub(super) fn next_ready_framed(&mut self) -> Option<Ready> {
        self.drop_taken_lines();
        let Self { rules, buffer, lines, cursor, framed, .. } = self;
        let framed = framed.as_mut()?;
        if framed.found.is_some() || cursor.next < lines.len() {
            return Some(Ready::Line);
        }
        buffer.absorb();
        loop {
            let (tail, is_end) = (buffer.tail(), buffer.is_closed());
            if framed.is_discarding() {
                let (len, has_ended) = framed.discard(tail, is_end);
                buffer.skip(len);
                if !has_ended {
                    buffer.release();
                    return None;
                }
                let discarded = framed.discarding.take()?;
                let (fault, after) = discarded.finish(cursor.position, rules);
                cursor.position = after;
                match fault {
                    Some(fault) => return Some(Ready::Discarded(Box::new(fault))),
                    None => continue,
                }
            }
            let mark = cursor.byte_order_mark(tail);
            let may_be_mark = cursor.position.offset == 0 && !is_end && BYTE_ORDER_MARK.starts_with(tail);
            let step = match mark {
                0 if may_be_mark => Step::More,
                0 => framed.step(tail, is_end, rules),
                _ => Step::Skip(Passed { bytes: mark, lines: 0 }),
            };
            match step {
                Step::More => {
                    buffer.release();
                    framed.release(buffer.kept());
                    return None;
                }
                Step::Skip(passed) => {
                    buffer.skip(passed.bytes);
                    cursor.position = moved(cursor.position, passed.lines, passed.bytes as u64);
                }
                Step::Discard(passed, oversized) => {
                    buffer.skip(passed.bytes);
                    cursor.position = moved(cursor.position, passed.lines, passed.bytes as u64);
                    framed.start_discarding(oversized, rules);
                }
                Step::Item(item) => {
                    let mut end = item.passed.bytes;
                    if let Parser::ContentLength(_) = framed.parser {
                        while let Some(len) = content_length::whole_message(&tail[end..], rules) {
                            end += len;
                        }
                    }
                    *lines = buffer.split_to(end);
                    if item.is_in_parts {
                        event_stream::join_data(lines, &mut framed.joined);
                        framed.longest_joined = framed.longest_joined.max(framed.joined.len());
                        *lines = framed.joined.split().freeze();
                    }
                    (cursor.next, cursor.searched) = (0, lines.len());
                    framed.found = Some(item);
                    return Some(Ready::Line);
                }
            }
        }
    }
}

impl Framed {
    /// Takes the next item of `lines`.
    #[inline(never)]
    pub(super) fn take<'l>(
        &mut self,
        cursor: &mut LineCursor,
        lines: &'l [u8],
        rules: &Rules,
    ) -> (Position, Reading<'l>) {
        if self.found.is_some() {
            return self.take_found(cursor, lines, rules);
        }
        // A message that was split off together with the one before it.
        let rest = &lines[cursor.next..];
        let body = content_length::common_header(rest).unwrap_or_default();
        let position = moved(cursor.position, COMMON_LINES, body.start as u64);
        let reading = read(&rest[body.start..], body.len(), position, rules);
        let last = cursor.next + body.start..cursor.next + body.end;
        cursor.position = moved(position, lines_in(&reading, &rest[body.clone()]), body.len() as u64);
        (cursor.next, cursor.last) = (last.end, last);
        (position, reading)
    }

    #[inline(never)]
    fn take_found<'l>(&mut self, cursor: &mut LineCursor, lines: &'l [u8], rules: &Rules) -> (Position, Reading<'l>) {
        let Some(Item { text, line, passed, may_have_lines, is_in_parts, broken }) = self.found.take() else {
            debug_assert!(false, "nothing has been found");
            return (cursor.position, Reading::of(b"", cursor.position, rules));
        };
        let (range, next) = match is_in_parts {
            true => (0..lines.len(), lines.len()),
            false => (cursor.next + text.start..cursor.next + text.end, cursor.next + passed.bytes),
        };
        let position = moved(cursor.position, line, text.start as u64);
        let bytes = &lines[range.clone()];
        let is_kept = bytes.len() <= rules.limits.max_line_len;
        let reading = match broken {
            Some((kind, at)) if is_kept => {
                let fault = diagnose::line(Violation { kind, at: at.min(bytes.len()) }, bytes, position, rules);
                fault.log();
                Reading::Faulty(Box::new(fault))
            }
            _ if is_kept => read(&lines[range.start..], bytes.len(), position, rules),
            _ => Reading::of(bytes, position, rules),
        };
        let lines_in_text = if may_have_lines { lines_in(&reading, bytes) } else { 0 };
        cursor.position = moved(cursor.position, passed.lines + lines_in_text, passed.bytes as u64);
        (cursor.next, cursor.last) = (next, if is_kept { range } else { 0..0 });
        (position, reading)
    }
}

/// Reads the first `len` bytes.
#[inline(always)]
fn read<'l>(bytes: &'l [u8], len: usize, position: Position, rules: &Rules) -> Reading<'l> {
    if bytes[..len].first() == Some(&b'{')
        && let Some((text, envelope)) = envelope::read_message(Input::first_bytes_of(bytes, len), rules)
    {
        return Reading::Message(text, envelope, 0);
    }
    Reading::of(&bytes[..len], position, rules)
}

/// How many lines end in a text, which has been read.
#[inline(always)]
fn lines_in(reading: &Reading<'_>, text: &[u8]) -> u64 {
    match reading {
        Reading::Message(_, envelope, _) if envelope.is_one_line => 0,
        _ => count_lines(text),
    }
}

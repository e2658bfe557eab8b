//! Bytes in, frames out.
//!
//! # The buffers
//!
//! Bytes come in at the end of `tail`. When there is a line end among them, all that stands before the last one is
//! split off as `lines`, frozen, and gone through line by line; frames borrow from there, and owned ones share it:
//!
//! ```text
//!  lines                                          tail
//! ┌──────────────┬─────────────┬─────────────┐   ┌──────────────┬─ ─ ─ ─ ─
//! │ ......... \n │ ....... \n  │ ....... \n  │   │ ..........   │ spare
//! └──────────────┴─────────────┴─────────────┘   └──────────────┴─ ─ ─ ─ ─
//!                ↑ next   ↑ searched                            ↑ tail_searched
//! ```
//!
//! - `next <= searched <= lines.len()`: the lines before `next` have been given out, and between `next` and
//!   `searched` there is no line end.
//! - `tail_searched <= tail.len()`: there is no line end in `tail` before it.
//!
//! Both say where a search goes on, so that no byte is searched twice, however small the pieces it comes in. Fed
//! `{"a":` and then `1}\n`, the first piece is searched once and found to hold no line end (`tail_searched = 5`); with
//! the second the search begins at the `1`, and when the line is gone through it begins there again (`searched = 5`).
//!
//! A line that begins as an object, and of which nothing has been searched (`searched = next`), is given to the scanner as it
//! is, which stops at its end. Only if it turns out to be no message is the search made up for.

use std::fmt;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::decode::fault::Fault;
use crate::decode::recover::Recovery;
use crate::json::scan::Input;
use crate::message::cow_bytes::{Position, Text};
use crate::message::envelope::{self, Envelope};
use crate::message::frame::Frame;
use crate::message::message::Message;
use crate::message::rules::Rules;

/// How much buffer a decoder keeps between lines, unless told otherwise.
const RETAINED: usize = 64 << 10;

/// The least that is allocated.
const SMALLEST: usize = 512;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Turns a stream of bytes, split anyhow, into frames and faults.
///
/// It does no I/O. Give it bytes with [`feed`](Self::feed), or let a reader fill its buffer by
/// [`spare`](Self::spare); take frames with [`next_frame`](Self::next_frame) until there are none; and at the end of
/// the stream call [`finish`](Self::finish).
///
/// ```
/// use wireline::{Decoder, Frame, Message, Rules};
///
/// let mut decoder = Decoder::new(Rules::json_rpc());
/// decoder.feed(b"{\"jsonrpc\":\"2.0\",\"method\":\"hello\"}\noops\n{\"jsonrpc\":\"2.0\",\"id\":1,\"met");
///
/// let Some(Ok(Frame::Message(Message::Notification(hello)))) = decoder.next_frame() else { panic!() };
/// assert_eq!(hello.method(), "hello");
///
/// // A bad line is an item, not the end.
/// let Some(Err(fault)) = decoder.next_frame() else { panic!() };
/// assert_eq!((fault.line(), fault.offset(), fault.code()), (2, 35, -32700));
///
/// // The third line is not complete yet.
/// assert!(decoder.next_frame().is_none());
/// decoder.feed(b"hod\":\"bye\"}\n");
/// let Some(Ok(Frame::Message(Message::Request(bye)))) = decoder.next_frame() else { panic!() };
/// assert_eq!(bye.id().as_i64(), Some(1));
/// ```
///
/// # Promises
///
/// - The frames and faults depend on the bytes alone, not on how they were split.
/// - Each byte is searched for a line end once, and nothing is copied or allocated for a message. Only a line that does
///   not fit the buffer with what has come before it, or a buffer beyond what is retained, makes for a new one.
/// - No more is kept than the line limit and one read, as long as frames are taken before more is fed. A line beyond
///   the limit is discarded as it comes in, and becomes one fault at its end.
/// - A new decoder owns no heap. One that has given out its last line keeps at most 64 KiB, or what
///   [`retain`](Self::retain) says.
pub struct Decoder {
    rules: Rules,
    retained: usize,

    lines: Bytes,
    next: usize,
    searched: usize,
    /// What of `lines` was given out last.
    last: Range<usize>,

    tail: BytesMut,
    tail_searched: usize,
    /// The size of the allocation behind `tail`, at least.
    allocated: usize,

    /// Whether lines have been split off since memory was last given back.
    has_split: bool,
    /// How much was split off last.
    split: usize,

    /// Set while a line beyond the limit is being discarded.
    discarding: Option<Box<Discarding>>,
    finished: bool,
    /// Of the line that comes next.
    position: Position,
}

/// A line beyond the limit, of which the beginning is gone.
struct Discarding {
    recovery: Recovery,
    /// How much of it is gone, and whether the last byte of that was a carriage return.
    len: u64,
    ends_in_return: bool,
}

/// Where a line was found, and which message it is, if that is known already.
pub(crate) struct Line {
    range: Range<usize>,
    position: Position,
    envelope: Option<Envelope>,
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            retained: RETAINED,
            lines: Bytes::new(),
            next: 0,
            searched: 0,
            last: 0..0,
            tail: BytesMut::new(),
            tail_searched: 0,
            allocated: 0,
            has_split: false,
            split: 0,
            discarding: None,
            finished: false,
            position: Position { line: 1, offset: 0 },
        }
    }

    /// How much buffer to keep between lines: 64 KiB unless set.
    ///
    /// With 0, a connection that waits for its next line owns no heap at all, and allocates when that comes.
    ///
    /// ```
    /// use wireline::{Decoder, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::mcp()).retain(0);
    /// decoder.feed(b"{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n");
    /// while let Some(frame) = decoder.next_frame() {
    ///     assert!(frame.is_ok());
    /// }
    /// assert_eq!(decoder.into_buffer().capacity(), 0); // it has been given back
    /// ```
    #[must_use]
    pub fn retain(mut self, bytes: usize) -> Self {
        self.retained = bytes;
        self
    }

    /// Begins in the middle of a stream, where a line does: at its number and its offset in bytes. All that a frame or a
    /// fault says of its place is as if the lines before had been decoded as well.
    ///
    /// For those who go on where they stopped, or decode parts of a file at the same time.
    ///
    /// ```
    /// use wireline::{Decoder, Rules};
    ///
    /// let stream = b"{\"jsonrpc\":\"2.0\",\"method\":\"hello\"}\noops\n";
    /// let mut decoder = Decoder::new(Rules::json_rpc()).resume(2, 35);
    /// decoder.feed(&stream[35..]);
    /// let fault = decoder.next_frame().unwrap().unwrap_err();
    /// assert_eq!((fault.line(), fault.offset()), (2, 35));
    /// ```
    #[must_use]
    pub fn resume(mut self, line: u64, offset: u64) -> Self {
        self.position = Position { line, offset };
        self
    }

    /// The rules that lines are judged by.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Takes the next bytes of the stream, any number of them, by copying them.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.reserve(chunk.len());
        self.tail.extend_from_slice(chunk);
    }

    /// The buffer that the next bytes of the stream are to be appended to, so that a reader can fill it without a copy in
    /// between.
    ///
    /// It has room for `additional` more bytes, or at least for half of that: so that a reader that gets little at a time
    /// does not need a new buffer each time. Only append: what is in it already belongs to the line that is not complete
    /// yet.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// use tokio::io::AsyncReadExt;
    /// use wireline::{Decoder, Rules};
    ///
    /// let mut stream = &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"[..];
    /// let mut decoder = Decoder::new(Rules::mcp());
    /// while stream.read_buf(decoder.spare(8192)).await? > 0 {
    ///     while let Some(frame) = decoder.next_frame() {
    ///         assert_eq!(frame.unwrap().line(), 1);
    ///     }
    /// }
    /// assert_eq!(decoder.buffered(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn spare(&mut self, additional: usize) -> &mut BytesMut {
        if self.tail.capacity() - self.tail.len() < additional.div_ceil(2) {
            self.reserve(additional);
        }
        &mut self.tail
    }

    /// The next frame or fault, or `None` until more bytes come.
    pub fn next_frame(&mut self) -> Option<Result<Frame<'_>, Fault>> {
        if let Some((range, position, envelope)) = self.next_message() {
            let text = Text::Borrowed { bytes: &self.lines[range], shared: Some(&self.lines) };
            return Some(Ok(Frame::Message(Message::new(text, position, envelope))));
        }
        let line = self.next_line_of_any_kind()?;
        Some(self.judge(line))
    }

    /// Takes the next bytes of the stream without copying them, where that is possible.
    ///
    /// It is where they come right after those before, as when they were split off one buffer, and where no part of a line
    /// is waiting for the rest.
    ///
    /// ```
    /// use bytes::BytesMut;
    /// use wireline::{Decoder, Rules};
    ///
    /// let buffer = BytesMut::from(&b"{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n"[..]);
    /// let start = buffer.as_ptr();
    /// let mut decoder = Decoder::new(Rules::mcp());
    /// decoder.feed_buffer(buffer);
    /// assert_eq!(decoder.next_frame().unwrap().unwrap().as_bytes().as_ptr(), start);
    /// ```
    pub fn feed_buffer(&mut self, chunk: BytesMut) {
        if self.next == self.lines.len() {
            self.drop_lines();
        }
        let end = self.tail.as_ptr().wrapping_add(self.tail.len());
        if self.tail.is_empty() || end == chunk.as_ptr() {
            self.tail.unsplit(chunk);
        } else {
            self.feed(&chunk);
        }
    }

    /// Says that the stream has ended: what came after the last line end becomes a frame or a fault as well.
    ///
    /// Feed nothing after that.
    ///
    /// ```
    /// use wireline::{Decoder, FaultKind, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::mcp());
    /// decoder.feed(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
    /// assert!(decoder.next_frame().is_none());
    /// decoder.finish();
    /// assert_eq!(decoder.next_frame().unwrap().unwrap_err().kind(), FaultKind::UnexpectedEnd);
    /// ```
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// The line that the last frame or fault was made of, as it came, without its line end: for relays and logs.
    ///
    /// It is empty if the line was too long to be kept. Ask before more is fed: then it may be gone.
    ///
    /// ```
    /// use wireline::{Decoder, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::mcp());
    /// decoder.feed(b"Listening on port 80\r\n");
    /// let fault = decoder.next_frame().unwrap().unwrap_err();
    /// assert!(!fault.to_string().contains("Listening")); // a fault has none of it
    /// assert_eq!(decoder.last_line(), b"Listening on port 80");
    /// ```
    pub fn last_line(&self) -> &[u8] {
        &self.lines[self.last.clone()]
    }

    /// How many bytes have come in that no frame or fault has been made of yet.
    pub fn buffered(&self) -> usize {
        self.lines.len() - self.next + self.tail.len()
    }

    /// Gives back what no frame or fault has been made of yet. A line that is being discarded is lost.
    pub fn into_buffer(self) -> BytesMut {
        let mut buffer = BytesMut::from(&self.lines[self.next..]);
        buffer.unsplit(self.tail);
        buffer
    }

    /// The frame or the fault that a line from [`next_line`](Self::next_line) is.
    #[inline]
    pub(crate) fn judge(&self, line: Result<Line, Fault>) -> Result<Frame<'_>, Fault> {
        line.and_then(|Line { range, position, envelope }| {
            let text = Text::Borrowed { bytes: &self.lines[range], shared: Some(&self.lines) };
            match envelope {
                Some(envelope) => Ok(Frame::Message(Message::new(text, position, envelope))),
                None => Frame::judge(text, position, &self.rules),
            }
        })
    }

    /// The next line that is not blank, or the fault that a discarded one has become.
    #[inline]
    pub(crate) fn next_line(&mut self) -> Option<Result<Line, Fault>> {
        match self.next_message() {
            Some((range, position, envelope)) => Some(Ok(Line { range, position, envelope: Some(envelope) })),
            None => self.next_line_of_any_kind(),
        }
    }

    /// The next line if it is a message, and at hand from beginning to end: found and judged in one pass.
    // Inlined, so that what was just written to memory is not read again at once.
    #[inline(always)]
    fn next_message(&mut self) -> Option<(Range<usize>, Position, Envelope)> {
        if self.next == self.lines.len() && !self.refill() {
            return None;
        }
        let rest = &self.lines[self.next..];
        if rest.first() != Some(&b'{') || self.searched > self.next || self.discarding.is_some() {
            return None;
        }
        // A line that is longer than the limit and its line end is not gone through any further.
        let visible = &rest[..rest.len().min(self.rules.max_line_len.saturating_add(2))];
        let (len, envelope) = envelope::judge_message(Input::first_line(visible), &self.rules)?;
        if rest.get(len) != Some(&b'\n') {
            return None;
        }
        let range = self.next..self.next + len - usize::from(rest[len - 1] == b'\r');
        if range.len() > self.rules.max_line_len {
            return None;
        }
        let position = self.position;
        self.pass(self.next + len + 1, range.clone());
        Some((range, position, envelope))
    }

    fn next_line_of_any_kind(&mut self) -> Option<Result<Line, Fault>> {
        loop {
            if self.next == self.lines.len() && !self.refill() {
                return None;
            }
            if self.discarding.is_some() {
                match self.discard() {
                    Some(fault) => return Some(Err(fault)),
                    None => continue,
                }
            }
            let line = self.take_line();
            if !self.rules.skip_blank_lines || !self.is_blank(&self.lines[line.range.clone()]) {
                return Some(Ok(line));
            }
        }
    }

    /// Moves what has come in to `lines`, up to the last line end, or all of it at the end of the stream or while a
    /// line is being discarded. False if that is nothing.
    fn refill(&mut self) -> bool {
        self.drop_lines();
        self.allocated = self.allocated.max(self.tail.capacity());
        self.tail_searched = self.tail_searched.min(self.tail.len());

        let complete = match memchr::memrchr(b'\n', &self.tail[self.tail_searched..]) {
            Some(at) => self.tail_searched + at + 1,
            None => {
                let line_start = self.byte_order_mark(&self.tail);
                let may_be_mark = self.position.offset == 0 && BYTE_ORDER_MARK.starts_with(&self.tail);
                // One more than the limit may yet turn out to be a carriage return before the line end.
                let too_long = self.tail.len() - line_start > self.rules.max_line_len + 1;
                if too_long && !may_be_mark && self.discarding.is_none() {
                    self.start_discarding(line_start);
                }
                if self.finished || self.discarding.is_some() { self.tail.len() } else { 0 }
            }
        };
        if complete == 0 {
            self.tail_searched = self.tail.len();
            self.release();
            // A line that is being discarded, of which nothing is at hand, ends with the stream all the same.
            return self.finished && self.discarding.is_some();
        }
        self.lines = self.tail.split_to(complete).freeze();
        (self.has_split, self.split) = (true, complete);
        self.searched = self.tail_searched;
        self.tail_searched = self.tail.len();
        true
    }

    /// The next line of `lines`, which has not been gone through yet.
    fn take_line(&mut self) -> Line {
        let end = memchr::memchr(b'\n', &self.lines[self.searched..]);
        let (end, after) = match end {
            Some(at) => (self.searched + at, self.searched + at + 1),
            None => (self.lines.len(), self.lines.len()),
        };
        let start = self.next + self.byte_order_mark(&self.lines[self.next..end]);
        let has_return = after > end && end > start && self.lines[end - 1] == b'\r';
        let line = Line {
            range: start..end - usize::from(has_return),
            position: Position { offset: self.position.offset + (start - self.next) as u64, ..self.position },
            envelope: None,
        };
        let kept = line.range.len() <= self.rules.max_line_len;
        self.pass(after, if kept { line.range.clone() } else { 0..0 });
        line
    }

    /// Goes on to the next line, which begins at `after`. Of the one before, `last` is kept.
    #[inline]
    fn pass(&mut self, after: usize, last: Range<usize>) {
        self.position.line += 1;
        self.position.offset += (after - self.next) as u64;
        (self.next, self.searched, self.last) = (after, after, last);
    }

    /// The length of the byte order mark that a line begins with, if it is the first of the stream.
    fn byte_order_mark(&self, line: &[u8]) -> usize {
        if self.position.offset == 0 && line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
    }

    /// Whether a line is nothing but blanks. One beyond the limit is not: had it come in pieces, it would have been
    /// discarded before that could be known.
    fn is_blank(&self, line: &[u8]) -> bool {
        line.len() <= self.rules.max_line_len && line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
    }

    fn start_discarding(&mut self, line_start: usize) {
        let _ = self.tail.split_to(line_start);
        self.tail_searched = self.tail_searched.saturating_sub(line_start);
        self.position.offset += line_start as u64;
        self.discarding = Some(Box::new(Discarding { recovery: Recovery::default(), len: 0, ends_in_return: false }));
    }

    /// Goes on discarding with what is in `lines`, of which all up to the first line end belongs to the line.
    fn discard(&mut self) -> Option<Fault> {
        let end = memchr::memchr(b'\n', &self.lines[self.searched..]).map(|at| self.searched + at);
        let piece = &self.lines[self.next..end.unwrap_or(self.lines.len())];
        let discarding = self.discarding.as_mut()?;
        discarding.recovery.feed(piece);
        discarding.len += piece.len() as u64;
        if let Some(last) = piece.last() {
            discarding.ends_in_return = *last == b'\r';
        }
        if end.is_none() && !(self.finished && self.tail.is_empty()) {
            (self.next, self.searched) = (self.lines.len(), self.lines.len());
            return None;
        }
        let Discarding { recovery, len, ends_in_return } = *self.discarding.take()?;
        let line_len = len - u64::from(ends_in_return && end.is_some());
        let fault =
            Fault::new(envelope::too_long(recovery.finish(), &self.rules), self.position, line_len, &self.rules);
        self.position.line += 1;
        self.position.offset += len + u64::from(end.is_some());
        let after = end.map_or(self.lines.len(), |end| end + 1);
        (self.next, self.searched, self.last) = (after, after, 0..0);
        Some(fault)
    }

    fn drop_lines(&mut self) {
        self.lines = Bytes::new();
        (self.next, self.searched, self.last) = (0, 0, 0..0);
    }

    /// Makes room for `additional` bytes at the end of `tail`, within what the rules bound.
    fn reserve(&mut self, additional: usize) {
        if self.next == self.lines.len() {
            // Let go of it, so that its room can be used again.
            self.drop_lines();
        }
        // What has come of a line is moved to the front of the buffer, if it must be, before it has become long.
        let len = self.tail.len();
        let to_come = self.expected() - len;
        if to_come > additional && len <= additional && self.tail.try_reclaim(to_come) {
            return;
        }
        if self.tail.try_reclaim(additional) {
            return;
        }
        // A multiple of what there is, so that a line that comes in bit by bit is copied a bounded number of times: large
        // enough that the line in it takes up less than half, for then the room before a line can be used again without
        // a new buffer. But not beyond the longest line and a read, so that the limit bounds the memory; and rather as
        // large as it may get than once more when it is full. What is longer than that is lines that have not been taken.
        let longest = self.rules.max_line_len.saturating_add(BYTE_ORDER_MARK.len() + 2);
        let ample = match len.saturating_mul(4) {
            _ if len > longest => len.saturating_mul(2),
            ample if ample < longest / 2 => ample,
            _ => longest.saturating_add(additional),
        };
        let expected = self.expected().min(longest).max(len).saturating_add(additional);
        let capacity = ample.max(expected).max(SMALLEST);
        let mut larger = BytesMut::with_capacity(capacity);
        larger.extend_from_slice(&self.tail);
        self.tail = larger;
        self.allocated = self.tail.capacity();
    }

    /// How much there probably will be in `tail`: as much as was split off last, if there is a good part of it already;
    /// otherwise what there is.
    fn expected(&self) -> usize {
        let len = self.tail.len();
        if len >= self.split / 16 { self.split.max(len) } else { len }
    }

    /// Gives back the memory behind `tail` if it is more than is to be kept, and more than the line needs that is
    /// coming in.
    fn release(&mut self) {
        if self.tail.is_empty() && self.allocated > self.retained {
            self.tail = BytesMut::new();
            self.allocated = 0;
        } else if self.has_split && self.allocated / 4 > self.retained.max(self.tail.len()).max(self.expected()) {
            // Not more than once for the lines that made it so large, or a line that comes in bit by bit would be
            // copied for each; and not if another such line seems to be coming.
            self.tail = BytesMut::from(&self.tail[..]);
            self.allocated = self.tail.capacity();
        }
        self.has_split = false;
    }
}

/// Says where it is in the stream, not what it holds.
impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("rules", &self.rules)
            .field("line", &self.position.line)
            .field("offset", &self.position.offset)
            .field("buffered", &self.buffered())
            .field("discarding", &self.discarding.is_some())
            .field("finished", &self.finished)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only a line that is a message from its first byte on, and of which nothing has been searched, takes one pass.
    #[test]
    fn a_message_at_hand_is_found_and_judged_in_one_pass() {
        let message = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
        let mut decoder = Decoder::new(Rules::json_rpc());
        decoder.feed(message.repeat(2).as_bytes());
        for next in [message.len(), 2 * message.len()] {
            assert!(decoder.next_message().is_some());
            assert_eq!((decoder.next, decoder.searched), (next, next));
        }
        for pieces in [&["\n", ""][..], &[" ", message], &[&message[..5], &message[5..]], &["{}\n", ""]] {
            for piece in pieces {
                assert!(decoder.next_message().is_none());
                decoder.feed(piece.as_bytes());
            }
            assert!(decoder.next_message().is_none());
            while decoder.next_frame().is_some() {}
        }
        // Its line end does not count.
        for (limit, end, takes_one) in [(30, "\n", true), (30, "\r\n", true), (29, "\n", false)] {
            let mut decoder = Decoder::new(Rules::json_rpc().max_line_len(limit));
            decoder.feed(message.replace('\n', end).as_bytes());
            assert_eq!(decoder.next_message().is_some(), takes_one, "limit {limit}, end {end:?}");
        }
    }

    #[test]
    fn a_buffer_grows_up_to_the_longest_line_and_a_read() {
        for (limit, split, len, expected) in [
            (100_000, 0, 0, SMALLEST),
            (100_000, 0, 10, SMALLEST),
            (100_000, 0, 1000, 4000),
            (100_000, 0, 12_500, 50_000),
            (99_995, 0, 12_500, 100_000 + 7),
            (100_000, 0, 12_501, 100_005 + 7),
            (100_000, 0, 100_005, 100_005 + 7),
            (10_000, 0, 1250, 5000),
            (10_000, 0, 1251, 10_005 + 7),
            // Lines that have not been taken.
            (100_000, 0, 100_006, 200_012),
            // Another line like the one before.
            (100_000, 16_000, 1000, 16_000 + 7),
            (100_000, 16_000, 999, 3996),
            (10_000, 16_000, 1000, 10_005 + 7),
        ] {
            let mut decoder = Decoder::new(Rules::mcp().max_line_len(limit));
            decoder.tail = BytesMut::zeroed(len);
            decoder.split = split;
            decoder.reserve(7);
            let found = decoder.tail.capacity();
            assert_eq!((found, decoder.tail.len()), (expected, len), "limit {limit}, last {split}, length {len}");
            assert_eq!(decoder.allocated, found);
        }
    }

    /// If another line like the one before seems to be coming, and there is room for all of it.
    #[test]
    fn the_beginning_of_a_line_is_moved_while_it_is_short() {
        for (capacity, len, additional, moved) in
            [(10_500, 700, 700, true), (10_500, 701, 700, false), (9_999, 700, 700, false), (10_500, 600, 700, false)]
        {
            let mut buffer = BytesMut::zeroed(capacity);
            buffer.truncate(capacity - 800);
            let mut decoder = Decoder::new(Rules::mcp());
            decoder.tail = buffer.split_off(buffer.len() - len);
            drop(buffer);
            decoder.split = 10_000;
            decoder.reserve(additional);
            let expected = if moved { capacity } else { len + 800 };
            assert_eq!(decoder.tail.capacity(), expected, "{len} bytes in {capacity}, and {additional} more");
        }
    }

    #[test]
    fn memory_beyond_what_is_retained_is_given_back() {
        for (capacity, len, split, has_split, expected) in [
            // Between lines.
            (1000, 0, 500, true, 1000),
            (1001, 0, 500, true, 0),
            // Amid a line: if it is more than four times what is retained, or what the line takes up, or probably will.
            (4003, 10, 0, true, 4003),
            (4004, 10, 0, true, 10),
            (4004, 10, 0, false, 4004),
            (8003, 2000, 0, true, 8003),
            (8004, 2000, 0, true, 2000),
            (8004, 200, 2001, true, 8004),
            (8004, 200, 2000, true, 200),
        ] {
            let mut decoder = Decoder::new(Rules::mcp()).retain(1000);
            decoder.tail = BytesMut::zeroed(capacity);
            decoder.tail.truncate(len);
            (decoder.allocated, decoder.split, decoder.has_split) = (capacity, split, has_split);
            decoder.release();
            assert_eq!(decoder.tail.capacity(), expected, "{len} bytes in {capacity}, last {split}, {has_split}");
            assert_eq!((decoder.allocated, decoder.has_split), (expected, false));
        }
    }
}

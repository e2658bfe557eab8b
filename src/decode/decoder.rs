//! Turns bytes into frames. This is the only loop over lines.
//!
//! Bytes arrive at the end of the [buffer](super::buffer)'s tail. Everything up to the last line feed is split off as
//! `lines`, which are then taken one by one. Frames borrow from `lines`, and owned frames share it:
//!
//! ```text
//!  lines                                          tail
//! ┌──────────────┬─────────────┬─────────────┐   ┌──────────────┬─ ─ ─ ─ ─
//! │ ......... \n │ ....... \n  │ ....... \n  │   │ ..........   │ room
//! └──────────────┴─────────────┴─────────────┘   └──────────────┴─ ─ ─ ─ ─
//!                ↑ next   ↑ searched                            ↑ tail_searched
//! ```
//!
//! - `next <= searched <= lines.len()`: the lines before `next` have been taken, and there is no line feed between
//!   `next` and `searched`.
//! - `tail_searched <= tail.len()`: there is no line feed in `tail` before it.
//!
//! Both say where a search continues, so no byte is searched twice, however small the pieces are. For example, after
//! `{"a":` was fed, the decoder knows that these bytes contain no line feed (`tail_searched = 5`). When `1}\n` is fed,
//! the search starts at the `1`, and when the line is taken, it starts there again (`searched = 5`).
//!
//! A line that starts with `{` and hasn't been searched at all (`searched = next`) goes straight to the scanner, which
//! finds its end. The line is searched for a line feed only if it turns out not to be a message.

use std::fmt;
use std::io;
use std::ops::Range;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use wireline_json::Input;

use crate::message::{Envelope, Frame, Position, Rules, envelope};

use super::buffer::Buffer;
use super::diagnose;
use super::discard::Discarding;
use super::fault::Fault;
use super::framed::Framed;
use super::framing::{BYTE_ORDER_MARK, Framing};
use super::parse::Reading;
use super::salvage::{Salvaged, salvage};

/// Turns a stream of bytes, split anywhere, into frames and faults.
///
/// It does no I/O. Give it bytes with [`feed`](Self::feed), or let a reader fill its buffer through
/// [`read_with`](Self::read_with) or [`spare`](Self::spare); take frames with [`next_frame`](Self::next_frame) until
/// there are none; and call [`finish`](Self::finish) at the end of the stream.
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
/// // The third line isn't complete yet.
/// assert!(decoder.next_frame().is_none());
/// decoder.feed(b"hod\":\"bye\"}\n");
/// let Some(Ok(Frame::Message(Message::Request(bye)))) = decoder.next_frame() else { panic!() };
/// assert_eq!(bye.id().as_i64(), Some(1));
/// ```
///
/// # Guarantees
///
/// - Frames and faults depend on the bytes alone, never on how they were split.
/// - Each byte is searched for a line feed once, and nothing is copied or allocated per message. A new buffer is needed
///   only when a line doesn't fit after the previous ones, or when the old buffer exceeds the capacity to keep.
/// - As long as you take frames before you feed more, the decoder holds at most the longest line and one read. A line
///   beyond the limit is discarded as it arrives and becomes one fault at its end.
/// - A new decoder owns no heap memory. Between lines, a decoder keeps at most 64 KiB, or the capacity set with
///   [`keep_capacity`](Self::keep_capacity).
pub struct Decoder {
    pub(super) rules: Rules,
    pub(super) buffer: Buffer,
    tail_searched: usize,
    pub(super) lines: Bytes,
    pub(super) cursor: LineCursor,
    /// Set for a framing other than lines.
    pub(super) framed: Option<Framed>,
    /// Set while a line beyond the limit is being discarded.
    discarding: Option<Box<Discarding>>,
}

/// The boundary between lines that were taken and the next one.
pub(super) struct LineCursor {
    pub(super) next: usize,
    pub(super) searched: usize,
    /// The range of the line that was taken last.
    pub(super) last: Range<usize>,
    /// The position of the next line in the stream.
    pub(super) position: Position,
}

/// The outcome of [`Decoder::next_ready`].
pub(crate) enum Ready {
    /// A whole line is next.
    Line,
    /// A line has been discarded. Boxed to keep `Ready` small, because every line passes one around.
    Discarded(Box<Fault>),
}

impl Decoder {
    /// A decoder at the start of a stream.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            buffer: Buffer::new(),
            tail_searched: 0,
            lines: Bytes::new(),
            cursor: LineCursor { next: 0, searched: 0, last: 0..0, position: Position::START },
            framed: None,
            discarding: None,
        }
    }

    /// Sets how messages are delimited. The default is [`Framing::Lines`].
    ///
    /// Call this before any bytes are fed.
    ///
    /// ```
    /// use wireline::{Decoder, Framing, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::json_rpc()).framing(Framing::ContentLength);
    /// decoder.feed(b"Content-Length: 35\r\n\r\n{\"jsonrpc\":\"2.0\",\n \"method\":\"exit\"}\n");
    /// let frame = decoder.next_frame().unwrap()?;
    /// assert_eq!((frame.line(), frame.offset()), (3, 22)); // where the message starts
    /// # Ok::<(), wireline::Fault>(())
    /// ```
    #[must_use]
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framed = Framed::new(framing);
        self
    }

    /// Sets how many bytes of buffer capacity to keep between lines. The default is 64 KiB.
    ///
    /// With 0, a decoder that waits for its next line owns no heap memory, and allocates when the line arrives.
    #[must_use]
    pub fn keep_capacity(mut self, bytes: usize) -> Self {
        self.buffer.keep(bytes);
        self
    }

    /// Starts in the middle of a stream, at the start of the line with this number and byte offset. Frames and faults
    /// report their position as if all earlier lines had been decoded too.
    ///
    /// Use this to resume where a program stopped:
    ///
    /// ```
    /// use wireline::{Decoder, Rules};
    ///
    /// let stream = b"{\"jsonrpc\":\"2.0\",\"method\":\"hello\"}\noops\n";
    /// let mut decoder = Decoder::new(Rules::json_rpc()).starting_at(2, 35);
    /// decoder.feed(&stream[35..]);
    /// let fault = decoder.next_frame().unwrap().unwrap_err();
    /// assert_eq!((fault.line(), fault.offset()), (2, 35));
    /// ```
    ///
    /// To decode parts of a file in parallel, cut it after line feeds, and count the line feeds before each part: every
    /// line has one, even a blank line. Counting takes far less time than decoding.
    ///
    /// ```
    /// use std::thread;
    /// use wireline::{Decoder, Rules};
    ///
    /// /// The lines of the faults in `file`, which is decoded in two parts.
    /// fn faulty_lines(file: &[u8]) -> Vec<u64> {
    ///     let cut = file[..file.len() / 2].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    ///     let lines_before = file[..cut].iter().filter(|&&byte| byte == b'\n').count() as u64;
    ///     let faults = |part: &[u8], line, offset| {
    ///         let mut decoder = Decoder::new(Rules::json_rpc()).starting_at(line, offset);
    ///         decoder.feed(part);
    ///         decoder.finish();
    ///         let mut lines = Vec::new();
    ///         while let Some(frame) = decoder.next_frame() {
    ///             lines.extend(frame.err().map(|fault| fault.line()));
    ///         }
    ///         lines
    ///     };
    ///     thread::scope(|scope| {
    ///         let second = scope.spawn(|| faults(&file[cut..], 1 + lines_before, cut as u64));
    ///         let mut lines = faults(&file[..cut], 1, 0);
    ///         lines.extend(second.join().expect("decoding doesn't panic"));
    ///         lines
    ///     })
    /// }
    ///
    /// assert_eq!(faulty_lines(b"one\n\n{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\ntwo\n\nthree"), [1, 4, 6]);
    /// ```
    #[must_use]
    pub fn starting_at(mut self, line: u64, offset: u64) -> Self {
        self.cursor.position = Position { line, offset };
        self
    }

    /// The rules that lines are checked against.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Copies the next bytes of the stream into the buffer. They can be split anywhere.
    ///
    /// After [`finish`](Self::finish), bytes are ignored.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.drop_taken_lines();
        self.buffer.append(chunk, self.longest());
    }

    /// Takes the next bytes of the stream, if possible without copying them: that works if they directly follow the
    /// previous bytes in memory, because both were split off one buffer, or if no part of a line is buffered.
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
        self.drop_taken_lines();
        self.buffer.append_buffer(chunk, self.longest());
    }

    /// Lets `read` fill the decoder's buffer directly, and returns how many bytes it read.
    ///
    /// `read` gets a slice of `room` bytes, or at least half as many, and returns how many it has filled. The slice is
    /// initialised, but not zeroed again for each call.
    ///
    /// ```
    /// use std::io::Read;
    /// use wireline::{Decoder, Rules};
    ///
    /// let mut stream = &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"[..];
    /// let mut decoder = Decoder::new(Rules::mcp());
    /// while decoder.read_with(8192, |room| stream.read(room))? > 0 {
    ///     while let Some(frame) = decoder.next_frame() {
    ///         match frame {
    ///             Ok(frame) => assert_eq!(frame.line(), 1),
    ///             Err(fault) => eprintln!("{fault}"),
    ///         }
    ///     }
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error that `read` returned. No bytes have been added.
    pub fn read_with(&mut self, room: usize, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
        self.drop_taken_lines();
        self.buffer.read_with(room, self.longest(), read)
    }

    /// A buffer to append the next bytes of the stream to, for readers that fill a [`BufMut`](bytes::BufMut).
    ///
    /// It has room for `additional` bytes, or at least half as many. The bytes in it when the decoder is used next
    /// count as read.
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
    ///         match frame {
    ///             Ok(frame) => assert_eq!(frame.line(), 1),
    ///             Err(fault) => eprintln!("{fault}"),
    ///         }
    ///     }
    /// }
    /// assert_eq!(decoder.buffered(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn spare(&mut self, additional: usize) -> &mut BytesMut {
        self.drop_taken_lines();
        let longest = self.longest();
        self.buffer.lend(additional, longest)
    }

    /// The next frame or fault, or `None` until more bytes arrive.
    #[inline]
    pub fn next_frame(&mut self) -> Option<Result<Frame<'_>, Fault>> {
        let ready = self.next_ready()?;
        self.take(ready)
    }

    /// Ends the stream. A last line without a line feed becomes a frame or a fault too.
    ///
    /// Bytes that are fed after this are ignored.
    ///
    /// ```
    /// use wireline::{Decoder, FaultKind, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::mcp());
    /// decoder.feed(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
    /// assert!(decoder.next_frame().is_none());
    /// decoder.finish();
    /// decoder.feed(b"od\":\"ping\"}\n"); // too late
    /// assert_eq!(decoder.next_frame().unwrap().unwrap_err().kind(), FaultKind::UnexpectedEnd);
    /// assert!(decoder.next_frame().is_none());
    /// ```
    pub fn finish(&mut self) {
        self.buffer.close();
    }

    /// Whether [`finish`](Self::finish) has been called.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.buffer.is_closed()
    }

    /// The line behind the last frame or fault, as it was sent, without its line ending. Useful for relays and logs.
    ///
    /// It is empty if the line exceeded the limit. Feeding more bytes may discard it.
    ///
    /// ```
    /// use wireline::{Decoder, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::mcp());
    /// decoder.feed(b"Listening on port 80\r\n");
    /// let fault = decoder.next_frame().unwrap().unwrap_err();
    /// assert!(!fault.to_string().contains("Listening")); // faults don't contain the line
    /// assert_eq!(decoder.last_line(), b"Listening on port 80");
    /// ```
    #[must_use]
    pub fn last_line(&self) -> &[u8] {
        &self.lines[self.cursor.last.clone()]
    }

    /// The `event` field of the event behind the last frame or fault, if it has one. For
    /// [`Framing::EventStream`] only.
    ///
    /// ```
    /// use wireline::{Decoder, Framing, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::mcp()).framing(Framing::EventStream);
    /// decoder.feed(b"id: 7\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n\n");
    /// assert!(decoder.next_frame().unwrap().is_ok());
    /// assert_eq!((decoder.event_name(), decoder.last_event_id()), (Some("message"), Some("7")));
    /// ```
    #[must_use]
    pub fn event_name(&self) -> Option<&str> {
        self.framed.as_ref()?.event_stream()?.name()
    }

    /// The last `id` field of the complete events so far, including those without data. For [`Framing::EventStream`]
    /// only.
    ///
    /// A client that reconnects sends it as the header `Last-Event-ID`. An event that was cut off doesn't count, so that
    /// the server sends it again. An id of more than 1024 bytes counts as none.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        self.framed.as_ref()?.event_stream()?.id()
    }

    /// The last `retry` field of the events so far: how long a client should wait before it reconnects. For
    /// [`Framing::EventStream`] only.
    #[must_use]
    pub fn retry_delay(&self) -> Option<Duration> {
        self.framed.as_ref()?.event_stream()?.retry().map(Duration::from_millis)
    }

    /// How many buffered bytes haven't become a frame or a fault yet.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.lines.len() - self.cursor.next + self.buffer.len()
    }

    /// Whether a text beyond the limit is being discarded, whose fault is still to come.
    pub(crate) fn is_discarding(&self) -> bool {
        self.discarding.is_some() || self.framed.as_ref().is_some_and(Framed::is_discarding)
    }

    /// Makes sure that there is a line to [take](Self::take), skipping blank lines and discarding lines beyond the
    /// limit.
    ///
    /// The result doesn't borrow from the decoder, so the caller can read more if there is no line.
    #[inline(always)]
    pub(crate) fn next_ready(&mut self) -> Option<Ready> {
        if self.starts_like_a_message() && self.discarding.is_none() {
            return Some(Ready::Line);
        }
        self.next_ready_slow()
    }

    /// Whether the next line starts with `{`, as most do.
    #[inline(always)]
    fn starts_like_a_message(&self) -> bool {
        self.lines.get(self.cursor.next) == Some(&b'{')
    }

    /// Slow path of [`next_ready`](Self::next_ready): refills, discards, skips blank lines.
    #[inline(never)]
    fn next_ready_slow(&mut self) -> Option<Ready> {
        if self.framed.is_some() {
            return self.next_ready_framed();
        }
        loop {
            if self.cursor.next == self.lines.len() && !self.refill() {
                return None;
            }
            if self.discarding.is_some() {
                match self.discard() {
                    Some(fault) => return Some(Ready::Discarded(Box::new(fault))),
                    None => continue,
                }
            }
            // Checking for a blank line searches the line, after which it can't be taken in one pass.
            if self.starts_like_a_message() || !self.skip_blank_line() {
                return Some(Ready::Line);
            }
        }
    }

    /// Takes the frame or fault that is ready. Always returns `Some`, so that callers can return it unchanged: wrapping
    /// it would move it right after it was written.
    #[inline(always)]
    pub(crate) fn take(&mut self, ready: Ready) -> Option<Result<Frame<'_>, Fault>> {
        let Self { cursor, lines, rules, framed, .. } = self;
        if let Ready::Line = ready
            && let Some((position, text, envelope)) = cursor.take_message(lines, rules)
        {
            return Some(Reading::Message(text, envelope, 0).into_frame(Some(lines), position, rules));
        }
        let (position, reading) = cursor.take_slow(ready, lines, rules, framed);
        Some(reading.into_frame(Some(lines), position, rules))
    }

    /// Moves buffered bytes to `lines`: up to the last line feed, or all of them at the end of the stream or while a
    /// line is being discarded. Returns false if there is nothing to take or discard.
    fn refill(&mut self) -> bool {
        self.drop_taken_lines();
        self.buffer.absorb();
        let tail = self.buffer.tail();
        self.tail_searched = self.tail_searched.min(tail.len());

        let complete = match memchr::memrchr(b'\n', &tail[self.tail_searched..]) {
            Some(at) => self.tail_searched + at + 1,
            None => {
                let line_start = self.cursor.byte_order_mark(tail);
                let may_be_mark = self.cursor.position.offset == 0 && BYTE_ORDER_MARK.starts_with(tail);
                // One byte more than the limit may still turn out to be a carriage return before the line feed.
                let too_long = tail.len() - line_start > self.rules.limits.max_line_len + 1;
                if too_long && !may_be_mark && self.discarding.is_none() {
                    self.start_discarding(line_start);
                }
                if self.is_finished() || self.discarding.is_some() { self.buffer.tail().len() } else { 0 }
            }
        };
        if complete == 0 {
            self.tail_searched = self.buffer.tail().len();
            self.buffer.release();
            // A line that is being discarded ends with the stream, even if no more of it has arrived.
            return self.is_finished() && self.discarding.is_some();
        }
        self.lines = self.buffer.split_to(complete);
        self.cursor.searched = self.tail_searched;
        self.tail_searched = self.buffer.tail().len();
        true
    }

    /// Drops `lines` once all are taken, so that their memory can be reused.
    pub(super) fn drop_taken_lines(&mut self) {
        if self.cursor.next == self.lines.len() {
            self.lines = Bytes::new();
            (self.cursor.next, self.cursor.searched, self.cursor.last) = (0, 0, 0..0);
        }
    }

    /// Skips the next line if it is blank and the rules say to.
    fn skip_blank_line(&mut self) -> bool {
        if !self.rules.skip_blank_lines {
            return false;
        }
        let FoundLine { range, after, .. } = self.cursor.find_line(&self.lines);
        // A line beyond the limit doesn't count as blank: had it arrived in small pieces, it would have been discarded
        // before its last byte was known.
        let is_blank = range.len() <= self.rules.limits.max_line_len
            && self.lines[range.clone()].iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        if is_blank {
            self.cursor.pass(after, range);
        }
        is_blank
    }

    fn start_discarding(&mut self, line_start: usize) {
        self.buffer.skip(line_start);
        self.tail_searched = self.tail_searched.saturating_sub(line_start);
        self.cursor.position.offset += line_start as u64;
        self.discarding = Some(Box::new(Discarding::new(self.rules.longest_id())));
    }

    /// Discards `lines` up to the first line feed. Returns the fault if the discarded line ends there.
    fn discard(&mut self) -> Option<Fault> {
        let LineCursor { next, searched, position, .. } = self.cursor;
        let end = memchr::memchr(b'\n', &self.lines[searched..]).map(|at| searched + at);
        let discarding = self.discarding.as_mut()?;
        discarding.feed(&self.lines[next..end.unwrap_or(self.lines.len())]);
        if end.is_none() && !(self.is_finished() && self.buffer.tail().is_empty()) {
            (self.cursor.next, self.cursor.searched) = (self.lines.len(), self.lines.len());
            return None;
        }
        let discarded = self.discarding.take()?.finish(end.is_some());
        let fault = diagnose::too_long(discarded.recovered, discarded.line_len, position, &self.rules);
        self.cursor.position =
            Position { line: position.line + 1, offset: position.offset + discarded.len + u64::from(end.is_some()) };
        let after = end.map_or(self.lines.len(), |end| end + 1);
        (self.cursor.next, self.cursor.searched, self.cursor.last) = (after, after, 0..0);
        Some(fault)
    }

    /// The longest line, including its line ending and a byte order mark.
    fn longest(&self) -> usize {
        let overhead = self.framed.as_ref().map_or(0, Framed::overhead);
        self.rules.limits.max_line_len.saturating_add(BYTE_ORDER_MARK.len() + 2 + overhead)
    }
}

/// A line that was found in `lines`.
struct FoundLine {
    range: Range<usize>,
    /// Where the next line starts.
    after: usize,
    position: Position,
}

impl LineCursor {
    /// Finds and checks the next line in one pass, if it is a message and hasn't been searched.
    #[inline(always)]
    fn take_message<'l>(&mut self, lines: &'l [u8], rules: &Rules) -> Option<(Position, &'l str, Envelope)> {
        let rest = &lines[self.next..];
        if rest.first() != Some(&b'{') || self.searched > self.next {
            return None;
        }
        let max_line_len = rules.limits.max_line_len;
        // Limits the scanner to the longest line and its line ending.
        let visible = &rest[..rest.len().min(max_line_len.saturating_add(2))];
        let (line, envelope) = envelope::read_message(Input::first_line(visible), rules)?;
        if rest.get(line.len()) != Some(&b'\n') {
            return None;
        }
        let text = line.strip_suffix('\r').unwrap_or(line);
        if text.len() > max_line_len {
            return None;
        }
        let position = self.position;
        self.pass(self.next + line.len() + 1, self.next..self.next + text.len());
        Some((position, text, envelope))
    }

    /// Slow path of [`Decoder::take`]: everything but messages that take one pass.
    #[inline(never)]
    fn take_slow<'l>(
        &mut self,
        ready: Ready,
        lines: &'l [u8],
        rules: &Rules,
        framed: &mut Option<Framed>,
    ) -> (Position, Reading<'l>) {
        match (ready, framed) {
            (Ready::Discarded(fault), _) => {
                fault.log();
                (self.position, Reading::Faulty(fault))
            }
            (Ready::Line, Some(framed)) => framed.take(self, lines, rules),
            (Ready::Line, None) => {
                let FoundLine { range, after, position } = self.find_line(lines);
                let is_kept = range.len() <= rules.limits.max_line_len;
                self.pass(after, if is_kept { range.clone() } else { 0..0 });
                let line = &lines[range];
                if rules.allows_salvage()
                    && is_kept
                    && let Some(Salvaged { text, envelope, skipped }) = salvage(line, position, rules)
                {
                    return (position, Reading::Message(text, envelope, skipped));
                }
                (position, Reading::of(line, position, rules))
            }
        }
    }

    /// Finds the next line, without its line ending and without a byte order mark at the start of the stream.
    fn find_line(&mut self, lines: &[u8]) -> FoundLine {
        let (end, after) = match memchr::memchr(b'\n', &lines[self.searched..]) {
            Some(at) => (self.searched + at, self.searched + at + 1),
            None => (lines.len(), lines.len()),
        };
        self.searched = end;
        let start = self.next + self.byte_order_mark(&lines[self.next..end]);
        let has_return = after > end && end > start && lines[end - 1] == b'\r';
        FoundLine {
            range: start..end - usize::from(has_return),
            after,
            position: Position { offset: self.position.offset + (start - self.next) as u64, ..self.position },
        }
    }

    /// Advances to the next line, which starts at `after`.
    #[inline]
    fn pass(&mut self, after: usize, last: Range<usize>) {
        self.position.line += 1;
        self.position.offset += (after - self.next) as u64;
        (self.next, self.searched, self.last) = (after, after, last);
    }

    /// The length of the byte order mark at the start of a line, if it is the first line of the stream.
    pub(super) fn byte_order_mark(&self, line: &[u8]) -> usize {
        if self.position.offset == 0 && line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
    }
}

/// Shows the position in the stream, none of the peer's bytes.
impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("rules", &self.rules)
            .field("framing", &self.framed.as_ref().map_or(Framing::Lines, Framed::framing))
            .field("line", &self.cursor.position.line)
            .field("offset", &self.cursor.position.offset)
            .field("buffered", &self.buffered())
            .field("discarding", &self.is_discarding())
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes_message(decoder: &mut Decoder) -> bool {
        match decoder.next_ready() {
            Some(Ready::Line) => decoder.cursor.take_message(&decoder.lines, &decoder.rules).is_some(),
            _ => false,
        }
    }

    /// Only an unsearched line that is a message from its first byte on takes one pass.
    #[test]
    fn a_message_at_hand_is_found_and_checked_in_one_pass() {
        let message = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
        let mut decoder = Decoder::new(Rules::json_rpc());
        decoder.feed(message.repeat(2).as_bytes());
        for next in [message.len(), 2 * message.len()] {
            assert!(takes_message(&mut decoder));
            assert_eq!((decoder.cursor.next, decoder.cursor.searched), (next, next));
        }
        for pieces in [&["\n", ""][..], &[" ", message], &[&message[..5], &message[5..]], &["{}\n", ""]] {
            for piece in pieces {
                assert!(!takes_message(&mut decoder));
                decoder.feed(piece.as_bytes());
            }
            assert!(!takes_message(&mut decoder));
            while decoder.next_frame().is_some() {}
        }
        // Its line ending doesn't count.
        for (limit, end, takes_one) in [(30, "\n", true), (30, "\r\n", true), (29, "\n", false)] {
            let mut decoder = Decoder::new(Rules::json_rpc().max_line_len(limit));
            decoder.feed(message.replace('\n', end).as_bytes());
            assert_eq!(takes_message(&mut decoder), takes_one, "limit {limit}, end {end:?}");
        }
    }
}

//! Decodes what two sides send each other, in the order in which it is sent.

use std::time::Duration;

use wireline::{Decoder, Fault, Frame, Framing, Message, Rules};

use super::{Role, Session, Side};
use crate::framing::{Detection, Frames, FramingArgs, InFrame, Next, Start};
use crate::judge::{BYTE_ORDER_MARK, Dialect, Finding, Judge, Place};
use crate::line_ends::LineEnds;
use crate::protocol::Hello;
use crate::rules_args::RulesArgs;

/// A decoder for each direction, and the session that they feed.
pub(crate) struct Follower {
    /// Those that were asked for, or of what the session speaks.
    rules: Rules,
    args: RulesArgs,
    /// `None` if it is to be found out.
    framing: Option<Framing>,
    judge: Judge,
    /// What the session speaks, as far as is known.
    dialect: Dialect,
    streams: [Stream; 2],
    pub(crate) session: Session,
}

/// What a callback sees.
pub(crate) enum Seen<'a> {
    Message {
        message: &'a Message<'a>,
        role: Role,
        is_entry: bool,
        /// Set if the stream isn't framed by lines.
        in_frame: Option<InFrame>,
        /// What the side says of itself, if this message does.
        hello: Option<&'a Hello>,
        /// Which rules this message breaks.
        findings: &'a [Finding],
    },
    /// A batch. Its entries follow.
    Batch { entries: usize, text: &'a [u8], in_frame: Option<InFrame> },
    Fault {
        fault: &'a Fault,
        /// The line, as far as the decoder kept it. Empty for an entry of a batch.
        line: &'a [u8],
        is_entry: bool,
        in_frame: Option<InFrame>,
    },
    /// A rule that is broken by something else than the current message.
    Finding(&'a Finding),
    /// For the first time, a line of this side ended in a carriage return and a line feed.
    CarriageReturn,
    /// The stream has ended without a line end after its last line, which was seen before this.
    Unterminated { len: u64 },
}

/// What one side sends.
struct Stream {
    /// Set until the framing is known.
    detection: Option<Detection>,
    decoder: Decoder,
    /// Set if it isn't framed by lines.
    frames: Option<Frames>,
    line_ends: LineEnds,
    /// How many line feeds and bytes were in it.
    lines: u64,
    len: u64,
    /// Whether the decoder still has other rules.
    rules_changed: bool,
}

/// Bytes of a line or a message whose end hasn't arrived.
pub(crate) struct Open {
    pub(crate) len: u64,
    pub(crate) framing: Framing,
}

impl Stream {
    fn new(rules: Rules, framing: Option<Framing>) -> Self {
        let mut stream = Self {
            detection: framing.is_none().then(Detection::new),
            decoder: Decoder::new(rules),
            frames: None,
            line_ends: LineEnds::default(),
            lines: 0,
            len: 0,
            rules_changed: false,
        };
        if let Some(framing) = framing {
            stream.start(Start::of(framing), rules);
        }
        stream
    }

    /// Starts with the first message.
    fn start(&mut self, start: Start, rules: Rules) {
        self.frames = Frames::new(start.framing);
        if self.frames.is_some() {
            self.decoder = start.decoder(rules);
        }
    }
}

impl Follower {
    pub(crate) fn new(args: &RulesArgs, framing: FramingArgs) -> Self {
        let (rules, judge) = (args.rules(), Judge::new(args.judged_protocols()));
        Self {
            rules,
            args: args.clone(),
            framing: framing.given(),
            dialect: judge.dialect(),
            judge,
            streams: Side::BOTH.map(|_| Stream::new(rules, framing.given())),
            session: Session::new(args.protocols()),
        }
    }

    /// Adds bytes that `from` sent, and calls `see` with what they complete.
    pub(crate) fn add_bytes(
        &mut self,
        from: Side,
        bytes: &[u8],
        at: Option<Duration>,
        mut see: impl FnMut(&Session, Seen<'_>),
    ) {
        let Some(mut detection) = self.streams[from as usize].detection.take() else {
            return self.add_known(from, bytes, at, &mut see);
        };
        detection.add(bytes);
        while let Some(next) = detection.next() {
            match next {
                Next::Lines(lines) => self.add_known(from, &lines, at, &mut see),
                Next::Framed(start, rest) => {
                    self.streams[from as usize].start(start, self.rules);
                    return self.add_known(from, &rest, at, &mut see);
                }
            }
        }
        self.streams[from as usize].detection = Some(detection);
    }

    /// Adds bytes whose framing is known.
    fn add_known(&mut self, from: Side, bytes: &[u8], at: Option<Duration>, see: &mut impl FnMut(&Session, Seen<'_>)) {
        // The rules may change after each line until the session has said what it speaks.
        let mut rest = bytes;
        while self.may_change_rules(from)
            && let Some(line) = memchr::memchr(b'\n', rest)
        {
            self.add_part(from, &rest[..=line], at, see);
            rest = &rest[line + 1..];
        }
        if !rest.is_empty() {
            self.add_part(from, rest, at, see);
        }
    }

    fn may_change_rules(&self, from: Side) -> bool {
        let is_open = !self.args.is_given() && !self.judge.is_dialect_certain() && !self.session.has_unknown_senders();
        let stream = &self.streams[from as usize];
        // Another framing keeps the rules that it started with.
        stream.frames.is_none() && (is_open || stream.rules_changed)
    }

    /// Adds bytes that belong to one line, or for which the rules are certain.
    fn add_part(&mut self, from: Side, bytes: &[u8], at: Option<Duration>, see: &mut impl FnMut(&Session, Seen<'_>)) {
        self.session.add_bytes(from, bytes.len());
        let stream = &mut self.streams[from as usize];
        let is_start = stream.len == 0;
        if stream.rules_changed
            && stream.frames.is_none()
            && stream.decoder.buffered() == 0
            && !stream.line_ends.is_open
        {
            // Between two lines, the rules become those of what the session speaks.
            stream.rules_changed = false;
            stream.decoder = Decoder::new(self.rules).starting_at(stream.lines + 1, stream.len);
        }
        stream.len += bytes.len() as u64;
        stream.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        stream.decoder.feed(bytes);
        if is_start && bytes.starts_with(BYTE_ORDER_MARK) && !self.session.has_unknown_senders() {
            let finding = self.judge.byte_order_mark(Place { from, line: 1, at });
            self.session.add_finding(&finding);
            see(&self.session, Seen::Finding(&finding));
        }
        self.decode(from, at, see);
        let Stream { frames, line_ends: ends, .. } = &mut self.streams[from as usize];
        if frames.is_some() {
            return;
        }
        let before = ends.with_return;
        ends.add(bytes);
        if self.session.add_returns(from, ends.with_return - before) {
            see(&self.session, Seen::CarriageReturn);
        }
    }

    /// What one side has sent of a line or a message without its end.
    pub(crate) fn open(&self, from: Side) -> Option<Open> {
        let Stream { detection, decoder, frames, line_ends, .. } = &self.streams[from as usize];
        if let Some(frames) = frames {
            let len = decoder.buffered() as u64;
            return (len > 0).then_some(Open { len, framing: frames.framing() });
        }
        let mut line_ends = *line_ends;
        if let Some(detection) = detection {
            line_ends.add(detection.open_line());
        }
        line_ends.is_open.then_some(Open { len: line_ends.open_len, framing: Framing::Lines })
    }

    /// Whether the messages of one side are known not to be lines.
    pub(crate) fn is_framed(&self, from: Side) -> bool {
        self.streams[from as usize].frames.is_some()
    }

    /// Ends the stream of one side, and calls `see` with its last line if that was unterminated.
    pub(crate) fn end_stream(&mut self, from: Side, at: Option<Duration>, mut see: impl FnMut(&Session, Seen<'_>)) {
        if let Some(mut detection) = self.streams[from as usize].detection.take() {
            self.add_known(from, &detection.finish(), at, &mut see);
        }
        self.streams[from as usize].decoder.finish();
        self.decode(from, at, &mut see);
        // Ending a stream twice does no harm.
        let LineEnds { open_len: len, is_open, .. } = std::mem::take(&mut self.streams[from as usize].line_ends);
        if is_open {
            self.session.traffic[from as usize].unterminated = Some(len);
            see(&self.session, Seen::Unterminated { len });
        }
    }

    /// Ends the session, and calls `see` with what is wrong with it as a whole. Another one may follow.
    pub(crate) fn end_session(&mut self, at: Option<Duration>, mut see: impl FnMut(&Session, Seen<'_>)) {
        if !self.session.has_unknown_senders() {
            for finding in self.judge.end(&self.session, at) {
                self.session.add_finding(&finding);
                see(&self.session, Seen::Finding(&finding));
            }
        }
        self.judge = Judge::new(self.args.judged_protocols());
        (self.dialect, self.rules) = (self.judge.dialect(), self.args.rules());
        self.session.end(at);
        self.start_streams();
    }

    /// Starts new streams within the same session.
    pub(crate) fn start_streams(&mut self) {
        self.streams = Side::BOTH.map(|_| Stream::new(self.rules, self.framing));
    }

    fn decode(&mut self, from: Side, at: Option<Duration>, see: &mut impl FnMut(&Session, Seen<'_>)) {
        let Self { streams, session, judge, .. } = self;
        let Stream { decoder, frames, .. } = &mut streams[from as usize];
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Ok(frame) => {
                    let in_frame = frames.as_mut().map(Frames::add_message);
                    let place = Place { from, line: frame.line(), at };
                    match &frame {
                        Frame::Message(message) => session.see_message(judge, place, message, (false, in_frame), see),
                        Frame::Batch(batch) => {
                            see(session, Seen::Batch { entries: batch.len(), text: batch.as_bytes(), in_frame });
                            batch.iter().for_each(|entry| match entry {
                                Ok(message) => session.see_message(judge, place, &message, (true, in_frame), see),
                                Err(fault) => {
                                    session.add_fault(from, &fault, at);
                                    let (line, is_entry, in_frame) = (&b""[..], true, in_frame);
                                    see(session, Seen::Fault { fault: &fault, line, is_entry, in_frame });
                                }
                            });
                        }
                    }
                }
                Err(fault) => {
                    let line = decoder.last_line();
                    let in_frame = match frames {
                        None => None,
                        Some(frames) => match frames.add_fault(&fault, line) {
                            None => continue,
                            in_frame => in_frame,
                        },
                    };
                    session.add_fault(from, &fault, at);
                    if fault.is_response() {
                        judge.add_faulty_response(session.last_request());
                    }
                    see(session, Seen::Fault { fault: &fault, line, is_entry: false, in_frame });
                }
            }
        }
        let dialect = self.judge.dialect();
        if dialect != self.dialect {
            (self.dialect, self.rules) = (dialect, self.args.rules_of(dialect));
            self.streams.iter_mut().for_each(|stream| stream.rules_changed = true);
        }
    }
}

impl Session {
    fn see_message(
        &mut self,
        judge: &mut Judge,
        place: Place,
        message: &Message<'_>,
        (is_entry, in_frame): (bool, Option<InFrame>),
        see: &mut impl FnMut(&Self, Seen<'_>),
    ) {
        let role = self.add_message(place.from, message, place.at);
        let findings = self.judge_message(judge, place, message, &role);
        let (own, others): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| finding.place == place);
        let hello = self.hello(place.from).filter(|_| self.is_introduction);
        see(self, Seen::Message { message, role, is_entry, in_frame, hello, findings: &own });
        others.iter().for_each(|finding| see(self, Seen::Finding(finding)));
    }

    /// Judges the message that was just added, unless its sender is unknown, and counts the findings.
    pub(crate) fn judge_message(
        &mut self,
        judge: &mut Judge,
        place: Place,
        message: &Message<'_>,
        role: &Role,
    ) -> Vec<Finding> {
        if self.has_unknown_senders {
            return Vec::new();
        }
        let findings = judge.add(self, place, message, role);
        findings.iter().for_each(|finding| self.add_finding(finding));
        findings
    }
}

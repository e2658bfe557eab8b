//! Decodes what two sides send each other, in the order in which it is sent.

use std::time::Duration;

use wireline::{Decoder, Fault, Frame, Message, Rules};

use super::{Role, Session, Side};
use crate::judge::{BYTE_ORDER_MARK, Dialect, Finding, Judge, Place};
use crate::line_ends::LineEnds;
use crate::protocol::Hello;
use crate::rules_args::RulesArgs;

/// A decoder for each direction, and the session that they feed.
pub(crate) struct Follower {
    /// Those that were asked for, or of what the session speaks.
    rules: Rules,
    args: RulesArgs,
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
        /// What the side says of itself, if this message does.
        hello: Option<&'a Hello>,
        /// Which rules this message breaks.
        findings: &'a [Finding],
    },
    /// A batch. Its entries follow.
    Batch { entries: usize, len: usize },
    Fault {
        fault: &'a Fault,
        /// The line, as far as the decoder kept it. Empty for an entry of a batch.
        line: &'a [u8],
        is_entry: bool,
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
    decoder: Decoder,
    line_ends: LineEnds,
    /// How many line feeds and bytes were in it.
    lines: u64,
    len: u64,
    /// Whether the decoder still has other rules.
    rules_changed: bool,
}

impl Stream {
    fn new(rules: Rules) -> Self {
        Self { decoder: Decoder::new(rules), line_ends: LineEnds::default(), lines: 0, len: 0, rules_changed: false }
    }
}

impl Follower {
    pub(crate) fn new(args: &RulesArgs) -> Self {
        let (rules, judge) = (args.rules(), Judge::new(args.judged_protocols()));
        Self {
            rules,
            args: args.clone(),
            dialect: judge.dialect(),
            judge,
            streams: Side::BOTH.map(|_| Stream::new(rules)),
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
        // The rules may change after each line until the session has said what it speaks.
        let mut rest = bytes;
        while self.may_change_rules(from)
            && let Some(line) = memchr::memchr(b'\n', rest)
        {
            self.add_part(from, &rest[..=line], at, &mut see);
            rest = &rest[line + 1..];
        }
        if !rest.is_empty() {
            self.add_part(from, rest, at, &mut see);
        }
    }

    fn may_change_rules(&self, from: Side) -> bool {
        let is_open = !self.args.is_given() && !self.judge.is_dialect_certain() && !self.session.has_unknown_senders();
        is_open || self.streams[from as usize].rules_changed
    }

    /// Adds bytes that belong to one line, or for which the rules are certain.
    fn add_part(&mut self, from: Side, bytes: &[u8], at: Option<Duration>, see: &mut impl FnMut(&Session, Seen<'_>)) {
        self.session.add_bytes(from, bytes.len());
        let stream = &mut self.streams[from as usize];
        let is_start = stream.len == 0;
        if stream.rules_changed && stream.decoder.buffered() == 0 && !stream.line_ends.is_open {
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
        let ends = &mut self.streams[from as usize].line_ends;
        let before = ends.with_return;
        ends.add(bytes);
        if self.session.add_returns(from, ends.with_return - before) {
            see(&self.session, Seen::CarriageReturn);
        }
    }

    /// How the lines of one side have ended so far.
    pub(crate) fn line_ends(&self, from: Side) -> &LineEnds {
        &self.streams[from as usize].line_ends
    }

    /// Ends the stream of one side, and calls `see` with its last line if that was unterminated.
    pub(crate) fn end_stream(&mut self, from: Side, at: Option<Duration>, mut see: impl FnMut(&Session, Seen<'_>)) {
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
        self.streams = Side::BOTH.map(|_| Stream::new(self.rules));
    }

    fn decode(&mut self, from: Side, at: Option<Duration>, see: &mut impl FnMut(&Session, Seen<'_>)) {
        let Self { streams, session, judge, .. } = self;
        let decoder = &mut streams[from as usize].decoder;
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Ok(frame) => {
                    let place = Place { from, line: frame.line(), at };
                    match &frame {
                        Frame::Message(message) => session.see_message(judge, place, message, false, see),
                        Frame::Batch(batch) => {
                            see(session, Seen::Batch { entries: batch.len(), len: batch.as_bytes().len() });
                            batch.iter().for_each(|entry| match entry {
                                Ok(message) => session.see_message(judge, place, &message, true, see),
                                Err(fault) => {
                                    session.add_fault(from, &fault, at);
                                    see(session, Seen::Fault { fault: &fault, line: b"", is_entry: true });
                                }
                            });
                        }
                    }
                }
                Err(fault) => {
                    session.add_fault(from, &fault, at);
                    if fault.is_response() {
                        judge.add_faulty_response(session.last_request());
                    }
                    let line = decoder.last_line();
                    see(session, Seen::Fault { fault: &fault, line, is_entry: false });
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
        is_entry: bool,
        see: &mut impl FnMut(&Self, Seen<'_>),
    ) {
        let role = self.add_message(place.from, message, place.at);
        let findings = self.judge_message(judge, place, message, &role);
        let (own, others): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| finding.place == place);
        let hello = self.hello(place.from).filter(|_| self.is_introduction);
        see(self, Seen::Message { message, role, is_entry, hello, findings: &own });
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

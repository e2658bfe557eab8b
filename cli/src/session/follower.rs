//! Decodes what two sides send each other, in the order in which it is sent.

use std::time::Duration;

use wireline::{Decoder, Fault, Frame, Message, Rules};

use super::{Role, Session, Side};
use crate::line_ends::LineEnds;
use crate::protocol::{Hello, Protocols};

/// A decoder for each direction, and the session that they feed.
pub(crate) struct Follower {
    rules: Rules,
    decoders: [Decoder; 2],
    line_ends: [LineEnds; 2],
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
    },
    /// A batch. Its entries follow.
    Batch { entries: usize, len: usize },
    Fault {
        fault: &'a Fault,
        /// The line, as far as the decoder kept it. Empty for an entry of a batch.
        line: &'a [u8],
        is_entry: bool,
    },
    /// For the first time, a line of this side ended in a carriage return and a line feed.
    CarriageReturn,
    /// The stream has ended without a line end after its last line, which was seen before this.
    Unterminated { len: u64 },
}

impl Follower {
    pub(crate) fn new(rules: Rules, protocols: Protocols) -> Self {
        let decoders = Side::BOTH.map(|_| Decoder::new(rules));
        Self { rules, decoders, line_ends: Default::default(), session: Session::new(protocols) }
    }

    /// Adds bytes that `from` sent, and calls `see` with what they complete.
    pub(crate) fn add_bytes(
        &mut self,
        from: Side,
        bytes: &[u8],
        at: Option<Duration>,
        mut see: impl FnMut(&Session, Seen<'_>),
    ) {
        self.session.add_bytes(from, bytes.len());
        self.decoders[from as usize].feed(bytes);
        self.decode(from, at, &mut see);
        let ends = &mut self.line_ends[from as usize];
        let before = ends.with_return;
        ends.add(bytes);
        if self.session.add_returns(from, ends.with_return - before) {
            see(&self.session, Seen::CarriageReturn);
        }
    }

    /// How the lines of one side have ended so far.
    pub(crate) fn line_ends(&self, from: Side) -> &LineEnds {
        &self.line_ends[from as usize]
    }

    /// Ends the stream of one side, and calls `see` with its last line if that was unterminated.
    pub(crate) fn end_stream(&mut self, from: Side, at: Option<Duration>, mut see: impl FnMut(&Session, Seen<'_>)) {
        self.decoders[from as usize].finish();
        self.decode(from, at, &mut see);
        // Ending a stream twice does no harm.
        let LineEnds { open_len: len, is_open, .. } = std::mem::take(&mut self.line_ends[from as usize]);
        if is_open {
            self.session.traffic[from as usize].unterminated = Some(len);
            see(&self.session, Seen::Unterminated { len });
        }
    }

    /// Ends the session. Another one may follow.
    pub(crate) fn end_session(&mut self, at: Option<Duration>) {
        self.session.end(at);
        self.start_streams();
    }

    /// Starts new streams within the same session.
    pub(crate) fn start_streams(&mut self) {
        self.decoders = Side::BOTH.map(|_| Decoder::new(self.rules));
        self.line_ends = Default::default();
    }

    fn decode(&mut self, from: Side, at: Option<Duration>, see: &mut impl FnMut(&Session, Seen<'_>)) {
        let Self { decoders, session, .. } = self;
        while let Some(frame) = decoders[from as usize].next_frame() {
            match frame {
                Ok(Frame::Message(message)) => session.see_message(from, &message, false, at, see),
                Ok(Frame::Batch(batch)) => {
                    see(session, Seen::Batch { entries: batch.len(), len: batch.as_bytes().len() });
                    batch.iter().for_each(|entry| match entry {
                        Ok(message) => session.see_message(from, &message, true, at, see),
                        Err(fault) => {
                            session.add_fault(from, &fault, at);
                            see(session, Seen::Fault { fault: &fault, line: b"", is_entry: true });
                        }
                    });
                }
                Err(fault) => {
                    session.add_fault(from, &fault, at);
                    let line = decoders[from as usize].last_line();
                    see(session, Seen::Fault { fault: &fault, line, is_entry: false });
                }
            }
        }
    }
}

impl Session {
    fn see_message(
        &mut self,
        from: Side,
        message: &Message<'_>,
        is_entry: bool,
        at: Option<Duration>,
        see: &mut impl FnMut(&Self, Seen<'_>),
    ) {
        let had_hello = self.hello(from).is_some();
        let role = self.add_message(from, message, at);
        let hello = self.hello(from).filter(|_| !had_hello);
        see(self, Seen::Message { message, role, is_entry, hello });
    }
}

//! Decodes what two sides send each other, in the order in which it is sent.

use std::time::Duration;

use wireline::{Decoder, Fault, Frame, Message, Rules};

use super::{Role, Session, Side};
use crate::protocol::Protocols;

/// A decoder for each direction, and the session that they feed.
pub(crate) struct Follower {
    rules: Rules,
    decoders: [Decoder; 2],
    pub(crate) session: Session,
}

/// What a callback sees.
pub(crate) enum Seen<'a> {
    Message {
        message: &'a Message<'a>,
        role: Role,
        is_entry: bool,
    },
    /// A batch. Its entries follow.
    Batch {
        entries: usize,
        len: usize,
    },
    Fault {
        fault: &'a Fault,
        is_entry: bool,
    },
}

impl Follower {
    pub(crate) fn new(rules: Rules, protocols: Protocols) -> Self {
        Self { rules, decoders: Side::BOTH.map(|_| Decoder::new(rules)), session: Session::new(protocols) }
    }

    /// Adds bytes that `from` sent, and calls `see` with what they complete.
    pub(crate) fn add_bytes(
        &mut self,
        from: Side,
        bytes: &[u8],
        at: Option<Duration>,
        see: impl FnMut(&Session, Seen<'_>),
    ) {
        self.session.add_bytes(from, bytes.len());
        self.decoders[from as usize].feed(bytes);
        self.decode(from, at, see);
    }

    /// Ends the stream of one side, and calls `see` with its last line if that was unterminated.
    pub(crate) fn end_stream(&mut self, from: Side, at: Option<Duration>, see: impl FnMut(&Session, Seen<'_>)) {
        self.decoders[from as usize].finish();
        self.decode(from, at, see);
    }

    /// Ends the session. Another one may follow.
    pub(crate) fn end_session(&mut self, at: Option<Duration>) {
        self.session.end(at);
        self.start_streams();
    }

    /// Starts new streams within the same session.
    pub(crate) fn start_streams(&mut self) {
        self.decoders = Side::BOTH.map(|_| Decoder::new(self.rules));
    }

    fn decode(&mut self, from: Side, at: Option<Duration>, mut see: impl FnMut(&Session, Seen<'_>)) {
        let Self { decoders, session, .. } = self;
        while let Some(frame) = decoders[from as usize].next_frame() {
            match frame {
                Ok(Frame::Message(message)) => session.add(from, Ok(message), false, at, &mut see),
                Ok(Frame::Batch(batch)) => {
                    see(session, Seen::Batch { entries: batch.len(), len: batch.as_bytes().len() });
                    batch.iter().for_each(|entry| session.add(from, entry, true, at, &mut see));
                }
                Err(fault) => session.add(from, Err(fault), false, at, &mut see),
            }
        }
    }
}

impl Session {
    fn add(
        &mut self,
        from: Side,
        decoded: Result<Message<'_>, Fault>,
        is_entry: bool,
        at: Option<Duration>,
        see: &mut impl FnMut(&Self, Seen<'_>),
    ) {
        match decoded {
            Ok(message) => {
                let role = self.add_message(from, &message, at);
                see(self, Seen::Message { message: &message, role, is_entry });
            }
            Err(fault) => {
                self.add_fault(from, &fault, at);
                see(self, Seen::Fault { fault: &fault, is_entry });
            }
        }
    }
}

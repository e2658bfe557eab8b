//! Judges what two sides send each other, in the order in which it comes.

use std::time::Duration;

use wireline::{Decoder, Fault, Frame, Message, Rules};

use crate::session::{Role, Session, Side};

/// The decoders of both directions, and what is known of the session.
pub(crate) struct Follower {
    rules: Rules,
    decoders: [Decoder; 2],
    pub(crate) session: Session,
}

/// Something that was seen.
pub(crate) enum Seen<'a> {
    Message {
        message: &'a Message<'a>,
        role: Role,
        is_entry: bool,
    },
    /// Its entries follow.
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
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, decoders: Side::BOTH.map(|_| Decoder::new(rules)), session: Session::new() }
    }

    /// Some bytes have passed; `tell` learns what is complete by them.
    pub(crate) fn bytes(
        &mut self,
        from: Side,
        bytes: &[u8],
        at: Option<Duration>,
        tell: impl FnMut(&Session, Seen<'_>),
    ) {
        self.session.bytes(from, bytes.len());
        self.decoders[from as usize].feed(bytes);
        self.judge(from, at, tell);
    }

    /// No more bytes will pass in that direction.
    pub(crate) fn end(&mut self, from: Side, at: Option<Duration>, tell: impl FnMut(&Session, Seen<'_>)) {
        self.decoders[from as usize].finish();
        self.judge(from, at, tell);
    }

    /// The session is over: what has not been answered never will be. Another one may follow.
    pub(crate) fn close(&mut self, end: Option<Duration>) {
        self.session.close(end);
        self.restart();
    }

    /// What follows is another stream.
    pub(crate) fn restart(&mut self) {
        self.decoders = Side::BOTH.map(|_| Decoder::new(self.rules));
    }

    fn judge(&mut self, from: Side, at: Option<Duration>, mut tell: impl FnMut(&Session, Seen<'_>)) {
        let Self { decoders, session, .. } = self;
        while let Some(frame) = decoders[from as usize].next_frame() {
            match frame {
                Ok(Frame::Message(message)) => session.judged(from, Ok(message), false, at, &mut tell),
                Ok(Frame::Batch(batch)) => {
                    tell(session, Seen::Batch { entries: batch.len(), len: batch.as_bytes().len() });
                    batch.iter().for_each(|entry| session.judged(from, entry, true, at, &mut tell));
                }
                Err(fault) => session.judged(from, Err(fault), false, at, &mut tell),
            }
        }
    }
}

impl Session {
    fn judged(
        &mut self,
        from: Side,
        judged: Result<Message<'_>, Fault>,
        is_entry: bool,
        at: Option<Duration>,
        tell: &mut impl FnMut(&Self, Seen<'_>),
    ) {
        match judged {
            Ok(message) => {
                let role = self.message(from, &message, at);
                tell(self, Seen::Message { message: &message, role, is_entry });
            }
            Err(fault) => {
                self.fault(from, &fault, at);
                tell(self, Seen::Fault { fault: &fault, is_entry });
            }
        }
    }
}

//! What happened in a recording, step by step.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::time::Duration;

use wireline::{Decoder, Fault, FaultKind, Frame, Id, Message, Notification, Request, Response, Rules};

use crate::protocol::Protocols;
use crate::recording::{Content, Entry, Reader};
use crate::session::Side;

/// How far to read ahead, at most.
const MAX_STEPS_AHEAD: usize = 10_000;
const MAX_BYTES_AHEAD: usize = 64 << 20;

/// Reads a recording step by step, in bounded memory.
pub(super) struct Script<R> {
    reader: Reader<R>,
    rules: Rules,
    protocols: Protocols,
    decoders: [Decoder; 2],
    /// What the client has sent since its last newline.
    line: Vec<u8>,
    /// Steps that have been read but not taken.
    ahead: VecDeque<Step>,
    bytes_ahead: usize,
    is_at_end: bool,
    /// Why reading ended.
    error: Option<io::Error>,
}

pub(super) struct Step {
    /// The time since the start of the session.
    pub(super) at: Duration,
    pub(super) kind: StepKind,
}

pub(super) enum StepKind {
    /// A session starts.
    Start,
    /// The client sends a line.
    Sent(Sent),
    /// The server answers a request, or a faulty line.
    Answer { id: Option<Id<'static>>, answer: Answer },
    /// The server sends a request.
    Request(Request<'static>),
    /// The server sends a notification.
    Notification(Notification<'static>),
    /// The server sends a line that is neither.
    Noise,
    /// The server exits.
    End { code: Option<i32> },
}

/// A line of the client, with its newline if it had one, and what is in it.
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    pub(super) items: Vec<SentItem>,
}

pub(super) enum SentItem {
    Request(Request<'static>),
    /// A notification, and the request that it cancels.
    Notification {
        notification: Notification<'static>,
        cancelled: Option<Id<'static>>,
    },
    /// The answer to a request of the server. Alone in its line, unless that is a batch.
    Response {
        response: Response<'static>,
        is_entry: bool,
    },
    Fault {
        id: Option<Id<'static>>,
        is_response: bool,
    },
}

/// An answer, as it was sent.
pub(super) enum Answer {
    Response(Response<'static>),
    /// A line that is meant as an answer, but faulty.
    Faulty(FaultKind),
}

impl Step {
    fn len(&self) -> usize {
        let len = match &self.kind {
            StepKind::Sent(sent) => sent.bytes.len(),
            StepKind::Answer { answer: Answer::Response(response), .. } => response.as_bytes().len(),
            StepKind::Request(request) => request.as_bytes().len(),
            StepKind::Notification(notification) => notification.as_bytes().len(),
            _ => 0,
        };
        len + size_of::<Self>()
    }
}

impl<R: BufRead> Script<R> {
    pub(super) fn new(input: R, rules: Rules, protocols: Protocols) -> Self {
        Self {
            reader: Reader::new(input),
            rules,
            protocols,
            decoders: Side::BOTH.map(|_| Decoder::new(rules)),
            line: Vec::new(),
            ahead: VecDeque::new(),
            bytes_ahead: 0,
            is_at_end: false,
            error: None,
        }
    }

    /// Takes the next step. `None` at the end.
    pub(super) fn next(&mut self) -> Option<Step> {
        while self.ahead.is_empty() && !self.is_at_end {
            self.read();
        }
        let step = self.ahead.pop_front()?;
        self.bytes_ahead -= step.len();
        Some(step)
    }

    /// Why the recording could not be read to its end.
    pub(super) fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Looks ahead within the session for a request of the server with this method, takes it, and takes the client's
    /// response to it too if there is one. `None` if there is no such request, or it is too far ahead.
    pub(super) fn take_request(&mut self, method: &str) -> Option<(Request<'static>, Option<Response<'static>>)> {
        let is_request = |step: &Step| matches!(&step.kind, StepKind::Request(request) if request.method() == method);
        let index = self.find_ahead(0, is_request)?;
        let StepKind::Request(request) = self.take_ahead(index)?.kind else { return None };
        let is_response = |step: &Step| match &step.kind {
            StepKind::Sent(Sent { items, .. }) => {
                matches!(&items[..], [SentItem::Response { response, is_entry: false }]
                    if response.id() == Some(request.id()))
            }
            _ => false,
        };
        let response = self.find_ahead(index, is_response).and_then(|index| self.take_ahead(index));
        let response = response.and_then(|step| match step.kind {
            StepKind::Sent(mut sent) => match sent.items.pop() {
                Some(SentItem::Response { response, .. }) => Some(response),
                _ => None,
            },
            _ => None,
        });
        Some((request, response))
    }

    /// The index of the first step ahead, from `start`, within the session.
    fn find_ahead(&mut self, start: usize, is_it: impl Fn(&Step) -> bool) -> Option<usize> {
        let mut index = start;
        loop {
            while index >= self.ahead.len() {
                if self.is_at_end || self.ahead.len() >= MAX_STEPS_AHEAD || self.bytes_ahead >= MAX_BYTES_AHEAD {
                    return None;
                }
                self.read();
            }
            match &self.ahead[index] {
                Step { kind: StepKind::Start, .. } => return None,
                step if is_it(step) => return Some(index),
                _ => index += 1,
            }
        }
    }

    fn take_ahead(&mut self, index: usize) -> Option<Step> {
        let step = self.ahead.remove(index)?;
        self.bytes_ahead -= step.len();
        Some(step)
    }

    /// Reads one record, and adds the steps that it completes.
    fn read(&mut self) {
        let Entry { at, content, .. } = match self.reader.next() {
            Ok(Some(entry)) => entry,
            Ok(None) => return self.end(Duration::ZERO),
            Err(error) => {
                self.error = Some(error);
                return self.end(Duration::ZERO);
            }
        };
        match content {
            Content::Start => {
                self.end_streams(at);
                self.push(at, StepKind::Start);
            }
            Content::Stderr { .. } => {}
            Content::End { code, .. } => {
                self.end_streams(at);
                self.push(at, StepKind::End { code });
            }
            Content::Bytes { from, bytes, is_last } => {
                let decoder = &mut self.decoders[from as usize];
                decoder.feed(&bytes);
                if is_last {
                    decoder.finish();
                }
                match from {
                    Side::Server => self.decode_server(at),
                    Side::Client => {
                        let is_whole = is_last || bytes.ends_with(b"\n");
                        self.line.extend_from_slice(&bytes);
                        // A line beyond the limit is faulty anyway, so there is nothing to change in it.
                        if is_whole || self.line.len() > self.rules.settings().max_line_len {
                            self.decode_client(at);
                        }
                    }
                }
            }
        }
    }

    fn end(&mut self, at: Duration) {
        self.end_streams(at);
        self.is_at_end = true;
    }

    /// Ends what is unterminated, and gets ready for another session.
    fn end_streams(&mut self, at: Duration) {
        for from in Side::BOTH {
            self.decoders[from as usize].finish();
        }
        self.decode_server(at);
        if !self.line.is_empty() {
            self.decode_client(at);
        }
        self.decoders = Side::BOTH.map(|_| Decoder::new(self.rules));
    }

    fn decode_client(&mut self, at: Duration) {
        let (mut items, protocols) = (Vec::new(), self.protocols);
        let add = |item: Result<Message<'_>, Fault>, is_entry: bool, items: &mut Vec<SentItem>| {
            items.push(match item.map(Message::into_owned) {
                Ok(Message::Request(request)) => SentItem::Request(request),
                Ok(Message::Notification(notification)) => {
                    let params = notification.params();
                    let cancelled = protocols.cancelled_id(&notification.method(), params.as_ref());
                    SentItem::Notification { notification, cancelled }
                }
                Ok(Message::Response(response)) => SentItem::Response { response, is_entry },
                Err(fault) => SentItem::Fault { id: fault.id().cloned(), is_response: fault.is_response() },
            });
        };
        while let Some(frame) = self.decoders[Side::Client as usize].next_frame() {
            match frame {
                Ok(Frame::Message(message)) => add(Ok(message), false, &mut items),
                Ok(Frame::Batch(batch)) => batch.iter().for_each(|entry| add(entry, true, &mut items)),
                Err(fault) => add(Err(fault), false, &mut items),
            }
        }
        let bytes = std::mem::take(&mut self.line);
        self.push(at, StepKind::Sent(Sent { bytes, items }));
    }

    fn decode_server(&mut self, at: Duration) {
        for received in decode_received(&mut self.decoders[Side::Server as usize]) {
            let kind = match received {
                Received::Answer { id, answer } => StepKind::Answer { id, answer },
                Received::Request(request) => StepKind::Request(request),
                Received::Notification(notification) => StepKind::Notification(notification),
                Received::Noise(_) => StepKind::Noise,
            };
            self.push(at, kind);
        }
    }

    fn push(&mut self, at: Duration, kind: StepKind) {
        let step = Step { at, kind };
        self.bytes_ahead += step.len();
        self.ahead.push_back(step);
    }
}

/// What a server sends, recorded or live.
pub(super) enum Received {
    Answer { id: Option<Id<'static>>, answer: Answer },
    Request(Request<'static>),
    Notification(Notification<'static>),
    Noise(Fault),
}

/// Everything that a decoder has for a client.
pub(super) fn decode_received(decoder: &mut Decoder) -> Vec<Received> {
    let mut all = Vec::new();
    let mut add = |item: Result<Message<'_>, Fault>| {
        all.push(match item.map(Message::into_owned) {
            Ok(Message::Response(response)) => {
                Received::Answer { id: response.id().cloned(), answer: Answer::Response(response) }
            }
            Ok(Message::Request(request)) => Received::Request(request),
            Ok(Message::Notification(notification)) => Received::Notification(notification),
            Err(fault) if fault.is_response() => {
                Received::Answer { id: fault.id().cloned(), answer: Answer::Faulty(fault.kind()) }
            }
            Err(fault) => Received::Noise(fault),
        });
    };
    while let Some(frame) = decoder.next_frame() {
        match frame {
            Ok(Frame::Message(message)) => add(Ok(message)),
            Ok(Frame::Batch(batch)) => batch.iter().for_each(&mut add),
            Err(fault) => add(Err(fault)),
        }
    }
    all
}

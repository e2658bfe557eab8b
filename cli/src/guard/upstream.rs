//! From the client to the server: valid messages pass, and everything else is answered here.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use wireline::{
    Batch, Decoder, Encoder, Fault, Frame, Id, Message, Notification, Request, Response, RpcError, to_line,
};

use super::Link;
use super::handshake;
use super::incident::Incident;
use super::ledger::{Refusal, Sent, Settlement};
use super::repair::without_lone_surrogates;
use super::reporter::Place;
use super::state::State;
use crate::line_ends::LineEnds;
use crate::session::Side;
use crate::tap::sys::{self, Ready};

/// How much to read at once.
pub(super) const READ_LEN: usize = 64 << 10;

pub(super) struct Upstream {
    link: Arc<Link>,
    line_ends: LineEnds,
    /// Lines for the server.
    passed: Vec<u8>,
    /// Lines for the client.
    answers: Vec<u8>,
    /// The requests among the lines for the server.
    sent: Vec<Id<'static>>,
}

/// What to do with a message.
enum Verdict {
    Pass,
    Drop,
    Refuse(Id<'static>, RpcError),
}

impl Upstream {
    pub(super) fn new(link: Arc<Link>) -> Self {
        let line_ends = LineEnds::default();
        Self { link, line_ends, passed: Vec::new(), answers: Vec::new(), sent: Vec::new() }
    }

    /// Relays until the client's input ends. `is_busy` is false while there is nothing to do but to read.
    pub(super) fn run(mut self, input: &File, is_busy: &AtomicBool) {
        let link = Arc::clone(&self.link);
        let mut decoder = Decoder::new(link.rules);
        loop {
            is_busy.store(false, Ordering::SeqCst);
            let read = decoder.read_with(READ_LEN, |room| {
                let len = read(input, room)?;
                is_busy.store(true, Ordering::SeqCst);
                if link.recording.is_on() {
                    // What waits for the next server comes after its handshake.
                    link.to_server.wait_while_held();
                }
                link.recording.bytes(Side::Client, &room[..len]);
                self.note_returns(&room[..len]);
                Ok(len)
            });
            // A read error ends the stream as its end does.
            let is_over = !matches!(read, Ok(1..));
            if is_over {
                decoder.finish();
            }
            let server = link.shared.lock().receiver;
            while let Some(frame) = decoder.next_frame() {
                self.frame(frame, is_over);
            }
            self.flush(server);
            if is_over {
                break;
            }
        }
        link.recording.end_of_stream(Side::Client);
        link.shared.update(|state| state.client.has_ended = true);
    }

    fn note_returns(&mut self, bytes: &[u8]) {
        let before = self.line_ends.with_return;
        self.line_ends.add(bytes);
        for _ in before..self.line_ends.with_return {
            self.note(Incident::CarriageReturn, None);
        }
    }

    fn frame(&mut self, frame: Result<Frame<'_>, Fault>, is_last: bool) {
        if let Ok(frame) = &frame {
            let has_mark = frame.line() == 1 && frame.offset() > 0;
            if has_mark {
                self.note(Incident::ByteOrderMark, Some(1));
            }
            if is_last && self.line_ends.is_open {
                self.note(Incident::LineEnd, Some(frame.line()));
            }
        }
        match frame {
            Ok(Frame::Message(message)) => match self.judge(&message, false) {
                Verdict::Pass => self.pass(message.as_bytes(), message.line()),
                Verdict::Drop => {}
                Verdict::Refuse(id, error) => self.answers.extend_from_slice(&self.link.error_line(&id, &error)),
            },
            Ok(Frame::Batch(batch)) => self.batch(&batch),
            Err(fault) => {
                self.note_fault(&fault);
                let reply =
                    fault.reply().map(|reply| to_line(&self.link.answers, |encoder| encoder.error_reply(&reply)));
                // Fails for no reply: they are short.
                self.answers.extend_from_slice(reply.and_then(Result::ok).as_ref().map_or(b"", |line| line.as_bytes()));
            }
        }
    }

    /// Passes on the entries that may pass, and answers the others with an array of errors.
    fn batch(&mut self, batch: &Batch<'_>) {
        let (mut passing, mut faults, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for entry in batch {
            match entry {
                Ok(message) => match self.judge(&message, true) {
                    Verdict::Pass => passing.push(message),
                    Verdict::Drop => {}
                    Verdict::Refuse(id, error) => refused.push((id, error)),
                },
                Err(fault) => {
                    self.note_fault(&fault);
                    faults.push(fault);
                }
            }
        }
        if passing.len() == batch.len() {
            return self.pass(batch.as_bytes(), batch.line());
        }
        if !passing.is_empty()
            && let Ok(rest) = to_line(&self.link.rules, |encoder| {
                encoder.batch(|batch| passing.iter().try_for_each(|message| batch.forward(message)))
            })
        {
            self.pass(rest.text().as_bytes(), batch.line());
        }
        let replies: Vec<_> = faults.iter().filter_map(Fault::reply).collect();
        if replies.is_empty() && refused.is_empty() {
            return;
        }
        let answer_all = |batch: &mut Encoder<'_>| {
            replies.iter().try_for_each(|reply| batch.error_reply(reply))?;
            refused.iter().try_for_each(|(id, error)| batch.error(id, error))
        };
        if let Ok(answers) = to_line(&self.link.answers, |encoder| encoder.batch(answer_all)) {
            self.answers.extend_from_slice(answers.as_bytes());
        }
    }

    fn judge(&mut self, message: &Message<'_>, is_batch_entry: bool) -> Verdict {
        let link = Arc::clone(&self.link);
        let mut state = link.shared.lock();
        if link.can_restart {
            handshake::see(&mut state.handshake, link.protocols, message);
        }
        match message {
            Message::Request(request) => self.judge_request(request, is_batch_entry, &mut state),
            Message::Notification(notification) => self.see_notification(notification, &mut state),
            Message::Response(response) => self.judge_response(response, &mut state),
        }
    }

    fn judge_request(&mut self, request: &Request<'_>, is_batch_entry: bool, state: &mut State) -> Verdict {
        let id = request.id().clone().into_owned();
        let line = Some(request.line());
        if let Some(refusal) = &state.server.refusal {
            self.note(Incident::Unanswered, line);
            return Verdict::Refuse(id, refusal.clone());
        }
        state.copies.remember_method(&request.method());
        let asks_for_progress = self.link.has_timeout.then(|| request.params()).flatten();
        let progress_token = self.link.protocols.progress_token(asks_for_progress.as_ref());
        let fingerprint = state.copies.fingerprint(request.as_bytes());
        let sent = Sent { progress_token, is_batch_entry, fingerprint };
        let (incident, message) = match state.ledger(Side::Client).admit(&id, Instant::now(), sent) {
            Ok(()) => {
                self.sent.push(id);
                return Verdict::Pass;
            }
            Err(Refusal::InFlight) => (Incident::IdInFlight, "a request with this id is in flight"),
            Err(Refusal::TooMany) => (Incident::TooManyRequests, "too many requests in flight"),
        };
        self.note(incident, line);
        Verdict::Refuse(id, RpcError::new(RpcError::INVALID_REQUEST, message))
    }

    fn see_notification(&mut self, notification: &Notification<'_>, state: &mut State) -> Verdict {
        let (protocols, method) = (self.link.protocols, notification.method());
        state.copies.remember_method(&method);
        state.copies.remember_notification(notification.as_bytes());
        if !protocols.answers_cancelled(&method)
            && let Some(id) = protocols.cancelled_id(&method, notification.params().as_ref())
        {
            state.ledger(Side::Client).cancel(&id);
        }
        Verdict::Pass
    }

    fn judge_response(&mut self, response: &Response<'_>, state: &mut State) -> Verdict {
        let Some(id) = response.id() else { return Verdict::Pass };
        let incident = match state.ledger(Side::Server).settle(id) {
            Settlement::First { .. } => return Verdict::Pass,
            Settlement::Late => Incident::LateResponse,
            Settlement::Unknown => Incident::StrayResponse,
        };
        self.note(incident, Some(response.line()));
        Verdict::Drop
    }

    fn pass(&mut self, line: &[u8], number: u64) {
        match without_lone_surrogates(line) {
            Some(repaired) => {
                self.note(Incident::LoneSurrogate, Some(number));
                self.passed.extend_from_slice(&repaired);
            }
            None => self.passed.extend_from_slice(line),
        }
        self.passed.push(b'\n');
    }

    /// Writes what has been collected, for the server with this number.
    fn flush(&mut self, server: u32) {
        let link = Arc::clone(&self.link);
        if !self.answers.is_empty() {
            link.to_client.queue(&self.answers);
            self.answers.clear();
            link.to_client.wait_for_room();
        }
        if link.to_server.write(&self.passed, server).is_err() {
            self.answer_unsent();
        }
        self.passed.clear();
        self.passed.shrink_to(READ_LEN);
        self.sent.clear();
    }

    /// Answers the requests that did not reach the server.
    fn answer_unsent(&mut self) {
        let mut state = self.link.shared.lock();
        let refusal = state.server.refusal.clone();
        let error = refusal.unwrap_or_else(|| RpcError::new(super::CONNECTION_CLOSED, "the server reads no requests"));
        for id in self.sent.drain(..) {
            if state.ledger(Side::Client).answer(&id) {
                self.link.reporter.note(Incident::NotRead, Place { from: Side::Client, line: None, fault: None });
                self.link.to_client.queue(&self.link.error_line(&id, &error));
            }
        }
    }

    fn note(&self, incident: Incident, line: Option<u64>) {
        self.link.reporter.note(incident, Place { from: Side::Client, line, fault: None });
    }

    fn note_fault(&self, fault: &Fault) {
        let reason = fault.reason().to_string();
        let place = Place { from: Side::Client, line: Some(fault.line()), fault: Some((fault.kind().name(), &reason)) };
        self.link.reporter.note(Incident::InvalidLine, place);
    }
}

/// Reads what is there, and waits until there is something.
pub(super) fn read(mut input: &File, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(room) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => sys::wait_until_ready(input, Ready::Input),
            read => return read,
        }
    }
}

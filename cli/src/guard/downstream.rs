//! From the server to the client: messages pass, each request is answered once, and nothing else gets through.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memmem;
use wireline::{Batch, Fault, FaultKind, Frame, Id, Message, Notification, Request, Response, RpcError, to_line};

use super::Link;
use super::incident::Incident;
use super::ledger::{Refusal, Sent, Settlement};
use super::lines::{Line, Lines};
use super::printed::{Joined, Printed};
use super::repair::{Trimmed, find_object, is_blank, is_invisible, without_lone_surrogates};
use super::reporter::Place;
use super::state::State;
use super::upstream::{READ_LEN, read};
use crate::session::Side;
use crate::tap::sys;

/// How long the server must be silent before an open line counts as a message whose line ending is missing.
const PAUSE: Duration = Duration::from_millis(100);

/// Calls that both sides may send each other in the same words.
const COMMON_METHODS: [&str; 3] = ["ping", "notifications/cancelled", "notifications/progress"];

/// How many pauses in a row end a message that is printed over several lines, and isn't complete.
const MAX_PAUSES: u32 = 20;

pub(super) struct Downstream {
    link: Arc<Link>,
    /// The number of the server.
    server: u32,
    /// How many lines there were.
    number: u64,
    printed: Option<Printed>,
    /// Whether a message was passed on before its line ended.
    is_ahead: bool,
    /// Lines for the client.
    passed: Vec<u8>,
}

/// What to do with a message.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Pass,
    /// Pass it on, but not in an array.
    PassAlone,
    Drop,
}

/// What comes before a message on its line.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    /// Text for people, which may also be a copy of what the server has received.
    Text,
}

impl Downstream {
    pub(super) fn new(link: Arc<Link>, server: u32) -> Self {
        Self { link, server, number: 0, printed: None, is_ahead: false, passed: Vec::new() }
    }

    /// Relays until the server's output ends.
    pub(super) fn run(mut self, output: &File) {
        let link = Arc::clone(&self.link);
        let mut lines = Lines::new(link.rules);
        let mut bytes = vec![0; READ_LEN];
        let mut pauses = 0;
        loop {
            // Without an open line or text, a pause means nothing.
            let may_pause = pauses < MAX_PAUSES && (!lines.open().is_empty() || self.printed.is_some());
            if may_pause && !sys::is_readable_within(output, PAUSE) {
                pauses += 1;
                self.pause(&mut lines, pauses);
            } else {
                // A read error ends the stream as its end does.
                let Ok(len @ 1..) = read(output, &mut bytes) else { break };
                pauses = 0;
                link.recording.bytes(Side::Server, &bytes[..len]);
                lines.add(&bytes[..len], |line| self.line(line));
            }
            self.flush();
        }
        self.end(&mut lines);
        self.flush();
        link.recording.end_of_stream(Side::Server);
        link.shared.update(|state| {
            if state.server.number == self.server {
                state.server.output_has_ended = true;
            }
        });
    }

    /// Makes do with what has arrived.
    fn pause(&mut self, lines: &mut Lines, pauses: u32) {
        let completes = |printed: &Printed| printed.would_be_completed(Trimmed::new(lines.open()).line);
        let is_message = match &self.printed {
            Some(printed) => completes(printed),
            None => Frame::parse(Trimmed::new(lines.open()).line, &self.link.rules).is_ok(),
        };
        if is_message {
            lines.end(|line| self.line(line));
            self.note(Incident::LineEnd);
            self.is_ahead = true;
        } else if pauses == MAX_PAUSES {
            self.end_printed();
        }
    }

    fn end(&mut self, lines: &mut Lines) {
        let is_open = !is_blank(lines.open());
        let passed = self.passed.len();
        lines.end(|line| self.line(line));
        self.end_printed();
        if is_open && self.passed.len() > passed {
            self.note(Incident::LineEnd);
        }
    }

    fn flush(&mut self) {
        let is_current = self.link.shared.lock().receiver == self.server;
        // A server that has been replaced doesn't answer any more.
        if is_current && self.link.to_client.write(&self.passed, 0).is_err() {
            self.link.shared.update(|state| state.client.is_gone = true);
        }
        self.passed.clear();
        self.passed.shrink_to(READ_LEN);
    }

    fn line(&mut self, line: Line<'_>) {
        let is_ahead = std::mem::take(&mut self.is_ahead);
        if is_ahead && matches!(line, Line::Whole(rest) if is_blank(rest)) {
            return;
        }
        self.number += 1;
        match line {
            Line::Whole(line) => self.whole_line(line),
            Line::TooLong(fault) => {
                self.end_printed();
                self.note(Incident::LineTooLong);
                self.answer_for(&fault, fault.is_response());
            }
        }
    }

    fn whole_line(&mut self, line: &[u8]) {
        let trimmed = Trimmed::new(line);
        let Some(mut printed) = self.printed.take() else { return self.single_line(&trimmed) };
        let is_message = Frame::parse(trimmed.line, &self.link.rules).is_ok();
        let max_len = self.link.rules.settings().max_line_len;
        let joined = match is_message && !printed.expects_value() {
            true => Joined::Broken,
            false => printed.add(trimmed.line, max_len),
        };
        match joined {
            Joined::Open => self.printed = Some(printed),
            Joined::Complete(text) => self.printed_text(&text, printed),
            Joined::Broken => {
                self.printed = Some(printed);
                self.end_printed();
                self.single_line(&trimmed);
            }
        }
    }

    /// Takes a text over several lines whose brackets are closed.
    fn printed_text(&mut self, text: &[u8], printed: Printed) {
        match to_line(&self.link.rules, |encoder| encoder.normalize(text)) {
            Ok(line) => {
                self.note(Incident::PrintedOverLines);
                self.repaired_line(line.text().as_bytes());
            }
            Err(_) => match Frame::parse(text, &self.link.rules) {
                Err(fault) if is_call_or_response(&fault, text) => self.invalid_message(text, &fault),
                _ => {
                    self.printed = Some(printed);
                    self.end_printed();
                }
            },
        }
    }

    /// Takes the lines one by one of a text that has not become a message.
    fn end_printed(&mut self) {
        let Some(printed) = self.printed.take() else { return };
        let lines = printed.into_lines();
        let last = self.number;
        self.number = last.saturating_sub(lines.len() as u64);
        for line in &lines {
            self.number += 1;
            match Frame::parse(line, &self.link.rules) {
                Ok(frame) => self.frame(&frame, line),
                Err(fault) => self.faulty_line(line, &fault),
            }
        }
        self.number = last;
    }

    /// Takes a line that is not part of a text over several lines.
    fn single_line(&mut self, trimmed: &Trimmed<'_>) {
        let line = trimmed.line;
        let fault = match Frame::parse(line, &self.link.rules) {
            Ok(frame) => {
                if trimmed.had_mark {
                    self.note(Incident::ByteOrderMark);
                }
                if trimmed.had_return {
                    self.note(Incident::CarriageReturn);
                }
                return self.frame(&frame, line);
            }
            Err(fault) => fault,
        };
        let is_container = |first: u8| first == b'{' || first == b'[' && self.link.rules.settings().batches;
        match fault.kind() {
            FaultKind::BlankLine => self.note(Incident::BlankLine),
            FaultKind::UnexpectedEnd if line.trim_ascii_start().first().is_some_and(|first| is_container(*first)) => {
                match Printed::start(line) {
                    Some(printed) => self.printed = Some(printed),
                    None => self.faulty_line(line, &fault),
                }
            }
            _ => self.faulty_line(line, &fault),
        }
    }

    /// Takes a line that was put right.
    fn repaired_line(&mut self, line: &[u8]) {
        if let Ok(frame) = Frame::parse(line, &self.link.rules) {
            self.frame(&frame, line);
        }
    }

    fn frame(&mut self, frame: &Frame<'_>, line: &[u8]) {
        match frame {
            Frame::Message(message) => {
                if self.may_pass(message, Before::Nothing) {
                    self.pass(line);
                }
            }
            Frame::Batch(batch) => self.batch(batch, line),
        }
    }

    fn batch(&mut self, batch: &Batch<'_>, line: &[u8]) {
        let (mut entries, mut single) = (Vec::new(), Vec::new());
        for entry in batch {
            match entry {
                Ok(message) => match self.judge(&message, Before::Nothing) {
                    Verdict::Pass => entries.push(message),
                    Verdict::PassAlone => single.push(message),
                    Verdict::Drop => {}
                },
                Err(fault) => self.invalid_message(line, &fault),
            }
        }
        // The response to a request that was sent alone isn't expected in an array.
        for message in &single {
            self.note(Incident::InArray);
            self.pass(message.as_bytes());
        }
        if entries.len() == batch.len() {
            return self.pass(line);
        }
        // Fails if no entry is left.
        let rest = to_line(&self.link.rules, |encoder| {
            encoder.batch(|batch| entries.iter().try_for_each(|message| batch.forward(message)))
        });
        if let Ok(rest) = rest {
            self.pass(rest.text().as_bytes());
        }
    }

    /// Whether a message may reach the client. Notes that it does.
    fn may_pass(&mut self, message: &Message<'_>, before: Before) -> bool {
        self.judge(message, before) != Verdict::Drop
    }

    fn judge(&mut self, message: &Message<'_>, before: Before) -> Verdict {
        let link = Arc::clone(&self.link);
        let mut state = link.shared.lock();
        if state.receiver != self.server {
            return Verdict::Drop;
        }
        if let Some(method) = message.method() {
            // A log contains what the server has received, perhaps in other words.
            if before == Before::Text && state.copies.has_method(&method) {
                return Verdict::Drop;
            }
            if link.drops_copies && !COMMON_METHODS.contains(&&*method) && is_copy(message, &mut state) {
                self.note(Incident::Copy);
                return Verdict::Drop;
            }
        }
        match message {
            Message::Response(response) => self.judge_response(response, &mut state),
            Message::Request(request) => self.judge_request(request, &mut state),
            Message::Notification(notification) => {
                self.see_notification(notification, &mut state);
                Verdict::Pass
            }
        }
    }

    fn judge_response(&self, response: &Response<'_>, state: &mut State) -> Verdict {
        if self.link.can_restart && state.handshake.see_response(self.link.protocols, response) {
            self.link.shared.notify();
            return Verdict::Drop;
        }
        let ledger = state.ledger(Side::Client);
        let settlement = response.id().map(|id| ledger.settle(id));
        // A thread waits for this only at the end.
        if ledger.waiting() == 0 && state.client.has_ended {
            self.link.shared.notify();
        }
        let incident = match settlement {
            Some(Settlement::First { is_batch_entry: true }) => return Verdict::Pass,
            Some(Settlement::First { is_batch_entry: false }) => return Verdict::PassAlone,
            Some(Settlement::Late) => Incident::LateResponse,
            Some(Settlement::Unknown) if response.id().is_some_and(|id| !id.is_null()) => Incident::StrayResponse,
            _ => Incident::ResponseWithoutId,
        };
        let reason = response.error().map(|error| format!("error {}", error.code())).unwrap_or_default();
        let place = Place { from: Side::Server, line: Some(self.number), fault: Some(("", &reason)) };
        self.link.reporter.note(incident, place);
        Verdict::Drop
    }

    fn judge_request(&self, request: &Request<'_>, state: &mut State) -> Verdict {
        let id = request.id();
        let (incident, message) = match state.ledger(Side::Server).admit(id, Instant::now(), Sent::default()) {
            Ok(()) => return Verdict::Pass,
            Err(Refusal::InFlight) => (Incident::IdInFlight, "a request with this id is in flight"),
            Err(Refusal::TooMany) => (Incident::TooManyRequests, "too many requests in flight"),
        };
        self.note(incident);
        self.tell_server(&self.link.error_line(id, &RpcError::new(RpcError::INVALID_REQUEST, message)));
        Verdict::Drop
    }

    fn see_notification(&self, notification: &Notification<'_>, state: &mut State) {
        let (protocols, method, params) = (self.link.protocols, notification.method(), notification.params());
        if !protocols.answers_cancelled(&method)
            && let Some(id) = protocols.cancelled_id(&method, params.as_ref())
        {
            state.ledger(Side::Server).cancel(&id);
        }
        if self.link.has_timeout
            && let Some(progress) = protocols.progress(&method, params.as_ref())
        {
            state.ledger(Side::Client).make_progress(&progress.token, Instant::now());
        }
    }

    /// Takes a line that is no message: it may contain one, be a damaged one, or something else.
    fn faulty_line(&mut self, line: &[u8], fault: &Fault) {
        if fault.kind() == FaultKind::InvalidParams
            && let Ok(repaired) = to_line(&self.link.rules, |encoder| encoder.normalize(line))
        {
            self.note(Incident::NullParams);
            return self.repaired_line(repaired.text().as_bytes());
        }
        // What is between `noise` and `at` belongs to no message.
        let (mut noise, mut at, mut before) = (0, 0, Before::Nothing);
        while let Some(range) = find_object(&line[at..]) {
            let (start, end) = (at + range.start, at + range.end);
            if !is_invisible(&line[noise..start]) {
                before = Before::Text;
            }
            if self.takes_object(&line[start..end], before) {
                self.other_output(&line[noise..start]);
                noise = end;
            }
            at = end;
        }
        // The line may end within a message.
        let start = line[at..].iter().position(|byte| *byte == b'{').map_or(line.len(), |found| at + found);
        if start < line.len()
            && let Err(fault) = Frame::parse(&line[start..], &self.link.rules)
            && is_call_or_response(&fault, &line[start..])
        {
            self.other_output(&line[noise..start]);
            self.invalid_message(&line[start..], &fault);
        } else {
            self.other_output(&line[noise..]);
        }
    }

    /// Takes an object on a line with other output. Returns whether it was meant to be a message.
    fn takes_object(&mut self, object: &[u8], before: Before) -> bool {
        let frame = Frame::parse(object, &self.link.rules);
        match frame {
            Ok(Frame::Message(message)) if self.may_pass(&message, before) => {
                self.note(Incident::OtherOutput);
                self.pass(object);
                true
            }
            // Otherwise, it may be a copy.
            Ok(frame) => matches!(frame, Frame::Message(Message::Response(_))),
            Err(fault) if is_call_or_response(&fault, object) => {
                self.invalid_message(object, &fault);
                true
            }
            Err(_) => false,
        }
    }

    /// Passes on what surrounds the messages on a line.
    fn other_output(&self, text: &[u8]) {
        if !is_blank(text) {
            self.link.reporter.noise(text, self.number);
        }
    }

    /// Answers the request that an invalid message, which isn't passed on, should have answered.
    fn invalid_message(&self, text: &[u8], fault: &Fault) {
        let is_response = fault.is_response() || !names_method(text);
        let is_replaced = self.answer_for(fault, is_response);
        let incident = match (is_response, is_replaced) {
            (true, true) => Incident::InvalidResponse,
            (true, false) => Incident::InvalidStray,
            (false, _) => Incident::InvalidCall,
        };
        let reason = fault.reason().to_string();
        let place = Place { from: Side::Server, line: Some(self.number), fault: Some((fault.kind().name(), &reason)) };
        self.link.reporter.note(incident, place);
        self.link.reporter.invalid_message(text);
    }

    /// Answers the client in place of an invalid response, or the server for an invalid request. Returns whether the
    /// client was waiting.
    fn answer_for(&self, fault: &Fault, is_response: bool) -> bool {
        let Some(id) = fault.id() else { return false };
        if is_response {
            return self.answer_client(id, &format!("the server's response is invalid: {}", fault.reason()));
        }
        if let Some(reply) = fault.reply()
            && let Ok(reply) = to_line(&self.link.answers, |encoder| encoder.error_reply(&reply))
        {
            self.tell_server(reply.as_bytes());
        }
        false
    }

    /// Returns false if the client isn't waiting for this response.
    fn answer_client(&self, id: &Id<'_>, message: &str) -> bool {
        let mut state = self.link.shared.lock();
        let is_waiting = state.receiver == self.server && state.ledger(Side::Client).answer(id);
        if is_waiting {
            let error = RpcError::new(RpcError::INTERNAL_ERROR, message.to_owned());
            self.link.to_client.queue(&self.link.error_line(id, &error));
            self.link.shared.notify();
        }
        is_waiting
    }

    /// Answers the server, without waiting for it: it may wait for its output to be read.
    fn tell_server(&self, line: &[u8]) {
        if !self.link.to_server.queue_if_room(line) {
            self.note(Incident::Overflow);
        }
    }

    fn pass(&mut self, line: &[u8]) {
        match without_lone_surrogates(line) {
            Some(repaired) => {
                self.note(Incident::LoneSurrogate);
                self.passed.extend_from_slice(&repaired);
            }
            None => self.passed.extend_from_slice(line),
        }
        self.passed.push(b'\n');
    }

    fn note(&self, incident: Incident) {
        self.link.reporter.note(incident, Place::line(Side::Server, self.number));
    }
}

/// Whether the client has sent the same text, and its request is still in flight.
fn is_copy(message: &Message<'_>, state: &mut State) -> bool {
    match message.id() {
        Some(id) => {
            let sent = state.ledger(Side::Client).fingerprint(id);
            sent.is_some_and(|sent| sent == state.copies.fingerprint(message.as_bytes()))
        }
        None => state.copies.has_notification(message.as_bytes()),
    }
}

/// Whether a faulty text was meant to be a message. Otherwise, it may be an entry of a log in JSON.
fn is_call_or_response(fault: &Fault, text: &[u8]) -> bool {
    let is_json_rpc = || memmem::find(text, b"\"jsonrpc\"").is_some();
    fault.is_response() && fault.id().is_some() || is_json_rpc() && text.trim_ascii_start().starts_with(b"{")
}

/// Whether a faulty text seems to have a method, and so isn't a response.
fn names_method(text: &[u8]) -> bool {
    memmem::find(text, b"\"method\"").is_some()
}

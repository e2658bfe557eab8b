//! Plays the client's side of a session against a server.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead};
use std::time::{Duration, Instant};

use wireline::{EncodeError, Encoder, Id, Request, Response, RpcError, Rules, to_line};

use super::args::{Args, Timing};
use super::ignore_rule::ignored;
use super::report::{Problem, Report, Subject};
use super::script::{Answer, Received, Script, Sent, SentItem, StepKind};
use super::server_process::{Event, Sending, ServerProcess};
use crate::json::{Ignored, compare};
use crate::protocol::Protocols;

/// After how many answers in a row that never came to give up.
const MAX_SILENCE: u32 = 3;

/// How many of its requests, and of the answers to them, may be waiting. A server that sends more does not listen.
const MAX_WAITING: usize = 1000;

/// How long to wait for a notification, in addition to the time that it took in the recording.
const NOTIFICATION_PATIENCE: Duration = Duration::from_secs(1);

/// How long to listen to a server that does not take more lines, before trying again.
const SEND_INTERVAL: Duration = Duration::from_millis(10);

/// The method that either side may call to see whether the other is alive. When that happens depends on timing only.
const PING: &str = "ping";

/// One session.
pub(super) struct Player<'a, R> {
    args: &'a Args,
    rules: Rules,
    protocols: Protocols,
    script: &'a mut Script<R>,
    report: &'a mut Report,
    server: ServerProcess,
    started: Instant,
    /// The requests that were sent and whose recorded answers are still ahead, by id. The oldest first, if there are
    /// several.
    calls: HashMap<Id<'static>, VecDeque<Call>>,
    /// Requests of the server that came before they were expected.
    requests: VecDeque<Request<'static>>,
    /// For each recorded request of the server, the live one that it stands for. `None` if that never came.
    live_requests: HashMap<Id<'static>, Option<Id<'static>>>,
    /// When the last message was sent in the recording.
    last_sent: Duration,
    /// By method: how many notifications have come beyond those that were waited for, and `None` if one never came.
    notifications: HashMap<String, Option<u64>>,
    /// Lines that the server has not taken yet.
    unsent: VecDeque<Vec<u8>>,
    /// How often the answer to this id is no longer waited for.
    given_up: HashMap<Id<'static>, u32>,
    /// How many answers in a row never came.
    silence: u32,
    /// Why nothing more is sent.
    stopped: Option<Stopped>,
}

/// A request that was sent.
struct Call {
    subject: Subject,
    sent_at: Duration,
    is_cancelled: bool,
    answer: Option<Answer>,
}

/// Why a replay ended before its last message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stopped {
    Exited,
    NotReading,
    Silent,
}

impl<'a, R: BufRead> Player<'a, R> {
    pub(super) fn new(
        args: &'a Args,
        script: &'a mut Script<R>,
        report: &'a mut Report,
        server: ServerProcess,
    ) -> Self {
        Self {
            args,
            rules: args.rules.rules(),
            protocols: args.rules.protocols(),
            script,
            report,
            server,
            started: Instant::now(),
            calls: HashMap::new(),
            requests: VecDeque::new(),
            live_requests: HashMap::new(),
            last_sent: Duration::ZERO,
            notifications: HashMap::new(),
            unsent: VecDeque::new(),
            given_up: HashMap::new(),
            silence: 0,
            stopped: None,
        }
    }

    /// Plays to the end of the session, and waits for the server's end. Returns whether another session follows.
    pub(super) fn play(mut self) -> io::Result<bool> {
        let mut recorded_code = None;
        let mut has_next = false;
        while let Some(step) = self.script.next() {
            match step.kind {
                StepKind::Start => {
                    has_next = true;
                    break;
                }
                StepKind::Sent(sent) => self.send(sent, step.at),
                StepKind::Answer { id, answer } => self.await_answer(id, answer, step.at),
                StepKind::Request(request) => self.await_request(&request),
                StepKind::Noise => self.report.count_recorded_fault(),
                StepKind::Notification(notification) => self.await_notification(&notification.method(), step.at),
                StepKind::End { code } => recorded_code = code,
            }
        }
        self.finish(recorded_code)?;
        Ok(has_next)
    }

    /// Sends a line of the client.
    fn send(&mut self, sent: Sent, at: Duration) {
        if self.stopped.is_some() {
            return;
        }
        if self.args.timing == Timing::Recorded {
            self.wait_until(self.started + at);
        }
        self.last_sent = at;
        let Sent { mut bytes, items } = sent;
        if let [SentItem::Response { response, is_entry: false }] = &items[..] {
            match self.live_response(response) {
                Some(line) => bytes = line,
                // Its request never came, or has been answered already.
                None => return,
            }
        }
        for item in items {
            match item {
                SentItem::Request(request) => {
                    self.add_call(request.id(), Subject::of_call(&request, self.protocols), at);
                }
                SentItem::Notification { cancelled: Some(id), .. } => self.cancel(&id),
                // An error without an id may answer it.
                SentItem::Fault { id, is_response: false } => {
                    let subject = Subject::of_fault(id.as_ref());
                    self.add_call(&id.unwrap_or(Id::NULL), subject, at);
                }
                _ => {}
            }
        }
        self.report.count_sent();
        self.send_bytes(bytes);
    }

    fn add_call(&mut self, id: &Id<'static>, subject: Subject, at: Duration) {
        let call = Call { subject, sent_at: at, is_cancelled: false, answer: None };
        self.calls.entry(id.clone()).or_default().push_back(call);
    }

    fn cancel(&mut self, id: &Id<'static>) {
        if let Some(call) = self.calls.get_mut(id).and_then(|calls| calls.front_mut()) {
            call.is_cancelled = true;
        }
    }

    /// The client's response to a request of the server, with the id that the server uses now. `None` if there is nothing
    /// to send.
    fn live_response(&mut self, response: &Response<'static>) -> Option<Vec<u8>> {
        let Some(live) = response.id().and_then(|id| self.live_requests.remove(id)) else {
            // It answers nothing in the recording either.
            return Some([response.as_bytes(), b"\n"].concat());
        };
        let live = live?;
        let line = to_line(&self.rules, |encoder| encoder.forward_with_id(response, &live)).ok()?;
        Some(line.as_bytes().to_vec())
    }

    /// Sends bytes, and listens to the server while it does not take them.
    fn send_bytes(&mut self, bytes: Vec<u8>) {
        self.unsent.push_back(bytes);
        let (mut taken, mut last_taken) = (self.server.taken(), Instant::now());
        while !self.flush() && self.stopped.is_none() {
            self.listen(Instant::now() + SEND_INTERVAL);
            if self.server.taken() != taken {
                (taken, last_taken) = (self.server.taken(), Instant::now());
            }
            if last_taken.elapsed() >= self.args.timeout {
                self.stopped = Some(Stopped::NotReading);
            }
        }
    }

    /// Hands over what is unsent. Returns whether that was all.
    fn flush(&mut self) -> bool {
        while let Some(bytes) = self.unsent.pop_front() {
            match self.server.send(bytes) {
                Sending::Queued => {}
                Sending::Full(bytes) => {
                    self.unsent.push_front(bytes);
                    return false;
                }
                Sending::Closed => {
                    self.stopped = self.stopped.or(Some(Stopped::Exited));
                    self.unsent.clear();
                }
            }
        }
        true
    }

    /// Waits for the answer to a call, and compares it with the recorded one.
    fn await_answer(&mut self, id: Option<Id<'static>>, recorded: Answer, at: Duration) {
        let id = id.unwrap_or(Id::NULL);
        let Some(call) = self.calls.get(&id).and_then(|calls| calls.front()) else {
            match self.stopped {
                None => self.report.count_unmatched(true),
                Some(_) => self.report.count_unreached(),
            }
            return;
        };
        let (latency, is_cancelled) = (at.saturating_sub(call.sent_at), call.is_cancelled);
        let is_there = |player: &Self| player.calls.get(&id).and_then(|calls| calls.front()?.answer.as_ref()).is_some();
        if !is_cancelled {
            self.wait(self.args.timeout.saturating_add(latency), is_there);
        }
        let Some(calls) = self.calls.get_mut(&id) else { return };
        let call = calls.pop_front();
        if calls.is_empty() {
            self.calls.remove(&id);
        }
        let Some(Call { subject, answer, .. }) = call else { return };
        match answer {
            Some(answer) => {
                self.silence = 0;
                self.compare_answers(&subject, &recorded, &answer);
            }
            None if is_cancelled => self.give_up(id),
            None => {
                self.give_up(id);
                self.report.add(&subject, &Problem::NeverCame { stopped: self.stopped });
                self.count_silence();
            }
        }
    }

    /// Stops waiting for an answer, which may come later all the same.
    fn give_up(&mut self, id: Id<'static>) {
        *self.given_up.entry(id).or_default() += 1;
    }

    fn compare_answers(&mut self, subject: &Subject, recorded: &Answer, live: &Answer) {
        match (recorded, live) {
            (Answer::Response(recorded), Answer::Response(live)) => {
                let (recorded, live) = (recorded.raw(), live.raw());
                let comparison = compare(recorded.as_json(), live.as_json(), &self.ignored(subject));
                self.report.add_compared(subject, &comparison);
            }
            (Answer::Faulty(recorded), Answer::Faulty(live)) if recorded == live => self.report.count_same(),
            (_, Answer::Faulty(kind)) => self.report.add(subject, &Problem::Faulty(*kind)),
            (Answer::Faulty(kind), _) => self.report.add(subject, &Problem::NoLongerFaulty(*kind)),
        }
    }

    /// Waits for a request of the server with the same method, and compares the two.
    fn await_request(&mut self, recorded: &Request<'static>) {
        let method = recorded.method();
        if self.stopped.is_some() {
            return self.report.count_unreached();
        }
        if method == PING {
            self.live_requests.insert(recorded.id().clone(), None);
            return;
        }
        let position = |player: &Self| player.requests.iter().position(|request| request.method() == method);
        self.wait(self.args.timeout, |player| position(player).is_some());
        let live = position(self).and_then(|index| self.requests.remove(index));
        self.live_requests.insert(recorded.id().clone(), live.as_ref().map(|request| request.id().clone()));
        match live {
            Some(live) => {
                self.silence = 0;
                self.compare_requests(recorded, &live);
            }
            None => {
                self.report.add(
                    &Subject::of_request(recorded, self.protocols),
                    &Problem::RequestNeverCame { stopped: self.stopped },
                );
                self.count_silence();
            }
        }
    }

    /// Compares two requests of the server, apart from their ids, which are its own choice.
    fn compare_requests(&mut self, recorded: &Request<'static>, live: &Request<'static>) {
        const NO_PARAMS: &str = "{}";
        let params = [recorded, live].map(|request| {
            let params = request.params();
            format!(r#"{{"params":{}}}"#, params.as_ref().map_or(NO_PARAMS, |params| params.as_json()))
        });
        let subject = Subject::of_request(live, self.protocols);
        let mut ignored = self.ignored(&subject);
        // The server makes a new one each time.
        ignored.patterns.extend("/params/_meta/progressToken".parse());
        let comparison = compare(&params[0], &params[1], &ignored);
        self.report.add_compared(&subject, &comparison);
    }

    /// What makes no difference in messages about a subject.
    fn ignored(&self, subject: &Subject) -> Ignored {
        let (method, target) = subject.names();
        ignored(&self.args.ignore, &self.args.ignore_kind, method, target)
    }

    /// Waits for a notification of this method, because the recorded client may have waited for it as well. Its absence is
    /// no difference, so it is waited for only once, and not for long.
    fn await_notification(&mut self, method: &str, at: Duration) {
        if self.stopped.is_some() || self.notifications.get(method) == Some(&None) {
            return;
        }
        let has_come = |player: &Self| matches!(player.notifications.get(method), Some(Some(1..)));
        let patience = at.saturating_sub(self.last_sent).saturating_add(NOTIFICATION_PATIENCE);
        self.wait(patience.min(self.args.timeout), has_come);
        let count = self.notifications.get(method).copied().flatten().and_then(|count| count.checked_sub(1));
        self.notifications.insert(method.to_owned(), count);
    }

    fn count_silence(&mut self) {
        self.silence += 1;
        if self.silence >= MAX_SILENCE {
            self.stopped = self.stopped.or(Some(Stopped::Silent));
        }
    }

    fn wait_until(&mut self, time: Instant) {
        while self.stopped.is_none() && Instant::now() < time {
            self.listen(time);
        }
    }

    /// Listens until `is_done`, the timeout, or the end of the server's output.
    fn wait(&mut self, timeout: Duration, is_done: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + timeout;
        // A server that takes nothing more may still answer what it has taken.
        while !is_done(self) && self.stopped != Some(Stopped::Silent) && Instant::now() < deadline {
            let is_all_sent = self.flush();
            self.listen(if is_all_sent { deadline } else { deadline.min(Instant::now() + SEND_INTERVAL) });
            if !is_done(self) {
                self.answer_early();
            }
            if self.server.is_output_ended() {
                return;
            }
        }
    }

    /// Takes one thing that the server sends, if it comes before the deadline.
    fn listen(&mut self, deadline: Instant) {
        match self.server.next(deadline) {
            Event::Received(received) => self.receive(received),
            Event::Timeout => {}
            Event::Ended => self.stopped = self.stopped.or(Some(Stopped::Exited)),
        }
    }

    fn receive(&mut self, received: Received) {
        match received {
            Received::Answer { id, answer } => {
                let id = id.unwrap_or(Id::NULL);
                let mut calls = self.calls.get_mut(&id).into_iter().flatten();
                if let Some(call) = calls.find(|call| call.answer.is_none()) {
                    call.answer = Some(answer);
                } else if let Some(times) = self.given_up.get_mut(&id).filter(|times| **times > 0) {
                    *times -= 1;
                } else {
                    self.report.count_unmatched(false);
                }
            }
            Received::Request(request) if request.method() == PING => {
                self.respond(|encoder| encoder.response(request.id(), &EmptyObject {}));
            }
            Received::Request(request) if self.requests.len() < MAX_WAITING => self.requests.push_back(request),
            Received::Request(request) => {
                self.report.add(&Subject::of_request(&request, self.protocols), &Problem::ExtraRequest);
            }
            Received::Notification(notification) => {
                if let Some(count) = self.notifications.entry(notification.method().into_owned()).or_insert(Some(0)) {
                    *count += 1;
                }
                self.report.count_notification();
            }
            Received::Noise(fault) => self.report.add_fault(&fault),
        }
    }

    /// Answers requests of the server that came earlier than in the recording: it may do nothing else before it has the
    /// answer.
    fn answer_early(&mut self) {
        for _ in 0..self.requests.len() {
            let Some(live) = self.requests.pop_front() else { return };
            match self.script.take_request(&live.method()) {
                Some((recorded, Some(response))) => {
                    self.compare_requests(&recorded, &live);
                    self.respond(|encoder| encoder.forward_with_id(&response, live.id()));
                }
                // The recording has no answer to it either.
                Some((recorded, None)) => self.compare_requests(&recorded, &live),
                None => {
                    self.report.add(&Subject::of_request(&live, self.protocols), &Problem::ExtraRequest);
                    self.respond(|encoder| encoder.error(live.id(), &RpcError::method_not_found()));
                }
            }
        }
    }

    /// Queues an answer to a request of the server.
    fn respond(&mut self, write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>) {
        if self.unsent.len() >= MAX_WAITING {
            self.stopped = self.stopped.or(Some(Stopped::NotReading));
        }
        // The rules that a request has passed have room for its answer.
        if let (None, Ok(line)) = (self.stopped, to_line(&self.rules, write)) {
            self.unsent.push_back(line.as_bytes().to_vec());
            self.flush();
        }
    }

    /// Ends the session, and reports what is left over.
    fn finish(self, recorded_code: Option<i32>) -> io::Result<()> {
        let Self { server, report, protocols, stopped, mut calls, given_up, requests, .. } = self;
        let mut extra: Vec<Request<'static>> = requests.into();
        let end = server.finish(|received| match received {
            Received::Answer { id, answer } => {
                let id = id.unwrap_or(Id::NULL);
                let mut open = calls.get_mut(&id).into_iter().flatten();
                match open.find(|call| call.answer.is_none()) {
                    Some(call) => call.answer = Some(answer),
                    None if given_up.contains_key(&id) => {}
                    None => report.count_unmatched(false),
                }
            }
            Received::Request(request) if request.method() != PING && extra.len() < MAX_WAITING => extra.push(request),
            Received::Request(_) => {}
            Received::Notification(_) => report.count_notification(),
            Received::Noise(fault) => report.add_fault(&fault),
        })?;
        let mut answered: Vec<Call> = calls.into_values().flatten().filter(|call| call.answer.is_some()).collect();
        answered.sort_by_key(|call| call.sent_at);
        for Call { subject, .. } in answered.iter().filter(|call| !call.is_cancelled) {
            report.add(subject, &Problem::ExtraAnswer);
        }
        for request in extra {
            report.add(&Subject::of_request(&request, protocols), &Problem::ExtraRequest);
        }
        report.end_session(&end, stopped, recorded_code);
        Ok(())
    }
}

#[derive(serde::Serialize)]
struct EmptyObject {}

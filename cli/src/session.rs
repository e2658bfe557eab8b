//! Who asked what, who answered, and how long that took.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use wireline::{Fault, FaultKind, Id, Message};

use crate::excerpt::cut;

/// How many requests of a side are followed at a time.
const MAX_OPEN: usize = 1 << 16;

/// How many methods of a side are told apart.
const MAX_METHODS: usize = 512;

/// The longest id that is followed, and the longest name of a method that is told apart, in bytes.
const MAX_ID: usize = 1024;

/// How many columns the name of a method has at the most, and how many an id.
const MAX_NAME: usize = 64;
const SHOWN_ID: usize = 16;

/// How many requests are named and not only counted, a line each; and how many ids on one line.
const NAMED: usize = 4;
const NAMED_IDS: usize = 3;

/// Who sent something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Client, Self::Server];

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Where what it sends goes to, with the client on the left.
    pub(crate) fn arrow(self) -> char {
        match self {
            Self::Client => '→',
            Self::Server => '←',
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// All that is known of the messages between two sides. Its size is bounded, whatever they send.
pub(crate) struct Session {
    /// Whether both sides' messages come as if from one, so that what they answer is to be found there.
    is_mixed: bool,
    was_mixed: bool,
    pub(crate) traffic: [Traffic; 2],
    asked: [Asked; 2],
    pub(crate) methods: Vec<Method>,
    pub(crate) unanswered: Unanswered,
    pub(crate) cancelled: u64,
    pub(crate) strays: Few,
    pub(crate) doubles: Few,
    /// Requests so far.
    requests: u64,
    /// Requests that could not be followed.
    pub(crate) unfollowed: u64,
    faults: Vec<(Side, FaultKind, u64)>,
    sizes: Octaves,
}

/// What a side has sent.
#[derive(Default)]
pub(crate) struct Traffic {
    /// Entries of batches count one by one.
    pub(crate) messages: u64,
    pub(crate) faults: u64,
    pub(crate) bytes: u64,
}

/// What a side has asked.
#[derive(Default)]
struct Asked {
    open: HashMap<Id<'static>, Question>,
    /// Those whose id was in use, and how many they are.
    again: HashMap<Id<'static>, VecDeque<Question>>,
    agains: usize,
    /// In mixed traffic, where files may be in any order: answers to what is yet to be asked.
    early: HashMap<Id<'static>, Vec<Early>>,
    earlies: usize,
    methods: HashMap<String, usize>,
    /// Faulty lines without an id, which an error without an id may answer.
    faults: u64,
}

/// An answer that was there before its question.
struct Early {
    is_error: bool,
    len: u64,
}

#[derive(Clone, Copy)]
struct Question {
    /// Counts from 0 on.
    number: u64,
    method: usize,
    at: Option<Duration>,
    is_cancelled: bool,
}

/// A method that one side asks the other for.
pub(crate) struct Method {
    pub(crate) from: Side,
    /// Fit for a terminal.
    pub(crate) name: String,
    pub(crate) requests: u64,
    pub(crate) notifications: u64,
    pub(crate) errors: u64,
    /// Of requests, notifications and answers.
    pub(crate) bytes: u64,
    /// In nanoseconds.
    latency: Histogram<u32>,
    slowest: u64,
}

/// Requests that have not been answered, of which the first few are named.
#[derive(Default)]
pub(crate) struct Unanswered {
    pub(crate) count: u64,
    pub(crate) named: Vec<OpenRequest>,
}

/// A request that has not been answered.
pub(crate) struct OpenRequest {
    pub(crate) method: usize,
    pub(crate) id: String,
    /// When it was asked, and how long an answer was waited for.
    pub(crate) times: Option<(Duration, Duration)>,
}

/// Some things, of which the first few are named.
#[derive(Default)]
pub(crate) struct Few {
    pub(crate) count: u64,
    pub(crate) named: Vec<(Side, String)>,
}

impl Few {
    fn add(&mut self, from: Side, id: Option<&Id<'_>>) {
        self.count += 1;
        if self.named.len() < NAMED_IDS {
            self.named.push((from, shown_id(id)));
        }
    }
}

/// How many numbers have how many binary digits.
pub(crate) type Octaves = [u64; 65];

/// What a message is in its session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    /// A request or notification.
    Call { is_double: bool },
    /// Answers a request for that method.
    Answer { method: usize, latency: Option<Duration> },
    /// An error without an id: answers a line that could not be read.
    AnswerToFault,
    /// Answers nothing that was asked.
    Stray,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self {
            is_mixed: false,
            was_mixed: false,
            traffic: Default::default(),
            asked: Default::default(),
            methods: Vec::new(),
            unanswered: Unanswered::default(),
            cancelled: 0,
            strays: Few::default(),
            doubles: Few::default(),
            requests: 0,
            unfollowed: 0,
            faults: Vec::new(),
            sizes: [0; 65],
        }
    }

    /// What follows is a stream that has what both sides sent, and all of it is taken as the client's; or it is not.
    pub(crate) fn mix(&mut self, is_mixed: bool) {
        self.is_mixed = is_mixed;
        self.was_mixed |= is_mixed;
    }

    /// Whether nobody knows of everything who sent it.
    pub(crate) fn was_mixed(&self) -> bool {
        self.was_mixed
    }

    pub(crate) fn bytes(&mut self, from: Side, bytes: usize) {
        self.traffic[from as usize].bytes += bytes as u64;
    }

    /// A message, which came at that time.
    pub(crate) fn message(&mut self, from: Side, message: &Message<'_>, at: Option<Duration>) -> Role {
        let len = message.as_bytes().len() as u64;
        self.traffic[from as usize].messages += 1;
        self.sizes[octave(len)] += 1;
        match message {
            Message::Request(request) => {
                let method = self.method(from, &request.method());
                self.methods[method].requests += 1;
                self.methods[method].bytes += len;
                Role::Call { is_double: self.ask(from, &request.id(), method, at) }
            }
            Message::Notification(notification) => {
                let method = self.method(from, &notification.method());
                self.methods[method].notifications += 1;
                self.methods[method].bytes += len;
                if let Some(id) = cancelled(message) {
                    let open = self.asked[from as usize].open.get_mut(&id);
                    open.into_iter().for_each(|question| question.is_cancelled = true);
                }
                Role::Call { is_double: false }
            }
            Message::Response(response) => {
                self.settle(from, response.id().as_ref(), response.error().is_some(), len, at)
            }
        }
    }

    /// A faulty line, which came at that time.
    pub(crate) fn fault(&mut self, from: Side, fault: &Fault, at: Option<Duration>) {
        self.traffic[from as usize].faults += 1;
        match self.faults.iter_mut().find(|(side, kind, _)| (*side, *kind) == (from, fault.kind())) {
            Some((_, _, count)) => *count += 1,
            None => self.faults.push((from, fault.kind(), 1)),
        }
        match fault.id() {
            // Whoever asked will not understand it, but it was meant as the answer.
            Some(id) if fault.is_response() => {
                if let Some(question) = self.take(from, id) {
                    self.methods[question.method].errors += 1;
                }
            }
            Some(id) => {
                let method = self.method(from, UNREADABLE);
                self.methods[method].requests += 1;
                self.ask(from, id, method, at);
            }
            None if fault.is_response() => {}
            None => self.asked[from as usize].faults += 1,
        }
    }

    /// The kinds of faults there were, the most frequent first.
    pub(crate) fn faults(&self) -> Vec<(Side, FaultKind, u64)> {
        let mut faults = self.faults.clone();
        faults.sort_by_key(|(from, kind, count)| (std::cmp::Reverse(*count), *from as u8, kind.name()));
        faults
    }

    /// How many messages are of which size.
    pub(crate) fn sizes(&self) -> &Octaves {
        &self.sizes
    }

    /// How many answers took how many nanoseconds.
    pub(crate) fn latencies(&self) -> Octaves {
        let mut octaves = [0; 65];
        for step in self.methods.iter().flat_map(|method| method.latency.iter_recorded()) {
            octaves[octave(step.value_iterated_to())] += u64::from(step.count_at_value());
        }
        octaves
    }

    /// There will be no more answers to what was asked.
    pub(crate) fn close(&mut self, end: Option<Duration>) {
        for (asked, from) in self.asked.iter_mut().zip(Side::BOTH) {
            let mut early: Vec<_> = asked.early.drain().collect();
            early.sort_by(|(a, _), (b, _)| a.as_json().cmp(b.as_json()));
            for (id, answers) in early {
                answers.iter().for_each(|_| self.strays.add(from, Some(&id)));
            }
            let again = asked.again.drain();
            let again = again.flat_map(|(id, questions)| questions.into_iter().map(move |one| (id.clone(), one)));
            let mut open: Vec<_> = asked.open.drain().chain(again).collect();
            open.sort_by_key(|(_, question)| question.number);
            (asked.faults, asked.agains, asked.earlies) = (0, 0, 0);
            for (id, Question { method, at, is_cancelled, .. }) in open {
                if is_cancelled {
                    self.cancelled += 1;
                    continue;
                }
                self.unanswered.count += 1;
                if self.unanswered.named.len() < NAMED {
                    let times = at.zip(end).map(|(at, end)| (at, end.saturating_sub(at)));
                    self.unanswered.named.push(OpenRequest { method, id: shown_id(Some(&id)), times });
                }
            }
        }
    }

    /// Where in `methods` a method is.
    fn method(&mut self, from: Side, name: &str) -> usize {
        let known = &mut self.asked[from as usize].methods;
        if let Some(method) = known.get(name) {
            return *method;
        }
        let name = if known.len() < MAX_METHODS && name.len() <= MAX_ID { name } else { OTHERS };
        *known.entry(name.to_owned()).or_insert_with(|| {
            self.methods.push(Method {
                from,
                name: cut(name.as_bytes(), MAX_NAME),
                requests: 0,
                notifications: 0,
                errors: 0,
                bytes: 0,
                latency: Histogram::new(2).expect("two digits are among those that it has"),
                slowest: 0,
            });
            self.methods.len() - 1
        })
    }

    /// Keeps a question until it is answered, and returns whether its id was in use.
    fn ask(&mut self, from: Side, id: &Id<'_>, method: usize, at: Option<Duration>) -> bool {
        let question = Question { number: self.requests, method, at, is_cancelled: false };
        self.requests += 1;
        let asked = &mut self.asked[from as usize];
        if id.as_json().len() > MAX_ID {
            self.unfollowed += 1;
            return false;
        }
        // The map is not asked unless there is something in it, as that takes an id of its own.
        if asked.earlies > 0
            && let Entry::Occupied(mut answers) = asked.early.entry(id.clone().into_owned())
            && let Some(early) = answers.get_mut().pop()
        {
            if answers.get().is_empty() {
                answers.remove();
            }
            asked.earlies -= 1;
            self.methods[question.method].answered(&early, None);
            return false;
        }
        let is_double = asked.open.contains_key(id);
        if is_double && !self.is_mixed {
            self.doubles.add(from, Some(id));
        }
        if asked.open.len() + asked.agains >= MAX_OPEN {
            self.unfollowed += 1;
            return is_double;
        }
        let id = id.clone().into_owned();
        if is_double {
            asked.again.entry(id).or_default().push_back(question);
            asked.agains += 1;
        } else {
            asked.open.insert(id, question);
        }
        is_double
    }

    /// Takes the question that `from` answers.
    fn take(&mut self, from: Side, id: &Id<'_>) -> Option<Question> {
        let asker = if self.is_mixed { from } else { from.other() };
        let asked = &mut self.asked[asker as usize];
        if id.as_json().len() > MAX_ID {
            return None;
        }
        let id = id.clone().into_owned();
        let first = asked.open.remove(&id)?;
        if let Some(again) = asked.again.get_mut(&id) {
            let next = again.pop_front();
            if again.is_empty() {
                asked.again.remove(&id);
            }
            if let Some(next) = next {
                asked.agains -= 1;
                asked.open.insert(id, next);
            }
        }
        Some(first)
    }

    fn settle(&mut self, from: Side, id: Option<&Id<'_>>, is_error: bool, len: u64, at: Option<Duration>) -> Role {
        let answer = Early { is_error, len };
        if let Some(question) = id.and_then(|id| self.take(from, id)) {
            let latency = at.zip(question.at).and_then(|(at, asked)| at.checked_sub(asked));
            self.methods[question.method].answered(&answer, latency);
            return Role::Answer { method: question.method, latency };
        }
        let asker = if self.is_mixed { from } else { from.other() };
        let asked = &mut self.asked[asker as usize];
        if is_error && asked.faults > 0 && id.is_none_or(Id::is_null) {
            asked.faults -= 1;
            return Role::AnswerToFault;
        }
        match id {
            Some(id) if self.is_mixed && asked.earlies < MAX_OPEN && id.as_json().len() <= MAX_ID => {
                asked.early.entry(id.clone().into_owned()).or_default().push(answer);
                asked.earlies += 1;
            }
            _ => self.strays.add(from, id),
        }
        Role::Stray
    }
}

impl Method {
    /// The latency that so much of all answers did not exceed. None if none is known.
    pub(crate) fn latency(&self, quantile: f64) -> Option<Duration> {
        // What is counted as one are all latencies of about that length.
        let nanoseconds = self.latency.value_at_quantile(quantile).min(self.slowest);
        (!self.latency.is_empty()).then(|| Duration::from_nanos(nanoseconds))
    }

    fn answered(&mut self, answer: &Early, latency: Option<Duration>) {
        self.bytes += answer.len;
        self.errors += u64::from(answer.is_error);
        if let Some(latency) = latency {
            let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).max(1);
            // It grows with what it is given; only beyond memory is there an end to that.
            let _ = self.latency.record(nanoseconds);
            self.slowest = self.slowest.max(nanoseconds);
        }
    }
}

/// Stands for the method of a line that is no message.
const UNREADABLE: &str = "(unreadable)";

/// Stands for all methods beyond those that are told apart.
const OTHERS: &str = "(others)";

/// An id as it was sent, fit for a terminal.
pub(crate) fn shown_id(id: Option<&Id<'_>>) -> String {
    id.map_or_else(String::new, |id| format!("#{}", cut(id.as_json().as_bytes(), SHOWN_ID)))
}

/// The id of the request that a notification takes back, in MCP and ACP, or as language servers do.
fn cancelled(message: &Message<'_>) -> Option<Id<'static>> {
    let Message::Notification(notification) = message else { return None };
    let pointer = match &*notification.method() {
        "notifications/cancelled" => "/requestId",
        "$/cancel_request" => "/requestId",
        "$/cancelRequest" => "/id",
        _ => return None,
    };
    Some(Id::parse(notification.params()?.pointer(pointer)?.as_str())?.into_owned())
}

fn octave(number: u64) -> usize {
    64 - number.leading_zeros() as usize
}

#[cfg(test)]
mod tests {
    use wireline::{Frame, Rules};

    use super::*;

    /// Lets one side say a line, a millisecond after the one before, and returns what it was.
    fn say(session: &mut Session, from: Side, line: &str) -> Option<Role> {
        let said = session.traffic.iter().map(|traffic| traffic.messages + traffic.faults).sum();
        let at = Some(Duration::from_millis(said));
        match Frame::parse(line.as_bytes(), &Rules::json_rpc()) {
            Ok(Frame::Message(message)) => Some(session.message(from, &message, at)),
            Ok(Frame::Batch(_)) => panic!("expected a message"),
            Err(fault) => {
                session.fault(from, &fault, at);
                None
            }
        }
    }

    fn request(id: &str, method: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
    }

    fn result(id: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
    }

    fn error(id: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"no"}}}}"#)
    }

    fn answer(method: usize, milliseconds: u64) -> Option<Role> {
        Some(Role::Answer { method, latency: Some(Duration::from_millis(milliseconds)) })
    }

    const CALL: Option<Role> = Some(Role::Call { is_double: false });
    use Side::{Client, Server};

    #[test]
    fn answers_are_matched_by_id_and_side() {
        let mut session = Session::new();
        assert_eq!(say(&mut session, Client, &request("1", "a")), CALL);
        assert_eq!(say(&mut session, Server, &request("1", "b")), CALL);
        assert_eq!(say(&mut session, Client, &request("\"1\"", "a")), CALL);
        assert_eq!(say(&mut session, Server, &result("1.0")), answer(0, 3));
        assert_eq!(say(&mut session, Client, &error("1")), answer(1, 3));
        assert_eq!(say(&mut session, Server, &error("1")), Some(Role::Stray));
        assert_eq!(session.methods.iter().map(|m| (m.requests, m.errors)).collect::<Vec<_>>(), [(2, 0), (1, 1)]);
        session.close(Some(Duration::from_millis(9)));
        let [open] = &session.unanswered.named[..] else { panic!("expected one") };
        assert_eq!(open.id, "#\"1\"");
        assert_eq!(open.times, Some((Duration::from_millis(2), Duration::from_millis(7))));
        assert_eq!(session.strays.named, [(Server, "#1".to_owned())]);
    }

    #[test]
    fn an_id_that_is_in_use_is_a_double() {
        let mut session = Session::new();
        say(&mut session, Client, &request("1", "a"));
        assert_eq!(say(&mut session, Client, &request("1", "b")), Some(Role::Call { is_double: true }));
        assert_eq!(say(&mut session, Server, &result("1")), answer(0, 2));
        assert_eq!(say(&mut session, Server, &result("1")), answer(1, 2));
        assert_eq!(say(&mut session, Server, &result("1")), Some(Role::Stray));
        assert_eq!(say(&mut session, Client, &request("1", "a")), CALL);
        session.close(None);
        assert_eq!((session.doubles.count, session.strays.count, session.unanswered.count), (1, 1, 1));
    }

    #[test]
    fn faulty_lines_are_asked_and_answered_too() {
        let mut session = Session::new();
        // With an id, and without.
        say(&mut session, Client, r#"{"jsonrpc":"2.0","id":7,"method":7}"#);
        assert_eq!(say(&mut session, Server, &error("7")), answer(0, 1));
        say(&mut session, Client, "oops");
        assert_eq!(say(&mut session, Server, &error("null")), Some(Role::AnswerToFault));
        assert_eq!(say(&mut session, Server, &error("null")), Some(Role::Stray));
        // A faulty answer is an error, and leaves nothing open.
        say(&mut session, Client, &request("8", "a"));
        say(&mut session, Server, r#"{"jsonrpc":"2.0","id":8,"result":1,"error":2}"#);
        session.close(None);
        assert_eq!((session.methods[1].errors, session.unanswered.count), (1, 0));
        assert_eq!(session.faults().len(), 3);
    }

    #[test]
    fn cancelled_requests_are_known_as_such() {
        for (method, params) in [
            ("notifications/cancelled", r#"{"requestId":"a"}"#),
            ("$/cancel_request", r#"{"requestId":"\u0061"}"#),
            ("$/cancelRequest", r#"{"id":"a"}"#),
        ] {
            let mut session = Session::new();
            say(&mut session, Client, &request("\"a\"", "m"));
            say(&mut session, Client, &format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
            session.close(None);
            assert_eq!((session.cancelled, session.unanswered.count), (1, 0), "{method}");
        }
    }

    #[test]
    fn one_stream_of_both_sides() {
        let mut session = Session::new();
        session.mix(true);
        say(&mut session, Client, &request("1", "a"));
        assert_eq!(say(&mut session, Client, &result("1")), answer(0, 1));
        // In whatever order, and with the same ids from both sides.
        for line in [error("2"), result("3"), request("2", "b"), request("4", "a"), request("4", "a"), result("4")] {
            say(&mut session, Client, &line);
        }
        // Nothing is kept of what has been matched.
        assert_eq!((session.asked[0].early.len(), session.asked[0].earlies), (1, 1));
        session.close(None);
        assert_eq!(session.methods.iter().map(|m| (m.requests, m.errors)).collect::<Vec<_>>(), [(3, 0), (1, 1)]);
        assert_eq!((session.unanswered.count, session.doubles.count), (1, 0));
        assert_eq!(session.strays.named, [(Client, "#3".to_owned())]);
    }

    #[test]
    fn is_bounded() {
        let mut session = Session::new();
        for number in 0..MAX_OPEN + 10 {
            say(&mut session, Client, &request(&number.to_string(), &format!("m{}", number % 1000)));
        }
        assert_eq!((session.methods.len(), session.unfollowed), (MAX_METHODS + 1, 10));
        assert_eq!(session.methods.last().map(|method| method.name.as_str()), Some(OTHERS));
        say(&mut session, Server, &request(&format!("\"{}\"", "x".repeat(MAX_ID)), &"y".repeat(1000)));
        assert_eq!(session.unfollowed, 11);
        assert_eq!(session.methods.last().unwrap().name.chars().count(), MAX_NAME);
    }
}

//! Whatever a peer sends and whatever is done with its requests, a `Connection` keeps its promises: each line and each
//! entry of a batch is one event; each request is answered once, or not at all if MCP says so; answers to a batch leave
//! as arrays; each request to the peer ends once; lines leave whole and in order; nothing leaves after the end.
//!
//! Input: five bytes for the dialect and the limits, and then what happens, a byte for each step and for each detail.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use wireline::connection::{Config, Connection, Event, Lost, Peer, Refusal, SendError, Sending, Stray, Ticket};
use wireline::{Frame, Id, Message, RpcError, Rules};

use super::common::{Dialect, quiet_panics_on_purpose};
use super::input::Choices;

/// The most requests to the peer that may be in flight.
const CALLS: usize = 6;

/// See the [module](self).
pub fn run(data: &[u8]) {
    quiet_panics_on_purpose();
    let mut choices = Choices::new(data);
    let mut session = Session::new(&mut choices);
    while !choices.is_empty() && session.connection.is_some() {
        session.step(&mut choices);
    }
    match session.connection.is_some() {
        true => session.finish(),
        false => session.check_dropped(),
    }
}

/// The limits of a session.
struct Limits {
    in_flight: usize,
    backlog: usize,
    line: usize,
    depth: usize,
    batch: usize,
}

impl Limits {
    fn choose(choices: &mut Choices<'_>) -> Self {
        let mut pick = |from: [usize; 6]| from[usize::from(choices.byte()) % 6];
        let in_flight = pick([1000, 1, 2, 3, 8, 50]);
        let backlog = pick([1 << 20, 0, 20, 100, 1000, 4000]);
        let [line, depth] = [[16 << 20, 128], [128, 128], [200, 4], [400, 128], [16 << 20, 4], [1000, 128]]
            [usize::from(choices.byte()) % 6];
        let batch = [1024, 1, 2, 3, 5, 8][usize::from(choices.byte()) % 6];
        Self { in_flight, backlog, line, depth, batch }
    }

    /// Whether all answers to a batch fit one array.
    fn keep_batches_whole(&self) -> bool {
        self.backlog == 1 << 20 && self.line == 16 << 20 && self.depth == 128 && self.batch == 1024
    }
}

/// What is expected of a line or an entry when it becomes an event.
#[derive(Clone, Debug)]
enum Expected {
    Request(String),
    Notification,
    Cancellation(String),
    Response(u64),
    FaultyResponse(u64),
    Stray(Stray),
    Fault,
}

/// A request that was handed out.
struct Held {
    id: String,
    ticket: Ticket,
    is_cancelled: bool,
    /// Whether it was answered by `abort`.
    is_aborted: bool,
}

/// A request to the peer.
struct Asked {
    id: u64,
    deadline: Option<Instant>,
}

struct Session {
    dialect: Dialect,
    limits: Limits,
    rules: Rules,
    /// `None` once it was dropped.
    connection: Option<Connection<Arc<u64>>>,
    peer: Peer<Arc<u64>>,
    is_finished: bool,
    is_closed: bool,
    is_ending: bool,

    /// Bytes of the peer that weren't fed yet, and what is expected of all that hasn't become an event.
    unfed: VecDeque<u8>,
    coming: VecDeque<Expected>,
    /// How many ids were used, and those used by lines of their own.
    ids: usize,
    single: BTreeSet<String>,
    /// The number of the next batch. Its ids start with it, so that they are used by no other.
    batches: usize,
    /// How often each id must be answered by the end, for each batch as well.
    owed: BTreeMap<String, usize>,
    /// How many more answers without an id there may be.
    doubtful: usize,
    owed_in: BTreeMap<usize, Vec<String>>,
    held: Vec<Held>,
    /// The results that were sent, each with its id.
    results: BTreeMap<u64, String>,

    /// The requests to the peer in flight, and the values of all that were ever sent.
    asked: Vec<Asked>,
    values: Vec<Arc<u64>>,
    last_id: u64,
    /// The requests that the peer must have been told to cancel.
    told: BTreeMap<u64, usize>,
    sendings: Vec<(u64, Sending)>,
    noted: BTreeSet<u64>,
    next_note: u64,
    start: Instant,
    clock: Duration,

    output: Vec<u8>,
}

impl Session {
    fn new(choices: &mut Choices<'_>) -> Self {
        let dialect = Dialect::ALL[usize::from(choices.byte()) % Dialect::ALL.len()];
        let limits = Limits::choose(choices);
        let rules = dialect.rules().batches(true);
        let rules = rules.max_line_len(limits.line).max_depth(limits.depth).max_batch_len(limits.batch);
        let config = Config::new(rules).in_flight(limits.in_flight).backlog(limits.backlog).calls(CALLS);
        let connection = Connection::new(config);
        Self {
            dialect,
            limits,
            rules,
            peer: connection.peer(),
            connection: Some(connection),
            is_finished: false,
            is_closed: false,
            is_ending: false,
            unfed: VecDeque::new(),
            coming: VecDeque::new(),
            ids: 0,
            single: BTreeSet::new(),
            batches: 0,
            owed: BTreeMap::new(),
            doubtful: 0,
            owed_in: BTreeMap::new(),
            held: Vec::new(),
            results: BTreeMap::new(),
            asked: Vec::new(),
            values: Vec::new(),
            last_id: 0,
            told: BTreeMap::new(),
            sendings: Vec::new(),
            noted: BTreeSet::new(),
            next_note: 0,
            start: Instant::now(),
            clock: Duration::ZERO,
            output: Vec::new(),
        }
    }

    fn connection(&mut self) -> &mut Connection<Arc<u64>> {
        self.connection.as_mut().expect("a connection")
    }

    fn in_flight(&self) -> usize {
        self.held.iter().filter(|held| !held.is_aborted).count()
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.byte() % 24 {
            0..4 => self.send_line(choices),
            4..6 => self.send_batch(choices),
            6..9 => self.feed(usize::from(choices.byte()) * 4 + 1),
            9..12 => {
                for _ in 0..=choices.byte() % 8 {
                    self.take_event(choices);
                }
            }
            12..15 => {
                let (at, how) = (choices.byte(), choices.byte());
                if !self.held.is_empty() {
                    let held = self.held.swap_remove(usize::from(at) % self.held.len());
                    self.settle(held, how);
                }
            }
            15 | 16 => {
                let bytes = usize::from(choices.byte()) * 300 / 255;
                self.write(bytes);
            }
            17 => self.ask(choices.byte()),
            18 => self.give_up(choices.byte()),
            19 => self.note(choices.byte()),
            20 => self.let_time_pass(choices.byte()),
            21 => self.change(choices.byte()),
            22 => self.check_held(),
            _ => self.write(usize::MAX),
        }
        let Some(connection) = &self.connection else { return };
        let (is_done, in_flight) = (connection.is_done(), connection.in_flight());
        let is_over = self.is_finished
            && self.coming.is_empty()
            && self.asked.is_empty()
            && self.held.iter().all(|held| held.is_aborted);
        assert!(!is_done || is_over, "done too early");
        assert_eq!(in_flight, self.in_flight());
    }

    /// A new id, as JSON, of some kind and length.
    fn new_id(&mut self, prefix: &str, kind: u8) -> String {
        self.ids += 1;
        let number = self.ids;
        match kind % 4 {
            0 if prefix.is_empty() => number.to_string(),
            1 => format!("\"{prefix}{number}\\n\""),
            2 => format!("\"{prefix}{number}{}\"", "x".repeat(30)),
            _ => format!("\"{prefix}{number}\""),
        }
    }

    /// A line or an entry, and what is expected of it. `used` has the ids that it may repeat.
    fn entry(&mut self, choices: &mut Choices<'_>, prefix: &str, used: &mut Vec<String>) -> (String, Expected) {
        let kind = choices.byte();
        let mut repeated = |used: &[String]| match used.len() {
            0 => None,
            len => Some(used[usize::from(choices.byte()) % len].clone()),
        };
        match kind % 16 {
            7 if let Some(id) = repeated(used) => {
                (format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"again"}}"#), Expected::Request(id))
            }
            8 => (r#"{"jsonrpc":"2.0","method":"note"}"#.to_owned(), Expected::Notification),
            9 | 10
                if let Some((method, member)) = self.dialect.cancellation()
                    && let Some(id) = repeated(used) =>
            {
                let line = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"{member}":{id}}}}}"#);
                (line, Expected::Cancellation(id))
            }
            11 => {
                let id = self.new_id(prefix, kind / 16);
                used.push(id.clone());
                self.owe(&id);
                (format!(r#"{{"jsonrpc":"2.0","id":{id},"method":1}}"#), Expected::Fault)
            }
            12 => {
                if self.dialect.answers_without_id() {
                    self.owe("null");
                }
                ("1".to_owned(), Expected::Fault)
            }
            13 if kind & 16 == 0 => {
                (r#"{"jsonrpc":"2.0","id":"stray","result":{}}"#.to_owned(), Expected::Stray(Stray::Unknown))
            }
            13..16 if self.last_id > 0 => {
                let id = 1 + u64::from(choices.byte()) % self.last_id;
                match kind & 16 {
                    0 => {
                        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}},"error":2}}"#);
                        (line, Expected::FaultyResponse(id))
                    }
                    _ => (format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#), Expected::Response(id)),
                }
            }
            _ => {
                let id = self.new_id(prefix, kind / 16);
                used.push(id.clone());
                (format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"work"}}"#), Expected::Request(id))
            }
        }
    }

    fn owe(&mut self, id: &str) {
        *self.owed.entry(id.to_owned()).or_default() += 1;
    }

    fn send_line(&mut self, choices: &mut Choices<'_>) {
        if self.is_finished {
            return;
        }
        let mut used: Vec<String> = self.owed.keys().filter(|id| *id != "null").cloned().collect();
        let owed = self.owed.clone();
        let (line, expected) = self.entry(choices, "", &mut used);
        if line.len() > self.limits.line {
            self.owed = owed;
            return;
        }
        if let Expected::Request(id) = &expected {
            self.owe(id);
            self.single.insert(id.clone());
        }
        if let (Expected::Fault, Some(id)) = (&expected, used.last()) {
            self.single.insert(id.clone());
        }
        self.single.insert("null".to_owned());
        self.unfed.extend(line.bytes().chain(*b"\n"));
        self.coming.push_back(expected);
    }

    fn send_batch(&mut self, choices: &mut Choices<'_>) {
        if self.is_finished {
            return;
        }
        self.batches += 1;
        let number = self.batches;
        let prefix = format!("b{number}-");
        let before = self.owed.clone();
        let (mut used, mut entries, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..=choices.byte() % 9 {
            let (entry, one) = self.entry(choices, &prefix, &mut used);
            if let Expected::Request(id) = &one {
                self.owe(id);
            }
            entries.push(entry);
            expected.push(one);
        }
        let line = format!("[{}]", entries.join(","));
        if line.len() > self.limits.line || entries.len() > self.limits.batch {
            // The whole line is a fault. It isn't answered if it begins like a response.
            self.owed = before;
            self.doubtful += 1;
            self.single.insert("null".to_owned());
            expected = vec![Expected::Fault];
        } else {
            let mut ids = Vec::new();
            for (id, count) in &self.owed {
                let count = count - before.get(id).copied().unwrap_or_default();
                ids.extend(std::iter::repeat_n(id.clone(), count));
            }
            self.owed_in.insert(number, ids);
        }
        self.unfed.extend(line.bytes().chain(*b"\n"));
        self.coming.extend(expected);
    }

    fn feed(&mut self, most: usize) {
        if self.connection().wants_read() {
            let len = most.min(self.unfed.len());
            let bytes: Vec<u8> = self.unfed.drain(..len).collect();
            let connection = self.connection();
            match bytes.len() % 2 {
                0 => connection.feed(&bytes),
                _ => {
                    let mut rest = &bytes[..];
                    while !rest.is_empty() {
                        let read = connection.read_with(|room| {
                            let len = rest.len().min(room.len());
                            room[..len].copy_from_slice(&rest[..len]);
                            rest = &rest[len..];
                            Ok(len)
                        });
                        assert!(matches!(read, Ok(true)));
                    }
                }
            }
        }
    }

    fn write(&mut self, most: usize) {
        let connection = self.connection.as_mut().expect("a connection");
        let pending = connection.pending();
        let len = pending.len().min(most);
        self.output.extend_from_slice(&pending[..len]);
        connection.advance(len);
        if len > 0 {
            assert!(!connection.is_done() || !connection.wants_write());
        }
    }

    fn take_event(&mut self, choices: &mut Choices<'_>) {
        let Some(event) = self.connection.as_mut().expect("a connection").next_event() else { return };
        if let Event::Lost(id, value, Lost::Ended) = event {
            assert!(self.is_finished && self.coming.is_empty(), "lost before the end");
            return end_call(&mut self.asked, &id, &value);
        }
        let expected = self.coming.pop_front().expect("an event of nothing");
        let is_in_flight = |held: &[Held], id: &str| held.iter().any(|held| held.id == id && !held.is_aborted);
        match (event, expected) {
            (Event::Request(request, ticket), Expected::Request(id)) => {
                assert_eq!((request.id().as_json(), ticket.id().as_json()), (&*id, &*id));
                assert!(!self.is_closed && !is_in_flight(&self.held, &id) && !ticket.is_cancelled());
                assert!(self.in_flight() < self.limits.in_flight);
                let held = Held { id, ticket, is_cancelled: false, is_aborted: false };
                match choices.byte() {
                    how @ 0..100 => self.settle(held, how),
                    _ => self.held.push(held),
                }
            }
            (Event::Refused(request, refusal), Expected::Request(id)) => {
                assert_eq!(request.id().as_json(), id);
                let reason = match () {
                    () if self.is_closed => Refusal::Closed,
                    () if is_in_flight(&self.held, &id) => Refusal::Duplicate,
                    () => {
                        assert!(self.in_flight() >= self.limits.in_flight);
                        Refusal::TooMany
                    }
                };
                assert_eq!(refusal, reason);
            }
            (Event::Notification(_), Expected::Notification) => {}
            (Event::Cancelled(_, id, is_found), Expected::Cancellation(expected)) => {
                assert_eq!(id.as_json(), expected);
                let found = self.held.iter_mut().find(|held| held.id == expected && !held.is_aborted);
                assert_eq!(is_found, found.is_some());
                if let Some(held) = found {
                    held.is_cancelled = true;
                    assert!(held.ticket.is_cancelled());
                }
            }
            (Event::Response(response, value), Expected::Response(id)) => {
                assert_eq!(response.id().and_then(Id::as_u64), Some(id));
                end_call(&mut self.asked, &Id::from(id), &value);
            }
            (Event::Lost(id, value, Lost::Faulty(_)), Expected::FaultyResponse(expected)) => {
                assert_eq!(id.as_u64(), Some(expected));
                end_call(&mut self.asked, &id, &value);
            }
            (Event::Fault(_), Expected::FaultyResponse(id)) => {
                assert!(self.asked.iter().all(|asked| asked.id != id), "the fault answers a request");
            }
            (Event::Stray(_, stray), Expected::Stray(expected)) => assert_eq!(stray, expected),
            (Event::Stray(_, stray), Expected::Response(id)) => {
                assert!(self.asked.iter().all(|asked| asked.id != id), "the response answers a request");
                assert_eq!(stray, Stray::Repeated);
            }
            (Event::Fault(_), Expected::Fault) => {}
            (event, expected) => panic!("{event:?}, not {expected:?}"),
        }
    }

    /// Settles a request in one of many ways. One answer must follow, unless there is already one or none is wanted.
    fn settle(&mut self, held: Held, how: u8) {
        let Held { id, ticket, is_cancelled, is_aborted } = held;
        assert_eq!(ticket.is_cancelled(), is_cancelled || is_aborted);
        let is_answered = self.connection.is_some() && !is_aborted && !(is_cancelled && self.dialect == Dialect::Mcp);
        if !is_aborted && !is_answered && self.connection.is_some() {
            self.pardon(&id);
        }
        let number = 1000 + self.results.len() as u64;
        match how % 13 {
            0..3 => {
                // Fits any line.
                ticket.respond(&json!({"n": number}));
                if is_answered {
                    self.results.insert(number, id);
                }
            }
            3 => ticket.fail(&RpcError::new(1, "failed")),
            4 => drop(ticket),
            5 => ticket.respond(&f64::NAN),
            6 => drop(catch_unwind(AssertUnwindSafe(|| ticket.respond(&Explosive)))),
            7 => match ticket.try_respond(&f64::NAN) {
                Err((ticket, _)) => ticket.fail(&RpcError::new(2, "no number")),
                Ok(()) => assert!(self.dialect == Dialect::Mcp || self.connection.is_none()),
            },
            8 => {
                let rules = self.dialect.rules();
                let line = format!(r#"{{"jsonrpc":"2.0","id":"other","result":{{"n":{number}}}}}"#);
                let Ok(Frame::Message(Message::Response(response))) = Frame::parse(line.as_bytes(), &rules) else {
                    panic!("no response")
                };
                ticket.relay(&response);
                if is_answered {
                    self.results.insert(number, id);
                }
            }
            9 => ticket.respond(&json!({"text": "x".repeat(usize::from(how) * 2)})),
            10 => ticket.respond(&json!({"deep": [[1]]})),
            // MCP has no such result.
            11 => ticket.respond(&[1]),
            _ => ticket.settle(Err::<(), _>(RpcError::internal())),
        }
    }

    /// The peer must be told that a request is cancelled, if the dialect has a message for that.
    fn tell(&mut self, id: u64) {
        if self.dialect.cancellation().is_some() {
            *self.told.entry(id).or_default() += 1;
        }
    }

    /// No answer is expected after all.
    fn pardon(&mut self, id: &str) {
        *self.owed.get_mut(id).expect("an id") -= 1;
        let batch = self.owed_in.values_mut().find_map(|ids| Some((ids.iter().position(|its| its == id)?, ids)));
        // If the id was also used by a line of its own, it isn't known which of them is pardoned.
        if let (Some((at, ids)), false) = (batch, self.single.contains(id)) {
            ids.remove(at);
        }
    }

    fn ask(&mut self, how: u8) {
        let value = Arc::new(self.values.len() as u64);
        let sent = match how % 4 {
            0 => self.peer.request("ask", &f64::NAN, Arc::clone(&value)),
            1 => {
                let line = br#"{"jsonrpc":"2.0","id":"other","method":"ask","params":{"n":1.0}}"#;
                let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &self.dialect.rules()) else {
                    panic!("no request")
                };
                self.peer.forward_request(&request, Arc::clone(&value))
            }
            _ => self.peer.request("ask", &json!({}), Arc::clone(&value)),
        };
        match sent {
            Ok(id) => {
                assert!(!self.is_ending && !how.is_multiple_of(4) && self.asked.len() < CALLS);
                let id = id.as_u64().expect("an integer");
                assert!(id > self.last_id);
                self.last_id = id;
                self.asked.push(Asked { id, deadline: None });
                self.values.push(value);
            }
            Err(error) => {
                assert_eq!(Arc::strong_count(&value), 1, "a value is kept");
                match error {
                    SendError::Encode(_) => {
                        assert_eq!(how % 4, 0);
                        self.last_id += 1;
                    }
                    SendError::Full => {
                        if self.asked.len() < CALLS {
                            self.last_id += 1;
                        }
                    }
                    SendError::Closed => {
                        assert!(self.is_ending || self.is_finished);
                        self.last_id += u64::from(!self.is_finished);
                    }
                    error => panic!("{error:?}"),
                }
            }
        }
    }

    fn give_up(&mut self, how: u8) {
        let id = match self.asked.len() {
            0 => 1 + u64::from(how),
            len => self.asked[usize::from(how) % len].id,
        };
        let value = self.peer.cancel(&Id::from(id));
        // At the end, those in flight are lost: it is too late to give up.
        assert!(self.is_finished || value.is_some() == self.asked.iter().any(|asked| asked.id == id));
        if let Some(value) = value {
            end_call(&mut self.asked, &Id::from(id), &value);
            self.tell(id);
        }
    }

    fn note(&mut self, how: u8) {
        let number = self.next_note;
        let params = json!({"n": number});
        match how % 4 {
            0 => {
                let sent = self.peer.try_notify("note", &params);
                self.next_note += 1;
                match sent {
                    Ok(()) => drop(self.noted.insert(number)),
                    Err(SendError::Closed) => assert!(self.is_ending || self.connection.is_none()),
                    Err(error) => assert!(matches!(error, SendError::Full)),
                }
            }
            1 if !self.sendings.is_empty() => {
                let (number, sending) = self.sendings.swap_remove(usize::from(how) % self.sendings.len());
                self.resolve(number, sending);
            }
            _ => {
                let text = "x".repeat(usize::from(how % 32));
                let sending = self.peer.notify("note", &json!({"n": number, "x": text}));
                self.next_note += 1;
                self.sendings.push((number, sending));
            }
        }
    }

    /// Finds out whether a message is queued, and takes it back if it isn't.
    fn resolve(&mut self, number: u64, mut sending: Sending) {
        // A message that is queued may be pending twice, for fairness.
        let mut polled = poll(&mut sending);
        for _ in 0..2 {
            if polled.is_pending() {
                polled = poll(&mut sending);
            }
        }
        match polled {
            Poll::Ready(Ok(())) => drop(self.noted.insert(number)),
            Poll::Ready(Err(error)) => {
                assert!(matches!(error, SendError::Closed) || self.limits.line < 200, "{error:?}");
            }
            Poll::Pending => {}
        }
    }

    fn let_time_pass(&mut self, how: u8) {
        if self.is_finished {
            return;
        }
        let deadline = self.start + self.clock + Duration::from_secs(u64::from(how) % 16);
        match self.asked.len() {
            len @ 1.. if how < 150 => {
                let asked = &mut self.asked[usize::from(how) % len];
                assert!(self.peer.set_deadline(&Id::from(asked.id), deadline));
                asked.deadline = Some(deadline);
            }
            _ => self.clock += Duration::from_secs(u64::from(how) % 8),
        }
        let next = self.asked.iter().filter_map(|asked| asked.deadline).min();
        assert_eq!(self.connection().next_deadline(), next);
        let now = self.start + self.clock;
        match self.connection().next_expired(now) {
            Some(Event::Lost(id, value, Lost::Expired)) => {
                let asked = self.asked.iter().find(|asked| Some(asked.id) == id.as_u64());
                assert_eq!(asked.and_then(|asked| asked.deadline), next);
                assert!(next.is_some_and(|next| next <= now));
                end_call(&mut self.asked, &id, &value);
                self.tell(id.as_u64().expect("an integer"));
            }
            None => assert!(next.is_none_or(|next| next > now)),
            event => panic!("{event:?}"),
        }
    }

    fn change(&mut self, how: u8) {
        match how % 32 {
            0..4 => {
                self.connection().close();
                self.is_closed = true;
            }
            4..8 => {
                let error = RpcError::new(-32000, "aborted").with_data(&json!([[[1]]])).expect("data");
                self.peer.abort(&error);
                self.is_closed = true;
                for at in 0..self.held.len() {
                    if self.held[at].is_aborted {
                        continue;
                    }
                    if self.held[at].is_cancelled && self.dialect == Dialect::Mcp {
                        let id = self.held[at].id.clone();
                        self.pardon(&id);
                    }
                    self.held[at].is_aborted = true;
                }
            }
            8 | 9 => {
                self.peer.end();
                self.is_ending = true;
            }
            10 => {
                // A last line that isn't terminated is a line.
                self.feed(usize::MAX);
                if self.unfed.is_empty() {
                    self.connection().finish();
                    self.is_finished = true;
                }
            }
            11 => self.connection = None,
            _ => {}
        }
    }

    fn check_held(&mut self) {
        let waker = Waker::noop();
        for held in &self.held {
            let is_stopped = held.is_cancelled || held.is_aborted;
            assert_eq!(held.ticket.is_cancelled(), is_stopped);
            assert_eq!(held.ticket.poll_cancelled(&mut Context::from_waker(waker)).is_ready(), is_stopped);
        }
    }

    /// Feeds, settles and writes everything, and compares what was written.
    fn finish(mut self) {
        let mut rounds = 0;
        while !self.connection().is_done() {
            rounds += 1;
            assert!(rounds < 100_000, "the session doesn't end");
            self.feed(usize::MAX);
            if self.unfed.is_empty() && !self.is_finished {
                self.connection().finish();
                self.is_finished = true;
            }
            for _ in 0..100 {
                self.take_event(&mut Choices::new(&[255]));
            }
            if let Some(held) = self.held.pop() {
                self.settle(held, u8::try_from(rounds % 256).unwrap_or_default());
            }
            self.write(if rounds % 3 == 0 { 7 } else { usize::MAX });
            if self.held.is_empty() && self.coming.is_empty() {
                self.write(usize::MAX);
            }
        }
        assert!(self.coming.is_empty() && self.asked.is_empty());
        assert!(!self.connection().wants_write() && !self.connection().wants_read());
        assert!(self.connection().pending().is_empty() && self.connection().next_event().is_none());
        assert!(matches!(self.peer.request("ask", &json!({}), Arc::default()), Err(SendError::Closed)));
        for (number, sending) in std::mem::take(&mut self.sendings) {
            self.resolve(number, sending);
        }
        assert!(self.values.iter().all(|value| Arc::strong_count(value) == 1), "a value is kept");
        let output = std::mem::take(&mut self.output);
        assert!(output.is_empty() || output.ends_with(b"\n"), "half a line");
        let mut seen = Seen::read(&output, &self);
        let (without_id, owed) = (seen.answers.remove("null").unwrap_or(0), self.owed.remove("null").unwrap_or(0));
        assert!((owed..=owed + self.doubtful).contains(&without_id), "{without_id} answers without an id");
        self.owed.retain(|_, count| *count > 0);
        assert_eq!(seen.answers, self.owed, "how often each id is answered");
        assert!(seen.results.is_superset(&self.results.keys().copied().collect()), "a result is missing");
        assert_eq!(seen.notes, self.noted.iter().copied().collect::<Vec<_>>());
        assert_eq!(seen.told, self.told);
        if self.limits.keep_batches_whole() {
            self.owed_in.retain(|_, ids| !ids.is_empty());
            for (number, mut ids) in self.owed_in {
                ids.sort();
                // One that is also used by a line of its own may be answered there, also if its entry was cancelled.
                let arrays = seen.arrays.get(&number).map_or(&[][..], Vec::as_slice);
                let is_single = |id: &String| self.single.contains(id);
                match ids.iter().all(|id| id == "null") {
                    true => {}
                    false if ids.iter().all(is_single) => assert!(arrays.len() <= 1, "arrays of batch {number}"),
                    false => {
                        assert_eq!(arrays.len(), 1, "arrays of batch {number}");
                        if !ids.iter().any(is_single) {
                            assert_eq!(arrays[0], ids, "batch {number}");
                        }
                    }
                }
            }
        }
    }

    /// After the connection was dropped, work stops, nothing can be sent, and what was sent is right.
    fn check_dropped(mut self) {
        for held in std::mem::take(&mut self.held) {
            assert!(held.ticket.is_cancelled());
            let how = u8::try_from(self.results.len() % 256).unwrap_or_default();
            self.settle(Held { is_cancelled: true, ..held }, how);
        }
        assert!(self.values.iter().all(|value| Arc::strong_count(value) == 1), "a value is kept");
        assert!(matches!(self.peer.request("ask", &json!({}), Arc::default()), Err(SendError::Closed)));
        assert!(matches!(self.peer.try_notify("note", &json!({})), Err(SendError::Closed)));
        assert!(self.peer.cancel(&Id::from(1)).is_none());
        for (number, sending) in std::mem::take(&mut self.sendings) {
            self.resolve(number, sending);
        }
        let end = self.output.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let output = self.output[..end].to_vec();
        let seen = Seen::read(&output, &self);
        for (id, count) in &seen.answers {
            let doubtful = if id == "null" { self.doubtful } else { 0 };
            let owed = self.owed.get(id).copied().unwrap_or_default() + doubtful;
            assert!(*count <= owed, "{id} is answered too often");
        }
        assert!(seen.notes.iter().all(|note| self.noted.contains(note) || *note < self.next_note));
    }
}

fn end_call(asked: &mut Vec<Asked>, id: &Id<'_>, _: &Arc<u64>) {
    let at = asked.iter().position(|asked| Some(asked.id) == id.as_u64()).expect("a request in flight");
    asked.remove(at);
}

fn poll(sending: &mut Sending) -> Poll<Result<(), SendError>> {
    Pin::new(sending).poll(&mut Context::from_waker(Waker::noop()))
}

struct Explosive;

impl Serialize for Explosive {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("on purpose")
    }
}

/// What was written.
#[derive(Default)]
struct Seen {
    answers: BTreeMap<String, usize>,
    results: BTreeSet<u64>,
    /// The ids of each array, by the batch that it answers.
    arrays: BTreeMap<usize, Vec<Vec<String>>>,
    notes: Vec<u64>,
    told: BTreeMap<u64, usize>,
}

impl Seen {
    fn read(output: &[u8], session: &Session) -> Self {
        let mut seen = Self::default();
        let mut last_request = 0;
        for line in output.split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").expect("a whole line");
            assert!(line.len() <= session.limits.line.max(128), "a line of {} bytes", line.len());
            assert!(
                Frame::parse(line, &session.rules.max_depth(session.limits.depth.max(3))).is_ok() || line.len() <= 128
            );
            let value: Value = serde_json::from_slice(line).expect("JSON");
            match value {
                Value::Array(entries) => {
                    assert!(
                        !entries.is_empty() && entries.len() <= session.limits.batch,
                        "an array of {}",
                        entries.len()
                    );
                    let mut ids: Vec<String> = entries.iter().map(|entry| seen.answer(entry, session)).collect();
                    ids.sort();
                    let batches: BTreeSet<usize> = ids.iter().filter_map(|id| batch_of(id)).collect();
                    assert!(batches.len() <= 1, "an array for several batches: {ids:?}");
                    if let Some(batch) = batches.first() {
                        seen.arrays.entry(*batch).or_default().push(ids);
                    }
                }
                value if value.get("method").is_none() => {
                    let id = seen.answer(&value, session);
                    // Only an answer that doesn't fit an array leaves on its own.
                    let fits = line.len() + 2 <= session.limits.line.max(128) && value["result"].get("deep").is_none();
                    assert!(
                        batch_of(&id).is_none() || session.single.contains(&id) || !fits,
                        "no array around {value}"
                    );
                }
                value if value.get("id").is_some_and(|id| !id.is_null()) => {
                    let id = value["id"].as_u64().expect("an integer");
                    assert!(id > last_request && id <= session.last_id, "request {id} after {last_request}");
                    last_request = id;
                }
                value if value["method"] == "note" => seen.notes.push(value["params"]["n"].as_u64().expect("a number")),
                value => {
                    let (method, member) = session.dialect.cancellation().expect("a cancellation");
                    assert_eq!(value["method"], method);
                    let id = value["params"][member].as_u64().expect("an integer");
                    *seen.told.entry(id).or_default() += 1;
                }
            }
        }
        assert!(seen.notes.is_sorted(), "notifications change places");
        seen
    }

    /// Notes an answer, and returns its id as JSON.
    fn answer(&mut self, answer: &Value, session: &Session) -> String {
        // A relayed answer may have a version anyway.
        assert!(answer.get("jsonrpc").is_some() || !session.dialect.writes_version());
        match session.dialect {
            Dialect::Stratum => assert!(answer["error"].is_null() || answer["result"].is_null(), "{answer}"),
            _ => assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}"),
        }
        let id = answer.get("id").expect("an id").to_string();
        *self.answers.entry(id.clone()).or_default() += 1;
        if let Some(number) = answer.get("result").and_then(|result| result.get("n")) {
            let number = number.as_u64().expect("a number");
            assert_eq!(session.results.get(&number), Some(&id), "the result of another request");
            assert!(self.results.insert(number), "a result is sent twice");
        }
        id
    }
}

/// The batch that an id was made for.
fn batch_of(id: &str) -> Option<usize> {
    id.strip_prefix("\"b")?.split_once('-')?.0.parse().ok()
}

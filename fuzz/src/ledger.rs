//! Each request gets exactly one answer, as in a model that only tracks the state of each request.
//!
//! Input: the dialect, the limits for requests in flight and for the length of an answer, and operations of two bytes.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use serde::{Serialize, Serializer};
use wireline::io::{FrameWriter, SendError};
use wireline::ledger::{Answer, Inbound, Outbound, Refusal, Stray, Ticket, Untracked};
use wireline::{Frame, Id, Message, Response, RpcError, Rules};

use super::common::{Dialect, quiet_panics_on_purpose};
use super::input::Choices;

/// Ids, grouped by value.
const IDS: [&[&str]; 9] = [
    &["1", "1.0", "10e-1", "0.1E+1"],
    &["\"1\"", "\"\\u0031\""],
    &["null"],
    &["0", "-0", "0e7"],
    &["\"\u{e9}\"", "\"\\u00e9\"", "\"\\u00E9\""],
    &["1e400", "10e399"],
    &["\"\\ud83d\\ude00\"", "\"\u{1f600}\""],
    &["2"],
    &["3"],
];

const RESULT: &str = "{\"done\":true}";

/// See the [module](self).
pub fn run(data: &[u8]) {
    quiet_panics_on_purpose();
    let mut choices = Choices::new(data);
    let dialect = Dialect::ALL[usize::from(choices.byte()) % 3];
    let limit = usize::from(choices.byte()) % 8;
    let max_line_len = choices.limit(1 << 20);
    let mut inbound = Asked::new(dialect, limit, max_line_len);
    let mut outbound = Asking::new(limit);
    while !choices.is_empty() {
        let (operation, choice) = (choices.byte(), choices.byte());
        match operation % 32 {
            0..=5 => inbound.admit(choice),
            6 | 7 => inbound.answer(choice, Payload::Fine),
            8 => inbound.answer(choice, Payload::Fails),
            9 => inbound.answer(choice, Payload::Panics),
            10 => inbound.fail(choice),
            11 => inbound.lose_ticket(choice),
            12 => inbound.lose_answer(choice),
            13 => inbound.accept(choice),
            14 | 15 => inbound.send(choice),
            16 => inbound.block(choice),
            17 => inbound.join(choice),
            18 => inbound.cancel(choice),
            19 | 20 => inbound.take_dropped(),
            21 => inbound.answer_rest(),
            22 if choice > 0xf0 => inbound.close(),
            22 | 23 => inbound.flush(),
            24 | 25 => outbound.issue(choice),
            26 => outbound.track(choice),
            27 | 28 => outbound.settle(choice),
            29 => outbound.withdraw(choice),
            30 if choice.is_multiple_of(2) => outbound.set_deadline(choice / 2),
            30 => outbound.expire(choice / 2),
            _ => outbound.drain(),
        }
        inbound.check();
    }
    inbound.end();
    outbound.drain();
}

enum Payload {
    Fine,
    Fails,
    Panics,
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fine => serializer.collect_map([("done", true)]),
            Self::Fails => f64::NAN.serialize(serializer),
            Self::Panics => panic!("on purpose"),
        }
    }
}

/// The other end, which accepts everything or would block.
#[derive(Clone, Default)]
struct Pipe {
    blocks: Arc<AtomicBool>,
    taken: Arc<Mutex<Vec<u8>>>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.blocks.load(Ordering::Relaxed) {
            true => Err(ErrorKind::WouldBlock.into()),
            false => self.taken.lock().expect("no panics").write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The side that receives requests, and a model of it.
struct Asked {
    dialect: Dialect,
    limit: usize,
    /// The longest answer, in bytes. Never less than 128.
    max_line_len: usize,
    ledger: Inbound,
    woken: Arc<AtomicUsize>,
    pipe: Pipe,
    writer: FrameWriter<Pipe>,
    out: BytesMut,
    tickets: Vec<(usize, Ticket)>,
    /// Each with the requests it answers, and whether these were dropped before.
    answers: Vec<(Vec<(usize, bool)>, Answer)>,

    made: Vec<Made>,
    is_closed: bool,
    wakes: usize,
}

/// A request.
struct Made {
    id: String,
    value: String,
    cancelled: bool,
    /// Dropped, and not yet taken from `dropped`.
    queued: bool,
    settled: bool,
    answered: bool,
}

impl Asked {
    fn new(dialect: Dialect, limit: usize, max_line_len: usize) -> Self {
        let woken = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&woken);
        let rules = dialect.rules().batches(true).max_line_len(max_line_len);
        let ledger = Inbound::with_wake(rules, limit, move || {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        let pipe = Pipe::default();
        Self {
            dialect,
            limit,
            max_line_len: max_line_len.max(128),
            ledger,
            woken,
            pipe: pipe.clone(),
            writer: FrameWriter::new(pipe, rules).backlog(200),
            out: BytesMut::new(),
            tickets: Vec::new(),
            answers: Vec::new(),
            made: Vec::new(),
            is_closed: false,
            wakes: 0,
        }
    }

    fn in_flight(&self) -> usize {
        self.made.iter().filter(|made| !made.settled).count()
    }

    fn is_permitted(&self, id: &str) -> bool {
        let error = r#"[{"jsonrpc":"2.0","id":,"error":{"code":-32800,"message":"Request cancelled"}}]"#;
        (id != "null" || self.dialect != Dialect::Mcp) && id.len() <= (self.max_line_len - error.len()).min(1024)
    }

    fn admit(&mut self, choice: u8) {
        let (value, id) = id(choice);
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line.as_bytes(), &Rules::json_rpc()) else {
            panic!("no request: {line}");
        };
        let in_use = self.made.iter().any(|made| !made.settled && made.value == value);
        let expected = match () {
            () if !self.is_permitted(&id) => Some(Refusal::InvalidId),
            () if self.is_closed => Some(Refusal::Closed),
            () if in_use => Some(Refusal::Duplicate),
            () if self.in_flight() >= self.limit => Some(Refusal::TooMany),
            () => None,
        };
        match self.ledger.admit(&request) {
            Ok(ticket) => {
                assert_eq!(expected, None, "{id} was admitted");
                assert_eq!(ticket.id().as_json(), id);
                assert!(!ticket.is_cancelled(), "{id} is new");
                self.tickets.push((self.made.len(), ticket));
                let (cancelled, queued, settled, answered) = (false, false, false, false);
                self.made.push(Made { id, value, cancelled, queued, settled, answered });
            }
            Err(refusal) => {
                assert_eq!(refusal.refusal(), expected, "{id}");
                if expected == Some(Refusal::InvalidId) {
                    // There may be no answer at all. If there is one, it doesn't have this id.
                    drop(refusal.accept());
                    return;
                }
                refusal.accept_into(&mut self.out);
                let (cancelled, queued, settled, answered) = (false, false, true, true);
                self.made.push(Made { id, value, cancelled, queued, settled, answered });
            }
        }
    }

    /// Whether the request needs no answer any more.
    fn is_moot(&self, request: usize) -> bool {
        let made = &self.made[request];
        made.settled || made.cancelled && self.dialect == Dialect::Mcp
    }

    fn settle(&mut self, request: usize) {
        let is_answered = !self.is_moot(request);
        let made = &mut self.made[request];
        made.answered |= is_answered;
        made.settled = true;
        made.queued = false;
    }

    /// Records that a ticket or an answer was dropped; `before` tells whether the request had been dropped before.
    fn has_dropped(&mut self, request: usize, before: bool) {
        if self.is_moot(request) {
            self.settle(request);
        } else if !self.made[request].queued {
            self.made[request].queued = true;
            self.wakes += usize::from(!before);
        }
    }

    fn take_ticket(&mut self, choice: u8) -> Option<(usize, Ticket)> {
        let at = usize::from(choice).checked_rem(self.tickets.len())?;
        let (request, ticket) = self.tickets.swap_remove(at);
        let made = &self.made[request];
        assert_eq!(ticket.is_cancelled(), made.cancelled || made.settled);
        Some((request, ticket))
    }

    fn answer(&mut self, choice: u8, payload: Payload) {
        let Some((request, ticket)) = self.take_ticket(choice) else { return };
        let answer = catch_unwind(AssertUnwindSafe(|| ticket.respond(&payload)));
        // A request that was settled elsewhere counts as cancelled.
        let is_unwanted = self.is_moot(request) && self.dialect == Dialect::Mcp;
        let id = &self.made[request].id;
        let result = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{RESULT}}}\n");
        // Under ACP rules, a result can't have a null id.
        let is_fine = matches!(payload, Payload::Fine) && !(id == "null" && self.dialect == Dialect::Acp);
        let expected = match result.len() - 1 <= self.max_line_len && is_fine {
            true => result,
            false => error_line(id, -32603, "Internal error"),
        };
        match answer {
            Ok(answer) => {
                let text = std::str::from_utf8(answer.as_bytes()).expect("UTF-8");
                assert_eq!(text, if is_unwanted { "" } else { &expected });
                assert_eq!(answer.instead_of().is_some(), text.contains("-32603"));
                self.answers.push((vec![(request, false)], answer));
            }
            Err(_) => self.has_dropped(request, false),
        }
    }

    fn fail(&mut self, choice: u8) {
        let Some((request, ticket)) = self.take_ticket(choice) else { return };
        let long = "x".repeat(usize::from(choice));
        let answer = ticket.fail(&RpcError::new(7, long.clone()));
        let is_unwanted = self.is_moot(request) && self.dialect == Dialect::Mcp;
        let id = &self.made[request].id;
        let line = error_line(id, 7, &long);
        let fits = line.len() - 1 <= self.max_line_len;
        let expected = if fits { line } else { error_line(id, -32603, "Internal error") };
        assert_eq!(answer.as_bytes(), if is_unwanted { b"" } else { expected.as_bytes() });
        self.answers.push((vec![(request, false)], answer));
    }

    fn lose_ticket(&mut self, choice: u8) {
        let Some((request, ticket)) = self.take_ticket(choice) else { return };
        drop(ticket);
        self.has_dropped(request, false);
    }

    fn take_answer(&mut self, choice: u8) -> Option<(Vec<(usize, bool)>, Answer)> {
        let at = usize::from(choice).checked_rem(self.answers.len())?;
        Some(self.answers.swap_remove(at))
    }

    fn lose_answer(&mut self, choice: u8) {
        let Some((requests, answer)) = self.take_answer(choice) else { return };
        drop(answer);
        requests.into_iter().for_each(|(request, before)| self.has_dropped(request, before));
    }

    fn accept(&mut self, choice: u8) {
        let Some((requests, answer)) = self.take_answer(choice) else { return };
        match choice & 0x80 {
            0 => answer.accept_into(&mut self.out),
            _ => self.out.extend_from_slice(&answer.accept()),
        }
        requests.into_iter().for_each(|(request, _)| self.settle(request));
    }

    fn send(&mut self, choice: u8) {
        let Some((requests, answer)) = self.take_answer(choice) else { return };
        match self.writer.answer(answer) {
            Ok(_) => requests.into_iter().for_each(|(request, _)| self.settle(request)),
            Err(unsent) => {
                assert!(matches!(unsent.error, SendError::Full), "{unsent:?}");
                self.answers.push((requests, unsent.answer.expect("a full writer hands it back")));
            }
        }
    }

    fn block(&mut self, choice: u8) {
        self.pipe.blocks.store(choice.is_multiple_of(2), Ordering::Relaxed);
    }

    fn flush(&mut self) {
        let _ = self.writer.flush().expect("the pipe does not break");
    }

    /// Joins some answers, as an array or as lines.
    fn join(&mut self, choice: u8) {
        let from = usize::from(choice / 2).checked_rem(self.answers.len()).unwrap_or_default();
        let (requests, answers): (Vec<_>, Vec<_>) = self.answers.drain(from..).unzip();
        let joined = match choice % 2 {
            0 => self.ledger.batch(answers),
            _ => answers.into_iter().collect(),
        };
        self.answers.push((requests.concat(), joined));
    }

    fn cancel(&mut self, choice: u8) {
        let (value, id) = id(choice);
        let found = self.ledger.cancel(&Id::parse(&id).unwrap());
        let made = self.made.iter_mut().find(|made| !made.settled && made.value == value);
        assert_eq!(found, made.is_some(), "{id}");
        made.into_iter().for_each(|made| made.cancelled = true);
    }

    fn take_dropped(&mut self) {
        let answers: Vec<_> = self.ledger.dropped().collect();
        let moot: Vec<_> = (0..self.made.len()).filter(|&at| self.made[at].queued && self.is_moot(at)).collect();
        moot.into_iter().for_each(|at| self.settle(at));
        let queued = self.made.iter().filter(|made| made.queued).count();
        assert_eq!(answers.len(), queued, "as many as are queued");
        for answer in answers {
            let text = std::str::from_utf8(answer.as_bytes()).expect("UTF-8").to_owned();
            let is_it = |made: &Made| {
                let (code, message) =
                    if made.cancelled { (-32800, "Request cancelled") } else { (-32603, "Internal error") };
                made.queued && error_line(&made.id, code, message) == text
            };
            let request = self.made.iter().position(is_it).unwrap_or_else(|| panic!("nobody dropped {text}"));
            self.made[request].queued = false;
            self.answers.push((vec![(request, true)], answer));
        }
    }

    fn answer_rest(&mut self) {
        let answers = self.ledger.answer_rest(&RpcError::new(7, "no"));
        assert_eq!(answers.len(), self.in_flight());
        for answer in answers {
            self.out.extend_from_slice(&answer.accept());
        }
        (0..self.made.len()).for_each(|request| self.settle(request));
    }

    fn close(&mut self) {
        self.ledger.close();
        self.is_closed = true;
    }

    fn check(&self) {
        assert_eq!(self.ledger.in_flight(), self.in_flight());
        assert_eq!(self.woken.load(Ordering::Relaxed), self.wakes);
        for (request, ticket) in &self.tickets {
            let made = &self.made[*request];
            assert_eq!(ticket.is_cancelled(), made.cancelled || made.settled);
        }
    }

    fn end(mut self) {
        self.pipe.blocks.store(false, Ordering::Relaxed);
        self.flush();
        while !self.tickets.is_empty() {
            self.lose_ticket(0);
        }
        self.take_dropped();
        while !self.answers.is_empty() {
            self.send(0);
        }
        self.check();
        assert_eq!(self.in_flight(), 0, "a request is left");

        let mut expected = BTreeMap::<_, usize>::new();
        self.made
            .iter()
            .filter(|made| made.answered)
            .for_each(|made| *expected.entry(made.id.clone()).or_default() += 1);
        let mut found = BTreeMap::<_, usize>::new();
        // All ids are permitted here, so that answers under all rules can be read.
        let rules = Rules::json_rpc();
        let taken = self.pipe.taken.lock().expect("no panics");
        for line in self.out[..].split(|&byte| byte == b'\n').chain(taken.split(|&byte| byte == b'\n')) {
            let mut add = |message: Message<'_>| {
                let Message::Response(response) = &message else { panic!("no response") };
                *found.entry(response.id().expect("an id").as_json().to_owned()).or_default() += 1;
            };
            match line {
                b"" => {}
                line if line.len() > self.max_line_len => panic!("a line of {} bytes", line.len()),
                line => match Frame::parse(line, &rules).expect("a message") {
                    Frame::Message(message) => add(message),
                    Frame::Batch(batch) => batch.iter().for_each(|entry| add(entry.expect("a message"))),
                },
            }
        }
        assert_eq!(found, expected);
    }
}

/// The side that sends requests, and a model of it.
struct Asking {
    limit: usize,
    ledger: Outbound<u64>,
    /// By the id's value: the turn it was sent in, the value kept for it, and the deadline.
    open: HashMap<String, (u64, u64, Option<Instant>)>,
    issued: u64,
    turns: u64,
    start: Instant,
}

impl Asking {
    fn new(limit: usize) -> Self {
        let start = Instant::now();
        Self { limit, ledger: Outbound::new(limit), open: HashMap::new(), issued: 0, turns: 0, start }
    }

    fn insert(&mut self, value: String, kept: u64) {
        self.turns += 1;
        assert!(self.open.insert(value, (self.turns, kept, None)).is_none(), "the id is in use");
    }

    fn issue(&mut self, choice: u8) {
        let kept = u64::from(choice) << 32 | self.turns;
        match self.ledger.issue(kept) {
            Ok(id) => {
                assert!(self.open.len() < self.limit);
                let number = id.as_u64().unwrap();
                assert!(number > self.issued, "an id is issued once");
                self.issued = number;
                self.insert(id.as_json().to_owned(), kept);
            }
            Err(full) => assert_eq!((full.0, self.open.len()), (kept, self.limit)),
        }
        self.check();
    }

    fn track(&mut self, choice: u8) {
        let kept = u64::from(choice) << 32 | self.turns;
        let (value, id) = id(choice);
        let found = self.ledger.track(&Id::parse(&id).unwrap(), kept);
        if self.open.contains_key(&value) {
            assert_eq!(found, Err(Untracked::Duplicate(kept)));
        } else if self.open.len() >= self.limit {
            assert_eq!(found, Err(Untracked::Full(kept)));
        } else {
            assert_eq!(found, Ok(()));
            self.insert(value, kept);
        }
        self.check();
    }

    /// An id in some spelling, which may have been issued or tracked.
    fn choose(&self, choice: u8) -> (String, String) {
        if choice >= 0x80 {
            return id(choice);
        }
        let number = u64::from(choice >> 2) % (self.issued + 2);
        match choice % 4 {
            0 | 1 => (number.to_string(), number.to_string()),
            2 => (number.to_string(), format!("{number}.0")),
            _ => (format!("\"n{number}\""), format!("\"n{number}\"")),
        }
    }

    fn settle(&mut self, choice: u8) {
        let (value, id) = self.choose(choice);
        let outcome =
            if choice.is_multiple_of(2) { "\"result\":1" } else { "\"error\":{\"code\":1,\"message\":\"m\"}" };
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{outcome}}}");
        let was_issued = value.parse().is_ok_and(|number: u64| (1..=self.issued).contains(&number));
        let expected = match self.open.remove(&value) {
            Some((_, kept, _)) => Ok(kept),
            None if value == "null" => Err(Stray::NoId),
            None if was_issued => Err(Stray::Repeated),
            None => Err(Stray::Unknown),
        };
        with_response(&line, |response| assert_eq!(self.ledger.settle(response), expected, "{line}"));
        self.check();
    }

    fn withdraw(&mut self, choice: u8) {
        let (value, id) = self.choose(choice);
        let expected = self.open.remove(&value).map(|(_, kept, _)| kept);
        assert_eq!(self.ledger.withdraw(&Id::parse(&id).unwrap()), expected);
        self.check();
    }

    fn set_deadline(&mut self, choice: u8) {
        let (value, id) = self.choose(choice * 2);
        let deadline = self.start + Duration::from_secs(u64::from(choice % 16));
        let open = self.open.get_mut(&value);
        assert_eq!(self.ledger.set_deadline(&Id::parse(&id).unwrap(), deadline), open.is_some());
        open.into_iter().for_each(|(_, _, at)| *at = Some(deadline));
        self.check();
    }

    fn expire(&mut self, choice: u8) {
        let now = self.start + Duration::from_secs(u64::from(choice % 16));
        let mut last = self.start;
        while let Some((id, kept)) = self.ledger.take_expired(now) {
            let (_, expected, deadline) = self.open.remove(&value(&id)).expect("it was open");
            let deadline = deadline.expect("it had a deadline");
            assert_eq!(kept, expected);
            assert!(last <= deadline && deadline <= now, "the earliest first");
            last = deadline;
        }
        assert!(self.open.values().all(|(_, _, deadline)| deadline.is_none_or(|deadline| deadline > now)));
        self.check();
    }

    fn drain(&mut self) {
        let found: Vec<_> = self.ledger.drain().map(|(id, kept)| (value(&id), kept)).collect();
        let mut expected: Vec<_> = self.open.drain().map(|(value, (turn, kept, _))| (turn, value, kept)).collect();
        expected.sort_unstable();
        assert_eq!(found, expected.into_iter().map(|(_, value, kept)| (value, kept)).collect::<Vec<_>>());
        self.check();
    }

    fn check(&self) {
        assert_eq!(self.ledger.in_flight(), self.open.len());
        assert_eq!(self.ledger.next_deadline(), self.open.values().filter_map(|(_, _, deadline)| *deadline).min());
    }
}

fn with_response(line: &str, check: impl FnOnce(&Response<'_>)) {
    match Frame::parse(line.as_bytes(), &Rules::json_rpc()) {
        Ok(Frame::Message(Message::Response(response))) => check(&response),
        other => panic!("{other:?}: {line}"),
    }
}

fn error_line(id: &str, code: i64, message: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":\"{message}\"}}}}\n")
}

/// An id: the first spelling of its value, and any of its spellings. Some are long.
fn id(choice: u8) -> (String, String) {
    if choice >= 0xfd {
        let id = "7".repeat(usize::from(choice - 0xfc) * 340);
        return (id.clone(), id);
    }
    let row = IDS[usize::from(choice) % IDS.len()];
    (row[0].to_owned(), row[usize::from(choice) / IDS.len() % row.len()].to_owned())
}

/// The first spelling of an id's value.
fn value(id: &Id<'_>) -> String {
    let json = id.as_json();
    IDS.iter().find(|row| row.contains(&json)).map_or(json, |row| row[0]).to_owned()
}

//! Exactly one answer for each request, against a model of what is owed.
//!
//! The input: the dialect, how many requests may be in flight, how long an answer may be, and operations of two bytes.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Serialize, Serializer};
use wireline::ledger::{Inbound, Outbound, Refusal, Stray, Ticket};
use wireline::{EncodeError, Encoder, Frame, Id, Message, Response, RpcError, Rules};

use super::common::{Dialect, quiet_panics_on_purpose};
use super::input::Choices;

/// Ids, those of the same value in one row.
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

/// For each request that may be in flight, so many bytes of ids are kept.
const ID_BYTES: usize = 1024;

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
        match operation % 16 {
            0..=3 => inbound.admit(choice),
            4 => inbound.answer(choice, |encoder, ticket| ticket.respond(encoder, &Payload::Fine), true),
            5 => inbound.answer(choice, |encoder, ticket| ticket.respond(encoder, &Payload::Fails), false),
            6 if choice.is_multiple_of(2) => inbound.fail(choice / 2),
            6 => inbound.fail_in_batch(choice / 2),
            7 => inbound.panic(choice),
            8 => inbound.lose(choice),
            9 => inbound.cancel(choice),
            10 => inbound.answer_dropped(),
            11 | 12 => outbound.issue(choice),
            13 => outbound.settle(choice),
            14 => outbound.withdraw(choice),
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

/// The side that is asked, and a model of it.
struct Asked {
    dialect: Dialect,
    limit: usize,
    max_line_len: usize,
    ledger: Inbound,
    encoder: Encoder,
    woken: Arc<AtomicUsize>,
    tickets: Vec<(usize, Ticket)>,

    /// By value.
    owed: HashMap<String, Owed>,
    /// Dropped and to be answered, in order.
    dropped: Vec<(usize, String, String)>,
    expected: String,
    wakes: usize,
    /// For each request that was admitted, whether it has been answered, or needs no answer.
    settled: Vec<bool>,
}

struct Owed {
    id_len: usize,
    cancelled: bool,
}

impl Asked {
    fn new(dialect: Dialect, limit: usize, max_line_len: usize) -> Self {
        let woken = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&woken);
        let ledger = Inbound::with_wake(dialect.rules(), limit, move || {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        Self {
            dialect,
            limit,
            max_line_len,
            ledger,
            // All ids are permitted here, so that there is an answer to each.
            encoder: Encoder::new(Rules::json_rpc().max_line_len(max_line_len)),
            woken,
            tickets: Vec::new(),
            owed: HashMap::new(),
            dropped: Vec::new(),
            expected: String::new(),
            wakes: 0,
            settled: Vec::new(),
        }
    }

    fn admit(&mut self, choice: u8) {
        let (value, id) = id(choice);
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line.as_bytes(), &Rules::json_rpc()) else {
            panic!("no request: {line}");
        };
        let room = self.limit * ID_BYTES;
        let taken: usize = self.owed.values().map(|owed| owed.id_len).sum();
        let expected = match () {
            () if id.len() > room => Some(Refusal::IdTooLong),
            () if self.owed.len() >= self.limit || taken + id.len() > room => Some(Refusal::TooMany),
            () if self.owed.contains_key(&value) => Some(Refusal::Duplicate),
            () => None,
        };
        match self.ledger.admit(&request) {
            Ok(ticket) => {
                assert_eq!(expected, None, "{id} was admitted");
                assert_eq!(ticket.id().as_json(), id);
                assert!(!ticket.is_cancelled(), "{id} is new");
                self.owed.insert(value, Owed { id_len: id.len(), cancelled: false });
                self.tickets.push((self.settled.len(), ticket));
                self.settled.push(false);
            }
            Err(refusal) => assert_eq!(Some(refusal), expected, "{id}"),
        }
    }

    /// Takes a ticket, if there is one: which request it is for, and whether nobody wants to know.
    fn take(&mut self, choice: u8) -> Option<(usize, Ticket, bool)> {
        let at = usize::from(choice).checked_rem(self.tickets.len())?;
        let (request, ticket) = self.tickets.swap_remove(at);
        let cancelled = self.owed[&value(ticket.id())].cancelled;
        assert_eq!(ticket.is_cancelled(), cancelled);
        Some((request, ticket, cancelled && self.dialect == Dialect::Mcp))
    }

    fn answer(
        &mut self,
        choice: u8,
        answer: impl FnOnce(&mut Encoder, Ticket) -> Result<(), EncodeError>,
        can_be_encoded: bool,
    ) {
        let Some((request, ticket, is_unwanted)) = self.take(choice) else { return };
        let id = ticket.id().clone();
        let answered = answer(&mut self.encoder, ticket).is_ok();
        self.settle(request, &value(&id));
        if is_unwanted {
            assert!(answered, "nothing had to be encoded");
            return;
        }
        let result = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{RESULT}}}\n", id.as_json());
        let fits = can_be_encoded && result.len() - 1 <= self.max_line_len;
        assert_eq!(answered, fits, "{result}");
        if fits { self.expected += &result } else { self.expect_error(&id, -32603, "Internal error") }
    }

    fn fail(&mut self, choice: u8) {
        let Some((request, ticket, is_unwanted)) = self.take(choice) else { return };
        let id = ticket.id().clone();
        let answered = ticket.fail(&mut self.encoder, &RpcError::new(7, "no")).is_ok();
        self.settle(request, &value(&id));
        if is_unwanted {
            assert!(answered, "nothing had to be encoded");
            return;
        }
        let fits = error_line(&id, 7, "no").len() - 1 <= self.max_line_len;
        assert_eq!(answered, fits);
        match fits {
            true => self.expect_error(&id, 7, "no"),
            false => self.expect_error(&id, -32603, "Internal error"),
        }
    }

    /// Answers with an error that is the only entry of a batch, if there is one: nothing makes no batch.
    fn fail_in_batch(&mut self, choice: u8) {
        let Some((request, ticket, is_unwanted)) = self.take(choice) else { return };
        let id = ticket.id().clone();
        if self.max_line_len == 0 {
            // Not even the bracket fits, and the ticket is dropped with what was to answer it.
            let batch = self.encoder.batch(|batch| ticket.fail(batch, &RpcError::internal()));
            assert!(batch.is_err());
            return match is_unwanted {
                true => self.settle(request, &value(&id)),
                false => self.has_dropped(request, &id),
            };
        }
        let batch = self.encoder.batch(|batch| {
            let _ = ticket.fail(batch, &RpcError::new(7, "no"));
            Ok(())
        });
        self.settle(request, &value(&id));
        let lines = [error_line(&id, 7, "no"), error_line(&id, -32603, "Internal error")];
        let arrays = lines.map(|line| format!("[{}]\n", line.trim_end()));
        let sent = arrays.iter().find(|array| array.len() - 1 <= self.max_line_len && !is_unwanted);
        assert_eq!(batch.is_ok(), sent.is_some(), "a batch of one answer");
        self.expected.extend(sent.map(String::as_str));
    }

    fn panic(&mut self, choice: u8) {
        let Some((request, ticket, is_unwanted)) = self.take(choice) else { return };
        let id = ticket.id().clone();
        let encoder = &mut self.encoder;
        let panicked = catch_unwind(AssertUnwindSafe(|| ticket.respond(encoder, &Payload::Panics))).is_err();
        if is_unwanted {
            assert!(!panicked, "nothing had to be encoded");
            self.settle(request, &value(&id));
        } else if panicked {
            self.has_dropped(request, &id);
        } else {
            // The line was too long before the payload's turn came.
            self.settle(request, &value(&id));
            self.expect_error(&id, -32603, "Internal error");
        }
    }

    fn lose(&mut self, choice: u8) {
        let Some((request, ticket, is_unwanted)) = self.take(choice) else { return };
        let id = ticket.id().clone();
        drop(ticket);
        match is_unwanted {
            true => self.settle(request, &value(&id)),
            false => self.has_dropped(request, &id),
        }
    }

    fn has_dropped(&mut self, request: usize, id: &Id<'_>) {
        self.dropped.push((request, value(id), id.as_json().to_owned()));
        self.wakes += 1;
    }

    fn cancel(&mut self, choice: u8) {
        let (value, id) = id(choice);
        let found = self.ledger.cancel(&Id::parse(&id).unwrap());
        let owed = self.owed.get_mut(&value);
        assert_eq!(found, owed.is_some(), "{id}");
        if let Some(owed) = owed {
            owed.cancelled = true;
        }
        for (_, ticket) in &self.tickets {
            assert_eq!(ticket.is_cancelled(), self.owed[&self::value(ticket.id())].cancelled);
        }
    }

    fn answer_dropped(&mut self) {
        let answered = self.ledger.answer_dropped(&mut self.encoder);
        let (mut count, mut all_fit) = (0, true);
        for (request, value, id) in std::mem::take(&mut self.dropped) {
            let cancelled = self.owed[&value].cancelled;
            self.settle(request, &value);
            let before = self.expected.len();
            match cancelled {
                true if self.dialect == Dialect::Mcp => continue,
                true => self.expect_error(&Id::parse(&id).unwrap(), -32800, "Request cancelled"),
                false => self.expect_error(&Id::parse(&id).unwrap(), -32603, "Internal error"),
            }
            count += 1;
            all_fit &= self.expected.len() > before;
        }
        match answered {
            Ok(answered) => assert_eq!((answered, true), (count, all_fit)),
            Err(error) => assert!(!all_fit, "{error:?}"),
        }
    }

    fn settle(&mut self, request: usize, value: &str) {
        assert!(self.owed.remove(value).is_some(), "{value} was not owed");
        assert!(!std::mem::replace(&mut self.settled[request], true), "{value} was settled before");
    }

    fn expect_error(&mut self, id: &Id<'_>, code: i64, message: &str) {
        let line = error_line(id, code, message);
        if line.len() - 1 <= self.max_line_len {
            self.expected += &line;
        }
    }

    fn check(&self) {
        assert_eq!(self.ledger.in_flight(), self.owed.len());
        assert_eq!(self.woken.load(Ordering::Relaxed), self.wakes);
    }

    fn end(&mut self) {
        while !self.tickets.is_empty() {
            self.lose(0);
        }
        self.answer_dropped();
        self.check();
        assert_eq!(self.ledger.in_flight(), 0);
        assert!(self.settled.iter().all(|settled| *settled), "a request is left");
        assert_eq!(String::from_utf8(self.encoder.take().into()).unwrap(), self.expected);
    }
}

/// The side that asks, and a model of it.
struct Asking {
    limit: usize,
    ledger: Outbound<u64>,
    open: HashMap<u64, u64>,
    issued: u64,
}

impl Asking {
    fn new(limit: usize) -> Self {
        Self { limit, ledger: Outbound::new(limit), open: HashMap::new(), issued: 0 }
    }

    fn issue(&mut self, choice: u8) {
        let value = u64::from(choice) << 32 | self.issued;
        match self.ledger.issue(value) {
            Ok(id) => {
                assert!(self.open.len() < self.limit);
                self.issued += 1;
                assert!(self.open.insert(id.as_u64().unwrap(), value).is_none(), "the id is in use");
            }
            Err(full) => assert_eq!((full.0, self.open.len()), (value, self.limit)),
        }
        self.check();
    }

    /// A response with an id that was issued, or not, in some spelling.
    fn settle(&mut self, choice: u8) {
        let number = u64::from(choice >> 3) % (self.issued + 2);
        let (id, expected) = match choice % 8 {
            0..=3 => (format!("{number}"), Ok(number)),
            4 => (format!("{number}.0"), Ok(number)),
            5 => (format!("\"{number}\""), Err(Stray::Unknown)),
            6 => (format!("-{number}.5"), Err(Stray::Unknown)),
            _ => ("null".to_owned(), Err(Stray::NoId)),
        };
        let outcome =
            if choice.is_multiple_of(2) { "\"result\":1" } else { "\"error\":{\"code\":1,\"message\":\"m\"}" };
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{outcome}}}");
        let expected = expected.and_then(|number| match self.open.remove(&number) {
            Some(value) => Ok(value),
            None if (1..=self.issued).contains(&number) => Err(Stray::Repeated),
            None => Err(Stray::Unknown),
        });
        with_response(&line, |response| assert_eq!(self.ledger.settle(response), expected, "{line}"));
        self.check();
    }

    fn withdraw(&mut self, choice: u8) {
        let number = u64::from(choice) % (self.issued + 2);
        assert_eq!(self.ledger.withdraw(&Id::from(number)), self.open.remove(&number));
        assert_eq!(self.ledger.withdraw(&Id::from(number.to_string().as_str())), None);
        self.check();
    }

    fn drain(&mut self) {
        let found: Vec<_> = self.ledger.drain().map(|(id, value)| (id.as_u64().unwrap(), value)).collect();
        let mut expected: Vec<_> = self.open.drain().collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
        self.check();
    }

    fn check(&self) {
        assert_eq!(self.ledger.in_flight(), self.open.len());
    }
}

fn with_response(line: &str, check: impl FnOnce(&Response<'_>)) {
    match Frame::parse(line.as_bytes(), &Rules::json_rpc()) {
        Ok(Frame::Message(Message::Response(response))) => check(&response),
        other => panic!("{other:?}: {line}"),
    }
}

fn error_line(id: &Id<'_>, code: i64, message: &str) -> String {
    let id = id.as_json();
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":\"{message}\"}}}}\n")
}

/// An id: the first spelling of its value, and one of its spellings. Some are long.
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

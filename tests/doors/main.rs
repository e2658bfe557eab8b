//! Combines every path ("door") that an answer can take with everything that can go wrong on it: each request must get
//! exactly one response, or visibly still be owed one.

#[path = "../common/mod.rs"]
mod common;
mod thousand;
mod walks;
mod ways;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use wireline::connection::{Call, Incident};
use wireline::io::{answer_with, serve_with};
use wireline::ledger::{Answer, Inbound, Ticket};
use wireline::{Decoder, Frame, Id, Message, RpcError, Rules};

#[cfg(feature = "tokio")]
use ways::framed;
use ways::{BATCH, Channel, Door, Link, ONE_BY_ONE, OwnEncoder, State, TOGETHER, Task, Writer};

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    NotANumber,
    RefusedByRules,
    PayloadPanics,
    TooLong,
    BacklogFull,
    WriterBreaks,
    TicketDropped,
    Cancelled,
    DuplicateId,
    IdAtItsLimit,
}

/// A result of some kind.
enum Payload {
    Fine(Value),
    NotANumber,
    Panics,
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fine(value) => value.serialize(serializer),
            Self::NotANumber => f64::NAN.serialize(serializer),
            Self::Panics => panic!("on purpose"),
        }
    }
}

impl Trouble {
    fn rules(self) -> Rules {
        match self {
            Self::RefusedByRules => Rules::mcp(),
            // The limits of lines and ids are close to each other.
            Self::IdAtItsLimit => Rules::json_rpc().max_line_len(200),
            _ => Rules::json_rpc().max_line_len(2000),
        }
    }

    /// The ids of three requests. The second one is in trouble.
    fn ids(self) -> [String; 3] {
        let longest = match self {
            Self::IdAtItsLimit => "7".repeat(self.rules().limits().max_id_len),
            _ => "2".to_owned(),
        };
        ["1".to_owned(), longest, "\"3\"".to_owned()]
    }

    /// The result of the second request.
    fn payload(self) -> Payload {
        match self {
            Self::NotANumber | Self::IdAtItsLimit => Payload::NotANumber,
            Self::RefusedByRules => Payload::Fine(json!([1])),
            Self::PayloadPanics => Payload::Panics,
            Self::TooLong => Payload::Fine(json!("x".repeat(3000))),
            _ => Payload::Fine(json!({})),
        }
    }
}

fn request(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)
}

fn admit(owed: &Inbound, id: &str) -> Result<Ticket, Answer> {
    let line = request(id);
    let Frame::Message(Message::Request(request)) = Frame::parse(line.as_bytes(), &Rules::json_rpc()).unwrap() else {
        panic!()
    };
    owed.admit(&request)
}

/// The number of responses in `lines` to each id, including those in batches.
fn count(lines: &[u8], rules: Rules) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let mut add = |message: &Message<'_>| match message {
        Message::Response(response) => {
            *counts.entry(response.id().unwrap().as_json().to_owned()).or_default() += 1;
        }
        other => panic!("{other:?}"),
    };
    let mut decoder = Decoder::new(rules);
    decoder.feed(lines);
    decoder.finish();
    while let Some(frame) = decoder.next_frame() {
        match frame.unwrap() {
            Frame::Message(message) => add(&message),
            Frame::Batch(batch) => batch.iter().for_each(|entry| add(&entry.unwrap())),
        }
    }
    counts
}

/// One cell of the table.
fn check<D: Door>(trouble: Trouble) {
    common::quiet_panics_on_purpose();
    // Answers that are handed back are sent again, or dropped.
    for resend in [true, false] {
        check_once::<D>(trouble, resend);
    }
}

fn check_once<D: Door>(trouble: Trouble, resend: bool) {
    let rules = trouble.rules();
    let (link, owed, ids) = (Link::new(), Inbound::new(rules, 10), trouble.ids());
    let mut door = D::open(link.clone(), rules);
    let mut expected: HashMap<String, usize> = ids.iter().map(|id| (id.clone(), 1)).collect();

    let mut answers = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let ticket = admit(&owed, id).unwrap();
        match trouble {
            _ if at != 1 => answers.push(ticket.respond(&json!({}))),
            Trouble::TicketDropped => drop(ticket),
            Trouble::Cancelled => {
                assert!(owed.cancel(ticket.id()));
                answers.push(ticket.respond(&json!({})));
            }
            Trouble::DuplicateId => {
                answers.push(admit(&owed, id).unwrap_err());
                answers.push(ticket.respond(&json!({})));
                expected.insert(id.clone(), 2);
            }
            _ => {
                let answered = catch_unwind(AssertUnwindSafe(|| ticket.respond(&trouble.payload())));
                assert_eq!(answered.is_err(), trouble == Trouble::PayloadPanics);
                answers.extend(answered);
            }
        }
    }
    // Nothing counts before it is accepted.
    assert_eq!(owed.in_flight(), 3);

    match trouble {
        Trouble::BacklogFull => link.set(State::Blocked),
        Trouble::WriterBreaks => link.set(State::Broken),
        _ => {}
    }
    let mut handed_back = door.send(&owed, answers);
    if trouble == Trouble::BacklogFull {
        link.set(State::Open);
        door.flush();
    }
    if resend {
        handed_back = door.send(&owed, handed_back);
    }
    drop(handed_back);
    let dropped: Vec<_> = owed.dropped().collect();
    let left = door.send(&owed, dropped);
    door.flush();

    let written = count(&link.taken(), rules);
    if trouble == Trouble::WriterBreaks {
        // Each is on its way, or returned with the broken writer, or owed.
        assert!(written.is_empty());
        let unwritten = count(&door.unwritten(), rules);
        assert!(unwritten.values().all(|&count| count == 1));
        assert_eq!(unwritten.len() + owed.in_flight(), 3);
        drop(left);
        assert_eq!(owed.dropped().count(), owed.in_flight());
        return;
    }
    assert!(left.is_empty() && door.unwritten().is_empty());
    assert_eq!(written, expected, "{trouble:?}");
    assert_eq!(owed.in_flight(), 0);
    assert_eq!(owed.dropped().count(), 0);
}

/// `serve` and `answer` take requests instead of tickets.
fn handle(trouble: Trouble) -> impl FnMut(Call<'_>) -> Result<Payload, RpcError> {
    move |call| {
        let is_troubled = call.id().is_some_and(|id| id.as_json() == trouble.ids()[1]);
        match trouble {
            // A handler always returns something, unless it panics.
            Trouble::TicketDropped if is_troubled => panic!("on purpose"),
            _ if is_troubled => Ok(trouble.payload()),
            _ => Ok(Payload::Fine(json!({}))),
        }
    }
}

fn check_serve(trouble: Trouble) {
    common::quiet_panics_on_purpose();
    let rules = trouble.rules();
    let mut lines: Vec<String> = trouble.ids().iter().map(|id| request(id)).collect();
    match trouble {
        Trouble::DuplicateId => lines.insert(1, request("2")),
        Trouble::Cancelled => {
            lines.push(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#.to_owned());
        }
        _ => {}
    }
    let mut expected: HashMap<String, usize> = HashMap::new();
    for line in lines.iter().filter(|line| line.contains("\"id\"")) {
        let Ok(Frame::Message(message)) = Frame::parse(line.as_bytes(), &rules) else { panic!() };
        *expected.entry(message.id().unwrap().as_json().to_owned()).or_default() += 1;
    }
    for input in [lines.join("\n"), format!("[{}]", lines.join(","))] {
        if input.starts_with('[') && (!rules.allows_batches() || input.len() > rules.limits().max_line_len) {
            continue;
        }
        let link = Link::new();
        match trouble {
            Trouble::BacklogFull => link.set(State::Blocked),
            Trouble::WriterBreaks => link.set(State::Broken),
            _ => {}
        }
        let mut incidents = 0;
        let report = |incident: Incident<'_>| {
            assert!(!matches!(incident, Incident::Fault(_)), "{incident}");
            incidents += 1;
        };
        let served = serve_with(input.as_bytes(), link.clone(), rules, handle(trouble), report);
        if matches!(trouble, Trouble::BacklogFull | Trouble::WriterBreaks) {
            // Nothing is written, and the caller knows.
            assert!(served.is_err() && link.taken().is_empty());
            continue;
        }
        served.unwrap();
        assert_eq!(count(&link.taken(), rules), expected, "{trouble:?}");
        let is_reported = !matches!(trouble, Trouble::Cancelled | Trouble::DuplicateId);
        assert_eq!(incidents, usize::from(is_reported), "{trouble:?}");
    }
}

fn check_answer(trouble: Trouble) {
    common::quiet_panics_on_purpose();
    let rules = trouble.rules();
    let mut bodies: Vec<String> = trouble.ids().iter().map(|id| request(id)).collect();
    if trouble == Trouble::DuplicateId {
        bodies.insert(1, request("2"));
    }
    if rules.allows_batches() && trouble != Trouble::IdAtItsLimit {
        bodies.push(format!("[{}]", bodies.join(",\r\n")));
    }
    for body in bodies {
        let answer = answer_with(body.as_bytes(), &rules, handle(trouble), |_| {}).unwrap();
        assert!(!answer.ends_with(b"\n"));
        let expected = match Frame::parse(body.as_bytes(), &rules).unwrap() {
            Frame::Message(message) => vec![message.id().unwrap().as_json().to_owned()],
            Frame::Batch(batch) => {
                batch.iter().map(|entry| entry.unwrap().id().unwrap().as_json().to_owned()).collect()
            }
        };
        let mut counts = HashMap::new();
        expected.into_iter().for_each(|id| *counts.entry(id).or_default() += 1);
        assert_eq!(count(&answer, rules), counts, "{trouble:?}");
        assert_eq!(answer.starts_with(b"["), body.starts_with('['));
    }
}

/// A module for each door, with a test for each trouble.
macro_rules! doors {
    ($($(#[$attribute:meta])* $door:ident: $check:expr;)*) => {$(
        $(#[$attribute])*
        mod $door {
            use super::*;

            doors! { @ $check;
                not_a_number: NotANumber,
                refused_by_rules: RefusedByRules,
                payload_panics: PayloadPanics,
                too_long: TooLong,
                backlog_full: BacklogFull,
                writer_breaks: WriterBreaks,
                ticket_dropped: TicketDropped,
                cancelled: Cancelled,
                duplicate_id: DuplicateId,
                id_at_its_limit: IdAtItsLimit,
            }
        }
    )*};
    (@ $check:expr; $($test:ident: $trouble:ident,)*) => {$(
        #[test]
        fn $test() {
            $check(Trouble::$trouble);
        }
    )*};
}

doors! {
    own_encoder: check::<OwnEncoder>;
    send: check::<Writer<ONE_BY_ONE>>;
    several_in_one_send: check::<Writer<TOGETHER>>;
    batch: check::<Writer<BATCH>>;
    channel: check::<Channel>;
    task: check::<Task>;
    #[cfg(feature = "tokio")]
    tokio_framed: check::<framed::TokioFramed>;
    serve: check_serve;
    answer: check_answer;
}

/// Under MCP rules, a cancelled request gets no answer on any path, not even as part of a batch.
#[test]
fn cancelled_under_mcp() {
    fn check<D: Door>() {
        // Before the answer is encoded, and after.
        for early in [true, false] {
            let (link, owed) = (Link::new(), Inbound::new(Rules::mcp(), 10));
            let mut door = D::open(link.clone(), Rules::mcp());
            let mut answers = Vec::new();
            for id in 1..=3 {
                let ticket = admit(&owed, &id.to_string()).unwrap();
                if early && id == 2 {
                    assert!(owed.cancel(&Id::from(id)));
                }
                answers.push(ticket.respond(&json!({})));
            }
            assert!(early || owed.cancel(&Id::from(2)));
            assert!(door.send(&owed, answers).is_empty());
            assert_eq!(count(&link.taken(), Rules::mcp()), HashMap::from([("1".into(), 1), ("3".into(), 1)]));
            assert_eq!(owed.in_flight(), 0);
        }
    }
    check::<OwnEncoder>();
    check::<Writer<ONE_BY_ONE>>();
    check::<Writer<TOGETHER>>();
    check::<Writer<BATCH>>();
    check::<Channel>();
    check::<Task>();
    #[cfg(feature = "tokio")]
    check::<framed::TokioFramed>();
}

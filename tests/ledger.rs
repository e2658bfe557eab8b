//! Exactly one response for each request, whatever happens to it.

mod common;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use common::Dialect;
use quickcheck::{Arbitrary, Gen, QuickCheck};
use serde::{Serialize, Serializer};
use wireline::ledger::{Inbound, Outbound, Refusal, Stray, Ticket};
use wireline::{Encoder, Frame, Id, Message, RpcError, Rules};

fn is_send<T: Send>() {}

fn admit(owed: &Inbound, id: &str) -> Result<Ticket, Refusal> {
    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
    let Frame::Message(Message::Request(request)) = Frame::parse(line.as_bytes(), &Rules::json_rpc()).unwrap() else {
        panic!()
    };
    owed.admit(&request)
}

fn answers(encoder: &mut Encoder) -> Vec<String> {
    common::decode(Rules::json_rpc(), [&encoder.take()[..]])
}

#[test]
fn tickets_cross_threads() {
    is_send::<Ticket>();
    is_send::<Inbound>();
    is_send::<Outbound<String>>();
}

#[test]
fn answers_spell_the_id_as_it_was() {
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let mut encoder = Encoder::new(Rules::json_rpc());
    for id in ["1.0", "\"\\u00e9\"", "123456789012345678901234567890", "null", "-0.5e1"] {
        admit(&owed, id).unwrap().respond(&mut encoder, &1).unwrap();
        assert_eq!(answers(&mut encoder), [format!("result {id} 1")]);
        admit(&owed, id).unwrap().fail(&mut encoder, &RpcError::method_not_found()).unwrap();
        assert_eq!(answers(&mut encoder), [format!(r#"error {id} -32601 "Method not found" -"#)]);
        drop(admit(&owed, id).unwrap());
        assert_eq!(owed.answer_dropped(&mut encoder).unwrap(), 1);
        assert_eq!(answers(&mut encoder), [format!(r#"error {id} -32603 "Internal error" -"#)]);
    }
    assert_eq!(owed.in_flight(), 0);
    assert_eq!(owed.answer_dropped(&mut encoder).unwrap(), 0);
}

#[test]
fn an_id_in_flight_is_refused() {
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let mut encoder = Encoder::new(Rules::json_rpc());
    let ticket = admit(&owed, "1").unwrap();
    for same in ["1", "1.0", "10e-1"] {
        assert_eq!(admit(&owed, same).unwrap_err(), Refusal::Duplicate);
    }
    let other = admit(&owed, "\"1\"").unwrap();
    ticket.respond(&mut encoder, &1).unwrap();
    // A ticket that was dropped is in flight until it is answered.
    drop(admit(&owed, "1").unwrap());
    assert_eq!(admit(&owed, "1").unwrap_err(), Refusal::Duplicate);
    assert_eq!(owed.in_flight(), 2);
    owed.answer_dropped(&mut encoder).unwrap();
    drop((admit(&owed, "1").unwrap(), other));
    assert_eq!(Refusal::Duplicate.error().code(), -32600);
    assert_eq!(Refusal::TooMany.error().code(), -32000);
}

#[test]
fn is_bounded() {
    let owed = Inbound::new(Rules::json_rpc(), 2);
    let tickets = [admit(&owed, "1").unwrap(), admit(&owed, "2").unwrap()];
    assert_eq!(admit(&owed, "3").unwrap_err(), Refusal::TooMany);
    drop(tickets);
    assert_eq!(admit(&owed, "3").unwrap_err(), Refusal::TooMany); // still to be answered
    owed.answer_dropped(&mut Encoder::new(Rules::json_rpc())).unwrap();
    drop(admit(&owed, "3").unwrap());

    let mut asked = Outbound::new(1);
    asked.issue("one").unwrap();
    assert_eq!(asked.issue("two").unwrap_err().0, "two");
}

#[test]
fn cancelled_requests_are_answered_as_their_dialect_wants() {
    for (dialect, responded, dropped) in [
        (Dialect::Mcp, vec![], vec![]),
        (Dialect::JsonRpc, vec!["result 1 {}"], vec![r#"error 1 -32800 "Request cancelled" -"#]),
        (Dialect::Acp, vec!["result 1 {}"], vec![r#"error 1 -32800 "Request cancelled" -"#]),
    ] {
        let owed = Inbound::new(dialect.rules(), 10);
        let mut encoder = Encoder::new(dialect.rules());
        assert!(!owed.cancel(&Id::from(1)));
        let ticket = admit(&owed, "1").unwrap();
        assert!(!ticket.is_cancelled());
        assert!(owed.cancel(&Id::parse("1.0").unwrap()));
        assert!(ticket.is_cancelled());
        ticket.respond(&mut encoder, &serde_json::json!({})).unwrap();
        assert_eq!(answers(&mut encoder), responded);
        let ticket = admit(&owed, "1").unwrap();
        assert!(owed.cancel(&Id::from(1)));
        drop(ticket);
        owed.answer_dropped(&mut encoder).unwrap();
        assert_eq!(answers(&mut encoder), dropped);
        assert_eq!(owed.in_flight(), 0);
        assert!(!owed.cancel(&Id::from(1)));

        // Cancelled after its ticket was dropped, but before that was answered.
        drop(admit(&owed, "1").unwrap());
        assert!(owed.cancel(&Id::from(1)));
        owed.answer_dropped(&mut encoder).unwrap();
        assert_eq!(answers(&mut encoder), dropped);
        assert_eq!(owed.in_flight(), 0);
    }
}

#[test]
fn an_answer_that_does_not_fit_keeps_no_other_back() {
    let rules = Rules::json_rpc().max_line_len(200);
    let owed = Inbound::new(rules, 10);
    let mut encoder = Encoder::new(rules);
    drop([admit(&owed, "1").unwrap(), admit(&owed, &"7".repeat(150)).unwrap(), admit(&owed, "2").unwrap()]);
    assert!(owed.answer_dropped(&mut encoder).is_err());
    let internal = |id| format!(r#"error {id} -32603 "Internal error" -"#);
    assert_eq!(answers(&mut encoder), [internal("1"), internal("2")]);
    assert_eq!((owed.in_flight(), owed.answer_dropped(&mut encoder).unwrap()), (0, 0));
}

struct Panics;

impl Serialize for Panics {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("on purpose")
    }
}

#[test]
fn an_answer_that_cannot_be_encoded_is_replaced() {
    let owed = Inbound::new(Rules::mcp(), 10);
    let mut encoder = Encoder::new(Rules::mcp());
    let internal = [r#"error 1 -32603 "Internal error" -"#];
    assert!(admit(&owed, "1").unwrap().respond(&mut encoder, &f64::NAN).is_err());
    assert_eq!(answers(&mut encoder), internal);
    assert!(admit(&owed, "1").unwrap().respond(&mut encoder, &[1]).is_err()); // not permitted by MCP
    assert_eq!(answers(&mut encoder), internal);
    let ticket = admit(&owed, "1").unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| ticket.respond(&mut encoder, &Panics))).is_err());
    owed.answer_dropped(&mut encoder).unwrap();
    assert_eq!(answers(&mut encoder), internal);
    assert_eq!(owed.in_flight(), 0);
}

#[test]
fn batches_are_answered_too() {
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let mut encoder = Encoder::new(Rules::json_rpc());
    let (one, two) = (admit(&owed, "1").unwrap(), admit(&owed, "2").unwrap());
    encoder
        .batch(|batch| {
            one.respond(batch, "one")?;
            two.fail(batch, &RpcError::internal())
        })
        .unwrap();
    assert_eq!(answers(&mut encoder), [r#"batch [result 1 "one" | error 2 -32603 "Internal error" -]"#]);
}

#[test]
fn whoever_writes_is_woken() {
    let woken = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&woken);
    let owed = Inbound::with_wake(Rules::json_rpc(), 10, move || {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    drop(admit(&owed, "1").unwrap());
    admit(&owed, "2").unwrap().respond(&mut Encoder::new(Rules::json_rpc()), &1).unwrap();
    assert_eq!(woken.load(Ordering::SeqCst), 1);
}

#[test]
fn outbound_settles_once() {
    let settle = |asked: &mut Outbound<&'static str>, line: &str| {
        let frame = Frame::parse(line.as_bytes(), &Rules::mcp()).unwrap();
        let Frame::Message(Message::Response(response)) = frame else { panic!() };
        asked.settle(&response)
    };
    let mut asked = Outbound::new(10);
    let ids: Vec<_> = ["a", "b", "c", "d"].map(|value| asked.issue(value).unwrap()).into();
    let result = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    assert_eq!(settle(&mut asked, &result(ids[1].as_json())), Ok("b"));
    assert_eq!(settle(&mut asked, &result(ids[1].as_json())), Err(Stray::Repeated));
    assert_eq!(settle(&mut asked, &result(&format!("{}.0", ids[0].as_json()))), Ok("a"));
    assert_eq!(settle(&mut asked, &result(&format!("\"{}\"", ids[2].as_json()))), Err(Stray::Unknown));
    assert_eq!(settle(&mut asked, &result("77")), Err(Stray::Unknown));
    assert_eq!(settle(&mut asked, &result("0")), Err(Stray::Unknown));
    assert_eq!(settle(&mut asked, &result("-1")), Err(Stray::Unknown));
    assert_eq!(settle(&mut asked, r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#), Err(Stray::NoId));
    assert_eq!(asked.withdraw(&ids[2]), Some("c"));
    assert_eq!(asked.withdraw(&ids[2]), None);
    assert_eq!(settle(&mut asked, &result(ids[2].as_json())), Err(Stray::Repeated));
    assert_eq!(asked.in_flight(), 1);
    asked.issue("e").unwrap();
    assert_eq!(asked.drain().map(|(_, value)| value).collect::<Vec<_>>(), ["d", "e"]);
    assert_eq!(asked.in_flight(), 0);
}

#[test]
fn shows_how_many_there_are_and_why_not_more() {
    let owed = Inbound::new(Rules::json_rpc(), 2);
    let ticket = admit(&owed, "\"hunter2\"").unwrap();
    assert_eq!(format!("{owed:?}"), "Inbound { in_flight: 1, limit: 2 }");
    assert_eq!(format!("{ticket:?}"), "Ticket { id: Id(String, 9 bytes), .. }");
    let mut asked = Outbound::new(1);
    asked.issue("hunter2").unwrap();
    assert_eq!(format!("{asked:?}"), "Outbound { in_flight: 1, limit: 1 }");
    let full = asked.issue("hunter2").unwrap_err();
    assert_eq!((format!("{full:?}"), full.to_string()), ("Full(_)".into(), "expected fewer requests in flight".into()));
    for (error, expected) in [
        (&Refusal::Duplicate as &dyn std::error::Error, "expected an id that no request in flight has"),
        (&Refusal::TooMany, "expected fewer requests in flight"),
        (&Refusal::IdTooLong, "expected a shorter id"),
        (&Stray::NoId, "expected a response with an id"),
        (&Stray::Unknown, "expected the id of a request that was sent"),
        (&Stray::Repeated, "expected the id of a request that is not answered yet"),
    ] {
        assert_eq!(error.to_string(), expected);
    }
}

/// What may happen to a request that has been admitted.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Responded,
    Failed,
    NotEncodable,
    Panicking,
    Dropped,
    /// Kept until later.
    Held,
}

#[derive(Clone, Debug)]
struct Step {
    id: u8,
    fate: Fate,
    cancel: bool,
}

impl Arbitrary for Step {
    fn arbitrary(g: &mut Gen) -> Self {
        let fates = [Fate::Responded, Fate::Failed, Fate::NotEncodable, Fate::Panicking, Fate::Dropped, Fate::Held];
        Self { id: u8::arbitrary(g) % 16, fate: *g.choose(&fates).unwrap(), cancel: u8::arbitrary(g) % 5 == 0 }
    }
}

fn settle(ticket: Ticket, fate: Fate, encoder: &mut Encoder) {
    match fate {
        Fate::Responded => ticket.respond(encoder, &serde_json::json!({})).unwrap(),
        Fate::Failed => ticket.fail(encoder, &RpcError::invalid_params("no")).unwrap(),
        Fate::NotEncodable => drop(ticket.respond(encoder, &f64::NAN)),
        Fate::Panicking => drop(catch_unwind(AssertUnwindSafe(|| ticket.respond(encoder, &Panics)))),
        Fate::Dropped | Fate::Held => drop(ticket),
    }
}

/// How many answers there are to each id, each with a result or an error.
fn count(encoder: &mut Encoder) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for answer in answers(encoder) {
        let mut words = answer.split(' ');
        assert!(matches!(words.next(), Some("result" | "error")), "{answer}");
        *counts.entry(words.next().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// Random sequences: each request is answered once, refused ones too; except cancelled ones under MCP.
#[test]
fn exactly_one_response() {
    fn property(steps: Vec<Step>, mcp: bool) -> bool {
        common::quiet_panics_on_purpose();
        let rules = if mcp { Rules::mcp() } else { Rules::json_rpc() };
        let owed = Inbound::new(rules, 10);
        let mut encoder = Encoder::new(rules);
        let mut expected = HashMap::<String, usize>::new();
        let mut held = Vec::new();
        for (at, Step { id, fate, cancel }) in steps.into_iter().enumerate() {
            let id = id.to_string();
            *expected.entry(id.clone()).or_default() += 1;
            match admit(&owed, &id) {
                Err(refusal) => encoder.error(&Id::parse(&id).unwrap(), &refusal.error()).unwrap(),
                Ok(ticket) => {
                    if cancel {
                        assert!(owed.cancel(ticket.id()));
                        if mcp {
                            *expected.get_mut(&id).unwrap() -= 1;
                        }
                    }
                    match fate {
                        Fate::Held => held.push(ticket),
                        fate => settle(ticket, fate, &mut encoder),
                    }
                }
            }
            match at % 7 {
                3 => drop(held.pop()),
                5 => drop(owed.answer_dropped(&mut encoder).unwrap()),
                _ => {}
            }
        }
        for ticket in held {
            settle(ticket, Fate::Responded, &mut encoder);
        }
        owed.answer_dropped(&mut encoder).unwrap();
        expected.retain(|_, count| *count > 0);
        assert_eq!(count(&mut encoder), expected);
        assert_eq!(owed.in_flight(), 0);
        true
    }
    QuickCheck::new().tests(2000).quickcheck(property as fn(_, _) -> _);
}

#[test]
fn exactly_one_response_from_several_threads() {
    const THREADS: usize = 4;
    const EACH: usize = 500;
    let owed = Inbound::new(Rules::json_rpc(), THREADS * EACH);
    let encoder = Mutex::new(Encoder::new(Rules::json_rpc()));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (owed, encoder) = (&owed, &encoder);
            scope.spawn(move || {
                for i in 0..EACH {
                    let ticket = admit(owed, &(thread * EACH + i).to_string()).unwrap();
                    // Another thread settles every other one.
                    let fate = [Fate::Responded, Fate::Failed, Fate::NotEncodable, Fate::Dropped][i % 4];
                    if i % 2 == 0 {
                        settle(ticket, fate, &mut encoder.lock().unwrap());
                    } else {
                        scope.spawn(move || settle(ticket, fate, &mut encoder.lock().unwrap()));
                    }
                    if i % 50 == 0 {
                        owed.answer_dropped(&mut encoder.lock().unwrap()).unwrap();
                    }
                }
            });
        }
    });
    let mut encoder = encoder.into_inner().unwrap();
    owed.answer_dropped(&mut encoder).unwrap();
    let counts = count(&mut encoder);
    assert_eq!(counts.len(), THREADS * EACH);
    assert!(counts.values().all(|&count| count == 1));
    assert_eq!(owed.in_flight(), 0);
}

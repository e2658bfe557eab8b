//! Each request gets exactly one response, whatever happens to it.

mod common;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use bytes::BytesMut;
use common::Dialect;
use quickcheck::{Arbitrary, Gen, QuickCheck};
use serde::{Serialize, Serializer};
use serde_json::json;
use wireline::io::FrameWriter;
use wireline::ledger::{Answer, Inbound, Outbound, Refusal, Stray, Ticket, Untracked};
use wireline::{EncodeErrorKind, Frame, Id, Message, Request, Response, RpcError, Rules};

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

fn request(id: &str) -> Request<'static> {
    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
    match Frame::parse(line.as_bytes(), &Rules::json_rpc()).unwrap() {
        Frame::Message(Message::Request(request)) => request.into_owned(),
        other => panic!("{other:?}"),
    }
}

fn response(line: &str) -> Response<'static> {
    match Frame::parse(line.as_bytes(), &Rules::json_rpc().answer_without_id(wireline::AnswerWithoutId::OmitId)) {
        Ok(Frame::Message(Message::Response(response))) => response.into_owned(),
        other => panic!("{other:?}"),
    }
}

fn admit(owed: &Inbound, id: &str) -> Result<Ticket, Answer> {
    owed.admit(&request(id))
}

fn refused(owed: &Inbound, id: &str) -> Refusal {
    admit(owed, id).unwrap_err().refusal().unwrap()
}

/// Accepts an answer, and describes it.
fn said(answer: Answer) -> Vec<String> {
    common::decode(Rules::json_rpc(), [&answer.accept()[..]])
}

fn internal(id: &str) -> String {
    format!(r#"error {id} -32603 "Internal error" -"#)
}

struct Panics;

impl Serialize for Panics {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("on purpose")
    }
}

/// Counts how often it is woken.
#[derive(Default)]
struct Alarm(AtomicUsize);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Alarm {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[test]
fn tickets_and_answers_cross_threads() {
    is_send::<Ticket>();
    is_send::<Answer>();
    is_send::<Inbound>();
    is_send::<Outbound<String>>();
    is_sync::<Inbound>();
    is_sync::<Ticket>();
}

/// However many there are, and whatever is dropped while they are taken.
#[test]
fn a_thousand_dropped_tickets_are_answered_once() {
    let owed = Inbound::new(Rules::json_rpc(), 1000);
    let admit_all = || (0..1000).map(|id| admit(&owed, &id.to_string()).unwrap()).collect::<Vec<_>>();
    for _ in 0..2 {
        drop(admit_all());
        assert_eq!(refused(&owed, "1000"), Refusal::TooMany);
        let mut answered: Vec<_> = owed.dropped().take(900).flat_map(said).collect();
        drop(admit(&owed, "1000").unwrap());
        answered.extend(owed.dropped().flat_map(said));
        let mut expected: Vec<_> = (0..=1000).map(|id| internal(&id.to_string())).collect();
        answered.sort();
        expected.sort();
        assert_eq!(answered, expected);
        assert_eq!(owed.in_flight(), 0);
    }
}

#[test]
fn answers_spell_the_id_as_it_was() {
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let long = format!("\"{}\"", "x".repeat(1000));
    for id in ["1.0", "\"\\u00e9\"", "123456789012345678901234567890", "null", "-0.5e1", &long] {
        assert_eq!(said(admit(&owed, id).unwrap().respond(&1)), [format!("result {id} 1")]);
        let failed = admit(&owed, id).unwrap().fail(&RpcError::method_not_found());
        assert_eq!(said(failed), [format!(r#"error {id} -32601 "Method not found" -"#)]);
        drop(admit(&owed, id).unwrap());
        assert_eq!(owed.dropped().flat_map(said).collect::<Vec<_>>(), [internal(id)]);
    }
    assert_eq!(owed.in_flight(), 0);
    assert_eq!(owed.dropped().count(), 0);
}

#[test]
fn a_request_is_settled_when_its_answer_is_accepted() {
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let answer = admit(&owed, "1").unwrap().respond(&1);
    assert_eq!(answer.as_bytes(), b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n");
    assert_eq!((owed.in_flight(), refused(&owed, "1")), (1, Refusal::Duplicate));
    let mut out = BytesMut::from("before ");
    answer.accept_into(&mut out);
    assert_eq!(out, "before {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n");
    assert_eq!(owed.in_flight(), 0);
    drop(admit(&owed, "1").unwrap());
}

#[test]
fn an_id_in_flight_is_refused() {
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let ticket = admit(&owed, "1").unwrap();
    for same in ["1", "1.0", "10e-1"] {
        let refusal = admit(&owed, same).unwrap_err();
        assert_eq!(refusal.refusal(), Some(Refusal::Duplicate));
        assert!(said(refusal)[0].starts_with(&format!("error {same} -32600 ")));
    }
    let other = admit(&owed, "\"1\"").unwrap();
    assert_eq!(said(ticket.respond(&1)).len(), 1);
    // A ticket that was dropped is in flight until it is answered.
    drop(admit(&owed, "1").unwrap());
    assert_eq!((refused(&owed, "1"), owed.in_flight()), (Refusal::Duplicate, 2));
    owed.dropped().map(Answer::accept).for_each(drop);
    drop((admit(&owed, "1").unwrap(), other));
}

#[test]
fn is_bounded() {
    let owed = Inbound::new(Rules::json_rpc(), 2);
    let tickets = [admit(&owed, "1").unwrap(), admit(&owed, "2").unwrap()];
    assert_eq!((refused(&owed, "3"), refused(&owed, "2")), (Refusal::TooMany, Refusal::Duplicate));
    drop(tickets);
    assert_eq!(refused(&owed, "3"), Refusal::TooMany); // still to be answered
    owed.dropped().map(Answer::accept).for_each(drop);
    drop(admit(&owed, "3").unwrap());

    assert_eq!(refused(&Inbound::new(Rules::json_rpc(), 0), "1"), Refusal::TooMany);
    let mut asked = Outbound::new(1);
    asked.issue("one").unwrap();
    assert_eq!(asked.issue("two").unwrap_err().0, "two");
}

/// Large ledgers are spread over several locks, but still enforce their limit.
#[test]
fn large_ledgers_are_exactly_full() {
    for limit in [255, 256, 511, 512, 1000, 4096, 10_000] {
        let owed = Inbound::new(Rules::json_rpc(), limit);
        let mut tickets: Vec<_> = (0..limit).map(|id| admit(&owed, &id.to_string()).unwrap()).collect();
        assert_eq!((owed.in_flight(), refused(&owed, "\"one more\"")), (limit, Refusal::TooMany));
        // Any one that is answered makes room for any other.
        for i in 0..50 {
            let ticket = tickets.swap_remove(i * 7 % tickets.len());
            assert_eq!(said(ticket.respond(&1)).len(), 1);
            tickets.push(admit(&owed, &format!("\"{i}\"")).unwrap());
            assert_eq!(refused(&owed, "\"one more\""), Refusal::TooMany);
        }
        tickets.into_iter().for_each(|ticket| drop(ticket.respond(&1).accept()));
        assert_eq!(owed.in_flight(), 0);
    }
}

/// A request may have been decoded under other rules than those for its answer.
#[test]
fn an_id_that_no_answer_could_have_is_refused() {
    let mcp = Inbound::new(Rules::mcp(), 10);
    for id in ["null", "1.5"] {
        let refusal = admit(&mcp, id).unwrap_err();
        assert_eq!(refusal.refusal(), Some(Refusal::InvalidId));
        assert!(refusal.as_bytes().is_empty()); // MCP has no id for such an answer
    }
    let short = Inbound::new(Rules::json_rpc().max_id_len(5), 10);
    assert_eq!(refused(&short, "123456"), Refusal::InvalidId);
    assert!(said(admit(&short, "123456").unwrap_err())[0].starts_with("error null -32600 "));
    drop(admit(&short, "12345").unwrap());
}

/// Even under the smallest limits, an error always fits.
#[test]
fn there_is_always_room_for_an_error() {
    let rules = Rules::json_rpc().max_line_len(0).max_depth(0).max_batch_len(0);
    let owed = Inbound::new(rules, 10);
    let id = "7".repeat(rules.limits().max_id_len);
    let answer = admit(&owed, &id).unwrap().respond(&"x".repeat(100));
    assert_eq!(answer.instead_of().unwrap().kind(), EncodeErrorKind::Rule(wireline::FaultKind::LineTooLong));
    assert!(answer.as_bytes().len() <= 129);
    assert_eq!(said(owed.batch([answer])), [internal(&id)]);
}

#[test]
fn cancelled_requests_are_answered_as_their_dialect_wants() {
    for (dialect, responded, dropped) in [
        (Dialect::Mcp, vec![], vec![]),
        (Dialect::JsonRpc, vec!["result 1 {}"], vec![r#"error 1 -32800 "Request cancelled" -"#]),
        (Dialect::Acp, vec!["result 1 {}"], vec![r#"error 1 -32800 "Request cancelled" -"#]),
    ] {
        let owed = Inbound::new(dialect.rules(), 10);
        assert!(!owed.cancel(&Id::from(1)));
        let ticket = admit(&owed, "1").unwrap();
        assert!(!ticket.is_cancelled());
        assert!(owed.cancel(&Id::parse("1.0").unwrap()));
        assert!(ticket.is_cancelled());
        assert_eq!(said(ticket.respond(&json!({}))), responded);
        // Between the encoding and the acceptance.
        let answer = admit(&owed, "1").unwrap().respond(&json!({}));
        assert!(owed.cancel(&Id::from(1)));
        assert_eq!(said(answer), responded);
        let ticket = admit(&owed, "1").unwrap();
        assert!(!ticket.is_cancelled()); // the same slot, another request
        assert!(owed.cancel(&Id::from(1)));
        drop(ticket);
        assert_eq!(owed.dropped().flat_map(said).collect::<Vec<_>>(), dropped);
        assert_eq!(owed.in_flight(), 0);
        assert!(!owed.cancel(&Id::from(1)));

        // Cancelled after its ticket was dropped, but before that was answered.
        drop(admit(&owed, "1").unwrap());
        assert!(owed.cancel(&Id::from(1)));
        let answers: Vec<_> = owed.dropped().collect();
        assert_eq!(answers.len(), dropped.len()); // not even an empty one
        assert_eq!(answers.into_iter().flat_map(said).collect::<Vec<_>>(), dropped);
        assert_eq!(owed.in_flight(), 0);
    }
}

#[test]
fn an_answer_that_cannot_be_encoded_is_replaced() {
    common::quiet_panics_on_purpose();
    let owed = Inbound::new(Rules::mcp(), 10);
    for (answer, kind) in [
        (admit(&owed, "1").unwrap().respond(&f64::NAN), EncodeErrorKind::NonFiniteFloat),
        (admit(&owed, "2").unwrap().respond(&[1]), EncodeErrorKind::Rule(wireline::FaultKind::InvalidResult)),
    ] {
        assert_eq!(answer.instead_of().unwrap().kind(), kind);
        assert!(said(answer)[0].ends_with(r#" -32603 "Internal error" -"#));
    }
    let ticket = admit(&owed, "1").unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| ticket.respond(&Panics))).is_err());
    assert_eq!(owed.in_flight(), 1);
    assert_eq!(owed.dropped().flat_map(said).collect::<Vec<_>>(), [internal("1")]);
    assert_eq!(owed.in_flight(), 0);
}

#[test]
fn batches_are_answered_in_one_array() {
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let [one, two, three] = ["1", "2", "3"].map(|id| admit(&owed, id).unwrap());
    let duplicate = admit(&owed, "1").unwrap_err();
    let batch = owed.batch([one.respond("one"), two.respond(&f64::NAN), duplicate, three.fail(&RpcError::internal())]);
    assert_eq!(owed.in_flight(), 3);
    assert_eq!(
        said(batch),
        [format!(
            r#"batch [result 1 "one" | {} | error 1 -32600 "the id is already in use by a request in flight" - | {}]"#,
            internal("2"),
            internal("3")
        )]
    );
    assert_eq!(owed.in_flight(), 0);
    assert!(owed.batch([]).accept().is_empty());
}

#[test]
fn a_batch_that_is_dropped_or_panics_leaves_all_owed() {
    common::quiet_panics_on_purpose();
    let owed = Inbound::new(Rules::json_rpc(), 10);
    drop(owed.batch(["1", "2"].map(|id| admit(&owed, id).unwrap().respond(&1))));
    assert_eq!(owed.dropped().flat_map(said).collect::<Vec<_>>(), [internal("1"), internal("2")]);
    let answers = ["1", "2", "3"].map(|id| admit(&owed, id).unwrap());
    let panicking = AssertUnwindSafe(|| {
        owed.batch(answers.into_iter().map(|ticket| match ticket.id().as_i64() {
            Some(2) => ticket.respond(&Panics),
            _ => ticket.respond(&1),
        }))
    });
    assert!(catch_unwind(panicking).is_err());
    let mut left: Vec<_> = owed.dropped().flat_map(said).collect();
    left.sort_unstable();
    assert_eq!(left, [internal("1"), internal("2"), internal("3")]);
}

#[test]
fn a_batch_of_answers_may_outgrow_a_line() {
    let owed = Inbound::new(Rules::json_rpc().max_line_len(300), 10);
    let lengths = [60, 100, 264, 265, 10];
    let answers = lengths.iter().enumerate().map(|(id, len)| {
        let ticket = admit(&owed, &id.to_string()).unwrap();
        ticket.respond(&"x".repeat(*len))
    });
    let lines = owed.batch(answers).accept();
    assert!(lines.split(|&byte| byte == b'\n').all(|line| line.len() <= 300));
    let found = common::decode(Rules::json_rpc(), [&lines[..]]);
    let kinds: Vec<_> = found.iter().map(|line| line.split('"').next().unwrap()).collect();
    assert_eq!(kinds, ["batch [result 0 ", "result 2 ", "batch [error 3 -32603 "]);
}

#[test]
fn whoever_writes_is_woken_once() {
    let woken = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&woken);
    let owed = Inbound::with_wake(Rules::json_rpc(), 10, move || {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let count = || woken.load(Ordering::SeqCst);
    drop(admit(&owed, "1").unwrap());
    assert_eq!(count(), 1);
    drop(admit(&owed, "2").unwrap().respond(&1));
    assert_eq!(count(), 2);
    drop(admit(&owed, "3").unwrap().respond(&1).accept());
    assert_eq!(count(), 2);
    // A writer that can't send them isn't woken again.
    for _ in 0..3 {
        assert_eq!(owed.dropped().count(), 2);
    }
    assert_eq!((count(), owed.in_flight()), (2, 2));
    assert_eq!(owed.dropped().flat_map(said).collect::<Vec<_>>(), [internal("1"), internal("2")]);
}

#[test]
fn waiting_for_cancellation() {
    let owed = Inbound::new(Rules::mcp(), 10);
    let [alarm, other] = [(); 2].map(|()| Arc::new(Alarm::default()));
    let [waker, other_waker] = [&alarm, &other].map(|alarm| Waker::from(Arc::clone(alarm)));
    let ticket = admit(&owed, "1").unwrap();
    assert!(ticket.poll_cancelled(&mut Context::from_waker(&other_waker)).is_pending());
    let mut cancelled = pin!(ticket.cancelled());
    assert!(cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let _neighbour = admit(&owed, "2").unwrap();
    assert!(owed.cancel(&Id::from(2)));
    assert_eq!(alarm.count(), 0);
    assert!(owed.cancel(&Id::from(1)) && owed.cancel(&Id::from(1)));
    assert_eq!((alarm.count(), other.count()), (1, 0)); // the last one that asked
    assert_eq!(cancelled.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(()));
}

#[test]
fn waiting_for_the_last_answer() {
    for limit in [10, 10_000] {
        let owed = Inbound::new(Rules::json_rpc(), limit);
        let alarm = Arc::new(Alarm::default());
        let waker = Waker::from(Arc::clone(&alarm));
        let mut cx = Context::from_waker(&waker);
        assert!(owed.poll_idle(&mut cx).is_ready());
        let tickets = ["1", "2", "3"].map(|id| admit(&owed, id).unwrap());
        assert!(owed.poll_idle(&mut cx).is_pending());
        assert!(owed.poll_idle(&mut cx).is_pending());
        let [one, two, three] = tickets;
        drop(one.respond(&1).accept());
        drop(two); // owed
        drop(three.respond(&1).accept());
        assert!(owed.poll_idle(&mut cx).is_pending());
        assert_eq!(alarm.count(), 0);
        owed.dropped().map(Answer::accept).for_each(drop);
        assert_eq!(alarm.count(), 1);
        assert!(owed.poll_idle(&mut cx).is_ready());
        assert!(owed.wait_idle(Duration::ZERO));
    }
}

/// Tasks that poll are told apart by their wakers.
#[test]
fn tasks_wait_for_the_last_answer() {
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let ticket = admit(&owed, "1").unwrap();
    let alarms = [(); 2].map(|()| Arc::new(Alarm::default()));
    let wakers = alarms.clone().map(Waker::from);
    for which in [0, 1, 0, 1] {
        assert!(owed.poll_idle(&mut Context::from_waker(&wakers[which])).is_pending());
    }
    assert!(!ticket.respond(&1).accept().is_empty());
    assert_eq!(alarms.map(|alarm| alarm.count()), [1, 1]);
}

#[test]
fn a_thread_waits_for_the_last_answer() {
    let owed = Inbound::new(Rules::json_rpc(), 1000);
    let tickets: Vec<_> = (0..100).map(|id| admit(&owed, &id.to_string()).unwrap()).collect();
    assert!(!owed.wait_idle(Duration::from_millis(1)));
    thread::scope(|scope| {
        scope.spawn(|| {
            for ticket in tickets {
                thread::sleep(Duration::from_micros(100));
                drop(ticket.respond(&1).accept());
            }
        });
        assert!(owed.wait_idle(Duration::from_secs(60)));
    });
    assert_eq!(owed.in_flight(), 0);
}

/// A server that waits for the last answer may then flush and exit, so the writer must have the line by then.
#[test]
fn the_last_answer_is_with_the_writer_before_anybody_is_woken() {
    struct Flushes(FrameWriter<Vec<u8>>);

    impl Wake for Flushes {
        fn wake(self: Arc<Self>) {
            // A task that is woken may send, because no lock is held.
            assert!(self.0.send(|encoder| encoder.notification("idle", &())).is_ok());
            assert!(self.0.flush().is_ok());
        }
    }

    for several in [false, true] {
        let owed = Inbound::new(Rules::json_rpc(), 10);
        let writer = FrameWriter::new(Vec::new(), Rules::json_rpc());
        let answer = admit(&owed, "1").unwrap().respond(&1);
        let answer = if several { [answer].into_iter().collect() } else { answer };
        let waker = Waker::from(Arc::new(Flushes(writer.clone())));
        assert!(owed.poll_idle(&mut Context::from_waker(&waker)).is_pending());
        let _ = writer.answer(answer).unwrap();
        drop(waker);
        let (lines, unwritten) = writer.into_parts().unwrap();
        assert!(unwritten.is_empty());
        assert_eq!(
            String::from_utf8(lines).unwrap(),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n{\"jsonrpc\":\"2.0\",\"method\":\"idle\"}\n"
        );
    }
}

#[test]
fn a_closed_ledger_admits_no_more() {
    for limit in [10, 10_000] {
        let owed = Inbound::new(Rules::json_rpc(), limit);
        let ticket = admit(&owed, "1").unwrap();
        assert!(!owed.is_closed());
        owed.close();
        assert!(owed.is_closed());
        assert_eq!((refused(&owed, "2"), owed.in_flight()), (Refusal::Closed, 1));
        assert_eq!(said(ticket.respond(&1)), ["result 1 1"]);
    }
}

/// At the deadline, `answer_rest` answers the remaining requests, and the tickets' own answers are empty.
#[test]
fn the_rest_is_answered_once() {
    for limit in [10, 10_000] {
        let owed = Inbound::new(Rules::json_rpc(), limit);
        let shutting_down = RpcError::new(-32000, "bye");
        let error = |id: &str| vec![format!(r#"error {id} -32000 "bye" -"#)];
        let [held, encoded, faster, queued] = ["1", "2", "3", "4"].map(|id| admit(&owed, id).unwrap());
        let (encoded, faster) = (encoded.respond(&1), faster.respond(&1));
        drop(queued);
        let alarm = Arc::new(Alarm::default());
        let waker = Waker::from(Arc::clone(&alarm));
        assert!(held.poll_cancelled(&mut Context::from_waker(&waker)).is_pending());

        let mut rest = owed.answer_rest(&shutting_down);
        rest.sort_by_key(|answer| answer.as_bytes().to_vec());
        assert_eq!((rest.len(), owed.in_flight()), (4, 4));
        assert_eq!(said(faster), ["result 3 1"]);
        let found: Vec<_> = rest.into_iter().map(said).collect();
        assert_eq!(found, [error("1"), error("2"), vec![], error("4")]);
        assert_eq!(owed.in_flight(), 0);

        // Work can stop, and no further answer is sent.
        assert!(held.is_cancelled());
        assert_eq!(alarm.count(), 1);
        // The id is free, although the old ticket is still there.
        let again = admit(&owed, "1").unwrap();
        assert!(!again.is_cancelled());
        assert_eq!(said(held.respond(&1)), [""; 0]);
        assert_eq!(said(encoded), [""; 0]);
        assert_eq!(owed.dropped().count(), 0);
        assert_eq!(said(again.respond(&2)), ["result 1 2"]);
        assert_eq!(owed.in_flight(), 0);
    }
}

#[test]
fn the_rest_that_is_dropped_is_owed() {
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let ticket = admit(&owed, "1").unwrap();
    drop(owed.answer_rest(&RpcError::internal()));
    drop(owed.answer_rest(&RpcError::internal()));
    assert_eq!(owed.in_flight(), 1);
    drop(ticket);
    assert_eq!(owed.dropped().flat_map(said).collect::<Vec<_>>(), [internal("1")]);
    assert_eq!((owed.in_flight(), owed.dropped().count()), (0, 0));
}

/// If the parts of a batch exceed the rules, all of them are still sent.
#[test]
fn a_batch_of_answers_made_under_other_rules() {
    let (large, small) = (Inbound::new(Rules::json_rpc(), 10), Inbound::new(Rules::json_rpc().max_line_len(200), 10));
    let answers = ["1", "2"].map(|id| admit(&large, id).unwrap().respond(&"x".repeat(1000)));
    let batch = small.batch(answers.into_iter().chain([admit(&small, "3").unwrap().respond(&3)]));
    let lines = said(batch);
    assert_eq!(lines.len(), 3);
    assert!(lines[0].len() > 1000 && lines[1].len() > 1000);
    assert_eq!(lines[2], "batch [result 3 3]");
    assert_eq!((large.in_flight(), small.in_flight()), (0, 0));
}

/// A waiter that gives up leaves nothing behind.
#[test]
fn waiting_can_be_given_up() {
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let ticket = admit(&owed, "1").unwrap();
    let count = Arc::new(Alarm::default());
    let waker = Waker::from(Arc::clone(&count));
    for _ in 0..100 {
        assert!(pin!(owed.idle()).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert_eq!(Arc::strong_count(&count), 2);
    assert!(!owed.wait_idle(Duration::from_millis(1)));
    assert!(!ticket.respond(&1).accept().is_empty());
    assert_eq!(count.count(), 0);
}

/// Two waiters in one task have the same waker. One that gives up, or is done, leaves the other's alone.
#[test]
fn waiters_in_one_task_are_all_woken() {
    for limit in [10, 10_000] {
        let owed = Inbound::new(Rules::json_rpc(), limit);
        let ticket = admit(&owed, "1").unwrap();
        let count = Arc::new(Alarm::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        let mut one = pin!(owed.idle());
        assert!(one.as_mut().poll(&mut cx).is_pending());
        // As with a timeout around it.
        assert!(pin!(owed.idle()).poll(&mut cx).is_pending());
        assert!(!ticket.respond(&1).accept().is_empty());
        assert_eq!(count.count(), 1);
        assert!(one.as_mut().poll(&mut cx).is_ready());
        assert_eq!(Arc::strong_count(&count), 2);
    }
}

/// Once nobody waits any more, nobody looks whether the last request was settled. That would take every lock.
#[test]
fn waiting_that_was_given_up_costs_nothing() {
    let owed = Inbound::new(Rules::json_rpc(), 10_000);
    let (requests, mut out) = ([1, 2, 3].map(|id| request(&id.to_string())), BytesMut::with_capacity(1000));
    let _long = admit(&owed, "0").unwrap();
    let mut serve = || {
        out.clear();
        requests.iter().for_each(|request| owed.admit(request).unwrap().respond(&1).accept_into(&mut out));
    };
    serve(); // to warm up
    assert!(!owed.wait_idle(Duration::ZERO));
    assert_eq!(measure(&mut serve).count_total, 0);
}

/// The waker of a task may own what the task owns, such as another ticket, so it must not be dropped under a lock.
#[test]
fn a_waker_may_own_a_ticket() {
    struct Owns(#[allow(dead_code)] Ticket);

    impl Wake for Owns {
        fn wake(self: Arc<Self>) {}
    }

    // One shard, so that all tickets are under one lock.
    let owed = Inbound::new(Rules::json_rpc(), 10);
    let owns = |id: &str| Waker::from(Arc::new(Owns(admit(&owed, id).unwrap())));
    let poll = |ticket: &Ticket, waker: &Waker| ticket.poll_cancelled(&mut Context::from_waker(waker));
    let ticket = admit(&owed, "1").unwrap();
    assert!(poll(&ticket, &owns("2")).is_pending());
    assert!(poll(&ticket, &owns("3")).is_pending());
    assert_eq!(owed.dropped().flat_map(said).collect::<Vec<_>>(), [internal("2")]);
    assert!(!ticket.respond(&1).accept().is_empty());
    assert_eq!(owed.dropped().flat_map(said).collect::<Vec<_>>(), [internal("3")]);
    assert_eq!(owed.in_flight(), 0);
}

#[test]
fn nothing_is_allocated_for_short_ids() {
    let owed = Inbound::new(Rules::json_rpc(), 10_000);
    let mut out = BytesMut::with_capacity(1000);
    let mut allocations = |ids: &[String]| {
        let line = |id: &String| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        let lines: Vec<_> = ids.iter().map(line).collect();
        let mut run = || {
            for line in &lines {
                let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line.as_bytes(), &Rules::json_rpc())
                else {
                    panic!("{line}");
                };
                out.clear();
                owed.admit(&request).unwrap().respond(&1).accept_into(&mut out);
            }
        };
        (0..100).for_each(|_| run()); // to warm up
        measure(run).count_total
    };
    let short: Vec<_> = (0..64).flat_map(|i| [i.to_string(), format!("\"request-{i}\"")]).collect();
    assert_eq!(allocations(&short), 0);
    // One that the ticket and the ledger share.
    let uuids: Vec<_> = (0..64).map(|i| format!("\"{i:08x}-8e6b-4fd6-9c1c-0a2b3c4d5e6f\"")).collect();
    assert_eq!(allocations(&uuids), 64);
}

/// If one thread admits requests and another accepts their answers, the buffers go back to the first.
#[test]
fn nothing_is_allocated_if_another_thread_accepts() {
    const ROUNDS: usize = 50;
    let owed = Inbound::new(Rules::json_rpc(), 1000);
    let requests: Vec<_> = (0..10).map(|id| request(&id.to_string())).collect();
    let (tickets, turn) = (Mutex::new(Vec::with_capacity(requests.len())), Barrier::new(2));
    let admit = || {
        for _ in 0..ROUNDS {
            tickets.lock().unwrap().extend(requests.iter().map(|request| owed.admit(request).unwrap()));
            turn.wait();
            turn.wait();
        }
    };
    let mut out = BytesMut::with_capacity(1000);
    let mut accept = || {
        for _ in 0..ROUNDS {
            turn.wait();
            out.clear();
            tickets.lock().unwrap().drain(..).for_each(|ticket| ticket.respond(&1).accept_into(&mut out));
            turn.wait();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            accept(); // to warm up
            assert_eq!(measure(&mut accept).count_total, 0);
        });
        admit();
        assert_eq!(measure(admit).count_total, 0);
    });
}

/// What `answer_rest` gives is known, and so wakes nobody when it is dropped. But the ticket isn't.
#[test]
fn a_ticket_dropped_after_the_rest_was_answered_wakes() {
    let wakes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&wakes);
    let owed = Inbound::with_wake(Rules::mcp(), 10, move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let ticket = admit(&owed, "1").unwrap();
    drop(owed.answer_rest(&RpcError::internal()));
    assert_eq!((wakes.load(Ordering::Relaxed), owed.in_flight()), (0, 1));
    drop(ticket);
    assert_eq!((wakes.load(Ordering::Relaxed), owed.in_flight()), (1, 1));
    assert!(!owed.dropped().next().unwrap().accept().is_empty());
    assert_eq!(owed.in_flight(), 0);

    // There is nothing to write for a ticket whose request has been answered.
    let ticket = admit(&owed, "2").unwrap();
    assert!(owed.answer_rest(&RpcError::internal()).into_iter().all(|answer| !answer.accept().is_empty()));
    drop(ticket);
    assert_eq!((wakes.load(Ordering::Relaxed), owed.in_flight(), owed.dropped().count()), (1, 0, 0));
}

/// A server may have a ledger for each of thousands of connections.
#[test]
fn an_idle_ledger_is_small() {
    let requests: Vec<_> = (0..2000).map(|id| request(&id.to_string())).collect();
    let serve = |owed: &Inbound| {
        for request in &requests {
            drop(owed.admit(request).unwrap().respond(&1).accept());
        }
    };
    serve(&Inbound::new(Rules::json_rpc(), 10)); // for what threads keep
    for (limit, new, used) in [(100, 2 << 10, 2 << 10), (1000, 4 << 10, 8 << 10), (1_000_000, 10 << 10, 28 << 10)] {
        let mut owed = None;
        let info = measure(|| drop(owed.insert(Inbound::new(Rules::json_rpc(), limit)).clone()));
        assert!(info.bytes_current < new, "{} bytes for a new ledger of {limit}", info.bytes_current);
        let used_info = measure(|| serve(owed.as_ref().unwrap()));
        let bytes = info.bytes_current + used_info.bytes_current;
        assert!(bytes < used, "{bytes} bytes for a ledger of {limit} that was used");
    }
}

/// Also after as many requests at once as it allows, with answers as long as a buffer that is kept may be.
#[test]
fn a_small_ledger_is_small_after_a_burst() {
    let (result, mut out) = ("x".repeat(1500), BytesMut::with_capacity(4000));
    let requests: Vec<_> = (0..100).map(|id| request(&id.to_string())).collect();
    let mut burst = |owed: &Inbound| {
        let tickets: Vec<_> = requests.iter().map(|request| owed.admit(request).unwrap()).collect();
        for ticket in tickets {
            out.clear();
            ticket.respond(&result).accept_into(&mut out);
        }
    };
    burst(&Inbound::new(Rules::json_rpc(), 100)); // for what threads keep
    let mut owed = None;
    let info = measure(|| burst(owed.insert(Inbound::new(Rules::json_rpc(), 100))));
    assert!(info.bytes_current < 16 << 10, "{} bytes are kept", info.bytes_current);
}

#[test]
fn memory_is_given_back_after_a_burst() {
    const REQUESTS: usize = 1_000_000;
    for (cancelled, most) in [(false, 128 << 10), (true, (128 << 10) + REQUESTS / 4)] {
        let mut owed = None;
        let info = measure(|| {
            let ledger = owed.insert(Inbound::new(Rules::json_rpc(), REQUESTS));
            let tickets: Vec<_> = (0..REQUESTS).map(|id| admit(ledger, &id.to_string()).unwrap()).collect();
            assert_eq!(ledger.in_flight(), REQUESTS);
            for ticket in tickets.iter().filter(|_| cancelled) {
                assert!(ledger.cancel(ticket.id()));
            }
            for ticket in tickets {
                assert!(!ticket.respond(&1).accept().is_empty());
            }
            assert_eq!(ledger.in_flight(), 0);
        });
        assert!((info.bytes_current as usize) < most, "{} bytes are kept", info.bytes_current);
    }

    // Long ids, and answers as long as a buffer that is kept may be.
    const LONG: usize = 20_000;
    let result = "x".repeat(1500);
    let mut owed = None;
    let info = measure(|| {
        let ledger = owed.insert(Inbound::new(Rules::json_rpc(), LONG));
        let id = |number: usize| format!("\"{number:01000}\"");
        let tickets: Vec<_> = (0..LONG).map(|number| admit(ledger, &id(number)).unwrap()).collect();
        let mut out = BytesMut::new();
        for ticket in tickets {
            out.clear();
            ticket.respond(&result).accept_into(&mut out);
        }
        assert_eq!(ledger.in_flight(), 0);
    });
    assert!(info.bytes_current < 192 << 10, "{} bytes are kept", info.bytes_current);

    let mut asked = None;
    let info = measure(|| {
        let ledger = asked.insert(Outbound::new(REQUESTS));
        let deadline = Instant::now();
        for value in 0..REQUESTS {
            let id = ledger.issue(value).unwrap();
            ledger.set_deadline(&id, deadline);
        }
        while ledger.take_expired(deadline).is_some() {}
        assert_eq!(ledger.in_flight(), 0);
    });
    assert!(info.bytes_current < 1 << 20, "{} bytes are kept", info.bytes_current);
}

#[test]
fn outbound_settles_once() {
    let mut asked = Outbound::new(10);
    let ids: Vec<_> = ["a", "b", "c", "d"].map(|value| asked.issue(value).unwrap()).into();
    let result = |id: &str| response(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    assert_eq!(asked.settle(&result(ids[1].as_json())), Ok("b"));
    assert_eq!(asked.settle(&result(ids[1].as_json())), Err(Stray::Repeated));
    assert_eq!(asked.settle(&result(&format!("{}.0", ids[0].as_json()))), Ok("a"));
    assert_eq!(asked.settle(&result(&format!("\"{}\"", ids[2].as_json()))), Err(Stray::Unknown));
    for unknown in ["77", "0", "-1"] {
        assert_eq!(asked.settle(&result(unknown)), Err(Stray::Unknown));
    }
    let without = response(r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#);
    assert_eq!(asked.settle(&without), Err(Stray::NoId));
    assert_eq!(asked.settle(&result("null")), Err(Stray::NoId));
    assert_eq!(asked.withdraw(&ids[2]), Some("c"));
    assert_eq!(asked.withdraw(&ids[2]), None);
    assert_eq!(asked.settle(&result(ids[2].as_json())), Err(Stray::Repeated));
    assert_eq!(asked.in_flight(), 1);
    asked.issue("e").unwrap();
    assert_eq!(format!("{asked:?}"), "Outbound { in_flight: 2, limit: 10 }");
    assert_eq!(asked.drain().map(|(_, value)| value).collect::<Vec<_>>(), ["d", "e"]);
    assert_eq!(asked.in_flight(), 0);
}

/// An error gives the value back, and shows none of it.
#[test]
fn outbound_is_bounded() {
    let mut asked = Outbound::new(1);
    let id = asked.issue("a").unwrap();
    let full = asked.issue("secret").unwrap_err();
    assert_eq!((full.to_string(), format!("{full:?}")), ("too many requests in flight".into(), "Full(_)".into()));
    assert_eq!((full.0, asked.withdraw(&id), asked.issue("b").is_ok()), ("secret", Some("a"), true));
}

#[test]
fn outbound_takes_ids_that_somebody_else_made() {
    let mut asked = Outbound::new(4);
    let result = |id: &str| response(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#));
    asked.track(&Id::from("a-1"), "theirs").unwrap();
    asked.track(&Id::from(1), "number").unwrap();
    assert_eq!(asked.track(&Id::parse("1.0").unwrap(), "again"), Err(Untracked::Duplicate("again")));
    // The ids it issues avoid those.
    assert_eq!(asked.issue("ours").unwrap(), Id::from(2));
    asked.track(&Id::NULL, "null").unwrap();
    assert_eq!(asked.track(&Id::from(7), "full").unwrap_err().into_value(), "full");
    assert_eq!(asked.settle(&result("\"\\u0061-1\"")), Ok("theirs"));
    assert_eq!(asked.settle(&result("\"a-1\"")), Err(Stray::Unknown));
    assert_eq!(asked.settle(&result("1")), Ok("number"));
    assert_eq!(asked.settle(&result("null")), Ok("null"));
    assert_eq!(asked.settle(&result("2")), Ok("ours"));
    // An id that was settled can be tracked again.
    asked.track(&Id::from("a-1"), "theirs again").unwrap();
}

#[test]
fn outbound_knows_deadlines() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut asked = Outbound::new(10);
    let ids: Vec<_> = (0..5).map(|value| asked.issue(value).unwrap()).collect();
    assert_eq!((asked.next_deadline(), asked.take_expired(at(1000))), (None, None));
    for (id, seconds) in ids.iter().zip([30, 10, 20, 10]) {
        assert!(asked.set_deadline(id, at(seconds)));
    }
    assert!(!asked.set_deadline(&Id::from(77), at(1)));
    assert_eq!(asked.next_deadline(), Some(at(10)));
    // Moved, answered, withdrawn.
    assert!(asked.set_deadline(&ids[0], at(5)) && asked.set_deadline(&ids[0], at(25)));
    let line = format!(r#"{{"jsonrpc":"2.0","id":{},"result":1}}"#, ids[1].as_json());
    assert_eq!(asked.settle(&response(&line)), Ok(1));
    assert_eq!(asked.take_expired(at(9)), None);
    assert_eq!(asked.take_expired(at(10)), Some((ids[3].clone(), 3)));
    assert_eq!(asked.take_expired(at(10)), None);
    assert_eq!(asked.next_deadline(), Some(at(20)));
    assert_eq!(asked.withdraw(&ids[2]), Some(2));
    assert_eq!(asked.take_expired(at(24)), None);
    assert_eq!(asked.take_expired(at(100)), Some((ids[0].clone(), 0)));
    assert_eq!(asked.drain().collect::<Vec<_>>(), [(ids[4].clone(), 4)]);
    assert_eq!(asked.next_deadline(), None);
}

/// One operation of a random walk.
#[derive(Clone, Debug)]
enum Op {
    Admit(u8),
    /// Turns a ticket into an answer.
    Respond(u8, Payload),
    DropTicket(u8),
    DropAnswer(u8),
    Accept(u8),
    /// Joins answers, as an array or as lines, and accepts or drops the result.
    Join {
        array: bool,
        accept: bool,
    },
    Cancel(u8),
    SendDropped,
    /// Answers everything, and accepts all or none.
    AnswerRest {
        accept: bool,
    },
}

#[derive(Clone, Copy, Debug)]
enum Payload {
    Fine,
    NotEncodable,
    Panics,
    Error,
}

impl Arbitrary for Op {
    fn arbitrary(g: &mut Gen) -> Self {
        let which = u8::arbitrary(g) % 8;
        match u8::arbitrary(g) % 20 {
            0..=6 => Self::Admit(which),
            7..=10 => {
                let payloads = [Payload::Fine, Payload::NotEncodable, Payload::Panics, Payload::Error];
                Self::Respond(which, *g.choose(&payloads).unwrap())
            }
            11 => Self::DropTicket(which),
            12 => Self::DropAnswer(which),
            13..=14 => Self::Accept(which),
            15 => Self::Join { array: bool::arbitrary(g), accept: bool::arbitrary(g) },
            16 => Self::Cancel(which),
            17..=18 => Self::SendDropped,
            _ => Self::AnswerRest { accept: bool::arbitrary(g) },
        }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        match self.clone() {
            Self::Admit(which) => Box::new(which.shrink().map(Self::Admit)),
            Self::Respond(which, Payload::Fine) => {
                Box::new(which.shrink().map(|which| Self::Respond(which, Payload::Fine)))
            }
            Self::Respond(which, _) => Box::new([Self::Respond(which, Payload::Fine)].into_iter()),
            Self::DropTicket(which) => Box::new(which.shrink().map(Self::DropTicket)),
            Self::DropAnswer(which) => Box::new(which.shrink().map(Self::DropAnswer)),
            Self::Accept(which) => Box::new(which.shrink().map(Self::Accept)),
            Self::Cancel(which) => Box::new(which.shrink().map(Self::Cancel)),
            Self::Join { array: true, accept } => Box::new([Self::Join { array: false, accept }].into_iter()),
            _ => Box::new(std::iter::empty()),
        }
    }
}

/// The model: each request ever made, by its id, and its state. It has no slots, no queue and no locks.
struct Made {
    id: String,
    cancelled: bool,
    /// Whether its ticket or an answer to it was dropped.
    dropped: bool,
    settled: bool,
    /// Whether a response must be on the wire.
    answered: bool,
}

struct Walk {
    mcp: bool,
    owed: Inbound,
    made: Vec<Made>,
    /// Each with the request that it is for.
    tickets: Vec<(usize, Ticket)>,
    answers: Vec<(usize, Answer)>,
    wire: Vec<u8>,
    /// A deliberate mistake, which the test must find: a dropped answer counts as sent.
    is_planted: bool,
}

impl Walk {
    const LIMIT: usize = 6;

    fn new(mcp: bool, is_planted: bool) -> Self {
        let rules = if mcp { Rules::mcp().batches(true) } else { Rules::json_rpc() };
        let owed = Inbound::new(rules, Self::LIMIT);
        Self { mcp, owed, made: vec![], tickets: vec![], answers: vec![], wire: vec![], is_planted }
    }

    fn in_flight(&self) -> usize {
        self.made.iter().filter(|made| !made.settled).count()
    }

    /// The model settles a request.
    fn settle(&mut self, at: usize) {
        let made = &mut self.made[at];
        if !made.settled {
            made.settled = true;
            made.answered = !(made.cancelled && self.mcp);
        }
    }

    fn accept(&mut self, at: usize, answer: Answer) {
        self.wire.extend_from_slice(&answer.accept());
        self.settle(at);
    }

    /// Whether the request needs no answer any more, so that dropping it settles it.
    fn is_moot(&self, at: usize) -> bool {
        self.made[at].settled || self.made[at].cancelled && self.mcp
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Admit(which) => {
                let id = which.to_string();
                let in_use = self.made.iter().any(|made| !made.settled && made.id == id);
                let expected = match () {
                    () if in_use => Some(Refusal::Duplicate),
                    () if self.in_flight() >= Self::LIMIT => Some(Refusal::TooMany),
                    () => None,
                };
                let at = self.made.len();
                match admit(&self.owed, &id) {
                    Ok(ticket) => {
                        assert_eq!(expected, None);
                        self.tickets.push((at, ticket));
                        self.made.push(Made { id, cancelled: false, dropped: false, settled: false, answered: false });
                    }
                    Err(refusal) => {
                        assert_eq!(refusal.refusal(), expected);
                        self.wire.extend_from_slice(&refusal.accept());
                        self.made.push(Made { id, cancelled: false, dropped: false, settled: true, answered: true });
                    }
                }
            }
            Op::Respond(which, payload) => {
                let Some((at, ticket)) = take(&mut self.tickets, which) else { return };
                let answer = catch_unwind(AssertUnwindSafe(|| match payload {
                    Payload::Fine => ticket.respond(&json!({"x": which})),
                    Payload::NotEncodable => ticket.respond(&f64::NAN),
                    Payload::Panics => ticket.respond(&Panics),
                    Payload::Error => ticket.fail(&RpcError::invalid_params("no")),
                }));
                match answer {
                    Ok(answer) => self.answers.push((at, answer)),
                    Err(_) => self.has_dropped(at),
                }
            }
            Op::DropTicket(which) => {
                let Some((at, ticket)) = take(&mut self.tickets, which) else { return };
                drop(ticket);
                self.has_dropped(at);
            }
            Op::DropAnswer(which) => {
                let Some((at, answer)) = take(&mut self.answers, which) else { return };
                drop(answer);
                self.has_dropped(at);
                if self.is_planted {
                    self.settle(at);
                }
            }
            Op::Accept(which) => {
                if let Some((at, answer)) = take(&mut self.answers, which) {
                    self.accept(at, answer);
                }
            }
            Op::Join { array, accept } => {
                let (at, answers): (Vec<_>, Vec<_>) = std::mem::take(&mut self.answers).into_iter().unzip();
                let joined = if array { self.owed.batch(answers) } else { answers.into_iter().collect() };
                if accept {
                    self.wire.extend_from_slice(&joined.accept());
                    at.into_iter().for_each(|at| self.settle(at));
                } else {
                    drop(joined);
                    at.into_iter().for_each(|at| self.has_dropped(at));
                }
            }
            Op::Cancel(which) => {
                let id = Id::from(u64::from(which));
                let made = self.made.iter_mut().find(|made| !made.settled && made.id == which.to_string());
                assert_eq!(self.owed.cancel(&id), made.is_some());
                made.into_iter().for_each(|made| made.cancelled = true);
            }
            Op::SendDropped => self.send_dropped(),
            Op::AnswerRest { accept } => {
                let rest = self.owed.answer_rest(&RpcError::internal());
                assert_eq!(rest.len(), self.in_flight());
                if accept {
                    rest.into_iter().for_each(|answer| self.wire.extend_from_slice(&answer.accept()));
                    (0..self.made.len()).for_each(|at| self.settle(at));
                } else {
                    drop(rest);
                    (0..self.made.len()).for_each(|at| self.has_dropped(at));
                }
            }
        }
        assert_eq!(self.owed.in_flight(), self.in_flight());
        for (at, ticket) in &self.tickets {
            assert_eq!(ticket.is_cancelled(), self.made[*at].cancelled || self.made[*at].settled);
        }
    }

    fn has_dropped(&mut self, at: usize) {
        self.made[at].dropped = true;
        if self.is_moot(at) {
            self.settle(at);
        }
    }

    fn send_dropped(&mut self) {
        let sent: Vec<_> = self.owed.dropped().collect();
        for answer in sent {
            let line = answer.accept();
            let response = response(std::str::from_utf8(&line).unwrap().trim_end());
            let id = response.id().unwrap().as_json().to_owned();
            let at = self.made.iter().position(|made| !made.settled && made.id == id).expect("it is owed");
            self.wire.extend_from_slice(&line);
            self.settle(at);
        }
        // A request that was dropped and then cancelled is settled on the way.
        for at in 0..self.made.len() {
            if self.is_moot(at) && self.made[at].dropped {
                self.settle(at);
            }
        }
    }

    fn end(mut self) {
        std::mem::take(&mut self.answers).into_iter().for_each(|(at, answer)| self.accept(at, answer));
        for (at, ticket) in std::mem::take(&mut self.tickets) {
            drop(ticket);
            self.has_dropped(at);
        }
        self.send_dropped();
        assert_eq!((self.owed.in_flight(), self.in_flight()), (0, 0));
        let mut expected = HashMap::new();
        for made in self.made.iter().filter(|made| made.answered) {
            *expected.entry(made.id.clone()).or_default() += 1;
        }
        assert_eq!(count(&self.wire), expected);
    }
}

fn take<T>(from: &mut Vec<T>, which: u8) -> Option<T> {
    let at = usize::from(which).checked_rem(from.len())?;
    Some(from.remove(at))
}

/// The responses to each id, those in arrays included.
fn count(lines: &[u8]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let mut add = |message: Message<'_>| {
            assert!(matches!(message, Message::Response(_)));
            *counts.entry(message.id().unwrap().as_json().to_owned()).or_default() += 1;
        };
        match Frame::parse(line, &Rules::json_rpc()).unwrap() {
            Frame::Message(message) => add(message),
            Frame::Batch(batch) => batch.iter().for_each(|entry| add(entry.unwrap())),
        }
    }
    counts
}

fn walk(ops: Vec<Op>, mcp: bool, is_planted: bool) -> bool {
    common::quiet_panics_on_purpose();
    let mut walk = Walk::new(mcp, is_planted);
    ops.into_iter().for_each(|op| walk.step(op));
    walk.end();
    true
}

/// 100,000 random walks: each request is answered once, refused ones too; except cancelled ones under MCP.
#[test]
fn exactly_one_response() {
    fn property(ops: Vec<Op>, mcp: bool) -> bool {
        walk(ops, mcp, false)
    }
    let check = || QuickCheck::new().rng(Gen::new(30)).tests(25_000).quickcheck(property as fn(_, _) -> _);
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(check))));
}

/// A mistake is found, and shrunk to the shortest walk that reveals it.
#[test]
fn a_planted_mistake_shrinks() {
    fn property(ops: Vec<Op>) -> bool {
        // A panic would be printed for each attempt.
        catch_unwind(|| walk(ops, false, true)).is_ok()
    }
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let failure = QuickCheck::new().rng(Gen::new(30)).tests(10_000).quicktest(property as fn(_) -> _).unwrap_err();
    std::panic::set_hook(print);
    let shown = format!("{failure:?}");
    assert!(shown.contains(r#"["[Admit(0), Respond(0, Fine), DropAnswer(0)]"]"#), "{shown}");
}

/// Several threads share one ledger. Each has its own requests, but tickets and answers move between threads.
#[test]
fn exactly_one_response_from_several_threads() {
    const THREADS: usize = 4;
    const REQUESTS: usize = 200;
    for (round, limit) in [(0, 100), (1, 10_000), (2, 300), (3, 600)] {
        let owed = Inbound::new(Rules::json_rpc(), limit);
        let (wire, wandering) = (Mutex::new(BytesMut::new()), Mutex::new(Vec::<Ticket>::new()));
        let answers = Mutex::new(Vec::<Answer>::new());
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (owed, wire, wandering, answers) = (&owed, &wire, &wandering, &answers);
                scope.spawn(move || {
                    let mut random = common::Random::new((round * THREADS + thread) as u64);
                    let accept = |answer: Answer| answer.accept_into(&mut wire.lock().unwrap());
                    for i in 0..REQUESTS {
                        match admit(owed, &format!("\"{thread}-{i}\"")) {
                            Ok(ticket) => wandering.lock().unwrap().push(ticket),
                            Err(refusal) => accept(refusal),
                        }
                        for _ in 0..2 {
                            let ticket = {
                                let mut wandering = wandering.lock().unwrap();
                                let at = random.below(wandering.len() + 1);
                                (at < wandering.len()).then(|| wandering.swap_remove(at))
                            };
                            match (ticket, random.below(8)) {
                                (Some(ticket), 0) => drop(ticket),
                                (Some(ticket), 1) => {
                                    owed.cancel(ticket.id());
                                    assert!(ticket.is_cancelled());
                                    accept(ticket.respond(&f64::NAN));
                                }
                                (Some(ticket), 2) => drop(ticket.respond(&1)),
                                (Some(ticket), 3..=5) => answers.lock().unwrap().push(ticket.respond(&1)),
                                (Some(ticket), _) => accept(ticket.respond(&1)),
                                (None, 0) => owed.dropped().for_each(accept),
                                (None, 1) => {
                                    let answers = std::mem::take(&mut *answers.lock().unwrap());
                                    accept(owed.batch(answers));
                                }
                                (None, 2) => {
                                    owed.answer_rest(&RpcError::internal()).into_iter().step_by(2).for_each(accept);
                                }
                                _ => {}
                            }
                        }
                    }
                });
            }
        });
        let mut wire = wire.into_inner().unwrap();
        let left = wandering.into_inner().unwrap().into_iter().map(|ticket| ticket.respond(&1));
        let left: Vec<_> = left.chain(answers.into_inner().unwrap()).collect();
        left.into_iter().for_each(|answer| answer.accept_into(&mut wire));
        owed.dropped().for_each(|answer| answer.accept_into(&mut wire));
        assert_eq!((owed.in_flight(), owed.dropped().count()), (0, 0));
        let counts = count(&wire);
        assert_eq!(counts.len(), THREADS * REQUESTS);
        assert!(counts.values().all(|&count| count == 1), "{counts:?}");
    }
}

/// Threads compete for the same ids and for the last places of one ledger, while others wait for it to be idle, until it
/// is closed. No id is in flight twice, there are never too many, none is admitted after `close`, none is lost, and
/// whoever waits for the last one is woken.
#[test]
fn threads_compete_for_ids() {
    const THREADS: u64 = 6;
    const IDS: u64 = 200;
    for (round, limit) in [(0, 3), (1, 100), (2, 130), (3, 600), (4, 10_000)] {
        let owed = Inbound::new(Rules::json_rpc(), limit);
        let is_in_flight: Vec<_> = (0..IDS).map(|_| AtomicBool::new(false)).collect();
        let (in_flight, is_closed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (admitted, settled) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let given_away = Mutex::new(Vec::<Answer>::new());
        let settle = |answer: Answer| {
            let response: serde_json::Value = serde_json::from_slice(answer.as_bytes()).unwrap();
            let id = usize::try_from(response["id"].as_u64().unwrap()).unwrap();
            // Before it is accepted, because others may use the id as soon as it is.
            assert!(is_in_flight[id].swap(false, Ordering::Relaxed));
            in_flight.fetch_sub(1, Ordering::Relaxed);
            assert!(!answer.accept().is_empty());
            settled.fetch_add(1, Ordering::Relaxed);
        };
        let work = |thread: u64| {
            let mut random = common::Random::new(round * THREADS + thread);
            let (mut tickets, mut cx) = (Vec::<Ticket>::new(), Context::from_waker(Waker::noop()));
            for step in 0.. {
                let (id, was_closed) = (random.below(IDS as usize), is_closed.load(Ordering::Acquire));
                match admit(&owed, &id.to_string()) {
                    Ok(ticket) => {
                        assert!(!was_closed);
                        assert!(!is_in_flight[id].swap(true, Ordering::Relaxed), "{id} is in flight twice");
                        assert!(in_flight.fetch_add(1, Ordering::Relaxed) < limit);
                        admitted.fetch_add(1, Ordering::Relaxed);
                        tickets.push(ticket);
                    }
                    Err(refusal) => match refusal.refusal() {
                        Some(Refusal::Closed) => break,
                        reason => assert!(!was_closed && reason.is_some()),
                    },
                }
                if random.below(4) == 0 && owed.cancel(&Id::from(id as u64)) {
                    let its_ticket = tickets.iter().find(|ticket| *ticket.id() == Id::from(id as u64));
                    assert!(its_ticket.is_none_or(Ticket::is_cancelled));
                }
                while tickets.len() > 40 || !tickets.is_empty() && random.below(2) == 0 {
                    let ticket = tickets.swap_remove(random.below(tickets.len()));
                    assert!(ticket.poll_cancelled(&mut cx).is_pending() || ticket.is_cancelled());
                    match random.below(8) {
                        0 => drop(ticket),
                        1 => drop(ticket.respond(&1)),
                        2 => given_away.lock().unwrap().push(ticket.respond(&1)),
                        _ => settle(ticket.respond(&1)),
                    }
                }
                let taken = given_away.lock().unwrap().pop();
                taken.into_iter().for_each(settle);
                if random.below(8) == 0 {
                    owed.dropped().for_each(settle);
                }
                if thread == 0 && step == 3000 {
                    owed.close();
                    is_closed.store(true, Ordering::Release);
                }
            }
            tickets.into_iter().for_each(|ticket| settle(ticket.respond(&1)));
            let taken = std::mem::take(&mut *given_away.lock().unwrap());
            taken.into_iter().for_each(settle);
            owed.dropped().for_each(settle);
        };
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_closed.load(Ordering::Acquire) {
                        let _ = owed.wait_idle(Duration::from_micros(100));
                    }
                    assert!(owed.wait_idle(Duration::from_secs(60)));
                    assert_eq!(owed.in_flight(), 0);
                });
            }
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            // What the last threads gave away, or dropped, after the others had looked.
            let taken = std::mem::take(&mut *given_away.lock().unwrap());
            taken.into_iter().for_each(settle);
            owed.dropped().for_each(settle);
        });
        assert_eq!((owed.in_flight(), in_flight.into_inner()), (0, 0));
        let (admitted, settled) = (admitted.into_inner(), settled.into_inner());
        assert!(admitted == settled && admitted > 1000, "{admitted} admitted, {settled} settled");
    }
}

/// However short ids must be, a line without one is answered if the rules say so.
#[test]
fn a_null_id_always_fits() {
    for rules in [Rules::json_rpc().max_id_len(0), Rules::json_rpc().max_id_len(3)] {
        let fault = Frame::parse(b"oops", &rules).unwrap_err();
        let answer = Inbound::new(rules, 1).reply(&fault.reply().unwrap());
        assert!(answer.accept().starts_with(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#));
    }
}

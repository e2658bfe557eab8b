//! What becomes an event, and what is answered.

use std::cell::RefCell;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;

use serde_json::json;
use wireline::connection::{Config, Connection, Event, Refusal};
use wireline::{FaultKind, Frame, Framing, Message, RpcError, Rules};

use super::{Core, Explosive, Wakes, answers, common, json_rpc, lines, output, request, take_all, ticket, with};

/// Each line is one event, and is answered if it should be.
#[test]
fn one_event_for_each_line() {
    let cases: &[(&str, &[&str], &str)] = &[
        (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, &["request 1"], "1"),
        (r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#, &["request \"a\""], "\"a\""),
        (r#"{"jsonrpc":"2.0","method":"m"}"#, &["notification m"], ""),
        (r#"{"jsonrpc":"2.0","id":9,"result":1}"#, &["stray Unknown"], ""),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#, &["stray NoId"], ""),
        (r#"{"jsonrpc":"2.0","id":1,"method":1}"#, &["fault InvalidMethod"], "1:-32600"),
        ("{", &["fault UnexpectedEnd"], "null:-32700"),
        (r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}"#, &["cancelled 7 false"], ""),
        // Without an id that could be read, it is a notification like any other.
        (r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":[]}}"#, &["notification $/cancelRequest"], ""),
        (r#"{"jsonrpc":"2.0","method":"$/cancelRequest"}"#, &["notification $/cancelRequest"], ""),
        ("", &[], ""),
    ];
    for (line, kinds, expected) in cases {
        for end in ["\n", "\r\n", ""] {
            let mut connection = json_rpc();
            for byte in [line, end].concat().bytes() {
                connection.feed(&[byte]);
            }
            connection.finish();
            assert_eq!(take_all(&mut connection), *kinds, "{line}");
            assert_eq!(answers(&mut connection), *expected, "{line}");
            assert!(connection.is_done(), "{line}");
        }
    }
}

#[test]
fn an_id_is_free_again_once_it_is_answered() {
    let mut connection = json_rpc();
    connection.feed(&lines(&[&request("1"), &request("1"), &request("1.0")]));
    let first = ticket(&mut connection);
    let mut kinds = take_all(&mut connection);
    first.respond(&());
    connection.feed(&lines(&[&request("1")]));
    kinds.extend(take_all(&mut connection));
    assert_eq!(kinds, ["refused 1 Duplicate", "refused 1.0 Duplicate", "request 1"]);
    assert_eq!(answers(&mut connection), "1:-32600 1.0:-32600 1 1");
}

#[test]
fn too_many_requests_are_refused() {
    let mut connection = with(Config::new(Rules::json_rpc()).in_flight(2));
    connection.feed(&lines(&[&request("1"), &request("2"), &request("3"), &request("1")]));
    let tickets = [ticket(&mut connection), ticket(&mut connection)];
    assert_eq!(connection.in_flight(), 2);
    assert_eq!(take_all(&mut connection), ["refused 3 TooMany", "refused 1 Duplicate"]);
    drop(tickets);
    connection.feed(&lines(&[&request("3")]));
    assert_eq!(take_all(&mut connection), ["request 3"]);
    assert_eq!(answers(&mut connection), "3:-32000 1:-32600 1:-32603 2:-32603 3");
    // Nothing is ever admitted.
    let mut connection = with(Config::new(Rules::json_rpc()).in_flight(0));
    connection.feed(&lines(&[&request("1")]));
    assert_eq!(take_all(&mut connection), ["refused 1 TooMany"]);
}

/// A cancelled request is answered, except under MCP, and its id stays in use until its ticket is gone.
#[test]
fn cancellation_in_each_dialect() {
    let dialects = [
        (Rules::json_rpc(), r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#, true),
        (Rules::mcp(), r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, false),
        (Rules::acp(), r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}"#, true),
    ];
    for (rules, cancel, is_answered) in dialects {
        for how in 0..5 {
            let mut connection: Core = Connection::new(rules);
            connection.feed(&lines(&[&request("1"), &request("2"), cancel, &request("1")]));
            let (one, two) = (ticket(&mut connection), ticket(&mut connection));
            let wakes = Arc::new(Wakes::default());
            let waker = Waker::from(Arc::clone(&wakes));
            assert!(one.poll_cancelled(&mut Context::from_waker(&waker)).is_pending() && !one.is_cancelled());
            assert_eq!(take_all(&mut connection), ["cancelled 1 true", "refused 1 Duplicate"]);
            assert!(one.is_cancelled() && !two.is_cancelled());
            assert_eq!(wakes.count(), 1);
            assert!(one.poll_cancelled(&mut Context::from_waker(&waker)).is_ready());
            assert!(two.poll_cancelled(&mut Context::from_waker(&waker)).is_pending());
            let expected = match how {
                0 => {
                    drop(one);
                    "1:-32800"
                }
                1 => {
                    one.respond(&json!({}));
                    "1"
                }
                2 => {
                    one.fail(&RpcError::new(5, "x"));
                    "1:5"
                }
                3 => {
                    assert!(one.try_respond(&json!({})).is_ok());
                    "1"
                }
                _ => {
                    connection.abort(&RpcError::new(6, "x"));
                    drop(one);
                    "1:6"
                }
            };
            let mut expected = vec!["1:-32600", expected];
            expected.truncate(if is_answered { 2 } else { 1 });
            if how == 4 {
                expected.push("2:6");
            } else {
                drop(two);
                expected.push("2:-32603");
                connection.feed(&lines(&[&request("1")]));
                assert_eq!(take_all(&mut connection), ["request 1"]);
                expected.push("1");
            }
            let mut found: Vec<_> = answers(&mut connection).split(' ').map(str::to_owned).collect();
            found.sort();
            expected.sort_unstable();
            assert_eq!(found, expected, "{rules:?}, {how}");
        }
    }
}

/// Under MCP, a request that is cancelled while its result is being encoded isn't answered either.
#[test]
fn a_request_is_cancelled_while_its_result_is_encoded() {
    struct Cancels<'c>(&'c RefCell<Core>, &'static str);
    impl serde::Serialize for Cancels<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut connection = self.0.borrow_mut();
            connection.feed(&lines(&[self.1]));
            assert_eq!(take_all(&mut connection), ["cancelled 1 true"]);
            serializer.collect_map([("done", true)])
        }
    }
    let mcp = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let json_rpc = r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#;
    for (rules, cancel, expected) in [(Rules::mcp(), mcp, ""), (Rules::json_rpc(), json_rpc, "1")] {
        let connection: RefCell<Core> = RefCell::new(Connection::new(rules));
        connection.borrow_mut().feed(&lines(&[&request("1")]));
        let one = ticket(&mut connection.borrow_mut());
        one.respond(&Cancels(&connection, cancel));
        assert_eq!(answers(&mut connection.borrow_mut()), expected);
    }
}

#[test]
fn every_way_to_settle_answers_once() {
    common::quiet_panics_on_purpose();
    let relayed = br#"{"jsonrpc":"2.0","id":"theirs","result":{"n":1.00}}"#;
    let Ok(Frame::Message(Message::Response(relayed))) = Frame::parse(relayed, &Rules::json_rpc()) else { panic!() };
    let long = "x".repeat(200);
    let ways: &[(&str, &dyn Fn(wireline::connection::Ticket))] = &[
        (r#"{"jsonrpc":"2.0","id":1,"result":5}"#, &|ticket| ticket.respond(&5)),
        (r#"{"jsonrpc":"2.0","id":1,"result":5}"#, &|ticket| ticket.settle(Ok(5))),
        (r#"{"jsonrpc":"2.0","id":1,"result":5}"#, &|ticket| ticket.try_respond(&5).unwrap()),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"n":1.00}}"#, &|ticket| ticket.relay(&relayed)),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"x"}}"#, &|ticket| ticket.fail(&RpcError::new(7, "x"))),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"x"}}"#, &|ticket| {
            ticket.settle(Err::<(), _>(RpcError::new(7, "x")));
        }),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"x"}}"#, &|ticket| {
            let (ticket, error) = ticket.try_respond(&f64::NAN).unwrap_err();
            assert_eq!(ticket.id().as_json(), "1");
            assert!(error.to_string().contains("NaN"), "{error}");
            ticket.fail(&RpcError::new(7, "x"));
        }),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}"#, &drop),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}"#, &|ticket| {
            ticket.respond(&f64::NAN);
        }),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}"#, &|ticket| {
            ticket.respond(&long);
        }),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}"#, &|ticket| {
            ticket.fail(&RpcError::new(7, long.clone()));
        }),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}"#, &|ticket| {
            let unwound = thread::spawn(move || ticket.respond(&Explosive)).join();
            assert!(unwound.is_err());
        }),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}"#, &|ticket| {
            let unwound = thread::spawn(move || ticket.try_respond(&Explosive).is_ok()).join();
            assert!(unwound.is_err());
        }),
    ];
    for (expected, settle) in ways {
        for limit in [0, 150] {
            // The fallback fits any limit.
            let mut connection: Core = Connection::new(Rules::json_rpc().max_line_len(limit.max(60)));
            connection.feed(&lines(&[&request("1")]));
            let ticket = ticket(&mut connection);
            settle(ticket);
            assert_eq!(connection.in_flight(), 0);
            assert_eq!(output(&mut connection), [*expected, "\n"].concat());
        }
    }
}

#[test]
fn close_refuses_and_abort_answers() {
    let mut connection = json_rpc();
    connection.feed(&lines(&[&request("1"), &request("2"), &request("3")]));
    let one = ticket(&mut connection);
    connection.close();
    assert_eq!(take_all(&mut connection), ["refused 2 Closed", "refused 3 Closed"]);
    assert!(!one.is_cancelled());
    one.respond(&());
    let rejected = format!("2:{code} 3:{code} 1", code = Refusal::Closed.error().code());
    assert_eq!(answers(&mut connection), rejected);

    let mut connection = json_rpc();
    connection.feed(&lines(&[&request("1"), &request("2"), &request("3"), &request("1")]));
    let (one, two) = (ticket(&mut connection), ticket(&mut connection));
    two.respond(&());
    connection.peer().abort(&RpcError::new(9, "x"));
    assert_eq!(connection.in_flight(), 0);
    assert!(one.is_cancelled());
    connection.abort(&RpcError::new(10, "x"));
    one.respond(&());
    assert_eq!(take_all(&mut connection), ["refused 3 Closed", "refused 1 Closed"]);
    assert_eq!(answers(&mut connection), format!("2 1:9 3:{code} 1:{code}", code = Refusal::Closed.error().code()));
}

/// The fault of a message beyond the limit comes at its end, although none of its bytes are kept.
#[test]
fn not_done_before_the_fault_of_a_discarded_message() {
    for (framing, stream) in [
        (Framing::Lines, "x".repeat(100)),
        (Framing::ContentLength, "Content-Length: 100\r\n\r\n".to_owned()),
        (Framing::EventStream, format!("data: {}", "x".repeat(5000))),
    ] {
        let mut connection = with(Config::new(Rules::json_rpc().max_line_len(10)).framing(framing));
        connection.feed(stream.as_bytes());
        assert!(connection.next_event().is_none());
        connection.finish();
        assert!(!connection.is_done(), "{framing}");
        let Some(Event::Fault(fault)) = connection.next_event() else { panic!("no fault") };
        assert_eq!(fault.kind(), FaultKind::LineTooLong);
        assert!(connection.next_event().is_none());
        output(&mut connection);
        assert!(connection.is_done(), "{framing}");
    }
}

#[test]
fn done_is_when_all_is_taken_answered_and_written() {
    let mut connection = json_rpc();
    assert!(!connection.is_done());
    connection.feed(request("1").as_bytes());
    connection.finish();
    assert!(!connection.wants_read() && !connection.is_done(), "a line is left");
    let one = ticket(&mut connection);
    assert!(!connection.is_done(), "a request is in flight");
    one.respond(&());
    assert!(!connection.is_done() && connection.wants_write());
    let len = connection.pending().len();
    connection.advance(len - 1);
    assert!(!connection.is_done() && connection.wants_write());
    connection.advance(1);
    assert!(connection.is_done() && !connection.wants_write());
    assert!(connection.next_event().is_none());

    // A call that is lost is an event to take.
    let mut connection = json_rpc();
    connection.peer().request("m", &(), 1).unwrap();
    output(&mut connection);
    connection.finish();
    assert!(!connection.is_done());
    assert_eq!(take_all(&mut connection), ["lost 1 1 Ended"]);
    assert!(connection.is_done());
    // A batch in progress is an event to take.
    let mut connection = json_rpc();
    connection.feed(br#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]"#);
    connection.finish();
    assert!(connection.next_event().is_some() && !connection.is_done());
    assert!(connection.next_event().is_some() && connection.is_done());
}

/// Whoever settles the last request, the loop is woken, and finds its answer.
#[test]
fn a_loop_is_woken_by_tickets_elsewhere() {
    let mut connection = json_rpc();
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let cx = &mut Context::from_waker(&waker);
    connection.feed(&lines(&[&request("1"), &request("2")]));
    let (one, two) = (ticket(&mut connection), ticket(&mut connection));
    assert!(connection.poll_wake(cx).is_pending());
    thread::spawn(move || one.respond(&())).join().unwrap();
    assert_eq!(wakes.count(), 1);
    assert!(connection.poll_wake(cx).is_ready());
    assert_eq!(answers(&mut connection), "1");
    connection.finish();
    assert!(connection.poll_wake(cx).is_pending() && !connection.is_done());
    thread::spawn(move || two.respond(&())).join().unwrap();
    assert!(wakes.count() >= 2);
    assert!(connection.poll_wake(cx).is_ready());
    assert_eq!(answers(&mut connection), "2");
    assert!(connection.is_done());
}

#[test]
fn a_dropped_connection_stops_handlers_and_senders() {
    let mut connection = with(Config::new(Rules::json_rpc()).backlog(0));
    let peer = connection.peer();
    connection.feed(&lines(&[&request("1"), &request("2")]));
    let (one, two) = (ticket(&mut connection), ticket(&mut connection));
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    assert!(one.poll_cancelled(&mut Context::from_waker(&waker)).is_pending());
    peer.notify("a", &()).wait().unwrap();
    let mut waiting = peer.notify("b", &());
    assert!(super::poll(&mut waiting, &waker).is_pending());
    drop(connection);
    assert_eq!(wakes.count(), 2);
    assert!(one.is_cancelled() && two.is_cancelled());
    assert!(one.poll_cancelled(&mut Context::from_waker(&waker)).is_ready());
    one.respond(&());
    drop(two);
    assert!(matches!(super::poll(&mut waiting, &waker), std::task::Poll::Ready(Err(_))));
    assert!(peer.try_notify("c", &()).is_err());
}

/// Whenever `abort` happens while requests are admitted, their tickets know.
#[test]
fn a_ticket_that_is_aborted_while_it_is_admitted_knows() {
    let requests: Vec<u8> = (0..200).flat_map(|id| (request(&id.to_string()) + "\n").into_bytes()).collect();
    for _ in 0..200 {
        let mut connection = json_rpc();
        let peer = connection.peer();
        connection.feed(&requests);
        let aborting = thread::spawn(move || peer.abort(&RpcError::internal()));
        let mut tickets = Vec::new();
        while let Some(event) = connection.next_event() {
            if let Event::Request(_, ticket) = event {
                tickets.push(ticket);
            }
        }
        aborting.join().unwrap();
        assert!(tickets.iter().all(wireline::connection::Ticket::is_cancelled));
    }
}

/// Nothing more is read from a peer that reads nothing, so that memory is bounded.
#[test]
fn a_peer_that_reads_nothing_is_not_read_from() {
    for backlog in [0, 1000, 100_000] {
        let mut connection = with(Config::new(Rules::json_rpc()).backlog(backlog));
        let mut requests = 0;
        while connection.wants_read() {
            connection.feed(&lines(&[&request(&requests.to_string())]));
            while let Some(event) = connection.next_event() {
                if let Event::Request(_, ticket) = event {
                    ticket.respond(&"x".repeat(1000));
                    requests += 1;
                }
            }
        }
        assert_eq!(requests, backlog / 1040 + 1);
        // Lines that were read before wait.
        connection.feed(&lines(&[&request("\"last\"")]));
        assert!(connection.next_event().is_none());
        let len = connection.pending().len();
        assert!(len <= backlog + 1050);
        connection.advance(len);
        assert!(connection.wants_read() && connection.next_event().is_some());
    }
}

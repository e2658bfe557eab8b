//! Answers to the entries of a batch leave as one array, or as few as the limits permit.

use std::thread;

use serde_json::json;
use wireline::connection::{Config, Connection, Event, Refusal, Ticket};
use wireline::{RpcError, Rules};

use super::{Core, answers, json_rpc, output, request, take_all, with};

fn batch(entries: &[&str]) -> Vec<u8> {
    format!("[{}]\n", entries.join(",")).into_bytes()
}

fn requests(ids: std::ops::Range<usize>) -> Vec<u8> {
    let entries: Vec<String> = ids.map(|id| request(&id.to_string())).collect();
    batch(&entries.iter().map(String::as_str).collect::<Vec<_>>())
}

fn tickets(connection: &mut Core) -> Vec<Ticket> {
    let mut tickets = Vec::new();
    while let Some(event) = connection.next_event() {
        if let Event::Request(_, ticket) = event {
            tickets.push(ticket);
        }
    }
    tickets
}

/// Each entry is one event. What must be answered is, in one array.
#[test]
fn one_event_for_each_entry() {
    let (one, two) = (request("1"), request("2"));
    let note = r#"{"jsonrpc":"2.0","method":"note"}"#;
    let cancel = r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#;
    let cases: &[(&[&str], &[&str], &str)] = &[
        (&[&one], &["request 1"], "[1]"),
        (&[&one, note, &two], &["request 1", "notification note", "request 2"], "[1 2]"),
        (&[note, note], &["notification note"; 2], ""),
        (&[note, "1"], &["notification note", "fault NotAnObject"], "[null:-32600]"),
        (&["1", "[]", &one], &["fault NotAnObject", "fault NotAnObject", "request 1"], "[null:-32600 null:-32600 1]"),
        (&[r#"{"jsonrpc":"2.0","id":5,"method":1}"#, &one], &["fault InvalidMethod", "request 1"], "[5:-32600 1]"),
        (&[r#"{"jsonrpc":"2.0","id":5,"result":1}"#], &["stray Unknown"], ""),
        (&[cancel, &one], &["cancelled 1 false", "request 1"], "[1]"),
        (&[], &["fault EmptyBatch"], "null:-32600"),
    ];
    for (entries, kinds, expected) in cases {
        let mut connection = json_rpc();
        connection.feed(&batch(entries));
        assert_eq!(take_all(&mut connection), *kinds);
        assert_eq!(answers(&mut connection), *expected);
        connection.finish();
        assert!(connection.is_done());
    }
}

#[test]
fn entries_are_refused_in_the_array() {
    let mut connection = with(Config::new(Rules::json_rpc()).in_flight(2));
    connection.feed(&batch(&[&request("1"), &request("1"), &request("2"), &request("3"), &request("4")]));
    let tickets = tickets(&mut connection);
    assert_eq!((tickets.len(), connection.in_flight()), (2, 2));
    assert_eq!(answers(&mut connection), "");
    drop(tickets);
    assert_eq!(answers(&mut connection), "[1:-32600 3:-32000 4:-32000 1:-32603 2:-32603]");
    // All of them.
    connection.close();
    connection.feed(&requests(1..3));
    take_all(&mut connection);
    let code = Refusal::Closed.error().code();
    assert_eq!(answers(&mut connection), format!("[1:{code} 2:{code}]"));
}

/// Whatever the order in which entries of several batches are settled, and in whichever thread.
#[test]
fn arrays_leave_when_they_are_complete() {
    let mut connection = json_rpc();
    connection.feed(&[requests(0..3), requests(3..6)].concat());
    let mut tickets = tickets(&mut connection);
    let last = tickets.remove(4);
    connection.feed(format!("{}\n", request("9")).as_bytes());
    take_all(&mut connection);
    tickets.reverse();
    thread::spawn(move || tickets.into_iter().for_each(|ticket| ticket.respond(&()))).join().unwrap();
    assert_eq!(answers(&mut connection), "9 [2 1 0]");
    drop(last);
    assert_eq!(answers(&mut connection), "[5 3 4:-32603]");
}

/// An array starts to leave only when the last entry has been handed out.
#[test]
fn an_array_waits_for_entries_that_are_not_handed_out() {
    let mut connection = json_rpc();
    connection.feed(&requests(0..3));
    for id in 0..3 {
        assert_eq!(answers(&mut connection), "");
        match connection.next_event() {
            Some(Event::Request(request, ticket)) => {
                assert_eq!(request.id().as_u64(), Some(id));
                ticket.respond(&());
            }
            event => panic!("{event:?}"),
        }
    }
    assert_eq!(answers(&mut connection), "[0 1 2]");
}

#[test]
fn abort_answers_in_the_array() {
    for taken in 0_usize..=4 {
        let mut connection = json_rpc();
        connection.feed(&requests(0..4));
        let mut tickets: Vec<Ticket> = (0..taken)
            .map(|_| match connection.next_event() {
                Some(Event::Request(_, ticket)) => ticket,
                event => panic!("{event:?}"),
            })
            .collect();
        if let Some(ticket) = tickets.pop() {
            ticket.respond(&());
        }
        for _ in 0..2 {
            connection.abort(&RpcError::new(9, "x"));
        }
        take_all(&mut connection);
        drop(tickets);
        let code = Refusal::Closed.error().code().to_string();
        let mut expected: Vec<String> = Vec::new();
        expected.extend(taken.checked_sub(1).map(|id| id.to_string()));
        expected.extend((1..taken).map(|id| format!("{}:9", id - 1)));
        expected.extend((taken..4).map(|id| format!("{id}:{code}")));
        assert_eq!(answers(&mut connection), format!("[{}]", expected.join(" ")));
    }
}

/// `abort` while another thread settles: still one array with one answer for each entry.
#[test]
fn abort_races_with_tickets() {
    for _ in 0..300 {
        let mut connection = json_rpc();
        connection.feed(&requests(0..6));
        let tickets = tickets(&mut connection);
        let settling = thread::spawn(move || tickets.into_iter().for_each(|ticket| ticket.respond(&())));
        connection.abort(&RpcError::new(9, "x"));
        settling.join().unwrap();
        let answers = answers(&mut connection);
        let mut ids: Vec<&str> =
            answers.trim_matches(['[', ']']).split(' ').map(|one| one.split(':').next().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(ids, ["0", "1", "2", "3", "4", "5"], "{answers}");
        assert!(answers.starts_with('[') && answers.matches('[').count() == 1);
    }
}

/// The arrays that answers of 60 bytes are split into, by each limit.
#[test]
fn limits_split_arrays() {
    let rules = Rules::json_rpc();
    let cases = [
        (Config::new(rules), "[1 2 3 4 5]"),
        (Config::new(rules.max_batch_len(5)), "[1 2 3 4 5]"),
        (Config::new(rules.max_line_len(306)), "[1 2 3 4 5]"),
        (Config::new(rules.max_line_len(305)), "[1 2 3 4] [5]"),
        (Config::new(rules.max_line_len(245)), "[1 2 3 4] [5]"),
        (Config::new(rules.max_line_len(244)), "[1 2 3] [4 5]"),
        // All that wait leave when they are too long together.
        (Config::new(rules).backlog(305), "[1 2 3 4 5]"),
        (Config::new(rules).backlog(244), "[1 2 3 4 5]"),
        (Config::new(rules).backlog(243), "[1 2 3 4] [5]"),
        (Config::new(rules).backlog(0), "[1] [2] [3] [4] [5]"),
    ];
    for (config, expected) in cases {
        // Shorter than the answers, so that the batch itself isn't too long.
        let entries: Vec<String> = (1..6).map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":""}}"#)).collect();
        let mut connection = with(config);
        connection.feed(format!("[{}]\n", entries.join(",")).as_bytes());
        let mut found = Vec::new();
        while let Some(event) = connection.next_event() {
            match event {
                Event::Request(_, ticket) => ticket.respond(&"x".repeat(24)),
                event => panic!("{event:?}"),
            }
            let written = answers(&mut connection);
            found.extend((!written.is_empty()).then_some(written));
        }
        assert_eq!(found.join(" "), expected, "{config:?}");
    }
    // More entries than the limit are a fault.
    let mut connection: Core = Connection::new(rules.max_batch_len(2));
    connection.feed(&requests(0..3));
    assert_eq!(take_all(&mut connection), ["fault BatchTooLong"]);
    assert_eq!(answers(&mut connection), "null:-32600");
}

/// What is too deep or too long for an array leaves on its own.
#[test]
fn what_does_not_fit_an_array_leaves_alone() {
    let mut connection: Core = Connection::new(Rules::json_rpc().max_depth(4));
    connection.feed(&requests(0..3));
    let mut tickets = tickets(&mut connection).into_iter();
    tickets.next().unwrap().respond(&json!([[[[1]]]])); // replaced
    tickets.next().unwrap().respond(&json!([[[1]]])); // only fits a line of its own
    tickets.next().unwrap().respond(&json!([[1]]));
    assert_eq!(answers(&mut connection), "1 [0:-32603 2]");

    let mut connection: Core = Connection::new(Rules::json_rpc().max_line_len(130));
    connection.feed(&requests(0..2));
    let mut tickets = self::tickets(&mut connection).into_iter();
    let line = r#"{"jsonrpc":"2.0","id":0,"result":""}"#.len();
    tickets.next().unwrap().respond(&"x".repeat(129 - line));
    tickets.next().unwrap().respond(&"x".repeat(128 - line));
    assert_eq!(answers(&mut connection), "0 [1]");
}

/// Faulty entries whose position doesn't fit are answered briefly.
#[test]
fn faulty_entries_fit_any_limit() {
    let mut connection: Core = Connection::new(Rules::json_rpc().max_line_len(80).max_depth(3));
    let id = "x".repeat(40);
    connection.feed(format!("[1,{{\"id\":\"{id}\",\"method\":1}}]\n").as_bytes());
    assert_eq!(take_all(&mut connection).len(), 2);
    let output = output(&mut connection);
    assert!(output.lines().all(|line| line.starts_with('[') && line.len() <= 128), "{output}");
    assert_eq!(output.matches("\"error\"").count(), 2);
}

/// Under MCP, a cancelled entry leaves no trace in the array, and no array if it was the only one.
#[test]
fn cancelled_entries_under_mcp() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    for (entries, expected) in [(vec!["1", "2"], "[2]"), (vec!["1"], "")] {
        let mut connection: Core = Connection::new(Rules::mcp().batches(true));
        let entries: Vec<String> = entries.into_iter().map(request).collect();
        connection.feed(&batch(&entries.iter().map(String::as_str).collect::<Vec<_>>()));
        let tickets = tickets(&mut connection);
        connection.feed(&[cancel.as_bytes(), b"\n"].concat());
        take_all(&mut connection);
        tickets.into_iter().for_each(|ticket| ticket.respond(&json!({})));
        assert_eq!(answers(&mut connection), expected);
        connection.finish();
        assert!(connection.next_event().is_none() && connection.is_done());
    }
}

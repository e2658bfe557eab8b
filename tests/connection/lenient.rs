//! Leniency on request: ids of the other type, and line separators that some readers split at.

use serde_json::{Value, json};
use wireline::connection::{Connection, Event, Lost};
use wireline::{Encoder, Frame, Id, Message, RawJson, RpcError, Rules};

use super::{Core, output, take_all};

fn result(id: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")
}

fn loose() -> Core {
    Connection::new(Rules::json_rpc().loose_ids(true))
}

/// Feeds a response, and returns whether it was matched, and if so whether loosely.
fn feed(connection: &mut Core, id: &str) -> Option<(u32, bool)> {
    connection.feed(result(id).as_bytes());
    match connection.next_event() {
        Some(Event::Response(response, value)) => Some((value, response.has_loose_id())),
        Some(Event::Stray(response, _)) => {
            assert!(!response.has_loose_id());
            None
        }
        event => panic!("{event:?}"),
    }
}

#[test]
fn an_id_of_the_other_type_matches_on_request() {
    let mut connection = loose();
    for value in 1..=4 {
        connection.peer().request("m", &(), value).unwrap();
    }
    assert_eq!(feed(&mut connection, "\"2\""), Some((2, true)));
    assert_eq!(feed(&mut connection, "1"), Some((1, false)));
    assert_eq!(feed(&mut connection, "\"\\u0033\""), Some((3, true)));
    for other in ["\"2\"", "2", "\"1\"", "\"04\"", "\"4.0\"", "\" 4\"", "\"+4\"", "\"5\"", "\"\"", "\"a\""] {
        assert_eq!(feed(&mut connection, other), None, "{other}");
    }
    assert_eq!(feed(&mut connection, "\"4\""), Some((4, true)));

    let mut connection = loose();
    for (id, value) in [("\"7\"", 7), ("\"x\"", 8), ("\"-1\"", 9)] {
        assert!(connection.peer().track(&Id::parse(id).unwrap(), value));
    }
    assert_eq!(feed(&mut connection, "7.0"), Some((7, true)));
    assert_eq!(feed(&mut connection, "-1"), Some((9, true)));
    assert_eq!(feed(&mut connection, "\"x\""), Some((8, false)));

    // Not unless asked for.
    let mut connection: Core = Connection::new(Rules::json_rpc());
    connection.peer().request("m", &(), 1).unwrap();
    assert_eq!(feed(&mut connection, "\"1\""), None);
    assert_eq!(feed(&mut connection, "1"), Some((1, false)));
}

/// Once ids of both types were sent, a second answer to one must not settle the other.
#[test]
fn ids_of_both_types_match_exactly() {
    let mut connection = loose();
    let peer = connection.peer();
    let first = peer.request("m", &(), 1).unwrap();
    assert!(peer.track(&Id::from("1"), 2));
    assert_eq!(first, Id::from(1));
    assert_eq!(feed(&mut connection, "\"1\""), Some((2, false)));
    assert_eq!(feed(&mut connection, "\"1\""), None);
    assert_eq!(feed(&mut connection, "1"), Some((1, false)));
    assert_eq!(feed(&mut connection, "1"), None);
    assert!(peer.track(&Id::from("2"), 3));
    assert_eq!(feed(&mut connection, "2"), None);
    // A string that spells no integer makes no difference.
    let mut connection = loose();
    connection.peer().request("m", &(), 1).unwrap();
    assert!(connection.peer().track(&Id::from("a-1"), 2));
    assert_eq!(feed(&mut connection, "\"1\""), Some((1, true)));
}

#[test]
fn a_faulty_response_fails_the_call_that_it_was_for() {
    let mut connection = loose();
    let id = connection.peer().request("m", &(), 5).unwrap();
    connection.feed(b"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":1,\"error\":2}\n");
    let Some(Event::Lost(lost, 5, Lost::Faulty(fault))) = connection.next_event() else { panic!("not lost") };
    assert_eq!((lost, fault.id().unwrap().as_json()), (id, "\"1\""));
}

/// A response with a loose id can be relayed.
#[test]
fn a_loose_response_is_relayed() {
    let rules = Rules::mcp().loose_ids(true);
    let (mut near, mut far): (Core, Core) = (Connection::new(rules), Connection::new(rules));
    near.feed(b"{\"jsonrpc\":\"2.0\",\"id\":\"caller\",\"method\":\"m\"}\n");
    let Some(Event::Request(request, ticket)) = near.next_event() else { panic!("no request") };
    far.peer().forward_request(&request, 1).unwrap();
    far.feed(result("\"1\"").as_bytes());
    let Some(Event::Response(response, 1)) = far.next_event() else { panic!("no response") };
    ticket.relay(&response);
    assert_eq!(output(&mut near), result("\"caller\""));
}

const SEPARATED: &str = "a\u{2028}b\u{2029}\u{2028}c\u{2027}é";
const ESCAPED: &str = r"a\u2028b\u2029\u2028c";

fn is_free(text: &str) -> bool {
    !text.contains(['\u{2028}', '\u{2029}'])
}

/// Every way to emit a message escapes, without changing its value.
#[test]
fn line_separators_are_escaped_everywhere() {
    let rules = Rules::json_rpc().escape_line_separators(true);
    let line = format!(r#"{{"jsonrpc":"2.0","id":"{SEPARATED}","method":"{SEPARATED}","params":{{"{SEPARATED}":1}}}}"#);
    let response = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{SEPARATED}"}}"#);
    let (request, text) = (parse(&line), RawJson::parse(line.as_bytes()).unwrap());
    let id = Id::from(SEPARATED);
    let error = RpcError::new(1, SEPARATED).with_data(&[SEPARATED]).unwrap();
    type Way<'w> = &'w dyn Fn(&mut Encoder<'_>) -> Result<(), wireline::EncodeError>;
    let ways: [Way<'_>; 14] = [
        &|encoder| encoder.request(&id, SEPARATED, &json!({SEPARATED: SEPARATED})),
        &|encoder| encoder.notification(SEPARATED, &[SEPARATED]),
        &|encoder| encoder.response(&id, SEPARATED),
        &|encoder| encoder.response(&Id::from(1), &text),
        &|encoder| encoder.error(&id, &error),
        &|encoder| encoder.message(&serde_json::from_str::<Value>(&line).unwrap()),
        &|encoder| encoder.raw(line.as_bytes()),
        &|encoder| encoder.flatten(format!("\n{line}\n").as_bytes()),
        &|encoder| encoder.normalize(line.as_bytes()),
        &|encoder| encoder.forward(&request),
        &|encoder| encoder.forward_with_id(&request, &id),
        &|encoder| encoder.forward_with_id(&parse(&response), &id),
        &|encoder| encoder.forward_with(&request, &id, "/method", SEPARATED),
        &|encoder| encoder.raw(br#"{"jsonrpc":"2.0","method":"none"}"#),
    ];
    for (number, way) in ways.iter().enumerate() {
        let emitted = |rules: Rules, batched: bool| {
            let mut encoder = Encoder::new(rules);
            match batched {
                true => encoder.batch(|batch| way(batch).and_then(|()| way(batch))).unwrap(),
                false => way(&mut encoder).unwrap(),
            }
            String::from_utf8(encoder.take().to_vec()).unwrap()
        };
        for batched in [false, true] {
            let (plain, escaped) = (emitted(Rules::json_rpc(), batched), emitted(rules, batched));
            assert!(is_free(&escaped) && escaped.ends_with('\n'), "{number}: {escaped}");
            let values = [&plain, &escaped].map(|line| serde_json::from_str::<Value>(line).unwrap());
            assert_eq!(values[0], values[1]);
            let expected = plain.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
            assert_eq!(escaped, expected, "{number}");
            assert_eq!(escaped.contains(ESCAPED), number + 1 < ways.len());
        }
    }
}

fn parse(line: &str) -> Message<'_> {
    match Frame::parse(line.as_bytes(), &Rules::json_rpc()) {
        Ok(Frame::Message(message)) => message,
        other => panic!("{other:?}"),
    }
}

/// The escapes count: a line fits exactly, or nothing of it is emitted.
#[test]
fn escapes_count_towards_the_limit() {
    let emit = |limit: usize| {
        let mut encoder = Encoder::new(Rules::json_rpc().escape_line_separators(true).max_line_len(limit));
        encoder.notification("before", &()).unwrap();
        let before = encoder.as_bytes().len();
        let sent = encoder.notification("m", &["\u{2028}\u{2029}"]);
        let len = encoder.as_bytes().len() - before;
        (sent.is_ok(), len)
    };
    let line = r#"{"jsonrpc":"2.0","method":"m","params":["\u2028\u2029"]}"#;
    assert_eq!(emit(line.len()), (true, line.len() + 1));
    assert_eq!(emit(line.len() - 1), (false, 0));
}

/// A connection escapes in calls, answers, errors, relays and answers to faults. However long the id, there is an answer.
#[test]
fn a_connection_escapes_line_separators() {
    for limit in [0, 128, 200, 400, 1 << 20] {
        let rules = Rules::json_rpc().escape_line_separators(true).max_line_len(1 << 20);
        let longest = rules.max_line_len(limit).settings().max_id_len;
        let id = format!("\"{}\"", "\u{2028}".repeat((longest - 2) / 3));
        let rules = rules.max_line_len(limit.max(id.len() + 60));
        if rules.settings().max_id_len < id.len() {
            continue;
        }
        for settle in 0..4 {
            let mut connection: Core = Connection::new(rules);
            connection.feed(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"m\"}}\n").as_bytes());
            let Some(Event::Request(_, ticket)) = connection.next_event() else { panic!("no request: {limit}") };
            match settle {
                0 => ticket.respond("\u{2029}"),
                1 => ticket.fail(&RpcError::new(1, "\u{2029}".repeat(100))),
                2 => ticket.relay(&match parse(&result("1").replace("{}}", "\"\u{2028}\"}")) {
                    Message::Response(response) => response.into_owned(),
                    _ => panic!(),
                }),
                _ => drop(ticket),
            }
            let sent = output(&mut connection);
            assert!(is_free(&sent) && sent.matches('\n').count() == 1, "{limit} {settle}: {sent}");
        }
        let mut connection: Core = Connection::new(rules);
        connection.feed(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":1}}\n").as_bytes());
        assert_eq!(take_all(&mut connection).len(), 1);
        let sent = output(&mut connection);
        assert!(is_free(&sent) && sent.contains("-32600"), "{limit}: {sent}");
    }
    let mut connection: Core = Connection::new(Rules::mcp().escape_line_separators(true));
    let peer = connection.peer();
    peer.request("m", &json!({"a": SEPARATED}), 1).unwrap();
    peer.try_notify("n", &json!({"a": SEPARATED})).unwrap();
    assert!(is_free(&output(&mut connection)));
}

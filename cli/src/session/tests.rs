use wireline::{Frame, Rules};

use super::methods::{MAX_METHODS, MAX_NAME_COLUMNS, OTHERS};
use super::pending::{MAX_ID_LEN, MAX_PENDING};
use super::*;
use Side::{Client, Server};

/// Sends a line, a millisecond after the one before. Returns the role of the message.
fn send(session: &mut Session, from: Side, line: &str) -> Option<Role> {
    let sent_before = session.traffic.iter().map(|traffic| traffic.messages + traffic.faults).sum();
    let at = Some(Duration::from_millis(sent_before));
    // Ids may be longer than a session keeps.
    match Frame::parse(line.as_bytes(), &Rules::json_rpc().max_id_len(usize::MAX)) {
        Ok(Frame::Message(message)) => Some(session.add_message(from, &message, at)),
        Ok(Frame::Batch(_)) => panic!("expected a message"),
        Err(fault) => {
            session.add_fault(from, &fault, at);
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

/// Asserts that a message responds to a method after some milliseconds.
#[track_caller]
fn assert_response(session: &Session, role: Option<Role>, method: &str, milliseconds: u64) {
    let Some(Role::Response { method: index, latency, .. }) = role else { panic!("expected a response, not {role:?}") };
    assert_eq!(session.methods[index].name, method);
    assert_eq!(latency, Some(Duration::from_millis(milliseconds)));
}

fn requests_and_failures(session: &Session) -> Vec<(u64, u64)> {
    session.methods.iter().map(|method| (method.requests, method.failures)).collect()
}

const CALL: Option<Role> = Some(Role::Call { subject: None, reuses_id: false });
const UNMATCHED: Option<Role> = Some(Role::UnmatchedResponse { has_other_type: false });

#[test]
fn responses_are_matched_by_id_and_side() {
    let mut session = Session::new(Protocols::ANY);
    assert_eq!(send(&mut session, Client, &request("1", "a")), CALL);
    assert_eq!(send(&mut session, Server, &request("1", "b")), CALL);
    assert_eq!(send(&mut session, Client, &request("\"1\"", "a")), CALL);
    let role = send(&mut session, Server, &result("1.0"));
    assert_response(&session, role, "a", 3);
    let role = send(&mut session, Client, &error("1"));
    assert_response(&session, role, "b", 3);
    let role = send(&mut session, Server, &error("1"));
    assert_eq!(role, Some(Role::UnmatchedResponse { has_other_type: true }));
    assert_eq!(requests_and_failures(&session), [(2, 0), (1, 1)]);
    session.end(Some(Duration::from_millis(9)));
    let [unanswered] = &session.unanswered.first[..] else { panic!("expected one") };
    assert_eq!(unanswered.id, "#\"1\"");
    assert_eq!(unanswered.times, Some((Duration::from_millis(2), Duration::from_millis(7))));
    assert_eq!(session.unmatched.first, [SentId { from: Server, id: "#1".to_owned() }]);
}

#[test]
fn reused_id_is_noticed() {
    let mut session = Session::new(Protocols::ANY);
    send(&mut session, Client, &request("1", "a"));
    assert_eq!(send(&mut session, Client, &request("1", "b")), Some(Role::Call { subject: None, reuses_id: true }));
    let role = send(&mut session, Server, &result("1"));
    assert_response(&session, role, "a", 2);
    let role = send(&mut session, Server, &result("1"));
    assert_response(&session, role, "b", 2);
    assert_eq!(send(&mut session, Server, &result("1")), UNMATCHED);
    assert_eq!(send(&mut session, Client, &request("1", "a")), CALL);
    session.end(None);
    assert_eq!((session.reused.count, session.unmatched.count, session.unanswered.count), (1, 1, 1));
}

#[test]
fn faulty_lines_are_requests_and_responses_too() {
    let mut session = Session::new(Protocols::ANY);
    // With an id, and without.
    send(&mut session, Client, r#"{"jsonrpc":"2.0","id":7,"method":7}"#);
    let role = send(&mut session, Server, &error("7"));
    assert_response(&session, role, UNREADABLE, 1);
    send(&mut session, Client, "oops");
    assert_eq!(send(&mut session, Server, &error("null")), Some(Role::ResponseToFault));
    assert_eq!(send(&mut session, Server, &error("null")), UNMATCHED);
    // A faulty response counts as an error, and its request as answered.
    send(&mut session, Client, &request("8", "a"));
    send(&mut session, Server, r#"{"jsonrpc":"2.0","id":8,"result":1,"error":2}"#);
    session.end(None);
    assert_eq!((requests_and_failures(&session)[1], session.unanswered.count), ((1, 1), 0));
    assert_eq!(session.faults().len(), 3);
}

#[test]
fn cancelled_requests_need_no_response() {
    for (method, params) in [
        ("notifications/cancelled", r#"{"requestId":"a"}"#),
        ("$/cancel_request", r#"{"requestId":"\u0061"}"#),
        ("$/cancelRequest", r#"{"id":"a"}"#),
    ] {
        let mut session = Session::new(Protocols::ANY);
        send(&mut session, Client, &request("\"a\"", "m"));
        send(&mut session, Client, &format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
        session.end(None);
        assert_eq!((session.cancelled.count, session.unanswered.count), (1, 0), "{method}");
    }
}

#[test]
fn one_stream_of_both_sides() {
    let mut session = Session::new(Protocols::ANY);
    session.set_one_stream(true);
    send(&mut session, Client, &request("1", "a"));
    let role = send(&mut session, Client, &result("1"));
    assert_response(&session, role, "a", 1);
    // In any order, and with the same ids from both sides.
    for line in [error("2"), result("3"), request("2", "b"), request("4", "a"), request("4", "a"), result("4")] {
        send(&mut session, Client, &line);
    }
    session.end(None);
    assert_eq!(requests_and_failures(&session), [(3, 0), (1, 1)]);
    assert_eq!((session.unanswered.count, session.reused.count), (1, 0));
    assert_eq!(session.unmatched.first, [SentId { from: Client, id: "#3".to_owned() }]);
}

#[test]
fn memory_is_bounded() {
    let mut session = Session::new(Protocols::ANY);
    for number in 0..MAX_PENDING + 10 {
        send(&mut session, Client, &request(&number.to_string(), &format!("m{}", number % 1000)));
    }
    assert_eq!((session.methods.iter().count(), session.untracked), (MAX_METHODS + 1, 10));
    assert_eq!(session.methods.iter().last().map(|method| method.name.as_str()), Some(OTHERS));
    send(&mut session, Server, &request(&format!("\"{}\"", "x".repeat(MAX_ID_LEN)), &"\u{7f}".repeat(1000)));
    assert_eq!(session.untracked, 11);
    let name = &session.methods.iter().last().unwrap().name;
    assert!(name.chars().count() <= MAX_NAME_COLUMNS && name.ends_with("\\x7f…"), "{name}");
}

#[test]
fn calls_are_told_apart_by_subject() {
    let mut session = Session::new(Protocols::MCP);
    let call = |id: u32, tool: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#)
    };
    for (id, tool) in [(1, "echo"), (2, "add"), (3, "echo")] {
        send(&mut session, Client, &call(id, tool));
    }
    send(&mut session, Server, r#"{"jsonrpc":"2.0","id":3,"result":{"content":[],"isError":true}}"#);
    let role = send(&mut session, Server, &result("1"));
    assert_response(&session, role, "tools/call echo", 4);
    let rows: Vec<_> =
        session.methods.iter().map(|method| (method.name.as_str(), method.requests, method.failures)).collect();
    assert_eq!(rows, [("tools/call", 3, 1), ("tools/call echo", 2, 1), ("tools/call add", 1, 0)]);
    // However many subjects there are, their number is bounded.
    for id in 4..2000 {
        send(&mut session, Client, &call(id, &format!("tool{id}")));
    }
    assert_eq!(session.methods.iter().count(), MAX_METHODS + 1);
    assert_eq!(session.methods.iter().last().unwrap().name, format!("tools/call {OTHERS}"));
}

#[test]
fn progress_and_cancellation_belong_to_a_call() {
    let mut session = Session::new(Protocols::MCP);
    let call =
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"t"}}}"#;
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    send(&mut session, Client, call);
    let Some(Role::Progress { method, id, .. }) = send(&mut session, Server, progress) else { panic!() };
    assert_eq!((session.methods[method].name.as_str(), id.as_str()), ("tools/call slow", "#7"));
    // Only the other side can be asked about progress, and only the caller can cancel.
    assert!(matches!(send(&mut session, Client, progress), Some(Role::Call { .. })));
    assert!(matches!(send(&mut session, Server, cancel), Some(Role::Call { .. })));
    let Some(Role::Cancellation { after, .. }) = send(&mut session, Client, cancel) else { panic!() };
    assert_eq!(after, Some(Duration::from_millis(4)));
    let role = send(&mut session, Server, &error("7"));
    assert!(matches!(role, Some(Role::Response { is_cancelled: true, is_failure: true, .. })));
    assert!(matches!(send(&mut session, Server, progress), Some(Role::Call { .. })), "the call is over");
    assert_eq!(session.cancelled.count, 1);
}

#[test]
fn overdue_requests_are_told_once() {
    let mut session = Session::new(Protocols::ANY);
    for id in ["1", "2", "3"] {
        send(&mut session, Client, &request(id, "m"));
    }
    let ids = |session: &mut Session, deadline| {
        let (overdue, next) = session.take_overdue(Duration::from_millis(deadline));
        (overdue.into_iter().map(|request| request.id).collect::<Vec<_>>(), next.map(|next| next.as_millis()))
    };
    assert_eq!(ids(&mut session, 1), (vec!["#1".to_owned(), "#2".to_owned()], Some(2)));
    let role = send(&mut session, Server, &result("2"));
    assert!(matches!(role, Some(Role::Response { is_overdue: true, .. })));
    assert_eq!(ids(&mut session, 5), (vec!["#3".to_owned()], None));
    assert_eq!(ids(&mut session, 9), (vec![], None));
}

#[test]
fn id_of_the_other_type_is_noticed() {
    for (sent, answered, has_other_type) in [
        ("3", "\"3\"", true),
        ("\"3\"", "3", true),
        ("\"a\"", "3", false),
        ("3", "\"three\"", false),
        ("3", "null", false),
    ] {
        let mut session = Session::new(Protocols::ANY);
        send(&mut session, Client, &request(sent, "m"));
        let role = send(&mut session, Server, &result(answered));
        assert_eq!(role, Some(Role::UnmatchedResponse { has_other_type }), "{sent} {answered}");
    }
}

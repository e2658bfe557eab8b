//! Requests and notifications to the peer.

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wireline::connection::{CallError, Caller, Config, Connection, Event, Lost, Peer, SendError};
use wireline::{Frame, Id, Message, Rules};

use super::{Core, Explosive, Wakes, answers, common, json_rpc, lines, output, poll, take_all, with};

#[test]
fn responses_come_with_their_values() {
    let mut connection = json_rpc();
    let peer = connection.peer();
    for value in 1..=4 {
        assert_eq!(peer.request("m", &(), value).unwrap(), Id::from(u64::from(value)));
    }
    assert_eq!(answers(&mut connection), "mnull mnull mnull mnull");
    connection.feed(&lines(&[
        r#"{"jsonrpc":"2.0","id":2,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
        r#"[{"jsonrpc":"2.0","id":3,"result":1},{"jsonrpc":"2.0","id":2,"result":1}]"#,
        r#"{"jsonrpc":"2.0","id":4,"result":1,"error":1}"#,
        r#"{"jsonrpc":"2.0","id":4,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":"1","result":1}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":1,"error":1}"#,
    ]));
    let kinds = take_all(&mut connection);
    let expected = [
        "result for 2",
        "error for 1",
        "result for 3",
        "stray Repeated",
        "lost 4 4 Faulty",
        "stray Repeated",
        "stray Unknown",
        "stray Unknown",
        "stray NoId",
        "fault ConflictingMembers",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(output(&mut connection), "", "responses aren't answered");
}

#[test]
fn calls_expire_when_the_program_says_so() {
    let mut connection = json_rpc();
    let peer = connection.peer();
    let now = Instant::now();
    let at = |seconds| now + Duration::from_secs(seconds);
    assert!(!peer.set_deadline(&Id::from(1), at(1)));
    let ids: Vec<_> = (0..4).map(|value| peer.request("m", &(), value).unwrap()).collect();
    assert_eq!(connection.next_deadline(), None);
    for (id, seconds) in ids.iter().zip([30, 10, 20]) {
        assert!(peer.set_deadline(id, at(seconds)));
    }
    assert_eq!(connection.next_deadline(), Some(at(10)));
    assert!(connection.next_expired(at(9)).is_none());
    assert!(peer.set_deadline(&ids[2], at(5)));
    let mut expired = Vec::new();
    while let Some(event) = connection.next_expired(at(10)) {
        expired.push(super::kind(&event));
    }
    assert_eq!(expired, ["lost 3 2 Expired", "lost 2 1 Expired"]);
    // An answer in time, and a cancellation, end the deadline.
    connection.feed(&lines(&[r#"{"jsonrpc":"2.0","id":1,"result":1}"#, r#"{"jsonrpc":"2.0","id":2,"result":1}"#]));
    assert_eq!(take_all(&mut connection), ["result for 0", "stray Repeated"]);
    assert!(peer.set_deadline(&ids[3], at(1)));
    assert_eq!(peer.cancel(&ids[3]), Some(3));
    assert_eq!((connection.next_deadline(), peer.cancel(&ids[3])), (None, None));
    let sent = answers(&mut connection);
    let cancelled: Vec<&str> = sent.split(' ').skip(4).collect();
    assert_eq!(cancelled, [r#"$/cancelRequest{"id":3}"#, r#"$/cancelRequest{"id":2}"#, r#"$/cancelRequest{"id":4}"#]);
}

#[test]
fn the_peer_is_told_in_its_dialect() {
    let dialects = [
        (Rules::json_rpc(), r#"$/cancelRequest{"id":1}"#),
        (Rules::mcp(), r#"notifications/cancelled{"requestId":1}"#),
        (Rules::acp(), r#"$/cancel_request{"requestId":1}"#),
    ];
    for (rules, expected) in dialects {
        let mut connection: Core = Connection::new(rules);
        let peer = connection.peer();
        let id = peer.request("m", &json!({}), 1).unwrap();
        output(&mut connection);
        assert_eq!(peer.cancel(&id), Some(1));
        assert_eq!(answers(&mut connection), expected);
    }
}

#[test]
fn what_is_sent_is_refused_for_a_reason() {
    common::quiet_panics_on_purpose();
    let mut connection = with(Config::new(Rules::json_rpc().max_line_len(200)).backlog(100).calls(2));
    let peer = connection.peer();
    let full = |sent: Result<_, SendError>| assert!(matches!(sent, Err(SendError::Full)));
    let unencodable = |sent: Result<_, SendError>| assert!(matches!(sent, Err(SendError::Encode(_))));
    unencodable(peer.request("m", &f64::NAN, 1).map(drop));
    unencodable(peer.try_notify("m", &1));
    unencodable(peer.try_notify("m", &["x".repeat(200)]));
    unencodable(peer.notify("m", &f64::NAN).wait());
    assert!(
        thread::spawn({
            let peer = peer.clone();
            move || peer.request("m", &Explosive, 1).is_ok()
        })
        .join()
        .is_err()
    );
    // None of these has a place.
    for value in 1..=2 {
        peer.request("m", &(), value).unwrap();
    }
    full(peer.request("m", &(), 3).map(drop));
    peer.try_notify("m", &["x".repeat(80)]).unwrap();
    full(peer.try_notify("m", &()));
    output(&mut connection);
    peer.try_notify("m", &()).unwrap();
    full(peer.request("m", &(), 3).map(drop));
    peer.end();
    let closed = |sent: Result<_, SendError>| assert!(matches!(sent, Err(SendError::Closed)));
    closed(peer.try_notify("m", &()));
    closed(peer.notify("m", &()).wait());
    peer.cancel(&Id::from(3)).unwrap();
    closed(peer.request("m", &(), 3).map(drop));
    assert_eq!(answers(&mut connection).split(' ').count(), 2, "what was queued, and the cancellation");
}

#[test]
fn a_request_is_forwarded_with_only_its_id_replaced() {
    let line = br#"{"id":"theirs","jsonrpc":"2.0","method":"m","params":{"n":1.00}}"#;
    let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &Rules::json_rpc()) else { panic!() };
    let mut connection = json_rpc();
    let id = connection.peer().forward_request(&request, 7).unwrap();
    assert_eq!(id.as_u64(), Some(1));
    assert_eq!(output(&mut connection), "{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"n\":1.00}}\n");
    connection.feed(&lines(&[r#"{"jsonrpc":"2.0","id":1,"result":1}"#]));
    assert_eq!(take_all(&mut connection), ["result for 7"]);
    let line = br#"{"jsonrpc":"2.0","method":"n","params":[ 1 ]}"#;
    let Ok(Frame::Message(message)) = Frame::parse(line, &Rules::json_rpc()) else { panic!() };
    connection.peer().forward(&message).wait().unwrap();
    assert_eq!(output(&mut connection), format!("{}\n", str::from_utf8(line).unwrap()));
}

/// Messages that wait are queued in order, also those whose futures aren't polled; those taken back aren't.
#[test]
fn those_who_wait_take_turns() {
    let mut connection = with(Config::new(Rules::json_rpc()).backlog(0));
    let peer = connection.peer();
    let wakes: Vec<Arc<Wakes>> = (0..6).map(|_| Arc::default()).collect();
    let mut sendings: Vec<_> = (0..6).map(|n| Some(peer.notify("n", &[n]))).collect();
    for (n, sending) in sendings.iter_mut().enumerate().filter(|(n, _)| *n != 4) {
        // One that is queued may be pending twice, for fairness.
        let waker = Waker::from(Arc::clone(&wakes[n]));
        let is_ready = (0..3).any(|_| poll(sending.as_mut().unwrap(), &waker).is_ready());
        assert_eq!(is_ready, n == 0);
    }
    assert!(matches!(peer.try_notify("late", &()), Err(SendError::Full)));
    sendings[2] = None;
    let mut sent = Vec::new();
    for step in 0..5 {
        let pending = connection.pending().to_vec();
        sent.push(super::describe(str::from_utf8(&pending).unwrap()));
        connection.advance(pending.len() - 1);
        assert!(step == 4 || wakes[5].count() == 0);
        connection.advance(1);
    }
    assert_eq!(sent, ["n[0]", "n[1]", "n[3]", "n[4]", "n[5]"]);
    assert!(!connection.wants_write());
    assert_eq!(wakes.iter().map(|wakes| wakes.count()).collect::<Vec<_>>()[1..], [1, 0, 1, 0, 1]);
    for sending in sendings.iter_mut().flatten() {
        assert!(matches!(poll(sending, Waker::noop()), Poll::Ready(Ok(()))));
    }
    // Answers don't wait, and neither does the reader.
    let waiting = [peer.notify("n", &[6]), peer.notify("n", &[7])];
    assert!(connection.wants_read());
    connection.feed(&lines(&["1"]));
    assert_eq!(take_all(&mut connection), ["fault NotAnObject"]);
    drop(waiting);
    assert_eq!(answers(&mut connection), "n[6] null:-32600");
}

/// Messages that wait don't pause reading, unless there are too many.
#[test]
fn reading_pauses_if_too_much_waits() {
    let connection = with(Config::new(Rules::json_rpc()).backlog(1000));
    let peer = connection.peer();
    let mut sendings = Vec::new();
    while connection.wants_read() {
        sendings.push(peer.notify("n", &["x".repeat(10_000)]));
    }
    assert!((100..110).contains(&sendings.len()), "{}", sendings.len());
    sendings.truncate(50);
    assert!(connection.wants_read());
}

#[test]
fn what_waits_is_sent_before_the_end() {
    let mut connection = with(Config::new(Rules::json_rpc()).backlog(0));
    let peer = connection.peer();
    let sendings: Vec<_> = (0..3).map(|n| peer.notify("n", &[n])).collect();
    peer.end();
    assert!(matches!(poll(&mut peer.notify("late", &()), Waker::noop()), Poll::Ready(Err(SendError::Closed))));
    connection.finish();
    assert!(!connection.is_done());
    assert_eq!(answers(&mut connection), "n[0] n[1] n[2]");
    assert!(connection.is_done());
    sendings.into_iter().for_each(|sending| sending.wait().unwrap());
}

/// A core whose requests have a `Reply`, as the drivers'. Delivers what is fed.
struct Client(Connection<Caller>);

impl Client {
    fn new(config: impl Into<Config>) -> (Peer<Caller>, Self) {
        let connection = Connection::new(config);
        (connection.peer(), Self(connection))
    }

    fn output(&mut self) -> String {
        let pending = self.0.pending().to_vec();
        self.0.advance(pending.len());
        let pending = String::from_utf8(pending).unwrap();
        pending.lines().map(super::describe).collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn a_dropped_reply_cancels_its_call() {
    let (peer, mut client) = Client::new(Config::new(Rules::json_rpc()).backlog(0));
    let first = peer.call::<Value>("m", &[1]);
    assert_eq!(first.id(), Some(&Id::from(1)));
    let waiting = peer.call::<Value>("m", &[2]);
    let third = peer.call::<Value>("m", &[3]);
    drop(waiting);
    drop(first);
    assert_eq!(client.output(), r#"m[1] $/cancelRequest{"id":1}"#);
    assert_eq!(client.output(), "m[3]");
    drop(third);
    assert_eq!(client.output(), r#"$/cancelRequest{"id":3}"#);
    // An expired wait is a cancellation too.
    let lost = peer.call::<Value>("m", &[4]).wait_for(Duration::from_millis(1));
    assert!(matches!(lost, Err(CallError::Lost(Lost::Expired))));
    assert_eq!(client.output(), r#"m[4] $/cancelRequest{"id":4}"#);
}

#[test]
fn a_call_ends_with_its_connection() {
    let (peer, client) = Client::new(Config::new(Rules::json_rpc()).backlog(0).calls(3));
    let (sent, waiting) = (peer.call::<Value>("m", &()), peer.call::<Value>("m", &()));
    let waiting_long = peer.call::<Value>("m", &());
    assert!(matches!(peer.call::<Value>("m", &()).wait(), Err(CallError::Send(SendError::Full))));
    let waits = thread::spawn(|| waiting.wait());
    drop(client);
    assert!(matches!(sent.wait(), Err(CallError::Lost(Lost::Ended))));
    assert!(matches!(waits.join().unwrap(), Err(CallError::Send(SendError::Closed))));
    assert!(matches!(waiting_long.wait_response(), Err(CallError::Send(SendError::Closed))));
    assert!(matches!(peer.call::<Value>("m", &()).wait(), Err(CallError::Send(SendError::Closed))));
}

/// While a response is awaited, reading goes on above the backlog, but not without end.
#[test]
fn reading_goes_on_while_a_response_is_awaited() {
    let mut connection = with(Config::new(Rules::json_rpc()).backlog(1000));
    let peer = connection.peer();
    let id = peer.request("m", &(), 1).unwrap();
    let mut written = 0;
    let mut requests = 0;
    while connection.wants_read() {
        requests += 1;
        connection.feed(&lines(&[&super::request(&requests.to_string())]));
        if let Some(Event::Request(_, ticket)) = connection.next_event() {
            ticket.respond(&"x".repeat(10_000));
            written += 10_000;
        }
    }
    assert!((1 << 20..(1 << 20) + 20_000).contains(&written), "{written}");
    // Nothing is awaited any more.
    output(&mut connection);
    peer.cancel(&id);
    connection.feed(&lines(&[&super::request("\"a\""), &super::request("\"b\"")]));
    super::ticket(&mut connection).respond(&"x".repeat(10_000));
    assert!(!connection.wants_read() && connection.next_event().is_none());
    // A request that is sent opens it again, if there is room for it.
    assert!(matches!(peer.request("m", &(), 1), Err(SendError::Full)));
}

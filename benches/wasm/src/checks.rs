//! What must work without a clock, threads and random numbers, none of which wasm32-unknown-unknown has.

#[path = "../../../tests/common/mod.rs"]
mod common;

use common::{Dialect, cases, decode};
use wireline::connection::{Config, Connection, Event};
use wireline::{Encoder, Frame, RpcError, Rules};

/// See [`check_table`](super::check_table).
pub(crate) fn table() -> usize {
    let cases = cases();
    for case in &cases {
        let line = String::from_utf8_lossy(&case.line);
        let stream = [&case.line[..], b"\n"].concat();
        for dialect in Dialect::ALL {
            let (rules, expected) = (dialect.rules(), [case.expected(dialect)]);
            assert_eq!(decode(rules, stream.chunks(1)), expected, "{dialect:?} {line}");
            for at in 0..stream.len().min(400) {
                let (one, two) = stream.split_at(at);
                assert_eq!(decode(rules, [one, two]), expected, "{dialect:?} split at {at}: {line}");
            }
            if let Ok(Frame::Message(message)) = Frame::parse(&case.line, &rules) {
                let mut encoder = Encoder::new(rules);
                encoder.forward(&message).expect("accepted under the same rules");
                assert_eq!(decode(rules, [&encoder.take()[..]]), expected, "{dialect:?} forwarded: {line}");
            }
        }
    }
    cases.len()
}

/// See [`check_session`](super::check_session).
pub(crate) fn session() -> usize {
    const CALLS: usize = 1000;
    let mut client = Connection::new(Config::new(Rules::json_rpc()).calls(CALLS));
    let mut server: Connection<()> = Connection::new(Rules::json_rpc());

    let peer = client.peer();
    let ids: Vec<_> = (0..CALLS).map(|n| peer.request("half", &[n], n).expect("a request")).collect();
    assert!(peer.request("half", &[0], 0).is_err(), "too many in flight");
    // A program without a clock calls this in place of setting deadlines.
    assert_eq!(peer.withdraw(&ids[7]), Some(7));
    peer.try_notify("log", &["\"quoted\" \u{1}"]).expect("a notification");

    let (mut tickets, mut events) = (Vec::new(), 0);
    send(&mut client, &mut server);
    server.feed(b"not JSON\n{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"m\"}\n");
    while let Some(event) = server.next_event() {
        events += 1;
        if let Event::Request(request, ticket) = event {
            let [number]: [usize; 1] = request.params_as().expect("a number");
            tickets.push((number, ticket));
        }
    }
    assert_eq!((tickets.len(), events), (CALLS, CALLS + 3));
    for (number, ticket) in tickets.into_iter().rev() {
        match number % 3 {
            0 => drop(ticket),
            1 => ticket.fail(&RpcError::method_not_found()),
            _ => ticket.respond(&serde_json::json!({ "half": number as f64 / 2.0 })),
        }
    }

    let (mut results, mut errors, mut others) = (0, 0, 0);
    send(&mut server, &mut client);
    while let Some(event) = client.next_event() {
        events += 1;
        match event {
            Event::Response(response, number) => match response.result() {
                Some(result) => {
                    let half = result.pointer("/half").and_then(|half| half.deserialize::<f64>().ok());
                    assert_eq!(half, Some(number as f64 / 2.0));
                    results += 1;
                }
                None => errors += 1,
            },
            _ => others += 1,
        }
    }
    // The others are the response to the request that was withdrawn, and those to the bad lines.
    assert_eq!((results, errors, others), (333, 666, 3));
    events
}

/// Passes on all that waits to be written.
fn send<T, U>(from: &mut Connection<T>, to: &mut Connection<U>) {
    while from.wants_write() {
        let lines = from.pending();
        to.feed(lines);
        let len = lines.len();
        from.advance(len);
    }
}

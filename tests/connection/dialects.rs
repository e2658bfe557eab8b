//! A connection writes what its dialect's peers expect.

use serde_json::json;
use wireline::connection::{Connection, Event};
use wireline::{EncodeErrorKind, Encoder, FaultKind, Frame, Id, Message, RpcError, Rules, to_line};

use super::{Core, lines, output};

/// The lines of a peer, with the lines that the connection sends.
type Exchange = [(&'static str, &'static str)];

const CODEX: &Exchange = &[
    (r#"{"id":"a","method":"answer","trace":{"traceparent":"00-4bf9"}}"#, r#"{"id":"a","result":{"ok":true}}"#),
    (r#"{"id":2,"method":"fail"}"#, r#"{"id":2,"error":{"code":5,"message":"failed","data":[1]}}"#),
    (r#"{"id":3,"method":"drop"}"#, r#"{"id":3,"error":{"code":-32603,"message":"Internal error"}}"#),
    (
        r#"{"id":4,"method":1}"#,
        r#"{"id":4,"error":{"code":-32600,"message":"Invalid Request","data":{"fault":"invalid-method","line":4,"column":18}}}"#,
    ),
    (r#"{"method":"note","params":null}"#, ""),
    (r#"{"id":null,"method":"answer"}"#, ""),
    ("noise", ""),
    (r#"{"id":9,"result":1,"error":null}"#, ""),
];

const ELECTRUM: &Exchange = &[
    (r#"{"id":1,"method":"answer","params":[]}"#, r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true}}"#),
    (
        r#"{"jsonrpc":"1.0","id":2,"method":"fail","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":5,"message":"failed","data":[1]}}"#,
    ),
    (r#"{"id":null,"method":"answer","params":[]}"#, ""),
    (
        r#"[{"id":3,"method":"answer"},{"id":null,"method":"note"},{"id":4,"method":"answer"}]"#,
        r#"[{"jsonrpc":"2.0","id":3,"result":{"ok":true}},{"jsonrpc":"2.0","id":4,"result":{"ok":true}}]"#,
    ),
    (
        "noise",
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":{"fault":"invalid-literal","line":5,"column":1}}}"#,
    ),
    (r#"{"id":null,"error":"no such thing"}"#, ""),
];

const STRATUM: &Exchange = &[
    (r#"{"id":1,"method":"answer","params":[]}"#, r#"{"id":1,"result":{"ok":true},"error":null}"#),
    (r#"{"id":2,"method":"fail","params":[]}"#, r#"{"id":2,"result":null,"error":[5,"failed",[1]]}"#),
    (r#"{"id":3,"method":"drop","params":[]}"#, r#"{"id":3,"result":null,"error":[-32603,"Internal error",null]}"#),
    (r#"{"id":null,"method":"answer","params":[]}"#, ""),
    (
        r#"{"id":5,"method":"answer","params":5}"#,
        r#"{"id":5,"result":null,"error":[-32600,"Invalid Request",{"fault":"invalid-params","line":5,"column":36}]}"#,
    ),
    (
        r#"{"id":null,"method":5}"#,
        r#"{"id":null,"result":null,"error":[-32600,"Invalid Request",{"fault":"invalid-method","line":6,"column":21}]}"#,
    ),
    (
        "noise",
        r#"{"id":null,"result":null,"error":[-32700,"Parse error",{"fault":"invalid-literal","line":7,"column":1}]}"#,
    ),
    (
        r#"[{"id":8,"method":"answer"}]"#,
        r#"{"id":null,"result":null,"error":[-32600,"Invalid Request",{"fault":"batch-not-allowed","line":8,"column":1}]}"#,
    ),
    (r#"{"id":null,"result":null,"error":[20,"JSON parse error",null]}"#, ""),
    (r#"{"id":9,"result":1,"error":[1,"both"]}"#, ""),
];

#[test]
fn answers_have_the_form_of_the_dialect() {
    for (rules, exchange) in [(Rules::codex(), CODEX), (Rules::electrum(), ELECTRUM), (Rules::stratum(), STRATUM)] {
        let mut connection: Core = Connection::new(rules);
        for (received, sent) in exchange {
            connection.feed(&lines(&[received]));
            while let Some(event) = connection.next_event() {
                let Event::Request(request, ticket) = event else { continue };
                match &*request.method() {
                    "answer" => ticket.respond(&json!({"ok": true})),
                    "fail" => ticket.fail(&RpcError::new(5, "failed").with_data(&[1]).unwrap()),
                    _ => drop(ticket),
                }
            }
            let expected = if sent.is_empty() { String::new() } else { format!("{sent}\n") };
            assert_eq!(output(&mut connection), expected, "{rules:?}: {received}");
        }
    }
}

#[test]
fn calls_have_the_form_of_the_dialect() {
    for (rules, call, answer, code, note) in [
        (
            Rules::codex(),
            r#"{"id":1,"method":"m"}"#,
            r#"{"id":1,"error":{"code":-32001,"message":"busy"}}"#,
            -32001,
            r#"{"method":"n","params":[1]}"#,
        ),
        (
            Rules::electrum(),
            r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
            r#"{"error":"busy","id":1}"#,
            0,
            r#"{"jsonrpc":"2.0","method":"n","params":[1]}"#,
        ),
        (
            Rules::stratum(),
            r#"{"id":1,"method":"m","params":[]}"#,
            r#"{"id":1,"result":false,"error":[23,"busy",null]}"#,
            23,
            r#"{"id":null,"method":"n","params":[1]}"#,
        ),
    ] {
        let mut connection: Core = Connection::new(rules);
        let peer = connection.peer();
        peer.request("m", &(), 7).unwrap();
        peer.try_notify("n", &[1]).unwrap();
        assert_eq!(output(&mut connection), format!("{call}\n{note}\n"));
        connection.feed(&lines(&[answer]));
        let Some(Event::Response(response, 7)) = connection.next_event() else { panic!("no response") };
        assert!(response.result().is_none());
        let error = response.error().unwrap();
        assert_eq!((error.code(), &*error.message(), error.data().is_none()), (code, "busy", true));
        let error = RpcError::from(error);
        assert_eq!((error.code(), error.message()), (code, "busy"));

        // There is no cancellation.
        let id = peer.request("m", &(), 8).unwrap();
        output(&mut connection);
        assert_eq!(peer.cancel(&id), Some(8));
        assert_eq!(output(&mut connection), "");
    }
}

/// The answer to any request that a dialect accepts can be sent and is accepted, whatever its id.
#[test]
fn every_request_can_be_answered() {
    for dialect in crate::common::Dialect::ALL.map(crate::common::Dialect::rules).into_iter().chain([Rules::acp_v2()]) {
        for id in ["1", "1.5", "\"a\"", "null"] {
            let mut connection: Core = Connection::new(dialect);
            connection.feed(&lines(&[&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)]));
            let Some(Event::Request(request, ticket)) = connection.next_event() else { continue };
            assert_eq!(request.id().as_json(), id);
            assert!(ticket.try_respond(&json!({})).is_ok(), "{dialect:?} {id}");
            let sent = output(&mut connection);
            let Ok(Frame::Message(Message::Response(response))) = Frame::parse(sent.trim().as_bytes(), &dialect) else {
                panic!("{dialect:?} {id}")
            };
            assert_eq!(response.id().unwrap().as_json(), id);
            assert!(response.result().is_some());
        }
    }
}

/// The null id of Stratum's notifications counts as absent, so the limit on ids doesn't concern it.
#[test]
fn a_notification_passes_any_limit_on_ids() {
    let rules = Rules::stratum().max_id_len(0);
    let line = to_line(&rules, |encoder| encoder.notification("m", &())).unwrap();
    assert_eq!(line, "{\"id\":null,\"method\":\"m\",\"params\":[]}\n");
    assert!(matches!(Frame::parse(line.text().as_bytes(), &rules), Ok(Frame::Message(Message::Notification(_)))));
}

/// A response that isn't valid in the dialect of the request is relayed with the same meaning.
#[test]
fn a_response_is_relayed_into_another_dialect() {
    let (stratum, json_rpc, mcp) = (Rules::stratum(), Rules::json_rpc(), Rules::mcp());
    for (from, to, response, expected) in [
        (stratum, json_rpc, r#"{"id":7,"result":[1],"error":null}"#, r#"{"jsonrpc":"2.0","id":1,"result":[1]}"#),
        (
            stratum,
            json_rpc,
            r#"{"id":7,"result":null,"error":[21,"Job",{"a":1}]}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":21,"message":"Job","data":{"a":1}}}"#,
        ),
        (
            Rules::electrum(),
            mcp,
            r#"{"id":7,"error":"busy"}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"busy"}}"#,
        ),
        // What the dialect permits is relayed as it came.
        (json_rpc, stratum, r#"{"jsonrpc":"2.0","id":7,"result":1}"#, r#"{"jsonrpc":"2.0","id":1,"result":1}"#),
        // What it can't express is an internal error.
        (
            json_rpc,
            mcp,
            r#"{"jsonrpc":"2.0","id":7,"result":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}"#,
        ),
    ] {
        let mut connection: Core = Connection::new(to);
        connection.feed(&lines(&[r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#]));
        let ticket = super::ticket(&mut connection);
        let Ok(Frame::Message(Message::Response(response))) = Frame::parse(response.as_bytes(), &from) else {
            panic!("no response")
        };
        ticket.relay(&response);
        assert_eq!(output(&mut connection), format!("{expected}\n"));
    }
}

/// With a null id, a request of one dialect is a notification of another, so it isn't passed on as such.
#[test]
fn forwarding_never_turns_a_notification_into_a_request() {
    let line = br#"{"jsonrpc":"2.0","id":null,"method":"m","params":[]}"#;
    for (from, to) in [
        (Rules::json_rpc(), Rules::stratum()),
        (Rules::stratum(), Rules::json_rpc()),
        (Rules::electrum(), Rules::acp()),
        (Rules::acp(), Rules::electrum()),
    ] {
        let Ok(Frame::Message(message)) = Frame::parse(line, &from) else { panic!("no message") };
        let mut encoder = Encoder::new(to);
        let refused = encoder.forward(&message).unwrap_err();
        assert_eq!(refused.kind(), EncodeErrorKind::Rule(FaultKind::InvalidId));
        encoder.forward_with(&message, None, "/params", &[1]).unwrap_err();
        let refused = encoder.batch(|batch| batch.forward(&message));
        assert!(refused.is_err() && encoder.as_bytes().is_empty());
    }
    // Other messages pass in the form in which they came.
    let stratum = Rules::stratum();
    let Ok(Frame::Message(message)) = Frame::parse(br#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, &Rules::json_rpc())
    else {
        panic!("no message")
    };
    let sent = to_line(&stratum, |encoder| encoder.forward_with_id(&message, &Id::from("x"))).unwrap();
    assert_eq!(sent, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"m\"}\n");
}

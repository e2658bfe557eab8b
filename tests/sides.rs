//! Under MCP 2026-07-28, only clients send requests, and only servers responses.

use crate::common;

use serde_json::json;
use wireline::connection::{Connection, Event, SendError};
use wireline::{EncodeErrorKind, Encoder, FaultKind, Frame, Id, Message, RpcError, Rules, Side};

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}"#;
const UNTYPED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
const ERROR: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
const ALL: [&str; 5] = [REQUEST, NOTIFICATION, RESULT, UNTYPED, ERROR];

fn sides() -> [(Rules, Rules); 2] {
    let revision = Rules::mcp_2026_07_28();
    [(revision.client(), revision.server()), (revision.server(), revision.client())]
}

fn is_from_client(line: &str) -> bool {
    line.contains("method")
}

fn is_from_server(line: &str) -> bool {
    line != REQUEST
}

fn is_from(side: Option<Side>, line: &str) -> bool {
    match side {
        Some(Side::Client) => is_from_client(line),
        Some(Side::Server) => is_from_server(line),
        None => true,
    }
}

#[test]
fn the_decoder_knows_what_the_other_side_may_send() {
    for (this, other) in sides() {
        for line in ALL {
            let found = Frame::parse(line.as_bytes(), &this);
            match is_from(other.settings().side, line) {
                true => assert!(found.is_ok(), "{line}"),
                false => {
                    let fault = found.unwrap_err();
                    assert_eq!((fault.kind(), fault.code(), fault.column()), (FaultKind::WrongSide, -32600, 1));
                    assert_eq!(fault.id(), Some(&Id::from(1)));
                    assert!(fault.reply().is_none(), "{line}");
                    assert_eq!(fault.to_string(), "line 1, column 1: only the other side sends messages of this kind");
                }
            }
            assert!(Frame::parse(line.as_bytes(), &Rules::mcp_2026_07_28()).is_ok());
            // In a batch, each entry on its own.
            let batch = format!("[{NOTIFICATION},{line}]");
            let Ok(Frame::Batch(batch)) = Frame::parse(batch.as_bytes(), &this.batches(true)) else { panic!("{line}") };
            assert_eq!(batch.iter().filter(Result::is_ok).count(), 1 + usize::from(found_in(other, line)));
        }
    }
}

fn found_in(sender: Rules, line: &str) -> bool {
    is_from(sender.settings().side, line)
}

/// A client sends no responses, so it doesn't answer faults either. A server answers broken requests.
#[test]
fn only_a_server_answers_faults() {
    let broken = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#;
    let revision = Rules::mcp_2026_07_28();
    assert!(Frame::parse(broken, &revision.server()).unwrap_err().reply().is_some());
    assert!(Frame::parse(broken, &revision).unwrap_err().reply().is_some());
    assert!(Frame::parse(broken, &revision.client()).unwrap_err().reply().is_none());
}

#[test]
fn the_encoder_sends_only_what_this_side_may_send() {
    let wrong_side = EncodeErrorKind::Rule(FaultKind::WrongSide);
    let untyped = EncodeErrorKind::Rule(FaultKind::MissingResultType);
    for rules in sides().map(|(this, _)| this).into_iter().chain([Rules::mcp_2026_07_28()]) {
        let side = rules.settings().side;
        let (requests, responses) = (side != Some(Side::Server), side != Some(Side::Client));
        let mut encoder = Encoder::new(rules.batches(true));
        let mut expect = |is_sent: bool, how: &dyn Fn(&mut Encoder<'_>) -> Result<(), wireline::EncodeError>| {
            let sent = how(&mut encoder).map_err(|error| error.kind());
            assert_eq!(sent, if is_sent { Ok(()) } else { Err(wrong_side) }, "{rules:?}");
            assert_eq!(encoder.take().is_empty(), !is_sent);
            let batched = encoder.batch(|batch| how(batch)).map_err(|error| error.kind());
            assert_eq!(batched, sent);
            encoder.take();
        };
        let id = Id::from(1);
        expect(requests, &|encoder| encoder.request(&id, "tools/list", &()));
        expect(true, &|encoder| encoder.notification("notifications/cancelled", &()));
        expect(responses, &|encoder| encoder.response(&id, &json!({"resultType": "complete"})));
        expect(responses, &|encoder| encoder.error(&id, &RpcError::internal()));
        expect(responses, &|encoder| encoder.error(None, &RpcError::internal()));
        expect(requests, &|encoder| encoder.raw(REQUEST.as_bytes()));
        expect(responses, &|encoder| encoder.raw(RESULT.as_bytes()));
        expect(responses, &|encoder| encoder.flatten(ERROR.as_bytes()));
        expect(requests, &|encoder| encoder.normalize(REQUEST.as_bytes()));
        expect(responses, &|encoder| encoder.message(&serde_json::from_str::<serde_json::Value>(RESULT).unwrap()));
        if responses {
            for result in
                [json!({}), json!({"content": []}), json!({"resultType": 1}), json!({"a": {"resultType": "x"}})]
            {
                assert_eq!(encoder.response(&id, &result).unwrap_err().kind(), untyped);
            }
            assert_eq!(encoder.raw(UNTYPED.as_bytes()).unwrap_err().kind(), untyped);
            let escaped = wireline::RawJson::parse(br#"{ "a":1, "result\u0054ype" : "complete" }"#).unwrap();
            encoder.response(&id, &escaped).unwrap();
            for (code, is_reserved) in [
                (-32002, true),
                (-32042, true),
                (-32023, true),
                (-32099, true),
                (-32020, false),
                (-32022, false),
                (-32100, false),
                (-32000, false),
                (-32601, false),
                (7, false),
            ] {
                let sent = encoder.error(&id, &RpcError::new(code, "m")).map_err(|error| error.kind());
                let refused = Err(EncodeErrorKind::Rule(FaultKind::ReservedCode));
                assert_eq!(sent, if is_reserved { refused } else { Ok(()) }, "{code}");
                // However it is written, and wherever the code stands in it.
                let error = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"message":"m", "c\u006fde": {code}}}}}"#);
                let value: serde_json::Value = serde_json::from_str(&error).unwrap();
                assert_eq!(encoder.raw(error.as_bytes()).map_err(|error| error.kind()), sent, "{code}");
                assert_eq!(encoder.message(&value).map_err(|error| error.kind()), sent, "{code}");
                let batched = encoder.batch(|batch| batch.raw(error.as_bytes()));
                assert_eq!(batched.map_err(|error| error.kind()), sent, "{code}");
                // A relay passes on what an older server has sent.
                let Ok(Frame::Message(message)) = Frame::parse(error.as_bytes(), &Rules::mcp()) else { panic!() };
                encoder.forward(&message).unwrap();
            }
        }
    }
}

/// A message is passed on if its sender was on the side that this end plays. An older server's results have no type.
#[test]
fn a_relay_between_the_sides() {
    for (facing, beyond) in sides() {
        for line in ALL {
            let Ok(Frame::Message(message)) = Frame::parse(line.as_bytes(), &facing) else { continue };
            let mut encoder = Encoder::new(beyond);
            encoder.forward(&message).unwrap();
            if message.id().is_some() {
                encoder.forward_with_id(&message, &Id::from(2)).unwrap();
            }
            for line in encoder.take().split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                assert!(Frame::parse(line, &facing).is_ok());
            }
            // Back to where it came from.
            let is_both = matches!(message, Message::Notification(_));
            assert_eq!(Encoder::new(facing).forward(&message).is_ok(), is_both, "{line}");
            // From a side that isn't known.
            let Ok(Frame::Message(message)) = Frame::parse(line.as_bytes(), &Rules::mcp()) else { panic!() };
            let sent = Encoder::new(facing).forward(&message).map_err(|error| error.kind());
            assert_eq!(sent, if is_both { Ok(()) } else { Err(EncodeErrorKind::Rule(FaultKind::WrongSide)) });
        }
    }
}

#[test]
fn connections_of_both_sides_talk() {
    common::quiet_panics_on_purpose();
    let revision = Rules::mcp_2026_07_28();
    let mut client: Connection<u32> = Connection::new(revision.client());
    let mut server: Connection<u32> = Connection::new(revision.server());
    let refused = server.peer().request("roots/list", &(), 1).unwrap_err();
    assert!(matches!(refused, SendError::Encode(error) if error.kind() == EncodeErrorKind::Rule(FaultKind::WrongSide)));

    for value in 1..=3 {
        client.peer().request("tools/list", &json!({}), value).unwrap();
    }
    pass(&mut client, &mut server);
    for answer in [json!({"resultType": "complete"}), json!({})] {
        let Some(Event::Request(_, ticket)) = server.next_event() else { panic!("no request") };
        ticket.respond(&answer);
    }
    let Some(Event::Request(_, ticket)) = server.next_event() else { panic!("no request") };
    ticket.fail(&RpcError::new(-32050, "reserved"));
    pass(&mut server, &mut client);
    let Some(Event::Response(response, 1)) = client.next_event() else { panic!("no response") };
    assert!(response.result().is_some());
    for value in [2, 3] {
        let Some(Event::Response(response, answered)) = client.next_event() else { panic!("no response") };
        assert_eq!((response.error().unwrap().code(), answered), (RpcError::INTERNAL_ERROR, value));
    }

    // What comes from the wrong side is a fault without consequences.
    client.feed(format!("{REQUEST}\n").as_bytes());
    server.feed(format!("{RESULT}\n{ERROR}\n").as_bytes());
    for (connection, faults) in [(&mut client, 1), (&mut server, 2)] {
        for _ in 0..faults {
            let Some(Event::Fault(fault)) = connection.next_event() else { panic!("no fault") };
            assert_eq!(fault.kind(), FaultKind::WrongSide);
        }
        assert!(connection.next_event().is_none() && connection.pending().is_empty());
    }
}

fn pass(from: &mut Connection<u32>, to: &mut Connection<u32>) {
    to.feed(from.pending());
    let sent = from.pending().len();
    from.advance(sent);
}

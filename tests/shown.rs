//! Errors and `Debug` output name kinds and sizes, never contents supplied by the peer or the caller.

use crate::common;

use std::error::Error;
use std::io;
use std::panic::resume_unwind;

use wireline::connection::{CallError, Config, Connection, Event, Lost, Refusal, SendError, Stray};
use wireline::{Encoder, FaultKind, Id, RawJson, RpcError, Rules, io as adapters, to_line};

const SECRET: &str = "hunter2";
const SECRET_PARAMS: &[&str] = &[SECRET];

#[track_caller]
fn check(shown: &str, expected: &str) {
    assert!(shown.starts_with(expected), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
}

fn request() -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"{SECRET}","method":"{SECRET}","params":["{SECRET}"]}}"#)
}

#[test]
fn connections() {
    let mut connection = Connection::new(Config::new(Rules::json_rpc()).calls(1));
    let peer = connection.peer();
    peer.request(SECRET, SECRET_PARAMS, SECRET).unwrap();
    check(&format!("{:?}", peer.request(SECRET, SECRET_PARAMS, SECRET).unwrap_err()), "Full");
    check(&format!("{peer:?}"), "Peer { rules: Rules {");
    check(&format!("{:?}", peer.notify(SECRET, SECRET_PARAMS)), "Sending { .. }");
    connection.feed(request().as_bytes());
    connection.feed(b"\n");
    check(&format!("{connection:?}"), "Connection { rules: Rules {");
    let event = connection.next_event().unwrap();
    check(&format!("{event:?}"), "Request(Request { line: 1, offset: 0, len:");
    let Event::Request(_, ticket) = event else { panic!() };
    check(&format!("{ticket:?}"), "Ticket { id: Id(String, 9 bytes), .. }");
    ticket.respond(SECRET);

    // A caller's error doesn't repeat what the peer said.
    connection.feed(
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":7,\"message\":\"{SECRET}\"}}}}\n").as_bytes(),
    );
    let Some(Event::Response(response, _)) = connection.next_event() else { panic!() };
    let error = RpcError::from(response.error().unwrap());
    assert_eq!(error.message(), SECRET);
    check(&error.to_string(), "error from the peer (7)");
    check(&format!("{error:?}"), "RpcError { code: 7, data: None }");
    check(&CallError::Rpc(error).to_string(), "error from the peer (7)");
}

#[test]
fn reasons() {
    for (refusal, expected, code) in [
        (Refusal::Duplicate, "a request with the same id is in flight", -32600),
        (Refusal::TooMany, "too many requests in flight", -32000),
        (Refusal::Closed, "no more requests are accepted", -32000),
    ] {
        assert_eq!((refusal.to_string().as_str(), refusal.error().code()), (expected, code));
    }
    assert_eq!(Stray::NoId.to_string(), "the response has no id");
    assert_eq!(Stray::Unknown.to_string(), "the response answers no request in flight");
    assert_eq!(Stray::Repeated.to_string(), "the request was answered or withdrawn before");
    assert_eq!(RpcError::internal().to_string(), "Internal error (-32603)");
    let error = RpcError::new(7, "words of our own").with_data(SECRET).unwrap();
    check(&format!("{error:?}"), r#"RpcError { code: 7, message: "words of our own", data: Some(9) }"#);
}

#[test]
fn encoders() {
    let mut encoder = Encoder::new(Rules::json_rpc());
    encoder.request(&Id::from(SECRET), SECRET, &(SECRET,)).unwrap();
    check(&format!("{encoder:?}"), "Encoder { rules: Rules {");
    encoder
        .batch(|batch| {
            batch.request(&Id::from(SECRET), SECRET, &(SECRET,))?;
            check(&format!("{batch:?}"), "Encoder { rules: Rules {");
            Ok(())
        })
        .unwrap();

    let error = Encoder::new(Rules::mcp()).request(&Id::from(1), SECRET, &(SECRET,)).unwrap_err();
    check(&error.to_string(), r#""params" must be an object under MCP rules (at byte "#);
    let answer = RpcError::from(error);
    assert_eq!(answer.code(), RpcError::INTERNAL_ERROR);
    check(answer.message(), r#""params" must be an object under MCP rules"#);

    // Only the error's source has the payload's own words.
    struct Fails;
    impl serde::Serialize for Fails {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom(SECRET))
        }
    }
    let error = encoder.response(&Id::from(1), &Fails).unwrap_err();
    check(&error.to_string(), "payload failed to serialize");
    check(&format!("{error:?}"), "EncodeError { kind: Serialize, offset: Some(");
    assert_eq!(error.source().unwrap().to_string(), SECRET);
}

#[test]
fn calls() {
    let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"hunter2\",\"params\":[\"hunter2\"]}\n";
    adapters::serve(&line[..], io::sink(), Rules::json_rpc(), |call| {
        check(&format!("{call:?}"), "Call { message: Notification(Notification {");
        Ok(())
    })
    .unwrap();
}

/// What `?` makes of an error in a function that returns another kind.
#[test]
fn errors_as_other_errors() {
    let encode = || to_line(&Rules::json_rpc(), |encoder| encoder.response(&Id::from(1), &f64::NAN)).unwrap_err();
    let (nan, full) = ("payload contains NaN or infinity (at byte 33)", "too many bytes or requests are waiting");
    for (error, kind, text) in [
        (encode().into(), io::ErrorKind::InvalidInput, nan),
        (SendError::from(encode()).into(), io::ErrorKind::InvalidInput, nan),
        (SendError::Closed.into(), io::ErrorKind::BrokenPipe, "the connection has ended"),
        (SendError::Full.into(), io::ErrorKind::WouldBlock, full),
        (CallError::Send(SendError::Full).into(), io::ErrorKind::WouldBlock, full),
        (CallError::Lost(Lost::Expired).into(), io::ErrorKind::Other, "no response in time"),
    ] {
        let error: io::Error = error;
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
    }
    assert!(SendError::Full.source().is_none() && SendError::from(encode()).source().is_some());
}

#[test]
fn texts_that_are_no_values() {
    let raw = |text: &[u8]| RawJson::parse(text).unwrap_err();
    for (text, kind, offset, shown) in [
        (&b" \t"[..], FaultKind::BlankLine, 2, "expected a JSON value, found only blanks"),
        (b"[1,", FaultKind::UnexpectedEnd, 3, "unexpected end of text (at byte 3)"),
        (b"[1] hunter2", FaultKind::TrailingData, 4, "unexpected data after the value (at byte 4)"),
        (&[b'['; 2000], FaultKind::TooDeep, 1024, "brackets are nested deeper than 1024 (at byte 1024)"),
        (b"{\"hunter2\" 1}", FaultKind::UnexpectedByte, 11, "unexpected value, bracket or separator (at byte 11)"),
    ] {
        let error = raw(text);
        assert_eq!((error.kind(), error.offset()), (kind, offset), "{error}");
        check(&error.to_string(), shown);
    }
    let error = SECRET.parse::<Id<'_>>().unwrap_err();
    check(&error.to_string(), "expected a JSON string, number or null");
    let error = to_line(&Rules::json_rpc(), |encoder| {
        encoder.notification(SECRET, &())?;
        encoder.notification(SECRET, &())
    });
    check(&error.unwrap_err().to_string(), "expected exactly one line");
}

#[test]
fn incidents() {
    common::quiet_panics_on_purpose();
    let request = |method: &str| format!(r#"{{"jsonrpc":"2.0","id":"{SECRET}","method":"{method}"}}"#);
    let shown = |text: &str| {
        let mut incidents = Vec::new();
        let answer = adapters::answer_with(
            text.as_bytes(),
            &Rules::mcp(),
            |call| match call.method() {
                "panic" => panic!("on purpose"),
                "carry" => resume_unwind(Box::new("on purpose".to_owned())),
                "odd" => resume_unwind(Box::new(7)),
                "nan" => Ok(f64::NAN),
                _ => Err(RpcError::method_not_found()),
            },
            |incident| incidents.push(incident.to_string()),
        );
        (answer.is_some(), incidents.join("; "))
    };
    let of = |answered, incidents: &str| (answered, incidents.to_owned());
    assert_eq!(shown(&request("none")), of(true, ""));
    assert_eq!(shown(&request("panic")), of(true, "handler panicked: on purpose"));
    assert_eq!(shown(&request("carry")), of(true, "handler panicked: on purpose"));
    assert_eq!(shown(&request("odd")), of(true, "handler panicked"));
    let replaced = "answered with an internal error: payload contains NaN or infinity (at byte 41)";
    assert_eq!(shown(&request("nan")), of(true, replaced));
    assert_eq!(shown(SECRET), of(false, "line 1, column 1: not JSON: expected an object"));
    // Without a reporter they are logged.
    let answer = adapters::answer(request("nan").as_bytes(), &Rules::mcp(), |_| Ok(f64::NAN)).unwrap();
    assert!(answer.ends_with(br#""error":{"code":-32603,"message":"Internal error"}}"#));
}

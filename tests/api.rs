//! What people reach for first, each as a program would use it: values inside other people's structs, parts of messages
//! that outlive them, lines that are stored and sent, texts that are shared and not copied.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::mpsc::channel;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use wireline::{
    Decoder, EncodeErrorKind, Encoder, FaultKind, Frame, Id, Line, Message, RawJson, Request, Rules, to_line,
};

const LINE: &[u8] = br#"{"jsonrpc":"2.0","id":"a\u0062","method":"m","params":{"x": 1.0e2 , "s":"q\n"}}"#;
const PARAMS: &str = r#"{"x": 1.0e2 , "s":"q\n"}"#;

fn message(line: &[u8]) -> Message<'_> {
    match Frame::parse(line, &Rules::json_rpc()) {
        Ok(Frame::Message(message)) => message,
        other => panic!("{other:?}"),
    }
}

fn request() -> Request<'static> {
    match message(LINE) {
        Message::Request(request) => request,
        other => panic!("{other:?}"),
    }
}

/// Borrows from the line, and not from the message.
fn params(line: &[u8]) -> Option<RawJson<'_>> {
    message(line).params()
}

/// The same for what is in them, by one expression, which compiles only if nothing borrows from what it drops.
fn name(message: Message<'_>) -> Option<Cow<'_, str>> {
    message.params()?.pointer("/name")?.as_str()
}

fn data(message: Message<'_>) -> Option<Cow<'_, str>> {
    match message {
        Message::Response(response) => response.error()?.data()?.pointer("/x/0")?.as_str(),
        other => other.raw().pointer("/x/0")?.as_str(),
    }
}

fn error_message(message: Message<'_>) -> Option<Cow<'_, str>> {
    match message {
        Message::Response(response) => Some(response.outcome().err()?.message()),
        _ => None,
    }
}

fn result_type(message: Message<'_>) -> Option<Cow<'_, str>> {
    match message {
        Message::Response(response) => response.result()?.pointer("/type")?.as_str(),
        _ => None,
    }
}

#[test]
fn strings_outlive_the_message() {
    type Get = fn(Message<'_>) -> Option<Cow<'_, str>>;
    let cases: [(&[u8], Get, Option<&str>); 8] = [
        (br#"{"jsonrpc":"2.0","method":"m","params":{"name":"plain"}}"#, name, Some("plain")),
        (br#"{"jsonrpc":"2.0","method":"m","params":{"name":"\u0061\n"}}"#, name, Some("a\n")),
        (br#"{"jsonrpc":"2.0","method":"m","params":{"name":"\ud800"}}"#, name, None),
        (br#"{"jsonrpc":"2.0","method":"m","params":{"name":1}}"#, name, None),
        (br#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"x":["y"]}}}"#, data, Some("y")),
        (br#"{"jsonrpc":"2.0","method":"m","x":["z"]}"#, data, Some("z")),
        (br#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"\ud800!"}}"#, error_message, Some("\u{fffd}!")),
        (br#"{"jsonrpc":"2.0","id":1,"result":{"type":"t"}}"#, result_type, Some("t")),
    ];
    for (line, get, expected) in cases {
        let found = get(message(line));
        assert_eq!(found.as_deref(), expected);
        // What is borrowed is a part of the line.
        if let Some(Cow::Borrowed(text)) = &found {
            assert!(line.as_ptr_range().contains(&text.as_ptr()));
        }
        let owned: Option<Cow<'static, str>> = get(message(line).into_owned());
        assert_eq!(owned, found);
    }
}

#[test]
fn parts_of_a_message() {
    assert_eq!(params(LINE).unwrap().as_json(), PARAMS);
    assert_eq!(message(LINE).method().as_deref(), Some("m"));
    let notification = message(br#"{"jsonrpc":"2.0","method":"n","params":[1]}"#);
    assert_eq!(notification.method().as_deref(), Some("n"));
    assert_eq!(notification.params().unwrap().as_json(), "[1]");
    let response = message(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert!(response.method().is_none() && response.params().is_none());

    let request = request();
    assert_eq!(request.id().as_json(), r#""a\u0062""#);
    assert_eq!(request.id().as_str().as_deref(), Some("ab"));
    assert_eq!((request.line(), request.offset(), request.as_bytes()), (1, 0, LINE));
    let owned: Message<'static> = request.into_owned().into();
    assert_eq!(owned.to_bytes(), LINE);
}

#[test]
fn ranges_of_parts() {
    let of = |line: &str| {
        let ranges = message(line.as_bytes()).ranges();
        let text = |range: Option<std::ops::Range<usize>>| range.map(|range| line[range].to_owned());
        assert_eq!(&line[ranges.message.clone()], line);
        [ranges.id, ranges.method, ranges.params, ranges.result, ranges.error].map(text)
    };
    let some = |text: &str| Some(text.to_owned());
    let line = r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}"#;
    assert_eq!(of(line), [some("7"), some("\"m\""), some("[1]"), None, None]);
    let line = r#"{"jsonrpc":"2.0","method":"m"}"#;
    assert_eq!(of(line), [None, some("\"m\""), None, None, None]);
    let line = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    assert_eq!(of(line), [some("7"), None, None, some("{}"), None]);
    let line = r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}"#;
    assert_eq!(of(line), [some("7"), None, None, None, some(r#"{"code":1,"message":"x"}"#)]);

    let batch = r#"[{"jsonrpc":"2.0","method":"a"}, {"jsonrpc":"2.0","id":1,"method":"b"}]"#;
    let Ok(Frame::Batch(entries)) = Frame::parse(batch.as_bytes(), &Rules::json_rpc()) else { panic!() };
    let methods = entries.iter().map(|entry| batch[entry.unwrap().ranges().method.unwrap()].to_owned());
    assert_eq!(methods.collect::<Vec<_>>(), ["\"a\"", "\"b\""]);
}

#[test]
fn texts_that_are_shared() {
    let rules = Rules::json_rpc();
    let text = Bytes::from_static(LINE);
    let frame: Frame<'static> = Frame::from_bytes(text.clone(), &rules).unwrap();
    assert_eq!(frame.to_bytes().as_ptr(), text.as_ptr());
    let text = Bytes::from_static(br#"[{"jsonrpc":"2.0","method":"a"}]"#);
    let frame = Frame::from_bytes(text.clone(), &rules).unwrap();
    assert_eq!(frame.to_bytes().as_ptr(), text.as_ptr());

    let text = Bytes::from_static(b"\"q\\n\"");
    let raw = RawJson::from_bytes(text.clone()).unwrap();
    assert_eq!((raw.as_json(), raw.as_str().as_deref()), ("\"q\\n\"", Some("q\n")));
    assert_eq!(raw.to_bytes().as_ptr(), text.as_ptr());
    assert_eq!(raw.into_owned().as_json(), "\"q\\n\"");
    assert!(RawJson::from_bytes(Bytes::from_static(b"{")).is_err());
}

#[derive(Serialize)]
struct Call<'a> {
    name: &'a str,
    arguments: RawJson<'a>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled {
    request_id: Id<'static>,
}

/// As they were spelled by an encoder, and by their values with any other serializer.
#[test]
fn inside_other_structs() {
    let rules = Rules::json_rpc();
    let call = Call { name: "n", arguments: params(LINE).unwrap() };
    let line = to_line(&rules, |encoder| encoder.notification("call", &call)).unwrap();
    assert!(String::from_utf8_lossy(line.as_bytes()).contains(PARAMS));
    assert_eq!(serde_json::to_value(&call).unwrap()["arguments"]["x"], 100.0);

    let cancelled = Cancelled { request_id: request().id().clone().into_owned() };
    let line = to_line(&rules, |encoder| encoder.notification("cancelled", &cancelled)).unwrap();
    assert!(String::from_utf8_lossy(line.as_bytes()).contains(r#"{"requestId":"a\u0062"}"#));
    assert_eq!(serde_json::to_string(&cancelled).unwrap(), r#"{"requestId":"ab"}"#);
    assert_eq!(serde_json::from_str::<Cancelled>(r#"{"requestId":"ab"}"#).unwrap(), cancelled);

    let id: Id<'_> = "\"x\"".parse().unwrap();
    assert_eq!((id.to_string(), Id::from("x".to_owned())), ("\"x\"".to_owned(), id.clone()));
}

#[test]
fn lines_that_are_stored_and_sent() {
    let rules = Rules::json_rpc();
    let line: Line = to_line(&rules, |encoder| encoder.forward(&request())).unwrap();
    let (sender, receiver) = channel::<Line>();
    sender.send(line.clone()).unwrap();
    assert_eq!(receiver.recv().unwrap().as_bytes(), [LINE, b"\n"].concat());
}

#[test]
fn a_batch_takes_what_a_line_takes() {
    let mut encoder = Encoder::new(Rules::json_rpc());
    let request = request();
    let message = serde_json::json!({"jsonrpc": "2.0", "method": "n"});
    encoder.message(&message).unwrap();
    encoder.forward_with_id(&request, &Id::from(5)).unwrap();
    encoder
        .batch(|batch| {
            batch.message(&message)?;
            batch.forward_with_id(&request, &Id::from(6))?;
            batch.forward(&request)
        })
        .unwrap();
    let mut decoder = Decoder::new(Rules::json_rpc());
    decoder.feed(&encoder.take());
    let mut messages = Vec::new();
    while let Some(frame) = decoder.next_frame() {
        match frame.unwrap() {
            Frame::Message(message) => messages.push(message.into_owned()),
            Frame::Batch(batch) => messages.extend(batch.iter().map(|entry| entry.unwrap().into_owned())),
        }
    }
    let ids: Vec<_> = messages.iter().map(|message| message.id().map(ToString::to_string)).collect();
    assert_eq!(ids, [None, Some("5".into()), None, Some("6".into()), Some(r#""a\u0062""#.into())]);
}

#[test]
fn positions_may_start_anywhere() {
    let mut decoder = Decoder::new(Rules::mcp()).starting_at(11, 1000);
    decoder.feed(b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\nnoise\n");
    let Some(Ok(Frame::Message(message))) = decoder.next_frame() else { panic!() };
    assert_eq!((message.line(), message.offset()), (11, 1000));
    let Some(Err(fault)) = decoder.next_frame() else { panic!() };
    assert_eq!((fault.line(), fault.offset()), (12, 1031));
    assert_eq!(decoder.rules(), &Rules::mcp());
}

/// A batch knows where it was, as a message does.
#[test]
fn positions_of_a_batch() {
    let mut decoder = Decoder::new(Rules::json_rpc());
    decoder.feed(b"\n\n[{\"jsonrpc\":\"2.0\",\"method\":\"a\"}, 1]\n");
    let Some(Ok(Frame::Batch(batch))) = decoder.next_frame() else { panic!() };
    assert_eq!((batch.line(), batch.offset(), batch.len()), (3, 2, 2));
    let mut entries = batch.iter();
    for left in [2, 1, 0] {
        assert_eq!((entries.len(), entries.size_hint()), (left, (left, Some(left))));
        assert_eq!(entries.next().is_some(), left > 0);
    }
    let frame = Frame::from(batch.clone());
    assert_eq!((frame.line(), frame.offset(), frame.as_bytes()), (3, 2, batch.as_bytes()));
}

#[test]
fn lines_as_bytes() {
    let line = to_line(&Rules::json_rpc(), |encoder| encoder.notification("m", &())).unwrap();
    let text = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
    assert_eq!(line, text);
    assert!(line != text.trim_end() && line == *text);
    assert_eq!(AsRef::<[u8]>::as_ref(&line), text.as_bytes());
    assert_eq!(Bytes::from(line.clone()).as_ptr(), line.as_bytes().as_ptr());
}

/// Ids by value, and texts by spelling.
#[test]
fn keys_of_maps() {
    let ids: HashSet<Id<'_>> = ["1", "1.0", "\"1\"", "\"\\u0031\"", "null"].map(|id| id.parse().unwrap()).into();
    assert_eq!(ids.len(), 3);
    assert_eq!(ids.iter().filter(|id| id.is_string()).count(), 1);
    let texts: HashSet<RawJson<'_>> =
        ["1", "1.0", "1", "\"1\""].map(|text| RawJson::parse(text.as_bytes()).unwrap()).into();
    assert_eq!(texts.len(), 3);
}

/// However an id is spelled, and whatever its size.
#[test]
fn ids_as_integers() {
    let nines = "9".repeat(38);
    for (id, signed, unsigned) in [
        ("0", Some(0), Some(0)),
        ("-0.0e5", Some(0), Some(0)),
        ("-1", Some(-1), None),
        ("1e2", Some(100), Some(100)),
        ("150e-1", Some(15), Some(15)),
        ("1.5", None, None),
        ("1e-1", None, None),
        ("9223372036854775807", Some(i64::MAX), Some(i64::MAX as u64)),
        ("9223372036854775808", None, Some(1 << 63)),
        ("-9223372036854775808", Some(i64::MIN), None),
        ("18446744073709551616", None, None),
        (&nines, None, None),
        ("1e38", None, None),
        ("1e99999999999999999999", None, None),
        ("1e-99999999999999999999", None, None),
        ("\"1\"", None, None),
        ("null", None, None),
    ] {
        let parsed = Id::parse(id).unwrap();
        assert_eq!((parsed.as_i64(), parsed.as_u64()), (signed, unsigned), "{id}");
    }
}

#[test]
fn strings_with_escapes_of_any_length() {
    for len in [10, 3 << 20, 10] {
        let text = format!("\"{}\"", "\\n".repeat(len));
        let raw = RawJson::parse(text.as_bytes()).unwrap();
        assert_eq!(raw.deserialize::<String>().unwrap(), "\n".repeat(len));
    }
}

/// Rules that a message passed may permit longer ids than those of an encoder.
#[test]
fn forwarding_checks_the_length_of_an_id() {
    let id = Id::from("a".repeat(2000));
    let generous = Rules::json_rpc().max_id_len(3000);
    let line = to_line(&generous, |encoder| encoder.request(&id, "m", &())).unwrap();
    let Ok(Frame::Message(message)) = Frame::parse(line.text().as_bytes(), &generous) else { panic!() };
    assert_eq!(to_line(&generous, |encoder| encoder.forward(&message)).unwrap().as_bytes(), line.as_bytes());
    let error = to_line(&Rules::json_rpc(), |encoder| encoder.forward(&message)).unwrap_err();
    assert_eq!(error.kind(), EncodeErrorKind::Rule(FaultKind::IdTooLong));
    let shorter = to_line(&Rules::json_rpc(), |encoder| encoder.forward_with_id(&message, &Id::from(1))).unwrap();
    assert_eq!(shorter, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n");
}

/// Even if the limits leave no room for the answer itself.
#[test]
fn a_reply_can_always_be_shown() {
    let rules = Rules::json_rpc().max_id_len(2).max_line_len(10).max_depth(1);
    let fault = Frame::parse(b"garbage", &rules).unwrap_err();
    assert!(fault.reply().unwrap().to_string().starts_with(r#"{"jsonrpc":"2.0","id":null,"error":"#));
}

/// A line contains what its encoder has written, not what a closure puts in its place.
#[test]
fn a_line_is_made_by_its_own_encoder() {
    let forged = to_line(&Rules::mcp(), |encoder| {
        let bytes = Box::leak(Box::new(bytes::BytesMut::from("not\rJSON\n")));
        *encoder = Encoder::append_to(bytes, Rules::mcp());
        Ok(())
    });
    assert_eq!(forged.unwrap_err().kind(), EncodeErrorKind::NotOneLine);
}

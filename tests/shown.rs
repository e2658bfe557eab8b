//! Errors and `Debug` output name kinds and sizes, never contents supplied by the peer or the caller.

mod common;

use std::error::Error;
use std::io;
use std::panic::resume_unwind;
use std::task::{Context, Poll, Waker};

use wireline::aio::{FrameReader, LineWriter, Source, Target};
use wireline::io::{SendError, Unsent};
use wireline::ledger::{Full, Inbound, Outbound, Refusal, Stray};
use wireline::{
    Encoder, FaultKind, Frame, Id, Message, RawJson, Request, RpcError, Rules, Scratch, io as adapters, to_line,
};

const SECRET: &str = "hunter2";

#[track_caller]
fn check(shown: &str, expected: &str) {
    assert!(shown.starts_with(expected), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
}

fn request() -> Request<'static> {
    let line = format!(r#"{{"jsonrpc":"2.0","id":"{SECRET}","method":"{SECRET}","params":["{SECRET}"]}}"#);
    match Frame::parse(line.as_bytes(), &Rules::json_rpc()).unwrap().into_owned() {
        Frame::Message(Message::Request(request)) => request,
        frame => panic!("{frame:?}"),
    }
}

#[test]
fn ledgers() {
    let inbound = Inbound::new(Rules::json_rpc(), 2);
    let ticket = inbound.admit(&request()).unwrap();
    check(&format!("{inbound:?}"), "Inbound { in_flight: 1, limit: 2 }");
    check(&format!("{ticket:?}"), "Ticket { id: Id(String, 9 bytes), .. }");
    let answer = ticket.respond(SECRET);
    check(&format!("{answer:?}"), "Answer { len: 52, instead_of: None, refusal: None, .. }");
    let refused = inbound.admit(&request()).unwrap_err();
    check(&format!("{refused:?}"), "Answer { len: 117, instead_of: None, refusal: Some(Duplicate), .. }");
    let error = SendError::Full;
    check(&Unsent { error, answer: Some(answer) }.to_string(), "send backlog is full");

    let mut outbound = Outbound::new(1);
    outbound.issue(SECRET).unwrap();
    check(&format!("{outbound:?}"), "Outbound { in_flight: 1, limit: 1 }");
    let full = outbound.issue(SECRET).unwrap_err();
    check(&format!("{full:?}"), "Full(_)");
    check(&full.to_string(), "too many requests in flight");
    assert_eq!(full, Full(SECRET));
    for (untracked, debug, text) in [
        (outbound.track(&Id::from(1), SECRET), "Duplicate(_)", "a request with the same id is in flight"),
        (outbound.track(&Id::from(2), SECRET), "Full(_)", "too many requests in flight"),
    ] {
        let untracked = untracked.unwrap_err();
        check(&format!("{untracked:?}"), debug);
        check(&untracked.to_string(), text);
    }
}

#[test]
fn reasons() {
    for (refusal, expected, code) in [
        (Refusal::Duplicate, "a request with the same id is in flight", -32600),
        (Refusal::TooMany, "too many requests in flight", -32000),
        (Refusal::Closed, "no more requests are accepted", -32000),
        (Refusal::InvalidId, "the id is not permitted", -32600),
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
    check(&format!("{:?}", Scratch::default()), "Scratch { .. }");

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
fn readers_and_writers() {
    let stream = format!("{SECRET}\n{SECRET}");
    let mut reader = adapters::FrameReader::new(stream.as_bytes(), Rules::json_rpc());
    assert!(reader.next_frame().unwrap().unwrap().is_err());
    check(&format!("{reader:?}"), "FrameReader { decoder: Decoder {");
    assert_eq!(*reader.get_ref(), b"");

    let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"hunter2\",\"params\":[\"hunter2\"]}\n";
    adapters::serve(&line[..], io::sink(), Rules::json_rpc(), |call| {
        check(&format!("{call:?}"), "Call { params: Some(");
        Ok(())
    })
    .unwrap();

    let writer = adapters::FrameWriter::new(Fails, Rules::json_rpc());
    check(&format!("{writer:?}"), "FrameWriter { rules: Rules {");
    let error = writer.send(|encoder| encoder.request(&Id::from(1), SECRET, &f64::NAN)).unwrap_err();
    check(&error.to_string(), "payload contains NaN or infinity");
    assert!(error.source().is_some());
    let error = writer.send(|encoder| encoder.notification(SECRET, &())).unwrap_err();
    check(&error.to_string(), "failed to write the message");
    assert_eq!(error.source().unwrap().to_string(), io::Error::from(io::ErrorKind::BrokenPipe).to_string());
    let error = writer.flush().unwrap_err();
    check(&error.to_string(), "the writer has failed before");
    assert!(error.source().is_none());
}

/// What `?` makes of an error in a function that returns another kind.
#[test]
fn errors_as_other_errors() {
    let encode = || to_line(&Rules::json_rpc(), |encoder| encoder.response(&Id::from(1), &f64::NAN)).unwrap_err();
    let unsent = |error| Unsent { error, answer: None };
    let (nan, full) = ("payload contains NaN or infinity (at byte 33)", "send backlog is full");
    for (error, kind, text) in [
        (encode().into(), io::ErrorKind::InvalidInput, nan),
        (SendError::from(encode()).into(), io::ErrorKind::InvalidInput, nan),
        (SendError::from(io::Error::other("theirs")).into(), io::ErrorKind::Other, "theirs"),
        (SendError::Broken.into(), io::ErrorKind::BrokenPipe, "the writer has failed before"),
        (SendError::Full.into(), io::ErrorKind::WouldBlock, full),
        (SendError::from(unsent(SendError::Full)).into(), io::ErrorKind::WouldBlock, full),
        (unsent(SendError::Full).into(), io::ErrorKind::WouldBlock, full),
    ] {
        let error: io::Error = error;
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
    }
    assert!(unsent(SendError::Full).source().is_none());
    assert_eq!(unsent(io::Error::other("theirs").into()).source().unwrap().to_string(), "theirs");
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

#[test]
fn asynchronous_readers_and_writers() {
    struct Nowhere;

    impl Source for Nowhere {
        fn poll_read(&mut self, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
            room[..SECRET.len()].copy_from_slice(SECRET.as_bytes());
            Poll::Ready(Ok(SECRET.len()))
        }
    }

    impl Target for Nowhere {
        fn poll_write(&mut self, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Pending
        }

        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    let mut reader = FrameReader::new(Nowhere, Rules::json_rpc());
    assert!(reader.poll_fill(&mut Context::from_waker(Waker::noop())).is_ready());
    check(&format!("{reader:?}"), "FrameReader { decoder: Decoder {");
    let writer = LineWriter::new(Nowhere, Rules::json_rpc());
    let line = to_line(&Rules::json_rpc(), |encoder| encoder.notification(SECRET, &())).unwrap();
    check(&format!("{line:?}"), "Line(37 bytes)");
    writer.sender().try_send(|encoder| encoder.notification(SECRET, &())).unwrap();
    check(&format!("{writer:?}"), "LineWriter { rules: Rules {");
    check(&format!("{:?}", writer.sender()), "LineSender { rules: Rules {");
}

/// A writer that always fails.
struct Fails;

impl io::Write for Fails {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! `io::serve` answers everything it receives correctly.

use crate::common;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::panic::resume_unwind;
use std::sync::Arc;

use common::Dialect;
use quickcheck::{Arbitrary, Gen, QuickCheck};
use serde_json::{Value, json};
use wireline::connection::{Call, Config};
use wireline::io::serve;
use wireline::{Frame, Message, RpcError, Rules};

/// Knows `echo`, `fail`, `panic`, `nan`, `unserializable`.
fn handler(call: Call<'_>) -> Result<Answer, RpcError> {
    match call.method() {
        "echo" => call.params::<Value>().map(Answer::Value),
        "strict" => call.params::<(i64, i64)>().map(|(a, b)| Answer::Value(json!(a + b))),
        "fail" => Err(RpcError::new(42, "failed")),
        "panic" => panic!("on purpose"),
        "nan" => Ok(Answer::Float(f64::NAN)),
        "explode" => Ok(Answer::Explosive),
        _ => Err(RpcError::method_not_found()),
    }
}

enum Answer {
    Value(Value),
    Float(f64),
    Explosive,
}

impl serde::Serialize for Answer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Float(float) => float.serialize(serializer),
            Self::Explosive => panic!("on purpose"),
        }
    }
}

fn answers(input: &[u8], rules: Rules) -> Vec<String> {
    common::quiet_panics_on_purpose();
    let mut output = Vec::new();
    serve(input, &mut output, rules, handler).unwrap();
    common::decode(rules.answer_without_id(wireline::AnswerWithoutId::NullId), [&output[..]])
}

#[test]
fn answers_each_in_its_way() {
    let data =
        |fault: &str, line: u64, column: u64| format!(r#"{{"fault":"{fault}","line":{line},"column":{column}}}"#);
    let input = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":[1]}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"nope"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":3,"method":"strict","params":["x"]}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":4,"method":"fail"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":5,"method":"panic"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":6,"method":"nan"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":7,"method":"explode"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"echo","params":{"a":1}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"panic"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":8,"result":1}"#,
        "\n",
        "\n",
        "garbage\n",
        r#"{"jsonrpc":"2.0","id":9,"method":1}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":10,"result":1,"error":2}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":"\u00e9","method":"echo"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":11,"method":"echo","params":[]"#,
    );
    assert_eq!(
        answers(input.as_bytes(), Rules::json_rpc()),
        [
            r#"result 1 {"a":[1]}"#.to_owned(),
            r#"error 2 -32601 "Method not found" -"#.to_owned(),
            r#"error 3 -32602 "Invalid params" -"#.to_owned(),
            r#"error 4 42 "failed" -"#.to_owned(),
            r#"error 5 -32603 "Internal error" -"#.to_owned(),
            r#"error 6 -32603 "Internal error" -"#.to_owned(),
            r#"error 7 -32603 "Internal error" -"#.to_owned(),
            format!(r#"error null -32700 "Parse error" {}"#, data("invalid-literal", 12, 1)),
            format!(r#"error 9 -32600 "Invalid Request" {}"#, data("invalid-method", 13, 34)),
            r#"result "\u00e9" null"#.to_owned(),
            format!(r#"error 11 -32700 "Parse error" {}"#, data("unexpected-end", 16, 53)),
        ]
    );
}

#[test]
fn batches() {
    let request = |id: u8, method: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
    let note = r#"{"jsonrpc":"2.0","method":"echo"}"#;
    let rules = Rules::json_rpc();
    let one = |input: &str| answers(format!("{input}\n").as_bytes(), rules);
    assert_eq!(
        one(&format!("[{},{note},{},{}]", request(1, "echo"), request(2, "panic"), request(1, "nope"))),
        [r#"batch [result 1 null | error 2 -32603 "Internal error" - | error 1 -32601 "Method not found" -]"#]
    );
    assert!(one(&format!("[{note},{note}]")).is_empty());
    assert!(one(r#"[{"jsonrpc":"2.0","id":1,"result":1}]"#).is_empty());
    assert_eq!(one("[]"), [r#"error null -32600 "Invalid Request" {"fault":"empty-batch","line":1,"column":1}"#]);
    assert_eq!(
        one(&format!("[1,{}]", request(3, "echo"))),
        [
            r#"batch [error null -32600 "Invalid Request" {"fault":"not-an-object","line":1,"column":2} | result 3 null]"#
        ]
    );
    assert!(answers(b"[]\n[1]\n", Rules::mcp()).is_empty());
}

#[test]
fn a_batch_of_answers_may_outgrow_a_line() {
    // The answers are longer than the requests.
    let mut output = Vec::new();
    let rules = Rules::json_rpc().max_line_len(300);
    let entry = |id: u8| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
    let input = format!("[{},{},{},{},{}]\n", entry(1), entry(2), entry(3), entry(4), entry(5));
    let lengths = [60, 100, 264, 265, 10];
    serve(input.as_bytes(), &mut output, rules, |call| {
        Ok("x".repeat(lengths[call.id().unwrap().as_u64().unwrap() as usize - 1]))
    })
    .unwrap();
    let found = common::decode(rules, [&output[..]]);
    let kinds: Vec<_> = found
        .iter()
        .map(|line| line.split('"').next().unwrap().to_owned() + if line.contains(" | ") { "..." } else { "" })
        .collect();
    assert_eq!(kinds, ["result 3 ", "batch [result 1 ...", "batch [error 4 -32603 ..."], "{found:?}");
    assert!(output.split(|&byte| byte == b'\n').all(|line| line.len() <= 300));
}

/// Reads one byte at a time, with interruptions.
struct Trickle<'a>(&'a [u8], bool);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(ErrorKind::Interrupted.into());
        }
        let len = 1.min(self.0.len()).min(buffer.len());
        buffer[..len].copy_from_slice(&self.0[..len]);
        self.0 = &self.0[len..];
        Ok(len)
    }
}

#[test]
fn however_it_is_read() {
    let input: Vec<u8> = common::cases().iter().flat_map(|case| [&case.line[..], b"\n"].concat()).collect();
    for dialect in Dialect::ALL {
        let mut whole = Vec::new();
        serve(&input[..], &mut whole, dialect.rules(), handler).unwrap();
        let mut trickled = Vec::new();
        serve(Trickle(&input, false), &mut trickled, dialect.rules(), handler).unwrap();
        assert_eq!(whole, trickled);
        // Every answer is a line that passes the rules.
        let found = common::decode(dialect.rules(), [&whole[..]]);
        assert!(found.iter().all(|line| !line.starts_with("fault")), "{found:?}");
        assert!(!found.is_empty());
    }
}

#[test]
fn flushes_before_it_waits() {
    /// A pipe whose reader demands that all answers so far have been flushed before more is read.
    struct Checked<'a> {
        left: RefCell<Vec<&'a [u8]>>,
        unflushed: RefCell<usize>,
    }
    impl Read for &Checked<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            assert_eq!(*self.unflushed.borrow(), 0);
            let Some(piece) = self.left.borrow_mut().pop() else { return Ok(0) };
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }
    impl Write for &Checked<'_> {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            *self.unflushed.borrow_mut() += buffer.len();
            Ok(buffer.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            *self.unflushed.borrow_mut() = 0;
            Ok(())
        }
    }
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n";
    let pipe = Checked { left: RefCell::new(vec![line, line, &line[..7]]), unflushed: RefCell::new(0) };
    serve(&pipe, &pipe, Rules::json_rpc(), handler).unwrap();
}

#[test]
fn errors_of_the_streams_surface() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(ErrorKind::ConnectionReset.into())
        }
    }
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n";
    let error = serve(Broken, Vec::new(), Rules::mcp(), handler).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let error = serve(&line[..], Broken, Rules::json_rpc(), handler).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    struct Unflushed;
    impl Write for Unflushed {
        fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
            Ok(lines.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(ErrorKind::StorageFull.into())
        }
    }
    let error = serve(&line[..], Unflushed, Rules::json_rpc(), handler).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    // What came before the error has been answered.
    let mut output = Vec::new();
    assert!(serve((&line[..]).chain(Broken), &mut output, Rules::json_rpc(), handler).is_err());
    assert_eq!(common::decode(Rules::json_rpc(), [&output[..]]), ["result 1 null"]);
}

#[test]
fn a_panic_while_dropping_ends_nothing() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 && !std::thread::panicking() {
                panic!("on purpose");
            }
        }
    }
    impl serde::Serialize for Bomb {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str("bomb")
        }
    }
    common::quiet_panics_on_purpose();
    let line = |id: u8, method: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}\n");
    let input = line(1, "drop") + &line(2, "carry") + "{\"jsonrpc\":\"2.0\",\"method\":\"drop\"}\n" + &line(3, "none");
    let mut output = Vec::new();
    serve(input.as_bytes(), &mut output, Rules::json_rpc(), |call| match call.method() {
        "carry" => std::panic::panic_any(Bomb(true)),
        method => Ok(Bomb(method == "drop")),
    })
    .unwrap();
    assert_eq!(
        common::decode(Rules::json_rpc(), [&output[..]]),
        [r#"result 1 "bomb""#, r#"error 2 -32603 "Internal error" -"#, r#"result 3 "bomb""#]
    );
}

/// Answers to the requests of one read don't accumulate until the next read.
#[test]
fn long_answers_are_written_on_the_way() {
    struct Sizes(Vec<usize>);
    impl Write for Sizes {
        fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
            self.0.push(lines.len());
            Ok(lines.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n";
    let mut sizes = Sizes(Vec::new());
    serve(&line.repeat(20)[..], &mut sizes, Rules::json_rpc(), |_| Ok("x".repeat(50_000))).unwrap();
    assert_eq!(sizes.0.iter().sum::<usize>(), 20 * (50_000 + br#"{"jsonrpc":"2.0","id":1,"result":""}+"#.len()));
    assert!(sizes.0.iter().all(|&size| size < (64 << 10) + 50_100), "{:?}", sizes.0);
}

/// However little may wait to be written, all that was read is answered.
#[test]
fn a_small_backlog_loses_nothing() {
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n";
    for backlog in [0, 1, 100, 1000] {
        let mut output = Vec::new();
        let config = Config::new(Rules::json_rpc()).backlog(backlog);
        serve(&line.repeat(100)[..], &mut output, config, |_| Ok("x".repeat(20))).unwrap();
        assert_eq!(output.split(|&byte| byte == b'\n').count(), 101, "a backlog of {backlog}");
    }
}

/// A flush that a signal interrupts is repeated, and long results leave nothing behind in the answers after them.
#[test]
fn interrupted_flushes_and_results_of_any_length() {
    struct Interrupted(Vec<u8>, usize);
    impl Write for Interrupted {
        fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
            self.0.extend_from_slice(lines);
            Ok(lines.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.1 += 1;
            if self.1.is_multiple_of(3) { Ok(()) } else { Err(ErrorKind::Interrupted.into()) }
        }
    }
    let lens = [5, 300_000, 5, 100_000, 0];
    let input: String = lens.map(|len| format!("{{\"jsonrpc\":\"2.0\",\"id\":{len},\"method\":\"m\"}}\n")).concat();
    let mut output = Interrupted(Vec::new(), 0);
    let handler = |call: Call<'_>| Ok("x".repeat(call.id().unwrap().as_i64().unwrap().try_into().unwrap()));
    serve(input.as_bytes(), &mut output, Rules::json_rpc(), handler).unwrap();
    let expected = lens.map(|len| format!("result {len} \"{}\"", "x".repeat(len)));
    assert_eq!(common::decode(Rules::json_rpc(), [&output.0[..]]), expected);
    assert!(output.1 > 0 && output.1.is_multiple_of(3), "{} flushes", output.1);
}

/// A peer that knows how to make a handler panic could otherwise fill the memory.
#[test]
fn nothing_is_kept_of_a_panic() {
    let carried = Arc::new(());
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n";
    let handler = |_: Call<'_>| -> Result<(), RpcError> { resume_unwind(Box::new(Arc::clone(&carried))) };
    serve(&line.repeat(3)[..], io::sink(), Rules::json_rpc(), handler).unwrap();
    assert_eq!(Arc::strong_count(&carried), 1);
}

/// Lines of all kinds, good and bad.
#[derive(Clone, Debug)]
struct Session(Vec<String>);

impl Arbitrary for Session {
    fn arbitrary(g: &mut Gen) -> Self {
        fn entry(g: &mut Gen) -> String {
            let id = u8::arbitrary(g) % 8;
            let method = *g.choose(&["echo", "strict", "fail", "panic", "nan", "explode", "nope"]).unwrap();
            let params = *g.choose(&["", r#","params":[1,2]"#, r#","params":{"x":1}"#, r#","params":1"#]).unwrap();
            match u8::arbitrary(g) % 8 {
                0 => format!(r#"{{"jsonrpc":"2.0","method":"{method}"{params}}}"#),
                1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
                2 => format!(r#"{{"jsonrpc":"1.0","id":{id},"method":"{method}"{params}}}"#),
                _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"{params}}}"#),
            }
        }
        let line = |g: &mut Gen| match u8::arbitrary(g) % 8 {
            0 => {
                let entries: Vec<_> = (0..=usize::arbitrary(g) % 4).map(|_| entry(g)).collect();
                format!("[{}]", entries.join(","))
            }
            1 => entry(g) + "}",
            2 => "noise".to_owned(),
            _ => entry(g),
        };
        Self((0..usize::arbitrary(g) % 20).map(|_| line(g)).collect())
    }

    /// The same without one of the lines.
    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let Self(lines) = self.clone();
        Box::new((0..lines.len()).map(move |at| {
            let mut fewer = lines.clone();
            fewer.remove(at);
            Self(fewer)
        }))
    }
}

/// Each request with an id, in a batch or not, good or bad, gets exactly one response with that id; nothing else does.
#[test]
fn exactly_one_response() {
    fn property(Session(lines): Session) -> bool {
        let rules = Rules::json_rpc();
        let mut expected = HashMap::<String, usize>::new();
        let mut owe = |id: String| *expected.entry(id).or_default() += 1;
        for line in &lines {
            let fault_or_message = |entry: &Result<Message<'_>, wireline::Fault>| match entry {
                Ok(Message::Request(request)) => Some(request.id().as_json().to_owned()),
                Ok(_) => None,
                Err(fault) => fault.reply().map(|reply| reply.id().unwrap().as_json().to_owned()),
            };
            match Frame::parse(line.as_bytes(), &rules) {
                Ok(Frame::Batch(batch)) => batch.iter().filter_map(|entry| fault_or_message(&entry)).for_each(&mut owe),
                Ok(Frame::Message(message)) => fault_or_message(&Ok(message)).into_iter().for_each(&mut owe),
                Err(fault) => fault_or_message(&Err(fault)).into_iter().for_each(&mut owe),
            }
        }
        let input = lines.join("\n");
        common::quiet_panics_on_purpose();
        let mut output = Vec::new();
        serve(input.as_bytes(), &mut output, rules, handler).unwrap();
        let mut found = HashMap::<String, usize>::new();
        let mut count = |message: &Message<'_>| match message {
            Message::Response(response) => *found.entry(response.id().unwrap().as_json().to_owned()).or_default() += 1,
            other => panic!("{other:?}"),
        };
        for line in output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match Frame::parse(line, &rules).unwrap() {
                Frame::Message(message) => count(&message),
                Frame::Batch(batch) => batch.iter().for_each(|entry| count(&entry.unwrap())),
            }
        }
        assert_eq!(found, expected, "{input}");
        true
    }
    QuickCheck::new().tests(2000).quickcheck(property as fn(_) -> _);
}

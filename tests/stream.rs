//! Decoding streams: line endings, limits, the end of the stream, and recovery after a bad line.

use crate::common;

use bytes::{BufMut, BytesMut};
use common::{Dialect, decode, describe};
use quickcheck::{QuickCheck, TestResult};
use wireline::{AnswerWithoutId, Decoder, FaultKind, Frame, Hint, Message, Rules};
use wireline_json::Cpu;

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;

#[test]
fn line_endings() {
    let request = r#"request 1 "m" -"#;
    for (stream, expected) in [
        (format!("{REQUEST}\n{REQUEST}\n"), vec![request, request]),
        (format!("{REQUEST}\r\n{REQUEST}"), vec![request, request]),
        (format!("\n\r\n \t\r\n\n{REQUEST}\n\n"), vec![request]),
        (format!("{REQUEST}\r\r\n"), vec![request]),
        (format!("{REQUEST}\r"), vec![request]),
        (format!("\r{REQUEST}\n"), vec![request]),
        (String::new(), vec![]),
        ("\n\n\r\n".into(), vec![]),
        (" ".into(), vec![]),
        // Neither a lone carriage return nor a Unicode line separator ends a line.
        (format!("{REQUEST}\r{REQUEST}\n"), vec!["fault trailing-data @39 id=1 reply=1"]),
        (format!("{REQUEST}\u{2028}{REQUEST}\n"), vec!["fault trailing-data @38 id=- reply=null"]),
        (format!("{REQUEST}\u{c}\n"), vec!["fault trailing-data @38 id=1 reply=1"]),
    ] {
        assert_eq!(decode(Rules::json_rpc(), [stream.as_bytes()]), expected, "{stream:?}");
        assert_eq!(decode(Rules::json_rpc(), stream.as_bytes().chunks(1)), expected, "{stream:?}");
    }
}

/// Frames exclude their line ending, whatever the chunk size.
#[test]
fn frames_exclude_the_line_ending() {
    let stream = format!("{REQUEST}\n{REQUEST}\r\n{REQUEST} \r\n{REQUEST}\r\r\n[{REQUEST}]\r\n{REQUEST}\n");
    let lines: Vec<_> = stream.split_terminator('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    for chunk in 1..=stream.len() {
        let mut decoder = Decoder::new(Rules::json_rpc());
        let mut found = Vec::new();
        for piece in stream.as_bytes().chunks(chunk) {
            decoder.feed(piece);
            while let Some(frame) = decoder.next_frame() {
                let frame = frame.unwrap();
                let (offset, bytes) = (frame.offset() as usize, frame.as_bytes().to_vec());
                assert!(stream.as_bytes()[offset..].starts_with(&bytes));
                assert_eq!(decoder.last_line(), bytes);
                found.push(String::from_utf8(bytes).unwrap());
            }
        }
        assert_eq!(found, lines, "in pieces of {chunk}");
    }
}

#[test]
fn blank_lines_can_be_faults() {
    let rules = Rules::json_rpc().skip_blank_lines(false);
    let expected = [
        "fault blank-line @1 id=- reply=null",
        r#"request 1 "m" -"#,
        "fault blank-line @3 id=- reply=null",
        "fault blank-line @1 id=- reply=null",
    ];
    assert_eq!(decode(rules, [format!("\n{REQUEST}\n \t\r\n\r\n").as_bytes()]), expected);
}

#[test]
fn byte_order_mark() {
    let marked = format!("\u{feff}{REQUEST}\n");
    let fault = "fault byte-order-mark @1 id=1 reply=1";
    for chunk in 1..marked.len() {
        assert_eq!(decode(Rules::mcp(), marked.as_bytes().chunks(chunk)), [r#"request 1 "m" -"#]);
        let twice = marked.clone() + &marked;
        assert_eq!(decode(Rules::mcp(), twice.as_bytes().chunks(chunk)), [r#"request 1 "m" -"#, fault]);
    }
    assert_eq!(decode(Rules::mcp(), [format!("\n{marked}").as_bytes()]), [fault]);
    assert_eq!(decode(Rules::mcp(), [format!("\u{feff}{marked}").as_bytes()]), [fault]);
    assert_eq!(
        decode(Rules::mcp(), [b"\xef\xbb\xbf\n\xef\xbb\xbf".as_slice()]),
        ["fault byte-order-mark @1 id=- reply=none"]
    );
    assert!(decode(Rules::mcp(), [b"\xef\xbb\xbf".as_slice()]).is_empty());
    assert_eq!(decode(Rules::mcp(), [b"\xef\xbb".as_slice()]), ["fault invalid-utf8 @1 id=- reply=none"]);
    assert_eq!(describe(&Frame::parse(marked.as_bytes(), &Rules::mcp())), fault);

    // The mark is not part of the line: it doesn't count towards the limit, and the line's offset is after it.
    let mut decoder = Decoder::new(Rules::mcp().max_line_len(REQUEST.len()));
    decoder.feed(marked.as_bytes());
    let frame = decoder.next_frame().unwrap().unwrap();
    assert_eq!((frame.line(), frame.offset(), frame.as_bytes()), (1, 3, REQUEST.as_bytes()));
    let mut decoder = Decoder::new(Rules::mcp().max_line_len(REQUEST.len() - 1));
    decoder.feed(marked.as_bytes());
    let fault = decoder.next_frame().unwrap().unwrap_err();
    assert_eq!((fault.kind(), fault.offset(), fault.line_len()), (FaultKind::LineTooLong, 3, REQUEST.len() as u64));
    assert!(decoder.last_line().is_empty());
}

/// A blank line beyond the limit is reported as too long instead of skipped, whatever the chunk size.
#[test]
fn a_blank_line_beyond_the_limit() {
    for (len, expected) in [(40, vec![]), (41, vec!["fault line-too-long @41 id=- reply=none"])] {
        let stream = " ".repeat(len) + "\n";
        for chunk in 1..=stream.len() {
            assert_eq!(decode(Rules::mcp().max_line_len(40), stream.as_bytes().chunks(chunk)), expected);
        }
    }
}

/// A byte order mark before a line that exceeds the limit, at every split point.
#[test]
fn a_byte_order_mark_before_an_oversized_line() {
    let stream = format!("\u{feff}{}\n{REQUEST}\n", "x".repeat(50));
    for first in 1..stream.len() {
        for chunk in [1, 2, 3, 100] {
            let pieces = std::iter::once(&stream.as_bytes()[..first]).chain(stream.as_bytes()[first..].chunks(chunk));
            let found = decode(Rules::mcp().max_line_len(40), pieces);
            assert_eq!(found, ["fault line-too-long @41 id=- reply=none", r#"request 1 "m" -"#]);
        }
        // The mark is not a part of the line.
        let mut decoder = Decoder::new(Rules::mcp().max_line_len(40));
        for piece in [&stream.as_bytes()[..first], &stream.as_bytes()[first..]] {
            decoder.feed(piece);
            while let Some(frame) = decoder.next_frame() {
                if let Err(fault) = frame {
                    assert_eq!((fault.offset(), fault.line_len()), (3, 50), "split at {first}");
                }
            }
        }
    }
}

/// Results don't depend on chunks under the smallest limits either.
#[test]
fn tiny_limits() {
    for stream in
        ["\u{feff}\n", "\u{feff}", "\u{feff}x\n", "\n", "x", "xy\r\n", "\r\n", "\u{feff}\r\n{}\n", "\u{feff}\u{feff}"]
    {
        for limit in 0..5 {
            let rules = Rules::json_rpc().max_line_len(limit);
            let whole = decode(rules, [stream.as_bytes()]);
            for chunk in 1..=stream.len() {
                assert_eq!(
                    decode(rules, stream.as_bytes().chunks(chunk)),
                    whole,
                    "{stream:?}, limit {limit}, pieces of {chunk}"
                );
            }
        }
    }
}

/// Lines around the limit, in many chunk sizes: the result depends on the bytes alone.
#[test]
fn the_line_limit() {
    let line = |len: usize| {
        let mut line = REQUEST.to_owned();
        line.insert_str(line.len() - 1, &" ".repeat(len - REQUEST.len()));
        line
    };
    for limit in [40, 64, 100] {
        for len in limit - 2..limit + 5 {
            for end in ["\n", "\r\n", "", "\r"] {
                let stream = format!("{REQUEST}\n{}{end}", line(len)) + if end.ends_with('\n') { REQUEST } else { "" };
                // A carriage return counts unless a line feed follows it.
                let counted = len + usize::from(end == "\r");
                let first = r#"request 1 "m" -"#.to_owned();
                let middle = match counted <= limit {
                    true => first.clone(),
                    false => format!("fault line-too-long @{} id=1 reply=1", limit + 1),
                };
                let mut expected = vec![first.clone(), middle];
                if end.ends_with('\n') {
                    expected.push(first);
                }
                for chunk in (1..60).chain([stream.len()]) {
                    let found = decode(Rules::mcp().max_line_len(limit), stream.as_bytes().chunks(chunk));
                    assert_eq!(found, expected, "limit {limit}, length {len}, end {end:?}, pieces of {chunk}");
                }
            }
        }
    }
}

#[test]
fn an_oversized_line_reports_its_offset_and_length() {
    let long = format!(r#"{{"method":"m","params":{{"x":"{}"}},"jsonrpc":"2.0","id":"last"}}"#, "y".repeat(5000));
    for (end, extra) in [("\n", 1), ("\r\n", 2)] {
        let stream = format!("{REQUEST}\n{long}{end}\n{REQUEST}\n{long}");
        for chunk in [1, 7, 64, 1000, 4096, 100_000] {
            let mut decoder = Decoder::new(Rules::mcp().max_line_len(1000));
            let mut found = Vec::new();
            for piece in stream.as_bytes().chunks(chunk) {
                decoder.feed(piece);
                while let Some(frame) = decoder.next_frame() {
                    found.push(match frame {
                        Ok(frame) => (frame.line(), frame.offset() as usize, frame.as_bytes().len(), None),
                        Err(fault) => {
                            assert_eq!(fault.kind(), FaultKind::LineTooLong);
                            let id = fault.id().map(|id| id.as_json().to_owned());
                            (fault.line(), fault.offset() as usize, fault.line_len() as usize, id)
                        }
                    });
                }
            }
            decoder.finish();
            let fault = decoder.next_frame().unwrap().unwrap_err();
            assert!(decoder.next_frame().is_none());
            let second = REQUEST.len() + 1;
            let fourth = second + long.len() + extra + 1;
            assert_eq!(
                found,
                [
                    (1, 0, REQUEST.len(), None),
                    (2, second, long.len(), Some("\"last\"".into())),
                    (4, fourth, REQUEST.len(), None),
                ]
            );
            assert_eq!(fault.line(), 5);
            assert_eq!(fault.offset() as usize, fourth + REQUEST.len() + 1);
            assert_eq!(fault.line_len() as usize, long.len());
            assert_eq!(fault.id().unwrap().as_json(), "\"last\"");
        }
    }
}

#[test]
fn the_id_of_an_oversized_line_is_found_anywhere() {
    let payload = "x\\\"},\\\"id\\\":99,{[".repeat(1000);
    for (line, expected) in [
        (format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"p":"{payload}"}}}}"#), "id=7 reply=7"),
        (format!(r#"{{"method":"m","params":{{"p":"{payload}","id":1}},"jsonrpc":"2.0","id":7}}"#), "id=7 reply=7"),
        (format!(r#"{{"result":{{"p":"{payload}"}},"jsonrpc":"2.0","id":7}}"#), "id=7 reply=none"),
        (format!(r#"{{"params":{{"p":"{payload}"}},"id":7,"method":"m","id":7}}"#), "id=- reply=none"),
        (format!(r#"{{"params":{{"p":"{payload}"}},"id":7"#), "id=- reply=none"),
        (format!(r#"[{{"params":{{"p":"{payload}"}},"id":7}}]"#), "id=- reply=none"),
        (format!(r#"{{"params":{{"p":"{payload}"}},"\u0069\u0064":"\u00e9"}}"#), "id=\"\\u00e9\" reply=\"\\u00e9\""),
        (format!(r#"{{"params":{{"p":"{payload}"}},"id":null}}"#), "id=- reply=none"),
        (format!(r#"{{"params":{{"p":"{payload}"}},"id":1.5}}"#), "id=- reply=none"),
        ("x".repeat(5000), "id=- reply=none"),
    ] {
        let expected = [format!("fault line-too-long @2001 {expected}"), r#"request 1 "m" -"#.into()];
        let stream = format!("{line}\n{REQUEST}\n");
        for chunk in [1, 2, 3, 100, 1 << 20] {
            let found = decode(Rules::mcp().max_line_len(2000), stream.as_bytes().chunks(chunk));
            assert_eq!(found, expected, "pieces of {chunk}");
        }
    }
}

/// The rest of an oversized line is discarded, even if a piece of it looks like a message.
#[test]
fn the_rest_of_an_oversized_line_is_discarded() {
    let (start, rest) = ("x".repeat(50), format!("{REQUEST}\n"));
    let expected = ["fault line-too-long @41 id=- reply=none", r#"request 1 "m" -"#];
    let pieces = [start.as_bytes(), rest.as_bytes(), rest.as_bytes()];
    assert_eq!(decode(Rules::mcp().max_line_len(40), pieces), expected);
}

#[test]
fn other_limits() {
    let nested =
        |depth: usize| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let parse = |line: &str, rules: Rules| Frame::parse(line.as_bytes(), &rules).err().map(|fault| fault.kind());
    assert_eq!(parse(&nested(9), Rules::json_rpc().max_depth(10)), None);
    assert_eq!(parse(&nested(10), Rules::json_rpc().max_depth(10)), Some(FaultKind::TooDeep));
    assert_eq!(parse(&nested(1023), Rules::json_rpc().max_depth(usize::MAX)), None);
    assert_eq!(parse(&nested(1024), Rules::json_rpc().max_depth(usize::MAX)), Some(FaultKind::TooDeep));
    assert_eq!(parse("{}", Rules::json_rpc().max_depth(0)), Some(FaultKind::TooDeep));

    let batch = |len: usize| format!("[{}]", vec![REQUEST; len].join(","));
    assert_eq!(parse(&batch(3), Rules::json_rpc().max_batch_len(3)), None);
    assert_eq!(parse(&batch(4), Rules::json_rpc().max_batch_len(3)), Some(FaultKind::BatchTooLong));
    let responses = format!("[{}]", [r#"{"jsonrpc":"2.0","id":1,"result":1}"#; 4].join(","));
    let fault = Frame::parse(responses.as_bytes(), &Rules::json_rpc().max_batch_len(3)).unwrap_err();
    assert!(fault.reply().is_none());
    assert_eq!(parse(&batch(2), Rules::mcp().batches(true)), None);
    assert_eq!(parse(&batch(2), Rules::json_rpc().batches(false)), Some(FaultKind::BatchNotAllowed));

    let null = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#;
    for dialect in Dialect::ALL {
        let rules = dialect.rules().null_params(true);
        assert_eq!(describe(&Frame::parse(null.as_bytes(), &rules)), r#"request 1 "m" -"#);
    }
}

#[test]
fn answers_without_an_id() {
    let parse = |line: &str, rules: Rules| Frame::parse(line.as_bytes(), &rules).unwrap_err();
    let answer = |rules: Rules| parse("oops", rules).reply().map(|reply| reply.to_string());
    let data = r#""data":{"fault":"invalid-literal","line":1,"column":1}"#;
    let error = format!(r#""error":{{"code":-32700,"message":"Parse error",{data}}}"#);
    assert_eq!(answer(Rules::json_rpc()), Some(format!(r#"{{"jsonrpc":"2.0","id":null,{error}}}"#)));
    assert_eq!(answer(Rules::mcp()), None);
    assert_eq!(
        answer(Rules::mcp().answer_without_id(AnswerWithoutId::OmitId)),
        Some(format!(r#"{{"jsonrpc":"2.0",{error}}}"#))
    );
    assert_eq!(answer(Rules::json_rpc().answer_without_id(AnswerWithoutId::Never)), None);
    // A call, but not noise.
    let rules = Rules::mcp().answer_without_id(AnswerWithoutId::OmitIdUnlessNoise);
    for (line, is_answered) in [
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, true),
        (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#, true),
        (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, true),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, true),
        (r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#, false),
        (r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, false),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping",}"#, false),
        (r#"{"level":"info","message":"ready"}"#, false),
        ("[info] ready", false),
        ("42", false),
        ("oops", false),
    ] {
        let fault = parse(line, rules);
        assert_eq!(fault.reply().map(|reply| reply.id()), is_answered.then_some(None), "{line}: {fault}");
    }
    // A response is never answered, whatever the setting.
    let rules = Rules::json_rpc().answer_without_id(AnswerWithoutId::NullId);
    assert!(parse(r#"{"jsonrpc":"2.0","id":1,"result":1,"error":2}"#, rules).reply().is_none());
}

#[test]
fn hints() {
    for (line, hint) in [
        (&b"Content-Length: 120"[..], Some(Hint::ContentLengthHeader)),
        (b"content-length:5", Some(Hint::ContentLengthHeader)),
        (b"Content-Type: application/vscode-jsonrpc; charset=utf-8", Some(Hint::ContentLengthHeader)),
        (b"POST /mcp HTTP/1.1", Some(Hint::HttpRequest)),
        (b"HTTP/1.1 200 OK", Some(Hint::HttpRequest)),
        (b"HTTP/2 200", Some(Hint::HttpRequest)),
        (b"get /me a coffee", Some(Hint::LogText)),
        (b"{\0\"\0i\0d\0\"\0", Some(Hint::Utf16)),
        (b"\0{\0\"\0i\0d", Some(Hint::Utf16)),
        (b"\xff\xfe{\0", Some(Hint::Utf16)),
        (b"\xff\xfe", Some(Hint::Utf16)),
        (b"\xfe\xff", Some(Hint::Utf16)),
        (b"a\0b\0", Some(Hint::Utf16)),
        (b"a\0b", None),
        (b"{\0\0\0\"\0\0\0i\0\0\0", Some(Hint::Utf32)),
        (b"\0\0\0{\0\0\0\"\0\0\0i", Some(Hint::Utf32)),
        (b"\xff\xfe\0\0", Some(Hint::Utf32)),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\0", Some(Hint::ZeroBytes)),
        (b"data: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}", Some(Hint::EventStream)),
        (b"data:[]", Some(Hint::EventStream)),
        (b"event: message", Some(Hint::EventStream)),
        (b"event: all is well", Some(Hint::LogText)),
        (b"data: 5 rows", Some(Hint::LogText)),
        (b"<!DOCTYPE html>", Some(Hint::Html)),
        (b"<html lang=\"en\"><head>", Some(Hint::Html)),
        (b"{'jsonrpc': '2.0', 'method': 'a'}", Some(Hint::ObjectLiteral)),
        (b"{\"jsonrpc\": \"2.0\", \"result\": {\"ok\": True}}", Some(Hint::ObjectLiteral)),
        (b"{\"jsonrpc\": \"2.0\", \"result\": [None]}", Some(Hint::ObjectLiteral)),
        (b"{ jsonrpc: \"2.0\", method: \"a\" }", Some(Hint::ObjectLiteral)),
        (b"{\"jsonrpc\": '2.0'}", Some(Hint::ObjectLiteral)),
        (b"{hello} world", None),
        (b"{\"a\": Nonesuch}", None),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"a\",}", Some(Hint::TrailingComma)),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[1, ]}", Some(Hint::TrailingComma)),
        (b"{\"jsonrpc\":\"2.0\",\"method\":}", None),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"a \\\" b", Some(Hint::LineBreakInString)),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"a\nb\"}", Some(Hint::LineBreakInString)),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"caf\xe9\"}", Some(Hint::Latin1)),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"\xe9\xff\"}", None),
        (b"{", Some(Hint::PrettyPrinted)),
        (b"  \"jsonrpc\": \"2.0\",", Some(Hint::PrettyPrinted)),
        (b"  \"params\": {", Some(Hint::PrettyPrinted)),
        (b"  },", Some(Hint::PrettyPrinted)),
        (b"}", Some(Hint::PrettyPrinted)),
        (b"]", Some(Hint::PrettyPrinted)),
        (b"}]}", Some(Hint::PrettyPrinted)),
        (b"}]}}", None),
        (b"\"a\": 1", Some(Hint::PrettyPrinted)),
        (b"\"a\",", Some(Hint::PrettyPrinted)),
        (b"\"a\" \"b\"", None),
        (b"\"a: b, c", None),
        (br#"{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0","id":2,"method":"b"}"#, Some(Hint::SeveralValues)),
        (br#"{"jsonrpc":"2.0","method":"a"} {"jsonrpc":"2.0","method":"b"}"#, Some(Hint::SeveralValues)),
        (b"[1] [2]", Some(Hint::SeveralValues)),
        (br#"{"jsonrpc":"2.0","method":"a"} and more"#, None),
        (br#"{"jsonrpc":"2.0","id":1,"result":{"x":NaN}}"#, Some(Hint::NotANumber)),
        (br#"{"jsonrpc":"2.0","id":1,"result":{"x":-Infinity}}"#, Some(Hint::NotANumber)),
        (br#"{"jsonrpc":"2.0","id":1,"result":{"x":1inf}}"#, None),
        (br#"{"jsonrpc":"2.0","id":1,"result":{"x":nano}}"#, None),
        (br#"{"jsonrpc":"2.0","id":1,"result":{"x" nan}}"#, None),
        (br#"{"jsonrpc":"2.0","id":1,"result":{"x":undefined}}"#, Some(Hint::NotANumber)),
        (b"Server started on stdio", Some(Hint::LogText)),
        (b"2026-11-16 03:37:00 INFO ready", Some(Hint::LogText)),
        (b"[info] connected", Some(Hint::LogText)),
        (b"\x1b[32mINFO\x1b[0m ready", Some(Hint::LogText)),
        (b"npm warn deprecated", Some(Hint::LogText)),
        (b"ok", Some(Hint::LogText)),
        (b"x", None),
        (b"ok\tdone", Some(Hint::LogText)),
        (b"ok\x01done", None),
        (b"$HOME is not set", None),
        ("🚀 server started".as_bytes(), Some(Hint::LogText)),
        (br#"{"jsonrpc":"2.0","id":1,"method":"a""#, None),
        (br#"{"jsonrpc":"2.0","id":1,"method":1}"#, None),
        (b"\x01\x02\x03\x04", None),
    ] {
        let fault = Frame::parse(line, &Rules::json_rpc()).unwrap_err();
        assert_eq!(fault.hint(), hint, "{}", String::from_utf8_lossy(line));
    }
}

/// A fault's text names the types and limits that the rules in force allow.
#[test]
fn a_fault_names_what_the_rules_allow() {
    let (json_rpc, mcp, acp) = (Rules::json_rpc(), Rules::mcp(), Rules::acp());
    for (rules, line, expected) in [
        (mcp, r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, r#""id" must be a string or an integer under MCP rules"#),
        (
            acp,
            r#"{"jsonrpc":"2.0","id":[],"method":"m"}"#,
            r#""id" must be a string, an integer or null under ACP rules"#,
        ),
        (
            Rules::acp_v2(),
            r#"{"jsonrpc":"2.0","id":null,"result":1}"#,
            r#""id" must be a string or an integer under ACP v2 rules"#,
        ),
        (
            Rules::acp_v2(),
            r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
            r#""id" must be a string or an integer under ACP v2 rules"#,
        ),
        (Rules::codex(), r#"{"jsonrpc":"1.0","method":"m"}"#, r#""jsonrpc" must be the string "2.0""#),
        (Rules::electrum(), r#"{"jsonrpc":"1.1","method":"m"}"#, r#""jsonrpc" must be the string "2.0" or "1.0""#),
        (Rules::codex().null_params(false), r#"{"method":"m","params":null}"#, r#""params" must not be null"#),
        (
            Rules::electrum(),
            r#"{"id":1,"error":[1,"m"]}"#,
            r#""error" must be a string, or an object with an integer "code" and a string "message""#,
        ),
        (
            Rules::stratum(),
            r#"{"id":1,"error":[1]}"#,
            r#""error" must be an array of an integer and a string, a string, or an object with an integer "code" and a string "message""#,
        ),
        (
            acp,
            r#"{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":""}}"#,
            r#""id" must be a string, an integer or null under ACP rules"#,
        ),
        (
            json_rpc,
            r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#,
            r#""id" must be a string, a number or null under JSON-RPC rules"#,
        ),
        (json_rpc, r#"{"jsonrpc":"2.0","id":"\ud800","method":"m"}"#, r#""id" contains a lone surrogate"#),
        (json_rpc, r#"{"jsonrpc":"2.0","method":"\ud800"}"#, r#""method" contains a lone surrogate"#),
        (json_rpc, r#"{"jsonrpc":"2.0","method":1}"#, r#""method" must be a string"#),
        (mcp, r#"{"jsonrpc":"2.0","method":"m","params":[]}"#, r#""params" must be an object under MCP rules"#),
        (
            acp,
            r#"{"jsonrpc":"2.0","method":"m","params":1}"#,
            r#""params" must be an object or an array under ACP rules"#,
        ),
        (mcp, r#"{"jsonrpc":"2.0","id":1,"result":1}"#, r#""result" must be an object under MCP rules"#),
        (mcp, "[]", "batches are not allowed under MCP rules"),
        (json_rpc.max_batch_len(2), "[1,2,3]", "batch has more than 2 entries"),
        (json_rpc.max_depth(2), "[[[]]]", "brackets are nested deeper than 2"),
        (json_rpc.max_line_len(7), "[1,2,3, 4]", "line of 10 bytes exceeds the limit of 7"),
        (json_rpc, "Server started", "not JSON: expected an object or an array"),
        (mcp, "[info] started", "not JSON: expected an object"),
        (mcp, "2026-11-16 started", "not JSON: expected an object"),
        (json_rpc, r#"{"x":nope}"#, "expected a JSON value"),
        (json_rpc, r#"{"jsonrpc":"2.0","method":"m""#, "unexpected end of line"),
    ] {
        let fault = Frame::parse(line.as_bytes(), &rules).unwrap_err().to_string();
        let (_, text) = fault.split_once(": ").unwrap();
        assert_eq!(text, expected, "{line}");
    }
}

#[test]
fn a_fault_reports_its_reason_and_position() {
    let mut decoder = Decoder::new(Rules::mcp());
    decoder.feed(format!("{REQUEST}\n").as_bytes());
    decoder.feed(br#"{"jsonrpc":"2.0","id":"hunter2","method":"m","params":{"x":-NaN}}"#);
    decoder.feed(b"\n{\"result\":1}\n");
    assert!(decoder.next_frame().unwrap().is_ok());
    let fault = decoder.next_frame().unwrap().unwrap_err();
    assert_eq!(fault.to_string(), "line 2, column 61: invalid number");
    let expected = "Fault { kind: InvalidNumber, line: 2, column: 61, offset: 38, id: Some(Id(String, 9 bytes)), \
                    hint: Some(NotANumber), reply: true, .. }";
    assert_eq!(format!("{fault:?}"), expected);
    assert!(!fault.is_response());
    let fault = decoder.next_frame().unwrap().unwrap_err();
    assert_eq!(fault.to_string(), r#"line 3, column 1: missing "jsonrpc""#);
    assert!(fault.is_response());
    assert!(format!("{fault:?}").ends_with("reply: false, .. }"));
}

#[test]
fn message_contents_are_never_shown() {
    let secret = "hunter2";
    for line in [
        r#"{"jsonrpc":"2.0","id":"hunter2","method":"hunter2","params":{"hunter2":"hunter2"}}"#,
        r#"{"jsonrpc":"2.0","id":"hunter2","result":"hunter2"}"#,
        r#"{"jsonrpc":"2.0","id":"hunter2","error":{"code":1,"message":"hunter2","data":"hunter2"}}"#,
        r#"[{"jsonrpc":"2.0","method":"hunter2"}]"#,
        r#"{"jsonrpc":"2.0","id":"hunter2","method":hunter2}"#,
        r#"{"jsonrpc":"2.0","id":"hunter2","hunter2":1}"#,
        "hunter2",
    ] {
        let frame = Frame::parse(line.as_bytes(), &Rules::json_rpc());
        assert!(!format!("{frame:?}").contains(secret), "{frame:?}");
        match &frame {
            Ok(Frame::Message(message)) => {
                let mut shown = format!("{:?}", message.id());
                if let Message::Request(request) = message {
                    shown += &format!("{:?}", request.params());
                }
                if let Message::Response(response) = message {
                    shown += &format!("{:?}", response.outcome());
                }
                assert!(!shown.contains(secret), "{shown}");
            }
            Ok(Frame::Batch(batch)) => assert!(!format!("{:?}", batch.iter()).contains(secret)),
            Err(fault) => {
                assert!(!fault.to_string().contains(secret));
                assert!(!format!("{:?}", fault.reply()).contains(secret));
            }
        }
        let mut decoder = Decoder::new(Rules::json_rpc());
        decoder.feed(line.as_bytes());
        let shown = format!("{decoder:?}");
        assert!(!shown.contains(secret));
        let state = format!("line: 1, offset: 0, buffered: {}, discarding: false, finished: false, .. }}", line.len());
        assert!(shown.ends_with(&state), "{shown}");
    }
}

#[test]
fn a_reader_can_fill_the_buffer() {
    let stream = format!("{REQUEST}\n").repeat(100);
    let mut decoder = Decoder::new(Rules::mcp());
    let mut found = 0;
    for piece in stream.as_bytes().chunks(50) {
        let spare = decoder.spare(50);
        assert!(spare.capacity() - spare.len() >= 25);
        spare.put_slice(piece);
        while let Some(frame) = decoder.next_frame() {
            assert_eq!(describe(&frame), r#"request 1 "m" -"#);
            found += 1;
        }
    }
    assert_eq!(found, 100);
    // Bytes of an earlier read can't be changed through the spare buffer.
    decoder.spare(10).put_slice(&REQUEST.as_bytes()[..7]);
    assert!(decoder.next_frame().is_none());
    decoder.spare(0).clear();
    decoder.spare(100).put_slice(&REQUEST.as_bytes()[7..]);
    decoder.feed(b"\n");
    assert_eq!(describe(&decoder.next_frame().unwrap()), r#"request 1 "m" -"#);
}

/// A buffer is kept as long as it has half of the room asked for.
#[test]
fn a_buffer_with_half_the_room_is_kept() {
    let mut decoder = Decoder::new(Rules::mcp());
    let spare = decoder.spare(1024);
    let (start, capacity) = (spare.as_ptr(), spare.capacity());
    spare.put_bytes(b' ', capacity - 512);
    for room in [1024, 1023] {
        let spare = decoder.spare(room);
        assert_eq!((spare.as_ptr(), spare.capacity()), (start.wrapping_add(capacity - 512), 512));
    }
    assert!(decoder.spare(1025).capacity() >= 1025);
}

/// A finished decoder ignores further bytes, whichever way they are fed.
#[test]
fn bytes_after_the_end_are_ignored() {
    let ways: [fn(&mut Decoder, &[u8]); 4] = [
        |decoder, bytes| decoder.feed(bytes),
        |decoder, bytes| decoder.feed_buffer(BytesMut::from(bytes)),
        |decoder, bytes| decoder.spare(bytes.len()).put_slice(bytes),
        |decoder, bytes| {
            let read = |room: &mut [u8]| {
                room[..bytes.len()].copy_from_slice(bytes);
                Ok(bytes.len())
            };
            decoder.read_with(2 * bytes.len(), read).unwrap();
        },
    ];
    for feed in ways {
        for taken_before in [false, true] {
            let mut decoder = Decoder::new(Rules::mcp());
            decoder.feed(format!("{REQUEST}\n{REQUEST}").as_bytes());
            assert!(!decoder.is_finished());
            decoder.finish();
            assert!(decoder.is_finished());
            let mut found = 0;
            if taken_before {
                while decoder.next_frame().is_some() {
                    found += 1;
                }
            }
            feed(&mut decoder, format!("\n{REQUEST}\n").as_bytes());
            while let Some(frame) = decoder.next_frame() {
                assert_eq!(describe(&frame), r#"request 1 "m" -"#);
                found += 1;
            }
            assert_eq!((found, decoder.buffered()), (2, 0));
        }
    }
}

/// Adjacent buffers, such as those split off one `BytesMut`, are joined without copying.
#[test]
fn adjacent_buffers_are_not_copied() {
    let mut first = BytesMut::from(format!("{REQUEST}\n{REQUEST}\n{REQUEST}\n").as_bytes());
    let start = first.as_ptr();
    let mut second = first.split_off(REQUEST.len() / 2);
    let third = second.split_off(REQUEST.len() + 5);
    let mut decoder = Decoder::new(Rules::mcp());
    let mut found = 0;
    for buffer in [first, second, third] {
        decoder.feed_buffer(buffer);
        while let Some(frame) = decoder.next_frame() {
            assert_eq!(frame.unwrap().as_bytes().as_ptr(), start.wrapping_add(found * (REQUEST.len() + 1)));
            found += 1;
        }
    }
    assert_eq!(found, 3);
}

#[test]
fn frames_need_not_be_taken_at_once() {
    let mut decoder = Decoder::new(Rules::mcp());
    for _ in 0..10 {
        decoder.feed(format!("{REQUEST}\n{REQUEST}").as_bytes());
        decoder.feed(b"\n");
        assert_eq!(describe(&decoder.next_frame().unwrap()), r#"request 1 "m" -"#);
    }
    assert_eq!(decoder.buffered(), 10 * (REQUEST.len() + 1));
    let mut left = 0;
    while let Some(frame) = decoder.next_frame() {
        assert!(frame.is_ok());
        left += 1;
    }
    assert_eq!((left, decoder.buffered()), (10, 0));

    // The same with `feed_buffer`.
    for _ in 0..2 {
        decoder.feed_buffer(BytesMut::from(format!("{REQUEST}\n{REQUEST}\n").as_bytes()));
        assert!(decoder.next_frame().unwrap().is_ok());
    }
    assert_eq!(decoder.buffered(), 2 * (REQUEST.len() + 1));
    assert_eq!(std::iter::from_fn(|| decoder.next_frame().map(|frame| frame.is_ok())).count(), 2);
}

#[test]
fn a_decoder_can_start_in_the_middle() {
    let lines = ["\u{feff}oops", "", REQUEST, "\u{feff}{}", "[1]\r", r#"{"jsonrpc":"2.0","id":2}"#, REQUEST];
    let stream = lines.join("\n");
    let places = |mut decoder: Decoder, bytes: &[u8]| {
        decoder.feed(bytes);
        decoder.finish();
        let mut places = Vec::new();
        while let Some(frame) = decoder.next_frame() {
            places.push(match frame {
                Ok(frame) => (frame.line(), frame.offset(), format!("{frame:?}")),
                Err(fault) => {
                    (fault.line(), fault.offset(), format!("{fault:?} {:?}", fault.reply().map(|r| r.to_string())))
                }
            });
        }
        places
    };
    let whole = places(Decoder::new(Rules::json_rpc()), stream.as_bytes());
    assert_eq!(whole.len(), lines.len() - 1);
    for (at, _) in stream.match_indices('\n') {
        let (before, rest) = stream.split_at(at + 1);
        let line = before.matches('\n').count() as u64 + 1;
        let decoder = Decoder::new(Rules::json_rpc()).starting_at(line, before.len() as u64);
        let expected: Vec<_> = whole.iter().filter(|place| place.0 >= line).cloned().collect();
        assert_eq!(places(decoder, rest.as_bytes()), expected, "{line}");
    }
}

#[test]
fn owned_frames_outlive_the_decoder() {
    fn is_send_and_sync<T: Send + Sync + 'static>(_: &T) {}

    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#,
        r#"[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2,"result":{}},3]"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":5,"message":"e"}}"#,
    ];
    let mut decoder = Decoder::new(Rules::json_rpc());
    let mut owned = Vec::new();
    let mut expected = Vec::new();
    for round in 0..100 {
        for line in lines {
            decoder.feed(line.as_bytes());
            decoder.feed(b"\n");
            let frame = decoder.next_frame().unwrap();
            expected.push(describe(&frame));
            let frame = frame.unwrap().into_owned();
            is_send_and_sync(&frame);
            if let (Frame::Batch(batch), 0) = (&frame, round) {
                // Entries can be made owned individually too.
                let entry = batch.iter().next().unwrap().unwrap().into_owned();
                let by_value = batch.clone().into_iter().nth(1).unwrap().unwrap();
                drop(frame);
                assert_eq!(entry.as_bytes(), br#"{"jsonrpc":"2.0","method":"n"}"#);
                assert_eq!(by_value.as_bytes(), br#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
                expected.pop();
                continue;
            }
            owned.push(frame);
        }
    }
    drop(decoder);
    let found = std::thread::spawn(move || owned.into_iter().map(|frame| describe(&Ok(frame))).collect::<Vec<_>>());
    assert_eq!(found.join().unwrap(), expected);
}

/// 1000 random responses, written by serde_json and fed in random pieces, decode to the same 1000 responses.
#[test]
fn integrity() {
    fn property(responses: Vec<(i64, String, Vec<Option<String>>)>, sizes: Vec<u8>) -> TestResult {
        if responses.is_empty() {
            return TestResult::discard();
        }
        let responses: Vec<_> = (0..1000)
            .map(|i| {
                let (id, text, list) = &responses[i % responses.len()];
                serde_json::json!({"jsonrpc": "2.0", "id": id.wrapping_add(i as i64), "result": {"text": text, "list": list}})
            })
            .collect();
        let mut stream = Vec::new();
        for response in &responses {
            serde_json::to_writer(&mut stream, response).unwrap();
            stream.push(b'\n');
        }
        for kernel in Cpu::available() {
            kernel.run(|| {
                let mut decoder = Decoder::new(Rules::mcp());
                let mut sizes = sizes.iter().map(|&size| usize::from(size) + 1).chain([1, 100, 5000]).cycle();
                let mut rest = &stream[..];
                let mut expected = responses.iter();
                while let Some(size) = sizes.next().filter(|_| !rest.is_empty()) {
                    let (piece, after) = rest.split_at(size.min(rest.len()));
                    rest = after;
                    decoder.feed(piece);
                    while let Some(frame) = decoder.next_frame() {
                        let frame = frame.unwrap();
                        let expected = expected.next().unwrap();
                        assert_eq!(frame.as_bytes(), expected.to_string().as_bytes());
                        let Frame::Message(Message::Response(response)) = frame else { panic!() };
                        assert_eq!(response.id().unwrap().as_i64(), expected["id"].as_i64());
                        assert_eq!(response.result().unwrap().as_json(), expected["result"].to_string());
                    }
                }
                assert!(expected.next().is_none());
            });
        }
        TestResult::passed()
    }
    QuickCheck::new().tests(common::times(3) as u64).quickcheck(property as fn(_, _) -> _);
}

/// Any bytes decode to the same results in any pieces, on every kernel.
#[test]
fn chunking_changes_nothing() {
    fn property(lines: Vec<(u8, Vec<u8>)>, sizes: Vec<u8>) -> bool {
        let known: Vec<_> = common::cases().into_iter().map(|case| case.line).collect();
        let mut stream = Vec::new();
        for (choice, noise) in lines {
            match choice % 4 {
                0 => stream.extend_from_slice(&noise),
                1 => stream.extend_from_slice(b"\r\n"),
                _ => stream.extend_from_slice(&known[usize::from(choice) * 7 % known.len()]),
            }
            stream.push(b'\n');
        }
        stream.pop();
        let whole = decode(Rules::json_rpc().max_line_len(150), [&stream[..]]);
        for kernel in Cpu::available() {
            let rules = Rules::json_rpc().max_line_len(150);
            let mut pieces = Vec::new();
            let mut rest = &stream[..];
            for size in sizes.iter().map(|&size| usize::from(size) + 1).chain([1, 2, 300]).cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at(size.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            assert_eq!(kernel.run(|| decode(rules, pieces)), whole);
        }
        true
    }
    QuickCheck::new().tests(common::times(100) as u64).quickcheck(property as fn(_, _) -> _);
}

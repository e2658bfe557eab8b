//! Framings other than lines: what is accepted, recovery, positions, and that chunking changes nothing.

use crate::common;

use common::{Dialect, Random, cases, describe};
use wireline::{Decoder, Frame, Framing, Rules};
use wireline_json::Cpu;

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;

/// A text framed as a message. In an event, a carriage return can't be told from a line feed.
fn framed(framing: Framing, text: &[u8]) -> Vec<u8> {
    match framing {
        Framing::Lines => [text, b"\n"].concat(),
        Framing::ContentLength => [format!("Content-Length: {}\r\n\r\n", text.len()).as_bytes(), text].concat(),
        Framing::EventStream => {
            let mut event = b"event: message\n".to_vec();
            for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
                event.extend([b"data: ", line, b"\n"].concat());
            }
            event.extend(b"\n");
            event
        }
        _ => unreachable!(),
    }
}

/// Decodes a stream fed in these pieces: each result with its position and its text.
fn decode<'a>(decoder: Decoder, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, u64, u64, Vec<u8>)> {
    let mut decoder = decoder;
    let mut found = Vec::new();
    let mut drain = |decoder: &mut Decoder| {
        while let Some(frame) = decoder.next_frame() {
            let (line, offset) = match &frame {
                Ok(frame) => (frame.line(), frame.offset()),
                Err(fault) => (fault.line(), fault.offset()),
            };
            let described = describe(&frame);
            found.push((described, line, offset, decoder.last_line().to_vec()));
        }
    };
    for piece in pieces {
        decoder.feed(piece);
        drain(&mut decoder);
    }
    decoder.finish();
    drain(&mut decoder);
    assert_eq!(decoder.buffered(), 0);
    found
}

/// Decodes a stream in one piece, byte by byte, and split at every point, which must give the same.
fn decode_split(rules: Rules, framing: Framing, stream: &[u8]) -> Vec<(String, u64, u64, Vec<u8>)> {
    let decoder = || Decoder::new(rules).framing(framing);
    let whole = decode(decoder(), [stream]);
    let shown = String::from_utf8_lossy(stream);
    assert_eq!(decode(decoder(), stream.chunks(1)), whole, "{framing}, byte by byte: {shown}");
    for at in 0..stream.len() {
        let (one, two) = stream.split_at(at);
        assert_eq!(decode(decoder(), [one, two]), whole, "{framing}, split at {at}: {shown}");
    }
    whole
}

/// The whole table, with messages around each case that must not be affected.
#[test]
fn the_table_passes_through_each_framing_at_every_split_point() {
    let neighbour = r#"request 1 "m" -"#;
    for (nth, case) in cases().into_iter().enumerate() {
        for &framing in &Framing::ALL[1..] {
            let request = framed(framing, REQUEST.as_bytes());
            let stream = [&request[..], &framed(framing, &case.line), &request].concat();
            let joined: Vec<u8> = match framing {
                Framing::EventStream => {
                    case.line.iter().map(|&byte| if byte == b'\r' { b'\n' } else { byte }).collect()
                }
                _ => case.line.clone(),
            };
            let kernels: Vec<_> = Cpu::available().collect();
            for (dialect, turn) in Dialect::ALL.into_iter().zip(nth..) {
                let (rules, kernel) = (dialect.rules(), kernels[turn % kernels.len()]);
                let text = String::from_utf8_lossy(&case.line);
                let expected = describe(&Frame::parse(&joined, &rules));
                if joined == case.line {
                    assert_eq!(expected, case.expected(dialect), "{dialect:?} {text}");
                }
                let check = |pieces: &[&[u8]]| {
                    let found = kernel.run(|| decode(Decoder::new(rules).framing(framing), pieces.iter().copied()));
                    let described: Vec<_> = found.iter().map(|found| &*found.0).collect();
                    let lens: Vec<_> = pieces.iter().map(|piece| piece.len()).collect();
                    assert_eq!(described, [neighbour, &expected, neighbour], "{framing} {dialect:?} {lens:?}: {text}");
                    assert_eq!(found[1].3, joined, "{framing} {dialect:?} {lens:?}: {text}");
                };
                check(&stream.chunks(1).collect::<Vec<_>>());
                // Each split point in one of the dialects; all of them with `WIRELINE_TIMES`.
                let step = if common::times(1) > 1 { 1 } else { Dialect::ALL.len() };
                let from = request.len() + turn % step;
                for at in (from..stream.len().min(from + 200)).step_by(step) {
                    let (one, two) = stream.split_at(at);
                    check(&[one, two]);
                }
            }
        }
    }
}

/// A `Content-Length` stream and its results: `line:offset description`, with the rules of JSON-RPC.
fn content_length(stream: &str) -> Vec<String> {
    let found = decode_split(Rules::json_rpc(), Framing::ContentLength, stream.as_bytes());
    found.into_iter().map(|(described, line, offset, _)| format!("{line}:{offset} {described}")).collect()
}

#[test]
fn headers_that_are_accepted() {
    for header in [
        "Content-Length: 37\r\n\r\n",
        "Content-Length: 37\n\n",
        "content-length:37\r\n\r\n",
        "CONTENT-LENGTH:   37  \r\n\r\n",
        "Content-Length : 0000000000037\r\n\r\n",
        "Content-Length: 37\r\nContent-Length: 37\r\n\r\n",
        "Content-Length: 37\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        "Content-Type: application/vscode-jsonrpc;charset=UTF8\r\nContent-Length: 37\r\n\r\n",
        "Content-Type: text/plain; boundary=x; Charset=\"utf-8\"\nContent-Length: 37\r\n\n",
        "Content-Type: application/json\r\nX-Other: value\r\nX-Content-Length: 5\r\nContent-Length: 37\r\n\r\n",
        "\r\n \n\nContent-Length: 37\r\n\r\n",
        "\u{feff}Content-Length: 37\r\n\r\n",
    ] {
        let stream = format!("{header}{REQUEST}{header}{REQUEST}").replacen("\u{feff}", "", 2).replace("\u{feff}", "");
        let lines = header.matches('\n').count();
        let at = |line: usize, offset: usize| format!("{line}:{offset} request 1 \"m\" -");
        let header = header.trim_start_matches('\u{feff}').len();
        let expected = [at(lines + 1, header), at(2 * lines + 1, 2 * header + REQUEST.len())];
        assert_eq!(content_length(&stream), expected, "{stream}");
    }
    // A byte order mark at the start of the stream.
    let stream = format!("\u{feff}Content-Length: 37\r\n\r\n{REQUEST}\n\n");
    assert_eq!(content_length(&stream), ["3:25 request 1 \"m\" -"]);
}

/// Each is followed by a message, which must be found.
#[test]
fn noise_and_bad_headers_do_not_hide_the_next_message() {
    let fault = |line: usize, offset: usize, kind: &str, column: usize| {
        format!("{line}:{offset} fault {kind} @{column} id=- reply=null")
    };
    let cases: &[(&str, Vec<String>)] = &[
        ("Listening on port 80\n", vec![fault(1, 0, "invalid-header", 1)]),
        (
            "one\r\ntwo: 2 2 2 ?\r\n\r\n",
            vec![fault(1, 0, "invalid-header", 1), fault(2, 5, "missing-content-length", 1)],
        ),
        ("Listening on port 80", vec![fault(1, 0, "invalid-header", 1)]),
        ("INFO: on port 80\n", vec![fault(1, 0, "invalid-header", 1)]),
        ("INFO: on port 80", vec![fault(1, 0, "invalid-header", 1)]),
        ("X-Log: a\r\nINFO", vec![fault(1, 0, "invalid-header", 11)]),
        ("Content-Type: text/plain\r\n\r\n", vec![fault(1, 0, "missing-content-length", 1)]),
        ("Content-Length: five\r\n", vec![fault(1, 0, "invalid-content-length", 1)]),
        ("Content-Length: -5\r\n", vec![fault(1, 0, "invalid-content-length", 1)]),
        ("Content-Length: +5\r\n", vec![fault(1, 0, "invalid-content-length", 1)]),
        ("Content-Length:\r\n", vec![fault(1, 0, "invalid-content-length", 1)]),
        ("Content-Length: 4294967296\r\n", vec![fault(1, 0, "invalid-content-length", 1)]),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", vec![fault(1, 0, "invalid-content-length", 20)]),
        ("Content-Length: 5\r\nnoise\r\n", vec![fault(1, 0, "invalid-header", 20)]),
        (
            "Content-Length: 2\r\nContent-Type: x; charset=utf-16\r\n\r\n{}",
            vec![fault(4, 54, "unsupported-charset", 1)],
        ),
        ("Content-Length: 0\r\n\r\n", vec![fault(3, 21, "blank-line", 1)]),
        ("Content-Length: 2\r\n\r\n{}}", vec![fault(3, 21, "missing-version", 1), fault(3, 23, "invalid-header", 1)]),
    ];
    for (noise, expected) in cases {
        let stream = format!("{noise}Content-Length: 37\r\n\r\n{REQUEST}");
        let lines = 1 + stream.matches('\n').count();
        let request = format!("{lines}:{} request 1 \"m\" -", stream.len() - REQUEST.len());
        assert_eq!(content_length(&stream), [&expected[..], &[request]].concat(), "{stream}");
    }
}

/// A comment before an event isn't part of it, so it may be longer than an event.
#[test]
fn a_long_comment_does_not_hide_the_next_event() {
    let comment = "c".repeat(10_000);
    let stream = format!(":{comment}\ndata: {REQUEST}\n\ndata: {REQUEST}\n\n:{comment}\n\n");
    let found = decode_split(Rules::json_rpc().max_line_len(60), Framing::EventStream, stream.as_bytes());
    assert_eq!(found.iter().map(|found| &*found.0).collect::<Vec<_>>(), ["request 1 \"m\" -"; 2]);
}

/// The name of an event is its own, also if the event or the one before it is beyond the limit.
#[test]
fn events_beyond_the_limit_have_their_own_names() {
    let long = "x".repeat(6000);
    let cases = [
        (format!("event: a\ndata: {long}\n\ndata: {{}}\n\n"), vec![Some("a"), None]),
        (format!("event: a\ndata: {{}}\n\ndata: {long}\n\n"), vec![Some("a"), None]),
        (format!("event: a\ndata: {{}}\n\ndata: {long}"), vec![Some("a"), None]),
        (format!("data: {long}\nevent: a\r\n\r\ndata: {{}}\n\n"), vec![Some("a"), None]),
    ];
    for (stream, expected) in cases {
        for size in [1, 1000, stream.len()] {
            let mut decoder = Decoder::new(Rules::mcp().max_line_len(100)).framing(Framing::EventStream);
            let mut names = Vec::new();
            let mut take = |decoder: &mut Decoder| {
                while decoder.next_frame().is_some() {
                    names.push(decoder.event_name().map(str::to_owned));
                }
            };
            for piece in stream.as_bytes().chunks(size) {
                decoder.feed(piece);
                take(&mut decoder);
            }
            decoder.finish();
            take(&mut decoder);
            assert_eq!(names.iter().map(Option::as_deref).collect::<Vec<_>>(), expected, "{size} bytes at a time");
        }
    }
}

/// A client that reconnects with the id of an event that was cut off would never get that event.
#[test]
fn the_id_of_an_event_counts_once_it_is_complete() {
    let long = "x".repeat(6000);
    for rest in [format!("data: {REQUEST}"), format!("data: {long}"), "retry: 5".to_owned()] {
        for size in [1, 10_000] {
            let mut decoder = Decoder::new(Rules::json_rpc().max_line_len(60)).framing(Framing::EventStream);
            let stream = format!("id: 7\nevent: a\ndata: {REQUEST}\n\nid: 8\nevent: b\n{rest}\nid: 9");
            let mut names = Vec::new();
            for piece in stream.as_bytes().chunks(size) {
                decoder.feed(piece);
                while decoder.next_frame().is_some() {
                    names.push(decoder.event_name().map(str::to_owned));
                }
            }
            // What has arrived of the next event makes no difference.
            assert_eq!((decoder.event_name(), decoder.last_event_id()), (Some("a"), Some("7")), "{rest}");
            assert_eq!(names, [Some("a".to_owned())]);
            decoder.feed(b"\n\n");
            assert_eq!(decoder.next_frame().is_some(), rest.starts_with("data"));
            assert_eq!((decoder.event_name(), decoder.last_event_id()), (Some("b"), Some("9")), "{rest}");
            decoder.feed(b"id: 10\ndata: {}");
            decoder.finish();
            assert!(decoder.next_frame().unwrap().is_err());
            assert_eq!((decoder.event_name(), decoder.last_event_id()), (None, Some("9")));
        }
    }
}

/// The start of a stream of parts, most of which are messages.
fn random_stream(framing: Framing, random: &mut Random, limit: usize) -> Vec<u8> {
    let pick = |random: &mut Random, from: &[&str]| from[random.below(from.len())].to_owned();
    let mut stream = pick(random, &["", "", "\u{feff}", "\n"]).into_bytes();
    for _ in 0..random.below(12) {
        let padding = match random.below(8) {
            0 => limit.saturating_sub(40) + random.below(80),
            1 => 4096 + random.below(limit + 200),
            _ => random.below(60),
        };
        let text = match random.below(4) {
            0 => format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(padding)),
            1 => format!(
                "{{\"method\":\"m\",\n\"params\":[\"{}\"],\r\n\"jsonrpc\":\"2.0\",\"id\":2}}",
                "y".repeat(padding)
            ),
            2 => pick(random, &["{}", "[]", "", "noise: here", "é\u{1f600}", "\r", "Content-Length: 2\r\n\r\n{}"]),
            _ => REQUEST.to_owned(),
        };
        let part = match (framing, random.below(8)) {
            (_, 0) => pick(random, &["\n", "\r\n", " \n", "log line\n", "log: line\r\n", "half a line", "é\n", "\r"])
                .repeat(1 + random.below(2)),
            (_, 1) => "z".repeat(padding) + &pick(random, &["\n", "", " ", ": x\n", "-"]),
            (Framing::ContentLength, choice) => {
                let length = match choice {
                    2 => pick(random, &["", "-1", "+5", "five", "4294967296", "007", "1", "70", "1 "]),
                    _ => text.len().to_string(),
                };
                let end = pick(random, &["\r\n", "\r\n", "\n"]);
                let name =
                    pick(random, &["Content-Length: ", "Content-Length: ", "content-length:", "Content-Length : "]);
                let other = pick(
                    random,
                    &[
                        "Content-Type: x; charset=utf-8",
                        "content-type:x;a=b; charset=\"UTF8\"",
                        "Content-Type: x; charset=latin1",
                        "X: y",
                        "X-Content-Length: 5",
                        "noise",
                    ],
                );
                match choice {
                    2 | 3 => format!("{other}{end}{name}{length}{end}{end}{text}"),
                    4 => format!("{name}{length}{end}{other}{end}{end}{text}"),
                    _ => format!("{name}{length}{end}{end}{text}"),
                }
            }
            (_, choice) => {
                let end = pick(random, &["\r\n", "\n", "\n", "\r"]);
                let data = pick(random, &["data: ", "data: ", "data:", "data", "data:  "]);
                let other = pick(
                    random,
                    &[": comment", "id: 5", "id", "id: a\0b", "event: e", "retry: 10", "data", "dat", "other: x"],
                );
                let lines: Vec<_> = text.split(['\n', '\r']).map(|line| format!("{data}{line}{end}")).collect();
                match choice {
                    2 => format!("{other}{end}{}{end}", lines.concat()),
                    3 => format!("{}{other}{end}{end}", lines.concat()),
                    4 => format!("{other}{end}{end}"),
                    _ => format!("event: message{end}{}{end}", lines.concat()),
                }
            }
        };
        stream.extend(part.into_bytes());
    }
    stream.truncate(stream.len() - [0, 0, 1, 30][random.below(4)].min(stream.len()));
    stream
}

/// Streams of messages, noise and bad headers agree with a naive model, however they are chunked.
#[test]
fn random_streams_agree_with_a_model() {
    for &framing in &Framing::ALL[1..] {
        let mut random = Random::new(7);
        for nth in 0..common::times(500) {
            let limit = [0, 38, 60, 200, 3000, 1 << 24][random.below(6)];
            let stream = random_stream(framing, &mut random, limit.min(3000));
            let rules = Rules::json_rpc().max_line_len(limit);
            let sizes = [1 + random.below(3), 1 + random.below(100), 1 + random.below(5000)];
            let mut rest = &stream[..];
            let mut pieces = Vec::new();
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(sizes[random.below(3)].min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            let check = || {
                for pieces in [vec![&stream[..]], stream.chunks(1).collect(), pieces] {
                    common::framings::check(rules, framing, &stream, pieces);
                }
            };
            if let Err(panic) = std::panic::catch_unwind(check) {
                eprintln!("{framing} stream {nth}, limit {limit}: \"{}\"", stream.escape_ascii());
                std::panic::resume_unwind(panic);
            }
        }
    }
}

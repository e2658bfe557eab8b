//! `Rules::salvage`: which messages behind noise are decoded, and which aren't.

use crate::common;

use common::{Dialect, Random, describe, times};
use quickcheck::quickcheck;
use serde_json::{Value, json};
use wireline::connection::{Connection, Event};
use wireline::{Decoder, Encoder, FaultKind, Frame, Framing, Message, Rules};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn salvaging() -> Rules {
    Rules::json_rpc().salvage(true)
}

/// Noise after which a message is decoded.
const NOISE: &[&[u8]] = &[
    b"\x1b[2K\r",
    b"\x1b[?25h",
    b"\x1b[1;32m\x1b[0m",
    b"\x1b]0;title\x07",
    b"\x1b[2K\x1b[1G",
    b"loading: 100%",
    b"[#####     ] 50%\r",
    b"Starting...",
    b"Done!",
    b"ready?",
    b"3 tools loaded\r",
    b"\0",
    b"\0\0\0\0",
    b"\x08",
    b"\x0c",
    b"\x7f",
    b"\xef\xbb\xbf",
    b"  \xef\xbb\xbf",
    b"\xff\xfe",
    b"\xc3",
    b"\xe2\xa0\x8b",
    b"it's ready",
    b"]0",
    b"true",
];

/// Noise after which a message isn't decoded, because it may be part of a broken message, or a copy.
const DOUBTFUL: &[&[u8]] = &[
    b"[",
    b"[ ",
    b"[\r",
    b"[\x1b[0m",
    b"[1,",
    b",",
    b", \r",
    b":",
    b"params: ",
    b"\"params\":",
    b"\"",
    b"\"text",
    b"\"a\":1}\r100%",
    b"]",
    b"}",
    b"]}",
    b"}}\r",
    b"[info]",
    b"[info] ",
    b"DEBUG sending: ",
    b"DEBUG sending:",
    b"DEBUG sending: \x1b[0m",
    b"\x1b[36mDEBUG\x1b[0m ",
    b"DEBUG sending ",
    b"sent\t",
    b"sent\t\x1b[0m\r",
    b"body=",
    b"-->",
    b"> ",
    b"<<<",
    b"|",
    b"send(",
    b"Some(",
    b"'",
    b"`",
    b"/*",
    b"//",
    b"\\",
    b"\x1b[",
    b"data: ",
];

/// Decodes the stream, and returns what was found, with the length of the noise, and the line.
fn decode<'a>(rules: Rules, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, usize, Vec<u8>)> {
    let mut decoder = Decoder::new(rules);
    let mut found = Vec::new();
    let mut take = |decoder: &mut Decoder| {
        while let Some(frame) = decoder.next_frame() {
            let described = describe(&frame);
            let range = match &frame {
                Ok(Frame::Message(message)) => {
                    let range = message.ranges().message;
                    Some((range, message.as_bytes().to_vec()))
                }
                _ => None,
            };
            let skipped = range.as_ref().map_or(0, |(range, _)| range.start);
            if let Some((range, bytes)) = range {
                assert_eq!(decoder.last_line()[range], bytes);
            }
            found.push((described, skipped, decoder.last_line().to_vec()));
        }
    };
    for piece in pieces {
        decoder.feed(piece);
        take(&mut decoder);
    }
    decoder.finish();
    take(&mut decoder);
    found
}

/// Decodes the stream whole, byte by byte and split at every point, with the same results.
fn decode_everyhow(rules: Rules, stream: &[u8]) -> Vec<(String, usize, Vec<u8>)> {
    let whole = decode(rules, [stream]);
    assert_eq!(decode(rules, stream.chunks(1)), whole);
    for at in 1..stream.len() {
        let (one, other) = stream.split_at(at);
        assert_eq!(decode(rules, [one, other]), whole, "split at {at}: {:?}", String::from_utf8_lossy(stream));
    }
    whole
}

#[test]
fn a_message_behind_noise_is_decoded() {
    let expected = r#"request 1 "ping" -"#;
    for noise in NOISE {
        for (end, blanks) in [("\n", ""), ("\r\n", ""), ("", ""), ("\n", " \t "), ("\r\n", "\r")] {
            let line = [*noise, PING.as_bytes(), blanks.as_bytes()].concat();
            let stream = [format!("{PING}\n").as_bytes(), &line, end.as_bytes()].concat();
            let found = decode_everyhow(salvaging(), &stream);
            let pinged = (expected.to_owned(), 0, PING.as_bytes().to_vec());
            assert_eq!(found, [pinged.clone(), (expected.to_owned(), noise.len(), line)]);
            // Not unless asked for.
            let found = decode(Rules::json_rpc(), [&stream[..]]);
            assert_eq!(found[0], pinged);
            assert!(found.len() == 2 && found[1].0.starts_with("fault "), "{found:?}");
        }
    }
}

/// Every other line gives exactly what it gives without salvage.
#[test]
fn other_lines_are_not_affected() {
    let mut lines: Vec<Vec<u8>> = DOUBTFUL.iter().map(|noise| [*noise, PING.as_bytes()].concat()).collect();
    for noise in NOISE {
        for rest in [
            format!("{PING}{PING}"),
            format!("{PING} {PING}"),
            format!("{PING}]"),
            format!("{PING},"),
            format!("{PING}\x1b[0m"),
            format!("{PING} ok"),
            format!("[{PING}]"),
            format!("{{{PING}"),
            format!("{{}}{PING}"),
            format!("{{\"a\":{PING}"),
            format!("{{\"a\":{PING}}}"),
            PING[..PING.len() - 1].to_owned(),
            PING.replace("2.0", "3.0"),
            PING.replace("\"ping\"", "ping"),
            "{}".to_owned(),
            String::new(),
        ] {
            lines.push([*noise, rest.as_bytes()].concat());
        }
    }
    for line in [format!("[{PING}]"), format!(" [1, {PING}]"), format!(" \t{PING}"), format!("\r{PING}")] {
        lines.push(line.into_bytes());
    }
    for line in &lines {
        // After another line, so that a byte order mark isn't at the start of the stream.
        let stream = [b"\n", &line[..], b"\n"].concat();
        let found = decode_everyhow(salvaging(), &stream);
        assert_eq!(found, decode(Rules::json_rpc(), [&stream[..]]), "{:?}", String::from_utf8_lossy(line));
        assert!(found.iter().all(|(_, skipped, _)| *skipped == 0));
    }
}

/// The table of all cases gives the same with and without salvage, except where a message is behind noise.
#[test]
fn good_lines_and_faults_are_the_same() {
    for case in common::cases() {
        for dialect in Dialect::ALL {
            let lines = [&case.line[..], b"\n"].concat();
            let found = decode(dialect.rules().salvage(true), [&lines[..]]);
            match &found[..] {
                [(_, skipped, _)] if *skipped > 0 => assert!(case.expected(dialect).starts_with("fault ")),
                _ => assert_eq!(found, decode(dialect.rules(), [&lines[..]])),
            }
        }
    }
}

/// A server that prints escapes, a spinner and logs to stdout.
#[test]
fn a_noisy_session() {
    let result = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"[a] {{b}}: c"}}}}"#);
    let stream = [
        "> my-server@1.0.0 start\n> node server.js\n\n".to_owned(),
        format!("\x1b[?25l\x1b[2K\x1b[1G{}\n", result(1)),
        format!("⠋ Loading tools\r⠙ Loading tools\r\x1b[K{}\r\n", result(2)),
        format!("\x1b[2m12:00:01\x1b[0m \x1b[34mDEBUG\x1b[0m sent \x1b[2m{}\n", result(3)),
        format!("[12:00:01] sent: {}\n", result(4)),
        format!("{}\n", result(5)),
        format!("Done in 0.2s.{}\n", result(6)),
        format!("Warning: deprecated{}{}\n", result(7), result(8)),
    ]
    .concat();
    let found = decode_everyhow(salvaging(), stream.as_bytes());
    let results = found.iter().filter_map(|(found, ..)| found.strip_prefix("result ")?.split(' ').next());
    assert_eq!(results.collect::<Vec<_>>(), ["1", "2", "5", "6"]);
    assert_eq!(found.len(), 9);
}

#[test]
fn only_lines_within_the_limit_and_only_in_lines() {
    let line = format!("\x1b[2K\r{PING}");
    for (limit, skipped) in [(line.len(), 5), (line.len() - 1, 0)] {
        let found = decode_everyhow(salvaging().max_line_len(limit), format!("{line}\n").as_bytes());
        assert_eq!(found.iter().map(|(_, skipped, _)| *skipped).collect::<Vec<_>>(), [skipped]);
        assert_eq!(found[0].0.starts_with("fault line-too-long"), skipped == 0);
    }
    assert!(Frame::parse(line.as_bytes(), &salvaging()).is_err());
    let header = format!("Content-Length: {}\r\n\r\n{line}", line.len());
    let mut decoder = Decoder::new(salvaging()).framing(Framing::ContentLength);
    decoder.feed(header.as_bytes());
    assert!(decoder.next_frame().unwrap().is_err());
}

/// The offset is that of the line, which may be after a byte order mark, and the ranges are those in the line.
#[test]
fn positions() {
    let stream = format!("\u{feff}\x1b[0m{PING}\n\n100%{PING}\n");
    let mut decoder = Decoder::new(salvaging());
    decoder.feed(stream.as_bytes());
    for (line, offset) in [(1, 3), (3, 3 + 4 + PING.len() as u64 + 2)] {
        let Some(Ok(Frame::Message(Message::Request(ping)))) = decoder.next_frame() else { panic!() };
        assert_eq!((ping.line(), ping.offset()), (line, offset));
        let ranges = ping.ranges();
        let at = |range: std::ops::Range<usize>| &stream[offset as usize..][range];
        assert_eq!((at(ranges.message), at(ranges.method.unwrap())), (PING, "\"ping\""));
    }
}

#[test]
fn a_relay_forwards_only_the_message() {
    let mut decoder = Decoder::new(salvaging());
    decoder.feed(format!("\x1b[2K\r{PING}\n").as_bytes());
    let Some(Ok(Frame::Message(message))) = decoder.next_frame() else { panic!() };
    let mut encoder = Encoder::new(salvaging());
    encoder.forward(&message).unwrap();
    assert_eq!(encoder.take(), format!("{PING}\n"));
    assert_eq!(message.to_bytes(), PING);
}

#[test]
fn a_connection_answers_once_and_settles_calls() {
    let mut connection = Connection::<u32>::new(salvaging());
    connection.peer().request("m", &(), 7).unwrap();
    let len = connection.pending().len();
    connection.advance(len);
    let copy = format!("DEBUG sending: {PING}\n");
    connection.feed(format!("\x1b[2K\r{PING}\n{copy}100%{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":2}}\n").as_bytes());
    let Some(Event::Request(request, ticket)) = connection.next_event() else { panic!() };
    assert_eq!((request.line(), request.ranges().message.start), (1, 5));
    ticket.respond(&json!("pong"));
    let Some(Event::Fault(fault)) = connection.next_event() else { panic!() };
    assert_eq!((fault.kind(), fault.line()), (FaultKind::InvalidLiteral, 2));
    let Some(Event::Response(response, 7)) = connection.next_event() else { panic!() };
    assert_eq!(response.result().unwrap().as_json(), "2");
    assert!(connection.next_event().is_none());
    let written = String::from_utf8(connection.pending().to_vec()).unwrap();
    let answers: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.iter().filter(|answer| answer["result"] == "pong").count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer["id"] == 1).count(), 1);
}

/// What a line with noise holds, found naively: the message and the length of the noise.
fn naively(line: &[u8]) -> Option<(Vec<u8>, usize)> {
    let at = line.iter().position(|&byte| byte == b'{')?;
    let noise: String = line[..at].iter().map(|&byte| char::from(byte)).collect();
    if noise.contains('"') || noise.trim_matches([' ', '\t', '\r']).is_empty() {
        return None;
    }
    let mut shown = &noise[..];
    loop {
        let cut = shown.trim_end_matches('\r');
        let escape = cut.rfind("\x1b[").filter(|&escape| {
            let sequence = &cut[escape + 2..];
            let parameters = sequence.trim_start_matches(|c| (' '..='?').contains(&c));
            parameters.chars().count() == 1 && ('@'..='~').contains(&parameters.chars().next().unwrap())
        });
        match escape {
            Some(escape) => shown = &cut[..escape],
            None if cut.len() < shown.len() => shown = cut,
            None => break,
        }
    }
    if shown.ends_with(|c: char| " \t#$&'()*+,-/:;<=>@[\\]^_`{|}~".contains(c)) {
        return None;
    }
    let message: Value = serde_json::from_slice(&line[at..]).ok()?;
    (message.is_object() && Frame::parse(&line[at..], &Rules::json_rpc()).is_ok()).then(|| (line[at..].to_vec(), at))
}

/// Decodes one line, and returns the message and the length of the noise, if there was any.
fn salvaged(line: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut decoder = Decoder::new(salvaging());
    decoder.feed(b"\n");
    decoder.feed(line);
    decoder.finish();
    let message = match decoder.next_frame()? {
        Ok(Frame::Message(message)) => Some((message.as_bytes().to_vec(), message.ranges().message.start)),
        _ => None,
    };
    assert!(decoder.next_frame().is_none());
    message.filter(|(_, skipped)| *skipped > 0)
}

quickcheck! {
    fn random_noise(noise: Vec<u8>) -> bool {
        let noise: Vec<u8> = noise.into_iter().filter(|byte| !b"\n\"{".contains(byte)).collect();
        let line = [&noise, PING.as_bytes()].concat();
        salvaged(&line) == naively(&line)
    }

    /// Noise with neither forbidden bytes nor anything doubtful at its end.
    fn harmless_noise(noise: Vec<u8>) -> bool {
        let noise: Vec<u8> = noise.into_iter().filter(|byte| !b"\n\"{".contains(byte)).chain(*b"100%").collect();
        salvaged(&[&noise, PING.as_bytes()].concat()) == Some((PING.as_bytes().to_vec(), noise.len()))
    }
}

/// Mutated messages and batches give a message only where the naive rule finds one.
#[test]
fn mutated_lines() {
    let nested = format!(r#"{{"jsonrpc":"2.0","method":"m","params":[{PING},[{PING}],{{"a":{PING}}}]}}"#);
    let lines =
        [PING.to_owned(), nested.clone(), format!("[{PING},{nested}]"), format!("\x1b[2K\r{PING}"), nested + PING];
    let bytes = b"\x1b[]{},:\" \t\r0a%=>.\\\xff\0m";
    let mut random = Random::new(7);
    let mut count = 0;
    for _ in 0..times(40_000) {
        let mut line = lines[random.below(lines.len())].clone().into_bytes();
        // Cuts off its start, which may leave a message from the payload at the end.
        if random.below(2) == 0 {
            line.drain(..random.below(line.len()));
        }
        if random.below(3) == 0 {
            line.truncate(line.len() - random.below(4).min(line.len()));
        }
        for _ in 0..random.below(4) {
            let byte = bytes[random.below(bytes.len())];
            let at = random.below(line.len() + 1);
            match random.below(3) {
                0 => line.insert(at.min(random.below(8)), byte),
                1 if at < line.len() => line[at] = byte,
                _ => line.insert(at, byte),
            }
        }
        let found = salvaged(&line);
        assert_eq!(found, naively(&line), "{:?}", String::from_utf8_lossy(&line));
        count += usize::from(found.is_some());
    }
    assert!(count > 100, "only {count} messages were salvaged");
}

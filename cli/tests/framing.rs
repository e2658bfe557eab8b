//! Streams with `Content-Length` headers and event streams, in all commands that read traffic.

use crate::common;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Run, file, new_file, run, run_with_input};
use serde_json::{Value, json};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"rootUri":"file:///é"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}"#;

fn with_length(length: usize, message: &str) -> String {
    format!("Content-Length: {length}\r\n\r\n{message}")
}

fn with_header(message: &str) -> String {
    with_length(message.len(), message)
}

fn event(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

/// Runs `check` on a file and on standard input, which make no difference.
#[track_caller]
fn check(options: &[&str], stream: &str) -> Run {
    // The tests run at the same time.
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let file = file(&format!("stream{}", RUNS.fetch_add(1, Ordering::Relaxed)), stream);
    let from_file = run(&[&["check", "--format", "ndjson"], options, &[path(&file)]].concat());
    let from_stdin = run_with_input(&[&["check", "--format", "ndjson"], options].concat(), stream);
    assert_eq!((&from_file.stdout, from_file.code), (&from_stdin.stdout, from_stdin.code));
    from_file
}

#[test]
fn check_finds_out_the_framing() {
    let messages = [INITIALIZE, INITIALIZED, RESULT];
    let streams = [
        ("content-length", messages.map(with_header).concat()),
        ("content-length", messages.map(|message| with_header(&message.replace(',', ",\n "))).concat()),
        ("content-length", format!("Content-Type: x; charset=utf-8\r\n{}\r\n", messages.map(with_header).concat())),
        ("event-stream", messages.map(event).concat()),
        ("event-stream", format!(": ping\n\nid: 1\nretry: 5\ndata: \n\n{}", messages.map(event).concat())),
        ("event-stream", messages.map(event).concat().replace('\n', "\r\n")),
    ];
    for (framing, stream) in &streams {
        for options in [&[][..], &["--framing", framing]] {
            let run = check(options, stream);
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{stream}");
            let objects = run.objects();
            assert_eq!(objects.len(), 3);
            for (number, (object, message)) in objects.iter().zip(messages).enumerate() {
                let [offset, len, line] =
                    ["offset", "len", "line"].map(|name| usize::try_from(object[name].as_u64().unwrap()).unwrap());
                assert_eq!(object["frame"], json!(number + 1));
                assert_eq!(stream[offset..offset + len].replace("\n ", ""), message);
                assert_eq!(line, 1 + stream[..offset].matches('\n').count());
            }
            assert_eq!((&objects[0]["kind"], &objects[1]["method"]), (&json!("request"), &json!("initialized")));
        }
        let as_lines = check(&["--framing", "lines"], stream);
        assert_eq!(as_lines.code, Some(1));
        assert!(as_lines.objects().iter().any(|object| object["kind"] == "fault" && object.get("frame").is_none()));
    }
}

/// `check` compares a file with standard input, whose first bytes are read on their own.
#[test]
fn an_event_stream_may_start_with_an_event_that_is_no_message() {
    let endpoint = "event: endpoint\ndata: /m\n\n";
    let large = event(INITIALIZED).repeat(40_000);
    for (messages, frames) in [("", 1), (&event(INITIALIZED), 2), (&large, 40_001)] {
        for end in ["\n", "\r\n"] {
            let stream = (endpoint.to_owned() + messages).replace('\n', end);
            for options in [&[][..], &["-j", "2"]] {
                let objects = check(options, &stream).objects();
                let faults = objects.iter().filter(|object| object["kind"] == "fault").count();
                assert_eq!((objects.len(), faults, &objects[0]["frame"]), (frames, 1, &json!(1)), "{end:?}");
            }
        }
    }
}

#[test]
fn a_header_among_lines_is_a_fault_of_its_line() {
    let stream = format!("starting\n{INITIALIZE}\n{}\n", with_header(RESULT));
    let objects = check(&[], &stream).objects();
    let seen: Vec<_> = objects.iter().map(|object| (&object["line"], &object["hint"], &object["frame"])).collect();
    let (none, log, header) = (&Value::Null, &json!("log-text"), &json!("content-length-header"));
    assert_eq!(
        seen,
        [(&json!(1), log, none), (&json!(2), none, none), (&json!(3), header, none), (&json!(5), none, none)]
    );
}

/// Each mistake is one fault, and what comes after it is read again.
#[test]
fn mistakes_are_one_fault_each() {
    let message = with_header(INITIALIZED);
    let len = RESULT.len();
    let long = with_header(&format!("[{}]", "1,".repeat(600)));
    for (middle, fault, hint, intact) in [
        ("debug output".to_owned(), "invalid-header", json!("log-text"), 2),
        ("debug output\n".to_owned(), "invalid-header", json!("log-text"), 2),
        ("INFO: debug output\n".to_owned(), "invalid-header", json!("log-text"), 2),
        (format!("{INITIALIZED}\n"), "invalid-header", Value::Null, 2),
        (with_length(len - 9, RESULT), "unexpected-end", json!("wrong-content-length"), 2),
        (with_length(INITIALIZE.chars().count(), INITIALIZE), "unexpected-end", json!("wrong-content-length"), 2),
        ("Content-Length: 5x\r\n\r\n".to_owned(), "invalid-content-length", Value::Null, 2),
        ("Content-Type: x\r\n\r\n".to_owned(), "missing-content-length", Value::Null, 2),
        (with_header("{\"jsonrpc\":\"2.0\",\n\"id\":1,}"), "unexpected-byte", json!("trailing-comma"), 2),
        (long, "line-too-long", Value::Null, 2),
    ] {
        let objects = check(&["--max-len", "1000"], &format!("{message}{middle}{message}")).objects();
        let faults: Vec<_> = objects.iter().filter(|object| object["kind"] == "fault").collect();
        assert_eq!(faults.len(), 1, "{middle}: {objects:?}");
        let [found, frame] = ["fault", "frame"].map(|name| &faults[0][name]);
        assert_eq!((found, &faults[0]["hint"], frame), (&json!(fault), &hint, &json!(2)), "{middle}");
        assert_eq!(objects.len(), 1 + intact, "{middle}");
    }
    // Too large a number also takes the next header, and so leaves a message without one.
    let objects = check(&[], &format!("{}{message}{message}", with_length(len + 18, RESULT))).objects();
    let found: Vec<_> = objects.iter().map(|object| (&object["fault"], &object["hint"])).collect();
    let wrong = (&json!("trailing-data"), &json!("wrong-content-length"));
    assert_eq!(found, [wrong, (&json!("invalid-header"), &Value::Null), (&Value::Null, &Value::Null)]);

    for cut in
        [format!("{message}{}", &with_header(RESULT)[..40]), format!("{message}Content-Le"), event(RESULT).repeat(2)]
    {
        let run = check(&["--allow-unterminated"], &cut[..cut.len() - 2]);
        let faults: Vec<_> = run.objects().into_iter().filter(|object| object["kind"] == "fault").collect();
        assert_eq!((run.code, faults.len()), (Some(1), 1), "{cut}");
        assert!(["incomplete-frame", "invalid-header"].contains(&faults[0]["fault"].as_str().unwrap()), "{cut}");
    }
}

#[test]
fn reports_of_all_formats_name_the_frame() {
    let stream =
        format!("{}{}", with_header(RESULT), with_header("{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}"));
    let lsp = file("formats.lsp", stream);
    let check = |format: &str| run(&["check", "--format", format, path(&lsp)]).stdout.replace(path(&lsp), "lsp");
    let human = check("human");
    let heading = "lsp:5: frame 2 at byte 97, column 23: \"id\" must be a string, a number or null under JSON-RPC rules \
                   [invalid-id]\n    reply: error -32600 with id null\n\n1 frame is faulty, 1 is fine\n";
    assert!(human.starts_with(heading), "{human}");
    assert!(human.contains("\n     2 frames, 137 B in "), "{human}");
    let json: Value = serde_json::from_str(&check("json")).unwrap();
    let fault = &json["faults"][0];
    assert_eq!(
        ["line", "offset", "len", "frame", "column"].map(|name| fault[name].as_u64()),
        [5, 97, 40, 2, 23].map(Some)
    );
    for format in ["junit", "sarif"] {
        assert!(check(format).contains("frame 2 at byte 97, column 23: "), "{format}");
    }
}

#[test]
fn large_files_are_not_cut_within_a_message() {
    let message = with_header(&format!("{{\"jsonrpc\":\"2.0\",\n\"method\":\"{}\"}}", "x".repeat(1000)));
    let stream = format!("log\n{}", message.repeat(3000));
    let lsp = file("large.lsp", &stream);
    let run = run(&["check", "--format", "json", "-j", "2", path(&lsp)]);
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&json["lines"], &json["fault_count"], &json["bytes"]), (&json!(3001), &json!(1), &json!(stream.len())));
}

#[test]
fn files_without_times_have_statistics() {
    let (requests, answers) =
        (file("requests.lsp", with_header(INITIALIZE)), file("answers.sse", event(RESULT) + &event(INITIALIZED)));
    let run = run(&["stats", "--format", "json", path(&requests), path(&answers)]);
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &json["unanswered"], &json["faults"]), (Some(0), &json!(0), &json!({})), "{json}");
}

/// A recording of a language server's session. What the server sends isn't valid in a later message.
fn recording(name: &str) -> String {
    let record = |from: &str, line: &str, more: bool| {
        let mut record = json!({ "time": 1.5, "from": from, "line": line });
        if more {
            record["more"] = true.into();
        }
        // The members have an order.
        let rest = serde_json::to_string(&json!({ "line": line })).unwrap();
        let more = if more { ",\"more\":true}" } else { "}" };
        format!("{{\"time\":1.5,\"from\":\"{from}\",{}{more}\n", &rest[1..rest.len() - 1])
    };
    let header = |message: &str| format!("Content-Length: {}\r", message.len());
    let bad = "{\"jsonrpc\":\"2.0\",\"id\":2}";
    let text = [
        "{\"wireline-recording\":2,\"time\":1.0}\n".to_owned(),
        record("client", &header(INITIALIZE), false),
        record("client", "\r", false),
        record("client", INITIALIZE, true),
        record("server", &header(RESULT), false),
        record("server", "\r", false),
        record("server", &format!("{RESULT}{}", header(bad)), false),
        record("server", "\r", false),
        record("server", bad, true),
        "{\"time\":2.0,\"event\":\"end\",\"code\":0}\n".to_owned(),
    ];
    path(&file(name, text.concat())).to_owned()
}

#[test]
fn recordings_are_read_like_any_other() {
    let recording = recording("session.tap");
    let objects = run(&["check", "--format", "ndjson", &recording]).objects();
    let seen: Vec<_> =
        objects.iter().map(|it| json!([it["from"], it["line"], it["offset"], it["frame"], it["kind"]])).collect();
    let expected = [
        json!(["client", 4, 22, 1, "request"]),
        json!(["server", 7, 22, 1, "response"]),
        json!(["server", 9, 97, 2, "fault"]),
    ];
    assert_eq!(seen, expected);

    let shown = run(&["show", &recording]).stdout;
    assert!(shown.contains("← response     initialize #1"), "{shown}");
    assert!(shown.contains("frame 2 at byte 97, column 1: missing \"method\""), "{shown}");
    let objects = run(&["show", "--format", "ndjson", &recording]).objects();
    assert_eq!((&objects[2]["frame"], &objects[2]["offset"]), (&json!(2), &json!(97)));

    let page = run(&["report", &recording]).stdout;
    let messages = serde_json::to_string(RESULT).unwrap();
    assert!(page.contains(&messages[1..20]) && !page.contains("Content-Length: 53"), "{page}");
    let stats: Value = serde_json::from_str(&run(&["stats", "--format", "json", &recording]).stdout).unwrap();
    assert_eq!(stats["faults"], json!({ "missing-method": 1 }), "{stats}");
}

#[test]
fn a_replay_says_that_it_understands_only_lines() {
    let recording = recording("replay.tap");
    for command in [&["replay", &recording, "--", "cat"][..], &["replay", "--as-server", &recording]] {
        let run = run(command);
        assert_eq!(run.code, Some(2));
        assert!(run.stderr.contains("the client sends Content-Length headers, as in LSP: "), "{}", run.stderr);
        assert!(
            run.stderr
                .replace('\n', " ")
                .contains("`wireline replay` understands only messages on a line of their own")
        );
    }
}

#[cfg(unix)]
mod live {
    use super::*;
    use crate::tapping::{session, text};

    /// A server that reads a request, answers, and goes on for a while.
    fn server(before: &str, after: &str) -> String {
        let answer = with_header(RESULT).replace("\r\n", "\\r\\n");
        format!("head -c {} >&2; {before}; printf '{answer}'; {after}", with_header(INITIALIZE).len())
    }

    #[test]
    fn a_tap_passes_every_byte_and_times_every_message() {
        let recording = new_file("live.tap");
        let input = with_header(INITIALIZE) + &with_header(INITIALIZED);
        let options = ["--record", path(&recording)];
        let output = session(&options, &["sh", "-c", &server(":", "sleep 0.5; cat >&2")], input.as_bytes());
        assert_eq!((text(&output.stdout), output.status.code()), (&*with_header(RESULT), Some(0)));
        let log = text(&output.stderr);
        for line in ["→ request      initialize #1", "→ notification initialized", "← response     initialize #1"]
        {
            assert!(log.contains(line), "{log}");
        }
        assert!(log.contains("no faults, every request was answered"), "{log}");
        assert!(!log.contains("CRLF") && !log.contains("waiting"), "{log}");

        let mut sent = [String::new(), String::new()];
        for line in std::fs::read_to_string(&recording).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let from = match record["from"].as_str() {
                Some("client") => 0,
                Some("server") => 1,
                _ => continue,
            };
            sent[from].push_str(record["line"].as_str().unwrap());
            if record["more"] != true && record["open"] != true {
                sent[from].push('\n');
            }
        }
        assert_eq!(sent, [input, with_header(RESULT)]);
        let objects = run(&["show", "--format", "ndjson", "--no-stderr", path(&recording)]).objects();
        let response = objects.iter().find(|object| object["kind"] == "response").unwrap();
        // Its last byte is recorded when it comes, not when the line ends.
        assert!(response["seconds"].as_f64().unwrap() < 0.4, "{response}");
        assert_eq!(run(&["check", path(&recording)]).code, Some(0));
    }

    #[test]
    fn a_tap_reports_prints_and_incomplete_messages() {
        let input = with_header(INITIALIZE);
        let output = session(&[], &["sh", "-c", &server("echo starting up", "printf 'oops'")], input.as_bytes());
        let log = text(&output.stderr);
        assert!(log.contains("line 1, column 1: not JSON") && log.contains("this looks like a log line"), "{log}");
        assert!(log.contains("← response     initialize #1"), "{log}");
        assert!(
            log.replace("\n                        ", " ").contains("frame 2 at byte 87, column 1: expected a header"),
            "{log}"
        );

        let half = "printf 'Content-Length: 9\\r\\n\\r\\n{\"x\"'; sleep 2";
        let output = session(&[], &["sh", "-c", &server(":", half)], input.as_bytes());
        let log = text(&output.stderr).replace("\n                        ", " ");
        assert!(log.contains("25 bytes from the server without the end of their message for 1 s"), "{log}");
        assert!(log.contains("the stream ended within a message [incomplete-frame]"), "{log}");
    }

    #[test]
    fn other_commands_say_that_they_understand_only_lines() {
        let server = format!("printf '{}'; cat > /dev/null", with_header(INITIALIZED).replace("\r\n", "\\r\\n"));
        let conform = ["conform", "--only", "starts-in-time", "--timeout", "300ms", "--start-timeout", "300ms"];
        let run = run(&[&conform[..], &["--", "sh", "-c", &server]].concat());
        assert_eq!(run.code, Some(1));
        assert!(run.stdout.contains("it sends Content-Length headers, as in LSP"), "{}", run.stdout);

        let guard = |server: &str| {
            let run = run_with_input(&["guard", "--grace", "1s", "--", "sh", "-c", server], with_header(INITIALIZE));
            run.stderr
        };
        let stderr = guard(&server);
        for side in ["server", "client"] {
            assert_eq!(
                stderr.matches(&format!("the {side} sends Content-Length headers, as in LSP: ")).count(),
                1,
                "{stderr}"
            );
        }
    }
}

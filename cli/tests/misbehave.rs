//! `wireline misbehave`: every misbehaviour does what its sentence says, seen in the raw bytes.
#![cfg(target_os = "linux")]

use crate::common;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use common::{run, wireline};

/// Guards against a server that hangs although it shouldn't.
const DEADLINE: Duration = Duration::from_secs(60);

/// Requests, in short: `1` is a ping with the id 1.
fn ping(id: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")
}

/// What the server answers to [`ping`].
fn pong(id: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")
}

fn error(id: &str, code: i64, message: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":\"{message}\"}}}}\n")
}

/// How a server ended: its output, and its exit code or else the signal.
#[derive(Debug, PartialEq)]
struct End {
    output: Vec<u8>,
    code: Option<i32>,
    signal: Option<i32>,
}

/// A server that is running, and what it has printed so far.
struct Running {
    child: Child,
    output: Receiver<Vec<u8>>,
    stderr: thread::JoinHandle<Vec<u8>>,
    received: Vec<u8>,
}

impl Running {
    fn start(name: &str, rules: &str) -> Self {
        let mut child = wireline(&["misbehave", name, "--rules", rules]).stderr(Stdio::piped()).spawn().unwrap();
        let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = stdout.read(&mut buffer) {
                let _ = sender.send(buffer[..len].to_vec());
            }
        });
        let stderr = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            text
        });
        Self { child, output, stderr, received: Vec::new() }
    }

    /// Writes, and waits until the server has read it all.
    fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let mut stdin = self.child.stdin.take().unwrap();
        // Fails if the server has exited, which its output will show.
        let _ = stdin.write_all(bytes.as_ref());
        let started = Instant::now();
        let is_unread = |stdin: &ChildStdin| rustix::io::ioctl_fionread(stdin).is_ok_and(|unread| unread > 0);
        while is_unread(&stdin) && self.child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < DEADLINE, "the server doesn't read");
            thread::sleep(Duration::from_millis(1));
        }
        self.child.stdin = Some(stdin);
    }

    /// Waits for this output, and forgets it.
    #[track_caller]
    fn expect(&mut self, expected: impl AsRef<[u8]>) {
        let expected = expected.as_ref();
        while self.received.len() < expected.len() {
            let more = self.output.recv_timeout(DEADLINE);
            let Ok(more) = more else { panic!("{:?}", String::from_utf8_lossy(&self.received)) };
            self.received.extend(more);
        }
        let rest = self.received.split_off(expected.len());
        assert_eq!(String::from_utf8_lossy(&self.received), String::from_utf8_lossy(expected));
        self.received = rest;
    }

    /// Closes the input, and waits for the end.
    fn end(mut self) -> End {
        drop(self.child.stdin.take());
        let status = self.child.wait().unwrap();
        let mut output = self.received;
        output.extend(self.output.iter().flatten());
        let _ = self.stderr.join();
        End { output, code: status.code(), signal: status.signal() }
    }
}

/// Sends all of the input in one write to a server with JSON-RPC's rules.
fn serve(name: &str, input: &str) -> End {
    serve_writes(name, &[input])
}

/// The same, and each part of the input in a read of its own.
fn serve_writes(name: &str, writes: &[impl AsRef<[u8]>]) -> End {
    let mut server = Running::start(name, "json-rpc");
    for write in writes {
        server.write(write);
    }
    server.end()
}

fn exits_with(output: impl Into<Vec<u8>>, code: i32) -> End {
    End { output: output.into(), code: Some(code), signal: None }
}

fn crashes_after(output: impl Into<Vec<u8>>) -> End {
    End { output: output.into(), code: None, signal: Some(6) }
}

#[track_caller]
fn assert_ends(name: &str, found: &End, expected: &End) {
    let text = |end: &End| String::from_utf8_lossy(&end.output).chars().take(2000).collect::<String>();
    assert!(
        found == expected,
        "{name}: {}\n{:?} {:?}\nexpected: {}",
        text(found),
        found.code,
        found.signal,
        text(expected)
    );
}

/// The names that a test of this file covers, which must be all.
const COVERED: [&[&str]; 9] = [OUTPUT, TEXTS, IDS, MEMBERS, TIMES, INPUT, LINES, PROTOCOLS, PROCESSES];

#[test]
fn every_misbehaviour_is_tested() {
    let listed = run(&["misbehave", "--list"]).stdout;
    let names: BTreeSet<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let covered: BTreeSet<&str> = COVERED.into_iter().flatten().copied().collect();
    assert_eq!(names, covered);
    let unknown = run(&["misbehave", "no-such-thing"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(2), ""));
    assert!(!run(&["--help"]).stdout.contains("misbehave"));
}

const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"log","params":{"message":"working"}}"#;

const OUTPUT: &[&str] = &[
    "none",
    "banner",
    "noise-between",
    "log-line",
    "noise-every-37th",
    "noise-at-end",
    "noise-in-line",
    "terminal-escapes",
    "input-echo",
    "bom",
    "bom-each",
    "crlf-output",
    "blank-output",
    "pretty",
    "two-on-a-line",
    "missing-line-feed",
    "unterminated-end",
    "flood",
    "unknown-notification-output",
    "stray-response",
    "stray-error",
    "stray-null-error",
    "single-bytes",
    "late-start",
    "late",
    "drop-if-unread",
];

/// What comes for two pings, as a template: `1` and `2` stand for the answers.
#[test]
fn what_surrounds_the_answers() {
    let unknown = "{\"jsonrpc\":\"2.0\",\"method\":\"wireline/unknown\",\"params\":{\"x\":[null]}}\n";
    let (debug, log) = ("handling request: { ok: true }\n", "2026-01-01T12:00:00.000Z INFO request handled\n");
    let (stray, invalid) = (pong("\"nobody asked\""), error("null", -32600, "Invalid request"));
    let parse = error("null", -32700, "Parse error").replace("\"id\":null,", "");
    let (one, two) = (pong("1"), pong("2"));
    let pretty = |id| format!("{{\n  \"jsonrpc\": \"2.0\",\n  \"id\": {id},\n  \"result\": {{}}\n}}\n");
    let flood = format!("{NOTIFICATION}\n").repeat(2000);
    for (name, expected) in [
        ("none", format!("{one}{two}")),
        ("single-bytes", format!("{one}{two}")),
        ("late-start", format!("{one}{two}")),
        ("late", format!("{one}{two}")),
        ("banner", format!("Server started, waiting for requests\n{one}{two}")),
        ("noise-between", format!("{debug}{one}{debug}{two}")),
        ("log-line", format!("{one}{log}{two}{log}")),
        ("noise-at-end", format!("{one}{two}Goodbye\n")),
        ("noise-in-line", format!("working... {one}working... {two}")),
        ("terminal-escapes", format!("\x1b[2K\x1b[1G{one}\x1b[2K\x1b[1G{two}")),
        ("input-echo", format!("{}{one}{}{two}", ping("1"), ping("2"))),
        ("bom", format!("\u{feff}{one}{two}")),
        ("bom-each", format!("\u{feff}{one}\u{feff}{two}")),
        ("crlf-output", format!("{one}{two}").replace('\n', "\r\n")),
        ("blank-output", format!("\n  \n{one}\n  \n{two}")),
        ("pretty", format!("{}{}", pretty(1), pretty(2))),
        ("two-on-a-line", format!("{}{NOTIFICATION}\n{}{NOTIFICATION}\n", one.trim_end(), two.trim_end())),
        ("missing-line-feed", format!("{one}{}", two.trim_end())),
        ("unterminated-end", format!("{one}{two}{NOTIFICATION}")),
        ("flood", format!("{flood}{one}{flood}{two}")),
        ("unknown-notification-output", format!("{unknown}{one}{unknown}{two}")),
        ("stray-response", format!("{stray}{one}{stray}{two}")),
        ("stray-error", format!("{parse}{one}{parse}{two}")),
        ("stray-null-error", format!("{invalid}{one}{invalid}{two}")),
    ] {
        assert!(OUTPUT.contains(&name));
        let started = Instant::now();
        assert_ends(name, &serve(name, &(ping("1") + &ping("2"))), &exits_with(expected, 0));
        assert!(started.elapsed() >= Duration::from_secs(2) || !name.starts_with("late"), "{name}");
    }
}

#[test]
fn noise_comes_every_37th_time() {
    let ids: Vec<String> = (1..=75).map(|id: u32| id.to_string()).collect();
    let requests: String = ids.iter().map(|id| ping(id)).collect();
    let output = String::from_utf8(serve("noise-every-37th", &requests).output).unwrap();
    let noise: Vec<usize> =
        output.lines().enumerate().filter(|(_, line)| !line.starts_with('{')).map(|(at, _)| at).collect();
    assert_eq!((noise, output.lines().count()), (vec![36, 74], 77));
}

#[test]
fn answers_are_dropped_while_nobody_reads() {
    let text = "x".repeat(2000);
    let echo = |id: usize| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"echo\",\"params\":[\"{text}\"]}}\n");
    let mut child = wireline(&["misbehave", "drop-if-unread"]).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than a pipe holds. It is all read although no answer is.
    for id in 1..=200 {
        stdin.write_all(echo(id).as_bytes()).unwrap();
    }
    drop(stdin);
    child.wait().unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert!((1..100).contains(&output.lines().count()), "{}", output.lines().count());
}

const TEXTS: &[&str] = &[
    "line-break",
    "control-characters",
    "invalid-utf8-output",
    "lone-surrogate",
    "line-separator-output",
    "long-output",
    "deep-output",
    "pause-in-line",
];

#[test]
fn texts_are_put_into_answers() {
    let note = |text: &str| pong("1").replace("{}", &format!("{{\"note\":\"{text}\"}}"));
    for (name, text) in [
        ("line-break", "first\nsecond"),
        ("control-characters", "\x1b[31mred\x07\0"),
        ("lone-surrogate", "\\ud800"),
        ("line-separator-output", "\u{2028}\u{2029}\u{85}"),
        ("long-output", &"x".repeat(8 << 20)),
    ] {
        assert!(TEXTS.contains(&name));
        assert_ends(name, &serve(name, &ping("1")), &exits_with(note(text), 0));
    }
    let (before, after) = (&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"note\":\""[..], &b"\"}}\n"[..]);
    let expected = [before, b"\xff\xfe\xc3", after].concat();
    assert_ends("invalid-utf8-output", &serve("invalid-utf8-output", &ping("1")), &exits_with(expected, 0));
    let nested = format!("{{\"note\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let expected = exits_with(pong("1").replace("{}", &nested), 0);
    assert_ends("deep-output", &serve("deep-output", &ping("1")), &expected);

    let mut server = Running::start("pause-in-line", "json-rpc");
    server.write(ping("1"));
    server.expect(&pong("1")[..pong("1").len() / 2]);
    assert_eq!(server.received, b"", "the rest comes later");
    assert_ends("pause-in-line", &server.end(), &exits_with(&pong("1")[pong("1").len() / 2..], 0));
}

const IDS: &[&str] = &[
    "wrong-id",
    "null-id",
    "no-id",
    "other-id-type",
    "digits-as-number",
    "rounded-id",
    "32-bit-id",
    "short-id",
    "escaped-id",
    "falsy-ids",
    "unusual-number-ids",
    "ids-over-20",
    "ids-over-100",
    "crash-on-repeated-id",
];

/// The ids that are asked for, and those of the answers.
#[test]
fn ids_change() {
    let long = |len: usize| format!("\"{}\"", "a".repeat(len));
    let is_same = ["1", "\"a\"", "-7", "9007199254740991"];
    for (name, changes) in [
        ("other-id-type", vec![("5", "\"5\""), ("\"5\"", "5"), ("\"x\"", "\"x\""), ("null", "null")]),
        ("digits-as-number", vec![("\"5\"", "5"), ("\"05\"", "\"05\""), ("5", "5"), ("\"x\"", "\"x\"")]),
        (
            "rounded-id",
            is_same.map(|id| (id, id)).into_iter().chain([("9007199254740993", "9007199254740992")]).collect(),
        ),
        ("32-bit-id", vec![("2147483647", "2147483647"), ("2147483648", "-2147483648"), ("\"x\"", "\"x\"")]),
        ("short-id", vec![(&*long(20), &*long(20)), (&*long(21), &*long(20)), ("3", "3")]),
        ("escaped-id", vec![(r#""\u0061\/""#, r#""\\u0061\\/""#), ("\"a\"", "\"a\""), ("1", "1")]),
        ("falsy-ids", vec![("0", ""), ("\"\"", ""), ("1", "1"), ("\"0\"", "\"0\"")]),
        ("unusual-number-ids", vec![("1.0", ""), ("1e2", ""), ("-0", ""), ("1", "1"), ("\"1.0\"", "\"1.0\"")]),
        ("ids-over-20", vec![(&*long(21), ""), (&*long(20), &*long(20)), ("1", "1")]),
        ("ids-over-100", vec![(&*long(101), ""), (&*long(21), &*long(21)), ("1", "1")]),
        ("wrong-id", vec![("1", "987654"), ("\"a\"", "987654")]),
        ("null-id", vec![("1", "null"), ("\"a\"", "null")]),
    ] {
        assert!(IDS.contains(&name));
        let requests: String = changes.iter().map(|(id, _)| ping(id)).collect();
        let answers: String = changes.iter().filter(|(_, id)| !id.is_empty()).map(|(_, id)| pong(id)).collect();
        assert_ends(name, &serve(name, &requests), &exits_with(answers, 0));
    }
    assert_ends("no-id", &serve("no-id", &ping("1")), &exits_with(pong("1").replace("\"id\":1,", ""), 0));
    let repeated = serve("crash-on-repeated-id", &(ping("1") + &ping("2") + &ping("2")));
    assert_ends("crash-on-repeated-id", &repeated, &crashes_after(pong("1") + &pong("2")));
}

const MEMBERS: &[&str] = &[
    "both",
    "null-beside",
    "neither",
    "no-version",
    "old-version",
    "text-as-error",
    "text-as-code",
    "always-error",
    "in-array",
    "refuses-ping",
];

#[test]
fn members_change() {
    let internal = error("1", -32603, "Internal error");
    let answer = |body: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":1{body}}}\n");
    for (name, expected) in [
        ("both", answer(",\"result\":{},\"error\":{\"code\":-32603,\"message\":\"Internal error\"}")),
        ("null-beside", answer(",\"result\":{},\"error\":null")),
        ("neither", answer("")),
        ("no-version", "{\"id\":1,\"result\":{}}\n".to_owned()),
        ("old-version", pong("1").replace("2.0", "1.0")),
        ("text-as-error", answer(",\"error\":\"something went wrong\"")),
        ("text-as-code", internal.replace("-32603", "\"-32603\"")),
        ("always-error", internal.clone()),
        ("refuses-ping", internal.clone()),
        ("in-array", format!("[{}]\n", pong("1").trim_end())),
    ] {
        assert!(MEMBERS.contains(&name));
        assert_ends(name, &serve(name, &ping("1")), &exits_with(expected, 0));
    }
    let other = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":[]}\n";
    assert_ends("refuses-ping", &serve("refuses-ping", other), &exits_with(pong("1").replace("{}", "[]"), 0));
}

const TIMES: &[&str] = &[
    "twice",
    "twice-if-two",
    "never",
    "skip-every-10th",
    "skip-calls",
    "skip-unknown-methods",
    "skip-invalid-params",
    "skip-failing-calls",
    "skip-invalid-requests",
    "out-of-order",
    "unknown-method-code",
    "invalid-params-code",
    "invalid-request-code",
    "parse-error-code",
    "forgets-ids",
    "asks",
    "asks-unknown",
];

#[test]
fn answers_are_repeated_or_missing() {
    let (one, two, three) = (pong("1"), pong("2"), pong("3"));
    let both = ping("1") + &ping("2");
    assert_ends("twice", &serve("twice", &both), &exits_with(format!("{one}{one}{two}{two}"), 0));
    assert_ends("twice-if-two", &serve("twice-if-two", &both), &exits_with(format!("{one}{one}{two}{two}"), 0));
    let apart = serve_writes("twice-if-two", &[ping("1"), ping("2")]);
    assert_ends("twice-if-two", &apart, &exits_with(format!("{one}{two}"), 0));
    assert_ends("never", &serve("never", &both), &exits_with("", 0));
    assert_ends("out-of-order", &serve("out-of-order", &(both + &ping("3"))), &exits_with(three + &two + &one, 0));
    let ids: Vec<String> = (1..=20).map(|id: u32| id.to_string()).collect();
    let requests: String = ids.iter().map(|id| ping(id)).collect();
    let answers: String = ids.iter().filter(|id| !id.ends_with('0')).map(|id| pong(id)).collect();
    assert_ends("skip-every-10th", &serve("skip-every-10th", &requests), &exits_with(answers, 0));
}

/// What `none` answers to these lines without a misbehaviour, which leaves out or changes only one answer.
#[test]
fn errors_are_missing_or_have_another_code() {
    let call = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"add\",\"params\":[1,2]}\n";
    let unknown = "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"nothing\"}\n";
    let params = "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"add\",\"params\":[]}\n";
    let invalid = "{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}\n";
    let input = [&ping("1"), call, unknown, params, invalid, "text\n"].concat();
    let good = String::from_utf8(serve("none", &input).output).unwrap();
    let lines: Vec<&str> = good.split_inclusive('\n').collect();
    let codes = ["\"result\":{}", "\"sum\":3", "-32601", "-32602", "-32600", "-32700"];
    assert!(lines.len() == 6 && lines.iter().zip(codes).all(|(line, code)| line.contains(code)), "{good}");
    let without =
        |at: usize| lines.iter().enumerate().filter(|(line, _)| *line != at).map(|(_, line)| *line).collect::<String>();
    let recoded = |code: &str| good.replace(&format!("\"code\":{code}"), "\"code\":-1");
    for (name, expected) in [
        ("skip-calls", [lines[0], lines[2], lines[4], lines[5]].concat()),
        ("skip-unknown-methods", without(2)),
        ("skip-invalid-params", without(3)),
        ("skip-invalid-requests", without(4)),
        ("ignore-bad", lines[..4].concat()),
        ("unknown-method-code", recoded("-32601")),
        ("invalid-params-code", recoded("-32602")),
        ("invalid-request-code", recoded("-32600")),
        ("parse-error-code", recoded("-32700")),
        ("forgets-ids", good.replace("\"id\":5", "\"id\":null")),
    ] {
        assert_ends(name, &serve(name, &input), &exits_with(expected, 0));
    }
    let mut server = Running::start("skip-failing-calls", "mcp");
    let call = |id, tool| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\"}}}}\n")
    };
    server.write(call(1, "nothing") + &call(2, "echo"));
    let output = String::from_utf8(server.end().output).unwrap();
    assert!(output.contains("\"id\":2,\"error\":{\"code\":-32602") && !output.contains("\"id\":1"), "{output}");
}

#[test]
fn client_is_asked_first() {
    for (name, method) in [("asks", "ping"), ("asks-unknown", "wireline/unknown")] {
        let mut server = Running::start(name, "json-rpc");
        server.write(ping("7"));
        server.expect(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{{}}}}\n"));
        server.write(pong("1"));
        server.expect(pong("7"));
        assert_ends(name, &server.end(), &exits_with("", 0));
    }
}

const INPUT: &[&str] = &[
    "answers-notifications",
    "answers-unknown-notifications",
    "answers-responses",
    "answers-cancelled",
    "crash-on-cancel",
    "exit-on-bad",
    "exit-on-text",
    "ignore-bad",
    "lose-after-bad",
    "crash-on-scalars",
    "crash-on-strange-ids",
    "crash-on-utf8",
    "crash-on-depth",
    "crash-on-duplicates",
    "lose-extra-members",
    "lose-escaped-names",
    "lose-batches",
    "split-batches",
    "answers-notification-batches",
    "lose-empty-batches",
    "exit-if-input-ends",
];

#[test]
fn what_must_not_be_answered_is() {
    let invalid = |id| error(id, -32600, "Invalid request");
    let notify = |method| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}\n");
    let cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":9}}\n";
    let batch = format!("[{}]\n", notify("x").trim_end());
    for (name, input, expected) in [
        ("answers-notifications", notify("x") + &notify("$/x"), invalid("null") + &invalid("null")),
        ("answers-unknown-notifications", notify("x") + &notify("$/x"), invalid("null")),
        ("answers-responses", pong("\"a\"") + "{\"error\":1}\n", invalid("\"a\"") + &invalid("null")),
        ("answers-cancelled", cancel.to_owned(), pong("9")),
        ("answers-notification-batches", batch, "[]\n".to_owned()),
    ] {
        assert!(INPUT.contains(&name));
        assert_ends(name, &serve(name, &(input.clone() + &ping("1"))), &exits_with(expected + &pong("1"), 0));
        assert_ends("none", &serve("none", &(input + &ping("1"))), &exits_with(pong("1"), 0));
    }
    let crash = serve("crash-on-cancel", &(ping("1") + cancel + &ping("2")));
    assert_ends("crash-on-cancel", &crash, &crashes_after(pong("1")));
}

/// Lines that end the process, after a good one and before another.
#[test]
fn bad_lines_are_deadly() {
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{}{}}}",
        "[".repeat(1001),
        "]".repeat(1001)
    );
    for (name, line, code) in [
        ("exit-on-bad", &b"{\"jsonrpc\":\"1.0\",\"id\":2,\"method\":\"ping\"}"[..], Some(1)),
        ("exit-on-text", b"text", Some(1)),
        ("crash-on-scalars", b"3", None),
        ("crash-on-strange-ids", b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", None),
        ("crash-on-utf8", b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"\xff\"}", None),
        ("crash-on-depth", deep.as_bytes(), None),
        ("crash-on-duplicates", b"{\"jsonrpc\":\"2.0\",\"id\":2,\"id\":3,\"method\":\"ping\"}", None),
        ("crash-on-blank", b"  ", None),
        ("crash-on-bom", b"\xef\xbb\xbf{}", None),
    ] {
        let input = [ping("1").as_bytes(), line, b"\n", ping("4").as_bytes()].concat();
        let expected = match code {
            Some(code) => exits_with(pong("1"), code),
            None => crashes_after(pong("1")),
        };
        assert_ends(name, &serve_writes(name, &[&input]), &expected);
        // And nothing else is.
        assert_ends(name, &serve(name, &(ping("1") + &ping("2"))), &exits_with(pong("1") + &pong("2"), 0));
    }
    let text_only = "[1]\n{\"jsonrpc\":\"1.0\"}\n3\n";
    assert_eq!(serve("exit-on-text", text_only).code, Some(0));
}

/// Input, and the ids that are answered.
#[test]
fn messages_are_lost() {
    let batch = |ids: &[&str]| {
        format!("[{}]\n", ids.iter().map(|id| ping(id).trim_end().to_owned()).collect::<Vec<_>>().join(","))
    };
    let extra = ping("2").replace('{', "{\"x\":1,");
    let escaped = ping("2").replace("\"method\"", "\"\\u006dethod\"");
    for (name, input, expected) in [
        ("lose-after-bad", "text\n".to_owned() + &ping("1") + &ping("2"), pong("2")),
        ("lose-extra-members", ping("1") + &extra, pong("1")),
        ("lose-escaped-names", ping("1") + &escaped, pong("1")),
        ("lose-batches", ping("1") + &batch(&["2"]), pong("1")),
        ("lose-empty-batches", "[]\n[1,2]\n".to_owned() + &batch(&["2"]), format!("[{}]\n", pong("2").trim_end())),
        ("split-batches", batch(&["1", "2"]), pong("1") + &pong("2")),
        ("exit-if-input-ends", ping("1") + &ping("2"), String::new()),
    ] {
        assert!(INPUT.contains(&name));
        let found = serve(name, &input);
        let output = String::from_utf8_lossy(&found.output);
        let answers: String = output.split_inclusive('\n').filter(|line| !line.contains("-32700")).collect();
        assert_eq!((answers, found.code), (expected, Some(0)), "{name}");
    }
    for (name, line, is_answered) in [
        ("lose-extra-members", &extra, true),
        ("lose-escaped-names", &escaped, true),
        ("lose-batches", &batch(&["2"]), true),
        ("lose-empty-batches", &"[]\n".to_owned(), true),
    ] {
        assert_eq!(!serve("none", line).output.is_empty(), is_answered, "{name}");
    }
    // A client that waits for its answer before it leaves gets it.
    let mut server = Running::start("exit-if-input-ends", "json-rpc");
    server.write(ping("1"));
    server.expect(pong("1"));
    server.end();
}

const LINES: &[&str] = &[
    "lose-crlf",
    "lose-after-blank",
    "crash-on-blank",
    "lose-chunked",
    "lose-split-characters",
    "lose-split-escapes",
    "lose-split-endings",
    "lose-second",
    "lose-bursts",
    "lose-begun",
    "lose-unterminated",
    "crash-on-unterminated",
    "crash-on-bom",
    "lose-u2028",
    "lose-u0085",
    "lose-65535",
    "lose-65536",
    "lose-over-64k",
    "lose-over-8m",
    "crash-on-long",
    "keep-long",
];

/// Writes, and the ids that are answered if nothing is lost, and if the misbehaviour loses its line.
#[test]
fn lines_are_lost_because_of_how_they_arrive() {
    let (one, two) = (ping("1"), ping("2"));
    let text = |text: &str| ping("1").replace("ping", "echo").replace('}', &format!(",\"params\":[\"{text}\"]}}"));
    let (snow, escape) = (text("\u{2603}"), text("\\u0061"));
    let snow_at = snow.find('\u{2603}').unwrap() + 1;
    let escape_at = escape.find('\\').unwrap() + 3;
    let burst: String = (1..=60).map(|id: u32| ping(&id.to_string())).collect();
    let half = |line: &str, at: usize| vec![line.as_bytes()[..at].to_vec(), line.as_bytes()[at..].to_vec()];
    let whole = |lines: &[&str]| vec![lines.concat().into_bytes()];
    for (name, writes, lost) in [
        ("lose-crlf", whole(&[&one.replace('\n', "\r\n"), &two]), 1),
        ("lose-after-blank", whole(&["\n", &one, &two]), 1),
        ("lose-chunked", half(&one, 10), 1),
        ("lose-chunked", whole(&[&one]), 0),
        ("lose-split-characters", half(&snow, snow_at), 1),
        ("lose-split-characters", half(&snow, 10), 0),
        ("lose-split-escapes", half(&escape, escape_at), 1),
        ("lose-split-escapes", half(&escape, 10), 0),
        ("lose-split-endings", half(&one, one.len() - 1), 1),
        ("lose-split-endings", half(&one, 10), 0),
        ("lose-second", whole(&[&one, &two]), 1),
        ("lose-second", whole(&[&one, &two, &one]), 0),
        ("lose-bursts", whole(&[&burst]), 10),
        ("lose-begun", half(&(one.clone() + &two), one.len() + 5), 1),
        ("lose-begun", half(&one, 5), 0),
        ("lose-unterminated", whole(&[&one, two.trim_end()]), 1),
        ("lose-u2028", whole(&[&text("\u{2028}"), &two]), 1),
        ("lose-u0085", whole(&[&text("\u{85}"), &two]), 1),
        ("lose-u0085", whole(&[&text("\u{2028}"), &two]), 0),
    ] {
        assert!(LINES.contains(&name));
        let answers = |name| {
            let output = String::from_utf8(serve_writes(name, &writes).output).unwrap();
            output.lines().filter(|line| line.contains("\"result\"")).count()
        };
        assert_eq!(answers(name) + lost, answers("none"), "{name}");
    }
    let crash = serve("crash-on-unterminated", &(one.clone() + two.trim_end()));
    assert_ends("crash-on-unterminated", &crash, &crashes_after(pong("1")));
}

#[test]
fn lines_are_lost_because_of_their_length() {
    let padded = |len: usize| ping("1").replace('}', &format!("{}}}", " ".repeat(len - ping("1").len())));
    for (name, len, is_lost) in [
        ("lose-65535", 65535, true),
        ("lose-65535", 65536, false),
        ("lose-65536", 65536, true),
        ("lose-65536", 65537, false),
        ("lose-over-64k", 65536, false),
        ("lose-over-64k", 65537, true),
        ("lose-over-8m", 8 << 20, false),
        ("lose-over-8m", (8 << 20) + 1, true),
    ] {
        let expected = if is_lost { pong("2") } else { pong("1") + &pong("2") };
        assert_ends(name, &serve(name, &(padded(len) + &ping("2"))), &exits_with(expected, 0));
    }
    assert_ends("crash-on-long", &serve("crash-on-long", &padded((1 << 20) + 1)), &crashes_after(""));
    assert_ends("crash-on-long", &serve("crash-on-long", &padded(1 << 19)), &exits_with(pong("1"), 0));
}

#[test]
fn long_lines_are_kept_in_memory() {
    let used = |name| {
        let mut server = Running::start(name, "json-rpc");
        server.write(ping("1").replace('}', &format!("{}}}", " ".repeat(40 << 20))));
        server.write(ping("2"));
        while !server.received.ends_with(pong("2").as_bytes()) {
            let more = server.output.recv_timeout(DEADLINE).unwrap();
            server.received.extend(more);
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
        let used = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        server.end();
        used.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
    };
    let (good, bad) = (used("none"), used("keep-long"));
    assert!(good < 40 && bad >= 40, "{good} MiB, {bad} MiB");
}

const PROTOCOLS: &[&str] = &[];

#[test]
fn each_protocol_has_its_service() {
    let line = |id: u32, method: &str, params: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
    };
    let session = |name: &str, rules: &str, lines: &[String]| {
        let mut server = Running::start(name, rules);
        server.write(lines.concat());
        String::from_utf8(server.end().output).unwrap()
    };
    let mcp = [
        line(1, "initialize", r#"{"protocolVersion":"2025-06-18"}"#),
        line(2, "tools/list", "{}"),
        line(3, "tools/call", r#"{"name":"echo","arguments":{"text":"hello"}}"#),
        line(4, "tools/call", r#"{"name":"add","arguments":{"a":1,"b":2}}"#),
        line(5, "tools/call", r#"{"name":"slow","arguments":{"ms":60000}}"#),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}\n".to_owned(),
    ];
    let output = session("none", "mcp", &mcp);
    for part in ["\"protocolVersion\":\"2025-06-18\"", "\"readOnlyHint\":true", "\"text\":\"hello\"", "\"text\":\"3\""]
    {
        assert!(output.contains(part), "{part}: {output}");
    }
    assert!(!output.contains("\"id\":5"), "a cancelled request isn't answered: {output}");
    // The handshake works with every misbehaviour that concerns answers.
    assert!(session("never", "mcp", &mcp).starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"));

    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"VERSION","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let modern = [
        line(1, "server/discover", &format!("{{{}}}", meta.replace("VERSION", "2026-07-28"))),
        line(2, "tools/list", &format!("{{{}}}", meta.replace("VERSION", "1999-01-01"))),
    ];
    let output = session("none", "mcp", &modern);
    assert!(output.contains("\"supportedVersions\":[\"2026-07-28\"]") && output.contains("-32022"), "{output}");

    let acp = [
        line(1, "initialize", r#"{"protocolVersion":1}"#),
        line(2, "session/new", r#"{"cwd":"/","mcpServers":[]}"#),
        line(3, "session/prompt", r#"{"sessionId":"session-1","prompt":[{"type":"text","text":"hello"}]}"#),
        line(4, "session/prompt", r#"{"sessionId":"session-1","prompt":[{"type":"text","text":"slow"}]}"#),
        "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"session-1\"}}\n".to_owned(),
    ];
    let output = session("none", "acp", &acp);
    for part in [
        "\"sessionId\":\"session-1\"",
        "agent_message_chunk",
        "\"stopReason\":\"end_turn\"",
        "\"stopReason\":\"cancelled\"",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
}

const PROCESSES: &[&str] = &[
    "never-starts",
    "exit-at-start",
    "exit-before-answer",
    "exit-on-second",
    "crash",
    "exit-in-line",
    "close-output",
    "stop-reading",
    "abandon-requests",
    "never-exits",
    "never-exits-by-sigterm",
    "exit-code-1",
    "leave-child",
    "leave-child-with-output",
    "flood-stderr",
    "need-stderr",
];

#[test]
fn servers_exit_early() {
    let both = ping("1") + &ping("2");
    let half = &pong("1")[..pong("1").len() / 2];
    for (name, expected) in [
        ("exit-at-start", exits_with("", 1)),
        ("exit-before-answer", exits_with("", 0)),
        ("exit-on-second", exits_with(pong("1"), 1)),
        ("crash", crashes_after("")),
        ("exit-in-line", exits_with(half, 1)),
        ("exit-code-1", exits_with(pong("1") + &pong("2"), 1)),
    ] {
        assert!(PROCESSES.contains(&name));
        assert_ends(name, &serve(name, &both), &expected);
    }
    let slow = "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"slow\"}\n";
    assert_ends("abandon-requests", &serve("abandon-requests", &(ping("1") + slow)), &exits_with(pong("1"), 0));
    assert!(serve("none", slow).output.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"error\""));
}

#[test]
fn servers_stop_working() {
    let mut server = Running::start("close-output", "json-rpc");
    server.write(ping("1"));
    assert!(server.output.recv_timeout(DEADLINE).is_err(), "stdout has ended");
    server.write(ping("2"));
    assert!(server.child.try_wait().unwrap().is_none(), "the server still reads");
    assert_ends("close-output", &server.end(), &exits_with("", 0));

    for (name, writes) in [("never-starts", ping("1")), ("stop-reading", ping("1")), ("never-exits", String::new())] {
        let mut server = Running::start(name, "json-rpc");
        let mut stdin = server.child.stdin.take().unwrap();
        stdin.write_all(writes.as_bytes()).unwrap();
        drop(stdin);
        // Nothing tells that a process will never do something.
        thread::sleep(Duration::from_millis(300));
        assert!(server.child.try_wait().unwrap().is_none(), "{name}");
        let pid = rustix::process::Pid::from_child(&server.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert_ends(name, &server.end(), &End { output: Vec::new(), code: None, signal: Some(15) });
    }
}

#[test]
fn sigterm_is_ignored() {
    let mut server = Running::start("never-exits-by-sigterm", "json-rpc");
    drop(server.child.stdin.take());
    let pid = rustix::process::Pid::from_child(&server.child);
    // It takes a moment until the signal is ignored.
    let is_caught = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_owned();
        u64::from_str_radix(&mask, 16).unwrap() & (1 << 14) != 0
    };
    let started = Instant::now();
    while !is_caught() {
        assert!(started.elapsed() < DEADLINE);
        thread::sleep(Duration::from_millis(5));
    }
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    thread::sleep(Duration::from_millis(100));
    assert!(server.child.try_wait().unwrap().is_none());
    server.child.kill().unwrap();
    assert_eq!(server.end().signal, Some(9));
}

#[test]
fn children_are_left_behind() {
    use std::os::unix::process::CommandExt;

    for (name, has_output) in [("leave-child", false), ("leave-child-with-output", true)] {
        let mut command = wireline(&["misbehave", name]);
        let mut child = command.stderr(Stdio::null()).process_group(0).spawn().unwrap();
        let group = rustix::process::Pid::from_child(&child);
        let mut stdout = child.stdout.take().unwrap();
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        let (sender, ended) = channel();
        thread::spawn(move || sender.send(stdout.read_to_end(&mut Vec::new()).unwrap()));
        assert_eq!(ended.recv_timeout(Duration::from_secs(1)).is_err(), has_output, "{name}");
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).expect("the child is still there");
    }
}

#[test]
fn stderr_matters() {
    let server = |name| wireline(&["misbehave", name]).spawn().unwrap();
    // Without a reader, the pipe fills up, and a request isn't answered before it is read.
    let mut flooding = server("flood-stderr");
    flooding.stdin.take().unwrap().write_all(&ping("1").repeat(20).into_bytes()).unwrap();
    thread::sleep(Duration::from_millis(300));
    assert!(flooding.try_wait().unwrap().is_none());
    let output = flooding.wait_with_output().unwrap();
    assert_eq!((output.stdout, output.stderr.len() / 20), (pong("1").repeat(20).into_bytes(), (8 << 10) / 80 * 80));

    let mut needing = server("need-stderr");
    drop(needing.stderr.take());
    let _ = needing.stdin.take().unwrap().write_all(ping("1").as_bytes());
    assert_eq!(needing.wait_with_output().unwrap().status.code(), Some(1));
    assert_ends("need-stderr", &serve("need-stderr", &ping("1")), &exits_with(pong("1"), 0));
}

#[test]
fn log_says_what_was_seen_but_not_what_it_contained() {
    let log = common::new_file("log.ndjson");
    let args = ["misbehave", "skip-invalid-params", "--log", log.to_str().unwrap()];
    let params = "{\"jsonrpc\":\"2.0\",\"id\":\"secret\",\"method\":\"add\",\"params\":{\"secret\":1}}\n";
    let input = [&ping("1"), params, "secret\n", &pong("\"secret\"")].concat();
    common::run_with_input(&args, input);
    let log = std::fs::read_to_string(log).unwrap();
    let events: Vec<&str> = log.lines().skip(1).collect();
    let expected = [
        "{\"event\":\"request\"}",
        "{\"event\":\"request\"}",
        "{\"event\":\"misbehaved\"}",
        "{\"event\":\"fault\",\"kind\":\"invalid-literal\"}",
        "{\"event\":\"stray\"}",
        "{\"event\":\"input-ended\"}",
        "{\"event\":\"exited\",\"code\":0}",
    ];
    assert_eq!(events, expected);
    assert!(log.starts_with("{\"event\":\"started\",\"pid\":") && !log.contains("secret"), "{log}");
}

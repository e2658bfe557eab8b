//! `wireline guard`: what the client of a server that misbehaves sees, and what the server of a client that does.
#![cfg(unix)]

use crate::common;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Output};
use std::thread;
use std::time::{Duration, Instant};

use common::{file, new_file, wireline};

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

/// A guard in front of a shell script.
pub(crate) fn guard(options: &[&str], script: &str) -> Child {
    wireline(&[&["guard"], options, &["--", "sh", "-c", script]].concat()).spawn().unwrap()
}

/// Runs a session in which the client sends `input` and closes its output.
fn session(options: &[&str], script: &str, input: &[u8]) -> Output {
    let mut guard = guard(options, script);
    let mut stdin = guard.stdin.take().unwrap();
    thread::scope(|scope| {
        // Fails if the server exits without reading.
        scope.spawn(move || stdin.write_all(input).ok());
        guard.wait_with_output().unwrap()
    })
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A server that answers its first line with what is in a file, and reads to the end.
fn server(name: &str, output: impl AsRef<[u8]>) -> String {
    format!("read -r line; cat '{}'; cat >/dev/null", file(&format!("{name}.out"), output).display())
}

/// An error of the guard in response to request 1.
fn error(code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// What a server prints in response to request 1, what its client sees of that, and what standard error says.
const PUT_RIGHT: &[(&str, &str, &str, &str)] = &[
    (
        "noise",
        "Listing tools\nRESULT\n",
        "RESULT\n",
        "line 1: not a message: moved to standard error\nstdout: Listing tools",
    ),
    (
        "noise-before",
        "INFO: sending RESULT\n",
        "RESULT\n",
        "line 1: message on a line with other output: taken out of it",
    ),
    ("noise-after", "RESULT done\n", "RESULT\n", "stdout:  done"),
    (
        "several",
        "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}RESULT\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\nRESULT\n",
        "taken out of it",
    ),
    ("colours", "\x1b[32mRESULT\x1b[0m\n", "RESULT\n", "line 1: escape sequence for a terminal: left out"),
    ("progress-bar", "10%\r20%\rRESULT\n", "RESULT\n", "stdout: 10%\\x0d20%\\x0d"),
    ("json-log", "{\"level\":\"info\",\"id\":1} RESULT\n", "RESULT\n", "stdout: {\"level\":\"info\",\"id\":1}"),
    ("blank", "\n \t\nRESULT\n", "RESULT\n", "line 1: blank line: left out"),
    ("mark", "\u{feff}RESULT\n", "RESULT\n", "line 1: byte order mark: removed"),
    (
        "marks",
        "\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\u{feff}RESULT\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\nRESULT\n",
        "     2 ← byte order mark: removed",
    ),
    ("return", "RESULT\r\n", "RESULT\n", "line 1: carriage return before the line feed: removed"),
    ("end", "RESULT", "RESULT\n", "line 1: message without a line ending: added"),
    (
        "surrogate",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\\ud83d\\ude00 \\ud83d\"}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\\ud83d\\ude00 \\ufffd\"}}\n",
        "line 1: escape of half a surrogate pair: replaced by \\ufffd",
    ),
    (
        "printed",
        "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\n    \"x\": [\n      1.0\n    ]\n  }\n}\n",
        "{   \"jsonrpc\": \"2.0\",   \"id\": 1,   \"result\": {     \"x\": [       1.0     ]   } }\n",
        "line 9: message printed over several lines: put on one line",
    ),
    (
        "printed-returns",
        "{\r\n\"jsonrpc\":\"2.0\",\"id\":1,\r\n\"result\":{}}\r\n",
        "{ \"jsonrpc\":\"2.0\",\"id\":1, \"result\":{}}\n",
        "put on one line",
    ),
    ("printed-noise", "{\nstarting\n{\nRESULT\n", "RESULT\n", "stdout: starting"),
    (
        "null-params",
        "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":null}\nRESULT\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\nRESULT\n",
        "line 1: null params: left out",
    ),
    (
        "twice",
        "RESULT\nRESULT\n",
        "RESULT\n",
        "line 2: response to no request in flight, perhaps a second one: dropped",
    ),
    (
        "unasked",
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\nRESULT\n",
        "RESULT\n",
        "line 1: response to no request in flight",
    ),
    (
        "other-type",
        "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\nRESULT\n",
        "RESULT\n",
        "line 1: response to no request in flight",
    ),
    (
        "other-spelling",
        "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{}}\n",
        "",
    ),
    ("utf-16", "\u{0}{\u{0}\"\u{0}\nRESULT\n", "RESULT\n", "not a message"),
    (
        "headers",
        "Content-Length: 36\r\n\r\nRESULTContent-Length: 31\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}",
        "RESULT\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n",
        "stdout: Content-Length: 36",
    ),
    ("copy", "got REQUEST\nREQUEST2\nRESULT\n", "RESULT\n", "stdout: got {\"jsonrpc\""),
    (
        "broken-call",
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}\nRESULT\n",
        "RESULT\n",
        "line 1: invalid request or notification: not passed on (\"method\" must be a string)",
    ),
];

#[test]
fn client_gets_valid_messages_only() {
    for (name, printed, expected, told) in PUT_RIGHT {
        let fill = |text: &str| {
            text.replace("RESULT", RESULT).replace("REQUEST2", &format!("got {REQUEST}")).replace("REQUEST", REQUEST)
        };
        let output = session(&["--grace", "30s"], &server(name, fill(printed)), format!("{REQUEST}\n").as_bytes());
        let stderr = text(&output.stderr);
        assert_eq!(text(&output.stdout), fill(expected), "{name}\n{stderr}");
        assert!(stderr.contains(told), "{name}\n{stderr}");
        assert_eq!(stderr.is_empty(), told.is_empty(), "{name}\n{stderr}");
        assert_eq!(output.status.code(), Some(0), "{name}");
    }
}

/// What a server prints instead of a valid response to request 1, and the reason in the error that replaces it.
const REPLACED: &[(&str, &str, &str)] = &[
    ("no-version", "{\"id\":1,\"result\":{}}\n", "missing \\\"jsonrpc\\\""),
    (
        "both",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":null}\n",
        "only one of \\\"method\\\", \\\"result\\\" and \\\"error\\\" is allowed",
    ),
    ("latin-1", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\\xe9\"}\n", "invalid UTF-8"),
    ("nan", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":NaN}\n", "expected a JSON value"),
    ("cut", "{\"jsonrpc\":\"2.0\",\"id\":1,\"resu\n", "unexpected end of line"),
    ("cut-string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"hal", "unexpected end of line"),
    ("cut-behind-noise", "sending {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"te\n", "unexpected end of line"),
    (
        "too-deep",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[[[[[[[[[[]]]]]]]]]]}\n",
        "brackets are nested deeper than 9",
    ),
    ("too-long", "{\"jsonrpc\":\"2.0\",\"result\":\"LONG\",\"id\":1}\n", "line of 341 bytes exceeds the limit of 300"),
    (
        "much-too-long",
        "{\"jsonrpc\":\"2.0\",\"result\":\"LONGLONGLONGLONG\",\"id\":1}\n",
        "line of 1241 bytes exceeds the limit of 300",
    ),
    ("printed-invalid", "{\n\"id\":1,\n\"result\":{}\n}\n", "missing \\\"jsonrpc\\\""),
];

#[test]
fn invalid_response_is_replaced_by_an_error() {
    for (name, printed, reason) in REPLACED {
        let mut bytes = printed.replace("LONG", &"x".repeat(300)).into_bytes();
        if let Some(at) = printed.find("\\xe9") {
            bytes.splice(at..at + 4, [0xe9]);
        }
        // The same once more, and the right one after it, change nothing any more.
        let bytes = [&bytes[..], if bytes.ends_with(b"\n") { &bytes } else { b"" }, format!("\n{RESULT}\n").as_bytes()]
            .concat();
        let options = ["--grace", "30s", "--max-len", "300", "--max-depth", "9"];
        let output = session(&options, &server(name, bytes), format!("{REQUEST}\n").as_bytes());
        let expected = error(-32603, &format!("the server's response is invalid: {reason}"));
        assert_eq!(text(&output.stdout), expected + "\n", "{name}\n{}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("hal"), "{name}\n{}", text(&output.stderr));
    }
}

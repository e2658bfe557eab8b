//! `wireline guard`: what the client of a server that misbehaves sees, and what the server of a client that does.

use crate::common;
use crate::guarding;

use std::process::Command;

use common::{file, new_file, run};
use guarding::{Client, Ended, ID, REQUEST, RESULT, error, request, result, session, text};

/// A server that answers its first line with what is in a file, and reads to the end.
fn server(name: &str, output: impl AsRef<[u8]>) -> String {
    format!("read -r line; cat '{}'; cat >/dev/null", file(&format!("{name}.out"), output).display())
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
        let output = session(&["--grace", "30s"], &server(name, fill(printed)), format!("{REQUEST}\n"));
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
    ("too-long", "{\"jsonrpc\":\"2.0\",\"result\":\"LONG\",\"id\":1}\n", "line of 336 bytes exceeds the limit of 300"),
    (
        "much-too-long",
        "{\"jsonrpc\":\"2.0\",\"result\":\"LONGLONGLONGLONG\",\"id\":1}\n",
        "line of 1236 bytes exceeds the limit of 300",
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
        let output = session(&options, &server(name, bytes), format!("{REQUEST}\n"));
        let expected = error(1, -32603, &format!("the server's response is invalid: {reason}"));
        assert_eq!(text(&output.stdout), expected + "\n", "{name}\n{}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("hal"), "{name}\n{}", text(&output.stderr));
    }
}

#[test]
fn invalid_response_that_nobody_waits_for_is_not_called_replaced() {
    let printed = format!("{{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":7}}\n{RESULT}\n");
    let output = session(&["--grace", "30s"], &server("invalid-stray", printed), format!("{REQUEST}\n"));
    let stderr = text(&output.stderr);
    assert_eq!(text(&output.stdout), format!("{RESULT}\n"), "{stderr}");
    assert!(stderr.contains("invalid response to no request that is waiting: dropped"), "{stderr}");
    assert!(!stderr.contains("replaced by an error"), "{stderr}");
}

/// How a server leaves requests 1 and 2 unanswered, why they are answered with errors, and how the guard exits.
const ENDS: &[(&str, &str, &str, Option<i32>)] = &[
    ("dies", "read -r a; read -r b; exit 3", "the server exited with code 3 before it answered", Some(3)),
    ("leaves", "read -r a; read -r b; exit 0", "the server exited with code 0 before it answered", Some(0)),
    ("killed", "read -r a; read -r b; kill -KILL $$", "the server was killed by signal 9 before it answered", None),
    (
        "half",
        "read -r a; read -r b; printf '{\"jsonrpc\":\"2.0\",\"me'; exit 1",
        "the server exited with code 1 before it answered",
        Some(1),
    ),
    (
        "closes-output",
        "exec 3>&1 1>&- 3>&-; read -r a; read -r b; cat >/dev/null; exit 4",
        "the server closed its output before it answered",
        Some(4),
    ),
    ("never", "cat >/dev/null; exit 5", "the server exited with code 5 before it answered", Some(5)),
    (
        "leaves-a-child",
        "sleep 1000 >&2 & read -r a; read -r b; exit 6",
        "the server exited with code 6 before it answered",
        Some(6),
    ),
    (
        "leaves-a-child-with-its-output",
        "sleep 1000 & read -r a; read -r b; exit 7",
        "the server exited with code 7 before it answered",
        Some(7),
    ),
    ("stays", "trap '' TERM; while :; do sleep 0.1; done", "the server was ended before it answered", None),
    (
        "stays-politely",
        "trap 'exit 8' TERM; while :; do sleep 0.1; done",
        "the server was ended before it answered",
        Some(8),
    ),
];

#[test]
fn unanswered_requests_are_answered_when_the_server_ends() {
    for (name, script, message, code) in ENDS {
        let input = format!("{}\n{}\n", request(1, "a"), request(2, "b"));
        let output = session(&["--grace", "300ms"], script, input);
        let expected = format!("{}\n{}\n", error(1, -32000, message), error(2, -32000, message));
        assert_eq!(text(&output.stdout), expected, "{name}\n{}", text(&output.stderr));
        assert_eq!(output.status.code(), *code, "{name}\n{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("     2 → request not answered before the server ended"), "{name}");
    }
}

#[test]
fn server_is_ended_when_its_time_to_exit_is_over() {
    // It would exit by itself if it had twice the time.
    let output = session(&["--grace", "4s"], "cat; sleep 7; exit 9", "");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), None, "{stderr}");
    assert!(stderr.contains("has not exited 4.00 s after its input was closed: ending it"), "{stderr}");
}

#[test]
fn server_has_time_to_answer_at_the_end_of_input() {
    let script = format!(
        "{ID}; while read -r line; do sleep 0.2; echo \"{{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$(id \"$line\"),\\\"result\\\":{{}}}}\"; done"
    );
    let input: String = (1..=3).map(|id| request(id, "slow") + "\n").collect();
    let output = session(&["--grace", "60s"], &script, input);
    let expected: String = (1..=3).map(|id| result(id) + "\n").collect();
    assert_eq!((text(&output.stdout), text(&output.stderr)), (&*expected, ""));
}

#[test]
fn late_response_is_dropped_and_its_id_stays_in_use() {
    // Answers its first line when a third comes.
    let script = format!("read -r a; read -r b; echo '{RESULT}'; echo '{}'; read -r c; echo '{RESULT}'", result(2));
    let mut client = Client::start(&["--timeout", "200ms", "--grace", "60s"], &script);
    client.send(&request(1, "slow"));
    client.expect(&error(1, -32001, "the server did not answer within 200 ms"));
    client.send(&request(1, "again"));
    client.expect(&error(1, -32600, "a request with this id is in flight"));
    client.send(&request(2, "b"));
    client.expect(&result(2));
    // The late response has come, so the id is free again.
    client.send(&request(1, "c"));
    client.expect(RESULT);
    let Ended { stdout, stderr, .. } = client.end();
    assert_eq!(stdout, "");
    for told in ["1 → request not answered in time", "1 ← response to a request that wireline had answered: dropped"]
    {
        assert!(stderr.contains(told), "{stderr}");
    }
}

#[test]
fn progress_restarts_the_clock() {
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#;
    let script = format!("read -r a; for i in 1 2 3 4 5 6; do sleep 0.5; echo '{progress}'; done; echo '{RESULT}'");
    let mut client = Client::start(&["--timeout", "2s"], &script);
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"slow","params":{"_meta":{"progressToken":"t"}}}"#);
    (0..6).for_each(|_| client.expect(progress));
    client.expect(RESULT);
    assert_eq!(client.end().stderr, "");
}

#[test]
fn cancelled_request_is_not_answered_by_the_guard() {
    for (rules, cancellation, is_answered) in [
        ("mcp", r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, false),
        ("acp", r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}"#, true),
    ] {
        let script = format!("read -r a; read -r b; read -r c; echo '{}'; cat >/dev/null", result(2));
        let mut client = Client::start(&["--rules", rules, "--grace", "100ms"], &script);
        client.send(&request(1, "slow"));
        client.send(cancellation);
        client.send(&request(2, "b"));
        client.expect(&result(2));
        let ended = client.end();
        let expected = error(1, -32000, "the server exited with code 0 before it answered") + "\n";
        assert_eq!(ended.stdout, if is_answered { &*expected } else { "" }, "{}", ended.stderr);
    }
}

/// What a client sends, what reaches the server, and what the client is answered.
const FROM_CLIENT: &[(&str, &str, &str, &str)] = &[
    (
        "good",
        "REQUEST\n{\"jsonrpc\":\"2.0\",  \"method\":\"\\u0061\", \"params\":[1.0e0]}\n",
        "REQUEST\n{\"jsonrpc\":\"2.0\",  \"method\":\"\\u0061\", \"params\":[1.0e0]}\n",
        "",
    ),
    (
        "not-json",
        "oops\nREQUEST\n",
        "REQUEST\n",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\",\"data\":{\"fault\":\"invalid-literal\",\"line\":1,\"column\":1}}}\n",
    ),
    (
        "no-method",
        "REQUEST\n{\"jsonrpc\":\"2.0\",\"id\":2}\n",
        "REQUEST\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32600,\"message\":\"Invalid Request\",\"data\":{\"fault\":\"missing-method\",\"line\":2,\"column\":1}}}\n",
    ),
    (
        "too-long",
        "{\"jsonrpc\":\"2.0\",\"method\":\"LONG\",\"id\":2}\nREQUEST\n",
        "REQUEST\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32600,\"message\":\"Invalid Request\",\"data\":{\"fault\":\"line-too-long\",\"line\":1,\"column\":201}}}\n",
    ),
    ("bad-response", "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"error\":2}\nREQUEST\n", "REQUEST\n", ""),
    ("stray-response", "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1}\nREQUEST\n", "REQUEST\n", ""),
    (
        "twice",
        "REQUEST\nREQUEST\n",
        "REQUEST\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"a request with this id is in flight\"}}\n",
    ),
    ("mark-and-returns", "\u{feff}REQUEST\r\n\r\n", "REQUEST\n", ""),
    ("no-line-end", "REQUEST", "REQUEST\n", ""),
    (
        "surrogate",
        "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[\"\\ud800\"]}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[\"\\ufffd\"]}\n",
        "",
    ),
    (
        "batch",
        "[REQUEST,{\"jsonrpc\":\"2.0\",\"method\":\"a\"}]\n",
        "[REQUEST,{\"jsonrpc\":\"2.0\",\"method\":\"a\"}]\n",
        "",
    ),
    (
        "bad-entry",
        "[REQUEST,{\"jsonrpc\":\"2.0\",\"id\":2},REQUEST]\n",
        "[REQUEST]\n",
        "[{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32600,\"message\":\"Invalid Request\",\"data\":{\"fault\":\"missing-method\",\"line\":1,\"column\":COLUMN}}},{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"a request with this id is in flight\"}}]\n",
    ),
];

#[test]
fn server_gets_valid_messages_only() {
    for (name, sent, expected, answered) in FROM_CLIENT {
        let fill = |text: &str| {
            let text = text.replace("REQUEST", REQUEST).replace("LONG", &"x".repeat(300));
            text.replace("COLUMN", &(2 + REQUEST.len() + 1).to_string())
        };
        let received = new_file(&format!("{name}.received"));
        let script = format!("cat >'{}'; echo '{RESULT}'", received.display());
        let output = session(&["--max-len", "200", "--grace", "100ms"], &script, fill(sent));
        let stderr = text(&output.stderr);
        assert_eq!(std::fs::read_to_string(received).unwrap(), fill(expected), "{name}\n{stderr}");
        let answer = if sent.contains("REQUEST") { format!("{RESULT}\n") } else { String::new() };
        assert_eq!(text(&output.stdout), fill(answered) + &answer, "{name}\n{stderr}");
        assert_eq!(stderr.is_empty(), sent == expected && !answer.is_empty(), "{name}\n{stderr}");
    }
}

#[test]
fn responses_in_a_batch_are_counted_one_by_one() {
    let (one, two) = (result(1), result(2));
    for (printed, expected) in [
        (format!("[{one},{two}]\n"), format!("[{one},{two}]\n")),
        (format!("{two}\n{one}\n"), format!("{two}\n{one}\n")),
        (format!("[{one},{one},{two}]\n{two}\n"), format!("[{one},{two}]\n")),
        (format!("[\n  {one},\n  {two}\n]\n"), format!("[   {one},   {two} ]\n")),
        (
            format!("[{one}]\n[{one}]\n"),
            format!("[{one}]\n{}\n", error(2, -32000, "the server exited with code 0 before it answered")),
        ),
    ] {
        let input = format!("[{},{}]\n", request(1, "a"), request(2, "b"));
        let output = session(&["--grace", "300ms"], &server("batch", &printed), input);
        assert_eq!(text(&output.stdout), expected, "{printed}\n{}", text(&output.stderr));
    }
}

#[test]
fn requests_of_the_server_get_one_response_as_well() {
    let ask = request(1, "roots/list");
    let received = new_file("server-requests");
    // The second request with the same id is refused. Of two responses, the first counts.
    let script = format!("printf '%s\\n' '{ask}' '{ask}'; cat >'{}'", received.display());
    let mut client = Client::start(&["--grace", "60s"], &script);
    client.expect(&ask);
    client.send(RESULT);
    client.send(RESULT);
    let ended = client.end();
    assert_eq!((ended.code, &*ended.stdout), (Some(0), ""));
    let mut lines: Vec<_> = std::fs::read_to_string(received).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, [error(1, -32600, "a request with this id is in flight"), RESULT.to_owned()]);
    assert!(ended.stderr.contains("1 → response to no request in flight"), "{}", ended.stderr);
}

#[test]
fn server_that_closes_its_input_is_sent_nothing_more() {
    let mut client =
        Client::start(&["--grace", "100ms"], &format!("exec <&-; echo '{}'; sleep 1000", request(9, "ready")));
    client.expect(&request(9, "ready"));
    client.send(REQUEST);
    client.expect(&error(1, -32000, "the server reads no requests"));
    assert_eq!(client.end().stdout, "");
}

#[test]
fn standard_error_is_always_read() {
    // More than fits into a pipe, with nobody reading until the end.
    let script = format!("read -r line; head -c 3000000 /dev/zero | tr '\\0' x >&2; echo '{RESULT}'; cat >/dev/null");
    let mut guard = guarding::guard(&["--grace", "60s"], &script);
    let mut stdin = guard.stdin.take().unwrap();
    let mut stdout = std::io::BufReader::new(guard.stdout.take().unwrap());
    std::io::Write::write_all(&mut stdin, format!("{REQUEST}\n").as_bytes()).unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    assert_eq!(line.trim_end(), RESULT);
    drop(stdin);
    assert!(guard.wait_with_output().unwrap().status.success());
}

#[test]
fn standard_error_is_passed_on_as_it_is() {
    let output = session(&[], "printf 'one\\ntw\\377o' >&2; echo noise", "");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("one\n") && stderr.contains("tw\u{fffd}o\n"), "{stderr}");
    assert!(stderr.contains("\nstdout: noise\n"), "{stderr}");
}

#[test]
fn bad_lines_of_a_client_that_does_not_read_take_no_memory_and_hold_up_nobody() {
    // Megabytes of answers, which the client reads only in the end.
    let input = "[]\n".repeat(40_000);
    let output = session(&["--grace", "60s"], "cat >/dev/null", &input);
    assert_eq!(text(&output.stdout).lines().count(), 40_000);
}

/// A server that dies of each call, and counts its starts.
#[test]
fn server_is_started_again_with_the_handshake_of_the_client() {
    let received = new_file("restarts");
    let _ = std::fs::remove_file(&received);
    let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s"}}}"#;
    let script = format!(
        "while read -r line; do echo \"$$ $line\" >>'{}'; case $line in *initialize\\\"*) echo '{answer}' ;; \
         *die*) exit 3 ;; *ping*) echo '{}' ;; esac; done",
        received.display(),
        result(2),
    );
    let opening = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let conclusion = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let recording = new_file("restarts.tap");
    let recording = recording.to_str().unwrap();
    let options = ["--rules", "mcp", "--restart", "1", "--grace", "60s", "--record", recording];
    let mut client = Client::start(&options, &script);
    client.send(opening);
    client.expect(answer);
    client.send(conclusion);
    client.send(&request(1, "die"));
    client.expect(&error(1, -32000, "the server exited with code 3 before it answered"));
    client.send(&request(2, "ping"));
    client.expect(&result(2));
    client.send(&request(3, "die"));
    let ended = client.end();
    assert_eq!(ended.stdout, error(3, -32000, "the server exited with code 3 before it answered") + "\n");
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("the server exited with code 3; starting it again (0 more)"), "{}", ended.stderr);

    let received = std::fs::read_to_string(received).unwrap();
    let lines: Vec<_> = received.lines().map(|line| line.split_once(' ').unwrap()).collect();
    let of_server =
        |at: usize| lines.iter().filter(|(pid, _)| *pid == lines[at].0).map(|(_, line)| *line).collect::<Vec<_>>();
    assert_eq!(of_server(0), [opening, conclusion, &request(1, "die")]);
    assert_eq!(of_server(3), [opening, conclusion, &request(2, "ping"), &request(3, "die")]);

    // Each server has a session of its own, with the handshake that it has got.
    let records = std::fs::read_to_string(recording).unwrap();
    let records = records.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mut sessions: Vec<Vec<String>> = Vec::new();
    for record in records {
        match (&record["from"], &record["code"]) {
            (from, _) if from == "client" => {
                sessions.last_mut().unwrap().push(record["line"].as_str().unwrap().to_owned());
            }
            (_, code) if !code.is_null() => assert_eq!(code, 3),
            _ if record["wireline-recording"] == 2 => sessions.push(Vec::new()),
            _ => {}
        }
    }
    assert_eq!(sessions, [of_server(0), of_server(3)]);
    let checked = run(&["check", recording]).stdout;
    assert!(!checked.contains("-answer]") && !checked.contains("-initialize]"), "{checked}");
}

#[test]
fn restarted_server_must_agree_to_the_same_handshake() {
    let starts = new_file("other-version");
    let _ = std::fs::remove_file(&starts);
    let script = format!(
        "echo >>'{0}'; read -r line; echo \"{{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":0,\\\"result\\\":{{\\\"protocolVersion\\\":\\\"$(wc -l <'{0}')\\\"}}}}\"; \
         read -r line; exit 3",
        starts.display(),
    );
    let mut client = Client::start(&["--rules", "mcp", "--restart", "5"], &script);
    client.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"1"}}"#);
    client.expect(r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"1"}}"#);
    client.send(REQUEST);
    client.expect(&error(1, -32000, "the server exited with code 3 before it answered"));
    let ended = client.end();
    assert_eq!((ended.code, &*ended.stdout), (Some(125), ""));
    assert!(ended.stderr.contains("does not accept the client's handshake"), "{}", ended.stderr);
}

#[test]
fn recording_has_what_both_sides_have_sent() {
    let recording = new_file("guard.tap");
    let name = recording.to_str().unwrap();
    let printed = format!("noise\n\u{feff}{RESULT}\r\n{RESULT}");
    let input = format!("oops\n{REQUEST}\n");
    let output = session(&["--record", name, "--grace", "60s"], &server("recorded", &printed), &input);
    assert_eq!(output.status.code(), Some(0));
    let records = std::fs::read_to_string(&recording).unwrap();
    let lines = |side: &str| {
        let records = records.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let of_side = records.filter(|record| record["from"] == side);
        of_side.map(|record| record["line"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines("client"), ["oops", REQUEST]);
    assert_eq!(lines("server"), ["noise".to_owned(), format!("\u{feff}{RESULT}\r"), RESULT.to_owned()]);
    assert!(records.trim_end().ends_with("\"event\":\"end\",\"code\":0}"), "{records}");
    assert_eq!(run(&["stats", name]).code, Some(0));
}

#[test]
fn quiet_guard_tells_no_repairs() {
    let output = session(
        &["--quiet", "--grace", "60s"],
        &server("quiet", format!("noise\n{RESULT}\r\n")),
        format!("{REQUEST}\n"),
    );
    assert_eq!((text(&output.stdout), text(&output.stderr)), (&*format!("{RESULT}\n"), "stdout: noise\n"));
}

#[test]
fn contents_of_invalid_messages_are_shown_on_request() {
    let printed = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"secret\"},\"error\":{}}\n";
    for (options, is_shown) in [(&["--grace", "60s"][..], false), (&["--grace", "60s", "--show"], true)] {
        let output = session(options, &server("shown", printed), format!("{REQUEST}\n"));
        assert_eq!(text(&output.stderr).contains("secret"), is_shown, "{}", text(&output.stderr));
        assert!(!text(&output.stdout).contains("secret"));
    }
}

#[test]
fn failures_to_start_have_exit_codes() {
    for (args, code, message) in [
        (&["guard"][..], 2, "required"),
        (&["guard", "--", "/no/such/server"], 127, "wireline: cannot run /no/such/server: "),
        (&["guard", "--", "/"], 126, "wireline: cannot run /: "),
    ] {
        let failed = run(args);
        assert_eq!(failed.code, Some(code), "{}", failed.stderr);
        assert!(failed.stderr.contains(message), "{}", failed.stderr);
        assert_eq!(failed.stdout, "");
    }
}

#[test]
fn signals_reach_the_whole_group() {
    let script = format!(
        "sh -c 'trap \"exit 9\" USR1; echo \"$0\"; while :; do sleep 0.05; done' '{}'; exit $?",
        request(1, "ready")
    );
    let mut client = Client::start(&[], &format!("trap : USR1; {script}"));
    client.expect(&request(1, "ready"));
    assert!(Command::new("kill").args(["-USR1", &client.guard.id().to_string()]).status().unwrap().success());
    let status = client.guard.wait().unwrap();
    assert_eq!(status.code(), Some(9));
}

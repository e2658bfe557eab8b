//! Missing line ends and CRLF, in `wireline check` and `wireline tap`.

use crate::common;
#[cfg(unix)]
use crate::tapping;

use common::{PING, file, run, run_with_input};
use serde_json::json;

#[test]
fn missing_line_end_is_a_finding_of_its_own() {
    let run = run_with_input(&["check"], PING);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stdout.starts_with("<stdin>: the last line has no line end [unterminated]\n    hint: "),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("\n1 message, no faults; the last one has no line end\n"), "{}", run.stdout);

    // The line itself is judged as before, and its object says it as well.
    let ndjson = run_with_input(&["check", "--format", "ndjson"], PING);
    assert_eq!(ndjson.code, Some(1));
    let expected = json!({"line": 1, "offset": 0, "len": 40, "kind": "request", "id": 1, "method": "ping",
        "unterminated": true});
    assert_eq!(ndjson.objects(), [expected]);
    assert_eq!(run_with_input(&["check", "--quiet"], PING).code, Some(1));

    for (args, input, code) in [
        (&["check", "--allow-unterminated"][..], PING.to_owned(), 0),
        (&["check", "--allow-unterminated"], "oops".to_owned(), 1),
        (&["check"], format!("{PING}\n"), 0),
        (&["check"], format!("{PING}\n  \t"), 0),
        (&["check"], format!("{PING}\r\n"), 0),
    ] {
        assert_eq!(run_with_input(args, &input).code, Some(code), "{args:?} {input:?}");
    }
}

#[test]
fn crlf_is_counted_with_a_hint() {
    let mixed = file("crlf.ndjson", format!("{PING}\r\n{PING}\n{PING}\r\n"));
    let mixed = mixed.to_str().unwrap();
    let human = run(&["check", mixed]);
    assert_eq!(human.code, Some(0));
    assert!(human.stdout.contains("\n2 lines end in CRLF\n  strict peers refuse such lines; "), "{}", human.stdout);
    let ndjson = run(&["check", "--format", "ndjson", mixed]);
    assert_eq!((ndjson.code, ndjson.objects().len()), (Some(0), 3));
    assert!(ndjson.stderr.contains(": 2 lines with CRLF line ends: "), "{}", ndjson.stderr);
    assert_eq!(run(&["check", "-q", mixed]).stderr, "");
    assert_eq!(run(&["stats", "--format", "json", mixed]).objects()[0]["senders"]["all"]["crlf"], 2);
    assert!(!run_with_input(&["check"], format!("{PING}\n")).stdout.contains("CRLF"));
}

#[cfg(unix)]
mod tap {
    use std::io::{BufRead, BufReader, Write};

    use super::common::new_file;
    use super::tapping::{RESULT, session, tap, text, wait_for_exit};
    use super::*;

    /// The client waits, and the log says why, while it does.
    #[test]
    fn open_line_is_told_while_it_is_open() {
        let server = format!("read line; printf '%s' '{RESULT}'; read line; printf '\\n'; cat >/dev/null");
        let mut tap = tap(&[], &["sh", "-c", &server]);
        let (mut stdin, stderr) = (tap.stdin.take().unwrap(), tap.stderr.take().unwrap());
        let mut log = BufReader::new(stderr).lines().map(Result::unwrap);
        stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n").unwrap();
        let told = log.by_ref().find(|line| line.contains("waiting")).unwrap();
        assert!(told.contains("36 bytes from the server without a line end for 1 s:"), "{told}");
        assert_eq!(log.next().unwrap().trim(), "the client is still waiting");
        stdin.write_all(b"\n").unwrap();
        assert!(log.by_ref().any(|line| line.contains("← response     a #1")));
        drop(stdin);
        assert!(log.any(|line| line == "no faults, every request was answered"));
        wait_for_exit(&mut tap);
    }

    #[test]
    fn stream_without_a_last_line_end_is_not_fine() {
        let recording = new_file("unterminated.tap");
        let name = recording.to_str().unwrap();
        let server = format!("read line; printf '%s' '{RESULT}'");
        let input = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n";
        let output = session(&["--record", name], &["sh", "-c", &server], input);
        let log = text(&output.stderr);
        assert!(log.contains("← fault        the stream ended after 36 bytes without a line end\n"), "{log}");
        assert!(log.contains("\nthe last line of the server (36 bytes) has no line end\n"), "{log}");
        assert!(!log.contains("no faults"), "{log}");
        let check = run(&["check", name]);
        assert_eq!(check.code, Some(1));
        assert!(check.stdout.contains(": server: the last line has no line end [unterminated]\n"), "{}", check.stdout);
        let stats = run(&["stats", name]);
        assert!(
            stats.stdout.contains("\nthe last line of the server (36 bytes) has no line end\n"),
            "{}",
            stats.stdout
        );
    }

    #[test]
    fn crlf_is_told_once() {
        let server = format!("read line; read line; printf '%s\\r\\n' '{RESULT}' '{}'", RESULT.replace(":1,", ":2,"));
        let request = |id: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"a\"}}\n");
        let output = session(&[], &["sh", "-c", &server], (request(1) + &request(2)).as_bytes());
        let log = text(&output.stderr);
        assert_eq!(log.matches("← warning      a line ends in CRLF: ").count(), 1, "{log}");
        assert!(
            log.contains("\n2 lines from the server end in CRLF\n") && !log.contains("from the client end"),
            "{log}"
        );
    }
}

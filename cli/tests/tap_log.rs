//! The log of `wireline tap`.
#![cfg(unix)]

use crate::common;
use crate::tapping;

use std::io::{BufRead, BufReader, Read, Write};
use std::thread;
use std::time::Duration;

use common::new_file;
use tapping::{REQUEST, session, tap, text, wait_for_exit};
use wireline::Hint;

/// The start of a hint, short enough not to be wrapped.
fn first_words(hint: Hint) -> String {
    hint.to_string().split(' ').take(4).collect::<Vec<_>>().join(" ")
}

#[test]
fn dropped_lines_are_counted() {
    let lines = "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n".repeat(100_000);
    let mut tap = tap(&[], &["sh", "-c", "cat >/dev/null"]);
    let (mut stdin, stderr) = (tap.stdin.take().unwrap(), tap.stderr.take().unwrap());
    stdin.write_all(lines.as_bytes()).unwrap();
    // Long enough to fill the queue of the log even on a slow machine.
    thread::sleep(Duration::from_secs(3));
    drop(stdin);
    let log: Vec<String> = BufReader::new(stderr).lines().map(Result::unwrap).collect();
    let dropped = log.iter().filter_map(|line| line.strip_prefix("wireline: dropped ")?.split_once(" log line"));
    let dropped: usize = dropped.map(|(count, _)| count.replace(',', "").parse::<usize>().unwrap()).sum();
    let logged = log.iter().filter(|line| line.contains(" → notification ")).count();
    assert!(dropped > 0, "{} lines", log.len());
    assert_eq!(logged + dropped, 100_000);
    assert_eq!(log.last().unwrap(), "server exited with code 0");
    wait_for_exit(&mut tap);
}

#[test]
fn messages_are_logged_line_by_line() {
    let answers = r#"
        read request; sleep 0.05; echo 'starting up'
        echo '{"jsonrpc":"2.0","id":1,"result":{"text":"secret"}}'
        echo '{"jsonrpc":"2.0","id":9,"error":{"code":-5,"message":"secret"}}'
        echo '[{"jsonrpc":"2.0","method":"note"},7]'
        echo 'Content-Length: 12'
        read more; printf '{"jsonrpc":"2.0","id"'; exit 3"#;
    let input = format!("{REQUEST}\n{}\n", REQUEST.replace(":1,", ":2,"));
    let output = session(&[], &["sh", "-c", answers], input.as_bytes());
    let log = text(&output.stderr);
    assert!(log.lines().all(|line| line.chars().count() < 80), "{log}");
    assert!(!log.contains("secret") && !log.contains('\x1b'), "{log}");

    let lines: Vec<&str> = log.lines().collect();
    let position =
        |start: &str| lines.iter().position(|line| line.get(9..).is_some_and(|line| line.starts_with(start)));
    for (start, size, is_timed) in [
        ("→ request      tools/call #1  ", "73 B", false),
        ("→ request      tools/call #2  ", "73 B", false),
        ("← response     tools/call #1  ", "51 B", true),
        ("← error        (unmatched) #9 (-5)  ", "63 B", false),
        ("← batch        2 entries  ", "37 B", false),
        ("←·notification note  ", "33 B", false),
    ] {
        let line = lines[position(start).unwrap_or_else(|| panic!("expected {start:?}:\n{log}"))];
        let latency = line.split_once(size).unwrap_or_else(|| panic!("{line}")).1.trim();
        assert_eq!(latency.ends_with("ms"), is_timed, "{line}");
    }
    for (start, following) in [
        ("← fault        line 1, column 1: ", first_words(Hint::LogText)),
        ("← fault        line 5, column 1: ", first_words(Hint::ContentLengthHeader)),
        ("←·fault        line 4, column 36: ", String::new()),
        ("← fault        line 6, column 22: ", String::new()),
        ("← error        (unmatched) #9", "no pending request has this id".to_owned()),
    ] {
        let at = position(start).unwrap_or_else(|| panic!("expected {start:?}:\n{log}"));
        let is_there = lines[at + 1..at + 3].iter().any(|line| line.contains(&following));
        assert!(is_there, "{following}:\n{log}");
    }

    let (_, overview) = log.split_once("────\n").unwrap();
    for part in [
        ", 2 messages from the client (148 B), 3 from the server (",
        "\nmethod           calls failed    p50    p90    p99    max  bytes\n",
        "\n→ tools/call         2      0 ",
        "\n← note               1      –      –      –      –      –    33B\n",
        "\n1 request was never answered\n  → tools/call #2, sent at 0.0",
        "\n1 response matches no request\n  ← #9\n",
        "\n4 faulty lines or batch entries\n  ←     2 invalid-literal\n",
        "\nserver exited with code 3\n",
    ] {
        assert!(format!("\n{overview}").contains(part), "{part}:\n{overview}");
    }
}

#[test]
fn options_set_the_level_of_detail() {
    let input = format!("{REQUEST}\noops\n{}\n", REQUEST.replace(":1,", ":\"\\u001b\",").replace("secret", "\u{202e}"));
    let shown = session(&["--show"], &["cat"], input.as_bytes());
    assert!(text(&shown.stderr).contains("\n           {\"text\":\"secret\"}\n"), "{}", text(&shown.stderr));
    assert!(text(&shown.stderr).contains("{\"text\":\"\\xe2\\x80\\xae\"}\n"), "{}", text(&shown.stderr));
    let quiet = session(&["--quiet"], &["cat"], input.as_bytes());
    let quiet = text(&quiet.stderr);
    assert!(!quiet.contains(" request ") && quiet.contains("→ fault ") && quiet.contains("\nmethod "), "{quiet}");
    assert_eq!(text(&session(&["-qq"], &["cat"], input.as_bytes()).stderr), "");

    let log = new_file("detail.log");
    let logged = session(&["--log", log.to_str().unwrap()], &["cat"], input.as_bytes());
    assert_eq!(text(&logged.stderr), "");
    let first = std::fs::read_to_string(&log).unwrap();
    assert!(first.contains(" → request      tools/call #1  "), "{first}");
    session(&["--log", log.to_str().unwrap()], &["cat"], b"");
    assert!(std::fs::read_to_string(&log).unwrap().starts_with(&first), "expected the log to be appended to");
}

#[test]
fn log_file_has_every_line() {
    let log = new_file("every.log");
    let lines = "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n".repeat(50_000);
    session(&["--log", log.to_str().unwrap()], &["sh", "-c", "cat >/dev/null"], lines.as_bytes());
    let log = std::fs::read_to_string(&log).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains(" → notification ")).count(), 50_000);
    assert!(log.ends_with("server exited with code 0\n"));
}

#[test]
fn slow_reader_gets_every_line() {
    let lines = "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n".repeat(8_000);
    let mut tap = tap(&[], &["sh", "-c", "cat >/dev/null"]);
    tap.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let (mut stderr, mut log, mut buffer) = (tap.stderr.take().unwrap(), Vec::new(), [0; 16 << 10]);
    // Half a megabyte takes two seconds or more.
    while let len @ 1.. = stderr.read(&mut buffer).unwrap() {
        log.extend_from_slice(&buffer[..len]);
        thread::sleep(Duration::from_millis(40));
    }
    let log = text(&log);
    assert_eq!(log.lines().filter(|line| line.contains(" → notification ")).count(), 8_000);
    assert!(log.ends_with("server exited with code 0\n"));
    wait_for_exit(&mut tap);
}

#[test]
#[cfg(target_os = "linux")]
fn unwritable_log_is_not_kept_in_memory() {
    let mut tap = tap(&["--log", "/dev/full"], &["cat"]);
    let (mut stdin, mut stdout) = (tap.stdin.take().unwrap(), tap.stdout.take().unwrap());
    let lines = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n".repeat(200_000);
    let mut passed = vec![0; lines.len()];
    thread::scope(|scope| {
        scope.spawn(|| stdin.write_all(lines.as_bytes()).unwrap());
        stdout.read_exact(&mut passed).unwrap();
    });
    assert!(passed == lines.as_bytes());
    // The log of 200,000 messages in each direction would be 28 MB.
    let peak = common::peak_memory(&tap);
    assert!(peak < 24 << 20, "{peak} bytes");
    drop(stdin);
    assert!(wait_for_exit(&mut tap).success());
}

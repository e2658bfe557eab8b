//! The server's standard error: how `wireline tap` passes it on and records it, and how `wireline show` shows it.
#![cfg(unix)]

use crate::common;
use crate::tapping;

use std::io::{Read, Write};
use std::process::Stdio;

use common::{new_file, run, wireline};
use tapping::{session, tap, text, wait_for_exit};

/// Writes a line to standard error after each line that it reads, then one without its end.
const SERVER: &str = r#"
    echo 'starting' >&2
    while read line; do
        printf 'working \033[2J\377\n' >&2
        echo '{"jsonrpc":"2.0","id":1,"result":{}}'
    done
    printf 'half' >&2"#;

const INPUT: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

#[test]
fn standard_error_is_passed_on_and_recorded() {
    let recording = new_file("stderr.tap");
    let name = recording.to_str().unwrap();
    let output = session(&["-qq", "--record", name], &["sh", "-c", SERVER], INPUT.as_bytes());
    assert_eq!(output.stderr, b"starting\nworking \x1b[2J\xff\nhalf");

    let shown = run(&["show", name]);
    let lines: Vec<&str> = shown.stdout.lines().map(|line| &line[8..]).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    // The request may come before the first line.
    let stderr: Vec<&str> = lines.iter().filter(|line| line.contains("stderr")).copied().collect();
    assert_eq!(
        stderr,
        [" ← stderr       starting", " ← stderr       working \\x1b[2J\\xff", " ← stderr       half"],
        "{}",
        shown.stdout
    );
    assert!(kinds.ends_with(&["exited"]) && kinds.len() == 6, "{}", shown.stdout);
    let position = |kind: &str| kinds.iter().position(|one| *one == kind).unwrap();
    let last_stderr = kinds.iter().rposition(|kind| *kind == "stderr").unwrap();
    assert!(position("request") < position("response") && position("response") < last_stderr, "{}", shown.stdout);

    for options in [&["--no-stderr"][..], &["--method", "ping"], &["--direction", "client"], &["--errors"]] {
        let shown = run(&[&["show", name], options].concat());
        assert!(!shown.stdout.contains("stderr"), "{options:?}\n{}", shown.stdout);
    }
    // Commands that are about messages alone.
    assert!(run(&["check", name]).stdout.starts_with("2 messages, no faults\n"));
    assert!(run(&["stats", name]).stdout.contains("1 message from the client (41 B), 1 from the server (37 B)"));
    let replayed = wireline(&["replay", name, "--", "sh", "-c", SERVER]).output().unwrap();
    assert_eq!(text(&replayed.stdout), "1 message sent, 1 answer compared: all as recorded\n");
    assert_eq!(run(&["report", name]).code, Some(0));
}

#[test]
fn standard_error_can_be_left_out() {
    let recording = new_file("without-stderr.tap");
    let name = recording.to_str().unwrap();
    let output = session(&["-qq", "--no-stderr", "--record", name], &["sh", "-c", SERVER], INPUT.as_bytes());
    assert_eq!(output.stderr, b"starting\nworking \x1b[2J\xff\nhalf");
    assert!(!std::fs::read_to_string(&recording).unwrap().contains("stderr"));
}

/// The server writes far more than a pipe holds, and nobody reads the tap's standard error until the end.
#[test]
fn server_does_not_wait_for_a_reader_of_its_standard_error() {
    let recording = new_file("unread-stderr.tap");
    let name = recording.to_str().unwrap();
    let script = "head -c 4000000 /dev/zero | tr '\\000' x | fold -w 99 >&2; echo done";
    let mut tap = tap(&["-qq", "--record", name], &["sh", "-c", script]);
    let mut stdout = String::new();
    tap.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(stdout, "done\n");
    assert!(wait_for_exit(&mut tap).success());
    let recorded = std::fs::read_to_string(&recording).unwrap();
    let lens =
        recorded.lines().filter(|line| line.contains("\"from\":\"stderr\"")).map(|line| line.matches('x').count());
    assert_eq!(lens.sum::<usize>(), 4_000_000);
}

/// A recording whose file cannot be written does not hold standard error back, and neither does a log file.
#[test]
fn standard_error_is_passed_on_without_a_recording() {
    let log = new_file("beside.log");
    for options in
        [&["--record", "/no/such/folder/x.tap"][..], &["--record", "/dev/null", "--log", log.to_str().unwrap()]]
    {
        let output = session(&[&["-q"], options].concat(), &["sh", "-c", "echo one >&2; exec sleep 0.1"], b"");
        assert!(text(&output.stderr).contains("one\n"), "{options:?}: {}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(0));
    }
    assert!(!std::fs::read_to_string(log).unwrap().contains("one"));
}

/// A server may look whether its standard error is a terminal.
#[test]
#[cfg(target_os = "linux")]
fn terminal_is_left_to_the_server() {
    let recording = new_file("terminal-stderr.tap");
    let name = recording.to_str().unwrap();
    let terminal = crate::terminal::Terminal::open();
    let script = "test -t 2 && echo 'a terminal' >&2";
    let mut command = wireline(&["tap", "-qq", "--record", name, "--", "sh", "-c", script]);
    command.stdout(Stdio::null()).stderr(terminal.stream());
    let mut session = terminal.spawn(command);
    let _ = session.child.stdin.take().unwrap().write_all(b"");
    let (status, written) = session.finish();
    assert!(status.success() && written.contains("a terminal"), "{written}");
    assert!(!std::fs::read_to_string(&recording).unwrap().contains("stderr"));
}

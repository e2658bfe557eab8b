//! What `wireline tap` says of MCP sessions and of calls that hang, on terminals of 80 and of 200 columns.
#![cfg(target_os = "linux")]

use crate::common;
use crate::tapping;
use crate::terminal;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use common::{file, new_file, wireline};
use rustix::process::{Pid, Signal, kill_process};
use tapping::{session, tap, text, wait_for_exit};
use terminal::Terminal;

const CLIENT: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"probe","version":"0.9"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":"t"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"file:///a/rather/long/path/to/a/resource/that/does/not/fit/into/eighty/columns"}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#,
    "\n",
);

const SERVER: &str = r#"
    read line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"everything","version":"1.0"}}}'
    read line; read line; read line; read line
    echo '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2,"total":5}}'
    echo '{"jsonrpc":"2.0","id":2,"result":{"content":[]}}'
    echo '{"jsonrpc":"2.0","id":3,"result":{"content":[],"isError":true}}'"#;

#[test]
fn calls_are_named_on_every_width() {
    let input = file("tap_mcp-client.ndjson", CLIENT);
    for (columns, resource) in [(80, "resources/read file:///a/rather/lo…"), (200, "fit/into/eighty/columns #4")] {
        let terminal = Terminal::open_with(columns);
        let mut command = wireline(&["tap", "--rules", "mcp", "--", "sh", "-c", SERVER]);
        command.env("TERM", "xterm").env("NO_COLOR", "1");
        command
            .stdin(std::fs::File::open(&input).unwrap())
            .stdout(std::process::Stdio::null())
            .stderr(terminal.stream());
        let (_, written) = terminal.spawn(command).finish();
        let log = written.replace('\r', "");
        assert!(log.lines().all(|line| line.chars().count() < columns), "{log}");
        for part in [
            "probe 0.9 offers MCP 2025-11-25: roots\n",
            "everything 1.0 accepts MCP 2025-06-18: resources, tools\n",
            "→ request      tools/call echo #2 ",
            resource,
            "→ cancelled    resources/read ",
            "← progress     tools/call echo #2 (2 of 5) ",
            "← response     tools/call echo #2 ",
            "← failure      tools/call echo #3 ",
            "\nMCP 2025-06-18: probe 0.9 → everything 1.0\n",
            "\n1 request was cancelled\n",
        ] {
            assert!(log.contains(part), "{part}:\n{log}");
        }
        // Two calls, one of which failed, by method and by tool.
        let table = log.split_once("\nmethod").unwrap().1;
        assert!(table.lines().any(|line| line.starts_with("→ tools/call ") && line.contains(" 2      1 ")), "{table}");
        assert!(table.lines().any(|line| line.starts_with("    echo ") && line.contains(" 2      1 ")), "{table}");
    }
}

#[test]
fn hanging_call_is_told_and_told_again() {
    let server = "read line; sleep 1; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'; cat >/dev/null";
    for quiet in [&["--slow-after", "200ms"][..], &["-q", "--slow-after", "200ms"]] {
        let mut tap = tap(quiet, &["sh", "-c", server]);
        let (mut stdin, stderr) = (tap.stdin.take().unwrap(), tap.stderr.take().unwrap());
        stdin
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"slow\"}}\n")
            .unwrap();
        let mut log = BufReader::new(stderr).lines().map(Result::unwrap);
        let told = log.by_ref().find(|line| line.contains("… waiting      tools/call slow #1 ")).unwrap();
        assert!(told.trim_end().ends_with("ms"), "{told}");
        assert!(log.next().unwrap().contains("no answer from the server for "));
        // It was told before the answer came.
        let answered = log.by_ref().find(|line| line.contains("← response     tools/call slow #1 ")).unwrap();
        assert!(answered.trim_end().ends_with(" s"), "{answered}");
        drop(stdin);
        log.for_each(drop);
        wait_for_exit(&mut tap);
    }
    // Also while the server never stops talking of something else.
    let mut tap = tap(&["-q", "--slow-after", "200ms"], &["yes", "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}"]);
    let (mut stdin, stdout, stderr) =
        (tap.stdin.take().unwrap(), tap.stdout.take().unwrap(), tap.stderr.take().unwrap());
    std::thread::spawn(move || std::io::copy(&mut { stdout }, &mut std::io::sink()));
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n").unwrap();
    let mut log = BufReader::new(stderr).lines().map(Result::unwrap);
    let told = log.find(|line| line.contains("… waiting      a #1 ")).unwrap();
    assert!(told.trim_end().ends_with("ms"), "{told}");
    kill_process(Pid::from_child(&tap), Signal::TERM).unwrap();
    log.for_each(drop);
    wait_for_exit(&mut tap);
    // Nothing of that kind with 0.
    let quick = session(
        &["--slow-after", "0"],
        &["sh", "-c", "sleep 0.5"],
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n",
    );
    assert!(!text(&quick.stderr).contains("waiting"), "{}", text(&quick.stderr));
}

#[test]
fn answer_with_an_id_of_the_other_type_is_named() {
    let server = "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":\"3\",\"result\":{}}'";
    let output = session(&[], &["sh", "-c", server], b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\"}\n");
    let log = text(&output.stderr);
    assert!(log.contains("same id as a pending request, but of the other type\n"), "{log}");
    assert!(log.contains("\n1 response matches no request\n  ← #\"3\"\n  1 of them has the id"), "{log}");
}

#[test]
fn recordings_are_private() {
    let recording = new_file("private.tap");
    let name = recording.to_str().unwrap();
    session(&["-qq", "--record", name], &["cat"], b"");
    assert_eq!(std::fs::metadata(&recording).unwrap().permissions().mode() & 0o777, 0o600);
    let other = file("not-a-recording.ndjson", "{\"time\":1731,\"event\":\"server started\"}\n");
    let refused = session(&["--record", other.to_str().unwrap()], &["cat"], b"");
    assert!(text(&refused.stderr).contains("not-a-recording.ndjson: the file exists and is not a recording"));
    assert_eq!(std::fs::read_to_string(other).unwrap(), "{\"time\":1731,\"event\":\"server started\"}\n");
}

#[test]
fn recording_that_nobody_reads_does_not_stall_the_session() {
    let pipe = new_file("unread.fifo");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let name = pipe.to_str().unwrap();
    let unopened = session(&["--record", name], &["cat"], b"x\n");
    assert_eq!((unopened.status.code(), text(&unopened.stdout)), (Some(0), "x\n"));
    assert!(
        text(&unopened.stderr).contains("nobody has opened the named pipe for reading"),
        "{}",
        text(&unopened.stderr)
    );

    // Opened, but never read.
    let opened = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::File::open(pipe).unwrap()
    });
    let lines = "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n".repeat(40_000);
    let output = session(&["-q", "--record", name], &["cat"], lines.as_bytes());
    let mut reader = opened.join().unwrap();
    assert!(output.stdout == lines.as_bytes());
    assert!(
        text(&output.stderr).contains("its reader has taken nothing for 5 s; the session goes on unrecorded"),
        "{}",
        text(&output.stderr)
    );
    reader.read_exact(&mut [0; 100]).unwrap();
}

#[test]
fn command_in_quotes_gets_a_hint() {
    let output = session(&[], &["python3 server.py"], b"");
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("; the whole command is in quotes"), "{}", text(&output.stderr));
}

#[test]
fn ignored_signals_are_inherited() {
    let run = |names: &str, tap: &str| {
        let script = format!("trap '' USR2 {names}; exec {tap} grep SigIgn /proc/self/status");
        let output = Command::new("sh").args(["-c", &script]).stdin(std::process::Stdio::null()).output().unwrap();
        let mask = text(&output.stdout).trim_start_matches("SigIgn:").trim().to_owned();
        u64::from_str_radix(&mask, 16).unwrap()
    };
    // Some shells remove variables whose names are not identifiers, and some systems have no other way to ignore a signal.
    let has_env = Command::new("env").args(["--ignore-signal=PIPE", "true"]).status().is_ok_and(|it| it.success());
    let tap = format!("env -i PATH=\"$PATH\" {} tap -qq --", env!("CARGO_BIN_EXE_wireline"));
    for (names, bits) in [("", 0), ("PIPE", 0x1000), ("XFSZ", 0x100_0000), ("PIPE XFSZ", 0x100_1000)] {
        for tap in [tap.clone(), tap.replace(" PATH=", " a.b=1 PATH=")] {
            if tap.contains("a.b") && !has_env {
                continue;
            }
            let mask = run(names, &tap);
            assert_eq!((mask, mask & bits), (run(names, ""), bits), "{names} {tap}");
        }
    }

    // The server's exit code and its arguments pass through.
    let run = |server: &str| {
        let script = format!("trap '' PIPE; exec {tap} {server}");
        Command::new("sh").args(["-c", &script]).stdin(std::process::Stdio::null()).output().unwrap()
    };
    let output = run("sh -c 'echo \"$0|$1\"; exit 7' 'a b' '$x\"'");
    assert_eq!((text(&output.stdout), output.status.code()), ("a b|$x\"\n", Some(7)));

    // What cannot be run is told as it is without ignored signals.
    let output = run("there-is-no-such-program");
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).starts_with("wireline: cannot run there-is-no-such-program: "));
    let plain = file("not-executable", "echo no\n");
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (path, directory) = (plain.to_str().unwrap(), plain.parent().unwrap().to_str().unwrap());
    let name = plain.file_name().unwrap().to_str().unwrap();
    let by_name =
        format!("trap '' PIPE; exec env -i PATH='{directory}' {} tap -qq -- '{name}'", env!("CARGO_BIN_EXE_wireline"));
    let by_name = Command::new("sh").args(["-c", &by_name]).stdin(std::process::Stdio::null()).output().unwrap();
    for (program, output) in
        [(path, run(&format!("'{path}'"))), (directory, run(&format!("'{directory}'"))), (name, by_name)]
    {
        assert_eq!(output.status.code(), Some(126), "{program}");
        let expected = format!("wireline: cannot run {program}: Permission denied");
        assert!(text(&output.stderr).starts_with(&expected), "{}", text(&output.stderr));
    }
}

#[test]
fn environment_passes_whatever_signals_are_ignored() {
    // Some shells remove variables whose names are not identifiers.
    let wireline = env!("CARGO_BIN_EXE_wireline");
    for ignored in ["", "PIPE"] {
        let script =
            format!("trap '' USR2 {ignored}; exec env -i PATH=\"$PATH\" a.b=1 x-y=2 ok=3 {wireline} tap -qq -- env");
        let output = Command::new("sh").args(["-c", &script]).stdin(std::process::Stdio::null()).output().unwrap();
        for variable in ["a.b=1", "x-y=2", "ok=3"] {
            let environment = text(&output.stdout);
            assert!(environment.lines().any(|line| line == variable), "{ignored}: {variable}\n{environment}");
        }
    }
}

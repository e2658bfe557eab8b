//! `wireline tap` on every system, Windows included.

use crate::common;
use crate::tapping;

use common::{PING, new_file, run, run_with_input};
use tapping::{server, session, text};

#[test]
fn relays_logs_and_records() {
    let recording = new_file("everywhere.tap");
    let recording = recording.to_str().unwrap();
    let input = format!("{PING}\n");
    let output = session(&["--record", recording], &[&server()], input.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    let log = text(&output.stderr);
    for part in ["tap_server: ready", "→ request", "← response", "ping", "server exited with code 0"] {
        assert!(log.contains(part), "{part}:\n{log}");
    }
    let stats = run(&["stats", recording]);
    assert_eq!(stats.code, Some(0), "{}", stats.stderr);
    assert!(stats.stdout.contains("→ ping"), "{}", stats.stdout);
    let report = run(&["report", recording]);
    assert!(report.code == Some(0) && report.stdout.contains("data-part=\"rows\""), "{}", report.stderr);
}

/// A recording is shown again, replayed against its server, and played as a server.
#[test]
fn recordings_are_shown_and_replayed() {
    let recording = new_file("everywhere-replayed.tap");
    let recording = recording.to_str().unwrap();
    let input = format!("{PING}\n{}\n", PING.replace(":1,", ":2,").replace("ping", "unknown"));
    let output = session(&["-qq", "--record", recording], &[&server()], input.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));

    let shown = run(&["show", recording]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for part in ["→ request      ping #1", "← response     ping #1", "← error        unknown #2 (-32601)"] {
        assert!(shown.stdout.contains(part), "{part}:\n{}", shown.stdout);
    }
    let errors = run(&["show", "--errors", "--full", recording]).stdout;
    assert!(!errors.contains("ping") && errors.contains("\"code\": -32601"), "{errors}");

    let replayed = run(&["replay", recording, "--", &server()]);
    let expected = "2 messages sent, 2 answers compared: all as recorded\n";
    assert_eq!((replayed.code, replayed.stdout.as_str()), (Some(0), expected), "{}", replayed.stderr);
    let played = run_with_input(&["replay", "--as-server", recording], &input);
    assert_eq!((played.code, played.stdout.as_str()), (Some(0), text(&output.stdout)), "{}", played.stderr);
}

/// Bytes pass unchanged: no line end is translated, and no byte stands for the end of a file.
#[test]
fn bytes_pass_unchanged() {
    let input = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\r\n\x1a\n\xff\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n";
    let recording = new_file("bytes.tap");
    let output = session(&["-qq", "--record", recording.to_str().unwrap()], &[&server()], input);
    assert!(!output.stdout.contains(&b'\r') && output.stdout.ends_with(b"\n"), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("\"id\":2,\"result\""), "{}", text(&output.stdout));
    let recorded = std::fs::read(&recording).unwrap();
    assert!(!recorded.contains(&b'\r'));
    let recorded = text(&recorded);
    assert!(
        recorded.contains("\\r\"}\n") && recorded.contains("\\u001a") && recorded.contains("\"base64\":\"/w==\""),
        "{recorded}"
    );
}

#[test]
fn missing_command_has_its_own_code() {
    let run = run(&["tap", "--", "there-is-no-such-program"]);
    assert_eq!(run.code, Some(127));
    assert!(run.stderr.starts_with("wireline: cannot run there-is-no-such-program: "), "{}", run.stderr);
}

/// Codes beyond 255 are usual on Windows.
#[test]
#[cfg(windows)]
fn exit_code_is_the_servers() {
    for code in [0, 7, 70_000] {
        let output = session(&["-qq"], &["cmd", "/c", &format!("exit {code}")], b"");
        assert_eq!(output.status.code(), Some(code));
    }
}

#[test]
#[cfg(windows)]
fn scripts_are_found_without_their_extension() {
    let script = common::file("served.cmd", "@exit 5\r\n");
    let script = script.with_extension("");
    let script = script.to_str().unwrap();
    let output = session(&["-qq"], &[script], b"");
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    // The same server for a replay.
    let recording = common::file(
        "served.tap",
        "{\"wireline-recording\":1,\"time\":1.0}\n{\"time\":1.1,\"event\":\"end\",\"code\":0}\n",
    );
    let replayed = run(&["replay", recording.to_str().unwrap(), "--", script]);
    assert!(replayed.stdout.contains("server exited with code 5, 0 in the recording"), "{replayed:?}");
}

#[test]
#[cfg(windows)]
fn recording_can_be_read_while_it_is_written_and_has_one_writer() {
    let recording = new_file("shared.tap");
    let path = recording.to_str().unwrap();
    let mut first = tapping::tap(&["-qq", "--record", path], &[&server()]);
    // The recording is written with the first message.
    std::io::Write::write_all(first.stdin.as_mut().unwrap(), format!("{PING}\n").as_bytes()).unwrap();
    let started = std::time::Instant::now();
    while std::fs::read(&recording).map_or(0, |bytes| bytes.len()) == 0 {
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "expected a recording");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let second = session(&["-qq", "--record", path], &[&server()], b"");
    assert_eq!(second.status.code(), Some(0));
    assert!(recording.with_file_name("shared-2.tap").exists());
    assert!(text(&second.stderr).contains("another `wireline` is recording to it"), "{}", text(&second.stderr));
    drop(first.stdin.take());
    assert_eq!(tapping::wait_for_exit(&mut first).code(), Some(0));
}

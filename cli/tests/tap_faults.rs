//! What `wireline tap` and `wireline show` say of many faults.
#![cfg(unix)]

use crate::common;
use crate::tapping;

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use common::{file, new_file, run};
use tapping::{session, tap, text, wait_for_exit};

/// A result as `JSON.stringify(…, null, 2)` prints it, with lines that are nothing by themselves.
const PRINTED: &str = r#"{
  "jsonrpc": "2.0",
  "id": 1,
  "result": {
    "required": [
      "message"
    ],
    "sizes": [
      1,
      2
    ]
  }
}
"#;

const REQUEST: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

/// A server that sends what is in a file, and then reads to the end.
fn server(name: &str, output: &str) -> String {
    format!("read line; cat '{}'; cat >/dev/null", file(name, output).display())
}

/// The lines of a log about faults, without time.
fn faults(log: &str) -> Vec<&str> {
    log.lines().filter_map(|line| line.get(9..)).filter(|line| line.starts_with("← fault ")).collect()
}

#[test]
fn message_printed_over_several_lines_is_one_fault() {
    let server = server("printed.txt", &format!("{PRINTED}starting up\n{PRINTED}{PRINTED}"));
    let recording = new_file("printed.tap");
    let name = recording.to_str().unwrap();
    let output = session(&["--record", name], &["sh", "-c", &server], REQUEST.as_bytes());
    let shown = run(&["show", name]);
    for log in [text(&output.stderr), &shown.stdout] {
        let [first, second, third] = &faults(log)[..] else { panic!("expected three:\n{log}") };
        assert!(first.starts_with("← fault        lines 1–13: one message printed over several"), "{log}");
        assert!(second.starts_with("← fault        line 14, column 1: not JSON"), "{log}");
        assert!(third.starts_with("← fault        lines 15–40: 2 messages printed over several"), "{log}");
        assert!(log.contains("this looks like JSON printed over several lines"), "{log}");
    }
    assert!(text(&output.stderr).contains("\n40 faulty lines or batch entries\n"), "{}", text(&output.stderr));

    let all = session(&["--all"], &["sh", "-c", &server], REQUEST.as_bytes());
    assert_eq!(faults(text(&all.stderr)).len(), 40);
    assert_eq!(faults(&run(&["show", "--all", name]).stdout).len(), 40);
}

#[test]
fn printed_message_is_told_while_the_client_waits() {
    let server = server("printed-once.txt", PRINTED);
    let recording = new_file("printed-once.tap");
    let name = recording.to_str().unwrap();
    let mut tap = tap(&["--record", name], &["sh", "-c", &server]);
    let (mut stdin, stderr) = (tap.stdin.take().unwrap(), tap.stderr.take().unwrap());
    stdin.write_all(REQUEST.as_bytes()).unwrap();
    let mut log = BufReader::new(stderr).lines().map(Result::unwrap);
    assert!(log.any(|line| line.contains("lines 1–13: one message printed")));
    // The same to whoever follows the recording.
    let mut follower = common::wireline(&["show", "--follow", name]).spawn().unwrap();
    let mut followed = BufReader::new(follower.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(followed.any(|line| line.contains("lines 1–13: one message printed")));
    drop(stdin);
    log.for_each(drop);
    followed.for_each(drop);
    assert!(wait_for_exit(&mut tap).success() && wait_for_exit(&mut follower).success());
}

#[test]
fn message_printed_slowly_is_one_fault_to_a_follower() {
    let recording = file("printed-slowly.tap", "{\"wireline-recording\":1,\"time\":1.0}\n");
    let mut follower = common::wireline(&["show", "--follow", recording.to_str().unwrap()]).spawn().unwrap();
    let mut followed = BufReader::new(follower.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut writer = std::fs::OpenOptions::new().append(true).open(&recording).unwrap();
    for (line, time) in PRINTED.lines().zip(1..) {
        let line = serde_json::to_string(line).unwrap();
        let time = 1.0 + f64::from(time) * 0.05;
        writer.write_all(format!("{{\"time\":{time},\"from\":\"server\",\"line\":{line}}}\n").as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    // Told although the session goes on.
    let first = followed.next().unwrap();
    assert!(first.contains("lines 1–13: one message printed"), "{first}");
    writer.write_all(b"{\"time\":9.0,\"event\":\"end\",\"code\":0}\n").unwrap();
    assert!(!followed.any(|line| line.contains(" fault ")));
    assert!(wait_for_exit(&mut follower).success());
}

#[test]
fn messages_printed_with_a_pause_between_them_are_several_faults() {
    let printed = file("printed-twice.txt", PRINTED);
    let server = format!("read line; cat '{0}'; sleep 0.7; cat '{0}'; cat >/dev/null", printed.display());
    let recording = new_file("printed-twice.tap");
    let name = recording.to_str().unwrap();
    let output = session(&["--record", name], &["sh", "-c", &server], REQUEST.as_bytes());
    let shown = run(&["show", name]);
    for log in [text(&output.stderr), &shown.stdout] {
        let [first, second] = &faults(log)[..] else { panic!("expected two:\n{log}") };
        assert!(first.starts_with("← fault        lines 1–13: one message printed over several"), "{log}");
        assert!(second.starts_with("← fault        lines 14–26: one message printed over several"), "{log}");
    }
}

#[test]
fn equal_faults_are_counted_after_a_while() {
    let noise = "debug: called\n".repeat(500) + &format!("{PRINTED}\n").repeat(30);
    let recording = new_file("noise.tap");
    let name = recording.to_str().unwrap();
    let server = server("noise.txt", &noise);
    let output = session(&["--record", name], &["sh", "-c", &server], REQUEST.as_bytes());
    let shown = run(&["show", name]);
    for log in [text(&output.stderr), &shown.stdout] {
        let faults = faults(log);
        // 20 of each, and two lines for those that are left out.
        assert_eq!(faults.len(), 42, "{log}");
        assert_eq!(log.matches("20 faults like this so far").count(), 2, "{log}");
        assert!(faults[40].starts_with("← fault        480 more faults like that [invalid-literal]"), "{log}");
        assert!(faults[41].starts_with("← fault        10 more groups of lines like that [pretty-printed]"), "{log}");
    }
    assert!(text(&output.stderr).contains("faulty lines or batch entries\n"));
}

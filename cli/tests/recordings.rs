//! The folder of recordings: `wireline tap --record` without a name, and commands without a file.
#![cfg(unix)]

use crate::common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use common::{PING, Run, file, finish, new_file, wireline};
use serde_json::{Value, json};

/// A state directory that does not exist yet.
#[track_caller]
fn state(name: &str) -> PathBuf {
    let state = new_file(name);
    let _ = std::fs::remove_dir_all(&state);
    state
}

fn run_in(state: &Path, args: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command = wireline(args);
    finish(command.env("XDG_STATE_HOME", state).envs(variables.iter().copied()).stdin(Stdio::null()).spawn().unwrap())
}

/// Records a session in which the server sends one line.
fn record(state: &Path, options: &[&str], line: &str) -> Run {
    let server = format!("printf '%s\\n' '{line}'");
    run_in(state, &[&["tap", "-qq", "--record"], options, &["--", "sh", "-c", &server]].concat(), &[])
}

fn names(state: &Path) -> Vec<String> {
    let folder = std::fs::read_dir(state.join("wireline")).unwrap();
    let mut names: Vec<_> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn newest_recording_is_looked_at_without_its_name() {
    let state = state("newest");
    for command in ["show", "stats", "report"] {
        let none = run_in(&state, &[command], &[]);
        assert_eq!((none.code, none.stdout.as_str()), (Some(2), ""), "{none:?}");
        assert!(none.stderr.contains("there is no recording in ") && none.stderr.contains("tap --record"), "{none:?}");
    }
    let recorded = record(&state, &[], &PING.replace("ping", "old"));
    assert_eq!((recorded.code, recorded.stderr.as_str()), (Some(0), ""), "{recorded:?}");
    let folder = state.join("wireline");
    let old = folder.join(&names(&state)[0]);
    assert!(names(&state)[0].contains("Z-sh-") && names(&state)[0].ends_with(".tap"), "{:?}", names(&state));
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(old.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::options().write(true).open(&old).unwrap().set_modified(hour_ago).unwrap();
    record(&state, &[], &PING.replace("ping", "new"));
    for command in ["show", "stats", "report"] {
        let newest = run_in(&state, &[command], &[]);
        assert_eq!(newest.code, Some(0), "{newest:?}");
        assert!(newest.stdout.contains("new") && !newest.stdout.contains("\"old\""), "{}", newest.stdout);
        assert!(newest.stderr.starts_with("wireline: reading /") && newest.stderr.lines().count() == 1, "{newest:?}");
    }
    // In the home directory if the variable is not set.
    let home = run_in(Path::new(""), &["show"], &[("HOME", state.to_str().unwrap())]);
    assert!(home.stderr.contains("newest/.local/state/wireline: name one"), "{home:?}");
}

#[test]
fn oldest_recordings_are_removed() {
    let state = state("rotated");
    let folder = state.join("wireline");
    std::fs::create_dir_all(&folder).unwrap();
    let recording = format!("{{\"wireline-recording\":2,\"time\":1.0}}\n{}", " ".repeat(10_000));
    for number in 0..8 {
        let path = folder.join(format!("2020010{number}T000000Z-old-1.tap"));
        std::fs::write(&path, &recording).unwrap();
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_577_836_800 + 86_400 * number);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
    }
    for other in ["mine.tap", "20200101T000000Z-notes.txt"] {
        std::fs::write(folder.join(other), &recording).unwrap();
        let at = SystemTime::UNIX_EPOCH;
        std::fs::File::options().write(true).open(folder.join(other)).unwrap().set_modified(at).unwrap();
    }
    // In use by another tap.
    let used = std::fs::File::open(folder.join("20200100T000000Z-old-1.tap")).unwrap();
    used.lock().unwrap();
    let left = || names(&state).iter().filter(|name| name.contains("-old-")).count();
    record(&state, &["--keep", "100"], PING);
    assert_eq!(left(), 8);
    record(&state, &["--keep", "6"], PING);
    assert_eq!(left(), 5);
    record(&state, &["--keep-size", "35K"], PING);
    assert_eq!(left(), 4);
    record(&state, &["--keep", "0"], PING);
    assert_eq!(left(), 1);
    let names = names(&state);
    assert!(names.iter().any(|name| name == "mine.tap") && names.iter().any(|name| name.ends_with("notes.txt")));
    assert_eq!(names.iter().filter(|name| name.contains("Z-sh-")).count(), 1, "{names:?}");
}

#[test]
fn unwritable_folder_does_not_keep_the_server_from_starting() {
    let state = file("a-file", "");
    let run = record(&state, &[], PING);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), format!("{PING}\n").as_str()));
    assert!(run.stderr.starts_with("wireline: cannot record to the folder of recordings: "), "{run:?}");
    assert!(run.stderr.ends_with("; the session goes on unrecorded\n"), "{run:?}");
}

#[test]
fn report_is_opened_in_a_browser() {
    let state = state("opened");
    record(&state, &[], PING);
    let seen = new_file("seen");
    let programs = state.join("bin");
    std::fs::create_dir_all(&programs).unwrap();
    let browser = programs.join(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    let script = format!("#!/bin/sh\nhead -c 15 \"$1\" > '{0}.new'; mv '{0}.new' '{0}'\n", seen.display());
    std::fs::write(&browser, script).unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let page = new_file("page.html");
    for options in [&[][..], &["--output", page.to_str().unwrap()]] {
        let _ = std::fs::remove_file(&seen);
        let args = [&["report", "--open"], options].concat();
        let temporary = state.to_str().unwrap();
        let run = run_in(&state, &args, &[("PATH", &path), ("TMPDIR", temporary)]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:?}");
        let started = Instant::now();
        while !seen.exists() {
            assert!(started.elapsed() < Duration::from_secs(30), "expected a browser: {run:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(std::fs::read_to_string(&seen).unwrap(), "<!doctype html>");
    }
    assert!(page.exists());
}

const SESSION: &str = r#"{"wireline-recording":2,"time":1.0}
{"time":1.1,"from":"stderr","line":"Loading \u001b[2J"}
{"time":1.2,"from":"client","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"say \\\"Hi\\\"\"}}}"}
{"time":1.3,"from":"server","line":"oops"}
{"time":1.7,"from":"server","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"too loud\"}}"}
{"time":2.0,"event":"end","code":3}
"#;

#[test]
fn transcript_is_searched() {
    let recording = file("searched.tap", SESSION);
    let name = recording.to_str().unwrap();
    for (text, expected) in [
        ("say \"hi\"", &["request"][..]),
        ("LOADING", &["stderr"]),
        ("too loud", &["error"]),
        ("oops", &["fault"]),
        ("o", &["stderr", "request", "fault", "error"]),
        ("nowhere", &[]),
    ] {
        let shown = common::run(&["show", "--grep", text, name]).stdout;
        let lines = shown.lines().filter(|line| line.get(..8).is_some_and(|time| time.trim().parse::<f64>().is_ok()));
        let kinds: Vec<_> = lines.map(|line| line.split_whitespace().nth(2).unwrap()).collect();
        assert_eq!(kinds, expected, "{text}\n{shown}");
    }
    let both = common::run(&["show", "--grep", "oops", "--grep", "loading", name]).stdout;
    assert!(both.contains("stderr") && both.contains("fault") && !both.contains("request"), "{both}");
}

#[test]
fn transcript_is_printed_for_programs() {
    let recording = file("programs.tap", SESSION);
    let name = recording.to_str().unwrap();
    let shown = common::run(&["show", "--rules", "mcp", "--format", "ndjson", name]);
    assert!(!shown.stdout.contains('\u{1b}'), "{}", shown.stdout);
    let objects = shown.objects();
    let kinds: Vec<&Value> = objects.iter().map(|object| &object["kind"]).collect();
    assert_eq!(kinds, ["stderr", "request", "fault", "error", "finding", "end"]);
    let mut error = objects[3].clone();
    let seconds = error["seconds"].take().as_f64().unwrap();
    assert!((seconds - 0.5).abs() < 1e-6, "{seconds}");
    error["time"].take();
    let expected = json!({
        "session": 1, "time": null, "from": "server", "kind": "error", "id": 1, "method": "tools/call", "subject": "echo",
        "seconds": null, "failed": true, "code": -32602, "reason": "too loud", "len": 69,
    });
    assert_eq!(error, expected);
    assert_eq!((&objects[2]["fault"], &objects[2]["hint"]), (&json!("invalid-literal"), &json!("log-text")));
    assert_eq!((&objects[5]["code"], &objects[0]["text"]), (&json!(3), &json!("Loading \u{1b}[2J")));
    assert!(objects.iter().all(|object| object.get("message").is_none()));

    let with_messages = common::run(&["show", "--format", "ndjson", "--show", "--grep", "say", name]).objects();
    assert_eq!((with_messages.len(), &with_messages[0]["message"]["params"]["name"]), (1, &json!("echo")));
    let hidden = common::run(&["show", "--format", "ndjson", "--no-reasons", "--no-stderr", name]).stdout;
    assert!(!hidden.contains("loud") && !hidden.contains("Loading"), "{hidden}");
    if Command::new("jq").arg("--version").output().is_ok() {
        let script = format!("'{}' show --format ndjson '{name}' | jq -e .session", env!("CARGO_BIN_EXE_wireline"));
        assert!(Command::new("sh").args(["-c", &script]).output().unwrap().status.success());
    }
}

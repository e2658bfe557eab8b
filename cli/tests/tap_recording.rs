//! `wireline tap --record`, and reading recordings.
#![cfg(unix)]

use crate::common;
use crate::tapping;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use common::{SESSION, file, new_file, wireline};
use serde_json::Value;
use tapping::{REQUEST, session, text};
use wireline::FaultKind;

/// Removes the members that depend on line numbers.
fn forget_lines(value: &mut Value) {
    if let Some(members) = value.as_object_mut() {
        members.retain(|member, _| !["from", "line", "reply"].contains(&member.as_str()));
    }
    value.get_mut("entries").and_then(Value::as_array_mut).into_iter().flatten().for_each(forget_lines);
}

#[test]
fn recordings_are_complete_and_readable() {
    let recording = new_file("session.tap");
    let name = recording.to_str().unwrap();
    let server = format!("printf 'noise\\n\\377\\r\\n'; exec '{}' 2>/dev/null", tapping::server());
    let lines = std::fs::read(SESSION).unwrap();
    let output = session(&["--quiet", "--record", name], &["sh", "-c", &server], &lines);
    assert!(output.status.success());

    let mut sent = [Vec::new(), Vec::new()];
    let records = std::fs::read_to_string(&recording).unwrap();
    for line in records.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let Some(from) = record["from"].as_str() else { continue };
        let sent = &mut sent[usize::from(from == "server")];
        match record["line"].as_str() {
            Some(line) => sent.extend(line.bytes()),
            None => {
                assert_eq!(record["base64"], "/w0=");
                sent.extend(b"\xff\r");
            }
        }
        if record["open"] != true {
            sent.push(b'\n');
        }
    }
    assert_eq!(text(&sent[0]), text(&lines));
    assert!(sent[1] == output.stdout);

    // `stats` prints the same overview as the tap, up to rounding of times.
    let stats = wireline(&["stats", "--no-reasons", name]).output().unwrap();
    let stats_text = text(&stats.stdout);
    let log_end = text(&output.stderr).split_once("────\n").unwrap().1;
    let words = |text: &str| -> Vec<String> {
        let words = text.split_whitespace().filter(|word| !word.contains(['m', 'µ', 'n']) || word.len() > 8);
        words.map(str::to_owned).collect()
    };
    let logged = log_end.split_once("\n\nmethod").unwrap().1.split_once("server exited").unwrap().0;
    let computed = stats_text.split_once("\n\nmethod").unwrap().1.split_once("message sizes").unwrap().0;
    assert_eq!(words(computed), words(logged));
    assert!(stats_text.contains("\nlatencies\n"), "{stats_text}");
    assert_eq!(stats.status.code(), Some(0));

    // `check` finds the same faults as in the bytes themselves, at the lines of the records.
    let faults = |args: &[&str], input: &[u8]| -> Vec<Value> {
        let mut check =
            wireline(&[&["check", "--rules", "json-rpc", "--format", "ndjson"], args].concat()).spawn().unwrap();
        check.stdin.take().unwrap().write_all(input).unwrap();
        let output = check.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let in_recording = faults(&[name], b"");
    for (from, sent) in [("client", &sent[0]), ("server", &sent[1])] {
        let mut expected = faults(&[], sent);
        let mut found: Vec<Value> =
            in_recording.iter().filter(|line| line["from"] == from && line["kind"] != "finding").cloned().collect();
        for line in &found {
            let number = line["line"].as_u64().unwrap() as usize;
            let record: Value = serde_json::from_str(records.lines().nth(number - 1).unwrap()).unwrap();
            assert_eq!(record["from"], from);
        }
        found.iter_mut().chain(&mut expected).for_each(forget_lines);
        assert_eq!(found, expected);
    }
    let shown = wireline(&["check", "--rules", "json-rpc", "--show", name]).output().unwrap();
    let noise = ": server: not JSON: expected an object or an array [invalid-literal]\n    | noise\n    | ^\n";
    assert!(text(&shown.stdout).contains(noise), "{}", text(&shown.stdout));
    let piped = wireline(&["check", "--rules", "json-rpc", "--format", "ndjson"])
        .stdin(File::open(&recording).unwrap())
        .output()
        .unwrap();
    assert_eq!(text(&piped.stdout).lines().count(), in_recording.len());
}

#[test]
fn session_survives_a_full_disk() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let input = format!("{REQUEST}\n").repeat(10);
    let output = session(&["-q", "--record", "/dev/full"], &["cat"], input.as_bytes());
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), input.as_str()));
    assert!(text(&output.stderr).contains("wireline: cannot write to the recording /dev/full: "));
}

#[test]
fn truncated_last_line_does_not_spoil_the_next_one() {
    let recording = file("truncated.tap", r#"{"wireline-recording":1,"time":1.5}"#.to_owned() + "\n{\"time\":1.6,\"fr");
    session(&["-qq", "--record", recording.to_str().unwrap()], &["cat"], format!("{REQUEST}\n").as_bytes());
    let records = std::fs::read_to_string(&recording).unwrap();
    assert!(
        records.contains("\"fr\n{\"wireline-recording\":2,\"time\":") && records.contains("\"event\":\"end\""),
        "{records}"
    );
}

#[test]
fn documented_example_is_a_recording() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/recordings.md")).unwrap();
    let example = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let recording = file("documented.tap", example);
    let shown = wireline(&["show", recording.to_str().unwrap()]).output().unwrap();
    assert_eq!((shown.status.code(), text(&shown.stderr)), (Some(0), ""));
    let shown = text(&shown.stdout);
    for part in ["0.012 ← stderr       demo: ready", "0.021 ← response     ping #1 ", "server exited with code 0"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
}

#[test]
fn odd_recordings_are_readable() {
    let start = r#"{"wireline-recording":1,"time":0.0}"#;
    let end = r#"{"time":1.8e19,"event":"end"}"#;
    let cut = r#"{"time":1.0,"from":"server","line":"{\"jsonrpc\":","more":true}"#;
    let recording = file("odd.tap", [start, end, start, cut, end].join("\n"));
    let check = wireline(&["check", recording.to_str().unwrap()]).output().unwrap();
    assert_eq!(check.status.code(), Some(1));
    let fault = format!(":4:12: server: {} [unexpected-end]\n", FaultKind::UnexpectedEnd);
    assert!(text(&check.stdout).contains(&fault), "{}", text(&check.stdout));
    let stats = wireline(&["stats", recording.to_str().unwrap()]).output().unwrap();
    assert_eq!(stats.status.code(), Some(0));
    assert!(text(&stats.stdout).contains("\n  ←     1 unexpected-end\n"), "{}", text(&stats.stdout));
}

fn named_pipe(name: &str) -> PathBuf {
    let path = new_file(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[test]
fn stalled_recording_loses_no_bytes() {
    let recording = named_pipe("slow-recording");
    let reader = thread::spawn({
        let recording = recording.clone();
        move || {
            let mut recording = File::open(recording).unwrap();
            // Longer than the tap waits for an exited server.
            thread::sleep(Duration::from_millis(2500));
            let mut recorded = Vec::new();
            recording.read_to_end(&mut recorded).unwrap();
            recorded
        }
    });
    let line = format!("{}\n", "x".repeat(999));
    let options = ["-qq", "--record", recording.to_str().unwrap()];
    let output = session(&options, &["sh", "-c", "head -c 499500 /dev/zero | tr '\\000' x | fold -w 999; echo"], b"");
    assert!(output.stdout == line.repeat(500).into_bytes());
    let recorded = reader.join().unwrap();
    let lines =
        BufReader::new(&recorded[..]).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let lens: Vec<usize> = lines.filter_map(|line| Some(line["line"].as_str()?.len())).collect();
    assert!(lens == [999; 500], "{} lines", lens.len());
}

#[test]
fn session_survives_the_reader_of_its_recording() {
    let recording = named_pipe("left-recording");
    let reader = thread::spawn({
        let recording = recording.clone();
        move || File::open(recording).unwrap().read_exact(&mut [0; 100]).unwrap()
    });
    let lines = format!("{REQUEST}\n").repeat(20_000);
    let output = session(&["-q", "--record", recording.to_str().unwrap()], &["cat"], lines.as_bytes());
    reader.join().unwrap();
    assert!(output.stdout == lines.as_bytes());
    let message = format!("wireline: cannot write to the recording {}: ", recording.display());
    assert!(text(&output.stderr).contains(&message), "{}", text(&output.stderr));
}

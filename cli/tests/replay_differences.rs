//! What `wireline replay` says of differences, what it ignores, and the new recording that it writes.
#![cfg(unix)]

use crate::common;
use crate::replay;

use std::path::PathBuf;

use common::{PING, file, new_file, run, wireline};
use replay::{CLIENT, SERVER, answering, recording, replay};
use serde_json::json;

/// A call of a tool with some id, and an answer with one text.
fn call(id: u32, tool: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": {} } })
        .to_string()
}

fn answer(id: u32, text: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [{ "type": "text", "text": text }] } }).to_string()
}

/// A recording in which each tool was called once, and answered with a text.
fn calls(name: &str, calls: &[(&str, &str)]) -> PathBuf {
    let lines: Vec<_> = calls
        .iter()
        .enumerate()
        .flat_map(|(at, (tool, text))| [(CLIENT, call(at as u32 + 1, tool)), (SERVER, answer(at as u32 + 1, text))])
        .collect();
    let lines: Vec<_> = lines.iter().map(|(from, line)| (*from, line.as_str())).collect();
    recording(name, &lines, 0)
}

fn server(texts: &[&str]) -> String {
    let answers: Vec<String> = texts.iter().enumerate().map(|(at, text)| answer(at as u32 + 1, text)).collect();
    answering(&answers.iter().map(String::as_str).collect::<Vec<_>>()).replace("echo '", "printf '%s\\n' '")
}

/// Two texts that differ after more than a line.
#[test]
fn differences_are_shown_where_they_are() {
    let shared = "the weather of the last twelve months in all places that were asked for, ".repeat(20);
    let (sunny, rainy) = (format!("{shared}is sunny"), format!("{shared}is rainy"));
    let recording = calls("diff-where.tap", &[("weather", &sunny)]);
    let args =
        ["replay", "--rules", "mcp", "--show", recording.to_str().unwrap(), "--", "sh", "-c", &server(&[&rainy])];
    for columns in ["40", "80", "200"] {
        let output = wireline(&args).env("COLUMNS", columns).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let line = |mark: &str| shown.lines().find(|line| line.trim_start().starts_with(mark)).unwrap().to_owned();
        let (before, after, caret) = (line("- "), line("+ "), line("^"));
        assert!(before.ends_with("is sunny\"") && after.ends_with("is rainy\""), "{shown}");
        let at = caret.find('^').unwrap();
        let character = |line: &str| line.chars().nth(at).unwrap();
        assert_eq!((character(&before), character(&after)), ('s', 'r'), "{shown}");
        let longest = shown.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest < columns.parse().unwrap(), "{shown}");
    }
    // Programs learn where it is.
    let json = replay(&recording, &["--show", "--format", "json"], &server(&[&rainy])).objects().remove(0);
    assert_eq!(json["problems"][0]["changes"][0]["first_difference"], shared.len() + 1 + "is ".len());
}

#[test]
fn json_in_texts_is_compared_as_json() {
    let recording = calls("diff-json.tap", &[("weather", r#"{"city":"Paris","degrees":21,"sky":["blue"]}"#)]);
    let same = "{ \"degrees\": 21.0, \"sky\": [ \"blue\" ],  \"city\": \"Paris\" }";
    let run = replay(&recording, &[], &server(&[same]));
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "1 message sent, 1 answer compared: all as recorded\n"));
    let other = r#"{"city":"Paris","degrees":17,"sky":["blue","white"]}"#;
    let run = replay(&recording, &["--show"], &server(&[other]));
    let expected = "→ tools/call weather #1\n    \
        changed  /result/content/0/text/degrees\n             - 21\n             + 17\n    \
        added    /result/content/0/text/sky/1\n             + \"white\"\n";
    assert!(run.stdout.starts_with(expected), "{}", run.stdout);
    let ignored = ["--ignore", "/result/content/*/text/degrees", "--ignore", "/result/content/*/text/sky"];
    assert_eq!(replay(&recording, &ignored, &server(&[other])).code, Some(0));
}

#[test]
fn parts_are_ignored_for_one_tool_only() {
    let recording = calls("diff-scope.tap", &[("get_time", "noon"), ("echo", "hello")]);
    let server = server(&["midnight", "good bye"]);
    for (rule, expected) in [
        ("tools/call:get_time /result/content/*/text", &["echo"][..]),
        ("tools/call:* /result/content/*/text", &[]),
        ("tools/call /result", &[]),
        ("tools/list /result", &["get_time", "echo"]),
    ] {
        let run = replay(&recording, &["--ignore", rule], &server);
        for tool in ["get_time", "echo"] {
            assert_eq!(run.stdout.contains(tool), expected.contains(&tool), "{rule}\n{}", run.stdout);
        }
    }
    let bad = replay(&recording, &["--ignore", "tools/call:get_time"], &server);
    assert_eq!(bad.code, Some(2));
    assert!(bad.stderr.contains("expected a JSON pointer"), "{}", bad.stderr);
}

#[test]
fn times_and_uuids_are_ignored() {
    let before = "0190b5a4-7c2e-7000-8000-00000000000f at 2025-11-16T01:50:06Z";
    let after = "7c2e0190-b5a4-4000-9000-0000000000aa at 2026-01-01T00:00:00.5+01:00";
    let recording = calls("diff-kinds.tap", &[("now", before)]);
    for (options, code) in [
        (&["--ignore-kind", "time,uuid"][..], 0),
        (&["--ignore-kind", "time", "--ignore-kind", "uuid"], 0),
        (&["--ignore-kind", "time"], 1),
        (&[], 1),
    ] {
        assert_eq!(replay(&recording, options, &server(&[after])).code, Some(code), "{options:?}");
    }
    assert_eq!(replay(&recording, &["--ignore-kind", "time,uuid"], &server(&["0 at 0"])).code, Some(1));
}

#[test]
fn equal_differences_are_printed_once() {
    let recorded: Vec<(&str, &str)> = (0..12).map(|number| (if number < 9 { "now" } else { "echo" }, "a")).collect();
    let recording = calls("diff-grouped.tap", &recorded);
    let run = replay(&recording, &[], &server(&["b"; 12]));
    let expected = "→ tools/call now #1\n    changed  /result/content/0/text\n\
        → tools/call echo #10\n    changed  /result/content/0/text\n\
        → tools/call now #1: 8 more messages like it\n\
        → tools/call echo #10: 2 more messages like it\n\n\
        12 messages sent, 12 answers compared: 12 differ\n";
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), expected), "{run:?}");
    let json = replay(&recording, &["--format", "json"], &server(&["b"; 12])).objects().remove(0);
    assert_eq!(json["problems"].as_array().unwrap().len(), 12);
}

#[test]
fn new_answers_are_written_to_a_new_recording() {
    let recording = calls("diff-update.tap", &[("now", "a"), ("echo", "b")]);
    let new = new_file("diff-updated.tap");
    let changed = server(&["c", "b"]);
    let run = replay(&recording, &["--update", new.to_str().unwrap()], &changed);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(replay(&new, &[], &changed).stdout, "2 messages sent, 2 answers compared: all as recorded\n");
    assert_eq!(replay(&recording, &[], &changed).code, Some(1));
    // In place.
    let name = recording.to_str().unwrap();
    assert_eq!(replay(&recording, &["--update", name], &changed).code, Some(1));
    assert_eq!(replay(&recording, &[], &changed).code, Some(0));
    let recorded = std::fs::read_to_string(&recording).unwrap();
    assert!(recorded.lines().last().unwrap().contains("\"event\":\"end\",\"code\":0"), "{recorded}");

    // Nothing is left of what cannot be written, and the old recording stays as it is.
    let failed = replay(&recording, &["--update", "/no/such/folder/x.tap"], &changed);
    assert_eq!(failed.code, Some(2));
    assert!(failed.stderr.starts_with("wireline: cannot write /no/such/folder/x.tap: "), "{failed:?}");
    let failed = common::run(&["replay", "--update", name, name, "--", "/no/such/server"]);
    assert_eq!(failed.code, Some(2));
    assert_eq!(std::fs::read_to_string(&recording).unwrap(), recorded);
    let folder = recording.parent().unwrap().read_dir().unwrap();
    assert!(!folder.into_iter().any(|entry| entry.unwrap().file_name().to_string_lossy().ends_with(".new")));
}

/// The recorded client has waited for the notification that the list has changed, before it asked for the list.
#[test]
fn notifications_are_waited_for() {
    let load = call(1, "load");
    let (loaded, list, listed) = (
        answer(1, "loading"),
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":["new"]}}"#,
    );
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let lines = [(CLIENT, load.as_str()), (SERVER, &loaded), (SERVER, changed), (CLIENT, list), (SERVER, listed)];
    let recording = recording("diff-notifications.tap", &lines, 0);
    // Whoever asks too early gets the old list: the next line must come after the notification.
    let server = format!(
        "read line; printf '%s\\n' '{loaded}'; sleep 0.4; if read -t 0 line; then tools=old; else tools=new; fi
         printf '%s\\n' '{changed}'; read line; printf '%s\\n' '{}'",
        listed.replace("new", "'$tools'")
    );
    let name = recording.to_str().unwrap();
    let has_bash = std::process::Command::new("bash").args(["-c", "true"]).status().is_ok_and(|it| it.success());
    if has_bash {
        let run = run(&["replay", "--rules", "mcp", name, "--", "bash", "-c", &server]);
        assert_eq!(run.stdout, "2 messages sent, 2 answers compared: all as recorded\n", "{run:?}");
    }
    // One that never comes is no difference.
    let silent = answering(&[&loaded, listed]);
    let run = replay(&recording, &[], &silent);
    assert_eq!(run.stdout, "2 messages sent, 2 answers compared: all as recorded\n", "{run:?}");
}

#[test]
fn plain_traffic_is_refused_with_what_is_needed() {
    let plain = file("diff-plain.ndjson", format!("{PING}\n"));
    let run = replay(&plain, &[], "cat");
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    let told = "diff-plain.ndjson is not a recording: a replay needs what both sides sent, and in which order, as \
        `wireline tap --record FILE -- SERVER` writes it\n";
    assert!(run.stderr.ends_with(told), "{}", run.stderr);
}

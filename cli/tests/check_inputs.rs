//! What `wireline check` and `wireline stats` take for input, and how they report it to programs.

use crate::common;

use std::path::PathBuf;

use common::{PING, file, new_file, run, run_with_input};
use serde_json::Value;

/// A directory with a good file, a bad one in a subdirectory, and a hidden one.
fn directory(name: &str) -> PathBuf {
    let directory = new_file(name);
    std::fs::create_dir_all(directory.join("sub")).unwrap();
    std::fs::write(directory.join("good.ndjson"), format!("{PING}\n")).unwrap();
    std::fs::write(directory.join("sub/bad.ndjson"), format!("{PING}\noops\n")).unwrap();
    std::fs::write(directory.join(".hidden"), "oops\n").unwrap();
    directory
}

#[test]
fn json_log_is_not_a_recording() {
    let log = file("log.ndjson", "{\"time\":1731,\"event\":\"server started\"}\nnonsense\n");
    let log = log.to_str().unwrap();
    let run = common::run(&["check", "--format", "ndjson", log]);
    let faults: Vec<Value> = run.objects().iter().map(|object| object["fault"].clone()).collect();
    assert_eq!((run.code, faults.len()), (Some(1), 2), "{run:?}");
    assert!(common::run(&["stats", log]).stdout.contains("\n2 faulty lines"));
}

#[test]
fn directories_and_patterns_are_expanded() {
    let directory = directory("a-directory");
    let pattern = format!("{}/*.ndjson", directory.display());
    let names = |args: &[&str]| -> Vec<String> {
        let run = run(&[&["check", "--format", "ndjson"], args].concat());
        run.objects()
            .iter()
            .map(|object| object["file"].as_str().unwrap_or("").rsplit(['/', '\\']).next().unwrap().to_owned())
            .collect()
    };
    let path = directory.to_str().unwrap();
    assert_eq!(names(&[path]), ["good.ndjson", "bad.ndjson", "bad.ndjson"]);
    assert_eq!(names(&[&pattern, path]), ["good.ndjson", "good.ndjson", "bad.ndjson", "bad.ndjson"]);
    assert_eq!(run(&["check", &pattern]).code, Some(0));
    let none = run(&["check", &pattern.replace("*", "none*")]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.starts_with("wireline: cannot read "), "{}", none.stderr);
}

#[test]
fn compressed_and_binary_files_are_named() {
    let gz = file("session.ndjson.gz", b"\x1f\x8b\x08\0\0\0\0\0");
    let run_gz = run(&["check", gz.to_str().unwrap()]);
    assert_eq!(run_gz.code, Some(2));
    assert!(
        run_gz.stderr.contains(": this is a gzip file: decompress it first, as with `gzip -dc`\n"),
        "{}",
        run_gz.stderr
    );
    let piped = run_with_input(&["check"], b"\x1f\x8b\x08\0\0\0\0\0");
    assert!(piped.stderr.contains("this is a gzip file"), "{}", piped.stderr);
    let binary = file("binary", b"\x7fELF\0\0\0\x01\n");
    let run = run(&["check", binary.to_str().unwrap()]);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("binary: this looks like a binary file, not like text\n"), "{}", run.stdout);
}

#[test]
fn pretty_printed_messages_are_one_finding() {
    let pretty = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"ping\"\n}\n";
    let one = run_with_input(&["check"], format!("{PING}\n{pretty}"));
    assert_eq!(one.code, Some(1));
    let found = "<stdin>:2: lines 2–6: one message printed over several lines [pretty-printed]\n    hint: ";
    assert!(one.stdout.starts_with(found), "{}", one.stdout);
    assert_eq!(one.stdout.matches("<stdin>:").count(), 1);
    let three = run_with_input(&["check"], pretty.repeat(3));
    assert!(
        three.stdout.starts_with("<stdin>:1: lines 1–15: 3 messages printed over several lines"),
        "{}",
        three.stdout
    );
    assert_eq!(run_with_input(&["check", "--all"], pretty).stdout.matches("<stdin>:").count(), 5);
    // For programs, nothing is left out.
    assert_eq!(run_with_input(&["check", "--format", "ndjson"], pretty).objects().len(), 5);
}

#[test]
fn equal_faults_are_counted_after_a_while() {
    let run = run_with_input(&["check"], "oops\n".repeat(5_000));
    assert_eq!(run.stdout.matches("[invalid-literal]\n").count(), 21);
    assert!(run.stdout.contains("<stdin>: 4,980 more faults like that [invalid-literal]\n"), "{}", run.stdout);
    assert!(run.stdout.contains("\n5,000 lines are faulty\n"), "{}", run.stdout);
}

#[test]
fn json_and_junit_have_everything() {
    let directory = directory("for-ci");
    let missing = directory.join("missing & <gone>");
    let (path, missing) = (directory.to_str().unwrap(), missing.to_str().unwrap());
    let json = run(&["check", "--format", "json", path, missing]);
    assert_eq!(json.code, Some(2));
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (report["faults"].as_array().unwrap().len(), &report["faults"][0]["fault"]),
        (1, &"invalid-literal".into())
    );
    let files: Vec<_> = report["files"].as_array().unwrap().iter().map(|file| file["faulty"].as_u64()).collect();
    assert_eq!(files, [Some(0), Some(1), Some(0)]);
    assert!(report["files"][2]["error"].is_string());
    assert_eq!((&report["lines"], &report["faulty"], &report["unread"]), (&3.into(), &1.into(), &1.into()));
    let none: Value = serde_json::from_str(&run_with_input(&["check", "--format", "json"], "").stdout).unwrap();
    assert_eq!(none["faults"].as_array().map(Vec::len), Some(0));

    let junit = run(&["check", "--format", "junit", path, missing]);
    assert_eq!(junit.code, Some(2));
    let xml = &junit.stdout;
    for part in [
        "<testsuites name=\"wireline check\" tests=\"3\" failures=\"1\" errors=\"1\">",
        "bad.ndjson\" tests=\"1\" failures=\"1\" errors=\"0\">",
        "name=\"line 2, column 1\"",
        "<failure type=\"invalid-literal\" message=\"not JSON: expected an object or an array\">",
        "bad.ndjson:2:1: hint: this looks like ",
        "missing &amp; &lt;gone&gt;",
        "name=\"every line\"",
    ] {
        assert!(xml.contains(part), "{part}\n{xml}");
    }
    assert_eq!(xml.matches('<').count(), xml.matches('>').count());
    let clean = run(&["check", "--format", "junit", directory.join("good.ndjson").to_str().unwrap()]);
    assert_eq!(clean.code, Some(0));
}

#[test]
fn words_help() {
    let tip = run(&["check", "--rules", "MCP"]);
    assert_eq!(tip.code, Some(2));
    assert!(tip.stderr.contains("a similar value exists: 'mcp'"), "{}", tip.stderr);
    let none = run(&["stats", "there/is/no/such/file"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(2), ""));
    assert!(run_with_input(&["check", "--color", "always"], "oops\n").stdout.contains("\x1b["));
    assert!(!run_with_input(&["check", "--color", "never"], "oops\n").stdout.contains('\x1b'));
    for format in ["json", "ndjson"] {
        let stats = run_with_input(&["stats", "--format", format, "-"], format!("{PING}\n"));
        let last = stats.objects().pop().unwrap();
        assert_eq!((stats.code, &last["senders"]["all"]["messages"]), (Some(0), &1.into()), "{last}");
    }
}

/// What a terminal would act upon does not reach it, as text or as JSON.
#[test]
fn nothing_a_terminal_acts_upon_gets_through() {
    let evil = "\u{9b}31m\u{202e}\u{7f}\u{2028}\u{600}\u{e0041}é";
    let lines = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"{evil}\",\"method\":\"{evil}\"}}\n{{\"jsonrpc\":\"2.0\",\"id\":\"{evil}\",\"method\":\"{evil}\",\"id\":1,}}\n"
    );
    for args in [
        &["check", "--format", "ndjson"][..],
        &["check", "--format", "json"],
        &["check", "--format", "junit"],
        &["check", "--show"],
        &["stats", "-"],
        &["stats", "--format", "json"],
        &["stats", "--format", "ndjson"],
    ] {
        let run = run_with_input(args, &lines);
        let is_bad = |character: char| {
            (character.is_control() && character != '\n') || "\u{202e}\u{2028}\u{600}\u{e0041}".contains(character)
        };
        assert!(!run.stdout.contains(is_bad), "{args:?} {:?}", run.stdout);
    }
    let ndjson = run_with_input(&["check", "--format", "ndjson"], &lines);
    assert_eq!((&ndjson.objects()[0]["id"], &ndjson.objects()[0]["method"]), (&evil.into(), &evil.into()));
}

/// A capture that has failed must not look like a session without faults.
#[test]
fn input_without_messages_is_a_finding() {
    let (empty, blank) = (file("empty.ndjson", ""), file("blank.ndjson", "\n \r\n\n"));
    let good = file("beside-empty.ndjson", format!("{PING}\n"));
    let names = [&empty, &blank, &good].map(|path| path.to_str().unwrap());
    for name in &names[..2] {
        let run = run(&["check", name]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stdout.starts_with("no messages found\n\n     0 non-blank lines, "), "{}", run.stdout);
        assert_eq!(common::run(&["check", "--quiet", name]).code, Some(1));
        let permitted = common::run(&["check", "--allow-empty", name]);
        assert_eq!(permitted.code, Some(0), "{permitted:?}");
        let ndjson = common::run(&["check", "--format", "ndjson", name]);
        assert_eq!((ndjson.code, ndjson.stdout.as_str()), (Some(1), ""));
        assert!(ndjson.stderr.ends_with(".ndjson: no messages found\n"), "{ndjson:?}");
    }
    assert_eq!(run_with_input(&["check"], "").code, Some(1));
    let several = run(&["check", names[0], names[2]]);
    assert_eq!(several.code, Some(1));
    let expected = format!(
        "1 message, no faults; 1 file has no messages\n\n     0 lines  no messages  {}\n     1 line   ok           {}\n",
        names[0], names[2]
    );
    assert!(several.stdout.starts_with(&expected), "{}", several.stdout);
    let json = run(&["check", "--format", "json", names[0], names[2]]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&json["empty"], &json["files"][0]["empty"], &json["files"][1]["empty"]),
        (&1.into(), &1.into(), &0.into())
    );
}

/// Elements and attributes that the schema of Jenkins' plugin has: it refuses a report with any other.
#[test]
fn junit_is_valid() {
    let allowed = [
        ("testsuites", &["name", "tests", "failures", "errors"][..]),
        ("testsuite", &["name", "tests", "failures", "errors"]),
        ("testcase", &["name", "classname"]),
        ("failure", &["type", "message"]),
        ("error", &["type", "message"]),
        ("system-out", &[]),
    ];
    let required = [("testsuite", &["name", "tests", "failures", "errors"][..]), ("testcase", &["name"])];
    let (empty, good) = (file("junit-empty.ndjson", ""), file("junit-good.ndjson", format!("{PING}\n")));
    let bad = file("junit-bad.ndjson", format!("{}<a \"&'>\n{{'a'\n{PING}", "oops\n".repeat(1001)));
    let [empty, good, bad] = [&empty, &good, &bad].map(|path| path.to_str().unwrap());
    let xml = run(&["check", "--format", "junit", empty, good, bad, "/no/such/file"]).stdout;
    assert!(xml.contains(&format!("\">{bad}:1:1: hint: this looks like a log line")), "{xml}");
    assert!(xml.contains("<failure type=\"no-messages\" message=\"no messages found\"/>"), "{xml}");
    let mut open = Vec::new();
    for tag in xml.split('<').skip(2).map(|rest| rest.split('>').next().unwrap()) {
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{xml}");
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let (_, permitted) = allowed.iter().find(|(element, _)| *element == name).unwrap_or_else(|| panic!("{name}"));
        let mut rest = attributes.trim_end_matches('/');
        let mut found = Vec::new();
        while let Some((attribute, value)) = rest.trim_start().split_once("=\"") {
            found.push(attribute);
            rest = value.split_once('"').unwrap().1;
        }
        assert!(found.iter().all(|attribute| permitted.contains(attribute)), "{tag}");
        for (_, needed) in required.iter().filter(|(element, _)| *element == name) {
            assert!(needed.iter().all(|attribute| found.contains(attribute)), "{tag}");
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// What people and programs write instead of messages.
#[test]
fn mistakes_get_a_hint() {
    for (line, hint) in [
        (&b"data: {\"jsonrpc\":\"2.0\"}"[..], "this looks like an event stream (SSE)"),
        (b"<!doctype html>", "this looks like HTML"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\0", "this looks like text with zero bytes"),
        (b"{\0\0\0\"\0\0\0a\0\0\0", "this looks like UTF-32"),
        (b"{'jsonrpc': '2.0', 'id': 1, 'result': None}", "this looks like a Python dict"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"a\",}", "this looks like a comma too many"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"a", "this looks like a string with a line break in it"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"caf\xe9\"}", "this looks like Latin-1"),
    ] {
        // The first message says that the others are lines too.
        let run = run_with_input(&["check"], [b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n", line, b"\n"].concat());
        assert!(run.code == Some(1) && run.stdout.contains(&format!("    hint: {hint}")), "{hint}: {}", run.stdout);
    }
}

//! `wireline conform --client`, with clients that get along with everything, hang and crash.
#![cfg(target_os = "linux")]

use crate::common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{Run, run};
use serde_json::Value;

/// The example of this name, which Cargo builds for tests.
fn client() -> String {
    let test = std::env::current_exe().unwrap();
    let example = test.parent().unwrap().with_file_name("examples").join("conform_client");
    example.to_str().unwrap().to_owned()
}

fn conform(kind: &str, options: &[&str]) -> Run {
    // The careful one waits 4 s for the handshake.
    let timeout = if kind == "careful" { "10s" } else { "1s" };
    let client = client();
    run(&[&["conform", "--client", "--timeout", timeout], options, &["--", &client, kind, "{server}"]].concat())
}

/// The outcomes and the failures of some checks, which are all that were run.
fn report(kind: &str, checks: &[&str]) -> (Option<i32>, Vec<Value>) {
    let only: Vec<&str> = checks.iter().flat_map(|name| ["--only", *name]).collect();
    let run = conform(kind, &[&["--format", "json"], &only[..]].concat());
    assert_eq!(run.stdout.lines().count(), 1, "{run:?}");
    let report: Value = run.objects().remove(0);
    assert_eq!(report["subject"], "client");
    (run.code, report["checks"].as_array().unwrap().clone())
}

#[track_caller]
fn assert_outcomes(kind: &str, expected: &[(&str, &str)]) {
    let names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    let (code, checks) = report(kind, &names);
    let outcome =
        |name| &checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}"))["outcome"];
    for (name, expected) in expected {
        assert_eq!(outcome(*name), expected, "{kind} {name}: {checks:?}");
    }
    assert_eq!(
        (code, checks.len()),
        (Some(expected.iter().any(|(_, outcome)| *outcome == "failed").into()), expected.len())
    );
}

#[test]
fn careful_client_gets_along_with_everything() {
    let run = conform("careful", &["--format", "json"]);
    let report: Value = run.objects().remove(0);
    let checks = report["checks"].as_array().unwrap();
    for check in checks {
        // It cancels nothing.
        let expected =
            if check["name"].as_str().unwrap().starts_with("answers-cancelled") { "skipped" } else { "passed" };
        assert_eq!(check["outcome"], expected, "{check}");
    }
    assert_eq!(
        (run.code, &report["passed"], report["must"]["failed"].as_u64()),
        (Some(0), &Value::Bool(true), Some(0))
    );
    assert!(checks.len() > 70, "{}", checks.len());
}

#[test]
fn hanging_client_waits_for_ever() {
    let started = Instant::now();
    assert_outcomes(
        "hanging",
        &[
            ("sends-messages", "passed"),
            ("closes-input", "passed"),
            ("noise-between", "passed"),
            ("noise-between-goes-on", "passed"),
            ("never", "failed"),
            ("wrong-id", "failed"),
            ("missing-line-feed", "failed"),
            ("asks", "failed"),
            ("exit-on-second", "passed"),
            ("close-output", "passed"),
            ("never-exits", "failed"),
            ("never-exits-is-ended", "skipped"),
        ],
    );
    assert!(started.elapsed() < Duration::from_secs(120));
    let (_, checks) = report("hanging", &["never"]);
    let failure = &checks[0]["failure"];
    assert_eq!(failure["sent"], "the server never answers");
    assert!(failure["came"].as_str().unwrap().starts_with("the client still ran after "), "{failure}");
    // It hung on the first answer that never came.
    assert!(
        failure["came"].as_str().unwrap().ends_with(", and sent no request after the first misbehaviour"),
        "{failure}"
    );
    assert!(failure["repeat"].as_str().unwrap().ends_with(" misbehave never --rules mcp"), "{failure}");
}

#[test]
fn fragile_client_crashes() {
    assert_outcomes(
        "fragile",
        &[
            ("noise-between", "failed"),
            ("noise-between-goes-on", "skipped"),
            ("bom", "failed"),
            ("pretty", "failed"),
            ("deep-output", "failed"),
            ("single-bytes", "passed"),
            ("crlf-output", "passed"),
            ("line-separator-output", "passed"),
            ("twice", "passed"),
            ("twice-goes-on", "passed"),
        ],
    );
}

/// A client that takes every answer for what it seems to be.
#[test]
fn used_answers_are_noticed() {
    assert_outcomes(
        "hanging",
        &[("both", "failed"), ("neither", "passed"), ("no-version", "passed"), ("no-version-is-rejected", "failed")],
    );
    let script = common::file(
        "gullible.sh",
        "exec 3<&1\n\"$@\" <<'EOF' | cut -d, -f3- | tail -1\n{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\nEOF\n",
    );
    let script = script.to_str().unwrap();
    let args = [
        "conform", "--client", "--rules", "json-rpc", "--only", "wrong-id", "--only", "no-id", "--", "sh", script,
        "{server}",
    ];
    let run = run(&args);
    assert!(run.stdout.contains("fail wrong-id (must, exactly-one-response)\n"), "{run:?}");
    assert!(run.stdout.contains("came      the client used the answer: it printed what"), "{run:?}");
    assert!(!run.stdout.contains("fail no-id"), "what it prints is different without an id: {run:?}");
}

#[test]
fn nothing_is_left_behind() {
    // It exits and leaves its server running, which has no other client.
    let script = common::file(
        "careless.sh",
        "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | \"$@\" >/dev/null 2>&1 &\nsleep 0.3\n",
    );
    let script = script.to_str().unwrap();
    let checks = ["--only", "never-exits", "--only", "never-exits-is-ended"];
    let run = run(
        &[&["conform", "--client", "--rules", "json-rpc"], &checks[..], &["--", "sh", script, "{server}"]].concat()
    );
    assert!(run.stdout.contains("came      the client exited, and its server still ran 500 ms later\n"), "{run:?}");
    let is_left = std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let arguments = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains("careless.sh")
    });
    assert!(!is_left);
    let is_scratch = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("wireline-conform-");
    let own = |entry: &std::fs::DirEntry| is_scratch(entry) && !is_in_use(&entry.path());
    assert!(!std::fs::read_dir(std::env::temp_dir()).unwrap().flatten().any(|entry| own(&entry)));
}

/// Whether the process that has made a directory for logs still runs.
fn is_in_use(scratch: &Path) -> bool {
    let pid = scratch.file_name().unwrap().to_str().unwrap().split('-').nth(2).unwrap().to_owned();
    Path::new("/proc").join(pid).exists()
}

#[test]
fn trouble_has_another_code() {
    let client = client();
    for (args, message) in [
        (vec!["--", &*client, "careful"], "expected {server} in the client's arguments"),
        (vec!["--", "/no/such/client", "{server}"], "cannot run /no/such/client: "),
        (vec!["--", "true", "{server}"], "but it sent no request to the server"),
        (vec!["--", &*client, "careful", "sleep", "60", "{server}"], "but it exited with code 1; try it: "),
        (vec!["--only", "nothing", "--", &*client, "careful", "{server}"], "no check is called nothing"),
    ] {
        let run = run(&[&["conform", "--client", "--rules", "mcp"], &args[..]].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.starts_with("wireline: ") && run.stderr.contains(message), "{message}: {run:?}");
    }
}

#[test]
fn checks_are_listed() {
    let list = run(&["conform", "--client", "--list", "--format", "json"]);
    let checks = list.objects().remove(0);
    let twice = checks.as_array().unwrap().iter().find(|check| check["name"] == "twice").unwrap();
    assert_eq!((&twice["level"], &twice["sends"]), (&Value::from("must"), &Value::from("a server that answers twice")));
    let text = run(&["conform", "--client", "--list", "--only", "lifecycle"]).stdout;
    assert!(text.starts_with("Lifecycle\n  closes-input (should)\n"), "{text}");
    let junit = conform("careful", &["--only", "closes-input", "--format", "junit"]);
    assert!(junit.stdout.contains("<testcase classname=\"lifecycle\" name=\"closes-input\""), "{junit:?}");
}

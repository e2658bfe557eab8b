//! `wireline conform`, against servers that misbehave in one way each, and against one that doesn't.
#![cfg(unix)]

use crate::{common, guarding};

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use common::{Run, new_file, run};
use guarding::ID;
use serde_json::Value;

const TOOL: &str = env!("CARGO_BIN_EXE_wireline");

/// How many random messages to send: few, unless `WIRELINE_TIMES` asks for more.
fn cases() -> String {
    let times = std::env::var("WIRELINE_TIMES").map_or(1, |times| times.parse().expect("WIRELINE_TIMES is a number"));
    (120 * times).min(100_000).to_string()
}

/// Options under which every check applies, for the server that the tool brings along.
fn options(rules: &str) -> &'static [&'static str] {
    match rules {
        // A handshake is none of the requests that the server misbehaves at.
        "mcp" => &["--probe", "tools/list", "--call", "echo={\"text\":\"x\"}"],
        "json-rpc" => &["--probe", "ping"],
        _ => &[],
    }
}

/// Tests a server that misbehaves. Recordings go to a directory of their own.
fn conform(name: &str, rules: &str, args: &[&str]) -> Run {
    let recordings = new_file(&format!("{name}-{rules}"));
    let cases = cases();
    let mut all = vec!["conform", "--rules", rules, "--cases", &cases, "--recordings", recordings.to_str().unwrap()];
    all.extend(options(rules));
    all.extend(args);
    all.extend(["--", TOOL, "misbehave", name, "--rules", rules]);
    run(&all)
}

/// The outcomes of a report, by check.
fn outcomes(run: &Run) -> BTreeMap<String, String> {
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    let text = |check: &Value, member: &str| check[member].as_str().unwrap().to_owned();
    report["checks"].as_array().unwrap().iter().map(|check| (text(check, "name"), text(check, "outcome"))).collect()
}

/// What was found in the failure of a check.
fn failure(run: &Run, name: &str) -> Value {
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).cloned();
    check.map_or(Value::Null, |check| check["failure"].clone())
}

/// All misbehaviours, each with the checks that must notice it.
fn misbehaviours() -> Vec<(String, Vec<String>)> {
    let listing = run(&["misbehave", "--list"]).stdout;
    let misbehaviours = listing.lines().map(|line| {
        let name = line.split(' ').next().unwrap().to_owned();
        let checks = line.strip_suffix(']').and_then(|line| line.rsplit_once('[')).map_or("", |(_, checks)| checks);
        (name, checks.split(", ").filter(|check| !check.is_empty()).map(str::to_owned).collect())
    });
    misbehaviours.collect()
}

/// The rules under which a misbehaviour is one.
fn rules_of(name: &str) -> &'static str {
    match name {
        name if name.contains("batch") => "json-rpc",
        // MCP permits requests of the server only before 2026-07-28, has `ping` only before it, and doesn't want an answer
        // to what isn't JSON.
        "asks" | "asks-unknown" | "refuses-ping" | "parse-error-code" => "json-rpc",
        _ => "mcp",
    }
}

#[test]
fn a_server_that_behaves_passes_everything() {
    for rules in ["mcp", "acp", "json-rpc"] {
        let run = conform("none", rules, &["--format", "json", "--timeout", "30s"]);
        let failed: Vec<_> = outcomes(&run).into_iter().filter(|(_, outcome)| outcome == "failed").collect();
        assert_eq!((run.code, failed), (Some(0), Vec::new()), "{rules}: {run:?}");
    }
}

/// For every check, there is a server that breaks just that, and the check notices it.
#[test]
fn every_check_can_fail() {
    let listed: Value = serde_json::from_str(&run(&["conform", "--list", "--format", "json"]).stdout).unwrap();
    let mut unbroken: BTreeSet<String> =
        listed.as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap().to_owned()).collect();
    // Any of the others breaks it.
    assert!(unbroken.remove("mutations") && unbroken.remove("one-write"));
    let mut all = misbehaviours();
    all.retain(|(_, checks)| !checks.is_empty());
    for (_, checks) in &all {
        unbroken.retain(|check| !checks.contains(check));
    }
    assert_eq!(unbroken, BTreeSet::new(), "checks without a server that breaks them");

    for (name, check) in [("never", "one-write"), ("exit-on-bad", "mutations"), ("twice", "mutations")] {
        all.push((name.to_owned(), vec![check.to_owned()]));
    }
    let all = Mutex::new(all);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((name, checks)) = { all.lock().unwrap().pop() } {
                    notices(&name, &checks);
                }
            });
        }
    });
}

fn notices(name: &str, checks: &[String]) {
    // What is missing counts as missing soon. Servers that are slow because the machine is busy fail all the more.
    let start_timeout = if matches!(name, "never-starts") { "2s" } else { "60s" };
    let timeout = if name == "late" { "60s" } else { "1s" };
    let mut args = vec!["--format", "json", "--timeout", timeout, "--start-timeout", start_timeout, "--shrink", "0s"];
    checks.iter().for_each(|check| args.extend(["--only", check]));
    let run = conform(name, rules_of(name), &args);
    let outcomes = outcomes(&run);
    for check in checks {
        assert_eq!(outcomes.get(check).map(String::as_str), Some("failed"), "{name}: {check}: {run:?}");
    }
    assert_eq!(run.code, Some(1), "{name}: {run:?}");
}

/// What is permitted is no failure, however unusual it is.
#[test]
fn nothing_is_accused_falsely() {
    for (name, checks) in misbehaviours() {
        // Two seconds for each answer would take too long, and floods and long answers as well.
        if !checks.is_empty() || matches!(&*name, "none" | "late" | "flood" | "long-output" | "pause-in-line") {
            continue;
        }
        let mut args = vec!["--format", "json", "--timeout", "30s"];
        for check in ["random-requests", "silent-*", "known-method", "two-in-one-write", "unterminated-last-line"] {
            args.extend(["--only", check]);
        }
        let run = conform(&name, rules_of(&name), &args[..]);
        assert_eq!(run.code, Some(0), "{name}: {run:?}");
    }
}

/// Faults that need a special input are reduced to the smallest one.
#[test]
fn failures_are_reduced() {
    let reduced = |name: &str, check: &str| {
        let args =
            ["--only", check, "--format", "json", "--timeout", "2s", "--shrink", "100s", "--start-timeout", "60s"];
        let found = failure(&conform(name, "json-rpc", &args), check);
        let repeat = found["repeat"].as_str().unwrap().to_owned();
        // The command shows what it says that it shows.
        let output = Command::new("sh").args(["-c", &repeat]).output().unwrap();
        let (command, _) = repeat.rsplit_once(" | ").unwrap();
        let shown = run(&["show", "--rules", "json-rpc", found["recording"].as_str().unwrap()]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        (command.to_owned(), String::from_utf8(output.stdout).unwrap(), shown.stdout)
    };

    let (command, output, _) = reduced("noise-every-37th", "random-requests");
    assert_eq!(command, r#"printf '{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' $(seq 1 37)"#);
    assert_eq!(output.lines().filter(|line| !line.starts_with('{')).count(), 1, "{output}");

    let (command, output, shown) = reduced("twice-if-two", "two-in-one-write");
    let expected = r#"printf '{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n'"#;
    assert_eq!(command, expected);
    assert_eq!(output.lines().count(), 4, "{output}");
    assert!(shown.contains("→ request      ping #2"), "{shown}");

    let (command, output, _) = reduced("ids-over-20", "string-ids");
    let id = "a".repeat(21);
    assert_eq!(command, format!(r#"{{ printf '{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}\n'; sleep 2; }}"#));
    assert_eq!(output, "");
}

#[test]
fn reports_come_in_each_format() {
    let args = ["--only", "known-method", "--only", "batch-in-one-array", "--timeout", "1s", "--shrink", "0s"];
    let text = conform("never", "mcp", &args);
    for part in [
        "fail known-method (must, exactly-one-response)\n  sent      {\"jsonrpc\":\"2.0\",\"id\":",
        "\n  came      no response within ",
        "\n  expected  a result if the method succeeds (JSON-RPC 2.0, section 5): ",
        "\n  repeat    { printf '",
        "\n  recording wireline show ",
        "\nExactly one response       –     1        –\n",
        "\nConformance                –     –        1\n",
        "\nskipped: this revision has no batches: batch-in-one-array\n",
        "\nmust: 0 of 1, should: 0 of 0, seed 1\n",
    ] {
        assert!(text.stdout.contains(part), "{part}: {text:?}");
    }
    assert_eq!((text.code, text.stderr.as_str()), (Some(1), ""));

    let junit = conform("never", "mcp", &[&args[..], &["--format", "junit"]].concat());
    let head = "<testsuites name=\"wireline conform\" tests=\"2\" failures=\"1\" skipped=\"1\">";
    assert!(junit.stdout.contains(head) && junit.code == Some(1), "{junit:?}");
}

/// Whatever a server does, the report comes.
#[test]
fn servers_that_crash_or_hang_get_a_report() {
    for (server, failed, code) in [
        ("exit 3", "starts-in-time", 1),
        ("cat >/dev/null", "starts-in-time", 1),
        ("exec >&-; cat", "starts-in-time", 1),
        ("while :; do echo noise; done", "starts-in-time", 1),
        ("trap '' TERM; while :; do sleep 1; done", "starts-in-time", 1),
        ("read line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'; exit 1", "random-requests", 1),
    ] {
        let recordings = new_file("crashes");
        let args = ["conform", "--rules", "json-rpc", "--probe", "ping", "--format", "json", "--timeout", "500ms"];
        let rest = ["--start-timeout", "1s", "--shrink", "500ms", "--cases", "20", "--recordings"];
        let run = run(&[&args[..], &rest, &[recordings.to_str().unwrap(), "--", "sh", "-c", server]].concat());
        assert_eq!(outcomes(&run).get(failed).map(String::as_str), Some("failed"), "{server}: {run:?}");
        assert_eq!(run.code, Some(code), "{server}: {run:?}");
    }
}

/// To it, `tools/call` is an unknown method.
#[test]
fn a_server_without_tools_may_refuse_their_methods() {
    let server = format!(
        r#"{ID}; while read -r line; do id=$(id "$line"); case $line in
            *'"initialize"'*) result='"result":{{"protocolVersion":"2025-11-25","capabilities":{{"prompts":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}';;
            *'"ping"'*) result='"result":{{}}';;
            *'"id"'*) result='"error":{{"code":-32601,"message":"unknown"}}';;
            *) continue;;
        esac; echo "{{\"jsonrpc\":\"2.0\",\"id\":$id,$result}}"; done"#
    );
    let args =
        ["conform", "--only", "invalid-params-code", "--only", "known-method", "--format", "json", "--", "sh", "-c"];
    let run = run(&[&args[..], &[&server]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let outcomes = outcomes(&run);
    assert_eq!(outcomes["known-method"], "passed", "{run:?}");
    assert_eq!(outcomes["invalid-params-code"], "skipped", "{run:?}");
}

/// Even one that doesn't notice the end of its input.
#[test]
fn a_signal_ends_the_server_as_well() {
    use rustix::process::{Pid, Signal, kill_process};

    let log = new_file("signal");
    let server = format!("trap '' INT TERM HUP; echo $$ >'{}'; while :; do sleep 60; done", log.display());
    let args = ["conform", "--rules", "json-rpc", "--start-timeout", "60s", "--", "sh", "-c", &server];
    let mut conform = common::wireline(&args).spawn().unwrap();
    let pid = loop {
        thread::sleep(std::time::Duration::from_millis(5));
        match std::fs::read_to_string(&log).unwrap_or_default().strip_suffix('\n') {
            Some(pid) => break pid.to_owned(),
            None => assert!(conform.try_wait().unwrap().is_none()),
        }
    };
    kill_process(Pid::from_child(&conform), Signal::INT).unwrap();
    let status = conform.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(2));
    // Only Linux tells: empty for a process that has ended and waits for its parent.
    let arguments = Path::new("/proc").join(pid).join("cmdline");
    while std::fs::read(&arguments).is_ok_and(|arguments| !arguments.is_empty()) {
        thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Under MCP, too, where the server is asked first which revision it speaks.
#[test]
fn a_server_that_dies_at_once_is_said_to_have_exited() {
    for rules in ["mcp", "json-rpc"] {
        let run = run(&["conform", "--rules", rules, "--only", "starts-in-time", "--", "sh", "-c", "exit 3"]);
        assert_eq!(run.code, Some(1), "{rules}: {run:?}");
        assert!(run.stdout.contains("the server exited with code 3 before it answered"), "{rules}: {run:?}");
    }
}

#[test]
fn trouble_has_another_code() {
    for (args, message) in [
        (&["--", "/no/such/server"][..], "wireline: cannot run /no/such/server: "),
        (&["--only", "no-such-check", "--", "cat"], "wireline: no check is called no-such-check: "),
        (&["--format", "markdown", "--", "cat"], "wireline: --format markdown is for --list\n"),
        (&["--list", "--format", "junit"], "wireline: --format junit is for reports, not for --list: "),
        (&["--client", "--list", "--format", "junit"], "wireline: --format junit is for reports, not for --list: "),
        (&[], "error: the following required arguments were not provided"),
        (&["--call", "echo=5", "--", "cat"], "error: invalid value 'echo=5' for '--call"),
    ] {
        let run = run(&[&["conform"], args].concat());
        assert!(run.stderr.starts_with(message) && run.stdout.is_empty(), "{run:?}");
        assert_eq!(run.code, Some(2), "{run:?}");
    }
}

/// The same seed sends the same bytes.
#[test]
fn random_messages_depend_on_the_seed() {
    let sent = |seed: &str| {
        let file = new_file(&format!("seed-{seed}"));
        let script = format!("tee -a '{}' | '{TOOL}' misbehave none", file.display());
        let args = ["conform", "--rules", "json-rpc", "--only", "random-requests"];
        let run = run(&[&args[..], &["--cases", "50", "--seed", seed, "--", "sh", "-c", &script]].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        std::fs::read(file).unwrap()
    };
    let first = sent("1");
    assert!(first.len() > 2000);
    assert!(first == sent("1"), "different bytes for the same seed");
    assert!(first != sent("2"), "the same bytes for another seed");
}

#[test]
fn documentation_is_current() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance.md");
    let listed = run(&["conform", "--list", "--format", "markdown"]).stdout;
    let found = std::fs::read_to_string(page).unwrap();
    // The results of `.ci/conformance` follow.
    let described = found.split_once("\n## How servers conform\n").map_or("", |(described, _)| described);
    assert!(described == listed, "docs/conformance.md must start with `wireline conform --list --format markdown`");
}

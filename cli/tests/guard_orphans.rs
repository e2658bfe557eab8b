//! `wireline guard` and its client are killed at random moments: nothing is left behind, and nothing is answered twice.

use crate::guarding;

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use guarding::{ID, guard};

/// How many rounds to play: WIRELINE_TIMES, or a few.
fn rounds() -> u32 {
    std::env::var("WIRELINE_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(6)
}

/// A server that answers everything twice and leaves when its input ends, or not even when it gets SIGTERM. It has
/// started other processes, one of them in the middle of a pipeline, which don't end by themselves.
fn script(marker: &str, is_stubborn: bool) -> String {
    let answer = r#"echo "noise {\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}"; "#;
    let (trap, end) = if is_stubborn { ("trap '' TERM HUP;", "sleep 1000") } else { ("", ":") };
    format!(
        "{trap} {ID}; sleep 1000 >/dev/null 2>&1 </dev/null & : {marker}; sleep 1000 | cat & \
         while read -r line; do id=$(id \"$line\"); {answer}{answer} done; {end}"
    )
}

/// The processes of a server: those that have the marker among their arguments, and their descendants.
fn processes(marker: &str) -> Vec<(u32, String)> {
    let field = |pid: u32, name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let numbers = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let marked = |pid: &u32| {
        // A zombie has no environment left.
        field(*pid, "environ").split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes())
    };
    numbers
        .filter(marked)
        .map(|pid| (pid, String::from_utf8_lossy(&field(pid, "cmdline")).replace('\0', " ")))
        .collect()
}

/// Sends requests for ever, and returns when nobody reads them any more.
fn call(mut stdin: ChildStdin) {
    for id in 0_u32.. {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
        if stdin.write_all(line.as_bytes()).is_err() {
            return;
        }
        // So many that some are always in flight.
        if id % 50 == 49 {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Reads responses until there are no more, and counts them.
fn count_responses(stdout: ChildStdout, responses: &AtomicUsize) {
    let mut answered = HashSet::new();
    let mut lines = BufReader::new(stdout);
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        // The last line may be cut.
        let Some(line) = line.strip_suffix('\n') else { return };
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(answered.insert(message["id"].as_u64().unwrap()), "expected one response: {line}");
        responses.fetch_add(1, Ordering::Relaxed);
    }
}

fn kill(guard: &mut Child) {
    guard.kill().unwrap();
    guard.wait().unwrap();
}

#[test]
fn nothing_is_left_behind() {
    for round in 0..rounds() {
        let marker = format!("WIRELINE_ROUND={}.{round}", std::process::id());
        let is_stubborn = round % 4 == 3;
        // `env` marks the guard, the server and everything that they start.
        let script = script(&round.to_string(), is_stubborn);
        let mut command = Command::new("env");
        command.args([&marker, env!("CARGO_BIN_EXE_wireline"), "guard", "--grace", "50ms", "--", "sh", "-c", &script]);
        let pipe = std::process::Stdio::piped;
        let mut guard = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
        let (stdin, stdout) = (guard.stdin.take().unwrap(), guard.stdout.take().unwrap());
        // From before the server starts to when it is busy.
        let delay = Duration::from_micros(u64::from(round) * 7919 % 60_000);
        let calling = thread::spawn(move || call(stdin));
        match round % 3 {
            // The client is killed: both of its pipes are closed at once.
            0 => {
                thread::sleep(delay);
                drop(stdout);
                guard.stderr.take();
                assert!(guard.wait().unwrap().code().is_none_or(|code| code != 125));
            }
            _ => {
                let responses = Arc::new(AtomicUsize::new(0));
                let counted = Arc::clone(&responses);
                let counting = thread::spawn(move || count_responses(stdout, &counted));
                thread::sleep(delay);
                // Most rounds may end before the server has started. In this one it has, however slow the machine is.
                if round % 6 == 5 {
                    let started = Instant::now();
                    while processes(&marker).len() < 2 || responses.load(Ordering::Relaxed) == 0 {
                        assert!(started.elapsed() < Duration::from_secs(30), "round {round}: expected a response");
                        thread::sleep(Duration::from_millis(5));
                    }
                }
                kill(&mut guard);
                counting.join().unwrap();
            }
        }
        calling.join().unwrap();

        let started = Instant::now();
        while let remaining @ [_, ..] = &processes(&marker)[..] {
            assert!(started.elapsed() < Duration::from_secs(30), "round {round}: expected nothing but {remaining:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A server with descendants is gone when its session ends by itself, and so is the process that watches over it.
#[test]
fn session_that_ends_leaves_nothing() {
    let mut guard =
        guard(&["--grace", "10s"], "sleep 1000.25 >/dev/null 2>&1 & echo started >&2; read -r line; exit 0");
    let id = guard.id();
    let watcher = || fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let mut stderr = BufReader::new(guard.stderr.take().unwrap());
    stderr.read_line(&mut String::new()).unwrap();
    let children: Vec<String> = watcher().split_whitespace().map(str::to_owned).collect();
    assert!(!children.is_empty());
    drop(guard.stdin.take());
    assert!(guard.wait().unwrap().success());
    for child in children {
        assert!(!fs::exists(format!("/proc/{child}")).unwrap(), "expected {child} to be gone");
    }
    let sleeping = fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    assert!(sleeping.into_iter().all(|arguments| arguments != b"sleep\x001000.25\0"));
}

//! Child processes that ignore the end of their input, have children of their own, die, or flood stderr.
#![cfg(all(feature = "process", unix))]

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use wireline::process::Child;

/// Far more than any of these takes, so that a hang fails instead of lasting.
const HANG: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_millis(200);

fn sh(script: &str) -> Child {
    Child::spawn(Command::new("sh").arg("-c").arg(script)).unwrap()
}

/// Whether there is a process with this id, even as a zombie.
fn exists(id: &str) -> bool {
    Command::new("kill").args(["-0", id]).stderr(Stdio::null()).status().unwrap().success()
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < HANG);
        thread::sleep(Duration::from_millis(5));
    }
}

/// The first line that it prints.
fn first_line(child: &mut Child) -> (String, std::process::ChildStdout) {
    let mut stdout = child.take_stdout().unwrap();
    let (mut line, mut byte) = (String::new(), [0]);
    while stdout.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        line.push(byte[0] as char);
    }
    (line, stdout)
}

fn outcome(status: Option<std::process::ExitStatus>) -> String {
    status.unwrap().to_string()
}

/// Ends a child on a thread, and in a task.
fn ends(script: &str, check: impl Fn(String, Duration)) {
    for is_async in [false, true] {
        let mut child = sh(script);
        let (ready, stdout) = first_line(&mut child);
        assert_eq!(ready, "ready");
        thread::spawn(move || std::io::copy(&mut { stdout }, &mut std::io::sink()));
        let start = Instant::now();
        let status = match is_async {
            false => child.end(GRACE),
            true => tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap()
                .block_on(child.end_with(|| tokio::time::sleep(GRACE))),
        };
        check(outcome(status), start.elapsed());
        assert_eq!((child.id(), child.terminate(), child.kill()), (None, false, false));
        assert_eq!(child.wait(), status);
    }
}

#[test]
fn the_end_of_its_input_is_enough() {
    ends("echo ready; cat >/dev/null; exit 7", |status, _| assert_eq!(status, "exit status: 7"));
}

#[test]
fn a_child_that_ignores_the_end_of_its_input_is_terminated() {
    ends("echo ready; exec sleep 1000", |status, took| {
        assert!(status.contains("SIGTERM") && took >= GRACE, "{status}, {took:?}");
    });
}

#[test]
fn a_child_that_ignores_sigterm_is_killed() {
    ends("trap '' TERM; echo ready; while :; do sleep 0.01; done", |status, took| {
        assert!(status.contains("SIGKILL") && took >= 2 * GRACE, "{status}, {took:?}");
    });
}

/// A wrapper waits for the server proper, which a signal to the wrapper alone wouldn't reach.
#[test]
fn a_grandchild_ends_with_its_parent() {
    for end in [0, 1, 2] {
        let mut child = sh("sleep 1000 & echo $!; wait");
        let (grandchild, _stdout) = first_line(&mut child);
        assert!(exists(&grandchild));
        match end {
            0 => assert!(child.terminate()),
            1 => assert!(child.kill()),
            _ => drop(child),
        }
        wait_until(|| !exists(&grandchild));
    }
}

/// Also if the parent exits by itself: then nothing holds its stdout open.
#[test]
fn a_grandchild_is_not_left_behind() {
    let mut child = sh("sleep 1000 & echo $!; exit 5");
    let (grandchild, mut stdout) = first_line(&mut child);
    assert_eq!(outcome(child.wait()), "exit status: 5");
    assert_eq!(stdout.read(&mut [0]).unwrap(), 0);
    wait_until(|| !exists(&grandchild));
}

#[test]
fn a_death_is_told_to_all_who_wait() {
    let mut child = sh("read -r line; exit 3");
    let exited = child.exited();
    let mut stdin = child.take_stdin().unwrap();
    let waiting: Vec<_> = (0..5)
        .map(|_| {
            let exited = exited.clone();
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                outcome(runtime.block_on(exited))
            })
        })
        .collect();
    assert_eq!((child.status(), child.id().is_some()), (None, true));
    stdin.write_all(b"now\n").unwrap();
    assert_eq!(outcome(child.wait()), "exit status: 3");
    assert!(waiting.into_iter().all(|waiting| waiting.join().unwrap() == "exit status: 3"));
    // And to those who ask later, without the handle.
    drop(child);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(outcome(runtime.block_on(exited)), "exit status: 3");
}

#[test]
fn it_is_reaped() {
    let child = sh("exit 0");
    let id = child.id().map(|id| id.to_string());
    child.wait();
    assert!(id.is_none_or(|id| !exists(&id)));
    let child = sh("exec sleep 1000");
    let id = child.id().unwrap().to_string();
    drop(child);
    wait_until(|| !exists(&id));
}

#[test]
fn a_flood_on_stderr_does_not_stop_it() {
    let mut command = Command::new("sh");
    let script = r#"i=0; while [ $i -lt 20000 ]; do echo "problem $i" >&2; i=$((i + 1)); done
        head -c 20000 /dev/zero | tr '\0' x >&2; printf '\r\nlast' >&2; exit 4"#;
    command.arg("-c").arg(script).stderr(Stdio::piped());
    let mut child = Child::spawn(&mut command).unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&lines);
    child.drain_stderr(move |line| reported.lock().unwrap().push(line.to_vec())).unwrap();
    assert!(child.take_stderr().is_none());
    assert_eq!(outcome(child.wait()), "exit status: 4");
    wait_until(|| lines.lock().unwrap().last().is_some_and(|line| line == b"last"));
    let lines = lines.lock().unwrap();
    assert!((0..20_000).all(|i| lines[i] == format!("problem {i}").as_bytes()));
    let long: Vec<_> = lines[20_000..lines.len() - 1].iter().map(Vec::len).collect();
    assert!(long.iter().sum::<usize>() == 20_000 && long.iter().all(|len| *len <= 8 << 10), "{long:?}");
}

#[test]
fn a_missing_program_is_an_error() {
    let error = Child::spawn(&mut Command::new("wireline-no-such-program")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

/// Many at a time, and none is left.
#[test]
fn two_hundred_children() {
    let children: Vec<_> = (0..200).map(|i| sh(&format!("exit {}", i % 100))).collect();
    for (i, child) in children.iter().enumerate() {
        assert_eq!(child.wait().unwrap().code(), Some(i as i32 % 100));
    }
}

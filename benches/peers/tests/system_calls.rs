//! A server on wireline's connection makes as few system calls as a loop written by hand: a read, a write and a wait for
//! each request, or for as many as arrive together.
//!
//! Needs strace, and does nothing without it.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;

/// The number of calls of each name, while a server gets `rounds` times as many requests as are in flight.
fn system_calls(server: &str, in_flight: usize, rounds: usize) -> Option<impl Fn(&[&str]) -> usize> {
    let summary = std::env::temp_dir().join(format!("wireline-strace-{}-{server}-{in_flight}", std::process::id()));
    let (near, far) = UnixStream::pair().unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-o"]).arg(&summary).arg(env!("CARGO_BIN_EXE_peers")).args(["--serve", server]);
    let traced = strace.stdin(OwnedFd::from(far.try_clone().unwrap())).stdout(OwnedFd::from(far)).spawn();
    drop(strace);
    let mut traced = traced.ok()?;
    let (mut near, mut answers) = (near.try_clone().unwrap(), BufReader::new(near).lines());
    for round in 0..rounds {
        let request = |nth| {
            let id = round * in_flight + nth;
            let params = r#"{"name":"echo","arguments":{"text":"a"}}"#;
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}\n")
        };
        // Fails if strace isn't allowed to trace.
        near.write_all((0..in_flight).map(request).collect::<String>().as_bytes()).ok()?;
        for nth in 0..in_flight {
            let answer = answers.next()?.ok()?;
            assert!(answer.contains(&format!("\"id\":{}", round * in_flight + nth)), "{answer}");
        }
    }
    near.shutdown(Shutdown::Write).unwrap();
    assert!(answers.next().is_none());
    assert!(traced.wait().unwrap().success());
    let table = fs::read_to_string(&summary).unwrap();
    fs::remove_file(&summary).unwrap();
    // Percentage, seconds, microseconds per call, calls, perhaps errors, name.
    Some(move |names: &[&str]| {
        let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let rows = rows.filter(|row| row.last().is_some_and(|name| names.contains(name)));
        rows.map(|row| row[3].parse::<usize>().unwrap()).sum::<usize>()
    })
}

#[test]
fn a_request_takes_a_read_a_write_and_a_wait() {
    const ROUNDS: usize = 300;
    // What starting and ending takes.
    const AROUND: usize = 60;

    for in_flight in [1, 16] {
        let Some(count) = system_calls("wireline", in_flight, ROUNDS) else {
            eprintln!("skipped: strace is missing, or not allowed to trace");
            return;
        };
        let [reads, writes] =
            [["read", "recvfrom", "recvmsg"], ["write", "sendto", "writev"]].map(|names| count(&names));
        assert!((ROUNDS..ROUNDS + AROUND).contains(&reads), "{reads} reads, {in_flight} in flight");
        assert!((ROUNDS..ROUNDS + AROUND).contains(&writes), "{writes} writes, {in_flight} in flight");
        let waits = count(&["epoll_wait", "epoll_pwait"]);
        // tokio also looks for events now and then while it is busy.
        assert!((ROUNDS..ROUNDS * 5 / 4 + AROUND).contains(&waits), "{waits} waits, {in_flight} in flight");
        let wakes = count(&["futex"]);
        assert!(wakes < AROUND, "{wakes} wake-ups, {in_flight} in flight");
    }
}

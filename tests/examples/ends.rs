//! Ends each example at a random moment: its client stops sending, leaves, or dies. No answer that is owed is lost.
//!
//! 20 times each; `WIRELINE_TIMES=10` for 200.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::{PATIENCE, example, wait};
use crate::common::{self, Random};

pub(crate) fn times() -> usize {
    common::times(20)
}

/// What a client sends, and how it ends.
struct Session {
    bytes: Vec<u8>,
    /// The ids of the requests in `bytes`. A line that is cut off isn't counted.
    ids: Vec<usize>,
    /// Where to pause, and when to end.
    pauses: Vec<(usize, Duration)>,
    end: End,
}

enum End {
    /// Stops sending, and reads to the end.
    HalfClose,
    /// Leaves after it has read so many bytes.
    Leave(usize),
}

/// One session with `request`s, which have an id and a random number.
fn session(random: &mut Random, batches: bool, request: impl Fn(usize, usize) -> String) -> Session {
    let (mut bytes, mut ids) = (Vec::new(), Vec::new());
    for id in 0..random.below(30) {
        let line = request(id, random.below(1000));
        match batches && random.below(4) == 0 {
            true => {
                let second = request(1000 + id, random.below(1000));
                ids.push(1000 + id);
                bytes.extend(format!("[{line},{second},1]\n").into_bytes());
            }
            false => bytes.extend((line + "\n").into_bytes()),
        }
        ids.push(id);
    }
    if random.below(3) == 0 {
        let line = request(5000, 0);
        bytes.extend(&line.as_bytes()[..random.below(line.len())]);
    }
    let pause = |random: &mut Random| (random.below(bytes.len() + 1), Duration::from_micros(random.below(3000) as u64));
    let mut pauses: Vec<_> = (0..random.below(4)).map(|_| pause(random)).collect();
    pauses.sort_unstable();
    let end = match random.below(3) {
        0 => End::Leave(random.below(2000)),
        _ => End::HalfClose,
    };
    Session { bytes, ids, pauses, end }
}

impl Session {
    fn send(&self, mut input: impl Write) {
        let mut at = 0;
        for &(to, pause) in self.pauses.iter().chain(&[(self.bytes.len(), Duration::ZERO)]) {
            // A server whose client leaves may take no more.
            let _ = input.write_all(&self.bytes[at..to]).and_then(|()| input.flush());
            at = to;
            thread::sleep(pause);
        }
    }

    /// Reads what the server answers, and checks it.
    fn read(&self, output: impl Read) {
        let mut answers = Vec::new();
        match self.end {
            End::HalfClose => drop(BufReader::new(output).read_to_end(&mut answers).unwrap()),
            End::Leave(bytes) => drop(output.take(bytes as u64).read_to_end(&mut answers)),
        }
        let mut counts = BTreeMap::<_, usize>::new();
        let whole = answers.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        for line in answers[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let answer: Value = serde_json::from_slice(line).unwrap();
            let entries = if answer.is_array() { answer.as_array().unwrap().clone() } else { vec![answer] };
            for entry in entries.iter().filter(|entry| entry["method"].is_null()) {
                *counts.entry(entry["id"].to_string()).or_default() += 1;
            }
        }
        for id in &self.ids {
            let count = counts.remove(&id.to_string()).unwrap_or_default();
            match self.end {
                End::HalfClose => assert_eq!(count, 1, "id {id}"),
                End::Leave(_) => assert!(count <= 1, "id {id}"),
            }
        }
        assert!(counts.keys().all(|id| matches!(id.as_str(), "null" | "5000")), "{counts:?}");
        if let End::HalfClose = self.end {
            assert_eq!(whole, answers.len(), "half a line");
        }
    }
}

/// Ends a server on stdin and stdout many times, each time in a process of its own.
fn end_processes(name: &str, args: &[&str], batches: bool, request: impl Fn(usize, usize) -> String + Sync) {
    let left = AtomicUsize::new(times());
    let run = |seed| {
        let mut random = Random::new(seed);
        while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
            let session = session(&mut random, batches, &request);
            let mut process = start(name, args);
            let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
            thread::scope(|scope| {
                let sending = scope.spawn(|| send_to(&session, input));
                session.read(output); // and closes it
                sending.join().unwrap();
            });
            match session.end {
                End::HalfClose => wait(&mut process),
                // It may fail, since it can't write its answers, but it ends.
                End::Leave(_) => end_anyhow(&mut process),
            }
        }
    };
    let run = &run;
    thread::scope(|scope| (0..4).for_each(|seed| drop(scope.spawn(move || run(seed)))));
}

fn send_to(session: &Session, input: ChildStdin) {
    session.send(input); // and closes it
}

fn start(name: &str, args: &[&str]) -> Child {
    let mut command = Command::new(example(name));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn end_anyhow(process: &mut Child) {
    let start = std::time::Instant::now();
    while process.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < PATIENCE, "it does not end");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Ends connections to a server over TCP many times, several at once.
fn end_connections(address: &str, count: usize, request: impl Fn(usize, usize) -> String + Sync) {
    let next = AtomicUsize::new(0);
    let run = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= count {
                return;
            }
            let session = session(&mut Random::new(seed as u64), true, &request);
            let socket = TcpStream::connect(address).unwrap();
            let patience = match session.end {
                End::HalfClose => PATIENCE,
                End::Leave(_) => Duration::from_millis(20), // there may be less to read
            };
            socket.set_read_timeout(Some(patience)).unwrap();
            thread::scope(|scope| {
                let sending = scope.spawn(|| {
                    session.send(&socket);
                    if let End::HalfClose = session.end {
                        socket.shutdown(Shutdown::Write).unwrap();
                    }
                });
                session.read(&socket);
                if let End::Leave(_) = session.end {
                    let _ = socket.shutdown(Shutdown::Both); // unread answers reset the connection
                }
                sending.join().unwrap();
            });
        }
    };
    let run = &run;
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(run))));
}

fn divide(id: usize, number: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"divide","params":[{number},4]}}"#)
}

/// Half of them take some time.
fn divide_or_sleep(id: usize, number: usize) -> String {
    match number % 2 {
        0 => divide(id, number),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"sleep","params":[{}]}}"#, number % 20),
    }
}

fn call_tool(id: usize, name: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{"text":"x"}}}}}}"#
    )
}

#[test]
fn of_server() {
    end_processes("server", &[], true, divide);
}

#[test]
fn of_server_threads() {
    if !cfg!(feature = "stdio") {
        return;
    }
    end_processes("server_threads", &[], true, divide_or_sleep);
}

#[test]
fn of_mcp_server() {
    if !cfg!(feature = "stdio") {
        return;
    }
    end_processes("mcp_server", &[], true, |id, _| call_tool(id, "echo"));
}

/// Some calls make the server call back, and never get an answer.
#[test]
fn of_peer() {
    if !cfg!(all(feature = "stdio", feature = "tokio")) {
        return;
    }
    end_processes("peer", &["server"], false, |id, number| call_tool(id, ["echo", "summarize"][number % 2]));
}

#[test]
fn of_gateway() {
    if !cfg!(all(unix, feature = "stdio", feature = "tokio")) {
        return;
    }
    let server = format!("={} server", example("peer").display());
    let (one, two) = ("one".to_owned() + &server, "two".to_owned() + &server);
    end_processes("gateway", &[&one, &two], false, |id, number| match id {
        0 => r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}"#.to_owned(),
        _ => call_tool(id, ["one.echo", "two.echo", "two.summarize", "three.echo"][number % 4]),
    });
}

#[test]
fn of_server_tokio() {
    if !cfg!(feature = "tokio") {
        return;
    }
    let mut server = start("server_tokio", &[]);
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    end_connections(line.strip_prefix("listening on ").unwrap().trim(), times(), divide_or_sleep);
    server.kill().unwrap();
    server.wait().unwrap();
}

/// Ctrl-C while requests arrive. Requests are read in order, so those that are answered are the first ones.
///
/// The answers are short, and fit the client's receive buffer. Longer ones may be cut off by the reset.
#[test]
fn of_server_tokio_by_a_signal() {
    if !cfg!(all(unix, feature = "tokio")) {
        return;
    }
    let mut random = Random::new(7);
    for _ in 0..times() / 5 {
        let mut server = start("server_tokio", &[]);
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let socket = TcpStream::connect(line.strip_prefix("listening on ").unwrap().trim()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        thread::scope(|scope| {
            let sending = scope.spawn(|| {
                for id in 0.. {
                    if writeln!(&socket, "{}", divide_or_sleep(id, id)).is_err() {
                        return;
                    }
                    thread::sleep(Duration::from_micros(100));
                }
            });
            let mut ids = Vec::new();
            for line in BufReader::new(&socket).lines() {
                let Ok(line) = line else { break }; // reset, since the client is still sending
                let answer: Value = serde_json::from_str(&line).unwrap();
                ids.push(answer["id"].as_u64().unwrap());
                if ids.len() == 1 {
                    thread::sleep(Duration::from_millis(random.below(30) as u64));
                    Command::new("kill").args(["-INT", &server.id().to_string()]).status().unwrap();
                }
            }
            sending.join().unwrap();
            ids.sort_unstable();
            assert!(ids.iter().copied().eq(0..ids.len() as u64), "{ids:?}");
        });
        wait(&mut server);
    }
}

#[test]
fn of_proxy() {
    if !cfg!(feature = "tokio") {
        return;
    }
    let count = times();
    let server = example("server");
    let mut proxy = start("proxy", &[&count.to_string(), server.to_str().unwrap()]);
    let mut line = String::new();
    BufReader::new(proxy.stdout.take().unwrap()).read_line(&mut line).unwrap();
    end_connections(line.split(' ').nth(2).unwrap(), count, divide);
    wait(&mut proxy);
}

/// These end by themselves, when they have all answers.
#[test]
fn of_clients() {
    let names: &[&str] =
        if cfg!(feature = "tokio") { &["client", "sockets", "sockets_tokio"] } else { &["client", "sockets"] };
    for name in names {
        let first = Command::new(example(name)).output().unwrap();
        assert!(!first.stdout.is_empty());
        for _ in 1..times() {
            assert_eq!(Command::new(example(name)).output().unwrap(), first, "{name}");
        }
    }
}

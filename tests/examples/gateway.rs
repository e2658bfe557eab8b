//! The gateway, with twenty servers that are killed.

use std::collections::HashSet;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, ScopedJoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wireline::Rules;
use wireline::connection::{CallError, Caller, Config, Event, Peer, Reply, Ticket};
use wireline::io::Connection;

use super::ends::times;
use super::{PATIENCE, example, wait};
use crate::common::Random;

const SERVERS: usize = 20;

/// A gateway and its client.
struct Session {
    process: Child,
    peer: Peer<Caller>,
    /// What the client has seen when it is over.
    seen: JoinHandle<Seen>,
    /// Requests for samples of a text that says "hold".
    held: Receiver<Ticket>,
}

#[derive(Default)]
struct Seen {
    progress: usize,
    /// The ids of responses to nothing.
    strays: Vec<String>,
}

/// If a test fails, nothing is left running.
impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Session {
    fn start(options: &[&str], servers: &[String]) -> Self {
        let mut command = Command::new(example("gateway"));
        command.args(options).args(servers).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (peer, connection) = Connection::new(output, input, Config::new(Rules::mcp()).in_flight(10_000));
        let (holding, held) = channel();
        let seen = thread::spawn(move || serve(connection, &holding));
        let initialized: Value = peer.call("initialize", &json!({"protocolVersion": "7"})).wait().unwrap();
        assert_eq!(initialized["protocolVersion"], "7");
        peer.notify("notifications/initialized", &()).wait().unwrap();
        Self { process, peer, seen, held }
    }

    fn with_twenty_servers() -> Self {
        let server = example("peer");
        let servers: Vec<_> = (0..SERVERS).map(|at| format!("s{at}={} server", server.display())).collect();
        Self::start(&[], &servers)
    }

    fn call(&self, server: usize, tool: &str, text: &str) -> Reply<Value> {
        call(&self.peer, server, tool, text)
    }

    /// Ends the session, and returns what the client has seen.
    fn end(mut self) -> Seen {
        self.peer.end();
        wait(&mut self.process);
        std::mem::replace(&mut self.seen, thread::spawn(Seen::default)).join().unwrap()
    }

    /// Kills one of the servers, whichever.
    fn kill_one(&self, random: &mut Random) {
        let parent = self.process.id().to_string();
        let children: Vec<_> = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
                let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
                (fields.next()? != "Z" && fields.next()? == parent).then(|| entry.file_name())
            })
            .collect();
        if !children.is_empty() {
            let child = &children[random.below(children.len())];
            // It may have been killed before.
            let _ = Command::new("kill").arg("-9").arg(child).stderr(Stdio::null()).status();
        }
    }
}

fn call(peer: &Peer<Caller>, server: usize, tool: &str, text: &str) -> Reply<Value> {
    let params = json!({
        "name": format!("s{server}.{tool}"),
        "arguments": {"text": text},
        "_meta": {"progressToken": text},
    });
    peer.call("tools/call", &params)
}

/// Serves the gateway: answers each request for a sample, or passes its ticket on.
fn serve(mut connection: Connection<impl std::io::Read>, holding: &Sender<Ticket>) -> Seen {
    let mut seen = Seen::default();
    while let Some(event) = connection.next().unwrap() {
        match event {
            Event::Request(request, ticket) => {
                assert_eq!(request.method(), "sampling/createMessage");
                let text = request.params().unwrap().pointer("/messages/0/content/text").unwrap();
                let text: String = text.deserialize().unwrap();
                match text.contains("hold") {
                    true => drop(holding.send(ticket)),
                    false => ticket.respond(&json!({"content": {"type": "text", "text": text + "!"}})),
                }
            }
            Event::Notification(_) => seen.progress += 1,
            Event::Stray(response, _) => seen.strays.push(response.id().unwrap().as_json().to_owned()),
            Event::Fault(fault) => panic!("{fault}"),
            _ => {}
        }
    }
    seen
}

/// Each call gets one answer while servers are killed: 30 calls for each time that other examples are ended, and a kill
/// for every fifth.
#[test]
fn survives_its_servers() {
    const THREADS: usize = 8;
    let (calls, kills) = (30 * times(), times() / 5);
    let session = Session::with_twenty_servers();
    let (cancelled, made) = (Arc::new(Mutex::new(HashSet::new())), AtomicUsize::new(0));
    let counts = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (peer, cancelled, made) = (session.peer.clone(), Arc::clone(&cancelled), &made);
                scope.spawn(move || make_calls(&peer, thread, calls / THREADS, &cancelled, made))
            })
            .collect();
        let mut random = Random::new(1);
        for kill in 0..kills {
            // In equal steps, until there are no more calls.
            while made.load(Ordering::Relaxed) < calls * (kill + 1) / (kills + 1)
                && !threads.iter().all(ScopedJoinHandle::is_finished)
            {
                thread::sleep(Duration::from_micros(100));
            }
            session.kill_one(&mut random);
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let (results, errors) = counts.into_iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    let cancelled = cancelled.lock().unwrap().clone();
    assert_eq!(results + errors + cancelled.len(), calls / THREADS * THREADS);
    println!("{results} results, {errors} errors, {} cancelled", cancelled.len());
    assert!(errors < calls / 3, "{errors} of {calls}");
    // All servers run again.
    for server in 0..SERVERS {
        let start = Instant::now();
        while session.call(server, "echo", "again").wait().is_err() {
            assert!(start.elapsed() < PATIENCE);
            thread::sleep(Duration::from_millis(10));
        }
    }
    let seen = session.end();
    // Only answers that crossed a cancellation are superfluous.
    let strays: HashSet<_> = seen.strays.iter().cloned().collect();
    assert_eq!(strays.len(), seen.strays.len());
    assert!(strays.is_subset(&cancelled));
    assert!(seen.progress > 0);
}

/// Returns how many results and errors there were. Calls that are cancelled are noted by id.
fn make_calls(
    peer: &Peer<Caller>,
    thread: usize,
    count: usize,
    cancelled: &Mutex<HashSet<String>>,
    made: &AtomicUsize,
) -> (usize, usize) {
    let mut random = Random::new(thread as u64);
    let (mut results, mut errors, mut open) = (0, 0, Vec::new());
    for at in 0..count {
        made.fetch_add(1, Ordering::Relaxed);
        let text = format!("{thread}/{at}");
        let server = random.below(SERVERS);
        match random.below(10) {
            0 => {
                let reply = call(peer, server, "summarize", &text);
                cancelled.lock().unwrap().insert(reply.id().unwrap().as_json().to_owned());
                thread::sleep(Duration::from_micros(random.below(1000) as u64));
                drop(reply);
            }
            1..4 => open.push((text.clone() + "!", server, call(peer, server, "summarize", &text))),
            _ => open.push((text.clone(), server, call(peer, server, "echo", &text))),
        }
        // Some are in flight at any time.
        while open.len() > 8 || at + 1 == count && !open.is_empty() {
            let (expected, server, reply) = open.swap_remove(random.below(open.len()));
            match reply.wait_for(PATIENCE) {
                Ok(result) => {
                    assert_eq!(result["content"][0]["text"], expected);
                    results += 1;
                }
                Err(CallError::Rpc(error)) => {
                    assert_eq!(error.message(), format!("server s{server} is gone"));
                    errors += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    (results, errors)
}

#[test]
fn lists_all_tools() {
    let session = Session::with_twenty_servers();
    let list: Value = session.peer.call("tools/list", &()).wait().unwrap();
    let names: HashSet<_> = list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].to_string()).collect();
    let expected = (0..SERVERS).flat_map(|at| [format!("\"s{at}.echo\""), format!("\"s{at}.summarize\"")]);
    assert_eq!(names, expected.collect());
    for (name, message) in [("s20.echo", "no such tool"), ("echo", "no such tool"), ("s3.nothing", "no such tool")] {
        let error = session.peer.call::<Value>("tools/call", &json!({"name": name, "arguments": {"text": ""}}));
        assert!(matches!(error.wait(), Err(CallError::Rpc(error)) if error.message() == message), "{name}");
    }
    session.end();
}

/// From the client through the gateway to the server, and from there back to the client.
#[test]
fn cancels_both_ways() {
    let session = Session::with_twenty_servers();
    for server in 0..3 {
        let reply = session.call(server, "summarize", "hold");
        let ticket = session.held.recv_timeout(PATIENCE).unwrap();
        assert!(!ticket.is_cancelled());
        drop(reply);
        let start = Instant::now();
        while !ticket.is_cancelled() {
            assert!(start.elapsed() < PATIENCE);
            thread::sleep(Duration::from_millis(1));
        }
    }
    // A server that dies cancels what it has asked for.
    let reply = session.call(5, "summarize", "hold");
    let ticket = session.held.recv_timeout(PATIENCE).unwrap();
    let mut random = Random::new(3);
    let start = Instant::now();
    while !ticket.is_cancelled() {
        assert!(start.elapsed() < PATIENCE);
        session.kill_one(&mut random);
        thread::sleep(Duration::from_millis(5));
    }
    assert!(matches!(reply.wait(), Err(CallError::Rpc(error)) if error.message() == "server s5 is gone"));
    drop(ticket); // the stream ends when no request is in flight
    session.end();
}

#[test]
fn answers_in_time() {
    let session = Session::start(&["--timeout", "0.3"], &["s0=sleep 600".to_owned(), "s1=no/such/program".to_owned()]);
    for server in [0, 1] {
        let error = session.call(server, "echo", "").wait();
        assert!(matches!(error, Err(CallError::Rpc(error)) if error.message() == "no answer in time"));
    }
    let list: Value = session.peer.call("tools/list", &()).wait().unwrap();
    assert_eq!(list, json!({"tools": []}));
    session.end();
}

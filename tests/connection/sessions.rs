//! Random sessions through the drivers, on threads and in tasks. Handlers sleep, fail, panic, hang and call back; clients
//! read slowly and die. A client that lives gets exactly one response for each of its requests, in one array for each
//! batch; no handler outlives its connection; nothing hangs.
//!
//! `WIRELINE_TIMES=300` runs 300 times as many sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write, pipe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use wireline::aio::{self, Tokio};
use wireline::connection::{Call, CallError, Caller, Config, Event, Peer, Ticket};
use wireline::{Request, RpcError, Rules, io};

use super::common::{self, Random};
use super::{Explosive, within};

/// What a client sends, and what it must get.
struct Script {
    config: Config,
    lines: Vec<String>,
    /// How often each id must be answered.
    owed: BTreeMap<String, usize>,
    /// The ids of each batch, sorted. `None` if arrays may be split.
    batches: Option<Vec<Vec<String>>>,
    /// The client dies before this line.
    dies_at: Option<usize>,
    reads_slowly: bool,
}

impl Script {
    fn new(random: &mut Random) -> Self {
        let backlog = [0, 100, 3000, 1 << 20][random.below(4)];
        let mut script = Self {
            config: Config::new(Rules::json_rpc()).backlog(backlog).in_flight([3, 20, 1000][random.below(3)]),
            lines: Vec::new(),
            owed: BTreeMap::new(),
            batches: (backlog == 1 << 20).then(Vec::new),
            dies_at: None,
            reads_slowly: random.below(3) == 0,
        };
        let mut next = 0;
        for _ in 0..1 + random.below(40) {
            let entries = if random.below(5) == 0 { 1 + random.below(5) } else { 0 };
            let (mut texts, mut ids) = (Vec::new(), Vec::new());
            for _ in 0..entries.max(1) {
                let (text, id) = Self::entry(random, &mut next);
                texts.push(text);
                ids.extend(id);
            }
            for id in &ids {
                *script.owed.entry(id.clone()).or_default() += 1;
            }
            if entries == 0 {
                script.lines.push(texts.remove(0));
            } else {
                script.lines.push(format!("[{}]", texts.join(",")));
                ids.sort();
                script.batches.iter_mut().for_each(|batches| batches.extend((!ids.is_empty()).then(|| ids.clone())));
            }
        }
        if random.below(4) == 0 {
            script.dies_at = Some(random.below(script.lines.len()));
        }
        script
    }

    /// A line or an entry of a batch, and the id of its answer.
    fn entry(random: &mut Random, next: &mut usize) -> (String, Option<String>) {
        *next += 1;
        let id = match random.below(12) {
            0 if *next > 2 => 1 + random.below(*next - 1),
            _ => *next,
        };
        let methods =
            ["fine", "fine", "later", "sleep", "panic", "fail", "nan", "encode", "long", "hang", "ask", "note"];
        match random.below(16) {
            0 => (r#"{"jsonrpc":"2.0","method":"later"}"#.to_owned(), None),
            1 => (r#"{"jsonrpc":"2.0","id":"stray","result":1}"#.to_owned(), None),
            2 => ("1".to_owned(), Some("null".to_owned())),
            3 => (format!(r#"{{"jsonrpc":"2.0","id":{id},"method":1}}"#), Some(id.to_string())),
            4 | 5 => {
                let id = 1 + random.below(*next);
                (format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#), None)
            }
            _ => {
                let method = methods[random.below(methods.len())];
                let text =
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":[{}]}}"#, random.below(99));
                (text, Some(id.to_string()))
            }
        }
    }

    /// Compares with everything that a client has read.
    fn check(&self, output: &[u8], what: &str) {
        let is_alive = self.dies_at.is_none();
        let mut answered: BTreeMap<String, usize> = BTreeMap::new();
        let mut arrays = Vec::new();
        for line in output.split_inclusive(|byte| *byte == b'\n') {
            let Some(line) = line.strip_suffix(b"\n") else {
                assert!(!is_alive, "{what}: half a line");
                continue;
            };
            let value: Value = serde_json::from_slice(line).unwrap_or_else(|_| panic!("{what}: not JSON"));
            let (entries, is_array) = match value {
                Value::Array(entries) => (entries, true),
                value if value.get("method").is_some() => continue,
                value => (vec![value], false),
            };
            let mut ids: Vec<String> = entries.iter().map(|entry| entry["id"].to_string()).collect();
            for id in &ids {
                *answered.entry(id.clone()).or_default() += 1;
            }
            if is_array {
                ids.sort();
                arrays.push(ids);
            }
        }
        match is_alive {
            true => assert_eq!(answered, self.owed, "{what}"),
            false => {
                // Half a line may be answered without an id.
                let owed = |id: &str| self.owed.get(id).copied().unwrap_or_default() + usize::from(id == "null");
                let mut surplus = answered.iter().filter(|(id, count)| **count > owed(id));
                assert_eq!(surplus.next(), None, "{what}");
            }
        }
        if let (Some(batches), true) = (&self.batches, is_alive) {
            let mut batches = batches.clone();
            batches.sort();
            arrays.sort();
            assert_eq!(arrays, batches, "{what}");
        }
    }
}

/// Counts handlers that are running.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The result of a handler.
enum Outcome {
    Fine(Value),
    NotANumber,
    Explosive,
}

impl serde::Serialize for Outcome {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fine(value) => value.serialize(serializer),
            Self::NotANumber => serializer.serialize_f64(f64::NAN),
            Self::Explosive => Explosive.serialize(serializer),
        }
    }
}

/// What a handler does that neither waits nor asks.
fn outcome(method: &str) -> Result<Outcome, RpcError> {
    match method {
        "panic" => panic!("on purpose"),
        "fail" => Err(RpcError::new(1, "x")),
        "nan" => Ok(Outcome::NotANumber),
        "encode" => Ok(Outcome::Explosive),
        "long" => Ok(Outcome::Fine(json!("x".repeat(500)))),
        _ => Ok(Outcome::Fine(json!(1))),
    }
}

/// A call ends in one of the expected ways.
fn check_reply(reply: Result<Value, CallError>) {
    match reply {
        Ok(value) => assert_eq!(value, 7),
        Err(CallError::Lost(_) | CallError::Send(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

async fn handle(method: String, peer: Peer<Caller>, alive: Alive) -> Result<Outcome, RpcError> {
    let _alive = alive;
    match &*method {
        "later" => yield_now().await,
        "sleep" => sleep(Duration::from_micros(500)).await,
        "hang" => std::future::pending().await,
        "ask" => check_reply(peer.call("ask", &()).await),
        "note" => drop(peer.notify("note", &["x".repeat(200)]).await),
        _ => {}
    }
    outcome(&method)
}

/// Sends a script, answers what the server asks, and returns what was read.
async fn client(stream: tokio::io::DuplexStream, script: &Script, random: &mut Random) -> Vec<u8> {
    let (mut reader, mut writer) = split(stream);
    let (asked, mut to_answer) = tokio::sync::mpsc::unbounded_channel::<Value>();
    let writing = async {
        for (at, line) in script.lines.iter().enumerate() {
            if script.dies_at == Some(at) {
                // In the middle of the line.
                let _ = writer.write_all(&line.as_bytes()[..line.len() / 2]).await;
                return true;
            }
            while let Ok(id) = to_answer.try_recv() {
                let _ =
                    writer.write_all(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":7}}\n").as_bytes()).await;
            }
            let _ = writer.write_all(format!("{line}\n").as_bytes()).await;
            for _ in 0..random.below(3) {
                yield_now().await;
            }
        }
        let _ = writer.shutdown().await;
        false
    };
    let reading = async {
        let (mut output, mut seen) = (Vec::new(), 0);
        let mut buffer = vec![0; if script.reads_slowly { 20 } else { 5000 }];
        while let Ok(read @ 1..) = reader.read(&mut buffer).await {
            output.extend_from_slice(&buffer[..read]);
            while let Some(len) = output[seen..].iter().position(|byte| *byte == b'\n') {
                let line: Value = serde_json::from_slice(&output[seen..seen + len]).unwrap();
                if line.get("method").is_some() && line.get("id").is_some() {
                    let _ = asked.send(line["id"].clone());
                }
                seen += len + 1;
            }
            if script.reads_slowly {
                yield_now().await;
            }
        }
        output
    };
    let mut reading = std::pin::pin!(reading);
    let mut writing = std::pin::pin!(writing);
    tokio::select! {
        output = &mut reading => {
            writing.await;
            output
        }
        dies = &mut writing => match dies {
            true => Vec::new(),
            false => reading.await,
        },
    }
}

/// A session with `serve`, or with `next` and a task for each request.
async fn asynchronous(seed: u64) {
    let mut random = Random::new(seed);
    let script = Script::new(&mut random);
    let what = format!("session {seed}");
    let (ours, theirs) = duplex([1, 30, 300, 100_000][random.below(4)]);
    let (reader, writer) = split(theirs);
    let (peer, connection) = aio::Connection::new(Tokio(reader), Tokio(writer), script.config);
    let connection = connection.report(|_| {}).concurrency([1, 4, usize::MAX][random.below(3)]);
    let alive = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&alive);
    let serving = match random.below(2) {
        0 => {
            let grace = || sleep(Duration::from_millis(15));
            let handler =
                move |call: Call<'static>| handle(call.method().to_owned(), call.peer().clone(), Alive::new(&counted));
            tokio::spawn(connection.serve_until(std::future::pending(), grace, handler))
        }
        _ => tokio::spawn(async move {
            let mut connection = connection;
            while let Some(event) = connection.next().await? {
                if let Event::Request(request, ticket) = event {
                    tokio::spawn(answer(request.method().into_owned(), ticket, peer.clone(), Alive::new(&counted)));
                }
            }
            Ok(())
        }),
    };
    let session = async {
        let output = client(ours, &script, &mut random).await;
        let served = serving.await.unwrap();
        assert!(served.is_ok() || script.dies_at.is_some(), "{what}: {served:?}");
        script.check(&output, &what);
        while alive.load(Ordering::SeqCst) > 0 {
            sleep(Duration::from_micros(100)).await;
        }
    };
    timeout(Duration::from_secs(60), session).await.unwrap_or_else(|_| panic!("{what} hangs"));
}

/// Handles a request in a task of its own, until it is cancelled or has taken too long.
async fn answer(method: String, ticket: Ticket, peer: Peer<Caller>, alive: Alive) {
    tokio::select! {
        outcome = handle(method, peer, alive) => return ticket.settle(outcome),
        () = ticket.cancelled() => {}
        () = sleep(Duration::from_millis(15)) => {}
    }
    drop(ticket);
}

fn run(runtime: &Runtime, count: usize) {
    common::quiet_panics_on_purpose();
    runtime.block_on(async {
        let mut seeds = 0..count as u64;
        let mut running = tokio::task::JoinSet::new();
        running.extend_from(&mut seeds);
        while let Some(ended) = running.join_next().await {
            ended.unwrap();
            running.extend_from(&mut seeds);
        }
    });
}

trait ExtendFrom {
    fn extend_from(&mut self, seeds: &mut std::ops::Range<u64>);
}

/// Runs up to 100 sessions at the same time.
impl ExtendFrom for tokio::task::JoinSet<()> {
    fn extend_from(&mut self, seeds: &mut std::ops::Range<u64>) {
        while self.len() < 100
            && let Some(seed) = seeds.next()
        {
            self.spawn(asynchronous(seed));
        }
    }
}

#[test]
fn on_one_thread() {
    run(&Builder::new_current_thread().enable_all().build().unwrap(), common::times(100));
}

#[test]
fn on_several_threads() {
    run(&Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(), common::times(100));
}

fn handle_blocking(request: &Call<'static>, alive: Alive) -> Result<Outcome, RpcError> {
    let _alive = alive;
    match request.method() {
        "later" => thread::yield_now(),
        "sleep" => thread::sleep(Duration::from_micros(500)),
        "hang" => {
            while !request.is_cancelled() {
                thread::sleep(Duration::from_micros(200));
            }
        }
        "ask" => check_reply(request.peer().call("ask", &()).wait()),
        "note" => drop(request.peer().notify("note", &["x".repeat(200)]).wait()),
        _ => {}
    }
    outcome(request.method())
}

/// Handles a request in a thread of its own, until it is cancelled or has taken too long.
fn answer_blocking(request: &Request<'static>, ticket: Ticket, peer: &Peer<Caller>, alive: Alive) {
    let _alive = alive;
    match &*request.method() {
        "hang" => {
            for _ in 0..50 {
                if ticket.is_cancelled() {
                    break;
                }
                thread::sleep(Duration::from_micros(200));
            }
        }
        "ask" => check_reply(peer.call("ask", &()).wait()),
        "note" => drop(peer.notify("note", &["x".repeat(200)]).wait()),
        _ => {}
    }
    ticket.settle(outcome(&request.method()));
}

fn blocking(seed: u64) {
    let mut random = Random::new(seed ^ 0x5eed);
    let script = Script::new(&mut random);
    let what = format!("session {seed}");
    let ((reader, mut to_server), (from_server, writer)) = (pipe().unwrap(), pipe().unwrap());
    let (peer, connection) = io::Connection::new(reader, writer, script.config);
    let connection = connection.report(|_| {}).grace(Duration::from_millis(15));
    let alive = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&alive);
    let workers = 1 + random.below(4);
    let serves = random.below(2) == 0;
    let serving = thread::spawn(move || match serves {
        true => connection.serve(workers, move |call| handle_blocking(call, Alive::new(&counted))),
        false => {
            let mut connection = connection;
            while let Some(event) = connection.next()? {
                if let Event::Request(request, ticket) = event {
                    let (request, peer, alive) = (request.into_owned(), peer.clone(), Alive::new(&counted));
                    thread::spawn(move || answer_blocking(&request, ticket, &peer, alive));
                }
            }
            Ok(())
        }
    });
    let (asked, to_answer) = mpsc::channel::<Value>();
    let (reads_slowly, dies) = (script.reads_slowly, script.dies_at.is_some());
    let (stop, is_stopped) = mpsc::channel::<()>();
    let reading = thread::spawn(move || {
        let mut output = Vec::new();
        let mut reader = BufReader::with_capacity(if reads_slowly { 16 } else { 4096 }, from_server);
        loop {
            let start = output.len();
            // A client that dies reads nothing more.
            if dies && is_stopped.try_recv().is_ok() {
                return output;
            }
            match reader.read_until(b'\n', &mut output) {
                Ok(1..) => {}
                _ => return output,
            }
            let line: Value = serde_json::from_slice(&output[start..]).unwrap_or_default();
            if line.get("method").is_some() && line.get("id").is_some() {
                let _ = asked.send(line["id"].clone());
            }
        }
    });
    for (at, line) in script.lines.iter().enumerate() {
        if script.dies_at == Some(at) {
            let _ = to_server.write_all(&line.as_bytes()[..line.len() / 2]);
            let _ = stop.send(());
            break;
        }
        while let Ok(id) = to_answer.try_recv() {
            let _ = writeln!(to_server, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":7}}");
        }
        let _ = writeln!(to_server, "{line}");
    }
    drop(to_server);
    let output = reading.join().unwrap();
    let served = serving.join().unwrap();
    assert!(served.is_ok() || script.dies_at.is_some(), "{what}: {served:?}");
    script.check(&output, &what);
    while alive.load(Ordering::SeqCst) > 0 {
        thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn on_blocking_streams() {
    common::quiet_panics_on_purpose();
    let count = common::times(100);
    let next = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let next = Arc::clone(&next);
            thread::spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= count {
                        return;
                    }
                    within(120, &format!("session {seed}"), move || blocking(seed as u64));
                }
            })
        })
        .collect();
    let failed: BTreeSet<usize> =
        threads.into_iter().enumerate().filter_map(|(at, thread)| thread.join().is_err().then_some(at)).collect();
    assert!(failed.is_empty(), "threads {failed:?} have failed");
}

//! Calls between whole programs: a client in this process calls a tool of a server, which is a child process, over the
//! child's stdin and stdout or over a Unix socket, with and without a proxy in between.
//!
//! Every program speaks MCP, so that rmcp can take part, and runs on tokio with one thread.

mod client;
#[cfg(feature = "jsonrpsee")]
mod jsonrpsee;
mod lines_codec;
mod proxy;
mod server;
mod stream;

use std::future::Future;
use std::pin::Pin;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use wireline_corpus::Random;

use crate::comparison::figures;
use crate::progress::Progress;
use crate::rounds::shuffle;
use crate::table::Table;

pub(crate) use server::serve;

/// How many calls wait for an answer at a time, in the second part of a round.
const IN_FLIGHT: usize = 16;

/// How many calls a program makes in a round, one after the other, and as many again for each of those in flight.
const CALLS: usize = 100;

/// The minimum number of rounds.
const FEWEST: u32 = 5;

const WORKS: &str = "pipes, sockets, processes and a runtime work";

/// What the programs are called in a table, and how they are started.
struct Pair {
    name: &'static str,
    client: client::Start,
    /// What the child process is: see [`serve`].
    server: &'static [&'static str],
}

const fn pair(name: &'static str, client: client::Start, server: &'static [&'static str]) -> Pair {
    Pair { name, client, server }
}

const OVER_PIPES: &[Pair] = &[
    pair("wireline", client::wireline, &["wireline"]),
    pair("  with io::serve", client::wireline, &["wireline-in-place"]),
    pair("  with io::Connection, 4 threads", client::wireline, &["wireline-threads"]),
    pair("LinesCodec + serde_json", client::lines_codec, &["lines-codec"]),
    pair("rmcp, stdio_pipes", client::rmcp, &["rmcp"]),
    pair("rmcp, stdio", client::rmcp, &["rmcp-blocking"]),
    pair("rmcp with wireline-rmcp", client::wireline_rmcp, &["wireline-rmcp"]),
    pair("rmcp, calling wireline", client::rmcp, &["wireline"]),
    #[cfg(feature = "jsonrpsee")]
    pair("jsonrpsee, WebSocket over loopback", jsonrpsee::client, &["jsonrpsee"]),
];

const OVER_SOCKETS: &[Pair] = &[
    pair("wireline", client::wireline, &["wireline"]),
    pair("LinesCodec + serde_json", client::lines_codec, &["lines-codec"]),
    pair("rmcp", client::rmcp, &["rmcp"]),
    pair("rmcp with wireline-rmcp", client::wireline_rmcp, &["wireline-rmcp"]),
];

const THROUGH_A_PROXY: &[Pair] = &[
    pair("wireline", client::wireline, &["wireline-proxy", "wireline"]),
    pair("LinesCodec + serde_json", client::lines_codec, &["lines-codec-proxy", "lines-codec"]),
    pair("rmcp, stdio_pipes", client::rmcp, &["rmcp-proxy", "rmcp"]),
    pair("rmcp with wireline-rmcp", client::wireline_rmcp, &["wireline-rmcp-proxy", "wireline-rmcp"]),
];

/// The heading and the pairs of each table, and whether they use a socket instead of pipes.
const TABLES: [(&str, &[Pair], bool); 3] = [
    ("tools/call over pipes", OVER_PIPES, false),
    ("tools/call over a Unix socket", OVER_SOCKETS, true),
    ("tools/call over pipes, through a proxy", THROUGH_A_PROXY, false),
];

/// Measures all pairs, and hands each table with its heading to `report` as soon as it is done.
pub(crate) fn compare<E>(time: Duration, mut report: impl FnMut(&str, &Table) -> Result<(), E>) -> Result<(), E> {
    for (title, pairs, over_socket) in TABLES {
        let (rounds, samples) = measure(title, pairs, over_socket, time);
        let header = ["", "p50, µs", "p90, µs", "p99, µs", "calls/s", "median", "calls/s, 16 in flight", "median"];
        let mut table = Table::new(header);
        for (pair, mut samples) in pairs.iter().zip(samples) {
            table.push(samples.row(pair.name));
        }
        report(&format!("{title}: latency in {rounds} rounds; calls/s in the best and the median round"), &table)?;
    }
    Ok(())
}

/// What was measured of one pair, in all rounds.
#[derive(Default)]
struct Samples {
    /// How long each call took, one after the other.
    latencies: Vec<Duration>,
    /// Calls per second in each round: one after the other, and with many in flight.
    one: Vec<f64>,
    many: Vec<f64>,
}

impl Samples {
    fn row(&mut self, name: &str) -> Vec<String> {
        self.latencies.sort();
        let latency = |percent| figures(percentile(&self.latencies, percent).as_secs_f64() * 1e6);
        let mut cells = vec![name.to_owned(), latency(50), latency(90), latency(99)];
        for rates in [&mut self.one, &mut self.many] {
            rates.sort_by(f64::total_cmp);
            let best = rates.last().copied().unwrap_or_default();
            cells.extend([best, *percentile(rates, 50)].map(|rate| format!("{rate:.0}")));
        }
        cells
    }
}

/// The smallest of `sorted` that is no less than `percent` % of them.
fn percentile<T>(sorted: &[T], percent: usize) -> &T {
    &sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}

/// All pairs run at the same time, and take turns in a different order in each round.
fn measure(title: &str, pairs: &[Pair], over_socket: bool, time: Duration) -> (u32, Vec<Samples>) {
    let (calls, fewest) = if time.is_zero() { (IN_FLIGHT, 1) } else { (CALLS, FEWEST) };
    let mut sessions: Vec<Session> = pairs.iter().map(|pair| Session::start(pair, over_socket)).collect();
    let mut samples: Vec<Samples> = pairs.iter().map(|_| Samples::default()).collect();
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    let mut random = Random::new(1);
    let progress = Progress::of(title);
    let (start, mut rounds) = (Instant::now(), 0);
    for session in &sessions {
        session.one_by_one(calls);
        session.many_at_once(calls);
    }
    while rounds < fewest || start.elapsed() < time {
        shuffle(&mut order, &mut random);
        for &at in &order {
            let (session, samples) = (&sessions[at], &mut samples[at]);
            let latencies = session.one_by_one(calls);
            samples.one.push(calls as f64 / latencies.iter().sum::<Duration>().as_secs_f64());
            samples.latencies.extend(latencies);
            let took = session.many_at_once(calls);
            samples.many.push((calls * IN_FLIGHT) as f64 / took.as_secs_f64());
        }
        rounds += 1;
        progress.rounds(rounds, start.elapsed().as_secs_f64() / time.as_secs_f64());
    }
    sessions.drain(..).for_each(Session::end);
    (rounds, samples)
}

/// A client, and the server that it has started.
struct Session {
    name: &'static str,
    /// Its tasks are those of the client.
    runtime: Runtime,
    call: Arc<Call>,
    server: Child,
}

/// Calls the tool with a text, and returns that of the result.
type Call = dyn Fn(String) -> BoxFuture<String> + Send + Sync;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl Session {
    fn start(pair: &Pair, over_socket: bool) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect(WORKS);
        let (server, call) = runtime.block_on(async {
            let (server, stream) = stream::start(pair.server, over_socket).expect(WORKS);
            (server, (pair.client)(stream).await)
        });
        Self { name: pair.name, runtime, call, server }
    }

    /// Runs a client's part in a task, as most programs do, and not in the future that the runtime was started with,
    /// where each wake-up would take a system call.
    fn run<T: Send + 'static>(&self, part: impl Future<Output = T> + Send + 'static) -> T {
        self.runtime.block_on(async { tokio::spawn(part).await.unwrap_or_else(|_| panic!("{} fails", self.name)) })
    }

    /// How long each of `calls` takes.
    fn one_by_one(&self, calls: usize) -> Vec<Duration> {
        let call = Arc::clone(&self.call);
        self.run(async move {
            let mut latencies = Vec::with_capacity(calls);
            for nth in 0..calls {
                let text = text(nth);
                let start = Instant::now();
                let said = call(text.clone()).await;
                latencies.push(start.elapsed());
                assert_eq!(said, text);
            }
            latencies
        })
    }

    /// How long it takes if as many tasks as may be in flight make `calls` each.
    fn many_at_once(&self, calls: usize) -> Duration {
        let call = Arc::clone(&self.call);
        self.run(async move {
            let start = Instant::now();
            let tasks: Vec<_> = (0..IN_FLIGHT)
                .map(|task| {
                    let call = Arc::clone(&call);
                    tokio::spawn(async move {
                        for nth in 0..calls {
                            let text = text(task * calls + nth);
                            assert_eq!(call(text.clone()).await, text);
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.expect("the same text comes back");
            }
            start.elapsed()
        })
    }

    /// The server ends with its input.
    fn end(mut self) {
        drop((self.call, self.runtime));
        let status = self.server.wait().expect(WORKS);
        assert!(status.success(), "the server of {} ends with {status}", self.name);
    }
}

/// A different text for each call.
fn text(nth: usize) -> String {
    format!("call {nth} of \"echo\": plain text with a line break\nand some more")
}

/// Of `tools/call`.
#[derive(Deserialize, Serialize)]
struct Params<T> {
    name: String,
    arguments: Echo<T>,
}

#[derive(Deserialize, Serialize)]
struct Echo<T> {
    text: T,
}

impl Params<String> {
    fn new(text: String) -> Self {
        Self { name: "echo".to_owned(), arguments: Echo { text } }
    }
}

#[derive(Clone, Deserialize, Serialize)]
struct ToolResult {
    content: Vec<Content>,
}

#[derive(Clone, Deserialize, Serialize)]
struct Content {
    r#type: String,
    text: String,
}

impl ToolResult {
    /// What the tool `echo` returns.
    fn of(params: Params<String>) -> Self {
        assert_eq!(params.name, "echo");
        Self { content: vec![Content { r#type: "text".to_owned(), text: params.arguments.text }] }
    }

    fn into_text(mut self) -> String {
        self.content.pop().expect("a text").text
    }
}

/// The params of `initialize`, and the result that accepts them.
fn hello() -> serde_json::Value {
    let client = serde_json::json!({ "name": "peers", "version": "0" });
    serde_json::json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client })
}

fn welcome(params: &serde_json::Value) -> serde_json::Value {
    let server = serde_json::json!({ "name": "peers", "version": "0" });
    let version = &params["protocolVersion"];
    serde_json::json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": server })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_some_of_the_samples() {
        let sorted: Vec<u32> = (1..=200).collect();
        assert_eq!([1, 50, 90, 99, 100].map(|percent| *percentile(&sorted, percent)), [2, 100, 180, 198, 200]);
        assert_eq!([50, 99].map(|percent| *percentile(&[7], percent)), [7, 7]);
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let latencies = (1..=100).rev().map(Duration::from_micros).collect();
        let mut samples = Samples { latencies, one: vec![3.0, 1.0, 2.0], many: vec![20.0, 10.0] };
        assert_eq!(samples.row("name"), ["name", "50.0", "90.0", "99.0", "3", "2", "20", "10"]);
    }
}

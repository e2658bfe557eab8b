//! Whole servers on tokio, over a Unix socket: each reads requests, remembers which are in flight, decodes their params,
//! and answers them.
//!
//! Client and server share one thread, so a round takes as long as all the work of both. The client's part is the same
//! for all, and small: it writes lines that were encoded before, and counts those that come back.

mod lines_codec;
mod wireline;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};

use crate::comparison::{Comparison, Part, Row};
use crate::contenders::lines;
use crate::progress::Progress;
use crate::rounds::{self, Best, Runner};

/// What a client sends in a round, in bytes.
const PASS: usize = 1 << 20;

/// How many answers may wait for the task that writes, where there is a channel to it.
const QUEUE: usize = 1000;

const WORKS: &str = "a pair of sockets and a runtime work";

/// One comparison for each size of a request, and for each way of answering.
pub(crate) fn compare(time: Duration) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (how, servers) in [("in the task that reads", IN_PLACE), ("in tasks of their own", IN_TASKS)] {
        for len in [60, 1000, 20_000] {
            comparisons.push(compare_servers(how, servers, &Session::new(len), time));
        }
    }
    comparisons
}

struct Server {
    name: &'static str,
    part: Part,
    serve: Serve,
}

type Serve = fn(UnixStream) -> Pin<Box<dyn Future<Output = ()> + Send>>;

const IN_PLACE: &[Server] = &[
    Server { name: "wireline", part: Part::Subject, serve: |stream| Box::pin(wireline::in_place(stream)) },
    Server { name: "  with LineWriter", part: Part::Variant, serve: |stream| Box::pin(wireline::halves(stream)) },
    Server { name: "  in Framed", part: Part::Variant, serve: |stream| Box::pin(wireline::framed(stream)) },
    Server {
        name: "LinesCodec + serde_json",
        part: Part::Peer,
        serve: |stream| Box::pin(lines_codec::in_place(stream)),
    },
];

const IN_TASKS: &[Server] = &[
    Server { name: "wireline", part: Part::Subject, serve: |stream| Box::pin(wireline::in_tasks(stream)) },
    Server {
        name: "LinesCodec + serde_json",
        part: Part::Peer,
        serve: |stream| Box::pin(lines_codec::in_tasks(stream)),
    },
];

fn compare_servers(how: &str, servers: &[Server], session: &Session, time: Duration) -> Comparison {
    let runtime = Builder::new_current_thread().enable_io().build().expect(WORKS);
    let mut runners: Vec<Runner<'_>> = Vec::new();
    for &Server { name, serve, .. } in servers {
        assert!(session.is_answered_by(&runtime, serve), "{name} answers something else");
        let runtime = &runtime;
        runners.push(Box::new(move |_| session.run(runtime, serve, |_| {})));
    }
    let title = format!("requests, answered {how}");
    let progress = Progress::of(&title);
    let Best { times, rounds } = rounds::best(&mut runners, 1, time, &progress);
    drop(runners);
    let rows = servers.iter().zip(times).map(|(server, time)| Row::new(server.name, server.part, Some(time)));
    Comparison {
        title,
        messages: session.requests,
        bytes: session.stream.len() as u64,
        rounds,
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// What a client sends.
struct Session {
    stream: Vec<u8>,
    requests: u64,
}

impl Session {
    /// Requests of about `len` bytes each.
    fn new(len: usize) -> Self {
        let request = |id: u64, text: &str| {
            let params = json!({ "text": text });
            json!({"jsonrpc": "2.0", "id": id, "method": "echo", "params": params}).to_string() + "\n"
        };
        let requests = PASS.div_ceil(len) as u64;
        let around = request(requests, "").len();
        let text: String =
            "Plain text with a line break now and then.\n".chars().cycle().take(len.saturating_sub(around)).collect();
        let stream = (1..=requests).flat_map(|id| request(id, &text).into_bytes()).collect();
        Self { stream, requests }
    }

    /// Sends everything, and waits until everything is answered. Hands each piece of the answers to `seen`.
    fn run(&self, runtime: &Runtime, serve: Serve, mut seen: impl FnMut(&[u8])) {
        runtime.block_on(async {
            let (client, server) = UnixStream::pair().expect(WORKS);
            let (mut from_server, mut to_server) = client.into_split();
            let client = async {
                let write = async {
                    to_server.write_all(&self.stream).await.expect(WORKS);
                    to_server.shutdown().await.expect(WORKS);
                };
                let read = async {
                    let (mut answers, mut buffer) = (0, vec![0; 64 << 10]);
                    while answers < self.requests {
                        let len = from_server.read(&mut buffer).await.expect(WORKS);
                        assert!(len > 0, "the server ended after {answers} of {} answers", self.requests);
                        answers += memchr::memchr_iter(b'\n', &buffer[..len]).count() as u64;
                        seen(&buffer[..len]);
                    }
                };
                tokio::join!(write, read)
            };
            // A task of its own, as for each connection that a server accepts.
            let server = tokio::spawn(serve(server));
            client.await;
            server.await.expect(WORKS);
        });
    }

    /// Whether each request gets one response, with the text it has sent.
    fn is_answered_by(&self, runtime: &Runtime, serve: Serve) -> bool {
        let mut said = Vec::new();
        self.run(runtime, serve, |piece| said.extend_from_slice(piece));
        let by_id = |stream: &[u8], payload: &str| {
            let messages = lines(stream).map(|line| serde_json::from_slice::<Value>(line).expect("JSON"));
            let mut texts: Vec<_> =
                messages.map(|message| (message["id"].as_u64(), message[payload]["text"].clone())).collect();
            texts.sort_by_key(|(id, _)| *id);
            texts
        };
        by_id(&said, "result") == by_id(&self.stream, "params")
    }
}

#[derive(Deserialize)]
struct Params {
    text: String,
}

#[derive(Serialize)]
struct Answer {
    text: String,
    is_error: bool,
}

/// What all servers do with a request.
fn handle(method: &str, params: Params) -> Answer {
    Answer { is_error: method != "echo", text: params.text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_answers() {
        let runtime = Builder::new_current_thread().enable_io().build().unwrap();
        for Server { name, serve, .. } in IN_PLACE.iter().chain(IN_TASKS) {
            for len in [60, 20_000] {
                assert!(Session::new(len).is_answered_by(&runtime, *serve), "{name}, {len}");
            }
        }
    }

    #[test]
    fn requests_have_the_size_they_are_said_to_have() {
        for len in [60, 1000, 20_000] {
            let Session { stream, requests } = Session::new(len);
            let mean = stream.len() as u64 / requests;
            assert!((len as u64 * 9 / 10..len as u64 * 11 / 10 + 5).contains(&mean), "{mean}");
        }
    }
}

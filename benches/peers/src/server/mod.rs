//! Whole servers on tokio, over a Unix socket: each reads requests, remembers which are in flight, decodes their params,
//! and answers them.
//!
//! Client and server share one thread, so a round takes as long as all the work of both. The client's part is the same
//! for all, and small: it writes lines that were encoded before, and counts those that come back. A server without JSON
//! shows how small.

mod bare;
mod client;
mod lines_codec;
mod wireline;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::runtime::Builder;

use crate::comparison::{Comparison, Part, Row};
use crate::contenders::lines;
use crate::progress::Progress;
use crate::rounds::{self, Best, Runner};

use client::Session;

/// What a client sends in a round, in bytes, if it needn't wait for answers.
const PASS: usize = 1 << 20;

/// How many requests a client sends in a round at most, if it must wait for answers.
const CALLS: usize = 4096;

/// How many answers may wait for the task that writes, where there is a channel to it.
const QUEUE: usize = 1000;

const WORKS: &str = "a pair of sockets and a runtime work";

/// One comparison for each size of a request, for each number in flight, and for each way of answering.
pub(crate) fn compare(time: Duration) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (how, servers) in [("in the task that reads", IN_PLACE), ("in tasks of their own", IN_TASKS)] {
        for (len, in_flight) in [
            (60, usize::MAX),
            (60, 256),
            (60, 16),
            (60, 1),
            (1000, usize::MAX),
            (1000, 256),
            (1000, 16),
            (1000, 1),
            (20_000, usize::MAX),
        ] {
            comparisons.push(compare_servers(how, servers, &session(len, in_flight), time));
        }
    }
    comparisons
}

/// `usize::MAX` in flight are as many as the socket takes.
fn session(len: usize, in_flight: usize) -> Session {
    let requests = PASS.div_ceil(len);
    match in_flight {
        usize::MAX => Session::new(len, requests, requests),
        in_flight => Session::new(len, requests.min(CALLS), in_flight),
    }
}

struct Server {
    name: &'static str,
    part: Part,
    serve: Serve,
}

type Serve = fn(UnixStream) -> Pin<Box<dyn Future<Output = ()> + Send>>;

const IN_PLACE: &[Server] = &[
    Server { name: "wireline", part: Part::Subject, serve: |stream| Box::pin(wireline::in_place(stream)) },
    Server {
        name: "LinesCodec + serde_json",
        part: Part::Peer,
        serve: |stream| Box::pin(lines_codec::in_place(stream)),
    },
    Server {
        name: "LinesCodec + serde_json + channel",
        part: Part::Peer,
        serve: |stream| Box::pin(lines_codec::with_channel(stream)),
    },
    Server { name: "no JSON", part: Part::Codec, serve: |stream| Box::pin(bare::serve(stream)) },
];

const IN_TASKS: &[Server] = &[
    Server { name: "wireline", part: Part::Subject, serve: |stream| Box::pin(wireline::serve(stream)) },
    Server { name: "  a task each", part: Part::Variant, serve: |stream| Box::pin(wireline::in_tasks(stream)) },
    Server {
        name: "LinesCodec + serde_json",
        part: Part::Peer,
        serve: |stream| Box::pin(lines_codec::in_tasks(stream)),
    },
    Server { name: "no JSON, no tasks", part: Part::Codec, serve: |stream| Box::pin(bare::serve(stream)) },
];

fn compare_servers(how: &str, servers: &[Server], session: &Session, time: Duration) -> Comparison {
    let runtime = Builder::new_current_thread().enable_io().build().expect(WORKS);
    let mut runners: Vec<Runner<'_>> = Vec::new();
    for &Server { name, part, serve } in servers {
        assert!(part == Part::Codec || session.is_answered_by(&runtime, serve), "{name} answers something else");
        let runtime = &runtime;
        runners.push(Box::new(move |_| session.run(runtime, serve, |_| {})));
    }
    let title = match session.in_flight {
        limit if limit == session.requests() => format!("requests, answered {how}"),
        limit => format!("requests, {limit} in flight, answered {how}"),
    };
    let progress = Progress::of(&title);
    let Best { times, rounds } = rounds::best(&mut runners, 1, time, &progress);
    drop(runners);
    let rows = servers.iter().zip(times).map(|(server, time)| Row::new(server.name, server.part, Some(time)));
    Comparison {
        title,
        messages: session.requests() as u64,
        bytes: session.stream.len() as u64,
        rounds,
        rows: rows.collect(),
        notes: Vec::new(),
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
        for Server { name, serve, .. } in IN_PLACE.iter().chain(IN_TASKS).filter(|server| server.part != Part::Codec) {
            for (len, in_flight) in [(60, usize::MAX), (60, 16), (1000, 256), (20_000, usize::MAX)] {
                assert!(session(len, in_flight).is_answered_by(&runtime, *serve), "{name}, {len} B, {in_flight}");
            }
        }
    }

    #[test]
    fn requests_have_the_size_they_are_said_to_have() {
        for len in [60, 1000, 20_000] {
            let session = session(len, usize::MAX);
            let mean = session.stream.len() / session.requests();
            assert!((len * 9 / 10..len * 11 / 10 + 5).contains(&mean), "{mean}");
        }
    }
}

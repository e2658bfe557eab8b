//! A connection keeps its promises: without I/O, on threads and in asynchronous tasks.

#[cfg(feature = "tokio")]
mod asynchronous;
mod batches;
mod calls;
mod costs;
mod dialects;
mod events;
#[cfg(feature = "tokio")]
mod fairness;
mod lenient;
#[cfg(feature = "tokio")]
mod sessions;
mod threads;

use crate::common;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;
use wireline::Rules;
use wireline::connection::{Config, Connection, Event, Ticket};

/// A connection that keeps a number for each request to the peer.
type Core = Connection<u32>;

fn json_rpc() -> Core {
    Connection::new(Rules::json_rpc())
}

fn with(config: Config) -> Core {
    Connection::new(config)
}

fn request(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"work"}}"#)
}

fn lines(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line, "\n"].concat().into_bytes()).collect()
}

/// Takes the next event, which must be a request.
fn ticket(connection: &mut Core) -> Ticket {
    match connection.next_event() {
        Some(Event::Request(_, ticket)) => ticket,
        event => panic!("{event:?}, not a request"),
    }
}

/// Takes all events, answers requests with their method, and returns the kinds of the events.
fn take_all(connection: &mut Core) -> Vec<String> {
    let mut kinds = Vec::new();
    while let Some(event) = connection.next_event() {
        kinds.push(match event {
            Event::Request(request, ticket) => {
                ticket.respond(&serde_json::json!({"method": &*request.method()}));
                format!("request {}", request.id().as_json())
            }
            event => kind(&event),
        });
    }
    kinds
}

/// Describes an event in a few words.
fn kind(event: &Event<'_, u32>) -> String {
    match event {
        Event::Request(request, _) => format!("request {}", request.id().as_json()),
        Event::Notification(notification) => format!("notification {}", notification.method()),
        Event::Response(response, value) => {
            let outcome = if response.result().is_some() { "result" } else { "error" };
            format!("{outcome} for {value}")
        }
        Event::Cancelled(_, id, is_found) => format!("cancelled {} {is_found}", id.as_json()),
        Event::Lost(id, value, lost) => {
            let reason = format!("{lost:?}");
            let reason = reason.split(['(', ' ']).next().unwrap_or_default();
            format!("lost {} {value} {reason}", id.as_json())
        }
        Event::Stray(_, stray) => format!("stray {stray:?}"),
        Event::Refused(request, refusal) => format!("refused {} {refusal:?}", request.id().as_json()),
        Event::Fault(fault) => format!("fault {:?}", fault.kind()),
        event => panic!("{event:?}"),
    }
}

/// Takes everything that is to be written.
fn output(connection: &mut Core) -> String {
    let mut output = Vec::new();
    loop {
        let pending = connection.pending();
        if pending.is_empty() {
            return String::from_utf8(output).expect("UTF-8");
        }
        output.extend_from_slice(pending);
        let len = pending.len();
        connection.advance(len);
    }
}

/// Takes everything that is to be written, and describes it: the id of each answer with its error code, if there is one.
/// Arrays are in brackets.
fn answers(connection: &mut Core) -> String {
    let output = output(connection);
    let lines: Vec<String> = output.lines().map(describe).collect();
    lines.join(" ")
}

fn describe(line: &str) -> String {
    let one = |value: &Value| match (value.get("method"), value.get("error")) {
        (Some(method), _) => {
            format!("{}{}", method.as_str().expect("a string"), value.get("params").unwrap_or(&Value::Null))
        }
        (None, Some(error)) => format!("{}:{}", value["id"], error["code"]),
        (None, None) => value["id"].to_string(),
    };
    match serde_json::from_str::<Value>(line).expect("JSON") {
        Value::Array(entries) => format!("[{}]", entries.iter().map(one).collect::<Vec<_>>().join(" ")),
        value => one(&value),
    }
}

/// Panics when it is encoded.
struct Explosive;

impl Serialize for Explosive {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("on purpose")
    }
}

/// Counts how often it is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wakes {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Runs `body` in a thread, and fails if it takes so long that it must hang.
fn within<R: Send + 'static>(seconds: u64, what: &str, body: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, is_done) = channel();
    let running = thread::spawn(move || {
        let result = body();
        let _ = done.send(());
        result
    });
    // An error means that the body has panicked.
    if is_done.recv_timeout(Duration::from_secs(seconds)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        panic!("{what} hangs");
    }
    running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

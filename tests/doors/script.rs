//! A session: what the peer sends, what becomes of each request, and the responses that must come of it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use wireline::connection::{Config, Peer, Ticket};
use wireline::{Decoder, Fault, Frame, Id, Message, RpcError, Rules};

/// What becomes of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Respond(Payload),
    Fail,
    Drop,
    Panic,
    /// Waits until the request is cancelled, if the door permits, and then responds or drops the ticket.
    AwaitCancel {
        responds: bool,
    },
}

/// A result of some kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload {
    Fine,
    /// Text of this length.
    Text(usize),
    /// MCP has no such results.
    Array,
    NotANumber,
    Panics,
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fine => json!({}).serialize(serializer),
            Self::Text(len) => json!({"text": "x".repeat(*len)}).serialize(serializer),
            Self::Array => [1].serialize(serializer),
            Self::NotANumber => f64::NAN.serialize(serializer),
            Self::Panics => panic!("on purpose"),
        }
    }
}

/// Refuses further requests when the request with this number arrives, and may then answer all that are in flight.
#[derive(Clone, Copy)]
pub(crate) struct Shutdown {
    pub(crate) at: usize,
    pub(crate) aborts: bool,
}

pub(crate) struct Script {
    pub(crate) rules: Rules,
    pub(crate) backlog: usize,
    pub(crate) input: Vec<u8>,
    pub(crate) act: Box<dyn Fn(&str) -> Act + Send + Sync>,
    /// Whether answers take some time.
    pub(crate) is_slow: bool,
    pub(crate) shutdown: Option<Shutdown>,
    /// How many requests have arrived.
    pub(crate) seen: AtomicUsize,
}

impl Script {
    /// A session in which every request is answered with an empty object.
    pub(crate) fn new(rules: Rules, input: Vec<u8>) -> Self {
        Self {
            rules,
            backlog: 1 << 20,
            input,
            act: Box::new(|_| Act::Respond(Payload::Fine)),
            is_slow: false,
            shutdown: None,
            seen: AtomicUsize::new(0),
        }
    }

    pub(crate) fn config(&self) -> Config {
        Config::new(self.rules).backlog(self.backlog)
    }

    /// Called for each request that arrives.
    pub(crate) fn has_arrived<T>(&self, peer: &Peer<T>) {
        let number = self.seen.fetch_add(1, Ordering::Relaxed);
        if let Some(Shutdown { at, aborts }) = self.shutdown
            && number == at
        {
            peer.close();
            if aborts {
                thread::sleep(Duration::from_micros(at as u64 % 3 * 20));
                peer.abort(&RpcError::new(-32000, "shutting down"));
            }
        }
    }

    /// How often a handler pauses before it answers.
    pub(crate) fn pauses(&self, id: &Id<'_>) -> u64 {
        let mut hasher = DefaultHasher::new();
        id.as_json().hash(&mut hasher);
        if self.is_slow { hasher.finish() % 4 } else { 0 }
    }

    /// Waits in a thread until a request is to be answered.
    pub(crate) fn wait(&self, id: &Id<'_>, is_cancelled: impl Fn() -> bool) {
        (0..self.pauses(id)).for_each(|_| thread::sleep(Duration::from_micros(20)));
        while matches!((self.act)(id.as_json()), Act::AwaitCancel { .. }) && !is_cancelled() {
            thread::sleep(Duration::from_micros(50));
        }
    }

    /// Waits in a task until a request is to be answered.
    #[cfg(feature = "tokio")]
    pub(crate) async fn wait_async(&self, ticket: &Ticket) {
        self.pause(ticket.id()).await;
        if let Act::AwaitCancel { .. } = (self.act)(ticket.id().as_json()) {
            ticket.cancelled().await;
        }
    }

    /// Lets other tasks run for a while.
    #[cfg(any(feature = "futures-io", feature = "tokio"))]
    pub(crate) async fn pause(&self, id: &Id<'_>) {
        for _ in 0..self.pauses(id) {
            let mut is_first = true;
            std::future::poll_fn(|cx| {
                if std::mem::take(&mut is_first) {
                    cx.waker().wake_by_ref();
                    return std::task::Poll::Pending;
                }
                std::task::Poll::Ready(())
            })
            .await;
        }
    }

    /// Answers a request, drops its ticket, or panics.
    pub(crate) fn settle(&self, ticket: Ticket) {
        match (self.act)(ticket.id().as_json()) {
            Act::Respond(payload) => ticket.respond(&payload),
            Act::AwaitCancel { responds: true } => ticket.respond(&Payload::Fine),
            Act::Fail => ticket.fail(&RpcError::method_not_found()),
            Act::Drop | Act::AwaitCancel { responds: false } => drop(ticket),
            Act::Panic => panic!("on purpose"),
        }
    }

    /// Answers a request in place.
    pub(crate) fn settle_here(&self, ticket: Ticket) {
        let _ = catch_unwind(AssertUnwindSafe(|| self.settle(ticket)));
    }

    /// What a handler returns. It can't drop a ticket, except by panicking.
    pub(crate) fn outcome(&self, id: Option<&Id<'_>>) -> Result<Payload, RpcError> {
        let Some(id) = id else { return Ok(Payload::Fine) };
        match (self.act)(id.as_json()) {
            Act::Respond(payload) => Ok(payload),
            Act::AwaitCancel { responds: true } => Ok(Payload::Fine),
            Act::Fail => Err(RpcError::method_not_found()),
            Act::Drop | Act::Panic | Act::AwaitCancel { responds: false } => panic!("on purpose"),
        }
    }

    /// The number of responses to each id that the input calls for. Bad lines without an id are answered with null.
    pub(crate) fn expected(&self) -> BTreeMap<String, usize> {
        let mut expected = BTreeMap::new();
        let mut add = |entry: Result<Message<'_>, Fault>| {
            let id = match entry {
                Ok(Message::Request(request)) => request.id().as_json().to_owned(),
                Ok(_) => return,
                Err(fault) => match fault.reply() {
                    Some(reply) => reply.id().unwrap().as_json().to_owned(),
                    None => return,
                },
            };
            *expected.entry(id).or_default() += 1;
        };
        let mut decoder = Decoder::new(self.rules);
        decoder.feed(&self.input);
        decoder.finish();
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Ok(Frame::Message(message)) => add(Ok(message)),
                Ok(Frame::Batch(batch)) => batch.iter().for_each(&mut add),
                Err(fault) => add(Err(fault)),
            }
        }
        expected
    }
}

/// The responses in the whole lines of `written`: their ids, and whether they are errors. They must meet `rules`.
pub(crate) fn responses(written: &[u8], rules: Rules) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut add = |message: &Message<'_>| match message {
        Message::Response(response) => {
            found.push((response.id().unwrap().as_json().to_owned(), response.outcome().is_err()));
        }
        other => panic!("{other:?}"),
    };
    for line in whole_lines(written) {
        match Frame::parse(line, &rules).unwrap() {
            Frame::Message(message) => add(&message),
            Frame::Batch(batch) => batch.iter().for_each(|entry| add(&entry.unwrap())),
        }
    }
    found
}

pub(crate) fn whole_lines(written: &[u8]) -> impl Iterator<Item = &[u8]> {
    written.split_inclusive(|&byte| byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"))
}

pub(crate) fn count(responses: &[(String, bool)]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    responses.iter().for_each(|(id, _)| *counts.entry(id.clone()).or_default() += 1);
    counts
}

pub(crate) fn request(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)
}

/// One session of a door, which returns when everything is answered and written, or the stream has failed.
pub(crate) type Session = Arc<Script>;

/// Checks that nothing that isn't JSON was written, even after the stream broke.
pub(crate) fn check_whole(written: &[u8]) {
    for line in whole_lines(written) {
        assert!(serde_json::from_slice::<Value>(line).is_ok(), "{}", String::from_utf8_lossy(line));
    }
}

//! The methods, and the answer to a message or a batch.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use wireline::connection::{Config, Connection, Event};
use wireline::{Frame, Message, RawJson, RpcError, Rules};

/// The methods that can be called.
pub trait Methods: Clone + Send + Sync + 'static {
    /// What they return.
    type Output: Serialize + Send + 'static;

    /// Calls a method. Calls run concurrently, each in its own task, so a method that blocks or computes for long
    /// should use `spawn_blocking`.
    fn call(&self, call: Call) -> impl Future<Output = Result<Self::Output, RpcError>> + Send;
}

/// A request or a notification. It shares the bytes of the body it arrived in.
#[derive(Debug)]
pub struct Call(Message<'static>);

impl Call {
    /// The method.
    pub fn method(&self) -> Cow<'_, str> {
        self.0.method().unwrap_or_default()
    }

    /// The params as they were sent.
    pub fn params(&self) -> Option<RawJson<'_>> {
        self.0.params()
    }
}

impl From<Message<'static>> for Call {
    fn from(message: Message<'static>) -> Self {
        Self(message)
    }
}

/// Calls the methods of a message or a batch, each in its own task, waits for all of them, and returns the answers as one
/// text, or `None` if there are none.
///
/// The entries of a batch are handed to the connection one by one: it would split an array that exceeds the line limit,
/// which doesn't apply to a body.
pub(crate) async fn answer<M: Methods>(frame: Frame<'static>, rules: &Rules, methods: &M) -> Option<Vec<u8>> {
    let (is_batch, entries) = match frame {
        Frame::Message(message) => (false, vec![Ok(message)]),
        Frame::Batch(batch) => (true, batch.iter().map(|entry| entry.map(Message::into_owned)).collect()),
    };
    // Ids are unique within a body, not among clients.
    let mut connection: Connection<()> =
        Connection::new(Config::new(*rules).in_flight(entries.len()).backlog(usize::MAX));
    let mut calls = Vec::new();
    for entry in entries {
        let (message, ticket) = match connection.accept(entry.map(Frame::Message)) {
            Some(Event::Request(request, ticket)) => (Message::Request(request), Some(ticket)),
            Some(Event::Notification(notification)) => (Message::Notification(notification), None),
            _ => continue, // already answered, if it should be
        };
        let methods = methods.clone();
        calls.push((ticket, tokio::spawn(async move { methods.call(message.into()).await })));
    }
    for (ticket, call) in calls {
        // If a method panics, or its result does while it is encoded, its ticket is dropped, which answers.
        let outcome = call.await;
        if let (Some(ticket), Ok(outcome)) = (ticket, outcome) {
            let _ = catch_unwind(AssertUnwindSafe(|| ticket.settle(outcome)));
        }
    }
    let lines = connection.pending().trim_ascii_end();
    match is_batch {
        _ if lines.is_empty() => None,
        false => Some(lines.to_vec()),
        true => {
            let entries: Vec<_> = lines.split(|byte| *byte == b'\n').collect();
            Some([&b"["[..], &entries.join(&b','), b"]"].concat())
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;

    use super::*;

    /// Answers with the address of its params.
    #[derive(Clone)]
    struct Whereabouts;

    impl Methods for Whereabouts {
        type Output = usize;

        async fn call(&self, call: Call) -> Result<usize, RpcError> {
            let params = call.params().ok_or_else(RpcError::internal)?;
            Ok(params.as_bytes().as_ptr().addr())
        }
    }

    /// Methods see a slice of the body, which may itself be a slice of a larger buffer.
    #[tokio::test]
    async fn nothing_is_copied() {
        let first = "{\"jsonrpc\": \"2.0\",\n  \"id\": 1, \"method\": \"m\", \"params\": [1]}";
        let second = "{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"m\", \"params\": {\n\"a\": 1}}";
        let text = format!("POST / HTTP/1.1\r\n\r\n[\n{first},\n{second}\n]\n");
        let offset = |part: &str| text.find(part).unwrap();
        let (one, other) = (offset("[1]"), offset("{\n\"a\""));
        let buffer = Bytes::from(text.clone());
        let start = buffer.as_ptr().addr();
        let (batch, object) = (buffer.slice(offset("[\n")..), buffer.slice(offset(first)..offset(first) + first.len()));
        for (body, params) in [(batch, vec![one, other]), (object, vec![one])] {
            let rules = Rules::json_rpc();
            let frame = Frame::from_bytes(body.clone(), &rules).unwrap();
            assert!(body.as_ptr_range().contains(&frame.as_bytes().as_ptr()));
            let text = String::from_utf8(answer(frame, &rules, &Whereabouts).await.unwrap()).unwrap();
            let results = text.split("\"result\":").skip(1).map(|rest| rest.split('}').next().unwrap());
            let found: Vec<_> = results.map(|result| result.parse::<usize>().unwrap() - start).collect();
            assert_eq!(found, params);
        }
    }
}

//! Answers to a message or a batch, for both transports.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use serde::Serialize;
use tokio::task::JoinHandle;
use wireline::ledger::{Answer, Inbound};
use wireline::{Frame, Message, RawJson, RpcError};

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

/// Calls the methods, waits for all of them, and returns the answers: one for each request, and one for each bad entry
/// that is to be answered.
///
/// If a result panics while it is encoded, the answer to its request comes from [`Inbound::dropped`] instead.
pub(crate) async fn answers<M: Methods>(frame: Frame<'static>, owed: &Inbound, methods: &M) -> Vec<Answer> {
    let entries = match frame {
        Frame::Message(message) => vec![Ok(message)],
        Frame::Batch(batch) => batch.iter().map(|entry| entry.map(Message::into_owned)).collect(),
    };
    let mut answering = Vec::new();
    for entry in entries {
        answering.push(match entry {
            Ok(Message::Request(request)) => match owed.admit(&request) {
                Ok(ticket) => {
                    let methods = methods.clone();
                    Answering::Later(tokio::spawn(async move {
                        let call = async { methods.call(Call(Message::Request(request))).await };
                        Some(match AssertUnwindSafe(call).catch_unwind().await {
                            Ok(Ok(result)) => ticket.respond(&result),
                            Ok(Err(error)) => ticket.fail(&error),
                            Err(_) => ticket.fail(&RpcError::internal()),
                        })
                    }))
                }
                Err(refusal) => Answering::Now(Some(refusal)),
            },
            Ok(notification @ Message::Notification(_)) => {
                let methods = methods.clone();
                Answering::Later(tokio::spawn(async move {
                    let _ = methods.call(Call(notification)).await;
                    None
                }))
            }
            Ok(Message::Response(_)) => Answering::Now(None),
            Err(fault) => Answering::Now(fault.reply().map(|reply| owed.reply(&reply))),
        });
    }
    let mut answers = Vec::new();
    for entry in answering {
        answers.extend(match entry {
            Answering::Now(answer) => answer,
            // If the task panicked, the runtime has reported it.
            Answering::Later(call) => call.await.ok().flatten(),
        });
    }
    answers
}

enum Answering {
    Now(Option<Answer>),
    Later(JoinHandle<Option<Answer>>),
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use wireline::Rules;

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
            let found: Vec<_> = answers(frame, &Inbound::new(rules, 10), &Whereabouts)
                .await
                .into_iter()
                .map(|answer| {
                    let text = String::from_utf8(answer.accept().to_vec()).unwrap();
                    let result = text.split("\"result\":").nth(1).unwrap().trim_end().trim_end_matches('}');
                    result.parse::<usize>().unwrap() - start
                })
                .collect();
            assert_eq!(found, params);
        }
    }
}

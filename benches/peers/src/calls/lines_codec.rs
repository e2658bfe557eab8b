//! What people write by hand: `LinesCodec` of tokio-util, serde_json, and a map of the calls that wait.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::{FutureExt, SinkExt, StreamExt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};

use super::stream::{Input, Output};
use super::{ToolResult, WORKS, welcome};

const VALID: &str = "the peer sends valid messages";

/// How many lines may wait for the task that writes.
const QUEUE: usize = 1000;

/// A request or a notification; written by hand, ids are numbers.
#[derive(Deserialize, Serialize)]
pub(super) struct Request<'a, P> {
    pub(super) jsonrpc: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<i64>,
    #[serde(borrow)]
    pub(super) method: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) params: Option<P>,
}

#[derive(Deserialize, Serialize)]
pub(super) struct Response<R> {
    pub(super) jsonrpc: &'static str,
    pub(super) id: i64,
    pub(super) result: R,
}

/// The response that a client or a proxy receives.
#[derive(Deserialize)]
pub(super) struct Answer<'a> {
    pub(super) id: i64,
    #[serde(borrow)]
    pub(super) result: &'a RawValue,
}

pub(super) struct Client {
    next_id: AtomicI64,
    waiting: Arc<Mutex<HashMap<i64, oneshot::Sender<Box<RawValue>>>>>,
    outbox: mpsc::Sender<String>,
}

impl Client {
    pub(super) fn new(input: Input, output: Output) -> Self {
        let waiting: Arc<Mutex<HashMap<i64, oneshot::Sender<Box<RawValue>>>>> = Arc::default();
        let (outbox, lines) = mpsc::channel(QUEUE);
        tokio::spawn(write(lines, FramedWrite::new(output, LinesCodec::new())));
        let answered = Arc::clone(&waiting);
        tokio::spawn(async move {
            let mut lines = FramedRead::new(input, LinesCodec::new());
            while let Some(line) = lines.next().await {
                let line = line.expect(WORKS);
                let answer: Answer<'_> = serde_json::from_str(&line).expect(VALID);
                let caller = answered.lock().expect(WORKS).remove(&answer.id).expect("an answer to a call");
                let _ = caller.send(answer.result.to_owned());
            }
        });
        Self { next_id: AtomicI64::new(1), waiting, outbox }
    }

    pub(super) async fn call<P: Serialize, R: DeserializeOwned>(&self, method: &str, params: P) -> R {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (caller, answer) = oneshot::channel();
        self.waiting.lock().expect(WORKS).insert(id, caller);
        let request = Request { jsonrpc: "2.0", id: Some(id), method: method.into(), params: Some(params) };
        self.outbox.send(serde_json::to_string(&request).expect(VALID)).await.expect(WORKS);
        serde_json::from_str(answer.await.expect(WORKS).get()).expect(VALID)
    }

    pub(super) async fn notify(&self, method: &str) {
        let notification = Request::<()> { jsonrpc: "2.0", id: None, method: method.into(), params: None };
        self.outbox.send(serde_json::to_string(&notification).expect(VALID)).await.expect(WORKS);
    }
}

/// Writes as many lines at a time as there are.
pub(super) async fn write(mut outbox: mpsc::Receiver<String>, mut sink: FramedWrite<Output, LinesCodec>) {
    let mut some = Vec::new();
    while outbox.recv_many(&mut some, QUEUE).await > 0 {
        for line in some.drain(..) {
            sink.feed(line).await.expect(WORKS);
        }
        SinkExt::<String>::flush(&mut sink).await.expect(WORKS);
    }
}

/// A server that answers where it reads.
pub(super) async fn serve(input: Input, output: Output) {
    let (mut lines, mut sink) =
        (FramedRead::new(input, LinesCodec::new()), FramedWrite::new(output, LinesCodec::new()));
    loop {
        // Answers leave when there is nothing more to read.
        let line = match lines.next().now_or_never() {
            Some(line) => line,
            None => {
                SinkExt::<String>::flush(&mut sink).await.expect(WORKS);
                lines.next().await
            }
        };
        let Some(line) = line else { break };
        let line = line.expect(WORKS);
        let request: Request<'_, &RawValue> = serde_json::from_str(&line).expect(VALID);
        assert_eq!(request.jsonrpc, "2.0");
        let Some(id) = request.id else { continue };
        let params = request.params.expect("params").get();
        let answer = match &*request.method {
            "tools/call" => {
                let result = ToolResult::of(serde_json::from_str(params).expect(VALID));
                serde_json::to_string(&Response { jsonrpc: "2.0", id, result })
            }
            "initialize" => {
                let result = welcome(&serde_json::from_str(params).expect(VALID));
                serde_json::to_string(&Response { jsonrpc: "2.0", id, result })
            }
            method => panic!("{method} was called"),
        };
        sink.feed(answer.expect(VALID)).await.expect(WORKS);
    }
    SinkExt::<String>::close(&mut sink).await.expect(WORKS);
}

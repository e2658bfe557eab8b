//! What people write by hand: `Framed` with tokio-util's `LinesCodec`, serde_json, and a map of what is in flight.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::stream::SplitSink;
use futures_util::{FutureExt, SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_util::codec::{Framed, LinesCodec};

use super::{Params, QUEUE, WORKS, handle};

const VALID: &str = "a generated line is valid";

#[derive(Clone, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(untagged)]
enum Id {
    Number(i64),
    String(String),
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    id: Id,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: &'a RawValue,
}

#[derive(Serialize)]
struct Response<'a, T> {
    jsonrpc: &'static str,
    id: &'a Id,
    result: T,
}

/// What is in flight, and whether it was cancelled.
type InFlight = Mutex<HashMap<Id, bool>>;

fn admit(in_flight: &InFlight, request: &Request<'_>) {
    assert_eq!(request.jsonrpc, "2.0");
    let before = in_flight.lock().expect(WORKS).insert(request.id.clone(), false);
    assert!(before.is_none(), "an id is in use");
}

fn answer(in_flight: &InFlight, id: &Id, method: &str, params: &RawValue) -> String {
    let params: Params = serde_json::from_str(params.get()).expect(VALID);
    let result = handle(method, params);
    let line = serde_json::to_string(&Response { jsonrpc: "2.0", id, result }).expect(VALID);
    in_flight.lock().expect(WORKS).remove(id);
    line
}

pub(super) async fn in_place(stream: UnixStream) {
    let in_flight = InFlight::default();
    let mut framed = Framed::new(stream, LinesCodec::new());
    loop {
        // Answers leave when there is nothing more to read.
        let line = match framed.next().now_or_never() {
            Some(line) => line,
            None => {
                SinkExt::<String>::flush(&mut framed).await.expect(WORKS);
                framed.next().await
            }
        };
        let Some(line) = line else { break };
        let line = line.expect(WORKS);
        let request: Request<'_> = serde_json::from_str(&line).expect(VALID);
        admit(&in_flight, &request);
        let answer = answer(&in_flight, &request.id, &request.method, request.params);
        framed.feed(answer).await.expect(WORKS);
    }
    SinkExt::<String>::close(&mut framed).await.expect(WORKS);
}

/// Answers where it reads, while another task writes.
pub(super) async fn with_channel(stream: UnixStream) {
    let in_flight = InFlight::default();
    let (sink, mut lines) = Framed::new(stream, LinesCodec::new()).split::<String>();
    let (answers, outbox) = mpsc::channel::<String>(QUEUE);
    let writing = tokio::spawn(write(outbox, sink));
    while let Some(line) = lines.next().await {
        let line = line.expect(WORKS);
        let request: Request<'_> = serde_json::from_str(&line).expect(VALID);
        admit(&in_flight, &request);
        let answer = answer(&in_flight, &request.id, &request.method, request.params);
        answers.send(answer).await.expect(WORKS);
    }
    drop(answers);
    writing.await.expect(WORKS);
}

pub(super) async fn in_tasks(stream: UnixStream) {
    let in_flight = Arc::new(InFlight::default());
    let (sink, mut lines) = Framed::new(stream, LinesCodec::new()).split::<String>();
    let (answers, outbox) = mpsc::channel::<String>(QUEUE);
    let writing = tokio::spawn(write(outbox, sink));
    while let Some(line) = lines.next().await {
        let line = line.expect(WORKS);
        let request: Request<'_> = serde_json::from_str(&line).expect(VALID);
        admit(&in_flight, &request);
        let (id, method, params) = (request.id, request.method.into_owned(), request.params.to_owned());
        let (in_flight, answers) = (Arc::clone(&in_flight), answers.clone());
        tokio::spawn(async move {
            let answer = answer(&in_flight, &id, &method, &params);
            answers.send(answer).await.expect(WORKS);
        });
    }
    drop(answers);
    writing.await.expect(WORKS);
}

/// Writes as many answers at a time as there are.
async fn write(mut outbox: mpsc::Receiver<String>, mut sink: SplitSink<Framed<UnixStream, LinesCodec>, String>) {
    let mut some = Vec::new();
    while outbox.recv_many(&mut some, QUEUE).await > 0 {
        for answer in some.drain(..) {
            sink.feed(answer).await.expect(WORKS);
        }
        sink.flush().await.expect(WORKS);
    }
}

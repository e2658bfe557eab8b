//! The transport alone: receives that are cancelled, sends that are dropped, sessions that are not initialized yet.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::time::timeout;
use wireline_rmcp::LineTransport;

type Server = LineTransport<RoleServer, ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

/// A server's transport on a stream that takes so many bytes at a time, and the other end of that.
fn server(room: usize) -> (Server, DuplexStream) {
    let (near, far) = duplex(room);
    let (reader, writer) = split(far);
    (LineTransport::new(reader, writer), near)
}

fn id_of(message: &RxJsonRpcMessage<RoleServer>) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(&request.id),
        _ => None,
    }
}

fn result(id: i64, text: &str) -> TxJsonRpcMessage<RoleServer> {
    serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "result": {"text": text}})).unwrap()
}

/// Requests and bad lines come in, and their answers go out, a few bytes at a time, while `receive` is cancelled over and
/// over.
#[tokio::test]
async fn receives_may_be_cancelled() {
    let (mut transport, near) = server(5);
    let (from_server, mut to_server) = split(near);
    let writer = tokio::spawn(async move {
        for id in 0..20 {
            let bad = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"bad {id}\",\"method\":\"ping\",}}\n");
            let good = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
            to_server.write_all((bad + &good).as_bytes()).await.unwrap();
        }
        to_server.shutdown().await.unwrap();
    });
    let reader = tokio::spawn(async move {
        let mut lines = BufReader::new(from_server).lines();
        let mut ids = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            ids.push(serde_json::from_str::<Value>(&line).unwrap()["id"].clone());
        }
        ids
    });

    let mut received = Vec::new();
    let mut cancelled = 0;
    loop {
        tokio::select! {
            biased;
            message = transport.receive() => match message {
                Some(message) => received.push(id_of(&message).unwrap().clone()),
                None => break,
            },
            () = tokio::task::yield_now() => cancelled += 1,
        }
    }
    transport.close().await.unwrap();
    writer.await.unwrap();
    assert!(cancelled > 100, "{cancelled}");
    assert_eq!(received, (0..20).map(RequestId::Number).collect::<Vec<_>>());
    assert_eq!(reader.await.unwrap(), (0..20).map(|id| json!(format!("bad {id}"))).collect::<Vec<_>>());
}

/// A send that is dropped in the middle of its line does not get into the next one.
#[tokio::test]
async fn sends_may_be_dropped() {
    let (mut transport, near) = server(16);
    let dropped = timeout(Duration::from_millis(20), transport.send(result(1, "a text that does not fit")));
    assert!(dropped.await.is_err());
    let sent = tokio::spawn(transport.send(result(2, "b")));
    let mut lines = BufReader::new(near).lines();
    for id in [1, 2] {
        let line = lines.next_line().await.unwrap().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"], id);
    }
    sent.await.unwrap().unwrap();
}

/// A receive that is cancelled while it writes an answer stands in nobody's way, whether it is called again or not.
#[tokio::test]
async fn an_answer_that_was_cancelled_keeps_nobody_waiting() {
    let (mut transport, near) = server(80);
    let (from_server, mut to_server) = split(near);
    to_server.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",}\n").await.unwrap();
    assert!(timeout(Duration::from_millis(20), transport.receive()).await.is_err());

    let reader = tokio::spawn(async move {
        let mut said = String::new();
        BufReader::new(from_server).read_to_string(&mut said).await.unwrap();
        said
    });
    timeout(Duration::from_secs(10), transport.send(result(2, "b"))).await.unwrap().unwrap();
    timeout(Duration::from_secs(10), transport.close()).await.unwrap().unwrap();
    let said = reader.await.unwrap();
    let ids: Vec<_> = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone()).collect();
    assert_eq!(ids, [1, 2]);
}

/// An answer that the rules do not permit is replaced, and nothing is sent once the transport is closed.
#[tokio::test]
async fn what_breaks_the_rules_is_not_sent() {
    let (mut transport, near) = server(4096);
    let list = json!({"jsonrpc": "2.0", "id": 3, "result": [1, 2]});
    assert!(transport.send(serde_json::from_value(list).unwrap()).await.is_err());
    transport.close().await.unwrap();
    assert!(transport.send(result(4, "too late")).await.is_err());

    let mut said = String::new();
    BufReader::new(near).read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32603,\"message\":\"Internal error\"}}\n");
}

/// A faulty response to nothing is nothing: rmcp takes a response before the session is initialized for its end.
#[tokio::test]
async fn a_faulty_response_to_nothing_is_passed_over() {
    let (mut transport, mut near) = server(4096);
    near.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":NaN}\n").await.unwrap();
    near.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n").await.unwrap();
    let message = transport.receive().await.unwrap();
    assert_eq!(id_of(&message), Some(&RequestId::Number(2)));
}

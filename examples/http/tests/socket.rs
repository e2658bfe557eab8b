//! The WebSocket endpoint.

mod common;

use std::collections::BTreeSet;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use common::{FAILING, hostile, internal, request, server, within};

struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    async fn new() -> Self {
        let address = server().await;
        Self(connect_async(format!("ws://{address}/ws")).await.unwrap().0)
    }

    async fn send(&mut self, text: impl Into<String>) {
        within(self.0.send(Message::text(text.into()))).await.unwrap();
    }

    async fn send_binary(&mut self, bytes: impl Into<Bytes>) {
        within(self.0.send(Message::binary(bytes.into()))).await.unwrap();
    }

    async fn receive(&mut self) -> String {
        match within(self.0.next()).await {
            Some(Ok(Message::Text(text))) => text.to_string(),
            other => panic!("expected text, found {other:?}"),
        }
    }

    /// Checks that nothing is sent before the answer to this request.
    async fn is_in_step(&mut self) {
        self.send(request(999, "echo", &json!(["in step"]))).await;
        assert_eq!(self.receive().await, r#"{"jsonrpc":"2.0","id":999,"result":["in step"]}"#);
    }
}

#[tokio::test]
async fn messages() {
    let mut client = Client::new().await;
    client.send(request(1, "echo", &json!({"a": "ä"}))).await;
    assert_eq!(client.receive().await, r#"{"jsonrpc":"2.0","id":1,"result":{"a":"ä"}}"#);
    let entries = [request(2, "sleep", &json!([30])), r#"{"jsonrpc":"2.0","method":"echo"}"#.into(), "7".into()];
    client.send(format!("[\n{}\n]", entries.join(",\n"))).await;
    let answers: Value = serde_json::from_str(&client.receive().await).unwrap();
    assert_eq!((answers[0]["error"]["code"].as_i64(), answers.as_array().unwrap().len()), (Some(-32600), 2));
    assert_eq!((&answers[1]["id"], &answers[1]["result"]), (&json!(2), &json!("slept")));
    // None of these is answered.
    for text in [
        r#"{"jsonrpc":"2.0","method":"echo"}"#,
        r#"{"jsonrpc":"2.0","method":"panic"}"#,
        r#"[{"jsonrpc":"2.0","method":"none"}]"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ] {
        client.send(text).await;
    }
    client.is_in_step().await;
}

#[tokio::test]
async fn binary_messages_are_taken_like_text() {
    let mut client = Client::new().await;
    client.send_binary(request(1, "echo", &json!(["ä"])).into_bytes()).await;
    assert_eq!(client.receive().await, r#"{"jsonrpc":"2.0","id":1,"result":["ä"]}"#);
    client.send_binary(&b"\xff\xfe\x00"[..]).await;
    assert!(client.receive().await.starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#));
    client.is_in_step().await;
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_no_more() {
    let mut client = Client::new().await;
    for (text, expected) in hostile() {
        client.send_binary(text.clone()).await;
        if let Some((id, code)) = expected {
            let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#);
            let answer = client.receive().await;
            assert!(answer.starts_with(&start), "{}: {answer}", String::from_utf8_lossy(&text));
        }
        client.is_in_step().await;
    }
}

#[tokio::test]
async fn methods_that_fail() {
    let mut client = Client::new().await;
    for method in FAILING {
        client.send(request(1, method, &json!([]))).await;
        assert_eq!(client.receive().await, internal(1), "{method}");
    }
    // The id is free again.
    client.send(request(1, "echo", &json!([]))).await;
    assert_eq!(client.receive().await, r#"{"jsonrpc":"2.0","id":1,"result":[]}"#);
}

#[tokio::test]
async fn long_messages() {
    let mut client = Client::new().await;
    // Longer than the line limit, with the id at the end.
    let text = format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{}"],"id":"last"}}"#, "x".repeat(150_000));
    client.send(text).await;
    let answer = client.receive().await;
    assert!(answer.starts_with(r#"{"jsonrpc":"2.0","id":"last","error":{"code":-32600,"#), "{answer}");
    client.is_in_step().await;
    // More than twice the limit isn't read.
    let _ = client.0.send(Message::text("x".repeat(300_000))).await;
    match within(client.0.next()).await {
        Some(Ok(Message::Close(Some(close)))) => assert_eq!(u16::from(close.code), 1009),
        // The server closed its end before all of it was sent.
        Some(Err(Error::Io(_) | Error::Protocol(_))) => {}
        other => panic!("expected a close, found {other:?}"),
    }
}

#[tokio::test]
async fn an_id_in_flight_is_refused() {
    let mut client = Client::new().await;
    client.send(request(1, "sleep", &json!([500]))).await;
    client.send(request(1, "echo", &json!([]))).await;
    assert!(client.receive().await.starts_with(r#"{"jsonrpc":"2.0","id":1,"error":"#));
    assert_eq!(client.receive().await, r#"{"jsonrpc":"2.0","id":1,"result":"slept"}"#);
}

#[tokio::test]
async fn a_thousand_at_once() {
    let mut client = Client::new().await;
    let (mut sink, mut stream) = {
        let Client(socket) = client;
        socket.split()
    };
    let sending = async {
        for id in 0..1000 {
            let method = if id % 10 == 0 { "sleep" } else { "echo" };
            sink.send(Message::text(request(id, method, &json!([id % 7])))).await.unwrap();
        }
    };
    let receiving = async {
        let mut ids = BTreeSet::new();
        while ids.len() < 1000 {
            let answer = stream.next().await.unwrap().unwrap();
            let answer: Value = serde_json::from_str(answer.to_text().unwrap()).unwrap();
            assert!(answer.get("result").is_some(), "{answer}");
            assert!(ids.insert(answer["id"].as_i64().unwrap()), "twice: {answer}");
        }
    };
    within(async { tokio::join!(sending, receiving) }).await;
    client = Client(sink.reunite(stream).unwrap());
    client.is_in_step().await;
}

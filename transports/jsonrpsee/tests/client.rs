//! What the client can do: many calls, batches, notifications, subscriptions.

use crate::common;

use std::time::Duration;

use common::{connect, connect_with, reported};
use jsonrpsee_core::client::async_client::PingConfig;
use jsonrpsee_core::client::{Client, ClientT, IdKind, Subscription, SubscriptionClientT};
use jsonrpsee_core::params::BatchRequestBuilder;
use jsonrpsee_core::rpc_params;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use wireline_jsonrpsee::wireline::Rules;

/// Answers each request with its params, in an order of its own, until the client is gone.
async fn echo(mut server: common::Server) {
    let mut waiting: Vec<Value> = Vec::new();
    while let Some(line) = server.line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        waiting.push(request);
        // The last of ten first.
        if waiting.len() == 10 {
            for request in waiting.drain(..).rev() {
                server.answer(&request["id"], request["params"].clone()).await;
            }
        }
    }
    assert!(waiting.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_concurrent_calls() {
    let (client, server, incidents) = connect();
    let server = tokio::spawn(echo(server));
    let client = std::sync::Arc::new(client);
    let mut calls = JoinSet::new();
    for i in 0..10_000_u32 {
        let client = std::sync::Arc::clone(&client);
        calls.spawn(async move { (i, client.request::<(u32, String), _>("echo", rpc_params![i, "text"]).await) });
    }
    let mut answered = 0;
    while let Some(call) = calls.join_next().await {
        let (i, outcome) = call.unwrap();
        assert_eq!(outcome.unwrap(), (i, "text".to_owned()));
        answered += 1;
    }
    assert_eq!(answered, 10_000);
    drop(client);
    server.await.unwrap();
    assert_eq!(reported(&incidents), [""; 0]);
}

fn batch(len: usize) -> BatchRequestBuilder<'static> {
    let mut batch = BatchRequestBuilder::new();
    for i in 0..len {
        batch.insert("double", rpc_params![i]).unwrap();
    }
    batch
}

#[tokio::test]
async fn a_batch_of_a_hundred() {
    for id_kind in [IdKind::Number, IdKind::String] {
        let (client, mut server, incidents) = connect_with(Client::builder().id_format(id_kind), Rules::json_rpc());
        let server = async {
            let Value::Array(requests) = server.message().await else { panic!("expected an array") };
            let answers = requests.iter().rev().map(|request| {
                let double = 2 * request["params"][0].as_u64().unwrap();
                json!({"jsonrpc": "2.0", "id": request["id"], "result": double})
            });
            server.say(Value::Array(answers.collect()).to_string()).await;
        };
        let (answers, ()) = tokio::join!(client.batch_request::<usize>(batch(100)), server);
        let doubles: Vec<_> = answers.unwrap().into_iter().map(Result::unwrap).collect();
        assert_eq!(doubles, (0..100).map(|i| 2 * i).collect::<Vec<_>>());
        assert_eq!(reported(&incidents), [""; 0]);
    }
}

#[tokio::test]
async fn a_subscription() {
    let (client, mut server, incidents) = connect();
    let serve = async {
        let subscribe = server.message().await;
        assert_eq!((&subscribe["method"], &subscribe["params"]), (&json!("count"), &json!([3])));
        server.answer(&subscribe["id"], json!("counter")).await;
        for tick in 1..=3 {
            let params = json!({"subscription": "counter", "result": tick});
            server.say(json!({"jsonrpc": "2.0", "method": "tick", "params": params}).to_string()).await;
            server.say("a log line").await;
        }
        let unsubscribe = server.message().await;
        assert_eq!((&unsubscribe["method"], &unsubscribe["params"]), (&json!("stop"), &json!(["counter"])));
        server.answer(&unsubscribe["id"], json!(true)).await;
        server
    };
    let subscribe = async {
        let mut ticks: Subscription<u64> = client.subscribe("count", rpc_params![3], "stop").await.unwrap();
        for tick in 1..=3 {
            assert_eq!(ticks.next().await.unwrap().unwrap(), tick);
        }
        ticks.unsubscribe().await.unwrap();
    };
    let ((), mut server) = tokio::join!(subscribe, serve);
    // The client goes on.
    let (outcome, ()) = tokio::join!(client.request::<u8, _>("m", rpc_params![]), async {
        let request = server.message().await;
        server.answer(&request["id"], json!(7)).await;
    });
    assert_eq!(outcome.unwrap(), 7);
    assert_eq!(reported(&incidents), ["invalid-literal"; 3]);
}

#[tokio::test]
async fn notifications_of_a_method() {
    let (client, mut server, incidents) = connect();
    let mut notes: Subscription<Value> = client.subscribe_to_method("note").await.unwrap();
    server.say(r#"{"jsonrpc":"2.0","method":"note","params":{"a":1}}"#).await;
    server.say(r#"{"jsonrpc":"2.0","method":"other"}"#).await;
    server.say(r#"[{"jsonrpc":"2.0","method":"note","params":["\ud800", 1e999]}]"#).await;
    server.say("{\"method\" : \"n\\u006fte\", \"jsonrpc\":\"\\u0032.0\", \"params\":[2], \"x\":1, \"x\":1}").await;
    assert_eq!(notes.next().await.unwrap().unwrap(), json!({"a": 1}));
    // JSON, but nothing that a `Value` can be made of: that is for whoever wanted one.
    notes.next().await.unwrap().unwrap_err();
    assert_eq!(notes.next().await.unwrap().unwrap(), json!([2]));
    assert_eq!(reported(&incidents), [""; 0]);
}

/// jsonrpsee writes `"params":null`, and line breaks if they are in a raw value.
#[tokio::test]
async fn what_jsonrpsee_writes_is_normalized() {
    struct Pretty;
    impl jsonrpsee_core::traits::ToRpcParams for Pretty {
        fn to_rpc_params(self) -> Result<Option<Box<jsonrpsee_core::JsonRawValue>>, serde_json::Error> {
            jsonrpsee_core::JsonRawValue::from_string("{\n  \"a\": 1.0\n}".to_owned()).map(Some)
        }
    }
    let (client, mut server, incidents) = connect();
    client.notification("ready", rpc_params![]).await.unwrap();
    client.notification("pretty", Pretty).await.unwrap();
    assert_eq!(server.line().await.unwrap(), r#"{"jsonrpc":"2.0","method":"ready"}"#);
    assert_eq!(server.line().await.unwrap(), r#"{"jsonrpc":"2.0","method":"pretty","params":{   "a": 1.0 }}"#);
    assert_eq!(reported(&incidents), [""; 0]);
}

/// What was sent before the client is dropped arrives, and then the end.
#[tokio::test]
async fn dropping_the_client_ends_the_connection() {
    let (client, mut server, _) = connect();
    client.notification("last", rpc_params![]).await.unwrap();
    assert_eq!(server.line().await.unwrap(), r#"{"jsonrpc":"2.0","method":"last"}"#);
    drop(client);
    assert_eq!(server.line().await, None);
}

/// A stream of lines has no pings, and being idle isn't being dead.
#[tokio::test]
async fn pings_do_no_harm() {
    let often = PingConfig::new().ping_interval(Duration::from_millis(5)).inactive_limit(Duration::from_millis(100));
    let (client, mut server, _) = connect_with(Client::builder().enable_ws_ping(often), Rules::json_rpc());
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (outcome, ()) = tokio::join!(client.request::<u8, _>("m", rpc_params![]), async {
        let request = server.message().await;
        server.answer(&request["id"], json!(7)).await;
    });
    assert_eq!(outcome.unwrap(), 7);
}

#[cfg(unix)]
#[tokio::test]
async fn over_a_unix_socket() {
    use tokio::net::UnixStream;
    use wireline_jsonrpsee::LineTransport;
    use wireline_jsonrpsee::wireline::aio::{Connection, Tokio};

    let (near, far) = UnixStream::pair().unwrap();
    let server = tokio::spawn(async move {
        let (reader, writer) = far.into_split();
        let (_, connection) = Connection::new(Tokio(reader), Tokio(writer), Rules::json_rpc());
        connection.serve(async |call| call.params::<Value>()).await.unwrap();
    });
    let (reader, writer) = near.into_split();
    let (sender, receiver) = LineTransport::new(reader, writer).split();
    let client = Client::builder().build_with_tokio(sender, receiver);
    for i in 0..100 {
        assert_eq!(client.request::<[u32; 1], _>("echo", rpc_params![i]).await.unwrap(), [i]);
    }
    drop(client);
    server.await.unwrap();
}

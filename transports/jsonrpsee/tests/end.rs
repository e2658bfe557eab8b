//! How connections end: every call that is open ends with it, and says why.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::{HANG, connect, why};
use jsonrpsee_core::client::{Client, ClientT, Error, Subscription, SubscriptionClientT};
use jsonrpsee_core::params::BatchRequestBuilder;
use jsonrpsee_core::rpc_params;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, duplex, split};
use tokio::task::JoinSet;
use tokio::time::timeout;
use wireline_jsonrpsee::{Disconnected, LineTransport};

/// Many times, since jsonrpsee's tasks race for who says it first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_open_call_is_told() {
    for _ in 0..50 {
        let (client, mut server, _) = connect();
        let client = Arc::new(client);
        let serve = async {
            let subscribe = server.message().await;
            server.answer(&subscribe["id"], json!(1)).await;
            server
        };
        let (ticks, mut server) = tokio::join!(client.subscribe("count", rpc_params![], "stop"), serve);
        let mut ticks: Subscription<u8> = ticks.unwrap();
        let mut calls = JoinSet::new();
        for _ in 0..20 {
            let client = Arc::clone(&client);
            calls.spawn(async move { client.request::<Value, _>("m", rpc_params![]).await.unwrap_err() });
        }
        for _ in 0..2 {
            let client = Arc::clone(&client);
            calls.spawn(async move {
                let mut batch = BatchRequestBuilder::new();
                batch.insert("m", rpc_params![]).unwrap();
                client.batch_request::<Value>(batch).await.unwrap_err()
            });
        }
        // All of them: one that is made at the very end may be lost in jsonrpsee's channel, until its request timeout.
        for _ in 0..22 {
            server.line().await;
        }
        drop(server);
        while let Some(error) = timeout(HANG, calls.join_next()).await.expect("no call hangs") {
            let error = error.unwrap();
            assert!(matches!(why(&error), Some(Disconnected::Closed | Disconnected::Write(_))), "{error}");
        }
        assert!(timeout(HANG, ticks.next()).await.unwrap().is_none());
        // From now on, too.
        let error = client.request::<Value, _>("m", rpc_params![]).await.unwrap_err();
        assert!(why(&error).is_some(), "{error}");
    }
}

/// Calls that wait to be sent to a server that doesn't read.
#[tokio::test]
async fn a_server_that_never_reads_and_then_ends() {
    let (near, far) = duplex(10);
    let (reader, writer) = split(near);
    let (mut from_client, to_client) = split(far);
    let (sender, receiver) = LineTransport::new(reader, writer).split();
    let client = Arc::new(Client::builder().request_timeout(HANG).build_with_tokio(sender, receiver));
    let mut calls = JoinSet::new();
    // More than the backlog.
    let text = "x".repeat(100_000);
    for _ in 0..30 {
        let (client, text) = (Arc::clone(&client), text.clone());
        calls.spawn(async move { client.request::<Value, _>("m", rpc_params![text]).await.unwrap_err() });
    }
    from_client.read_exact(&mut [0; 5]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop((from_client, to_client));
    while let Some(error) = timeout(HANG, calls.join_next()).await.expect("no call hangs") {
        let error = error.unwrap();
        assert!(why(&error).is_some(), "{error}");
    }
}

/// Answers that were on their way when writing failed are not lost.
#[tokio::test]
async fn a_server_that_stops_reading_may_still_answer() {
    use tokio::io::AsyncWriteExt;

    let ((reader, mut to_client), (writer, from_client)) = (duplex(1000), duplex(1000));
    let (sender, receiver) = LineTransport::new(reader, writer).split();
    let client = Client::builder().build_with_tokio(sender, receiver);
    let serve = async {
        let mut from_client = from_client;
        from_client.read_exact(&mut [0; 10]).await.unwrap();
        drop(from_client);
        tokio::time::sleep(Duration::from_millis(100)).await;
        to_client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":1}\n").await.unwrap();
    };
    let more = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        client.request::<Value, _>("lost", rpc_params![]).await
    };
    let (answered, lost, ()) = tokio::join!(client.request::<u8, _>("m", rpc_params![]), more, serve);
    assert_eq!(answered.unwrap(), 1);
    let error = lost.unwrap_err();
    assert!(matches!(why(&error), Some(Disconnected::Write(_))), "{error}");
    // Its text says what happened, and nothing of what was sent.
    assert!(matches!(&error, Error::RestartNeeded(_)));
    assert!(error.to_string().contains("writing to the server failed: "), "{error}");
}

/// A client that is dropped while the server doesn't read leaves nothing behind.
#[tokio::test(start_paused = true)]
async fn dropping_a_client_that_cannot_send() {
    let (near, far) = duplex(10);
    let (reader, writer) = split(near);
    let (mut from_client, to_client) = split(far);
    let (sender, receiver) = LineTransport::new(reader, writer).split();
    let client = Client::builder().build_with_tokio(sender, receiver);
    for _ in 0..20 {
        client.notification("m", rpc_params!["x".repeat(100_000)]).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    drop(client);
    tokio::time::sleep(Duration::from_secs(10)).await;
    // The writer was given up. There is an end, after some ten bytes.
    let mut rest = Vec::new();
    timeout(HANG, from_client.read_to_end(&mut rest)).await.expect("the stream ends").unwrap();
    assert!(rest.len() < 100, "{}", rest.len());
    drop(to_client);
}

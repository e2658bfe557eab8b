//! The scripted peer: what it accepts, what it refuses, and both drivers against it.
#![cfg(feature = "testing")]

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use wireline::connection::{CallError, Config, Event, Lost};
use wireline::testing::ScriptedPeer;
use wireline::{RpcError, Rules, aio, io};

/// The message of a panic.
fn panic_of(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    *payload.downcast::<String>().unwrap()
}

#[test]
fn an_unexpected_message_is_shown() {
    let (mut peer, _incoming, mut outgoing) = ScriptedPeer::new(Rules::json_rpc());
    outgoing.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sub\"}\n").unwrap();
    let message = panic_of(|| drop(peer.expect_request("add").wait()));
    let found = r#"{"jsonrpc":"2.0","id":1,"method":"sub"}"#;
    assert_eq!(message, format!("expected a request of \"add\", found {found}"));

    outgoing.write_all(b"Server started\n").unwrap();
    let message = panic_of(|| drop(peer.expect_notification("note").wait()));
    assert_eq!(
        message,
        "expected a notification of \"note\", found a faulty line: line 2, column 1: not JSON: expected an object or an array"
    );
    drop(outgoing);
    let message = panic_of(|| drop(peer.expect_response(7).wait()));
    assert_eq!(message, "expected a response to 7, found the end of the stream");
    peer.expect_end().wait();
    let message = panic_of(|| peer.notify("nan", &[f64::NAN]));
    assert!(message.starts_with("the script's message can't be encoded"), "{message}");
}

/// Whatever the program reads comes in pieces, and nothing is sent after the end.
#[test]
fn bytes_trickle() {
    let (mut peer, mut incoming, _outgoing) = ScriptedPeer::new(Rules::json_rpc());
    peer.trickle(3);
    peer.send_raw(b"1234567");
    peer.close();
    peer.send_raw(b"lost");
    let mut room = [0; 100];
    let pieces: Vec<usize> = std::iter::from_fn(|| Some(incoming.read(&mut room).unwrap())).take(4).collect();
    assert_eq!(pieces, [3, 3, 1, 0]);
}

#[test]
fn a_server_on_threads() {
    let (mut client, incoming, outgoing) = ScriptedPeer::new(Rules::json_rpc());
    let (_, connection) = io::Connection::new(incoming, outgoing, Rules::json_rpc());
    let serving = thread::spawn(|| {
        connection.report(|_| {}).serve(2, |call| match call.method() {
            "add" => call.params::<(i64, i64)>().map(|(a, b)| a + b),
            _ => Err(RpcError::method_not_found()),
        })
    });
    client.trickle(1);
    client.request(1, "add", &(1, 2));
    assert_eq!(client.expect_response(1).wait().result().unwrap().as_json(), "3");
    client.send_raw(b"noise\n");
    assert_eq!(client.expect_response(wireline::Id::NULL).wait().error().unwrap().code(), -32700);
    client.request("two", "sub", &(1, 2));
    assert_eq!(client.expect_response("two").wait().error().unwrap().code(), -32601);
    client.close();
    client.expect_end().wait();
    serving.join().unwrap().unwrap();
}

/// Time passes only where the program under test waits.
#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn a_client_under_a_paused_clock() {
    let (mut server, incoming, outgoing) = ScriptedPeer::new(Rules::mcp());
    let (peer, connection) = aio::Connection::new(incoming, outgoing, Rules::mcp());
    let running = tokio::spawn(connection.run());

    let slow = peer.call::<serde_json::Value>("slow", &());
    let request = server.expect_request("slow").await;
    assert!(tokio::time::timeout(Duration::from_secs(3600), slow).await.is_err());
    let cancelled = server.expect_notification("notifications/cancelled").await;
    assert_eq!(cancelled.params().unwrap().pointer("/requestId").unwrap().as_json(), request.id().as_json());
    server.respond(&request, &serde_json::json!({})); // too late, and harmless

    let failing = peer.call::<serde_json::Value>("fail", &());
    let request = server.expect_request("fail").await;
    server.fail(&request, &RpcError::new(7, "no"));
    assert!(matches!(failing.await, Err(CallError::Rpc(error)) if error.code() == 7 && error.message() == "no"));

    let lost = peer.call::<serde_json::Value>("lost", &());
    server.expect_request("lost").await;
    drop(server);
    assert!(matches!(lost.await, Err(CallError::Lost(Lost::Ended))));
    running.await.unwrap().unwrap();
}

/// A peer that stops reading holds up those who send, and not the script.
#[cfg(feature = "tokio")]
#[tokio::test]
async fn a_small_stream_holds_up_senders() {
    let (mut server, incoming, outgoing) = ScriptedPeer::with_capacity(Rules::json_rpc(), 100);
    let config = Config::new(Rules::json_rpc()).backlog(100);
    let (peer, mut connection) = aio::Connection::new(incoming, outgoing, config);
    let sending = tokio::spawn(async move {
        for number in 0..100 {
            peer.notify("number", &[number]).await.unwrap();
        }
        peer.end();
    });
    let running = tokio::spawn(async move { while let Some(Event::Fault(_)) = connection.next().await.unwrap() {} });
    for number in 0..100 {
        let notification = server.expect_notification("number").await;
        assert_eq!(notification.params_as::<[i64; 1]>().unwrap(), [number]);
    }
    server.expect_end().await;
    server.close();
    sending.await.unwrap();
    running.await.unwrap();
}

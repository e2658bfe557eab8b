//! How sessions end.

use std::time::Duration;

use agent_client_protocol::{
    Channel, ConnectTo, RawJsonRpcMessage, TransportFrame, UntypedMessage, UntypedRole, is_incoming_transport_closed,
};
use futures::StreamExt;
use futures::channel::oneshot;
use serde_json::json;
use smol::Timer;
use smol::future::zip;
use wireline_acp::wireline::Rules;

use crate::common::{echo, pair, run, transport};
use crate::conversation::converse;

fn message(text: &str) -> UntypedMessage {
    UntypedMessage::new("m", json!({"text": text})).unwrap()
}

#[test]
fn an_agent_that_hangs_up_ends_the_conversation() {
    for last in ["", "{\"jsonrpc\":\"2.0\",\"id\":", "{\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"result\":{\"sessionId\":\"s"]
    {
        let (near, mut agent) = pair();
        let script = async {
            let id = agent.receive_request("initialize").await;
            agent.respond(&id, json!({"protocolVersion": 1})).await;
            let id = agent.receive_request("session/new").await;
            agent.send(last.replace("\"ID\"", &id)).await;
            drop(agent);
        };
        let ((ended, _), ()) = run(zip(converse(transport(near, Rules::acp())), script));
        let error = ended.unwrap_err();
        // A line that was cut off fails its call if its id is known.
        let expected = if last.contains("ID") { "unusable response" } else { "Incoming transport closed" };
        assert!(error.message.starts_with(expected), "{last}: {error}");
    }
}

/// The SDK's own error for it, so that programs can tell.
#[test]
fn open_calls_fail_as_the_sdk_says() {
    let (near, mut agent) = pair();
    let client = UntypedRole.builder().connect_with(transport(near, Rules::acp()), async |connection| {
        let error = connection.send_request(message("")).block_task().await.unwrap_err();
        assert!(is_incoming_transport_closed(&error), "{error}");
        Ok(())
    });
    let script = async {
        agent.receive_request("m").await;
        drop(agent);
    };
    run(zip(client, script)).0.unwrap();
}

/// More than a socket holds, to a peer that reads late.
#[test]
fn what_was_sent_is_written_before_the_end() {
    let (near, mut agent) = pair();
    let text = "x".repeat(100_000);
    let client = UntypedRole.builder().connect_with(transport(near, Rules::acp()), async |connection| {
        for _ in 0..50 {
            connection.send_notification(message(&text))?;
        }
        Ok(())
    });
    let script = async {
        Timer::after(Duration::from_millis(200)).await;
        for _ in 0..50 {
            assert_eq!(agent.receive().await["params"]["text"], *text);
        }
        assert_eq!(agent.line().await, "");
    };
    run(zip(client, script)).0.unwrap();
}

/// A client that has said everything, also without a line feed at the end, still gets its answers.
#[test]
fn requests_before_the_end_are_answered() {
    let (near, mut client) = pair();
    let script = async move {
        client
            .send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\"}")
            .await;
        client.shut_down();
        assert_eq!(client.receive().await["id"], 1);
        assert_eq!(client.receive().await["id"], 2);
        assert_eq!(client.line().await, "");
    };
    run(zip(echo(transport(near, Rules::acp())), script)).0.unwrap();
}

/// A relay may end one direction and go on with the other.
#[test]
fn each_direction_ends_on_its_own() {
    let (near, mut peer) = pair();
    let (channel, driver) = ConnectTo::<UntypedRole>::into_channel_and_future(transport(near, Rules::acp()));
    let Channel { mut rx, tx, .. } = channel;
    let note = || TransportFrame::Single(RawJsonRpcMessage::notification("m".to_owned(), json!([])).unwrap());
    let script = async move {
        tx.unbounded_send(note()).unwrap();
        drop(tx);
        assert_eq!(peer.receive().await["method"], "m");
        assert_eq!(peer.line().await, "", "the end of what is sent");
        peer.send("{\"jsonrpc\":\"2.0\",\"method\":\"still\"}\n").await;
        drop(peer);
        assert!(matches!(rx.next().await, Some(TransportFrame::Single(_))));
        assert!(rx.next().await.is_none());
    };
    let (ended, ()) = run(zip(driver.unwrap(), script));
    ended.unwrap();
}

/// Asking for the end doesn't wait for the peer's.
#[test]
fn a_session_ends_while_the_peer_is_silent() {
    let (near, mut peer) = pair();
    let (done, is_done) = oneshot::channel();
    let client = async {
        let client = UntypedRole.builder().connect_with(transport(near, Rules::acp()), async |connection| {
            connection.send_notification(message("last"))
        });
        client.await.unwrap();
        done.send(()).unwrap();
    };
    let script = async {
        is_done.await.unwrap();
        assert_eq!(peer.receive().await["params"]["text"], "last");
        assert_eq!(peer.line().await, "");
    };
    run(zip(client, script));
}

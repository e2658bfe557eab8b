//! Conversations between the example's client and agent, and with peers that send what they shouldn't.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use agent_client_protocol::v1::schema::StopReason;
use agent_client_protocol::{Agent, ByteStreams, Client, ConnectTo, Error};
use serde_json::json;
use smol::future::zip;
use smol::net::unix::UnixStream;
use wireline_acp::wireline::{AnswerWithoutId, Rules};

use crate::common::{acp_agent, acp_client, pair, run, transport};

pub(crate) fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")
}

/// What both ends say to each other.
pub(crate) fn expected() -> String {
    let text = std::fs::read_to_string(file()).unwrap();
    let blank = text.lines().filter(|line| line.trim().is_empty()).count();
    format!(
        "connected to line-counter {}
you: how many lines has Cargo.toml?
agent: Reading Cargo.toml.
agent: Cargo.toml has {} lines, {blank} of them blank.
the turn ended: EndTurn
",
        env!("CARGO_PKG_VERSION"),
        text.lines().count()
    )
}

fn quiet() -> Rules {
    Rules::acp().answer_without_id(AnswerWithoutId::Never)
}

/// The client's conversation, and what it has shown.
pub(crate) async fn converse(agent: impl ConnectTo<Client>) -> (Result<StopReason, Error>, String) {
    let shown = Arc::new(Mutex::new(String::new()));
    let show = {
        let shown = Arc::clone(&shown);
        move |text: &str| *shown.lock().unwrap() += &format!("{text}\n")
    };
    let ended = acp_client::converse(agent, file(), show).await;
    let shown = shown.lock().unwrap().clone();
    (ended, shown)
}

async fn check(agent: impl ConnectTo<Client>, client: impl ConnectTo<Agent>) {
    let (served, (ended, shown)) = zip(acp_agent::serve(client), converse(agent)).await;
    served.unwrap();
    assert_eq!(ended.unwrap(), StopReason::EndTurn);
    assert_eq!(shown, expected());
}

#[test]
fn both_ends_on_smol() {
    let (near, far) = UnixStream::pair().unwrap();
    run(check(transport(near, Rules::acp()), transport(far, Rules::acp())));
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn both_ends_on_tokio() {
    use wireline_acp::{LineTransport, Tokio};

    // Room for less than a message.
    let (near, far) = tokio::io::duplex(16);
    let [near, far] = [near, far].map(|stream| {
        let (reader, writer) = tokio::io::split(stream);
        LineTransport::new(Tokio(reader), Tokio(writer))
    });
    tokio::time::timeout(crate::common::HANG, check(near, far)).await.unwrap();
}

#[test]
fn one_end_on_the_sdks_own_transport() {
    let (near, far) = UnixStream::pair().unwrap();
    run(check(ByteStreams::new(near.clone(), near), transport(far, Rules::acp())));
    let (near, far) = UnixStream::pair().unwrap();
    run(check(transport(near, Rules::acp()), ByteStreams::new(far.clone(), far)));
}

/// Lines that aren't messages. The one that isn't UTF-8 would end the session on the SDK's own transport.
fn noise() -> Vec<Vec<u8>> {
    let deep = "[".repeat(100_000);
    vec![
        b"Loading model...\n".to_vec(),
        b"\xff\xfe\x00\n".to_vec(),
        b"\n\r\n".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"method\":\"session/upd\n".to_vec(),
        b"[{\"jsonrpc\":\"2.0\",\"method\":\"session/update\"}]\n".to_vec(),
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{deep}\n").into_bytes(),
        [vec![b'x'; 100_000], b"\n".to_vec()].concat(),
    ]
}

#[test]
fn bad_lines_in_the_middle_change_nothing() {
    let (near, mut agent) = pair();
    let script = async {
        for step in 0..3 {
            let method = ["initialize", "session/new", "session/prompt"][step];
            let id = agent.receive_request(method).await;
            for line in noise() {
                agent.send(line).await;
            }
            let result = [json!({"protocolVersion": 1}), json!({"sessionId": "s"}), json!({"stopReason": "end_turn"})];
            agent.respond(&id, result[step].clone()).await;
        }
    };
    let ((ended, _), ()) = run(zip(converse(transport(near, quiet().max_line_len(10_000))), script));
    assert_eq!(ended.unwrap(), StopReason::EndTurn);
}

/// The SDK alone would wait forever, since it can't tell which call the line belongs to.
#[test]
fn a_malformed_response_fails_its_call() {
    for broken in [
        r#""result":{},"error":1"#,
        r#""result":{"protocolVersion":1},"result":{}"#,
        r#""result":{"protocolVersion":1,}"#,
        r#""result":{"protocolVersion":"\ud800"}"#,
        r#""error":"no""#,
        r#""error":{"code":2147483648,"message":"no"}"#,
        r#""neither":"result nor error""#,
    ] {
        let (near, mut agent) = pair();
        let script = async {
            let id = agent.receive_request("initialize").await;
            agent.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{broken}}}\n")).await;
            agent // stays connected
        };
        let ((ended, _), _agent) = run(zip(converse(transport(near, quiet())), script));
        let error = ended.unwrap_err();
        assert!(error.message.starts_with("unusable response: "), "{broken}: {error}");
    }
}

/// An error keeps its code, its data and further members, in both directions.
#[test]
fn errors_pass_unchanged() {
    let (near, mut agent) = pair();
    let script = async {
        let id = agent.receive_request("initialize").await;
        let error = r#"{"code":-32000,"message":"log in","data":{"how":[1]}}"#;
        agent.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n")).await;
        // The file isn't the one of the session, so the client refuses to read it.
        let params = json!({"sessionId": "s", "path": "/etc/passwd"});
        agent
            .send(json!({"jsonrpc": "2.0", "id": 1, "method": "fs/read_text_file", "params": params}).to_string())
            .await;
        agent.send("\n").await;
        agent
    };
    let ((ended, _), _agent) = run(zip(converse(transport(near, quiet())), script));
    let error = ended.unwrap_err();
    assert_eq!((i32::from(error.code), &*error.message, error.data), (-32000, "log in", Some(json!({"how": [1]}))));

    let (near, mut client) = pair();
    let script = async move {
        let params = json!({"sessionId": "s", "prompt": [{"type": "resource_link", "name": "f", "uri": "file:///f"}]});
        client
            .send(
                json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}})
                    .to_string(),
            )
            .await;
        client.send("\n").await;
        client.receive().await;
        client.send(json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": params}).to_string()).await;
        client.send("\n").await;
        assert_eq!(client.receive().await["method"], "session/update");
        let id = client.receive_request("fs/read_text_file").await;
        client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":5,"message":"no","data":null}}}}"#)).await;
        client.send("\n").await;
        let answer = client.receive().await;
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 2, "error": {"code": 5, "message": "no", "data": null}}));
    };
    run(zip(acp_agent::serve(transport(near, Rules::acp())), script)).0.unwrap();
}

/// The file exceeds the line limit: the client's answer becomes an internal error, and the agent's call ends.
#[test]
fn a_response_that_is_too_long_becomes_an_error() {
    let (near, far) = UnixStream::pair().unwrap();
    let client = converse(transport(near, Rules::acp().max_line_len(500)));
    let (served, (ended, shown)) = run(zip(acp_agent::serve(transport(far, Rules::acp())), client));
    served.unwrap();
    assert_eq!(ended.unwrap_err().message, "Internal error");
    assert!(shown.ends_with("agent: Reading Cargo.toml.\n"), "{shown}");
}

#[test]
fn a_request_that_is_too_long_fails_its_call() {
    let (near, agent) = pair();
    let (ended, _) = run(converse(transport(near, Rules::acp().max_line_len(150))));
    assert!(ended.unwrap_err().message.contains("150"));
    drop(agent);
}

//! Sessions of an rmcp client with an rmcp server over this transport.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::service::{QuitReason, RunningService, ServiceError};
use rmcp::{RoleClient, RoleServer, ServiceExt};
use serde_json::json;
use support::{Kind, Probe, Tools, call};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use tokio::time::timeout;
use wireline::Rules;
use wireline_rmcp::{Incident, LineTransport};

type Client = RunningService<RoleClient, ()>;
type Server = RunningService<RoleServer, Tools>;

async fn connect(near: DuplexStream, far: DuplexStream, rules: Rules) -> (Client, Server) {
    let (reader, writer) = split(far);
    let server = tokio::spawn(Tools.serve(LineTransport::new(reader, writer).rules(rules)));
    let (reader, writer) = split(near);
    let client = ().serve(LineTransport::new(reader, writer).rules(rules)).await.unwrap();
    (client, server.await.unwrap().unwrap())
}

async fn session(rules: Rules) -> (Client, Server) {
    let (near, far) = duplex(4096);
    connect(near, far, rules).await
}

async fn end(client: Client, server: Server) {
    client.cancel().await.unwrap();
    assert!(matches!(server.waiting().await.unwrap(), QuitReason::Closed));
}

#[tokio::test]
async fn lists_and_calls_tools() {
    let (client, server) = session(Rules::mcp()).await;
    assert!(client.peer_info().is_some());
    let names: Vec<_> = client.list_all_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["length", "repeat", "sum"]);
    assert_eq!(call(&client, "sum", json!({"a": 1, "b": 2})).await.unwrap(), "3");
    let text = "one\r\ntwo\u{2028}\"three\"\n";
    assert_eq!(call(&client, "repeat", json!({"text": text, "times": 2})).await.unwrap(), text.repeat(2));
    assert!(matches!(call(&client, "nothing", json!({})).await, Err(ServiceError::McpError(_))));
    end(client, server).await;
}

#[tokio::test]
async fn a_server_calls_its_client() {
    let (client, server) = session(Rules::mcp()).await;
    server.send_request(ping()).await.unwrap();
    end(client, server).await;
}

fn ping() -> rmcp::model::ServerRequest {
    serde_json::from_value(json!({"method": "ping"})).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_calls_at_once() {
    let (client, server) = session(Rules::mcp()).await;
    let calls = (0..200).map(|n| {
        let peer = client.peer().clone();
        tokio::spawn(async move { (n, call(&peer, "sum", json!({"a": n, "b": 1000})).await.unwrap()) })
    });
    for answer in calls.collect::<Vec<_>>() {
        let (n, sum) = answer.await.unwrap();
        assert_eq!(sum, (n + 1000).to_string());
    }
    end(client, server).await;
}

#[tokio::test]
async fn five_megabytes_there_and_back() {
    let (client, server) = session(Rules::mcp()).await;
    let text = "wire line ".repeat(500_000);
    assert_eq!(call(&client, "length", json!({"text": text})).await.unwrap(), "5000000");
    assert_eq!(call(&client, "repeat", json!({"text": text, "times": 1})).await.unwrap(), text);
    end(client, server).await;
}

/// A call over the limit is not sent, an answer over the limit is replaced, and either way the call fails.
#[tokio::test]
async fn a_message_over_the_limit_fails_its_call() {
    let (client, server) = session(Rules::mcp().max_line_len(4096)).await;
    let sent = call(&client, "length", json!({"text": "x".repeat(4096)})).await;
    assert!(matches!(sent, Err(ServiceError::TransportSend(_))), "{sent:?}");
    let answered = call(&client, "repeat", json!({"text": "x", "times": 4096})).await;
    assert!(matches!(&answered, Err(ServiceError::McpError(error)) if error.code.0 == -32603), "{answered:?}");
    assert_eq!(call(&client, "sum", json!({"a": 1, "b": 2})).await.unwrap(), "3");
    end(client, server).await;
}

#[tokio::test]
async fn the_end_of_the_stream() {
    // When the server goes away, calls fail.
    let (client, server) = session(Rules::mcp()).await;
    server.cancel().await.unwrap();
    assert!(call(&client, "sum", json!({"a": 1, "b": 2})).await.is_err());
    assert!(matches!(client.waiting().await.unwrap(), QuitReason::Closed));

    // An unterminated last line is answered. rmcp's own transport drops it.
    let last = br#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    for (kind, expected) in [(Kind::Wireline, 1), (Kind::Stock, 0)] {
        let answers = Probe::start(kind, 4096).await.unwrap().end_with(last).await.unwrap();
        assert_eq!(answers.len(), expected, "{kind:?}: {answers:?}");
    }
}

/// A client that sends calls and reads no answers is held up, by a whole server too: rmcp itself starts a task for each
/// call, and another one for each answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_is_held_up() {
    const CALLS: usize = 30_000;

    let mut client = Probe::start(Kind::Wireline, 4096).await.unwrap();
    let mut taken = 0;
    while taken < CALLS {
        let arguments = json!({"text": "x", "times": 1000});
        let params = json!({"name": "repeat", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": taken, "method": "tools/call", "params": params}).to_string();
        if timeout(Duration::from_secs(2), client.send(call.as_bytes())).await.is_err() {
            break;
        }
        taken += 1;
    }
    // 1 MiB of answers, and what was in flight by then.
    assert!((1000..CALLS).contains(&taken), "{taken}");
}

/// A relay adds a bad line after every good one, in both directions.
#[tokio::test]
async fn bad_lines_between_good_ones() {
    let (near, near_far) = duplex(4096);
    let (far_near, far) = duplex(4096);
    let (from_client, to_client) = split(near_far);
    let (from_server, to_server) = split(far_near);
    let armed = Arc::new(AtomicBool::new(false));
    tokio::spawn(relay(from_client, to_server, armed.clone()));
    tokio::spawn(relay(from_server, to_client, armed.clone()));

    let faults = Arc::new(AtomicUsize::new(0));
    let counted = faults.clone();
    let (reader, writer) = split(far);
    let transport = LineTransport::new(reader, writer).on_incident(move |incident| {
        assert!(matches!(incident, Incident::Fault(_) | Incident::Mismatch { .. } | Incident::Stray { .. }));
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let server = tokio::spawn(Tools.serve(transport));
    let (reader, writer) = split(near);
    let client = ().serve(LineTransport::new(reader, writer)).await.unwrap();
    // Only now add lines that get an answer: an rmcp client that is not initialized yet ends the session when it
    // receives an answer to anything but its initialize request.
    armed.store(true, Ordering::Relaxed);
    for n in 0..100 {
        assert_eq!(call(&client, "sum", json!({"a": n, "b": 1})).await.unwrap(), (n + 1).to_string());
    }
    assert!(faults.load(Ordering::Relaxed) >= 100);
    client.cancel().await.unwrap();
    server.await.unwrap().unwrap().waiting().await.unwrap();
}

async fn relay(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, armed: Arc<AtomicBool>) {
    const BAD: [&[u8]; 7] = [
        b"noise",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        br#"{"jsonrpc":"2.0","id":"bad","method":"ping","params":{"#,
        br#"{"jsonrpc":"2.0","id":"bad","method":"ping","params":[1]}"#,
        br#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}"#,
        br#"{"jsonrpc":"2.0","id":"bad","result":NaN}"#,
    ];
    let mut lines = BufReader::new(from).lines();
    let mut bad = BAD.iter().cycle();
    while let Ok(Some(line)) = lines.next_line().await {
        let bad = if armed.load(Ordering::Relaxed) { bad.next().unwrap() } else { BAD[0] };
        let sent = [line.as_bytes(), b"\n", bad, b"\n"].concat();
        if to.write_all(&sent).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

//! The transport without a session: cancelled receives, dropped sends, refused messages, peers that do not read.

use std::future::Future;
use std::io::ErrorKind;
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
use wireline_rmcp::{LineTransport, SendError};

type Server = LineTransport<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

/// A server's transport on a stream that buffers `room` bytes, and the client's end of it.
fn server(room: usize) -> (Server, DuplexStream) {
    let (near, far) = duplex(room);
    let (reader, writer) = split(far);
    (LineTransport::new(reader, writer), near)
}

async fn receive(transport: &mut Server) -> Option<RxJsonRpcMessage<RoleServer>> {
    Transport::<RoleServer>::receive(transport).await
}

fn send(
    transport: &mut Server,
    message: TxJsonRpcMessage<RoleServer>,
) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
    Transport::<RoleServer>::send(transport, message)
}

async fn close(transport: &mut Server) -> Result<(), SendError> {
    Transport::<RoleServer>::close(transport).await
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

/// Sends a ping to the server, and has it received.
async fn request(transport: &mut Server, near: &mut DuplexStream, id: i64) {
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
    let (sent, received) = tokio::join!(near.write_all(line.as_bytes()), receive(transport));
    sent.unwrap();
    assert_eq!(id_of(&received.unwrap()), Some(&RequestId::Number(id)));
}

/// Requests and bad lines arrive, and their answers leave, a few bytes at a time, while `receive` is cancelled again and
/// again.
#[tokio::test]
async fn receive_is_cancel_safe() {
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
            message = receive(&mut transport) => match message {
                Some(message) => received.push(id_of(&message).unwrap().clone()),
                None => break,
            },
            () = tokio::task::yield_now() => cancelled += 1,
        }
    }
    close(&mut transport).await.unwrap();
    writer.await.unwrap();
    assert!(cancelled > 100, "{cancelled}");
    assert_eq!(received, (0..20).map(RequestId::Number).collect::<Vec<_>>());
    // Requests that nobody has answered are answered when the transport is closed.
    let mut answered = reader.await.unwrap();
    let mut unanswered = answered.split_off(20);
    unanswered.sort_by_key(Value::as_i64);
    assert_eq!(answered, (0..20).map(|id| json!(format!("bad {id}"))).collect::<Vec<_>>());
    assert_eq!(unanswered, (0..20).map(|id| json!(id)).collect::<Vec<_>>());
}

/// A send that is dropped, even before it is polled, still leaves as a whole line.
#[tokio::test]
async fn a_dropped_send_leaves_a_whole_line() {
    let (mut transport, mut near) = server(16);
    for id in [1, 2] {
        request(&mut transport, &mut near, id).await;
    }
    drop(send(&mut transport, result(1, "a text that does not fit")));
    // A receive that is cancelled while it writes tears nothing, either.
    assert!(timeout(Duration::from_millis(20), receive(&mut transport)).await.is_err());
    send(&mut transport, result(2, "b")).await.unwrap();
    let reader = tokio::spawn(async move {
        let mut said = String::new();
        near.read_to_string(&mut said).await.unwrap();
        said
    });
    timeout(Duration::from_secs(10), close(&mut transport)).await.unwrap().unwrap();
    let said = reader.await.unwrap();
    let ids: Vec<_> = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone()).collect();
    assert_eq!(ids, [1, 2]);
}

/// An answer that breaks the rules is replaced, and nothing is sent once the transport is closed.
#[tokio::test]
async fn refused_answers_are_replaced() {
    let (mut transport, mut near) = server(4096);
    request(&mut transport, &mut near, 3).await;
    let list = json!({"jsonrpc": "2.0", "id": 3, "result": [1, 2]});
    let refused = send(&mut transport, serde_json::from_value(list).unwrap()).await;
    assert!(matches!(refused, Err(SendError::Refused(_))), "{refused:?}");
    close(&mut transport).await.unwrap();
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let ping = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"});
    let late = [notification, ping].map(|message| serde_json::from_value(message).unwrap());
    for late in late.into_iter().chain([result(4, "too late")]) {
        let late = send(&mut transport, late).await;
        assert!(matches!(late, Err(SendError::Io(_))), "{late:?}");
    }

    let mut said = String::new();
    BufReader::new(near).read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32603,\"message\":\"Internal error\"}}\n");
}

/// The stream of a client that sends and never reads is not read any further once 1 MiB waits for it.
#[tokio::test]
async fn a_peer_that_does_not_read_is_held_up() {
    let (mut transport, near) = server(4096);
    let (_from_server, mut to_server) = split(near);
    let mut sent = 0;
    let text = "x".repeat(1000);
    let requests = async {
        loop {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{sent},\"method\":\"ping\"}}\n");
            to_server.write_all(line.as_bytes()).await.unwrap();
            sent += 1;
        }
    };
    let answers = async {
        while let Some(message) = receive(&mut transport).await {
            let Some(RequestId::Number(id)) = id_of(&message) else { panic!("{message:?}") };
            send(&mut transport, result(*id, &text)).await.unwrap();
        }
    };
    let stuck = timeout(Duration::from_secs(2), async { tokio::join!(requests, answers) }).await;
    assert!(stuck.is_err());
    // Each answer has some 1,050 bytes.
    assert!((900..1200).contains(&sent), "{sent}");
}

/// A malformed response that no call waits for is skipped: during initialization rmcp would end the session over it.
#[tokio::test]
async fn an_unexpected_malformed_response_is_skipped() {
    let (mut transport, mut near) = server(4096);
    near.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":NaN}\n").await.unwrap();
    near.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n").await.unwrap();
    let message = receive(&mut transport).await.unwrap();
    assert_eq!(id_of(&message), Some(&RequestId::Number(2)));
}

/// Closing is bounded, even if the peer does not read what is left to write.
#[tokio::test(start_paused = true)]
async fn close_gives_up_on_a_peer_that_does_not_read() {
    let (mut transport, mut near) = server(16);
    request(&mut transport, &mut near, 1).await;
    send(&mut transport, result(1, "more than sixteen bytes")).await.unwrap();
    let closed = timeout(Duration::from_secs(60), close(&mut transport)).await.unwrap();
    assert!(matches!(&closed, Err(SendError::Io(error)) if error.kind() == ErrorKind::TimedOut), "{closed:?}");
    drop(near);
}

/// A call is forgotten once it is cancelled, so a malformed response to it is no longer passed on.
#[tokio::test]
async fn cancelled_calls_are_forgotten() {
    for cancel in [false, true] {
        let (mut transport, mut near) = server(4096);
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        send(&mut transport, serde_json::from_value(request).unwrap()).await.unwrap();
        if cancel {
            let params = json!({"requestId": 1});
            let notification = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            send(&mut transport, serde_json::from_value(notification).unwrap()).await.unwrap();
        }
        near.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":NaN}\n").await.unwrap();
        near.shutdown().await.unwrap();
        let received = receive(&mut transport).await;
        assert_eq!(received.is_none(), cancel, "{received:?}");
    }
}

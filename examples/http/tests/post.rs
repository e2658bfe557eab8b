//! The POST endpoints, tested by a client that sends arbitrary bytes.

mod common;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use common::{FAILING, hostile, internal, request, server, within};

/// The status and the body of the response.
async fn exchange(address: SocketAddr, head: &str, body: &[u8]) -> (u16, String) {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("{head}\r\nHost: test\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        let _ = stream.write_all(body).await;
        read_response(&mut stream).await
    };
    within(exchange).await
}

async fn read_response(stream: &mut TcpStream) -> (u16, String) {
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    let response = String::from_utf8(response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {response:?}"));
    assert!(!head.contains("chunked"), "its length is known: {head}");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

async fn post(address: SocketAddr, path: &str, body: impl AsRef<[u8]>) -> (u16, String) {
    let head = format!("POST {path} HTTP/1.1\r\nContent-Type: application/json");
    exchange(address, &head, body.as_ref()).await
}

#[tokio::test]
async fn messages() {
    let address = server().await;
    for (body, status, expected) in [
        (request(1, "echo", &json!({"a": "ä"})), 200, r#"{"jsonrpc":"2.0","id":1,"result":{"a":"ä"}}"#),
        (request("\"x\"", "echo", &json!([1])), 200, r#"{"jsonrpc":"2.0","id":"x","result":[1]}"#),
        (
            request("9007199254740993", "echo", &json!([])),
            200,
            r#"{"jsonrpc":"2.0","id":9007199254740993,"result":[]}"#,
        ),
        (
            "\n{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 2,\n  \"method\": \"echo\",\n  \"params\": [\n    1\n  ]\n}\n"
                .into(),
            200,
            r#"{"jsonrpc":"2.0","id":2,"result":[1]}"#,
        ),
        (
            request(3, "none", &json!([])),
            200,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}"#,
        ),
        (
            format!("[{},{}]", request(4, "sleep", &json!([50])), request(5, "echo", &json!([5]))),
            200,
            r#"[{"jsonrpc":"2.0","id":4,"result":"slept"},{"jsonrpc":"2.0","id":5,"result":[5]}]"#,
        ),
        (format!("[{}]", request(6, "echo", &json!([6]))), 200, r#"[{"jsonrpc":"2.0","id":6,"result":[6]}]"#),
        (r#"{"jsonrpc":"2.0","method":"echo"}"#.into(), 202, ""),
        (r#"{"jsonrpc":"2.0","method":"panic"}"#.into(), 202, ""),
        (r#"[{"jsonrpc":"2.0","method":"echo"},{"jsonrpc":"2.0","method":"none"}]"#.into(), 202, ""),
        (r#"{"jsonrpc":"2.0","id":7,"result":1}"#.into(), 202, ""),
    ] {
        assert_eq!(post(address, "/", &body).await, (status, expected.to_owned()), "{body}");
    }
}

#[tokio::test]
async fn what_is_no_message() {
    let address = server().await;
    for (body, expected) in hostile() {
        for (path, status) in [("/", 400), ("/blocking", 200)] {
            let (found, answer) = post(address, path, &body).await;
            let text = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
            match expected {
                Some((id, code)) => {
                    let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#);
                    assert!(answer.starts_with(&start), "{text}: {answer}");
                    assert_eq!(found, status, "{text}");
                }
                None => assert_eq!((found, &*answer), (if path == "/" { 400 } else { 202 }, ""), "{text}"),
            }
        }
    }
}

#[tokio::test]
async fn methods_that_fail() {
    let address = server().await;
    for method in FAILING {
        assert_eq!(post(address, "/", request(1, method, &json!([]))).await, (200, internal(1)), "{method}");
    }
    for method in ["nan", "panic", "panic later"] {
        assert_eq!(post(address, "/blocking", request(1, method, &json!([]))).await, (200, internal(1)), "{method}");
    }
    // In a batch too, each request gets one response.
    let mut entries: Vec<_> = (0..).zip(FAILING).map(|(id, method)| request(id, method, &json!([]))).collect();
    entries.push(request(4, "echo", &json!([4])));
    entries.push("{}".into());
    let (status, answer) = post(address, "/", format!("[{}]", entries.join(","))).await;
    let answers: Vec<Value> = serde_json::from_str(&answer).unwrap();
    let mut ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_i64()).collect();
    ids.sort_unstable();
    assert_eq!((status, ids), (200, vec![None, Some(0), Some(1), Some(2), Some(3), Some(4)]), "{answer}");
    assert_eq!(answers.iter().filter(|answer| answer["error"]["code"] == -32603).count(), 4);
}

#[tokio::test]
async fn an_id_twice_in_a_batch_is_refused() {
    let address = server().await;
    let body = format!("[{},{}]", request(1, "sleep", &json!([20])), request(1, "echo", &json!([])));
    let (_, answer) = post(address, "/", body).await;
    let answers: Vec<Value> = serde_json::from_str(&answer).unwrap();
    assert!(answers.len() == 2 && answers.iter().all(|answer| answer["id"] == 1), "{answer}");
    assert_eq!(answers.iter().filter(|answer| answer["result"] == "slept").count(), 1, "{answer}");
}

/// An array may exceed the line limit, and is still one text.
#[tokio::test]
async fn long_batches() {
    let address = server().await;
    let entries: Vec<_> = (0..1000).map(|id| request(id, "repeat", &json!([200]))).collect();
    let (status, answer) = post(address, "/", format!("[{}]", entries.join(","))).await;
    assert!(answer.len() > 200_000, "{}", answer.len());
    let answers: Vec<Value> = serde_json::from_str(&answer).unwrap();
    assert_eq!((status, answers.len()), (200, 1000));
    assert!(answers.iter().enumerate().all(|(id, answer)| answer["id"] == id && answer["result"] == "x".repeat(200)));
}

#[tokio::test]
async fn what_is_refused_unread() {
    let address = server().await;
    let error = |message| format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32600,"message":"{message}"}}}}"#);
    let ok = request(1, "echo", &json!([]));
    let long = " ".repeat(100_001);
    for path in ["/", "/blocking"] {
        assert_eq!(post(address, path, &long).await, (413, error("Request too long")));
        assert_eq!(post(address, path, format!("{ok}{}", &long[ok.len() + 1..])).await.0, 200);
        for head in ["", "\r\nContent-Type: text/plain", "\r\nContent-Type: application/jsonx"] {
            let head = format!("POST {path} HTTP/1.1{head}");
            assert_eq!(
                exchange(address, &head, ok.as_bytes()).await,
                (415, error("Content-Type must be application/json"))
            );
        }
        let head = format!("POST {path} HTTP/1.1\r\nContent-Type: Application/JSON; charset=utf-8");
        assert_eq!(exchange(address, &head, ok.as_bytes()).await.0, 200);
        assert_eq!(exchange(address, &format!("GET {path} HTTP/1.1"), b"").await.0, 405);
    }
    assert_eq!(post(address, "/none", &ok).await.0, 404);
}

#[tokio::test]
async fn a_body_in_pieces() {
    let address = server().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = "POST / HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\
                Connection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for byte in request(1, "echo", &json!(["ä"])).bytes() {
        stream.write_all(&[b"1\r\n", &[byte][..], b"\r\n"].concat()).await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    let expected = (200, r#"{"jsonrpc":"2.0","id":1,"result":["ä"]}"#.to_owned());
    assert_eq!(within(read_response(&mut stream)).await, expected);
}

/// On a single thread, other clients are served while a function blocks, and clients that vanish don't delay anybody.
#[tokio::test(flavor = "current_thread")]
async fn nobody_is_held_up() {
    let address = server().await;
    for cut in [10, 100, 150] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let text = format!(
            "POST / HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{}",
            request(1, "sleep", &json!([10_000]))
        );
        stream.write_all(&text.as_bytes()[..cut.min(text.len())]).await.unwrap();
    }
    let started = Instant::now();
    let blocked = async {
        let answers = join_all((0..3).map(|id| post(address, "/blocking", request(id, "block", &json!([]))))).await;
        assert!(answers.iter().all(|(status, answer)| *status == 200 && answer.contains("blocked")), "{answers:?}");
        started.elapsed()
    };
    let served = async {
        let answers = join_all((0..20).map(|id| post(address, "/", request(id, "echo", &json!([id]))))).await;
        assert!(answers.iter().all(|(status, _)| *status == 200), "{answers:?}");
        started.elapsed()
    };
    let (blocked, served) = tokio::join!(blocked, served);
    assert!(served < blocked, "{served:?}, {blocked:?}");
    assert!(blocked >= Duration::from_millis(600), "{blocked:?}");
}

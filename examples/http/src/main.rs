//! Serves a calculator over POST and WebSocket. With `--demo`, it sends itself some requests, prints the answers and
//! exits.
//!
//! ```console
//! cargo run --manifest-path examples/http/Cargo.toml -- --demo
//! cargo run --manifest-path examples/http/Cargo.toml -- 127.0.0.1:8080
//! curl -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}' 127.0.0.1:8080
//! ```

use std::env;
use std::error::Error;
use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use wireline::Rules;
use wireline_http_example::methods::{Calculator, compute};
use wireline_http_example::{blocking, router};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arg = env::args().nth(1);
    let is_demo = arg.as_deref() == Some("--demo");
    let address = match &arg {
        _ if is_demo => "127.0.0.1:0",
        Some(address) => address,
        None => "127.0.0.1:8080",
    };
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let rules = Rules::json_rpc().max_line_len(1 << 20);
    let app = router(Calculator, rules).merge(blocking(compute, rules));
    let server = axum::serve(listener, app);
    if is_demo {
        tokio::select! {
            shown = show(address) => shown?,
            served = server => served?,
        }
    } else {
        println!("POST to http://{address}/ or http://{address}/blocking, or connect to ws://{address}/ws");
        server.await?;
    }
    Ok(())
}

async fn show(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    let long = format!("[{}]", " ".repeat(1 << 20));
    for (what, path, body) in [
        ("a request", "/", r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#),
        (
            "on many lines",
            "/",
            "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": \"a\",\n  \"method\": \"add\",\n  \"params\": [1, 2]\n}",
        ),
        ("a method that computes", "/blocking", r#"{"jsonrpc":"2.0","id":2,"method":"primes","params":[100000]}"#),
        (
            "a batch",
            "/",
            r#"[{"jsonrpc":"2.0","id":3,"method":"sleep","params":[20]},{"jsonrpc":"2.0","id":4,"method":"none"},7]"#,
        ),
        ("a notification", "/", r#"{"jsonrpc":"2.0","method":"sleep","params":[1]}"#),
        ("half a request", "/", r#"{"jsonrpc":"2.0","id":5,"method":"add","params":[1"#),
        ("more than 1 MiB", "/", &long),
    ] {
        println!("{what}\n  {}", post(address, path, body).await?);
    }

    println!("a WebSocket, with three messages at once");
    let (mut socket, _) = connect_async(format!("ws://{address}/ws")).await?;
    for text in [
        r#"{"jsonrpc":"2.0","id":6,"method":"sleep","params":[50]}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"add","params":[3,4]}"#,
        "oops",
    ] {
        socket.send(Message::text(text)).await?;
    }
    for _ in 0..3 {
        let answer = socket.next().await.ok_or("the server has hung up")??;
        println!("  {answer}");
    }
    socket.close(None).await?;
    Ok(())
}

/// The status and the body of the server's answer.
async fn post(address: SocketAddr, path: &str, body: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    // A server that refuses a long body may hang up before it has read all of it.
    let _ = stream.write_all(body.as_bytes()).await;
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    let response = String::from_utf8(response)?;
    let (head, body) = response.split_once("\r\n\r\n").ok_or("no response")?;
    Ok(format!("{} {body}", head.lines().next().unwrap_or_default()))
}

//! Both sides ask: a server that calls its client back, as MCP servers do to have a text written by the client's model.
//!
//! ```console
//! $ cargo run -q --features stdio,tokio --example peer
//! progress: 1 of 2
//! sampling: zero-copy framing
//! progress: 2 of 2
//! summary: "zero-copy framing" in a few words
//! progress: 1 of 2
//! sampling: something long
//! sampling was cancelled
//! the summary was cancelled
//! ```
//!
//! The client starts the server, which is this program with the argument `server`, and calls its tool twice. For each
//! call, the server reports progress, asks the client's model with `sampling/createMessage`, and reports progress again
//! before it answers. The second time, the client loses patience: it drops its call, the server drops the handler, with
//! it goes the call to the model, and the client drops that handler too.

use std::error::Error;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::{sleep, timeout};
use wireline::aio::{Connection, Tokio};
use wireline::connection::Call;
use wireline::{RpcError, Rules};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("server") => Ok(serve().await?),
        _ => ask().await,
    }
}

/// The server, on stdin and stdout.
async fn serve() -> io::Result<()> {
    let (_, connection) = Connection::stdio(Rules::mcp())?;
    connection
        .serve(async |call| match call.method() {
            "initialize" => Ok(json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "peer", "version": "1"},
            })),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": [
                {"name": "echo", "inputSchema": {"type": "object"}},
                {"name": "summarize", "inputSchema": {"type": "object"}},
            ]})),
            "tools/call" => {
                let params: ToolCall = call.params()?;
                let text = match &*params.name {
                    "echo" => params.arguments.text,
                    "summarize" => summarize(&call, params).await?,
                    _ => return Err(RpcError::invalid_params("no such tool")),
                };
                Ok(json!({"content": [{"type": "text", "text": text}]}))
            }
            _ => Err(RpcError::method_not_found()),
        })
        .await
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    arguments: Arguments,
    #[serde(default, rename = "_meta")]
    meta: Meta,
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(rename = "progressToken")]
    progress_token: Option<Value>,
}

/// Asks the client's model. If the request is cancelled, this is dropped wherever it waits.
async fn summarize(call: &Call<'_>, params: ToolCall) -> Result<String, RpcError> {
    let client = call.peer();
    let progress = async |progress: u32| match &params.meta.progress_token {
        Some(token) => {
            let params = json!({"progressToken": token, "progress": progress, "total": 2});
            client.notify("notifications/progress", &params).await
        }
        None => Ok(()),
    };
    progress(1).await?;
    let message = json!({"role": "user", "content": {"type": "text", "text": params.arguments.text}});
    let sampled: Value =
        client.call("sampling/createMessage", &json!({"messages": [message], "maxTokens": 100})).await?;
    progress(2).await?;
    Ok(sampled["content"]["text"].as_str().unwrap_or_default().to_owned())
}

/// The client.
async fn ask() -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut process = command.arg("server").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else { unreachable!() };
    let (server, connection) = Connection::new(Tokio(output), Tokio(input), Rules::mcp());
    let serving = tokio::spawn(connection.serve(answer));

    let summarize = |text| {
        let params = json!({"name": "summarize", "arguments": {"text": text}, "_meta": {"progressToken": text}});
        server.call::<Value>("tools/call", &params)
    };
    let summary = summarize("zero-copy framing").await?;
    println!("summary: {}", summary["content"][0]["text"].as_str().unwrap_or_default());
    let patience = Duration::from_millis(300);
    if timeout(patience, summarize("something long")).await.is_err() {
        sleep(patience).await; // until the server has cancelled its call in turn
        println!("the summary was cancelled");
    }
    server.end();
    serving.await??;
    process.wait().await?;
    Ok(())
}

/// The client's answers: a model that takes long for some texts.
async fn answer(call: Call<'static>) -> Result<Value, RpcError> {
    let params: Value = call.params()?;
    match call.method() {
        "notifications/progress" => println!("progress: {} of {}", params["progress"], params["total"]),
        "sampling/createMessage" => {
            let text = params["messages"][0]["content"]["text"].as_str().unwrap_or_default();
            println!("sampling: {text}");
            if text.contains("long") {
                let _cancelled = OnDrop(|| println!("sampling was cancelled"));
                sleep(Duration::from_secs(60)).await;
            }
            let text = format!("{text:?} in a few words");
            return Ok(json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "none"}));
        }
        _ => return Err(RpcError::method_not_found()),
    }
    Ok(Value::Null)
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

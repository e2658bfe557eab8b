//! An rmcp client whose server answers badly.

use std::io;
use std::pin::pin;
use std::time::Duration;

use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use tokio::time::timeout;
use wireline::Rules;
use wireline_rmcp::LineTransport;

use super::{Kind, call};

/// How long to wait for a call after the next one was answered.
const PATIENCE: Duration = Duration::from_millis(200);

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How a call ended.
#[derive(Debug)]
pub enum Outcome {
    Answered(String),
    Failed(ServiceError),
    /// It is still waiting, although the next call was answered.
    Waiting,
}

/// Makes a call that the server answers with `response`, where `ID` stands for the call's id, and a second call that
/// gets a valid answer.
pub async fn answered_with(kind: Kind, max_line_len: usize, response: &str) -> Result<Outcome> {
    let (near, far) = duplex(64 << 10);
    let server = tokio::spawn(serve_badly(far, response.to_owned()));
    let client = connect(kind, max_line_len, near).await?;

    let peer = client.peer().clone();
    let mut first = pin!(call(&peer, "first", json!({})));
    let second = call(&peer, "second", json!({}));
    let early = tokio::select! {
        biased;
        outcome = &mut first => Some(outcome),
        outcome = second => {
            outcome?;
            None
        }
    };
    let outcome = match early {
        Some(outcome) => Some(outcome),
        None => timeout(PATIENCE, first).await.ok(),
    };
    client.cancel().await?;
    server.await??;
    Ok(match outcome {
        Some(Ok(text)) => Outcome::Answered(text),
        Some(Err(error)) => Outcome::Failed(error),
        None => Outcome::Waiting,
    })
}

async fn connect(kind: Kind, max_line_len: usize, stream: DuplexStream) -> Result<RunningService<RoleClient, ()>> {
    let (reader, writer) = split(stream);
    Ok(match kind {
        Kind::Stock => ().serve(AsyncRwTransport::new(reader, writer).with_max_line_length(max_line_len)).await?,
        Kind::Wireline => {
            let rules = Rules::mcp().max_line_len(max_line_len);
            ().serve(LineTransport::new(reader, writer).rules(rules)).await?
        }
    })
}

/// Waits for both calls, then answers the first with `response` and the second correctly.
async fn serve_badly(stream: DuplexStream, response: String) -> io::Result<()> {
    let (reader, mut writer) = split(stream);
    let mut lines = BufReader::new(reader).lines();
    let mut calls: [Option<Value>; 2] = [None, None];
    while let Some(line) = lines.next_line().await? {
        let request: Value = serde_json::from_str(&line)?;
        match request["method"].as_str() {
            Some("initialize") => {
                let result = json!({
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "bad", "version": "0"},
                });
                let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
                writer.write_all(format!("{answer}\n").as_bytes()).await?;
            }
            Some("tools/call") => {
                let which = usize::from(request["params"]["name"] == "second");
                calls[which] = Some(request["id"].clone());
                if let [Some(first), Some(second)] = &calls {
                    let bad = response.replace("ID", &first.to_string());
                    let good = json!({"jsonrpc": "2.0", "id": second, "result": {"content": []}});
                    writer.write_all(format!("{bad}\n{good}\n").as_bytes()).await?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

//! How fast this transport is, side by side with rmcp's own.
//!
//! ```console
//! cargo bench -p wireline-rmcp --bench throughput
//! ```
//!
//! Rounds of both alternate, and the best round of each counts. The number of rounds may be given as an argument.

#[path = "../tests/support/mod.rs"]
mod support;

use std::fmt::Display;
use std::hint::black_box;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rmcp::service::{RunningService, RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleClient, RoleServer, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, duplex, sink, split};
use tokio::process::Command;
use wireline_rmcp::LineTransport;

use support::{Tools, call};

const CALLS: u32 = 2000;
const BYTES: usize = 4 << 20;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    // Cargo passes `--bench` too.
    let argument = std::env::args().skip(1).find(|argument| argument != "--bench");
    match argument.as_deref() {
        Some("serve-wireline") => return serve(wireline_rmcp::stdio()?).await,
        Some("serve-stdio") => {
            let (stdin, stdout) = rmcp::transport::stdio();
            return serve(stock(stdin, stdout)).await;
        }
        Some("serve-pipes") => {
            let (stdin, stdout) = rmcp::transport::stdio_pipes();
            return serve(stock(stdin, stdout)).await;
        }
        _ => {}
    }
    let rounds = argument.map_or(Ok(20), |rounds| rounds.parse())?;

    println!("Receiving, in ns per message");
    header(&["rmcp", "wireline"]);
    receiving::<RoleServer>("tools/call", &tool_call(1), rounds).await;
    receiving::<RoleServer>("tools/call", &tool_call(1 << 13), rounds).await;
    receiving::<RoleClient>("result, text with escapes", &tool_result(1), rounds).await;
    receiving::<RoleClient>("result, text with escapes", &tool_result(1 << 12), rounds).await;
    receiving::<RoleClient>("result, 100 tools", &tool_list(), rounds).await;

    println!("\nSending, in ns per message");
    header(&["rmcp", "wireline"]);
    sending::<RoleClient>("tools/call", &tool_call(1), rounds).await?;
    sending::<RoleServer>("result, text with escapes", &tool_result(1), rounds).await?;
    sending::<RoleServer>("result, text with escapes", &tool_result(1 << 12), rounds).await?;
    sending::<RoleServer>("result, 100 tools", &tool_list(), rounds).await?;

    println!("\nTool calls from an rmcp client, one after the other, in ns per call");
    header(&["rmcp", "wireline"]);
    in_memory(rounds).await?;
    header(&["stdio", "stdio_pipes", "wireline"]);
    child_process(rounds).await
}

fn tool_call(words: usize) -> Value {
    let arguments = json!({"text": "a word, ".repeat(words)});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "length", "arguments": arguments}})
}

fn tool_result(lines: usize) -> Value {
    let content = json!([{"type": "text", "text": "a \"line\" of text\n".repeat(lines)}]);
    json!({"jsonrpc": "2.0", "id": 1, "result": {"content": content, "isError": false}})
}

fn tool_list() -> Value {
    let tool = |n| {
        let property = json!({"type": "string", "description": "One of the arguments of the tool"});
        let schema = json!({"type": "object", "properties": {"a": property, "b": property}, "required": ["a"]});
        json!({"name": format!("tool_{n}"), "description": "Does one thing and does it well", "inputSchema": schema})
    };
    json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": (0..100).map(tool).collect::<Vec<_>>()}})
}

fn stock<Role, R, W>(reader: R, writer: W) -> AsyncRwTransport<Role, R, W>
where
    Role: ServiceRole,
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    AsyncRwTransport::new(reader, writer)
}

async fn receiving<Role: ServiceRole>(name: &str, message: &Value, rounds: u32) {
    let line = format!("{message}\n");
    let count = (BYTES / line.len()).max(1);
    let stream = line.repeat(count);
    let mut best = [Duration::MAX; 2];
    for _ in 0..rounds {
        best[0] = best[0].min(receive_all::<Role>(stock(stream.as_bytes(), sink()), count).await);
        best[1] = best[1].min(receive_all::<Role>(LineTransport::new(stream.as_bytes(), sink()), count).await);
    }
    row(&format!("{name}, {} bytes", line.len()), &best, count);
}

async fn receive_all<Role: ServiceRole>(mut transport: impl Transport<Role>, count: usize) -> Duration {
    let started = Instant::now();
    let mut received = 0;
    while let Some(message) = transport.receive().await {
        black_box::<RxJsonRpcMessage<Role>>(message);
        received += 1;
    }
    assert_eq!(received, count);
    started.elapsed()
}

async fn sending<Role: ServiceRole>(name: &str, message: &Value, rounds: u32) -> Result<(), Error> {
    let len = message.to_string().len() + 1;
    let count = (BYTES / len).max(1);
    let message: TxJsonRpcMessage<Role> = serde_json::from_value(message.clone())?;
    let mut best = [Duration::MAX; 2];
    for _ in 0..rounds {
        best[0] = best[0].min(send_all::<Role>(stock(tokio::io::empty(), sink()), &message, count).await?);
        best[1] = best[1].min(send_all::<Role>(LineTransport::new(tokio::io::empty(), sink()), &message, count).await?);
    }
    row(&format!("{name}, {len} bytes"), &best, count);
    Ok(())
}

async fn send_all<Role: ServiceRole>(
    mut transport: impl Transport<Role>,
    message: &TxJsonRpcMessage<Role>,
    count: usize,
) -> Result<Duration, Error> {
    let messages = vec![message.clone(); count];
    let started = Instant::now();
    for message in messages {
        transport.send(message).await?;
    }
    Ok(started.elapsed())
}

async fn in_memory(rounds: u32) -> Result<(), Error> {
    let mut best = [Duration::MAX; 2];
    for _ in 0..rounds {
        let ((near, far), (near_too, far_too)) = (duplex(64 << 10), duplex(64 << 10));
        let (reader, writer) = split(far);
        tokio::spawn(serve(stock(reader, writer)));
        let (reader, writer) = split(near);
        best[0] = best[0].min(call_all(().serve(stock(reader, writer)).await?).await?);

        let (reader, writer) = split(far_too);
        tokio::spawn(serve(LineTransport::new(reader, writer)));
        let (reader, writer) = split(near_too);
        best[1] = best[1].min(call_all(().serve(LineTransport::new(reader, writer)).await?).await?);
    }
    row("in memory", &best, CALLS as usize);
    Ok(())
}

/// The server is another process, and only its transport differs: the client always uses rmcp's own.
async fn child_process(rounds: u32) -> Result<(), Error> {
    let mut best = [Duration::MAX; 3];
    for _ in 0..rounds {
        for (best, server) in best.iter_mut().zip(["serve-stdio", "serve-pipes", "serve-wireline"]) {
            let mut child = Command::new(std::env::current_exe()?)
                .arg(server)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .kill_on_drop(true)
                .spawn()?;
            let stdin = child.stdin.take().ok_or("child process has no stdin")?;
            let stdout = child.stdout.take().ok_or("child process has no stdout")?;
            *best = (*best).min(call_all(().serve(stock(stdout, stdin)).await?).await?);
            child.wait().await?;
        }
    }
    row("server on stdio", &best, CALLS as usize);
    Ok(())
}

async fn serve<T: Transport<RoleServer> + 'static>(transport: T) -> Result<(), Error> {
    Tools.serve(transport).await?.waiting().await?;
    Ok(())
}

async fn call_all(client: RunningService<RoleClient, ()>) -> Result<Duration, Error> {
    let started = Instant::now();
    for n in 0..CALLS {
        let sum = call(&client, "sum", json!({"a": n, "b": 1})).await?;
        assert_eq!(sum, (n + 1).to_string());
    }
    let took = started.elapsed();
    client.cancel().await?;
    Ok(took)
}

fn header(names: &[&str]) {
    print_row("", names.iter());
}

fn row(name: &str, best: &[Duration], count: usize) {
    print_row(name, best.iter().map(|best| best.as_nanos() / count as u128));
}

fn print_row(name: &str, cells: impl Iterator<Item = impl Display>) {
    print!("  {name:<36}");
    cells.for_each(|cell| print!("{cell:>12}"));
    println!();
}

//! Three small MCP clients to try `wireline conform --client` on. Each calls a tool a few times and prints the results.
//!
//! ```console
//! $ cargo build --release -p wireline-cli --bins --examples
//! $ target/release/wireline conform --client -- target/release/examples/conform_client careful {server}
//! ```
//!
//! - `careful` uses the library, gives up on a call after a second, and ends a server that doesn't exit
//! - `hanging` reads lines until its answer comes, however long that takes
//! - `fragile` panics on what it doesn't expect

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use wireline::connection::{Caller, Peer};
use wireline::io::Connection;
use wireline::{RpcError, Rules};

const CALLS: usize = 4;

/// Longer than a server takes to start.
const HANDSHAKE: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(1);

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, program, arguments @ ..] = &arguments[..] else {
        eprintln!("Usage: conform_client careful|hanging|fragile SERVER...");
        return Ok(ExitCode::from(2));
    };
    let server = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    match kind.as_str() {
        "careful" => careful(server),
        "hanging" => simple(server, |line| serde_json::from_str(line).ok()),
        _ => simple(server, |line| Some(serde_json::from_str(line).expect("a message"))),
    }
}

fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "conform_client", "version": env!("CARGO_PKG_VERSION") },
    })
}

fn call(number: usize) -> Value {
    json!({ "name": "add", "arguments": { "a": number, "b": 1 } })
}

fn careful(mut server: Child) -> Result<ExitCode, Box<dyn Error>> {
    let (Some(stdin), Some(stdout)) = (server.stdin.take(), server.stdout.take()) else { unreachable!() };
    let (peer, connection) = Connection::new(stdout, stdin, Rules::mcp());
    thread::spawn(|| {
        connection.serve(1, |call| match call.method() {
            "ping" => Ok(json!({})),
            _ => Err(RpcError::method_not_found()),
        })
    });
    let outcome = session(&peer);
    peer.end();
    let ended = end(&mut server);
    if let Err(error) = &outcome {
        eprintln!("conform_client: {error}");
    }
    Ok(if outcome.is_ok() && ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What this client needs of a result. Anything else in it may be of any kind, even a text that Rust can't represent.
#[derive(Deserialize)]
struct ToolResult {
    content: Value,
}

fn session(peer: &Peer<Caller>) -> Result<(), Box<dyn Error>> {
    peer.call::<Value>("initialize", &initialize()).wait_for(HANDSHAKE)?;
    peer.notify("notifications/initialized", &json!({})).wait()?;
    for number in 0..CALLS {
        println!("{}", peer.call::<ToolResult>("tools/call", &call(number)).wait_for(PATIENCE)?.content);
    }
    Ok(())
}

/// Waits until the server exits, and kills it if that takes too long.
fn end(server: &mut Child) -> std::io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while server.try_wait()?.is_none() {
        if Instant::now() >= deadline {
            server.kill()?;
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A client that reads lines until the answer comes. `parse` returns `None` for lines to ignore.
fn simple(mut server: Child, parse: impl Fn(&str) -> Option<Value>) -> Result<ExitCode, Box<dyn Error>> {
    let (Some(mut stdin), Some(stdout)) = (server.stdin.take(), server.stdout.take()) else { unreachable!() };
    let mut lines = BufReader::new(stdout).lines();
    let mut ask = |id: usize, method: &str, params: Value| -> Result<Value, Box<dyn Error>> {
        writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let line = lines.next().ok_or("the server has closed its output")??;
            if let Some(answer) = parse(&line).filter(|answer| answer["id"] == id && answer.get("method").is_none()) {
                return Ok(answer);
            }
        }
    };
    ask(0, "initialize", initialize())?;
    for number in 0..CALLS {
        let answer = ask(number + 1, "tools/call", call(number))?;
        println!("{}", answer["result"]["content"]);
    }
    drop(stdin);
    server.wait()?;
    Ok(ExitCode::SUCCESS)
}

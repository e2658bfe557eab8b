//! Many MCP servers behind one: a gateway on stdin and stdout.
//!
//! ```console
//! $ cargo build --features stdio,tokio --examples
//! $ cargo run -q --features stdio,tokio --example gateway -- one=target/debug/examples/peer\ server two=target/debug/examples/peer\ server <<'END'
//! {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}
//! {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"two.echo","arguments":{"text":"hello"}}}
//! END
//! {"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}},"protocolVersion":"2025-11-25","serverInfo":{"name":"gateway","version":"1"}}}
//! {"jsonrpc":"2.0","id":2,"result":{"content":[{"text":"hello","type":"text"}]}}
//! ```
//!
//! The tools of all servers are listed together, each with its server's name before its own, and a call goes to the
//! server that it names. Only the id and the name of the tool are replaced; the rest passes through byte for byte, in
//! both directions. Servers can call the client too, for sampling or elicitation, and notify it of progress.
//!
//! Every request gets one response, unless its caller cancels it; then it is cancelled where it went. If a server dies,
//! its calls fail, it is started again, and calls that arrive meanwhile wait for it. If a call isn't answered in time,
//! it fails and is cancelled.

use std::error::Error;
use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use wireline::aio::{Connection, Source, Target, Tokio};
use wireline::connection::{CallError, Caller, Event, Peer, SendError, Ticket};
use wireline::{RawJson, Request, Response, RpcError, Rules};

/// How long to wait before a server that has died is started again.
const PAUSE: Duration = Duration::from_millis(100);
/// How long to keep reading responses after a server has exited or closed its input.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long servers may keep running after their input was closed, before they are killed.
const GRACE: Duration = Duration::from_secs(2);

const USAGE: &str = "usage: gateway [--timeout SECONDS] NAME=COMMAND...";

/// The params of the client's `initialize`, for all servers.
type Params = Option<RawJson<'static>>;

struct Gateway {
    client: Peer<Caller>,
    servers: Vec<Server>,
    /// How long the answer to a request may take.
    limit: Duration,
    is_ending: AtomicBool,
}

struct Server {
    name: String,
    command: String,
    /// `None` while it isn't running.
    peer: watch::Sender<Option<Peer<Caller>>>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).peekable();
    let limit = match args.next_if(|arg| arg == "--timeout") {
        Some(_) => Duration::try_from_secs_f64(args.next().ok_or(USAGE)?.parse()?)?,
        None => Duration::from_secs(60),
    };
    let servers = args.map(|arg| {
        let (name, command) = arg.split_once('=').ok_or(USAGE)?;
        Ok(Server { name: name.to_owned(), command: command.to_owned(), peer: watch::Sender::new(None) })
    });
    let servers = servers.collect::<Result<_, &str>>()?;

    let (client, connection) = Connection::stdio(Rules::mcp())?;
    let gateway = Arc::new(Gateway { client, servers, limit, is_ending: AtomicBool::new(false) });
    let mut running = JoinSet::new();
    let served = serve(&gateway, connection, &mut running).await;
    // Every request is answered. Servers exit when their input is closed.
    gateway.is_ending.store(true, Ordering::Relaxed);
    gateway.peers().for_each(|peer| peer.end());
    let _ = timeout(GRACE, running.join_all()).await;
    Ok(served?)
}

/// Serves the client, until it has sent its last request and got its last response.
async fn serve(
    gateway: &Arc<Gateway>,
    mut connection: Connection<impl Source, impl Target>,
    running: &mut JoinSet<()>,
) -> io::Result<()> {
    while let Some(event) = connection.next().await? {
        match event {
            Event::Request(request, ticket) => match &*request.method() {
                "initialize" => {
                    let params = request.params().map(RawJson::into_owned);
                    ticket.respond(&json!({
                        "protocolVersion": params.as_ref().and_then(|params| params.pointer("/protocolVersion")),
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "gateway", "version": "1"},
                    }));
                    if running.is_empty() {
                        for at in 0..gateway.servers.len() {
                            running.spawn(keep_running(Arc::clone(gateway), at, params.clone()));
                        }
                    }
                }
                "ping" => ticket.respond(&json!({})),
                "tools/list" => {
                    let gateway = Arc::clone(gateway);
                    tokio::spawn(async move {
                        let tools = async { Ok(json!({"tools": gateway.list_tools().await})) };
                        answer(ticket, gateway.limit, tools, |ticket, tools| ticket.respond(&tools)).await;
                    });
                }
                "tools/call" => {
                    let (gateway, request) = (Arc::clone(gateway), request.into_owned());
                    tokio::spawn(async move {
                        let response = gateway.call_tool(&request);
                        answer(ticket, gateway.limit, response, |ticket, response| ticket.relay(&response)).await;
                    });
                }
                _ => ticket.fail(&RpcError::method_not_found()),
            },
            // Servers are told when they are started.
            Event::Notification(notification) if notification.method() == "notifications/initialized" => {}
            Event::Notification(notification) => gateway.peers().for_each(|peer| drop(peer.forward(&notification))),
            _ => {}
        }
    }
    Ok(())
}

/// Answers a request in time, unless it is cancelled.
async fn answer<T>(
    ticket: Ticket,
    limit: Duration,
    outcome: impl Future<Output = Result<T, RpcError>>,
    respond: impl FnOnce(Ticket, T),
) {
    tokio::select! {
        outcome = timeout(limit, outcome) => match outcome {
            Ok(Ok(outcome)) => respond(ticket, outcome),
            Ok(Err(error)) => ticket.fail(&error),
            Err(_) => ticket.fail(&RpcError::new(-32000, "no answer in time")),
        },
        // Dropping the outcome drops the call that it waits for, which is cancelled too.
        () = ticket.cancelled() => {}
    }
}

impl Gateway {
    /// The servers that are running.
    fn peers(&self) -> impl Iterator<Item = Peer<Caller>> {
        self.servers.iter().filter_map(|server| server.peer.borrow().clone())
    }

    /// Sends a call to the server that its tool belongs to.
    async fn call_tool(&self, request: &Request<'static>) -> Result<Response<'static>, RpcError> {
        let unknown = || RpcError::invalid_params("no such tool");
        let name = request.params().and_then(|params| params.pointer("/name")?.deserialize::<String>().ok());
        let (server, tool) = name.as_deref().and_then(|name| name.split_once('.')).ok_or_else(unknown)?;
        let server = self.servers.iter().find(|known| known.name == server).ok_or_else(unknown)?;
        let gone = || RpcError::new(-32000, format!("server {} is gone", server.name));
        let peer = server.running().await.ok_or_else(gone)?;
        peer.relay_with(request, "/params/name", tool).response().await.map_err(|error| match error {
            CallError::Lost(_) | CallError::Send(SendError::Closed) => gone(),
            error => error.into(),
        })
    }

    /// The tools of all servers. One that doesn't answer in time has none.
    async fn list_tools(&self) -> Vec<Map<String, Value>> {
        let lists = self.servers.iter().map(|server| async {
            timeout(self.limit / 2, server.list_tools()).await.ok().flatten().unwrap_or_default()
        });
        join_all(lists).await.concat()
    }
}

impl Server {
    /// The server, when it is running.
    async fn running(&self) -> Option<Peer<Caller>> {
        self.peer.subscribe().wait_for(Option::is_some).await.ok()?.clone()
    }

    /// Its tools, with its name before theirs.
    async fn list_tools(&self) -> Option<Vec<Map<String, Value>>> {
        let mut list: Value = self.running().await?.call("tools/list", &()).await.ok()?;
        let mut tools: Vec<Map<_, _>> = serde_json::from_value(list["tools"].take()).ok()?;
        for tool in &mut tools {
            let name = format!("{}.{}", self.name, tool.get("name")?.as_str()?);
            tool.insert("name".to_owned(), name.into());
        }
        Some(tools)
    }
}

/// Starts a server again and again, until the gateway ends.
async fn keep_running(gateway: Arc<Gateway>, at: usize, params: Params) {
    let server = &gateway.servers[at];
    while !gateway.is_ending.load(Ordering::Relaxed) {
        let ended = run(&gateway, server, &params).await;
        server.peer.send_replace(None);
        if let Err(error) = ended {
            eprintln!("gateway: {}: {error}", server.name);
        }
        sleep(PAUSE).await;
    }
}

/// Runs a server until it ends.
async fn run(gateway: &Gateway, server: &Server, params: &Params) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut words = server.command.split_whitespace();
    let mut command = Command::new(words.next().ok_or("no command")?);
    let mut process = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else { unreachable!() };
    let (peer, connection) = Connection::new(Tokio(output), Tokio(input), Rules::mcp());
    let mut connection = connection.last_words(|| sleep(LAST_WORDS));
    let serving = async {
        while let Some(event) = connection.next().await? {
            match event {
                Event::Request(request, ticket) => {
                    let reply = gateway.client.relay(&request);
                    let response = async { Ok(reply.response().await?) };
                    tokio::spawn(answer(ticket, gateway.limit, response, |ticket, response| ticket.relay(&response)));
                }
                Event::Notification(notification) => drop(gateway.client.forward(&notification)),
                _ => {}
            }
        }
        Ok(())
    };
    let starting = async {
        timeout(gateway.limit, peer.call::<Value>("initialize", params)).await??;
        peer.notify("notifications/initialized", &()).await?;
        server.peer.send_replace(Some(peer.clone()));
        let _ = process.wait().await;
        sleep(LAST_WORDS).await; // a process that it started may hold its output open
        Ok(())
    };
    tokio::select! { ended = serving => ended, ended = starting => ended }
}

//! Lets several clients share one server.
//!
//! ```console
//! $ cargo build --features tokio --examples
//! $ cargo run -q --features tokio --example proxy -- 2 target/debug/examples/server
//! listening on 127.0.0.1:40123 for 2 clients
//! ```
//!
//! Clients connect over TCP and talk to the proxy as if it were the server. Two clients may choose the same id, so the
//! proxy forwards each request with a new id, and puts the client's id back into the response. Everything else passes
//! through byte for byte. When the given number of clients have come and gone, the proxy closes the server's input, and
//! exits after the server.
//!
//! Every request gets one response, whatever the server does:
//!
//! - If the server dies, closes its output or can't be written to, all requests in flight are answered with an error at
//!   once, and so are those that arrive later.
//! - If it doesn't answer within the timeout, the request is answered with an error and cancelled at the server.
//! - If it stops reading, up to `BACKLOG` bytes and one line wait for it. Further requests are refused at once.
//!
//! If a client cancels a request, or disconnects, its requests are cancelled at the server. While a client doesn't read
//! its responses, nothing is read from it, and after `STALLED` it is disconnected.

use std::error::Error;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use wireline::aio::{Connection, Tokio};
use wireline::connection::{CallError, Caller, Config, Event, Lost, Peer, Reply, SendError, Ticket};
use wireline::{RpcError, Rules};

/// Requests that may be in flight at the server.
const IN_FLIGHT: usize = 10_000;
/// Bytes that may wait for the server: four of the longest lines.
const BACKLOG: usize = 64 << 20;
/// How long a client may read nothing.
const STALLED: Duration = Duration::from_secs(10);
/// How long to keep reading responses after the server has exited or closed its input.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long the server may keep running after its input was closed, before it is killed.
const GRACE: Duration = Duration::from_secs(2);

const USAGE: &str = "usage: proxy [--timeout SECONDS] CLIENTS COMMAND [ARG]...";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).peekable();
    let limit = match args.next_if(|arg| arg == "--timeout") {
        Some(_) => Duration::try_from_secs_f64(args.next().ok_or(USAGE)?.parse()?)?,
        None => Duration::from_secs(60),
    };
    let count: usize = args.next().ok_or(USAGE)?.parse()?;
    let mut command = Command::new(args.next().ok_or(USAGE)?);
    let mut process = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else { unreachable!() };
    let config = Config::new(Rules::json_rpc()).calls(IN_FLIGHT).backlog(BACKLOG);
    let (server, connection) = Connection::new(Tokio(output), Tokio(input), config);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {} for {count} clients", listener.local_addr()?);

    let running = tokio::spawn(async move {
        tokio::select! {
            // The server's own requests are answered with "Method not found": which client could be meant?
            ended = connection.last_words(|| sleep(LAST_WORDS)).run() => drop(ended),
            // Usually its output has ended too, but a process that it started may hold it open.
            () = async { drop(process.wait().await); sleep(LAST_WORDS).await } => {}
        }
        process.wait().await
    });
    let mut clients = JoinSet::new();
    for _ in 0..count {
        clients.spawn(serve(listener.accept().await?.0, server.clone(), limit));
    }
    while let Some(served) = clients.join_next().await {
        served?.unwrap_or_else(|error| eprintln!("proxy: lost a client: {error}"));
    }
    server.end();
    let _ = timeout(GRACE, running).await; // a server that is still running is killed
    Ok(())
}

/// Forwards what a client sends, until it has sent its last request and got its last response.
async fn serve(socket: TcpStream, server: Peer<Caller>, limit: Duration) -> io::Result<()> {
    let (reader, writer) = socket.into_split();
    let (_, connection) = Connection::new(Tokio(reader), Tokio(writer), Rules::json_rpc());
    let mut connection = connection.end_if_stalled(|| sleep(STALLED));
    while let Some(event) = connection.next().await? {
        match event {
            Event::Request(request, ticket) => {
                let reply = server.relay(&request);
                match reply.is_waiting() {
                    true => ticket.fail(&RpcError::new(-32000, "the server is busy")),
                    false => drop(tokio::spawn(answer(ticket, reply, limit))),
                }
            }
            Event::Notification(notification) => drop(server.forward(&notification)), // lost if the server is busy
            _ => {}
        }
    }
    Ok(())
}

/// Passes on the response to one request.
async fn answer(ticket: Ticket, reply: Reply<()>, limit: Duration) {
    tokio::select! {
        response = timeout(limit, reply.response()) => match response {
            Ok(Ok(response)) => ticket.relay(&response),
            Ok(Err(error)) => ticket.fail(&explain(&error)),
            Err(_) => ticket.fail(&RpcError::new(-32000, "the server did not answer in time")),
        },
        // The client doesn't want it any more. Dropping the reply cancels the request at the server too.
        () = ticket.cancelled() => {}
    }
}

fn explain(error: &CallError) -> RpcError {
    match error {
        CallError::Send(SendError::Encode(_)) => RpcError::invalid_request("the request is too long to be forwarded"),
        CallError::Send(SendError::Full) => RpcError::new(-32000, "the server is busy"),
        CallError::Lost(Lost::Faulty(_)) => RpcError::internal(), // it answered with something that isn't a response
        _ => RpcError::new(-32000, "the server is gone"),
    }
}

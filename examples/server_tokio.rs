//! A server on tokio, over TCP: each request is a task.
//!
//! ```console
//! $ cargo run -q --features tokio --example server_tokio -- 127.0.0.1:7007 &
//! listening on 127.0.0.1:7007
//! $ nc -N 127.0.0.1 7007 <<'END'
//! {"jsonrpc":"2.0","id":1,"method":"sleep","params":[300]}
//! {"jsonrpc":"2.0","id":2,"method":"sleep","params":[100]}
//! {"jsonrpc":"2.0","id":3,"method":"sleep","params":[1000]}
//! {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}}
//! END
//! {"jsonrpc":"2.0","id":3,"error":{"code":-32800,"message":"Request cancelled"}}
//! {"jsonrpc":"2.0","id":2,"result":100.0}
//! {"jsonrpc":"2.0","id":1,"result":300.0}
//! ```
//!
//! The same as `server_threads.rs`, for many clients: answers in any order, cancellation, deadlines, a limit on
//! requests in flight, graceful shutdown, and exactly one answer to each request, even if its task panics.
//!
//! Here, a request is answered at its deadline whatever its task does. If a client doesn't read its answers, nothing
//! more is read from it, so it can't make the server use more memory than `IN_FLIGHT` answers need.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde::de::DeserializeOwned;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::codec::{FramedRead, FramedWrite};
use wireline::codec::Codec;
use wireline::ledger::{Answer, Inbound, Ticket};
use wireline::{Frame, Message, Notification, Request, RpcError, Rules};

/// Requests of one client that may be in flight. Further ones are refused.
const IN_FLIGHT: usize = 16;
/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long requests may run after the client has sent its last one.
const GRACE: Duration = Duration::from_secs(1);
/// How long a client may read nothing.
const STALLED: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let (socket, client) = listener.accept().await?;
        tokio::spawn(async move {
            if let Err(error) = serve(socket).await {
                eprintln!("{client}: {error}");
            }
        });
    }
}

async fn serve(socket: TcpStream) -> io::Result<()> {
    // Tasks answer one by one, so batches, which need all answers in one array, are refused.
    let rules = Rules::json_rpc().batches(false);
    let dropped = Arc::new(Notify::new());
    let owed = Inbound::with_wake(rules, IN_FLIGHT, {
        let dropped = Arc::clone(&dropped);
        move || dropped.notify_one()
    });
    let (reader, writer) = socket.into_split();
    let (answers, to_write) = mpsc::channel(IN_FLIGHT);
    let reading = async {
        // Dropped at the end. The last task drops the last clone, which ends `writing`.
        let answers = answers;
        let read = read(FramedRead::new(reader, Codec::new(rules)), &answers, &owed).await;
        owed.close();
        if timeout(GRACE, owed.idle()).await.is_err() {
            for answer in owed.answer_rest(&RpcError::new(-32000, "the server is shutting down")) {
                let _ = answers.send(answer).await;
            }
        }
        read
    };
    let writing = write(FramedWrite::new(writer, Codec::new(rules)), to_write, &owed, &dropped);
    let served = tokio::try_join!(reading, writing);
    // If the client is gone, nobody reads these, but accepting them tells the tasks to stop.
    for answer in owed.answer_rest(&RpcError::internal()) {
        drop(answer.accept());
    }
    served.map(drop)
}

/// Starts a task for each request, until the client has sent its last one.
async fn read(
    mut frames: FramedRead<OwnedReadHalf, Codec>,
    answers: &mpsc::Sender<Answer>,
    owed: &Inbound,
) -> io::Result<()> {
    while let Some(frame) = frames.next().await {
        let answer = match frame? {
            Ok(Frame::Message(Message::Request(request))) => match owed.admit(&request) {
                Ok(ticket) => {
                    tokio::spawn(run(ticket, request, answers.clone()));
                    continue;
                }
                // A duplicate id, or too many requests in flight.
                Err(refusal) => refusal,
            },
            Ok(Frame::Message(Message::Notification(note))) => {
                cancel(owed, &note);
                continue;
            }
            Ok(_) => continue, // this server sends no requests, so it expects no responses
            Err(fault) => {
                eprintln!("{fault}");
                let Some(reply) = fault.reply() else { continue };
                owed.reply(&reply)
            }
        };
        if answers.send(answer).await.is_err() {
            break; // `write` has failed, and says why
        }
    }
    Ok(())
}

/// Writes answers until nobody can send any more.
async fn write(
    mut lines: FramedWrite<OwnedWriteHalf, Codec>,
    mut answers: mpsc::Receiver<Answer>,
    owed: &Inbound,
    dropped: &Notify,
) -> io::Result<()> {
    loop {
        let answer = tokio::select! {
            answer = answers.recv() => answer,
            // A task panicked and dropped its ticket, so its answer is still owed.
            () = dropped.notified() => Some(owed.dropped().collect()),
        };
        let is_last = answer.is_none();
        timeout(STALLED, lines.send(answer.unwrap_or_else(|| owed.dropped().collect()))).await??;
        if is_last {
            return Ok(());
        }
    }
}

fn cancel(owed: &Inbound, note: &Notification<'_>) {
    let id = note.params().and_then(|params| params.pointer("/id")?.deserialize().ok());
    if let ("$/cancelRequest", Some(id)) = (&*note.method(), id) {
        owed.cancel(&id); // false if it has been answered
    }
}

async fn run(ticket: Ticket, request: Request<'static>, answers: mpsc::Sender<Answer>) {
    let answer = tokio::select! {
        outcome = call(&request) => match outcome {
            Ok(result) => ticket.respond(&result),
            Err(error) => ticket.fail(&error),
        },
        () = ticket.cancelled() => ticket.fail(&RpcError::new(-32800, "Request cancelled")),
        () = sleep(TIMEOUT) => ticket.fail(&RpcError::new(-32000, "deadline exceeded")),
    };
    if let Some(error) = answer.instead_of() {
        eprintln!("answered with an internal error: {error}");
    }
    // If this fails, the client is gone, and there is nobody to answer.
    let _ = answers.send(answer).await;
}

async fn call(request: &Request<'_>) -> Result<f64, RpcError> {
    match &*request.method() {
        "divide" => params(request).map(|[a, b]: [f64; 2]| a / b),
        "sleep" => {
            let [ms]: [u32; 1] = params(request)?;
            sleep(Duration::from_millis(ms.into())).await;
            Ok(ms.into())
        }
        "panic" => panic!("as requested"),
        _ => Err(RpcError::method_not_found()),
    }
}

fn params<T: DeserializeOwned>(request: &Request<'_>) -> Result<T, RpcError> {
    let params = request.params().and_then(|params| params.deserialize().ok());
    params.ok_or_else(|| RpcError::invalid_params("Invalid params"))
}

//! A server on tokio, over TCP.
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
//! The same as `server_threads.rs`, for many clients: answers in any order, batches, cancellation, deadlines, a limit
//! on requests in flight, and exactly one answer to each request, even if its handler panics.
//!
//! Each client is a task, in which its requests run at the same time. Here, a request is answered at its deadline
//! whatever its handler awaits, and is dropped if it is cancelled. If a client doesn't read its answers, nothing more
//! is read from it, so it can't make the server use more memory than `IN_FLIGHT` answers need. Ctrl-C shuts down
//! gracefully.

use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::signal::ctrl_c;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use wireline::aio::{Connection, Tokio};
use wireline::connection::{Call, Config};
use wireline::{RpcError, Rules};

/// Requests of one client that may be in flight. Further ones are refused.
const IN_FLIGHT: usize = 16;
/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long requests may run after the client has sent its last one, or after Ctrl-C.
const GRACE: Duration = Duration::from_secs(1);
/// How long a client may read nothing.
const STALLED: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let mut clients = JoinSet::new();
    let (running, stopped) = watch::channel(());
    let mut interrupted = pin!(ctrl_c());
    loop {
        tokio::select! {
            accepted = listener.accept() => drop(clients.spawn(serve(accepted?.0, stopped.clone()))),
            Some(served) = clients.join_next() => match served? {
                Ok(()) => {}
                Err(error) => eprintln!("lost a client: {error}"),
            },
            _ = &mut interrupted => break,
        }
    }
    drop(running);
    clients.join_all().await;
    Ok(())
}

async fn serve(socket: TcpStream, mut stopped: watch::Receiver<()>) -> io::Result<()> {
    let (reader, writer) = socket.into_split();
    let config = Config::new(Rules::json_rpc()).in_flight(IN_FLIGHT);
    let (_, connection) = Connection::new(Tokio(reader), Tokio(writer), config);
    let shutdown = async { drop(stopped.changed().await) };
    connection
        .end_if_stalled(|| sleep(STALLED))
        .serve_until(
            shutdown,
            || sleep(GRACE),
            async |call| match timeout(TIMEOUT, answer(&call)).await {
                Ok(answer) => answer,
                Err(_) => Err(RpcError::new(-32001, "Request timed out")),
            },
        )
        .await
}

async fn answer(call: &Call<'_>) -> Result<f64, RpcError> {
    match call.method() {
        "divide" => call.params().map(|[a, b]: [f64; 2]| a / b),
        "sleep" => {
            let [ms]: [u32; 1] = call.params()?;
            sleep(Duration::from_millis(ms.into())).await;
            Ok(ms.into())
        }
        "panic" => panic!("as requested"),
        _ => Err(RpcError::method_not_found()),
    }
}

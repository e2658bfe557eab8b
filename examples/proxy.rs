//! One server behind several clients.
//!
//! ```console
//! $ cargo build --examples && cargo run -q --example proxy -- 2 target/debug/examples/server
//! listening on 127.0.0.1:40123 for 2 clients
//! ```
//!
//! Each client speaks to the proxy as if it were the server, over TCP. The ids that clients choose may be the same, so
//! each request is forwarded under an id of the proxy's own, and its answer under the client's again. Nothing else is
//! changed, or decoded: whatever a message says, it is said byte for byte on the other side.
//!
//! When that many clients have come and gone, the server's input is closed, and the proxy ends with it.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use wireline::ledger::Outbound;
use wireline::{Decoder, Encoder, Frame, Id, Message, RpcError, Rules};

/// Where a client is written to: by whoever has an answer for it, one whole line after the other.
type Client = Arc<Mutex<TcpStream>>;

/// What the proxy remembers of a request that it forwarded: who sent it, and under which id.
struct Forwarded {
    client: Client,
    id: Id<'static>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(Ok(clients)), Some(command)) = (args.next().map(|count| count.parse::<usize>()), args.next()) else {
        return Err("usage: proxy CLIENTS COMMAND [ARG]...".into());
    };
    let mut server = Command::new(command).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else { unreachable!() };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("listening on {} for {clients} clients", listener.local_addr()?);

    let open = Mutex::new(Outbound::new(10_000));
    let input = Arc::new(Mutex::new(input));
    thread::scope(|scope| {
        scope.spawn(|| from_server(output, &open));
        for client in listener.incoming().take(clients).flatten() {
            let (input, open) = (Arc::clone(&input), &open);
            scope.spawn(move || {
                if let Err(error) = from_client(&client, &input, open) {
                    eprintln!("client: {error}");
                }
            });
        }
        // With the last client the server's input is closed, and it ends.
        drop(input);
    });
    server.wait()?;
    Ok(())
}

/// Forwards what a client sends, until it has sent its last.
fn from_client(
    mut client: &TcpStream,
    input: &Mutex<ChildStdin>,
    open: &Mutex<Outbound<Forwarded>>,
) -> Result<(), Box<dyn Error>> {
    let mut decoder = Decoder::new(Rules::json_rpc());
    let (mut up, mut back) = (Encoder::new(Rules::json_rpc()), Encoder::new(Rules::json_rpc()));
    let answers = Arc::new(Mutex::new(client.try_clone()?));
    let mut chunk = [0; 8192];
    loop {
        let read = client.read(&mut chunk)?;
        decoder.feed(&chunk[..read]);
        if read == 0 {
            decoder.finish();
        }
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Ok(Frame::Message(message)) => match &message {
                    Message::Request(request) => {
                        let id = request.id().clone().into_owned();
                        let issued = lock(open).issue(Forwarded { client: Arc::clone(&answers), id: id.clone() });
                        match issued {
                            Err(_) => back.error(&id, &RpcError::new(-32000, "the server is busy"))?,
                            Ok(ours) if up.with_id(&message, &ours).is_err() => {
                                // With a longer id the line is too long.
                                lock(open).withdraw(&ours);
                                back.error(&id, &RpcError::internal())?;
                            }
                            Ok(_) => {}
                        }
                    }
                    Message::Notification(_) => up.forward(&message)?,
                    Message::Response(_) => {} // the server asks nothing
                },
                // A batch would have to be taken apart, and its answers put together again.
                Ok(Frame::Batch(_)) => back.error(&Id::NULL, &RpcError::invalid_request("no batches here"))?,
                Err(fault) => {
                    if let Some(reply) = fault.reply() {
                        back.error_reply(&reply)?;
                    }
                }
            }
        }
        lock(input).write_all(&up.take())?;
        lock(&answers).write_all(&back.take())?;
        if read == 0 {
            return Ok(());
        }
    }
}

/// Returns what the server answers to whom it is for, until the server ends.
fn from_server(mut output: ChildStdout, open: &Mutex<Outbound<Forwarded>>) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut decoder = Decoder::new(Rules::json_rpc());
    let mut down = Encoder::new(Rules::json_rpc());
    let mut chunk = [0; 8192];
    loop {
        let read = output.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        decoder.feed(&chunk[..read]);
        while let Some(frame) = decoder.next_frame() {
            let (forwarded, message) = match &frame {
                Ok(Frame::Message(message @ Message::Response(response))) => {
                    (lock(open).settle(response).ok(), Some(message))
                }
                // An answer that nobody can read is one all the same: its request will get no other.
                Err(fault) if fault.is_response() => (fault.id().and_then(|id| lock(open).withdraw(id)), None),
                _ => continue,
            };
            let Some(Forwarded { client, id }) = forwarded else { continue };
            if message.is_none_or(|message| down.with_id(message, &id).is_err()) {
                down.error(&id, &RpcError::internal())?;
            }
            // A client that has gone does not keep the others from their answers.
            drop(lock(&client).write_all(&down.take()));
        }
    }
    for (_, Forwarded { client, id }) in lock(open).drain() {
        down.error(&id, &RpcError::internal())?;
        drop(lock(&client).write_all(&down.take()));
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The same as `sockets.rs`, on tokio: a server over TCP and, on Unix, over a Unix socket.
//!
//! ```console
//! $ cargo run -q --features tokio --example sockets_tokio
//! tcp: 3 answers
//! unix: 3 answers
//! ```

use std::error::Error;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::Framed;
use wireline::codec::Codec;
use wireline::ledger::{Answer, Inbound};
use wireline::{Frame, Id, Message, RpcError, Rules, to_line};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = async {
        let (socket, _) = listener.accept().await?;
        answer(socket).await
    };
    let client = async { ask(TcpStream::connect(address).await?).await };
    let ((), answers) = tokio::try_join!(server, client)?;
    println!("tcp: {answers} answers");

    #[cfg(unix)]
    {
        let (near, far) = tokio::net::UnixStream::pair()?;
        let ((), answers) = tokio::try_join!(answer(near), ask(far))?;
        println!("unix: {answers} answers");
    }
    Ok(())
}

/// The server: answers `hello` until the client disconnects.
async fn answer(socket: impl AsyncRead + AsyncWrite + Unpin) -> Result<(), Box<dyn Error>> {
    let rules = Rules::json_rpc();
    let owed = Inbound::new(rules, 1000);
    let mut framed = Framed::new(socket, Codec::new(rules));
    while let Some(frame) = framed.next().await {
        let answer = match frame? {
            Ok(Frame::Message(message)) => answer_message(&owed, &message),
            // One array for all of its requests.
            Ok(Frame::Batch(batch)) => Some(owed.batch(batch.iter().filter_map(|entry| match entry {
                Ok(message) => answer_message(&owed, &message),
                Err(fault) => fault.reply().map(|reply| owed.reply(&reply)),
            }))),
            // A bad line is an item, not the end of the stream.
            Err(fault) => fault.reply().map(|reply| owed.reply(&reply)),
        };
        if let Some(answer) = answer {
            framed.send(answer).await?; // fails only if the connection does
        }
    }
    Ok(())
}

fn answer_message(owed: &Inbound, message: &Message<'_>) -> Option<Answer> {
    let Message::Request(request) = message else { return None };
    let ticket = match owed.admit(request) {
        Ok(ticket) => ticket,
        Err(refusal) => return Some(refusal),
    };
    let name = request.params().and_then(|params| params.deserialize::<[String; 1]>().ok());
    Some(match (&*request.method(), name) {
        ("hello", Some([name])) => ticket.respond(&format!("hello, {name}")),
        ("hello", None) => ticket.fail(&RpcError::invalid_params("expected a name")),
        _ => ticket.fail(&RpcError::method_not_found()),
    })
}

/// The client: sends its requests and counts the answers.
async fn ask(socket: impl AsyncRead + AsyncWrite + Unpin) -> Result<usize, Box<dyn Error>> {
    let rules = Rules::json_rpc();
    let mut framed = Framed::new(socket, Codec::new(rules));
    let names = ["Ada", "Grace", "Barbara"];
    for (id, name) in (1..).zip(names) {
        framed.send(to_line(&rules, |encoder| encoder.request(&Id::from(id), "hello", &[name]))?).await?;
    }
    let mut count = 0;
    while count < names.len() {
        match framed.next().await {
            Some(Ok(Ok(Frame::Message(Message::Response(response))))) if response.result().is_some() => count += 1,
            other => return Err(format!("expected an answer, found {other:?}").into()),
        }
    }
    Ok(count)
}

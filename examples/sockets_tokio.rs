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
    let mut framed = Framed::new(socket, Codec::new(rules));
    while let Some(frame) = framed.next().await {
        match frame? {
            Ok(Frame::Message(Message::Request(request))) => {
                let name = request.params().and_then(|params| params.deserialize::<[String; 1]>().ok());
                let answer = to_line(&rules, |encoder| match (&*request.method(), name) {
                    ("hello", Some([name])) => encoder.response(request.id(), &format!("hello, {name}")),
                    ("hello", None) => encoder.error(request.id(), &RpcError::invalid_params("expected a name")),
                    _ => encoder.error(request.id(), &RpcError::method_not_found()),
                })?;
                framed.send(answer).await?;
            }
            Ok(_) => {}
            // A bad line is an item, not the end of the stream.
            Err(fault) => {
                if let Some(reply) = fault.reply() {
                    framed.send(to_line(&rules, |encoder| encoder.error_reply(&reply))?).await?;
                }
            }
        }
    }
    Ok(())
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

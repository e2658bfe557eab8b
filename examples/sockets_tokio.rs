//! The same as `sockets.rs`, on tokio: a server over TCP and, on Unix, over a Unix socket.
//!
//! ```console
//! $ cargo run -q --features tokio --example sockets_tokio
//! tcp: 3 answers
//! unix: 3 answers
//! ```

use std::io;

use tokio::io::{AsyncRead, AsyncWrite, split};
use tokio::net::{TcpListener, TcpStream};
use wireline::aio::{Connection, Tokio};
use wireline::{RpcError, Rules};

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = async { answer(listener.accept().await?.0).await };
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

/// The server: answers `hello` until the client closes its sending side.
async fn answer(socket: impl AsyncRead + AsyncWrite) -> io::Result<()> {
    let (reader, writer) = split(socket);
    let (_, connection) = Connection::new(Tokio(reader), Tokio(writer), Rules::json_rpc());
    connection
        .serve(async |call| match call.method() {
            "hello" => call.params::<[String; 1]>().map(|[name]| format!("hello, {name}")),
            _ => Err(RpcError::method_not_found()),
        })
        .await
}

/// The client: sends its requests, closes its sending side, and counts the answers.
async fn ask(socket: impl AsyncRead + AsyncWrite) -> io::Result<usize> {
    let (reader, writer) = split(socket);
    let (peer, connection) = Connection::new(Tokio(reader), Tokio(writer), Rules::json_rpc());
    let calls = ["Ada", "Grace", "Barbara"].map(|name| peer.call::<String>("hello", &[name]));
    peer.end(); // once they are sent
    connection.run().await?;
    let mut count = 0;
    for call in calls {
        count += usize::from(call.await.is_ok());
    }
    Ok(count)
}

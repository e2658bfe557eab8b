//! The same server over TCP and, on Unix, over a Unix socket: the framing is not tied to stdio.
//!
//! ```console
//! $ cargo run -q --example sockets
//! tcp: 3 answers
//! unix: 3 answers
//! ```
//!
//! Any `Read` and `Write` will do. This example listens on the loopback address and on a socket in a temporary folder,
//! serves one client of its own on each, and exits.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use wireline::connection::Reply;
use wireline::io::{Connection, Socket, serve};
use wireline::{RpcError, Rules};

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = thread::spawn(move || listener.accept().and_then(|(socket, _)| answer(&socket, &socket)));
    println!("tcp: {} answers", ask(TcpStream::connect(address)?)?);
    server.join().expect("it doesn't panic")?;

    #[cfg(unix)]
    over_unix_socket()?;
    Ok(())
}

#[cfg(unix)]
fn over_unix_socket() -> io::Result<()> {
    use std::os::unix::net::{UnixListener, UnixStream};

    let path = std::env::temp_dir().join(format!("wireline-example-{}.sock", std::process::id()));
    let listener = UnixListener::bind(&path)?;
    let server = thread::spawn(move || listener.accept().and_then(|(socket, _)| answer(&socket, &socket)));
    let socket = UnixStream::connect(&path)?;
    std::fs::remove_file(&path)?; // the connection stays open
    println!("unix: {} answers", ask(socket)?);
    server.join().expect("it doesn't panic")
}

/// The server: answers `hello` until the client closes its sending side.
fn answer(reader: impl Read, writer: impl Write) -> io::Result<()> {
    serve(reader, writer, Rules::json_rpc(), |call| match call.method() {
        "hello" => call.params::<[String; 1]>().map(|[name]| format!("hello, {name}")),
        _ => Err(RpcError::method_not_found()),
    })
}

/// The client: sends its requests, closes its sending side, and counts the answers.
fn ask(socket: impl Socket) -> io::Result<usize> {
    let (peer, connection) = Connection::over(socket, Rules::json_rpc())?;
    let calls = ["Ada", "Grace", "Barbara"].map(|name| peer.call::<String>("hello", &[name]));
    peer.end(); // once they are sent
    connection.run()?;
    Ok(calls.into_iter().map(Reply::wait).filter(Result::is_ok).count())
}

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
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use wireline::io::{FrameReader, FrameWriter, Progress, serve};
use wireline::{Frame, Id, Message, RpcError, Rules};

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = thread::spawn(move || listener.accept().and_then(|(socket, _)| answer(&socket, &socket)));
    let socket = TcpStream::connect(address)?;
    println!("tcp: {} answers", ask(&socket, &socket, || socket.shutdown(Shutdown::Write))?);
    server.join().map_err(|_| io::ErrorKind::Other)??;

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
    println!("unix: {} answers", ask(&socket, &socket, || socket.shutdown(Shutdown::Write))?);
    server.join().map_err(|_| io::ErrorKind::Other)?
}

/// The server: answers `hello` until the client closes its sending side.
fn answer(reader: impl Read, writer: impl Write) -> io::Result<()> {
    serve(reader, writer, Rules::json_rpc(), |call| match call.method() {
        "hello" => call.params::<[String; 1]>().map(|[name]| format!("hello, {name}")),
        _ => Err(RpcError::method_not_found()),
    })
}

/// The client: sends its requests, closes its sending side with `no_more`, and counts the answers.
fn ask(reader: impl Read, writer: impl Write, no_more: impl FnOnce() -> io::Result<()>) -> io::Result<usize> {
    let requests = FrameWriter::new(writer, Rules::json_rpc());
    for (id, name) in (1..).zip(["Ada", "Grace", "Barbara"]) {
        let sent = requests.send(|encoder| encoder.request(&Id::from(id), "hello", &[name]));
        assert_eq!(sent.map_err(io::Error::other)?, Progress::Written); // the socket is blocking
    }
    assert_eq!(requests.flush().map_err(io::Error::other)?, Progress::Written);
    no_more()?;
    let mut answers = FrameReader::new(reader, Rules::json_rpc());
    let mut count = 0;
    while let Some(frame) = answers.next_frame()? {
        if let Ok(Frame::Message(Message::Response(response))) = frame {
            count += usize::from(response.result().is_some());
        }
    }
    Ok(count)
}

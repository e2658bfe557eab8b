//! A server on standard input and output that also prints there. It has no test harness, which would print as well.

mod support;

use std::io::ErrorKind;
use std::process::Stdio;
use std::time::Duration;

use rmcp::ServiceExt;
use serde_json::json;
use support::{Probe, Tools, call};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use wireline_rmcp::{ChildProcess, Incident, LineTransport, stdio};

/// Far more than any of these takes, so that a hang fails instead of lasting.
const HANG: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => serve().await,
        Some("quit") => quit().await,
        // What a test runner asks for. On other systems than Unix nothing is redirected.
        Some("--list") => {}
        _ if cfg!(not(unix)) => {}
        _ => {
            for streams in [Streams::Pipes, Streams::Sockets] {
                stray_prints_stay_out_of_the_protocol(streams).await;
                large_messages_pass(streams).await;
                the_last_line_is_answered_before_the_exit(streams).await;
                a_server_can_exit_while_its_input_is_open(streams).await;
            }
            the_child_process_transport_gets_along_with_it().await;
            println!("test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
        }
    }
}

/// The program `serve`: prints to stdout before, during and after the session.
async fn serve() {
    println!("before");
    print!("not flushed before ");
    let transport = stdio().unwrap();
    assert_eq!(stdio().unwrap_err().kind(), ErrorKind::AlreadyExists);
    let chatter = tokio::spawn(async {
        loop {
            println!("during");
            let echo = Command::new("echo").arg("from a child process").status();
            assert!(echo.await.unwrap().success());
        }
    });
    Tools.serve(transport).await.unwrap().waiting().await.unwrap();
    chatter.abort();
    let _ = chatter.await;
    println!("after");
    assert_eq!(stdio().unwrap_err().kind(), ErrorKind::AlreadyExists);
}

/// The program `quit`: ends while its input is open.
async fn quit() {
    let service = Tools.serve(stdio().unwrap()).await.unwrap();
    service.cancel().await.unwrap();
}

/// What the server finds on its standard input and output. Only pipes can be opened once more.
#[derive(Clone, Copy, Debug)]
enum Streams {
    Pipes,
    Sockets,
}

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

fn program(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(name).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

fn start(name: &str, streams: Streams) -> (Child, Reader, Writer) {
    let mut command = program(name);
    match streams {
        Streams::Pipes => {
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
            (child, Box::new(stdout), Box::new(stdin))
        }
        #[cfg(unix)]
        Streams::Sockets => {
            use std::os::fd::OwnedFd;
            use tokio::net::UnixStream;

            let [(near_in, far_in), (near_out, far_out)] = [UnixStream::pair().unwrap(), UnixStream::pair().unwrap()];
            let blocking = |stream: UnixStream| {
                let stream = stream.into_std().unwrap();
                stream.set_nonblocking(false).unwrap();
                Stdio::from(OwnedFd::from(stream))
            };
            let child = command.stdin(blocking(far_in)).stdout(blocking(far_out)).spawn().unwrap();
            (child, Box::new(near_out), Box::new(near_in))
        }
        #[cfg(not(unix))]
        Streams::Sockets => unreachable!(),
    }
}

/// What a server prints on its stderr until it exits successfully.
async fn printed(mut child: Child) -> String {
    let mut text = String::new();
    let mut stderr = child.stderr.take().unwrap();
    timeout(HANG, stderr.read_to_string(&mut text)).await.unwrap().unwrap();
    let status = timeout(HANG, child.wait()).await.unwrap().unwrap();
    assert!(status.success(), "{status}: {text}");
    text
}

async fn stray_prints_stay_out_of_the_protocol(streams: Streams) {
    let (child, reader, writer) = start("serve", streams);
    let printed = tokio::spawn(printed(child));
    let mut faults = 0;
    let transport = LineTransport::new(reader, writer).on_incident(move |incident| {
        faults += 1;
        assert!(matches!(incident, Incident::Fault(_)) && faults == 1, "only `before` is on stdout: {incident}");
    });
    let client = timeout(HANG, ().serve(transport)).await.unwrap().unwrap();
    for n in 0..200 {
        assert_eq!(call(&client, "sum", json!({"a": n, "b": 1})).await.unwrap(), (n + 1).to_string());
    }
    timeout(HANG, client.cancel()).await.unwrap().unwrap();
    let printed = printed.await.unwrap();
    assert!(printed.starts_with("not flushed before "), "{streams:?}: {printed}");
    for stray in ["during", "from a child process", "after"] {
        assert!(printed.contains(stray), "{streams:?}, {stray}: {printed}");
    }
}

async fn large_messages_pass(streams: Streams) {
    let (child, reader, writer) = start("serve", streams);
    let printed = tokio::spawn(printed(child));
    let client = timeout(HANG, ().serve(LineTransport::new(reader, writer))).await.unwrap().unwrap();
    let text = "wire line ".repeat(500_000);
    assert_eq!(call(&client, "length", json!({"text": text})).await.unwrap(), "5000000");
    assert_eq!(call(&client, "repeat", json!({"text": text, "times": 1})).await.unwrap(), text);
    timeout(HANG, client.cancel()).await.unwrap().unwrap();
    printed.await.unwrap();
}

async fn the_last_line_is_answered_before_the_exit(streams: Streams) {
    let (child, reader, writer) = start("serve", streams);
    let printed = tokio::spawn(printed(child));
    let mut reader = BufReader::new(reader);
    let mut before = String::new();
    reader.read_line(&mut before).await.unwrap();
    assert_eq!(before, "before\n");
    let probe = Probe::on(reader, writer).await.unwrap();
    let end = probe.end_with(br#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
    let lines = timeout(HANG, end).await.unwrap().unwrap();
    assert_eq!(lines, [r#"{"jsonrpc":"2.0","id":9,"result":{}}"#], "{streams:?}");
    printed.await.unwrap();
}

/// With tokio's own stdin it would wait for one more line.
async fn a_server_can_exit_while_its_input_is_open(streams: Streams) {
    let (child, reader, writer) = start("quit", streams);
    let probe = Probe::on(reader, writer).await;
    // It may have exited before the handshake was over, with its input open all the same.
    assert!(probe.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::BrokenPipe), "{streams:?}");
    assert_eq!(printed(child).await, "", "{streams:?}");
    drop(probe);
}

async fn the_child_process_transport_gets_along_with_it() {
    let server = ChildProcess::spawn(program("serve").stderr(Stdio::null())).unwrap().on_incident(|incident| {
        if let Incident::Exited(status) = incident {
            assert!(status.success(), "{status}");
        }
    });
    let client = timeout(HANG, ().serve(server)).await.unwrap().unwrap();
    assert_eq!(call(&client, "sum", json!({"a": 1, "b": 2})).await.unwrap(), "3");
    timeout(HANG, client.cancel()).await.unwrap().unwrap();
}

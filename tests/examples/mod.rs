//! Runs the examples and checks their output.

#[cfg(feature = "simd-json")]
mod dynamic;
mod ends;
#[cfg(all(target_os = "linux", feature = "stdio", feature = "tokio"))]
mod gateway;
#[cfg(all(feature = "stdio", feature = "tokio"))]
mod language_server;
mod pools;
#[cfg(feature = "tokio")]
mod proxy;

use crate::common;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The path of an example; `cargo test` builds examples next to the tests.
fn example(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.join("examples").join(name.to_owned() + std::env::consts::EXE_SUFFIX)
}

/// Nothing here takes this long, unless somebody waits forever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a process has ended by itself.
fn wait(child: &mut Child) {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return assert!(status.success(), "{status}");
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn server_answers() {
    let mut server = Command::new(example("server")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"divide\",\"params\":[1,4]}\nnoise\n").unwrap();
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"divide\",\"params\":[1,0]}\n").unwrap();
    drop(input);
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    let lines: Vec<_> = output.stdout.split(|&byte| byte == b'\n').collect();
    assert_eq!(lines[0], br#"{"jsonrpc":"2.0","id":1,"result":0.25}"#);
    assert!(lines[1].starts_with(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#));
    assert!(lines[2].starts_with(br#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"#));
    assert_eq!(lines[3..], [b""]);
}

#[test]
fn client_gets_all_its_answers() {
    let output = Command::new(example("client")).output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, b"1000 answers to 1000 requests from 4 threads, 252 of them errors\n");
    assert_eq!(output.stderr, b"");
}

#[test]
fn sockets_serve() {
    let examples: &[&str] = if cfg!(feature = "tokio") { &["sockets", "sockets_tokio"] } else { &["sockets"] };
    for name in examples {
        let output = Command::new(example(name)).output().unwrap();
        let expected = if cfg!(unix) { "tcp: 3 answers\nunix: 3 answers\n" } else { "tcp: 3 answers\n" };
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{name}");
        assert!(output.status.success());
    }
}

/// A server's answers to hostile lines. The server must end by itself.
fn serve_hostile(name: &str, input: Vec<u8>) -> Vec<u8> {
    let mut server =
        Command::new(example(name)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let writing = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    writing.join().unwrap();
    output.stdout
}

#[test]
fn servers_survive_hostile_lines() {
    let quarter = |answer: &Value| answer["result"] == 0.25;
    common::check_hostile(&serve_hostile("server", common::hostile_stream("divide", "[1,4]")), quarter);
    let not_finite = |answer: &Value| answer["error"]["code"] == 1;
    common::check_hostile(&serve_hostile("server", common::hostile_stream("divide", "[0,0]")), not_finite);
    if cfg!(feature = "stdio") {
        let pong = |answer: &Value| answer["result"] == Value::Object(Default::default());
        common::check_hostile(&serve_hostile("mcp_server", common::hostile_stream("ping", "{}")), pong);
    }
}

#[test]
#[cfg(all(feature = "stdio", feature = "tokio"))]
fn peers_ask_each_other() {
    let output = Command::new(example("peer")).output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "progress: 1 of 2\n\
         sampling: zero-copy framing\n\
         progress: 2 of 2\n\
         summary: \"zero-copy framing\" in a few words\n\
         progress: 1 of 2\n\
         sampling: something long\n\
         sampling was cancelled\n\
         the summary was cancelled\n"
    );
    assert_eq!(output.stderr, b"");
    assert!(output.status.success());
}

//! Runs the examples and checks their output.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The path of an example; `cargo test` builds examples next to the tests.
fn example(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.join("examples").join(name.to_owned() + std::env::consts::EXE_SUFFIX)
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

#[test]
fn proxy_keeps_clients_apart() {
    let mut proxy =
        Command::new(example("proxy")).arg("2").arg(example("server")).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(proxy.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split(' ').nth(2).unwrap();
    let mut clients = [TcpStream::connect(address).unwrap(), TcpStream::connect(address).unwrap()];
    let id = "123456789012345678901234567890";
    for (client, number) in clients.iter_mut().zip(1..) {
        // Both clients use the same ids, one of which does not fit into 64 bits.
        write!(client, "{{\"id\":{id}, \"method\":\"add\",\"params\":[{number},1],\"jsonrpc\":\"2.0\"}}\nnoise\n")
            .unwrap();
        client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e9\",\"method\":\"nope\"}\n").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
    }
    for (client, number) in clients.iter_mut().zip(1..) {
        let mut answers = String::new();
        client.read_to_string(&mut answers).unwrap();
        let mut answers: Vec<_> = answers.lines().collect();
        answers.sort_unstable();
        assert_eq!(
            answers[0],
            format!(r#"{{"jsonrpc":"2.0","id":"\u00e9","error":{{"code":-32601,"message":"Method not found"}}}}"#)
        );
        assert_eq!(answers[1], format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}.0}}"#, number + 1));
        assert!(answers[2].starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#));
        assert_eq!(answers.len(), 3);
    }
    assert!(proxy.wait().unwrap().success());
}

#[test]
#[cfg(unix)]
fn proxy_leaves_nobody_waiting() {
    // Answers the first request with invalid JSON, never answers the second, and exits.
    let server = r#"read line; echo '{"jsonrpc":"2.0","id":1,"result":NaN}'; read line"#;
    let mut proxy =
        Command::new(example("proxy")).args(["1", "sh", "-c", server]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(proxy.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut client = TcpStream::connect(line.split(' ').nth(2).unwrap()).unwrap();
    client.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let mut answers = BufReader::new(client.try_clone().unwrap()).lines();
    for id in ["\"a\"", "\"b\""] {
        writeln!(client, r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#).unwrap();
        let answer = answers.next().unwrap().unwrap();
        assert!(answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"#)), "{answer}");
    }
    client.shutdown(Shutdown::Write).unwrap();
    assert!(proxy.wait().unwrap().success());
}

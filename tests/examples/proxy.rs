//! The proxy, with clients and servers that misbehave.

#[cfg(unix)]
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
#[cfg(unix)]
use std::time::{Duration, Instant};

#[cfg(unix)]
use serde_json::Value;

use super::{PATIENCE, common, example, wait};

/// The responses with each id, in order.
#[cfg(unix)]
fn by_id(responses: impl IntoIterator<Item = String>) -> BTreeMap<String, Vec<Value>> {
    let mut by_id = BTreeMap::<_, Vec<_>>::new();
    for response in responses {
        let response: Value = serde_json::from_str(&response).unwrap();
        by_id.entry(response["id"].to_string()).or_default().push(response);
    }
    by_id
}

/// A proxy and clients of it.
struct Proxy {
    process: Child,
    clients: Vec<BufReader<TcpStream>>,
}

/// If a test fails, nothing is left running.
impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

impl Proxy {
    fn start(options: &[&str], clients: usize, server: &[&str]) -> Self {
        let mut process = Command::new(example("proxy"))
            .args(options)
            .arg(clients.to_string())
            .args(server)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split(' ').nth(2).unwrap();
        let connect = |_| {
            let client = TcpStream::connect(address).unwrap();
            client.set_read_timeout(Some(PATIENCE)).unwrap();
            BufReader::new(client)
        };
        let clients = (0..clients).map(connect).collect();
        Self { process, clients }
    }

    /// Sends requests with these ids from each client.
    fn ask(&mut self, ids: std::ops::Range<usize>) {
        for client in &mut self.clients {
            for id in ids.clone() {
                writeln!(client.get_mut(), r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#).unwrap();
            }
        }
    }

    /// Reads this many responses to each client.
    fn read(&mut self, count: usize) -> Vec<Vec<String>> {
        self.clients.iter_mut().map(|client| client.lines().take(count).map(Result::unwrap).collect()).collect()
    }

    /// Closes the sending side of all clients, waits for the proxy to end, and returns what each still received.
    fn end(mut self) -> Vec<Vec<String>> {
        for client in &self.clients {
            client.get_ref().shutdown(Shutdown::Write).unwrap();
        }
        let rest = self.read(usize::MAX);
        wait(&mut self.process);
        rest
    }
}

#[test]
fn survives_hostile_lines() {
    let server = example("server");
    let mut proxy = Proxy::start(&[], 3, &[server.to_str().unwrap()]);
    std::thread::scope(|scope| {
        for mut client in proxy.clients.drain(..) {
            let mut socket = client.get_ref().try_clone().unwrap();
            scope.spawn(move || {
                socket.write_all(&common::hostile_stream("divide", "[1,4]")).unwrap();
                socket.shutdown(Shutdown::Write).unwrap();
            });
            scope.spawn(move || {
                let mut answers = Vec::new();
                client.read_to_end(&mut answers).unwrap();
                common::check_hostile(&answers, |answer| answer["result"] == 0.25);
            });
        }
    });
    wait(&mut proxy.process);
}

/// The proxy survives whatever the server sends.
#[test]
#[cfg(unix)]
fn survives_a_hostile_server() {
    let lines: Vec<u8> =
        common::hostile_lines().into_iter().flat_map(|(line, _)| [line, b"\n".to_vec()].concat()).collect();
    let path = std::env::temp_dir().join(format!("wireline-hostile-{}", std::process::id()));
    std::fs::write(&path, lines).unwrap();
    let server = r#"read a; read b; cat "$0"; printf '{"jsonrpc":"2.0","id":%d,"result":7}\n' 1 2; cat > /dev/null"#;
    let mut proxy = Proxy::start(&[], 2, &["sh", "-c", server, path.to_str().unwrap()]);
    proxy.ask(0..1);
    let expected = r#"{"jsonrpc":"2.0","id":0,"result":7}"#;
    assert_eq!(proxy.read(1), [[expected], [expected]]);
    assert_eq!(proxy.end(), [[""; 0]; 2]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn keeps_clients_apart() {
    let server = example("server");
    let mut proxy = Proxy::start(&[], 2, &[server.to_str().unwrap()]);
    let id = "123456789012345678901234567890";
    for (client, number) in proxy.clients.iter_mut().zip(1..) {
        // Both clients use the same ids, one of which does not fit into 64 bits.
        let client = client.get_mut();
        write!(client, "{{\"id\":{id}, \"method\":\"add\",\"params\":[{number},1],\"jsonrpc\":\"2.0\"}}\nnoise\n")
            .unwrap();
        client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e9\",\"method\":\"nope\"}\n").unwrap();
    }
    for (mut answers, number) in proxy.end().into_iter().zip(1..) {
        answers.sort_unstable();
        assert_eq!(
            answers[0],
            format!(r#"{{"jsonrpc":"2.0","id":"\u00e9","error":{{"code":-32601,"message":"Method not found"}}}}"#)
        );
        assert_eq!(answers[1], format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}.0}}"#, number + 1));
        assert!(answers[2].starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#));
        assert_eq!(answers.len(), 3);
    }
}

#[test]
#[cfg(unix)]
fn answers_for_a_server_that_is_gone() {
    for server in [
        "read a; read b; kill -9 $$",
        "read a; read b; exec >&-; exec sleep 600", // closes its output, and stays
        "sleep 20 2>&- & read a; read b; kill -9 $$", // its child holds its output open
        r#"read a; read b; printf '{"jsonrpc":"2.0","id":'"#, // half a response
        "exit 3",
        "exec >&-; exec sleep 600",
    ] {
        let mut proxy = Proxy::start(&[], 3, &["sh", "-c", server]);
        let start = Instant::now();
        proxy.ask(0..5);
        let answers = proxy.read(5);
        // At once, long before the timeout of a minute.
        assert!(start.elapsed() < Duration::from_secs(20), "{server}: {:?}", start.elapsed());
        // And those that arrive later.
        proxy.ask(5..10);
        for (before, after) in answers.into_iter().zip(proxy.end()) {
            all_are_told_that_the_server_is_gone(before.into_iter().chain(after), server);
        }
    }
}

/// A server that closes its input is noticed at the next write.
#[test]
#[cfg(unix)]
fn answers_for_a_server_that_takes_no_more() {
    let closed = std::env::temp_dir().join(format!("wireline-closed-{}", std::process::id()));
    for read in ["", "read a; read b; "] {
        let server = format!("{read}exec <&-; touch \"$0\"; exec sleep 600");
        let mut proxy = Proxy::start(&[], 3, &["sh", "-c", &server, closed.to_str().unwrap()]);
        proxy.ask(0..5);
        let start = Instant::now();
        while std::fs::remove_file(&closed).is_err() {
            assert!(start.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(10));
        }
        let start = Instant::now();
        proxy.ask(5..10);
        for answers in proxy.end() {
            all_are_told_that_the_server_is_gone(answers, &server);
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}

#[cfg(unix)]
fn all_are_told_that_the_server_is_gone(answers: impl IntoIterator<Item = String>, server: &str) {
    let answers = by_id(answers);
    assert_eq!(answers.len(), 10, "{server}: {answers:?}");
    for (id, answers) in answers {
        assert_eq!(answers.len(), 1, "{server}: {id}");
        assert_eq!(answers[0]["error"]["message"], "the server is gone", "{server}: {id}");
    }
}

#[test]
#[cfg(unix)]
fn passes_on_last_words() {
    let server = r#"read a; read b; printf '{"jsonrpc":"2.0","id":%d,"result":"bye"}\n' 2 1"#;
    for server in [server.to_owned(), server.to_owned() + "; exec <&-; exec sleep 600"] {
        let mut proxy = Proxy::start(&[], 2, &["sh", "-c", &server]);
        proxy.ask(0..1);
        std::thread::sleep(Duration::from_millis(100)); // the proxy forwards one of each first
        proxy.ask(1..9);
        for answers in proxy.end() {
            let answers = by_id(answers);
            assert_eq!(answers.len(), 9);
            for (id, answers) in answers {
                assert_eq!(answers.len(), 1, "{server}: {id}");
                assert_eq!(answers[0]["result"] == "bye", id == "0", "{server}: {id}");
            }
        }
    }
}

#[test]
#[cfg(unix)]
fn answers_for_a_server_that_does_not() {
    // Reads one request and then nothing more; what fits in the pipe, in the proxy, or in neither.
    let mut proxy = Proxy::start(&["--timeout", "2"], 3, &["sh", "-c", "read line; exec sleep 600"]);
    proxy.ask(0..5);
    let padding = "x".repeat(1 << 20);
    for client in &mut proxy.clients {
        for id in 5..35 {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":["{padding}"]}}"#) + "\n";
            client.get_mut().write_all(line.as_bytes()).unwrap();
        }
    }
    let (mut late, mut busy) = (0, 0);
    for answers in proxy.end() {
        let answers = by_id(answers);
        assert_eq!(answers.len(), 35);
        for (id, answers) in answers {
            assert_eq!(answers.len(), 1, "{id}");
            match answers[0]["error"]["message"].as_str().unwrap() {
                "the server did not answer in time" => late += 1,
                "the server is busy" => busy += 1,
                message => panic!("{message}"),
            }
        }
    }
    assert_eq!(late + busy, 105);
    assert!(busy > 0 && late > 60, "late: {late}, busy: {busy}");
}

#[test]
#[cfg(unix)]
fn leaves_nobody_waiting() {
    // Answers the first request with invalid JSON, asks something itself, never answers the second, and exits.
    let server = r#"read line; echo '{"jsonrpc":"2.0","id":1,"result":NaN}'; read line
        echo '{"jsonrpc":"2.0","id":2,"method":"roots"}'; read line; case $line in *-32601*) exit;; esac; exec sleep 600"#;
    let mut proxy = Proxy::start(&[], 1, &["sh", "-c", server]);
    for (id, code) in [(0, -32603), (1, -32000)] {
        proxy.ask(id..id + 1);
        let answer: Value = serde_json::from_str(&proxy.read(1)[0][0]).unwrap();
        assert_eq!((answer["id"].clone(), answer["error"]["code"].clone()), (id.into(), code.into()));
    }
    assert_eq!(proxy.end(), [[""; 0]]);
}

/// A client that doesn't read, and one that leaves with requests in flight, don't affect other clients.
#[test]
fn does_not_wait_for_a_client() {
    let server = example("server");
    let mut proxy = Proxy::start(&[], 3, &[server.to_str().unwrap()]);
    let slow = proxy.clients.remove(0).into_inner();
    let gone = proxy.clients.remove(0).into_inner();
    for mut client in [&slow, &gone] {
        client.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
        let requests = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":[1,2]}\n".repeat(1000);
        // Until the proxy stops reading, since this client doesn't read its answers.
        while client.write(&requests).is_ok() {}
    }
    drop(gone);
    let start = Instant::now();
    for id in 0..100 {
        proxy.ask(id..id + 1);
        assert!(proxy.read(1)[0][0].contains("Method not found"));
    }
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    drop(slow);
    assert_eq!(proxy.end(), [[""; 0]]);
}

//! Runs the examples and checks their output.

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
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

/// The responses with each id, in order.
fn by_id(responses: impl IntoIterator<Item = String>) -> BTreeMap<String, Vec<Value>> {
    let mut by_id = BTreeMap::<_, Vec<_>>::new();
    for response in responses {
        let response: Value = serde_json::from_str(&response).unwrap();
        by_id.entry(response["id"].to_string()).or_default().push(response);
    }
    by_id
}

/// An example that serves one client: over TCP, or on its stdin and stdout.
struct Server {
    process: Child,
    input: Option<Box<dyn Write>>,
    output: BufReader<Box<dyn Read>>,
    socket: Option<TcpStream>,
}

/// Servers over TCP run until they are killed. Even if a test fails, nothing is left running.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start(name: &str) -> Self {
        let mut process = Command::new(example(name))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = process.stdout.take().unwrap();
        if !name.ends_with("tokio") {
            let input = process.stdin.take().map(|input| Box::new(input) as Box<dyn Write>);
            return Self { process, input, output: BufReader::new(Box::new(output)), socket: None };
        }
        let mut line = String::new();
        BufReader::new(&mut output).read_line(&mut line).unwrap();
        let socket = TcpStream::connect(line.strip_prefix("listening on ").unwrap().trim()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let (input, output) = (socket.try_clone().unwrap(), socket.try_clone().unwrap());
        Self { process, input: Some(Box::new(input)), output: BufReader::new(Box::new(output)), socket: Some(socket) }
    }

    fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    fn ask(&mut self, id: &str, method: &str, params: &str) {
        self.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).as_bytes());
    }

    /// The next answer: its id, and its result or error.
    fn answer(&mut self) -> (String, String) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let outcome = match &answer["error"] {
            Value::Null => answer["result"].to_string(),
            error => error["message"].as_str().unwrap().to_owned(),
        };
        (answer["id"].to_string(), outcome)
    }

    /// Closes the input, waits for the server to end, and returns the remaining answers.
    fn end(mut self) -> Vec<(String, String)> {
        self.input = None;
        if let Some(socket) = &self.socket {
            socket.shutdown(Shutdown::Write).unwrap();
        }
        let mut rest = Vec::new();
        while !self.output.fill_buf().unwrap().is_empty() {
            rest.push(self.answer());
        }
        if self.socket.is_none() {
            wait(&mut self.process);
        }
        rest
    }
}

fn answers(answers: &[(&str, &str)]) -> Vec<(String, String)> {
    answers.iter().map(|&(id, outcome)| (id.to_owned(), outcome.to_owned())).collect()
}

/// The servers that work on many requests at once.
fn pools() -> impl Iterator<Item = Server> {
    let names: &[(&str, bool)] =
        &[("server_threads", cfg!(feature = "stdio")), ("server_tokio", cfg!(feature = "tokio"))];
    names.iter().filter(|(_, is_built)| *is_built).map(|(name, _)| Server::start(name))
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
fn pools_answer_in_any_order() {
    for mut server in pools() {
        server.ask("1", "sleep", "[600]");
        server.ask("\"b\"", "sleep", "[300]");
        server.ask("3", "divide", "[1,4]");
        assert_eq!(server.answer(), ("3".into(), "0.25".into()));
        assert_eq!(server.end(), answers(&[("\"b\"", "300.0"), ("1", "600.0")]));
    }
}

#[test]
fn pools_stop_what_is_cancelled() {
    for mut server in pools() {
        server.ask("1", "sleep", "[1900]");
        server.ask("2", "sleep", "[500]");
        for id in ["1", "7", "{}"] {
            let cancel = format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#);
            server.send(cancel.as_bytes());
        }
        assert_eq!(server.answer(), ("1".into(), "Request cancelled".into()));
        server.ask("1", "divide", "[1,1]"); // the id is free again
        assert_eq!(server.answer(), ("1".into(), "1.0".into()));
        assert_eq!(server.end(), answers(&[("2", "500.0")]));
    }
}

#[test]
fn pools_keep_deadlines() {
    for mut server in pools() {
        let start = Instant::now();
        server.ask("1", "sleep", "[600000]");
        assert_eq!(server.answer(), ("1".into(), "deadline exceeded".into()));
        assert!((2..10).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
        server.ask("1", "divide", "[1,2]");
        assert_eq!(server.end(), answers(&[("1", "0.5")]));
    }
}

#[test]
fn pools_answer_for_workers_that_panic() {
    for mut server in pools() {
        // More often than there are workers.
        for id in 0..10 {
            server.ask(&id.to_string(), "panic", "[]");
            assert_eq!(server.answer(), (id.to_string(), "Internal error".into()));
        }
        server.ask("1", "divide", "[1,0]"); // JSON has no infinity
        assert_eq!(server.answer(), ("1".into(), "Internal error".into()));
        server.ask("1", "divide", "[1,2]");
        assert_eq!(server.end(), answers(&[("1", "0.5")]));
    }
}

#[test]
fn pools_finish_their_work() {
    for mut server in pools() {
        server.ask("1", "sleep", "[600000]");
        server.ask("2", "sleep", "[200]");
        server.ask("3", "panic", "[]");
        let mut rest = server.end();
        rest.sort_unstable();
        assert_eq!(rest, answers(&[("1", "the server is shutting down"), ("2", "200.0"), ("3", "Internal error")]));
    }
}

/// A method that can't be stopped doesn't keep the server from ending.
#[test]
#[cfg(feature = "stdio")]
fn threads_end_without_those_that_are_stuck() {
    let mut server = Server::start("server_threads");
    for id in 0..6 {
        server.ask(&id.to_string(), "block", "[600000]");
    }
    let rest: BTreeMap<_, _> = server.end().into_iter().collect();
    let expected = (0..6).map(|id| (id.to_string(), "the server is shutting down".to_owned()));
    assert_eq!(rest, expected.collect());
}

#[test]
fn pools_refuse_what_is_too_much() {
    for mut server in pools() {
        // The last one has an id that is in use.
        let ask = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"sleep","params":[300]}}"#);
        let requests: Vec<_> = (0..20).chain([0]).map(ask).collect();
        server.send(requests.join("\n").as_bytes());
        let mut all = BTreeMap::<_, Vec<_>>::new();
        for _ in 0..21 {
            let (id, outcome) = server.answer();
            all.entry(id.parse::<u32>().unwrap()).or_default().push(outcome);
        }
        assert_eq!(server.end(), []);
        for id in 0..20 {
            let expected: &[&str] = match id {
                0 => &["the id is already in use by a request in flight", "300.0"],
                1..16 => &["300.0"],
                _ => &["too many requests in flight"],
            };
            assert_eq!(all[&id], expected, "{id}");
        }
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

/// They refuse requests when too many are in flight, so this waits for each answer before it sends the next line.
#[test]
fn pools_survive_hostile_lines() {
    for mut server in pools() {
        for (number, (line, _)) in common::hostile_lines().into_iter().enumerate() {
            server.send(&line);
            let id = format!("\"good {number}\"");
            // NaN can't be sent: an internal error.
            let (params, expected) = if number % 2 == 0 { ("[0,0]", "Internal error") } else { ("[1,4]", "0.25") };
            server.ask(&id, "divide", params);
            let mut answers = Vec::new();
            while answers.last().is_none_or(|(answered, _)| *answered != id) {
                answers.push(server.answer());
            }
            assert_eq!(answers.last().unwrap().1, expected);
        }
        // The answers to the last hostile lines may come after those to the last good ones.
        server.ask("1", "divide", "[1,1]");
        assert!(server.end().contains(&("1".into(), "1.0".into())));
    }
}

#[test]
fn proxy_survives_hostile_lines() {
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
fn proxy_survives_a_hostile_server() {
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
fn proxy_keeps_clients_apart() {
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
fn proxy_answers_for_a_server_that_is_gone() {
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
fn proxy_answers_for_a_server_that_takes_no_more() {
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
fn proxy_passes_on_last_words() {
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
fn proxy_answers_for_a_server_that_does_not() {
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
fn proxy_leaves_nobody_waiting() {
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
fn proxy_does_not_wait_for_a_client() {
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

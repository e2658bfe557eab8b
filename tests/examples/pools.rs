//! The servers that work on many requests at once.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use super::{PATIENCE, common, example, wait};

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

#[test]
fn answer_in_any_order() {
    for mut server in pools() {
        server.ask("1", "sleep", "[600]");
        server.ask("\"b\"", "sleep", "[300]");
        server.ask("3", "divide", "[1,4]");
        assert_eq!(server.answer(), ("3".into(), "0.25".into()));
        assert_eq!(server.end(), answers(&[("\"b\"", "300.0"), ("1", "600.0")]));
    }
}

#[test]
fn stop_what_is_cancelled() {
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
fn keep_deadlines() {
    for mut server in pools() {
        let start = Instant::now();
        server.ask("1", "sleep", "[600000]");
        assert_eq!(server.answer(), ("1".into(), "Request timed out".into()));
        assert!((2..10).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
        server.ask("1", "divide", "[1,2]");
        assert_eq!(server.end(), answers(&[("1", "0.5")]));
    }
}

#[test]
fn answer_for_workers_that_panic() {
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
fn finish_their_work() {
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
fn refuse_what_is_too_much() {
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

/// They refuse requests when too many are in flight, so this waits for each answer before it sends the next line.
#[test]
fn survive_hostile_lines() {
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

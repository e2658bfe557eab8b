//! Helpers to run a guard between a test, as the client, and a server.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Output};
use std::thread::{self, JoinHandle};

use super::common::wireline;

pub(crate) const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
pub(crate) const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

/// Starts of a server in `sh`: `id` prints the id of a line of which it is the second member.
pub(crate) const ID: &str = r#"id() { rest=${1#*\"id\":}; echo "${rest%%,*}"; }"#;

pub(crate) fn request(id: u32, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

pub(crate) fn result(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// An error of the guard.
pub(crate) fn error(id: u32, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// Starts a guard in front of a shell script.
pub(crate) fn guard(options: &[&str], script: &str) -> Child {
    wireline(&[&["guard"], options, &["--", "sh", "-c", script]].concat()).spawn().unwrap()
}

/// Runs a session in which the client sends `input` and closes its output.
pub(crate) fn session(options: &[&str], script: &str, input: impl AsRef<[u8]>) -> Output {
    let mut guard = guard(options, script);
    let mut stdin = guard.stdin.take().unwrap();
    let input = input.as_ref();
    thread::scope(|scope| {
        // Fails if the server exits without reading.
        scope.spawn(move || stdin.write_all(input).ok());
        guard.wait_with_output().unwrap()
    })
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A client that sends and receives line by line.
pub(crate) struct Client {
    pub(crate) guard: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: JoinHandle<String>,
}

/// How a client's session has ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// What came after the lines that the client had received.
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Client {
    pub(crate) fn start(options: &[&str], script: &str) -> Self {
        let mut guard = guard(options, script);
        let (stdin, stdout) = (guard.stdin.take(), BufReader::new(guard.stdout.take().unwrap()));
        let mut stderr = guard.stderr.take().unwrap();
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        Self { guard, stdin, stdout, stderr }
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    #[track_caller]
    pub(crate) fn expect(&mut self, expected: &str) {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end_matches('\n'), expected);
    }

    /// Closes the client's output, and reads to the end.
    pub(crate) fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).unwrap();
        let status = self.guard.wait().unwrap();
        Ended { code: status.code(), stdout, stderr: self.stderr.join().unwrap() }
    }
}

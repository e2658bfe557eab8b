//! The language server, driven as an editor does.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wireline::{Decoder, Framing, Rules};

use super::{PATIENCE, example};
use crate::common::Random;

struct Editor {
    server: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    decoder: Decoder,
}

fn framed(message: &Value) -> String {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn initialize() -> Value {
    request(1, "initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }))
}

fn opened(text: &str) -> Value {
    let document = json!({ "uri": "file:///a", "languageId": "text", "version": 1, "text": text });
    notification("textDocument/didOpen", json!({ "textDocument": document }))
}

fn hover(id: i64, line: usize) -> Value {
    let params = json!({ "textDocument": { "uri": "file:///a" }, "position": { "line": line, "character": 0 } });
    request(id, "textDocument/hover", params)
}

impl Editor {
    fn start() -> Self {
        let mut command = Command::new(example("language_server"));
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        Self { server, stdin, stdout, decoder: Decoder::new(Rules::json_rpc()).framing(Framing::ContentLength) }
    }

    /// An editor whose server has answered `initialize`.
    fn initialized() -> Self {
        let mut editor = Self::start();
        editor.send(&initialize());
        assert_eq!(editor.next().unwrap()["result"]["capabilities"]["hoverProvider"], true);
        editor.send(&notification("initialized", json!({})));
        editor
    }

    fn send(&mut self, message: &Value) {
        self.stdin.write_all(framed(message).as_bytes()).unwrap();
    }

    /// The next message of the server's. `None` at the end of its output.
    fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                return Some(serde_json::from_slice(frame.unwrap().as_bytes()).unwrap());
            }
            let mut bytes = [0; 1000];
            match self.stdout.read(&mut bytes).unwrap() {
                0 => {
                    self.decoder.finish();
                    return self.decoder.next_frame().map(|frame| panic!("half a message: {frame:?}"));
                }
                len => self.decoder.feed(&bytes[..len]),
            }
        }
    }

    /// Waits for the end of the server, with stdin still open. Returns how it ended.
    fn end(mut self) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.server.try_wait().unwrap() {
                return status;
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.server.kill().unwrap();
        panic!("it does not end");
    }
}

#[test]
fn serves_an_editor() {
    let mut editor = Editor::start();
    editor.send(&hover(0, 0));
    assert_eq!(editor.next().unwrap()["error"]["code"], -32002);
    editor.send(&initialize());
    assert_eq!(editor.next().unwrap()["id"], 1);
    editor.send(&notification("initialized", json!({})));

    editor.send(&opened("one\n\u{1f980} TODO two\n"));
    let published = editor.next().unwrap();
    assert_eq!(published["method"], "textDocument/publishDiagnostics");
    let range = json!({ "start": { "line": 1, "character": 3 }, "end": { "line": 1, "character": 7 } });
    assert_eq!(
        (&published["params"]["uri"], &published["params"]["diagnostics"][0]["range"]),
        (&json!("file:///a"), &range)
    );

    // The second one is cancelled while it waits, and so it is answered first.
    let change =
        json!({ "textDocument": { "uri": "file:///a", "version": 2 }, "contentChanges": [{ "text": "three" }] });
    editor.send(&hover(2, 0));
    editor.send(&hover(3, 0));
    editor.send(&notification("textDocument/didChange", change));
    editor.send(&hover(4, 0));
    editor.send(&notification("$/cancelRequest", json!({ "id": 3 })));
    let answers = [(); 4].map(|()| editor.next().unwrap());
    assert_eq!(answers[0]["params"]["diagnostics"], json!([]));
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&json!(3), &json!(-32800)));
    assert_eq!((&answers[2]["id"], &answers[2]["result"]["contents"]), (&json!(2), &json!("3 characters")));
    assert_eq!((&answers[3]["id"], &answers[3]["result"]["contents"]), (&json!(4), &json!("5 characters")));

    // As Eglot sends them.
    editor.send(&request(5, "shutdown", Value::Null));
    assert_eq!(editor.next().unwrap(), json!({ "jsonrpc": "2.0", "id": 5, "result": null }));
    editor.send(&hover(6, 0));
    assert_eq!(editor.next().unwrap()["error"]["code"], -32600);
    editor.send(&notification("exit", Value::Null));
    assert!(editor.next().is_none());
    let mut stderr = editor.server.stderr.take().unwrap();
    assert_eq!(editor.end().code(), Some(0));
    if cfg!(unix) {
        let mut printed = String::new();
        stderr.read_to_string(&mut printed).unwrap();
        assert_eq!(printed, "language_server: printed to stdout, redirected to stderr\n");
    }
}

/// It ends at once, although stdin stays open, and requests in flight are answered.
#[test]
fn exit_ends_the_process() {
    for (messages, code) in [(vec![hover(2, 0)], 1), (vec![hover(2, 0), request(3, "shutdown", Value::Null)], 0)] {
        let mut editor = Editor::initialized();
        editor.send(&opened(""));
        messages.iter().for_each(|message| editor.send(message));
        let start = Instant::now();
        editor.send(&notification("exit", Value::Null));
        let answers: Vec<_> = std::iter::from_fn(|| editor.next()).collect();
        let count = answers.iter().filter(|answer| answer["id"] == 2).count();
        assert_eq!((answers.len(), count), (messages.len() + 1, 1), "{answers:?}");
        assert_eq!(editor.end().code(), Some(code));
        let duration = start.elapsed();
        assert!(duration < Duration::from_secs(5), "it waited for its grace: {duration:?}");
    }
    // Before anything else.
    let mut editor = Editor::start();
    editor.send(&notification("exit", Value::Null));
    assert_eq!(editor.end().code(), Some(1));
}

#[test]
fn bad_headers_are_answered() {
    let body = hover(2, 0).to_string();
    for bad in [
        "Content-Length: x\r\n\r\n".to_owned(),
        "a print\r\n".to_owned(),
        format!("Content-Length: {}\r\n\r\n{body}", body.len() - 1),
        format!("Content-Length: {}\r\n\r\n", u64::MAX),
    ] {
        let mut editor = Editor::initialized();
        editor.stdin.write_all(bad.as_bytes()).unwrap();
        editor.send(&request(7, "shutdown", Value::Null));
        let mut errors = 0;
        loop {
            let answer = editor.next().unwrap();
            if answer["id"] == 7 {
                assert_eq!(answer["result"], Value::Null);
                break;
            }
            errors += usize::from(answer["error"]["code"].as_i64() < Some(0));
        }
        assert!((1..3).contains(&errors), "{bad}: {errors}");
        editor.send(&notification("exit", Value::Null));
        assert_eq!(editor.end().code(), Some(0));
    }
}

/// The editor closes stdin or dies in the middle of anything.
#[test]
fn ends_with_its_editor() {
    let session = [initialize(), opened("TODO"), hover(2, 0), hover(3, 0), hover(4, 9)];
    let session: String = session.iter().map(framed).collect();
    let mut random = Random::new(7);
    for round in 0..super::ends::times() {
        let mut editor = Editor::start();
        let len = random.below(session.len() + 1);
        editor.stdin.write_all(&session.as_bytes()[..len]).unwrap();
        let Editor { mut server, stdin, mut stdout, .. } = editor;
        if round % 2 == 0 {
            drop(stdin);
            let mut output = Vec::new();
            stdout.read_to_end(&mut output).unwrap();
            let mut decoder = Decoder::new(Rules::json_rpc()).framing(Framing::ContentLength);
            decoder.feed(&output);
            decoder.finish();
            while let Some(frame) = decoder.next_frame() {
                frame.unwrap();
            }
        } else {
            drop((stdout, stdin));
        }
        let start = Instant::now();
        while server.try_wait().unwrap().is_none_or(|status| status.code() != Some(1)) {
            assert!(start.elapsed() < PATIENCE, "it does not end as it should");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

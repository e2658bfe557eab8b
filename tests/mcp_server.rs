//! Runs `examples/mcp_server.rs` as a separate process, and checks its stdout for all kinds of stdin.
#![cfg(all(feature = "stdio", unix))]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The path of an example; `cargo test` builds examples next to the tests.
fn example(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path = path.join("examples").join(name.to_owned() + std::env::consts::EXE_SUFFIX);
    assert!(path.exists(), "build it first: cargo build --features stdio --example {name}");
    path
}

fn start(rules: &str) -> Child {
    let mut command = Command::new(example("mcp_server"));
    command.args(["--rules", rules]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Writes the chunks one by one, waits for the server to exit with success, and returns the lines it wrote.
fn answers_to_chunks<'a>(rules: &str, chunks: impl Iterator<Item = &'a [u8]> + Send) -> Vec<String> {
    let mut server = start(rules);
    let mut input = server.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        scope.spawn(move || chunks.for_each(|chunk| input.write_all(chunk).unwrap()));
        server.wait_with_output().unwrap()
    });
    assert_eq!(output.status.code(), Some(0));
    // The stray print is on stderr, and nowhere else.
    assert_eq!(output.stderr, b"mcp_server: printed to stdout, redirected to stderr\n");
    let mut lines: Vec<_> = String::from_utf8(output.stdout).unwrap().split('\n').map(str::to_owned).collect();
    assert_eq!(lines.pop().unwrap(), "", "incomplete last line");
    for line in &lines {
        let message: Value = serde_json::from_str(line).unwrap();
        let messages = message.as_array().map_or(std::slice::from_ref(&message), Vec::as_slice);
        assert!(messages.iter().all(|message| message["jsonrpc"] == "2.0"), "{line}");
    }
    lines
}

fn answers(rules: &str, input: impl AsRef<[u8]>) -> Vec<String> {
    answers_to_chunks(rules, std::iter::once(input.as_ref()))
}

/// The answer to a single request.
fn answer(rules: &str, request: &Value) -> Value {
    let mut lines = answers(rules, format!("{request}\n"));
    assert_eq!(lines.len(), 1, "{lines:?}");
    serde_json::from_str(&lines.remove(0)).unwrap()
}

fn ping(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

fn pong(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// The start of an error response, up to its message.
fn error(id: &str, code: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#)
}

/// An interactive session with a server. A test that waits too long for an answer fails.
struct Session {
    server: Child,
    input: ChildStdin,
    answers: Receiver<String>,
}

impl Session {
    fn new(rules: &str) -> Self {
        let mut server = start(rules);
        let (sender, answers) = channel();
        let output = BufReader::new(server.stdout.take().unwrap());
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { input: server.stdin.take().unwrap(), server, answers }
    }

    fn answer(&self) -> String {
        self.answers.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    /// The server's peak memory use so far, in KiB.
    #[cfg(target_os = "linux")]
    fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    /// Closes the input, and checks that the server exits with success and without further output.
    fn end(mut self) {
        drop(self.input);
        assert_eq!(self.answers.recv_timeout(Duration::from_secs(10)).ok(), None);
        assert_eq!(self.server.wait().unwrap().code(), Some(0));
    }
}

mod json_rpc {
    use super::*;

    #[test]
    fn splits_do_not_matter() {
        let noise = "{\"jsonrpc\":\"2.0\",\r\n";
        let lines = [ping("1") + "\n", ping("\"é\"") + "\r\n", "\n\r\n \t\n".into(), noise.into(), ping("2") + "\n"];
        let input = lines.concat();
        let expected = answers("json-rpc", &input);
        assert_eq!(expected.len(), 4, "{expected:?}");
        assert_eq!(expected[..2], [pong("1"), pong("\"é\"")]);
        assert!(expected[2].starts_with(&error("null", -32700)));
        assert_eq!(expected[3], pong("2"));
        for size in [1, 2, 7, 64] {
            assert_eq!(answers_to_chunks("json-rpc", input.as_bytes().chunks(size)), expected);
        }
    }

    #[test]
    fn requests_are_answered_as_they_arrive() {
        let mut session = Session::new("json-rpc");
        for id in ["1", "2", "3"] {
            writeln!(session.input, "{}", ping(id)).unwrap();
            assert_eq!(session.answer(), pong(id));
        }
        // An incomplete message isn't answered yet, and doesn't delay the complete one before it.
        write!(session.input, "{}\n{{\"jsonrpc\"", ping("4")).unwrap();
        assert_eq!(session.answer(), pong("4"));
        writeln!(session.input, ":\"2.0\",\"id\":5,\"method\":\"ping\"}}").unwrap();
        assert_eq!(session.answer(), pong("5"));
        session.end();
    }

    #[test]
    fn ids_keep_their_spelling() {
        let ids = [
            "null",
            "0",
            "-1",
            "1.5",
            "1.50e+1",
            "18446744073709551621",
            "123456789012345678901234567890",
            r#""""#,
            r#""\u00e9\/\n\"""#,
            r#""\ud83d\ude00 é""#,
        ];
        let input: String = ids.iter().map(|id| ping(id) + "\n").collect();
        assert_eq!(answers("json-rpc", input), ids.map(pong));
    }

    #[test]
    fn bad_lines_are_answered_and_skipped() {
        let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
        let cases: Vec<(Vec<u8>, String)> = vec![
            ("noise".into(), error("null", -32700)),
            ("{".into(), error("null", -32700)),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#.into(), error("1", -32700)),
            (b"\xff\xfe".into(), error("null", -32700)),
            (b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"\xc3\"}".into(), error("2", -32700)),
            (r#"{"id":3,"method":"ping"}"#.into(), error("3", -32600)),
            (r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#.into(), error("4", -32600)),
            (r#"{"jsonrpc":2.0,"id":5,"method":"ping"}"#.into(), error("5", -32600)),
            (r#"{"jsonrpc":"2.0","id":6}"#.into(), error("6", -32600)),
            (r#"{"jsonrpc":"2.0","id":7,"method":1}"#.into(), error("7", -32600)),
            (r#"{"jsonrpc":"2.0","id":8,"method":"ping","params":1}"#.into(), error("8", -32600)),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.into(), error("null", -32600)),
            ("1".into(), error("null", -32600)),
            (deep("[", "]").into(), error("null", -32600)),
            (
                format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{},"id":9}}"#, deep("[", "]")).into(),
                error("9", -32600),
            ),
            (r#"{"jsonrpc":"2.0","id":10,"method":"nope"}"#.into(), error("10", -32601)),
            (r#"{"jsonrpc":"2.0","id":11,"method":"tools/call","params":[]}"#.into(), error("11", -32602)),
        ];
        let input: Vec<u8> =
            cases.iter().flat_map(|(line, _)| [line, &b"\n"[..], ping("0").as_bytes(), b"\n"].concat()).collect();
        let found = answers("json-rpc", input);
        assert_eq!(found.len(), 2 * cases.len());
        for ((line, expected), found) in cases.iter().zip(found.chunks(2)) {
            let line = String::from_utf8_lossy(&line[..line.len().min(80)]);
            assert!(found[0].starts_with(expected), "{line}: {}", found[0]);
            assert_eq!(found[1], pong("0"), "after {line}");
        }
    }

    #[test]
    fn batches() {
        let note = r#"{"jsonrpc":"2.0","method":"note"}"#;
        let input = format!(
            "[{},{note},1,{{\"id\":2}},{}]\n[]\n[{note},{note}]\n[{}]\n",
            ping("1"),
            ping("1.0"),
            ping("\"b\"")
        );
        let found = answers("json-rpc", input);
        assert_eq!(found.len(), 3, "{found:?}");
        let first: Vec<Value> = serde_json::from_str(&found[0]).unwrap();
        assert_eq!(first.len(), 4);
        assert!(found[0].starts_with(&format!("[{},{}", pong("1"), error("null", -32600))), "{}", found[0]);
        assert!(found[0].contains(&error("2", -32600)), "{}", found[0]);
        assert!(found[0].ends_with(&format!(",{}]", pong("1.0"))), "{}", found[0]);
        assert!(found[1].starts_with(&error("null", -32600)), "{}", found[1]);
        assert_eq!(found[2], format!("[{}]", pong("\"b\"")));
    }

    #[test]
    fn the_last_line_needs_no_line_ending() {
        assert_eq!(answers("json-rpc", ping("1")), [pong("1")]);
        let half = answers("json-rpc", ping("1") + "\n" + ping("2").strip_suffix('}').unwrap());
        assert_eq!(half.len(), 2);
        assert!(half[1].starts_with(&error("2", -32700)), "{}", half[1]);
        assert!(answers("json-rpc", "").is_empty());
    }

    #[test]
    fn notifications_are_not_answered() {
        let input = "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"nope\"}}\n".repeat(100_000);
        assert!(answers("json-rpc", input).is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_huge_line_takes_bounded_memory() {
        let mut session = Session::new("json-rpc");
        let piece = [b'x'; 64 << 10];
        session.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"text\":\"").unwrap();
        for _ in 0..64 * 16 {
            session.input.write_all(&piece).unwrap();
        }
        writeln!(session.input, "\"}},\"id\":\"last\"}}\n{}", ping("1")).unwrap();
        // The id is found at the end of the line, after 64 MiB.
        let refusal = session.answer();
        assert!(refusal.starts_with(&error("\"last\"", -32600)), "{refusal}");
        assert_eq!(session.answer(), pong("1"));
        let peak = session.peak_memory();
        assert!(peak < 40 << 10, "{peak} KiB");
        session.end();
    }

    #[test]
    fn the_server_waits_for_a_client_that_does_not_read() {
        const REQUESTS: usize = 10_000;
        let mut server = start("json-rpc");
        let mut input = server.stdin.take().unwrap();
        let mut output = String::new();
        let written = AtomicUsize::new(0);
        let text = "x".repeat(100);
        thread::scope(|scope| {
            scope.spawn(|| {
                for id in 0..REQUESTS {
                    let params = json!({ "name": "echo", "arguments": { "text": format!("{id} {text}") } });
                    let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
                    writeln!(input, "{request}").unwrap();
                    written.fetch_add(1, Ordering::Relaxed);
                }
                drop(input);
            });
            // Writing stalls once both pipes are full, because the server doesn't queue answers that it can't write.
            let mut before = 0;
            loop {
                thread::sleep(Duration::from_millis(100));
                match written.load(Ordering::Relaxed) {
                    now if now == before && now > 0 => break,
                    now => before = now,
                }
            }
            assert!(before < REQUESTS, "writing did not stall within 10000 requests");
            server.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        });
        assert_eq!(server.wait().unwrap().code(), Some(0));
        let mut lines = 0;
        for (id, line) in output.lines().enumerate() {
            let content = json!([{ "type": "text", "text": format!("{id} {text}") }]);
            let expected = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": content } });
            assert_eq!(serde_json::from_str::<Value>(line).unwrap(), expected);
            lines += 1;
        }
        assert_eq!(lines, REQUESTS);
    }

    #[test]
    fn a_client_that_disconnects_is_not_an_error() {
        let mut server = start("json-rpc");
        drop(server.stdout.take());
        writeln!(server.stdin.take().unwrap(), "{}", ping("1")).unwrap();
        assert_eq!(server.wait().unwrap().code(), Some(0));
    }
}

mod mcp {
    use super::*;

    /// A request of revision 2026-07-28.
    fn stateless(method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        request(method, params)
    }

    fn request(method: &str, params: Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": "a", "method": method, "params": params })
    }

    fn result(request: &Value) -> Value {
        let mut answer = answer("mcp", request);
        assert_eq!(answer["id"], "a");
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    fn error(request: &Value) -> (i64, String) {
        let answer = answer("mcp", request);
        assert_eq!(answer["id"], "a");
        assert!(answer.get("result").is_none(), "{answer}");
        (answer["error"]["code"].as_i64().unwrap(), answer["error"]["message"].as_str().unwrap().to_owned())
    }

    fn tool(name: &str, arguments: Value) -> Value {
        json!({ "name": name, "arguments": arguments })
    }

    #[test]
    fn handshakes() {
        for (asked_for, expected) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            // This revision has no handshake.
            ("2026-07-28", "2025-11-25"),
            ("1900-01-01", "2025-11-25"),
        ] {
            let client = json!({ "name": "test", "version": "0" });
            let params = json!({ "protocolVersion": asked_for, "capabilities": {}, "clientInfo": client });
            let mut session = Session::new("mcp");
            writeln!(session.input, "{}", request("initialize", params)).unwrap();
            let answer: Value = serde_json::from_str(&session.answer()).unwrap();
            assert_eq!(answer["result"]["protocolVersion"], expected);
            assert_eq!(answer["result"]["capabilities"], json!({ "tools": {} }));
            assert!(answer["result"]["serverInfo"]["name"].is_string());
            assert!(answer["result"]["serverInfo"]["version"].is_string());
            let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            writeln!(session.input, "{ready}\n{}", ping("1")).unwrap();
            assert_eq!(session.answer(), pong("1"));
            session.end();
        }
        assert_eq!(error(&request("initialize", json!({}))).0, -32602);
        assert_eq!(error(&request("initialize", json!({ "protocolVersion": 1 }))).0, -32602);
    }

    #[test]
    fn discovery() {
        let result = result(&stateless("server/discover", json!({})));
        assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        assert_eq!(result["resultType"], "complete");
        assert!(result["ttlMs"].is_u64());
        assert_eq!(result["cacheScope"], "public");
        assert!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].is_string());
    }

    #[test]
    fn versions_of_requests() {
        let meta = |meta: Value| request("tools/list", json!({ "_meta": meta }));
        let version = "io.modelcontextprotocol/protocolVersion";
        let unsupported = answer("mcp", &meta(json!({ version: "1900-01-01" })));
        assert_eq!(unsupported["error"]["code"], -32022);
        assert_eq!(unsupported["error"]["data"]["requested"], "1900-01-01");
        assert!(unsupported["error"]["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28")));
        // Required members that are missing or of the wrong type.
        assert_eq!(error(&meta(json!({ version: "2026-07-28" }))).0, -32602);
        assert_eq!(error(&meta(json!({ version: 20260728 }))).0, -32602);
        assert_eq!(error(&request("server/discover", json!({}))).0, -32602);
        // Methods of the handshake revisions.
        assert_eq!(error(&stateless("initialize", json!({ "protocolVersion": "2025-11-25" }))).0, -32601);
        assert_eq!(error(&stateless("ping", json!({}))).0, -32601);
        // Other members of `_meta` don't make a request stateless.
        assert!(result(&meta(json!({ "progressToken": 1 }))).get("resultType").is_none());
    }

    #[test]
    fn lists_tools() {
        let handshake = result(&json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/list" }));
        let names: Vec<_> = handshake["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["echo", "add"]);
        for tool in handshake["tools"].as_array().unwrap() {
            assert_eq!(tool["inputSchema"]["type"], "object");
            assert!(tool["description"].is_string());
        }
        assert_eq!(handshake["tools"][0]["inputSchema"]["required"], json!(["text"]));
        assert_eq!(handshake["tools"][1]["inputSchema"]["required"], json!(["a", "b"]));
        assert_eq!(handshake.as_object().unwrap().len(), 1);

        let stateless = result(&stateless("tools/list", json!({})));
        assert_eq!(stateless["tools"], handshake["tools"]);
        assert_eq!((&stateless["resultType"], &stateless["cacheScope"]), (&json!("complete"), &json!("public")));
    }

    #[test]
    fn calls_tools() {
        for text in ["", "plain", "line\nbreak\r\t\u{2028}\u{7f}", "\"quoted\\\"", "é 日本 😀 \0"] {
            let echo = result(&request("tools/call", tool("echo", json!({ "text": text }))));
            assert_eq!(echo, json!({ "content": [{ "type": "text", "text": text }] }));
        }
        let add = |a: Value, b: Value| result(&request("tools/call", tool("add", json!({ "a": a, "b": b }))));
        for (a, b, sum) in [
            (json!(1), json!(2), json!(3)),
            (json!(0.1), json!(0.2), json!(0.1 + 0.2)),
            (json!(-1), json!(0.5), json!(-0.5)),
            (json!(i64::MAX), json!(1), json!(9_223_372_036_854_775_808.0)),
        ] {
            let content = json!([{ "type": "text", "text": sum.to_string() }]);
            assert_eq!(add(a, b), json!({ "content": content, "structuredContent": { "sum": sum } }));
        }
        let endless = add(json!(1e308), json!(1e308));
        assert_eq!(endless["isError"], true);
        assert_eq!(endless["content"][0]["type"], "text");

        let echo = result(&stateless("tools/call", tool("echo", json!({ "text": "now" }))));
        assert_eq!(echo["content"][0]["text"], "now");
        assert_eq!(echo["resultType"], "complete");
        assert!(echo["_meta"]["io.modelcontextprotocol/serverInfo"]["version"].is_string());
    }

    #[test]
    fn invalid_calls_are_refused() {
        let unknown = (-32602, "unknown tool: expected echo or add".to_owned());
        assert_eq!(error(&request("tools/call", tool("nope", json!({})))), unknown);
        assert_eq!(error(&stateless("tools/call", tool("nope", json!({})))), unknown);
        for params in [
            json!({}),
            json!({ "name": 1 }),
            json!({ "name": "echo" }),
            tool("echo", json!({})),
            tool("echo", json!({ "text": 1 })),
            tool("echo", json!(["positional"])),
            tool("add", json!({ "a": 1 })),
            tool("add", json!({ "a": 1, "b": "2" })),
        ] {
            let (code, message) = error(&request("tools/call", params));
            assert_eq!(code, -32602);
            assert!(message.contains("expected"), "{message}");
        }
        for method in ["resources/list", "prompts/list", "logging/setLevel", "Ping", ""] {
            assert_eq!(error(&request(method, json!({}))).0, -32601);
            assert_eq!(error(&stateless(method, json!({}))).0, -32601);
        }
    }

    #[test]
    fn noise_is_not_answered() {
        let noise = [
            "noise",
            "{",
            "\u{feff}",
            "[]",
            "[1]",
            "1",
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        ];
        let mut input = noise.join("\n").into_bytes();
        input.extend_from_slice(b"\n\xff\xfe\n");
        input.extend_from_slice(ping("1").as_bytes());
        assert_eq!(answers("mcp", input), [pong("1")]);
        // A bad line with an id is answered, since its sender is waiting.
        let faulty = answers("mcp", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":2}\n");
        assert!(faulty[0].starts_with(&super::error("1", -32600)), "{}", faulty[0]);
    }

    #[test]
    fn batches_of_2025_03_26() {
        assert_eq!(
            answers("mcp", format!("[{},{}]\n", ping("1"), ping("2"))),
            [format!("[{},{}]", pong("1"), pong("2"))]
        );
    }
}

#[test]
fn options() {
    let run = |arguments: &[&str]| Command::new(example("mcp_server")).args(arguments).output().unwrap();
    let help = run(&["--help"]);
    assert_eq!((help.status.code(), &help.stderr[..]), (Some(0), &b""[..]));
    assert!(String::from_utf8(help.stdout).unwrap().contains("--rules RULES"));
    for wrong in [&["--rules"][..], &["--rules", "acp"], &["extra"]] {
        let output = run(wrong);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]));
        assert!(String::from_utf8(output.stderr).unwrap().contains("--rules RULES"));
    }
    // MCP rules are the default.
    let mut command = Command::new(example("mcp_server"));
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    writeln!(server.stdin.take().unwrap(), "noise").unwrap();
    let output = server.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b""[..]));
}

//! Conversations with peers that behave and peers that don't, in process and as child processes.

use std::future::Future;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::StopReason;
use serde_json::{Value, json};
use smol::Timer;
use smol::future::{or, zip};
use smol::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use smol::net::unix::UnixStream;
use wireline::{AnswerWithoutId, Rules};
use wireline_acp_example::{Transport, agent, client};

/// What both ends say to each other.
fn conversation() -> String {
    let text = std::fs::read_to_string(file()).unwrap();
    let blank = text.lines().filter(|line| line.trim().is_empty()).count();
    format!(
        "connected to line-counter 0.0.0
you: how many lines has Cargo.toml?
agent: Reading Cargo.toml.
agent: Cargo.toml has {} lines, {blank} of them blank.
the turn ended: EndTurn
",
        text.lines().count()
    )
}

/// Nothing here may take long, whatever a peer does.
fn run<T>(future: impl Future<Output = T>) -> T {
    smol::block_on(or(future, async {
        Timer::after(Duration::from_secs(20)).await;
        panic!("it hangs")
    }))
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")
}

fn transport(stream: UnixStream, rules: Rules) -> Transport<UnixStream, UnixStream> {
    Transport::new(stream.clone(), stream, rules)
}

fn quiet() -> Rules {
    Rules::acp().answer_without_id(AnswerWithoutId::Never)
}

/// The client's conversation, and what it has shown.
async fn converse(stream: UnixStream, rules: Rules) -> (Result<StopReason, Error>, String) {
    let shown = Arc::new(Mutex::new(String::new()));
    let show = {
        let shown = Arc::clone(&shown);
        move |text: &str| shown.lock().unwrap().push_str(&format!("{text}\n"))
    };
    let ended = client::converse(transport(stream, rules), file(), show).await;
    let shown = shown.lock().unwrap().clone();
    (ended, shown)
}

/// A peer that writes whatever bytes it likes.
struct Raw(BufReader<UnixStream>);

impl Raw {
    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line:?}"))
    }

    /// Receives a request for `method` and returns its id as JSON.
    async fn receive_request(&mut self, method: &str) -> String {
        let request = self.receive().await;
        assert_eq!(request["method"], method, "{request}");
        request["id"].to_string()
    }

    async fn respond(&mut self, id: &str, result: Value) {
        self.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")).await;
    }
}

fn pair() -> (UnixStream, Raw) {
    let (near, far) = UnixStream::pair().unwrap();
    (near, Raw(BufReader::new(far)))
}

#[test]
fn both_ends_in_one_process() {
    let (near, far) = UnixStream::pair().unwrap();
    let (served, (ended, shown)) = run(zip(agent::serve(transport(far, Rules::acp())), converse(near, Rules::acp())));
    served.unwrap();
    assert_eq!(ended.unwrap(), StopReason::EndTurn);
    assert_eq!(shown, conversation());
}

/// Lines that aren't messages. The one that isn't UTF-8 would end the session on the SDK's own transport.
fn noise() -> Vec<Vec<u8>> {
    let deep = "[".repeat(100_000);
    vec![
        b"Loading model...\n".to_vec(),
        b"\xff\xfe\x00\n".to_vec(),
        b"\n\r\n".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"method\":\"session/upd\n".to_vec(),
        b"[{\"jsonrpc\":\"2.0\",\"method\":\"session/update\"}]\n".to_vec(),
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{deep}\n").into_bytes(),
        [vec![b'x'; 100_000], b"\n".to_vec()].concat(),
    ]
}

#[test]
fn bad_lines_in_the_middle_change_nothing() {
    let (near, mut agent) = pair();
    let script = async {
        for step in 0..3 {
            let method = ["initialize", "session/new", "session/prompt"][step];
            let id = agent.receive_request(method).await;
            for line in noise() {
                agent.send(line).await;
            }
            let result = [json!({"protocolVersion": 1}), json!({"sessionId": "s"}), json!({"stopReason": "end_turn"})];
            agent.respond(&id, result[step].clone()).await;
        }
    };
    let ((ended, _), ()) = run(zip(converse(near, quiet().max_line_len(10_000)), script));
    assert_eq!(ended.unwrap(), StopReason::EndTurn);
}

/// The SDK alone would wait forever, since it can't tell which call the line belongs to.
#[test]
fn a_malformed_response_fails_its_call() {
    for broken in [
        r#""result":{},"error":1"#,
        r#""result":{"protocolVersion":1},"result":{}"#,
        r#""error":"no""#,
        r#""neither":"result nor error""#,
    ] {
        let (near, mut agent) = pair();
        let script = async {
            let id = agent.receive_request("initialize").await;
            agent.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{broken}}}\n")).await;
            agent // stays connected
        };
        let ((ended, _), _agent) = run(zip(converse(near, quiet()), script));
        let error = ended.unwrap_err();
        assert!(error.message.starts_with("unusable response: "), "{error}");
    }
}

#[test]
fn an_agent_that_hangs_up_ends_the_conversation() {
    for last in ["", "{\"jsonrpc\":\"2.0\",\"id\":", "{\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"result\":{\"sessionId\":\"s"]
    {
        let (near, mut agent) = pair();
        let script = async {
            let id = agent.receive_request("initialize").await;
            agent.respond(&id, json!({"protocolVersion": 1})).await;
            let id = agent.receive_request("session/new").await;
            agent.send(last.replace("\"ID\"", &id)).await;
            drop(agent);
        };
        let ((ended, _), ()) = run(zip(converse(near, quiet()), script));
        ended.unwrap_err();
    }
}

#[test]
fn the_agent_answers_bad_lines_under_their_ids() {
    let (near, mut client) = pair();
    let script = async move {
        for (line, id, code) in [
            (&br#"{"jsonrpc":"2.0","id":1,"method":7}"#[..], "1", -32600),
            (br#"{"id":"a","method":"initialize","params":{}}"#, "\"a\"", -32600),
            (br#"{"jsonrpc":"2.0","id":2,"method":"m","params":[tru]}"#, "2", -32700),
            (
                br#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"m"}"#,
                "123456789012345678901234567890",
                -32600,
            ),
            (br#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#, "1.0", -32600),
            (br#"[{"jsonrpc":"2.0","id":3,"method":"initialize"}]"#, "null", -32600),
            (b"\xff\xfe", "null", -32700),
            (b"Content-Length: 5", "null", -32700),
        ] {
            client.send([line, b"\n"].concat()).await;
            let mut answer = String::new();
            client.0.read_line(&mut answer).await.unwrap();
            let start = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},");
            assert!(answer.starts_with(&start), "{answer}, but expected {start}");
        }
        client
            .send("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n")
            .await;
        let answer = client.receive().await;
        assert_eq!((&answer["id"], &answer["result"]["agentInfo"]["name"]), (&json!(9), &json!("line-counter")));
        // Null params are no fault: the SDK says that it has no such method.
        client.send("{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"m\",\"params\":null}\n").await;
        let answer = client.receive().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(10), &json!(-32601)));
    };
    let (served, ()) = run(zip(agent::serve(transport(near, Rules::acp())), script));
    served.unwrap(); // when the client hangs up
}

/// The file exceeds the line limit: the client's answer becomes an internal error, and the agent's call ends.
#[test]
fn a_response_that_is_too_long_becomes_an_error() {
    let (near, far) = UnixStream::pair().unwrap();
    let (served, (ended, shown)) =
        run(zip(agent::serve(transport(far, Rules::acp())), converse(near, Rules::acp().max_line_len(500))));
    served.unwrap();
    assert_eq!(ended.unwrap_err().message, "Internal error");
    assert!(shown.ends_with("agent: Reading Cargo.toml.\n"), "{shown}");
}

#[test]
fn a_request_that_is_too_long_fails_its_call() {
    let (near, agent) = pair();
    let (ended, _) = run(converse(near, Rules::acp().max_line_len(150)));
    assert!(ended.unwrap_err().message.contains("150"));
    drop(agent);
}

/// Runs the example with its own agent, or with one that `sh` runs; `$0` is the example.
fn example(script: Option<&str>) -> (Output, Duration) {
    let started = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_acp"));
    if let Some(script) = script {
        command.args(["sh", "-c", script, env!("CARGO_BIN_EXE_acp")]);
    }
    let output = command.output().unwrap();
    (output, started.elapsed())
}

#[test]
fn both_ends_as_processes() {
    let (output, _) = example(None);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), conversation());
    assert!(stderr.contains("a stray print") && !stderr.contains("bad line"), "{stderr}");
}

#[test]
fn noise_on_the_stdout_of_the_agent() {
    let (output, _) = example(Some(r#"echo 'Loading model...'; printf '\377\n'; "$0" --agent; echo bye"#));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), conversation());
    assert!(stderr.contains("bad line: line 1, column 1: "), "{stderr}");
    assert!(!stderr.contains("Loading"), "a byte of the agent's: {stderr}");
}

#[test]
fn an_agent_that_dies() {
    for (script, expected) in [
        ("exit 3", "acp: the agent is gone (exit status: 3): "),
        ("read line; exit 7", "acp: the agent is gone (exit status: 7): "),
        ("read line; kill -9 $$", "acp: the agent is gone (signal: 9"),
        // After its answer to `session/new`, and in the middle of what follows.
        (r#""$0" --agent | for n in 1 2; do read -r line; printf '%s\n' "$line"; done"#, "acp: "),
        (r#""$0" --agent | for n in 1 2; do read -r line; printf '%s\n' "$line"; done; printf '{"jsonrpc":'"#, "acp: "),
        // Another process keeps its stdout open.
        ("read line; sleep 6 2>/dev/null & exit 4", "acp: the agent is gone (exit status: 4): "),
    ] {
        let (output, took) = example(Some(script));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{script}: {stderr}");
        assert!(stderr.lines().any(|line| line.starts_with(expected)), "{script}: {stderr}");
        assert!(took < Duration::from_secs(15), "{script} took {took:?}");
    }
    assert!(!example(Some("exec no-such-agent")).0.status.success());
}

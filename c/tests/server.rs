//! Sends hostile input to the example server in C++. `.ci/c` builds the server and sets `WIRELINE_C_SERVER` to its
//! path.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use crate::common;

/// Runs a server on some input, and returns its output. The server must exit successfully.
fn answers(server: &str, rules: &str, input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(server)
        .args(["--rules", rules])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    });
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stderr, b"server: printed to stdout, redirected to stderr\n");
    output.stdout
}

#[test]
fn survives_hostile_input() {
    let Ok(server) = std::env::var("WIRELINE_C_SERVER") else { return };
    let params = r#"{"name":"echo","arguments":{"text":"still there"}}"#;
    for rules in ["mcp", "json-rpc"] {
        let stream = common::hostile_stream("tools/call", params);
        let found = answers(&server, rules, &stream);
        common::check_hostile(&found, |answer| answer["result"]["content"][0]["text"] == "still there");
        // A line that isn't even complete.
        assert!(answers(&server, rules, b"{\"jsonrpc\":").len() < 200);
    }
    let found = answers(&server, "json-rpc", br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},2]"#);
    let found: serde_json::Value = serde_json::from_slice(&found).unwrap();
    assert_eq!((&found[0]["result"], &found[1]["error"]["code"]), (&serde_json::json!({}), &(-32600).into()));
}

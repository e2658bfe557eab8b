//! `wireline guard` in front of each server of `wireline misbehave`: its client sees one response to each request.

use crate::common;
use crate::guarding;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use common::{run, wireline};
use guarding::text;
use serde_json::{Value, json};

/// The requests of the client, of which half are calls of a tool.
const REQUESTS: u32 = 12;

fn input() -> String {
    let request = |id: u32| match id {
        0 => {
            let client = json!({ "name": "test", "version": "1" });
            let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
        }
        _ if id.is_multiple_of(2) => json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }),
        _ => {
            let params = json!({ "name": "echo", "arguments": { "text": id.to_string() } });
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        }
    };
    (0..=REQUESTS).map(|id| format!("{}\n", request(id))).collect()
}

/// What is wrong with what a client has received.
fn faults(received: &[u8]) -> Vec<String> {
    let (mut faults, mut responses) = (Vec::new(), BTreeMap::<String, u32>::new());
    if !received.ends_with(b"\n") {
        faults.push("the last line has no end".to_owned());
    }
    for line in text(received).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            faults.push(format!("not JSON: {line:.100}"));
            continue;
        };
        // Messages of the server's own are as good as any.
        if message["method"].is_null() {
            *responses.entry(message["id"].to_string()).or_default() += 1;
        }
    }
    let expected: BTreeMap<String, u32> = (0..=REQUESTS).map(|id| (id.to_string(), 1)).collect();
    if responses != expected {
        faults.push(format!("responses by id: {responses:?}"));
    }
    faults
}

#[test]
fn client_gets_one_response_to_each_request_from_any_server() {
    let listing = run(&["misbehave", "--list"]).stdout;
    let names: Vec<&str> = listing.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 100);
    // The servers wait more than they work, so many run at a time.
    for names in names.chunks(16) {
        let guards: Vec<_> = names
            .iter()
            .map(|name| {
                let tool = env!("CARGO_BIN_EXE_wireline");
                let options = ["guard", "--rules", "mcp", "--grace", "1s", "--", tool, "misbehave", name];
                let mut command: Command = wireline(&[&options[..], &["--rules", "mcp"]].concat());
                let mut guard = command.stderr(Stdio::null()).spawn().unwrap();
                // Fits into the pipe. A server that exits at once may not read it.
                let _ = guard.stdin.take().unwrap().write_all(input().as_bytes());
                (name, std::thread::spawn(move || guard.wait_with_output().unwrap()))
            })
            .collect();
        for (name, guard) in guards {
            let output = guard.join().unwrap();
            assert_eq!(faults(&output.stdout), Vec::<String>::new(), "{name}");
        }
    }
}

//! The search through dynamic payloads.

use std::io::Write;
use std::process::{Command, Stdio};

use super::example;
use crate::common;

/// What the search for a name prints: on stdout, and on stderr.
fn search(name: &str, input: Vec<u8>) -> (String, String) {
    let mut search = Command::new(example("dynamic"))
        .arg(name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = search.stdin.take().unwrap();
    let writing = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = search.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(output.status.success(), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn finds_members_between_bad_lines() {
    let (found, complaints) = search("name", include_bytes!("../../examples/session.ndjson").to_vec());
    assert_eq!(
        found,
        "1: /params/clientInfo/name = \"reading-room\"\n\
         3: /result/serverInfo/name = \"catalogue\"\n\
         8: /result/tools/0/name = \"find_title\"\n\
         9: /params/name = \"find_title\"\n"
    );
    assert!(complaints.starts_with("line 2, column 2: not JSON: expected an object or an array\n"), "{complaints}");
}

#[test]
fn survives_hostile_lines() {
    let mut input = common::hostile_stream("no such", r#"{"x":1}"#);
    input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[{\"x\":\"\\ud83d\"},1e400]}\n");
    input.extend_from_slice(
        b"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"a/b\":{\"x\":\"\\u001b[1m\",\"x\":[-0,{\"x\":null}]}}}\n",
    );
    let (found, complaints) = search("x", input);
    let last: Vec<_> = found.lines().rev().take(2).map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(last, ["/params/a~1b/x/1/x = null", "/params/a~1b/x = [-0.0,{\"x\":null}]"]);
    assert!(complaints.ends_with(": lone surrogate in a string (at byte 6) of /params\n"), "{complaints}");
}

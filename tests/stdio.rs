//! A claimed stdout stays clean, whoever prints. It has no test harness: that would print to stdout as well.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use wireline::io::FrameWriter;
use wireline::{Id, Rules, stdio};

fn main() {
    if std::env::args().nth(1).as_deref() == Some("child") {
        child();
        return;
    }
    // What a test runner asks for. And on other systems than Unix nothing is redirected.
    if std::env::args().any(|arg| arg == "--list") || cfg!(not(unix)) {
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .arg("child")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{stderr}");
    let expected: String =
        (0..100).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")).collect();
    assert_eq!(stdout, expected + "after\n");
    for stray in ["before", "println", "without an end", "descriptor", "a child process"] {
        assert!(stderr.contains(stray), "{stray}");
    }
    assert_eq!(stderr.matches("println").count(), 100);
    println!("test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
}

fn child() {
    // Printed before, but not written yet: it has no line end.
    print!("before");
    let stdout = stdio::claim().unwrap();
    assert_eq!(stdio::claim().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    let writer = FrameWriter::new(stdout, Rules::mcp());
    for id in 0..100 {
        println!("println {id}");
        let sent = writer.send(|encoder| encoder.response(&Id::from(id), &serde_json::json!({})));
        sent.map(drop).unwrap();
        if id % 50 == 0 {
            // What a C library does: it writes to descriptor 1, past Rust's standard output.
            #[cfg(unix)]
            rustix::io::write(rustix::stdio::stdout(), b"descriptor\n").unwrap();
            assert!(Command::new("sh").arg("-c").arg("echo a child process").status().unwrap().success());
        }
    }
    print!("without an end");
    drop(writer);
    println!("after");
    io::stdout().flush().unwrap();
    // It can be claimed again.
    drop(stdio::claim().unwrap());
}

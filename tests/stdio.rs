//! Nothing else in the process writes to a claimed stdout. This test runs without a harness, which would print to
//! stdout itself.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use wireline::io::FrameWriter;
use wireline::{Id, Rules, stdio};

fn main() {
    if std::env::args().nth(1).as_deref() == Some("child") {
        child();
        return;
    }
    // Some test runners pass `--list` first. Outside Unix nothing is redirected, so there is nothing to test.
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
    // Printed before the claim, but still buffered because it has no line ending.
    print!("before");
    let stdout = stdio::claim().unwrap();
    assert_eq!(stdio::claim().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(format!("{stdout:?}"), "Stdout { .. }");
    // It is the real one, which descriptor 1 no longer is.
    #[cfg(unix)]
    {
        let [real, current] =
            [rustix::fs::fstat(&stdout), rustix::fs::fstat(rustix::stdio::stdout())].map(Result::unwrap);
        assert_ne!(real.st_ino, current.st_ino);
    }
    let writer = FrameWriter::new(stdout, Rules::mcp());
    for id in 0..100 {
        println!("println {id}");
        let sent = writer.send(|encoder| encoder.response(&Id::from(id), &serde_json::json!({})));
        sent.map(drop).unwrap();
        if id % 50 == 0 {
            // Like a C library, write to descriptor 1 directly, bypassing Rust's stdout.
            #[cfg(unix)]
            rustix::io::write(rustix::stdio::stdout(), b"descriptor\n").unwrap();
            assert!(Command::new("sh").arg("-c").arg("echo a child process").status().unwrap().success());
        }
    }
    print!("without an end");
    drop(writer);
    println!("after");
    io::stdout().flush().unwrap();
    // Stdout can be claimed again.
    drop(stdio::claim().unwrap());
}

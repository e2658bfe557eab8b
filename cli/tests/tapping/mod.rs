//! Helpers to run a tap between a test, as the client, and a server.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::Write;
use std::process::{Child, ExitStatus, Output};
use std::thread;
use std::time::{Duration, Instant};

use super::common::wireline;

pub(crate) const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"text":"secret"}}"#;
pub(crate) const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

/// The path of the example server, which `cargo test` builds along with the tests.
pub(crate) fn server() -> String {
    let test = std::env::current_exe().unwrap();
    let server = test.parent().unwrap().with_file_name("examples").join("tap_server");
    assert!(
        server.exists(),
        "{} is missing: `cargo test --test NAME` does not build examples; run `cargo build -p wireline-cli --examples`",
        server.display(),
    );
    server.into_os_string().into_string().unwrap()
}

/// Starts a tap with these options in front of a server.
pub(crate) fn tap(options: &[&str], server: &[&str]) -> Child {
    wireline(&[&["tap"], options, &["--"], server].concat()).spawn().unwrap()
}

/// Runs a session in which the client sends `input` and closes its output.
pub(crate) fn session(options: &[&str], server: &[&str], input: &[u8]) -> Output {
    let mut tap = tap(options, server);
    let mut stdin = tap.stdin.take().unwrap();
    thread::scope(|scope| {
        // Fails if the server exits without reading.
        scope.spawn(move || stdin.write_all(input).ok());
        tap.wait_with_output().unwrap()
    })
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Waits until the process exits, which must not take long.
pub(crate) fn wait_for_exit(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "expected the process to exit");
        thread::sleep(Duration::from_millis(5));
    }
}

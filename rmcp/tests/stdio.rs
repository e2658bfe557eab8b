//! A server on standard input and output that also prints there. It has no test harness, which would print as well.

#[path = "../examples/support/mod.rs"]
mod support;

use std::io::ErrorKind;
use std::process::Stdio;
use std::time::Duration;

use rmcp::ServiceExt;
use serde_json::json;
use support::{Probe, Tools, call};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;
use wireline_rmcp::{ChildProcess, Incident, stdio};

/// Far more than any of these takes, so that a hang fails instead of lasting.
const HANG: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => serve().await,
        Some("quit") => quit().await,
        // What a test runner asks for. On other systems than Unix nothing is redirected.
        Some("--list") => {}
        _ if cfg!(not(unix)) => {}
        _ => {
            stray_prints_stay_out_of_the_protocol().await;
            large_messages_pass().await;
            the_last_line_is_answered_before_the_exit().await;
            a_server_can_exit_while_its_input_is_open().await;
            println!("test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
        }
    }
}

/// The program `serve`: prints to stdout before, during and after the session.
async fn serve() {
    println!("before");
    print!("not flushed before ");
    let transport = stdio().unwrap();
    assert_eq!(stdio().unwrap_err().kind(), ErrorKind::AlreadyExists);
    let chatter = tokio::spawn(async {
        loop {
            println!("during");
            let echo = Command::new("echo").arg("from a child process").status();
            assert!(echo.await.unwrap().success());
        }
    });
    Tools.serve(transport).await.unwrap().waiting().await.unwrap();
    chatter.abort();
    let _ = chatter.await;
    println!("after");
    assert_eq!(stdio().unwrap_err().kind(), ErrorKind::AlreadyExists);
}

/// The program `quit`: ends while its input is open.
async fn quit() {
    let service = Tools.serve(stdio().unwrap()).await.unwrap();
    eprintln!("quitting");
    service.cancel().await.unwrap();
}

fn program(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(name);
    command
}

async fn stray_prints_stay_out_of_the_protocol() {
    let mut server = ChildProcess::spawn(program("serve").stderr(Stdio::piped())).unwrap().on_incident({
        let mut faults = 0;
        move |incident| match incident {
            Incident::Fault(_) => {
                faults += 1;
                assert_eq!(faults, 1, "only `before` is on stdout: {incident}");
            }
            Incident::Exited(status) => assert!(status.success()),
            other => panic!("{other}"),
        }
    });
    let mut stderr = server.take_stderr().unwrap();
    let printed = tokio::spawn(async move {
        let mut text = String::new();
        stderr.read_to_string(&mut text).await.unwrap();
        text
    });
    let client = timeout(HANG, ().serve(server)).await.unwrap().unwrap();
    for n in 0..200 {
        assert_eq!(call(&client, "sum", json!({"a": n, "b": 1})).await.unwrap(), (n + 1).to_string());
    }
    timeout(HANG, client.cancel()).await.unwrap().unwrap();
    let printed = timeout(HANG, printed).await.unwrap().unwrap();
    assert!(printed.starts_with("not flushed before "), "{printed}");
    for stray in ["during", "from a child process", "after"] {
        assert!(printed.contains(stray), "{stray}: {printed}");
    }
    assert!(!printed.contains("panicked"), "{printed}");
}

async fn large_messages_pass() {
    let server = ChildProcess::spawn(program("serve").stderr(Stdio::null())).unwrap().on_incident(|_| {});
    let client = timeout(HANG, ().serve(server)).await.unwrap().unwrap();
    let text = "wire line ".repeat(500_000);
    assert_eq!(call(&client, "length", json!({"text": text})).await.unwrap(), "5000000");
    assert_eq!(call(&client, "repeat", json!({"text": text, "times": 1})).await.unwrap(), text);
    timeout(HANG, client.cancel()).await.unwrap().unwrap();
}

async fn the_last_line_is_answered_before_the_exit() {
    let mut child =
        program("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut before = String::new();
    stdout.read_line(&mut before).await.unwrap();
    assert_eq!(before, "before\n");
    let probe = Probe::on(stdout, child.stdin.take().unwrap()).await.unwrap();
    let end = probe.end_with(br#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
    let lines = timeout(HANG, end).await.unwrap().unwrap();
    assert_eq!(lines, [r#"{"jsonrpc":"2.0","id":9,"result":{}}"#]);
    assert!(timeout(HANG, child.wait()).await.unwrap().unwrap().success());
}

/// With tokio's own stdin it would wait for one more line.
async fn a_server_can_exit_while_its_input_is_open() {
    let mut child = program("quit").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    let probe = Probe::on(child.stdout.take().unwrap(), stdin).await.unwrap();
    assert!(timeout(HANG, child.wait()).await.unwrap().unwrap().success());
    drop(probe);
}

//! Children that print noise, die half-way, never read, or never exit.
#![cfg(all(feature = "child-process", unix))]

use crate::common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{HANG, Incidents, reported, why};
use jsonrpsee_core::client::{Client, ClientT};
use jsonrpsee_core::rpc_params;
use serde_json::Value;
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::timeout;
use wireline_jsonrpsee::{ChildProcess, Disconnected, Incident};

/// A shell script as a server, and what was reported about it.
fn script(script: &str) -> (ChildProcess, Incidents) {
    let incidents = Incidents::default();
    let reported = Arc::clone(&incidents);
    let server = ChildProcess::spawn(Command::new("sh").arg("-c").arg(script)).unwrap();
    let server = server.on_incident(move |incident| {
        let kind = match incident {
            Incident::Fault(fault) => fault.kind().name().to_owned(),
            other => other.to_string(),
        };
        reported.lock().unwrap().push(kind);
    });
    (server, incidents)
}

fn start(server: ChildProcess) -> Client {
    let (sender, receiver) = server.split();
    Client::builder().request_timeout(HANG).build_with_tokio(sender, receiver)
}

/// Answers 5,000 of 10,000 calls, with noise in between, and dies in the middle of a line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_prints_noise_and_dies_half_way() {
    let (server, incidents) = script(
        r#"
        echo "server started"
        i=0
        while [ $i -lt 5000 ] && read -r request; do
            rest=${request#*\"id\":}
            id=${rest%%,*}
            printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$id"
            i=$((i + 1))
            [ $((i % 100)) != 0 ] || echo "served $i"
        done
        printf '{"jsonrpc":"2.0","id":'
        exit 3
        "#,
    );
    let client = Arc::new(start(server));
    let mut calls = JoinSet::new();
    for _ in 0..10_000 {
        let client = Arc::clone(&client);
        calls.spawn(async move { client.request::<u64, _>("m", rpc_params![]).await });
    }
    let (mut answered, mut failed) = (0, 0);
    while let Some(outcome) = timeout(HANG, calls.join_next()).await.expect("no call hangs") {
        match outcome.unwrap() {
            Ok(_) => answered += 1,
            Err(error) => {
                let text = error.to_string();
                assert!(matches!(why(&error), Some(Disconnected::Exited(_))), "{text}");
                assert!(text.contains("server exited (exit status: 3)"), "{text}");
                failed += 1;
            }
        }
    }
    assert_eq!((answered, failed), (5000, 5000));
    let incidents = reported(&incidents);
    assert_eq!(incidents.iter().filter(|kind| *kind == "invalid-literal").count(), 51, "{incidents:?}");
    assert_eq!(incidents.iter().filter(|kind| *kind == "unexpected-end").count(), 1, "{incidents:?}");
}

#[tokio::test]
async fn a_server_that_cannot_even_start_says_so_once() {
    assert!(ChildProcess::spawn(&mut Command::new("/nonexistent/server")).is_err());
    let (server, incidents) = script("echo 'cannot bind'; exit 1");
    let client = start(server);
    let error = client.request::<Value, _>("m", rpc_params![]).await.unwrap_err();
    assert!(matches!(why(&error), Some(Disconnected::Exited(status)) if status.code() == Some(1)), "{error}");
    let incidents = reported(&incidents);
    assert!(incidents.contains(&"server exited (exit status: 1)".to_owned()), "{incidents:?}");
}

/// The exit counts, not the end of stdout, which a grandchild may keep open, whether it has the server's process group or
/// one of its own.
#[tokio::test]
async fn a_grandchild_that_keeps_the_pipe_open_does_not_hang_a_call() {
    for grandchild in ["sleep 20", "setsid sleep 20"] {
        let (server, incidents) = script(&format!("read -r request; {grandchild} & exit 6"));
        let client = start(server);
        let started = Instant::now();
        let error = timeout(HANG, client.request::<Value, _>("m", rpc_params![])).await.unwrap().unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        assert!(matches!(why(&error), Some(Disconnected::Exited(status)) if status.code() == Some(6)), "{error}");
        assert_eq!(reported(&incidents), ["server exited (exit status: 6)"]);
    }
}

/// Drops the client, and returns how long the server took to exit, and how.
async fn end(server: ChildProcess) -> (Duration, String) {
    let exited = server.exited();
    let client = start(server);
    client.notification("ready", rpc_params![]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let started = Instant::now();
    drop(client);
    let status = timeout(HANG, exited).await.expect("the server exits").unwrap();
    (started.elapsed(), status.to_string())
}

#[tokio::test]
async fn servers_exit_when_the_client_is_dropped() {
    let patience = Duration::from_millis(500);
    let soon = Duration::from_millis(400);
    let (took, status) = end(script("cat >/dev/null; exit 7").0.exit_timeout(patience)).await;
    assert!(took < soon && status == "exit status: 7", "{took:?}, {status}");
    // Prints more than a pipe holds after the end of its input.
    let noisy = "cat >/dev/null; head -c 300000 /dev/zero | tr '\\0' x; exit 8";
    let (took, status) = end(script(noisy).0.exit_timeout(Duration::from_secs(20))).await;
    assert!(took < Duration::from_secs(10) && status == "exit status: 8", "{took:?}, {status}");
    // Ignores the end of its input.
    let (took, status) = end(script("exec sleep 100").0.exit_timeout(patience)).await;
    assert!(took >= patience && status.contains("SIGTERM"), "{took:?}, {status}");
    let stubborn = "trap '' TERM; exec 0<&-; while :; do sleep 0.05; done";
    let (took, status) = end(script(stubborn).0.exit_timeout(patience)).await;
    assert!(took >= 2 * patience && status.contains("SIGKILL"), "{took:?}, {status}");
}

/// The program in the README, as an example that is run.
#[tokio::test]
async fn the_example_runs() {
    // Beside the tests, if it has been built.
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().and_then(|deps| deps.parent()).unwrap().join("examples/jsonrpsee_client");
    let output = timeout(HANG, Command::new(example).output()).await.unwrap().unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let expected = "\
        1 + 2 = 3\n\
        doubled: [0, 2, 4]\n\
        error -32601: Method not found\n\
        tick 1\ntick 2\ntick 3\n\
        the server has exited (exit status: 0)\n";
    assert_eq!(stdout, expected, "{stderr}");
    assert!(stderr.contains("not JSON"), "{stderr}");
}

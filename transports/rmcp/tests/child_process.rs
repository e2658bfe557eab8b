//! Children that print noise, die halfway through a line, never read, or never exit.
#![cfg(unix)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;
use wireline_rmcp::{ChildProcess, Incident};

/// Far more than any of these takes, so that a hang fails instead of lasting.
const HANG: Duration = Duration::from_secs(30);

/// What `answer ID RESULT` and `initialize` do in the scripts below. Ids count from 0.
const PRELUDE: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
initialize() {
    read -r request
    answer 0 '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"0"}}'
    read -r initialized
}
"#;

/// For children that do not exit by themselves.
const IMPATIENT: Duration = Duration::from_secs(1);

/// A shell script as a server, and what was reported about it.
fn script(exit_timeout: Duration, script: &str) -> (ChildProcess, Arc<Mutex<Vec<String>>>) {
    let incidents = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&incidents);
    let child = ChildProcess::spawn(Command::new("sh").arg("-c").arg(format!("{PRELUDE}\n{script}")))
        .unwrap()
        .exit_timeout(exit_timeout)
        .on_incident(move |incident| {
            let kind = match incident {
                Incident::Fault(fault) => fault.kind().name().to_owned(),
                other => other.to_string(),
            };
            reported.lock().unwrap().push(kind);
        });
    (child, incidents)
}

async fn start(child: ChildProcess) -> RunningService<RoleClient, ()> {
    timeout(HANG, ().serve(child)).await.unwrap().unwrap()
}

/// Ends a session, and returns how long that took.
async fn end(client: RunningService<RoleClient, ()>) -> Duration {
    let started = Instant::now();
    timeout(HANG, client.cancel()).await.unwrap().unwrap();
    started.elapsed()
}

/// Whether there is a process with this id, even as a zombie.
fn exists(id: u32) -> bool {
    std::process::Command::new("kill")
        .arg("-0")
        .arg(id.to_string())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap()
        .success()
}

#[tokio::test]
async fn noise_is_skipped() {
    let (child, incidents) = script(
        HANG,
        r#"
        echo 'npm WARN deprecated'
        initialize
        echo; echo 'Debugger attached.'; printf '\377\376\n'
        read -r list; answer 1 '{"tools":[]}'
        cat >/dev/null
        "#,
    );
    let client = start(child).await;
    assert!(client.list_all_tools().await.unwrap().is_empty());
    end(client).await;
    let incidents = incidents.lock().unwrap();
    assert_eq!(incidents.len(), 4, "{incidents:?}");
    assert_eq!(incidents[3], "child process exited with exit status: 0");
}

#[tokio::test]
async fn death_halfway_through_a_line_fails_the_call() {
    let (child, incidents) =
        script(HANG, r#"initialize; read -r list; printf '{"jsonrpc":"2.0","id":1,"resu'; exit 3"#);
    let client = start(child).await;
    assert!(timeout(HANG, client.list_all_tools()).await.unwrap().is_err());
    timeout(HANG, client.waiting()).await.unwrap().unwrap();
    let incidents = incidents.lock().unwrap();
    assert_eq!(incidents.len(), 2, "{incidents:?}");
    assert_eq!(incidents[1], "child process exited with exit status: 3");
}

#[tokio::test]
async fn death_during_initialization_is_reported() {
    let (child, incidents) = script(HANG, "read -r request; exit 7");
    assert!(timeout(HANG, ().serve(child)).await.unwrap().is_err());
    assert_eq!(*incidents.lock().unwrap(), ["child process exited with exit status: 7"]);
}

#[tokio::test]
async fn death_before_initialization_is_reported() {
    let (child, incidents) = script(HANG, "exit 7");
    timeout(HANG, async {
        while child.id().is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
    assert!(timeout(HANG, ().serve(child)).await.unwrap().is_err());
    // Its stdin is closed, which may be reported, too.
    assert_eq!(incidents.lock().unwrap().last().unwrap(), "child process exited with exit status: 7");
}

#[tokio::test]
async fn sigterm_is_sent_to_a_child_that_ignores_the_end_of_its_input() {
    let (child, incidents) = script(IMPATIENT, r#"trap 'exit 5' TERM; initialize; while :; do sleep 0.01; done"#);
    let client = start(child).await;
    assert!(end(client).await >= IMPATIENT);
    assert_eq!(*incidents.lock().unwrap(), ["child process exited with exit status: 5"]);
}

#[tokio::test]
async fn a_child_that_never_exits_is_killed() {
    let (child, incidents) = script(IMPATIENT, r#"trap '' TERM; initialize; while :; do sleep 0.01; done"#);
    let id = child.id().unwrap();
    let client = start(child).await;
    let took = end(client).await;
    assert!(took >= 2 * IMPATIENT, "{took:?}");
    assert!(!exists(id));
    assert_eq!(*incidents.lock().unwrap(), ["child process exited with signal: 9 (SIGKILL)"]);
}

/// Nobody needs what it prints, but unless somebody reads it, the child blocks and never exits.
#[tokio::test]
async fn a_child_that_prints_after_its_input_ended_exits_by_itself() {
    let (child, incidents) = script(HANG, r#"initialize; cat >/dev/null; head -c 1000000 /dev/zero; exit 4"#);
    let client = start(child).await;
    end(client).await;
    assert_eq!(*incidents.lock().unwrap(), ["child process exited with exit status: 4"]);
}

/// A message of a megabyte does not fit into the pipe, so the send is stuck when the transport is closed.
#[tokio::test]
async fn a_child_that_never_reads_does_not_hang_the_close() {
    let (child, incidents) = script(IMPATIENT, r#"initialize; exec sleep 1000"#);
    let client = start(child).await;
    let peer = client.peer().clone();
    let text = serde_json::json!({"text": "x".repeat(1 << 20)}).as_object().cloned().unwrap();
    let call = tokio::spawn(async move {
        peer.call_tool(rmcp::model::CallToolRequestParams::new("x").with_arguments(text)).await.is_err()
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    end(client).await;
    assert!(timeout(HANG, call).await.unwrap().unwrap());
    assert_eq!(*incidents.lock().unwrap(), ["child process exited with signal: 15 (SIGTERM)"]);
}

/// The exit counts, not the end of the pipe, which a grandchild may keep open.
#[tokio::test]
async fn a_grandchild_that_keeps_the_pipe_open_does_not_hang_the_close() {
    let (child, incidents) = script(HANG, r#"initialize; sleep 20 & cat >/dev/null; exit 6"#);
    let client = start(child).await;
    assert!(end(client).await < Duration::from_secs(15));
    assert_eq!(*incidents.lock().unwrap(), ["child process exited with exit status: 6"]);
}

/// Nor does it hang an open call, whether it has the child's process group or one of its own.
#[tokio::test]
async fn a_grandchild_that_keeps_the_pipe_open_does_not_hang_a_call() {
    for grandchild in ["sleep 20", "setsid sleep 20"] {
        let (child, incidents) = script(HANG, &format!("initialize; read -r list; {grandchild} & exit 6"));
        let client = start(child).await;
        let started = Instant::now();
        let error = timeout(HANG, client.list_all_tools()).await.unwrap().unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        assert!(error.to_string().contains("server exited (exit status: 6)"), "{error}");
        timeout(HANG, client.waiting()).await.unwrap().unwrap();
        assert_eq!(*incidents.lock().unwrap(), ["child process exited with exit status: 6"]);
    }
}

#[tokio::test]
async fn a_dropped_transport_kills_the_child() {
    let (child, _) = script(HANG, "trap '' TERM; while :; do sleep 0.01; done");
    let id = child.id().unwrap();
    assert!(exists(id));
    drop(child);
    timeout(HANG, async {
        while exists(id) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn stderr_can_be_taken() {
    let mut command = Command::new("sh");
    command.arg("-c").arg("echo problem >&2").stderr(std::process::Stdio::piped());
    let mut child = ChildProcess::spawn(&mut command).unwrap();
    let mut text = String::new();
    child.take_stderr().unwrap().read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "problem\n");
    assert!(child.take_stderr().is_none());
}

#[tokio::test]
async fn a_missing_program_is_an_error() {
    let error = ChildProcess::spawn(&mut Command::new("wireline-rmcp-no-such-program")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

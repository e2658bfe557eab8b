//! Agents as child processes: some print noise, some die halfway, some never exit.
#![cfg(unix)]

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_client_protocol::{ConnectionTo, UntypedMessage, UntypedRole};
use serde_json::{Value, json};
use wireline_acp::{ChildProcess, Incident};

use crate::common::run;
use crate::conversation::{converse, expected};

/// An example, which `cargo test` has built beside the tests.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(name)
}

/// What was reported about an agent.
type Incidents = Arc<Mutex<Vec<String>>>;

/// A shell script as an agent; `$0` is the example's.
fn script(script: &str) -> (ChildProcess, Incidents) {
    let incidents = Incidents::default();
    let reported = Arc::clone(&incidents);
    let agent = ChildProcess::spawn(Command::new("sh").arg("-c").arg(script).arg(example("acp_agent"))).unwrap();
    let agent = agent.on_incident(move |incident| {
        reported.lock().unwrap().push(match incident {
            Incident::Fault(fault) => fault.kind().name().to_owned(),
            other => other.to_string(),
        });
    });
    (agent, incidents)
}

fn reported(incidents: &Incidents) -> Vec<String> {
    incidents.lock().unwrap().clone()
}

/// Both examples, each on its own runtime.
#[test]
fn both_ends_as_processes() {
    let run_client = |agent: &[&str]| -> Output {
        Command::new(example("acp_client")).args(agent).arg(example("acp_agent")).output().unwrap()
    };
    for wrapper in [&[][..], &["sh", "-c", r#"echo 'Loading model...'; printf '\377\n'; "$0"; echo bye"#]] {
        let output = run_client(wrapper);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected(), "{stderr}");
        assert!(stderr.contains("a stray print"), "{stderr}");
        assert_eq!(stderr.contains("line 1, column 1: "), !wrapper.is_empty(), "{stderr}");
        assert!(!stderr.contains("Loading"), "a byte of the agent's: {stderr}");
    }
}

/// The transport works with tokio as well, which the SDK's users mostly use.
#[tokio::test]
async fn on_tokio() {
    let (agent, incidents) = script(r#"exec "$0" 2>/dev/null"#);
    let (ended, shown) = tokio::time::timeout(crate::common::HANG, converse(agent)).await.unwrap();
    ended.unwrap();
    assert_eq!(shown, expected());
    assert_eq!(reported(&incidents), ["agent exited (exit status: 0)"]);
}

#[test]
fn an_agent_that_dies_fails_the_call() {
    for (dies, status) in [
        ("exit 3", "exit status: 3"),
        ("read -r line; exit 7", "exit status: 7"),
        ("read -r line; exit 0", "exit status: 0"),
        ("read -r line; kill -9 $$", "signal: 9 (SIGKILL)"),
        ("read -r line; printf '{\"jsonrpc\":'; exit 5", "exit status: 5"),
        ("exec 0<&-; sleep 0.3; exit 6", "exit status: 6"),
        // Other processes keep its stdout open, in its group or in one of their own.
        ("read -r line; sleep 20 & exit 4", "exit status: 4"),
        ("read -r line; setsid sleep 20 & exit 4", "exit status: 4"),
    ] {
        let started = Instant::now();
        let (agent, incidents) = script(dies);
        let (ended, _) = run(converse(agent));
        let error = ended.unwrap_err();
        // An agent that was gone before it was asked fails the session.
        let text = format!("{} {:?}", error.message, error.data);
        assert!(text.contains(&format!("agent exited ({status})")), "{dies}: {error}");
        assert!(started.elapsed() < Duration::from_secs(10), "{dies} took {:?}", started.elapsed());
        assert!(reported(&incidents).contains(&format!("agent exited ({status})")), "{dies}: {incidents:?}");
    }
    assert!(ChildProcess::spawn(&mut Command::new("/nonexistent/agent")).is_err());
}

/// A program that isn't waiting for anything learns it too.
#[test]
fn an_agent_that_dies_ends_the_session() {
    for (dies, is_ok) in [("exit 3", false), ("exit 0", true)] {
        let (agent, _) = script(dies);
        let ended = run(UntypedRole.builder().connect_with(agent, async |connection: ConnectionTo<UntypedRole>| {
            match is_ok {
                true => connection.incoming_closed().await,
                false => std::future::pending().await,
            }
            Ok(())
        }));
        assert_eq!(ended.is_ok(), is_ok, "{ended:?}");
    }
}

/// What it has said before is received, and what it hasn't answered fails.
#[test]
fn an_agent_that_prints_noise_and_dies_halfway() {
    let (agent, incidents) = script(
        r#"
        i=0
        while [ $i -lt 100 ] && read -r request; do
            rest=${request#*\"id\":}
            id=${rest%%,*}
            echo "noise $i"
            printf '{"jsonrpc":"2.0","id":%s,"result":{"i":%s}}\n' "$id" "$i"
            i=$((i + 1))
        done
        printf '{"jsonrpc":"2.0","id":'
        exit 3
        "#,
    );
    let (answered, failed) = run(async {
        let session = UntypedRole.builder().connect_with(agent, async |connection: ConnectionTo<UntypedRole>| {
            let calls: Vec<_> = (0..200)
                .map(|_| connection.send_request(UntypedMessage::new("m", json!([])).unwrap()).block_task())
                .collect();
            let (mut answered, mut failed) = (0, 0);
            for outcome in futures::future::join_all(calls).await {
                match outcome {
                    Ok(result) => {
                        assert!(Value::is_object(&result));
                        answered += 1;
                    }
                    Err(error) => {
                        assert_eq!(error.message, "agent exited (exit status: 3)", "after {answered} and {failed}");
                        failed += 1;
                    }
                }
            }
            Ok((answered, failed))
        });
        session.await.unwrap()
    });
    assert_eq!((answered, failed), (100, 100));
    let incidents = reported(&incidents);
    assert_eq!(incidents.iter().filter(|kind| *kind == "invalid-literal").count(), 100, "{incidents:?}");
}

/// Ends a session, and returns how long the agent took to exit, and how.
fn end(agent: ChildProcess) -> (Duration, String) {
    let exited = agent.exited();
    run(async {
        let started = UntypedRole.builder().connect_with(agent, async |connection: ConnectionTo<UntypedRole>| {
            connection.send_notification(UntypedMessage::new("ready", json!([])).unwrap())?;
            smol::Timer::after(Duration::from_millis(300)).await;
            Ok(Instant::now())
        });
        let took = started.await.unwrap().elapsed();
        (took, exited.await.unwrap().to_string())
    })
}

#[test]
fn agents_exit_when_the_session_ends() {
    let patience = Duration::from_millis(500);
    let (took, status) = end(script("cat >/dev/null; exit 7").0.exit_timeout(patience));
    assert!(took < patience && status == "exit status: 7", "{took:?}, {status}");
    // Prints more than a pipe holds after the end of its input.
    let noisy = "cat >/dev/null; head -c 3000000 /dev/zero | tr '\\0' x; exit 8";
    let (took, status) = end(script(noisy).0.exit_timeout(Duration::from_secs(20)));
    assert!(took < Duration::from_secs(10) && status == "exit status: 8", "{took:?}, {status}");
    // Ignores the end of its input.
    let (took, status) = end(script("exec sleep 100").0.exit_timeout(patience));
    assert!(took >= patience && status.contains("SIGTERM"), "{took:?}, {status}");
    let stubborn = "trap '' TERM; while :; do sleep 0.05; done";
    let (took, status) = end(script(stubborn).0.exit_timeout(patience));
    assert!(took >= 2 * patience && status.contains("SIGKILL"), "{took:?}, {status}");
}

#[test]
fn a_session_that_is_dropped_kills_its_agent() {
    let (agent, _) = script("exec sleep 100");
    let exited = agent.exited();
    drop(agent);
    assert!(run(exited).unwrap().to_string().contains("SIGKILL"));
}

/// Stray prints, also after the session, go to stderr, and the last line is answered.
#[test]
fn stdout_is_protected() {
    let mut agent = Command::new(example("acp_agent"));
    let mut agent = agent.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    std::io::Write::write_all(agent.stdin.as_mut().unwrap(), initialize.as_bytes()).unwrap();
    let output = agent.wait_with_output().unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["id"], 1);
    assert!(stderr.starts_with("a stray print"), "{stderr}");
}

//! The demo: rmcp over wireline, in memory and to a child process; and what bad lines do to a session, here and there.
//!
//! With the argument `serve` it is the server of that child process, on stdin and stdout.

use std::error::Error;
use std::process::Stdio;

use rmcp::ServiceExt;
use serde_json::json;
use tokio::io::{duplex, split};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use wireline::Rules;
use wireline_rmcp::demo::{BAD_RESPONSES, Kind, Outcome, Probe, Seen, Tools, answered_with, bad_lines, call};
use wireline_rmcp::{Incident, LineTransport};

/// Of the lines that the demo's servers read.
const MAX_LINE_LEN: usize = 64 << 10;

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve_stdio().await;
    }
    in_memory().await?;
    child_process().await?;
    bad_requests().await?;
    bad_responses().await?;
    long_line().await
}

/// A server on stdin and stdout, which says on stderr what was wrong with a line.
async fn serve_stdio() -> Result {
    let (stdin, stdout) = rmcp::transport::stdio();
    let transport =
        LineTransport::with_rules(stdin, stdout, Rules::mcp().max_line_len(MAX_LINE_LEN)).on_incident(|incident| {
            match incident {
                Incident::Fault(fault) => eprintln!("  server: {fault}"),
                Incident::Misfit { line, error } => eprintln!("  server: line {line}: {error}"),
                incident => eprintln!("  server: {incident:?}"),
            }
        });
    Tools.serve(transport).await?.waiting().await?;
    Ok(())
}

async fn in_memory() -> Result {
    println!("In memory");
    let (near, far) = duplex(4096);
    let (reader, writer) = split(far);
    let server = tokio::spawn(Tools.serve(LineTransport::new(reader, writer)));
    let (reader, writer) = split(near);
    let client = ().serve(LineTransport::new(reader, writer)).await?;
    let tools = client.list_all_tools().await?;
    println!("  tools: {}", tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>().join(", "));
    println!("  sum of 19 and 23: {}", call(&client, "sum", json!({"a": 19, "b": 23})).await?);
    client.cancel().await?;
    server.await??.waiting().await?;
    Ok(())
}

async fn child_process() -> Result {
    println!("\nTo a child process");
    let (mut child, stdin, stdout) = spawn()?;
    let client = ().serve(LineTransport::new(stdout, stdin)).await?;
    let text = "one\r\ntwo\u{2028}three\n";
    println!("  length of {text:?}: {}", call(&client, "length", json!({"text": text})).await?);
    client.cancel().await?;
    println!("  server: {}", child.wait().await?);
    Ok(())
}

async fn bad_requests() -> Result {
    println!("\nBad lines from a client: what the server says to them");
    for case in bad_lines(MAX_LINE_LEN) {
        println!("  {}", case.name);
        for kind in [Kind::Stock, Kind::Wireline] {
            let seen = Probe::start(kind, MAX_LINE_LEN).await?.tell(&case.line).await?;
            println!("    {:<9} {}", name(kind), describe(&seen));
        }
    }
    Ok(())
}

async fn bad_responses() -> Result {
    println!("\nBad lines from a server: what becomes of the call");
    for (name_of_case, response) in BAD_RESPONSES {
        println!("  {name_of_case}");
        for kind in [Kind::Stock, Kind::Wireline] {
            let outcome = match answered_with(kind, MAX_LINE_LEN, response).await? {
                Outcome::Answered(text) => format!("answered: {text:?}"),
                Outcome::Failed(error) => format!("failed: {error}"),
                Outcome::Waiting => "still waiting".to_owned(),
            };
            println!("    {:<9} {outcome}", name(kind));
        }
    }
    Ok(())
}

/// A line of 64 MiB to a child process, whose limit is 64 KiB.
async fn long_line() -> Result {
    println!("\nA line of 64 MiB to a child process");
    let (mut child, stdin, stdout) = spawn()?;
    let mut probe = Probe::on(stdout, stdin).await?;
    let before = peak_memory(&child);
    let line = format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"x":"{}"}},"id":7}}"#, "x".repeat(64 << 20));
    let seen = probe.tell(line.as_bytes()).await?;
    println!("  {}", describe(&seen));
    match (before, peak_memory(&child)) {
        (Some(before), Some(after)) => println!("  peak memory of the server: {before} kB before, {after} kB after"),
        _ => println!("  peak memory of the server: only known on Linux"),
    }
    drop(probe);
    child.wait().await?;
    Ok(())
}

fn spawn() -> Result<(Child, ChildStdin, ChildStdout)> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stdin = child.stdin.take().ok_or("expected a pipe to the child")?;
    let stdout = child.stdout.take().ok_or("expected a pipe from the child")?;
    Ok((child, stdin, stdout))
}

/// The most memory that a child had at once, in kB.
fn peak_memory(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()?)).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.trim().strip_suffix(" kB")?.parse().ok()
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Stock => "rmcp:",
        Kind::Wireline => "wireline:",
    }
}

fn describe(seen: &Seen) -> String {
    let mut text = match &seen.answers[..] {
        [] => "nothing".to_owned(),
        answers => answers.join(" "),
    };
    if !seen.survived {
        text += ", and the session is over";
    }
    text
}

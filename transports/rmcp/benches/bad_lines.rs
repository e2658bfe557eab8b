//! What bad lines do to a session, over rmcp's own transport and over this one.
//!
//! ```console
//! cargo bench -p wireline-rmcp --bench bad_lines
//! ```

#[path = "../tests/support/mod.rs"]
mod support;

use std::error::Error;
use std::process::Stdio;

use rmcp::ServiceExt;
use tokio::process::{Child, Command};
use wireline::Rules;

use support::{BAD_RESPONSES, Kind, Outcome, Probe, Seen, Tools, answered_with, bad_lines};

const MAX_LINE_LEN: usize = 64 << 10;

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        let transport = wireline_rmcp::stdio()?.rules(Rules::mcp().max_line_len(MAX_LINE_LEN));
        Tools.serve(transport).await?.waiting().await?;
        return Ok(());
    }
    bad_requests().await?;
    bad_responses().await?;
    long_line().await
}

async fn bad_requests() -> Result {
    println!("Bad lines from a client: the server's answers");
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
    println!("\nBad lines from a server: the client's call");
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

async fn long_line() -> Result {
    println!("\nA line of 64 MiB to a child process with a limit of 64 KiB");
    let mut child = Command::new(std::env::current_exe()?)
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stdin = child.stdin.take().ok_or("child process has no stdin")?;
    let stdout = child.stdout.take().ok_or("child process has no stdout")?;
    let mut probe = Probe::on(stdout, stdin).await?;
    let before = peak_memory(&child);
    let line = format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"x":"{}"}},"id":7}}"#, "x".repeat(64 << 20));
    let seen = probe.tell(line.as_bytes()).await?;
    println!("  {}", describe(&seen));
    match (before, peak_memory(&child)) {
        (Some(before), Some(after)) => println!("  peak memory of the server: {before} kB before, {after} kB after"),
        _ => println!("  peak memory of the server: known on Linux only"),
    }
    drop(probe);
    child.wait().await?;
    Ok(())
}

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
        [] => "no answer".to_owned(),
        answers => answers.join(" "),
    };
    if !seen.survived {
        text += ", and the session is over";
    }
    text
}

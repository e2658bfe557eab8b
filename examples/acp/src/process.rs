//! Both ends as processes: the agent on its own stdin and stdout, and a client that starts it.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::StopReason;
use smol::Timer;
use smol::Unblock;
use smol::future::or;
use smol::process::{Child, Command};
use wireline::{AnswerWithoutId, Rules, stdio};

use crate::{Transport, agent, client};

/// How long a conversation may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long to wait for an agent to exit, and for its last output to arrive.
const GRACE: Duration = Duration::from_secs(2);

/// Serves the process that started this one.
///
/// # Errors
///
/// Stdout can't be claimed, or the connection failed.
pub async fn serve() -> Result<(), Error> {
    let stdout = stdio::claim().map_err(Error::into_internal_error)?;
    println!("agent: a stray print, which would break the protocol if stdout weren't claimed");
    agent::serve(Transport::new(Unblock::new(io::stdin()), Unblock::new(stdout), Rules::acp())).await
}

/// Starts an agent, and has a conversation with it about `file`.
///
/// # Errors
///
/// The agent can't be started, exits, takes too long, or answers with an error.
pub async fn converse(
    mut agent: Command,
    file: PathBuf,
    show: impl Fn(&str) + Clone + Send + Sync + 'static,
) -> Result<StopReason, String> {
    agent.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = agent.spawn().map_err(|error| format!("the agent can't be started: {error}"))?;
    let (Some(stdout), Some(stdin)) = (child.stdout.take(), child.stdin.take()) else {
        return Err("the agent has no pipes".to_owned());
    };
    // A line that isn't a message is most likely a print, and answering it would only confuse the agent.
    let rules = Rules::acp().answer_without_id(AnswerWithoutId::Never);
    let conversation = async {
        let ended = client::converse(Transport::new(stdout, stdin, rules), file, show).await;
        ended.map_err(|error| error.to_string())
    };
    let timeout = async {
        Timer::after(TIMEOUT).await;
        Err(format!("no end of the conversation within {} s", TIMEOUT.as_secs()))
    };
    let ended = or(conversation, or(outlived(&mut child), timeout)).await;
    // Its stdin is closed by now, so it should exit. If it doesn't, it is killed.
    let status = or(async { child.status().await.ok() }, async {
        Timer::after(GRACE).await;
        None
    });
    match (ended, status.await) {
        (Ok(reason), _) => Ok(reason),
        (Err(error), Some(status)) => Err(format!("the agent is gone ({status}): {error}")),
        (Err(error), None) => Err(error),
    }
}

/// Fails if the agent has exited but another process keeps its stdout open.
async fn outlived<T>(child: &mut Child) -> Result<T, String> {
    let _ = child.status().await;
    Timer::after(GRACE).await;
    Err("the conversation wasn't over".to_owned())
}

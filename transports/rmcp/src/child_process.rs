//! A client's server, as a child process.

use std::future::Future;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};
use wireline::Rules;
use wireline::aio::{ReadUntil, Tokio};
use wireline::process::Child;

use crate::{Incident, LineTransport, SendError};

const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// A process whose stdout has ended has usually exited, and one that has exited has usually printed everything. This is how
/// long to wait for the other.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// What open calls fail with when the child has exited: the first code that JSON-RPC leaves to implementations.
const EXITED: ErrorCode = ErrorCode(-32000);

/// A transport that starts a server as a child process and talks to it over its stdin and stdout.
///
/// ```no_run
/// use rmcp::ServiceExt;
/// use tokio::process::Command;
/// use wireline_rmcp::ChildProcess;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ChildProcess::spawn(Command::new("my-server").arg("--stdio"))?;
/// let client = ().serve(server).await?;
/// for tool in client.list_all_tools().await? {
///     println!("{}", tool.name);
/// }
/// client.cancel().await?;
/// # Ok(())
/// # }
/// ```
///
/// Whatever else the server prints on its stdout is reported and skipped. Its stderr goes where the [`Command`] says,
/// which is the stderr of this process by default.
///
/// # How the child ends
///
/// Closing the transport, as rmcp does when a session ends, follows the MCP specification: it closes the child's stdin
/// and reads what the child still prints, for up to three seconds ([`exit_timeout`](Self::exit_timeout)); then, on Unix,
/// sends SIGTERM and waits as long again; then kills the child. Dropping the transport without closing it kills the
/// child at once. On Unix, all this concerns the child's whole [process group](wireline::process).
///
/// If the child exits by itself, open calls fail with the error -32000 and its exit status, even if a process that it has
/// started keeps its stdout open.
#[derive(Debug)]
pub struct ChildProcess {
    transport: LineTransport<ChildStdout, ChildStdin>,
    child: Child,
    exit_timeout: Duration,
    exit_reported: bool,
}

impl ChildProcess {
    /// Starts the child. Its stdin and stdout become pipes, whatever `command` says about them.
    ///
    /// # Errors
    ///
    /// Fails if the process cannot be started.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime with I/O enabled, as [`Command::spawn`] does.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut child = Child::spawn(command.as_std_mut())?;
        let (Some(stdout), Some(stdin)) = (child.take_stdout(), child.take_stdin()) else {
            return Err(io::Error::other("child process has no pipes"));
        };
        let exited = child.exited();
        let stdout = ReadUntil::new(Tokio(ChildStdout::from_std(stdout)?), async {
            exited.await;
            sleep(LAST_WORDS).await;
        });
        let transport = LineTransport::of(stdout, ChildStdin::from_std(stdin)?);
        Ok(Self { transport, child, exit_timeout: EXIT_TIMEOUT, exit_reported: false })
    }

    /// Sets the rules for both directions; see [`LineTransport::rules`].
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.transport.set_rules(rules);
        self
    }

    /// Calls `report` for each [`Incident`], instead of logging it with [`tracing`].
    ///
    /// [`Incident::Exited`] says how the child ended.
    #[must_use]
    pub fn on_incident(mut self, report: impl FnMut(Incident<'_>) + Send + 'static) -> Self {
        self.transport.set_on_incident(report);
        self
    }

    /// Sets how long the child may take to exit after its stdin was closed, and again after SIGTERM.
    ///
    /// The default is three seconds.
    #[must_use]
    pub fn exit_timeout(mut self, timeout: Duration) -> Self {
        self.exit_timeout = timeout;
        self
    }

    /// The child's process id, or `None` once it has exited.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Takes the child's stderr, if the command was given [`Stdio::piped`](std::process::Stdio::piped) for it.
    ///
    /// Whoever takes it must read it, or the child will stop when the pipe is full.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime with I/O enabled.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.take_stderr().and_then(|stderr| ChildStderr::from_std(stderr).ok())
    }

    fn report_exit(&mut self, status: ExitStatus) {
        if !self.exit_reported {
            self.exit_reported = true;
            self.transport.report(Incident::Exited(status));
        }
    }
}

impl<Role: ServiceRole> Transport<Role> for ChildProcess {
    type Error = SendError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<Role>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        Transport::<Role>::send(&mut self.transport, message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        let message = Transport::<Role>::receive(&mut self.transport).await;
        if message.is_some() {
            return message;
        }
        let status = timeout(LAST_WORDS, self.child.exited()).await.ok().flatten()?;
        self.report_exit(status);
        let id = self.transport.next_lost()?;
        let error = ErrorData::new(EXITED, format!("server exited ({status})"), None);
        Some(JsonRpcMessage::error(error, Some(id)))
    }

    async fn close(&mut self) -> Result<(), SendError> {
        let exit_timeout = self.exit_timeout;
        let status = tokio::select! {
            status = self.child.end_with(|| sleep(exit_timeout)) => status,
            // With nobody to read what it prints, the child might block before it notices the end of its input.
            never = self.transport.drain() => match never {},
        };
        status.into_iter().for_each(|status| self.report_exit(status));
        Ok(())
    }
}

/// rmcp drops a transport without closing it if the session cannot be started, for example because the child has exited.
impl Drop for ChildProcess {
    fn drop(&mut self) {
        if let Some(status) = self.child.status() {
            self.report_exit(status);
        }
    }
}

//! A client's server, as a child process.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use wireline::Rules;

use crate::{Incident, LineTransport, SendError};

const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// A process whose stdout has ended has usually exited. This is how long to wait for its exit status.
const EXIT_STATUS_TIMEOUT: Duration = Duration::from_millis(100);

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
/// child at once. Only the child itself is signalled, not processes that it started.
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
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let (Some(stdout), Some(stdin)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(io::Error::other("child process has no pipes"));
        };
        Ok(Self {
            transport: LineTransport::new(stdout, stdin),
            child,
            exit_timeout: EXIT_TIMEOUT,
            exit_reported: false,
        })
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

    /// Takes the child's stderr, if the command was given [`Stdio::piped`] for it.
    ///
    /// Whoever takes it must read it, or the child will stop when the pipe is full.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    async fn end(&mut self) -> io::Result<ExitStatus> {
        if let Ok(status) = timeout(self.exit_timeout, self.exit()).await {
            return status;
        }
        if terminate(&self.child)
            && let Ok(status) = timeout(self.exit_timeout, self.exit()).await
        {
            return status;
        }
        self.child.kill().await?;
        self.child.wait().await
    }

    /// Closes the child's stdin and waits for its exit, while discarding what it prints: with nobody to read it, the
    /// child might block before it notices the end of its input.
    async fn exit(&mut self) -> io::Result<ExitStatus> {
        let outbox = self.transport.outbox().clone();
        let close = async {
            // Fails if the child is gone, and its exit status tells more.
            let _ = outbox.close().await;
            pending::<Infallible>().await
        };
        tokio::select! {
            status = self.child.wait() => status,
            never = close => match never {},
            never = discard(self.transport.reader_mut()) => match never {},
        }
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
        if message.is_none()
            && let Ok(Ok(status)) = timeout(EXIT_STATUS_TIMEOUT, self.child.wait()).await
        {
            self.report_exit(status);
        }
        message
    }

    async fn close(&mut self) -> Result<(), SendError> {
        let status = self.end().await?;
        self.report_exit(status);
        Ok(())
    }
}

/// rmcp drops a transport without closing it if the session cannot be started, for example because the child has exited.
impl Drop for ChildProcess {
    fn drop(&mut self) {
        if let Ok(Some(status)) = self.child.try_wait() {
            self.report_exit(status);
        }
    }
}

async fn discard(reader: &mut (impl AsyncRead + Unpin)) -> Infallible {
    let mut buffer = [0; 4096];
    while matches!(reader.read(&mut buffer).await, Ok(1..)) {}
    pending().await
}

/// Asks the child to exit. Returns whether there is a way to.
#[cfg(unix)]
fn terminate(child: &Child) -> bool {
    use rustix::process::{Pid, Signal, kill_process};

    // The id is there only until the child has been reaped, so it cannot be that of another process.
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok())
}

#[cfg(not(unix))]
fn terminate(_: &Child) -> bool {
    false
}

//! A client's server, as a child process.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use wireline::Rules;
use wireline::aio::{FrameReader, Tokio};

use crate::link::Link;
use crate::{Incident, LineTransport, Receiver, Sender};

const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// A process whose stdout has ended has usually exited. This is how long to wait for its exit status.
const EXIT_STATUS_TIMEOUT: Duration = Duration::from_millis(100);

/// A transport that starts a server as a child process and talks to it over its stdin and stdout.
///
/// ```no_run
/// use jsonrpsee_core::client::{Client, ClientT};
/// use jsonrpsee_core::rpc_params;
/// use tokio::process::Command;
/// use wireline_jsonrpsee::ChildProcess;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ChildProcess::spawn(Command::new("my-server").arg("--stdio"))?;
/// let exited = server.exited();
/// let (sender, receiver) = server.split();
/// let client = Client::builder().build_with_tokio(sender, receiver);
/// let sum: i64 = client.request("add", rpc_params![1, 2]).await?;
/// drop(client);
/// exited.await;
/// # Ok(())
/// # }
/// ```
///
/// Whatever else the server prints on its stdout is reported and skipped. Its stderr goes where the [`Command`] says,
/// which is the stderr of this process by default.
///
/// # How the child ends
///
/// When the client is dropped, the child's stdin is closed, and it has three seconds to exit
/// ([`exit_timeout`](Self::exit_timeout)). Then, on Unix, it gets SIGTERM and as long again, and then it is killed. Only
/// the child itself is signalled, not processes that it started. All this happens in a task of its own: if the runtime is
/// shut down before, the child is killed at once, unless [`exited`](Self::exited) is awaited.
#[derive(Debug)]
pub struct ChildProcess {
    transport: LineTransport<ChildStdout, ChildStdin>,
    child: Child,
    exit_timeout: Duration,
    exited: watch::Sender<Option<ExitStatus>>,
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
            exited: watch::Sender::new(None),
        })
    }

    /// Sets the rules for both directions; see [`LineTransport::rules`].
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.transport = self.transport.rules(rules);
        self
    }

    /// Calls `report` for each [`Incident`], instead of logging it with [`tracing`].
    #[must_use]
    pub fn on_incident(mut self, report: impl FnMut(Incident<'_>) + Send + 'static) -> Self {
        self.transport = self.transport.on_incident(report);
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

    /// Waits until the child has exited, and returns how, if that is known.
    pub fn exited(&self) -> impl Future<Output = Option<ExitStatus>> + Send + 'static {
        let mut exit = Exit(self.exited.subscribe());
        async move { exit.status().await }
    }

    /// The two halves, for [`build_with_tokio`](jsonrpsee_core::client::ClientBuilder::build_with_tokio).
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime with I/O and time enabled.
    pub fn split(self) -> (Sender, Receiver<ChildStdout>) {
        let (sender, mut receiver) = self.transport.split();
        let (leftover, stdout) = oneshot::channel();
        let leave = |frames: FrameReader<Tokio<ChildStdout>>| {
            let (Tokio(stdout), _) = frames.into_parts();
            // Fails if the child has exited.
            let _ = leftover.send(stdout);
        };
        let link = receiver.of_child(Box::new(leave), Exit(self.exited.subscribe()));
        let keeper = Keeper { child: self.child, exit_timeout: self.exit_timeout, exited: self.exited, link };
        tokio::spawn(keeper.run(stdout));
        (sender, receiver)
    }
}

/// How a child exits, once it has.
pub(crate) struct Exit(watch::Receiver<Option<ExitStatus>>);

impl Exit {
    async fn status(&mut self) -> Option<ExitStatus> {
        self.0.wait_for(Option::is_some).await.ok().and_then(|status| *status)
    }

    /// The status if it is there, or will be in a moment.
    pub(crate) async fn soon(&mut self) -> Option<ExitStatus> {
        timeout(EXIT_STATUS_TIMEOUT, self.status()).await.ok().flatten()
    }
}

/// Waits for a child, and makes it exit when the client is gone.
struct Keeper {
    child: Child,
    exit_timeout: Duration,
    exited: watch::Sender<Option<ExitStatus>>,
    link: Arc<Link>,
}

impl Keeper {
    async fn run(mut self, stdout: oneshot::Receiver<ChildStdout>) {
        let exited = tokio::select! {
            exited = self.child.wait() => exited,
            stdout = stdout => self.end(stdout.ok()).await,
        };
        if let Ok(status) = exited {
            self.link.report(Incident::Exited(status));
            self.exited.send_replace(Some(status));
        }
    }

    /// Its stdin is being closed by whoever writes to it.
    async fn end(&mut self, mut stdout: Option<ChildStdout>) -> io::Result<ExitStatus> {
        if let Ok(exited) = timeout(self.exit_timeout, self.exit(stdout.as_mut())).await {
            return exited;
        }
        if terminate(&self.child)
            && let Ok(exited) = timeout(self.exit_timeout, self.exit(stdout.as_mut())).await
        {
            return exited;
        }
        self.child.kill().await?;
        self.child.wait().await
    }

    /// Waits for the exit, while discarding what the child prints: with nobody to read it, it might block before it
    /// notices the end of its input.
    async fn exit(&mut self, stdout: Option<&mut ChildStdout>) -> io::Result<ExitStatus> {
        let discard = async {
            match stdout {
                Some(stdout) => discard(stdout).await,
                None => pending().await,
            }
        };
        tokio::select! {
            exited = self.child.wait() => exited,
            never = discard => match never {},
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

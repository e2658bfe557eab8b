//! A client's server, as a child process.

use std::future::Future;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};
use wireline::Rules;
use wireline::aio::ReadUntil;
use wireline::process::{Child, Exited};

use crate::link::Link;
use crate::{Incident, LineTransport, Receiver, Sender};

const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// A process whose stdout has ended has usually exited, and one that has exited has usually printed everything. This is how
/// long to wait for the other.
const LAST_WORDS: Duration = Duration::from_millis(100);

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
/// ([`exit_timeout`](Self::exit_timeout)). Then, on Unix, it gets SIGTERM and as long again, and then it is killed, each
/// time with its whole [process group](wireline::process). All this happens in a task of its own: if the runtime is shut
/// down before, the child is killed at once, unless [`exited`](Self::exited) is awaited.
///
/// If the child exits by itself, open calls fail with its exit status, even if a process that it has started keeps its
/// stdout open.
#[derive(Debug)]
pub struct ChildProcess {
    transport: LineTransport<ChildStdout, ChildStdin>,
    child: Child,
    exit_timeout: Duration,
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
        let transport = LineTransport::new(ChildStdout::from_std(stdout)?, ChildStdin::from_std(stdin)?);
        Ok(Self { transport, child, exit_timeout: EXIT_TIMEOUT })
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

    /// Waits until the child has exited, and returns how, if that is known.
    pub fn exited(&self) -> impl Future<Output = Option<ExitStatus>> + Send + 'static {
        self.child.exited()
    }

    /// The two halves, for [`build_with_tokio`](jsonrpsee_core::client::ClientBuilder::build_with_tokio).
    pub fn split(self) -> (Sender, Receiver<ChildStdout>) {
        let Self { transport, child, exit_timeout } = self;
        let exited = child.exited();
        let exited = async {
            exited.await;
            sleep(LAST_WORDS).await;
        };
        let (sender, mut receiver) = transport.split_until(|stdout| ReadUntil::new(stdout, exited));
        receiver.keep(Keeper { child, exit_timeout, is_reported: false });
        (sender, receiver)
    }
}

/// Has a child, and makes it exit when the client is gone.
pub(crate) struct Keeper {
    child: Child,
    exit_timeout: Duration,
    is_reported: bool,
}

impl Keeper {
    pub(crate) fn exited(&self) -> Exited {
        self.child.exited()
    }

    /// The exit status if it is there, or will be in a moment.
    pub(crate) async fn status_soon(&mut self, link: &Link) -> Option<ExitStatus> {
        let status = timeout(LAST_WORDS, self.child.exited()).await.ok().flatten()?;
        self.report(status, link);
        Some(status)
    }

    /// Makes it exit. Its stdin is being closed by whoever writes to it.
    pub(crate) async fn end(&mut self, link: &Link) {
        let exit_timeout = self.exit_timeout;
        if let Some(status) = self.child.end_with(|| sleep(exit_timeout)).await {
            self.report(status, link);
        }
    }

    fn report(&mut self, status: ExitStatus, link: &Link) {
        if !std::mem::replace(&mut self.is_reported, true) {
            link.report(Incident::Exited(status));
        }
    }
}

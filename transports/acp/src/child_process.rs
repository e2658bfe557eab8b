//! A client's agent, as a child process.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::process::{ChildStderr, Command, ExitStatus};
use std::time::Duration;

use agent_client_protocol::{Channel, ConnectTo, ConnectionDriver, Error, RawJsonRpcId, Role};
use futures::future::{Either, select};
use futures_timer::Delay;
use wireline::aio::{BlockingReader, BlockingWriter, Connection, ReadUntil, Source, Target};
use wireline::process::{Child, Exited};
use wireline::{AnswerWithoutId, Rules};

use crate::inbox::Gate;
use crate::link::Link;
use crate::transport::connect;
use crate::{Incident, LineTransport};

const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a process that has exited may be read on: it has usually printed everything.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// How long to wait for the exit of a process whose stdout has ended.
const EXIT: Duration = Duration::from_secs(1);

/// A transport that starts an agent as a child process and talks to it over its stdin and stdout, on any runtime.
///
/// ```no_run
/// use agent_client_protocol::schema::ProtocolVersion;
/// use agent_client_protocol::v1::schema::InitializeRequest;
/// use agent_client_protocol::Client;
/// use std::process::Command;
/// use wireline_acp::ChildProcess;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = ChildProcess::spawn(Command::new("my-agent").arg("--acp"))?;
/// Client
///     .v1()
///     .connect_with(agent, async |connection| {
///         let agent = connection.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
///         println!("{:?}", agent.agent_info);
///         Ok(())
///     })
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// Whatever else the agent prints on its stdout is reported and skipped, and never answered. Its stderr goes where the
/// [`Command`] says, which is the stderr of this process by default.
///
/// # How the child ends
///
/// When the session ends, the child's stdin is closed, and it has three seconds to read what was sent and to exit
/// ([`exit_timeout`](Self::exit_timeout)). Then, on Unix, it gets SIGTERM and as long again, and then it is killed. If
/// the session is dropped or fails, the child is killed at once. On Unix, all this concerns the child's whole
/// [process group](wireline::process).
///
/// If the child exits by itself, open calls fail with its exit status, even if a process that it has started keeps its
/// stdout open. If the program then doesn't end the session within a second, the session ends, with that error unless
/// the status is 0.
#[derive(Debug)]
pub struct ChildProcess {
    transport: LineTransport<ReadUntil<BlockingReader>, BlockingWriter>,
    child: Child,
    exit_timeout: Duration,
}

impl ChildProcess {
    /// Starts the child. Its stdin and stdout become pipes, whatever `command` says about them.
    ///
    /// With tokio's `Command`, pass `command.as_std_mut()`.
    ///
    /// # Errors
    ///
    /// Fails if the process, or a thread that reads, writes or waits for it, cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut child = Child::spawn(command)?;
        let (Some(stdout), Some(stdin)) = (child.take_stdout(), child.take_stdin()) else {
            return Err(io::Error::other("child process has no pipes"));
        };
        let exited = child.exited();
        let stdout = ReadUntil::new(BlockingReader::new(stdout)?, async {
            exited.await;
            Delay::new(LAST_WORDS).await;
        });
        let transport = LineTransport::new(stdout, BlockingWriter::new(stdin)?);
        Ok(Self { transport, child, exit_timeout: EXIT_TIMEOUT }.rules(Rules::acp()))
    }

    /// Sets the rules for both directions; see [`LineTransport::rules`].
    ///
    /// Whatever they say, a line without a readable id is not answered: it is most likely a print.
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.transport = self.transport.rules(rules.answer_without_id(AnswerWithoutId::Never));
        self
    }

    /// Calls `report` for each [`Incident`], instead of logging it with [`tracing`].
    ///
    /// [`Incident::Exited`] says how the child ended.
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
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.take_stderr()
    }

    /// Waits until the child has exited, and returns how, if that is known. It works on any runtime, and outlives the
    /// transport.
    pub fn exited(&self) -> Exited {
        self.child.exited()
    }

    fn open(self) -> (Channel, ConnectionDriver) {
        let Self { transport, child, exit_timeout } = self;
        transport.open(Some(Keeper { child, exit_timeout, is_reported: false }))
    }
}

impl<Counterpart: Role> ConnectTo<Counterpart> for ChildProcess {
    fn connect_to(
        self,
        client: impl ConnectTo<Counterpart::Counterpart>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        connect::<Counterpart>(self.open(), client)
    }

    fn into_channel_and_future(self) -> (Channel, Option<ConnectionDriver>) {
        let (channel, driver) = self.open();
        (channel, Some(driver))
    }
}

/// Has a child, and makes it exit when the session ends.
pub(crate) struct Keeper {
    child: Child,
    exit_timeout: Duration,
    is_reported: bool,
}

impl Keeper {
    /// The exit status if it is there, or will be in a moment.
    pub(crate) async fn status_soon(&mut self, link: &Link) -> Option<ExitStatus> {
        match select(self.child.exited(), Delay::new(EXIT)).await {
            Either::Left((status, _)) => self.report(status?, link),
            Either::Right(_) => None,
        }
    }

    /// Writes what is left, and makes the child exit.
    pub(crate) async fn end<R: Source, W: Target>(
        mut self,
        connection: &mut Connection<Gate<R>, W, RawJsonRpcId>,
        link: &Link,
    ) {
        let discard = async {
            // Fails if the child is gone.
            let _ = connection.finish().await;
            // With nobody to read what it prints, the child might block before it notices the end of its input.
            while let Ok(Some(_)) = connection.next_event().await {}
            std::future::pending::<()>().await;
        };
        let exit_timeout = self.exit_timeout;
        let status = match select(pin!(self.child.end_with(|| Delay::new(exit_timeout))), pin!(discard)).await {
            Either::Left((status, _)) => status,
            Either::Right(((), _)) => None,
        };
        status.and_then(|status| self.report(status, link));
    }

    fn report(&mut self, status: ExitStatus, link: &Link) -> Option<ExitStatus> {
        if !std::mem::replace(&mut self.is_reported, true) {
            link.report(Incident::Exited(status));
        }
        Some(status)
    }
}

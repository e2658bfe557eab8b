//! Lines over a reader and a writer.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::{Channel, ConnectTo, ConnectionDriver, Error, Role};
use futures::future::{Either, select};
use futures_timer::Delay;
use wireline::Rules;
use wireline::aio::{Connection, Source, Target};
use wireline::connection::Config;

use crate::child_process::Keeper;
use crate::inbox::{Gate, Inbox};
use crate::incident::{self, Incident, Report};
use crate::link::Link;
use crate::session::{Outgoing, Session};

/// How many requests of the peer may be in flight.
const IN_FLIGHT: usize = 16_384;

/// How long to read on after writing has failed. A peer that has exited may have answered before.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A transport over any reader and writer, for agents, clients and proxies.
///
/// Put streams with the traits of futures-io into [`Futures`](crate::Futures), and those with tokio's into
/// [`Tokio`](crate::Tokio) (feature `tokio`).
///
/// ```
/// use agent_client_protocol::schema::ProtocolVersion;
/// use agent_client_protocol::v1::schema::{InitializeRequest, InitializeResponse};
/// use agent_client_protocol::{on_receive_request, Agent, Client};
/// use wireline_acp::{Futures, LineTransport};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (near, far) = smol::net::unix::UnixStream::pair()?;
/// let agent = Agent
///     .v1()
///     .on_receive_request(
///         async |initialize: InitializeRequest, responder, _| {
///             responder.respond(InitializeResponse::new(initialize.protocol_version))
///         },
///         on_receive_request!(),
///     )
///     .connect_to(LineTransport::new(Futures(far.clone()), Futures(far)));
/// let client = Client.v1().connect_with(
///     LineTransport::new(Futures(near.clone()), Futures(near)),
///     async |connection| {
///         connection.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await
///     },
/// );
/// let (served, initialized) = smol::block_on(smol::future::zip(agent, client));
/// assert_eq!(initialized?.protocol_version, ProtocolVersion::V1);
/// served?;
/// # Ok(())
/// # }
/// ```
///
/// No line ends the session:
///
/// - A malformed request is answered with an error, under its id wherever that can be recovered. So is a valid request
///   that does not fit the SDK's types.
/// - A malformed response fails the call it belongs to. Otherwise the call would wait forever.
/// - A message that breaks the rules is not sent. If it is a call, that fails; if it is an answer, an internal error
///   with its id is sent instead.
///
/// While more than 1 MiB waits to be written, or to be taken by the SDK, nothing is read, unless a response is awaited
/// (then it is 64 MiB to be written): a peer that sends and never reads is held up by backpressure. Up to 16,384
/// requests may be in flight; further ones are refused.
pub struct LineTransport<R, W> {
    source: R,
    target: W,
    rules: Rules,
    report: Report,
}

impl<R: Source, W: Target> LineTransport<R, W> {
    /// A transport with [`Rules::acp`], which limit a line to 16 MiB.
    pub fn new(reader: R, writer: W) -> Self {
        Self { source: reader, target: writer, rules: Rules::acp(), report: Box::new(incident::log) }
    }

    /// Sets the rules for both directions, for example another line limit.
    ///
    /// ```
    /// use wireline_acp::wireline::Rules;
    /// use wireline_acp::{Futures, LineTransport};
    ///
    /// # let (reader, writer) = (futures::io::empty(), futures::io::sink());
    /// let transport = LineTransport::new(Futures(reader), Futures(writer)).rules(Rules::acp().max_line_len(64 << 20));
    /// # let _ = transport;
    /// ```
    ///
    /// Whatever the rules say, batches stay off, because the SDK has no type for them, and null `params` count as none.
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Calls `report` for each [`Incident`], instead of logging it with [`tracing`].
    #[must_use]
    pub fn on_incident(mut self, report: impl FnMut(Incident<'_>) + Send + 'static) -> Self {
        self.report = Box::new(report);
        self
    }
}

impl<R, W> LineTransport<R, W>
where
    R: Source + Send + 'static,
    W: Target + Send + 'static,
{
    /// The SDK's end of the connection, and the task that reads and writes.
    pub(crate) fn open(self, keeper: Option<Keeper>) -> (Channel, ConnectionDriver) {
        let Self { source, target, rules, report } = self;
        let (sdk, Channel { rx, tx, .. }) = Channel::duplex();
        let inbox = Arc::new(Inbox::new(tx));
        // What a program has in flight is up to the program.
        let config = Config::new(rules.batches(false).null_params(true)).in_flight(IN_FLIGHT).calls(usize::MAX);
        let (peer, connection) = Connection::keeping(Gate::new(source, Arc::clone(&inbox)), target, config);
        let connection = connection.last_words(|| Delay::new(LAST_WORDS));
        let link = Link::new(peer, inbox, report);
        let (outgoing, finish) = Outgoing::new(rx);
        let session = Session { connection, link, outgoing, keeper };
        (sdk, ConnectionDriver::with_finish(session.run(), finish))
    }
}

/// Connects the two ends, and finishes what `client` has sent when it is done.
pub(crate) async fn connect<Counterpart: Role>(
    (channel, driver): (Channel, ConnectionDriver),
    client: impl ConnectTo<Counterpart::Counterpart>,
) -> Result<(), Error> {
    let client = pin!(ConnectTo::<Counterpart>::connect_to(channel, client));
    match select(client, driver).await {
        Either::Left((result, mut driver)) => {
            result?;
            let _ = driver.request_finish();
            driver.await
        }
        Either::Right((result, _)) => result,
    }
}

impl<R, W, Counterpart: Role> ConnectTo<Counterpart> for LineTransport<R, W>
where
    R: Source + Send + 'static,
    W: Target + Send + 'static,
{
    fn connect_to(
        self,
        client: impl ConnectTo<Counterpart::Counterpart>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        connect::<Counterpart>(self.open(None), client)
    }

    fn into_channel_and_future(self) -> (Channel, Option<ConnectionDriver>) {
        let (channel, driver) = self.open(None);
        (channel, Some(driver))
    }
}

impl<R: fmt::Debug, W: fmt::Debug> fmt::Debug for LineTransport<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineTransport")
            .field("source", &self.source)
            .field("target", &self.target)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

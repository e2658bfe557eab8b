//! The transport over any reader and writer.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::io;
use std::time::Duration;

use rmcp::model::{ErrorData, JsonRpcError, JsonRpcMessage, JsonRpcNotification, RequestId};
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use wireline::aio::{Connection, ReadUntil, Tokio};
use wireline::connection::{self, Config, Event, Lost, Sending, Ticket};
use wireline::{AnswerWithoutId, Id, RpcError, Rules, to_line};

use crate::error::SendError;
use crate::ids;
use crate::incident::{self, Incident};
use crate::typed;

/// How long closing waits for a peer that does not read what is left to write.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The most requests of the peer that rmcp works on at a time.
const IN_FLIGHT: usize = 16 << 10;

/// An rmcp [`Transport`] over any reader and writer, for clients and servers.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use rmcp::{ServerHandler, ServiceExt};
/// use wireline_rmcp::LineTransport;
///
/// struct Server;
/// impl ServerHandler for Server {}
///
/// let (near, far) = tokio::io::duplex(4096);
/// let (reader, writer) = tokio::io::split(far);
/// let server = tokio::spawn(Server.serve(LineTransport::new(reader, writer)));
/// let (reader, writer) = tokio::io::split(near);
/// let client = ().serve(LineTransport::new(reader, writer)).await?;
/// assert!(client.list_all_tools().await?.is_empty());
/// # client.cancel().await?;
/// # server.await??.waiting().await?;
/// # Ok(())
/// # }
/// ```
///
/// No line ends the session:
///
/// - A malformed request is answered with an error, under its id wherever that can be recovered. So is a valid request
///   that does not fit rmcp's types.
/// - A malformed response fails the call it belongs to. Otherwise the call would wait forever.
/// - A message that breaks the rules is not sent. If it is an answer, an internal error with its id is sent instead.
///
/// Messages are written while rmcp waits in `receive`, as it does throughout a session, and by `close`. While more than
/// 1 MiB waits to be written, nothing is read, unless a response is awaited (then it is 64 MiB): a peer that sends and
/// never reads is held up by backpressure. Up to 16,384 requests may be in flight; further ones are refused.
pub struct LineTransport<R, W> {
    /// Keeps the id of each call, as rmcp spells it.
    connection: Connection<ReadUntil<Tokio<R>>, Tokio<W>, RequestId>,
    /// The requests that rmcp works on.
    tickets: HashMap<RequestId, Ticket>,
    /// Calls that were open when the stream ended.
    lost: VecDeque<RequestId>,
    on_incident: Box<dyn FnMut(Incident<'_>) + Send>,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    /// Creates a transport with [`Rules::mcp`], which limit a line to 16 MiB.
    pub fn new(reader: R, writer: W) -> Self {
        Self::of(ReadUntil::end(Tokio(reader)), writer)
    }

    pub(crate) fn of(source: ReadUntil<Tokio<R>>, writer: W) -> Self {
        let (_, connection) = Connection::keeping(source, Tokio(writer), config(Rules::mcp()));
        let on_incident = Box::new(incident::log);
        Self { connection, tickets: HashMap::new(), lost: VecDeque::new(), on_incident }
    }

    /// Sets the rules for both directions, for example another line limit.
    ///
    /// ```
    /// # use tokio::io::{empty, sink};
    /// use wireline_rmcp::LineTransport;
    /// use wireline_rmcp::wireline::Rules;
    ///
    /// let transport = LineTransport::new(empty(), sink()).rules(Rules::mcp().max_line_len(1 << 20));
    /// # let _ = transport;
    /// ```
    ///
    /// Whatever the rules say, batches stay off, because rmcp has no type for them, and null `params` count as none. A
    /// call without a usable id is answered with an error without one, as rmcp does it, even with
    /// [`AnswerWithoutId::Never`].
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.set_rules(rules);
        self
    }

    /// Calls `report` for each [`Incident`], instead of logging it with [`tracing`].
    #[must_use]
    pub fn on_incident(mut self, report: impl FnMut(Incident<'_>) + Send + 'static) -> Self {
        self.set_on_incident(report);
        self
    }

    pub(crate) fn set_rules(&mut self, rules: Rules) {
        self.connection.set_config(config(rules));
    }

    pub(crate) fn set_on_incident(&mut self, report: impl FnMut(Incident<'_>) + Send + 'static) {
        self.on_incident = Box::new(report);
    }
}

fn config(rules: Rules) -> Config {
    let rules = match rules.settings().answer_without_id {
        AnswerWithoutId::Never => rules.answer_without_id(AnswerWithoutId::OmitIdUnlessNoise),
        _ => rules,
    };
    // What a program has in flight is up to the program.
    Config::new(rules.batches(false).null_params(true)).in_flight(IN_FLIGHT).calls(usize::MAX)
}

impl<Role, R, W> Transport<Role> for LineTransport<R, W>
where
    Role: ServiceRole,
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = SendError;

    /// The message is queued at once, so messages leave in the order in which they were sent. The future waits for
    /// room, unless the message is an answer.
    fn send(
        &mut self,
        message: TxJsonRpcMessage<Role>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        let (peer, queued) = (self.connection.peer(), self.queue::<Role>(message));
        async move {
            let (sending, call) = match queued? {
                Queued::Answer => return Ok(()),
                Queued::Message(sending, call) => (sending, call),
            };
            sending.await.map_err(|error| {
                call.map(|id| peer.withdraw(&id));
                match error {
                    connection::SendError::Encode(error) => SendError::Refused(error),
                    error => SendError::Io(io::Error::new(io::ErrorKind::NotConnected, error)),
                }
            })
        }
    }

    /// Cancel-safe, as rmcp needs it to be.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        loop {
            let Self { connection, tickets, lost, on_incident } = self;
            match connection.next_incoming().await {
                Ok(Some(event)) => {
                    let message = accept::<Role>(event, tickets, lost, on_incident);
                    if message.is_some() {
                        return message;
                    }
                }
                Ok(None) => return None,
                Err(error) => {
                    self.report(Incident::Read(&error));
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), SendError> {
        self.tickets.clear();
        match timeout(CLOSE_TIMEOUT, self.connection.finish()).await {
            Ok(finished) => Ok(finished?),
            Err(elapsed) => Err(SendError::Io(elapsed.into())),
        }
    }
}

/// A message that was accepted.
enum Queued {
    /// An answer, which is in the queue.
    Answer,
    /// Another message, which may wait for room, and the id if it is a call.
    Message(Sending, Option<Id<'static>>),
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    fn queue<Role: ServiceRole>(&mut self, message: TxJsonRpcMessage<Role>) -> Result<Queued, SendError> {
        let peer = self.connection.peer();
        let mut call = None;
        let message = match message {
            JsonRpcMessage::Response(response) => {
                return match self.ticket(&response.id)?.try_respond(&response.result) {
                    Ok(()) => Ok(Queued::Answer),
                    Err((ticket, error)) => {
                        ticket.fail(&RpcError::internal());
                        Err(SendError::Refused(error))
                    }
                };
            }
            JsonRpcMessage::Error(JsonRpcError { id: Some(id), error, .. }) => {
                self.ticket(&id)?.fail(&rpc_error(error));
                return Ok(Queued::Answer);
            }
            JsonRpcMessage::Request(request) => {
                call = Some(request.id.clone());
                JsonRpcMessage::Request(request)
            }
            // rmcp forgets a call that it cancels. `TryInto` hands a notification of another kind back, so nothing is
            // cloned.
            JsonRpcMessage::Notification(JsonRpcNotification { notification, .. }) => match notification.try_into() {
                Ok(cancelled) => {
                    if let Some(id) = &cancelled.params.request_id {
                        peer.withdraw(&ids::from_rmcp(id));
                    }
                    JsonRpcMessage::notification(cancelled.into())
                }
                Err(notification) => JsonRpcMessage::notification(notification),
            },
            message => message,
        };
        let line = to_line(peer.rules(), |encoder| encoder.message(&message)).map_err(SendError::Refused)?;
        let call = match call {
            Some(id) => {
                let tracked = ids::from_rmcp(&id);
                if !peer.track(&tracked, id) {
                    return Err(not_connected("transport is closed"));
                }
                Some(tracked)
            }
            None => None,
        };
        Ok(Queued::Message(peer.send_line(line), call))
    }

    fn ticket(&mut self, id: &RequestId) -> Result<Ticket, SendError> {
        self.tickets.remove(id).ok_or_else(|| not_connected("no such request is in flight"))
    }

    pub(crate) fn report(&mut self, incident: Incident<'_>) {
        (self.on_incident)(incident);
    }
}

fn not_connected(reason: &'static str) -> SendError {
    SendError::Io(io::Error::new(io::ErrorKind::NotConnected, reason))
}

fn rpc_error(ErrorData { code, message, data, .. }: ErrorData) -> RpcError {
    let error = RpcError::new(code.0.into(), message);
    // It is JSON already, so it can be encoded; a limit that it exceeds shows when it is sent.
    data.and_then(|data| error.clone().with_data(&data).ok()).unwrap_or(error)
}

/// What becomes of an event: a message for rmcp, or nothing.
fn accept<Role: ServiceRole>(
    event: Event<'_, RequestId>,
    tickets: &mut HashMap<RequestId, Ticket>,
    lost: &mut VecDeque<RequestId>,
    report: &mut dyn FnMut(Incident<'_>),
) -> Option<RxJsonRpcMessage<Role>> {
    let mut mismatch = |line, error: serde_json::Error| report(Incident::Mismatch { line, error: &error });
    match event {
        Event::Request(request, ticket) => match typed::request::<Role>(&request) {
            Ok((message, id)) => {
                tickets.insert(id, ticket);
                return Some(message);
            }
            Err(error) => {
                mismatch(request.line(), error);
                ticket.fail(&match ids::to_rmcp(request.id()) {
                    Some(_) => RpcError::invalid_params("Invalid params"),
                    None => RpcError::invalid_request("Invalid Request"),
                });
            }
        },
        Event::Notification(notification) => match typed::notification::<Role>(&notification) {
            Ok(message) => return Some(message),
            Err(error) => mismatch(notification.line(), error),
        },
        // rmcp won't answer. It may have to tell its service.
        Event::Cancelled(notification, id, _) => {
            ids::to_rmcp(&id).and_then(|id| tickets.remove(&id));
            match typed::notification::<Role>(&notification) {
                Ok(message) => return Some(message),
                Err(error) => mismatch(notification.line(), error),
            }
        }
        Event::Response(response, id) => match typed::response::<Role>(&response, &id) {
            Ok(message) => return Some(message),
            Err(error) => {
                mismatch(response.line(), error);
                return Some(unusable::<Role>(id, "not of a type that rmcp knows"));
            }
        },
        Event::Lost(_, id, Lost::Faulty(fault)) => {
            report(Incident::Fault(&fault));
            return Some(unusable::<Role>(id, &fault.kind().to_string()));
        }
        // rmcp fails all calls that are open in the end.
        Event::Lost(_, id, _) => lost.push_back(id),
        Event::Stray(response, _) => report(Incident::Stray { line: response.line() }),
        Event::Refused(request, _) => report(Incident::Refused { line: request.line() }),
        Event::Fault(fault) => report(Incident::Fault(&fault)),
        _ => {}
    }
    None
}

/// An error in place of an unusable response.
fn unusable<Role: ServiceRole>(id: RequestId, reason: &str) -> RxJsonRpcMessage<Role> {
    JsonRpcMessage::error(ErrorData::internal_error(format!("unusable response: {reason}"), None), Some(id))
}

#[cfg(feature = "child-process")]
impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    /// A call that was open when the stream ended.
    pub(crate) fn next_lost(&mut self) -> Option<RequestId> {
        self.lost.pop_front()
    }

    /// Writes what is left, closes the writer, and discards what still arrives, forever.
    pub(crate) async fn drain(&mut self) -> std::convert::Infallible {
        self.tickets.clear();
        // Fails if the peer is gone. What it has printed can be read all the same.
        let _ = self.connection.finish().await;
        while let Ok(Some(_)) = self.connection.next_event().await {}
        std::future::pending().await
    }
}

impl<R: fmt::Debug, W> fmt::Debug for LineTransport<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineTransport").field("connection", &self.connection).finish_non_exhaustive()
    }
}

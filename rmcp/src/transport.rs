//! The transport over any reader and writer.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use futures_util::StreamExt;
use rmcp::model::{ErrorData, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::codec::FramedRead;
use wireline::codec::Codec;
use wireline::{Fault, Frame, Id, Message, RpcError, Rules};

use crate::calls::Calls;
use crate::error::SendError;
use crate::ids;
use crate::incident::{self, Incident};
use crate::outbox::Outbox;
use crate::typed;

/// How long closing waits for a peer that does not read what is left to write.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

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
/// - A malformed request is answered with an error under its id wherever that can be recovered, as [`Fault::reply`]
///   advises. So is a valid request that does not fit rmcp's types.
/// - A malformed response fails the call it belongs to. Otherwise the call would wait forever.
/// - A message that breaks the rules is not sent. If it is an answer, an internal error with its id is sent instead.
///
/// While the answer to a malformed line is being written, nothing more is read. A peer that sends such lines and never
/// reads the answers is held up by backpressure, and costs no memory.
pub struct LineTransport<R, W> {
    frames: FramedRead<R, Codec>,
    outbox: Outbox<W>,
    calls: Calls,
    /// Whether the outbox may hold an answer to a malformed line that has not been written.
    answered: bool,
    on_incident: Box<dyn FnMut(Incident<'_>) + Send>,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    /// Creates a transport with [`Rules::mcp`], which limit a line to 16 MiB.
    pub fn new(reader: R, writer: W) -> Self {
        let rules = Rules::mcp();
        Self {
            frames: FramedRead::new(reader, Codec::new(rules)),
            outbox: Outbox::new(writer, rules),
            calls: Calls::default(),
            answered: false,
            on_incident: Box::new(incident::log),
        }
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
    /// Batches stay off whatever the rules say, because rmcp has no type for them.
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
}

impl<R, W> LineTransport<R, W> {
    pub(crate) fn set_rules(&mut self, rules: Rules) {
        let rules = rules.batches(false);
        *self.frames.decoder_mut() = Codec::new(rules);
        self.outbox.set_rules(rules);
    }

    pub(crate) fn set_on_incident(&mut self, report: impl FnMut(Incident<'_>) + Send + 'static) {
        self.on_incident = Box::new(report);
    }
}

impl<Role, R, W> Transport<Role> for LineTransport<R, W>
where
    Role: ServiceRole,
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = SendError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<Role>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        let message = self.calls.sending::<Role>(message);
        let (outbox, calls) = (self.outbox.clone(), self.calls.clone());
        async move {
            let appended = append(&message, &outbox, &calls);
            outbox.flush().await?;
            appended
        }
    }

    /// Cancel-safe, as rmcp needs it to be: a partial line stays in the decoder, an unwritten answer in the outbox.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        loop {
            if self.answered {
                // If this fails, so does whatever rmcp sends next, and that error is reported.
                let _ = self.outbox.flush().await;
                self.answered = false;
            }
            let message = match self.frames.next().await? {
                Ok(Ok(frame)) => self.accept::<Role>(&frame),
                Ok(Err(fault)) => self.reject::<Role>(&fault),
                Err(error) => {
                    self.report(Incident::Read(&error));
                    return None;
                }
            };
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> Result<(), SendError> {
        match timeout(CLOSE_TIMEOUT, self.outbox.close()).await {
            Ok(closed) => Ok(closed?),
            Err(elapsed) => Err(SendError::Io(elapsed.into())),
        }
    }
}

/// What becomes of a line: a message for rmcp, or an answer in the outbox, or neither.
impl<R, W> LineTransport<R, W> {
    fn accept<Role: ServiceRole>(&mut self, frame: &Frame<'_>) -> Option<RxJsonRpcMessage<Role>> {
        let Frame::Message(message) = frame else {
            return None; // unreachable: the rules allow no batches
        };
        match typed::decode::<Role>(message) {
            Ok(typed) => {
                self.calls.received::<Role>(&typed);
                Some(typed)
            }
            Err(error) => {
                self.report(Incident::Mismatch { line: frame.line(), error: &error });
                self.mismatch::<Role>(message)
            }
        }
    }

    fn mismatch<Role: ServiceRole>(&mut self, message: &Message<'_>) -> Option<RxJsonRpcMessage<Role>> {
        match message {
            Message::Request(request) => {
                let id = request.id();
                let error = match ids::to_rmcp(id) {
                    Some(_) => RpcError::invalid_params("Invalid params"),
                    None => RpcError::invalid_request("Invalid Request"),
                };
                self.answered |= self.outbox.append(|encoder| encoder.error(id, &error)).is_ok();
                None
            }
            Message::Response(response) => self.fail_call::<Role>(response.id()?, "not of a type that rmcp knows"),
            Message::Notification(_) => None,
        }
    }

    fn reject<Role: ServiceRole>(&mut self, fault: &Fault) -> Option<RxJsonRpcMessage<Role>> {
        self.report(Incident::Fault(fault));
        match (fault.reply(), fault.id()) {
            (Some(reply), _) => {
                self.answered |= self.outbox.append(|encoder| encoder.error_reply(&reply)).is_ok();
                None
            }
            // A line with an id that must not be answered is a response.
            (None, Some(id)) => self.fail_call::<Role>(id, &fault.kind().to_string()),
            (None, None) => None,
        }
    }

    /// Returns an error in place of an unusable response, if a call is waiting for it.
    fn fail_call<Role: ServiceRole>(&mut self, id: &Id<'_>, reason: &str) -> Option<RxJsonRpcMessage<Role>> {
        let id = ids::to_rmcp(id).filter(|id| self.calls.close(id))?;
        let error = ErrorData::internal_error(format!("unusable response: {reason}"), None);
        Some(JsonRpcMessage::error(error, Some(id)))
    }

    pub(crate) fn report(&mut self, incident: Incident<'_>) {
        (self.on_incident)(incident);
    }
}

#[cfg(feature = "child-process")]
impl<R, W> LineTransport<R, W> {
    pub(crate) fn reader_mut(&mut self) -> &mut R {
        self.frames.get_mut()
    }

    pub(crate) fn outbox(&self) -> &Outbox<W> {
        &self.outbox
    }
}

impl<R: fmt::Debug, W> fmt::Debug for LineTransport<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineTransport")
            .field("reader", self.frames.get_ref())
            .field("rules", &self.outbox.rules())
            .finish_non_exhaustive()
    }
}

/// Appends a message, or an internal error in place of an answer that is refused. The refusal is returned either way.
fn append<Req, Resp, Not, W>(
    message: &JsonRpcMessage<Req, Resp, Not>,
    outbox: &Outbox<W>,
    calls: &Calls,
) -> Result<(), SendError>
where
    JsonRpcMessage<Req, Resp, Not>: serde::Serialize,
{
    let Err(refused) = outbox.append(|encoder| encoder.message(message)) else {
        return Ok(());
    };
    let answered = match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(request) => {
            calls.close(&request.id);
            None
        }
        JsonRpcMessage::Notification(_) => None,
    };
    if let Some(id) = answered.map(ids::from_rmcp) {
        // Fails only if the line limit is too small for any answer: ids are limited so that this error fits.
        let _ = outbox.append(|encoder| encoder.error(&id, &RpcError::internal()));
    }
    Err(SendError::Refused(refused))
}

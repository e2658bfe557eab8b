//! Frames in, rmcp's messages out; and back.

use std::future::Future;
use std::io;
use std::marker::PhantomData;

use futures_util::StreamExt;
use rmcp::model::{ErrorData, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::FramedRead;
use wireline::codec::Codec;
use wireline::io::SendError;
use wireline::{Fault, Frame, Id, Message, RpcError, Rules};

use crate::calls::Calls;
use crate::ids;
use crate::outbox::Outbox;

/// rmcp's [`Transport`] over a reader and a writer, for clients and servers.
///
/// - A line that is no message is answered as [`Fault::reply`] advises, and the next one is read.
/// - So is a request that is valid, but that rmcp's types do not take: by its id.
/// - A response that is faulty, or that rmcp's types do not take, fails the call it belongs to, which would wait for it
///   forever.
/// - What is sent is judged by the same rules. A message that breaks them is not sent; where it was an answer, the peer
///   is told by an internal error.
///
/// While an answer to a bad line is being written, nothing more is read: a peer that sends bad lines and never reads
/// the answers is made to wait, and costs no memory.
pub struct LineTransport<Role, R, W> {
    frames: FramedRead<R, Codec>,
    outbox: Outbox<W>,
    calls: Calls,
    /// Whether a bad line was answered, and the answer may not have been written yet.
    answered: bool,
    on_incident: Box<dyn FnMut(Incident<'_>) + Send>,
    role: PhantomData<fn() -> Role>,
}

/// What did not become a message, for logs and counters.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Incident<'a> {
    /// A line that is no message. Nothing of its words is in the fault.
    Fault(&'a Fault),
    /// A message that is valid but that rmcp's types do not take. The error may quote the peer's words.
    Misfit {
        /// The number of the line.
        line: u64,
        /// What rmcp's types said.
        error: &'a serde_json::Error,
    },
    /// The reader failed, which ends the connection.
    Read(&'a io::Error),
}

impl<Role, R, W> LineTransport<Role, R, W>
where
    R: AsyncRead,
    W: AsyncWrite + Unpin,
{
    /// A transport by [`Rules::mcp`].
    pub fn new(reader: R, writer: W) -> Self {
        Self::with_rules(reader, writer, Rules::mcp())
    }

    /// A transport by other rules, such as those with another line limit. There are no batches, whatever they say: rmcp
    /// has no type for one.
    pub fn with_rules(reader: R, writer: W, rules: Rules) -> Self {
        let rules = rules.batches(false);
        Self {
            frames: FramedRead::new(reader, Codec::new(rules)),
            outbox: Outbox::new(writer, rules),
            calls: Calls::default(),
            answered: false,
            on_incident: Box::new(|_| {}),
            role: PhantomData,
        }
    }

    /// Calls `report` for each line that did not become a message.
    #[must_use]
    pub fn on_incident(mut self, report: impl FnMut(Incident<'_>) + Send + 'static) -> Self {
        self.on_incident = Box::new(report);
        self
    }
}

impl<Role, R, W> Transport<Role> for LineTransport<Role, R, W>
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
        self.calls.sending::<Role>(&message);
        let (outbox, calls) = (self.outbox.clone(), self.calls.clone());
        async move {
            let appended = append(&message, &outbox, &calls);
            outbox.flush().await?;
            appended
        }
    }

    /// Safe to cancel, as rmcp does whenever something else happens first: what was read of a line stays in the decoder,
    /// and what was answered in the outbox.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        loop {
            if self.answered {
                // Where an answer cannot be written, neither can what rmcp sends next, and that will be told.
                let _ = self.outbox.flush().await;
                self.answered = false;
            }
            let message = match self.frames.next().await? {
                Ok(Ok(frame)) => self.decode(&frame),
                Ok(Err(fault)) => self.fault(&fault),
                Err(error) => {
                    (self.on_incident)(Incident::Read(&error));
                    return None;
                }
            };
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> Result<(), SendError> {
        Ok(self.outbox.close().await?)
    }
}

/// What is to be done about lines. Each gives the message for rmcp, if there is one, and may append an answer.
impl<Role: ServiceRole, R, W> LineTransport<Role, R, W> {
    fn decode(&mut self, frame: &Frame<'_>) -> Option<RxJsonRpcMessage<Role>> {
        let Frame::Message(message) = frame else {
            return None; // the rules have no batches
        };
        match serde_json::from_slice(message.as_bytes()) {
            Ok(typed) => {
                self.calls.received::<Role>(&typed);
                Some(typed)
            }
            Err(error) => {
                (self.on_incident)(Incident::Misfit { line: frame.line(), error: &error });
                self.misfit(message)
            }
        }
    }

    fn misfit(&mut self, message: &Message<'_>) -> Option<RxJsonRpcMessage<Role>> {
        match message {
            Message::Request(request) => {
                let id = request.id();
                let error = match ids::to_rmcp(&id) {
                    Some(_) => RpcError::invalid_params("Invalid params"),
                    None => RpcError::invalid_request("Invalid Request"),
                };
                self.answered = self.outbox.append(|encoder| encoder.error(&id, &error)).is_ok();
                None
            }
            Message::Response(response) => self.fail_call(&response.id()?, "expected a response of a known type"),
            Message::Notification(_) => None,
        }
    }

    fn fault(&mut self, fault: &Fault) -> Option<RxJsonRpcMessage<Role>> {
        (self.on_incident)(Incident::Fault(fault));
        match (fault.reply(), fault.id()) {
            (Some(reply), _) => {
                self.answered = self.outbox.append(|encoder| encoder.error_reply(&reply)).is_ok();
                None
            }
            // With an id, but not to be answered: a response.
            (None, Some(id)) => self.fail_call(id, &fault.kind().to_string()),
            (None, None) => None,
        }
    }

    /// The error that stands for a response which cannot be used, if a call is waiting for that.
    fn fail_call(&mut self, id: &Id<'_>, reason: &str) -> Option<RxJsonRpcMessage<Role>> {
        let id = ids::to_rmcp(id).filter(|id| self.calls.close(id))?;
        let error = ErrorData::internal_error(format!("unusable response: {reason}"), None);
        Some(JsonRpcMessage::error(error, Some(id)))
    }
}

/// Appends a message, or, if it is an answer that the rules do not permit, an internal error in its place. That it was
/// refused is the result all the same.
fn append<Req, Resp, Not, W>(
    message: &JsonRpcMessage<Req, Resp, Not>,
    outbox: &Outbox<W>,
    calls: &Calls,
) -> Result<(), SendError>
where
    JsonRpcMessage<Req, Resp, Not>: serde::Serialize,
{
    let refused = match serde_json::to_vec(message) {
        Ok(text) => match outbox.append(|encoder| encoder.raw(&text)) {
            Ok(()) => return Ok(()),
            Err(error) => SendError::Encode(error),
        },
        Err(error) => SendError::Io(error.into()),
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
        outbox.append(|encoder| encoder.error(&id, &RpcError::internal()))?;
    }
    Err(refused)
}

//! What the two directions of a connection share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agent_client_protocol::{RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcResponse, TransportFrame};
use wireline::connection::{Event, Lost, Peer, Ticket};
use wireline::{EncodeError, Encoder, Frame, Line, Message, RpcError, to_line};

use crate::inbox::Inbox;
use crate::incident::{Incident, Report};
use crate::messages::{self, failure, from_sdk_id, to_sdk_id};

pub(crate) struct Link {
    /// Keeps the id of each call, as the SDK spells it.
    peer: Peer<RawJsonRpcId>,
    /// The requests that the SDK works on.
    tickets: Mutex<HashMap<RawJsonRpcId, Ticket>>,
    /// Calls that were open when the stream ended.
    lost: Mutex<Vec<RawJsonRpcId>>,
    /// Why no call will be answered any more.
    gone: OnceLock<String>,
    inbox: Arc<Inbox>,
    report: Mutex<Report>,
}

impl Link {
    pub(crate) fn new(peer: Peer<RawJsonRpcId>, inbox: Arc<Inbox>, report: Report) -> Self {
        let (tickets, lost) = (Mutex::default(), Mutex::default());
        Self { peer, tickets, lost, gone: OnceLock::new(), inbox, report: Mutex::new(report) }
    }

    /// Sends what the SDK says, in its order. Waits while too much is to be written.
    pub(crate) async fn send(&self, frame: TransportFrame) {
        let line = match frame {
            TransportFrame::Single(RawJsonRpcMessage::Response(response)) => self.answer(response),
            TransportFrame::Single(RawJsonRpcMessage::Request(request)) => {
                let id = from_sdk_id(&request.id);
                let line = self.encode(|encoder| match &request.params {
                    Some(params) => encoder.request(&id, &request.method, params),
                    None => encoder.request(&id, &request.method, &()),
                });
                let line = match line {
                    Ok(line) => line,
                    Err(error) => return self.fail_call(request.id, &format!("request not sent: {error}")),
                };
                if !self.peer.track(&id, request.id.clone()) {
                    // The connection has ended. (The SDK uses no id twice.)
                    return self.lose(request.id);
                }
                Some(line)
            }
            TransportFrame::Single(RawJsonRpcMessage::Notification(notification)) => {
                let line = self.encode(|encoder| match &notification.params {
                    Some(params) => encoder.notification(&notification.method, params),
                    None => encoder.notification(&notification.method, &()),
                });
                line.ok()
            }
            // What another transport of a relay couldn't read.
            TransportFrame::Malformed { raw, .. } => self.encode(|encoder| encoder.flatten(raw.as_bytes())).ok(),
            _ => None,
        };
        if let Some(line) = line {
            // Fails if nothing can be sent any more. A call is then lost when the stream ends.
            let _ = self.peer.send_line(line).await;
        }
    }

    /// Answers a request. Returns a line to send if the response is an error that answers none, as a relay passes on.
    fn answer(&self, response: RawJsonRpcResponse) -> Option<Line> {
        let ticket = self.tickets().remove(response.id());
        if let RawJsonRpcResponse::Result { result, .. } = &response {
            if let Err((ticket, error)) = ticket?.try_respond(result) {
                self.report(Incident::NotSent(&error));
                ticket.fail(&RpcError::internal());
            }
            return None;
        }
        let is_null = *response.id() == RawJsonRpcId::Null;
        let line = self.encode(|encoder| encoder.message(&RawJsonRpcMessage::Response(response))).ok();
        let Some(ticket) = ticket else { return line.filter(|_| is_null) };
        // An `RpcError` has no room for further members of the error.
        match line.as_ref().map(|line| Frame::parse(line.text().as_bytes(), self.peer.rules())) {
            Some(Ok(Frame::Message(Message::Response(error)))) => ticket.relay(&error),
            _ => ticket.fail(&RpcError::internal()),
        }
        None
    }

    /// Takes what the peer says. Malformed lines have been answered.
    pub(crate) fn accept(&self, event: Event<'_, RawJsonRpcId>) {
        match event {
            Event::Request(request, ticket) => {
                let Some(id) = to_sdk_id(request.id()) else {
                    self.report(Incident::Mismatch { line: request.line() });
                    return ticket.fail(&RpcError::invalid_request("Invalid Request: `id` must fit 64 bits"));
                };
                match messages::request(&request, id.clone()) {
                    Ok(message) => {
                        self.tickets().insert(id, ticket);
                        self.inbox.push(message, request.as_bytes().len());
                    }
                    Err(_) => {
                        self.report(Incident::Mismatch { line: request.line() });
                        ticket.fail(&RpcError::invalid_params("Invalid params"));
                    }
                }
            }
            // The SDK has the ticket of a request that is cancelled, and answers.
            Event::Notification(notification) | Event::Cancelled(notification, ..) => {
                match messages::notification(&notification) {
                    Ok(message) => self.inbox.push(message, notification.as_bytes().len()),
                    Err(_) => self.report(Incident::Mismatch { line: notification.line() }),
                }
            }
            Event::Response(response, id) => match messages::response(&response, id) {
                Ok(message) => self.inbox.push(message, response.as_bytes().len()),
                Err((id, _)) => {
                    self.report(Incident::Mismatch { line: response.line() });
                    self.fail_call(id, "unusable response: not of a type that the SDK knows");
                }
            },
            Event::Lost(_, id, Lost::Faulty(fault)) => {
                self.report(Incident::Fault(&fault));
                self.fail_call(id, &format!("unusable response: {}", fault.reason()));
            }
            Event::Lost(_, id, _) => self.lose(id),
            Event::Stray(response, _) => self.report(Incident::Stray { line: response.line() }),
            Event::Refused(request, _) => self.report(Incident::Refused { line: request.line() }),
            Event::Fault(fault) => self.report(Incident::Fault(&fault)),
            _ => {}
        }
    }

    /// Fails all calls, those in flight and those to come.
    pub(crate) fn fail_calls(&self, reason: String) {
        let lost = std::mem::take(&mut *self.lost.lock().unwrap_or_else(PoisonError::into_inner));
        let reason = self.gone.get_or_init(|| reason);
        lost.into_iter().for_each(|id| self.fail_call(id, reason));
    }

    /// Takes a call that won't be answered. It fails when it is known why.
    fn lose(&self, id: RawJsonRpcId) {
        match self.gone.get() {
            Some(reason) => self.fail_call(id, reason),
            None => self.lost.lock().unwrap_or_else(PoisonError::into_inner).push(id),
        }
    }

    /// Tells the SDK that nothing more will arrive. It fails its open calls itself.
    pub(crate) fn end_incoming(&self) {
        self.inbox.close();
    }

    /// Answers what the SDK hasn't answered, and lets the stream to the peer end when everything is written.
    pub(crate) fn end_outgoing(&self) {
        self.tickets().clear();
        self.peer.end();
    }

    pub(crate) fn incoming_has_ended(&self) -> bool {
        self.inbox.is_closed()
    }

    pub(crate) fn report(&self, incident: Incident<'_>) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report(incident);
    }

    fn encode(&self, write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Result<Line, EncodeError> {
        to_line(self.peer.rules(), write).inspect_err(|error| self.report(Incident::NotSent(error)))
    }

    fn fail_call(&self, id: RawJsonRpcId, reason: &str) {
        self.inbox.push(failure(id, reason), reason.len());
    }

    fn tickets(&self) -> MutexGuard<'_, HashMap<RawJsonRpcId, Ticket>> {
        // Nothing panics while it is half changed.
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

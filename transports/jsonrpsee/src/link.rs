//! What the two halves of a transport share.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jsonrpsee_core::client::ReceivedMessage;
use tokio::sync::{Notify, watch};
use wireline::Rules;
use wireline::connection::{Event, Lost, Peer, Sending};
use wireline::{Frame, RpcError, to_line};

use crate::Incident;
use crate::calls::{self, Batches, Call};

pub(crate) type Report = Box<dyn FnMut(Incident<'_>) + Send>;

pub(crate) struct Link {
    peer: Peer<Call>,
    state: Mutex<State>,
    /// Wakes the receiver.
    news: Notify,
    /// Whether nothing will be received any more.
    ended: watch::Sender<bool>,
    /// Notified when nothing will be sent any more.
    sender_gone: Notify,
    report: Mutex<Report>,
}

#[derive(Default)]
struct State {
    batches: Batches,
    /// For jsonrpsee, in their order.
    ready: VecDeque<ReceivedMessage>,
}

impl Link {
    pub(crate) fn new(peer: Peer<Call>, report: Report) -> Self {
        let (state, ended) = (Mutex::default(), watch::Sender::new(false));
        let (news, sender_gone) = (Notify::new(), Notify::new());
        Self { peer, state, news, ended, sender_gone, report: Mutex::new(report) }
    }

    /// Sends a text of jsonrpsee's, and expects answers to it. If it can't be sent, the calls in it are answered here.
    pub(crate) fn send(&self, text: &str) -> Option<Sending> {
        let rules = self.peer.rules();
        let line = match to_line(rules, |encoder| encoder.normalize(text.as_bytes())) {
            Ok(line) => line,
            Err(error) => {
                self.report(Incident::Refused(&error));
                // It may be too long, too deep, or not permitted, and still have ids.
                let rules = Rules::json_rpc().null_params(true);
                let rules = rules.max_line_len(usize::MAX).max_depth(usize::MAX).max_batch_len(usize::MAX);
                let refusal = calls::refusal(&Frame::parse(text.as_bytes(), &rules), &error.kind().to_string());
                refusal.into_iter().for_each(|text| self.deliver(ReceivedMessage::Text(text)));
                return None;
            }
        };
        if let Ok(frame) = Frame::parse(line.text().as_bytes(), rules) {
            self.state().batches.track(&frame, &self.peer);
        }
        Some(self.peer.send_line(line))
    }

    /// Takes an event, and returns its line. Requests of the server's are answered, and bad lines have been.
    pub(crate) fn accept(&self, event: Event<'_, Call>) -> Option<u64> {
        let line = line(&event);
        let text = match event {
            Event::Response(response, call) => self.state().batches.settle(call, &response),
            Event::Lost(_, call, Lost::Faulty(fault)) => {
                self.report(Incident::Fault(&fault));
                self.state().batches.fail(call, &fault.reason().to_string())
            }
            Event::Stray(response, _) => {
                let text = self.state().batches.settle_without_id(&response, &self.peer);
                if text.is_none() {
                    self.report(Incident::Stray { line: response.line() });
                }
                text
            }
            Event::Notification(notification) | Event::Cancelled(notification, ..) => {
                Some(notification.raw().as_json().to_owned())
            }
            Event::Request(request, ticket) => {
                self.report(Incident::Request { line: request.line() });
                ticket.fail(&RpcError::method_not_found());
                None
            }
            Event::Fault(fault) => {
                self.report(Incident::Fault(&fault));
                None
            }
            // jsonrpsee fails all calls that are open in the end.
            _ => None,
        };
        text.into_iter().for_each(|text| self.deliver(ReceivedMessage::Text(text)));
        line
    }

    /// Takes the end of a line, which may have been an array.
    pub(crate) fn end_of_line(&self, in_array: bool) {
        let texts = self.state().batches.end_of_line(in_array, &self.peer);
        texts.into_iter().for_each(|text| self.deliver(ReceivedMessage::Text(text)));
    }

    /// Hands a message to jsonrpsee.
    pub(crate) fn deliver(&self, message: ReceivedMessage) {
        self.state().ready.push_back(message);
        self.news.notify_one();
    }

    pub(crate) fn next_ready(&self) -> Option<ReceivedMessage> {
        self.state().ready.pop_front()
    }

    /// Ready when it is worth looking at [`next_ready`](Self::next_ready) again.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }

    /// Notes that nothing will be received any more.
    pub(crate) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Ready when nothing will be received any more.
    pub(crate) async fn ended(&self) {
        // Fails only if the sender is gone, which lives in here.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Notes that nothing will be sent any more.
    pub(crate) fn end_sending(&self) {
        self.sender_gone.notify_one();
    }

    /// Ready when nothing will be sent any more.
    pub(crate) async fn sending_ended(&self) {
        self.sender_gone.notified().await;
    }

    pub(crate) fn report(&self, incident: Incident<'_>) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report(incident);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line(event: &Event<'_, Call>) -> Option<u64> {
    Some(match event {
        Event::Request(request, _) | Event::Refused(request, _) => request.line(),
        Event::Notification(notification) | Event::Cancelled(notification, ..) => notification.line(),
        Event::Response(response, _) | Event::Stray(response, _) => response.line(),
        Event::Lost(_, _, Lost::Faulty(fault)) => fault.line(),
        Event::Fault(fault) => fault.line(),
        _ => return None,
    })
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("peer", &self.peer).finish_non_exhaustive()
    }
}

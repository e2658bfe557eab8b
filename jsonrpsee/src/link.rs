//! What the two halves of a transport share.

use std::collections::VecDeque;
use std::fmt;
use std::future::pending;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jsonrpsee_core::client::ReceivedMessage;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use wireline::{BatchEncoder, EncodeError, Fault, FaultKind, Frame, Id, Line, Message, RpcError, Rules, to_line};

use crate::Incident;
use crate::calls::{self, Calls, Settled};

/// How long to go on reading after writing has failed. A server that has exited may have answered before.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(crate) type Report = Box<dyn FnMut(Incident<'_>) + Send>;

/// An error to be sent to the server.
type Reply = (Id<'static>, RpcError);

pub(crate) struct Link {
    rules: Rules,
    state: Mutex<State>,
    /// Wakes the receiver.
    news: Notify,
    /// Whether nothing will be received any more.
    ended: watch::Sender<bool>,
    report: Mutex<Report>,
}

struct State {
    calls: Calls,
    /// For jsonrpsee, in their order.
    ready: VecDeque<ReceivedMessage>,
    write_failure: Option<(io::Error, Instant)>,
}

impl Link {
    pub(crate) fn new(rules: Rules, report: Report) -> Self {
        let state = State { calls: Calls::new(), ready: VecDeque::new(), write_failure: None };
        let (state, report) = (Mutex::new(state), Mutex::new(report));
        Self { rules, state, news: Notify::new(), ended: watch::Sender::new(false), report }
    }

    /// Turns a text of jsonrpsee's into a line to be sent, and expects answers to it. If it can't be sent, the calls in it
    /// are answered here.
    pub(crate) fn line(&self, text: &str) -> Option<Line> {
        let line = to_line(&self.rules, |encoder| encoder.normalize(text.as_bytes()));
        match &line {
            Ok(line) => {
                if let Ok(frame) = Frame::parse(line.text(), &self.rules) {
                    self.state().calls.open(&frame);
                }
            }
            Err(error) => self.refuse(text, error),
        }
        line.ok()
    }

    fn refuse(&self, text: &str, error: &EncodeError) {
        self.report(Incident::Refused(error));
        // It may be too long, too deep, or not permitted, and still have ids.
        let rules = Rules::json_rpc().null_params(true);
        let rules = rules.max_line_len(usize::MAX).max_depth(usize::MAX).max_batch_len(usize::MAX);
        let answer = calls::refusal(&Frame::parse(text.as_bytes(), &rules), &error.kind().to_string());
        answer.into_iter().for_each(|text| self.deliver(ReceivedMessage::Text(text)));
    }

    /// Takes a frame of the server's, and returns the answer to it if there must be one.
    pub(crate) fn accept(&self, frame: Result<Frame<'_>, Fault>) -> Option<Line> {
        // Parts of batches wait for the others, unless they come in an array: that is all that there will be.
        let mut begun = Vec::new();
        let replies: Vec<Reply> = match frame {
            Ok(Frame::Batch(batch)) => {
                let entries = batch.iter().filter_map(|entry| match entry {
                    Ok(message) => self.message(&message, &mut begun),
                    Err(fault) => self.fault(&fault, &mut begun),
                });
                let replies: Vec<_> = entries.collect();
                for batch in begun {
                    let whole = self.state().calls.finish(batch);
                    whole.into_iter().for_each(|text| self.deliver(ReceivedMessage::Text(text)));
                }
                return self.batch(&replies);
            }
            Ok(Frame::Message(message)) => self.message(&message, &mut begun).into_iter().collect(),
            Err(fault) => self.fault(&fault, &mut begun).into_iter().collect(),
        };
        let (id, error) = replies.first()?;
        to_line(&self.rules, |encoder| encoder.error(id, error)).ok()
    }

    fn batch(&self, replies: &[Reply]) -> Option<Line> {
        if replies.is_empty() {
            return None;
        }
        let fill = |(id, error): &Reply, batch: &mut BatchEncoder<'_>| batch.error(id, error);
        to_line(&self.rules, |encoder| encoder.batch(|batch| replies.iter().try_for_each(|reply| fill(reply, batch))))
            .ok()
    }

    fn message(&self, message: &Message<'_>, begun: &mut Vec<u64>) -> Option<Reply> {
        match message {
            Message::Response(response) => {
                let settled = self.state().calls.settle(response);
                self.settled(settled, response.line(), begun);
                None
            }
            Message::Notification(notification) => {
                self.deliver(ReceivedMessage::Text(notification.raw().as_json().to_owned()));
                None
            }
            Message::Request(request) => {
                self.report(Incident::Request { line: request.line() });
                Some((request.id().clone().into_owned(), RpcError::method_not_found()))
            }
        }
    }

    fn fault(&self, fault: &Fault, begun: &mut Vec<u64>) -> Option<Reply> {
        self.report(Incident::Fault(fault));
        let id = fault.id()?;
        // Without `method`, `result` and `error`: an answer whose result was undefined where it was written.
        if fault.is_response() || fault.kind() == FaultKind::MissingMethod {
            let settled = self.state().calls.fail(id, &fault.reason().to_string());
            self.settled(settled, fault.line(), begun);
            return None;
        }
        let reply = fault.reply()?;
        Some((id.clone(), RpcError::new(reply.code(), reply.message())))
    }

    fn settled(&self, settled: Settled, line: u64, begun: &mut Vec<u64>) {
        match settled {
            Settled::Whole(text) => self.deliver(ReceivedMessage::Text(text)),
            Settled::Part(batch) => begun.push(batch),
            Settled::Stray => self.report(Incident::Stray { line }),
        }
    }

    /// Hands a message to jsonrpsee.
    pub(crate) fn deliver(&self, message: ReceivedMessage) {
        self.state().ready.push_back(message);
        self.news.notify_one();
    }

    pub(crate) fn next_ready(&self) -> Option<ReceivedMessage> {
        self.state().ready.pop_front()
    }

    /// Ready when it is worth looking at [`next_ready`](Self::next_ready) again, or at
    /// [`write_failure`](Self::write_failure).
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }

    /// Notes that nothing more can be sent. Whatever the server sends within a second is still received.
    pub(crate) fn fail_writing(&self, error: io::Error) {
        self.state().write_failure = Some((error, Instant::now() + LAST_WORDS));
        self.news.notify_one();
    }

    /// Waits for the end of that second, or forever if writing hasn't failed.
    pub(crate) async fn write_failure(&self) -> io::Error {
        let until = self.state().write_failure.as_ref().map(|(_, until)| *until);
        match until {
            Some(until) => sleep_until(until).await,
            None => pending().await,
        }
        match self.state().write_failure.take() {
            Some((error, _)) => error,
            None => io::ErrorKind::BrokenPipe.into(),
        }
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

    pub(crate) fn report(&self, incident: Incident<'_>) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report(incident);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("rules", &self.rules).finish_non_exhaustive()
    }
}

//! What the two sides of a session send each other: which response belongs to which request, and how long it took.

mod follower;
mod log2_histogram;
mod method_table;
mod methods;
mod overview;
mod pending;
mod side;
#[cfg(test)]
mod tests;

use std::time::Duration;

use wireline::{Fault, FaultKind, Id, Message};

pub(crate) use follower::{Follower, Seen};
pub(crate) use log2_histogram::Log2Histogram;
pub(crate) use methods::MethodIndex;
pub(crate) use overview::overview;
pub(crate) use side::Side;

use crate::protocol::Protocols;
use crate::terminal::escape_start;
use methods::{Methods, ResponseInfo, UNREADABLE};
use pending::{Added, Outcome, PendingRequest, PendingRequests};

/// The width that an id is cut to.
const ID_COLUMNS: usize = 16;

/// All that is known of the messages between two sides. Its size is bounded, whatever they send.
pub(crate) struct Session {
    protocols: Protocols,
    /// Whether requests and responses come from one stream, so that a response answers a request of the same "side".
    is_one_stream: bool,
    has_unknown_senders: bool,
    pub(crate) traffic: [Traffic; 2],
    pending: [PendingRequests; 2],
    pub(crate) methods: Methods,
    /// Requests so far.
    requests: u64,
    pub(crate) unanswered: Sample<UnansweredRequest, 4>,
    pub(crate) cancelled: u64,
    /// Responses that match no request.
    pub(crate) unmatched: Sample<SentId, 3>,
    /// Requests with the id of a request that was still pending.
    pub(crate) reused: Sample<SentId, 3>,
    /// Requests beyond the limits on what is tracked.
    pub(crate) untracked: u64,
    faults: Vec<(Side, FaultKind, u64)>,
    sizes: Log2Histogram,
}

/// How much a side has sent.
#[derive(Default)]
pub(crate) struct Traffic {
    /// The entries of a batch count one by one.
    pub(crate) messages: u64,
    pub(crate) faults: u64,
    pub(crate) bytes: u64,
}

/// A count, and the first `MAX` things that were counted.
pub(crate) struct Sample<T, const MAX: usize> {
    pub(crate) count: u64,
    pub(crate) first: Vec<T>,
}

pub(crate) struct UnansweredRequest {
    pub(crate) method: MethodIndex,
    /// The id, as [`displayed_id`] shows it.
    pub(crate) id: String,
    /// When it was sent, and how long before the end of the session.
    pub(crate) times: Option<(Duration, Duration)>,
}

/// An id, as [`displayed_id`] shows it, and who sent it.
#[derive(Debug, PartialEq)]
pub(crate) struct SentId {
    pub(crate) from: Side,
    pub(crate) id: String,
}

/// What a message is within its session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    /// A request or a notification.
    Call { reuses_id: bool },
    /// The response to a request.
    Response { method: MethodIndex, latency: Option<Duration> },
    /// An error without an id, taken as the response to a faulty line.
    ResponseToFault,
    /// A response that matches no request.
    UnmatchedResponse,
}

impl Session {
    pub(crate) fn new(protocols: Protocols) -> Self {
        Self {
            protocols,
            is_one_stream: false,
            has_unknown_senders: false,
            traffic: Default::default(),
            pending: Default::default(),
            methods: Methods::default(),
            requests: 0,
            unanswered: Sample::default(),
            cancelled: 0,
            unmatched: Sample::default(),
            reused: Sample::default(),
            untracked: 0,
            faults: Vec::new(),
            sizes: Log2Histogram::new(),
        }
    }

    /// Sets whether what follows is one stream with the messages of both sides, all attributed to the client.
    pub(crate) fn set_one_stream(&mut self, is_one_stream: bool) {
        self.is_one_stream = is_one_stream;
        self.has_unknown_senders |= is_one_stream;
    }

    /// Whether the sender of some messages is unknown.
    pub(crate) fn has_unknown_senders(&self) -> bool {
        self.has_unknown_senders
    }

    pub(crate) fn add_bytes(&mut self, from: Side, bytes: usize) {
        self.traffic[from as usize].bytes += bytes as u64;
    }

    /// Adds a message that was sent at a time since the start of the session.
    pub(crate) fn add_message(&mut self, from: Side, message: &Message<'_>, at: Option<Duration>) -> Role {
        let len = message.as_bytes().len() as u64;
        self.traffic[from as usize].messages += 1;
        self.sizes.add(len, 1);
        match message {
            Message::Request(request) => {
                let method = self.methods.index_of(from, &request.method());
                self.methods[method].requests += 1;
                self.methods[method].bytes += len;
                Role::Call { reuses_id: self.add_request(from, request.id(), method, at) }
            }
            Message::Notification(notification) => {
                let method = self.methods.index_of(from, &notification.method());
                self.methods[method].notifications += 1;
                self.methods[method].bytes += len;
                let params = notification.params();
                if let Some(id) = self.protocols.cancelled_id(&notification.method(), params.as_ref()) {
                    self.pending[from as usize].cancel(&id);
                }
                Role::Call { reuses_id: false }
            }
            Message::Response(response) => {
                let info = ResponseInfo { is_error: response.error().is_some(), len };
                self.match_response(from, response.id(), info, at)
            }
        }
    }

    /// Adds a faulty line or batch entry.
    pub(crate) fn add_fault(&mut self, from: Side, fault: &Fault, at: Option<Duration>) {
        self.traffic[from as usize].faults += 1;
        match self.faults.iter_mut().find(|(side, kind, _)| (*side, *kind) == (from, fault.kind())) {
            Some((_, _, count)) => *count += 1,
            None => self.faults.push((from, fault.kind(), 1)),
        }
        match fault.id() {
            // Meant as the response, although the requester cannot read it.
            Some(id) if fault.is_response() => {
                let requester = self.requester(from);
                if let Some(request) = self.pending[requester as usize].take(id) {
                    self.methods[request.method].errors += 1;
                }
            }
            Some(id) => {
                let method = self.methods.index_of(from, UNREADABLE);
                self.methods[method].requests += 1;
                self.add_request(from, id, method, at);
            }
            None if fault.is_response() => {}
            None => self.pending[from as usize].add_faulty_line(),
        }
    }

    /// The number of faults by sender and kind, the most frequent first.
    pub(crate) fn faults(&self) -> Vec<(Side, FaultKind, u64)> {
        let mut faults = self.faults.clone();
        faults.sort_by_key(|(from, kind, count)| (std::cmp::Reverse(*count), *from as u8, kind.name()));
        faults
    }

    /// The sizes of all messages, in bytes.
    pub(crate) fn sizes(&self) -> &Log2Histogram {
        &self.sizes
    }

    /// The latencies of all responses, in nanoseconds.
    pub(crate) fn latencies(&self) -> Log2Histogram {
        self.methods.latencies()
    }

    /// Ends the session: what is pending stays unanswered. Another session may follow.
    pub(crate) fn end(&mut self, at: Option<Duration>) {
        for (pending, from) in self.pending.iter_mut().zip(Side::BOTH) {
            let unmatched = pending.take_unmatched();
            for id in unmatched.responses {
                self.unmatched.add(|| SentId::new(from, Some(&id)));
            }
            for (id, PendingRequest { method, at: sent, is_cancelled, .. }) in unmatched.requests {
                if is_cancelled {
                    self.cancelled += 1;
                    continue;
                }
                self.unanswered.add(|| {
                    let times = sent.zip(at).map(|(sent, end)| (sent, end.saturating_sub(sent)));
                    UnansweredRequest { method, id: displayed_id(Some(&id)), times }
                });
            }
        }
    }

    /// Adds a request, and returns whether its id was in use.
    fn add_request(&mut self, from: Side, id: &Id<'_>, method: MethodIndex, at: Option<Duration>) -> bool {
        let request = PendingRequest { number: self.requests, method, at, is_cancelled: false };
        self.requests += 1;
        let Added { outcome, reuses_id } = self.pending[from as usize].add(id, request);
        match outcome {
            Outcome::Pending => {}
            Outcome::Answered(response) => self.methods[method].add_response(response, None),
            Outcome::Untracked => self.untracked += 1,
        }
        // In one stream, the two sides may use the same ids.
        if reuses_id && !self.is_one_stream {
            self.reused.add(|| SentId::new(from, Some(id)));
        }
        reuses_id
    }

    fn match_response(
        &mut self,
        from: Side,
        id: Option<&Id<'_>>,
        response: ResponseInfo,
        at: Option<Duration>,
    ) -> Role {
        let requester = self.requester(from);
        let pending = &mut self.pending[requester as usize];
        if let Some(request) = id.and_then(|id| pending.take(id)) {
            let latency = at.zip(request.at).and_then(|(at, sent)| at.checked_sub(sent));
            self.methods[request.method].add_response(response, latency);
            return Role::Response { method: request.method, latency };
        }
        if response.is_error && id.is_none_or(Id::is_null) && pending.take_faulty_line() {
            return Role::ResponseToFault;
        }
        // Files with the two directions of a session may be read in any order.
        let is_kept = self.is_one_stream && id.is_some_and(|id| pending.keep_early(id, response));
        if !is_kept {
            self.unmatched.add(|| SentId::new(from, id));
        }
        Role::UnmatchedResponse
    }

    /// Whose requests the responses of `from` answer.
    fn requester(&self, from: Side) -> Side {
        if self.is_one_stream { from } else { from.other() }
    }
}

impl<T, const MAX: usize> Sample<T, MAX> {
    fn add(&mut self, item: impl FnOnce() -> T) {
        self.count += 1;
        if self.first.len() < MAX {
            self.first.push(item());
        }
    }

    /// How many were counted beyond the first ones.
    pub(crate) fn more(&self) -> u64 {
        self.count - self.first.len() as u64
    }
}

impl<T, const MAX: usize> Default for Sample<T, MAX> {
    fn default() -> Self {
        Self { count: 0, first: Vec::new() }
    }
}

impl SentId {
    fn new(from: Side, id: Option<&Id<'_>>) -> Self {
        Self { from, id: displayed_id(id) }
    }
}

/// An id as it was spelled, escaped and cut for a terminal: `#1`, `#"abc"`. Empty if there is none.
pub(crate) fn displayed_id(id: Option<&Id<'_>>) -> String {
    id.map_or_else(String::new, |id| format!("#{}", escape_start(id.as_json().as_bytes(), ID_COLUMNS)))
}

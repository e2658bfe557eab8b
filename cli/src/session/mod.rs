//! What the two sides of a session send each other: which response belongs to which request, and how long it took.

mod failures;
mod follower;
mod latencies;
mod log2_histogram;
mod method_table;
mod methods;
mod overview;
mod pending;
mod side;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use wireline::{Fault, FaultKind, Id, Message, RawJson};

pub(crate) use failures::{Failures, Reason};
pub(crate) use follower::{Follower, Open, Seen};
pub(crate) use latencies::MAX_ERROR;
pub(crate) use log2_histogram::Log2Histogram;
pub(crate) use methods::{Method, MethodIndex};
pub(crate) use overview::{overview, tells};
pub(crate) use pending::MAX_PENDING;
pub(crate) use side::Side;

use crate::judge::{Finding, Rule};
use crate::protocol::{Hello, Progress, Protocols};
use crate::terminal::{Width, escape_start};
use methods::{Methods, ResponseInfo, UNREADABLE};
use pending::{Added, Call, Outcome, PendingRequest, PendingRequests};

/// The longest id that is kept for people, in columns. Terminals show less of it.
const MAX_ID_COLUMNS: usize = 200;

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
    /// The request that the last message is or belongs to, by its position among all requests.
    last_request: Option<u64>,
    pub(crate) failures: Failures,
    pub(crate) unanswered: Sample<UnansweredRequest, 4>,
    /// Requests that were cancelled while they were pending.
    pub(crate) cancelled: Sample<CancelledRequest, 4>,
    /// Responses that match no request.
    pub(crate) unmatched: Sample<SentId, 3>,
    /// Those of them whose id is that of a pending request, but of the other type: `"3"` for `3`.
    pub(crate) other_type: u64,
    /// Requests with the id of a request that was still pending.
    pub(crate) reused: Sample<SentId, 3>,
    /// Requests beyond the limits on what is tracked.
    pub(crate) untracked: u64,
    faults: Vec<(Side, FaultKind, u64)>,
    sizes: Log2Histogram,
    /// What each side said of itself.
    hellos: [Option<Hello>; 2],
    /// Whether the last message has said something new of its sender.
    is_introduction: bool,
    /// How often each rule was broken, and by whom.
    pub(crate) findings: BTreeMap<(Rule, Side), u64>,
}

/// How much a side has sent.
#[derive(Default)]
pub(crate) struct Traffic {
    /// The entries of a batch count one by one.
    pub(crate) messages: u64,
    pub(crate) faults: u64,
    pub(crate) bytes: u64,
    /// Lines that ended in a carriage return and a line feed.
    pub(crate) with_return: u64,
    /// The length of last lines without their line end.
    pub(crate) unterminated: Option<u64>,
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

pub(crate) struct CancelledRequest {
    pub(crate) method: MethodIndex,
    /// The id, as [`displayed_id`] shows it.
    pub(crate) id: String,
    /// How long it had been pending.
    pub(crate) after: Option<Duration>,
}

/// An id, as [`displayed_id`] shows it, and who sent it.
#[derive(Debug, PartialEq)]
pub(crate) struct SentId {
    pub(crate) from: Side,
    pub(crate) id: String,
}

/// What a message is within its session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Role {
    /// A request or a notification.
    Call {
        /// What it is about, unescaped: the `echo` of `tools/call`.
        subject: Option<String>,
        reuses_id: bool,
    },
    /// A notification about the progress of a pending request.
    Progress { method: MethodIndex, id: String, progress: Progress },
    /// A notification that cancels a pending request.
    Cancellation { method: MethodIndex, id: String, after: Option<Duration> },
    /// The response to a request.
    Response {
        method: MethodIndex,
        latency: Option<Duration>,
        /// Whether it is an error, or a result that says that the call has failed.
        is_failure: bool,
        is_cancelled: bool,
        /// Whether the log has told that it takes long.
        is_overdue: bool,
    },
    /// An error without an id, taken as the response to a faulty line.
    ResponseToFault,
    /// A response that matches no request.
    UnmatchedResponse {
        /// Whether a pending request has the same id, but of the other type.
        has_other_type: bool,
    },
}

/// A request without an answer.
pub(crate) struct PendingCall {
    pub(crate) from: Side,
    /// Its position among all requests.
    pub(crate) number: u64,
    pub(crate) is_cancelled: bool,
}

/// A request that has been pending for long.
pub(crate) struct OverdueRequest {
    pub(crate) from: Side,
    pub(crate) method: MethodIndex,
    /// The id, as [`displayed_id`] shows it.
    pub(crate) id: String,
    /// When it was sent.
    pub(crate) sent: Duration,
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
            last_request: None,
            failures: Failures::default(),
            unanswered: Sample::default(),
            cancelled: Sample::default(),
            unmatched: Sample::default(),
            other_type: 0,
            reused: Sample::default(),
            untracked: 0,
            faults: Vec::new(),
            sizes: Log2Histogram::new(),
            hellos: [None, None],
            is_introduction: false,
            findings: BTreeMap::new(),
        }
    }

    /// What a side said of itself when the session started.
    pub(crate) fn hello(&self, from: Side) -> Option<&Hello> {
        self.hellos[from as usize].as_ref()
    }

    /// Whether nothing was sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.traffic.iter().all(|traffic| traffic.bytes == 0)
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

    /// Adds lines that ended in a carriage return and a line feed. Returns whether they are the first ones of their side.
    fn add_returns(&mut self, from: Side, lines: u64) -> bool {
        let with_return = &mut self.traffic[from as usize].with_return;
        *with_return += lines;
        lines > 0 && *with_return == lines
    }

    /// Adds a message that was sent at a time since the start of the session.
    pub(crate) fn add_message(&mut self, from: Side, message: &Message<'_>, at: Option<Duration>) -> Role {
        let len = message.as_bytes().len() as u64;
        self.last_request = None;
        self.is_introduction = false;
        self.traffic[from as usize].messages += 1;
        self.sizes.add(len, 1);
        match message {
            Message::Request(request) => {
                let (name, params) = (request.method(), request.params());
                let subject = self.protocols.subject(&name, params.as_ref());
                let method = self.index_of(from, &name, subject.as_deref());
                self.methods.update(method, |method| {
                    method.requests += 1;
                    method.bytes += len;
                });
                let token = self.protocols.progress_token(params.as_ref());
                let reuses_id = self.add_request(from, request.id(), method, at, token);
                let known = self.hello(from).map(|hello| &*hello.version);
                let introduction = self.protocols.introduction(params.as_ref(), known);
                if let Some(hello) = self.protocols.offer(&name, params.as_ref()).or(introduction) {
                    self.introduce(from, hello);
                }
                Role::Call { subject, reuses_id }
            }
            Message::Notification(notification) => {
                let (name, params) = (notification.method(), notification.params());
                let subject = self.protocols.subject(&name, params.as_ref());
                let method = self.index_of(from, &name, subject.as_deref());
                self.methods.update(method, |method| {
                    method.notifications += 1;
                    method.bytes += len;
                });
                let special = self.cancel(from, &name, params.as_ref(), at);
                special
                    .or_else(|| self.progress(from, &name, params.as_ref()))
                    .unwrap_or(Role::Call { subject, reuses_id: false })
            }
            Message::Response(response) => {
                let result = response.result();
                let info = ResponseInfo { is_error: response.error().is_some(), says_failed: false, len };
                let role = self.match_response(from, response.id(), info, result.as_ref(), at);
                if let Role::Response { method, is_failure: true, .. } = role {
                    let reason = Reason::of(response, self.protocols);
                    self.failures.add(method, reason, || displayed_id(response.id()));
                }
                if let (Role::Response { method, .. }, Some(result)) = (&role, result)
                    && let Some(hello) = self.reply(from, *method, &result)
                {
                    self.introduce(from, hello);
                }
                role
            }
        }
    }

    /// What the result of a call says of its sender.
    fn reply(&self, from: Side, method: MethodIndex, result: &RawJson<'_>) -> Option<Hello> {
        let name = &self.methods[method].method;
        let client = self.hello(from.other());
        let reply = || self.protocols.reply_to_introduction(name, result, client, self.hello(from).is_some());
        self.protocols.answer(name, result).or_else(reply)
    }

    fn introduce(&mut self, from: Side, hello: Hello) {
        self.is_introduction = self.hellos[from as usize].as_ref() != Some(&hello);
        self.hellos[from as usize] = Some(hello);
    }

    /// Counts what the judge has found.
    pub(crate) fn add_finding(&mut self, finding: &Finding) {
        *self.findings.entry((finding.rule, finding.place.from)).or_default() += 1;
    }

    /// The requests without an answer, in the order in which they were sent.
    pub(crate) fn pending(&self) -> impl Iterator<Item = PendingCall> {
        let of = |from: Side| {
            let requests = self.pending[from as usize].iter();
            requests.map(move |&PendingRequest { number, is_cancelled, .. }| PendingCall { from, number, is_cancelled })
        };
        let mut pending: Vec<PendingCall> = Side::BOTH.into_iter().flat_map(of).collect();
        pending.sort_by_key(|call| call.number);
        pending.into_iter()
    }

    fn index_of(&mut self, from: Side, method: &str, subject: Option<&str>) -> MethodIndex {
        let protocols = self.protocols;
        self.methods.index_of(from, method, subject, |method| protocols.can_fail(method))
    }

    fn cancel(&mut self, from: Side, method: &str, params: Option<&RawJson<'_>>, at: Option<Duration>) -> Option<Role> {
        let id = self.protocols.cancelled_id(method, params)?;
        let &PendingRequest { number, method, at: sent, .. } = self.pending[from as usize].cancel(&id)?;
        self.last_request = Some(number);
        let id = displayed_id(Some(&id));
        let after = at.zip(sent).and_then(|(at, sent)| at.checked_sub(sent));
        self.cancelled.add(|| CancelledRequest { method, id: id.clone(), after });
        Some(Role::Cancellation { method, id, after })
    }

    fn progress(&mut self, from: Side, method: &str, params: Option<&RawJson<'_>>) -> Option<Role> {
        let progress = self.protocols.progress(method, params)?;
        let Call { number, method, id } =
            self.pending[self.requester(from) as usize].in_progress(&progress.token)?.clone();
        self.last_request = Some(number);
        Some(Role::Progress { method, id, progress })
    }

    /// Adds a faulty line or batch entry.
    pub(crate) fn add_fault(&mut self, from: Side, fault: &Fault, at: Option<Duration>) {
        self.last_request = None;
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
                    self.last_request = Some(request.number);
                    self.methods.update(request.method, |method| method.failures += 1);
                    self.failures.add_unknown();
                }
            }
            Some(id) => {
                let method = self.index_of(from, UNREADABLE, None);
                self.methods.update(method, |method| method.requests += 1);
                self.add_request(from, id, method, at, None);
            }
            None if fault.is_response() => {}
            None => self.pending[from as usize].add_faulty_line(),
        }
    }

    /// The request that the last message or fault is, responds to or is about, by its position among all requests.
    pub(crate) fn last_request(&self) -> Option<u64> {
        self.last_request
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
                    continue;
                }
                self.unanswered.add(|| {
                    let times = sent.zip(at).map(|(sent, end)| (sent, end.saturating_sub(sent)));
                    UnansweredRequest { method, id: displayed_id(Some(&id)), times }
                });
            }
        }
    }

    /// The requests that were sent at or before `deadline` and have not been returned before, and when the first of the
    /// other pending ones was sent.
    pub(crate) fn take_overdue(&mut self, deadline: Duration) -> (Vec<OverdueRequest>, Option<Duration>) {
        let (mut all, mut next) = (Vec::new(), None::<Duration>);
        for (pending, from) in self.pending.iter_mut().zip(Side::BOTH) {
            let (overdue, sent) = pending.take_overdue(deadline);
            all.extend(overdue.into_iter().filter_map(|(id, PendingRequest { method, at, .. })| {
                Some(OverdueRequest { from, method, id: displayed_id(Some(&id)), sent: at? })
            }));
            next = next.into_iter().chain(sent).min();
        }
        (all, next)
    }

    /// Adds a request, and returns whether its id was in use.
    fn add_request(
        &mut self,
        from: Side,
        id: &Id<'_>,
        method: MethodIndex,
        at: Option<Duration>,
        progress_token: Option<Id<'static>>,
    ) -> bool {
        let request = PendingRequest {
            number: self.requests,
            method,
            at,
            is_cancelled: false,
            is_overdue: false,
            progress_token,
        };
        self.last_request = Some(self.requests);
        self.requests += 1;
        let Added { outcome, reuses_id } = self.pending[from as usize].add(id, request);
        match outcome {
            Outcome::Pending => {}
            Outcome::Answered(response) => {
                if self.methods[method].is_failure(response) {
                    self.failures.add_unknown();
                }
                self.methods.add_response(method, response, None);
            }
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
        mut response: ResponseInfo,
        result: Option<&RawJson<'_>>,
        at: Option<Duration>,
    ) -> Role {
        let protocols = self.protocols;
        let says_failed = || result.is_some_and(|result| protocols.says_failed(result));
        let requester = self.requester(from);
        let pending = &mut self.pending[requester as usize];
        if let Some(request) = id.and_then(|id| pending.take(id)) {
            self.last_request = Some(request.number);
            let latency = at.zip(request.at).and_then(|(at, sent)| at.checked_sub(sent));
            let PendingRequest { method, is_cancelled, is_overdue, .. } = request;
            response.says_failed = self.methods[method].can_fail && says_failed();
            let is_failure = self.methods[method].is_failure(response);
            self.methods.add_response(method, response, latency);
            return Role::Response { method, latency, is_failure, is_cancelled, is_overdue };
        }
        if response.is_error && id.is_none_or(Id::is_null) && pending.take_faulty_line() {
            return Role::ResponseToFault;
        }
        // Files with the two directions of a session may be read in any order.
        response.says_failed = self.is_one_stream && says_failed();
        let is_kept = self.is_one_stream && id.is_some_and(|id| pending.keep_early(id, response));
        let has_other_type = !is_kept && id.is_some_and(|id| pending.has_other_type(id));
        if !is_kept {
            self.other_type += u64::from(has_other_type);
            self.unmatched.add(|| SentId::new(from, id));
        }
        Role::UnmatchedResponse { has_other_type }
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

/// An id as it was spelled, escaped for a terminal: `#1`, `#"abc"`. Empty if there is none.
pub(crate) fn displayed_id(id: Option<&Id<'_>>) -> String {
    id.map_or_else(String::new, |id| ["#", &escape_start(id.as_json().as_bytes(), MAX_ID_COLUMNS)].concat())
}

/// A displayed id, cut to fit its column.
pub(crate) fn cut_id(id: &str, width: Width) -> Cow<'_, str> {
    // With the number sign. Escaped already, and escaping it again changes nothing.
    escape_start(id.as_bytes(), width.id_columns().saturating_add(1))
}

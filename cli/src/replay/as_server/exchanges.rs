//! What a recorded server sent in reaction to each message of its client.

use std::collections::{HashMap, VecDeque};
use std::io::BufRead;
use std::time::Duration;

use wireline::{Id, Notification, RawJson, Request, Response};

use super::super::args::Args;
use super::super::ignore_rule::{IgnoreRule, ignored};
use super::super::script::{Answer, Script, SentItem, StepKind};
use crate::json::{Ignored, VolatileKind, compare, fingerprint};
use crate::protocol::Protocols;

/// All exchanges of a recording, to be found by method and params.
pub(super) struct Exchanges {
    all: Vec<Exchange>,
    /// By method and fingerprint of the params.
    by_request: HashMap<(String, u64), Candidates>,
    by_method: HashMap<String, Candidates>,
    /// What the server sent before the client sent anything.
    pub(super) greeting: Vec<(Duration, Reaction)>,
    /// What makes no difference in a request.
    rules: Vec<IgnoreRule>,
    kinds: Vec<VolatileKind>,
    protocols: Protocols,
    is_loose: bool,
}

/// A message of the client, and what the server sent afterwards.
pub(super) struct Exchange {
    /// `{"params":…}`.
    params: String,
    sent_at: Duration,
    /// The progress token of a request.
    pub(super) token: Option<Id<'static>>,
    /// Each with the time since the client's message.
    pub(super) reactions: Vec<(Duration, Reaction)>,
    is_used: bool,
}

#[derive(Clone)]
pub(super) enum Reaction {
    Answer(Response<'static>),
    /// The recorded answer is not a message.
    FaultyAnswer,
    Notification(Notification<'static>),
    Request(Request<'static>),
}

/// Exchanges with something in common, in the order of the recording. Those before `next` have been used.
#[derive(Default)]
struct Candidates {
    indexes: Vec<usize>,
    next: usize,
}

impl Exchanges {
    pub(super) fn new(args: &Args) -> Self {
        Self {
            all: Vec::new(),
            by_request: HashMap::new(),
            by_method: HashMap::new(),
            greeting: Vec::new(),
            rules: args.ignore.clone(),
            kinds: args.ignore_kind.clone(),
            protocols: args.rules.protocols(),
            is_loose: args.loose,
        }
    }

    /// Adds the next session of a recording. Returns whether another one follows.
    pub(super) fn add_session(&mut self, script: &mut Script<impl BufRead>) -> bool {
        let mut pending: HashMap<Id<'static>, VecDeque<usize>> = HashMap::new();
        let mut tokens: HashMap<Id<'static>, usize> = HashMap::new();
        let mut latest = None;
        while let Some(step) = script.next() {
            match step.kind {
                StepKind::Start => return true,
                StepKind::Sent(sent) => {
                    for item in sent.items {
                        match item {
                            SentItem::Request(request) => {
                                let index = self.add(&request.method(), request.params(), step.at);
                                pending.entry(request.id().clone()).or_default().push_back(index);
                                let token = self.all[index].token.clone();
                                tokens.extend(token.map(|token| (token, index)));
                                latest = Some(index);
                            }
                            SentItem::Notification { notification, .. } => {
                                latest = Some(self.add(&notification.method(), notification.params(), step.at));
                            }
                            SentItem::Response { .. } | SentItem::Fault { .. } => {}
                        }
                    }
                }
                StepKind::Answer { id, answer } => {
                    let index = pending.get_mut(&id.unwrap_or(Id::NULL)).and_then(VecDeque::pop_front);
                    let reaction = match answer {
                        Answer::Response(response) => Reaction::Answer(response),
                        Answer::Faulty(_) => Reaction::FaultyAnswer,
                    };
                    if index.is_some() {
                        self.react(index, step.at, reaction);
                    }
                }
                StepKind::Notification(notification) => {
                    let params = notification.params();
                    let progress = self.protocols.progress(&notification.method(), params.as_ref());
                    let call = progress.and_then(|progress| tokens.get(&progress.token).copied());
                    self.react(call.or(latest), step.at, Reaction::Notification(notification));
                }
                StepKind::Request(request) => self.react(latest, step.at, Reaction::Request(request)),
                StepKind::Noise | StepKind::End { .. } => {}
            }
        }
        false
    }

    fn add(&mut self, method: &str, params: Option<RawJson<'_>>, sent_at: Duration) -> usize {
        let token = self.protocols.progress_token(params.as_ref());
        let ignored = self.ignored(method, params.as_ref());
        let params = wrapped(params.as_ref());
        let index = self.all.len();
        let key = (method.to_owned(), fingerprint(&params, &ignored));
        self.by_request.entry(key).or_default().indexes.push(index);
        self.by_method.entry(method.to_owned()).or_default().indexes.push(index);
        self.all.push(Exchange { params, sent_at, token, reactions: Vec::new(), is_used: false });
        index
    }

    fn ignored(&self, method: &str, params: Option<&RawJson<'_>>) -> Ignored {
        let target = self.protocols.subject(method, params);
        let mut ignored = ignored(&self.rules, &self.kinds, method, target.as_deref());
        ignored.patterns.extend("/params/_meta".parse());
        ignored
    }

    fn react(&mut self, index: Option<usize>, at: Duration, reaction: Reaction) {
        match index.and_then(|index| self.all.get_mut(index)) {
            Some(exchange) => exchange.reactions.push((at.saturating_sub(exchange.sent_at), reaction)),
            None => self.greeting.push((at, reaction)),
        }
    }

    /// Whether any message of the recorded client has this method.
    pub(super) fn has_method(&self, method: &str) -> bool {
        self.by_method.contains_key(method)
    }

    /// Finds the exchange that a message of the client starts: the first with the same method and params that has not
    /// been used, or else the last.
    pub(super) fn find(&mut self, method: &str, params: Option<&RawJson<'_>>) -> Option<&Exchange> {
        let ignored = self.ignored(method, params);
        let params = wrapped(params);
        let key = (method.to_owned(), fingerprint(&params, &ignored));
        let Self { all, by_request, by_method, .. } = self;
        let is_same = |exchange: &Exchange| compare(&exchange.params, &params, &ignored).is_same();
        let mut found = by_request.get_mut(&key).and_then(|candidates| candidates.take(all, is_same));
        // A handshake says who the client is, which is another one now.
        if found.is_none() && (self.is_loose || self.protocols.is_handshake(method)) {
            found = by_method.get_mut(method).and_then(|candidates| candidates.take(all, |_| true));
        }
        let exchange = all.get_mut(found?)?;
        exchange.is_used = true;
        Some(exchange)
    }
}

impl Candidates {
    fn take(&mut self, all: &[Exchange], is_it: impl Fn(&Exchange) -> bool) -> Option<usize> {
        while self.indexes.get(self.next).is_some_and(|index| all[*index].is_used) {
            self.next += 1;
        }
        let unused = self.indexes[self.next..].iter().find(|index| !all[**index].is_used && is_it(&all[**index]));
        unused.or_else(|| self.indexes.iter().rev().find(|index| is_it(&all[**index]))).copied()
    }
}

/// Params as a part of a message, for pointers that start with `/params`. No params are like empty ones.
fn wrapped(params: Option<&RawJson<'_>>) -> String {
    format!(r#"{{"params":{}}}"#, params.map_or("{}", RawJson::as_json))
}

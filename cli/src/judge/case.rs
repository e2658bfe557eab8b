//! What is known of a session, for all groups of rules.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use wireline::{Id, RawJson, Response};

use super::rules::{Dialect, Rule};
use super::{Answer, logging};
use crate::protocol::Protocols;
use crate::session::{Role, Side, displayed_id};
use crate::terminal::escape_start;

/// How many answered requests of each side are remembered.
const MAX_ANSWERED: usize = 4096;

/// The longest method, subject and id that are kept, in bytes.
const MAX_LEN: usize = 256;

/// The width that the method and subject of a message are cut to.
const NAME_COLUMNS: usize = 60;

/// The members of `_meta` that are special in MCP.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) from: Side,
    pub(crate) line: u64,
    pub(crate) at: Option<Duration>,
}

/// A rule that a session breaks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) rule: Rule,
    pub(crate) dialect: Dialect,
    /// Who has sent the message that breaks it, if that is known.
    pub(crate) sender: Option<Side>,
    /// Where that is.
    pub(crate) place: Place,
    /// What was found, with no more of the messages than methods, subjects and ids, escaped for a terminal.
    pub(crate) evidence: String,
    /// More of the message, escaped for a terminal, if the user wants to see it.
    pub(crate) detail: Option<String>,
}

impl Finding {
    /// Who has sent it, as the start of a sentence.
    pub(crate) fn sent(&self) -> String {
        self.sender.map_or_else(String::new, |sender| format!("{}: ", sender.name()))
    }
}

/// A request or a notification.
pub(super) struct Call<'a> {
    pub(super) place: Place,
    /// `None` for a notification.
    pub(super) id: Option<&'a Id<'a>>,
    pub(super) method: &'a str,
    pub(super) params: Option<&'a RawJson<'a>>,
    pub(super) members: Members<'a>,
    /// The request that this is or is about, by its position among all requests.
    pub(super) number: Option<u64>,
    pub(super) role: &'a Role,
}

/// The members of a call's params that rules are about.
#[derive(Default)]
pub(super) struct Members<'a> {
    pub(super) name: Option<RawJson<'a>>,
    pub(super) arguments: Option<RawJson<'a>>,
    pub(super) cursor: Option<RawJson<'a>>,
    pub(super) level: Option<RawJson<'a>>,
    pub(super) session: Option<RawJson<'a>>,
    /// Those of `_meta`.
    pub(super) progress_token: Option<RawJson<'a>>,
    pub(super) log_level: Option<RawJson<'a>>,
    pub(super) version: Option<RawJson<'a>>,
    pub(super) capabilities: Option<RawJson<'a>>,
    pub(super) subscription: Option<RawJson<'a>>,
}

/// What is kept of a pending request.
pub(super) struct Asked {
    pub(super) place: Place,
    /// Empty if it is too long.
    pub(super) method: Box<str>,
    /// The tool of a call.
    pub(super) subject: Option<Box<str>>,
    /// As evidence names it: `tools/call echo #3`.
    pub(super) name: String,
    /// What the session spoke then.
    pub(super) dialect: Dialect,
    pub(super) progress_token: Option<Id<'static>>,
    /// The progress so far.
    pub(super) progress: Option<f64>,
    /// When it was cancelled, if it was.
    pub(super) cancelled: Option<Option<Duration>>,
    /// The least level of the log messages that it asks for, or sets.
    pub(super) log_level: Option<usize>,
    /// Whether it continues a list.
    pub(super) has_cursor: bool,
    /// What the client can be asked for while the request is pending, in the order of `stateless::INPUTS`.
    pub(super) inputs: [bool; 3],
    /// The ACP session that it belongs to, and when that was cancelled.
    pub(super) session: Option<Box<str>>,
    pub(super) session_cancelled: Option<Option<Duration>>,
}

/// What is kept of an answered request.
pub(super) struct Answered {
    pub(super) name: String,
    pub(super) at: Option<Duration>,
}

/// Answered requests, the latest ones.
#[derive(Default)]
pub(super) struct Recent {
    by_id: HashMap<Id<'static>, Answered>,
    order: VecDeque<Id<'static>>,
    /// The progress tokens of answered requests, and whether each belongs to a task, which goes on.
    tokens: HashMap<Id<'static>, bool>,
    token_order: VecDeque<Id<'static>>,
    /// Whether there were more than are remembered.
    pub(super) has_forgotten: bool,
}

pub(super) struct Case {
    /// What `--rules` permits.
    protocols: Protocols,
    pub(super) dialect: Dialect,
    /// Whether the session has said so itself.
    pub(super) is_dialect_certain: bool,
    /// Pending requests, by their position among all requests.
    pub(super) asked: BTreeMap<u64, Asked>,
    pub(super) answered: [Recent; 2],
    pub(super) findings: Vec<Finding>,
}

impl Case {
    pub(super) fn new(protocols: Protocols) -> Self {
        Self {
            protocols,
            dialect: super::dialect::given(protocols),
            is_dialect_certain: false,
            asked: BTreeMap::new(),
            answered: Default::default(),
            findings: Vec::new(),
        }
    }

    pub(super) fn permits(&self, protocol: &str) -> bool {
        self.protocols.names().any(|name| name == protocol)
    }

    /// Whether a rule applies to what the session speaks.
    pub(super) fn applies(&self, rule: Rule) -> bool {
        rule.section(self.dialect).is_some()
    }

    /// Notes that the message at `place` breaks a rule, if that applies.
    pub(super) fn find(&mut self, rule: Rule, place: Place, evidence: impl Into<String>) {
        self.find_with(rule, place, evidence, None);
    }

    pub(super) fn find_with(&mut self, rule: Rule, place: Place, evidence: impl Into<String>, detail: Option<String>) {
        let dialect = self.dialect;
        if self.applies(rule) {
            self.findings.push(Finding {
                rule,
                dialect,
                sender: Some(place.from),
                place,
                evidence: evidence.into(),
                detail,
            });
        }
    }

    /// Keeps what there is to know about a request.
    pub(super) fn note_call(&mut self, call: &Call<'_>) {
        let (Some(id), Some(number)) = (call.id, call.number) else { return };
        // Longer ids are not tracked by the session either.
        if id.as_json().len() > MAX_LEN || self.asked.len() >= crate::session::MAX_PENDING {
            return;
        }
        let Role::Call { subject, .. } = call.role else { return };
        let subject = subject.as_deref().filter(|subject| subject.len() <= MAX_LEN);
        let asked = Asked {
            place: call.place,
            method: if call.method.len() <= MAX_LEN { call.method.into() } else { "".into() },
            subject: subject.map(Into::into),
            name: call.name(),
            dialect: self.dialect,
            progress_token: call.progress_token(),
            progress: None,
            cancelled: None,
            log_level: logging::requested_level(call),
            has_cursor: text(&call.members.cursor).is_some(),
            inputs: super::stateless::inputs(call),
            session: text(&call.members.session).filter(|id| id.len() <= MAX_LEN).map(Into::into),
            session_cancelled: None,
        };
        self.asked.insert(number, asked);
    }

    /// Moves a request from the pending ones to the answered ones.
    pub(super) fn note_answer(&mut self, place: Place, asked: Asked, response: &Response<'_>) {
        let from = asked.place.from as usize;
        let Some(id) = response.id().filter(|id| !id.is_null()) else { return };
        let id = id.clone().into_owned();
        let Asked { name, progress_token, .. } = asked;
        // The result may be large.
        let is_task = || response.result().is_some_and(|result| result.pointer("/task/taskId").is_some());
        let token = progress_token.map(|token| (token, is_task()));
        self.answered[from].add(id, Answered { name, at: place.at }, token);
    }
}

impl Recent {
    /// Adds a request, and its progress token with whether it belongs to a task.
    fn add(&mut self, id: Id<'static>, answered: Answered, token: Option<(Id<'static>, bool)>) {
        if self.by_id.insert(id.clone(), answered).is_none() {
            self.order.push_back(id);
        }
        if self.order.len() > MAX_ANSWERED {
            self.has_forgotten = true;
            if let Some(oldest) = self.order.pop_front() {
                self.by_id.remove(&oldest);
            }
        }
        let Some((token, is_task)) = token.filter(|(token, _)| token.as_json().len() <= MAX_LEN) else { return };
        if self.tokens.insert(token.clone(), is_task).is_none() {
            self.token_order.push_back(token);
        }
        if self.token_order.len() > MAX_ANSWERED
            && let Some(oldest) = self.token_order.pop_front()
        {
            self.tokens.remove(&oldest);
        }
    }

    pub(super) fn get(&self, id: &Id<'_>) -> Option<&Answered> {
        if id.as_json().len() > MAX_LEN {
            return None;
        }
        self.by_id.get(&id.clone().into_owned())
    }

    /// Whether a token belonged to an answered request, and if so, to a task.
    pub(super) fn token(&self, token: &Id<'static>) -> Option<bool> {
        self.tokens.get(token).copied()
    }
}

impl Call<'_> {
    /// As evidence names it: `tools/call echo #3`.
    pub(super) fn name(&self) -> String {
        let mut name = self.method.to_owned();
        if let Role::Call { subject: Some(subject), .. } = self.role {
            name.extend([" ", subject]);
        }
        if let Cow::Owned(escaped) = escape_start(name.as_bytes(), NAME_COLUMNS) {
            name = escaped;
        }
        if let Some(id) = self.id {
            name.extend([" ", &displayed_id(Some(id))]);
        }
        name
    }

    pub(super) fn progress_token(&self) -> Option<Id<'static>> {
        id(self.members.progress_token.as_ref()?)
    }

    pub(super) fn is_request(&self) -> bool {
        self.id.is_some()
    }
}

impl Answer<'_> {
    /// As evidence names it.
    pub(super) fn name(&self) -> String {
        match self.asked {
            Some(asked) => asked.name.clone(),
            None => displayed_id(self.response.id()),
        }
    }

    /// The request, if its method is this one.
    pub(super) fn to(&self, method: &str) -> Option<&Asked> {
        self.asked.filter(|asked| &*asked.method == method)
    }
}

impl<'a> Members<'a> {
    /// Finds them in one walk.
    pub(super) fn new(params: &RawJson<'a>) -> Self {
        let names = ["name", "arguments", "cursor", "level", "sessionId", "_meta"];
        let [name, arguments, cursor, level, session, meta] = select(params, names);
        let names = ["progressToken", LOG_LEVEL, VERSION, CAPABILITIES, SUBSCRIPTION_ID];
        let [progress_token, log_level, version, capabilities, subscription] =
            meta.map(|meta| select(&meta, names)).unwrap_or_default();
        Self { name, arguments, cursor, level, session, progress_token, log_level, version, capabilities, subscription }
    }
}

/// The values of the members with these names. If several have the same name, the last one counts.
pub(super) fn select<'a, const N: usize>(object: &RawJson<'a>, names: [&str; N]) -> [Option<RawJson<'a>>; N] {
    let mut values = [const { None }; N];
    for (name, value) in object.members() {
        let name = name.as_str();
        if let Some(index) = names.iter().position(|one| name.as_deref() == Some(*one)) {
            values[index] = Some(value);
        }
    }
    values
}

/// A value, if it is a string.
pub(super) fn text<'a>(value: &Option<RawJson<'a>>) -> Option<Cow<'a, str>> {
    value.as_ref()?.as_str()
}

/// A value, if it can be an id.
pub(super) fn id(value: &RawJson<'_>) -> Option<Id<'static>> {
    Some(Id::parse(value.as_json())?.into_owned())
}

/// The time from one message to another, if it is known.
pub(super) fn elapsed(from: Option<Duration>, to: Option<Duration>) -> Option<Duration> {
    to?.checked_sub(from?)
}

/// How long after another message: `2.00 s after`, or just `after`.
pub(super) fn after(from: Option<Duration>, to: Option<Duration>) -> String {
    match elapsed(from, to) {
        Some(elapsed) => format!("{} after", crate::units::Seconds(elapsed)),
        None => "after".to_owned(),
    }
}

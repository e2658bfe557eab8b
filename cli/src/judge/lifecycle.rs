//! The handshake of MCP up to 2025-11-25, and of ACP.

use std::time::Duration;

use super::case::{Call, Case, Place};
use super::dialect::INITIALIZE;
use super::rules::{Dialect, Revision, Rule};
use super::{Answer, Group, stateless};
use crate::protocol::{Hello, Protocols};
use crate::session::{Session, Side};
use crate::terminal::escape_start;

/// What may be sent at any time.
const ALWAYS: [&str; 2] = ["ping", "notifications/message"];

const INITIALIZED: &str = "notifications/initialized";

/// The versions of ACP.
const ACP_VERSIONS: [&str; 2] = ["1", "2"];

#[derive(Default)]
pub(super) struct Lifecycle {
    stage: Stage,
    /// The first message before the handshake, which may not have been known to have one.
    early: Option<(Place, String)>,
    /// Whether `notifications/initialized` was sent.
    is_initialized: bool,
    /// Which rules have been broken: each is reported once.
    reported: Vec<(Rule, Side)>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Start,
    Asked,
    Answered,
}

impl Group for Lifecycle {
    fn call(&mut self, call: &Call<'_>, case: &mut Case) {
        let Call { place, method, .. } = *call;
        if method == INITIALIZE && call.is_request() && case.is_dialect_certain {
            return self.initialize(call, case);
        }
        let is_cancellation = Protocols::ANY.cancelled_id(method, call.params).is_some();
        if case.dialect.is_stateless() || ALWAYS.contains(&method) || is_cancellation {
            return;
        }
        match (self.stage, place.from) {
            (Stage::Start, _) => {
                self.early.get_or_insert_with(|| (place, call.name()));
            }
            (_, Side::Client) if method == INITIALIZED => self.is_initialized = true,
            (Stage::Asked, Side::Client) if call.is_request() => {
                let what = format!("{} was sent before the answer to `initialize`", call.name());
                self.report(Rule::BeforeInitialized, place, what, case);
            }
            (Stage::Answered, Side::Client) if !self.is_initialized => {
                let what = format!("{} was sent without `{INITIALIZED}` before it", call.name());
                self.report(Rule::MissingInitialized, place, what, case);
            }
            (_, Side::Server) if !self.is_initialized && call.is_request() => {
                let what = format!("{} was sent before `{INITIALIZED}`", call.name());
                self.report(Rule::BeforeInitialized, place, what, case);
            }
            _ => {}
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, case: &mut Case) {
        if answer.to(INITIALIZE).is_none() {
            return;
        }
        let Some(result) = answer.response.result() else {
            // The client may try again.
            self.stage = Stage::Start;
            return;
        };
        self.stage = Stage::Answered;
        if let Some(hello) = Protocols::ANY.answer(INITIALIZE, &result) {
            self.judge_version("accepts", &hello, answer.place, case);
        }
    }

    fn end(&mut self, _: &Session, _: Option<Duration>, case: &mut Case) {
        if let (Stage::Start, Some((place, name))) = (self.stage, self.early.take())
            && !case.dialect.is_stateless()
        {
            case.find(Rule::BeforeInitialize, place, format!("{name} was sent without `initialize` before it"));
        }
    }
}

impl Lifecycle {
    fn initialize(&mut self, call: &Call<'_>, case: &mut Case) {
        if self.stage != Stage::Start {
            case.find(Rule::SecondInitialize, call.place, format!("{} was sent once more", call.name()));
            return;
        }
        self.stage = Stage::Asked;
        if let Some((place, name)) = self.early.take() {
            case.find(Rule::BeforeInitialize, place, format!("{name} was sent before `initialize`"));
        }
        if let Some(hello) = Protocols::ANY.offer(INITIALIZE, call.params) {
            self.judge_version("offers", &hello, call.place, case);
        }
    }

    fn judge_version(&mut self, verb: &str, hello: &Hello, place: Place, case: &mut Case) {
        let is_known = match case.dialect {
            Dialect::Acp => ACP_VERSIONS.contains(&&*hello.version),
            _ => Revision::from_name(&hello.version).is_some(),
        };
        if !is_known {
            let version = escape_start(hello.version.as_bytes(), stateless::VERSION_COLUMNS);
            let what = format!("the {} {verb} {} {version}, which is unknown", place.from.name(), hello.protocol);
            self.report(Rule::UnknownVersion, place, what, case);
        }
    }

    fn report(&mut self, rule: Rule, place: Place, evidence: String, case: &mut Case) {
        if !self.reported.contains(&(rule, place.from)) {
            self.reported.push((rule, place.from));
            case.find(rule, place, evidence);
        }
    }
}

/// Whether a method belongs to a handshake, which a client may still try.
pub(super) fn is_handshake_method(method: &str) -> bool {
    method == INITIALIZE
}

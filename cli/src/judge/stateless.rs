//! MCP 2026-07-28: each request says which revision it is, and only the client sends requests.

use wireline::RawJson;

use super::case::{Asked, Call, Case, Members, Place, select, text};
use super::lifecycle::is_handshake_method;
use super::rules::{Revision, Rule};
use super::{Answer, Group};
use crate::session::Side;
use crate::terminal::escape_start;

pub(super) const DISCOVER: &str = "server/discover";

/// The width that a version is cut to.
pub(super) const VERSION_COLUMNS: usize = 20;

/// What an `input_required` result may ask the client for, and the capability that this needs.
const INPUTS: [(&str, &str); 3] =
    [("sampling/createMessage", "sampling"), ("elicitation/create", "elicitation"), ("roots/list", "roots")];

/// The methods that may be answered so.
const INTERRUPTIBLE: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

const REMOVED: [&str; 6] = [
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "notifications/roots/list_changed",
    "notifications/initialized",
];

/// The codes that MCP defines, the range that it reserves, those of earlier revisions, and those of implementations.
const DEFINED_CODES: [i64; 3] = [-32020, -32021, -32022];
const RESERVED_CODES: std::ops::RangeInclusive<i64> = -32099..=-32020;
const FORMER_CODES: [i64; 2] = [-32002, -32042];
const LEGACY_CODES: std::ops::RangeInclusive<i64> = -32019..=-32000;

/// How many supported versions are kept.
const MAX_VERSIONS: usize = 32;

#[derive(Default)]
pub(super) struct Stateless {
    /// What `server/discover` has named.
    supported: Option<Vec<String>>,
}

/// What the client can be asked for while a request is pending, in the order of [`INPUTS`].
pub(super) fn inputs(call: &Call<'_>) -> [bool; 3] {
    let Some(capabilities) = &call.members.capabilities else { return [false; 3] };
    select(capabilities, INPUTS.map(|(_, capability)| capability)).map(|capability| capability.is_some())
}

impl Group for Stateless {
    fn call(&mut self, call: &Call<'_>, case: &mut Case) {
        if !case.dialect.is_stateless() || is_handshake_method(call.method) {
            return;
        }
        match call.place.from {
            Side::Server if call.is_request() => {
                case.find(Rule::ServerRequest, call.place, format!("the server sent {}", call.name()));
            }
            Side::Server => {}
            Side::Client => self.judge_client(call, case),
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, case: &mut Case) {
        if !case.dialect.is_stateless() {
            return;
        }
        let place = answer.place;
        if place.from == Side::Client {
            case.find(Rule::ClientResponse, place, format!("the client answered {}", answer.name()));
            return;
        }
        let Some(asked) = answer.asked.filter(|asked| asked.dialect.is_stateless()) else { return };
        if let Some(error) = answer.response.error() {
            judge_code(error.code(), asked, place, case);
        } else if let Some(result) = answer.response.result() {
            judge_result(&result, asked, place, case);
            if &*asked.method == DISCOVER {
                let versions = result.pointer("/supportedVersions");
                let versions: Option<Vec<String>> = versions.and_then(|versions| versions.deserialize().ok());
                self.supported = versions.filter(|versions| versions.len() <= MAX_VERSIONS);
            }
        }
    }
}

impl Stateless {
    fn judge_client(&self, call: &Call<'_>, case: &mut Case) {
        let place = call.place;
        if REMOVED.contains(&call.method) {
            case.find(Rule::RemovedMethod, place, format!("{} is not part of this revision", call.name()));
            return;
        }
        if !call.is_request() {
            return;
        }
        let Members { version, capabilities, .. } = &call.members;
        let needed = [(version, "protocolVersion"), (capabilities, "clientCapabilities")];
        let missing = needed.into_iter().filter(|(value, _)| value.is_none());
        let missing: Vec<&str> = missing.map(|(_, name)| name).collect();
        if !missing.is_empty() {
            let what = format!("{}: `_meta` has no {}", call.name(), missing.join(" and no "));
            case.find(Rule::MissingMeta, place, what);
        }
        let Some(version) = text(version) else { return };
        let displayed = escape_start(version.as_bytes(), VERSION_COLUMNS);
        if Revision::from_name(&version).is_none() {
            case.find(Rule::UnknownVersion, place, format!("{}: MCP {displayed} is unknown", call.name()));
        } else if self.supported.as_ref().is_some_and(|supported| !supported.iter().any(|one| *one == version)) {
            let what = format!("{}: the server doesn't support MCP {displayed}", call.name());
            case.find(Rule::UnsupportedVersion, place, what);
        }
    }
}

fn judge_code(code: i64, asked: &Asked, place: Place, case: &mut Case) {
    let what = format!("{} was answered with code {code}", asked.name);
    if FORMER_CODES.contains(&code) || RESERVED_CODES.contains(&code) && !DEFINED_CODES.contains(&code) {
        case.find(Rule::ReservedErrorCode, place, what);
    } else if LEGACY_CODES.contains(&code) {
        case.find(Rule::LegacyErrorCode, place, what);
    }
}

fn judge_result(result: &RawJson<'_>, asked: &Asked, place: Place, case: &mut Case) {
    match text(&result.pointer("/resultType")).as_deref() {
        None => case.find(Rule::MissingResultType, place, format!("the result of {} has none", asked.name)),
        Some("complete") => {}
        Some("input_required") => judge_input_required(result, asked, place, case),
        Some(other) => {
            let other = escape_start(other.as_bytes(), VERSION_COLUMNS);
            case.find(Rule::UnknownResultType, place, format!("the result of {} is `{other}`", asked.name));
        }
    }
}

fn judge_input_required(result: &RawJson<'_>, asked: &Asked, place: Place, case: &mut Case) {
    if !INTERRUPTIBLE.contains(&&*asked.method) {
        case.find(Rule::InvalidInputRequired, place, format!("{} can't require input", asked.name));
        return;
    }
    let requests = result.pointer("/inputRequests");
    if requests.is_none() && result.pointer("/requestState").is_none() {
        let what = format!("the result of {} has neither `inputRequests` nor `requestState`", asked.name);
        case.find(Rule::InvalidInputRequired, place, what);
    }
    #[derive(serde::Deserialize)]
    struct Input {
        method: String,
    }
    let requests: Option<std::collections::BTreeMap<String, Input>> = requests.and_then(|it| it.deserialize().ok());
    for (index, (method, capability)) in INPUTS.iter().enumerate() {
        let is_asked = requests.iter().flatten().any(|(_, input)| input.method == *method);
        if is_asked && !asked.inputs[index] {
            let what = format!("{}: the client hasn't declared `{capability}` for {method}", asked.name);
            case.find(Rule::PeerCapability, place, what);
        }
    }
}

//! Each side uses only what its peer has declared, and declares what it uses itself.

use wireline::RawJson;

use super::case::{Call, Case};
use super::dialect::INITIALIZE;
use super::rules::{Dialect, Revision, Rule};
use super::{Answer, Group, stateless};
use crate::session::Side::{self, Client, Server};

/// A method that needs a capability.
#[derive(Clone, Copy)]
struct Need {
    is_acp: bool,
    method: &'static str,
    /// Who calls it.
    from: Side,
    /// Who must have declared the capability.
    of: Side,
    /// Where it is among the capabilities.
    pointer: &'static str,
}

const fn mcp(method: &'static str, from: Side, of: Side, pointer: &'static str) -> Need {
    Need { is_acp: false, method, from, of, pointer }
}

const fn acp(method: &'static str, from: Side, pointer: &'static str) -> Need {
    let of = if matches!(from, Client) { Server } else { Client };
    Need { is_acp: true, method, from, of, pointer }
}

const NEEDS: [Need; 42] = [
    mcp("tools/list", Client, Server, "/tools"),
    mcp("tools/call", Client, Server, "/tools"),
    mcp("prompts/list", Client, Server, "/prompts"),
    mcp("prompts/get", Client, Server, "/prompts"),
    mcp("resources/list", Client, Server, "/resources"),
    mcp("resources/templates/list", Client, Server, "/resources"),
    mcp("resources/read", Client, Server, "/resources"),
    mcp("resources/subscribe", Client, Server, "/resources/subscribe"),
    mcp("resources/unsubscribe", Client, Server, "/resources/subscribe"),
    mcp("logging/setLevel", Client, Server, "/logging"),
    mcp("completion/complete", Client, Server, COMPLETIONS),
    mcp("tasks/get", Client, Server, "/tasks"),
    mcp("tasks/result", Client, Server, "/tasks"),
    mcp("tasks/list", Client, Server, "/tasks/list"),
    mcp("tasks/cancel", Client, Server, "/tasks/cancel"),
    mcp("tasks/get", Server, Client, "/tasks"),
    mcp("tasks/result", Server, Client, "/tasks"),
    mcp("tasks/list", Server, Client, "/tasks/list"),
    mcp("tasks/cancel", Server, Client, "/tasks/cancel"),
    mcp("sampling/createMessage", Server, Client, "/sampling"),
    mcp("elicitation/create", Server, Client, "/elicitation"),
    mcp("roots/list", Server, Client, "/roots"),
    mcp("notifications/roots/list_changed", Client, Client, "/roots/listChanged"),
    mcp("notifications/tools/list_changed", Server, Server, "/tools/listChanged"),
    mcp("notifications/prompts/list_changed", Server, Server, "/prompts/listChanged"),
    mcp("notifications/resources/list_changed", Server, Server, "/resources/listChanged"),
    mcp("notifications/resources/updated", Server, Server, "/resources/subscribe"),
    mcp("notifications/message", Server, Server, "/logging"),
    acp("fs/read_text_file", Server, "/fs/readTextFile"),
    acp("fs/write_text_file", Server, "/fs/writeTextFile"),
    acp("terminal/create", Server, "/terminal"),
    acp("terminal/output", Server, "/terminal"),
    acp("terminal/wait_for_exit", Server, "/terminal"),
    acp("terminal/kill", Server, "/terminal"),
    acp("terminal/release", Server, "/terminal"),
    acp("session/load", Client, "/loadSession"),
    acp("session/list", Client, "/sessionCapabilities/list"),
    acp("session/resume", Client, "/sessionCapabilities/resume"),
    acp("session/close", Client, "/sessionCapabilities/close"),
    acp("session/delete", Client, "/sessionCapabilities/delete"),
    acp("session/fork", Client, "/sessionCapabilities/fork"),
    acp("elicitation/create", Server, "/elicitation"),
];

/// There was no such capability before 2025-03-26.
const COMPLETIONS: &str = "/completions";

/// For each side, which of [`NEEDS`] it has declared. `None` if it has not declared anything yet.
#[derive(Default)]
pub(super) struct Capabilities {
    declared: [Option<[bool; NEEDS.len()]>; 2],
}

impl Group for Capabilities {
    fn call(&mut self, call: &Call<'_>, case: &mut Case) {
        if call.method == INITIALIZE {
            let name = if case.dialect == Dialect::Acp { "/clientCapabilities" } else { "/capabilities" };
            self.declared[Client as usize] = Some(declared(call.params, name));
            return;
        }
        if case.dialect == Dialect::JsonRpc {
            return;
        }
        let (from, is_acp) = (call.place.from, case.dialect == Dialect::Acp);
        let mut needs = NEEDS.iter().enumerate();
        let needed = needs.find(|(_, need)| need.from == from && need.is_acp == is_acp && need.method == call.method);
        let Some((index, need)) = needed else { return };
        if need.pointer == COMPLETIONS && case.dialect == Dialect::Mcp(Revision::V2024_11_05) {
            return;
        }
        if self.declared[need.of as usize].is_some_and(|declared| !declared[index]) {
            let rule = if need.of == from { Rule::OwnCapability } else { Rule::PeerCapability };
            let capability = need.pointer[1..].replace('/', ".");
            let what = format!("{}: the {} hasn't declared `{capability}`", call.name(), need.of.name());
            case.find(rule, call.place, what);
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, case: &mut Case) {
        let is_discovery = case.dialect.is_stateless() && answer.to(stateless::DISCOVER).is_some();
        if answer.to(INITIALIZE).is_none() && !is_discovery {
            return;
        }
        if let Some(result) = answer.response.result() {
            let name = if case.dialect == Dialect::Acp { "/agentCapabilities" } else { "/capabilities" };
            self.declared[Server as usize] = Some(declared(Some(&result), name));
        }
    }
}

fn declared(message: Option<&RawJson<'_>>, name: &str) -> [bool; NEEDS.len()] {
    let capabilities = message.and_then(|message| message.pointer(name));
    NEEDS.map(|need| {
        let value = capabilities.as_ref().and_then(|capabilities| capabilities.pointer(need.pointer));
        value.is_some_and(|value| !matches!(value.as_json(), "false" | "null"))
    })
}

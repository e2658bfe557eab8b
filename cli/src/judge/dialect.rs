//! Finds out what a session speaks: both MCP and ACP introduce themselves.

use super::case::{Call, Case};
use super::rules::{Dialect, Revision};
use super::{Answer, stateless};
use crate::protocol::Protocols;

/// The method of both handshakes.
pub(super) const INITIALIZE: &str = "initialize";

/// What `--rules` says. A session may say more.
pub(super) fn given(protocols: Protocols) -> Dialect {
    let mut names = protocols.names();
    match (names.next(), names.next()) {
        (Some("MCP"), None) => Dialect::Mcp(Revision::LAST_HANDSHAKE),
        (Some("ACP"), None) => Dialect::Acp,
        _ => Dialect::JsonRpc,
    }
}

/// Looks at a handshake, or at what takes its place.
pub(super) fn detect_in_call(call: &Call<'_>, case: &mut Case) {
    if call.id.is_none() {
        return;
    }
    if call.method == INITIALIZE {
        let Some(hello) = Protocols::ANY.offer(call.method, call.params) else { return };
        // An offer of a revision without a handshake, or of an unknown one, is judged as the last one with a handshake.
        let revision = Revision::from_name(&hello.version).filter(|revision| !revision.is_stateless());
        settle(case, hello.protocol, revision.unwrap_or(Revision::LAST_HANDSHAKE));
    } else if !has_handshake(case) && (call.method == stateless::DISCOVER || call.members.version.is_some()) {
        settle(case, "MCP", Revision::V2026_07_28);
    }
}

/// Looks at the answer to a handshake.
pub(super) fn detect_in_answer(answer: &Answer<'_>, case: &mut Case) {
    if answer.to(INITIALIZE).is_none() {
        return;
    }
    let Some(result) = answer.response.result() else { return };
    let Some(hello) = Protocols::ANY.answer(INITIALIZE, &result) else { return };
    let revision = Revision::from_name(&hello.version).filter(|revision| !revision.is_stateless());
    settle(case, hello.protocol, revision.unwrap_or(Revision::LAST_HANDSHAKE));
}

fn has_handshake(case: &Case) -> bool {
    case.is_dialect_certain && !case.dialect.is_stateless()
}

fn settle(case: &mut Case, protocol: &str, revision: Revision) {
    if case.permits(protocol) {
        case.dialect = if protocol == "MCP" { Dialect::Mcp(revision) } else { Dialect::Acp };
        case.is_dialect_certain = true;
    }
}

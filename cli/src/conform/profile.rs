//! What is known about a server: what it speaks, and what may be called.

use super::args::{Probe, ToolCall};
use crate::rules_args::Dialect;

/// The start of the names of methods that don't exist. Under ACP, an underscore comes first, as in all extensions.
pub(super) const UNKNOWN: &str = "wireline/";

/// The revision of MCP without a handshake.
pub(super) const STATELESS: &str = "2026-07-28";

/// The revision that is asked for in a handshake.
pub(super) const NEWEST_HANDSHAKE: &str = "2025-11-25";

#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) dialect: Dialect,
    pub(super) era: Era,
    /// Whether batches must be processed.
    pub(super) has_batches: bool,
    /// The method of most requests.
    pub(super) probe: Probe,
    /// Whether the probe is a method that the server knows.
    pub(super) probe_is_known: bool,
    /// Calls of tools that may be made.
    pub(super) calls: Vec<ToolCall>,
    /// The tools that may be called with any arguments.
    pub(super) callable: Vec<String>,
    /// Whether the server knows the methods for tools (MCP).
    pub(super) has_tools: bool,
}

/// How both sides agree on what they speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// Nothing is agreed on.
    None,
    /// MCP up to 2025-11-25: by `initialize`, which led to this revision.
    Initialized(String),
    /// MCP from 2026-07-28 on: every request says it.
    Stateless,
    /// ACP: by `initialize`, too.
    Acp,
}

impl Profile {
    pub(super) fn new(dialect: Dialect, era: Era, probe: Option<Probe>) -> Self {
        let (probe_is_known, probe) = match (&era, probe) {
            (_, Some(probe)) => (true, probe),
            (Era::Initialized(_), None) => (true, Probe { method: "ping".to_owned(), params: None }),
            (Era::Stateless, None) => (true, Probe { method: "server/discover".to_owned(), params: None }),
            (Era::None | Era::Acp, None) => (false, Probe { method: unknown(dialect, "probe"), params: None }),
        };
        let has_batches = match &era {
            Era::Initialized(revision) => revision == "2025-03-26",
            _ => dialect == Dialect::JsonRpc,
        };
        Self {
            dialect,
            era,
            has_batches,
            probe,
            probe_is_known,
            calls: Vec::new(),
            callable: Vec::new(),
            has_tools: dialect == Dialect::Mcp,
        }
    }

    /// What the server speaks, for people.
    pub(super) fn protocol(&self) -> String {
        match &self.era {
            Era::Initialized(revision) => format!("MCP {revision}"),
            Era::Stateless => format!("MCP {STATELESS}"),
            Era::Acp => "ACP".to_owned(),
            Era::None => "JSON-RPC 2.0".to_owned(),
        }
    }

    /// A request that any server answers. `id` is JSON.
    pub(super) fn request(&self, id: &str) -> String {
        match &self.probe.params {
            // As the user wrote them, unless something is missing.
            Some(params) if self.era != Era::Stateless => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{params}}}"#, quoted(&self.probe.method))
            }
            Some(params) => self.request_of(id, &self.probe.method, params[1..params.len() - 1].trim()),
            None => self.request_of(id, &self.probe.method, ""),
        }
    }

    /// A request with these members of params. `id` and `members` are JSON.
    pub(super) fn request_of(&self, id: &str, method: &str, members: &str) -> String {
        let method = quoted(method);
        match self.params(members) {
            Some(params) => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#),
            None => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}}}"#),
        }
    }

    /// A request with a text that the server doesn't look at. `note` is JSON.
    pub(super) fn request_with_note(&self, id: &str, note: &str) -> String {
        // Params of a user's method may be checked, those of a method that doesn't exist are not.
        let is_ours = self.probe.params.is_none() && (self.dialect == Dialect::Mcp || !self.probe_is_known);
        let method = if is_ours { self.probe.method.clone() } else { self.unknown("noted") };
        let meta = match self.era {
            Era::Stateless => format!(r#""_meta":{{{STATELESS_META},"note":{note}}}"#),
            _ => format!(r#""_meta":{{"note":{note}}}"#),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{{{meta}}}}}"#, quoted(&method))
    }

    /// A call of a tool.
    pub(super) fn call(&self, id: &str, tool: &str, arguments: &str) -> String {
        self.request_of(id, "tools/call", &format!(r#""name":{},"arguments":{arguments}"#, quoted(tool)))
    }

    /// The name of a method that doesn't exist.
    pub(super) fn unknown(&self, name: &str) -> String {
        unknown(self.dialect, name)
    }

    /// Params of these members, and what the revision wants in addition.
    fn params(&self, members: &str) -> Option<String> {
        match (&self.era, members) {
            (Era::Stateless, "") => Some(format!(r#"{{"_meta":{{{STATELESS_META}}}}}"#)),
            (Era::Stateless, members) => Some(format!(r#"{{{members},"_meta":{{{STATELESS_META}}}}}"#)),
            (_, "") => None,
            (_, members) => Some(format!("{{{members}}}")),
        }
    }

    /// A profile without a server.
    #[cfg(test)]
    pub(super) fn plain(dialect: Dialect) -> Self {
        let era = match dialect {
            Dialect::JsonRpc => Era::None,
            Dialect::Mcp => Era::Initialized(NEWEST_HANDSHAKE.to_owned()),
            Dialect::Acp => Era::Acp,
        };
        Self::new(dialect, era, None)
    }
}

/// What each request says in the revision without a handshake.
pub(super) const STATELESS_META: &str =
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

fn unknown(dialect: Dialect, name: &str) -> String {
    let extension = if dialect == Dialect::Acp { "_" } else { "" };
    format!("{extension}{UNKNOWN}{name}")
}

/// A string as JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

//! The methods of the server, for each protocol.

mod acp;
mod json_rpc;
mod mcp;

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use wireline::connection::Peer;
use wireline::{Notification, RawJson, Request, RpcError};

pub(super) use self::acp::ACP;
pub(super) use self::json_rpc::JSON_RPC;
pub(super) use self::mcp::MCP;

/// The methods of one protocol.
#[derive(Debug)]
pub(super) struct Service {
    /// The methods of the handshake, which no misbehaviour touches, so that everything after it can be tested.
    pub(super) handshake: &'static [&'static str],
    pub(super) answer: fn(&Request<'_>, &Peer<()>) -> Answer,
    /// What a notification ends: the answers with this key get this result at once.
    pub(super) ended_by: fn(&Notification<'_>) -> Option<(String, Value)>,
    /// A request to the client, and a notification, that every client of the protocol can handle.
    pub(super) request: (&'static str, &'static str),
    pub(super) notification: &'static str,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) enum Answer {
    Now(Result<Value, RpcError>),
    /// Unless the request is cancelled before.
    After {
        delay: Duration,
        result: Value,
        key: Option<String>,
    },
}

/// The longest that a slow method takes.
const MAX_DELAY_MS: u64 = 60_000;

/// An answer after `ms` milliseconds, or after a minute.
fn slowly(ms: Option<u64>, result: Value) -> Answer {
    Answer::After { delay: Duration::from_millis(ms.unwrap_or(MAX_DELAY_MS).min(MAX_DELAY_MS)), result, key: None }
}

/// The value at `pointer`, if it is a `T`.
fn at<T: DeserializeOwned>(params: Option<&RawJson<'_>>, pointer: &str) -> Option<T> {
    params?.pointer(pointer)?.deserialize().ok()
}

fn expected<T>(value: Option<T>, what: &'static str) -> Result<T, RpcError> {
    value.ok_or_else(|| RpcError::invalid_params(what))
}

//! A small MCP server, for clients that start with `initialize` and for those that name the revision in each request.

use serde_json::{Map, Value, json};
use wireline::connection::Peer;
use wireline::{RawJson, Request, RpcError};

use super::{Answer, Service, at, expected, slowly};

pub(in crate::misbehave) const MCP: Service = Service {
    handshake: &["initialize", "server/discover"],
    answer,
    ended_by: |_| None,
    request: ("ping", "{}"),
    notification: r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
};

const WITH_HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Each request names it, so there is no handshake.
const WITHOUT_HANDSHAKE: &str = "2026-07-28";

/// The error code of [`WITHOUT_HANDSHAKE`] for another version.
const UNSUPPORTED_VERSION: i64 = -32022;

const VERSION: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";
const CAPABILITIES: &str = "/_meta/io.modelcontextprotocol~1clientCapabilities";

fn answer(request: &Request<'_>, _: &Peer<()>) -> Answer {
    let params = request.params();
    let params = params.as_ref();
    let method = request.method();
    match names_revision(params) {
        Err(error) => Answer::Now(Err(error)),
        Ok(false) => match &*method {
            "initialize" => Answer::Now(initialize(params)),
            "ping" => Answer::Now(Ok(json!({}))),
            "tools/list" => Answer::Now(Ok(json!({ "tools": tools() }))),
            "tools/call" => call(params),
            "server/discover" => Answer::Now(Err(RpcError::invalid_params("expected _meta with a protocol version"))),
            _ => Answer::Now(Err(RpcError::method_not_found())),
        },
        Ok(true) => match &*method {
            "server/discover" => Answer::Now(Ok(cacheable(
                json!({ "supportedVersions": [WITHOUT_HANDSHAKE], "capabilities": { "tools": {} } }),
            ))),
            "tools/list" => Answer::Now(Ok(cacheable(json!({ "tools": tools() })))),
            "tools/call" => complete(call(params)),
            _ => Answer::Now(Err(RpcError::method_not_found())),
        },
    }
}

/// Whether a request names [`WITHOUT_HANDSHAKE`] as its revision.
fn names_revision(params: Option<&RawJson<'_>>) -> Result<bool, RpcError> {
    let Some(version) = params.and_then(|params| params.pointer(VERSION)) else { return Ok(false) };
    let version: String = expected(version.deserialize().ok(), "expected a string as the protocol version")?;
    if WITH_HANDSHAKE.contains(&version.as_str()) {
        return Ok(false);
    }
    if version != WITHOUT_HANDSHAKE {
        let mut supported = WITH_HANDSHAKE.to_vec();
        supported.push(WITHOUT_HANDSHAKE);
        let error = RpcError::new(UNSUPPORTED_VERSION, "unsupported protocol version");
        return Err(error
            .with_data(&json!({ "supported": supported, "requested": version }))
            .unwrap_or_else(|_| RpcError::internal()));
    }
    expected(at::<Map<String, Value>>(params, CAPABILITIES), "expected an object as the client's capabilities")?;
    Ok(true)
}

fn initialize(params: Option<&RawJson<'_>>) -> Result<Value, RpcError> {
    let asked: String = expected(at(params, "/protocolVersion"), "expected protocolVersion, a string")?;
    let version = WITH_HANDSHAKE.into_iter().find(|version| *version == asked).unwrap_or(WITH_HANDSHAKE[3]);
    Ok(json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": server_info() }))
}

fn server_info() -> Value {
    json!({ "name": "wireline-misbehave", "version": env!("CARGO_PKG_VERSION") })
}

/// All tools are read-only, so a client may call them as often as it likes.
fn tools() -> Value {
    let tool = |name, description, properties: Value, required: &[&str]| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
            "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false },
        })
    };
    json!([
        tool("echo", "Returns the text", json!({ "text": { "type": "string" } }), &["text"]),
        tool("add", "Adds two numbers", json!({ "a": { "type": "number" }, "b": { "type": "number" } }), &["a", "b"]),
        tool("slow", "Returns after some milliseconds", json!({ "ms": { "type": "integer", "minimum": 0 } }), &["ms"]),
    ])
}

fn call(params: Option<&RawJson<'_>>) -> Answer {
    let text = |text: String| json!({ "content": [{ "type": "text", "text": text }] });
    let name = at::<String>(params, "/name");
    Answer::Now(match name.as_deref() {
        Some("echo") => expected(at(params, "/arguments/text"), "echo: expected text, a string").map(text),
        Some("add") => {
            let number = |pointer| expected(at::<f64>(params, pointer), "add: expected a and b, two numbers");
            number("/arguments/a").and_then(|a| Ok(text((a + number("/arguments/b")?).to_string())))
        }
        Some("slow") => match at(params, "/arguments/ms") {
            Some(ms) => return slowly(Some(ms), text("done".to_owned())),
            None => Err(RpcError::invalid_params("slow: expected ms, an integer")),
        },
        Some(_) => Err(RpcError::invalid_params("unknown tool: expected echo, add or slow")),
        None => Err(RpcError::invalid_params("expected name, a string")),
    })
}

/// Marks a result as the revision without a handshake wants it.
fn complete(answer: Answer) -> Answer {
    match answer {
        Answer::Now(result) => Answer::Now(result.map(completed)),
        Answer::After { delay, result, key } => Answer::After { delay, result: completed(result), key },
    }
}

fn completed(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": server_info() });
    result
}

/// A complete result that stays the same while the server runs.
fn cacheable(result: Value) -> Value {
    let mut result = completed(result);
    result["ttlMs"] = json!(3_600_000);
    result["cacheScope"] = json!("public");
    result
}

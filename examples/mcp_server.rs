//! A Model Context Protocol server on stdin and stdout with two tools, `echo` and `add`.
//!
//! ```console
//! $ cargo build --release --features stdio --example mcp_server
//! $ npx @modelcontextprotocol/inspector target/release/examples/mcp_server
//! ```
//!
//! It supports clients that start with an `initialize` handshake (revisions 2024-11-05 to 2025-11-25) and clients that
//! name the revision in each request (2026-07-28). It keeps no state for either.
//!
//! This file contains only the methods. The library handles malformed lines, batches and ids of any kind, makes sure
//! that each request gets exactly one answer, and keeps everything else off stdout.

use std::io::{ErrorKind, stdin};
use std::process::ExitCode;

use serde::de::DeserializeOwned;
use serde_json::{Number, Value, json};
use wireline::connection::Call;
use wireline::io::serve;
use wireline::{RawJson, RpcError, Rules, stdio};

const HELP: &str = "\
A Model Context Protocol server on stdin and stdout

Usage: mcp_server [--rules RULES]

Options:
      --rules RULES  The rules for messages [default: mcp]. With mcp, an id is a string or an integer, and bad lines
                     without an id are not answered; json-rpc is JSON-RPC 2.0 to the letter
  -h, --help         Print help
";

/// Revisions that start with an `initialize` handshake, the oldest first.
const HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The revision without a handshake: each request names its version in `_meta`.
const STATELESS: &str = "2026-07-28";

/// The error code of [`STATELESS`] for an unsupported version. The error's data lists the supported ones.
const UNSUPPORTED_VERSION: i64 = -32022;

fn main() -> std::io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rules = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // Revision 2025-03-26 has batches; clients of other revisions don't send any.
        [] | ["--rules", "mcp"] => Rules::mcp().batches(true),
        ["--rules", "json-rpc"] => Rules::json_rpc(),
        ["-h" | "--help"] => {
            print!("{HELP}");
            return Ok(ExitCode::SUCCESS);
        }
        _ => {
            eprint!("{HELP}");
            return Ok(ExitCode::from(2));
        }
    };

    let stdout = stdio::claim()?;
    // Without the claim, the client would receive this line as a message.
    println!("mcp_server: printed to stdout, redirected to stderr");

    match serve(stdin().lock(), stdout, rules, answer) {
        // The client disconnected without reading all answers, which is not an error.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        served => served.map(|()| ExitCode::SUCCESS),
    }
}

/// The result of a request, or an error.
fn answer(call: Call<'_>) -> Result<Value, RpcError> {
    if call.id().is_none() {
        // Notifications (`notifications/initialized`, `notifications/cancelled`) need no action.
        return Ok(Value::Null);
    }
    let params = call.raw_params();
    let params = params.as_ref();
    match era(params)? {
        Era::Handshake => match call.method() {
            "initialize" => initialize(params),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": tools() })),
            "tools/call" => call_tool(params),
            // A method of the stateless revision in a request that doesn't name that revision.
            "server/discover" => {
                Err(RpcError::invalid_params("expected _meta with io.modelcontextprotocol/protocolVersion"))
            }
            _ => Err(RpcError::method_not_found()),
        },
        Era::Stateless => match call.method() {
            "server/discover" => {
                Ok(cacheable(json!({ "supportedVersions": [STATELESS], "capabilities": capabilities() })))
            }
            "tools/list" => Ok(cacheable(json!({ "tools": tools() }))),
            "tools/call" => call_tool(params),
            _ => Err(RpcError::method_not_found()),
        }
        .map(complete),
    }
}

/// How the client and the server agree on a revision.
enum Era {
    /// Once, by `initialize`.
    Handshake,
    /// In each request.
    Stateless,
}

fn era(params: Option<&RawJson<'_>>) -> Result<Era, RpcError> {
    let meta = params.and_then(|params| params.pointer("/_meta"));
    let meta = meta.as_ref();
    let Some(version) = meta.and_then(|meta| meta.pointer("/io.modelcontextprotocol~1protocolVersion")) else {
        return Ok(Era::Handshake);
    };
    let version: String = version
        .deserialize()
        .map_err(|_| RpcError::invalid_params("expected a string as io.modelcontextprotocol/protocolVersion"))?;
    if version == STATELESS {
        find::<serde_json::Map<_, _>>(meta, "/io.modelcontextprotocol~1clientCapabilities")
            .map(|_| Era::Stateless)
            .ok_or_else(|| RpcError::invalid_params("expected an object as io.modelcontextprotocol/clientCapabilities"))
    } else if HANDSHAKE.contains(&version.as_str()) {
        Ok(Era::Handshake)
    } else {
        let mut supported = HANDSHAKE.to_vec();
        supported.push(STATELESS);
        RpcError::new(UNSUPPORTED_VERSION, "unsupported protocol version")
            .with_data(&json!({ "supported": supported, "requested": version }))
            .map_or_else(|_| Err(RpcError::internal()), Err)
    }
}

fn initialize(params: Option<&RawJson<'_>>) -> Result<Value, RpcError> {
    let asked_for: String = find(params, "/protocolVersion")
        .ok_or_else(|| RpcError::invalid_params("expected protocolVersion, a string"))?;
    // The requested version, or else the newest, which the client can accept or reject.
    let version = HANDSHAKE.into_iter().find(|version| *version == asked_for).unwrap_or(HANDSHAKE[3]);
    Ok(json!({ "protocolVersion": version, "capabilities": capabilities(), "serverInfo": server_info() }))
}

fn capabilities() -> Value {
    json!({ "tools": {} })
}

fn server_info() -> Value {
    json!({ "name": "wireline-example", "version": env!("CARGO_PKG_VERSION") })
}

fn tools() -> Value {
    json!([
        {
            "name": "echo",
            "description": "Returns the given text",
            "inputSchema": {
                "type": "object",
                "properties": { "text": { "type": "string", "description": "The text to return" } },
                "required": ["text"],
            },
        },
        {
            "name": "add",
            "description": "Adds two numbers",
            "inputSchema": {
                "type": "object",
                "properties": { "a": { "type": "number" }, "b": { "type": "number" } },
                "required": ["a", "b"],
            },
            "outputSchema": {
                "type": "object",
                "properties": { "sum": { "type": "number" } },
                "required": ["sum"],
            },
        },
    ])
}

/// Calls a tool. An unknown tool or invalid arguments are a protocol error; a tool that fails returns a result with
/// `isError`, for the model to read.
fn call_tool(params: Option<&RawJson<'_>>) -> Result<Value, RpcError> {
    let name: String = find(params, "/name").ok_or_else(|| RpcError::invalid_params("expected name, a string"))?;
    match name.as_str() {
        "echo" => {
            let text: String = find(params, "/arguments/text")
                .ok_or_else(|| RpcError::invalid_params("echo: expected text, a string"))?;
            Ok(json!({ "content": [{ "type": "text", "text": text }] }))
        }
        "add" => {
            let number = |pointer| {
                find(params, pointer).ok_or_else(|| RpcError::invalid_params("add: expected a and b, two numbers"))
            };
            Ok(match sum(&number("/arguments/a")?, &number("/arguments/b")?) {
                Some(sum) => json!({
                    "content": [{ "type": "text", "text": sum.to_string() }],
                    "structuredContent": { "sum": sum },
                }),
                None => json!({
                    "content": [{ "type": "text", "text": "the sum is too large for a number" }],
                    "isError": true,
                }),
            })
        }
        _ => Err(RpcError::invalid_params("unknown tool: expected echo or add")),
    }
}

/// The sum, as an integer if both numbers are integers and the sum fits; `None` if it isn't finite.
fn sum(a: &Number, b: &Number) -> Option<Number> {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) if a.checked_add(b).is_some() => Some(Number::from(a + b)),
        _ => Number::from_f64(a.as_f64()? + b.as_f64()?),
    }
}

/// The value at `pointer`, if it exists and is a `T`. Nothing else is decoded.
fn find<T: DeserializeOwned>(value: Option<&RawJson<'_>>, pointer: &str) -> Option<T> {
    value?.pointer(pointer)?.deserialize().ok()
}

/// Marks a stateless result as final, and adds which server returned it.
fn complete(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": server_info() });
    result
}

/// Adds how long a stateless result may be cached. These results don't change while the server runs.
fn cacheable(mut result: Value) -> Value {
    result["ttlMs"] = json!(3_600_000);
    result["cacheScope"] = json!("public");
    result
}

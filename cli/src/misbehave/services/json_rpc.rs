//! A plain JSON-RPC 2.0 server.

use serde_json::{Value, json};
use wireline::connection::Peer;
use wireline::{RawJson, Request, RpcError};

use super::{Answer, Service, at, expected, slowly};

pub(in crate::misbehave) const JSON_RPC: Service = Service {
    handshake: &[],
    answer,
    ended_by: |_| None,
    request: ("ping", "{}"),
    notification: r#"{"jsonrpc":"2.0","method":"log","params":{"message":"working"}}"#,
};

fn answer(request: &Request<'_>, _: &Peer<()>) -> Answer {
    let params = request.params();
    let params = params.as_ref();
    match &*request.method() {
        "ping" => Answer::Now(Ok(json!({}))),
        "echo" => Answer::Now(echo(params)),
        "add" => Answer::Now(add(params)),
        "slow" => slowly(at(params, "/ms").or_else(|| at(params, "/0")), json!({ "done": true })),
        _ => Answer::Now(Err(RpcError::method_not_found())),
    }
}

fn echo(params: Option<&RawJson<'_>>) -> Result<Value, RpcError> {
    expected(params.and_then(|params| params.deserialize().ok()), "echo: expected params")
}

fn add(params: Option<&RawJson<'_>>) -> Result<Value, RpcError> {
    let number = |name, index| {
        expected(at::<f64>(params, name).or_else(|| at(params, index)), "add: expected a and b, two numbers")
    };
    Ok(json!({ "sum": number("/a", "/0")? + number("/b", "/1")? }))
}

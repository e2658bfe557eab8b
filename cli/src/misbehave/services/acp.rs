//! A small ACP agent: it repeats prompts, and thinks about those that start with `slow` until they are cancelled.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use wireline::connection::Peer;
use wireline::{Notification, RawJson, Request, RpcError};

use super::{Answer, Service, at, expected, slowly};

pub(in crate::misbehave) const ACP: Service = Service {
    handshake: &["initialize", "session/new"],
    answer,
    ended_by,
    request: ("session/request_permission", REQUEST_PERMISSION),
    notification: concat!(
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":"#,
        r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"thinking"}}}}"#
    ),
};

const REQUEST_PERMISSION: &str = concat!(
    r#"{"sessionId":"session-1","toolCall":{"toolCallId":"call-1"},"#,
    r#""options":[{"optionId":"allow","name":"Allow","kind":"allow_once"}]}"#
);

static SESSIONS: AtomicU64 = AtomicU64::new(0);

fn answer(request: &Request<'_>, client: &Peer<()>) -> Answer {
    let params = request.params();
    let params = params.as_ref();
    match &*request.method() {
        "initialize" => Answer::Now(initialize(params)),
        "authenticate" => Answer::Now(Ok(json!({}))),
        "session/new" => Answer::Now(expected(at::<String>(params, "/cwd"), "expected cwd, a string").map(|_| {
            let number = SESSIONS.fetch_add(1, Ordering::Relaxed) + 1;
            json!({ "sessionId": format!("session-{number}") })
        })),
        "session/prompt" => prompt(params, client).unwrap_or_else(|error| Answer::Now(Err(error))),
        _ => Answer::Now(Err(RpcError::method_not_found())),
    }
}

fn initialize(params: Option<&RawJson<'_>>) -> Result<Value, RpcError> {
    expected(at::<u64>(params, "/protocolVersion"), "expected protocolVersion, a number")?;
    Ok(json!({ "protocolVersion": 1, "agentCapabilities": { "loadSession": false }, "authMethods": [] }))
}

fn prompt(params: Option<&RawJson<'_>>, client: &Peer<()>) -> Result<Answer, RpcError> {
    let session: String = expected(at(params, "/sessionId"), "expected sessionId, a string")?;
    let blocks: Vec<Value> = expected(at(params, "/prompt"), "expected prompt, an array of content blocks")?;
    let text: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    if text.starts_with("slow") {
        let Answer::After { delay, result, .. } = slowly(None, json!({ "stopReason": "end_turn" })) else {
            return Err(RpcError::internal());
        };
        return Ok(Answer::After { delay, result, key: Some(session) });
    }
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
    // A client that doesn't read gets its answer, but not this.
    let _ = client.try_notify("session/update", &json!({ "sessionId": session, "update": update }));
    Ok(Answer::Now(Ok(json!({ "stopReason": "end_turn" }))))
}

fn ended_by(notification: &Notification<'_>) -> Option<(String, Value)> {
    if notification.method() != "session/cancel" {
        return None;
    }
    let session = at(notification.params().as_ref(), "/sessionId")?;
    Some((session, json!({ "stopReason": "cancelled" })))
}

//! From wireline's messages to the SDK's.

use std::sync::Arc;

use agent_client_protocol::{
    RawJsonRpcError, RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcNotification, RawJsonRpcParams, RawJsonRpcRequest,
    RawJsonRpcResponse,
};
use serde_json::Error;
use wireline::{Id, Notification, RawJson, Request, Response};

/// JSON-RPC's code for an internal error.
const INTERNAL: i32 = -32603;

/// `None` for an id that the SDK can't represent: an integer beyond 64 bits, or one that is spelled with a fraction or
/// an exponent.
pub(crate) fn to_sdk_id(id: &Id<'_>) -> Option<RawJsonRpcId> {
    if let Some(text) = id.as_str() {
        return Some(RawJsonRpcId::Str(text.into_owned()));
    }
    match id.is_null() {
        true => Some(RawJsonRpcId::Null),
        false => id.as_json().parse().ok().map(RawJsonRpcId::Number),
    }
}

pub(crate) fn from_sdk_id(id: &RawJsonRpcId) -> Id<'static> {
    match id {
        RawJsonRpcId::Null => Id::NULL,
        RawJsonRpcId::Number(number) => Id::from(*number),
        RawJsonRpcId::Str(text) => Id::from(text.as_str()),
    }
}

/// Decodes a request whose id is known. Fails if the params don't fit a `serde_json::Value`.
pub(crate) fn request(request: &Request<'_>, id: RawJsonRpcId) -> Result<RawJsonRpcMessage, Error> {
    let (method, params) = (Arc::from(request.method()), params(request.params())?);
    Ok(RawJsonRpcMessage::Request(RawJsonRpcRequest { id, method, params }))
}

/// Decodes a notification.
pub(crate) fn notification(notification: &Notification<'_>) -> Result<RawJsonRpcMessage, Error> {
    let (method, params) = (Arc::from(notification.method()), params(notification.params())?);
    Ok(RawJsonRpcMessage::Notification(RawJsonRpcNotification { method, params }))
}

fn params(params: Option<RawJson<'_>>) -> Result<Option<RawJsonRpcParams>, Error> {
    params.map(|params| params.deserialize()).transpose()
}

/// Decodes the response to the request with this id.
pub(crate) fn response(response: &Response<'_>, id: RawJsonRpcId) -> Result<RawJsonRpcMessage, (RawJsonRpcId, Error)> {
    let outcome = match response.outcome() {
        Ok(result) => result.deserialize().map(Ok),
        Err(error) => error.raw().deserialize().map(Err),
    };
    match outcome {
        Ok(outcome) => Ok(RawJsonRpcMessage::Response(RawJsonRpcResponse::new(id, outcome))),
        Err(error) => Err((id, error)),
    }
}

/// An error in place of a response that will not come.
pub(crate) fn failure(id: RawJsonRpcId, reason: impl Into<String>) -> RawJsonRpcMessage {
    let error = RawJsonRpcError::new(INTERNAL, reason);
    RawJsonRpcMessage::Response(RawJsonRpcResponse::new(id, Err(Box::new(error))))
}

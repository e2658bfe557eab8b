//! From wireline's messages to rmcp's.

use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, ServiceRole};
use serde_json::Error;
use wireline::{Id, Notification, Request, Response};

#[cfg(all(debug_assertions, not(test)))]
mod shared;

/// Decodes a request, and its id.
///
/// The outcome is that of rmcp's `Deserialize` for `JsonRpcMessage`, but that one buffers a message several times over:
/// once to try one kind after the other, and again to take the envelope off. Here both are known.
pub(crate) fn request<Role: ServiceRole>(request: &Request<'_>) -> Result<(RxJsonRpcMessage<Role>, RequestId), Error> {
    // rmcp's requests and notifications have `method` and `params`, and ignore the rest of the envelope.
    let (id, message) = (id(request.id())?, request.raw().deserialize()?);
    Ok((JsonRpcMessage::request(message, id.clone()), id))
}

/// Decodes a notification.
pub(crate) fn notification<Role: ServiceRole>(message: &Notification<'_>) -> Result<RxJsonRpcMessage<Role>, Error> {
    Ok(JsonRpcMessage::notification(message.raw().deserialize()?))
}

/// Decodes the response to the request with this id.
pub(crate) fn response<Role: ServiceRole>(
    response: &Response<'_>,
    id: &RequestId,
) -> Result<RxJsonRpcMessage<Role>, Error> {
    Ok(match response.outcome() {
        Ok(result) => JsonRpcMessage::response(result.deserialize()?, id.clone()),
        Err(error) => JsonRpcMessage::error(error.raw().deserialize()?, Some(id.clone())),
    })
}

/// Unlike `ids::to_rmcp`, which compares by value, this accepts only the spellings that rmcp accepts.
fn id(id: &Id<'_>) -> Result<RequestId, Error> {
    serde_json::from_str(id.as_json())
}

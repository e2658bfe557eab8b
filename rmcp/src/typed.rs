//! From wireline's messages to rmcp's.

use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, ServiceRole};
use serde_json::Error;
use wireline::{Id, Message, Response};

/// Decodes a message into rmcp's type for its kind.
///
/// The outcome is that of rmcp's `Deserialize` for `JsonRpcMessage`, but that one buffers a message several times over:
/// once to try one kind after the other, and again to take the envelope off. Here both are known.
pub(crate) fn decode<Role: ServiceRole>(message: &Message<'_>) -> Result<RxJsonRpcMessage<Role>, Error> {
    Ok(match message {
        // rmcp's requests and notifications have `method` and `params`, and ignore the rest of the envelope.
        Message::Request(request) => JsonRpcMessage::request(message.raw().deserialize()?, id(request.id())?),
        Message::Notification(_) => JsonRpcMessage::notification(message.raw().deserialize()?),
        Message::Response(response) => match with_result(response) {
            Some((id, result)) => JsonRpcMessage::response(result.deserialize()?, id?),
            None => JsonRpcMessage::Error(message.raw().deserialize()?),
        },
    })
}

fn with_result<'r>(response: &'r Response<'_>) -> Option<(Result<RequestId, Error>, wireline::RawJson<'r>)> {
    Some((id(response.id()?), response.result()?))
}

/// Unlike `ids::to_rmcp`, which compares by value, this accepts only the spellings that rmcp accepts.
fn id(id: &Id<'_>) -> Result<RequestId, Error> {
    serde_json::from_str(id.as_json())
}

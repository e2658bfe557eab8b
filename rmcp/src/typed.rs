//! From wireline's messages to rmcp's.

use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, ServiceRole};
use wireline::Message;

/// Decodes a message into rmcp's type for its kind.
///
/// The kind is known, so this skips rmcp's `Deserialize` for `JsonRpcMessage`, which buffers every message in order to
/// try one kind after the other.
pub(crate) fn decode<Role: ServiceRole>(message: &Message<'_>) -> Result<RxJsonRpcMessage<Role>, serde_json::Error> {
    let json = message.raw();
    Ok(match message {
        Message::Request(_) => JsonRpcMessage::Request(json.deserialize()?),
        Message::Notification(_) => JsonRpcMessage::Notification(json.deserialize()?),
        Message::Response(response) if response.result().is_some() => JsonRpcMessage::Response(json.deserialize()?),
        Message::Response(_) => JsonRpcMessage::Error(json.deserialize()?),
    })
}

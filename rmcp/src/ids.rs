//! Ids: wireline keeps their spelling, rmcp their value.

use rmcp::model::RequestId;
use wireline::Id;

/// The id as rmcp has it, or `None` if it is one that rmcp has no type for: an integer beyond 64 bits.
pub(crate) fn to_rmcp(id: &Id<'_>) -> Option<RequestId> {
    match id.as_str() {
        Some(text) => Some(RequestId::String(text.into())),
        None => id.as_i64().map(RequestId::Number),
    }
}

/// The id as wireline has it.
pub(crate) fn from_rmcp(id: &RequestId) -> Id<'static> {
    match id {
        RequestId::Number(number) => Id::from(*number),
        RequestId::String(text) => Id::from(&**text),
    }
}

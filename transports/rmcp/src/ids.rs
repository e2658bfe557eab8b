//! Conversions between wireline's ids, which keep their spelling, and rmcp's, which keep their value.

use rmcp::model::RequestId;
use wireline::Id;

/// Returns `None` for an id that rmcp cannot represent, which is an integer beyond 64 bits.
pub(crate) fn to_rmcp(id: &Id<'_>) -> Option<RequestId> {
    match id.as_str() {
        Some(text) => Some(RequestId::String(text.into())),
        None => id.as_i64().map(RequestId::Number),
    }
}

pub(crate) fn from_rmcp(id: &RequestId) -> Id<'static> {
    match id {
        RequestId::Number(number) => Id::from(*number),
        RequestId::String(text) => Id::from(&**text),
    }
}

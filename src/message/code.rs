//! JSON-RPC's error codes, by name. Nothing else spells them as numbers.

pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL_ERROR: i64 = -32603;
/// Of the range that servers define: too many requests are in flight.
pub(crate) const SERVER_BUSY: i64 = -32000;
/// As the Language Server Protocol defined it, and others have since.
pub(crate) const REQUEST_CANCELLED: i64 = -32800;

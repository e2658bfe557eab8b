//! JSON-RPC's error codes. Other code uses these names instead of numbers.

pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL_ERROR: i64 = -32603;
/// Too many requests are in flight. The code is from the range that servers define.
pub(crate) const SERVER_BUSY: i64 = -32000;
/// A request took longer than the server allows. MCP's SDKs use the same code.
pub(crate) const REQUEST_TIMED_OUT: i64 = -32001;
/// The code of the Language Server Protocol and others.
pub(crate) const REQUEST_CANCELLED: i64 = -32800;

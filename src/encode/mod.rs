//! Messages in, whole lines out. Imports nothing of the crate but [`message`](crate::message) and
//! [`decode`](crate::decode).
//!
//! | file | job |
//! |---|---|
//! | `encoder` | appends one line, or one entry of a batch, per call; or nothing |
//! | `draft` | writes each kind of message, and refuses those that break the rules |
//! | `array` | joins lines into an array |
//! | `null_params` | removes null params |
//! | `serializer` | writes payloads as JSON, and trusts no `Serialize` |
//! | `line` | a single line on its own |
//! | `error_reply` | the error response that a fault calls for |
//! | `rpc_error`, `error` | the error object to send; why a message was not encoded |

pub(crate) mod array;
mod draft;
pub(crate) mod encoder;
pub(crate) mod error;
pub(crate) mod error_reply;
pub(crate) mod line;
mod null_params;
pub(crate) mod rpc_error;
mod serializer;

pub(crate) use array::Array;
pub(crate) use encoder::Encoder;
pub(crate) use error::EncodeError;
pub(crate) use line::Line;
pub(crate) use rpc_error::RpcError;

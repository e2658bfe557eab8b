//! Turns messages into whole lines. Within the crate, it imports only [`message`](crate::message) and
//! [`decode`](crate::decode).
//!
//! | file | job |
//! |---|---|
//! | `encoder` | appends one line or one entry of a batch per call, or nothing |
//! | `draft` | writes each kind of message, and refuses messages that break the rules |
//! | `array` | joins lines into an array |
//! | `null_params` | removes null params |
//! | `serializer` | writes payloads as JSON, without trusting their `Serialize` |
//! | `line` | a single line |
//! | `framed` | puts lines into the frames of other framings |
//! | `error_reply` | the error response to a fault |
//! | `rpc_error`, `error` | the error object to send; why a message wasn't encoded |

pub(crate) mod array;
mod draft;
pub(crate) mod encoder;
pub(crate) mod error;
pub(crate) mod error_reply;
pub(crate) mod framed;
pub(crate) mod line;
mod null_params;
pub(crate) mod rpc_error;
mod serializer;

pub(crate) use array::Array;
pub(crate) use encoder::Encoder;
pub(crate) use error::EncodeError;
pub(crate) use framed::append as append_framed;
pub(crate) use line::Line;
pub(crate) use rpc_error::RpcError;

//! Messages in, whole lines out. Imports nothing of the crate but [`json`](crate::json), [`message`](crate::message) and
//! [`decode`](crate::decode).
//!
//! | file | job |
//! |---|---|
//! | `encoder` | one line, or one entry of a batch, per call; or nothing |
//! | `draft` | how each kind of message is spelled, and what is refused |
//! | `null_params` | leaves out the params of careless writers |
//! | `serializer` | payloads as JSON, strictly |
//! | `line` | one line by itself |
//! | `rpc_error`, `error` | the error object to send; why a message was not encoded |

mod draft;
pub(crate) mod encoder;
pub(crate) mod error;
pub(crate) mod line;
mod null_params;
pub(crate) mod rpc_error;
mod serializer;

pub(crate) use encoder::Encoder;
pub(crate) use error::EncodeError;
pub(crate) use line::Line;
pub(crate) use rpc_error::RpcError;

//! Interprets lines by the rules of a dialect. The lowest layer of the crate, above [`wireline_json`].
//!
//! | file | contents |
//! |---|---|
//! | `dialect` | one table per dialect |
//! | `rules` | a dialect and its limits, each adjustable |
//! | `envelope` | turns members into a message or a violation |
//! | `id_rules`, `error_object` | which values may be an id or an error |
//! | `fault_kind`, `expectation`, `code` | the rules that a line can break, and what a dialect expects; JSON-RPC's error codes |
//! | `message`, `frame` | messages and batches that passed the rules |
//! | `id`, `raw` | the parts of messages |
//! | `serialize`, `deserialize` | `Serialize` and `Deserialize` for ids and raw JSON |
//! | `typed` | decodes payloads into typed values |

pub(crate) mod code;
mod deserialize;
pub(crate) mod dialect;
pub(crate) mod envelope;
mod error_object;
mod expectation;
pub(crate) mod fault_kind;
pub(crate) mod frame;
pub(crate) mod id;
pub(crate) mod id_rules;
#[expect(clippy::module_inception, reason = "messages are what the layer is named after")]
pub(crate) mod message;
pub(crate) mod raw;
pub(crate) mod rules;
mod serialize;
mod typed;

pub(crate) use dialect::{AnswerWithoutId, Form, MessageKind, Permits};
pub(crate) use envelope::{Contents, Envelope, Violation};
pub(crate) use expectation::Expectation;
pub(crate) use fault_kind::FaultKind;
pub(crate) use frame::{Batch, Frame};
pub(crate) use id::Id;
pub(crate) use message::{AnyMessage, ErrorObject, Message, Notification, Position, Request, Response};
pub(crate) use raw::RawJson;
pub(crate) use rules::Rules;

//! wip
mod cursor;
mod decimal;
mod decoder;
mod envelope;
mod fault;
mod hint;
mod id;
mod message;
mod raw;
mod recover;
mod rules;
mod scan;
#[cfg(feature = "simd-json")]
mod simd;
mod string;

pub use decoder::Decoder;
pub use fault::{Fault, FaultKind, Reply};
pub use hint::Hint;
pub use id::Id;
pub use message::{Batch, Entries, ErrorObject, Frame, Message, Notification, Request, Response};
pub use raw::{RawJson, Scratch};
pub use rules::{AnswerWithoutId, Rules};
#[doc(hidden)]
pub use scan::Cpu;

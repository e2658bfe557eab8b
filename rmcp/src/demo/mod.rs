//! What the demo and the tests share: a server with tools, a client that says what it likes, a server that answers badly.

mod caller;
mod cases;
mod probe;
mod tools;

pub use caller::{Outcome, answered_with};
pub use cases::{BAD_RESPONSES, Case, bad_lines};
pub use probe::{Kind, Probe, Seen};
pub use tools::{Tools, call};

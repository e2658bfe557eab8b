//! What tests and benchmarks share: a server with tools, a client that sends any bytes, a server that answers badly.

// Each of them uses a part.
#![allow(dead_code, unreachable_pub, unused_imports)]

mod bad_server;
mod cases;
mod probe;
mod tools;

pub use bad_server::{Outcome, answered_with};
pub use cases::{BAD_RESPONSES, Case, bad_lines};
pub use probe::{Kind, Probe, Seen};
pub use tools::{Tools, call};

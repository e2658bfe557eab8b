//! A client and an agent on the Rust SDK of the Agent Client Protocol, connected through wireline.
//!
//! [`Transport`] is the part to copy into your own program.

pub mod agent;
pub mod client;
pub mod process;
mod transport;

pub use transport::Transport;

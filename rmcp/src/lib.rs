//! rmcp over wireline: a transport for the Rust SDK of the Model Context Protocol whose lines are bounded, judged and
//! answered by [`wireline`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use rmcp::ServiceExt;
//! use wireline_rmcp::{LineTransport, demo::Tools};
//!
//! let (near, far) = tokio::io::duplex(4096);
//! let (reader, writer) = tokio::io::split(far);
//! let server = tokio::spawn(Tools::default().serve(LineTransport::new(reader, writer)));
//!
//! let (reader, writer) = tokio::io::split(near);
//! let client = ().serve(LineTransport::new(reader, writer)).await?;
//! assert_eq!(client.list_all_tools().await?.len(), 3);
//! # client.cancel().await?;
//! # server.await??.waiting().await?;
//! # Ok(())
//! # }
//! ```
//!
//! How it is put together, for authors of other SDKs:
//!
//! - [`LineTransport`] (`transport.rs`) reads frames, and decides what becomes of each line.
//! - `outbox.rs` has the writer that concurrent sends share.
//! - `calls.rs` knows which requests of ours are open, so that a faulty response fails its call.
//! - `ids.rs` translates ids.
//! - [`demo`] is what the demo and the tests share: a server with tools, and a peer that says what it likes.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod calls;
pub mod demo;
mod ids;
mod outbox;
mod transport;

pub use transport::{Incident, LineTransport};

//! A stdio transport for [`rmcp`], the Rust SDK of the Model Context Protocol, that survives and answers malformed lines.
//!
//! | you write | you need |
//! |---|---|
//! | a server on standard input and output | [`stdio()`] |
//! | a client that starts its server | [`ChildProcess`] |
//! | either, over a socket or anything else | [`LineTransport`] |
//!
//! A server:
//!
//! ```no_run
//! use rmcp::{ServerHandler, ServiceExt};
//!
//! struct Server;
//! impl ServerHandler for Server {}
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     Server.serve(wireline_rmcp::stdio()?).await?.waiting().await?;
//!     Ok(())
//! }
//! ```
//!
//! A client:
//!
//! ```no_run
//! use rmcp::ServiceExt;
//! use tokio::process::Command;
//! use wireline_rmcp::ChildProcess;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let client = ().serve(ChildProcess::spawn(&mut Command::new("my-server"))?).await?;
//!     println!("{:?}", client.list_all_tools().await?);
//!     client.cancel().await?;
//!     Ok(())
//! }
//! ```
//!
//! Lines are framed and validated by [`wireline`], which recovers the id of a malformed or oversized line, so that the
//! error reaches the caller who waits for it. See [`LineTransport`] for what happens to which line, and [`migrating`] if
//! your program uses one of rmcp's own transports.
//!
//! # Crate features
//!
//! Both are on by default.
//!
//! - **`stdio`**: the function [`stdio()`].
//! - **`child-process`**: the type [`ChildProcess`]. Enables tokio's `process`.

#![cfg_attr(docsrs, feature(doc_cfg))]
// The overview links to everything, whichever features are on.
#![cfg_attr(not(all(feature = "child-process", feature = "stdio")), allow(rustdoc::broken_intra_doc_links))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/migrating.md")]
pub mod migrating {}

#[cfg(feature = "child-process")]
mod child_process;
mod error;
mod ids;
mod incident;
#[cfg(feature = "stdio")]
mod stdio;
mod transport;
mod typed;

#[cfg(feature = "child-process")]
pub use child_process::ChildProcess;
pub use error::SendError;
pub use incident::Incident;
#[cfg(feature = "stdio")]
pub use stdio::{Stdin, Stdout, stdio};
pub use transport::LineTransport;
/// The codec under the transport, whose [`Rules`](wireline::Rules) and [`Fault`](wireline::Fault) are part of this API.
pub use wireline;

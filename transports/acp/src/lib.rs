//! A transport for [`agent_client_protocol`], the Rust SDK of the Agent Client Protocol, that survives and answers
//! malformed lines. It works on tokio, on smol, and on any other runtime.
//!
//! | you write | you need |
//! |---|---|
//! | an agent on standard input and output | [`stdio()`] |
//! | a client that starts its agent | [`ChildProcess`] |
//! | either, over a socket or anything else | [`LineTransport`] |
//!
//! An agent:
//!
//! ```no_run
//! use agent_client_protocol::Agent;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     Agent.v1().name("my-agent").connect_to(wireline_acp::stdio()?).await?;
//!     Ok(())
//! }
//! ```
//!
//! A client:
//!
//! ```no_run
//! use std::process::Command;
//!
//! use agent_client_protocol::schema::ProtocolVersion;
//! use agent_client_protocol::v1::schema::InitializeRequest;
//! use agent_client_protocol::Client;
//! use wireline_acp::ChildProcess;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let agent = ChildProcess::spawn(&mut Command::new("my-agent"))?;
//!     smol::block_on(Client.v1().connect_with(agent, async |connection| {
//!         let agent = connection.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
//!         println!("{:?}", agent.agent_info);
//!         Ok(())
//!     }))?;
//!     Ok(())
//! }
//! ```
//!
//! Lines are framed and validated by [`wireline`], which recovers the id of a malformed or oversized line, so that the
//! error reaches the caller who waits for it. See [`LineTransport`] for what happens to which line.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod child_process;
mod inbox;
mod incident;
mod link;
mod messages;
mod session;
mod stdio;
mod transport;

pub use agent_client_protocol;
pub use child_process::ChildProcess;
pub use incident::Incident;
pub use stdio::stdio;
pub use transport::LineTransport;
/// The codec under the transport, whose [`Rules`](wireline::Rules) and [`Fault`](wireline::Fault) are part of this API.
pub use wireline;
pub use wireline::aio::Futures;
#[cfg(feature = "tokio")]
pub use wireline::aio::Tokio;

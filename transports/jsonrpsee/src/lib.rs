//! Runs a [`jsonrpsee`](jsonrpsee_core) client over a child process, a Unix socket, or any other stream of lines, and
//! survives the malformed ones.
//!
//! | the server is | you need |
//! |---|---|
//! | a child process of the client | [`ChildProcess`] |
//! | at the other end of a socket, of stdin and stdout, or of anything else | [`LineTransport`] |
//!
//! Either is split into the two halves that jsonrpsee wants:
//!
//! ```no_run
//! use jsonrpsee_core::client::{Client, ClientT};
//! use jsonrpsee_core::rpc_params;
//! use wireline_jsonrpsee::ChildProcess;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let (sender, receiver) = ChildProcess::spawn(&mut tokio::process::Command::new("my-server"))?.split();
//!     let client = Client::builder().build_with_tokio(sender, receiver);
//!     let sum: i64 = client.request("add", rpc_params![1, 2]).await?;
//!     println!("{sum}");
//!     Ok(())
//! }
//! ```
//!
//! # What becomes of a call
//!
//! jsonrpsee by itself ends a client, with all its calls and subscriptions, for any text that it doesn't expect: a log
//! line, an answer that comes twice, an error with a member more than it knows. None of these gets as far. Each call ends
//! with
//!
//! - its result, or the error that the server sent;
//! - an error -32603 if the answer is malformed and its id could be read, or if an answer to a batch lacks it;
//! - an error -32600 if it can't be sent, for example because it exceeds the line limit;
//! - [`Error::RestartNeeded`](jsonrpsee_core::client::Error::RestartNeeded) with a [`Disconnected`] if the connection
//!   ends before;
//! - [`Error::RequestTimeout`](jsonrpsee_core::client::Error::RequestTimeout) if none of that happens in time.
//!
//! Everything else is an [`Incident`], and is logged with [`tracing`].
#![cfg_attr(docsrs, feature(doc_cfg))]

mod calls;
#[cfg(feature = "child-process")]
mod child_process;
mod error;
mod incident;
mod link;
mod receiver;
mod sender;
mod transport;

#[cfg(feature = "child-process")]
pub use child_process::ChildProcess;
pub use error::Disconnected;
pub use incident::Incident;
pub use jsonrpsee_core;
pub use receiver::Receiver;
pub use sender::Sender;
pub use transport::LineTransport;
pub use wireline;

/// The program in README.md is compiled.
#[cfg(all(doctest, feature = "child-process"))]
#[doc = include_str!("../README.md")]
mod readme {}

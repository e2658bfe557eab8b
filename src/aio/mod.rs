//! Connections over asynchronous streams, on any runtime.
//!
//! [`Connection`] reads, writes and runs handlers in one task. It doesn't depend on a runtime: [`Tokio`] and
//! [`Futures`] wrap streams that implement tokio's traits or those of futures-io, and any other stream can implement
//! [`Source`] and [`Target`].
//!
//! A server with concurrent handlers:
//!
//! ```
//! # #[cfg(feature = "tokio")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use serde_json::json;
//! use wireline::aio::{Connection, Tokio};
//! use wireline::{RpcError, Rules};
//!
//! async fn serve(stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite) -> std::io::Result<()> {
//!     let (reader, writer) = tokio::io::split(stream);
//!     let (_, connection) = Connection::new(Tokio(reader), Tokio(writer), Rules::mcp());
//!     connection
//!         .serve(async |call| match call.method() {
//!             "ping" => Ok(json!({})),
//!             _ => Err(RpcError::method_not_found()),
//!         })
//!         .await
//! }
//!
//! # use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! # let (mut client, server) = tokio::io::duplex(1000);
//! # let server = tokio::spawn(serve(server));
//! # client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await?;
//! # client.shutdown().await?;
//! # let mut answers = String::new();
//! # client.read_to_string(&mut answers).await?;
//! # assert_eq!(answers, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
//! # server.await??;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "tokio"))]
//! # fn main() {}
//! ```
//!
//! See [`Connection`] for a client and for a server with a task for each request.

mod blocking;
mod connection;
mod handlers;
mod read_until;
mod traits;

pub use blocking::{BlockingReader, BlockingWriter};
pub use connection::Connection;
pub use read_until::ReadUntil;
#[cfg(feature = "futures-io")]
pub use traits::Futures;
#[cfg(feature = "tokio")]
pub use traits::Tokio;
pub use traits::{Source, Target};

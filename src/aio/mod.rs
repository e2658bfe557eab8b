//! Adapters for asynchronous I/O, on any runtime: frames from a reader, and lines from many tasks to one writer.
//!
//! [`FrameReader`] and [`LineWriter`] are the two halves of a connection. They know no runtime: [`Tokio`] and [`Futures`]
//! wrap what implements tokio's traits or those of futures-io, and any other stream can implement [`Source`] or
//! [`Target`] itself.
//!
//! - A bad line is an item of the stream, and the stream goes on.
//! - Reading and sending are cancel-safe: a call that is dropped before it is done loses nothing and tears no line apart.
//!   Only [`LineWriter::run`], which owns the stream, must be run to its end.
//! - Whoever sends waits while too much is to be written, and those who wait take turns.
//! - Frames borrow from the reader's buffer, and lines from several tasks leave in few large writes.
//!
//! A server that answers in tasks of their own:
//!
//! ```
//! # #[cfg(feature = "tokio")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! use serde_json::json;
//! use wireline::aio::{FrameReader, LineWriter, Tokio};
//! use wireline::ledger::Inbound;
//! use wireline::{Frame, Message, Rules};
//!
//! async fn serve(stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + 'static) -> std::io::Result<()> {
//!     let (reader, writer) = tokio::io::split(stream);
//!     let rules = Rules::mcp();
//!     let (owed, mut frames) = (Inbound::new(rules, 1000), FrameReader::new(Tokio(reader), rules));
//!     let writer = LineWriter::new(Tokio(writer), rules);
//!     let sender = writer.sender();
//!     let writing = tokio::spawn(writer.run());
//!     while let Some(frame) = frames.next_frame().await? {
//!         let answer = match frame {
//!             Ok(Frame::Message(Message::Request(request))) => match owed.admit(&request) {
//!                 Ok(ticket) => {
//!                     let (request, sender) = (request.into_owned(), sender.clone());
//!                     tokio::spawn(async move {
//!                         // If the connection is gone, there is nobody left to answer.
//!                         let _ = sender.answer(ticket.respond(&json!({"called": request.method()}))).await;
//!                     });
//!                     continue;
//!                 }
//!                 Err(refusal) => refusal,
//!             },
//!             Ok(_) => continue,
//!             Err(fault) => match fault.reply() {
//!                 Some(reply) => owed.reply(&reply),
//!                 None => continue,
//!             },
//!         };
//!         sender.answer(answer).await?;
//!     }
//!     drop(sender);
//!     writing.await??; // when the last task has answered
//!     Ok(())
//! }
//!
//! # use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! let (mut client, server) = tokio::io::duplex(1000);
//! let server = tokio::spawn(serve(server));
//! client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\"}\n").await?;
//! client.shutdown().await?;
//! let mut answers = String::new();
//! client.read_to_string(&mut answers).await?;
//! assert_eq!(answers, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"called\":\"hello\"}}\n");
//! server.await??;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "tokio"))]
//! # fn main() {}
//! ```

mod connection;
mod handlers;
mod outbox;
mod reader;
mod traits;
mod writer;

pub use connection::Connection;
pub use outbox::LineSender;
pub use reader::FrameReader;
#[cfg(feature = "futures-io")]
pub use traits::Futures;
#[cfg(feature = "tokio")]
pub use traits::Tokio;
pub use traits::{Source, Target};
pub use writer::LineWriter;

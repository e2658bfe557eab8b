//! Adapters for `std::io`: frames from a reader, lines to a writer, and a blocking server.
//!
//! [`serve()`] is all that a simple server needs, and [`answer`] does the same for one HTTP body or WebSocket message.
//! [`FrameReader`] and [`FrameWriter`] are for servers with several threads: one thread reads, and each thread has a
//! clone of the writer.

mod connection;
mod pending;
mod reader;
mod serve;
mod writer;

pub use connection::Connection;
pub(crate) use pending::Pending;
pub use reader::FrameReader;
pub use serve::{answer, answer_with, serve, serve_with};
pub use writer::{FrameWriter, Progress, SendError, Unsent};

//! Adapters for `std::io`: frames from a reader, lines to a writer, and a blocking server.
//!
//! [`serve()`] is all that a simple server needs. [`FrameReader`] and [`FrameWriter`] are for servers with threads: one
//! reads, and clones of the other write.

mod reader;
mod serve;
mod writer;

pub use reader::FrameReader;
pub use serve::{Call, serve};
pub use writer::{FrameWriter, Progress, SendError};

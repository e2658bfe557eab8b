//! One JSON-RPC 2.0 message per line: a zero-copy streaming codec for newline-delimited JSON.
//!
//! This crate stands between a stream of bytes and a program that speaks JSON-RPC over lines of JSON: a server or
//! client of the Model Context Protocol on stdio, an agent, a language tool, a relay. Bytes go in, split anyhow;
//! requests, notifications, responses, batches and faults come out, borrowed from the buffer. It never does I/O and
//! never prints; it never copies a message, and never gives up on a stream because of a bad line.
//!
//! # Examples
//!
//! Frames from a stream of bytes, and an answer to each line that was wrong:
//!
//! ```
//! use wireline::{Decoder, Frame, Message, Rules};
//!
//! let mut decoder = Decoder::new(Rules::mcp());
//! let mut replies = Vec::new();
//! for chunk in [&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth"[..], b"od\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":2}\n"] {
//!     decoder.feed(chunk);
//!     while let Some(frame) = decoder.next_frame() {
//!         match frame {
//!             Ok(Frame::Message(Message::Request(request))) => {
//!                 assert_eq!(request.method(), "ping");
//!                 assert_eq!(request.id().as_json(), "1");
//!             }
//!             Ok(_) => {}
//!             Err(fault) => replies.extend(fault.reply().map(|reply| reply.to_string())),
//!         }
//!     }
//! }
//! decoder.finish(); // what has come in since the last line end is a line as well
//! assert!(decoder.next_frame().is_none());
//! assert!(replies[0].starts_with(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"#));
//! ```
//!
//! One text whose boundaries are known, from an HTTP body or a WebSocket message:
//!
//! ```
//! use wireline::{Frame, Message, Rules};
//!
//! let body = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
//! let Frame::Message(Message::Response(response)) = Frame::parse(body, &Rules::mcp())? else { panic!() };
//! assert_eq!(response.result().unwrap().pointer("/tools").unwrap().as_str(), "[]");
//! # Ok::<(), wireline::Fault>(())
//! ```
//!
//! A frame for another thread, sharing the decoder's buffer:
//!
//! ```
//! # use wireline::{Decoder, Rules};
//! # let mut decoder = Decoder::new(Rules::mcp());
//! # decoder.feed(b"{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n");
//! if let Some(Ok(frame)) = decoder.next_frame() {
//!     let frame = frame.into_owned();
//!     std::thread::spawn(move || assert_eq!(frame.line(), 1)).join().unwrap();
//! }
//! ```
//!
//! # Why use it
//!
//! - **A bad line is an item.** It is reported with what is wrong, where, the id if that can be read, and whether to
//!   answer; see [`Fault`]. The next line is decoded as if it had not been there.
//! - **Nothing is guessed.** A line passes if it is JSON (RFC 8259, UTF-8) and a valid message of its dialect, see
//!   [`Rules`]: members that are there twice, ids of the wrong type, results beside errors are faults. So every
//!   [`Request`] has an id and a method.
//! - **Nothing is lost.** Ids and numbers of any length keep their spelling, and the line itself stays as it came, byte
//!   for byte, for relays and signatures.
//! - **Everything is bounded.** Line length, nesting, batches; and no more memory is used than a line and a read. What is
//!   longer is discarded as it comes, and even then its id is found.
//! - **It is fast.** A message is found and validated in one pass, 64 bytes at a time, by AVX-512, AVX2, NEON or portable
//!   code, chosen when the program runs.
//!
//! # When not to use it
//!
//! Where messages are framed by `Content-Length` headers, as language servers do. Where you want a whole framework with
//! method dispatch and a transport: this is what one is built on. And where values may span lines: NDJSON has none that
//! do.
//!
//! # Features
//!
//! - **`simd-json`** (on by default): [`RawJson::deserialize`] decodes large texts with many escapes by simd-json, two to
//!   three times as fast, and all others by serde_json. The result is the same with and without.
//! - **`stdio`**: `stdio::claim()`, a stdout that stray prints cannot get into.
//! - **`tokio`**: a codec for `tokio_util::codec::Framed`.
//! - **`tracing`**: faults and refusals as events, without a byte of what was sent.
//! - **`cli`**: the `wireline` command-line tool; not for libraries.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod cursor;
mod decimal;
mod decoder;
mod draft;
mod encode_error;
mod encoder;
mod envelope;
mod events;
mod fault;
mod frame;
mod hint;
mod id;
pub mod io;
pub mod ledger;
mod message;
mod payload;
mod raw;
mod recover;
mod rpc_error;
mod rules;
mod scan;
#[cfg(feature = "simd-json")]
mod simd;
#[cfg(feature = "stdio")]
pub mod stdio;
mod strict;
mod string;
mod text;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use decoder::Decoder;
pub use encode_error::{EncodeError, EncodeErrorKind};
pub use encoder::{BatchEncoder, Encoder, to_line, to_text};
pub use fault::{Fault, FaultKind, Reply};
pub use frame::{Batch, Entries, Frame};
pub use hint::Hint;
pub use id::Id;
pub use message::{ErrorObject, Message, Notification, Request, Response};
pub use payload::Payload;
pub use raw::{RawJson, Scratch};
pub use rpc_error::RpcError;
pub use rules::{AnswerWithoutId, Rules};
#[doc(hidden)]
pub use scan::Cpu;

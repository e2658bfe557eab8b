//! One JSON-RPC 2.0 message per line: a zero-copy streaming codec for newline-delimited JSON.
//!
//! This crate stands between a stream of bytes and a program that speaks JSON-RPC over lines of JSON: a server or
//! client of the Model Context Protocol on stdio, an agent, a language tool, a relay. Bytes go in, split anyhow;
//! requests, notifications, responses, batches and faults come out, borrowed from the buffer. On the way back, messages
//! become whole lines, or nothing. It never copies a message, never prints, and never gives up on a stream because of a
//! bad line; and it does no I/O but in its adapters.
//!
//! # Overview
//!
//! | for | there is |
//! |---|---|
//! | bytes in, messages out | [`Decoder`], and [`Frame::parse`] for one text whose boundaries are known |
//! | what comes out | a [`Frame`]: one [`Message`] or a [`Batch`]; or a [`Fault`] |
//! | what messages are made of | [`Id`], which keeps its spelling; [`RawJson`], which is checked and decoded on demand |
//! | messages in, lines out | [`Encoder`], and [`to_line`] for one line without a buffer |
//! | what is accepted and sent | [`Rules`]: JSON-RPC 2.0, MCP or ACP, and the limits |
//! | one answer to each request | [`ledger`]: [`Inbound`](ledger::Inbound) if you are asked, [`Outbound`](ledger::Outbound) if you ask |
//! | readers, writers, a server | [`io`] on `std::io`; [`codec`] for `Framed` |
//! | prints on stdout | [`stdio`]: keeps them off the protocol |
//!
//! The [`guide`] goes from problems to programs: [framing a stream](guide::framing_a_stream),
//! [answering faults](guide::answering_faults), [writing a proxy](guide::writing_a_proxy), and
//! [surviving a noisy stdout](guide::surviving_a_noisy_stdout). The [`design`] page says why it is built so.
//!
//! # Example: decoding a stream
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
//! # Example: encoding messages
//!
//! Each call appends one whole line, or nothing:
//!
//! ```
//! use wireline::{Encoder, Id, RpcError, Rules};
//!
//! let mut encoder = Encoder::new(Rules::json_rpc());
//! encoder.request(&Id::from(1), "add", &[1, 2])?;
//! encoder.error(&Id::from("a"), &RpcError::method_not_found())?;
//! assert!(encoder.response(&Id::from(2), &f64::NAN).is_err()); // JSON has no such value
//! assert_eq!(
//!     encoder.take(),
//!     concat!(
//!         r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#, "\n",
//!         r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"Method not found"}}"#, "\n",
//!     ),
//! );
//! # Ok::<(), wireline::EncodeError>(())
//! ```
//!
//! # Example: one text
//!
//! From an HTTP body or a WebSocket message, whose boundaries are known:
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
//! # Example: another thread
//!
//! A frame that shares the decoder's buffer:
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
//! # Why use this crate?
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
//! # When not to use it?
//!
//! Where messages are framed by `Content-Length` headers, as language servers do. Where you want a whole framework with
//! method dispatch and a transport: this is what one is built on. And where values may span lines: NDJSON has none that
//! do.
//!
//! # Crate features
//!
//! - **`simd-json`** (on by default): [`RawJson::deserialize`] decodes large texts with many escapes by simd-json, two to
//!   three times as fast, and all others by serde_json. The result is the same with and without.
//! - **`stdio`**: [`stdio::claim`], a stdout that stray prints cannot get into. Needs rustix.
//! - **`tokio`**: [`codec::Codec`], a codec for `tokio_util::codec::Framed`. Needs tokio-util, not tokio itself.
//! - **`tracing`**: faults and refusals as events, without a byte of what was sent.
//! - **`cli`**: the `wireline` command-line tool; not for libraries.
//!
//! # Versions and platforms
//!
//! The minimum supported Rust version is 1.89. Which instructions the CPU has is found when the program runs, so nothing
//! depends on `target-cpu`; where there are no vectors that it knows, portable code does the same. `unsafe` is confined to
//! the CPU-specific files of the scanner.

#![cfg_attr(docsrs, feature(doc_cfg))]
// What a feature adds is linked to whether or not it is there.
#![cfg_attr(not(all(feature = "stdio", feature = "tokio")), allow(rustdoc::broken_intra_doc_links))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr))]
// A number that does not fit where it goes, on a CPU of 32 bits or of 64, would be a wrong place in a text.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

// Pages, not code: they are there for rustdoc alone.
#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/design.md")]
pub mod design {}
#[cfg(any(doc, doctest))]
pub mod guide;

#[cfg(feature = "tokio")]
pub mod codec;
mod decode;
mod encode;
pub mod io;
mod json;
pub mod ledger;
mod message;
#[cfg(feature = "stdio")]
pub mod stdio;

pub use decode::decoder::Decoder;
pub use decode::fault::{Fault, Reply};
pub use decode::hint::Hint;
pub use decode::parse::Entries;
pub use encode::encoder::{BatchEncoder, BatchEntries, Encoder};
pub use encode::error::{EncodeError, EncodeErrorKind};
pub use encode::line::{Line, to_line};
pub use encode::rpc_error::RpcError;
#[cfg(feature = "__kernels")]
#[doc(hidden)]
pub use json::scan::Cpu;
pub use message::dialect::AnswerWithoutId;
pub use message::fault_kind::FaultKind;
pub use message::frame::{Batch, Frame};
pub use message::id::{Id, ParseIdError};
pub use message::message::{AnyMessage, ErrorObject, Message, Notification, Ranges, Request, Response};
pub use message::raw::{InvalidJson, RawJson, Scratch};
pub use message::rules::{Limits, Rules};

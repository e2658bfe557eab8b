//! A zero-copy streaming codec for JSON-RPC 2.0 over newline-delimited JSON, `Content-Length` headers or event streams.
//!
//! This crate is the layer between a byte stream and a program that speaks JSON-RPC: an MCP server or client on stdio, an
//! ACP agent, a language server, a proxy. Messages are lines, unless you choose another [`Framing`]. Bytes go in, split
//! anywhere; requests, notifications, responses, batches and faults come out, borrowed from the buffer. In the other
//! direction, each message becomes one whole line, or nothing. The core does no I/O, and a bad line never ends the stream.
//!
//! # Examples
//!
//! Decode a stream, and answer each bad line:
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
//!                 assert_eq!(request.id().as_i64(), Some(1));
//!             }
//!             Ok(_) => {}
//!             Err(fault) => replies.extend(fault.reply().map(|reply| reply.to_string())),
//!         }
//!     }
//! }
//! decoder.finish(); // bytes after the last line feed are a line too
//! assert!(decoder.next_frame().is_none());
//! assert!(replies[0].starts_with(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"#));
//! ```
//!
//! Encode messages. Each call appends one whole line, or nothing:
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
//! Parse one text whose boundaries are known, such as an HTTP body:
//!
//! ```
//! use wireline::{Frame, Message, Rules};
//!
//! let body = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
//! let Frame::Message(Message::Response(response)) = Frame::parse(body, &Rules::mcp())? else { panic!() };
//! assert_eq!(response.result().unwrap().pointer("/tools").unwrap().as_json(), "[]");
//! # Ok::<(), wireline::Fault>(())
//! ```
//!
//! Send a frame to another thread. It shares the decoder's buffer:
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
//! # Overview
//!
//! | task | API |
//! |---|---|
//! | decode a stream | [`Decoder`]; [`Frame::parse`] and [`Frame::from_bytes`] for one text |
//! | handle a line | a [`Frame`], which is one [`Message`] or a [`Batch`]; or a [`Fault`] |
//! | handle a message | [`Id`], which keeps its spelling, and [`RawJson`], which is decoded on demand |
//! | encode messages | [`Encoder`], and [`to_line`] for a single [`Line`] |
//! | choose the dialect and limits | [`Rules`]: JSON-RPC 2.0, MCP, ACP, OpenAI Codex, Electrum or Stratum |
//! | choose how messages are delimited | [`Framing`]: lines, `Content-Length` headers or an event stream |
//! | serve requests, make calls | [`io`] for threads, [`aio`] for asynchronous I/O on any runtime |
//! | do that in your own event loop | [`connection`]: bytes in, events out, bytes out |
//! | use tokio's `Framed` | [`codec`] |
//! | keep stray prints off stdout | [`stdio`] |
//! | start a server, and end it | [`process`] |
//!
//! The [`guide`] has nine chapters: [writing a server](guide::writing_a_server),
//! [writing a client](guide::writing_a_client), [writing a language server](guide::writing_a_language_server),
//! [both sides ask](guide::both_sides_ask), [writing a proxy](guide::writing_a_proxy), [surviving a noisy stdout](guide::surviving_a_noisy_stdout),
//! [framing a stream](guide::framing_a_stream), [answering faults](guide::answering_faults), and
//! [from C and C++](guide::from_c_and_cpp). The [`design`] page explains why it is built this way.
//!
//! # Why use this crate?
//!
//! - **A bad line doesn't end the stream.** It becomes a [`Fault`], which tells you which rule the line breaks and
//!   where, its id if that can be read, and whether to answer it. The next line is unaffected.
//! - **Nothing is guessed.** A line passes if it is JSON (RFC 8259, in UTF-8) and a valid message in its dialect.
//!   Duplicate members of the envelope, ids of the wrong type, and results beside errors are faults. So every
//!   [`Request`] has an id and a method.
//! - **Nothing is lost.** Ids and numbers keep their exact spelling, and the line stays as it was sent, byte for byte,
//!   for relays and signatures.
//! - **Everything is bounded.** Lines, ids, nesting and batches have limits, and a decoder needs memory for one line
//!   and one read. An oversized line is discarded as it arrives, but its id is still found.
//! - **It is fast.** A message is found and validated in one pass, 64 bytes at a time, with AVX-512, AVX2, NEON,
//!   WebAssembly's vectors or portable code.
//!
//! # When not to use it
//!
//! - You want a framework with method dispatch and transports. This crate is a layer to build one on.
//! - Values span lines, without headers or events around them. See [`Framing`] for what the decoder can take apart.
//!
//! # Crate features
//!
//! No feature is on by default.
//!
//! - **`stdio`**: `Connection::stdio` in [`io`] and [`aio`], and [`stdio::claim`], which keeps stray prints off stdout.
//!   Depends on rustix, and starts a thread.
//! - **`process`**: [`process::Child`], a server in a child process, ended together with its process group. Depends on
//!   rustix.
//! - **`futures-io`**: [`aio`] for streams with the traits of futures-io. Depends on futures-io.
//! - **`tokio`**: [`aio`] for streams with tokio's traits, and [`codec::Codec`] for `tokio_util::codec::Framed`.
//!   Depends on tokio-util, and on tokio without its runtime.
//! - **`simd-json`**: [`dom`], dynamic payloads as simd-json's tape or value. Depends on simd-json.
//! - **`testing`**: [`testing`], a scripted peer in memory, for tests of programs that use a connection.
//! - **`tracing`**: events for faulty lines, skipped noise and refused messages, without any of the peer's bytes.
//!
//! Floats are decoded by serde_json. To read back exactly the value that was written, turn on its feature
//! `float_roundtrip`.
//!
//! # Versions and platforms
//!
//! The minimum supported Rust version is 1.89. CPU features are detected at run time, so `target-cpu` doesn't matter.
//! The exception is WebAssembly, where a program either requires vector instructions or can't use them: see below.
//! This crate forbids `unsafe`. Its JSON layer, `wireline-json`, has some: in the CPU-specific files that scan and escape
//! text, in the buffer that escaped text is written into, and in the three files that turn validated bytes into a `&str`.
//!
//! ## WebAssembly
//!
//! Compile with `RUSTFLAGS='-C target-feature=+simd128'`, which every current engine supports: without it, decoding takes
//! seven to nine times as long.
//!
//! All features build for wasm32-wasip1, and all but `stdio` and `process` for wasm32-unknown-unknown. The decoder, the
//! encoder, [`connection::Connection`], [`aio`] and [`io::serve()`] need neither threads nor a clock. Without threads:
//!
//! - [`io::Connection`] can't be used: it panics, because it starts a thread.
//! - [`Reply::wait`](connection::Reply::wait) and [`Sending::wait`](connection::Sending::wait) never return unless the
//!   result is already there. Poll or await them instead.
//! - A panic in a handler ends the program, since nothing can catch it.
//!
//! wasm32-unknown-unknown has no clock either, so no [`Instant`](std::time::Instant) for
//! [`Peer::set_deadline`](connection::Peer::set_deadline), and [`Reply::wait_for`](connection::Reply::wait_for) panics. Call
//! [`Peer::cancel`](connection::Peer::cancel) from a timer of the host instead. Nor has it random numbers: the keys with
//! which ids are hashed can be predicted ([what that means](connection::Config::in_flight)).

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// The crate page links to modules that exist only with a feature.
#![cfg_attr(
    not(all(feature = "process", feature = "simd-json", feature = "stdio", feature = "testing", feature = "tokio")),
    allow(rustdoc::broken_intra_doc_links)
)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr))]
// A truncated number would be a wrong position in the text.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap))]

// The programs in the README use all features.
#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../README.md")]
struct Readme;

// Pages without code, which only rustdoc needs.
#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/design.md")]
pub mod design {}
#[cfg(any(doc, doctest))]
pub mod guide;

pub mod aio;
#[cfg(feature = "tokio")]
pub mod codec;
pub mod connection;
mod decode;
#[cfg(feature = "simd-json")]
pub mod dom;
mod encode;
pub mod io;
mod ledger;
mod message;
mod pipe;
#[cfg(feature = "process")]
pub mod process;
#[cfg(feature = "stdio")]
pub mod stdio;
mod sync;
#[cfg(feature = "testing")]
pub mod testing;

pub use decode::decoder::Decoder;
pub use decode::fault::Fault;
pub use decode::framing::Framing;
pub use decode::hint::Hint;
pub use decode::parse::Entries;
pub use encode::encoder::Encoder;
pub use encode::error::{EncodeError, EncodeErrorKind};
pub use encode::error_reply::ErrorReply;
pub use encode::line::{Line, to_line};
pub use encode::rpc_error::RpcError;
pub use message::dialect::{AnswerWithoutId, Side};
pub use message::fault_kind::FaultKind;
pub use message::frame::{Batch, Frame};
pub use message::id::{Id, ParseIdError};
pub use message::message::{AnyMessage, ErrorObject, Message, Notification, Ranges, Request, Response};
pub use message::raw::{InvalidJson, RawJson};
pub use message::rules::{Rules, Settings};

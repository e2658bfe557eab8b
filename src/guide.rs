//! A guide in nine chapters, each with a problem, a program that solves it, and common mistakes.
//!
//! - [Writing a server](writing_a_server): answer requests, one at a time or many.
//! - [Writing a client](writing_a_client): make calls, with time limits.
//! - [Writing a language server](writing_a_language_server): `Content-Length` headers, the order of changes, `exit`.
//! - [Both sides ask](both_sides_ask): call the peer while serving it.
//! - [Writing a proxy](writing_a_proxy): share one server between clients, changing nothing but ids.
//! - [Surviving a noisy stdout](surviving_a_noisy_stdout): keep stray prints out of the protocol.
//! - [Framing a stream](framing_a_stream): turn chunks of bytes into messages, without a connection.
//! - [Answering faults](answering_faults): decide whether to answer a bad line, and with which id.
//! - [From C and C++](from_c_and_cpp): the codec behind one header.
//!
//! Moving existing code to wireline:
//!
//! - [From a `read_line` loop](from_read_line)
//! - [From `LinesCodec` and serde_json](from_lines_codec)
//! - [From rmcp's stdio transport](https://docs.rs/wireline-rmcp/latest/wireline_rmcp/migrating/), in `wireline-rmcp`
//!
//! Reference:
//!
//! - [Comparison](comparison) with other libraries and the official MCP SDKs
//! - [Speed](speed): figures, how to reproduce them, and what you can do
//! - [Security](security): what a hostile peer can't do, what it can, and how that is checked

#[allow(unused_imports, reason = "links in the chapters resolve from here")]
use crate::*;

// The programs in these chapters need the features.
#[cfg(all(feature = "stdio", feature = "tokio"))]
#[doc = include_str!("../docs/writing-a-server.md")]
pub mod writing_a_server {}

#[cfg(all(feature = "process", feature = "testing", feature = "tokio"))]
#[doc = include_str!("../docs/writing-a-client.md")]
pub mod writing_a_client {}

#[cfg(all(feature = "stdio", feature = "tokio"))]
#[doc = include_str!("../docs/writing-a-language-server.md")]
pub mod writing_a_language_server {}

#[cfg(feature = "tokio")]
#[doc = include_str!("../docs/both-sides-ask.md")]
pub mod both_sides_ask {}

#[cfg(all(feature = "testing", feature = "tokio"))]
#[doc = include_str!("../docs/writing-a-proxy.md")]
pub mod writing_a_proxy {}

#[cfg(feature = "stdio")]
#[doc = include_str!("../docs/surviving-a-noisy-stdout.md")]
pub mod surviving_a_noisy_stdout {}

#[doc = include_str!("../docs/framing-a-stream.md")]
pub mod framing_a_stream {}

#[doc = include_str!("../docs/answering-faults.md")]
pub mod answering_faults {}

#[doc = include_str!("../docs/from-c-and-cpp.md")]
pub mod from_c_and_cpp {}

#[doc = include_str!("../docs/from-read-line.md")]
pub mod from_read_line {}

#[cfg(feature = "tokio")]
#[doc = include_str!("../docs/from-lines-codec.md")]
pub mod from_lines_codec {}

#[doc = include_str!("../docs/comparison.md")]
pub mod comparison {}

#[doc = include_str!("../docs/speed.md")]
pub mod speed {}

#[doc = include_str!("../SECURITY.md")]
pub mod security {}

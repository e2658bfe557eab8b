//! Four chapters, each from a problem to a program that runs, and then to what goes wrong.
//!
//! - [Framing a stream](framing_a_stream): bytes come in pieces that have nothing to do with lines.
//! - [Answering faults](answering_faults): a line is no message, and somebody may be waiting for an answer to it.
//! - [Writing a proxy](writing_a_proxy): several clients share a server, and nothing but ids may change on the way.
//! - [Surviving a noisy stdout](surviving_a_noisy_stdout): somebody prints where messages go.

#[allow(unused_imports, reason = "the chapters' links begin here")]
use crate::*;

#[doc = include_str!("../docs/framing-a-stream.md")]
pub mod framing_a_stream {}

#[doc = include_str!("../docs/answering-faults.md")]
pub mod answering_faults {}

#[doc = include_str!("../docs/writing-a-proxy.md")]
pub mod writing_a_proxy {}

#[doc = include_str!("../docs/surviving-a-noisy-stdout.md")]
pub mod surviving_a_noisy_stdout {}

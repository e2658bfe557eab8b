//! A guide in five chapters, each with a problem, a program that solves it, and common mistakes.
//!
//! - [Framing a stream](framing_a_stream): turn chunks of bytes into messages.
//! - [Answering faults](answering_faults): decide whether to answer a bad line, and with which id.
//! - [Writing a proxy](writing_a_proxy): share one server between clients, changing nothing but ids.
//! - [Surviving a noisy stdout](surviving_a_noisy_stdout): keep stray prints out of the protocol.
//! - [From C and C++](from_c_and_cpp): the same codec behind one header.

#[allow(unused_imports, reason = "links in the chapters resolve from here")]
use crate::*;

#[doc = include_str!("../docs/framing-a-stream.md")]
pub mod framing_a_stream {}

#[doc = include_str!("../docs/answering-faults.md")]
pub mod answering_faults {}

#[doc = include_str!("../docs/writing-a-proxy.md")]
pub mod writing_a_proxy {}

// The first program in it needs the feature.
#[cfg(feature = "stdio")]
#[doc = include_str!("../docs/surviving-a-noisy-stdout.md")]
pub mod surviving_a_noisy_stdout {}

#[doc = include_str!("../docs/from-c-and-cpp.md")]
pub mod from_c_and_cpp {}

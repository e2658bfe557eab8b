//! `wireline` for C and C++, behind one header: `include/wireline.h`, which cbindgen generates from this crate.
//!
//! Each file has the functions of one handle. `memory` turns pointers from C into references, and `boundary` prevents
//! panics from unwinding into C. `current`, `decoder` and `connection` document what is allowed while a message borrows
//! from a buffer.
//!
//! The comments of public items end up in the header, so they are written for its readers.
#![allow(non_camel_case_types, reason = "these are the names in C")]
#![allow(clippy::missing_safety_doc, reason = "the header states the rules for pointers once, for all functions")]

pub mod connection;
pub mod decoder;
pub mod encoder;
pub mod event;
pub mod frame;
pub mod json;
pub mod kinds;
pub mod message;
pub mod peer;
pub mod rules;
pub mod status;
pub mod stdio;
pub mod ticket;
pub mod wake;

mod boundary;
mod current;
mod memory;

pub use memory::{wl_span, wl_text};

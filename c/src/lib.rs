//! The codec of `wireline` for C and C++, behind one header: `include/wireline.h`, which cbindgen makes of this crate.
//!
//! Each file has the functions of one handle. `memory` turns pointers from C into references, and `boundary` keeps panics
//! from crossing into C. `current` and `decoder` say what a decoder and the message that borrows from it may do.
//!
//! The comments of public items are written for the header, and for those who read it.
#![allow(non_camel_case_types, reason = "these are the names that C sees")]
#![allow(clippy::missing_safety_doc, reason = "the header says once, for all functions, what a pointer must be")]

pub mod decoder;
pub mod encoder;
pub mod frame;
pub mod inbound;
pub mod json;
pub mod kinds;
pub mod message;
pub mod outbound;
pub mod rules;
pub mod status;
pub mod stdio;

mod boundary;
mod current;
mod memory;

pub use memory::{wl_span, wl_text};

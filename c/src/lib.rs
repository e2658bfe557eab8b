//! `wireline` for C and C++, behind one header: `include/wireline.h`, which cbindgen makes of this crate.
//!
//! Each file has the functions of one handle. `memory` turns pointers from C into references, and `boundary` keeps panics
//! from crossing into C. `current`, `decoder` and `connection` say what may be done while a message borrows from a buffer.
//!
//! The comments of public items are written for the header, and for those who read it.
#![allow(non_camel_case_types, reason = "these are the names that C sees")]
#![allow(clippy::missing_safety_doc, reason = "the header says once, for all functions, what a pointer must be")]

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

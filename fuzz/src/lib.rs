//! The bodies of the fuzz targets: each takes the fuzzer's bytes, and panics if a promise is broken.
//!
//! They know nothing of libFuzzer. `tests/fuzz.rs` of the library has the same files as modules, and runs each over its
//! seeds and over mutations of them.

pub mod decode_chunks;
pub mod differential;
pub mod envelope;
pub mod ledger;
pub mod round_trip;
pub mod serve;
pub mod witnesses;

mod input;
mod lines;

#[path = "../../tests/common/mod.rs"]
mod common;

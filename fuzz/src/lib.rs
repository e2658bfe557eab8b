//! The bodies of the fuzz targets: each takes the fuzzer's bytes, and panics if a promise is broken.
//!
//! They don't depend on libFuzzer. The library's `tests/fuzz.rs` includes the same files as modules, and runs them on
//! their seeds and on mutated seeds.

#[path = "../../c/tests/calls/mod.rs"]
pub mod c_api;
pub mod connection;
pub mod decode_chunks;
pub mod differential;
pub mod envelope;
pub mod framings;
pub mod round_trip;
pub mod serve;
pub mod witnesses;

mod input;
mod lines;
mod recovered;

#[path = "../../tests/common/mod.rs"]
mod common;

//! The integration tests, as one program: linking the library with each file on its own took minutes.
//!
//! ```console
//! cargo test --all-features --test integration             # all of them
//! cargo test --all-features --test integration encoder::   # one file
//! ```

mod acceptance;
mod adapter_api;
mod adapters;
mod api;
mod common;
mod connection;
mod dom;
mod doors;
mod encoder;
mod examples;
mod framing;
mod glob_import;
mod guard_page;
mod layers;
mod mcp_server;
mod memory;
mod normalize;
mod process;
mod recovery;
mod salvage;
mod serve;
mod shown;
mod sides;
mod stream;
mod testing;
mod tokio;
mod tracing;

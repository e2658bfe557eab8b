//! The integration tests in Rust, as one program. `cargo test -p wireline-c --test integration header::` runs one file.

mod calls;
#[cfg(unix)]
#[path = "../../tests/common/mod.rs"]
mod common;
mod header;
mod random_calls;
mod server;

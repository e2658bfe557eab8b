//! The integration tests, as one program. `cargo test -p wireline-jsonrpsee --test integration client::` runs one file.

mod bad_lines;
mod child_process;
mod client;
mod common;
mod end;

//! The integration tests, as one program. `cargo test -p wireline-rmcp --test integration session::` runs one file.

mod bad_lines;
mod child_process;
mod doors;
mod memory;
mod session;
mod support;
mod transport;
mod typed;

//! Sessions with peers that behave and peers that don't, over this transport and the SDK's own.

mod bad_lines;
mod child_process;
mod common;
mod conversation;
mod end;
mod memory;

//! The JSON layer of [wireline](https://docs.rs/wireline). It is an implementation detail without any promise of
//! stability: use wireline instead.
//!
//! This crate knows nothing of JSON-RPC.
//!
//! | file | contents |
//! |---|---|
//! | `scan/` | validates a text and locates the members of its outermost object, in one pass, 64 bytes at a time |
//! | `accept` | scans a text and returns it as a `&str` |
//! | `kernel` | selects the CPU-specific scanner |
//! | `explain` | finds the first syntax error of an invalid text, byte by byte |
//! | `walk` | iterates over the members and elements of valid JSON |
//! | `pointer` | resolves JSON pointers in valid JSON |
//! | `string`, `number` | decode and compare strings; compare numbers exactly |
//! | `unescape` | decodes strings that have escapes, 64 bytes at a time |
//! | `swar` | finds the end of a short string or number, eight bytes at a time |
//! | `text` | valid JSON that borrows from a line or shares its buffer |
//! | `short_text` | text that is stored inline if it is short |
//! | `escape/` | escapes strings, 64 bytes at a time, and appends output to a buffer |
//! | `fragment` | passes JSON text through serde verbatim |
//! | `spelling` | preserves the spelling of numbers that serde buffers |
//! | `transcode` | serializes JSON text to serializers that don't accept it verbatim |
//! | `collect` | reads a value from a deserializer as JSON text |
//! | `typed/` | deserializes valid JSON |

// Most types hold bytes from a peer, which must not end up in a log.
#![allow(missing_debug_implementations)]
// Only wireline calls these functions.
#![allow(clippy::missing_errors_doc, clippy::new_without_default)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr))]
// A truncated number would be a wrong position in the text.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap))]

mod accept;
pub mod collect;
pub mod escape;
mod explain;
pub mod fragment;
mod kernel;
mod number;
pub mod pointer;
mod scan;
mod short_text;
pub mod spelling;
pub mod string;
pub mod swar;
mod text;
mod transcode;
pub mod typed;
mod unescape;
pub mod walk;

pub use accept::{Accepted, accept};
pub use explain::{SyntaxError, SyntaxErrorKind, explain};
pub use number::Decimal;
#[cfg(feature = "kernels")]
pub use scan::Cpu;
pub use scan::{DEEPEST, Input, Member, Members, Opening, Root, Scanned, Span, TextFlags};
pub use short_text::ShortText;
pub use text::Text;
pub use transcode::{transcode, transcode_exactly};

/// Whether `byte` is a space, tab, line feed or carriage return, which JSON allows between tokens.
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether `json`, a JSON text without blanks around it, is a number.
pub fn is_number(json: &str) -> bool {
    matches!(json.as_bytes().first(), Some(b'-' | b'0'..=b'9'))
}

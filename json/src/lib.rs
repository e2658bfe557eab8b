//! The JSON layer of [wireline](https://docs.rs/wireline). It is an implementation detail without any promise of
//! stability: use wireline instead.
//!
//! JSON alone, without a word of JSON-RPC.
//!
//! | file | question it answers |
//! |---|---|
//! | `scan/` | is a text JSON, and where are the members of its outermost object? One pass, 64 bytes at a time |
//! | `accept` | the same, with the text as `&str` if the answer is yes |
//! | `collect` | what is the text of a value that a deserializer reads? |
//! | `explain` | what's wrong with a text, and where? Byte by byte |
//! | `escape/` | which bytes of a string must be escaped? And where to write them, 64 bytes at a time |
//! | `fragment` | how does a text get through serde as it is spelled? |
//! | `spelling` | how does a number get through a buffer as it is spelled? |
//! | `transcode` | what does a text say to a serializer that can't take it as it is spelled? |
//! | `kernel` | which CPU-specific implementation runs? |
//! | `pointer` | where is the value that a JSON pointer leads to? |
//! | `swar` | the same for a few bytes, eight at a time: where does a short string or number end? |
//! | `text` | who owns a valid text: a line, or a buffer? |
//! | `short_text` | where is a text kept that is probably short: in the value itself? |
//! | `typed/` | what is a valid text worth, as a value of some type? |
//! | `walk` | where are the members and elements of a valid text? |
//! | `string`, `number` | what does a string say, what is a number worth? |

// Most types hold a peer's bytes, which must not end up in a log.
#![allow(missing_debug_implementations)]
// Nobody else calls these functions.
#![allow(clippy::missing_errors_doc, clippy::new_without_default)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr))]
// A truncated number would be a wrong position in a text.
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
pub mod walk;

pub use accept::{Accepted, accept};
pub use explain::{Defect, Flaw, explain};
pub use number::Decimal;
#[cfg(feature = "kernels")]
pub use scan::Cpu;
pub use scan::{DEEPEST, Input, Member, Members, Opening, Root, Scanned, Span, Traits};
pub use short_text::ShortText;
pub use text::Text;
pub use transcode::{transcode, transcode_exactly};

/// Space, tab, line feed and carriage return: what JSON allows between tokens.
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether `json`, a JSON text without blanks around it, is a number.
pub fn is_number(json: &str) -> bool {
    matches!(json.as_bytes().first(), Some(b'-' | b'0'..=b'9'))
}

//! JSON alone, without a word of JSON-RPC. The lowest layer: it imports nothing else of the crate.
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
//! | `text` | who owns a valid text: a line, a buffer, or the value itself? |
//! | `typed/` | what is a valid text worth, as a value of some type? |
//! | `walk` | where are the members and elements of a valid text? |
//! | `string`, `number` | what does a string say, what is a number worth? |

pub(crate) mod accept;
pub(crate) mod collect;
pub(crate) mod escape;
pub(crate) mod explain;
pub(crate) mod fragment;
pub(crate) mod kernel;
pub(crate) mod number;
pub(crate) mod pointer;
pub(crate) mod scan;
pub(crate) mod spelling;
pub(crate) mod string;
pub(crate) mod swar;
pub(crate) mod text;
mod transcode;
pub(crate) mod typed;
pub(crate) mod walk;

pub(crate) use accept::{Accepted, accept};
pub(crate) use explain::{Flaw, explain};
pub(crate) use fragment::RAW_FRAGMENT;
pub(crate) use number::Decimal;
pub(crate) use scan::{DEEPEST, Input, Member, Members, Opening, Root, Scanned, Span};
pub(crate) use text::{ShortText, Text};
pub(crate) use transcode::{transcode, transcode_exactly};

/// Space, tab, line feed and carriage return: what JSON allows between tokens.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether `json`, a JSON text without blanks around it, is a number.
pub(crate) fn is_number(json: &str) -> bool {
    matches!(json.as_bytes().first(), Some(b'-' | b'0'..=b'9'))
}

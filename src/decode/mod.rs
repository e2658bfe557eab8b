//! Turns bytes into frames and faults. Within the crate, it imports only [`message`](crate::message).
//!
//! | file | job |
//! |---|---|
//! | `decoder` | split lines, skip blank ones, hand out frames: the only loop over lines |
//! | `buffer` | accumulate bytes; allocate, move and free memory |
//! | `discard`, `recover` | discard a line beyond the limit; recover the id of a faulty line |
//! | `framing` | the framings, and how to recognize them |
//! | `framed` | split off and hand out messages of framings other than lines |
//! | `content_length`, `event_stream`, `step` | find messages after LSP's headers, and in server-sent events |
//! | `diagnose`, `hint`, `fault` | turn a violation into a fault: id, hint, reply |
//! | `input` | a decoder filled by reads whose size adapts to the stream |
//! | `salvage` | find a message behind noise on the same line |
//! | `parse` | parse a single text, and the entries of a batch |

mod buffer;
mod content_length;
pub(crate) mod decoder;
mod diagnose;
mod discard;
mod event_stream;
pub(crate) mod fault;
mod framed;
pub(crate) mod framing;
pub(crate) mod hint;
mod input;
pub(crate) mod parse;
mod recover;
mod salvage;
mod step;

pub(crate) use decoder::{Decoder, Ready};
pub(crate) use fault::{Answer, Fault};
pub(crate) use framing::Framing;
pub(crate) use input::Input;

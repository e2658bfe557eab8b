//! Turns bytes into frames and faults. Within the crate, it imports only [`message`](crate::message).
//!
//! | file | job |
//! |---|---|
//! | `decoder` | split lines, skip blank ones, hand out frames: the only loop over lines |
//! | `buffer` | accumulate bytes; allocate, move and free memory |
//! | `discard`, `recover` | discard a line beyond the limit; recover the id of a faulty line |
//! | `diagnose`, `hint`, `fault` | turn a violation into a fault: id, hint, reply |
//! | `input` | a decoder filled by reads whose size adapts to the stream |
//! | `parse` | parse a single text, and the entries of a batch |

mod buffer;
pub(crate) mod decoder;
mod diagnose;
mod discard;
pub(crate) mod fault;
pub(crate) mod hint;
mod input;
pub(crate) mod parse;
mod recover;

pub(crate) use decoder::{Decoder, Ready};
pub(crate) use fault::{Answer, Fault};
pub(crate) use input::Input;

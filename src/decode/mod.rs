//! Bytes in, frames and faults out. Imports nothing of the crate but [`message`](crate::message).
//!
//! | file | job |
//! |---|---|
//! | `decoder` | split lines, skip blank ones, hand out frames: the only loop |
//! | `buffer` | accumulate bytes; allocate, move, give back |
//! | `discard`, `recover` | follow a line beyond the limit; read what can still be read of a faulty one |
//! | `diagnose`, `hint`, `fault` | from a violation to a fault: id, hint, reply |
//! | `input` | a decoder fed by reads, whose size adapts to the stream |
//! | `parse` | one text on its own, and the entries of a batch |

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

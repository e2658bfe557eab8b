//! JSON texts that have been checked already: their parts, comparison by value, and paths into them.
//!
//! Texts are compared as they were received, part by part, and only where their spelling differs. So two answers that are
//! the same cost one comparison of bytes, and no number is ever rounded.

mod compare;
mod fingerprint;
mod ignored;
mod parts;
mod pointer;
mod pretty;
mod volatile;

pub(crate) use compare::{Change, ChangeKind, Comparison, compare};
pub(crate) use fingerprint::fingerprint;
pub(crate) use ignored::Ignored;
pub(crate) use parts::{kind, with_member};
pub(crate) use pointer::PointerPattern;
pub(crate) use pretty::pretty;
pub(crate) use volatile::VolatileKind;

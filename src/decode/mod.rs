//! Bytes in, frames and faults out.

pub(crate) mod decoder;
pub(crate) mod fault;
pub(crate) mod hint;
pub(crate) mod recover;

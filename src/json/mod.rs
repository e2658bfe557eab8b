//! JSON alone: one pass over a text, the byte-by-byte judge that explains, and steps over checked text.

pub(crate) mod explain;
pub(crate) mod number;
pub(crate) mod scan;
pub(crate) mod string;
pub(crate) mod walk;

//! What a line says by the rules of its dialect.

pub(crate) mod cow_bytes;
pub(crate) mod envelope;
pub(crate) mod frame;
pub(crate) mod id;
#[allow(clippy::module_inception)]
pub(crate) mod message;
pub(crate) mod raw;
pub(crate) mod rules;
#[cfg(feature = "simd-json")]
pub(crate) mod simd_json;

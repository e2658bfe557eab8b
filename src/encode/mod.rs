//! Messages in, whole lines out.

pub(crate) mod draft;
pub(crate) mod encoder;
pub(crate) mod error;
pub(crate) mod payload;
pub(crate) mod rpc_error;
pub(crate) mod serializer;

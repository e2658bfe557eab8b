//! Faults and refusals as events of `tracing`, if that feature is on; otherwise nothing.
//!
//! They say what, which and where, and have nothing of the peer's or the caller's words in them.

use crate::decode::fault::Fault;
use crate::encode::error::EncodeError;

/// A line was wrong.
#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nobody is told"))]
#[inline]
pub(crate) fn fault(fault: &Fault) {
    #[cfg(feature = "tracing")]
    tracing::warn!(
        kind = fault.kind().name(),
        code = fault.code(),
        line = fault.line(),
        column = fault.column(),
        offset = fault.offset(),
        hint = fault.hint().map(crate::decode::hint::Hint::name),
        has_id = fault.id().is_some(),
        answered = fault.reply().is_some(),
        "faulty line"
    );
}

/// A message was not encoded.
#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nobody is told"))]
#[inline]
pub(crate) fn refusal(error: &EncodeError) {
    #[cfg(feature = "tracing")]
    tracing::warn!(reason = %error.kind(), offset = error.offset(), "message refused");
}

//! Why a message was not encoded: the caller's mistakes, as [`Fault`](crate::Fault) is the peer's.

use std::fmt;
use std::io;

use crate::message::FaultKind;

/// Why a message was not encoded. Its text contains nothing of the message.
///
/// ```
/// use wireline::{EncodeErrorKind, Encoder, Id, Rules};
///
/// let mut encoder = Encoder::new(Rules::json_rpc());
/// let error = encoder.response(&Id::from(1), &[1.0, f64::NAN]).unwrap_err();
/// assert_eq!(error.kind(), EncodeErrorKind::NonFiniteFloat);
/// assert!(error.to_string().starts_with("payload contains NaN or infinity"));
/// assert!(encoder.take().is_empty());
/// ```
pub struct EncodeError {
    kind: EncodeErrorKind,
    offset: Option<usize>,
    source: Option<serde_json::Error>,
}

impl EncodeError {
    /// What kept the message from being encoded.
    #[must_use]
    pub fn kind(&self) -> EncodeErrorKind {
        self.kind
    }

    /// The byte of the message at which it shows, if there is one.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.offset
    }

    pub(crate) fn rule(kind: FaultKind, offset: impl Into<Option<usize>>) -> Self {
        Self { kind: EncodeErrorKind::Rule(kind), offset: offset.into(), source: None }
    }

    pub(crate) fn line_break(offset: usize) -> Self {
        Self { kind: EncodeErrorKind::LineBreak, offset: Some(offset), source: None }
    }

    pub(crate) fn not_one_line() -> Self {
        Self { kind: EncodeErrorKind::NotOneLine, offset: None, source: None }
    }

    /// `kind` is [`Serialize`](EncodeErrorKind::Serialize) or [`NonFiniteFloat`](EncodeErrorKind::NonFiniteFloat).
    pub(crate) fn serialize(kind: EncodeErrorKind, offset: usize, source: serde_json::Error) -> Self {
        Self { kind, offset: Some(offset), source: Some(source) }
    }

    /// Reports the refusal as an event, if the feature `tracing` is on.
    #[cfg_attr(not(feature = "tracing"), expect(clippy::unused_self, reason = "nobody listens"))]
    #[inline]
    pub(crate) fn log(&self) {
        #[cfg(feature = "tracing")]
        tracing::warn!(reason = %self.kind(), offset = self.offset(), "message refused");
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.kind, f)?;
        match self.offset {
            Some(offset) => write!(f, " (at byte {offset})"),
            None => Ok(()),
        }
    }
}

/// Without the source, whose text is the payload's own.
impl fmt::Debug for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodeError").field("kind", &self.kind).field("offset", &self.offset).finish_non_exhaustive()
    }
}

/// The source is the reason that a payload's `Serialize` gave, in its own words.
impl std::error::Error for EncodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// [`InvalidInput`](io::ErrorKind::InvalidInput): the message was at fault, not the stream.
impl From<EncodeError> for io::Error {
    fn from(error: EncodeError) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

/// What kept a message from being encoded.
///
/// Kinds may be added, so a `match` needs a wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeErrorKind {
    /// The payload's `Serialize` failed.
    Serialize,
    /// A float in the payload is NaN or infinite, which JSON can't express.
    NonFiniteFloat,
    /// It contains a line feed or a carriage return.
    LineBreak,
    /// The rules don't permit it.
    Rule(FaultKind),
    /// Not exactly one line was written where one was wanted.
    NotOneLine,
}

impl fmt::Display for EncodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serialize => f.write_str("payload failed to serialize"),
            Self::NonFiniteFloat => f.write_str("payload contains NaN or infinity"),
            Self::LineBreak => f.write_str("message contains a line break"),
            Self::Rule(kind) => fmt::Display::fmt(kind, f),
            Self::NotOneLine => f.write_str("expected exactly one line"),
        }
    }
}

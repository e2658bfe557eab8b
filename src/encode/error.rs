//! Why a message was not encoded: the caller's faults, as [`Fault`](crate::Fault) is the peer's.

use std::fmt;

use crate::decode::fault::FaultKind;

/// Why a message was not encoded. Nothing of the message is in its text.
///
/// ```
/// use wireline::{EncodeErrorKind, Encoder, Id, Rules};
///
/// let mut encoder = Encoder::new(Rules::json_rpc());
/// let error = encoder.response(&Id::from(1), &[1.0, f64::NAN]).unwrap_err();
/// assert_eq!(error.kind(), EncodeErrorKind::NonFiniteFloat);
/// assert!(error.to_string().starts_with("expected floats to be finite"));
/// assert!(encoder.take().is_empty());
/// ```
pub struct EncodeError {
    kind: EncodeErrorKind,
    offset: Option<usize>,
    source: Option<serde_json::Error>,
}

impl EncodeError {
    /// What kept the message from being encoded.
    pub fn kind(&self) -> EncodeErrorKind {
        self.kind
    }

    /// Where in the message, in bytes, if there is such a place.
    pub fn offset(&self) -> Option<usize> {
        self.offset
    }

    pub(crate) fn rule(kind: FaultKind, offset: impl Into<Option<usize>>) -> Self {
        Self { kind: EncodeErrorKind::Rule(kind), offset: offset.into(), source: None }
    }

    pub(crate) fn line_break(offset: usize) -> Self {
        Self { kind: EncodeErrorKind::LineBreak, offset: Some(offset), source: None }
    }

    /// `kind` is [`Serialize`](EncodeErrorKind::Serialize) or [`NonFiniteFloat`](EncodeErrorKind::NonFiniteFloat).
    pub(crate) fn serialize(kind: EncodeErrorKind, offset: usize, source: serde_json::Error) -> Self {
        Self { kind, offset: Some(offset), source: Some(source) }
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

/// Without the source, which is in the words of whoever wrote it.
impl fmt::Debug for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodeError").field("kind", &self.kind).field("offset", &self.offset).finish_non_exhaustive()
    }
}

/// The source is what a payload's `Serialize` gave as its reason, in its own words.
impl std::error::Error for EncodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// What kept a message from being encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeErrorKind {
    /// The payload's `Serialize` failed.
    Serialize,
    /// A float in the payload is infinite or not a number, which JSON cannot say.
    NonFiniteFloat,
    /// There is a line feed or a carriage return in it.
    LineBreak,
    /// The rules do not permit it.
    Rule(FaultKind),
}

impl fmt::Display for EncodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serialize => f.write_str("expected a payload that serializes"),
            Self::NonFiniteFloat => f.write_str("expected floats to be finite"),
            Self::LineBreak => f.write_str("expected no line break within the message"),
            Self::Rule(kind) => fmt::Display::fmt(kind, f),
        }
    }
}

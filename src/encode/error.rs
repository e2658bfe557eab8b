//! Why a message wasn't encoded. This is the caller's mistake; a [`Fault`](crate::Fault) is the peer's.

use std::fmt;
use std::io;

use crate::message::{Expectation, FaultKind, Rules};

/// Why a message wasn't encoded. Its text contains none of the message's contents.
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
    /// What the rules expect, once they are known.
    expectation: Option<Expectation>,
}

impl EncodeError {
    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> EncodeErrorKind {
        self.kind
    }

    /// The offset of the error in the message, in bytes, if it has one.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.offset
    }

    pub(crate) fn rule(kind: FaultKind, offset: impl Into<Option<usize>>) -> Self {
        Self { kind: EncodeErrorKind::Rule(kind), offset: offset.into(), source: None, expectation: None }
    }

    pub(crate) fn line_break(offset: usize) -> Self {
        Self { kind: EncodeErrorKind::LineBreak, offset: Some(offset), source: None, expectation: None }
    }

    pub(crate) fn not_one_line() -> Self {
        Self { kind: EncodeErrorKind::NotOneLine, offset: None, source: None, expectation: None }
    }

    pub(crate) fn no_id() -> Self {
        Self { kind: EncodeErrorKind::NoId, offset: None, source: None, expectation: None }
    }

    pub(crate) fn event() -> Self {
        Self { kind: EncodeErrorKind::Event, offset: None, source: None, expectation: None }
    }

    pub(crate) fn pointer() -> Self {
        Self { kind: EncodeErrorKind::Pointer, offset: None, source: None, expectation: None }
    }

    /// `kind` is [`Serialize`](EncodeErrorKind::Serialize) or [`NonFiniteFloat`](EncodeErrorKind::NonFiniteFloat).
    pub(crate) fn serialize(kind: EncodeErrorKind, offset: usize, source: serde_json::Error) -> Self {
        Self { kind, offset: Some(offset), source: Some(source), expectation: None }
    }

    /// Says what these rules expect, if the message breaks one.
    #[cold]
    pub(crate) fn under(mut self, rules: &Rules) -> Self {
        if let EncodeErrorKind::Rule(kind) = self.kind {
            self.expectation = Some(Expectation::new(kind, rules));
        }
        self
    }

    /// Emits the error as a `tracing` event, if that feature is on.
    #[cfg_attr(not(feature = "tracing"), expect(clippy::unused_self, reason = "empty without `tracing`"))]
    #[inline]
    pub(crate) fn log(&self) {
        #[cfg(feature = "tracing")]
        tracing::warn!(reason = %self.kind(), offset = self.offset(), "message refused");
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.expectation {
            Some(expectation) => fmt::Display::fmt(expectation, f)?,
            None => fmt::Display::fmt(&self.kind, f)?,
        }
        match self.offset {
            Some(offset) => write!(f, " (at byte {offset})"),
            None => Ok(()),
        }
    }
}

/// Leaves out the source, whose text comes from the payload.
impl fmt::Debug for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodeError").field("kind", &self.kind).field("offset", &self.offset).finish_non_exhaustive()
    }
}

/// The source is the error that the payload's `Serialize` returned.
impl std::error::Error for EncodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// The kind is [`InvalidInput`](io::ErrorKind::InvalidInput): the message was at fault, not the stream.
impl From<EncodeError> for io::Error {
    fn from(error: EncodeError) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

/// The kind of an [`EncodeError`].
///
/// Kinds may be added, so a `match` needs a wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeErrorKind {
    /// The payload's `Serialize` failed.
    Serialize,
    /// A float in the payload is NaN or infinite, which JSON can't express.
    NonFiniteFloat,
    /// The message contains a line feed or a carriage return.
    LineBreak,
    /// The message breaks a rule.
    Rule(FaultKind),
    /// Nothing, or more than one line, was written where exactly one was expected.
    NotOneLine,
    /// The message has no id that could be replaced.
    NoId,
    /// The pointer leads to no value that can be replaced, or to several.
    Pointer,
    /// The id or the name of an event contains a line break or a null character, or the framing isn't
    /// [`EventStream`](crate::Framing::EventStream).
    Event,
}

impl fmt::Display for EncodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serialize => f.write_str("payload failed to serialize"),
            Self::NonFiniteFloat => f.write_str("payload contains NaN or infinity"),
            Self::LineBreak => f.write_str("message contains a line break"),
            Self::Rule(kind) => fmt::Display::fmt(kind, f),
            Self::NotOneLine => f.write_str("expected exactly one line"),
            Self::NoId => f.write_str("message has no id to replace"),
            Self::Pointer => f.write_str("the pointer must lead to exactly one value"),
            Self::Event => f.write_str("an event needs an event stream, and an id and a name without line breaks"),
        }
    }
}

//! The bytes of a line, borrowed or shared, and where it is in the stream.

use bytes::Bytes;

/// Where a line is in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// From 1 on.
    pub(crate) line: u64,
    /// Of its first byte.
    pub(crate) offset: u64,
}

/// The bytes of a line or of a part of it.
#[derive(Clone)]
pub(crate) enum Text<'a> {
    Borrowed {
        bytes: &'a [u8],
        /// What `bytes` is a part of, if that can be shared.
        shared: Option<&'a Bytes>,
    },
    Shared(Bytes),
}

impl<'a> Text<'a> {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed { bytes, .. } => bytes,
            Self::Shared(bytes) => bytes,
        }
    }

    /// The same text, borrowed from this one.
    pub(crate) fn reborrow(&self) -> Text<'_> {
        match self {
            Self::Borrowed { bytes, shared } => Text::Borrowed { bytes, shared: *shared },
            Self::Shared(shared) => Text::Borrowed { bytes: shared, shared: Some(shared) },
        }
    }

    pub(crate) fn part(&self, start: usize, len: usize) -> Self {
        match self {
            Self::Borrowed { bytes, shared } => Self::Borrowed { bytes: &bytes[start..start + len], shared: *shared },
            Self::Shared(bytes) => Self::Shared(bytes.slice(start..start + len)),
        }
    }

    pub(crate) fn into_owned(self) -> Text<'static> {
        Text::Shared(match self {
            Self::Borrowed { bytes, shared: Some(shared) } => shared.slice_ref(bytes),
            Self::Borrowed { bytes, shared: None } => Bytes::copy_from_slice(bytes),
            Self::Shared(bytes) => bytes,
        })
    }
}

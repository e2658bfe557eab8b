//! Text that is usually short, such as an id.
#![allow(unsafe_code)]

use std::fmt::{self, Write};
use std::sync::Arc;

/// The longest [`ShortText`] that needs no allocation: three of its four words. The other one holds a tag and a length.
const INLINE: usize = 24;

/// Aligned, so that it is written and moved in words. Otherwise, it would be moved in pieces of other sizes than it was
/// written in, which defeats store-to-load forwarding: that costs 30 ns for a request in the ledger, which keeps its id
/// twice.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct InlineBytes([u8; INLINE]);

/// Text that is usually short. It never keeps a buffer alive.
#[derive(Clone)]
pub struct ShortText<'a> {
    repr: ShortRepr<'a>,
}

#[derive(Clone)]
enum ShortRepr<'a> {
    Borrowed(&'a str),
    /// The first `len` bytes are UTF-8.
    Inline {
        len: u8,
        bytes: InlineBytes,
    },
    /// Cloning this doesn't allocate.
    Allocated(Arc<str>),
}

impl<'a> ShortText<'a> {
    /// Borrows `text`.
    #[inline(always)]
    pub const fn borrowed(text: &'a str) -> Self {
        Self { repr: ShortRepr::Borrowed(text) }
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.repr {
            ShortRepr::Borrowed(text) => text,
            // SAFETY: the field is private, and all code that fills it takes the bytes from whole `&str`s.
            ShortRepr::Inline { len, bytes } => unsafe { std::str::from_utf8_unchecked(&bytes.0[..usize::from(*len)]) },
            ShortRepr::Allocated(text) => text,
        }
    }

    /// Returns the text in a form that is cheap to copy several times: a text too long to be stored inline is allocated
    /// now, and the copies share it.
    #[inline]
    pub fn shareable(&self) -> ShortText<'_> {
        match &self.repr {
            ShortRepr::Allocated(text) => ShortText { repr: ShortRepr::Allocated(Arc::clone(text)) },
            _ if self.as_str().len() > INLINE => ShortText { repr: ShortRepr::Allocated(self.as_str().into()) },
            _ => ShortText::borrowed(self.as_str()),
        }
    }

    /// Replaces `place` with a [copy](Self::copied). A short text is written in place, word by word, and never moved:
    /// loading two words at once right after storing them one by one would stall until both stores have completed.
    #[inline(always)]
    pub fn copy_to(&self, place: &mut ShortText<'static>) {
        match (&self.repr, short(self.as_str().as_bytes())) {
            (ShortRepr::Borrowed(_) | ShortRepr::Inline { .. }, Some((len, bytes))) => {
                place.repr = ShortRepr::Inline { len, bytes };
            }
            _ => *place = self.copied(),
        }
    }

    /// Returns a copy that borrows nothing.
    #[inline]
    pub fn copied(&self) -> ShortText<'static> {
        match &self.repr {
            ShortRepr::Allocated(text) => ShortText { repr: ShortRepr::Allocated(Arc::clone(text)) },
            _ => ShortText::copy_of(self.as_str()),
        }
    }

    /// Turns this into a text that borrows nothing, which copies it if it was borrowed.
    #[inline]
    pub fn into_owned(self) -> ShortText<'static> {
        match self.repr {
            ShortRepr::Borrowed(text) => ShortText::copy_of(text),
            ShortRepr::Inline { len, bytes } => ShortText { repr: ShortRepr::Inline { len, bytes } },
            ShortRepr::Allocated(text) => ShortText { repr: ShortRepr::Allocated(text) },
        }
    }
}

impl ShortText<'static> {
    /// Copies `text`.
    #[inline(always)]
    pub fn copy_of(text: &str) -> Self {
        match short(text.as_bytes()) {
            Some((len, bytes)) => Self { repr: ShortRepr::Inline { len, bytes } },
            None => Self::copy_of_long(text),
        }
    }

    #[inline(never)]
    fn copy_of_long(text: &str) -> Self {
        let mut bytes = InlineBytes([0; INLINE]);
        let repr = match (bytes.0.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(start), Ok(len)) => {
                start.copy_from_slice(text.as_bytes());
                ShortRepr::Inline { len, bytes }
            }
            _ => ShortRepr::Allocated(text.into()),
        };
        Self { repr }
    }

    /// Formats `value` with its `Display` implementation.
    pub fn displayed(value: impl fmt::Display) -> Self {
        let mut inline = Inline { len: 0, bytes: InlineBytes([0; INLINE]) };
        match write!(inline, "{value}") {
            Ok(()) => Self { repr: ShortRepr::Inline { len: inline.len, bytes: inline.bytes } },
            Err(fmt::Error) => Self::copy_of(&value.to_string()),
        }
    }
}

/// The inline form of a text of up to 16 bytes, as most ids are. It is read and written as words, which stay in
/// registers. A copy of variable length takes four times as long, since reading words right after they were written
/// byte by byte stalls.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "at most 16")]
fn short(text: &[u8]) -> Option<(u8, InlineBytes)> {
    let len = text.len();
    let words = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) if len <= 16 => {
            // The first eight bytes, and the last eight without those that the first word already contains.
            let last = u64::from_le_bytes(*last);
            [u64::from_le_bytes(*first), if len > 8 { last >> (8 * (16 - len)) } else { 0 }]
        }
        _ if len > 8 => return None,
        _ => match (text.first_chunk(), text.last_chunk()) {
            (Some(first), Some(last)) => {
                let last = u64::from(u32::from_le_bytes(*last)) << (8 * (len - 4));
                [u64::from(u32::from_le_bytes(*first)) | last, 0]
            }
            _ => {
                let byte = |at: usize| text.get(at).map_or(0, |&byte| u64::from(byte) << (8 * at));
                [byte(0) | byte(1) | byte(2), 0]
            }
        },
    };
    let mut bytes = [0; INLINE];
    bytes[..8].copy_from_slice(&words[0].to_le_bytes());
    bytes[8..16].copy_from_slice(&words[1].to_le_bytes());
    Some((len as u8, InlineBytes(bytes)))
}

/// Collects formatted output as long as it fits inline.
struct Inline {
    len: u8,
    bytes: InlineBytes,
}

impl fmt::Write for Inline {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = usize::from(self.len);
        let place = self.bytes.0.get_mut(start..start + text.len()).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len = u8::try_from(start + text.len()).map_err(|_| fmt::Error)?;
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn lengths() -> impl Iterator<Item = usize> {
        (0..INLINE + 2).chain([100])
    }

    /// Neighbouring bytes differ, so a misplaced byte makes a difference.
    pub(crate) fn text(len: usize) -> String {
        let accent = if len < 2 { "" } else { "é" };
        let letters = ('a'..='z').cycle().take(len - accent.len());
        accent.chars().chain(letters).collect()
    }

    #[test]
    fn short_texts_are_kept_in_place() {
        for len in lengths() {
            let text = text(len);
            let short = ShortText::borrowed(&text).into_owned();
            assert_eq!(short.as_str(), text);
            assert_eq!(short.clone().into_owned().as_str(), text);
            assert_eq!(matches!(short.repr, ShortRepr::Inline { .. }), len <= INLINE);
            assert_eq!(ShortText::displayed(&text).as_str(), text);
            assert_eq!(ShortText::displayed(format_args!("{text}é{text}")).as_str(), format!("{text}é{text}"));
        }
        assert_eq!(ShortText::displayed(i64::MIN).as_str(), i64::MIN.to_string());
    }
}

//! JSON text that is known to be valid: borrowed from a line, or sharing its buffer.
//!
//! Every constructor takes a `&str`, so the bytes behind a [`Text`] are UTF-8, and reading them back needs no second
//! check. That check would cost more than everything else an accessor does: about 30 ns for a payload of 120 bytes.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::string;

/// A text, and whatever keeps it alive.
#[derive(Clone)]
pub struct Text<'a> {
    repr: Repr<'a>,
}

#[derive(Clone)]
enum Repr<'a> {
    /// `buffer`, if there is one, is what `text` is a part of.
    Borrowed { text: &'a str, buffer: Option<&'a Bytes> },
    /// UTF-8.
    Shared(Bytes),
}

impl<'a> Text<'a> {
    /// Borrows `text`, which is a part of `buffer` if that is given.
    #[inline(always)]
    pub const fn borrowed(text: &'a str, buffer: Option<&'a Bytes>) -> Self {
        Self { repr: Repr::Borrowed { text, buffer } }
    }

    /// The text.
    #[inline(always)]
    pub fn as_str(&self) -> &str {
        match &self.repr {
            Repr::Borrowed { text, .. } => text,
            // SAFETY: the field is private, and everything that fills it takes the bytes from a `&str`.
            Repr::Shared(bytes) => unsafe { std::str::from_utf8_unchecked(bytes) },
        }
    }

    /// The part in `range`, which starts and ends where a token does, for as long as the whole lives.
    #[inline(always)]
    pub fn part(&self, range: Range<usize>) -> Self {
        match &self.repr {
            Repr::Borrowed { text, buffer } => Self::borrowed(&text[range], *buffer),
            Repr::Shared(bytes) => self.shared_part(bytes, range),
        }
    }

    /// Not inlined: it takes longer than a call.
    #[inline(never)]
    fn shared_part(&self, bytes: &Bytes, range: Range<usize>) -> Self {
        Self { repr: Repr::Shared(bytes.slice_ref(self.as_str()[range].as_bytes())) }
    }

    /// The same text without borrowing: it shares the buffer it is a part of, or is copied if there is none.
    #[inline]
    pub fn into_owned(self) -> Text<'static> {
        let bytes = match self.repr {
            Repr::Borrowed { text, buffer: Some(buffer) } => buffer.slice_ref(text.as_bytes()),
            Repr::Borrowed { text, buffer: None } => Bytes::copy_from_slice(text.as_bytes()),
            Repr::Shared(bytes) => bytes,
        };
        Text { repr: Repr::Shared(bytes) }
    }

    /// The characters of the text, if it is a string literal without lone surrogates.
    #[inline]
    pub fn decoded(&self) -> Option<Cow<'a, str>> {
        match &self.repr {
            Repr::Borrowed { text, .. } => string::decode(text),
            Repr::Shared(_) => string::decode(self.as_str()).map(|text| Cow::Owned(text.into_owned())),
        }
    }

    /// The characters of the string literal in `range`, with U+FFFD in place of lone surrogates.
    #[inline]
    pub fn decoded_part(&self, range: Range<usize>) -> Cow<'a, str> {
        match &self.repr {
            Repr::Borrowed { text, .. } => decoded(&text[range]),
            Repr::Shared(_) => Cow::Owned(decoded(&self.as_str()[range]).into_owned()),
        }
    }

    /// The part in `range`, which is probably short.
    #[inline(always)]
    pub fn short_part(&self, range: Range<usize>) -> ShortText<'a> {
        match &self.repr {
            Repr::Borrowed { text, .. } => ShortText::borrowed(&text[range]),
            Repr::Shared(_) => ShortText::copy_of(&self.as_str()[range]),
        }
    }

    /// The bytes, shared where possible.
    #[inline]
    pub fn to_bytes(&self) -> Bytes {
        match &self.repr {
            Repr::Borrowed { text, buffer: Some(buffer) } => buffer.slice_ref(text.as_bytes()),
            Repr::Borrowed { text, buffer: None } => Bytes::copy_from_slice(text.as_bytes()),
            Repr::Shared(bytes) => bytes.clone(),
        }
    }
}

/// The characters of a string literal.
#[inline]
fn decoded(literal: &str) -> Cow<'_, str> {
    match literal.as_bytes() {
        // Most are short and have no escapes, and memchr takes longer to start than this.
        [b'"', short @ .., b'"'] if short.len() <= 16 && !short.contains(&b'\\') => {
            Cow::Borrowed(&literal[1..literal.len() - 1])
        }
        _ => string::decode_lossy(literal),
    }
}

/// The longest [`ShortText`] that needs no allocation: three words of four, beside one for a tag and a length.
const INLINE: usize = 24;

/// Aligned, so that it is written and moved in words. One that isn't is moved in other pieces than those it was written in,
/// and the CPU then waits for all of them: 30 ns for a request in the ledger, which keeps its id twice.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct InlineBytes([u8; INLINE]);

/// A text that is probably short, and keeps no buffer alive.
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
    /// Cloning one doesn't allocate.
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
            // SAFETY: the field is private, and everything that fills it takes the bytes from whole `&str`s.
            ShortRepr::Inline { len, bytes } => unsafe { std::str::from_utf8_unchecked(&bytes.0[..usize::from(*len)]) },
            ShortRepr::Allocated(text) => text,
        }
    }

    /// The same text, for making several copies of it: if it is too long to be kept in place, it is allocated now, and the
    /// copies share it.
    #[inline]
    pub fn shareable(&self) -> ShortText<'_> {
        match &self.repr {
            ShortRepr::Allocated(text) => ShortText { repr: ShortRepr::Allocated(Arc::clone(text)) },
            _ if self.as_str().len() > INLINE => ShortText { repr: ShortRepr::Allocated(self.as_str().into()) },
            _ => ShortText::borrowed(self.as_str()),
        }
    }

    /// Replaces `place` by a [copy](Self::copied). A short text is written there word by word and never moved: the CPU
    /// can't load two words at once that it has just stored one by one, and would wait for both.
    #[inline(always)]
    pub fn copy_to(&self, place: &mut ShortText<'static>) {
        match (&self.repr, short(self.as_str().as_bytes())) {
            (ShortRepr::Borrowed(_) | ShortRepr::Inline { .. }, Some((len, bytes))) => {
                place.repr = ShortRepr::Inline { len, bytes };
            }
            _ => *place = self.copied(),
        }
    }

    /// A copy that borrows nothing.
    #[inline]
    pub fn copied(&self) -> ShortText<'static> {
        match &self.repr {
            ShortRepr::Allocated(text) => ShortText { repr: ShortRepr::Allocated(Arc::clone(text)) },
            _ => ShortText::copy_of(self.as_str()),
        }
    }

    /// The same text without borrowing: copied if it was borrowed.
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
    /// A copy of `text`.
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

    /// What `value` displays.
    pub fn displayed(value: impl fmt::Display) -> Self {
        let mut inline = Inline { len: 0, bytes: InlineBytes([0; INLINE]) };
        match write!(inline, "{value}") {
            Ok(()) => Self { repr: ShortRepr::Inline { len: inline.len, bytes: inline.bytes } },
            Err(fmt::Error) => Self::copy_of(&value.to_string()),
        }
    }
}

/// Up to 16 bytes, as an inline text has them: most ids. They are read and written as words, which stay in registers. A
/// copy of a length that isn't known takes four times as long, since what is written byte by byte can't be read as a
/// whole right after.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "at most 16")]
fn short(text: &[u8]) -> Option<(u8, InlineBytes)> {
    let len = text.len();
    let words = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) if len <= 16 => {
            // All of it and the last eight bytes, without those that are in the first already.
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

/// Takes strings as long as they fit.
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
mod tests {
    use super::*;

    fn lengths() -> impl Iterator<Item = usize> {
        (0..INLINE + 2).chain([100])
    }

    /// No two bytes near each other are equal, so none can stand for another.
    fn text(len: usize) -> String {
        let accent = if len < 2 { "" } else { "é" };
        let letters = ('a'..='z').cycle().take(len - accent.len());
        accent.chars().chain(letters).collect()
    }

    #[test]
    fn is_the_same_text_however_it_is_kept() {
        for len in lengths() {
            let text = text(len);
            let buffer = Bytes::from(format!("[{text}]"));
            let inside = str::from_utf8(&buffer[1..=len]).unwrap();
            for one in [Text::borrowed(inside, Some(&buffer)), Text::borrowed(inside, None)] {
                assert_eq!(one.as_str(), text);
                assert_eq!(one.to_bytes(), text);
                assert_eq!(one.short_part(0..len).as_str(), text);
                let (start, end) = (len / 4 * 2, len - len % 2);
                assert_eq!(one.part(start..end).as_str(), &text[start..end]);
                let owned = one.clone().into_owned();
                assert_eq!(owned.as_str(), text);
                assert_eq!(owned.to_bytes(), text);
                assert_eq!(owned.short_part(0..len).as_str(), text);
                assert_eq!(owned.part(start..end).into_owned().as_str(), &text[start..end]);
            }
        }
    }

    #[test]
    fn shares_its_buffer() {
        let buffer = Bytes::from("x".repeat(100));
        let text = str::from_utf8(&buffer).unwrap();
        let owned = Text::borrowed(&text[10..20], Some(&buffer)).into_owned();
        assert!(buffer.as_ptr_range().contains(&owned.as_str().as_ptr()));
        assert!(!buffer.as_ptr_range().contains(&owned.short_part(0..10).as_str().as_ptr()));
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

    /// A message has one of each, and is moved around a lot.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn are_small() {
        assert_eq!((size_of::<Text<'_>>(), size_of::<ShortText<'_>>()), (32, 32));
    }
}

//! Valid JSON text, borrowed from a line or sharing its buffer.
//!
//! Every constructor takes a `&str`, so the bytes of a [`Text`] are UTF-8 and don't have to be validated again. That
//! would cost more than the rest of an accessor: about 30 ns for a payload of 120 bytes.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use super::{ShortText, string};

/// A text that borrows or shares its buffer.
#[derive(Clone)]
pub struct Text<'a> {
    repr: Repr<'a>,
}

#[derive(Clone)]
enum Repr<'a> {
    /// `text` is a part of `buffer`, if there is a buffer.
    Borrowed { text: &'a str, buffer: Option<&'a Bytes> },
    /// The bytes are UTF-8.
    Shared(Bytes),
}

impl<'a> Text<'a> {
    /// Borrows `text`, which must be a part of `buffer` if there is a buffer.
    #[inline(always)]
    pub const fn borrowed(text: &'a str, buffer: Option<&'a Bytes>) -> Self {
        Self { repr: Repr::Borrowed { text, buffer } }
    }

    /// The text.
    #[inline(always)]
    pub fn as_str(&self) -> &str {
        match &self.repr {
            Repr::Borrowed { text, .. } => text,
            // SAFETY: the field is private, and all code that fills it takes the bytes from a `&str`.
            Repr::Shared(bytes) => unsafe { std::str::from_utf8_unchecked(bytes) },
        }
    }

    /// The part in `range`, which must start and end at token boundaries. It has the lifetime of the whole text.
    #[inline(always)]
    pub fn part(&self, range: Range<usize>) -> Self {
        match &self.repr {
            Repr::Borrowed { text, buffer } => Self::borrowed(&text[range], *buffer),
            Repr::Shared(bytes) => self.shared_part(bytes, range),
        }
    }

    /// Not inlined, because it takes longer than a call.
    #[inline(never)]
    fn shared_part(&self, bytes: &Bytes, range: Range<usize>) -> Self {
        Self { repr: Repr::Shared(bytes.slice_ref(self.as_str()[range].as_bytes())) }
    }

    /// Turns this into a text that borrows nothing. It shares its buffer, or is copied if there is none.
    #[inline]
    pub fn into_owned(self) -> Text<'static> {
        let bytes = match self.repr {
            Repr::Borrowed { text, buffer: Some(buffer) } => buffer.slice_ref(text.as_bytes()),
            Repr::Borrowed { text, buffer: None } => Bytes::copy_from_slice(text.as_bytes()),
            Repr::Shared(bytes) => bytes,
        };
        Text { repr: Repr::Shared(bytes) }
    }

    /// The decoded text, if it is a string literal without lone surrogates.
    #[inline]
    pub fn decoded(&self) -> Option<Cow<'a, str>> {
        match &self.repr {
            Repr::Borrowed { text, .. } => string::decode(text),
            Repr::Shared(_) => string::decode(self.as_str()).map(|text| Cow::Owned(text.into_owned())),
        }
    }

    /// The decoded string literal in `range`, with U+FFFD in place of lone surrogates.
    #[inline]
    pub fn decoded_part(&self, range: Range<usize>) -> Cow<'a, str> {
        match &self.repr {
            Repr::Borrowed { text, .. } => decoded(&text[range]),
            Repr::Shared(_) => Cow::Owned(decoded(&self.as_str()[range]).into_owned()),
        }
    }

    /// The part in `range`, as a text that is usually short.
    #[inline(always)]
    pub fn short_part(&self, range: Range<usize>) -> ShortText<'a> {
        match &self.repr {
            Repr::Borrowed { text, .. } => ShortText::borrowed(&text[range]),
            Repr::Shared(_) => ShortText::copy_of(&self.as_str()[range]),
        }
    }

    /// The bytes, shared if possible, otherwise copied.
    #[inline]
    pub fn to_bytes(&self) -> Bytes {
        match &self.repr {
            Repr::Borrowed { text, buffer: Some(buffer) } => buffer.slice_ref(text.as_bytes()),
            Repr::Borrowed { text, buffer: None } => Bytes::copy_from_slice(text.as_bytes()),
            Repr::Shared(bytes) => bytes.clone(),
        }
    }
}

/// Decodes a string literal, with U+FFFD in place of lone surrogates.
#[inline]
fn decoded(literal: &str) -> Cow<'_, str> {
    match literal.as_bytes() {
        // Most are short and have no escapes. For these, the startup cost of memchr is higher than that of this loop.
        [b'"', short @ .., b'"'] if short.len() <= 16 && !short.contains(&b'\\') => {
            Cow::Borrowed(&literal[1..literal.len() - 1])
        }
        _ => string::decode_lossy(literal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::short_text::tests::{lengths, text};

    #[test]
    fn all_representations_have_the_same_text() {
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

    /// A message contains one of each, and is moved often.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn are_small() {
        assert_eq!((size_of::<Text<'_>>(), size_of::<ShortText<'_>>()), (32, 32));
    }
}

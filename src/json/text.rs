//! JSON text that is known to be valid: borrowed from a line, short enough to be kept in place, or sharing a buffer.
//!
//! Every constructor takes a `&str`, so the bytes behind a [`Text`] are UTF-8, and reading them back needs no second
//! check. That check would cost more than everything else an accessor does: about 30 ns for a payload of 120 bytes.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::ops::Range;

use bytes::Bytes;

use super::string;

/// The longest text that is stored without an allocation: what fits beside a tag and a length in the 40 bytes that a
/// shared buffer needs anyway. A UUID in quotes has 38.
const INLINE: usize = 38;

/// A text, and whatever keeps it alive.
#[derive(Clone)]
pub(crate) struct Text<'a> {
    repr: Repr<'a>,
}

#[derive(Clone)]
enum Repr<'a> {
    /// `buffer`, if there is one, is what `text` is a part of.
    Borrowed { text: &'a str, buffer: Option<&'a Bytes> },
    /// The first `len` bytes are UTF-8.
    Inline { len: u8, bytes: [u8; INLINE] },
    /// UTF-8.
    Shared(Bytes),
}

impl<'a> Text<'a> {
    /// Borrows `text`, which is a part of `buffer` if that is given.
    #[inline(always)]
    pub(crate) const fn borrowed(text: &'a str, buffer: Option<&'a Bytes>) -> Self {
        Self { repr: Repr::Borrowed { text, buffer } }
    }

    #[inline]
    pub(crate) fn as_str(&self) -> &str {
        let bytes = match &self.repr {
            Repr::Borrowed { text, .. } => return text,
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Shared(bytes) => &bytes[..],
        };
        // SAFETY: the field is private, and `copied`, `displayed` and `shared` fill it from whole `&str`s.
        unsafe { std::str::from_utf8_unchecked(bytes) }
    }

    /// The part in `range`, which starts and ends where a token does, for as long as the whole lives.
    #[inline]
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        let repr = match &self.repr {
            Repr::Borrowed { text, buffer } => Repr::Borrowed { text: &text[range], buffer: *buffer },
            Repr::Inline { .. } => return Text::copied(&self.as_str()[range]),
            Repr::Shared(bytes) => return Text::shared(&self.as_str()[range], bytes),
        };
        Self { repr }
    }

    /// The same text without borrowing: it shares the buffer it is a part of, or is copied if there is none.
    pub(crate) fn into_owned(self) -> Text<'static> {
        let repr = match self.repr {
            Repr::Borrowed { text, buffer: Some(buffer) } => return Text::shared(text, buffer),
            Repr::Borrowed { text, buffer: None } => return Text::copied(text),
            Repr::Inline { len, bytes } => Repr::Inline { len, bytes },
            Repr::Shared(bytes) => Repr::Shared(bytes),
        };
        Text { repr }
    }

    /// The same text without borrowing or sharing, so that it keeps nothing else alive.
    #[inline(always)]
    pub(crate) fn detached(&self) -> Text<'static> {
        Text::copied(self.as_str())
    }

    /// The characters of a string literal, with U+FFFD in place of lone surrogates.
    pub(crate) fn decoded(self) -> Cow<'a, str> {
        match self.repr {
            Repr::Borrowed { text, .. } => string::decode_lossy(text),
            Repr::Inline { .. } | Repr::Shared(_) => Cow::Owned(string::decode_lossy(self.as_str()).into_owned()),
        }
    }

    /// The bytes, shared where possible.
    pub(crate) fn to_bytes(&self) -> Bytes {
        match &self.repr {
            Repr::Borrowed { text, buffer: Some(buffer) } => buffer.slice_ref(text.as_bytes()),
            Repr::Shared(bytes) => bytes.clone(),
            Repr::Borrowed { .. } | Repr::Inline { .. } => Bytes::copy_from_slice(self.as_str().as_bytes()),
        }
    }
}

impl Text<'static> {
    /// What `value` displays.
    pub(crate) fn displayed(value: impl fmt::Display) -> Self {
        let mut inline = Inline { len: 0, bytes: [0; INLINE] };
        match write!(inline, "{value}") {
            Ok(()) => Self { repr: Repr::Inline { len: inline.len, bytes: inline.bytes } },
            Err(fmt::Error) => Self::copied(&value.to_string()),
        }
    }

    #[inline(always)]
    pub(crate) fn copied(text: &str) -> Self {
        match short(text.as_bytes()) {
            Some((len, bytes)) => Self { repr: Repr::Inline { len, bytes } },
            None => Self::copied_long(text),
        }
    }

    #[inline(never)]
    fn copied_long(text: &str) -> Self {
        let mut bytes = [0; INLINE];
        let repr = match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(start), Ok(len)) => {
                start.copy_from_slice(text.as_bytes());
                Repr::Inline { len, bytes }
            }
            _ => Repr::Shared(Bytes::copy_from_slice(text.as_bytes())),
        };
        Self { repr }
    }

    /// `text` is a part of `buffer`. A short one is copied, which is cheaper than counting another reference.
    fn shared(text: &str, buffer: &Bytes) -> Self {
        match text.len() {
            ..=INLINE => Self::copied(text),
            _ => Self { repr: Repr::Shared(buffer.slice_ref(text.as_bytes())) },
        }
    }
}

/// Up to 16 bytes, as an inline text has them: most ids. They are read and written as words, which stay in registers. A
/// copy of a length that isn't known takes four times as long, since what is written byte by byte can't be read as a
/// whole right after.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "at most 16")]
fn short(text: &[u8]) -> Option<(u8, [u8; INLINE])> {
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
    Some((len as u8, bytes))
}

/// Takes strings as long as they fit.
struct Inline {
    len: u8,
    bytes: [u8; INLINE],
}

impl fmt::Write for Inline {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = usize::from(self.len);
        let place = self.bytes.get_mut(start..start + text.len()).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len = u8::try_from(start + text.len()).map_err(|_| fmt::Error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_same_text_however_it_is_kept() {
        for len in [0, 1, INLINE - 1, INLINE, INLINE + 1, 100] {
            let text = "é".repeat(len / 2) + &"x".repeat(len % 2);
            let buffer = Bytes::from(format!("[{text}]"));
            let inside = str::from_utf8(&buffer[1..=len]).unwrap();
            for one in [Text::borrowed(inside, Some(&buffer)), Text::borrowed(inside, None), Text::copied(inside)] {
                assert_eq!(one.as_str(), text);
                assert_eq!(one.to_bytes(), text);
                assert_eq!(one.detached().as_str(), text);
                assert_eq!(one.clone().into_owned().as_str(), text);
                let (start, end) = (len / 4 * 2, len - len % 2);
                assert_eq!(one.part(start..end).as_str(), &text[start..end]);
                assert_eq!(one.clone().into_owned().part(start..end).into_owned().as_str(), &text[start..end]);
            }
        }
    }

    #[test]
    fn shares_what_is_long_and_copies_what_is_short() {
        let buffer = Bytes::from("x".repeat(100));
        let text = str::from_utf8(&buffer).unwrap();
        let owned = |len| Text::borrowed(&text[..len], Some(&buffer)).into_owned();
        assert!(buffer.as_ptr_range().contains(&owned(INLINE + 1).as_str().as_ptr()));
        assert!(!buffer.as_ptr_range().contains(&owned(INLINE).as_str().as_ptr()));
        assert!(!buffer.as_ptr_range().contains(&owned(100).detached().as_str().as_ptr()));
    }

    #[test]
    fn displays_what_fits_in_place_and_what_does_not() {
        for text in [String::new(), "x".repeat(INLINE), "x".repeat(INLINE + 1)] {
            assert_eq!(Text::displayed(&text).as_str(), text);
            assert_eq!(Text::displayed(format_args!("{text}é{text}")).as_str(), format!("{text}é{text}"));
        }
        assert_eq!(Text::displayed(i64::MIN).as_str(), i64::MIN.to_string());
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn is_small() {
        assert_eq!(size_of::<Text<'_>>(), 40);
    }
}

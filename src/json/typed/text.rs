//! What strings say.

use crate::json::string;
use crate::json::walk::Cursor;

use super::Unread;

/// The characters of a string.
pub(super) enum Text<'de, 's> {
    /// A part of the text.
    Borrowed(&'de str),
    /// Decoded, since there were escapes.
    Decoded(&'s str),
}

/// Reads the string of which the opening quote has been read.
#[inline]
pub(super) fn read<'de, 's>(cursor: &mut Cursor<'de>, scratch: &'s mut Vec<u8>) -> Result<Text<'de, 's>, Unread> {
    let start = cursor.at;
    cursor.at += plain_len(&cursor.text.as_bytes()[start..]);
    if cursor.peek() == Some(b'"') {
        let text = &cursor.text[start..cursor.at];
        cursor.at += 1;
        return Ok(Text::Borrowed(text));
    }
    decode(cursor, start, scratch).map(Text::Decoded)
}

/// Up to so many bytes are copied as one, which is faster than a copy of just as many as are wanted.
const CHUNK: usize = 64;

/// Decodes a string from `start` on. The cursor is at its first escape.
fn decode<'s>(cursor: &mut Cursor<'_>, start: usize, scratch: &'s mut Vec<u8>) -> Result<&'s str, Unread> {
    let bytes = cursor.text.as_bytes();
    let (mut from, mut to) = (cursor.at, cursor.at - start);
    reserve(scratch, to);
    scratch[..to].copy_from_slice(&bytes[start..from]);
    loop {
        match bytes.get(from) {
            Some(b'"') => {
                cursor.at = from + 1;
                // It is UTF-8, since it consists of whole characters. This is for the compiler, and fast.
                return simdutf8::basic::from_utf8(&scratch[..to]).map_err(|_| Unread);
            }
            Some(b'\\') => {
                // Half a character is left to serde_json, which refuses it.
                let (character, len) = string::escape(&cursor.text[from..]).ok_or(Unread)?;
                reserve(scratch, to);
                to += character.encode_utf8(&mut scratch[to..]).len();
                from += len;
            }
            _ => return Err(Unread),
        }
        let len = plain_len(&bytes[from..]);
        match (bytes[from..].first_chunk::<CHUNK>(), scratch.get_mut(to..to + CHUNK)) {
            // What is too much is overwritten.
            (Some(chunk), Some(room)) if len <= CHUNK => room.copy_from_slice(chunk),
            _ => {
                reserve(scratch, to + len);
                scratch[to..to + len].copy_from_slice(&bytes[from..from + len]);
            }
        }
        (from, to) = (from + len, to + len);
    }
}

/// Makes room for a chunk at `at`.
#[inline]
fn reserve(scratch: &mut Vec<u8>, at: usize) {
    if scratch.len() < at + CHUNK {
        scratch.resize(2 * (at + CHUNK), 0);
    }
}

/// How many bytes come before the next quote or backslash.
#[inline]
fn plain_len(bytes: &[u8]) -> usize {
    // Most strings are short.
    const WORDS: usize = 8;
    let words = bytes.as_chunks().0;
    for (at, word) in words.iter().take(WORDS).enumerate() {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return 8 * at + found.trailing_zeros() as usize / 8;
        }
    }
    let rest = 8 * words.len().min(WORDS);
    rest + memchr::memchr2(b'"', b'\\', &bytes[rest..]).unwrap_or(bytes.len() - rest)
}

/// The highest bit of each byte that is a quote or a backslash. Above the first such byte there may be others set.
#[inline]
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    zeros(word ^ u64::from_ne_bytes([b'"'; 8])) | zeros(word ^ u64::from_ne_bytes([b'\\'; 8]))
}

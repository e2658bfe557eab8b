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
pub(super) fn read<'de, 's>(cursor: &mut Cursor<'de>, scratch: &'s mut String) -> Result<Text<'de, 's>, Unread> {
    let start = cursor.at;
    cursor.at += plain_len(&cursor.text.as_bytes()[start..]);
    if cursor.peek() == Some(b'"') {
        let text = &cursor.text[start..cursor.at];
        cursor.at += 1;
        return Ok(Text::Borrowed(text));
    }
    decode(cursor, start, scratch)?;
    Ok(Text::Decoded(scratch))
}

/// Decodes a string from `start` on. The cursor is at its first escape.
fn decode(cursor: &mut Cursor<'_>, start: usize, scratch: &mut String) -> Result<(), Unread> {
    scratch.clear();
    scratch.push_str(&cursor.text[start..cursor.at]);
    loop {
        match cursor.peek() {
            Some(b'"') => {
                cursor.at += 1;
                return Ok(());
            }
            Some(b'\\') => {
                // Half a character is left to serde_json, which refuses it.
                let (character, len) = string::escape(&cursor.text[cursor.at..]).ok_or(Unread)?;
                scratch.push(character);
                cursor.at += len;
            }
            _ => return Err(Unread),
        }
        let len = plain_len(&cursor.text.as_bytes()[cursor.at..]);
        scratch.push_str(&cursor.text[cursor.at..cursor.at + len]);
        cursor.at += len;
    }
}

/// How many bytes come before the next quote or backslash.
#[inline]
fn plain_len(bytes: &[u8]) -> usize {
    // Most strings are short, and so is most of what is between two escapes.
    const WORDS: usize = 6;
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

//! Reads strings.

use crate::unescape::{plain_len, unescape};
use crate::walk::Cursor;

use super::Unread;

/// The decoded contents of a string.
pub(super) enum DecodedStr<'de, 's> {
    /// Borrowed from the JSON text, because there were no escapes.
    Borrowed(&'de str),
    /// Decoded in the scratch buffer.
    Decoded(&'s str),
}

/// Reads a string whose opening quote has been read.
#[inline]
pub(super) fn read<'de, 's>(cursor: &mut Cursor<'de>, scratch: &'s mut Vec<u8>) -> Result<DecodedStr<'de, 's>, Unread> {
    let start = cursor.at;
    cursor.at += plain_len(&cursor.text.as_bytes()[start..]);
    if cursor.peek() == Some(b'"') {
        let text = &cursor.text[start..cursor.at];
        cursor.at += 1;
        return Ok(DecodedStr::Borrowed(text));
    }
    // Lone surrogates are left to serde_json, which rejects them.
    let text = unescape(cursor.text, start, &mut cursor.at, scratch).map_err(|_| Unread)?;
    cursor.at += 1;
    Ok(DecodedStr::Decoded(text))
}

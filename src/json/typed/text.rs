//! What strings say.

use crate::json::scan::{BLOCK, Scanner};
use crate::json::walk::Cursor;
use crate::json::{kernel, string};

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

/// Decodes a string from `start` on. The cursor is at its first escape.
fn decode<'s>(cursor: &mut Cursor<'_>, start: usize, scratch: &'s mut Vec<u8>) -> Result<&'s str, Unread> {
    let mut decoding = Decoding::new(cursor.text, start, scratch);
    let end = decoding.run(kernel::current(), cursor.at).ok_or(Unread)?;
    cursor.at = end + 1;
    let len = decoding.to;
    // It is UTF-8, since it consists of whole characters. This is for the compiler, and fast.
    simdutf8::basic::from_utf8(&scratch[..len]).map_err(|_| Unread)
}

/// A string that is being decoded.
///
/// ```text
///          from        at                             to
///           |           |                              |
/// text  ... plain text  \n more plain text    out  ... |
/// ```
struct Decoding<'a> {
    text: &'a str,
    /// What comes before has been written.
    from: usize,
    out: &'a mut Vec<u8>,
    /// Where to write next.
    to: usize,
}

impl<'a> Decoding<'a> {
    /// How many blocks are looked at together at most.
    const BLOCKS: usize = 16;

    fn new(text: &'a str, start: usize, out: &'a mut Vec<u8>) -> Self {
        Self { text, from: start, out, to: 0 }
    }

    /// Writes what the string says, and returns where its closing quote is. There is no quote and no backslash before `at`.
    fn run(&mut self, scanner: Scanner, mut at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut marks = [0; Self::BLOCKS];
        // Few at first, since most strings are short.
        let mut count = 2;
        loop {
            let (blocks, rest) = bytes.get(at..)?.as_chunks();
            let blocks = &blocks[..blocks.len().min(count)];
            let mut padded = [0; BLOCK];
            if blocks.is_empty() {
                padded[..rest.len()].copy_from_slice(rest);
                scanner.string_marks(&[padded], &mut marks);
                return self.block(at, marks[0]).ok()?;
            }
            scanner.string_marks(blocks, &mut marks);
            for &marks in &marks[..blocks.len()] {
                if let Some(end) = self.block(at, marks).ok()? {
                    return Some(end);
                }
                at += BLOCK;
            }
            count = (2 * count).min(Self::BLOCKS);
        }
    }

    /// Writes what comes before the quotes and backslashes of a block, and what they say. Returns where the string ends, if
    /// it does.
    #[inline]
    fn block(&mut self, at: usize, marks: u64) -> Result<Option<usize>, Unread> {
        let bytes = self.text.as_bytes();
        let mut marks = marks & self.not_read(at);
        while marks != 0 {
            let mark = at + marks.trailing_zeros() as usize;
            self.copy(mark);
            if bytes[mark] == b'"' {
                return Ok(Some(mark));
            }
            let plain = bytes.get(mark + 1).map_or(0, |&byte| ESCAPED[usize::from(byte)]);
            if plain != 0 {
                // There is room for it, after what has been copied.
                self.out[self.to] = plain;
                (self.from, self.to) = (mark + 2, self.to + 1);
            } else {
                // Half a character is left to serde_json, which refuses it.
                let (character, len) = string::escape(&self.text[mark..]).ok_or(Unread)?;
                self.to += character.encode_utf8(&mut self.out[self.to..]).len();
                self.from = mark + len;
            }
            marks &= self.not_read(at);
        }
        Ok(None)
    }

    /// The bytes of the block at `at` that have not been written.
    #[inline]
    fn not_read(&self, at: usize) -> u64 {
        let read = self.from.saturating_sub(at);
        if read < BLOCK { !0 << read } else { 0 }
    }

    /// Writes everything before `at`. There is room for at least a character after it.
    #[inline]
    fn copy(&mut self, at: usize) {
        let bytes = self.text.as_bytes();
        let len = at - self.from;
        // A whole block is copied faster than just as many bytes as are wanted. What is too much is overwritten.
        match (bytes[self.from..].first_chunk::<BLOCK>(), self.out.get_mut(self.to..self.to + BLOCK)) {
            (Some(block), Some(room)) if len <= BLOCK - 4 => room.copy_from_slice(block),
            _ => {
                let end = self.to + len;
                self.reserve(end + BLOCK);
                self.out[self.to..end].copy_from_slice(&bytes[self.from..at]);
            }
        }
        self.to += len;
    }

    /// Makes room for `len` bytes in all.
    #[cold]
    #[inline(never)]
    fn reserve(&mut self, len: usize) {
        if self.out.len() < len {
            // What is left of the text is enough. But the string may end long before, so up to 1 KB at first, for which
            // allocators are fastest, and then eight times as much.
            let enough = self.to + self.text.len() - self.from + BLOCK;
            let more = (8 * self.out.len()).max(1000);
            self.out.resize(enough.min(more).max(len), 0);
        }
    }
}

/// What a backslash with this byte after it says, if that is one byte.
const ESCAPED: [u8; 256] = {
    let mut escaped = [0; 256];
    escaped[b'"' as usize] = b'"';
    escaped[b'\\' as usize] = b'\\';
    escaped[b'/' as usize] = b'/';
    escaped[b'b' as usize] = 0x08;
    escaped[b'f' as usize] = 0x0c;
    escaped[b'n' as usize] = b'\n';
    escaped[b'r' as usize] = b'\r';
    escaped[b't' as usize] = b'\t';
    escaped
};

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

#[cfg(test)]
mod tests {
    use quickcheck::{Arbitrary, Gen, QuickCheck};

    use crate::json::scan::Cpu;

    use super::*;

    /// What the string at the start of `text` says, on each CPU, must be what serde_json says. Lone surrogates say nothing.
    fn check(text: &str) {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let expected = values.next().unwrap().ok();
        let end = values.byte_offset();
        for scanner in Cpu::ALL.into_iter().filter_map(Scanner::new) {
            let mut out = Vec::new();
            let mut decoding = Decoding::new(text, 1, &mut out);
            let found = decoding.run(scanner, 1 + plain_len(&text.as_bytes()[1..]));
            let len = decoding.to;
            assert_eq!(found.is_some(), expected.is_some(), "{scanner:?}: {text}");
            if let Some(quote) = found {
                assert_eq!(str::from_utf8(&out[..len]).unwrap(), expected.as_deref().unwrap(), "{scanner:?}: {text}");
                assert_eq!(quote + 1, end, "{scanner:?}: {text}");
            }
        }
    }

    const ESCAPES: [&str; 12] =
        [r"\n", r#"\""#, r"\\", r"\/", r"\b", r"\f", r"\r", r"\t", r"\u0000", r"\u00e9", r"\ud83d\ude00", r"\ud800"];

    #[test]
    fn every_escape_at_every_place() {
        for escape in ESCAPES {
            for before in 0..140 {
                for (between, after, rest) in [(0, 0, 0), (1, 70, 0), (63, 1, 200), (64, 64, 10), (130, 5, 64)] {
                    let [before, between, after, rest] = [before, between, after, rest].map(|len| "x".repeat(len));
                    check(&format!("\"{before}{escape}{between}{escape}{escape}{after}\"{rest}"));
                }
            }
        }
    }

    /// Longer than the room at the start: with many escapes, and with a single one.
    #[test]
    fn long_strings() {
        for len in [30_000, 33_000, 70_000, 300_000] {
            check(&format!("\"{}\"", "plain text and\\n".repeat(len / 16)));
            check(&format!("\"\\n{}\"", "x".repeat(len)));
            check(&format!("\"\\n{}\\t\\u00e9{}\"", "x".repeat(len), "y".repeat(len)));
        }
    }

    #[derive(Clone, Debug)]
    struct Piece(String);

    impl Arbitrary for Piece {
        fn arbitrary(g: &mut Gen) -> Self {
            let plain = ["x", "plain", "é", "😀", "words, and more words between two escapes, more than in a block"];
            // Not the last one: with a lone surrogate, the rest would not matter.
            let escapes = &ESCAPES[..ESCAPES.len() - 1];
            Self((*if bool::arbitrary(g) { g.choose(&plain) } else { g.choose(escapes) }.unwrap()).to_owned())
        }
    }

    #[test]
    fn random_strings() {
        fn property(pieces: Vec<Piece>, rest: u8) -> bool {
            let body: String = pieces.into_iter().map(|Piece(text)| text).collect();
            check(&format!("\"{body}\"{}", " ".repeat(usize::from(rest))));
            true
        }
        QuickCheck::new().tests(2000).quickcheck(property as fn(_, _) -> _);
    }
}

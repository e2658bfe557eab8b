//! Decodes strings that have escapes, a block at a time.

use super::kernel;
use super::scan::{BLOCK, Scanner};
use super::string;

/// The string has a lone surrogate escape, which isn't a character, or isn't a string of a JSON text.
#[derive(Debug)]
pub(crate) struct Undecodable;

/// Decodes the string whose contents start at byte `start` of `text`, in `scratch`. `at` is the position of its first
/// escape, and becomes that of its closing quote.
pub(crate) fn unescape<'s>(
    text: &str,
    start: usize,
    at: &mut usize,
    scratch: &'s mut Vec<u8>,
) -> Result<&'s str, Undecodable> {
    let mut decoding = Decoding::new(text, start, scratch);
    *at = decoding.run(kernel::current().scanner, *at)?;
    let len = decoding.to;
    // It is valid UTF-8, since it consists of whole characters. Validating it again avoids `unsafe`, and is fast.
    simdutf8::basic::from_utf8(&scratch[..len]).map_err(|_| Undecodable)
}

/// Decodes a string from one mark to the next. A mark is a backslash that begins an escape, or the closing quote.
///
/// ```text
///           from        mark                          to
///           |           |                             |
/// text  ... plain text\nmore plain text    out  ...
/// ```
struct Decoding<'a> {
    /// The whole JSON text, which may continue long after the string.
    text: &'a str,
    /// The end of the text that has been decoded.
    from: usize,
    out: &'a mut Vec<u8>,
    /// The end of the output.
    to: usize,
}

impl<'a> Decoding<'a> {
    /// How many marks are searched for one by one. Most strings have few marks, for which blocks don't pay off.
    const FEW: usize = 8;

    /// The most blocks that are searched together.
    const BLOCKS: usize = 16;

    fn new(text: &'a str, start: usize, out: &'a mut Vec<u8>) -> Self {
        Self { text, from: start, out, to: 0 }
    }

    /// Decodes the string, whose first mark is at `mark`, and returns the position of its closing quote.
    fn run(&mut self, scanner: Scanner, mut mark: usize) -> Result<usize, Undecodable> {
        for _ in 0..Self::FEW {
            if self.take(mark)? {
                return Ok(mark);
            }
            mark = self.from + plain_len(&self.text.as_bytes()[self.from..]);
        }
        self.blocks(scanner, mark)
    }

    /// Like [`run`](Self::run), but searches for marks block by block, from `start` on.
    fn blocks(&mut self, scanner: Scanner, mut start: usize) -> Result<usize, Undecodable> {
        let bytes = self.text.as_bytes();
        let mut marks = [0; Self::BLOCKS];
        // Begin with few blocks, since the string may end soon.
        let mut count = 2;
        loop {
            let (blocks, rest) = bytes.get(start..).ok_or(Undecodable)?.as_chunks();
            let blocks = &blocks[..blocks.len().min(count)];
            if blocks.is_empty() {
                let mut padded = [0; BLOCK];
                padded[..rest.len()].copy_from_slice(rest);
                scanner.string_marks(&[padded], &mut marks);
                return self.block(start, marks[0])?.ok_or(Undecodable);
            }
            scanner.string_marks(blocks, &mut marks);
            for &marks in &marks[..blocks.len()] {
                if let Some(end) = self.block(start, marks)? {
                    return Ok(end);
                }
                start += BLOCK;
            }
            count = (2 * count).min(Self::BLOCKS);
        }
    }

    /// Decodes up to the last mark of the block at `start`, given its quotes and backslashes. Returns the position of
    /// the closing quote, if it is in this block.
    #[inline]
    fn block(&mut self, start: usize, quotes_and_backslashes: u64) -> Result<Option<usize>, Undecodable> {
        let mut marks = quotes_and_backslashes;
        loop {
            // Clear the bits of escapes that have been decoded.
            let written = self.from.saturating_sub(start);
            marks &= if written < BLOCK { !0 << written } else { 0 };
            if marks == 0 {
                return Ok(None);
            }
            let mark = start + marks.trailing_zeros() as usize;
            if self.take(mark)? {
                return Ok(Some(mark));
            }
        }
    }

    /// Copies the plain text before `mark`, and decodes the escape there. Returns true if it is the closing quote
    /// instead.
    #[inline]
    fn take(&mut self, mark: usize) -> Result<bool, Undecodable> {
        self.copy(mark);
        let (byte, after) = match self.text.as_bytes()[mark..] {
            [b'"', ..] => return Ok(true),
            [b'\\', escaped, ..] => (ESCAPED[usize::from(escaped)], mark + 2),
            _ => return Err(Undecodable),
        };
        if byte != 0 {
            self.out[self.to] = byte;
            (self.from, self.to) = (after, self.to + 1);
        } else {
            let (character, len) = string::escape(&self.text[mark..]).ok_or(Undecodable)?;
            self.to += character.encode_utf8(&mut self.out[self.to..]).len();
            self.from = mark + len;
        }
        Ok(false)
    }

    /// Copies the plain text before `mark`, and makes room for a character after it.
    #[inline]
    fn copy(&mut self, mark: usize) {
        let bytes = self.text.as_bytes();
        let len = mark - self.from;
        // Copying a whole block is faster than copying a variable number of bytes. Excess bytes are overwritten later.
        match (bytes[self.from..].first_chunk::<BLOCK>(), self.out.get_mut(self.to..self.to + BLOCK)) {
            (Some(block), Some(room)) if len <= BLOCK - LONGEST => room.copy_from_slice(block),
            _ => {
                let end = self.to + len;
                if self.out.len() < end + BLOCK {
                    self.grow(end + BLOCK);
                }
                self.out[self.to..end].copy_from_slice(&bytes[self.from..mark]);
            }
        }
        self.to += len;
    }

    /// Grows the buffer to at least `len` bytes.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, len: usize) {
        // Decoding never makes text longer, so the rest of the JSON text bounds the size. But the string may end long
        // before, so begin with 1 KB, for which allocators are fastest, and then quadruple it.
        let enough = self.to + self.text.len() - self.from + BLOCK;
        let more = self.out.len().saturating_mul(4).max(1000);
        self.out.resize(enough.min(more).max(len), 0);
    }
}

/// The length of the longest character in UTF-8.
const LONGEST: usize = 4;

/// The byte that a backslash followed by this byte represents, or 0 for `\u` and invalid escapes.
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

/// The number of bytes before the next quote or backslash.
#[inline]
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
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

/// Sets the highest bit of each byte that is a quote or a backslash. Bytes after the first match may be false
/// positives.
#[inline]
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    zeros(word ^ u64::from_ne_bytes([b'"'; 8])) | zeros(word ^ u64::from_ne_bytes([b'\\'; 8]))
}

#[cfg(test)]
mod tests {
    use quickcheck::{Arbitrary, Gen, QuickCheck};

    use crate::scan::Cpu;

    use super::*;

    /// Checks that the string at the start of `text` is decoded as by serde_json, with each kernel. Strings with lone
    /// surrogates must fail.
    fn check(text: &str) {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let expected = values.next().unwrap().ok();
        let end = values.byte_offset();
        let first = 1 + plain_len(&text.as_bytes()[1..]);
        if let Some(expected) = &expected {
            assert_eq!(string::decode(&text[..end]).as_deref(), Some(&expected[..]), "{text}");
        }
        for scanner in Cpu::ALL.into_iter().filter_map(Scanner::new) {
            for in_blocks in [false, true] {
                let mut out = Vec::new();
                let mut decoding = Decoding::new(text, 1, &mut out);
                let found = if in_blocks { decoding.blocks(scanner, 1) } else { decoding.run(scanner, first) };
                let len = decoding.to;
                assert_eq!(found.is_ok(), expected.is_some(), "{scanner:?}: {text}");
                if let Ok(quote) = found {
                    let decoded = str::from_utf8(&out[..len]).unwrap();
                    assert_eq!(decoded, expected.as_deref().unwrap(), "{scanner:?}: {text}");
                    assert_eq!(quote + 1, end, "{scanner:?}: {text}");
                }
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

    /// Writes the longest character at the very end of the buffer, which has 1000 bytes at first.
    #[test]
    fn room_for_a_character() {
        for escapes in 925..1000 {
            for plain in 55..70 {
                let [escapes, plain] = ["\\n".repeat(escapes), "x".repeat(plain)];
                check(&format!("\"{escapes}{plain}\\ud83d\\ude00{}\"", "y".repeat(2000)));
            }
        }
    }

    /// Strings that are longer than the initial buffer, with many escapes and with a single one.
    #[test]
    fn long_strings() {
        for len in [900, 3000, 5000, 30_000, 70_000, 600_000] {
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
            // Without the last one, a lone surrogate, after which the rest wouldn't matter.
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

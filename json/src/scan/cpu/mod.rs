//! The CPU-specific part of the scanner: computes a handful of masks from 64 bytes.
//!
//! Each file computes the same masks with different instructions. The rest of the scanner, starting from
//! [`pass`](super::pass), is shared and works on plain `u64`s. So implementations can only differ in masks, which tests
//! compare for every byte value.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
pub(super) mod neon;
pub(super) mod portable;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(super) mod simd128;
#[cfg(target_arch = "x86_64")]
mod utf8;

use super::strings::EscapeState;

/// The bytes that are processed together.
pub(crate) type Block = [u8; BLOCK];

/// Bytes per block, one for each bit of a mask.
pub(crate) const BLOCK: usize = 64;

/// Masks to find strings and validate their bytes.
///
/// Bit `i` of each mask refers to byte `i` of the block, here and below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StringMasks {
    pub(super) quote: u64,
    pub(super) backslash: u64,
    /// Below `0x20`, or `0x80` and above. Most blocks have none.
    pub(super) control_or_high: u64,
}

/// Masks of brackets and separators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StructureMasks {
    /// `{` and `[`.
    pub(super) open: u64,
    /// `}` and `]`.
    pub(super) close: u64,
    /// Which of those brackets are `{` and `}`. Bits of other bytes are arbitrary.
    pub(super) curly: u64,
    pub(super) colon: u64,
    pub(super) comma: u64,
}

/// Masks for natural numbers, as most numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DigitMasks {
    /// `0` to `9`.
    pub(super) digit: u64,
    pub(super) zero: u64,
}

/// Further masks for decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DecimalMasks {
    pub(super) minus: u64,
    pub(super) dot: u64,
}

/// Further masks for numbers with exponents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExponentMasks {
    pub(super) plus: u64,
    /// `e` and `E`.
    pub(super) exponent: u64,
}

/// Masks for a block inside a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InStringMasks {
    pub(super) quote: u64,
    pub(super) backslash: u64,
    /// Nonzero if there are control characters.
    pub(super) control: u64,
    /// Nonzero if there are non-ASCII bytes.
    pub(super) high: u64,
}

/// Computes the mask of quotes and backslashes of each of `blocks`.
#[inline(always)]
fn string_marks<C: Masks>(cpu: C, blocks: &[Block], marks: &mut [u64]) {
    for (block, mark) in blocks.iter().zip(marks) {
        let StringMasks { quote, backslash, .. } = cpu.strings(block);
        *mark = quote | backslash;
    }
}

#[cold]
#[inline(never)]
fn pad<'b>(rest: &[u8], padded: &'b mut Option<Block>) -> &'b Block {
    let padded = padded.insert([b' '; BLOCK]);
    padded[..rest.len()].copy_from_slice(rest);
    padded
}

/// Computes the masks of a block with the instructions of one CPU.
///
/// A value of an implementing type is proof that the CPU has these instructions.
pub(super) trait Masks: Copy {
    /// Whether masks are so expensive that alternatives pay off: [`skip_plain`](Self::skip_plain) even between two
    /// escapes of a string, and reading strings [ahead](super::Members::opening).
    const EXPENSIVE: bool;

    fn strings(self, block: &Block) -> StringMasks;

    fn spaces(self, block: &Block) -> u64;

    /// Non-ASCII bytes: `0x80` and above.
    fn high(self, block: &Block) -> u64;

    fn line_feeds(self, block: &Block) -> u64;

    /// Space, tab, line feed, carriage return.
    fn white(self, block: &Block) -> u64;

    fn structure(self, block: &Block) -> StructureMasks;

    fn digits(self, block: &Block) -> DigitMasks;

    fn decimals(self, block: &Block) -> DecimalMasks;

    fn exponents(self, block: &Block) -> ExponentMasks;

    /// Bytes with bit 6 set, which distinguishes `t`, `f` and `n` from digits and `-`.
    fn alpha(self, block: &Block) -> u64;

    #[inline(always)]
    fn in_string(self, block: &Block) -> InStringMasks {
        let StringMasks { quote, backslash, control_or_high } = self.strings(block);
        // Most blocks have neither control characters nor non-ASCII bytes.
        let high = if control_or_high == 0 { 0 } else { self.high(block) };
        InStringMasks { quote, backslash, control: control_or_high & !high, high }
    }

    /// Any of `"\/bfnrt`, which form an escape sequence with a backslash before them.
    fn escapable(self, block: &Block) -> u64;

    /// `u`, which begins a longer escape sequence.
    fn unicode(self, block: &Block) -> u64;

    /// `0` to `9`, `a` to `f`, `A` to `F`.
    fn hex(self, block: &Block) -> u64;

    /// Skips text without quotes, backslashes and control characters, from `from` on, as in most of a long string.
    /// Stops before a block that contains one or is incomplete, possibly inside a character. Returns the position, and
    /// whether there are non-ASCII bytes before it. This may also be true because of such a byte in the 64 bytes after
    /// it.
    fn skip_plain(self, text: &[u8], from: usize) -> (usize, bool);

    /// [`EscapeState::skip`], which some implementations don't inline.
    #[inline(always)]
    fn skip_escaped(self, mut escapes: EscapeState, text: &[u8], from: usize) -> (EscapeState, usize, bool) {
        let (to, high) = escapes.skip(self, text, from);
        (escapes, to, high)
    }

    /// Copies `rest`, which has fewer than 64 bytes, to `padded`, padded with spaces.
    #[inline(always)]
    fn pad<'b>(self, rest: &[u8], padded: &'b mut Option<Block>) -> &'b Block {
        pad(rest, padded)
    }

    /// Whether `text` is valid UTF-8.
    #[inline(always)]
    fn is_utf8(self, text: &[u8]) -> bool {
        simdutf8::basic::from_utf8(text).is_ok()
    }

    /// Bit `i` of the result is the parity of bits `0..=i`. With a mask of quotes, the result is set from each opening
    /// quote (inclusive) to the closing one (exclusive).
    fn prefix_xor(self, bits: u64) -> u64;
}

/// A CPU with fast instructions to gather and scatter bits: PEXT and PDEP, on x86-64.
#[cfg(target_arch = "x86_64")]
pub(super) trait Gather: Masks {
    /// Extracts the bits of `bits` where `mask` has ones, and packs them at the low end.
    fn gather(self, bits: u64, mask: u64) -> u64;

    /// The reverse of [`gather`](Self::gather): deposits the low bits of `bits` where `mask` has ones.
    fn scatter(self, bits: u64, mask: u64) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes a mask one byte at a time.
    fn naive(block: &Block, class: impl Fn(u8) -> bool) -> u64 {
        block.iter().enumerate().fold(0, |mask, (i, &byte)| mask | u64::from(class(byte)) << i)
    }

    fn check(masks: impl Masks, block: &Block) {
        let is = |class: fn(u8) -> bool| naive(block, class);
        assert_eq!(
            masks.strings(block),
            StringMasks {
                quote: is(|b| b == b'"'),
                backslash: is(|b| b == b'\\'),
                control_or_high: is(|b| !(0x20..0x80).contains(&b)),
            }
        );
        assert_eq!(masks.line_feeds(block), is(|b| b == b'\n'));
        assert_eq!(masks.high(block), is(|b| b >= 0x80));
        assert_eq!(masks.spaces(block), is(|b| b == b' '));
        assert_eq!(masks.white(block), is(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')));
        let structure = masks.structure(block);
        let brackets = structure.open | structure.close;
        assert_eq!(
            StructureMasks { curly: structure.curly & brackets, ..structure },
            StructureMasks {
                open: is(|b| matches!(b, b'{' | b'[')),
                close: is(|b| matches!(b, b'}' | b']')),
                curly: is(|b| matches!(b, b'{' | b'}')),
                colon: is(|b| b == b':'),
                comma: is(|b| b == b','),
            }
        );
        assert_eq!(masks.digits(block), DigitMasks { digit: is(|b| b.is_ascii_digit()), zero: is(|b| b == b'0') });
        assert_eq!(masks.decimals(block), DecimalMasks { minus: is(|b| b == b'-'), dot: is(|b| b == b'.') });
        assert_eq!(
            masks.exponents(block),
            ExponentMasks { plus: is(|b| b == b'+'), exponent: is(|b| matches!(b, b'e' | b'E')) }
        );
        assert_eq!(masks.alpha(block), is(|b| b & 0x40 != 0));
        let in_string = masks.in_string(block);
        assert_eq!((in_string.quote, in_string.backslash), (is(|b| b == b'"'), is(|b| b == b'\\')));
        assert_eq!((in_string.control != 0, in_string.high != 0), (is(|b| b < 0x20) != 0, is(|b| b >= 0x80) != 0));
        assert_eq!(masks.escapable(block), is(|b| b"\"\\/bfnrt".contains(&b)));
        assert_eq!(masks.unicode(block), is(|b| b == b'u'));
        assert_eq!(masks.hex(block), is(|b| b.is_ascii_hexdigit()));
        // Put the block after others, of which some kernels skip several at a time, and before others, with various
        // alignments.
        for before in 0..6 {
            for (after, shift) in [(0, 0), (1, 1), (2, 17), (5, 63)] {
                let mut text = vec![b'x'; shift + BLOCK * (before + 1)];
                text.extend_from_slice(block);
                text.resize(text.len() + after * BLOCK + 63, b'y');
                check_skip_plain(masks, &text[shift..], BLOCK);
                check_skip_plain(masks, &text[shift..], BLOCK * (before + 1));
            }
        }
        assert_eq!(masks.skip_plain(block, BLOCK + 3), (BLOCK + 3, false));
    }

    /// Checks that the skipped bytes are plain, and that the block after them isn't.
    fn check_skip_plain(masks: impl Masks, text: &[u8], from: usize) {
        let is_plain = |text: &[u8]| !text.iter().any(|&b| b == b'"' || b == b'\\' || b < 0x20);
        let (to, high) = masks.skip_plain(text, from);
        assert!(to >= from && is_plain(&text[from..to]));
        assert!(text.get(to..to + BLOCK).is_none_or(|block| !is_plain(block)));
        // The last block may have been skipped only in part.
        let seen = &text[from..text.len().min(to.next_multiple_of(BLOCK))];
        assert!(high || text[from..to].is_ascii());
        assert!(!high || !seen.is_ascii());
    }

    fn check_pad(masks: impl Masks) {
        let bytes: Block = std::array::from_fn(|i| i as u8);
        for rest in (0..BLOCK).map(|len| &bytes[..len]) {
            let mut expected = [b' '; BLOCK];
            expected[..rest.len()].copy_from_slice(rest);
            assert_eq!(masks.pad(rest, &mut None), &expected, "{}", rest.len());
        }
    }

    fn check_all(masks: impl Masks) {
        check_pad(masks);
        // Every byte value at every position, among spaces and among letters.
        for byte in 0..=u8::MAX {
            for at in 0..BLOCK {
                for filler in [b' ', b'x'] {
                    let mut block = [filler; BLOCK];
                    block[at] = byte;
                    check(masks, &block);
                }
            }
            check(masks, &[byte; BLOCK]);
        }
        // All byte values side by side.
        for start in 0..=u8::MAX {
            check(masks, &std::array::from_fn(|i| start.wrapping_add(i as u8)));
        }
        for bits in [0, 1, u64::MAX, 1 << 63, 0x8000_0001, 0x0123_4567_89ab_cdef, 0x5555_5555_5555_5555] {
            let naive = (0..64).fold(0, |m, i| m | u64::from((bits << (63 - i)).count_ones() & 1) << i);
            assert_eq!(masks.prefix_xor(bits), naive, "{bits:#x}");
        }
    }

    /// Checks all pairs of bytes, and all quadruples of relevant bytes, where vectors begin and end.
    fn check_utf8(masks: impl Masks) {
        let check = |text: &[u8]| assert_eq!(masks.is_utf8(text), std::str::from_utf8(text).is_ok(), "{text:x?}");
        let mut text = [b'x'; 140];
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                for at in [0, 61, 63] {
                    text[at..at + 2].copy_from_slice(&[first, second]);
                    check(&text[..at + 2]);
                    check(&text);
                    text[at..at + 2].fill(b'x');
                }
            }
        }
        let bytes = b"\x7f\x80\x8f\x90\x9f\xa0\xbf\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5";
        for n in 0..bytes.len().pow(4) {
            let four = [0, 1, 2, 3].map(|i| bytes[n / bytes.len().pow(i) % bytes.len()]);
            for at in [62, 120] {
                text[at..at + 4].copy_from_slice(&four);
                check(&text[..at + 4]);
                check(&text[..at + 7]);
                text[at..at + 4].fill(b'x');
            }
        }
        // Texts of every length, truncated at either end, or with one wrong byte.
        let valid = "a é € 😀 ".repeat(30).into_bytes();
        for len in 0..=valid.len() {
            check(&valid[..len]);
            check(&valid[valid.len() - len..]);
        }
        for at in 0..valid.len() {
            let mut text = valid.clone();
            for byte in [b'x', 0x80, 0xc3, 0xe2, 0xf0, 0xff] {
                text[at] = byte;
                check(&text);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn check_gather(cpu: impl Gather) {
        let bits = [0, 1, !0, 1 << 63, 0x0123_4567_89ab_cdef, 0xaaaa_aaaa_aaaa_aaaa, 0x8000_0001_8000_0001];
        for (bits, mask) in bits.iter().flat_map(|&a| bits.iter().map(move |&b| (a, b))) {
            let places: Vec<_> = (0..64).filter(|i| mask >> i & 1 != 0).collect();
            let gathered = places.iter().enumerate().fold(0, |m, (i, at)| m | (bits >> at & 1) << i);
            let scattered = places.iter().enumerate().fold(0, |m, (i, at)| m | (bits >> i & 1) << at);
            assert_eq!((cpu.gather(bits, mask), cpu.scatter(bits, mask)), (gathered, scattered), "{bits:x} {mask:x}");
        }
    }

    #[test]
    fn portable_masks_equal_naive_ones() {
        check_all(portable::Portable);
        check_utf8(portable::Portable);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn avx2_masks_equal_naive_ones() {
        if let Some(avx2) = avx2::Avx2::<true>::detect() {
            check_all(avx2);
            check_gather(avx2);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn avx512_masks_equal_naive_ones() {
        if let Some(avx512) = avx512::Avx512::detect() {
            check_all(avx512);
            check_utf8(avx512);
            check_gather(avx512);
        }
    }

    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    #[test]
    fn simd128_masks_equal_naive_ones() {
        check_all(simd128::Simd128);
    }

    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    #[test]
    fn neon_masks_equal_naive_ones() {
        if let Some(neon) = neon::Neon::detect() {
            check_all(neon);
        }
    }
}

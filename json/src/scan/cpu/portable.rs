//! Portable: comparisons that compilers turn into the vectors of the target, with results of sixteen bytes at a time,
//! and a transposition that puts the bits of these results in order.

use super::super::group::single::Single;
use super::super::pass::{self, Rejected};
use super::super::{Input, Members, Scanned};
use super::{BLOCK, Block, DecimalMasks, DigitMasks, ExponentMasks, Masks, StringMasks, StructureMasks};

/// Any CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portable;

impl Portable {
    /// Not inlined, since it can't be inlined for the other CPUs either.
    #[inline(never)]
    pub(in crate::scan) fn scan<M: Members>(
        self,
        input: Input<'_>,
        max_depth: u32,
        members: &mut M,
    ) -> Result<Scanned, Rejected> {
        pass::scan::<_, Single, _>(self, input, max_depth, members)
    }

    pub(in crate::scan) fn string_marks(self, blocks: &[Block], marks: &mut [u64]) {
        super::string_marks(self, blocks, marks);
    }
}

impl Masks for Portable {
    const EXPENSIVE: bool = true;

    #[inline(always)]
    fn strings(self, block: &Block) -> StringMasks {
        let quote = mask(block, |b| b == b'"');
        // Most blocks have no backslashes, control characters or non-ASCII bytes.
        if columns(block, |b| (b == b'\\') | is_control_or_high(b)) == 0 {
            return StringMasks { quote, backslash: 0, control_or_high: 0 };
        }
        StringMasks { quote, backslash: mask(block, |b| b == b'\\'), control_or_high: mask(block, is_control_or_high) }
    }

    #[inline(always)]
    fn spaces(self, block: &Block) -> u64 {
        mask(block, |b| b == b' ')
    }

    #[inline(always)]
    fn high(self, block: &Block) -> u64 {
        mask(block, |b| b >= 0x80)
    }

    #[inline(always)]
    fn line_feeds(self, block: &Block) -> u64 {
        mask(block, |b| b == b'\n')
    }

    #[inline(always)]
    fn white(self, block: &Block) -> u64 {
        mask(block, |b| (b == b' ') | (b == b'\t') | (b == b'\n') | (b == b'\r'))
    }

    #[inline(always)]
    fn structure(self, block: &Block) -> StructureMasks {
        let (open, close) = (columns(block, |b| b | 0x20 == b'{'), columns(block, |b| b | 0x20 == b'}'));
        let (open, close, curly) = if open | close == 0 {
            (0, 0, 0)
        } else {
            (transposed(open), transposed(close), mask(block, |b| b & 0x20 != 0))
        };
        StructureMasks { open, close, curly, colon: mask(block, |b| b == b':'), comma: mask(block, |b| b == b',') }
    }

    #[inline(always)]
    fn digits(self, block: &Block) -> DigitMasks {
        DigitMasks { digit: mask(block, |b| b.wrapping_sub(b'0') < 10), zero: mask(block, |b| b == b'0') }
    }

    #[inline(always)]
    fn decimals(self, block: &Block) -> DecimalMasks {
        DecimalMasks { minus: mask(block, |b| b == b'-'), dot: mask(block, |b| b == b'.') }
    }

    #[inline(always)]
    fn exponents(self, block: &Block) -> ExponentMasks {
        ExponentMasks { plus: mask(block, |b| b == b'+'), exponent: mask(block, |b| b | 0x20 == b'e') }
    }

    #[inline(always)]
    fn alpha(self, block: &Block) -> u64 {
        mask(block, |b| b & 0x40 != 0)
    }

    #[inline(always)]
    fn escapable(self, block: &Block) -> u64 {
        mask(block, |b| {
            (b == b'"')
                | (b == b'\\')
                | (b == b'/')
                | (b == b'b')
                | (b == b'f')
                | (b == b'n')
                | (b == b'r')
                | (b == b't')
        })
    }

    #[inline(always)]
    fn unicode(self, block: &Block) -> u64 {
        mask(block, |b| b == b'u')
    }

    #[inline(always)]
    fn hex(self, block: &Block) -> u64 {
        mask(block, |b| (b.wrapping_sub(b'0') < 10) | ((b | 0x20).wrapping_sub(b'a') < 6))
    }

    #[inline(always)]
    fn skip_plain(self, text: &[u8], from: usize) -> (usize, bool) {
        let mut at = from;
        let mut high = false;
        for block in text.get(from..).unwrap_or_default().as_chunks::<BLOCK>().0 {
            let mut special = 0;
            let mut all = 0;
            for &b in block {
                special |= u8::from((b == b'"') | (b == b'\\') | (b < 0x20));
                all |= b;
            }
            if special != 0 {
                break;
            }
            high |= all >= 0x80;
            at += BLOCK;
        }
        (at, high)
    }

    #[inline(always)]
    fn prefix_xor(self, mut bits: u64) -> u64 {
        for distance in [1, 2, 4, 8, 16, 32] {
            bits ^= bits << distance;
        }
        bits
    }
}

/// Whether `byte` is a control character or non-ASCII.
#[inline(always)]
fn is_control_or_high(byte: u8) -> bool {
    byte.wrapping_sub(0x20) >= 0x60
}

/// The mask of the bytes in `class`, which must be branchless to be fast.
#[inline(always)]
fn mask(block: &Block, class: impl Fn(u8) -> bool) -> u64 {
    transposed(columns(block, class))
}

/// Like [`mask`], but with bit `8 * j + i` of the mask at position `8 * i + j`: byte `i` has one bit of each of the
/// eight words of the block. Combining the results of comparisons produces this order.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "the upper half has been merged into the lower one")]
fn columns(block: &Block, class: impl Fn(u8) -> bool) -> u64 {
    // Two words at a time, the size of the smallest vectors. Copying the block tells the compiler that it doesn't
    // change in the meantime, for which it would otherwise generate checks.
    let [a, b, c, d] = *block.as_chunks::<16>().0 else { return 0 };
    let mut pairs = [0_u8; 16];
    for i in 0..16 {
        let bit = if i < 8 { 1 } else { 2 };
        let flag = |byte: u8, bit: u8| u8::from(class(byte)).wrapping_neg() & bit;
        pairs[i] = flag(a[i], bit) | flag(b[i], bit << 2) | flag(c[i], bit << 4) | flag(d[i], bit << 6);
    }
    let words = u128::from_le_bytes(pairs);
    (words | words >> 64) as u64
}

/// Transposes the 8 × 8 bit matrix, in three steps: within squares of two bits, of four, and of eight.
#[inline(always)]
fn transposed(mut bits: u64) -> u64 {
    for (distance, mask) in [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)] {
        let differs = (bits ^ bits >> distance) & mask;
        bits ^= differs ^ differs << distance;
    }
    bits
}

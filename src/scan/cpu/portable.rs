//! The masks without any CPU-specific instruction: comparisons that a compiler turns into whatever vectors the
//! target has, and a multiplication that gathers eight of their results into eight bits.

use super::{BLOCK, Block, DigitMasks, EscapeMasks, Masks, NumberMasks, StringMasks, StructureMasks};

/// Any CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portable;

impl Masks for Portable {
    #[inline(always)]
    fn strings(self, block: &Block) -> StringMasks {
        StringMasks {
            quote: mask(block, |b| b == b'"'),
            backslash: mask(block, |b| b == b'\\'),
            odd: mask(block, |b| b.wrapping_sub(0x20) >= 0x60),
        }
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
    fn structure(self, block: &Block) -> StructureMasks {
        StructureMasks {
            open: mask(block, |b| b | 0x20 == b'{'),
            close: mask(block, |b| b | 0x20 == b'}'),
            curly: mask(block, |b| b & 0x20 != 0),
            colon: mask(block, |b| b == b':'),
            comma: mask(block, |b| b == b','),
            blank: mask(block, |b| (b == b' ') | (b == b'\t') | (b == b'\n') | (b == b'\r')),
        }
    }

    #[inline(always)]
    fn digits(self, block: &Block) -> DigitMasks {
        DigitMasks { digit: mask(block, |b| b.wrapping_sub(b'0') < 10), zero: mask(block, |b| b == b'0') }
    }

    #[inline(always)]
    fn numbers(self, block: &Block) -> NumberMasks {
        NumberMasks {
            minus: mask(block, |b| b == b'-'),
            plus: mask(block, |b| b == b'+'),
            dot: mask(block, |b| b == b'.'),
            exponent: mask(block, |b| b | 0x20 == b'e'),
        }
    }

    #[inline(always)]
    fn alpha(self, block: &Block) -> u64 {
        mask(block, |b| b & 0x40 != 0)
    }

    #[inline(always)]
    fn escapes(self, block: &Block) -> EscapeMasks {
        EscapeMasks {
            escapable: mask(block, |b| {
                (b == b'"')
                    | (b == b'\\')
                    | (b == b'/')
                    | (b == b'b')
                    | (b == b'f')
                    | (b == b'n')
                    | (b == b'r')
                    | (b == b't')
                    | (b == b'u')
            }),
            unicode: mask(block, |b| b == b'u'),
        }
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

/// The bytes of the block that are of `class`, which must be free of branches to be fast.
#[inline(always)]
fn mask(block: &Block, class: impl Fn(u8) -> bool) -> u64 {
    /// Moves the lowest bit of byte `i` to bit `56 + i`.
    const GATHER: u64 = 0x0102_0408_1020_4080;

    let mut flags = [0_u8; BLOCK];
    for (flag, &byte) in flags.iter_mut().zip(block) {
        *flag = u8::from(class(byte));
    }
    let mut mask = 0;
    for (i, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        mask |= (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) << (8 * i);
    }
    mask
}

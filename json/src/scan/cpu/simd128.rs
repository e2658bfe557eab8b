//! WebAssembly's vectors: four of 16 bytes per block.
//!
//! A program either requires `simd128` or doesn't have it, so there is nothing to detect, and these intrinsics are safe.

use std::arch::wasm32::*;

use super::super::group::single::Single;
use super::super::pass::{self, Rejected};
use super::super::{Input, Members, Scanned};
use super::{BLOCK, Block, DecimalMasks, DigitMasks, ExponentMasks, Masks, StringMasks, StructureMasks};

/// Any engine that loads the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Simd128;

impl Simd128 {
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

impl Masks for Simd128 {
    const EXPENSIVE: bool = true;

    #[inline(always)]
    fn strings(self, block: &Block) -> StringMasks {
        StringMasks {
            quote: equal(block, b'"'),
            backslash: equal(block, b'\\'),
            // Non-ASCII bytes are negative as signed numbers.
            control_or_high: mask(block, |v| i8x16_lt(v, i8x16_splat(0x20))),
        }
    }

    #[inline(always)]
    fn spaces(self, block: &Block) -> u64 {
        equal(block, b' ')
    }

    #[inline(always)]
    fn high(self, block: &Block) -> u64 {
        // The mask consists of the top bits.
        mask(block, |v| v)
    }

    #[inline(always)]
    fn line_feeds(self, block: &Block) -> u64 {
        equal(block, b'\n')
    }

    #[inline(always)]
    fn white(self, block: &Block) -> u64 {
        mask(block, |v| {
            let controls = v128_or(is(v, b'\n'), v128_or(is(v, b'\r'), is(v, b'\t')));
            v128_or(controls, is(v, b' '))
        })
    }

    #[inline(always)]
    fn structure(self, block: &Block) -> StructureMasks {
        StructureMasks {
            open: mask(block, |v| is(fold(v), b'{')),
            close: mask(block, |v| is(fold(v), b'}')),
            // Moves bit 5 to the top.
            curly: mask(block, |v| i16x8_shl(v, 2)),
            colon: equal(block, b':'),
            comma: equal(block, b','),
        }
    }

    #[inline(always)]
    fn digits(self, block: &Block) -> DigitMasks {
        DigitMasks { digit: mask(block, |v| within(v, b'0', 10)), zero: equal(block, b'0') }
    }

    #[inline(always)]
    fn decimals(self, block: &Block) -> DecimalMasks {
        DecimalMasks { minus: equal(block, b'-'), dot: equal(block, b'.') }
    }

    #[inline(always)]
    fn exponents(self, block: &Block) -> ExponentMasks {
        ExponentMasks { plus: equal(block, b'+'), exponent: mask(block, |v| is(fold(v), b'e')) }
    }

    #[inline(always)]
    fn alpha(self, block: &Block) -> u64 {
        // Moves bit 6 to the top.
        mask(block, |v| i16x8_shl(v, 1))
    }

    #[inline(always)]
    fn escapable(self, block: &Block) -> u64 {
        mask(block, |v| b"\\/bfnrt".iter().fold(is(v, b'"'), |any, &byte| v128_or(any, is(v, byte))))
    }

    #[inline(always)]
    fn unicode(self, block: &Block) -> u64 {
        equal(block, b'u')
    }

    #[inline(always)]
    fn hex(self, block: &Block) -> u64 {
        mask(block, |v| v128_or(within(v, b'0', 10), within(fold(v), b'a', 6)))
    }

    #[inline(always)]
    fn skip_plain(self, text: &[u8], from: usize) -> (usize, bool) {
        let mut at = from;
        let mut all = u8x16_splat(0);
        for block in text.get(from..).unwrap_or_default().as_chunks::<BLOCK>().0 {
            let vectors = load(block);
            if v128_any_true(union(vectors.map(special))) {
                break;
            }
            all = v128_or(all, union(vectors));
            at += BLOCK;
        }
        (at, u8x16_bitmask(all) != 0)
    }

    // Six steps, since there is no carry-less multiplication.
    #[inline(always)]
    fn prefix_xor(self, mut bits: u64) -> u64 {
        for distance in [1, 2, 4, 8, 16, 32] {
            bits ^= bits << distance;
        }
        bits
    }
}

#[inline(always)]
fn load(block: &Block) -> [v128; 4] {
    let [first, second, third, fourth] = *block.as_chunks::<16>().0 else { return [u8x16_splat(0); 4] };
    [first, second, third, fourth].map(|bytes| {
        let [low, high] = *bytes.as_chunks().0 else { return u8x16_splat(0) };
        u64x2(u64::from_le_bytes(low), u64::from_le_bytes(high))
    })
}

/// The mask of the bytes whose top bit `class` sets.
#[inline(always)]
fn mask(block: &Block, class: impl Fn(v128) -> v128) -> u64 {
    let [first, second, third, fourth] = load(block).map(|v| u64::from(u8x16_bitmask(class(v))));
    (first | second << 16) | (third | fourth << 16) << 32
}

#[inline(always)]
fn equal(block: &Block, byte: u8) -> u64 {
    mask(block, |v| is(v, byte))
}

/// Sets all bits of each byte that is `byte`.
#[inline(always)]
fn is(v: v128, byte: u8) -> v128 {
    u8x16_eq(v, u8x16_splat(byte))
}

/// Sets bit 5, which makes letters lowercase, and turns `[]` into `{}`.
#[inline(always)]
fn fold(v: v128) -> v128 {
    v128_or(v, u8x16_splat(0x20))
}

/// Sets all bits of each byte that is `first` or one of the `count - 1` values after it.
#[inline(always)]
fn within(v: v128, first: u8, count: u8) -> v128 {
    u8x16_lt(u8x16_sub(v, u8x16_splat(first)), u8x16_splat(count))
}

/// Sets all bits of each byte that is a quote, a backslash or a control character.
#[inline(always)]
fn special(v: v128) -> v128 {
    // Flipping bit 1 moves the quote right above the control characters.
    v128_or(is(v, b'\\'), u8x16_le(v128_xor(v, u8x16_splat(2)), u8x16_splat(0x20)))
}

#[inline(always)]
fn union([first, second, third, fourth]: [v128; 4]) -> v128 {
    v128_or(v128_or(first, second), v128_or(third, fourth))
}

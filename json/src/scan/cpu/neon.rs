//! NEON: four vectors of 16 bytes per block.
#![allow(unsafe_code)]

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

use super::super::group::single::Single;
use super::super::pass::{self, Rejected};
use super::super::{Input, Members, Scanned};
use super::{BLOCK, Block, DecimalMasks, DigitMasks, ExponentMasks, Masks, StringMasks, StructureMasks};

/// Proof that the CPU has NEON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neon(());

impl Neon {
    pub(in crate::scan) fn detect() -> Option<Self> {
        is_aarch64_feature_detected!("neon").then_some(Self(()))
    }

    #[inline]
    pub(in crate::scan) fn scan<M: Members>(
        self,
        input: Input<'_>,
        max_depth: u32,
        members: &mut M,
    ) -> Result<Scanned, Rejected> {
        // Not inlined, since it can't be inlined for other CPUs either.
        #[inline(never)]
        #[target_feature(enable = "neon")]
        fn scan<M: Members>(cpu: Neon, input: Input<'_>, max_depth: u32, members: &mut M) -> Result<Scanned, Rejected> {
            pass::scan::<_, Single, _>(cpu, input, max_depth, members)
        }
        // SAFETY: `self` exists only if the CPU has NEON.
        unsafe { scan(self, input, max_depth, members) }
    }

    pub(in crate::scan) fn string_marks(self, blocks: &[Block], marks: &mut [u64]) {
        #[target_feature(enable = "neon")]
        fn string_marks(cpu: Neon, blocks: &[Block], marks: &mut [u64]) {
            super::string_marks(cpu, blocks, marks);
        }
        // SAFETY: `self` exists only if the CPU has NEON.
        unsafe { string_marks(self, blocks, marks) }
    }
}

/// A block in four vectors.
type Vectors = [uint8x16_t; 4];

/// Evaluates `$body`, which uses intrinsics of the feature that [`Neon`] proves.
macro_rules! with_neon {
    ($body:expr) => {
        // SAFETY: `self` is of type `Neon`, whose values exist only if the CPU has the feature; and memory is only read
        // through `load` and `table`, within the block and the table.
        unsafe { $body }
    };
}

/// Evaluates `$result` for each vector `$v` of a block.
macro_rules! each {
    ($v:ident of $vectors:expr => $result:expr) => {{
        let [first, second, third, fourth] = $vectors;
        [
            {
                let $v = first;
                $result
            },
            {
                let $v = second;
                $result
            },
            {
                let $v = third;
                $result
            },
            {
                let $v = fourth;
                $result
            },
        ]
    }};
}

impl Masks for Neon {
    const EXPENSIVE: bool = true;

    #[inline(always)]
    fn strings(self, block: &Block) -> StringMasks {
        with_neon!({
            let block = load(block);
            StringMasks {
                quote: equal(block, b'"'),
                backslash: equal(block, b'\\'),
                // Non-ASCII bytes are negative as signed numbers.
                control_or_high: join(each!(v of block => vcltq_s8(vreinterpretq_s8_u8(v), vdupq_n_s8(0x20)))),
            }
        })
    }

    #[inline(always)]
    fn high(self, block: &Block) -> u64 {
        with_neon!(join(each!(v of load(block) => vcltzq_s8(vreinterpretq_s8_u8(v)))))
    }

    #[inline(always)]
    fn line_feeds(self, block: &Block) -> u64 {
        with_neon!(equal(load(block), b'\n'))
    }

    #[inline(always)]
    fn spaces(self, block: &Block) -> u64 {
        with_neon!(equal(load(block), b' '))
    }

    #[inline(always)]
    fn white(self, block: &Block) -> u64 {
        with_neon!({
            // The white space with each low nibble, or zero. Zero never matches: a byte with a nonzero low nibble isn't
            // zero.
            let white = table(*b" \0\0\0\0\0\0\0\0\t\n\0\0\r\0\0");
            join(each!(v of load(block) => vceqq_u8(vqtbl1q_u8(white, low_nibbles(v)), v)))
        })
    }

    #[inline(always)]
    fn structure(self, block: &Block) -> StructureMasks {
        with_neon!({
            let block = load(block);
            let folded = fold(block);
            StructureMasks {
                open: equal(folded, b'{'),
                close: equal(folded, b'}'),
                curly: has_bit(block, 0x20),
                colon: equal(block, b':'),
                comma: equal(block, b','),
            }
        })
    }

    #[inline(always)]
    fn digits(self, block: &Block) -> DigitMasks {
        with_neon!({
            let block = load(block);
            DigitMasks { digit: join(each!(v of block => within(v, b'0', 10))), zero: equal(block, b'0') }
        })
    }

    #[inline(always)]
    fn decimals(self, block: &Block) -> DecimalMasks {
        with_neon!({
            let block = load(block);
            DecimalMasks { minus: equal(block, b'-'), dot: equal(block, b'.') }
        })
    }

    #[inline(always)]
    fn exponents(self, block: &Block) -> ExponentMasks {
        with_neon!({
            let block = load(block);
            ExponentMasks { plus: equal(block, b'+'), exponent: equal(fold(block), b'e') }
        })
    }

    #[inline(always)]
    fn alpha(self, block: &Block) -> u64 {
        with_neon!(has_bit(load(block), 0x40))
    }

    #[inline(always)]
    fn escapable(self, block: &Block) -> u64 {
        with_neon!({
            // Each high nibble of these characters is assigned a bit. The table for low nibbles has the bits of the
            // high nibbles with which they form such a character.
            let by_low = table([0, 0, 0b1101, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1]);
            let by_high = table([0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
            join(each!(v of load(block) => vtstq_u8(
                vqtbl1q_u8(by_low, low_nibbles(v)),
                vqtbl1q_u8(by_high, vshrq_n_u8::<4>(v)),
            )))
        })
    }

    #[inline(always)]
    fn unicode(self, block: &Block) -> u64 {
        with_neon!(equal(load(block), b'u'))
    }

    #[inline(always)]
    fn hex(self, block: &Block) -> u64 {
        with_neon!(join(each!(v of load(block) => {
            vorrq_u8(within(v, b'0', 10), within(vorrq_u8(v, vdupq_n_u8(0x20)), b'a', 6))
        })))
    }

    #[inline(always)]
    fn skip_plain(self, text: &[u8], from: usize) -> (usize, bool) {
        let mut at = from;
        with_neon!({
            let mut all = vdupq_n_u8(0);
            for block in text.get(from..).unwrap_or_default().as_chunks().0 {
                let block = load(block);
                if any_bit(union(each!(v of block => special(v)))) {
                    break;
                }
                all = vorrq_u8(all, union(block));
                at += BLOCK;
            }
            (at, any_bit(vandq_u8(all, vdupq_n_u8(0x80))))
        })
    }

    // Six instructions, since an exclusive or includes a shift. Not every CPU has carry-less multiplication.
    #[inline(always)]
    fn prefix_xor(self, mut bits: u64) -> u64 {
        for distance in [1, 2, 4, 8, 16, 32] {
            bits ^= bits << distance;
        }
        bits
    }
}

// The helpers act like macros: `#[inline(always)]` inlines them into a function that has the feature. There are no
// closures here, because these wouldn't have the feature.

/// # Safety
///
/// The CPU must have NEON, as below.
#[inline(always)]
unsafe fn load(block: &Block) -> Vectors {
    let start = block.as_ptr();
    // SAFETY: a block is as long as four vectors, and these loads need no alignment.
    unsafe { [vld1q_u8(start), vld1q_u8(start.add(16)), vld1q_u8(start.add(32)), vld1q_u8(start.add(48))] }
}

/// # Safety
///
/// The CPU must have NEON.
#[inline(always)]
unsafe fn table(table: [u8; 16]) -> uint8x16_t {
    // SAFETY: the caller guarantees NEON; the table is 16 bytes and the load needs no alignment.
    unsafe { vld1q_u8(table.as_ptr()) }
}

/// The mask of 64 bytes, each of which must have all its bits set or clear.
///
/// Each byte keeps one bit, at its position in the mask. Pairwise additions combine two bits in a byte, then four, then
/// eight.
///
/// # Safety
///
/// The CPU must have NEON.
#[inline(always)]
unsafe fn join(block: Vectors) -> u64 {
    // SAFETY: the caller guarantees NEON.
    unsafe {
        let bits = table([1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]);
        let [first, second, third, fourth] = each!(v of block => vandq_u8(v, bits));
        let fours = vpaddq_u8(vpaddq_u8(first, second), vpaddq_u8(third, fourth));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)))
    }
}

/// # Safety
///
/// The CPU must have NEON.
#[inline(always)]
unsafe fn equal(block: Vectors, byte: u8) -> u64 {
    // SAFETY: the caller guarantees NEON.
    unsafe { join(each!(v of block => vceqq_u8(v, vdupq_n_u8(byte)))) }
}

/// # Safety
///
/// The CPU must have NEON.
#[inline(always)]
unsafe fn has_bit(block: Vectors, bit: u8) -> u64 {
    // SAFETY: the caller guarantees NEON.
    unsafe { join(each!(v of block => vtstq_u8(v, vdupq_n_u8(bit)))) }
}

/// Sets bit 5, which makes letters lowercase, and turns `[]` into `{}`.
///
/// # Safety
///
/// The CPU must have NEON.
#[inline(always)]
unsafe fn fold(block: Vectors) -> Vectors {
    // SAFETY: the caller guarantees NEON.
    unsafe { each!(v of block => vorrq_u8(v, vdupq_n_u8(0x20))) }
}

/// # Safety
///
/// The CPU must have NEON.
#[inline(always)]
unsafe fn low_nibbles(v: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller guarantees NEON.
    unsafe { vandq_u8(v, vdupq_n_u8(0x0f)) }
}

/// Sets all bits of each byte that is `first` or one of the `count - 1` values after it.
///
/// # Safety
///
/// The CPU must have NEON.
#[inline(always)]
unsafe fn within(v: uint8x16_t, first: u8, count: u8) -> uint8x16_t {
    // SAFETY: the caller guarantees NEON.
    unsafe { vcltq_u8(vsubq_u8(v, vdupq_n_u8(first)), vdupq_n_u8(count)) }
}

/// Sets all bits of each byte that is a quote, a backslash or a control character.
///
/// # Safety
///
/// The CPU must have NEON.
#[inline(always)]
unsafe fn special(v: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller guarantees NEON.
    unsafe {
        // Flipping bit 1 moves the quote right above the control characters.
        let flipped = veorq_u8(v, vdupq_n_u8(2));
        vorrq_u8(vceqq_u8(v, vdupq_n_u8(b'\\')), vcleq_u8(flipped, vdupq_n_u8(0x20)))
    }
}

/// # Safety
///
/// The CPU must have NEON.
#[inline(always)]
unsafe fn union([first, second, third, fourth]: Vectors) -> uint8x16_t {
    // SAFETY: the caller guarantees NEON.
    unsafe { vorrq_u8(vorrq_u8(first, second), vorrq_u8(third, fourth)) }
}

/// # Safety
///
/// The CPU must have NEON.
#[inline(always)]
unsafe fn any_bit(v: uint8x16_t) -> bool {
    // SAFETY: the caller guarantees NEON.
    unsafe { vmaxvq_u32(vreinterpretq_u32_u8(v)) != 0 }
}

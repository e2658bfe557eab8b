//! The masks with AVX-512: one vector a block, and comparisons that give a mask directly.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::blocks::{self, Rejected};
use super::super::{Input, Members, Scanned};
use super::{BLOCK, Block, DigitMasks, EscapeMasks, Masks, NumberMasks, StringMasks, StructureMasks};

/// Proof that AVX-512 F and BW, carry-less multiplication and the bit-manipulation instructions are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(in crate::json::scan) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt"))
        .then_some(Self(()))
    }

    #[inline]
    pub(in crate::json::scan) fn scan<M: Members>(
        self,
        input: Input<'_>,
        max_depth: u32,
        members: &mut M,
    ) -> Result<Scanned, Rejected> {
        #[target_feature(enable = "avx512f,avx512bw,pclmulqdq,bmi1,bmi2,lzcnt,popcnt")]
        fn scan<M: Members>(
            cpu: Avx512,
            input: Input<'_>,
            max_depth: u32,
            members: &mut M,
        ) -> Result<Scanned, Rejected> {
            blocks::scan(cpu, input, max_depth, members)
        }
        // SAFETY: `self` exists only if the CPU has these features.
        unsafe { scan(self, input, max_depth, members) }
    }
}

/// Runs `$body`, intrinsics of the features that [`Avx512`] proves.
macro_rules! with_avx512 {
    ($body:expr) => {
        // SAFETY: a `self` of type `Avx512` is at hand, which exists only if the CPU has the features; and memory is
        // read only through `load`, within the block.
        unsafe { $body }
    };
}

impl Masks for Avx512 {
    #[inline(always)]
    fn strings(self, block: &Block) -> StringMasks {
        with_avx512!({
            let v = load(block);
            StringMasks {
                quote: equal(v, b'"'),
                backslash: equal(v, b'\\'),
                // As signed numbers, bytes beyond ASCII are below zero.
                odd: _mm512_cmplt_epi8_mask(v, _mm512_set1_epi8(0x20)),
            }
        })
    }

    #[inline(always)]
    fn high(self, block: &Block) -> u64 {
        with_avx512!(_mm512_movepi8_mask(load(block)))
    }

    #[inline(always)]
    fn line_feeds(self, block: &Block) -> u64 {
        with_avx512!(equal(load(block), b'\n'))
    }

    #[inline(always)]
    fn structure(self, block: &Block) -> StructureMasks {
        with_avx512!({
            let v = load(block);
            let folded = _mm512_or_si512(v, _mm512_set1_epi8(0x20));
            // Indexed by the low nibble, the blank that has it. An index with its top bit set gives zero, so bytes
            // beyond ASCII match nothing: they are not zero themselves.
            let blanks = all_lanes(*b" \xff\xff\xff\xff\xff\xff\xff\xff\t\n\xff\xff\r\xff\xff");
            StructureMasks {
                open: equal(folded, b'{'),
                close: equal(folded, b'}'),
                curly: _mm512_test_epi8_mask(v, _mm512_set1_epi8(0x20)),
                colon: equal(v, b':'),
                comma: equal(v, b','),
                blank: _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(blanks, v), v),
            }
        })
    }

    #[inline(always)]
    fn digits(self, block: &Block) -> DigitMasks {
        with_avx512!({
            let v = load(block);
            DigitMasks { digit: within(v, b'0', 10), zero: equal(v, b'0') }
        })
    }

    #[inline(always)]
    fn numbers(self, block: &Block) -> NumberMasks {
        with_avx512!({
            let v = load(block);
            NumberMasks {
                minus: equal(v, b'-'),
                plus: equal(v, b'+'),
                dot: equal(v, b'.'),
                exponent: equal(_mm512_or_si512(v, _mm512_set1_epi8(0x20)), b'e'),
            }
        })
    }

    #[inline(always)]
    fn alpha(self, block: &Block) -> u64 {
        with_avx512!(_mm512_test_epi8_mask(load(block), _mm512_set1_epi8(0x40)))
    }

    #[inline(always)]
    fn escapes(self, block: &Block) -> EscapeMasks {
        with_avx512!({
            let v = load(block);
            // Each high nibble that such characters have stands for a bit, and each low nibble for those high nibbles
            // that it may come with. `u` has the top bit besides.
            let by_low = all_lanes([0, 0, 0b1101, 0, 8, 0x80, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1]);
            let by_high = all_lanes([0, 0, 1, 0, 0, 2, 4, 0x88, 0, 0, 0, 0, 0, 0, 0, 0]);
            let high_nibbles = _mm512_and_si512(_mm512_srli_epi16::<4>(v), _mm512_set1_epi8(0x0f));
            let (low, high) = (_mm512_shuffle_epi8(by_low, v), _mm512_shuffle_epi8(by_high, high_nibbles));
            EscapeMasks {
                escapable: _mm512_test_epi8_mask(low, high),
                unicode: _mm512_movepi8_mask(_mm512_and_si512(low, high)),
            }
        })
    }

    #[inline(always)]
    fn hex(self, block: &Block) -> u64 {
        with_avx512!({
            let v = load(block);
            within(v, b'0', 10) | within(_mm512_or_si512(v, _mm512_set1_epi8(0x20)), b'a', 6)
        })
    }

    #[inline(always)]
    fn skip_plain(self, text: &[u8], from: usize) -> (usize, bool) {
        let mut at = from;
        with_avx512!({
            let mut all = _mm512_setzero_si512();
            for block in text.get(from..).unwrap_or_default().as_chunks().0 {
                let v = load(block);
                if equal(v, b'"') | equal(v, b'\\') | _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(0x20)) != 0 {
                    break;
                }
                all = _mm512_or_si512(all, v);
                at += BLOCK;
            }
            (at, _mm512_movepi8_mask(all) != 0)
        })
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        with_avx512!({
            let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits.cast_signed()), _mm_set1_epi8(-1));
            _mm_cvtsi128_si64(product).cast_unsigned()
        })
    }
}

// The helpers are macros in all but name: `#[inline(always)]` brings them into a function that has the features. For the
// same reason there are no closures here, which would not have them.

/// # Safety
///
/// The CPU must have AVX-512 F, as below.
#[inline(always)]
unsafe fn load(block: &Block) -> __m512i {
    // SAFETY: a block is 64 bytes, one vector, and this load needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

/// # Safety
///
/// The CPU must have AVX-512 F.
#[inline(always)]
unsafe fn all_lanes(table: [u8; 16]) -> __m512i {
    // SAFETY: the caller vouches for AVX-512; the table is 16 bytes and the load needs no alignment.
    unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast())) }
}

/// # Safety
///
/// The CPU must have AVX-512 BW.
#[inline(always)]
unsafe fn equal(v: __m512i, byte: u8) -> u64 {
    // SAFETY: the caller vouches for AVX-512.
    unsafe { _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(byte.cast_signed())) }
}

/// The bytes that are `first` or one of the `count - 1` values after it.
///
/// # Safety
///
/// The CPU must have AVX-512 BW.
#[inline(always)]
unsafe fn within(v: __m512i, first: u8, count: u8) -> u64 {
    // SAFETY: the caller vouches for AVX-512.
    unsafe {
        let from_zero = _mm512_sub_epi8(v, _mm512_set1_epi8(first.cast_signed()));
        _mm512_cmplt_epu8_mask(from_zero, _mm512_set1_epi8(count.cast_signed()))
    }
}

//! UTF-8 validation with AVX-512, 64 bytes at a time.
//!
//! This is the algorithm of Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte" (2021). Three
//! of the four nibbles of two adjacent bytes determine whether these are an error. A table for each of the three gives
//! the set of errors that are possible with that nibble, one bit each; an error in all three sets has occurred. It
//! remains to check that third and fourth bytes of characters are exactly where they must be, for which bit 7 is used.
//!
//! ```text
//! text            … 41 E2 82 AC 41 …        A€A
//! one before      … .. 41 E2 82 AC …
//! two before      … .. .. 41 E2 82 …        E2: the byte two after it must be a third byte
//! ```
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::BLOCK;

/// A lead byte without a continuation after it.
const TOO_SHORT: u8 = 1 << 0;
/// ASCII with a continuation after it.
const TOO_LONG: u8 = 1 << 1;
/// `E0` and a continuation below `A0`, for which two bytes are enough.
const OVERLONG_3: u8 = 1 << 2;
/// `F4` and a continuation of `90` or above, or `F5` and above: beyond U+10FFFF.
const TOO_LARGE: u8 = 1 << 3;
/// `ED` and a continuation of `A0` or above.
const SURROGATE: u8 = 1 << 4;
/// `C0` or `C1`, for which one byte is enough.
const OVERLONG_2: u8 = 1 << 5;
/// `F0` and a continuation below `90`, for which three bytes are enough. Also `F5` and above with such a continuation.
const OVERLONG_4: u8 = 1 << 6;
/// Two continuations in a row: an error unless the second one is a third or fourth byte.
const TWO_CONTINUATIONS: u8 = 1 << 7;

/// By the high nibble of the first of two bytes.
const FIRST_HIGH: [u8; 16] = [
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TWO_CONTINUATIONS,
    TWO_CONTINUATIONS,
    TWO_CONTINUATIONS,
    TWO_CONTINUATIONS,
    TOO_SHORT | OVERLONG_2,
    TOO_SHORT,
    TOO_SHORT | OVERLONG_3 | SURROGATE,
    TOO_SHORT | TOO_LARGE | OVERLONG_4,
];

/// By the low nibble of the first of two bytes.
const FIRST_LOW: [u8; 16] = {
    // Errors that don't depend on the low nibble, and those of `F5` and above.
    const ANY: u8 = TOO_SHORT | TOO_LONG | TWO_CONTINUATIONS;
    const LARGE: u8 = ANY | TOO_LARGE | OVERLONG_4;
    [
        ANY | OVERLONG_2 | OVERLONG_3 | OVERLONG_4,
        ANY | OVERLONG_2,
        ANY,
        ANY,
        ANY | TOO_LARGE,
        LARGE,
        LARGE,
        LARGE,
        LARGE,
        LARGE,
        LARGE,
        LARGE,
        LARGE,
        LARGE | SURROGATE,
        LARGE,
        LARGE,
    ]
};

/// By the high nibble of the second of two bytes.
const SECOND_HIGH: [u8; 16] = {
    const CONTINUATION: u8 = TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS;
    let mut table = [TOO_SHORT; 16];
    table[0x8] = CONTINUATION | OVERLONG_3 | OVERLONG_4;
    table[0x9] = CONTINUATION | OVERLONG_3 | TOO_LARGE;
    table[0xa] = CONTINUATION | SURROGATE | TOO_LARGE;
    table[0xb] = CONTINUATION | SURROGATE | TOO_LARGE;
    table
};

/// Whether `text` is UTF-8.
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
#[inline(never)]
pub(super) fn is_utf8(text: &[u8]) -> bool {
    let mut wrong = _mm512_setzero_si512();
    let mut at = 0;
    // Continue three bytes past the end. These count as zero, so an incomplete character at the end is an error.
    while at < text.len() + 3 {
        let is_amid = at >= 3 && at + BLOCK <= text.len();
        let load = |distance| if is_amid { load_amid(text, at - distance) } else { load_at_edge(text, at, distance) };
        wrong = _mm512_or_si512(wrong, faults(load(0), load(1), load(2), load(3)));
        at += BLOCK;
    }
    _mm512_test_epi8_mask(wrong, wrong) == 0
}

/// The 64 bytes of `text` from `from` on.
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
#[inline]
fn load_amid(text: &[u8], from: usize) -> __m512i {
    let bytes = &text[from..from + BLOCK];
    // SAFETY: there are 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// The 64 bytes of `text` that start `distance` bytes before `at`, with zeros for those outside the text.
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
#[inline]
fn load_at_edge(text: &[u8], at: usize, distance: usize) -> __m512i {
    let ones = |count: usize| if count >= BLOCK { !0 } else { (1_u64 << count) - 1 };
    let from_start = !ones(distance.saturating_sub(at));
    let to_end = ones((text.len() + distance).saturating_sub(at));
    let start = text.as_ptr().wrapping_add(at).wrapping_sub(distance);
    // SAFETY: bytes outside the text are masked out, so they are not accessed.
    unsafe { _mm512_maskz_loadu_epi8(from_start & to_end, start.cast()) }
}

/// Nonzero in each byte that is an error. `one`, `two` and `three` are the bytes that many positions before `here`.
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
#[inline]
fn faults(here: __m512i, one: __m512i, two: __m512i, three: __m512i) -> __m512i {
    let nibble = _mm512_set1_epi8(0x0f);
    let high = |v| _mm512_and_si512(_mm512_srli_epi16::<4>(v), nibble);
    let first_high = _mm512_shuffle_epi8(table(FIRST_HIGH), high(one));
    let first_low = _mm512_shuffle_epi8(table(FIRST_LOW), _mm512_and_si512(one, nibble));
    let second_high = _mm512_shuffle_epi8(table(SECOND_HIGH), high(here));
    // The errors that are possible with all three nibbles.
    let pair = _mm512_and_si512(_mm512_and_si512(first_high, first_low), second_high);
    // A third byte is two bytes after `E0` or above, and a fourth byte is three bytes after `F0` or above. These
    // subtractions leave bit 7 set in exactly those bytes.
    let third = _mm512_subs_epu8(two, _mm512_set1_epi8(0x60));
    let fourth = _mm512_subs_epu8(three, _mm512_set1_epi8(0x70));
    let must_continue = _mm512_and_si512(_mm512_or_si512(third, fourth), _mm512_set1_epi8(i8::MIN));
    _mm512_xor_si512(must_continue, pair)
}

#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
#[inline]
fn table(table: [u8; 16]) -> __m512i {
    // SAFETY: the table is 16 bytes, and the load needs no alignment.
    unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast())) }
}

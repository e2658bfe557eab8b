//! AVX2: two vectors of 32 bytes per block, and overlapping vectors for shorter texts.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{BLOCK, Blank, Escaper, Kernel, escape_each, long, portable, short};

pub(super) fn detect() -> Option<&'static Escaper> {
    static ESCAPER: Escaper = Escaper { name: "AVX2", short: short_text, long: long_text };
    (is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt"))
    .then_some(&ESCAPER)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn short_text(text: &[u8], room: &mut [Blank]) -> (usize, usize) {
    short(Avx2(()), text, room)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn long_text(text: &[u8], room: &mut [Blank]) -> (usize, usize) {
    long(Avx2(()), text, room)
}

/// Proof of AVX2 and the bit-manipulation instructions. Only functions that are compiled for them make one.
#[derive(Clone, Copy)]
struct Avx2(());

// SAFETY: `block` stores two vectors, `tail` two that together cover the text, and `escape_each` leaves no gap.
unsafe impl Kernel for Avx2 {
    #[inline(always)]
    fn block(self, block: &[u8; BLOCK], room: &mut [Blank; BLOCK]) -> u64 {
        // SAFETY: a `self` is at hand, so the CPU has AVX2; block and room are two vectors long.
        unsafe {
            let (low, high) = copy_ends_32(block.as_ptr(), room.as_mut_ptr(), BLOCK);
            mask(low) | mask(high) << 32
        }
    }

    #[inline(always)]
    fn tail(self, tail: &[u8], room: &mut [Blank; BLOCK]) -> u64 {
        let (len, from, to) = (tail.len(), tail.as_ptr(), room.as_mut_ptr());
        match len {
            // SAFETY: the CPU has AVX2, and text and room are this long.
            32.. => unsafe {
                let (low, high) = copy_ends_32(from, to, len);
                mask(low) | mask(high) << (len - 32)
            },
            // SAFETY: as above.
            16.. => unsafe {
                let (first, last) = (_mm_loadu_si128(from.cast()), _mm_loadu_si128(from.add(len - 16).cast()));
                _mm_storeu_si128(to.cast(), first);
                _mm_storeu_si128(to.add(len - 16).cast(), last);
                mask_16(first) | mask_16(last) << (len - 16)
            },
            // SAFETY: as above.
            8.. => unsafe {
                let (first, last) = (_mm_loadu_si64(from), _mm_loadu_si64(from.add(len - 8)));
                _mm_storeu_si64(to.cast(), first);
                _mm_storeu_si64(to.add(len - 8).cast(), last);
                let both = mask_16(_mm_unpacklo_epi64(first, last));
                both & 0xff | both >> 8 << (len - 8)
            },
            _ => portable::few(tail, room),
        }
    }

    #[inline(always)]
    unsafe fn escaped(self, text: &[u8], len: usize, special: u64, room: &mut [Blank]) -> usize {
        // SAFETY: the caller vouches for the same.
        unsafe { escape_each::<32>(self, text, len, special, room) }
    }

    #[inline(always)]
    unsafe fn escaped_tail(self, tail: &[u8], special: u64, room: &mut [Blank]) -> usize {
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn escaped(cpu: Avx2, tail: &[u8], special: u64, room: &mut [Blank]) -> usize {
            // SAFETY: the caller vouches for the same.
            unsafe { cpu.escaped(tail, tail.len(), special, room) }
        }
        // SAFETY: a `self` is at hand, so the CPU has the features; and the caller vouches for the rest.
        unsafe { escaped(self, tail, special, room) }
    }
}

// The helpers are macros in all but name: `#[inline(always)]` brings them into a function that has the features.

/// Copies the first and the last 32 bytes. Returns [`special`] of both.
///
/// # Safety
///
/// The CPU must have AVX2; `from` and `to` must be good for `len` bytes, 32 at least.
#[inline(always)]
unsafe fn copy_ends_32(from: *const u8, to: *mut Blank, len: usize) -> (__m256i, __m256i) {
    // SAFETY: both vectors lie within `len` bytes, and need no alignment.
    unsafe {
        let (first, last) = (_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(len - 32).cast()));
        _mm256_storeu_si256(to.cast(), first);
        _mm256_storeu_si256(to.add(len - 32).cast(), last);
        (special(first), special(last))
    }
}

/// Sets all bits of each byte that needs an escape, and clears the others.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn special(v: __m256i) -> __m256i {
    // SAFETY: the caller vouches for AVX2.
    unsafe {
        // Flipping bit 1 moves the quote right above the control characters.
        let flipped = _mm256_xor_si256(v, _mm256_set1_epi8(2));
        let quote_or_control = _mm256_cmpeq_epi8(_mm256_min_epu8(flipped, _mm256_set1_epi8(0x20)), flipped);
        _mm256_or_si256(quote_or_control, _mm256_cmpeq_epi8(v, _mm256_set1_epi8(0x5c)))
    }
}

/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn mask(special: __m256i) -> u64 {
    // SAFETY: the caller vouches for AVX2.
    unsafe { u64::from(_mm256_movemask_epi8(special).cast_unsigned()) }
}

/// The mask of 16 bytes, see [`special`].
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn mask_16(v: __m128i) -> u64 {
    // SAFETY: the caller vouches for AVX2.
    unsafe {
        let flipped = _mm_xor_si128(v, _mm_set1_epi8(2));
        let quote_or_control = _mm_cmpeq_epi8(_mm_min_epu8(flipped, _mm_set1_epi8(0x20)), flipped);
        let special = _mm_or_si128(quote_or_control, _mm_cmpeq_epi8(v, _mm_set1_epi8(0x5c)));
        u64::from(_mm_movemask_epi8(special).cast_unsigned())
    }
}

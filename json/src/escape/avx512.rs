//! AVX-512 with VBMI2: one vector per block, masked for shorter texts, and comparisons that return a mask.
//!
//! All escapes of a block are written at once: a backslash is inserted before every byte, and one instruction removes
//! those that aren't needed. Only escapes of the form `\u001f` are written one at a time.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{BLOCK, ESCAPES, Escaper, Kernel, UninitByte, long, short};

pub(super) fn detect() -> Option<&'static Escaper> {
    static ESCAPER: Escaper = Escaper { name: "AVX-512", short: short_text, long: long_text };
    (is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt"))
    .then_some(&ESCAPER)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn short_text(text: &[u8], room: &mut [UninitByte]) -> (usize, usize) {
    short(Avx512(()), text, room)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn long_text(text: &[u8], room: &mut [UninitByte]) -> (usize, usize) {
    long(Avx512(()), text, room)
}

/// Proof of AVX-512 F, BW, VL, VBMI and VBMI2 and the bit-manipulation instructions. Only functions that are compiled for
/// them make one.
#[derive(Clone, Copy)]
struct Avx512(());

// SAFETY: `block` stores a block if it returns 0, `tail` a vector that is at least as long as the text, and the vectors
// that `spread` stores leave no gap.
unsafe impl Kernel for Avx512 {
    #[inline(always)]
    fn block(self, block: &[u8; BLOCK], room: &mut [UninitByte; BLOCK]) -> u64 {
        // SAFETY: `self` exists, so the CPU has AVX-512; the block and the room are one vector long.
        unsafe {
            let v = _mm512_loadu_si512(block.as_ptr().cast());
            let special = special(v);
            if special == 0 {
                _mm512_storeu_si512(room.as_mut_ptr().cast(), v);
            }
            special
        }
    }

    #[inline(always)]
    fn tail(self, tail: &[u8], room: &mut [UninitByte; BLOCK]) -> u64 {
        let len = tail.len();
        // SAFETY: as in `block`; the mask keeps the load within the text.
        unsafe {
            if len <= 32 {
                // Storing half a vector is faster.
                let there = first_32(len);
                let v = _mm256_maskz_loadu_epi8(there, tail.as_ptr().cast());
                _mm256_storeu_si256(room.as_mut_ptr().cast(), v);
                return u64::from(special_32(v) & there);
            }
            let v = load(tail);
            _mm512_storeu_si512(room.as_mut_ptr().cast(), v);
            special(v) & first(len)
        }
    }

    #[inline(always)]
    unsafe fn escaped(self, text: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
        // SAFETY: the CPU has AVX-512, and the caller guarantees the rest.
        unsafe { spread(&text[..BLOCK], special, room) }
    }

    #[inline(always)]
    unsafe fn escaped_tail(self, tail: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
        #[inline(never)]
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn escaped(tail: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
            // SAFETY: the caller guarantees the same conditions.
            unsafe { spread(tail, special, room) }
        }
        // SAFETY: the CPU has AVX-512, and the caller guarantees the rest.
        unsafe { escaped(tail, special, room) }
    }
}

// The helpers act like macros: `#[inline(always)]` inlines them into a function that has the features.

/// Sets the lowest `len` bits, at most 32.
///
/// # Safety
///
/// The CPU must have BMI2.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "there are no more bits")]
unsafe fn first_32(len: usize) -> u32 {
    // SAFETY: the caller guarantees BMI2.
    unsafe { _bzhi_u32(u32::MAX, len as u32) }
}

/// Sets the lowest `len` bits, at most 64.
///
/// # Safety
///
/// The CPU must have BMI2.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "there are no more bits")]
unsafe fn first(len: usize) -> u64 {
    // SAFETY: the caller guarantees BMI2.
    unsafe { _bzhi_u64(u64::MAX, len as u32) }
}

/// The first 64 bytes of `text`, padded with zeros.
///
/// # Safety
///
/// The CPU must have AVX-512 F and BW, and BMI2.
#[inline(always)]
unsafe fn load(text: &[u8]) -> __m512i {
    // SAFETY: the caller guarantees the features; the mask keeps the load within the text.
    unsafe { _mm512_maskz_loadu_epi8(first(text.len().min(BLOCK)), text.as_ptr().cast()) }
}

/// The mask of 64 bytes.
///
/// # Safety
///
/// The CPU must have AVX-512 F and BW.
#[inline(always)]
unsafe fn special(v: __m512i) -> u64 {
    // SAFETY: the caller guarantees the features.
    unsafe {
        // Flipping bit 1 moves the quote right above the control characters.
        let flipped = _mm512_xor_si512(v, _mm512_set1_epi8(2));
        _mm512_cmple_epu8_mask(flipped, _mm512_set1_epi8(0x20)) | _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(0x5c))
    }
}

/// The mask of 32 bytes.
///
/// # Safety
///
/// The CPU must have AVX-512 F, BW and VL.
#[inline(always)]
unsafe fn special_32(v: __m256i) -> u32 {
    // SAFETY: the caller guarantees the features.
    unsafe {
        let flipped = _mm256_xor_si256(v, _mm256_set1_epi8(2));
        _mm256_cmple_epu8_mask(flipped, _mm256_set1_epi8(0x20)) | _mm256_cmpeq_epi8_mask(v, _mm256_set1_epi8(0x5c))
    }
}

/// [`Kernel::escaped`], one escape at a time. The bytes after each escape are copied again, to their new position.
///
/// # Safety
///
/// The CPU must have AVX-512 F and BW, and BMI2. For the rest see [`Kernel::escaped`].
#[inline(always)]
unsafe fn escape_each(text: &[u8], mut special: u64, room: &mut [UninitByte]) -> usize {
    debug_assert!(text.len() <= BLOCK && room.len() >= super::room_for(text.len(), special.count_ones()));
    // Where the text would start if all escapes so far had come before the text.
    let mut shifted = room.as_mut_ptr().cast::<u8>();
    // SAFETY: the caller guarantees the features and the room. Each escape advances `shifted` by at most five bytes, so
    // each vector but the first starts within the text's length plus five bytes for each escape, and ends within the
    // room.
    unsafe {
        _mm512_storeu_si512(shifted.cast(), load(text));
        while special != 0 {
            let at = special.trailing_zeros() as usize;
            let (escape, rest) = (ESCAPES[usize::from(text[at])], load(&text[at + 1..]));
            shifted.add(at).cast::<[u8; 8]>().write_unaligned(escape.to_le_bytes());
            shifted = shifted.add((escape >> 56) as usize);
            _mm512_storeu_si512(shifted.add(at + 1).cast(), rest);
            special &= special - 1;
        }
        shifted.addr() - room.as_ptr().addr() + text.len()
    }
}

/// [`Kernel::escaped`], all escapes at once, unless one of them has the form `\u001f`.
///
/// ```text
/// text         a  "  b  \n
/// letters      a  "  b  n       control characters become letters
/// interleaved  \a \" \b \n
/// kept         01 11 01 11
/// room         a\"b\n
/// ```
///
/// # Safety
///
/// The CPU must have AVX-512 F, BW, VBMI and VBMI2, and BMI2. For the rest see [`Kernel::escaped`].
#[inline(always)]
unsafe fn spread(text: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
    debug_assert!(text.len() <= BLOCK && room.len() >= super::room_for(text.len(), special.count_ones()));
    /// The escape letters of control characters, or `u` for those that have none.
    static LETTERS: [u8; 64] = {
        let mut letters = [b'u'; 64];
        let mut byte = 0;
        while byte < 0x20 {
            letters[byte] = ESCAPES[byte].to_le_bytes()[1];
            byte += 1;
        }
        letters
    };
    const EVEN: u64 = 0x5555_5555_5555_5555;
    // SAFETY: the caller guarantees the features and the room. The first vector takes a block. The second vector is
    // only stored if the text is longer than 32 bytes; it starts after these and one more byte for each of their
    // escapes.
    unsafe {
        let v = load(text);
        let controls = _mm512_mask_cmplt_epu8_mask(special, v, _mm512_set1_epi8(0x20));
        let letters = _mm512_mask_permutexvar_epi8(v, controls, v, _mm512_loadu_si512(LETTERS.as_ptr().cast()));
        let have_no_letter = _mm512_mask_cmpeq_epi8_mask(controls, letters, _mm512_set1_epi8(0x75)) != 0;
        // Bochs 2.7, which emulates AVX-512 for tests, gets VPCOMPRESSB wrong.
        if have_no_letter || cfg!(wireline_bochs) {
            return escape_each(text, special, room);
        }
        let to = room.as_mut_ptr();
        let low = interleaved(_mm512_castsi512_si256(letters));
        let kept = !EVEN | _pdep_u64(special, EVEN);
        _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi8(kept, low));
        if text.len() > 32 {
            let high = interleaved(_mm512_extracti64x4_epi64::<1>(letters));
            let kept = !EVEN | _pdep_u64(special >> 32, EVEN);
            let to = to.add(32 + (special << 32).count_ones() as usize);
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi8(kept, high));
        }
        text.len() + special.count_ones() as usize
    }
}

/// Inserts a backslash before each byte.
///
/// # Safety
///
/// The CPU must have AVX-512 F and BW.
#[inline(always)]
unsafe fn interleaved(v: __m256i) -> __m512i {
    // SAFETY: the caller guarantees the features.
    unsafe { _mm512_or_si512(_mm512_slli_epi16::<8>(_mm512_cvtepu8_epi16(v)), _mm512_set1_epi16(0x5c)) }
}

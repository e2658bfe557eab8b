//! AVX2: two vectors of 32 bytes per block, and overlapping vectors for shorter texts.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{BLOCK, Blank, ESCAPES, Escaper, Kernel, escape_each, long, portable, room_for, short};

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

// SAFETY: `block` stores two vectors, `tail` two that together cover the text, and neither `spread_block` nor
// `spread_tail` leaves a gap.
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
        // SAFETY: a `self` is at hand, so the CPU has the features; and the caller vouches for the rest.
        unsafe {
            match text.first_chunk() {
                // A single escape is quicker on its own, and the only one in most texts with few.
                Some(_) if len == BLOCK && special.is_power_of_two() => {
                    escape_each::<32>(self, text, len, special, room)
                }
                Some(block) if len == BLOCK => spread_block(self, text, block, special, room),
                _ => spread_tail(self, &text[..len], special, room),
            }
        }
    }

    #[inline(always)]
    unsafe fn escaped_tail(self, tail: &[u8], special: u64, room: &mut [Blank]) -> usize {
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn escaped(cpu: Avx2, tail: &[u8], special: u64, room: &mut [Blank]) -> usize {
            // SAFETY: the caller vouches for the same.
            unsafe { spread_tail(cpu, tail, special, room) }
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

/// Where eight bytes go, for each mask of those that need an escape. An index with its top bit set is a backslash.
///
/// ```text
/// text         a  "  b  \n c
/// mask         0  1  0  1  0
/// indices      0  \  1  2  \  3  4
/// ```
#[allow(clippy::cast_possible_truncation, reason = "below eight")]
static SPREAD: [[u8; 16]; 256] = {
    let mut table = [[0x80; 16]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut byte, mut to) = (0, 0);
        while byte < 8 {
            to += mask >> byte & 1;
            table[mask][to] = byte as u8;
            (byte, to) = (byte + 1, to + 1);
        }
        mask += 1;
    }
    table
};

/// The letters of control characters, or 0 for those that have none. From 0x10 on there are none.
static LETTERS: [u8; 16] = {
    let mut letters = [0; 16];
    let mut byte = 0;
    while byte < letters.len() {
        let [_, letter, .., added] = ESCAPES[byte].to_le_bytes();
        letters[byte] = if added == 1 { letter } else { 0 };
        byte += 1;
    }
    letters
};

/// [`Kernel::escaped`] for a block, eight bytes at a time, whether they need an escape or not: a branch on that would be
/// mispredicted in most texts. One escape at a time took 2.5 times as long with an escape in ten bytes.
///
/// # Safety
///
/// The CPU must have the features of [`Avx2`]. For the rest see [`Kernel::escaped`].
#[inline(always)]
unsafe fn spread_block(cpu: Avx2, text: &[u8], block: &[u8; BLOCK], special: u64, room: &mut [Blank]) -> usize {
    debug_assert!(room.len() >= room_for(BLOCK, special.count_ones()));
    // SAFETY: the caller vouches for the features and for the room. Each of the eight steps starts after eight bytes for
    // each step before it and a byte for each of their escapes, and writes 16 bytes.
    unsafe {
        let start = block.as_ptr().cast::<__m256i>();
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(LETTERS.as_ptr().cast()));
        let (low, high) = (_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1)));
        // A sum of 0x80 or more, which is capped, has no letter.
        let offset = _mm256_set1_epi8(0x70);
        let low = _mm256_max_epu8(low, _mm256_shuffle_epi8(table, _mm256_adds_epu8(low, offset)));
        let high = _mm256_max_epu8(high, _mm256_shuffle_epi8(table, _mm256_adds_epu8(high, offset)));
        let without_letter = _mm256_subs_epu8(_mm256_set1_epi8(0x20), _mm256_min_epu8(low, high));
        if _mm256_testz_si256(without_letter, without_letter) == 0 {
            return escape_each_again(cpu, text, BLOCK, special, room);
        }
        let mut to = room.as_mut_ptr();
        let quarters = [
            _mm256_castsi256_si128(low),
            _mm256_extracti128_si256::<1>(low),
            _mm256_castsi256_si128(high),
            _mm256_extracti128_si256::<1>(high),
        ];
        for (letters, [first, second]) in quarters.into_iter().zip(special.to_le_bytes().as_chunks().0) {
            to = put_spread(letters, *first, to);
            to = put_spread(_mm_unpackhi_epi64(letters, letters), *second, to);
        }
        to.addr() - room.as_ptr().addr()
    }
}

/// [`Kernel::escaped`] for less than a block.
///
/// # Safety
///
/// See [`spread_block`].
#[inline(always)]
unsafe fn spread_tail(cpu: Avx2, tail: &[u8], special: u64, room: &mut [Blank]) -> usize {
    debug_assert!(tail.len() < BLOCK && room.len() >= room_for(tail.len(), special.count_ones()));
    let Some(last) = tail.last_chunk::<8>() else {
        // SAFETY: the caller vouches for the same.
        return unsafe { escape_each::<32>(cpu, tail, tail.len(), special, room) };
    };
    let (words, rest) = tail.as_chunks::<8>();
    // The bytes after the last whole word, followed by spaces.
    let unused = 8 * (8 - rest.len());
    let rest = if rest.is_empty() { None } else { Some(u64::from_le_bytes(*last) >> unused | SPACES << (64 - unused)) };
    // SAFETY: as in `spread_block`; the last step starts within the text.
    unsafe {
        let table = _mm_loadu_si128(LETTERS.as_ptr().cast());
        let mut without_letter = _mm_setzero_si128();
        let mut to = room.as_mut_ptr();
        let words = words.iter().map(|word| u64::from_le_bytes(*word)).chain(rest);
        for (word, special) in words.zip(special.to_le_bytes()) {
            let word = _mm_cvtsi64_si128(word.cast_signed());
            let letters = _mm_max_epu8(word, _mm_shuffle_epi8(table, _mm_adds_epu8(word, _mm_set1_epi8(0x70))));
            without_letter = _mm_or_si128(without_letter, _mm_subs_epu8(_mm_set1_epi8(0x20), letters));
            to = put_spread(letters, special, to);
        }
        // The upper half of the vectors is zero.
        if _mm_cvtsi128_si64(without_letter) != 0 {
            return escape_each_again(cpu, tail, tail.len(), special, room);
        }
        tail.len() + special.count_ones() as usize
    }
}

const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);

/// Writes the first eight of `letters`, those in `special` after a backslash, and then arbitrary bytes: 16 in all.
/// Returns where the next ones go.
///
/// # Safety
///
/// The CPU must have the features of [`Avx2`], and `to` room for 16 bytes.
#[inline(always)]
unsafe fn put_spread(letters: __m128i, special: u8, to: *mut Blank) -> *mut Blank {
    // SAFETY: the caller vouches for all of it.
    unsafe {
        let indices = _mm_loadu_si128(SPREAD[usize::from(special)].as_ptr().cast());
        let spread = _mm_blendv_epi8(_mm_shuffle_epi8(letters, indices), _mm_set1_epi8(0x5c), indices);
        _mm_storeu_si128(to.cast(), spread);
        to.add(8 + special.count_ones() as usize)
    }
}

/// [`Kernel::escaped`] for texts with escapes of the form `\u001f`, after something else has been written to the room.
///
/// # Safety
///
/// See [`spread_block`].
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn escape_each_again(cpu: Avx2, text: &[u8], len: usize, special: u64, room: &mut [Blank]) -> usize {
    if let Some(copy) = room.first_chunk_mut() {
        match text.first_chunk() {
            Some(block) if len == BLOCK => cpu.block(block, copy),
            _ => cpu.tail(&text[..len], copy),
        };
    }
    // SAFETY: the text has been copied, and the caller vouches for the rest.
    unsafe { escape_each::<32>(cpu, text, len, special, room) }
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

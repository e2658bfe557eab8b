//! AVX2: two vectors of 32 bytes per block, overlapping vectors for shorter texts, and a masked one for up to 32 bytes.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{BLOCK, ESCAPES, Escaper, Kernel, UninitByte, copy, escape_each, long, room_for, short};

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
fn short_text(text: &[u8], room: &mut [UninitByte]) -> (usize, usize) {
    short(Avx2(()), text, room)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn long_text(text: &[u8], room: &mut [UninitByte]) -> (usize, usize) {
    long(Avx2(()), text, room)
}

/// Proof of AVX2 and the bit-manipulation instructions. Only functions that are compiled for these create a value.
#[derive(Clone, Copy)]
struct Avx2(());

// SAFETY: `block` stores two vectors if it returns 0, `tail` stores one or two that together cover the text, and
// neither `escape_one` nor `spread` leaves a gap.
unsafe impl Kernel for Avx2 {
    #[inline(always)]
    fn block(self, block: &[u8; BLOCK], room: &mut [UninitByte; BLOCK]) -> u64 {
        let (from, to) = (block.as_ptr(), room.as_mut_ptr());
        // SAFETY: `self` exists, so the CPU has AVX2; block and room are two vectors long.
        unsafe {
            let (low, high) = (_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(32).cast()));
            let special = mask(special(low)) | mask(special(high)) << 32;
            if special == 0 {
                _mm256_storeu_si256(to.cast(), low);
                _mm256_storeu_si256(to.add(32).cast(), high);
            }
            special
        }
    }

    /// Initializes at least 32 bytes, which [`spread`] relies on.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "less than a block")]
    fn tail(self, tail: &[u8], room: &mut [UninitByte; BLOCK]) -> u64 {
        let (len, from, to) = (tail.len(), tail.as_ptr(), room.as_mut_ptr());
        // SAFETY: the CPU has the features, and the vectors lie within the text and the room.
        unsafe {
            if len > 32 {
                // The two vectors overlap.
                let (low, high) = (_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(len - 32).cast()));
                _mm256_storeu_si256(to.cast(), low);
                _mm256_storeu_si256(to.add(len - 32).cast(), high);
                mask(special(low)) | mask(special(high)) << (len - 32)
            } else {
                let text = padded(tail);
                _mm256_storeu_si256(to.cast(), text);
                _bzhi_u64(mask(special(text)), len as u32)
            }
        }
    }

    #[inline(always)]
    unsafe fn escaped(self, text: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
        // SAFETY: `self` exists, so the CPU has the features; and the caller guarantees the rest.
        unsafe {
            // Texts with few escapes mostly have one in a block, for which there is a faster function.
            match text.as_chunks().0.first_chunk() {
                Some(blocks) if special.is_power_of_two() => escape_one(blocks, special, room),
                _ => spread(self, text, BLOCK, special, room),
            }
        }
    }

    #[inline(always)]
    unsafe fn escaped_tail(self, tail: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn escaped(cpu: Avx2, tail: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
            // SAFETY: the caller guarantees the same conditions.
            unsafe { spread(cpu, tail, tail.len(), special, room) }
        }
        // SAFETY: `self` exists, so the CPU has the features; and the caller guarantees the rest.
        unsafe { escaped(self, tail, special, room) }
    }
}

// The helpers act like macros: `#[inline(always)]` inlines them into a function that has the features.

/// Sets the highest bit of each byte that needs an escape, and clears that of all other bytes.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn special(v: __m256i) -> __m256i {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        // Flipping bit 1 moves the quote right above the control characters. Subtracting any of these from 0xa0 leaves
        // at least 0x80, which has the highest bit set; all other bytes leave at most 0x7f.
        let flipped = _mm256_xor_si256(v, _mm256_set1_epi8(2));
        let quote_or_control = _mm256_subs_epu8(_mm256_set1_epi8(0xa0_u8.cast_signed()), flipped);
        _mm256_or_si256(quote_or_control, _mm256_cmpeq_epi8(v, _mm256_set1_epi8(0x5c)))
    }
}

/// Loads `text`, up to 32 bytes, followed by arbitrary bytes. As far as possible, avoids branches on the length, which is
/// hard to predict.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn padded(text: &[u8]) -> __m256i {
    debug_assert!(text.len() <= 32);
    let Some(last) = text.last_chunk::<4>() else {
        let byte = |at: usize| text.get(at).map_or(0, |&byte| i32::from(byte) << (8 * at));
        // SAFETY: the caller guarantees AVX2.
        return unsafe { _mm256_zextsi128_si256(_mm_cvtsi32_si128(byte(0) | byte(1) | byte(2))) };
    };
    // Load the complete lanes of four bytes. The remaining bytes go to all other lanes.
    let rest = i32::from_le_bytes(*last).cast_unsigned() >> (8 * (text.len().wrapping_neg() % 4));
    // SAFETY: the caller guarantees AVX2; only complete lanes of the text are read.
    unsafe {
        let whole = before(text.len() & !3);
        let lanes = _mm256_maskload_epi32(text.as_ptr().cast(), whole);
        _mm256_or_si256(lanes, _mm256_andnot_si256(whole, _mm256_set1_epi32(rest.cast_signed())))
    }
}

/// Sets all bits of the first `len` bytes, at most 32.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn before(len: usize) -> __m256i {
    static BYTES: [[u8; 32]; 2] = [[0xff; 32], [0; 32]];
    // SAFETY: the caller guarantees AVX2; the vector starts in the first row.
    unsafe { _mm256_loadu_si256(BYTES.as_ptr().cast::<u8>().add(32 - len.min(32)).cast()) }
}

/// The shuffle indices that spread eight bytes, for each mask of bytes that need an escape. Index 8 is a backslash.
///
/// ```text
/// text         a  "  b  \n c
/// mask         0  1  0  1  0
/// indices      0  \  1  2  \  3  4
/// ```
#[allow(clippy::cast_possible_truncation, reason = "below eight")]
static SPREAD: Aligned<[[u8; 16]; 256]> = {
    let mut table = [[8; 16]; 256];
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
    Aligned(table)
};

/// Aligned to a cache line.
#[repr(align(64))]
struct Aligned<T>(T);

/// The escape letters of the first 16 control characters, or 0 for those that have none. The rest have none.
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

/// [`Kernel::escaped`] for a block with a single escape, if another block follows it. Always copies the 64 bytes after
/// the escape again, so that no branch depends on the position of the escape.
///
/// # Safety
///
/// See [`Kernel::escaped`].
#[inline(always)]
unsafe fn escape_one(blocks: &[[u8; BLOCK]; 2], special: u64, room: &mut [UninitByte]) -> usize {
    debug_assert!(special.is_power_of_two() && room.len() >= room_for(BLOCK, 1));
    let at = special.trailing_zeros() as usize % BLOCK;
    let escape = ESCAPES[usize::from(blocks[0][at])];
    let added = (escape >> 56) as usize;
    let (from, to) = (blocks.as_ptr().cast::<UninitByte>(), room.as_mut_ptr());
    // SAFETY: the 64 bytes after `at` lie within the two blocks. An escape adds at most five bytes, so they end within
    // two blocks and five bytes of the room, which the caller guarantees.
    unsafe {
        copy::<32>(from, to);
        copy::<32>(from.add(32), to.add(32));
        to.add(at).cast::<[u8; 8]>().write_unaligned(escape.to_le_bytes());
        copy::<32>(from.add(at + 1), to.add(at + added + 1));
        copy::<32>(from.add(at + 33), to.add(at + added + 33));
    }
    BLOCK + added
}

/// [`Kernel::escaped`] for 64 bytes or fewer, eight at a time. Treats all bytes alike, because a branch on whether they
/// need an escape would be mispredicted in most texts. With an escape in every ten bytes, handling one escape at a time
/// took 2.5 times as long.
///
/// # Safety
///
/// The CPU must have the features of [`Avx2`]. For the rest see [`Kernel::escaped`] for 64 bytes, and
/// [`Kernel::escaped_tail`] for fewer.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "32 at most")]
unsafe fn spread(cpu: Avx2, text: &[u8], len: usize, special: u64, room: &mut [UninitByte]) -> usize {
    debug_assert!(len <= text.len() && room.len() >= room_for(len, special.count_ones()));
    let (from, to) = (text.as_ptr(), room.as_mut_ptr());
    // The two halves overlap, unless there are 64 bytes.
    let rest = len.saturating_sub(32);
    // SAFETY: the caller guarantees the features and the room, of which `tail` has initialized 32 bytes. The first half
    // goes to the start of the room. The second half goes after `rest` bytes and a byte for each escape among these.
    // Each half takes 32 bytes, a byte for each of its escapes, and eight bytes.
    unsafe {
        let spaces = _mm256_set1_epi8(0x20);
        let (first, second) = if len > 32 {
            (_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(rest).cast()))
        } else {
            // Bytes after the text may look like control characters.
            (_mm256_blendv_epi8(spaces, _mm256_loadu_si256(to.cast()), before(len)), spaces)
        };
        let (first, second) = (with_letters(first), with_letters(second));
        // The remaining control characters have no letter. As in `special`, only these set the highest bit of a byte.
        let without_letter = _mm256_subs_epu8(_mm256_set1_epi8(0x9f_u8.cast_signed()), _mm256_min_epu8(first, second));
        if mask(without_letter) != 0 {
            return escape_rarer(cpu, text, len, special, room);
        }
        put_spread(first, special, to);
        if len > 32 {
            let before = _bzhi_u64(special, rest as u32).count_ones() as usize;
            put_spread(second, special >> rest, to.add(rest + before));
        }
    }
    len + special.count_ones() as usize
}

/// `text` with letters in place of control characters that have one.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn with_letters(text: __m256i) -> __m256i {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(LETTERS.as_ptr().cast()));
        // The addition saturates. A sum of 0x80 or more has no letter.
        let letters = _mm256_shuffle_epi8(table, _mm256_adds_epu8(text, _mm256_set1_epi8(0x70)));
        _mm256_max_epu8(text, letters)
    }
}

/// Writes `letters`, with a backslash before each one in `special`, followed by up to eight arbitrary bytes.
///
/// # Safety
///
/// The CPU must have the features of [`Avx2`], and `to` room for 40 bytes and one for each bit in the lower half of
/// `special`.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "one byte of the mask at a time")]
unsafe fn put_spread(letters: __m256i, special: u64, to: *mut UninitByte) {
    // SAFETY: the caller guarantees the features and the room.
    unsafe {
        let backslashes = _mm256_set1_epi8(0x5c);
        let (even, odd) = (_mm256_unpacklo_epi64(letters, backslashes), _mm256_unpackhi_epi64(letters, backslashes));
        let words = [
            _mm256_castsi256_si128(even),
            _mm256_castsi256_si128(odd),
            _mm256_extracti128_si256::<1>(even),
            _mm256_extracti128_si256::<1>(odd),
        ];
        for (nth, word) in words.into_iter().enumerate() {
            let before = (special & !(u64::MAX << (8 * nth))).count_ones() as usize;
            let indices = &SPREAD.0[usize::from((special >> (8 * nth)) as u8)];
            let indices = _mm_loadu_si128(indices.as_ptr().cast());
            _mm_storeu_si128(to.add(8 * nth + before).cast(), _mm_shuffle_epi8(word, indices));
        }
    }
}

/// [`spread`] for texts with escapes of the form `\u001f`.
///
/// # Safety
///
/// See [`spread`].
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn escape_rarer(cpu: Avx2, text: &[u8], len: usize, special: u64, room: &mut [UninitByte]) -> usize {
    // SAFETY: the caller guarantees the same conditions.
    unsafe { escape_each::<32>(cpu, text, len, special, room) }
}

/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn mask(special: __m256i) -> u64 {
    // SAFETY: the caller guarantees AVX2.
    unsafe { u64::from(_mm256_movemask_epi8(special).cast_unsigned()) }
}

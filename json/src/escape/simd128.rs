//! WebAssembly's vectors: four of 16 bytes per block, and overlapping vectors for shorter texts.
#![allow(unsafe_code)]

use std::arch::wasm32::*;

use super::{BLOCK, Escaper, Kernel, UninitByte, escape_each, long, portable, short, written};

/// A program either requires `simd128` or doesn't have it, so there is nothing to detect.
pub(super) static ESCAPER: Escaper = Escaper {
    name: "simd128",
    short: |text, room| short(Simd128, text, room),
    long: |text, room| long(Simd128, text, room),
};

/// Any engine that loads the program.
#[derive(Clone, Copy)]
struct Simd128;

// SAFETY: `block` stores a block if it returns 0, and `tail` vectors that together cover the text; `escape_each` leaves
// no gap.
unsafe impl Kernel for Simd128 {
    #[inline(always)]
    fn block(self, block: &[u8; BLOCK], room: &mut [UninitByte; BLOCK]) -> u64 {
        let mask =
            block.as_chunks().0.iter().enumerate().fold(0, |mask, (nth, bytes)| mask | special(bytes) << (16 * nth));
        if mask == 0 {
            *room = *written(block);
        }
        mask
    }

    #[inline(always)]
    fn tail(self, tail: &[u8], room: &mut [UninitByte; BLOCK]) -> u64 {
        let start = tail.len().saturating_sub(16);
        let (Some(last), Some(copy)) = (tail.last_chunk(), room[start..].first_chunk_mut()) else {
            return portable::up_to_16(tail, room);
        };
        // The last vector overlaps the one before.
        *copy = *written(last);
        let mut mask = special(last) << start;
        for (nth, (bytes, room)) in tail.as_chunks().0.iter().zip(room.as_chunks_mut().0).enumerate() {
            *room = *written(bytes);
            mask |= special(bytes) << (16 * nth);
        }
        mask
    }

    #[inline(always)]
    unsafe fn escaped(self, text: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { escape_each::<16>(self, text, BLOCK, special, room) }
    }

    #[inline(never)]
    unsafe fn escaped_tail(self, tail: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { escape_each::<16>(self, tail, tail.len(), special, room) }
    }
}

/// The mask of 16 bytes.
#[inline(always)]
fn special(bytes: &[u8; 16]) -> u64 {
    let [low, high] = *bytes.as_chunks().0 else { return 0 };
    let v = u64x2(u64::from_le_bytes(low), u64::from_le_bytes(high));
    let backslash = u8x16_eq(v, u8x16_splat(b'\\'));
    // Flipping bit 1 moves the quote right above the control characters.
    let quote_or_control = u8x16_le(v128_xor(v, u8x16_splat(2)), u8x16_splat(0x20));
    u64::from(u8x16_bitmask(v128_or(backslash, quote_or_control)))
}

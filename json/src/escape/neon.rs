//! NEON: four vectors of 16 bytes per block, and overlapping vectors for shorter texts.
#![allow(unsafe_code)]

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

use super::{BLOCK, Escaper, Kernel, UninitByte, escape_each, long, portable, short, written};

pub(super) fn detect() -> Option<&'static Escaper> {
    static ESCAPER: Escaper = Escaper { name: "NEON", short: short_text, long: long_text };
    is_aarch64_feature_detected!("neon").then_some(&ESCAPER)
}

#[target_feature(enable = "neon")]
fn short_text(text: &[u8], room: &mut [UninitByte]) -> (usize, usize) {
    short(Neon(()), text, room)
}

#[target_feature(enable = "neon")]
fn long_text(text: &[u8], room: &mut [UninitByte]) -> (usize, usize) {
    long(Neon(()), text, room)
}

/// Proof of NEON. Only functions that are compiled for NEON create a value.
#[derive(Clone, Copy)]
struct Neon(());

// SAFETY: `block` stores four vectors if it returns 0, `tail` stores vectors that together cover the text, and
// `escape_each` leaves no gap.
unsafe impl Kernel for Neon {
    #[inline(always)]
    fn block(self, block: &[u8; BLOCK], room: &mut [UninitByte; BLOCK]) -> u64 {
        // SAFETY: `self` exists, so the CPU has NEON; the block is four vectors long.
        let mask = unsafe {
            let special = |at| special(vld1q_u8(block.as_ptr().add(at)));
            join([special(0), special(16), special(32), special(48)])
        };
        if mask == 0 {
            *room = *written(block);
        }
        mask
    }

    #[inline(always)]
    fn tail(self, tail: &[u8], room: &mut [UninitByte; BLOCK]) -> u64 {
        let (len, from, to) = (tail.len(), tail.as_ptr(), room.as_mut_ptr());
        if len < 16 {
            return portable::up_to_16(tail, room);
        }
        // SAFETY: the CPU has NEON, and each vector lies within the text and therefore also within the room.
        unsafe {
            let none = vdupq_n_u8(0);
            let last = join([copy(from, to, len - 16), none, none, none]) << (len - 16);
            match len {
                ..=32 => join([copy(from, to, 0), none, none, none]) | last,
                ..=48 => join([copy(from, to, 0), copy(from, to, 16), none, none]) | last,
                _ => join([copy(from, to, 0), copy(from, to, 16), copy(from, to, 32), none]) | last,
            }
        }
    }

    #[inline(always)]
    unsafe fn escaped(self, text: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { escape_each::<16>(self, text, BLOCK, special, room) }
    }

    #[inline(always)]
    unsafe fn escaped_tail(self, tail: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
        #[inline(never)]
        #[target_feature(enable = "neon")]
        unsafe fn escaped(cpu: Neon, tail: &[u8], special: u64, room: &mut [UninitByte]) -> usize {
            // SAFETY: the caller guarantees the same conditions.
            unsafe { escape_each::<16>(cpu, tail, tail.len(), special, room) }
        }
        // SAFETY: `self` exists, so the CPU has NEON; and the caller guarantees the rest.
        unsafe { escaped(self, tail, special, room) }
    }
}

// The helpers act like macros: `#[inline(always)]` inlines them into a function that has the feature.

/// Copies the 16 bytes at `at`, and returns their [`special`] vector.
///
/// # Safety
///
/// The CPU must have NEON; `from` and `to` must be valid for 16 bytes at `at`.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut UninitByte, at: usize) -> uint8x16_t {
    // SAFETY: the caller guarantees these conditions.
    unsafe {
        let v = vld1q_u8(from.add(at));
        vst1q_u8(to.add(at).cast(), v);
        special(v)
    }
}

/// Sets all bits of each byte that needs an escape, and clears all other bytes.
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

/// The mask of 64 bytes, each of which must have all its bits set or clear.
///
/// Each byte keeps one bit, at its position in the mask. Pairwise additions combine two bits in a byte, then four, then
/// eight.
///
/// # Safety
///
/// The CPU must have NEON.
#[inline(always)]
unsafe fn join([first, second, third, fourth]: [uint8x16_t; 4]) -> u64 {
    const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: the caller guarantees NEON; the table is 16 bytes and the load needs no alignment.
    unsafe {
        let any = vorrq_u8(vorrq_u8(first, second), vorrq_u8(third, fourth));
        if vmaxvq_u32(vreinterpretq_u32_u8(any)) == 0 {
            return 0;
        }
        let bits = vld1q_u8(BITS.as_ptr());
        let twos = vpaddq_u8(vandq_u8(first, bits), vandq_u8(second, bits));
        let fours = vpaddq_u8(twos, vpaddq_u8(vandq_u8(third, bits), vandq_u8(fourth, bits)));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)))
    }
}

//! Portable: eight bytes at a time in a `u64`, which compilers turn into the vectors of the target.
#![allow(unsafe_code)]

use super::{BLOCK, Escaper, Kernel, UninitByte, escape_each, long, short, written};

pub(super) static ESCAPER: Escaper = Escaper {
    name: "portable",
    short: |text, room| short(Portable, text, room),
    long: |text, room| long(Portable, text, room),
};

/// Any CPU.
#[derive(Clone, Copy)]
struct Portable;

// SAFETY: `block` stores a block if it returns 0, and `tail` words that together cover the text; `escape_each` leaves
// no gap.
unsafe impl Kernel for Portable {
    #[inline(always)]
    fn block(self, block: &[u8; BLOCK], room: &mut [UninitByte; BLOCK]) -> u64 {
        let words = block.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word));
        // Most blocks have no special bytes, and checking that is cheaper than computing the mask.
        if words.clone().fold(0, |any, word| any | flags(word)) == 0 {
            *room = *written(block);
            return 0;
        }
        words.enumerate().fold(0, |mask, (nth, word)| mask | special(word) << (8 * nth))
    }

    #[inline(always)]
    fn tail(self, tail: &[u8], room: &mut [UninitByte; BLOCK]) -> u64 {
        if tail.len() <= 16 {
            return up_to_16(tail, room);
        }
        let mut mask = 0;
        for (nth, (word, room)) in tail.as_chunks::<8>().0.iter().zip(room.as_chunks_mut::<8>().0).enumerate() {
            *room = *written(word);
            mask |= special(u64::from_le_bytes(*word)) << (8 * nth);
        }
        // The last word overlaps the one before.
        mask | last_word(tail, room)
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

/// [`Kernel::tail`] of up to 16 bytes.
#[inline(always)]
pub(super) fn up_to_16(tail: &[u8], room: &mut [UninitByte; BLOCK]) -> u64 {
    let (Some(first), Some(copy)) = (tail.first_chunk::<8>(), room.first_chunk_mut()) else {
        return up_to_7(tail, room);
    };
    *copy = *written(first);
    special(u64::from_le_bytes(*first)) | last_word(tail, room)
}

/// Copies the last eight bytes of `tail`, and returns their part of the mask.
#[inline(always)]
fn last_word(tail: &[u8], room: &mut [UninitByte; BLOCK]) -> u64 {
    let start = tail.len().saturating_sub(8);
    match (tail.last_chunk(), room[start..].first_chunk_mut()) {
        (Some(last), Some(copy)) => {
            *copy = *written(last);
            special(u64::from_le_bytes(*last)) << start
        }
        _ => unreachable!("the tail is at least a word and less than a block"),
    }
}

/// [`Kernel::tail`] of fewer than eight bytes.
#[inline(always)]
pub(super) fn up_to_7(tail: &[u8], room: &mut [UninitByte; BLOCK]) -> u64 {
    let len = tail.len();
    // The two halves may overlap, where they contain the same bytes.
    let word = match (tail.first_chunk::<4>(), tail.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (len - 4))
        }
        _ if tail.is_empty() => 0,
        _ => {
            let byte = |at: usize| u64::from(tail[at]) << (8 * at);
            byte(0) | byte(len / 2) | byte(len - 1)
        }
    };
    if let Some(room) = room.first_chunk_mut() {
        *room = *written(&word.to_le_bytes());
    }
    special(word) & !(u64::MAX << len)
}

/// The mask of eight bytes.
#[inline(always)]
fn special(word: u64) -> u64 {
    let flags = flags(word);
    // Gather the bits: first two, then four, then all eight side by side.
    let pairs = (flags >> 7) | (flags >> 14);
    let fours = pairs | pairs >> 14;
    (fours | fours >> 28) & 0xff
}

/// Sets the top bit of each byte that needs an escape.
#[inline(always)]
fn flags(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOP: u64 = ONES << 7;
    let low = word & !TOP;
    // Flipping bit 1 moves the quote right above the control characters. The sums don't carry into the next byte, and
    // set the top bit of each byte that isn't special.
    let no_quote_or_control = (low ^ (2 * ONES)) + 0x5f * ONES;
    let no_backslash = (low ^ (0x5c * ONES)) + 0x7f * ONES;
    TOP & !(word | no_quote_or_control & no_backslash)
}

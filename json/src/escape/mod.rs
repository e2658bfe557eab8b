//! Escapes text for JSON strings while copying it into a buffer.
//!
//! Only quotes, backslashes and control characters need an escape. An `Escaper` searches for them in blocks of 64
//! bytes, and copies a whole block if there are none. An [`OutputCursor`] writes the output to the spare capacity of a
//! buffer.
//!
//! ```text
//! text      say "hi"      64 bytes at a time, then the rest
//! special   00001001      the mask of bytes that need an escape: bit i is byte i
//! room      say \"hi\"
//! ```
//!
//! The CPU-specific files compute the mask of special bytes of a block. The rest of the logic is shared, here.
#![allow(unsafe_code)]

mod output_cursor;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod portable;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;

#[cfg(test)]
mod tests;

use std::fmt;
use std::mem::MaybeUninit;

use crate::scan::Cpu;

pub use output_cursor::{Full, OutputCursor, append_spliced};

/// Bytes per block, one for each bit of a mask.
const BLOCK: usize = 64;

/// A byte of the output that may be uninitialized.
type UninitByte = MaybeUninit<u8>;

/// An implementation that this CPU supports.
pub(crate) struct Escaper {
    name: &'static str,
    short: Escape,
    long: Escape,
}

/// Escapes `text` into `room`. Returns how many bytes of the text it consumed and how many of the room it filled.
///
/// It stops early, at the start of a block, if there is less room left than [`room_for`] requires for that block. The
/// bytes that it reports as filled are initialized.
///
/// # Safety
///
/// The CPU must have the features that the function is compiled for.
type Escape = unsafe fn(text: &[u8], room: &mut [UninitByte]) -> (usize, usize);

impl Escaper {
    /// The implementation for `cpu`, if it runs here.
    pub(crate) fn new(cpu: Cpu) -> Option<&'static Self> {
        match cpu {
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512 => avx512::detect(),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2 => avx2::detect(),
            #[cfg(not(target_arch = "x86_64"))]
            Cpu::Avx512 | Cpu::Avx2 => None,
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Cpu::Neon => neon::detect(),
            #[cfg(not(all(target_arch = "aarch64", target_endian = "little")))]
            Cpu::Neon => None,
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Cpu::Simd128 => Some(&simd128::ESCAPER),
            #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
            Cpu::Simd128 => None,
            Cpu::Portable => Some(Self::PORTABLE),
        }
    }

    pub(crate) const PORTABLE: &'static Self = &portable::ESCAPER;

    /// See [`Escape`].
    #[inline(always)]
    fn escape(&self, text: &[u8], room: &mut [UninitByte]) -> (usize, usize) {
        let escape = if text.len() < BLOCK { self.short } else { self.long };
        // SAFETY: all escapers come from `available`, which has detected the CPU features that they need.
        unsafe { escape(text, room) }
    }
}

impl fmt::Debug for Escaper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The room required to escape `len` bytes of text, at most a block, of which `escapes` need an escape.
///
/// The longest escapes, such as `\u001f`, turn one byte into six. In addition, implementations write whole vectors and
/// may overshoot by up to 64 bytes. If no byte needs an escape, [`BLOCK`] bytes are enough.
#[inline(always)]
const fn room_for(len: usize, escapes: u32) -> usize {
    len + 5 * escapes as usize + BLOCK
}

/// [`room_for`] the first block of `text`, plus one byte for each byte after it. With this much room, an [`Escape`]
/// always makes progress.
fn room_for_some(text: &[u8]) -> usize {
    let head = &text[..text.len().min(BLOCK)];
    let escapes: u32 = head.iter().map(|&byte| u32::from(is_special(byte))).sum();
    room_for(text.len(), escapes)
}

/// Whether `byte` needs an escape.
#[inline(always)]
const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Copies and escapes up to 64 bytes with the instructions of one CPU.
///
/// A value of an implementing type is proof that the CPU has these instructions. In a mask, bit `i` is set if byte `i`
/// [`is_special`].
///
/// # Safety
///
/// Callers rely on the room being initialized: all of it by `block` if that returns 0, the first `tail.len()` bytes by
/// `tail`, and as many bytes as they return by `escaped` and `escaped_tail`.
unsafe trait Kernel: Copy {
    /// Returns the mask of a block, and copies the block if no byte needs an escape. Otherwise, the copy would be
    /// wasted, and stores are the bottleneck in that case.
    fn block(self, block: &[u8; BLOCK], room: &mut [UninitByte; BLOCK]) -> u64;

    /// Copies a text that is shorter than a block, and returns its mask.
    fn tail(self, tail: &[u8], room: &mut [UninitByte; BLOCK]) -> u64;

    /// Writes the first block of `text`, and escapes the bytes in `special`. Returns how many bytes it has written.
    ///
    /// # Safety
    ///
    /// `text` must contain a whole block, `special` must be its mask, and there must be [`room_for`] it.
    unsafe fn escaped(self, text: &[u8], special: u64, room: &mut [UninitByte]) -> usize;

    /// [`escaped`](Self::escaped) for a text that is shorter than a block. Not inlined, to keep the function for short
    /// texts small, since most need no escapes.
    ///
    /// # Safety
    ///
    /// [`tail`](Self::tail) must have copied the text to the start of the room, `special` must be its mask, and there
    /// must be [`room_for`] it.
    unsafe fn escaped_tail(self, tail: &[u8], special: u64, room: &mut [UninitByte]) -> usize;
}

/// [`Escape`] for texts shorter than a block.
#[inline(always)]
fn short(kernel: impl Kernel, text: &[u8], room: &mut [UninitByte]) -> (usize, usize) {
    let Some(copy) = room.first_chunk_mut() else { return (0, 0) };
    let special = kernel.tail(text, copy);
    if special == 0 {
        (text.len(), text.len())
    } else if room.len() >= room_for(text.len(), special.count_ones()) {
        // SAFETY: `tail` has copied the text, and the condition has checked the room.
        (text.len(), unsafe { kernel.escaped_tail(text, special, room) })
    } else {
        (0, 0)
    }
}

/// [`Escape`] for texts of any length.
#[inline(always)]
fn long(kernel: impl Kernel, text: &[u8], room: &mut [UninitByte]) -> (usize, usize) {
    let size = room.len();
    let (mut text_left, mut room_left) = (text, room);
    while let (Some(block), Some(copy)) = (text_left.first_chunk(), room_left.first_chunk_mut()) {
        let special = kernel.block(block, copy);
        if special == 0 {
            room_left = &mut room_left[BLOCK..];
        } else if room_left.len() >= room_for(BLOCK, special.count_ones()) {
            // SAFETY: there is a block, this is its mask, and the condition has checked the room.
            let taken = unsafe { kernel.escaped(text_left, special, room_left) };
            room_left = &mut room_left[taken..];
        } else {
            break;
        }
        text_left = &text_left[BLOCK..];
    }
    let (consumed, taken) = if text_left.len() < BLOCK { short(kernel, text_left, room_left) } else { (0, 0) };
    (text.len() - text_left.len() + consumed, size - room_left.len() + taken)
}

/// The output for each byte, with the first character in the lowest byte. The highest byte is the number of characters
/// that escaping adds.
static ESCAPES: [u64; 256] = {
    let mut escapes = [0; 256];
    let mut byte = 0;
    loop {
        escapes[byte as usize] = escape(byte);
        if byte == u8::MAX {
            break escapes;
        }
        byte += 1;
    }
};

const fn escape(byte: u8) -> u64 {
    let hex = b"0123456789abcdef";
    let letter = match byte {
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        b'"' | b'\\' => byte,
        ..0x20 => {
            let (high, low) = (hex[byte as usize >> 4], hex[byte as usize & 15]);
            return u64::from_le_bytes([b'\\', b'u', b'0', b'0', high, low, 0, 5]);
        }
        _ => return byte as u64,
    };
    u64::from_le_bytes([b'\\', letter, 0, 0, 0, 0, 0, 1])
}

/// [`Kernel::escaped`] for the first `len` bytes of `text`, at most a block, one escape at a time, with vectors of `V`
/// bytes.
///
/// ```text
/// room      say "hi"      V bytes of the text are copied
/// room      say \"i"      each escape overwrites some of them
/// room      say \"hi"     and the V bytes after it are copied again, to their new position
/// ```
///
/// # Safety
///
/// `special` must be the mask of the text, and there must be [`room_for`] it.
#[inline(always)]
unsafe fn escape_each<const V: usize>(
    kernel: impl Kernel,
    text: &[u8],
    len: usize,
    special: u64,
    room: &mut [UninitByte],
) -> usize {
    const { assert!(V < BLOCK && BLOCK.is_multiple_of(V)) };
    debug_assert!(len <= BLOCK && len <= text.len() && room.len() >= room_for(len, special.count_ones()));
    // Copies may read up to `V` bytes past `len`. At the end of the text, they read from a padded copy of it.
    let mut padded = [[UninitByte::uninit(); BLOCK]; 2];
    let mut from = text.as_ptr().cast::<UninitByte>();
    if text.len() < len + V {
        match text.first_chunk() {
            Some(block) if len == BLOCK => padded[0] = *written(block),
            _ => {
                kernel.tail(&text[..len], &mut padded[0]);
            }
        }
        from = padded.as_ptr().cast();
    }
    let mut to = room.as_mut_ptr();
    // SAFETY: `from` is valid for reads of `V` bytes past the `len` bytes of text, which are initialized. Each escape
    // advances `to` by at most five bytes. So each copy starts within the text's length plus five bytes for each
    // escape, and ends less than a block after that.
    unsafe {
        for start in (0..len).step_by(V) {
            let from = from.add(start);
            copy::<V>(from, to);
            let mut special = special >> start & (u64::MAX >> (64 - V));
            while special != 0 {
                let at = special.trailing_zeros() as usize;
                let escape = ESCAPES[usize::from(from.add(at).read().assume_init())];
                to.add(at).cast::<[u8; 8]>().write_unaligned(escape.to_le_bytes());
                to = to.add((escape >> 56) as usize);
                copy::<V>(from.add(at + 1), to.add(at + 1));
                special &= special - 1;
            }
            to = to.add(V.min(len - start));
        }
    }
    to.addr() - room.as_ptr().addr()
}

/// Copies `N` bytes at once.
///
/// # Safety
///
/// `from` must be valid for reads of `N` bytes, and `to` for writes of `N` bytes.
#[inline(always)]
unsafe fn copy<const N: usize>(from: *const UninitByte, to: *mut UninitByte) {
    // SAFETY: the caller guarantees both.
    unsafe { to.cast::<[UninitByte; N]>().write_unaligned(from.cast::<[UninitByte; N]>().read_unaligned()) };
}

/// Casts initialized bytes to the element type of the room.
#[inline(always)]
fn written<const N: usize>(bytes: &[u8; N]) -> &[UninitByte; N] {
    // SAFETY: a `MaybeUninit<u8>` has the layout of a `u8`, and an initialized byte is one of its values.
    unsafe { &*bytes.as_ptr().cast() }
}

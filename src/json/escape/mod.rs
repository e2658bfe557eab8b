//! Text on its way into a JSON string: copied, and escaped where it has to be.
//!
//! Only quotes, backslashes and control characters need an escape. [`Escaper`] looks for them 64 bytes at a time while
//! it copies, and [`Cursor`] is where the result goes: the spare room of a buffer.
//!
//! ```text
//! text      say "hi"      64 bytes at a time, then what is left
//! special   00001001      what needs an escape: bit i speaks of byte i
//! room      say \"hi\"
//! ```
//!
//! Each CPU file copies a block and returns its mask. What follows from a mask is decided once, here.
#![allow(unsafe_code)]

mod cursor;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod portable;

#[cfg(test)]
mod tests;

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::LazyLock;

pub(crate) use cursor::{Cursor, Full};

/// Bytes in a block: as many as a mask has bits.
const BLOCK: usize = 64;

/// A byte of room, not yet written.
type Blank = MaybeUninit<u8>;

/// An implementation that runs on this CPU.
pub(crate) struct Escaper {
    name: &'static str,
    short: Escape,
    long: Escape,
}

/// Escapes a text into a room, and returns how much of the text that was and how much room it took.
///
/// It stops before a block, or before what is left after the last block, if there is less room than [`room_for`] asks for.
/// The bytes of the room that it reports as taken are initialized, and they are within the room.
///
/// # Safety
///
/// The CPU must have the features that the function is compiled for.
type Escape = unsafe fn(text: &[u8], room: &mut [Blank]) -> (usize, usize);

impl Escaper {
    /// The fastest one. The CPU is asked once in the life of the process.
    #[inline]
    pub(crate) fn best() -> &'static Self {
        static BEST: LazyLock<&Escaper> = LazyLock::new(|| Escaper::available().next().unwrap_or(&portable::ESCAPER));
        #[cfg(test)]
        if let Some(forced) = FORCED.get() {
            return forced;
        }
        *BEST
    }

    /// All that run here, the fastest first.
    fn available() -> impl Iterator<Item = &'static Self> {
        [
            #[cfg(target_arch = "x86_64")]
            avx512::detect_vbmi2(),
            #[cfg(target_arch = "x86_64")]
            avx512::detect(),
            #[cfg(target_arch = "x86_64")]
            avx2::detect(),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            neon::detect(),
            Some(&portable::ESCAPER),
        ]
        .into_iter()
        .flatten()
    }

    /// Calls `run` once for each implementation that runs here, with [`best`](Self::best) returning that one.
    #[cfg(test)]
    pub(crate) fn with_each(mut run: impl FnMut(&'static Self)) {
        for escaper in Self::available() {
            FORCED.set(Some(escaper));
            run(escaper);
        }
        FORCED.set(None);
    }

    /// See [`Escape`].
    #[inline(always)]
    fn escape(&self, text: &[u8], room: &mut [Blank]) -> (usize, usize) {
        let escape = if text.len() < BLOCK { self.short } else { self.long };
        // SAFETY: an escaper is not to be had but from `available`, which has asked for its features.
        unsafe { escape(text, room) }
    }
}

impl fmt::Debug for Escaper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
thread_local! {
    static FORCED: std::cell::Cell<Option<&'static Escaper>> = const { std::cell::Cell::new(None) };
}

/// The room that `len` bytes of text need if `escapes` of them are escaped: at most a block.
///
/// No escape is longer than `\u001f`, which replaces one byte by six; and whole vectors are written, of which up to 64
/// bytes may turn out not to count. Text without escapes is content with [`BLOCK`] bytes.
#[inline(always)]
const fn room_for(len: usize, escapes: u32) -> usize {
    len + 5 * escapes as usize + BLOCK
}

/// [`room_for`] the beginning of `text`, and one byte for each that comes after it. With this much room, an [`Escape`]
/// consumes something.
fn room_for_some(text: &[u8]) -> usize {
    let head = &text[..text.len().min(BLOCK)];
    let escapes: u32 = head.iter().map(|&byte| u32::from(is_special(byte))).sum();
    room_for(text.len(), escapes)
}

/// Whether `byte` must be escaped.
#[inline(always)]
const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// One CPU's way with up to 64 bytes of text.
///
/// A value of an implementing type is proof that the CPU has the instructions it needs. Masks have a bit for each byte
/// that [`is_special`], the lowest for the first.
///
/// # Safety
///
/// Others rely on the room being initialized: by `block` all of it, by `tail` the first `tail.len()` bytes, and by
/// `escaped` the first bytes, as many as it returns.
unsafe trait Kernel: Copy {
    /// Copies a block, and returns its mask.
    fn block(self, block: &[u8; BLOCK], room: &mut [Blank; BLOCK]) -> u64;

    /// Copies a text that is shorter than a block, and returns its mask.
    fn tail(self, tail: &[u8], room: &mut [Blank; BLOCK]) -> u64;

    /// Writes the first `len` bytes of `text`, a block at most, with those in `special` escaped; returns how many bytes
    /// that makes.
    ///
    /// # Safety
    ///
    /// These bytes must have been copied to the room, `special` must be their mask, and there must be [`room_for`] them.
    unsafe fn escaped(self, text: &[u8], len: usize, special: u64, room: &mut [Blank]) -> usize;

    /// [`escaped`](Self::escaped) for a text that is shorter than a block: a call, to keep the way short for those that need
    /// no escapes.
    ///
    /// # Safety
    ///
    /// As above.
    unsafe fn escaped_tail(self, tail: &[u8], special: u64, room: &mut [Blank]) -> usize;
}

/// [`Escape`] for less than a block, on any CPU.
#[inline(always)]
fn short(kernel: impl Kernel, text: &[u8], room: &mut [Blank]) -> (usize, usize) {
    let Some(copy) = room.first_chunk_mut() else { return (0, 0) };
    let special = kernel.tail(text, copy);
    if special == 0 {
        (text.len(), text.len())
    } else if room.len() >= room_for(text.len(), special.count_ones()) {
        // SAFETY: that was just checked.
        (text.len(), unsafe { kernel.escaped_tail(text, special, room) })
    } else {
        (0, 0)
    }
}

/// [`Escape`] for texts of any length, on any CPU.
#[inline(always)]
fn long(kernel: impl Kernel, text: &[u8], room: &mut [Blank]) -> (usize, usize) {
    let size = room.len();
    let (mut text_left, mut room_left) = (text, room);
    while let (Some(block), Some(copy)) = (text_left.first_chunk(), room_left.first_chunk_mut()) {
        let special = kernel.block(block, copy);
        if special == 0 {
            room_left = &mut room_left[BLOCK..];
        } else if room_left.len() >= room_for(BLOCK, special.count_ones()) {
            // SAFETY: that was just checked.
            let taken = unsafe { kernel.escaped(text_left, BLOCK, special, room_left) };
            room_left = &mut room_left[taken..];
        } else {
            break;
        }
        text_left = &text_left[BLOCK..];
    }
    let (consumed, taken) = if text_left.len() < BLOCK { short(kernel, text_left, room_left) } else { (0, 0) };
    (text.len() - text_left.len() + consumed, size - room_left.len() + taken)
}

/// What a byte becomes: characters in the lower bytes, the first in the lowest; and in the highest byte, by how much longer
/// that is.
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

/// [`Kernel::escaped`] for any CPU: escape by escape, with vectors of `V` bytes.
///
/// ```text
/// text      say "hi"
/// room      say "hi"      it has been copied; for each escape
/// room      say \"i"      the escape is written over that
/// room      say \"hi"     and the V bytes after it are copied again, to their new place
/// ```
///
/// # Safety
///
/// See there.
#[inline(always)]
unsafe fn escape_each<const V: usize>(
    kernel: impl Kernel,
    text: &[u8],
    len: usize,
    special: u64,
    room: &mut [Blank],
) -> usize {
    const { assert!(V < BLOCK && BLOCK.is_multiple_of(V)) };
    debug_assert!(len <= BLOCK && len <= text.len() && room.len() >= room_for(len, special.count_ones()));
    // Up to `V` bytes are read after the last that counts.
    let mut padded = [Blank::uninit(); 2 * BLOCK];
    let mut from = text.as_ptr().cast::<Blank>();
    if text.len() < len + V {
        let (copy, _) = padded.split_first_chunk_mut().unwrap_or_else(|| unreachable!());
        match text.first_chunk() {
            Some(block) if len == BLOCK => kernel.block(block, copy),
            _ => kernel.tail(&text[..len], copy),
        };
        from = padded.as_ptr();
    }
    let mut to = room.as_mut_ptr();
    // SAFETY: `V` bytes after each of the `len` bytes of text can be read, and those that are escaped are initialized. Each
    // escape moves `to` on by five bytes at most, so what is written begins within the text's length and five bytes for
    // each escape, and ends less than a block after that.
    unsafe {
        for start in (0..len).step_by(V) {
            let from = from.add(start);
            if start > 0 {
                copy::<V>(from, to);
            }
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
/// As many must be good for reading and for writing.
#[inline(always)]
unsafe fn copy<const N: usize>(from: *const Blank, to: *mut Blank) {
    // SAFETY: the caller vouches for both.
    unsafe { to.cast::<[Blank; N]>().write_unaligned(from.cast::<[Blank; N]>().read_unaligned()) };
}

/// Bytes as they are in a room, once they are written.
#[inline(always)]
fn written<const N: usize>(bytes: &[u8; N]) -> &[Blank; N] {
    // SAFETY: a `MaybeUninit<u8>` has the layout of a `u8`, and an initialized byte is one of its values.
    unsafe { &*bytes.as_ptr().cast() }
}

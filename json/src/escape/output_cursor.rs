//! An output cursor over the spare capacity of a buffer.
#![allow(unsafe_code)]

use std::ops::Range;
use std::slice;

use bytes::BytesMut;

use super::{BLOCK, Escaper, UninitByte, room_for_some};
use crate::kernel;

/// Writes after the contents of a buffer, up to a limit. [`commit`](Self::commit) makes the output part of the
/// contents; otherwise the buffer stays as it was.
///
/// ```text
/// buffer   │ contents │ output │ room │     │
///          0          before   at     end   capacity
/// ```
///
/// Every method ensures that there is enough room. The position is a pointer, so in the common case a write costs one
/// comparison and a few stores.
pub struct OutputCursor<'b> {
    /// The next byte to write.
    ///
    /// Invariant: `at..end` lies within the spare capacity of `buffer`, and all bytes between the buffer's contents and
    /// `at` are initialized.
    at: *mut u8,
    end: *mut u8,
    escaper: &'static Escaper,
    buffer: &'b mut BytesMut,
    /// The maximum length of the buffer, excluding a line feed.
    limit: usize,
    /// The length to which the buffer is truncated when the cursor is dropped.
    before: usize,
}

/// The output is longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// How far the room may extend past the limit.
///
/// Methods reserve more room than they use, since they write whole vectors, but never this much more. With this slack,
/// a single comparison checks both the room and the limit. [`OutputCursor::commit`] rejects output that ends beyond the
/// limit, unless the excess has been [taken back](OutputCursor::take_back) by then.
const SLACK: usize = 512;

/// The least that the buffer grows by.
const LEAST_GROWTH: usize = 128;

impl<'b> OutputCursor<'b> {
    /// Appends to `buffer`, which may grow to `limit` bytes plus a line feed.
    #[inline]
    pub fn new(buffer: &'b mut BytesMut, limit: usize) -> Self {
        let before = buffer.len();
        let mut cursor = Self {
            at: std::ptr::null_mut(),
            end: std::ptr::null_mut(),
            escaper: kernel::current().escaper,
            buffer,
            limit,
            before,
        };
        cursor.enter();
        cursor
    }

    /// The length of the buffer, including the output.
    #[inline(always)]
    pub fn position(&self) -> usize {
        self.at.addr() - self.buffer.as_ptr().addr()
    }

    /// The output since [position](Self::position) `start`.
    #[inline(always)]
    pub fn since(&mut self, start: usize) -> &[u8] {
        self.advance_buffer();
        &self.buffer[start..]
    }

    /// Removes the last `len` bytes of the output, or all of it if it is shorter.
    #[inline(always)]
    pub fn take_back(&mut self, len: usize) {
        let position = self.position();
        self.advance_buffer();
        self.buffer.truncate(position.saturating_sub(len).max(self.before));
        self.enter();
    }

    /// The memory address of the end of the output, which only changes when something is written.
    #[inline(always)]
    pub fn address(&self) -> usize {
        self.at.addr()
    }

    /// Makes the output part of the buffer's contents, unless it is too long. Appends a line feed if requested, which
    /// doesn't count towards the limit.
    ///
    /// Takes a reference, because moving a cursor right after its fields were written would stall.
    #[inline]
    pub fn commit(&mut self, line_feed: bool) -> Result<(), Full> {
        if self.position() > self.limit {
            return Err(Full);
        }
        self.reserve(1)?;
        // SAFETY: there is room for a byte, and `at` only advances past it after it has been written.
        unsafe {
            self.at.write(b'\n');
            self.at = self.at.add(usize::from(line_feed));
        }
        self.before = self.position();
        self.advance_buffer();
        Ok(())
    }

    /// Writes `pieces` in order.
    #[inline(always)]
    pub fn put<const N: usize>(&mut self, pieces: [&[u8]; N]) -> Result<(), Full> {
        self.reserve(pieces.iter().fold(0, |len, piece| len.saturating_add(piece.len())))?;
        // A local variable, because the compiler must assume that a write through `self.at` might change `self.at`.
        let mut at = self.at;
        for piece in pieces {
            // SAFETY: there is room for all pieces. They can't overlap the room, since `self.buffer` is borrowed
            // mutably.
            unsafe {
                at.copy_from_nonoverlapping(piece.as_ptr(), piece.len());
                at = at.add(piece.len());
            }
        }
        self.at = at;
        Ok(())
    }

    /// Writes a comma if one is due, and the first `len` bytes of `word`.
    #[inline(always)]
    pub fn put_word<const N: usize>(&mut self, comma: bool, word: [u8; N], len: usize) -> Result<(), Full> {
        self.reserve(1 + N)?;
        // SAFETY: there is room for a comma and the word, the whole word is written, and `at` advances no further.
        unsafe {
            let at = self.after_comma(comma);
            at.cast::<[u8; N]>().write_unaligned(word);
            self.at = at.add(len.min(N));
        }
        Ok(())
    }

    /// Writes a comma if one is due, and `bytes`. Optimized for up to 32 bytes.
    #[inline(always)]
    pub fn put_few(&mut self, comma: bool, bytes: &[u8]) -> Result<(), Full> {
        self.reserve(1 + room_for_few(bytes))?;
        // SAFETY: there is room for a comma and the bytes.
        unsafe {
            let at = self.after_comma(comma);
            self.at = put_few_at(at, bytes);
        }
        Ok(())
    }

    /// Writes `before`, `middle` and `after`. Optimized for up to 32 bytes in the middle.
    #[inline(always)]
    pub fn put_around<const B: usize, const A: usize>(
        &mut self,
        before: &[u8; B],
        middle: &[u8],
        after: &[u8; A],
    ) -> Result<(), Full> {
        self.reserve(B + room_for_few(middle) + A)?;
        // SAFETY: there is room for all three parts, and each starts at the end of the previous one.
        unsafe {
            self.at.cast::<[u8; B]>().write_unaligned(*before);
            let at = put_few_at(self.at.add(B), middle);
            at.cast::<[u8; A]>().write_unaligned(*after);
            self.at = at.add(A);
        }
        Ok(())
    }

    /// Writes a comma if one is due, a minus sign if the number is negative, all but the last `unused` bytes of `lead`,
    /// and all of `rest`.
    #[inline(always)]
    pub fn put_number<const L: usize, const N: usize>(
        &mut self,
        comma: bool,
        is_negative: bool,
        (lead, unused): ([u8; L], usize),
        rest: [[u8; 8]; N],
    ) -> Result<(), Full> {
        self.reserve(2 + L + 8 * N)?;
        // SAFETY: there is room for a comma, a sign and all words, and `at` only advances past bytes that have been
        // written.
        unsafe {
            let mut at = self.after_comma(comma);
            at.write(b'-');
            at = at.add(usize::from(is_negative));
            at.cast::<[u8; L]>().write_unaligned(lead);
            at = at.add(L - unused.min(L));
            at.cast::<[[u8; 8]; N]>().write_unaligned(rest);
            self.at = at.add(8 * N);
        }
        Ok(())
    }

    /// Writes a comma if one is due, `before`, the escaped `text`, and `after`.
    #[inline(always)]
    pub fn put_string<const B: usize, const A: usize>(
        &mut self,
        comma: bool,
        before: &[u8; B],
        text: &str,
        after: &[u8; A],
    ) -> Result<(), Full> {
        // Enough for most strings.
        self.reserve(1 + B + BLOCK + A)?;
        // SAFETY: there is room for a comma and for `before`. The access to `at..end` is exclusive, since `self.buffer`
        // is borrowed mutably. An escaper initializes as many bytes of its room as it reports, and `after` is only
        // written if there is enough room left.
        unsafe {
            let at = self.after_comma(comma);
            at.cast::<[u8; B]>().write_unaligned(*before);
            let at = at.add(B);
            let room = slice::from_raw_parts_mut(at.cast::<UninitByte>(), self.end.addr() - at.addr());
            let (consumed, written) = self.escaper.escape(text.as_bytes(), room);
            let left = room.len() - written;
            let at = at.add(written);
            if consumed < text.len() || left < A {
                self.at = at;
                return self.put_rest(&text.as_bytes()[consumed..], after);
            }
            at.cast::<[u8; A]>().write_unaligned(*after);
            self.at = at.add(A);
        }
        Ok(())
    }

    /// Writes part of a string: the escaped `text`, without quotes.
    #[inline(always)]
    pub fn put_escaped(&mut self, text: &str) -> Result<(), Full> {
        self.put_string(false, b"", text, b"")
    }

    /// Writes the rest of a string for which [`put_string`](Self::put_string) had no room.
    #[cold]
    #[inline(never)]
    fn put_rest(&mut self, mut text: &[u8], after: &[u8]) -> Result<(), Full> {
        while !text.is_empty() {
            self.reserve(room_for_some(text))?;
            let at = self.at;
            // SAFETY: as in `put_string`.
            unsafe {
                let room = slice::from_raw_parts_mut(at.cast::<UninitByte>(), self.room());
                let (consumed, written) = self.escaper.escape(text, room);
                self.at = at.add(written);
                text = &text[consumed..];
            }
        }
        self.put([after])
    }

    /// Writes a comma. Returns the position after it if one is due, otherwise the position before it.
    ///
    /// # Safety
    ///
    /// There must be room for a byte.
    #[inline(always)]
    unsafe fn after_comma(&mut self, comma: bool) -> *mut u8 {
        // SAFETY: the caller guarantees the room.
        unsafe {
            self.at.write(b',');
            self.at.add(usize::from(comma))
        }
    }

    #[inline(always)]
    fn room(&self) -> usize {
        self.end.addr() - self.at.addr()
    }

    /// Makes room for `len` bytes. The caller may leave up to [`SLACK`] of them unused.
    #[inline(always)]
    fn reserve(&mut self, len: usize) -> Result<(), Full> {
        if len <= self.room() { Ok(()) } else { self.grow(len) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, len: usize) -> Result<(), Full> {
        if len > self.limit.saturating_add(SLACK).saturating_sub(self.position()) {
            return Err(Full);
        }
        self.advance_buffer();
        self.buffer.reserve(len.max(LEAST_GROWTH));
        self.enter();
        Ok(())
    }

    /// Makes the output part of the buffer's contents, until the cursor is dropped.
    #[inline(always)]
    fn advance_buffer(&mut self) {
        let position = self.position();
        // SAFETY: the bytes before `at` are initialized, and it lies within the capacity.
        unsafe { self.buffer.set_len(position) };
    }

    /// Sets `at` and `end` to the spare capacity after the buffer's contents.
    #[inline(always)]
    fn enter(&mut self) {
        let most = self.limit.saturating_add(SLACK).saturating_sub(self.buffer.len());
        let room = self.buffer.spare_capacity_mut();
        let len = room.len().min(most);
        self.at = room.as_mut_ptr().cast();
        // SAFETY: `len` is at most the length of the room.
        self.end = unsafe { self.at.add(len) };
    }
}

/// Appends `text` with `replacement` in place of the bytes in `range`, and a line feed if requested. Optimized for a short
/// `replacement` that is close to the start.
#[inline(always)]
pub fn append_spliced(buffer: &mut BytesMut, text: &[u8], range: Range<usize>, replacement: &[u8], line_feed: bool) {
    let (before, after) = (&text[..range.start], &text[range.end..]);
    let len = before.len() + replacement.len() + after.len();
    // The start may be written as 32 bytes, even if it is shorter.
    buffer.reserve((before.len() + room_for_few(replacement) + after.len()).max(32));
    let at = buffer.spare_capacity_mut().as_mut_ptr().cast::<u8>();
    // SAFETY: there is room for 32 bytes, and for all three parts and a few more bytes. Each part starts at the end of
    // the previous one, and the new length covers nothing else.
    unsafe {
        match text.first_chunk::<32>() {
            Some(start) if before.len() <= 32 => at.cast::<[u8; 32]>().write_unaligned(*start),
            _ => at.copy_from_nonoverlapping(before.as_ptr(), before.len()),
        }
        let at = put_few_at(at.add(before.len()), replacement);
        at.copy_from_nonoverlapping(after.as_ptr(), after.len());
        at.add(after.len()).write(b'\n');
        buffer.set_len(buffer.len() + len + usize::from(line_feed));
    }
}

/// The room that [`put_few_at`] requires.
#[inline(always)]
const fn room_for_few(bytes: &[u8]) -> usize {
    bytes.len() + 8
}

/// Writes `bytes`, and returns the end of the output. Optimized for up to 32 bytes.
///
/// # Safety
///
/// At `at`, there must be [`room_for_few`] bytes, which must not overlap `bytes`.
#[inline(always)]
unsafe fn put_few_at(at: *mut u8, bytes: &[u8]) -> *mut u8 {
    /// Writes the first and the last `N` of `len` bytes, which may overlap.
    ///
    /// # Safety
    ///
    /// There must be room for `len` bytes, and `len` must be at least `N`.
    #[inline(always)]
    unsafe fn put_ends<const N: usize>(at: *mut u8, first: [u8; N], last: [u8; N], len: usize) {
        // SAFETY: the caller guarantees the room.
        unsafe {
            at.cast::<[u8; N]>().write_unaligned(first);
            at.add(len - N).cast::<[u8; N]>().write_unaligned(last);
        }
    }

    let len = bytes.len();
    // SAFETY: the caller guarantees the room. In each case, the stores together cover all of `bytes`.
    unsafe {
        if let (Some(first), Some(last), ..=32) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>(), len) {
            put_ends(at, *first, *last, len);
        } else if let (Some(first), Some(last), ..16) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>(), len) {
            put_ends(at, *first, *last, len);
        } else if let (Some(first), Some(last), ..8) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), len) {
            put_ends(at, *first, *last, len);
        } else if let 1..4 = len {
            at.cast::<[u8; 8]>().write_unaligned([bytes[0], bytes[len / 2], bytes[len - 1], 0, 0, 0, 0, 0]);
        } else if len > 32 {
            at.copy_from_nonoverlapping(bytes.as_ptr(), len);
        }
        at.add(len)
    }
}

impl Drop for OutputCursor<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.buffer.truncate(self.before);
    }
}

//! Where output goes: the spare room of a buffer, up to a limit.
#![allow(unsafe_code)]

use std::slice;

use bytes::BytesMut;

use super::{BLOCK, Blank, Escaper, room_for_some};

/// Writes behind the contents of a buffer. They become part of it by [`commit`](Self::commit), all of them or none.
///
/// ```text
/// buffer   │ contents │ written │ room      │        │
///          0          before    at          end      capacity
/// ```
///
/// The position is a pointer, so that a write is a comparison and a few stores. All methods check that there is room, and
/// make more if there is not.
pub(crate) struct Cursor<'b> {
    /// The next byte to write.
    ///
    /// `at..end` lies within the spare capacity of `buffer`; the bytes from the end of the buffer's contents up to `at`
    /// have been written.
    at: *mut u8,
    end: *mut u8,
    escaper: &'static Escaper,
    buffer: &'b mut BytesMut,
    /// How long the buffer may become.
    limit: usize,
    /// How long the buffer becomes when the cursor is dropped.
    before: usize,
}

/// The limit has been reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// How much more room is made than may be used, at most: what vectors write beyond the end of a string.
///
/// So the room may end this much beyond the limit, and one comparison covers room and limit. What really is over the limit
/// is noticed by [`Cursor::commit`] at the latest.
const SLACK: usize = 512;

/// How much room is made at least.
const SOME: usize = 128;

impl<'b> Cursor<'b> {
    /// Appends to `buffer`, which may become `limit` bytes long.
    #[inline]
    pub(crate) fn new(buffer: &'b mut BytesMut, limit: usize) -> Self {
        let before = buffer.len();
        let mut cursor = Self {
            at: std::ptr::null_mut(),
            end: std::ptr::null_mut(),
            escaper: Escaper::best(),
            buffer,
            limit,
            before,
        };
        cursor.enter();
        cursor
    }

    /// How long the buffer becomes with what has been written.
    #[inline(always)]
    pub(crate) fn position(&self) -> usize {
        self.at.addr() - self.buffer.as_ptr().addr()
    }

    /// Makes what has been written part of the buffer, unless that is too long.
    #[inline]
    pub(crate) fn commit(mut self) -> Result<(), Full> {
        let position = self.position();
        if position > self.limit {
            return Err(Full);
        }
        self.advance_buffer();
        self.before = position;
        Ok(())
    }

    /// Writes `pieces`, one after the other.
    #[inline(always)]
    pub(crate) fn put<const N: usize>(&mut self, pieces: [&[u8]; N]) -> Result<(), Full> {
        self.reserve(pieces.iter().fold(0, |len, piece| len.saturating_add(piece.len())))?;
        // In a local variable: for all the compiler knows, a write through it might change `self.at`.
        let mut at = self.at;
        for piece in pieces {
            // SAFETY: there is room for all the pieces, and they cannot lie in it: a shared slice is of bytes that
            // nobody writes to, while the room belongs to `self.buffer`, which is borrowed mutably.
            unsafe {
                at.copy_from_nonoverlapping(piece.as_ptr(), piece.len());
                at = at.add(piece.len());
            }
        }
        self.at = at;
        Ok(())
    }

    /// Writes the first `len` bytes of `word`: all eight at most.
    #[inline(always)]
    pub(crate) fn put_word(&mut self, word: [u8; 8], len: usize) -> Result<(), Full> {
        self.reserve(8)?;
        let at = self.at;
        // SAFETY: there is room for eight bytes, and no more than those are counted as written.
        unsafe {
            at.cast::<[u8; 8]>().write_unaligned(word);
            self.at = at.add(len.min(8));
        }
        Ok(())
    }

    /// Writes `bytes`, of which there are few.
    #[inline(always)]
    pub(crate) fn put_few(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let len = bytes.len();
        if let (Some(first), Some(last), ..=32) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>(), len) {
            self.put_ends(*first, *last, len)
        } else if let (Some(first), Some(last), ..16) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>(), len) {
            self.put_ends(*first, *last, len)
        } else if let (Some(first), Some(last), ..8) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), len) {
            self.put_ends(*first, *last, len)
        } else {
            self.put([bytes])
        }
    }

    /// Writes `len` bytes, from `N` up to twice that, of which the first and the last are given.
    #[inline(always)]
    fn put_ends<const N: usize>(&mut self, first: [u8; N], last: [u8; N], len: usize) -> Result<(), Full> {
        debug_assert!(len >= N && len <= 2 * N);
        self.reserve(2 * N)?;
        let at = self.at;
        // SAFETY: there is room for twice `N` bytes; and `len` is such that both together write all that is counted.
        unsafe {
            at.cast::<[u8; N]>().write_unaligned(first);
            at.add(len.clamp(N, 2 * N) - N).cast::<[u8; N]>().write_unaligned(last);
            self.at = at.add(len.clamp(N, 2 * N));
        }
        Ok(())
    }

    /// Writes `number`, in decimal: a sign or none, the first `len` bytes of `lead`, and the words of `rest`.
    #[inline(always)]
    pub(crate) fn put_number<const N: usize>(
        &mut self,
        is_negative: bool,
        (lead, len): ([u8; 8], usize),
        rest: [[u8; 8]; N],
    ) -> Result<(), Full> {
        self.reserve(1 + 8 * (1 + N))?;
        let mut at = self.at;
        // SAFETY: there is room for a sign and all the words, and no more than is written is counted.
        unsafe {
            at.write(b'-');
            at = at.add(usize::from(is_negative));
            at.cast::<[u8; 8]>().write_unaligned(lead);
            at = at.add(len.min(8));
            at.cast::<[[u8; 8]; N]>().write_unaligned(rest);
            self.at = at.add(8 * N);
        }
        Ok(())
    }

    /// Writes `before`, `text` with escapes, and `after`: quotes, and what is around them.
    #[inline(always)]
    pub(crate) fn put_string<const B: usize, const A: usize>(
        &mut self,
        before: &[u8; B],
        text: &str,
        after: &[u8; A],
    ) -> Result<(), Full> {
        // Enough for most strings.
        self.reserve(B + BLOCK + A)?;
        let at = self.at;
        // SAFETY: there is room for `before`. `at..end` is room that nobody else writes to or reads. An escaper initializes
        // the bytes that it reports, which are within the room that it is given, and that there is room for `after`
        // behind them is checked.
        unsafe {
            at.cast::<[u8; B]>().write_unaligned(*before);
            let room = slice::from_raw_parts_mut(at.add(B).cast::<Blank>(), self.room() - B);
            let (consumed, written) = self.escaper.escape(text.as_bytes(), room);
            let left = room.len() - written;
            let at = at.add(B + written);
            if consumed < text.len() || left < A {
                self.at = at;
                return self.put_rest(&text.as_bytes()[consumed..], after);
            }
            at.cast::<[u8; A]>().write_unaligned(*after);
            self.at = at.add(A);
        }
        Ok(())
    }

    /// Writes `text` with escapes: a part of a string.
    #[inline(always)]
    pub(crate) fn put_escaped(&mut self, text: &str) -> Result<(), Full> {
        self.put_string(b"", text, b"")
    }

    /// Writes what [`put_string`](Self::put_string) had no room for.
    #[cold]
    #[inline(never)]
    fn put_rest(&mut self, mut text: &[u8], after: &[u8]) -> Result<(), Full> {
        while !text.is_empty() {
            self.reserve(room_for_some(text))?;
            let at = self.at;
            // SAFETY: as in `put_string`.
            unsafe {
                let room = slice::from_raw_parts_mut(at.cast::<Blank>(), self.room());
                let (consumed, written) = self.escaper.escape(text, room);
                self.at = at.add(written);
                text = &text[consumed..];
            }
        }
        self.put([after])
    }

    #[inline(always)]
    fn room(&self) -> usize {
        self.end.addr() - self.at.addr()
    }

    /// Makes room for `len` bytes, of which up to [`SLACK`] may stay unused.
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
        self.buffer.reserve(len.max(SOME));
        self.enter();
        Ok(())
    }

    /// Makes what has been written part of the buffer's contents, for the time being.
    #[inline(always)]
    fn advance_buffer(&mut self) {
        let position = self.position();
        // SAFETY: the bytes before `at` have been written, and it lies within the capacity.
        unsafe { self.buffer.set_len(position) };
    }

    /// Sets out to write behind the buffer's contents.
    #[inline(always)]
    fn enter(&mut self) {
        let most = self.limit.saturating_add(SLACK).saturating_sub(self.buffer.len());
        let room = self.buffer.spare_capacity_mut();
        let room = room.as_mut_ptr_range();
        self.at = room.start.cast();
        let most = most.min(room.end.addr() - room.start.addr());
        // SAFETY: that is at most the end of the room.
        self.end = unsafe { self.at.add(most) };
    }
}

impl Drop for Cursor<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.buffer.truncate(self.before);
    }
}

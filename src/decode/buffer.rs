//! The buffer in which the bytes of a stream accumulate. Decides when to allocate, move and free memory.
//!
//! ```text
//!  split off as lines            tail                 room
//! ┌────────────┬───────────┐   ┌──────────────┬ ─ ─ ─ ─ ─ ─ ─ ─ ┐
//! │ ....... \n │ ..... \n  │   │ ..........   │ for the next read
//! └────────────┴───────────┘   └──────────────┴ ─ ─ ─ ─ ─ ─ ─ ─ ┘
//! ```
//!
//! All three are parts of one allocation. Once the lines have been decoded and no frame shares them any more, moving
//! `tail` to the front makes the room before it available again.

use std::io;
use std::mem;

use bytes::{Bytes, BytesMut};

/// How many bytes of capacity to keep between lines by default.
const DEFAULT_KEPT: usize = 64 << 10;

/// The smallest allocation.
const MIN_CAPACITY: usize = 512;

/// See the [module](self).
pub(super) struct Buffer {
    tail: BytesMut,
    /// The rest of the allocation after `tail`, while it is lent to a reader or ready to be lent again.
    room: Room,
    /// At least the size of the allocation behind `tail`.
    allocated: usize,
    /// How many bytes of capacity to keep between lines.
    kept: usize,
    /// How many bytes were last split off as lines, and whether that was after the last [release](Self::release).
    split: usize,
    has_split: bool,
    /// Whether the stream has ended, so that nothing more is added.
    closed: bool,
}

/// Room after the tail.
enum Room {
    None,
    /// Lent to a reader. Its contents are part of the stream.
    Lent(BytesMut),
    /// Initialised by an earlier read. Its contents aren't part of the stream.
    Initialised(BytesMut),
}

impl Buffer {
    pub(super) fn new() -> Self {
        Self {
            tail: BytesMut::new(),
            room: Room::None,
            allocated: 0,
            kept: DEFAULT_KEPT,
            split: 0,
            has_split: false,
            closed: false,
        }
    }

    /// Sets how many bytes of capacity to keep between lines.
    pub(super) fn keep(&mut self, bytes: usize) {
        self.kept = bytes;
    }

    /// How many bytes of capacity to keep between lines.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// Ends the stream. Bytes that are appended, read or put into lent room after this are dropped.
    pub(super) fn close(&mut self) {
        self.absorb();
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The bytes that haven't been split off, without those in lent room, which have to be [absorbed](Self::absorb)
    /// first.
    pub(super) fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// How many bytes haven't been split off, including those in lent room.
    pub(super) fn len(&self) -> usize {
        let lent = match &self.room {
            Room::Lent(lent) if !self.closed => lent.len(),
            Room::None | Room::Lent(_) | Room::Initialised(_) => 0,
        };
        self.tail.len() + lent
    }

    /// Takes back lent room, with the bytes that a reader has put there.
    #[inline]
    pub(super) fn absorb(&mut self) {
        match mem::replace(&mut self.room, Room::None) {
            Room::None => {}
            Room::Lent(lent) if !self.closed => self.tail.unsplit(lent),
            Room::Lent(mut room) | Room::Initialised(mut room) => {
                room.clear();
                self.tail.unsplit(room);
            }
        }
    }

    /// Appends a copy of `chunk`. No line is longer than `longest`.
    pub(super) fn append(&mut self, chunk: &[u8], longest: usize) {
        if self.closed {
            return;
        }
        self.absorb();
        self.reserve(chunk.len(), longest);
        self.tail.extend_from_slice(chunk);
    }

    /// Appends `chunk`, without a copy if it comes right after the tail in memory or there is no tail.
    pub(super) fn append_buffer(&mut self, chunk: BytesMut, longest: usize) {
        if self.closed {
            return;
        }
        self.absorb();
        let end = self.tail.as_ptr().wrapping_add(self.tail.len());
        if self.tail.is_empty() || end == chunk.as_ptr() {
            self.tail.unsplit(chunk);
        } else {
            self.append(&chunk, longest);
        }
    }

    /// Lends room for `additional` bytes, or at least half as many, as a separate buffer, so that the reader can't
    /// change earlier bytes.
    pub(super) fn lend(&mut self, additional: usize, longest: usize) -> &mut BytesMut {
        self.absorb();
        self.reserve_half(additional, longest);
        let end = self.tail.len();
        self.room = Room::Lent(self.tail.split_off(end));
        match &mut self.room {
            Room::Lent(lent) => lent,
            Room::None | Room::Initialised(_) => &mut self.tail,
        }
    }

    /// Lets `read` fill room for `additional` bytes, or at least half as many, and appends as many as it returns.
    ///
    /// The room is initialised, but may contain bytes from earlier reads.
    pub(super) fn read_with(
        &mut self,
        additional: usize,
        longest: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut room = match mem::replace(&mut self.room, Room::None) {
            Room::Initialised(room) if room.len() >= additional.div_ceil(2) => room,
            lent => {
                self.room = lent;
                self.absorb();
                self.reserve_half(additional, longest);
                let end = self.tail.len();
                let mut room = self.tail.split_off(end);
                room.resize(additional.min(room.capacity()), 0);
                room
            }
        };
        let asked = additional.min(room.len());
        // If the reader panics, the room is dropped and the tail is unchanged.
        let read = read(&mut room[..asked]);
        if let (Ok(filled), false) = (&read, self.closed) {
            self.tail.unsplit(room.split_to(asked.min(*filled)));
        }
        self.room = Room::Initialised(room);
        read.map(|read| read.min(asked))
    }

    /// Splits off the first `len` bytes.
    pub(super) fn split_to(&mut self, len: usize) -> Bytes {
        self.allocated = self.allocated.max(self.tail.capacity());
        (self.has_split, self.split) = (true, len);
        self.tail.split_to(len).freeze()
    }

    /// Drops the first `len` bytes.
    pub(super) fn skip(&mut self, len: usize) {
        let _ = self.tail.split_to(len);
    }

    /// Makes room for `additional` bytes, unless there is room for half as many, so that a reader that gets a few bytes
    /// at a time doesn't need a new buffer each time.
    fn reserve_half(&mut self, additional: usize, longest: usize) {
        if self.tail.capacity() - self.tail.len() < additional.div_ceil(2) {
            self.reserve(additional, longest);
        }
    }

    /// Makes room for `additional` bytes after the tail, in a buffer for lines of up to `longest` bytes.
    fn reserve(&mut self, additional: usize, longest: usize) {
        // If the start of a line has to move to the front of the buffer, move it while it is still short.
        let len = self.tail.len();
        let to_come = self.expected() - len;
        if to_come > additional && len <= additional && self.tail.try_reclaim(to_come) {
            return;
        }
        if self.tail.try_reclaim(additional) {
            return;
        }
        // Allocate a multiple of the current length, so that a line that arrives in small pieces is copied a bounded
        // number of times, and takes up less than half of the buffer: then the room before it can be reused without a
        // new buffer. But don't allocate more than the longest line plus one read, so that the limit bounds the memory;
        // and if the multiple comes near that, allocate that much now rather than another buffer later. A longer tail
        // consists of lines that haven't been taken.
        let ample = match len.saturating_mul(4) {
            _ if len > longest => len.saturating_mul(2),
            ample if ample < longest / 2 => ample,
            _ => longest.saturating_add(additional),
        };
        let expected = self.expected().min(longest).max(len).saturating_add(additional);
        let capacity = ample.max(expected).max(MIN_CAPACITY);
        let mut larger = BytesMut::with_capacity(capacity);
        larger.extend_from_slice(&self.tail);
        self.tail = larger;
        self.allocated = self.tail.capacity();
    }

    /// How long the tail will probably become: as long as the last split-off lines, if a good part of that has arrived.
    fn expected(&self) -> usize {
        let len = self.tail.len();
        if len >= self.split / 16 { self.split.max(len) } else { len }
    }

    /// Frees the allocation if it is larger than the capacity to keep and larger than the incoming line needs.
    pub(super) fn release(&mut self) {
        self.allocated = self.allocated.max(self.tail.capacity());
        if self.tail.is_empty() && self.allocated > self.kept {
            self.room = Room::None;
            self.tail = BytesMut::new();
            self.allocated = 0;
        } else if self.has_split && self.allocated / 4 > self.kept.max(self.tail.len()).max(self.expected()) {
            // Done only once after each split, because otherwise a line that arrives in small pieces would be copied
            // each time; and not if another line of that length seems to be arriving.
            self.room = Room::None;
            self.tail = BytesMut::from(&self.tail[..]);
            self.allocated = self.tail.capacity();
        }
        self.has_split = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_tail(tail: BytesMut, split: usize) -> Buffer {
        Buffer { tail, split, ..Buffer::new() }
    }

    #[test]
    fn grows_up_to_the_longest_line_and_a_read() {
        for (longest, split, len, expected) in [
            (100_005, 0, 0, MIN_CAPACITY),
            (100_005, 0, 10, MIN_CAPACITY),
            (100_005, 0, 1000, 4000),
            (100_005, 0, 12_500, 50_000),
            (100_000, 0, 12_500, 100_000 + 7),
            (100_005, 0, 12_501, 100_005 + 7),
            (100_005, 0, 100_005, 100_005 + 7),
            (10_005, 0, 1250, 5000),
            (10_005, 0, 1251, 10_005 + 7),
            // The tail consists of lines that haven't been taken.
            (100_005, 0, 100_006, 200_012),
            // Another line as long as the previous one.
            (100_005, 16_000, 1000, 16_000 + 7),
            (100_005, 16_000, 999, 3996),
            (10_005, 16_000, 1000, 10_005 + 7),
        ] {
            let mut buffer = with_tail(BytesMut::zeroed(len), split);
            buffer.reserve(7, longest);
            let found = buffer.tail.capacity();
            assert_eq!((found, buffer.tail.len()), (expected, len), "longest {longest}, last {split}, length {len}");
            assert_eq!(buffer.allocated, found);
        }
    }

    /// Applies if another line as long as the previous one seems to be arriving, and there is room for all of it.
    #[test]
    fn moves_the_start_of_a_line_while_it_is_short() {
        for (capacity, len, additional, moved) in
            [(10_500, 700, 700, true), (10_500, 701, 700, false), (9_999, 700, 700, false), (10_500, 600, 700, false)]
        {
            let mut allocation = BytesMut::zeroed(capacity);
            allocation.truncate(capacity - 800);
            let mut buffer = with_tail(allocation.split_off(allocation.len() - len), 10_000);
            drop(allocation);
            buffer.reserve(additional, 1 << 20);
            let expected = if moved { capacity } else { len + 800 };
            assert_eq!(buffer.tail.capacity(), expected, "{len} bytes in {capacity}, and {additional} more");
        }
    }

    #[test]
    fn gives_back_what_is_not_to_be_kept() {
        for (capacity, len, split, has_split, expected) in [
            // Between lines.
            (1000, 0, 500, true, 1000),
            (1001, 0, 500, true, 0),
            // Within a line: if the allocation is more than four times the capacity to keep, and four times the length
            // that the line has or probably will have.
            (4003, 10, 0, true, 4003),
            (4004, 10, 0, true, 10),
            (4004, 10, 0, false, 4004),
            (8003, 2000, 0, true, 8003),
            (8004, 2000, 0, true, 2000),
            (8004, 200, 2001, true, 8004),
            (8004, 200, 2000, true, 200),
        ] {
            let mut tail = BytesMut::zeroed(capacity);
            tail.truncate(len);
            let mut buffer = Buffer { allocated: capacity, has_split, kept: 1000, ..with_tail(tail, split) };
            buffer.release();
            assert_eq!(buffer.tail.capacity(), expected, "{len} bytes in {capacity}, last {split}, {has_split}");
            assert_eq!((buffer.allocated, buffer.has_split), (expected, false));
        }
    }

    #[test]
    fn whatever_happens_to_lent_room_leaves_the_tail_alone() {
        type Misuse = fn(&mut BytesMut);
        let misuses: [(Misuse, &[u8]); 5] = [
            (|room| room.extend_from_slice(b"def"), b"abcdef"),
            (|room| room.clear(), b"abc"),
            (|room| *room = BytesMut::from(&b"xyz"[..]), b"abcxyz"),
            (|room| drop(std::mem::take(room)), b"abc"),
            (|room| room.extend_from_slice(&[b'y'; 2000]), &[&b"abc"[..], &[b'y'; 2000]].concat()),
        ];
        for (misuse, expected) in misuses {
            let mut buffer = Buffer::new();
            buffer.append(b"abc", 1 << 20);
            misuse(buffer.lend(100, 1 << 20));
            assert_eq!(buffer.len(), expected.len());
            buffer.absorb();
            assert_eq!(buffer.tail(), expected);
        }
    }

    #[test]
    fn a_reader_gets_room_that_is_zeroed_once() {
        let mut buffer = Buffer::new();
        let read = |buffer: &mut Buffer, bytes: &[u8]| {
            buffer.read_with(100, 1 << 20, |room| {
                room[..bytes.len()].copy_from_slice(bytes);
                // Bytes beyond the count that a reader returns aren't part of the stream.
                room[bytes.len()] = b'!';
                Ok(bytes.len())
            })
        };
        assert_eq!(read(&mut buffer, b"ab").unwrap(), 2);
        let start = buffer.tail().as_ptr();
        for _ in 0..10 {
            assert_eq!(read(&mut buffer, b"cd").unwrap(), 2);
        }
        assert_eq!(buffer.tail(), b"abcdcdcdcdcdcdcdcdcdcd");
        assert_eq!(buffer.tail().as_ptr(), start);
        assert!(buffer.read_with(100, 1 << 20, |_| Err(io::ErrorKind::WouldBlock.into())).is_err());
        assert_eq!(buffer.tail().len(), 22);
        // If a reader claims more bytes than it had room for, only the room counts.
        let claimed = buffer.read_with(10, 1 << 20, |_| Ok(usize::MAX)).unwrap();
        assert_eq!((claimed, buffer.tail().len()), (10, 32));
        buffer.append(b"!", 1 << 20);
        assert_eq!((buffer.tail().last(), buffer.tail().len()), (Some(&b'!'), 33));
    }

    #[test]
    fn nothing_is_added_after_the_end() {
        let mut buffer = Buffer::new();
        buffer.append(b"abc", 1 << 20);
        buffer.lend(100, 1 << 20).extend_from_slice(b"def");
        buffer.close();
        buffer.append(b"x", 1 << 20);
        buffer.append_buffer(BytesMut::from(&b"x"[..]), 1 << 20);
        buffer.lend(100, 1 << 20).extend_from_slice(b"x");
        assert_eq!(buffer.len(), 6);
        assert_eq!(buffer.read_with(100, 1 << 20, |room| Ok(room.len())).unwrap(), 100);
        buffer.absorb();
        assert_eq!(buffer.tail(), b"abcdef");
    }
}

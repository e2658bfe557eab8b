//! A decoder filled by reads whose size adapts to the stream.

use std::io;
use std::ops::RangeInclusive;

use super::decoder::Decoder;

/// The size of the first read, and of the largest.
const READ_SIZES: RangeInclusive<usize> = 4 << 10..=64 << 10;

#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) decoder: Decoder,
    /// The size of the next read. It grows after a full read and shrinks after one that got few bytes.
    read: usize,
    /// Whether the last read was full, so that there is probably more to read.
    pub(crate) was_full: bool,
    pub(crate) ended: bool,
}

impl Input {
    pub(crate) fn new(decoder: Decoder) -> Self {
        Self { decoder, read: *READ_SIZES.start(), was_full: false, ended: false }
    }

    /// Reads once, straight into the decoder's buffer. Returns false if the stream had already ended.
    pub(crate) fn fill(&mut self, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let mut asked = 0;
        let read = self.decoder.read_with(self.read, |room| {
            asked = room.len();
            read(room)
        })?;
        self.was_full = read == asked;
        match read {
            0 => {
                self.ended = true;
                self.decoder.finish();
            }
            _ if read == asked => self.read = (2 * self.read).min(*READ_SIZES.end()),
            _ if read < asked / 8 => self.read = (self.read / 2).max(*READ_SIZES.start()),
            _ => {}
        }
        Ok(true)
    }
}

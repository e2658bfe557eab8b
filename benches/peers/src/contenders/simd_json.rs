//! simd-json: a tape of the whole line, with the buffers and the tape reused.

use std::hint::black_box;
use std::mem;

use simd_json::{Buffers, INPUT_PADDING, fill_tape_padded};

use super::Contender;
use crate::comparison::Part;
use crate::members::{Members, Tally};

/// simd-json unescapes strings in place, so it needs a copy of the stream. One copy of all lines is the cheapest: the
/// padding that it needs after each line is the next line.
pub(super) struct Tape {
    input: Vec<u8>,
    buffers: Buffers,
    tape: simd_json::Tape<'static>,
}

impl Default for Tape {
    fn default() -> Self {
        Self { input: Vec::new(), buffers: Buffers::default(), tape: simd_json::Tape::null() }
    }
}

impl Contender for Tape {
    fn name(&self) -> &str {
        "simd-json"
    }

    fn part(&self) -> Part {
        Part::Peer
    }

    fn pass(&mut self, stream: &[u8], chunk: usize) -> Option<Tally> {
        let mut tally = Tally::default();
        self.input.clear();
        for chunk in stream.chunks(chunk) {
            let partial = self.input.len();
            self.input.extend_from_slice(chunk);
            self.input.extend_from_slice(&[0; INPUT_PADDING]);
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', chunk).map(|end| partial + end) {
                tally.count(self.members(start, end - start)?);
                start = end + 1;
            }
            // Only the start of a line is left, if anything.
            self.input.truncate(partial + chunk.len());
            self.input.drain(..start);
        }
        Some(tally)
    }
}

impl Tape {
    /// The members of the line that begins at `start` and has `len` bytes.
    #[inline]
    fn members(&mut self, start: usize, len: usize) -> Option<Members> {
        let mut tape = mem::replace(&mut self.tape, simd_json::Tape(Vec::new())).reset();
        let filled = fill_tape_padded(&mut self.input[start..], len, &mut self.buffers, &mut tape);
        let members = filled.ok().and_then(|()| {
            let message = black_box(&tape).as_value().as_object()?;
            Some(message.keys().map(Members::named).fold(Members::default(), Members::and))
        });
        self.tape = tape.reset();
        members
    }
}

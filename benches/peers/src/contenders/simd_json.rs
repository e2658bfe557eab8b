//! simd-json: a tape of the whole line, with the buffers and the tape reused.

use std::hint::black_box;
use std::mem;

use simd_json::{Buffers, INPUT_PADDING, fill_tape_padded};

use super::{Contender, lines};
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

    fn pass(&mut self, stream: &[u8]) -> Option<Tally> {
        self.input.clear();
        self.input.extend_from_slice(stream);
        self.input.extend_from_slice(&[0; INPUT_PADDING]);

        let mut tally = Tally::default();
        let mut spare = mem::replace(&mut self.tape, simd_json::Tape(Vec::new()));
        let mut rest = &mut self.input[..];
        for line in lines(stream) {
            let mut tape = spare.reset();
            let members = fill_tape_padded(rest, line.len(), &mut self.buffers, &mut tape).ok().and_then(|()| {
                let message = black_box(&tape).as_value().as_object()?;
                Some(message.keys().map(Members::named).fold(Members::default(), Members::and))
            });
            spare = tape.reset();
            rest = &mut rest[line.len() + 1..];
            tally.count(members?);
        }
        self.tape = spare;
        Some(tally)
    }
}

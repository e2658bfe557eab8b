//! tokio-util's `LinesCodec`, with serde_json for each line.

use std::hint::black_box;

use bytes::BytesMut;
use tokio_util::codec::{Decoder, LinesCodec};

use super::Contender;
use super::serde_json::Envelope;
use crate::comparison::Part;
use crate::members::Tally;

#[derive(Default)]
pub(super) struct Lines {
    buffer: BytesMut,
}

impl Contender for Lines {
    fn name(&self) -> &str {
        "LinesCodec + serde_json"
    }

    fn part(&self) -> Part {
        Part::Codec
    }

    fn pass(&mut self, stream: &[u8], chunk: usize) -> Option<Tally> {
        let mut codec = LinesCodec::new();
        let mut tally = Tally::default();
        self.buffer.clear();
        for chunk in stream.chunks(chunk) {
            self.buffer.extend_from_slice(chunk);
            while let Some(line) = codec.decode(&mut self.buffer).ok()? {
                let envelope: Envelope<'_> = serde_json::from_str(&line).ok()?;
                tally.count(black_box(&envelope).members());
            }
        }
        Some(tally)
    }
}

//! What one side of a recorded session has sent, record by record.

use std::collections::VecDeque;

use wireline::{Decoder, Framing, Rules};

use crate::framing::{Detection, Frames, Next, Start};

/// A record with bytes of the stream.
pub(super) struct Part {
    /// The number of its line in the recording.
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
    /// Whether the stream ended after these bytes.
    pub(super) is_last: bool,
}

pub(super) struct RecordedStream {
    /// Set until the framing is known.
    detection: Option<Detection>,
    /// Records that haven't been decoded, and how many of their bytes are known to be lines.
    parts: VecDeque<Part>,
    passed: usize,
    /// How many bytes have been decoded, and the number of the last record among them.
    offset: u64,
    last_number: u64,
    /// Has an incomplete line, or is that of the whole stream if that isn't framed by lines.
    decoder: Option<Decoder>,
    frames: Option<Frames>,
}

impl RecordedStream {
    pub(super) fn new(framing: Option<Framing>, rules: Rules) -> Self {
        let (parts, detection) = (VecDeque::new(), framing.is_none().then(Detection::new));
        let mut stream = Self { detection, parts, passed: 0, offset: 0, last_number: 0, decoder: None, frames: None };
        if let Some(framing) = framing {
            stream.start(Start::of(framing), rules);
        }
        stream
    }

    fn start(&mut self, start: Start, rules: Rules) {
        self.detection = None;
        self.frames = Frames::new(start.framing);
        self.decoder = self.frames.map(|_| start.decoder(rules));
    }

    pub(super) fn add(&mut self, part: Part) {
        if let Some(detection) = &mut self.detection {
            detection.add(&part.bytes);
        }
        self.parts.push_back(part);
    }

    /// Ends the stream: what doesn't tell its framing is decoded as lines.
    pub(super) fn end(&mut self) {
        self.detection = None;
    }

    /// Takes the next record to decode.
    pub(super) fn next(&mut self, rules: Rules) -> Option<Part> {
        while let Some(detection) = &mut self.detection {
            let len = self.parts.front()?.bytes.len();
            if len <= self.passed {
                self.passed -= len;
                break;
            }
            match detection.next()? {
                Next::Lines(bytes) => self.passed += bytes.len(),
                Next::Framed(start, _) => self.start(start, rules),
            }
        }
        self.parts.pop_front()
    }

    /// Whether nothing has been decoded.
    pub(super) fn is_start(&self) -> bool {
        self.offset == 0
    }

    /// What is needed to decode a record. Those of lines are numbered by their records.
    pub(super) fn take(&mut self, part: &Part, rules: Rules) -> (Decoder, Option<Frames>) {
        let decoder = self.decoder.take();
        let mut decoder = decoder.unwrap_or_else(|| Decoder::new(rules).starting_at(part.number, self.offset));
        decoder.feed(&part.bytes);
        self.offset += part.bytes.len() as u64;
        self.last_number = part.number;
        (decoder, self.frames)
    }

    /// Gives it back.
    pub(super) fn put_back(&mut self, part: &Part, decoder: Decoder, frames: Option<Frames>) {
        self.frames = frames;
        if !part.is_last && (frames.is_some() || !part.bytes.ends_with(b"\n")) {
            self.decoder = Some(decoder);
        }
    }

    /// The decoder of what is incomplete, and the number of the last record.
    pub(super) fn into_rest(self) -> Option<(Decoder, Option<Frames>, u64)> {
        Some((self.decoder?, self.frames, self.last_number))
    }
}

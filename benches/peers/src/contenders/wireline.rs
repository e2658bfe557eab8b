//! wireline: its decoder as most programs use it, and other parts of its API.

use std::hint::black_box;

use wireline::{Decoder, Frame, Message, Rules};
use wireline_json::Cpu;

use super::{Contender, Splitter, WHOLE};
use crate::comparison::Part;
use crate::machine::cpu_name;
use crate::members::{Members, Tally};

/// The size of a typical read.
const CHUNK: usize = 64 << 10;

/// More than a slice. Given less, a decoder would free its buffer at the end of each, and whether malloc then returns the
/// memory to the system and faults it in again would decide the result.
const KEPT: usize = 8 << 20;

pub(super) fn all(cpus: &[Cpu]) -> Vec<Box<dyn Contender>> {
    let mut all: Vec<Box<dyn Contender>> = Vec::new();
    for (place, &cpu) in cpus.iter().enumerate() {
        let name = if cpus.len() == 1 { "wireline".to_owned() } else { format!("wireline, {}", cpu_name(cpu)) };
        let part = if place == 0 { Part::Subject } else { Part::Kernel };
        all.push(Box::new(Decoding::<BORROWED>::new(name, part, cpu, WHOLE)));
        if place == 0 {
            all.push(Box::new(Decoding::<BORROWED>::new("  as from a pipe", Part::Variant, cpu, CHUNK)));
            all.push(Box::new(Decoding::<OWNED>::new("  with into_owned", Part::Variant, cpu, WHOLE)));
            all.push(Box::new(Parsing { cpu, splitter: Splitter::default() }));
        }
    }
    all
}

/// How frames are taken. A constant, because a program does one or the other: a loop that can do both copies each frame.
const BORROWED: bool = false;
const OWNED: bool = true;

/// A [`Decoder`] that is fed the stream in pieces.
struct Decoding<const AS: bool> {
    name: String,
    part: Part,
    cpu: Cpu,
    /// The most bytes to feed at once.
    most: usize,
    decoder: Decoder,
}

impl<const AS: bool> Decoding<AS> {
    fn new(name: impl Into<String>, part: Part, cpu: Cpu, most: usize) -> Self {
        Self { name: name.into(), part, cpu, most, decoder: decoder(most) }
    }
}

/// A decoder that keeps the buffer it needs for whole slices, as the other contenders keep theirs; but one that never gets
/// more than a read has the default capacity.
fn decoder(most: usize) -> Decoder {
    let decoder = Decoder::new(Rules::json_rpc());
    if most == CHUNK { decoder } else { decoder.keep_capacity(KEPT) }
}

impl<const AS: bool> Contender for Decoding<AS> {
    fn name(&self) -> &str {
        &self.name
    }

    fn part(&self) -> Part {
        self.part
    }

    fn pass(&mut self, stream: &[u8], chunk: usize) -> Option<Tally> {
        self.cpu.run(|| self.decode(stream, chunk))
    }
}

impl<const AS: bool> Decoding<AS> {
    fn decode(&mut self, stream: &[u8], chunk: usize) -> Option<Tally> {
        let mut tally = Tally::default();
        for piece in stream.chunks(chunk.min(self.most)) {
            self.decoder.feed(piece);
            while let Some(frame) = self.decoder.next_frame() {
                match frame {
                    Ok(frame) if AS == OWNED => tally.count(members(black_box(&frame.into_owned()))),
                    Ok(frame) => tally.count(members(black_box(&frame))),
                    Err(_) => {
                        self.decoder = decoder(self.most);
                        return None;
                    }
                }
            }
        }
        Some(tally)
    }
}

/// [`Frame::parse`] of each line: the scanner and the rules, without the decoder's buffer and its copy.
struct Parsing {
    cpu: Cpu,
    splitter: Splitter,
}

impl Contender for Parsing {
    fn name(&self) -> &str {
        "  Frame::parse alone"
    }

    fn part(&self) -> Part {
        Part::Variant
    }

    fn pass(&mut self, stream: &[u8], chunk: usize) -> Option<Tally> {
        let (rules, mut tally) = (Rules::json_rpc(), Tally::default());
        self.cpu.run(|| {
            self.splitter.lines(stream, chunk, |line| {
                let frame = Frame::parse(line, &rules).ok()?;
                tally.count(members(black_box(&frame)));
                Some(())
            })
        })?;
        Some(tally)
    }
}

/// Under JSON-RPC rules a request has an id and a method, and a response has an id, so these need no check.
#[inline]
fn members(frame: &Frame<'_>) -> Members {
    const REQUEST: Members = Members::JSONRPC.and(Members::ID).and(Members::METHOD);
    const NOTIFICATION: Members = Members::JSONRPC.and(Members::METHOD);
    const RESPONSE: Members = Members::JSONRPC.and(Members::ID);
    let Frame::Message(message) = frame else { return Members::default() };
    match message {
        Message::Request(request) => REQUEST.and(Members::PARAMS.if_found(request.params().is_some())),
        Message::Notification(notification) => {
            NOTIFICATION.and(Members::PARAMS.if_found(notification.params().is_some()))
        }
        Message::Response(response) => {
            RESPONSE.and(if response.outcome().is_ok() { Members::RESULT } else { Members::ERROR })
        }
    }
}

//! Runs the bodies of the fuzz targets on their seeds and on mutated seeds, without a fuzzer.

mod common;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

#[path = "../fuzz/src"]
#[allow(dead_code, unreachable_pub, reason = "the fuzz crate uses all of it")]
mod bodies {
    use super::common;

    pub mod connection;
    pub mod decode_chunks;
    pub mod differential;
    pub mod envelope;
    pub mod framings;
    pub mod round_trip;
    pub mod serve;

    mod input;
    mod lines;
    mod recovered;
}

#[test]
fn connection() {
    run("connection", 500, bodies::connection::run);
}

/// Sessions of random bytes. `WIRELINE_TIMES=300` runs 300 times as many.
#[test]
fn connection_sessions() {
    let sessions = common::times(100);
    let mut random = common::Random::new(1);
    for _ in 0..sessions {
        let data: Vec<u8> = (0..100 + random.below(900)).map(|_| random.below(256) as u8).collect();
        show_if_it_fails(&data, &bodies::connection::run);
    }
}

#[test]
fn decode_chunks() {
    run("decode_chunks", 300, bodies::decode_chunks::run);
    each_line(|line| bodies::decode_chunks::run(&[b"0@~~~~\x01\x07\x40", line].concat()));
}

#[test]
fn differential() {
    run("differential", 2000, |data| bodies::differential::run(data, &[]));
    each_line(|line| bodies::differential::run(line, &[]));
}

#[test]
fn envelope() {
    run("envelope", 2000, bodies::envelope::run);
    for dialect in ["0", "1", "2", "3", "4", "5"] {
        // Defaults; all switches flipped; a line limit of 64 bytes; batches flipped, with depth and batch limits of 2.
        for rest in ["@~~~", "_~~~", "@\x40~~", "A~\x02\x02"] {
            each_line(|line| bodies::envelope::run(&[dialect.as_bytes(), rest.as_bytes(), line].concat()));
        }
    }
}

#[test]
fn content_length() {
    run("content_length", 2000, bodies::framings::content_length);
}

#[test]
fn event_stream() {
    run("event_stream", 2000, bodies::framings::event_stream);
}

#[test]
fn round_trip() {
    run("round_trip", 2000, bodies::round_trip::run);
}

#[test]
fn serve() {
    run("serve", 500, bodies::serve::run);
    let session: Vec<u8> = common::cases().iter().flat_map(|case| [&case.line[..], b"\n"].concat()).collect();
    for dialect in [&b"0@~~~\x07"[..], b"1@~~~~", b"2@~~~\x40", b"3@~~~~", b"4@~~~\x07", b"5@~~~\x40"] {
        bodies::serve::run(&[dialect, &session].concat());
    }
}

/// Runs a body on its seeds and on a number of mutated seeds, the same ones every time.
fn run(target: &str, mutations: usize, body: impl Fn(&[u8])) {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let mut seeds: Vec<_> = fs::read_dir(fuzz.join("corpus").join(target))
        .expect("a corpus")
        .map(|seed| seed.expect("a seed").path())
        .collect();
    seeds.sort();
    let seeds: Vec<_> = seeds.iter().map(|seed| fs::read(seed).expect("a seed")).collect();
    assert!(!seeds.is_empty(), "{target} has no seeds");
    let words = words(&fs::read_to_string(fuzz.join("json-rpc.dict")).expect("a dictionary"));

    let mut mutator = Mutator { state: 0x9e37_79b9_7f4a_7c15, seeds: &seeds, words: &words };
    for seed in &seeds {
        show_if_it_fails(seed, &body);
    }
    for _ in 0..common::times(mutations) {
        show_if_it_fails(&mutator.mutant(), &body);
    }
}

/// Runs a body on each line of the acceptance table.
fn each_line(body: impl Fn(&[u8])) {
    for case in common::cases() {
        show_if_it_fails(&case.line, &body);
    }
}

fn show_if_it_fails(data: &[u8], body: &impl Fn(&[u8])) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(data))) {
        eprintln!("failed on b\"{}\"", data.escape_ascii());
        resume_unwind(panic);
    }
}

/// The words of a dictionary in libFuzzer's format.
fn words(dictionary: &str) -> Vec<Vec<u8>> {
    let word = |line: &str| {
        let quoted = line.strip_prefix('"').and_then(|line| line.strip_suffix('"')).expect("a word in quotes");
        let mut bytes = quoted.bytes();
        let mut word = Vec::new();
        while let Some(byte) = bytes.next() {
            word.push(match (byte, bytes.clone().next()) {
                (b'\\', Some(b'x')) => {
                    let digits: String = bytes.by_ref().skip(1).take(2).map(char::from).collect();
                    u8::from_str_radix(&digits, 16).expect("two hexadecimal digits")
                }
                (b'\\', _) => bytes.next().expect("an escaped character"),
                _ => byte,
            });
        }
        word
    };
    dictionary.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(word).collect()
}

struct Mutator<'a> {
    state: u64,
    seeds: &'a [Vec<u8>],
    words: &'a [Vec<u8>],
}

impl Mutator<'_> {
    /// A number below `end`, or 0 if `end` is 0.
    fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 16) as usize % end.max(1)
    }

    fn pick<'v>(&mut self, from: &'v [Vec<u8>]) -> &'v [u8] {
        &from[self.below(from.len())]
    }

    /// A random range of at most 32 bytes.
    fn part(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len);
        start..start + self.below(33.min(len - start + 1))
    }

    fn mutant(&mut self) -> Vec<u8> {
        let mut data = self.pick(self.seeds).to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(data.len());
            match self.below(7) {
                0 if !data.is_empty() => data[at] ^= 1 << self.below(8),
                1 if !data.is_empty() => data[at] = self.below(256) as u8,
                2 => data.insert(at, self.below(256) as u8),
                3 => {
                    let part = self.part(data.len());
                    data.drain(part);
                }
                4 => {
                    let part = self.part(data.len());
                    let copy = data[part].to_vec();
                    data.splice(at..at, copy);
                }
                5 => {
                    let other = self.pick(self.seeds);
                    let part = &other[self.below(other.len())..];
                    data.truncate(at);
                    data.extend_from_slice(part);
                }
                _ => {
                    let word = self.pick(self.words);
                    data.splice(at..at, word.iter().copied());
                }
            }
        }
        data
    }
}

//! Checks mutated lines of recorded traffic in the same way as all other texts.
//!
//! ```console
//! WIRELINE_TRAFFIC=folder WIRELINE_MUTANTS=10000000 cargo test --release --lib mutated_recordings -- --ignored --nocapture
//! ```

use std::path::Path;
use std::{env, fs};

use super::check;

/// The default number of lines to check.
const MUTANTS: u64 = 1_000_000;

/// Longer lines are rarely mutated, because each takes as long as a hundred others.
const SHORT: usize = 2048;

/// Bytes that are significant in JSON, or similar to such bytes.
const BYTES: &[u8] =
    b"{}[]:,\"\\\"\\/bfnrtu0123456789+-.eE \t\n\r\x00\x0b\x0c\x1f\x7f\x80\xbf\xc3\xe2\xed\xf0\xfftruefalsn";

#[test]
#[ignore = "takes recorded traffic from the folder in WIRELINE_TRAFFIC, and WIRELINE_MUTANTS lines of it"]
fn mutated_recordings() {
    let folder = env::var_os("WIRELINE_TRAFFIC").expect("WIRELINE_TRAFFIC names a folder with *.ndjson files");
    let count =
        env::var("WIRELINE_MUTANTS").map_or(MUTANTS, |count| count.parse().expect("WIRELINE_MUTANTS is a number"));
    let seed = env::var("WIRELINE_SEED").map_or(1, |seed| seed.parse().expect("WIRELINE_SEED is a number"));
    let mut lines = Vec::new();
    collect(Path::new(&folder), &mut lines);
    assert!(!lines.is_empty(), "no lines in *.ndjson files");
    assert!(lines.iter().all(|line| check(line)), "recorded lines are JSON");
    let (short, long): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.len() <= SHORT);

    let mut random = Random(seed);
    let mut accepted = 0_u64;
    for i in 0..count {
        let from = if i % 512 == 511 && !long.is_empty() { &long } else { &short };
        let mut line = from[random.below(from.len())].clone();
        for _ in 0..=random.below(3) {
            mutate(&mut line, &mut random, &short);
        }
        accepted += u64::from(check(&line));
    }
    println!("{count} mutants of {} lines: {accepted} are JSON", lines.len());
    assert!(accepted > 0 && accepted < count);
}

fn collect(folder: &Path, lines: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            collect(&path, lines);
        } else if path.extension().is_some_and(|extension| extension == "ndjson") {
            let stream = fs::read(&path).expect("a readable file");
            lines.extend(stream.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec));
        }
    }
}

/// Changes a few bytes of `line`, or inserts some bytes of one of `others`.
fn mutate(line: &mut Vec<u8>, random: &mut Random, others: &[&Vec<u8>]) {
    let at = random.below(line.len() + 1);
    let end = (at + 1 + random.below(12)).min(line.len());
    match random.below(10) {
        0 if at < line.len() => line[at] ^= 1 << random.below(8),
        1..4 if at < line.len() => line[at] = BYTES[random.below(BYTES.len())],
        4 | 5 => line.insert(at, BYTES[random.below(BYTES.len())]),
        6 => drop(line.drain(at..end)),
        7 => {
            // Repeat a piece, which makes numbers and strings longer and duplicates members.
            let piece = line[at..end].to_vec();
            line.splice(at..at, piece);
        }
        8 => {
            let other = others[random.below(others.len())];
            let from = random.below(other.len());
            let piece = &other[from..(from + random.below(100)).min(other.len())];
            line.splice(at..end, piece.iter().copied());
        }
        _ => {
            // Insert blanks, which move everything after them to other positions in a block.
            let blanks = vec![b' '; random.below(70)];
            line.splice(at..at, blanks);
        }
    }
}

/// An xorshift64* generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((bits * limit as u64) >> 32) as usize
    }
}

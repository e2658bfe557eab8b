//! Synthetic traffic for benchmarks: the same bytes on every machine and in every run.
//!
//! A [`Corpus`] is an endless stream of valid messages of one kind, one per line. Benchmarks use the start of it, so
//! results are comparable as long as the generators don't change, which a test checks.
//!
//! ```
//! use wireline::{Decoder, Rules};
//! use wireline_corpus::{Corpus, decode};
//!
//! let lines = Corpus::Small.lines(10_000);
//! let messages = decode(&mut Decoder::new(Rules::mcp()), &lines, 4096);
//! assert_eq!(messages, 60);
//! ```

mod base64;
mod envelope;
mod numbers;
mod random;
mod session;
mod small;
mod source;
mod template;
mod text;
mod tools;

use std::hint::black_box;
use std::time::{Duration, Instant};

use wireline::Decoder;

pub use random::Random;
pub use session::session;

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corpus {
    /// Requests, notifications and responses of 170 bytes.
    Small,
    /// Tool lists of 13 KB, full of JSON Schema.
    Tools,
    /// Results of 270 KB that are one base64 string.
    Base64,
    /// Source text of 34 KB, an eighth of which is escape sequences.
    Source,
    /// Text of 5 KB that is mostly non-ASCII.
    Text,
    /// Tables of numbers of 17 KB.
    Numbers,
}

impl Corpus {
    /// All corpora.
    pub const ALL: [Self; 6] = [Self::Small, Self::Tools, Self::Base64, Self::Source, Self::Text, Self::Numbers];

    /// The name on the command line and in benchmark ids.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Tools => "tools",
            Self::Base64 => "base64",
            Self::Source => "source",
            Self::Text => "text",
            Self::Numbers => "numbers",
        }
    }

    /// The corpus with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|corpus| corpus.name() == name)
    }

    /// The first lines of the corpus: as many as it takes to reach `bytes`, and at least one.
    pub fn lines(self, bytes: usize) -> Vec<u8> {
        let line = match self {
            Self::Small => small::line,
            Self::Tools => tools::line,
            Self::Base64 => base64::line,
            Self::Source => source::line,
            Self::Text => text::line,
            Self::Numbers => numbers::line,
        };
        let mut random = Random::new(2026);
        let mut lines = Vec::new();
        loop {
            lines.extend_from_slice(line(&mut random).as_bytes());
            lines.push(b'\n');
            if lines.len() >= bytes {
                return lines;
            }
        }
    }
}

/// Feeds `stream` to `decoder` in pieces of `piece` bytes, and returns the number of frames.
///
/// # Panics
///
/// Panics if a line is faulty.
pub fn decode(decoder: &mut Decoder, stream: &[u8], piece: usize) -> u64 {
    let mut messages = 0;
    for piece in stream.chunks(piece) {
        decoder.feed(piece);
        while let Some(frame) = decoder.next_frame() {
            if let Err(fault) = black_box(&frame) {
                panic!("{fault:?}");
            }
            messages += 1;
        }
    }
    messages
}

/// The time for `wanted` items, where one `pass` processes `items` of them.
///
/// With criterion's `iter_custom`, one iteration is one item, so that criterion reports the time per item:
/// `bencher.iter_custom(|wanted| time_items(wanted, items, || …))`.
pub fn time_items(wanted: u64, items: u64, mut pass: impl FnMut()) -> Duration {
    let passes = wanted.div_ceil(items);
    let start = Instant::now();
    for _ in 0..passes {
        pass();
    }
    start.elapsed().mul_f64(wanted as f64 / (passes * items) as f64)
}

#[cfg(test)]
mod tests {
    use wireline::Rules;
    use wireline_json::Cpu;

    use super::*;

    /// Enough lines for averages to be stable.
    fn sample(corpus: Corpus) -> Vec<u8> {
        corpus.lines(if corpus == Corpus::Base64 { 16 << 20 } else { 2 << 20 })
    }

    fn count(lines: &[u8]) -> usize {
        lines.iter().filter(|&&byte| byte == b'\n').count()
    }

    #[test]
    fn every_line_is_valid() {
        for corpus in Corpus::ALL {
            let lines = sample(corpus);
            for rules in [Rules::json_rpc(), Rules::mcp()] {
                for cpu in Cpu::available() {
                    let messages = cpu.run(|| decode(&mut Decoder::new(rules), &lines, 1 << 16));
                    assert_eq!(messages, count(&lines) as u64, "{corpus:?}");
                }
            }
            // An independent parser must agree.
            for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                assert!(serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok(), "{corpus:?}");
            }
        }
    }

    /// Results from before and after a change of these hashes are not comparable.
    #[test]
    fn corpora_do_not_change() {
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let hashes = Corpus::ALL.map(|corpus| corpus.lines(1 << 20).iter().fold(0xcbf2_9ce4_8422_2325, fnv));
        let expected = [
            0x9f67_8b8a_a31d_e1b8,
            0x8d4f_8ad6_b054_2874,
            0x6314_7797_f4b3_a570,
            0xe76d_931c_8fc4_6f5f,
            0x26c8_2055_cc07_3f48,
            0x4ac2_9853_8769_16f5,
        ];
        assert_eq!(hashes, expected, "{hashes:#x?}");
    }

    #[test]
    fn messages_have_the_documented_size() {
        let expected = [170, 13_000, 270_000, 34_000, 5_000, 17_000];
        for (corpus, expected) in Corpus::ALL.into_iter().zip(expected) {
            let lines = sample(corpus);
            let average = lines.len() / count(&lines);
            assert!(average.abs_diff(expected) <= expected / 10, "{corpus:?}: {average}");
        }
    }

    #[test]
    fn an_eighth_of_source_text_is_escapes() {
        let lines = sample(Corpus::Source);
        let (mut escapes, mut at) = (0, 0);
        while at < lines.len() {
            let len = match lines[at..] {
                [b'\\', b'u', ..] => 6,
                [b'\\', ..] => 2,
                _ => 0,
            };
            escapes += len;
            at += len.max(1);
        }
        let share = escapes as f64 / lines.len() as f64;
        assert!((0.10..0.15).contains(&share), "{share}");
    }

    #[test]
    fn most_text_is_non_ascii() {
        let lines = sample(Corpus::Text);
        assert!(lines.iter().filter(|byte| !byte.is_ascii()).count() > lines.len() / 2);
    }

    #[test]
    fn items_are_timed_in_proportion() {
        let mut passes = 0;
        let time = time_items(25, 10, || {
            passes += 1;
            std::thread::sleep(Duration::from_millis(1));
        });
        assert_eq!(passes, 3);
        assert!(time >= Duration::from_micros(2_500));
    }
}

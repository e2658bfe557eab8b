//! [`RawJson::deserialize`] beside serde_json and simd-json.
//!
//! The payload is a typed text of 100 bytes to 1 MB, with no escapes to one in eight bytes. Two tables at the end
//! summarise the results. `as_str` decodes only the text.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{self, Display};
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde::Deserialize;
use simd_json::Buffers;
use wireline::{Frame, Message, RawJson, Response, Rules};
use wireline_corpus::Random;

const SIZES: [usize; 7] = [100, 300, 1_000, 3_000, 10_000, 100_000, 1_000_000];

const DENSITIES: [Density; 5] =
    [Density(None), Density(Some(200)), Density(Some(64)), Density(Some(32)), Density(Some(8))];

/// The mean number of bytes per escape, or `None` for no escapes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Density(Option<usize>);

impl Density {
    /// The distance to the next escape: irregular, as in real text.
    fn distance(self, random: &mut Random) -> usize {
        self.0.map_or(usize::MAX, |mean| random.between(2, 2 * mean - 2))
    }
}

impl Display for Density {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(bytes) => write!(f, "1-in-{bytes}"),
            None => f.write_str("none"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Contender {
    SerdeJson,
    SimdJson,
    Wireline,
}

impl Contender {
    fn name(self) -> &'static str {
        match self {
            Self::SerdeJson => "serde_json",
            Self::SimdJson => "simd-json",
            Self::Wireline => "wireline",
        }
    }
}

#[derive(Deserialize)]
struct ToolResult {
    content: Vec<Content>,
    #[serde(rename = "isError")]
    is_error: bool,
}

#[derive(Deserialize)]
struct Content {
    #[serde(rename = "type")]
    kind: String,
    text: String,
}

fn deserialize(criterion: &mut Criterion) {
    let best = Best::default();
    for density in DENSITIES {
        let mut group = criterion.benchmark_group(format!("deserialize/{density}"));
        for size in SIZES {
            let messages = messages(size, density);
            group.throughput(Throughput::BytesDecimal(size as u64));

            let mut bench = |contender: Contender, decode: &mut dyn FnMut(RawJson<'_>) -> ToolResult| {
                let mut messages = messages.iter().cycle();
                let mut once = || {
                    let Some((message, text_len)) = messages.next() else { return };
                    let result = decode(message.result().expect("a result"));
                    assert!(!result.is_error && result.content[0].kind == "text");
                    assert_eq!(result.content[0].text.len(), *text_len);
                };
                group.bench_function(format!("{size}/{}", contender.name()), |bencher| {
                    bencher.iter_custom(|times| best.time((size, density, contender), times, &mut once));
                });
            };
            bench(Contender::SerdeJson, &mut |json| serde_json::from_str(json.as_json()).expect("types match"));

            let mut reused = Reused::default();
            bench(Contender::SimdJson, &mut |json| reused.deserialize(json));

            bench(Contender::Wireline, &mut |json| json.deserialize().expect("types match"));
        }
        group.finish();
    }
    println!("{best}");
}

fn as_str(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("as_str");
    for density in DENSITIES {
        for size in SIZES {
            let texts = messages(size, density);
            let texts: Vec<(RawJson<'_>, usize)> = texts
                .iter()
                .map(|(message, len)| {
                    (message.result().and_then(|it| it.pointer("/content/0/text")).expect("a text"), *len)
                })
                .collect();
            group.throughput(Throughput::BytesDecimal(size as u64));
            group.bench_function(format!("{size}/{density}"), |bencher| {
                let mut texts = texts.iter().cycle();
                bencher.iter(|| {
                    let Some((text, len)) = texts.next() else { return };
                    assert_eq!(text.as_str().map(|text| text.len()), Some(*len));
                });
            });
        }
    }
    group.finish();
}

/// simd-json on a copy, which it overwrites, and with reused buffers.
#[derive(Default)]
struct Reused {
    text: Vec<u8>,
    buffers: Buffers,
}

impl Reused {
    fn deserialize(&mut self, json: RawJson<'_>) -> ToolResult {
        self.text.clear();
        self.text.extend_from_slice(json.as_bytes());
        let tape = simd_json::to_tape_with_buffers(&mut self.text, &mut self.buffers).expect("valid JSON");
        tape.deserialize().expect("types match")
    }
}

/// Messages of one size, enough of them that the branch predictor can't memorise them.
fn messages(size: usize, density: Density) -> Vec<(Response<'static>, usize)> {
    let mut random = Random::new(size as u64);
    (0..(300_000 / size).max(1)).map(|_| message(size, density, &mut random)).collect()
}

/// A response whose result is `size` or `size + 1` bytes long, and the length of its decoded text.
fn message(size: usize, density: Density, random: &mut Random) -> (Response<'static>, usize) {
    let (head, tail) = (r#"{"content":[{"type":"text","text":""#, r#""}],"isError":false}"#);
    let wanted = size - head.len() - tail.len();
    let (mut text, mut escapes) = (String::new(), 0);
    let mut next = density.distance(random);
    while text.len() < wanted {
        if text.len() < next {
            text.push_str(random.pick(&["a", "e", "n", "s", " ", ";"]));
        } else {
            text.push_str(random.pick(&[r"\n", r"\n", r#"\""#, r"\\", r"\t"]));
            next += density.distance(random);
            escapes += 1;
        }
    }
    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{head}{text}{tail}}}"#);
    match Frame::parse(line.as_bytes(), &Rules::mcp()).map(Frame::into_owned) {
        Ok(Frame::Message(Message::Response(response))) => (response, text.len() - escapes),
        other => panic!("not a response: {other:?}"),
    }
}

/// The best time of each case, in nanoseconds.
#[derive(Default)]
struct Best(RefCell<HashMap<(usize, Density, Contender), f64>>);

impl Best {
    /// Measures `times` calls of `once`, and records the time per call if it is the best so far.
    fn time(&self, key: (usize, Density, Contender), times: u64, mut once: impl FnMut()) -> Duration {
        let start = Instant::now();
        for _ in 0..times {
            once();
        }
        let elapsed = start.elapsed();
        // Shorter measurements cover only a few messages, which may be faster than the average.
        if elapsed >= Duration::from_millis(1) {
            let mut best = self.0.borrow_mut();
            let nanoseconds = best.entry(key).or_insert(f64::INFINITY);
            *nanoseconds = nanoseconds.min(elapsed.as_secs_f64() * 1e9 / times as f64);
        }
        elapsed
    }

    /// The best time, or NaN if it wasn't measured.
    fn of(&self, size: usize, density: Density, contender: Contender) -> f64 {
        self.0.borrow().get(&(size, density, contender)).copied().unwrap_or(f64::NAN)
    }

    fn table(&self, f: &mut fmt::Formatter<'_>, title: &str, cell: impl Fn(usize, Density) -> f64) -> fmt::Result {
        write!(f, "{title}\n\n{:>10}", "bytes")?;
        for density in DENSITIES {
            write!(f, "{:>10}", density.to_string())?;
        }
        for size in SIZES {
            write!(f, "\n{size:>10}")?;
            for density in DENSITIES {
                write!(f, "{:>10.2}", cell(size, density))?;
            }
        }
        f.write_str("\n\n")
    }
}

impl Display for Best {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table(f, "Time of simd-json relative to serde_json, by payload size and escapes:", |size, density| {
            self.of(size, density, Contender::SimdJson) / self.of(size, density, Contender::SerdeJson)
        })?;
        self.table(f, "Time of wireline relative to the faster of the two:", |size, density| {
            let [serde_json, simd_json, wireline] = [Contender::SerdeJson, Contender::SimdJson, Contender::Wireline]
                .map(|contender| self.of(size, density, contender));
            wireline / serde_json.min(simd_json)
        })
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(200))
        .sample_size(20)
        .nresamples(1_000);
    targets = deserialize, as_str
}
criterion_main!(benches);

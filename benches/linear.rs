//! The cost of decoding byte by byte, and of discarding a line that exceeds the limit.
//!
//! The cost of a byte must not depend on how much of its line is buffered already. So `byte-by-byte` should have the
//! same throughput for 1 MiB and for 16 MiB, and cost at most a constant more per byte than larger pieces.

use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use wireline::{Decoder, FaultKind, Rules};
use wireline_corpus::{Corpus, decode};

const MIB: usize = 1 << 20;

/// Criterion reports MB/s; 1000 divided by that is nanoseconds per byte.
fn pieces(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("linear");
    group.sampling_mode(SamplingMode::Flat);
    for mib in [1, 16] {
        let line = line(mib * MIB);
        group.throughput(Throughput::BytesDecimal(line.len() as u64));
        for (name, piece) in [("byte-by-byte", 1), ("4KiB-chunks", 4096), ("one-piece", line.len())] {
            let mut decoder = Decoder::new(Rules::json_rpc());
            group.bench_function(format!("{name}/{mib}MiB"), |bencher| {
                bencher.iter(|| assert_eq!(decode(&mut decoder, &line, piece), 1));
            });
        }
    }
    group.finish();
}

/// Discards a line of about 64 MiB as it arrives, and still finds the id at its end.
fn discard(criterion: &mut Criterion) {
    const LEN: usize = 64 * MIB;
    const CHUNK: usize = 64 << 10;

    let mut group = criterion.benchmark_group("linear/discard");
    group.sampling_mode(SamplingMode::Flat);
    for corpus in [Corpus::Base64, Corpus::Tools] {
        // A result with many elements: line feeds become commas.
        let mut elements = corpus.lines(MIB);
        elements.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b',');

        let mut decoder = Decoder::new(Rules::json_rpc());
        let mut pass = || {
            decoder.feed(br#"{"result":["#);
            for _ in 0..LEN / elements.len() {
                for chunk in elements.chunks(CHUNK) {
                    decoder.feed(chunk);
                    assert!(decoder.next_frame().is_none());
                }
            }
            decoder.feed(b"0],\"jsonrpc\":\"2.0\",\"id\":7}\n");
            let Some(Err(fault)) = decoder.next_frame() else { panic!("a line of 64 MiB was accepted") };
            assert_eq!(fault.kind(), FaultKind::LineTooLong);
            assert_eq!(fault.id().and_then(|id| id.as_i64()), Some(7));
        };
        let len = LEN / elements.len() * elements.len();
        group.throughput(Throughput::BytesDecimal(len as u64));
        group.bench_function(corpus.name(), |bencher| bencher.iter(&mut pass));
    }
    group.finish();
}

/// A line of `len` bytes, including its line feed.
fn line(len: usize) -> Vec<u8> {
    let (head, tail) = (r#"{"jsonrpc":"2.0","method":"log","params":{"text":""#, "\"}}\n");
    let text = "x".repeat(len - head.len() - tail.len());
    [head, &text, tail].concat().into_bytes()
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .sample_size(10)
        .nresamples(10_000);
    targets = pieces, discard
}
criterion_main!(benches);

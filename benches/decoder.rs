//! Decodes each corpus with a [`Decoder`]: in one piece with each scanner kernel that this CPU can run, and in chunks,
//! as a reader would feed it, with the best kernel; the latter also in the other framings.
//!
//! One iteration is one message. The time includes copying it into the decoder.

use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use wireline::{Decoder, Encoder, Framing, Rules};
use wireline_corpus::{Corpus, decode, time_items};
use wireline_json::Cpu;

const STREAM: usize = 1 << 20;
const CHUNK: usize = 64 << 10;

fn decoder(criterion: &mut Criterion) {
    for corpus in Corpus::ALL {
        let stream = corpus.lines(STREAM);
        let mut group = criterion.benchmark_group(format!("decoder/{}", corpus.name()));
        for cpu in Cpu::available() {
            let name = format!("{cpu:?}").to_lowercase();
            cpu.run(|| bench(&mut group, &name, Framing::Lines, &stream, stream.len()));
        }
        for &framing in Framing::ALL {
            let name =
                if framing == Framing::Lines { "64KiB-chunks".into() } else { format!("64KiB-chunks/{framing}") };
            bench(&mut group, &name, framing, &stream, CHUNK);
        }
        group.finish();
    }
}

fn bench(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, framing: Framing, lines: &[u8], piece: usize) {
    let messages = lines.iter().filter(|&&byte| byte == b'\n').count() as u64;
    group.throughput(Throughput::BytesDecimal(lines.len() as u64 / messages));
    let mut encoder = Encoder::new(Rules::json_rpc()).framing(framing);
    for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        encoder.raw(line).expect("a valid message");
    }
    let stream = &encoder.take()[..];
    let mut decoder = Decoder::new(Rules::json_rpc()).framing(framing);
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|wanted| {
            time_items(wanted, messages, || assert_eq!(decode(&mut decoder, stream, piece), messages))
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .nresamples(10_000);
    targets = decoder
}
criterion_main!(benches);

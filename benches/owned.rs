//! The cost of [`Frame::into_owned`](wireline::Frame::into_owned) on the small corpus: frames are borrowed, made owned
//! and dropped at once, or made owned and kept until the next read; and the cost of moving requests out of frames.
//!
//! One iteration is one message, so the difference between two times is the cost per message.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wireline::{Decoder, Frame, Message, Request, Rules};
use wireline_corpus::{Corpus, time_items};

/// The size of a typical read.
const READ: usize = 64 << 10;

fn owned(criterion: &mut Criterion) {
    let read = Corpus::Small.lines(READ);
    let messages = read.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let mut decoder = Decoder::new(Rules::json_rpc());
    let mut kept = Vec::with_capacity(messages as usize);

    let mut group = criterion.benchmark_group("owned");
    group.throughput(Throughput::BytesDecimal(read.len() as u64 / messages));
    group.bench_function("borrowed", |bencher| {
        bencher.iter_custom(|wanted| {
            time_items(wanted, messages, || {
                let seen = each(&mut decoder, &read, |frame| drop(black_box(frame)));
                assert_eq!(seen, messages);
            })
        });
    });
    group.bench_function("owned", |bencher| {
        bencher.iter_custom(|wanted| {
            time_items(wanted, messages, || {
                let seen = each(&mut decoder, &read, |frame| drop(black_box(frame.into_owned())));
                assert_eq!(seen, messages);
            })
        });
    });
    group.bench_function("owned-and-kept", |bencher| {
        bencher.iter_custom(|wanted| {
            time_items(wanted, messages, || {
                let seen = each(&mut decoder, &read, |frame| kept.push(frame.into_owned()));
                assert_eq!(seen, messages);
                kept.clear();
            })
        });
    });
    group.finish();
}

/// Ways to get at a request: behind a reference, moved out of its frame in one pattern, and in two steps.
fn moved(criterion: &mut Criterion) {
    let read = Corpus::Small.lines(READ);
    let messages = read.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let mut group = criterion.benchmark_group("moved");
    let mut bench = |name: &str, pass: fn(&mut Decoder) -> u64| {
        let mut decoder = Decoder::new(Rules::json_rpc());
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|wanted| {
                time_items(wanted, messages, || {
                    decoder.feed(&read);
                    assert_eq!(pass(&mut decoder), messages);
                })
            });
        });
    };
    bench("reference", |decoder| {
        let mut frames = 0;
        while let Some(frame) = decoder.next_frame() {
            match &frame {
                Ok(Frame::Message(Message::Request(request))) => look(request),
                Ok(_) => {}
                Err(fault) => panic!("{fault}"),
            }
            frames += 1;
        }
        frames
    });
    bench("pattern", |decoder| {
        let mut frames = 0;
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Ok(Frame::Message(Message::Request(request))) => look(&request),
                Ok(_) => {}
                Err(fault) => panic!("{fault}"),
            }
            frames += 1;
        }
        frames
    });
    bench("let-else", |decoder| {
        let mut frames = 0;
        while let Some(frame) = decoder.next_frame() {
            let Ok(frame) = frame else { panic!("a generated line is valid") };
            if let Frame::Message(Message::Request(request)) = frame {
                look(&request);
            }
            frames += 1;
        }
        frames
    });
    group.finish();
}

#[inline(always)]
fn look(request: &Request<'_>) {
    black_box((request.id().as_json(), request.method(), request.params().map(|params| params.as_bytes().len())));
}

/// Feeds `read`, passes each frame to `take`, and returns the number of frames.
fn each(decoder: &mut Decoder, read: &[u8], mut take: impl FnMut(Frame<'_>)) -> u64 {
    let mut frames = 0;
    decoder.feed(read);
    while let Some(frame) = decoder.next_frame() {
        take(frame.expect("a generated line is valid"));
        frames += 1;
    }
    frames
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .nresamples(10_000);
    targets = owned, moved
}
criterion_main!(benches);

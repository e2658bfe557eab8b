//! Encoding and relaying, compared with serde_json.
//!
//! - `encode`: a typed payload, against `serde_json::to_writer` of the whole message and a line feed into a reused
//!   buffer.
//! - `relay`: decoding and [`with_id`](wireline::Encoder::forward_with_id), against a round trip through serde_json's `Value`.
//!
//! One iteration is one message.

use std::hint::black_box;
use std::time::Duration;

use bytes::BytesMut;
use criterion::{Criterion, criterion_group, criterion_main};
use serde::Serialize;
use serde_json::Value;
use wireline::{Decoder, Encoder, Frame, Id, Message, Rules};
use wireline_corpus::{Corpus, time_items};

/// A typical tool result.
#[derive(Serialize)]
struct ToolResult {
    content: Vec<Content>,
    #[serde(rename = "isError")]
    is_error: bool,
}

#[derive(Serialize)]
struct Content {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
}

/// The result in its envelope, for serde_json.
#[derive(Serialize)]
struct Envelope<'a> {
    jsonrpc: &'static str,
    id: u64,
    result: &'a ToolResult,
}

fn encode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode");
    for (name, len) in [("small", 60), ("1-KB", 1 << 10), ("30-KB", 30 << 10)] {
        let text = "line of text with \"quotes\" and\n".chars().cycle().take(len).collect();
        let result = ToolResult { content: vec![Content { kind: "text", text }], is_error: false };
        let mut buffer = Vec::new();
        group.bench_function(format!("serde_json/{name}"), |bencher| {
            bencher.iter(|| {
                buffer.clear();
                let message = Envelope { jsonrpc: "2.0", id: black_box(17), result: black_box(&result) };
                serde_json::to_writer(&mut buffer, &message).expect("it serializes");
                buffer.push(b'\n');
                black_box(buffer.len())
            });
        });
        let mut encoder = Encoder::new(Rules::mcp());
        let id = Id::from(17);
        group.bench_function(format!("wireline/{name}"), |bencher| {
            bencher.iter(|| {
                encoder.clear();
                encoder.response(black_box(&id), black_box(&result)).expect("it serializes");
                black_box(encoder.as_bytes().len())
            });
        });
        assert_eq!(encoder.as_bytes(), &buffer[..], "both write the same line");
    }
    group.finish();
}

fn relay(criterion: &mut Criterion) {
    let read = Corpus::Small.lines(64 << 10);
    let messages = read.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let mut group = criterion.benchmark_group("relay");
    group.bench_function("serde_json-value", |bencher| {
        let mut out = Vec::new();
        bencher.iter_custom(|wanted| {
            time_items(wanted, messages, || {
                out.clear();
                for line in read.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                    let mut message: Value = serde_json::from_slice(line).expect("a generated line is valid");
                    if let Some(id) = message.get_mut("id") {
                        *id = Value::from(17);
                    }
                    serde_json::to_writer(&mut out, &message).expect("it serializes");
                    out.push(b'\n');
                }
                black_box(&out);
            })
        });
    });
    group.bench_function("wireline", |bencher| {
        let mut decoder = Decoder::new(Rules::json_rpc());
        let mut out = BytesMut::new();
        let id = Id::from(17);
        bencher.iter_custom(|wanted| {
            time_items(wanted, messages, || {
                out.clear();
                let mut encoder = Encoder::append_to(&mut out, Rules::json_rpc());
                decoder.feed(&read);
                while let Some(frame) = decoder.next_frame() {
                    let Ok(Frame::Message(message)) = frame else { panic!("a generated line is valid") };
                    let sent = match message {
                        Message::Request(_) | Message::Response(_) => encoder.forward_with_id(&message, &id),
                        Message::Notification(_) => encoder.forward(&message),
                    };
                    sent.expect("a decoded message can be forwarded");
                }
                black_box(&out);
            })
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .nresamples(10_000);
    targets = encode, relay
}
criterion_main!(benches);

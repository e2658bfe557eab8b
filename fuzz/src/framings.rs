//! Framings other than lines agree with naive models, however the stream is chunked.

use wireline::Framing;
use wireline_json::Cpu;

use super::common::framings::check;
use super::input::{Choices, Settings};

/// Messages after headers with their length.
pub fn content_length(data: &[u8]) {
    run(Framing::ContentLength, data);
}

/// Server-sent events.
pub fn event_stream(data: &[u8]) {
    run(Framing::EventStream, data);
}

fn run(framing: Framing, data: &[u8]) {
    let mut choices = Choices::new(data);
    let rules = Settings::choose(&mut choices).rules();
    let sizes = [(); 3].map(|()| usize::from(choices.byte()).max(1));
    let stream = choices.rest();
    let mut pieces = Vec::new();
    let mut rest = stream;
    for size in sizes.into_iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    for kernel in Cpu::available() {
        kernel.run(|| check(rules, framing, stream, [stream]));
    }
    // Where a text ends doesn't depend on the kernel.
    check(rules, framing, stream, stream.chunks(1));
    check(rules, framing, stream, pieces);
}

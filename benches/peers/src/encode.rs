//! Encoding: a typed result and its envelope are written as a line into a reused buffer.

use std::hint::black_box;
use std::time::Duration;

use serde::Serialize;
use wireline::{Encoder, Id, Rules};

use crate::comparison::{Comparison, Part, Row};
use crate::progress::Progress;
use crate::rounds::{self, Best, Runner};

/// The length of a result's text in bytes, before escaping.
const SIZES: [(&str, usize); 2] = [("a small result", 60), ("a large text", 30 << 10)];

/// The number of bytes that are timed at once.
const PASS: usize = 128 << 10;

const ID: i64 = 17;

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

/// The result in its envelope, for serializers that don't write one.
#[derive(Serialize)]
struct Envelope<'a> {
    jsonrpc: &'static str,
    id: i64,
    result: &'a ToolResult,
}

/// One comparison for each size.
pub(crate) fn compare(time: Duration) -> Vec<Comparison> {
    SIZES.into_iter().map(|(name, len)| compare_size(name, len, time)).collect()
}

fn compare_size(title: &str, len: usize, time: Duration) -> Comparison {
    let text = "line of text with \"quotes\" and\n".chars().cycle().take(len).collect();
    let result = ToolResult { content: vec![Content { kind: "text", text }], is_error: false };
    let mut writers = writers();
    let line = writers[0].write.line(&result).to_vec();
    for Writer { name, write, .. } in &mut writers {
        assert!(write.line(&result) == line, "{name} writes a different line");
    }
    let messages = PASS.div_ceil(line.len()) as u64;

    let mut runners: Vec<Runner<'_>> = Vec::new();
    for Writer { write, .. } in &mut writers {
        let result = &result;
        runners.push(Box::new(move |_| {
            for _ in 0..messages {
                black_box(write.line(black_box(result)));
            }
        }));
    }
    let Best { times, rounds } = rounds::best(&mut runners, 1, time, &Progress::of(&format!("encoding {title}")));
    drop(runners);
    let rows = writers.iter().zip(times).map(|(writer, time)| Row::new(writer.name, writer.part, Some(time)));
    Comparison {
        title: title.to_owned(),
        messages,
        bytes: messages * line.len() as u64,
        rounds,
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// One way of writing a result.
struct Writer {
    name: &'static str,
    part: Part,
    write: Box<dyn Write>,
}

trait Write {
    /// Encodes `result` as a line.
    fn line(&mut self, result: &ToolResult) -> &[u8];
}

fn writers() -> Vec<Writer> {
    let peer = |name, to_writer| Writer {
        name,
        part: Part::Peer,
        write: Box::new(Serializing { buffer: Vec::new(), to_writer }),
    };
    vec![
        Writer {
            name: "wireline",
            part: Part::Subject,
            write: Box::new(Encoding { encoder: Encoder::new(Rules::json_rpc()), id: Id::from(ID) }),
        },
        peer("simd-json", |buffer, message| simd_json::to_writer(buffer, message).expect("it serializes")),
        peer("sonic-rs", |buffer, message| sonic_rs::to_writer(buffer, message).expect("it serializes")),
        peer("serde_json", |buffer, message| serde_json::to_writer(buffer, message).expect("it serializes")),
    ]
}

/// [`Encoder::response`], which writes a whole line that passes the rules, or nothing.
struct Encoding {
    encoder: Encoder,
    id: Id<'static>,
}

impl Write for Encoding {
    fn line(&mut self, result: &ToolResult) -> &[u8] {
        self.encoder.clear();
        self.encoder.response(&self.id, result).expect("it serializes");
        self.encoder.as_bytes()
    }
}

/// A serializer for the whole message, and a line feed.
struct Serializing {
    buffer: Vec<u8>,
    to_writer: fn(&mut Vec<u8>, &Envelope<'_>),
}

impl Write for Serializing {
    fn line(&mut self, result: &ToolResult) -> &[u8] {
        self.buffer.clear();
        (self.to_writer)(&mut self.buffer, &Envelope { jsonrpc: "2.0", id: ID, result });
        self.buffer.push(b'\n');
        &self.buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_takes_part() {
        for comparison in compare(Duration::ZERO) {
            assert_eq!(comparison.rows.iter().filter(|row| row.time.is_some()).count(), 4);
            assert!(comparison.bytes >= PASS as u64);
        }
    }
}

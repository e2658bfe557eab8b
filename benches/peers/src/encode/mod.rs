//! Encoding: a typed result and its envelope are written as a line into a reused buffer.

mod results;

use std::hint::black_box;
use std::time::Duration;

use serde::Serialize;
use wireline::{Encoder, Id, Rules};

use crate::comparison::{Comparison, Part, Row};
use crate::progress::Progress;
use crate::rounds::{self, Best, Runner};

/// What is written between two looks at the clock, in bytes.
const PASS: usize = 128 << 10;

const ID: i64 = 17;

/// A result with its envelope, for those who know of none.
#[derive(Serialize)]
struct Envelope<'a, T> {
    jsonrpc: &'static str,
    id: i64,
    result: &'a T,
}

/// One comparison for each sort of result.
pub(crate) fn compare(time: Duration) -> Vec<Comparison> {
    vec![
        compare_result("a small result", &results::escapes(60), time),
        compare_result("text with escapes", &results::escapes(30 << 10), time),
        compare_result("source", &results::source(), time),
        compare_result("long plain text", &results::plain(30 << 10), time),
        compare_result("base64", &results::base64(), time),
        compare_result("text beyond ASCII", &results::beyond_ascii(), time),
        compare_result("short strings", &results::short_strings(), time),
        compare_result("integers", &results::integers(), time),
        compare_result("integers of any length", &results::any_integers(), time),
        compare_result("floats with three decimals", &results::rounded_floats(), time),
        compare_result("floats of any bits", &results::any_floats(), time),
        compare_result("a tool list of structs", &results::tool_list(), time),
        compare_result("a tool list as a Value", &results::tool_value(), time),
    ]
}

fn compare_result<T: Serialize + 'static>(title: &str, result: &T, time: Duration) -> Comparison {
    let mut writers = writers();
    let line = writers[0].write.line(result).to_vec();
    for Writer { name, write, .. } in &mut writers {
        assert!(same(write.line(result), &line), "{name} writes something else for {title}");
    }
    let messages = PASS.div_ceil(line.len()) as u64;

    let mut runners: Vec<Runner<'_>> = Vec::new();
    for Writer { write, .. } in &mut writers {
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

/// Whether two lines say the same. They are spelled the same but for floats, which simd-json prints in a way of its own.
fn same(one: &[u8], other: &[u8]) -> bool {
    let value = |line| serde_json::from_slice::<serde_json::Value>(line).expect("it is JSON");
    one == other || value(one) == value(other)
}

/// One way of writing a result.
struct Writer<T> {
    name: &'static str,
    part: Part,
    write: Box<dyn Write<T>>,
}

trait Write<T> {
    /// The line that `result` becomes.
    fn line(&mut self, result: &T) -> &[u8];
}

fn writers<T: Serialize + 'static>() -> Vec<Writer<T>> {
    let peer = |name, to_writer| Writer::<T> {
        name,
        part: Part::Peer,
        write: Box::new(Serializing::<T> { buffer: Vec::new(), to_writer }),
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
    encoder: Encoder<'static>,
    id: Id<'static>,
}

impl<T: Serialize> Write<T> for Encoding {
    fn line(&mut self, result: &T) -> &[u8] {
        self.encoder.clear();
        self.encoder.response(&self.id, result).expect("it serializes");
        self.encoder.as_bytes()
    }
}

/// A serializer of whatever it is given, and a line end.
struct Serializing<T> {
    buffer: Vec<u8>,
    to_writer: fn(&mut Vec<u8>, &Envelope<'_, T>),
}

impl<T: Serialize> Write<T> for Serializing<T> {
    fn line(&mut self, result: &T) -> &[u8] {
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

    #[test]
    fn lines_that_differ_are_noticed() {
        assert!(same(b"[1.0,2]", b"[1.0,2]") && same(b"[1e2]", b"[100.0]"));
        assert!(!same(b"[1.0,2]", b"[1.0,3]") && !same(b"[1.0]", b"[\"1.0\"]"));
    }
}

//! Decoding payloads into types and into dynamic values: params and results of several sizes, from text that has been
//! checked.
//!
//! wireline and serde_json get a `&str`, as a handler has it. simd-json needs a copy that it may change, and sonic-rs
//! takes bytes; both validate as they go.

use std::hint::black_box;
use std::mem;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use simd_json::{Buffers, INPUT_PADDING, Tape};
use wireline::RawJson;
use wireline::dom::Parser;
use wireline_corpus::Corpus as Generated;

use crate::comparison::{Comparison, Part, Row};
use crate::contenders::lines;
use crate::progress::Progress;
use crate::rounds::{self, Best, Runner};

/// What is decoded between two looks at the clock, in bytes.
const PASS: usize = 128 << 10;

const VALID: &str = "the payload has the type";

/// One comparison for each sort of payload.
pub(crate) fn compare(time: Duration) -> Vec<Comparison> {
    let text = |len| "A line of text with \"quotes\" and a line break.\n".chars().cycle().take(len).collect::<String>();
    let result = |len| json!({"content": [{"type": "text", "text": text(len)}], "isError": false}).to_string();
    let tools = lines(&Generated::Tools.lines(PASS)).next().map(payload).expect("there is a line");
    let numbers = lines(&Generated::Numbers.lines(PASS)).next().map(payload).expect("there is a line");
    vec![
        compare_payload::<(i64, i64)>("two integers", "[1024,7]", time),
        compare_payload::<Call>(
            "params of a call",
            r#"{"name":"search","arguments":{"query":"wire","limit":10}}"#,
            time,
        ),
        compare_payload::<ToolResult>("a result of text", &result(200), time),
        compare_payload::<ToolResult>("a result of text", &result(2_000), time),
        compare_payload::<ToolResult>("a result of text", &result(50_000), time),
        compare_payload::<ToolList>("a tool list of structs", &tools, time),
        compare_payload::<Value>("a tool list as a Value", &tools, time),
        compare_payload::<Value>("numbers as a Value", &numbers, time),
        compare_dynamic(
            "params of a call, dynamic",
            r#"{"name":"search","arguments":{"query":"wire","limit":10}}"#,
            time,
        ),
        compare_dynamic("a result of text, dynamic", &result(2_000), time),
        compare_dynamic("a tool list, dynamic", &tools, time),
        compare_dynamic("numbers, dynamic", &numbers, time),
    ]
}

/// The params or the result of a message.
fn payload(line: &[u8]) -> String {
    let message: Value = serde_json::from_slice(line).expect("a generated line is JSON");
    message.get("params").or_else(|| message.get("result")).expect("it has a payload").to_string()
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded and dropped")]
struct Call {
    name: String,
    arguments: Arguments,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded and dropped")]
struct Arguments {
    query: String,
    limit: u32,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded and dropped")]
struct ToolResult {
    content: Vec<Content>,
    #[serde(rename = "isError")]
    is_error: bool,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded and dropped")]
struct Content {
    #[serde(rename = "type")]
    kind: String,
    text: String,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded and dropped")]
struct ToolList {
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded and dropped")]
struct Tool {
    name: String,
    description: Option<String>,
    #[serde(rename = "inputSchema")]
    input_schema: Value,
}

fn compare_payload<T: DeserializeOwned>(title: &str, json: &str, time: Duration) -> Comparison {
    let raw = RawJson::parse(json.as_bytes()).expect("it is JSON");
    let (mut copy, mut buffers) = (Vec::new(), Buffers::default());
    let times = PASS.div_ceil(json.len());
    let runners: Vec<(&str, Part, Runner<'_>)> = vec![
        ("wireline", Part::Subject, repeat(times, || raw.deserialize::<T>().expect(VALID))),
        ("serde_json", Part::Peer, repeat(times, || serde_json::from_str::<T>(black_box(json)).expect(VALID))),
        (
            "simd-json",
            Part::Peer,
            repeat(times, || {
                copy.clear();
                copy.extend_from_slice(json.as_bytes());
                simd_json::serde::from_slice_with_buffers::<T>(&mut copy, &mut buffers).expect(VALID)
            }),
        ),
        ("sonic-rs", Part::Peer, repeat(times, || sonic_rs::from_str::<T>(black_box(json)).expect(VALID))),
    ];
    compare_runners(title, json, times, time, runners)
}

/// Everybody's values for texts of unknown types. simd-json by hand has the same buffers as `Parser`, but not its
/// corrections.
fn compare_dynamic(title: &str, json: &str, time: Duration) -> Comparison {
    let raw = RawJson::parse(json.as_bytes()).expect("it is JSON");
    let (mut parser, mut tree_parser) = (Parser::new(), Parser::new());
    let (mut copy, mut buffers, mut tape) = (Vec::new(), Buffers::default(), Tape::null());
    let (mut tree_copy, mut tree_buffers) = (Vec::new(), Buffers::default());
    let times = PASS.div_ceil(json.len());
    let runners: Vec<(&str, Part, Runner<'_>)> = vec![
        (
            "wireline, tape",
            Part::Subject,
            Box::new(|_| (0..times).for_each(|_| drop(black_box(parser.parse(&raw).expect(VALID))))),
        ),
        (
            "wireline, BorrowedValue",
            Part::Variant,
            Box::new(|_| {
                let mut parse = || drop(black_box(tree_parser.parse(&raw).expect(VALID).to_borrowed_value()));
                (0..times).for_each(|_| parse());
            }),
        ),
        ("wireline, serde_json's Value", Part::Variant, repeat(times, || raw.deserialize::<Value>().expect(VALID))),
        (
            "simd-json, tape",
            Part::Peer,
            Box::new(|_| {
                for _ in 0..times {
                    copy.clear();
                    copy.extend_from_slice(json.as_bytes());
                    copy.resize(json.len() + INPUT_PADDING, b' ');
                    let mut filled = mem::replace(&mut tape, Tape(Vec::new())).reset();
                    simd_json::fill_tape_padded(&mut copy, json.len(), &mut buffers, &mut filled).expect(VALID);
                    black_box(&filled);
                    tape = filled.reset();
                }
            }),
        ),
        (
            "simd-json, BorrowedValue",
            Part::Peer,
            Box::new(|_| {
                for _ in 0..times {
                    tree_copy.clear();
                    tree_copy.extend_from_slice(json.as_bytes());
                    let value = simd_json::to_borrowed_value_with_buffers(&mut tree_copy, &mut tree_buffers);
                    drop(black_box(value.expect(VALID)));
                }
            }),
        ),
        (
            "serde_json, Value",
            Part::Peer,
            repeat(times, || serde_json::from_str::<Value>(black_box(json)).expect(VALID)),
        ),
        (
            "sonic-rs, Value",
            Part::Peer,
            repeat(times, || sonic_rs::from_str::<sonic_rs::Value>(black_box(json)).expect(VALID)),
        ),
    ];
    compare_runners(title, json, times, time, runners)
}

fn compare_runners(
    title: &str,
    json: &str,
    times: usize,
    time: Duration,
    mut runners: Vec<(&str, Part, Runner<'_>)>,
) -> Comparison {
    let names: Vec<_> = runners.iter().map(|(name, part, _)| (*name, *part)).collect();
    let mut runners: Vec<Runner<'_>> = runners.drain(..).map(|(_, _, runner)| runner).collect();
    let Best { times: best, rounds } = rounds::best(&mut runners, 1, time, &Progress::of(&format!("decoding {title}")));
    let rows = names.iter().zip(best).map(|((name, part), time)| Row::new(*name, *part, Some(time)));
    Comparison {
        title: title.to_owned(),
        messages: times as u64,
        bytes: (times * json.len()) as u64,
        rounds,
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

fn repeat<'a, T>(times: usize, mut decode: impl FnMut() -> T + 'a) -> Runner<'a> {
    Box::new(move |_| {
        for _ in 0..times {
            drop(black_box(decode()));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_takes_part() {
        for comparison in compare(Duration::ZERO) {
            let expected = if comparison.title.ends_with("dynamic") { 7 } else { 4 };
            assert_eq!(comparison.rows.iter().filter(|row| row.time.is_some()).count(), expected);
            assert!(comparison.bytes >= PASS as u64);
        }
    }
}

//! What is encoded: results as tools give them.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wireline_corpus::{Corpus, Random};

/// The result of a tool that answers with text.
#[derive(Serialize)]
pub(super) struct ToolResult {
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

impl ToolResult {
    fn text(text: String) -> Self {
        Self { content: vec![Content { kind: "text", text }], is_error: false }
    }
}

/// Text of `len` bytes, of which one in ten must be escaped.
pub(super) fn escapes(len: usize) -> ToolResult {
    ToolResult::text("line of text with \"quotes\" and\n".chars().cycle().take(len).collect())
}

/// Text of `len` bytes, of which none must be escaped.
pub(super) fn plain(len: usize) -> ToolResult {
    ToolResult::text("A sentence of plain words, one after the other. ".chars().cycle().take(len).collect())
}

pub(super) fn source() -> ToolResult {
    ToolResult::text(string(Corpus::Source, "/content/0/text"))
}

pub(super) fn base64() -> ToolResult {
    ToolResult::text(string(Corpus::Base64, "/content/0/data"))
}

pub(super) fn beyond_ascii() -> ToolResult {
    ToolResult::text(string(Corpus::Text, "/content/0/text"))
}

/// A thousand strings of 3 to 40 bytes, of which some must be escaped.
pub(super) fn short_strings() -> Vec<String> {
    let mut random = Random::new(1);
    let text = "one word and another one, then \"a few in quotes\", and /a/path/to/something.txt ".repeat(2);
    let string = |random: &mut Random| {
        let start = random.below(text.len() / 2);
        text[start..start + random.between(3, 40)].to_owned()
    };
    (0..1000).map(|_| string(&mut random)).collect()
}

/// Two thousand integers, distributed as in the corpus of numbers: many are short, and a third are below zero.
pub(super) fn integers() -> Vec<i64> {
    let mut random = Random::new(1);
    let integer = |random: &mut Random| {
        let limit = *random.pick(&[&10, &10_000, &10_000, &4_000_000_000]);
        let number = random.below(limit) as i64;
        if random.chance(33) { -number } else { number }
    };
    (0..2000).map(|_| integer(&mut random)).collect()
}

/// Two thousand integers of up to 18 digits, each number of digits as frequent.
pub(super) fn any_integers() -> Vec<i64> {
    let mut random = Random::new(1);
    let integer = |random: &mut Random| {
        let number = random.bits() % 10_u64.pow(random.between(1, 18) as u32);
        number as i64 * if random.chance(33) { -1 } else { 1 }
    };
    (0..2000).map(|_| integer(&mut random)).collect()
}

/// Two thousand measurements.
pub(super) fn rounded_floats() -> Vec<f64> {
    let mut random = Random::new(1);
    (0..2000).map(|_| random.below(2_000_000) as f64 / 1000.0 - 500.0).collect()
}

/// Two thousand floats of all magnitudes, which take up to 17 digits.
pub(super) fn any_floats() -> Vec<f64> {
    let mut random = Random::new(1);
    std::iter::repeat_with(|| f64::from_bits(random.bits())).filter(|float| float.is_finite()).take(2000).collect()
}

/// A list of tools, with types for all there is in it.
#[derive(Serialize, Deserialize)]
pub(super) struct ToolList {
    tools: Vec<Tool>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    title: String,
    description: String,
    input_schema: Schema,
    annotations: Annotations,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    title: String,
    read_only_hint: bool,
    destructive_hint: bool,
    open_world_hint: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Schema {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    schema: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    choices: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    any_of: Option<Vec<Schema>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Box<Schema>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<BTreeMap<String, Schema>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_properties: Option<bool>,
}

pub(super) fn tool_list() -> ToolList {
    result(Corpus::Tools)
}

pub(super) fn tool_value() -> Value {
    result(Corpus::Tools)
}

/// The string in the result of the first message of `corpus`.
fn string(corpus: Corpus, pointer: &str) -> String {
    let result: Value = result(corpus);
    result.pointer(pointer).and_then(Value::as_str).expect("it is a string").to_owned()
}

/// The result of the first message of `corpus`.
fn result<T: DeserializeOwned>(corpus: Corpus) -> T {
    let mut lines: Value = serde_json::from_slice(&corpus.lines(1)).expect("it is one line of JSON");
    serde_json::from_value(lines["result"].take()).expect("it has the type")
}

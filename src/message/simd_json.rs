//! Decoding by simd-json, where that is faster and gives the same value.
//!
//! Measured with AVX2, typed text payloads that differ from call to call, simd-json's time over serde_json's:
//!
//! | bytes | no escapes | one in 200 | one in 128 | one in 63 | one in 32 | one in 8 |
//! |---|---|---|---|---|---|---|
//! | 100 | 1.18 | 1.13 | 1.12 | 1.04 | 0.92 | 0.63 |
//! | 300 | 1.24 | 0.94 | 0.83 | 0.72 | 0.60 | 0.39 |
//! | 1,000 | 1.20 | 0.70 | 0.64 | 0.55 | 0.47 | 0.31 |
//! | 10,000 | 1.42 | 0.78 | 0.72 | 0.53 | 0.55 | 0.30 |
//!
//! With new buffers for each call the two are level at about 1 KB. Lists of small objects with an escape each gain
//! nothing at a few hundred bytes, so the thresholds are a little higher than text alone would suggest. To measure:
//! `cargo bench -p wireline-benches --bench deserialize`.
//!
//! The value must not depend on which of the two ran. So simd-json's tape is first searched for anything they disagree
//! about, and whatever simd-json refuses is left to serde_json.

use serde::de::DeserializeOwned;
use simd_json::{Buffers, Node, StaticNode};

/// The shortest text worth it.
const SHORTEST: usize = 512;

/// The shortest text worth it if the buffers have to be allocated first.
const SHORTEST_AT_FIRST: usize = 1024;

/// At least one byte in this many must be a backslash.
const BYTES_PER_BACKSLASH: usize = 16;

/// Backslashes are counted in so many pieces of so many bytes, and the rest is assumed to be alike: counting in all of a
/// text without any would make it slower to decode.
const PIECES: usize = 4;
const PIECE: usize = 256;

/// As deep as serde_json goes.
const DEEPEST: usize = 127;

/// Larger buffers are not kept.
const LARGEST_KEPT: usize = 1 << 20;

#[derive(Default)]
pub(crate) struct Scratch {
    text: Vec<u8>,
    buffers: Buffers,
}

impl Scratch {
    /// The value of `json`, a JSON text, or `None` if serde_json should decode it.
    pub(crate) fn deserialize<T: DeserializeOwned>(&mut self, json: &[u8]) -> Option<T> {
        if !is_faster(json, self.text.capacity() > 0) {
            return None;
        }
        // simd-json unescapes in place, so it gets a copy.
        self.text.clear();
        self.text.extend_from_slice(json);
        let value = self.try_deserialize(json);
        if self.text.capacity() > LARGEST_KEPT {
            *self = Self::default();
        }
        value
    }

    fn try_deserialize<T: DeserializeOwned>(&mut self, json: &[u8]) -> Option<T> {
        let tape = simd_json::to_tape_with_buffers(&mut self.text, &mut self.buffers).ok()?;
        if is_read_alike(&tape.0, json) { tape.deserialize().ok() } else { None }
    }
}

/// Whether simd-json is likely to decode `json` faster than serde_json, with buffers at hand or without.
pub(crate) fn is_faster(json: &[u8], has_buffers: bool) -> bool {
    let shortest = if has_buffers { SHORTEST } else { SHORTEST_AT_FIRST };
    if json.len() < shortest {
        return false;
    }
    let pieces = json.chunks(json.len().div_ceil(PIECES)).map(|part| &part[..part.len().min(PIECE)]);
    let (backslashes, bytes) = pieces.fold((0, 0), |(backslashes, bytes), piece| {
        (backslashes + memchr::memchr_iter(b'\\', piece).count(), bytes + piece.len())
    });
    backslashes >= bytes / BYTES_PER_BACKSLASH
}

/// Whether serde_json gives the same value for what is on the tape.
fn is_read_alike(tape: &[Node<'_>], json: &[u8]) -> bool {
    // Where the open containers end on the tape.
    let mut ends = Vec::new();
    let mut zeros = false;
    for (at, node) in tape.iter().enumerate() {
        while ends.last().is_some_and(|&end| end <= at) {
            ends.pop();
        }
        match node {
            Node::Object { count, .. } | Node::Array { count, .. } => {
                ends.push(at + 1 + count);
                if ends.len() > DEEPEST {
                    return false;
                }
            }
            // They round differently where an `f32` is asked for.
            Node::Static(StaticNode::F64(_)) => return false,
            Node::Static(StaticNode::I64(0) | StaticNode::U64(0)) => zeros = true,
            Node::Static(_) | Node::String(_) => {}
        }
    }
    // serde_json reads `-0` as a float, simd-json as the integer 0.
    !(zeros && memchr::memmem::find(json, b"-0").is_some())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;
    use crate::message::raw::RawJson;

    /// `value` beside enough escapes that simd-json is asked.
    fn padded(value: &str) -> String {
        let text = "line\\n\\t\\\"quoted\\\" ".repeat(400);
        format!(r#"{{"text":"{text}","value":{value}}}"#)
    }

    /// Both ways give the same, or fail both.
    fn check<T: DeserializeOwned + PartialEq + std::fmt::Debug>(value: &str) {
        #[derive(Deserialize, PartialEq, Debug)]
        struct Padded<T> {
            text: String,
            value: T,
        }
        let json = padded(value);
        let expected = serde_json::from_str::<Padded<T>>(&json).ok();
        let found = RawJson::parse(json.as_bytes()).unwrap().deserialize::<Padded<T>>().ok();
        assert_eq!(found, expected, "{value}");
    }

    #[test]
    fn is_asked_for_large_texts_with_escapes_only() {
        let asked = |json: &str| Scratch::default().deserialize::<Value>(json.as_bytes()).is_some();
        assert!(asked(&padded("1")));
        assert!(!asked(r#"{"text":"\n\n\n"}"#));
        assert!(!asked(&format!(r#"{{"text":"{}"}}"#, "x".repeat(100_000))));
        assert!(!asked(&padded("1.5")));
        assert!(!asked(&padded("-0")));
        assert!(!asked(&padded("123456789012345678901234567890")));
    }

    #[test]
    fn gives_what_serde_json_gives() {
        #[derive(Deserialize, PartialEq, Debug)]
        enum Shape {
            Unit,
            Newtype(i64),
            Tuple(i64, String),
            Struct { a: Option<i64>, b: Vec<String> },
        }
        #[derive(Deserialize, PartialEq, Debug)]
        #[serde(tag = "kind")]
        enum Tagged {
            A { x: i64 },
            B(BTreeMap<String, Value>),
        }
        #[derive(Deserialize, PartialEq, Debug)]
        #[serde(untagged)]
        enum Untagged {
            Number(u8),
            Text(String),
            List(Vec<Untagged>),
        }
        let texts = [
            "null",
            "true",
            "0",
            "-0",
            "-0.0",
            "0.0",
            "1",
            "-1",
            "255",
            "256",
            "1.5",
            "1e2",
            "1e400",
            "0.1",
            "3.4028236e38",
            "9007199254740993",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "-9223372036854775809",
            "123456789012345678901234567890",
            r#""""#,
            r#""a""#,
            r#""\u00e9\ud83d\ude00""#,
            r#""\ud800""#,
            r#""\udc00x""#,
            r#""2026-01-02""#,
            "[]",
            "[1]",
            "[1,2]",
            "[1,2,3]",
            r#"[1,"x"]"#,
            r#"["a","b"]"#,
            "{}",
            r#"{"a":1}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"1":2}"#,
            r#"{"a":null,"b":["x"]}"#,
            r#"{"Newtype":5}"#,
            r#"{"Tuple":[1,"x"]}"#,
            r#"{"Tuple":[1,"x",2]}"#,
            r#"{"Struct":{"a":3,"b":[]}}"#,
            r#"{"Unit":null}"#,
            r#""Unit""#,
            r#"{"Newtype":5,"Unit":null}"#,
            r#"{"kind":"A","x":1}"#,
            r#"{"x":1,"kind":"A"}"#,
            r#"{"kind":"B","y":[0,{}]}"#,
            "[[1],[\"a\",[2]]]",
            r#"{"a":[0,-0]}"#,
            r#"{"\u0061":1}"#,
        ];
        for text in texts {
            check::<Value>(text);
            check::<Option<i64>>(text);
            check::<u8>(text);
            check::<i64>(text);
            check::<u64>(text);
            check::<u128>(text);
            check::<f32>(text);
            check::<f64>(text);
            check::<bool>(text);
            check::<char>(text);
            check::<String>(text);
            check::<()>(text);
            check::<(i64, i64)>(text);
            check::<(i64, String)>(text);
            check::<[i64; 3]>(text);
            check::<Vec<Value>>(text);
            check::<Vec<String>>(text);
            check::<BTreeMap<String, Value>>(text);
            check::<BTreeMap<u32, i64>>(text);
            check::<Shape>(text);
            check::<Tagged>(text);
            check::<Untagged>(text);
            check::<serde::de::IgnoredAny>(text);
        }
        let raw = padded("[1.50,  -0]");
        let found: BTreeMap<String, Box<RawValue>> = RawJson::parse(raw.as_bytes()).unwrap().deserialize().unwrap();
        assert_eq!(found["value"].get(), "[1.50,  -0]");
    }

    #[test]
    fn stops_where_serde_json_does() {
        for depth in [100, 125, 126, 127, 128, 200] {
            check::<Value>(&("[".repeat(depth) + &"]".repeat(depth)));
        }
    }

    #[test]
    fn uses_its_buffers_again() {
        let mut scratch = crate::message::raw::Scratch::default();
        for text in ["1", "[1,2]", "{\"a\":\"b\"}", "1.5", "\"\\ud800\"", "null"] {
            let json = padded(text);
            let found = RawJson::parse(json.as_bytes()).unwrap().deserialize_with::<Value>(&mut scratch).ok();
            assert_eq!(found, serde_json::from_str(&json).ok());
        }
        let huge = format!("\"{}\"", "\\n".repeat(LARGEST_KEPT));
        assert!(RawJson::parse(huge.as_bytes()).unwrap().deserialize_with::<String>(&mut scratch).is_ok());
        assert_eq!(scratch.simd.text.capacity(), 0);
    }
}

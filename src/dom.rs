//! Payloads of unknown types as simd-json's tape or value: feature `simd-json`.
//!
//! A [`Parser`] reads any [`RawJson`], keeps its buffers from one text to the next, and lends a [`Document`]. The values
//! are simd-json's own types, so its traits have to be in scope; the crate is re-exported as [`simd_json`].
//!
//! ```
//! use wireline::dom::{Parser, simd_json::prelude::*};
//! use wireline::{Frame, Message, Rules};
//!
//! let mut parser = Parser::new(); // one per thread
//! let line = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add"},{"name":"sub","_meta":{"cost":7}}]}}"#;
//! let Frame::Message(Message::Response(response)) = Frame::parse(line, &Rules::mcp())? else { panic!() };
//! let result = response.outcome().expect("it is a result");
//!
//! let document = parser.parse(&result)?;
//! let tools = document.as_value().get_array("tools").unwrap();
//! assert_eq!(tools.iter().filter_map(|tool| tool.get("_meta")?.get_u64("cost")).sum::<u64>(), 7);
//!
//! // A value that can be changed, and sent.
//! let mut value = document.to_borrowed_value();
//! value["tools"].as_array_mut().unwrap().retain(|tool| tool.contains_key("_meta"));
//! let line = wireline::to_line(&Rules::mcp(), |encoder| encoder.response(response.id().unwrap(), &value))?;
//! assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"sub\",\"_meta\":{\"cost\":7}}]}}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Tape or value?
//!
//! A tape is one flat array, in the order of the text. Nothing is allocated for it once the parser's buffers have grown,
//! but looking up a member takes a walk over those before it. A `BorrowedValue` is a tree with two allocations for each
//! array and object. Its strings are borrowed as well, and it can be changed. `docs/speed.md` has figures. If you need one
//! value, [`RawJson::pointer`] finds it without decoding anything, and if you know the type, [`RawJson::deserialize`] reads
//! it directly.
//!
//! simd-json validates UTF-8 once more, as part of its first pass: it has no way to skip that.
//!
//! # Differences from serde_json's `Value`
//!
//! There are none in what a text means, apart from rounding. simd-json on its own keeps all members of the same name, and
//! finds the first; it reads `-0` as 0. A [`Parser`] corrects both:
//!
//! | text | `Document` | serde_json's `Value` |
//! |---|---|---|
//! | several members of the same name | the last one | same |
//! | `-0` | -0.0 | same |
//! | an integer beyond 64 bits | the nearest `f64` | same, or a neighbour of it |
//! | a float | the nearest `f64` | same with its feature `float_roundtrip`, otherwise sometimes a neighbour of it |
//! | a number beyond the range of `f64`, such as `1e400` | an error | same |
//! | a lone surrogate escape, such as `"\ud83d"` | an error | same |
//! | 128 to 1024 open brackets | read | an error |
//!
//! serde_json's features `arbitrary_precision` and `preserve_order` don't affect a document. simd-json's features do: with
//! `128bit`, integers of up to 128 bits stay integers, and `approx-number-parsing` makes floats inexact.

use std::collections::HashMap;
use std::{fmt, iter, mem};

pub use simd_json;
use simd_json::value::lazy;
use simd_json::{BorrowedValue, Buffers, INPUT_PADDING, Node, StaticNode, Tape, fill_tape_padded, tape};
use wireline_json::{DEEPEST, is_number, string};

use crate::message::raw::RawJson;

/// Parses texts one after another, and reuses its buffers.
///
/// simd-json unescapes strings in place, so a parser works on a copy of the text. It keeps its buffers, unless the text was
/// longer than 1 MiB: then they are freed, the copy with the next text.
pub struct Parser {
    /// The text and its padding. Afterwards it contains the unescaped strings.
    copy: Vec<u8>,
    buffers: Buffers,
    /// Empty.
    tape: Tape<'static>,
    /// Where the keys of an object are. Only used while looking for repeated ones.
    keys: Vec<usize>,
}

/// The longest text whose buffers are kept.
const LONGEST_KEPT: usize = 1 << 20;

impl Parser {
    /// A parser without buffers. They grow with the texts.
    #[must_use]
    pub fn new() -> Self {
        Self { copy: Vec::new(), buffers: new_buffers(), tape: Tape(Vec::new()), keys: Vec::new() }
    }

    /// Parses a text.
    ///
    /// # Errors
    ///
    /// The text has a lone surrogate escape, or a number beyond the range of `f64`. Both are JSON, but not values:
    /// serde_json's `Value` refuses them too.
    pub fn parse(&mut self, json: &RawJson<'_>) -> Result<Document<'_>, ParseError> {
        let text = json.as_bytes();
        if self.copy.capacity() > LONGEST_KEPT + INPUT_PADDING {
            self.copy = Vec::new();
        }
        self.copy.clear();
        self.copy.reserve_exact(text.len() + INPUT_PADDING);
        self.copy.extend_from_slice(text);
        self.copy.resize(text.len() + INPUT_PADDING, b' ');

        let mut tape = mem::replace(&mut self.tape, Tape(Vec::new())).reset();
        let outcome = fill_tape_padded(&mut self.copy, text.len(), &mut self.buffers, &mut tape);
        if outcome.is_ok() {
            correct(&mut tape.0, &mut self.keys);
        }
        let is_kept = text.len() <= LONGEST_KEPT;
        if !is_kept {
            self.buffers = new_buffers();
            self.keys = Vec::new();
        }
        let home = is_kept.then_some(&mut self.tape);
        match outcome {
            Ok(()) => Ok(Document { tape, home }),
            Err(_) => {
                drop(Document { tape, home });
                Err(ParseError::find(json.as_json()))
            }
        }
    }
}

fn new_buffers() -> Buffers {
    Buffers::with_max_depth(0, DEEPEST as usize)
}

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Parser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parser").finish_non_exhaustive()
    }
}

/// A parsed text, lent by a [`Parser`] until the next one.
pub struct Document<'p> {
    tape: Tape<'p>,
    /// Where the tape goes afterwards, if it is kept.
    home: Option<&'p mut Tape<'static>>,
}

impl<'p> Document<'p> {
    /// The value, on the tape.
    #[must_use]
    pub fn as_value(&self) -> tape::Value<'_, 'p> {
        self.tape.as_value()
    }

    /// The value as a tree, whose strings are borrowed from the parser.
    #[must_use]
    pub fn to_borrowed_value(&self) -> BorrowedValue<'p> {
        lazy::Value::from_tape(self.as_value()).into_value()
    }
}

impl Drop for Document<'_> {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            *home = mem::replace(&mut self.tape, Tape(Vec::new())).reset();
        }
    }
}

/// Shows only the number of values. The contents are the peer's.
impl fmt::Debug for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({} nodes)", self.tape.0.len())
    }
}

/// Why a [`Parser`] refused a text.
///
/// ```
/// use wireline::{RawJson, dom::Parser};
///
/// let error = Parser::new().parse(&RawJson::parse(br#"[1, "\ud83d"]"#)?).unwrap_err();
/// assert_eq!(error.to_string(), "lone surrogate in a string (at byte 4)");
/// assert_eq!(error.offset(), 4);
/// # Ok::<(), wireline::InvalidJson>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseError {
    reason: &'static str,
    offset: usize,
}

impl ParseError {
    /// The offset of the string or number in the text, in bytes.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// simd-json's error may quote the text, and its positions vary. So this finds the reason itself.
    #[cold]
    fn find(json: &str) -> Self {
        let mut offset = 0;
        while let Some(token) = json.get(offset..).filter(|rest| !rest.is_empty()) {
            let mut len = 1;
            let reason = if token.starts_with('"') {
                len = string_len(token);
                (!string::is_decodable(&token[..len])).then_some("lone surrogate in a string")
            } else if is_number(token) {
                len = token.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(token.len());
                token[..len].parse().is_ok_and(f64::is_infinite).then_some("number out of range")
            } else {
                None
            };
            if let Some(reason) = reason {
                return Self { reason, offset };
            }
            offset += len;
        }
        // Reached only if simd-json refuses other numbers, as it does with its feature `128bit`.
        Self { reason: "text not supported by simd-json", offset: 0 }
    }
}

/// The length of the string literal that `json` starts with.
fn string_len(json: &str) -> usize {
    let mut is_escaped = false;
    let is_end = |byte: u8| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    };
    json.bytes().skip(1).position(is_end).map_or(json.len(), |at| at + 2)
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.reason, self.offset)
    }
}

impl std::error::Error for ParseError {}

/// Makes a tape say what serde_json's `Value` says where simd-json differs: the last of several members with the same name
/// counts, and `-0` is a float.
fn correct(nodes: &mut Vec<Node<'_>>, keys: &mut Vec<usize>) {
    let mut has_repeated_keys = false;
    for at in 0..nodes.len() {
        match nodes[at] {
            // Any other integer that isn't negative is a `U64`.
            Node::Static(StaticNode::I64(0)) => nodes[at] = Node::Static(StaticNode::from(-0.0)),
            Node::Object { len, .. } if len > 1 => has_repeated_keys |= repeats_a_key(nodes, at, len, keys),
            _ => {}
        }
    }
    if has_repeated_keys {
        let mut corrected = Vec::with_capacity(nodes.len());
        copy_last_members(nodes, 0, &mut corrected);
        *nodes = corrected;
    }
}

/// The position of the value or key after the one at `at`.
fn after(nodes: &[Node<'_>], at: usize) -> usize {
    match nodes[at] {
        Node::Object { count, .. } | Node::Array { count, .. } => at + 1 + count,
        Node::String(_) | Node::Static(_) => at + 1,
    }
}

fn key<'p>(nodes: &[Node<'p>], at: usize) -> &'p str {
    match nodes[at] {
        Node::String(key) => key,
        _ => "",
    }
}

/// Whether two of the `len` members of the object at `object` have the same name.
fn repeats_a_key(nodes: &[Node<'_>], object: usize, len: usize, keys: &mut Vec<usize>) -> bool {
    /// As many keys as are compared with each other.
    const FEW: usize = 16;
    let first = object + 1;
    if len <= FEW {
        // Most keys differ in their length, or in their first or last byte.
        let (mut marks, mut at) = ([0; FEW], first);
        let has_equal_marks = (0..len).any(|i| {
            let key = key(nodes, at).as_bytes();
            let ends = key.first().zip(key.last()).map_or([0, 0], |(first, last)| [*first, *last]);
            marks[i] = (key.len() << 16) | usize::from(u16::from_le_bytes(ends));
            at = after(nodes, at + 1);
            marks[..i].contains(&marks[i])
        });
        if !has_equal_marks {
            return false;
        }
    }
    keys.clear();
    keys.extend(iter::successors(Some(first), |&at| Some(after(nodes, at + 1))).take(len));
    keys.sort_unstable_by_key(|&at| key(nodes, at));
    keys.windows(2).any(|pair| key(nodes, pair[0]) == key(nodes, pair[1]))
}

/// Copies the value at `at`, with only the last of several members of the same name, and returns where the next value is.
///
/// It recurses at most as deep as a [`RawJson`] is nested.
fn copy_last_members<'p>(nodes: &[Node<'p>], at: usize, copy: &mut Vec<Node<'p>>) -> usize {
    let start = copy.len();
    copy.push(nodes[at]);
    let mut next = at + 1;
    match nodes[at] {
        Node::Array { len, .. } => {
            for _ in 0..len {
                next = copy_last_members(nodes, next, copy);
            }
            copy[start] = Node::Array { len, count: copy.len() - start - 1 };
        }
        Node::Object { len, .. } => {
            let mut last = HashMap::with_capacity(len);
            for _ in 0..len {
                last.insert(key(nodes, next), next);
                next = after(nodes, next + 1);
            }
            next = at + 1;
            for _ in 0..len {
                let name = key(nodes, next);
                if last[name] == next {
                    copy.push(nodes[next]);
                    next = copy_last_members(nodes, next + 1, copy);
                } else {
                    next = after(nodes, next + 1);
                }
            }
            copy[start] = Node::Object { len: last.len(), count: copy.len() - start - 1 };
        }
        Node::String(_) | Node::Static(_) => {}
    }
    next
}

//! One pass over a valid JSON text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

/// The largest integer up to which `f64` has every integer.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// The shortest integer that may be larger, in digits.
const MIN_UNSAFE_DIGITS: usize = 16;

/// How many members of an object are compared pairwise. More are hashed.
const MAX_COMPARED: usize = 16;

/// How many names of one object are kept.
const MAX_NAMES: usize = 1 << 16;

/// The first of each in the text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Scan {
    /// Where an escape is half of a surrogate pair.
    pub(super) lone_surrogate: Option<usize>,
    pub(super) unsafe_integer: Option<Range<usize>>,
    /// A member name, with its quotes, that its object has had before.
    pub(super) duplicate: Option<Range<usize>>,
}

/// What surrounds a place in the text.
enum Level {
    Array,
    /// The names so far.
    Object {
        names: Names,
        expects_name: bool,
    },
}

/// The names of an object, as ranges of the text, and as hashes if there are many.
#[derive(Default)]
struct Names {
    ranges: Vec<Range<usize>>,
    /// Whether any of them is spelled with escapes.
    has_escapes: bool,
    hashes: HashSet<u64>,
}

impl Scan {
    pub(super) fn new(json: &str) -> Self {
        let bytes = json.as_bytes();
        let (mut scan, mut levels, mut at) = (Self::default(), Vec::new(), 0);
        let hasher = RandomState::new();
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'{' => levels.push(Level::Object { names: Names::default(), expects_name: true }),
                b'[' => levels.push(Level::Array),
                b'}' | b']' => drop(levels.pop()),
                b',' => {
                    if let Some(Level::Object { expects_name, .. }) = levels.last_mut() {
                        *expects_name = true;
                    }
                }
                b'"' => {
                    let end = scan.string(bytes, at);
                    if let Some(Level::Object { names, expects_name }) = levels.last_mut()
                        && std::mem::take(expects_name)
                        && scan.duplicate.is_none()
                        && names.add(json, at..end, &hasher)
                    {
                        scan.duplicate = Some(at..end);
                    }
                    at = end;
                    continue;
                }
                b'-' | b'0'..=b'9' => {
                    let len = bytes[at..]
                        .iter()
                        .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'));
                    let end = len.map_or(bytes.len(), |len| at + len);
                    if scan.unsafe_integer.is_none() && is_unsafe_integer(&json[at..end]) {
                        scan.unsafe_integer = Some(at..end);
                    }
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        scan
    }

    /// Looks at the escapes of the string that starts at `start`, and returns its end.
    fn string(&mut self, bytes: &[u8], start: usize) -> usize {
        let mut at = start + 1;
        // Where the high half of a pair would end if its low half came next.
        let mut high = None;
        while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
            at += found;
            if bytes[at] == b'"' {
                self.note_surrogate(high.map(|(high, _)| high));
                return at + 1;
            }
            let Some(unit) = (bytes.get(at + 1) == Some(&b'u')).then(|| unit(&bytes[at + 2..])).flatten() else {
                at += 2;
                continue;
            };
            match (high.take(), unit) {
                (Some((_, end)), 0xDC00..=0xDFFF) if end == at => {}
                (before, 0xD800..=0xDBFF) => {
                    self.note_surrogate(before.map(|(high, _)| high));
                    high = Some((at, at + 6));
                }
                (before, 0xDC00..=0xDFFF) => self.note_surrogate(before.map(|(high, _)| high).or(Some(at))),
                (before, _) => self.note_surrogate(before.map(|(high, _)| high)),
            }
            at += 6;
        }
        bytes.len()
    }

    fn note_surrogate(&mut self, at: Option<usize>) {
        self.lone_surrogate = self.lone_surrogate.or(at);
    }
}

impl Names {
    /// Adds a name, with its quotes, and returns whether it was there before.
    fn add(&mut self, json: &str, name: Range<usize>, hasher: &RandomState) -> bool {
        if self.ranges.len() >= MAX_NAMES {
            return false;
        }
        let literal = &json[name.clone()];
        self.has_escapes |= literal.contains('\\');
        let is_there = if self.ranges.len() < MAX_COMPARED && !self.has_escapes {
            self.ranges.iter().any(|other| json[other.clone()] == *literal)
        } else if self.ranges.len() < MAX_COMPARED {
            let decoded = decode(literal);
            self.ranges.iter().any(|other| decode(&json[other.clone()]) == decoded)
        } else {
            let decoded = decode(literal);
            if self.hashes.is_empty() {
                self.hashes = self.ranges.iter().map(|other| hasher.hash_one(decode(&json[other.clone()]))).collect();
            }
            // Equal hashes of 64 bits are equal names for practical purposes, but a finding should be true.
            let is_known = !self.hashes.insert(hasher.hash_one(&decoded));
            is_known && self.ranges.iter().any(|other| decode(&json[other.clone()]) == decoded)
        };
        self.ranges.push(name);
        is_there
    }
}

/// A string literal without its quotes and escapes. One with lone surrogates stays as it is.
fn decode(literal: &str) -> Cow<'_, str> {
    if !literal.contains('\\') {
        return Cow::Borrowed(&literal[1..literal.len() - 1]);
    }
    serde_json::from_str(literal).map_or(Cow::Borrowed(literal), Cow::Owned)
}

/// The code unit of an escape, after `\u`.
fn unit(digits: &[u8]) -> Option<u16> {
    u16::from_str_radix(std::str::from_utf8(digits.get(..4)?).ok()?, 16).ok()
}

/// Whether a number is an integer without fraction and exponent, and beyond 2^53.
fn is_unsafe_integer(number: &str) -> bool {
    let digits = number.trim_start_matches('-');
    digits.len() >= MIN_UNSAFE_DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits.parse::<u64>().map_or(true, |value| value > MAX_SAFE)
}

/// Whether an id is not an integer beyond 2^53, however it is spelled.
pub(super) fn is_safe_integer(number: &str) -> bool {
    !is_unsafe_integer(number) && number.parse::<f64>().is_ok_and(|value| value.abs() <= MAX_SAFE as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surrogates() {
        for (json, at) in [
            (r#""\ud83d\ude00""#, None),
            (r#""\ud83d""#, Some(1)),
            (r#""x\ude00""#, Some(2)),
            (r#""\ud83dx\ude00""#, Some(1)),
            (r#""\ude00\ud83d""#, Some(1)),
            (r#""\ud83d\ud83d\ude00""#, Some(1)),
            (r#""\ud83d\n""#, Some(1)),
            (r#""\\ud83d""#, None),
            (r#""\u0041\uD83D\uDE00\ud83d""#, Some(19)),
            (r#"["\ud83d\ude00",{"\ud83d":1}]"#, Some(18)),
        ] {
            assert_eq!(Scan::new(json).lone_surrogate, at, "{json}");
        }
    }

    #[test]
    fn integers() {
        for (json, integer) in [
            ("9007199254740991", None),
            ("9007199254740992", Some(0..16)),
            ("[-9007199254740993 ]", Some(1..18)),
            (r#"{"a":123456789012345678901234567890}"#, Some(5..35)),
            ("9007199254740993.5", None),
            ("1e300", None),
            (r#""9007199254740993""#, None),
        ] {
            assert_eq!(Scan::new(json).unsafe_integer, integer, "{json}");
        }
        assert!(!is_safe_integer("1e300") && is_safe_integer("1.0") && is_safe_integer("-9007199254740991"));
    }

    #[test]
    fn duplicates() {
        for (json, name) in [
            (r#"{"a":1,"b":{"a":2},"c":[{"a":3}]}"#, None),
            (r#"{"a":1,"a":2}"#, Some(7..10)),
            (r#"{"a":1,"\u0061":2}"#, Some(7..15)),
            (r#"{"a":"a","b":"a"}"#, None),
            (r#"[{"a":1},{"a":1}]"#, None),
            (r#"{"a":{"b":1,"b":2}}"#, Some(12..15)),
            (r#"{"a":[1,"a","a"],"b":1}"#, None),
        ] {
            assert_eq!(Scan::new(json).duplicate, name, "{json}");
        }
        let many: Vec<String> = (0..100).map(|number| format!("\"{number}\":0")).collect();
        let object = |extra: &str| format!("{{{}{extra}}}", many.join(","));
        assert_eq!(Scan::new(&object("")).duplicate, None);
        for again in ["3", "15", "16", "99"] {
            let json = object(&format!(",\"{again}\":1"));
            let name = Scan::new(&json).duplicate.unwrap();
            assert_eq!(&json[name], format!("\"{again}\""));
        }
    }
}

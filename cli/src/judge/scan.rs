//! One pass over a valid JSON text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::LazyLock;

/// The largest integer up to which `f64` has every integer.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// The shortest integer that may be larger, in digits.
const MIN_UNSAFE_DIGITS: usize = 16;

/// How many members of an object are compared pairwise. More are hashed.
const MAX_COMPARED: usize = 16;

/// How many names of one object are kept.
const MAX_NAMES: usize = 1 << 16;

/// How far to look for the end of a string without `memchr2`: most names are shorter.
const NEAR: usize = 32;

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
    Object {
        /// Where its names start among all.
        first: usize,
        expects_name: bool,
        /// Whether any of its names is spelled with escapes.
        has_escapes: bool,
        /// The hashes of its names, if there are many.
        hashes: HashSet<u64>,
    },
}

impl Scan {
    /// Scans valid JSON.
    pub(super) fn new(json: &[u8]) -> Self {
        let mut scan = Self::default();
        // The names so far of each object around the current place, those of the outermost one first.
        let (mut levels, mut names) = (Vec::with_capacity(8), Vec::with_capacity(16));
        let mut at = 0;
        while let Some(byte) = json.get(at) {
            match byte {
                b'{' => levels.push(Level::new(names.len())),
                b'[' => levels.push(Level::Array),
                b'}' | b']' => {
                    if let Some(Level::Object { first, .. }) = levels.pop() {
                        names.truncate(first);
                    }
                }
                b',' => {
                    if let Some(Level::Object { expects_name, .. }) = levels.last_mut() {
                        *expects_name = true;
                    }
                }
                b'"' => {
                    let (end, is_escaped) = scan.string(json, at);
                    if let Some(level) = levels.last_mut()
                        && level.takes_name()
                        && scan.duplicate.is_none()
                        && level.add_name(json, at..end, is_escaped, &mut names)
                    {
                        scan.duplicate = Some(at..end);
                    }
                    at = end;
                    continue;
                }
                b'-' | b'0'..=b'9' => {
                    let len = json[at..]
                        .iter()
                        .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'));
                    let end = len.map_or(json.len(), |len| at + len);
                    if end - at >= MIN_UNSAFE_DIGITS
                        && scan.unsafe_integer.is_none()
                        && is_unsafe_integer(&String::from_utf8_lossy(&json[at..end]))
                    {
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

    /// Looks at the escapes of the string that starts at `start`. Returns its end, and whether it has any.
    fn string(&mut self, json: &[u8], start: usize) -> (usize, bool) {
        let mut at = start + 1;
        // Where the high half of a pair would end if its low half came next.
        let mut high = None;
        let mut is_escaped = false;
        while let Some(found) = quote_or_backslash(&json[at..]) {
            at += found;
            if json[at] == b'"' {
                self.note_surrogate(high.map(|(high, _)| high));
                return (at + 1, is_escaped);
            }
            is_escaped = true;
            let Some(unit) = (json.get(at + 1) == Some(&b'u')).then(|| unit(&json[at + 2..])).flatten() else {
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
        (json.len(), is_escaped)
    }

    fn note_surrogate(&mut self, at: Option<usize>) {
        self.lone_surrogate = self.lone_surrogate.or(at);
    }
}

impl Level {
    /// An object whose names start at `first`.
    fn new(first: usize) -> Self {
        Self::Object { first, expects_name: true, has_escapes: false, hashes: HashSet::new() }
    }

    /// Whether the next string is a name, which the one after it isn't.
    fn takes_name(&mut self) -> bool {
        match self {
            Self::Array => false,
            Self::Object { expects_name, .. } => std::mem::take(expects_name),
        }
    }

    /// Adds a name, with its quotes, and returns whether the object has had it before.
    fn add_name(&mut self, json: &[u8], name: Range<usize>, is_escaped: bool, names: &mut Vec<Range<usize>>) -> bool {
        let Self::Object { first, has_escapes, hashes, .. } = self else { return false };
        let others = &names[*first..];
        if others.len() >= MAX_NAMES {
            return false;
        }
        let literal = &json[name.clone()];
        *has_escapes |= is_escaped;
        let is_there = if others.len() < MAX_COMPARED && !*has_escapes {
            others.iter().any(|other| json[other.clone()] == *literal)
        } else {
            let decoded = decode(literal);
            // Equal hashes of 64 bits are equal names for practical purposes, but a finding should be true.
            let may_be_there = others.len() < MAX_COMPARED || {
                if hashes.is_empty() {
                    *hashes = others.iter().map(|other| HASHER.hash_one(decode(&json[other.clone()]))).collect();
                }
                !hashes.insert(HASHER.hash_one(&decoded))
            };
            may_be_there && others.iter().any(|other| decode(&json[other.clone()]) == decoded)
        };
        names.push(name);
        is_there
    }
}

static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The position of the first quote or backslash, which is often so near that it isn't worth to call `memchr2`.
fn quote_or_backslash(json: &[u8]) -> Option<usize> {
    const LOW: u64 = u64::from_le_bytes([1; 8]);
    const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
    const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
    // The lowest of the bits that are set is that of the first byte that is zero.
    let zeros = |word: u64| word.wrapping_sub(LOW) & !word & (LOW << 7);
    let (near, _) = json[..json.len().min(NEAR)].as_chunks();
    for (at, eight) in near.iter().enumerate() {
        let word = u64::from_le_bytes(*eight);
        let found = zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES);
        if found != 0 {
            return Some(8 * at + found.trailing_zeros() as usize / 8);
        }
    }
    let searched = 8 * near.len();
    Some(searched + memchr::memchr2(b'"', b'\\', &json[searched..])?)
}

/// A string literal without its quotes and escapes. One with lone surrogates stays as it is.
fn decode(literal: &[u8]) -> Cow<'_, [u8]> {
    if !literal.contains(&b'\\') {
        return Cow::Borrowed(&literal[1..literal.len() - 1]);
    }
    serde_json::from_slice(literal).map_or(Cow::Borrowed(literal), |text: String| Cow::Owned(text.into_bytes()))
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

/// Whether a number is nothing but a few digits, as most ids are.
pub(super) fn is_plain_integer(number: &str) -> bool {
    number.len() < MIN_UNSAFE_DIGITS && number.bytes().all(|byte| byte.is_ascii_digit())
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
            assert_eq!(Scan::new(json.as_bytes()).lone_surrogate, at, "{json}");
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
            assert_eq!(Scan::new(json.as_bytes()).unsafe_integer, integer, "{json}");
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
            assert_eq!(Scan::new(json.as_bytes()).duplicate, name, "{json}");
        }
        let many: Vec<String> = (0..100).map(|number| format!("\"{number}\":0")).collect();
        let object = |extra: &str| format!("{{{}{extra}}}", many.join(","));
        assert_eq!(Scan::new(object("").as_bytes()).duplicate, None);
        for again in ["3", "15", "16", "99"] {
            let json = object(&format!(",\"{again}\":1"));
            let name = Scan::new(json.as_bytes()).duplicate.unwrap();
            assert_eq!(&json[name], format!("\"{again}\""));
        }
    }
}

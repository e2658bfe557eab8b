//! Compares which texts are JSON, and which members they have, with other parsers.
//!
//! The input is a text. Each witness decides whether it is JSON, and which members it has. A witness may refuse JSON
//! only for one of its known [`Deviation`]s, which must be in the text.

use std::fmt;

use serde::de::IgnoredAny;
use serde_json::Value;
use wireline::{FaultKind, Frame, Message, RawJson, Rules};
use wireline_json::Cpu;

use super::envelope::{deeper_than, members};

/// The depth limit that no rules can exceed.
const DEEPEST: usize = 1024;

/// How many members are checked one by one.
const LOOKED_AT: usize = 4;

/// A kind of JSON that a witness refuses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Deviation {
    /// Brackets nested deeper than this.
    Deep(usize),
    /// A string with an escaped lone surrogate.
    LoneSurrogate,
    /// A number beyond the range of `f64`.
    BeyondF64,
    /// An integer beyond 64 bits, signed or not.
    Beyond64Bits,
}

/// A witness's verdict on a text.
pub enum Testimony {
    /// It is not JSON.
    Refused,
    /// It is JSON.
    Json,
    /// It is an object with these members, in order: each name, and the raw value if the witness provides it.
    Object(Vec<(String, Option<String>)>),
}

/// Another parser.
pub struct Witness {
    /// Its name.
    pub name: &'static str,
    /// The kinds of JSON that it refuses.
    pub refuses: &'static [Deviation],
    /// Parses a text.
    pub ask: fn(&[u8]) -> Testimony,
}

/// serde_json, decoding into a `Value`.
const DECODING: Witness = Witness {
    name: "serde_json::Value",
    refuses: &[Deviation::Deep(127), Deviation::LoneSurrogate, Deviation::BeyondF64],
    ask: |text| match serde_json::from_slice::<Value>(text) {
        Ok(_) => Testimony::Json,
        Err(_) => Testimony::Refused,
    },
};

/// See the [module](self).
pub fn run(data: &[u8], witnesses: &[Witness]) {
    let shown = Shown(data);
    // The reference is serde_json skipping over the text, where it checks neither UTF-8 nor depth.
    let json = std::str::from_utf8(data).ok().filter(|_| serde_json::from_slice::<IgnoredAny>(data).is_ok());
    let too_deep = json.is_some_and(|json| deeper_than(json, DEEPEST).is_some());
    for kernel in Cpu::available() {
        let found = kernel.run(|| Frame::parse(data, &Rules::json_rpc().max_depth(usize::MAX)));
        let kind = found.err().map(|fault| fault.kind());
        let accepted = kind.is_none_or(|kind| kind.code() == -32600 && kind != FaultKind::TooDeep);
        assert_eq!(accepted, json.is_some() && !too_deep, "{kernel:?}: {kind:?} on {shown:?}");
        if too_deep {
            assert_eq!(kind, Some(FaultKind::TooDeep), "{kernel:?} on {shown:?}");
        }
    }
    let raw = RawJson::parse(data);
    assert_eq!(raw.is_ok(), json.is_some() && !too_deep, "{:?} on {shown:?}", raw.err());

    let peculiar = json.map(Peculiar::of).unwrap_or_default();
    let members = json.and_then(members);
    for witness in [DECODING].iter().chain(witnesses) {
        let testimony = (witness.ask)(data);
        match (&testimony, json) {
            (Testimony::Refused, None) => {}
            (Testimony::Refused, Some(_)) => {
                let excused = witness.refuses.iter().any(|deviation| peculiar.has(*deviation));
                assert!(excused, "{} refuses {shown:?}", witness.name);
            }
            (_, None) => panic!("{} accepts {shown:?}", witness.name),
            (Testimony::Json, Some(_)) => {}
            (Testimony::Object(found), Some(_)) => {
                let members = members.as_deref().unwrap_or_default();
                assert_eq!(found.len(), members.len(), "{} on {shown:?}", witness.name);
                for ((found, found_value), (name, value)) in found.iter().zip(members) {
                    assert_eq!(Some(found), said(name).as_ref(), "{} on {shown:?}", witness.name);
                    assert!(found_value.as_ref().is_none_or(|found| found == value), "{} on {shown:?}", witness.name);
                }
            }
        }
    }
    if let (Some(json), Ok(raw)) = (json, raw) {
        assert_eq!(raw.as_json(), json.trim_matches([' ', '\t', '\r', '\n']));
        check_values(json, &raw);
        if let Some(members) = members {
            check_members(&raw, &members);
        }
    }
}

/// Decoding gives the same value as serde_json does.
fn check_values(json: &str, raw: &RawJson<'_>) {
    let expected = serde_json::from_str::<Value>(json).ok();
    assert_eq!(raw.deserialize::<Value>().ok(), expected, "{json:?}");
    let copies = 600_usize.div_ceil(json.len() + 1);
    let long = format!("[{json}{}]", format!(",{json}").repeat(copies));
    let Ok(raw) = RawJson::parse(long.as_bytes()) else { return };
    let found = raw.deserialize::<Vec<Value>>().ok();
    let expected = serde_json::from_str::<Vec<Value>>(&long).ok();
    assert_eq!(found, expected, "{long:?}");
}

/// Each member is found with its value, both by name and at the position that the scanner reports.
fn check_members(raw: &RawJson<'_>, members: &[(&str, &str)]) {
    let json = raw.as_json();
    for (at, (name, value)) in members.iter().enumerate().take(LOOKED_AT) {
        let Some(said) = said(name) else { continue };
        if members[at + 1..].iter().all(|(other, _)| self::said(other).as_ref() != Some(&said)) {
            let found = raw.pointer(&format!("/{}", said.replace('~', "~0").replace('/', "~1")));
            assert_eq!(found.as_ref().map(RawJson::as_json), Some(*value), "{name} in {json:?}");
        }
    }
    // The same object as a response, with one member after the other as its result.
    let is_plain = |name: &str| said(name).is_some_and(|name| !ENVELOPE.contains(&name.as_str()));
    if !members.iter().all(|(name, _)| is_plain(name)) {
        return;
    }
    for (name, value) in members.iter().take(LOOKED_AT) {
        let at = name.as_ptr() as usize - json.as_ptr() as usize;
        let body = json[at + name.len()..].strip_suffix('}').unwrap_or_default();
        let line = format!("{}\"result\"{body},\"jsonrpc\":\"2.0\",\"id\":1}}", &json[..at]);
        for kernel in Cpu::available() {
            let frame = kernel.run(|| Frame::parse(line.as_bytes(), &Rules::json_rpc().max_depth(usize::MAX)));
            let Ok(Frame::Message(Message::Response(response))) = &frame else {
                panic!("{kernel:?}: {frame:?} on {line:?}");
            };
            assert_eq!(response.result().as_ref().map(RawJson::as_json), Some(*value), "{kernel:?} on {line:?}");
        }
    }
}

const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// The decoded string, or `None` if it has a lone surrogate.
fn said(literal: &str) -> Option<String> {
    serde_json::from_str(literal).ok()
}

/// Formats a text for panic messages.
struct Shown<'a>(&'a [u8]);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(self.0), f)
    }
}

/// The features of a JSON text that some witness refuses.
#[derive(Default)]
struct Peculiar<'t> {
    json: &'t str,
    lone_surrogate: bool,
    beyond_f64: bool,
    beyond_64_bits: bool,
}

impl<'t> Peculiar<'t> {
    fn of(json: &'t str) -> Self {
        let mut found = Self { json, ..Self::default() };
        let mut rest = json;
        while let Some(at) = rest.find(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
            rest = &rest[at..];
            let len = if rest.starts_with('"') {
                let len = string_len(rest);
                found.lone_surrogate |= said(&rest[..len]).is_none();
                len
            } else {
                let len = rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
                found.number(&rest[..len]);
                len
            };
            rest = &rest[len..];
        }
        found
    }

    fn number(&mut self, number: &str) {
        self.beyond_f64 |= number.parse::<f64>().is_ok_and(f64::is_infinite);
        let is_integer = !number.contains(['.', 'e', 'E']);
        let fits = number.parse::<u64>().is_ok() || number.parse::<i64>().is_ok();
        self.beyond_64_bits |= is_integer && !fits;
    }

    fn has(&self, deviation: Deviation) -> bool {
        match deviation {
            Deviation::Deep(most) => deeper_than(self.json, most).is_some(),
            Deviation::LoneSurrogate => self.lone_surrogate,
            Deviation::BeyondF64 => self.beyond_f64,
            Deviation::Beyond64Bits => self.beyond_64_bits,
        }
    }
}

/// The length of the string literal at the start of a JSON text.
fn string_len(json: &str) -> usize {
    let mut escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |end| end + 2)
}

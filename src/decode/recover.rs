//! What can still be read of a line that is broken, too deep or too long: its id, and whether it was a response.
//!
//! A small state machine follows the line, in however many pieces it arrives, and keeps nothing of it but what may be
//! the id. It tracks brackets, strings and the members of the outermost object, and stops at the first thing that
//! doesn't belong there. What it has read by then stands.

use crate::json::{is_blank, string};
use crate::message::Id;

/// The longest spelling of a name that matters: six characters as escapes of six bytes each, and two quotes.
const LONGEST_KEY: usize = 6 * 6 + 2;

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub(crate) id: Option<Id<'static>>,
    pub(crate) has_method: bool,
    pub(crate) has_result: bool,
    pub(crate) has_error: bool,
}

impl Recovered {
    /// Whether the line is a response, which must never be answered: it has `result` or `error`, and no `method`.
    pub(crate) fn is_response(&self) -> bool {
        (self.has_result || self.has_error) && !self.has_method
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Recovery {
    longest_id: usize,
    state: State,
    /// How many brackets are open inside the outermost object.
    depth: u64,
    /// The innermost 128 of them, the last one in the lowest bit: set for `{`. Deeper ones are only counted.
    brackets: u128,
    /// The current member's name, then its value if it is the id.
    kept: Vec<u8>,
    member: Member,
    id: Option<Vec<u8>>,
    ids: u32,
    has_method: bool,
    has_result: bool,
    has_error: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Start,
    KeyOrClose,
    Key,
    InKey {
        escaped: bool,
    },
    Colon,
    Value,
    InString {
        escaped: bool,
    },
    InScalar,
    Nested,
    NestedString {
        escaped: bool,
    },
    Separator,
    /// The object has ended, or something in it didn't belong there.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Member {
    Other,
    Id,
    Method,
    Result,
    Error,
}

impl Recovery {
    /// At the start of a line. No id longer than `longest_id` is kept.
    pub(crate) fn new(longest_id: usize) -> Self {
        Self {
            longest_id,
            state: State::Start,
            depth: 0,
            brackets: 0,
            kept: Vec::new(),
            member: Member::Other,
            id: None,
            ids: 0,
            has_method: false,
            has_result: false,
            has_error: false,
        }
    }

    /// Everything that can be read of `line`, but for an id longer than `longest_id`.
    pub(crate) fn of(line: &[u8], longest_id: usize) -> Recovered {
        let mut recovery = Self::new(longest_id);
        recovery.feed(line);
        recovery.finish()
    }

    /// The next piece of the line.
    pub(crate) fn feed(&mut self, mut piece: &[u8]) {
        while let [byte, rest @ ..] = piece {
            let rest = match self.state {
                State::Over => return,
                // Most of a long line is inside strings, so those are searched rather than stepped through.
                State::InString { escaped: false } | State::NestedString { escaped: false } => {
                    let plain = memchr::memchr2(b'"', b'\\', piece).unwrap_or(piece.len());
                    self.keep(&piece[..plain]);
                    let Some((byte, rest)) = piece[plain..].split_first() else { return };
                    self.step(*byte);
                    rest
                }
                State::Nested => {
                    let special = |byte: &u8| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']');
                    let Some(plain) = piece.iter().position(special) else { return };
                    self.step(piece[plain]);
                    &piece[plain + 1..]
                }
                _ => {
                    self.step(*byte);
                    rest
                }
            };
            piece = rest;
        }
    }

    pub(crate) fn finish(self) -> Recovered {
        let id = self.id.filter(|_| self.ids == 1).and_then(|json| {
            let json = std::str::from_utf8(&json).ok()?;
            json.parse().ok()
        });
        Recovered { id, has_method: self.has_method, has_result: self.has_result, has_error: self.has_error }
    }

    fn step(&mut self, byte: u8) {
        let blank = is_blank(byte);
        self.state = match (self.state, byte) {
            (State::Start | State::KeyOrClose | State::Key | State::Colon | State::Value | State::Separator, _)
                if blank =>
            {
                self.state
            }
            (State::Start, b'{') => State::KeyOrClose,
            (State::KeyOrClose | State::Key, b'"') => {
                self.member = Member::Other;
                self.kept.clear();
                self.kept.push(byte);
                State::InKey { escaped: false }
            }
            (State::InKey { escaped }, _) => {
                if self.kept.len() <= LONGEST_KEY {
                    self.kept.push(byte);
                }
                match byte {
                    b'"' if !escaped => State::Colon,
                    _ => State::InKey { escaped: byte == b'\\' && !escaped },
                }
            }
            (State::Colon, b':') => {
                self.enter_member();
                State::Value
            }
            (State::Value, b'"') => {
                self.keep(b"\"");
                State::InString { escaped: false }
            }
            (State::InString { escaped }, _) => {
                self.keep(&[byte]);
                match byte {
                    b'"' if !escaped => State::Separator,
                    _ => State::InString { escaped: byte == b'\\' && !escaped },
                }
            }
            (State::Value, b'{' | b'[') => {
                self.open(byte);
                State::Nested
            }
            (State::Nested, b'{' | b'[') => {
                self.open(byte);
                State::Nested
            }
            (State::Nested, b'}' | b']') => match self.close(byte) {
                false => State::Over,
                true if self.depth == 0 => State::Separator,
                true => State::Nested,
            },
            (State::Nested, b'"') => State::NestedString { escaped: false },
            (State::NestedString { escaped }, _) => match byte {
                b'"' if !escaped => State::Nested,
                _ => State::NestedString { escaped: byte == b'\\' && !escaped },
            },
            (State::Separator | State::InScalar, b',') => {
                self.leave_member();
                State::Key
            }
            (State::Separator | State::InScalar, b'}') => {
                self.leave_member();
                State::Over
            }
            (State::InScalar, _) if blank => State::Separator,
            (State::Value | State::InScalar, b'}' | b']' | b'{' | b'[' | b':' | b',' | b'"') => State::Over,
            (State::Value | State::InScalar, _) => {
                self.keep(&[byte]);
                State::InScalar
            }
            _ => State::Over,
        };
    }

    /// The name is known, and the value comes next.
    fn enter_member(&mut self) {
        // A name that is itself broken, or too long to be kept, is none of these.
        let key = std::str::from_utf8(&self.kept).ok().filter(|key| key.len() <= LONGEST_KEY);
        let is = |name| key.is_some_and(|key| string::says(key, name));
        self.member = match () {
            () if is("id") => Member::Id,
            () if is("method") => Member::Method,
            () if is("result") => Member::Result,
            () if is("error") => Member::Error,
            () => Member::Other,
        };
        self.has_method |= self.member == Member::Method;
        self.has_result |= self.member == Member::Result;
        self.has_error |= self.member == Member::Error;
        self.ids += u32::from(self.member == Member::Id);
        self.kept.clear();
    }

    /// The value is complete.
    fn leave_member(&mut self) {
        if self.member == Member::Id && self.ids == 1 && self.kept.len() <= self.longest_id {
            self.id = Some(std::mem::take(&mut self.kept));
        }
    }

    /// Keeps a piece of the current value if it may be the id, up to one byte more than the longest id.
    fn keep(&mut self, piece: &[u8]) {
        if self.member == Member::Id && self.kept.len() <= self.longest_id {
            let room = self.longest_id.saturating_add(1) - self.kept.len();
            self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }

    fn open(&mut self, byte: u8) {
        self.depth += 1;
        if self.depth <= 128 {
            self.brackets = self.brackets << 1 | u128::from(byte == b'{');
        }
        // An id can't be an object or an array. Keeping the bracket makes sure that it isn't taken for an id.
        self.keep(&[byte]);
    }

    /// Whether the bracket matches the one opened last.
    fn close(&mut self, byte: u8) -> bool {
        let mut matches = true;
        if self.depth <= 128 {
            matches = (self.brackets & 1 == 1) == (byte == b'}');
            self.brackets >>= 1;
        }
        self.depth -= 1;
        matches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST_ID: usize = 1024;

    fn id(line: &str) -> Option<String> {
        let whole = Recovery::of(line.as_bytes(), LONGEST_ID).id.map(|id| id.as_json().to_owned());
        for size in 1..8 {
            let mut recovery = Recovery::new(LONGEST_ID);
            line.as_bytes().chunks(size).for_each(|piece| recovery.feed(piece));
            assert_eq!(recovery.finish().id.map(|id| id.as_json().to_owned()), whole, "{line} in pieces of {size}");
        }
        whole
    }

    #[test]
    fn reads_a_complete_id() {
        for (line, expected) in [
            (r#"{"id":1,"#, Some("1")),
            (r#"{"id":1}"#, Some("1")),
            (r#"{"id":1"#, None),
            (r#"{"id":12 "#, None),
            (r#"{"id":12 ,"#, Some("12")),
            (r#"{"id":"a""#, None),
            (r#"{"id":"a\",}",x"#, Some(r#""a\",}""#)),
            (r#"{"id":null,"#, Some("null")),
            (r#"{"id":-1.50e7,"#, Some("-1.50e7")),
            (r#" { "method" : "x" , "id" : 7 } "#, Some("7")),
            (r#"{"\u0069d":7,"#, Some("7")),
            (r#"{"\u0069\u0064":7,"#, Some("7")),
            (r#"{"\u0069\u0064\":7,"x":"id":8}"#, None),
            (r#"{"params":{"id":1},"#, None),
            (r#"{"params":[{"a":"]}"},[]],"id":2,"#, Some("2")),
            (r#"{"params":"\"id\":1,","id":2,"#, Some("2")),
            (r#"{"params":"\\","id":2,"#, Some("2")),
            (r#"{"params":["\\"],"id":2,"#, Some("2")),
            (r#"{"params":[NaN,Infinity],"id":2,"#, Some("2")),
            (r#"{"params":tru,"id":2,"#, Some("2")),
            (r#"{"params":[}],"id":2,"#, None),
            (r#"{"params":[1,"id":2,"#, None),
            (r#"{"a":1 "id":2,"#, None),
            (r#"{"a":1 2,"id":3,"#, None),
            (r#"{"a":1],"id":3,"#, None),
            (r#"{"a":1:2,"id":3,"#, None),
            (r#"{"a":1"x","id":3,"#, None),
            (r#"{"a":,"id":3,"#, None),
            (r#"{"a":},"id":3,"#, None),
            (r#"{"a" "id":2,"#, None),
            (r#"{"id":1,"id":2,"#, None),
            (r#"{"id":1,"x":2,"\u0069d":1}"#, None),
            (r#"{"id":{},"#, None),
            (r#"{"id":[1],"#, None),
            (r#"{"id":true,"#, None),
            (r#"{"id":01,"#, None),
            (r#"{"id":"\ud800","#, None),
            (r#"{"id":"\x","#, None),
            (r#"[{"id":1}]"#, None),
            (r#"{"id":1}{"id":2}"#, Some("1")),
            (r#""id":1,"#, None),
            (r#"{"ID":1,"Id":2,"id ":3,"id\u0000":4}"#, None),
            (r#"{"a":"x","id":1]"#, None),
        ] {
            assert_eq!(id(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn follows_brackets_as_deep_as_they_go() {
        for depth in [1, 127, 128, 129, 5000] {
            let line = format!(r#"{{"a":{}{},"id":5}}"#, "[{\"k\":".repeat(depth), "}]".repeat(depth));
            assert_eq!(id(&line).as_deref(), Some("5"), "{depth}");
        }
    }

    #[test]
    fn keeps_only_so_much() {
        let digits = "7".repeat(LONGEST_ID);
        assert_eq!(id(&format!(r#"{{"id":{digits},"#)), Some(digits.clone()));
        assert_eq!(id(&format!(r#"{{"id":{digits}7,"#)), None);
        let text = format!("\"{}\"", "x".repeat(LONGEST_ID - 1));
        assert_eq!(id(&format!(r#"{{"id":{text},"#)), None);
        let name = "x".repeat(100_000);
        let mut recovery = Recovery::new(LONGEST_ID);
        recovery.feed(format!(r#"{{"{name}":"{name}","id":"{name}"#).as_bytes());
        assert_eq!(recovery.kept.len(), LONGEST_ID + 1);
        assert!(recovery.kept.capacity() <= 4 * LONGEST_ID);
        // And nothing of what is not the id.
        let mut recovery = Recovery::new(LONGEST_ID);
        recovery.feed(format!(r#"{{"{name}":"{name}"#).as_bytes());
        assert!(recovery.kept.is_empty());
    }

    #[test]
    fn tells_a_response() {
        let is_response = |line: &str| Recovery::of(line.as_bytes(), LONGEST_ID).is_response();
        assert!(is_response(r#"{"result":{"x":NaN},"#));
        assert!(is_response(r#"{"id":1,"error":{"#));
        assert!(is_response(r#"{"id":1,"r\u0065sult":"#));
        assert!(is_response(r#"{"id":1,"\u0072\u0065\u0073\u0075\u006c\u0074":"#));
        assert!(!is_response(r#"{"id":1,"result""#));
        assert!(!is_response(r#"{"id":1,"method":"x","result":1"#));
        assert!(!is_response(r#"{"params":{"result":1},"#));
        assert!(!is_response("noise"));
        // A name that goes on where only a part of it was kept.
        assert!(is_response(r#"{"\u006d\u0065\u0074\u0068\u006f\u0064\"x":1,"result":2}"#));
        assert!(!is_response(r#"{"\u0072\u0065\u0073\u0075\u006c\u0074\"x":1}"#));
    }
}

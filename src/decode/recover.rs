//! Recovers the id of a line that is broken, too deep or too long, and whether it was a response.
//!
//! An answer with the wrong id settles another request, which is worse than no answer. So these are the rules:
//!
//! **The line is parsed by JSON's grammar**, in any number of pieces. These flaws are skipped, because the text after
//! them can be read in one way only:
//!
//! - brackets that are nested too deep, up to [`brackets::MAX_OPEN`];
//! - in a string: bytes that aren't UTF-8, tabs, and escapes that JSON doesn't have;
//! - a number that is spelled badly, such as `01`, `1.` or `0x1f`, and the [`WORDS`] for values, such as `NaN`;
//! - superfluous commas, as in `[1,]`;
//! - a byte order mark at the start.
//!
//! **Any other flaw ends the reading**, because after it a string, a comment and a member can't be told apart: single
//! quotes, backquotes, comments, calls, bare words, a missing comma or colon, a bracket of the wrong type, a control
//! character in a string (which may be where the string was meant to end). So do two flaws that make the end of a
//! string ambiguous: `\"` after an escape that JSON doesn't have, because the last backslash in `"C:\new\"` escapes
//! nothing; and a backslash after half a character, because it may be the other half in Shift JIS or GBK. The end of a
//! truncated line isn't a flaw.
//!
//! **The id is recovered** if the outermost object (the first one, if there are several on the line) has an `id` among
//! the members that were read, and
//!
//! - its value is complete: it is followed by `}`, or by a comma and then another member's name and colon, or by the
//!   start of those if the line is cut off there. In `"id":1,000` and `"id":"a","b"`, the comma may be part of the
//!   value;
//! - no other name in that object is `id`, with or without escapes, and no name is unreadable;
//! - nothing after the end of the reading [mentions](mentions::Mentions) an id, which may be the real one;
//! - the outermost object isn't followed by a comma or a closing bracket, has no `]` of its own, and has no name
//!   followed by `,` or `}`: otherwise it may be part of another object, or of a string that contains quotes. After the
//!   end of the reading, brackets count wherever they are;
//! - any object that follows on the same line is complete.

use wireline_json::{is_blank, string};

mod brackets;
mod mentions;

use crate::message::Id;

use brackets::Brackets;
use mentions::Mentions;

/// The longest spelling of a relevant name: six characters as escapes of six bytes each, and two quotes.
const LONGEST_KEY: usize = 6 * 6 + 2;

/// Words that other languages print for a value.
const WORDS: [&[u8]; 13] = [
    b"true",
    b"false",
    b"null",
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"nan",
    b"inf",
    b"-inf",
    b"undefined",
    b"None",
    b"True",
    b"False",
];

/// The length of the longest word in [`WORDS`].
const LONGEST_WORD: usize = 9;

/// The parts of a line that could be read.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub(crate) id: Option<Id<'static>>,
    pub(crate) has_method: bool,
    pub(crate) has_result: bool,
    pub(crate) has_error: bool,
    /// Whether reading ended before the object or the line did, or continued into a second object.
    pub(crate) is_lost: bool,
}

impl Recovered {
    /// Whether the line is a response, which must never be answered: it has `result` or `error`, and no `method`.
    pub(crate) fn is_response(&self) -> bool {
        (self.has_result || self.has_error) && !self.has_method
    }
}

/// Reads a faulty line piece by piece; see the [module](self) for the rules.
#[derive(Debug)]
pub(crate) struct Recovery {
    longest_id: usize,
    state: ParserState,
    brackets: Brackets,
    /// The current member's name, then its value if it may be the id, or the start of a number or word.
    kept: Vec<u8>,
    member: KnownMember,
    id: Candidate,
    has_method: bool,
    has_result: bool,
    has_error: bool,
    /// The last four bytes of the current string, the latest in the lowest byte.
    recent: u32,
    has_foreign_escapes: bool,
    /// Whether a second object has begun after the first.
    is_second: bool,
    mentions: Mentions,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ParserState {
    /// Before the object, after `mark` bytes of a byte order mark.
    Start {
        mark: usize,
    },
    /// Before a name or `}`.
    Name,
    Colon,
    /// After a colon.
    Value,
    /// Before an element of an array or `]`.
    Element,
    String {
        is_name: bool,
        escape: Escape,
    },
    /// In a number or word. `is_numeric` says whether it may be a number.
    Scalar {
        is_numeric: bool,
    },
    Separator,
    /// After the object.
    Closed,
    /// Reading has ended, within the object or after it.
    Lost,
    /// There is no object.
    Noise,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Escape {
    None,
    /// After a backslash.
    Backslash,
    /// In a `\u` escape that lacks this many hexadecimal digits.
    Digits(u8),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum KnownMember {
    Other,
    Id,
    Method,
    Result,
    Error,
}

#[derive(Debug)]
enum Candidate {
    None,
    /// The name `id` has been read.
    Named,
    /// The value has been read, but may continue after the comma.
    Unconfirmed(Vec<u8>),
    Confirmed(Vec<u8>),
    Doubtful,
}

impl Recovery {
    /// Starts at the beginning of a line. Ids longer than `longest_id` aren't kept.
    pub(crate) fn new(longest_id: usize) -> Self {
        Self {
            longest_id,
            state: ParserState::Start { mark: 0 },
            brackets: Brackets::default(),
            kept: Vec::new(),
            member: KnownMember::Other,
            id: Candidate::None,
            has_method: false,
            has_result: false,
            has_error: false,
            recent: 0,
            has_foreign_escapes: false,
            is_second: false,
            mentions: Mentions::default(),
        }
    }

    /// Recovers what can be read of `line`, except an id longer than `longest_id`.
    pub(crate) fn of(line: &[u8], longest_id: usize) -> Recovered {
        let mut recovery = Self::new(longest_id);
        recovery.feed(line);
        recovery.finish()
    }

    /// Reads the next piece of the line.
    pub(crate) fn feed(&mut self, mut piece: &[u8]) {
        while let [byte, rest @ ..] = piece {
            piece = match self.state {
                ParserState::Lost => {
                    if matches!(self.id, Candidate::Confirmed(_)) {
                        self.mentions.feed(piece);
                    }
                    return;
                }
                // Most of a long line is inside strings, so these are searched instead of stepped through byte by byte.
                ParserState::String { is_name, escape: Escape::None } => {
                    let (plain, special) = piece.split_at(plain_len(piece));
                    self.keep(is_name, plain);
                    match special {
                        [b'"', rest @ ..] => {
                            self.keep(is_name, b"\"");
                            self.state = self.close_string(is_name);
                            rest
                        }
                        [byte, rest @ ..] => {
                            self.remember(plain);
                            self.step(*byte);
                            rest
                        }
                        [] => return self.remember(plain),
                    }
                }
                ParserState::Noise => return,
                _ => {
                    self.step(*byte);
                    rest
                }
            };
        }
    }

    pub(crate) fn finish(mut self) -> Recovered {
        self.mentions.finish();
        let Mentions { id: mentions_id, method, outcome, is_inner, .. } = self.mentions;
        let is_lost = self.state == ParserState::Lost || self.is_second;
        let is_doubtful = mentions_id || is_inner || self.is_second && self.state != ParserState::Closed;
        // Whether the line was cut off in a real name, rather than in a string that contains a quote and a comma.
        let is_name = match (self.state, &*self.kept) {
            (ParserState::String { is_name: true, .. }, [_, name @ ..]) => name.iter().all(|&byte| is_scalar(byte)),
            _ => true,
        };
        let id = match self.id {
            Candidate::Unconfirmed(id) if is_name && !is_doubtful => Some(id),
            Candidate::Confirmed(id) if !is_doubtful => Some(id),
            _ => None,
        };
        let id = id.and_then(|json| std::str::from_utf8(&json).ok()?.parse().ok());
        let has_result = self.has_result || outcome && !method;
        Recovered { id, has_method: self.has_method, has_result, has_error: self.has_error, is_lost }
    }

    #[inline(always)]
    fn step(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (ParserState::String { is_name, escape }, _) => self.step_in_string(is_name, escape, byte),
            (ParserState::Scalar { is_numeric }, _) => self.step_in_scalar(is_numeric, byte),
            (ParserState::Start { mark: 0 | 3 }, b'{') => ParserState::Name,
            (ParserState::Closed, b'{') => {
                self.is_second = true;
                ParserState::Name
            }
            (ParserState::Start { mark }, _) if b"\xef\xbb\xbf".get(mark) == Some(&byte) => {
                ParserState::Start { mark: mark + 1 }
            }
            (state, _) if is_blank(byte) && !matches!(state, ParserState::Start { mark: 1 | 2 }) => state,
            (ParserState::Name, b'"') => self.open_string(true),
            (ParserState::Name | ParserState::Element, b',') => self.state,
            (ParserState::Name, b'}') | (ParserState::Element, b']') => self.close(byte),
            (ParserState::Colon, b':') => {
                self.enter_member();
                ParserState::Value
            }
            (ParserState::Value | ParserState::Element, b'"') => self.open_string(false),
            (ParserState::Value | ParserState::Element, b'{' | b'[') => self.open(byte),
            (ParserState::Value | ParserState::Element, _) if is_scalar(byte) => {
                self.kept.clear();
                self.keep_scalar(byte);
                ParserState::Scalar { is_numeric: matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.') }
            }
            (ParserState::Separator, _) => self.separate(byte),
            _ => self.lose(byte),
        };
    }

    fn open_string(&mut self, is_name: bool) -> ParserState {
        self.kept.clear();
        self.recent = 0;
        if is_name {
            self.member = KnownMember::Other;
        }
        self.keep(is_name, b"\"");
        ParserState::String { is_name, escape: Escape::None }
    }

    fn step_in_string(&mut self, is_name: bool, escape: Escape, byte: u8) -> ParserState {
        let next = match (escape, byte) {
            _ if ends_string_early(byte) => return self.lose(byte),
            (Escape::None | Escape::Digits(_), b'"') => {
                if escape != Escape::None {
                    self.pass_foreign_escape(is_name);
                }
                self.keep(is_name, b"\"");
                return self.close_string(is_name);
            }
            (Escape::Backslash, b'"') if self.has_foreign_escapes => return self.lose(byte),
            (Escape::Backslash, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Escape::None,
            (Escape::Backslash, b'u') => Escape::Digits(4),
            (Escape::Digits(1), _) if byte.is_ascii_hexdigit() => Escape::None,
            (Escape::Digits(missing), _) if byte.is_ascii_hexdigit() => Escape::Digits(missing - 1),
            (Escape::None, b'\\') if !ends_with_character(self.recent) => return self.lose(byte),
            (Escape::None, b'\\') => Escape::Backslash,
            (Escape::None, _) => Escape::None,
            (Escape::Backslash | Escape::Digits(_), _) => {
                self.pass_foreign_escape(is_name);
                if byte == b'\\' { Escape::Backslash } else { Escape::None }
            }
        };
        self.recent = self.recent << 8 | u32::from(byte);
        self.keep(is_name, &[byte]);
        ParserState::String { is_name, escape: next }
    }

    /// Remembers the last bytes of the current string.
    fn remember(&mut self, piece: &[u8]) {
        for &byte in &piece[piece.len().saturating_sub(4)..] {
            self.recent = self.recent << 8 | u32::from(byte);
        }
    }

    fn pass_foreign_escape(&mut self, is_name: bool) {
        self.has_foreign_escapes = true;
        if is_name && self.is_outermost() {
            self.id = Candidate::Doubtful;
        }
    }

    fn close_string(&mut self, is_name: bool) -> ParserState {
        if !is_name {
            return ParserState::Separator;
        }
        if self.is_outermost() && !self.is_second {
            self.name_member();
        }
        ParserState::Colon
    }

    fn step_in_scalar(&mut self, is_numeric: bool, byte: u8) -> ParserState {
        if is_scalar(byte) {
            let is_numeric =
                is_numeric && (byte.is_ascii_hexdigit() || matches!(byte, b'x' | b'X' | b'+' | b'-' | b'.' | b'_'));
            if !is_numeric && self.kept.len() >= LONGEST_WORD {
                return self.lose(byte);
            }
            self.keep_scalar(byte);
            return ParserState::Scalar { is_numeric };
        }
        // A number has a digit among its first bytes; a row of dots or dashes isn't a number.
        let is_value = match is_numeric {
            true => self.kept.iter().any(u8::is_ascii_digit),
            false => WORDS.contains(&self.kept.as_slice()),
        };
        match byte {
            _ if !is_value => self.lose(byte),
            _ if is_blank(byte) => ParserState::Separator,
            _ => self.separate(byte),
        }
    }

    /// Reads a byte after a value.
    fn separate(&mut self, byte: u8) -> ParserState {
        match byte {
            b',' => {
                if self.is_outermost() {
                    self.leave_member(Candidate::Unconfirmed);
                }
                if self.brackets.in_object() { ParserState::Name } else { ParserState::Element }
            }
            b'}' | b']' => self.close(byte),
            _ => self.lose(byte),
        }
    }

    fn open(&mut self, byte: u8) -> ParserState {
        if self.is_outermost() && self.member == KnownMember::Id {
            self.id = Candidate::Doubtful;
        }
        match byte {
            _ if !self.brackets.open(byte) => self.lose(byte),
            b'{' => ParserState::Name,
            _ => ParserState::Element,
        }
    }

    fn close(&mut self, byte: u8) -> ParserState {
        if self.brackets.in_object() != (byte == b'}') {
            return self.lose(byte);
        }
        if self.is_outermost() {
            self.leave_member(Candidate::Confirmed);
            self.confirm();
            return ParserState::Closed;
        }
        self.brackets.close();
        ParserState::Separator
    }

    /// Ends the reading at this byte.
    #[cold]
    fn lose(&mut self, byte: u8) -> ParserState {
        if let ParserState::Start { .. } = self.state {
            return ParserState::Noise;
        }
        let is_doubtful = match self.state {
            _ if self.is_second => true,
            _ if !self.is_outermost() => false,
            ParserState::String { is_name, .. } => is_name,
            ParserState::Colon => matches!(byte, b',' | b'}' | b']'),
            _ => byte == b']',
        };
        if is_doubtful || !matches!(self.id, Candidate::Confirmed(_)) {
            self.id = Candidate::Doubtful;
        } else {
            self.mentions = match self.state {
                ParserState::Closed => Mentions::after(),
                _ => Mentions::at(self.brackets.depth()),
            };
            if let ParserState::Scalar { .. } = self.state {
                self.mentions.feed(&self.kept);
            }
            self.mentions.feed(&[byte]);
        }
        ParserState::Lost
    }

    fn is_outermost(&self) -> bool {
        self.brackets.depth() == 0
    }

    /// Handles the end of a name.
    fn name_member(&mut self) {
        // A name that is too long to be kept isn't a relevant one.
        let key = match std::str::from_utf8(&self.kept) {
            _ if self.kept.len() > LONGEST_KEY => "",
            Ok(key) => key,
            // A parser that drops invalid bytes may see any name here.
            Err(_) => {
                self.id = Candidate::Doubtful;
                ""
            }
        };
        let is = |name| string::decodes_to(key, name);
        self.member = match () {
            () if is("id") => KnownMember::Id,
            () if is("method") => KnownMember::Method,
            () if is("result") => KnownMember::Result,
            () if is("error") => KnownMember::Error,
            () => KnownMember::Other,
        };
        if self.member == KnownMember::Id {
            self.id = match self.id {
                Candidate::None => Candidate::Named,
                _ => Candidate::Doubtful,
            };
        }
    }

    /// Handles the colon after a name.
    fn enter_member(&mut self) {
        if self.is_outermost() && !self.is_second {
            self.has_method |= self.member == KnownMember::Method;
            self.has_result |= self.member == KnownMember::Result;
            self.has_error |= self.member == KnownMember::Error;
            self.confirm();
        }
        self.kept.clear();
    }

    /// Handles the end of a value. If it is the id, `candidate` says whether it is confirmed.
    fn leave_member(&mut self, candidate: fn(Vec<u8>) -> Candidate) {
        if let Candidate::Named = self.id {
            self.id = match self.kept.len() <= self.longest_id {
                true => candidate(std::mem::take(&mut self.kept)),
                false => Candidate::Doubtful,
            };
        }
    }

    /// Confirms that the value before the last comma was complete.
    fn confirm(&mut self) {
        if let Candidate::Unconfirmed(id) = &mut self.id {
            self.id = Candidate::Confirmed(std::mem::take(id));
        }
    }

    /// Keeps a piece of a string that may be a relevant name or the id.
    #[inline(always)]
    fn keep(&mut self, is_name: bool, piece: &[u8]) {
        let most = match () {
            () if !self.is_outermost() => return,
            () if is_name => LONGEST_KEY,
            () if self.member == KnownMember::Id => self.longest_id,
            () => return,
        };
        // Keep one more byte, to detect a string that is too long.
        let room = (most + 1).saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn keep_scalar(&mut self, byte: u8) {
        let is_id = self.is_outermost() && self.member == KnownMember::Id;
        let most = if is_id { self.longest_id.max(LONGEST_WORD) } else { LONGEST_WORD };
        if self.kept.len() <= most {
            self.kept.push(byte);
        }
    }
}

/// How many bytes of a string come before a quote, a backslash or a control character that ends the reading.
fn plain_len(piece: &[u8]) -> usize {
    let end = memchr::memchr2(b'"', b'\\', piece).unwrap_or(piece.len());
    // Without an early exit, the compiler vectorises this loop.
    let has_control = |block: &[u8; 16]| block.iter().fold(false, |found, &byte| found | ends_string_early(byte));
    let plain = 16 * piece[..end].as_chunks().0.iter().take_while(|block| !has_control(block)).count();
    piece[plain..end].iter().position(|&byte| ends_string_early(byte)).map_or(end, |at| plain + at)
}

/// Whether a string may have been meant to end at this byte, or may change its encoding there.
fn ends_string_early(byte: u8) -> bool {
    byte < b' ' && byte != b'\t'
}

/// Whether a byte may be part of a number or word.
fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')
}

/// Whether the latest of these bytes is ASCII or ends a UTF-8 character.
fn ends_with_character(recent: u32) -> bool {
    let bytes = recent.to_be_bytes();
    bytes[3].is_ascii()
        || (0..3).any(|from| std::str::from_utf8(&bytes[from..]).is_ok_and(|text| text.chars().count() == 1))
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
            (r#"{"id":"a\",}","x"#, Some(r#""a\",}""#)),
            (r#"{"id":"a\",}",x"#, None),
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
            (r#"{"params":tru,"id":2,"#, None),
            (r#"{"params":[1,],"id":2,"#, Some("2")),
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
            (r#"{"id":1}{"id":2} {"id":3,"x":NaN}"#, Some("1")),
            (r#"{"id":1}{"id":2"#, None),
            (r#"{"id":1}{"id":2}x"#, None),
            (r#"{"id":1}{"id":2}}"#, None),
            (r#"{"x":1}{"id":2}"#, None),
            (r#"{"id":1} x"#, Some("1")),
            (r#""id":1,"#, None),
            (r#"{"ID":1,"Id":2,"id ":3,"id\u0000":4}"#, None),
            (r#"{"a":"x","id":1]"#, None),
        ] {
            assert_eq!(id(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn follows_brackets_up_to_a_limit() {
        let deepest = brackets::MAX_OPEN / 2;
        let deeper = format!(r#"{{"a":{}0{},"id":5}}"#, "[{\"k\":".repeat(deepest + 1), "}]".repeat(deepest + 1));
        assert!(Recovery::of(deeper.as_bytes(), LONGEST_ID).id.is_none());
        let first = deeper.replace("{\"a\"", "{\"id\":5,\"a\"").replace(",\"id\":5}", "}");
        assert_eq!(Recovery::of(first.as_bytes(), LONGEST_ID).id.unwrap().as_json(), "5");
        for depth in [1, 4, 127, 128, 129, 5000] {
            let line = format!(r#"{{"a":{}0{},"id":5}}"#, "[{\"k\":".repeat(depth), "}]".repeat(depth));
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
        // Values other than the id aren't kept.
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
        // A name of which only the first part is kept.
        assert!(is_response(r#"{"\u006d\u0065\u0074\u0068\u006f\u0064\"x":1,"result":2}"#));
        assert!(!is_response(r#"{"\u0072\u0065\u0073\u0075\u006c\u0074\"x":1}"#));
    }
}

//! A guess at the mistake behind a line that isn't JSON.

use std::fmt;

use crate::message::{FaultKind, Violation};

/// A guess at the mistake behind a faulty line; see [`Fault::hint`](crate::Fault::hint).
///
/// Hints may be added, so a `match` needs a wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hint {
    /// A `Content-Length` or `Content-Type` header: the peer frames its messages as language servers do.
    ContentLengthHeader,
    /// The first line of an HTTP request or response.
    HttpRequest,
    /// UTF-16 text.
    Utf16,
    /// One line of JSON that was pretty-printed over several lines.
    PrettyPrinted,
    /// Several values on one line, as if a line ending were missing.
    SeveralValues,
    /// `NaN`, `Infinity` or `undefined`, which JSON doesn't have.
    NotANumber,
    /// Text meant for people, such as a log line or a debug print.
    LogText,
    /// A line of an event stream, as HTTP servers send it: `data: {…}`.
    EventStream,
    /// A line of an HTML page, such as the error page of a web server.
    Html,
    /// UTF-32 text.
    Utf32,
    /// Zero bytes between or after the characters, such as the end of a C string.
    ZeroBytes,
    /// A Python dict or a JavaScript object as it is printed: `{'id': 1}`, `{id: 1}`, `True` or `None`.
    ObjectLiteral,
    /// A comma after the last member or element.
    TrailingComma,
    /// A line that ends within a string, as if a line break in it were not written as `\n`.
    LineBreakInString,
    /// Text in Latin-1 or Windows-1252.
    Latin1,
}

impl Hint {
    /// All hints.
    pub const ALL: &'static [Self] = &[
        Self::ContentLengthHeader,
        Self::HttpRequest,
        Self::Utf16,
        Self::PrettyPrinted,
        Self::SeveralValues,
        Self::NotANumber,
        Self::LogText,
        Self::EventStream,
        Self::Html,
        Self::Utf32,
        Self::ZeroBytes,
        Self::ObjectLiteral,
        Self::TrailingComma,
        Self::LineBreakInString,
        Self::Latin1,
    ];

    /// A short name in kebab case, for logs and programs. It never changes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ContentLengthHeader => "content-length-header",
            Self::HttpRequest => "http-request",
            Self::Utf16 => "utf-16",
            Self::PrettyPrinted => "pretty-printed",
            Self::SeveralValues => "several-values",
            Self::NotANumber => "not-a-number",
            Self::LogText => "log-text",
            Self::EventStream => "event-stream",
            Self::Html => "html",
            Self::Utf32 => "utf-32",
            Self::ZeroBytes => "zero-bytes",
            Self::ObjectLiteral => "object-literal",
            Self::TrailingComma => "trailing-comma",
            Self::LineBreakInString => "line-break-in-string",
            Self::Latin1 => "latin-1",
        }
    }

    /// Guesses what `line`, which isn't JSON, was meant to be.
    pub(crate) fn of(line: &[u8], violation: Violation) -> Option<Self> {
        let text = line.trim_ascii();
        if is_utf32(line) {
            return Some(Self::Utf32);
        }
        if is_utf16(line) {
            return Some(Self::Utf16);
        }
        if line.get(violation.at) == Some(&0) {
            return Some(Self::ZeroBytes);
        }
        if starts_with_any(text, &["content-length:", "content-type:"]) {
            return Some(Self::ContentLengthHeader);
        }
        if is_http(text) {
            return Some(Self::HttpRequest);
        }
        if starts_with_any(text, &["<!doctype html", "<html", "<head", "<body"]) {
            return Some(Self::Html);
        }
        if is_event_stream(text) {
            return Some(Self::EventStream);
        }
        if is_not_a_number(line, violation) {
            return Some(Self::NotANumber);
        }
        if let [b'{' | b'[', ..] = text
            && let Some(hint) = Self::within_json(line, violation)
        {
            return Some(hint);
        }
        if is_part_of_pretty_printed(text, violation) {
            return Some(Self::PrettyPrinted);
        }
        match (text, violation.kind) {
            ([b'{' | b'[', ..], FaultKind::TrailingData) if matches!(line[violation.at], b'{' | b'[') => {
                Some(Self::SeveralValues)
            }
            // `[info] started` starts like an array, and `2026-11-16 started` like a number.
            _ if is_prose(text) => Some(Self::LogText),
            _ => None,
        }
    }

    /// Guesses the mistake within a line that starts like JSON.
    fn within_json(line: &[u8], violation: Violation) -> Option<Self> {
        let (before, rest) = line.split_at(violation.at.min(line.len()));
        let previous = before.trim_ascii_end().last();
        match (rest, violation.kind) {
            ([b'}' | b']', ..], _) if previous == Some(&b',') => Some(Self::TrailingComma),
            ([b'\n' | b'\r', ..], FaultKind::ControlCharacter) => Some(Self::LineBreakInString),
            ([], FaultKind::UnexpectedEnd) if ends_within_string(line) => Some(Self::LineBreakInString),
            // A byte beyond ASCII that no other such byte follows.
            ([0x80..=0xff, next, ..], FaultKind::InvalidUtf8) if next.is_ascii() => Some(Self::Latin1),
            _ if is_object_literal(previous, rest) => Some(Self::ObjectLiteral),
            _ => None,
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContentLengthHeader => "this looks like a Content-Length header: the peer uses LSP framing",
            Self::HttpRequest => "this looks like HTTP: the peer takes this for a web server",
            Self::Utf16 => "this looks like UTF-16: JSON must be UTF-8",
            Self::PrettyPrinted => "this looks like JSON printed over several lines: each message must be on one line",
            Self::SeveralValues => "this looks like several messages on one line: a newline is missing",
            Self::NotANumber => "this looks like NaN, Infinity or undefined: JSON has no such values",
            Self::LogText => "this looks like a log line on stdout: logs belong on stderr",
            Self::EventStream => {
                "this looks like an event stream (SSE): on stdio, each message is a line without `data:`"
            }
            Self::Html => "this looks like HTML: the peer sends a web page instead of messages",
            Self::Utf32 => "this looks like UTF-32: JSON must be UTF-8",
            Self::ZeroBytes => "this looks like text with zero bytes: write a message without the end of its C string",
            Self::ObjectLiteral => {
                "this looks like a Python dict or a JavaScript object: write json.dumps(…) or JSON.stringify(…)"
            }
            Self::TrailingComma => "this looks like a comma too many: JSON has none after the last member or element",
            Self::LineBreakInString => {
                "this looks like a string with a line break in it, or cut off: write line breaks as \\n"
            }
            Self::Latin1 => "this looks like Latin-1 or Windows-1252: JSON must be UTF-8",
        })
    }
}

/// Whether the line starts with a UTF-32 byte order mark, or three of four bytes are zero.
fn is_utf32(line: &[u8]) -> bool {
    let is_character = |unit: &[u8]| unit.iter().filter(|&&byte| byte == 0).count() == 3;
    line.starts_with(b"\xff\xfe\0\0")
        || line.starts_with(b"\0\0\xfe\xff")
        || line.len() >= 8 && line.chunks_exact(4).take(16).all(is_character)
}

/// Whether the text is a line of an event stream.
fn is_event_stream(text: &[u8]) -> bool {
    let field = |name: &str| text.strip_prefix(name.as_bytes()).map(<[u8]>::trim_ascii_start);
    field("data:").is_some_and(|data| data.starts_with(b"{") || data.starts_with(b"["))
        || field("event:").is_some_and(|event| !event.is_empty() && !event.contains(&b' '))
}

/// Whether the text ends after an odd number of quotation marks, apart from those with a backslash.
fn ends_within_string(text: &[u8]) -> bool {
    let (mut is_within, mut at) = (false, 0);
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found + 1;
        match text[at - 1] {
            b'"' => is_within = !is_within,
            _ => at += 1,
        }
    }
    is_within
}

/// Whether `rest` starts with a name or a value as Python or JavaScript print them. `previous` precedes it.
fn is_object_literal(previous: Option<&u8>, rest: &[u8]) -> bool {
    let len = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let (word, after) = rest.split_at(len);
    match previous {
        Some(b'{' | b',' | b':' | b'[') if rest.starts_with(b"'") => true,
        Some(b':' | b'[' | b',') if [&b"True"[..], b"False", b"None"].contains(&word) => true,
        Some(b'{' | b',') => len > 0 && !word[0].is_ascii_digit() && after.trim_ascii_start().starts_with(b":"),
        _ => false,
    }
}

/// Whether the line starts with a UTF-16 byte order mark, or every other byte is zero.
fn is_utf16(line: &[u8]) -> bool {
    let zeros = |from: usize| line.len() > 3 && line.iter().skip(from).step_by(2).take(32).all(|&byte| byte == 0);
    line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") || zeros(0) || zeros(1)
}

fn is_http(text: &[u8]) -> bool {
    let methods = ["get /", "post /", "put /", "delete /", "head /", "options ", "patch /", "connect "];
    starts_with_any(text, &["http/1.", "http/2"])
        || starts_with_any(text, &methods) && memchr::memmem::find(text, b" HTTP/").is_some()
}

fn starts_with_any(text: &[u8], prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| text.get(..prefix.len()).is_some_and(|t| t.eq_ignore_ascii_case(prefix.as_bytes())))
}

fn is_not_a_number(line: &[u8], violation: Violation) -> bool {
    let (before, rest) = line.split_at(violation.at);
    let is_word = match violation.kind {
        FaultKind::InvalidLiteral => true,
        FaultKind::InvalidNumber => before.ends_with(b"-"), // `-Infinity`
        _ => false,
    };
    let len = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    is_word
        && ["nan", "inf", "infinity", "undefined"].iter().any(|word| rest[..len].eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether the text is a lone bracket, starts with a closing bracket, or is a member without an object around it.
fn is_part_of_pretty_printed(text: &[u8], violation: Violation) -> bool {
    match text {
        b"{" | b"[" | b"}" | b"]" | b"}," | b"]," | b"{}," | b"[]," => true,
        [b'}' | b']', ..] => text.len() < 4,
        [b'"', ..] => {
            // `"key": value,`: the string is fine, but nothing may follow it.
            violation.kind == FaultKind::TrailingData && text.iter().any(|&byte| byte == b':' || byte == b',')
        }
        _ => false,
    }
}

/// Whether the text starts with a word or a time and is printable.
fn is_prose(text: &[u8]) -> bool {
    let starts = text
        .first()
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80 || b"[(<*-#>=!/\x1b".contains(byte));
    let start = &text[..text.len().min(128)];
    let printable = |byte: &u8| *byte >= 0x20 || matches!(byte, b'\t' | b'\x1b' | b'\r');
    starts && start.iter().filter(|byte| byte.is_ascii_alphabetic()).count() >= 2 && start.iter().all(printable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_and_a_text_of_its_own() {
        for (i, hint) in Hint::ALL.iter().enumerate() {
            assert!(hint.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
            assert!(hint.to_string().starts_with("this looks like "));
            for other in &Hint::ALL[..i] {
                assert!(hint.name() != other.name() && hint.to_string() != other.to_string());
            }
        }
        assert_eq!(Hint::ContentLengthHeader.name(), "content-length-header");
    }
}

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
        }
    }

    /// Guesses what `line`, which isn't JSON, was meant to be.
    pub(crate) fn of(line: &[u8], violation: Violation) -> Option<Self> {
        let text = line.trim_ascii();
        if is_utf16(line) {
            return Some(Self::Utf16);
        }
        if starts_with_any(text, &["content-length:", "content-type:"]) {
            return Some(Self::ContentLengthHeader);
        }
        if is_http(text) {
            return Some(Self::HttpRequest);
        }
        if is_not_a_number(line, violation) {
            return Some(Self::NotANumber);
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
        })
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

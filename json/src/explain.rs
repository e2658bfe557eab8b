//! Validates JSON byte by byte, more slowly than the scanner, and reports the first error and its position.
//!
//! It only runs on texts that the scanner rejected, and as the scanner's oracle in tests.

use super::is_blank;
use super::scan::nesting::Nesting;

/// A syntax error and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The kind of error.
    pub kind: SyntaxErrorKind,
    /// The offset of the offending byte, or the length of the text if it ends too early.
    pub at: usize,
}

/// A kind of syntax error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxErrorKind {
    /// The text is empty or blank.
    Empty,
    /// The text starts with a byte order mark.
    ByteOrderMark,
    /// The text isn't UTF-8.
    InvalidUtf8,
    /// A string contains an unescaped control character.
    ControlCharacter,
    /// A backslash doesn't start a valid escape.
    InvalidEscape,
    /// A number isn't valid JSON.
    InvalidNumber,
    /// A word isn't `true`, `false` or `null`.
    InvalidLiteral,
    /// A byte is not allowed in its place.
    UnexpectedByte,
    /// The text ends within a value.
    UnexpectedEnd,
    /// Something other than blanks follows the value.
    TrailingData,
    /// The text is nested deeper than the limit.
    TooDeep,
}

/// Returns the first syntax error in `text`, or `None` if the text is JSON. `max_depth` must be at most
/// [`DEEPEST`](super::DEEPEST).
pub fn explain(text: &[u8], max_depth: u32) -> Option<SyntaxError> {
    if text.starts_with(b"\xef\xbb\xbf") {
        return Some(SyntaxError { kind: SyntaxErrorKind::ByteOrderMark, at: 0 });
    }
    let syntax = Validator { text, at: 0 }.text(max_depth).err();
    // The validator treats all non-ASCII bytes as valid characters. Report whichever error comes first.
    let utf8 = simdutf8::compat::from_utf8(text)
        .err()
        .map(|error| SyntaxError { kind: SyntaxErrorKind::InvalidUtf8, at: error.valid_up_to() });
    match (syntax, utf8) {
        (Some(syntax), Some(utf8)) if syntax.at < utf8.at => Some(syntax),
        (syntax, utf8) => utf8.or(syntax),
    }
}

/// The tokens that may come next.
#[derive(Clone, Copy)]
enum Expect {
    Value,
    ValueOrClose,
    Key,
    KeyOrClose,
    Colon,
    /// A comma or a closing bracket, or the end of the text after the outermost value.
    Separator,
}

struct Validator<'a> {
    text: &'a [u8],
    at: usize,
}

impl Validator<'_> {
    fn text(mut self, max_depth: u32) -> Result<(), SyntaxError> {
        let mut nesting = Nesting::default();
        let mut expect = Expect::Value;
        loop {
            while self.peek().is_some_and(is_blank) {
                self.at += 1;
            }
            let done = nesting.depth() == 0 && matches!(expect, Expect::Separator);
            let Some(byte) = self.peek() else {
                return match (done, self.text.iter().all(|&byte| is_blank(byte))) {
                    (true, _) => Ok(()),
                    (false, true) => self.fail(SyntaxErrorKind::Empty),
                    (false, false) => self.fail(SyntaxErrorKind::UnexpectedEnd),
                };
            };
            if done {
                return self.fail(SyntaxErrorKind::TrailingData);
            }
            expect = match (expect, byte) {
                (Expect::Value | Expect::ValueOrClose, b'{' | b'[') => {
                    if nesting.depth() == max_depth {
                        return self.fail(SyntaxErrorKind::TooDeep);
                    }
                    nesting.push(byte == b'{');
                    self.at += 1;
                    if byte == b'{' { Expect::KeyOrClose } else { Expect::ValueOrClose }
                }
                (Expect::Value | Expect::ValueOrClose, b'"') => {
                    self.string()?;
                    Expect::Separator
                }
                (Expect::Key | Expect::KeyOrClose, b'"') => {
                    self.string()?;
                    Expect::Colon
                }
                (Expect::Colon, b':') => {
                    self.at += 1;
                    Expect::Value
                }
                (Expect::Separator, b',') => {
                    self.at += 1;
                    if nesting.in_object() != 0 { Expect::Key } else { Expect::Value }
                }
                (Expect::Separator | Expect::KeyOrClose, b'}') if nesting.in_object() != 0 => {
                    nesting.pop();
                    self.at += 1;
                    Expect::Separator
                }
                (Expect::Separator | Expect::ValueOrClose, b']') if nesting.in_object() == 0 => {
                    nesting.pop();
                    self.at += 1;
                    Expect::Separator
                }
                (Expect::Value | Expect::ValueOrClose, b'-' | b'0'..=b'9') => {
                    self.number()?;
                    Expect::Separator
                }
                (Expect::Value | Expect::ValueOrClose, _) if is_scalar(byte) => {
                    self.literal()?;
                    Expect::Separator
                }
                _ => return self.fail(SyntaxErrorKind::UnexpectedByte),
            };
        }
    }

    fn string(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return self.fail(SyntaxErrorKind::UnexpectedEnd),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(0..0x20) => return self.fail(SyntaxErrorKind::ControlCharacter),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let invalid = Err(SyntaxError { kind: SyntaxErrorKind::InvalidEscape, at: start });
        self.at += 1;
        let digits = match self.peek() {
            None => return self.fail(SyntaxErrorKind::UnexpectedEnd),
            Some(b'u') => 4,
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 0,
            Some(_) => return invalid,
        };
        self.at += 1;
        for _ in 0..digits {
            match self.peek() {
                None => return self.fail(SyntaxErrorKind::UnexpectedEnd),
                Some(byte) if byte.is_ascii_hexdigit() => self.at += 1,
                Some(_) => return invalid,
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        self.skip_if(|byte| byte == b'-');
        if !self.skip_if(|byte| byte == b'0') {
            self.digits()?;
        }
        if self.skip_if(|byte| byte == b'.') {
            self.digits()?;
        }
        if self.skip_if(|byte| matches!(byte, b'e' | b'E')) {
            self.skip_if(|byte| matches!(byte, b'+' | b'-'));
            self.digits()?;
        }
        match self.peek() {
            Some(byte) if is_scalar(byte) => self.fail(SyntaxErrorKind::InvalidNumber),
            _ => Ok(()),
        }
    }

    /// Skips at least one digit.
    fn digits(&mut self) -> Result<(), SyntaxError> {
        if !self.skip_if(|byte| byte.is_ascii_digit()) {
            let kind = if self.at == self.text.len() {
                SyntaxErrorKind::UnexpectedEnd
            } else {
                SyntaxErrorKind::InvalidNumber
            };
            return self.fail(kind);
        }
        while self.skip_if(|byte| byte.is_ascii_digit()) {}
        Ok(())
    }

    fn literal(&mut self) -> Result<(), SyntaxError> {
        let rest = &self.text[self.at..];
        let len = rest.iter().position(|&byte| !is_scalar(byte)).unwrap_or(rest.len());
        match &rest[..len] {
            b"true" | b"false" | b"null" => {
                self.at += len;
                Ok(())
            }
            word if len == rest.len() && [&b"true"[..], b"false", b"null"].iter().any(|w| w.starts_with(word)) => {
                Err(SyntaxError { kind: SyntaxErrorKind::UnexpectedEnd, at: self.text.len() })
            }
            _ => self.fail(SyntaxErrorKind::InvalidLiteral),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_if(&mut self, class: impl Fn(u8) -> bool) -> bool {
        let skip = self.peek().is_some_and(class);
        self.at += usize::from(skip);
        skip
    }

    fn fail<T>(&self, kind: SyntaxErrorKind) -> Result<T, SyntaxError> {
        Err(SyntaxError { kind, at: self.at })
    }
}

/// Whether a byte outside strings is part of a number or a literal, valid or not.
fn is_scalar(byte: u8) -> bool {
    !matches!(byte, b'{' | b'}' | b'[' | b']' | b':' | b',' | b'"') && !is_blank(byte)
}

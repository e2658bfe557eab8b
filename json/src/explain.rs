//! The scanner's question answered byte by byte: slower, but it says what is wrong, and where.
//!
//! It only runs on texts that the scanner rejected, and in tests as the scanner's oracle.

use super::is_blank;
use super::scan::nesting::Nesting;

/// The first thing wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defect {
    /// What is wrong.
    pub flaw: Flaw,
    /// The byte at which it shows, or the length of the text if that ends too early.
    pub at: usize,
}

/// A way in which a text isn't JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It has no value.
    Empty,
    /// It starts with a byte order mark.
    ByteOrderMark,
    /// It isn't UTF-8.
    InvalidUtf8,
    /// A control character in a string.
    ControlCharacter,
    /// A backslash that starts no escape.
    InvalidEscape,
    /// A number that JSON spells differently.
    InvalidNumber,
    /// A word other than `true`, `false` and `null`.
    InvalidLiteral,
    /// A byte that can't come next.
    UnexpectedByte,
    /// It ends within a value.
    UnexpectedEnd,
    /// Something follows the value.
    TrailingData,
    /// More brackets are open than the limit allows.
    TooDeep,
}

/// The first thing wrong with `text`, or `None` if it is JSON. `max_depth` is at most [`DEEPEST`](super::DEEPEST).
pub fn explain(text: &[u8], max_depth: u32) -> Option<Defect> {
    if text.starts_with(b"\xef\xbb\xbf") {
        return Some(Defect { flaw: Flaw::ByteOrderMark, at: 0 });
    }
    let syntax = Walk { text, at: 0 }.text(max_depth).err();
    // So far, bytes beyond ASCII have passed for characters. Whichever flaw comes first counts.
    let utf8 = simdutf8::compat::from_utf8(text)
        .err()
        .map(|error| Defect { flaw: Flaw::InvalidUtf8, at: error.valid_up_to() });
    match (syntax, utf8) {
        (Some(syntax), Some(utf8)) if syntax.at < utf8.at => Some(syntax),
        (syntax, utf8) => utf8.or(syntax),
    }
}

/// What may come next.
#[derive(Clone, Copy)]
enum Expect {
    Value,
    ValueOrClose,
    Key,
    KeyOrClose,
    Colon,
    /// A comma or a closing bracket; at the end of the outermost value, nothing.
    Separator,
}

struct Walk<'a> {
    text: &'a [u8],
    at: usize,
}

impl Walk<'_> {
    fn text(mut self, max_depth: u32) -> Result<(), Defect> {
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
                    (false, true) => self.wrong(Flaw::Empty),
                    (false, false) => self.wrong(Flaw::UnexpectedEnd),
                };
            };
            if done {
                return self.wrong(Flaw::TrailingData);
            }
            expect = match (expect, byte) {
                (Expect::Value | Expect::ValueOrClose, b'{' | b'[') => {
                    if nesting.depth() == max_depth {
                        return self.wrong(Flaw::TooDeep);
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
                _ => return self.wrong(Flaw::UnexpectedByte),
            };
        }
    }

    fn string(&mut self) -> Result<(), Defect> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return self.wrong(Flaw::UnexpectedEnd),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(0..0x20) => return self.wrong(Flaw::ControlCharacter),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), Defect> {
        let start = self.at;
        let wrong = Err(Defect { flaw: Flaw::InvalidEscape, at: start });
        self.at += 1;
        let digits = match self.peek() {
            None => return self.wrong(Flaw::UnexpectedEnd),
            Some(b'u') => 4,
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 0,
            Some(_) => return wrong,
        };
        self.at += 1;
        for _ in 0..digits {
            match self.peek() {
                None => return self.wrong(Flaw::UnexpectedEnd),
                Some(byte) if byte.is_ascii_hexdigit() => self.at += 1,
                Some(_) => return wrong,
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Defect> {
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
            Some(byte) if is_scalar(byte) => self.wrong(Flaw::InvalidNumber),
            _ => Ok(()),
        }
    }

    /// At least one digit.
    fn digits(&mut self) -> Result<(), Defect> {
        if !self.skip_if(|byte| byte.is_ascii_digit()) {
            let flaw = if self.at == self.text.len() { Flaw::UnexpectedEnd } else { Flaw::InvalidNumber };
            return self.wrong(flaw);
        }
        while self.skip_if(|byte| byte.is_ascii_digit()) {}
        Ok(())
    }

    fn literal(&mut self) -> Result<(), Defect> {
        let rest = &self.text[self.at..];
        let len = rest.iter().position(|&byte| !is_scalar(byte)).unwrap_or(rest.len());
        match &rest[..len] {
            b"true" | b"false" | b"null" => {
                self.at += len;
                Ok(())
            }
            word if len == rest.len() && [&b"true"[..], b"false", b"null"].iter().any(|w| w.starts_with(word)) => {
                Err(Defect { flaw: Flaw::UnexpectedEnd, at: self.text.len() })
            }
            _ => self.wrong(Flaw::InvalidLiteral),
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

    fn wrong<T>(&self, flaw: Flaw) -> Result<T, Defect> {
        Err(Defect { flaw, at: self.at })
    }
}

/// Whether a byte outside strings belongs to a number or a literal, valid or not.
fn is_scalar(byte: u8) -> bool {
    !matches!(byte, b'{' | b'}' | b'[' | b']' | b':' | b',' | b'"') && !is_blank(byte)
}

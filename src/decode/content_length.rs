//! Finds messages that follow a header with their length, as the Language Server Protocol sends them.
//!
//! Between messages, a line is blank, a field of a header, or noise. A field with an unknown name that starts a header is
//! noise unless its line ends with CR LF: most likely it is a print. After noise, decoding resumes with the next line
//! that is a field, or that ends in `Content-Length:` and a number. For a program that prints without a line break, or
//! whose previous length was too small, sends other text before the name. A string in JSON can't be mistaken for such a
//! line, because it contains no line break.

use std::ops::Range;

use wireline_json::swar;

use crate::message::{FaultKind, Rules};

use super::step::{Item, Oversized, Passed, Step};

/// The longest header, in bytes.
pub(super) const MAX_HEADER: usize = 4096;

/// The longest `Content-Length` field that is found at the end of a line of noise.
pub(super) const MAX_FIELD_AT_END: usize = 64;

const CONTENT_LENGTH: &[u8] = b"content-length";

/// How far a header has been read. It starts at byte 0.
#[derive(Default)]
pub(super) struct ContentLength {
    /// Where the current line starts, and how many lines end before it.
    line: usize,
    lines: u64,
    /// No line feed lies between `line` and this.
    searched: usize,
    length: Option<usize>,
    has_other_charset: bool,
    /// The range of the body, once the header is complete.
    body: Option<Range<usize>>,
}

impl ContentLength {
    /// Takes the next step, given all bytes from the start of the header on.
    #[inline]
    pub(super) fn step(&mut self, bytes: &[u8], is_end: bool, rules: &Rules) -> Step {
        if self.searched == 0
            && let Some(body) = common_header(bytes)
            && body.end <= bytes.len()
            && body.len() <= rules.limits.max_line_len
        {
            return Step::Item(message(body, COMMON_LINES));
        }
        self.step_slow(bytes, is_end, rules)
    }

    #[inline(never)]
    fn step_slow(&mut self, bytes: &[u8], is_end: bool, rules: &Rules) -> Step {
        let max_line_len = rules.limits.max_line_len;
        let step = loop {
            if let Some(body) = &self.body {
                break self.body_step(body.clone(), bytes.len(), is_end, max_line_len);
            }
            let line_feed = memchr::memchr(b'\n', &bytes[self.searched..]).map(|at| self.searched + at);
            self.searched = line_feed.unwrap_or(bytes.len());
            if self.line > 0 && self.searched >= MAX_HEADER {
                break Step::Item(self.broken(FaultKind::HeaderTooLong, 0, 0..self.line, self.line));
            }
            let is_too_long = || bytes.len() > max_line_len.max(MAX_HEADER) + MAX_FIELD_AT_END + 1;
            match line_feed {
                Some(end) => match self.line_step(bytes, end, rules) {
                    Some(step) => break step,
                    None => (self.line, self.searched, self.lines) = (end + 1, end + 1, self.lines + 1),
                },
                None if is_too_long() => break Step::Discard(Passed::default(), Oversized::Noise),
                None if is_end => break self.last_step(bytes, rules),
                None => return Step::More,
            }
        };
        if !matches!(step, Step::More) {
            *self = Self::default();
        }
        step
    }

    /// The item that ends with the line feed at `end`, if one does. Notes the fields of the header.
    fn line_step(&mut self, bytes: &[u8], end: usize, rules: &Rules) -> Option<Step> {
        let (start, after) = (self.line, end + 1);
        let line = bytes[start..end].strip_suffix(b"\r").unwrap_or(&bytes[start..end]);
        // The rest of the line, up to the next item.
        let broken = |kind, at| Some(Step::Item(self.broken(kind, at, 0..start + line.len(), after).ending_a_line()));
        match HeaderLine::of(line) {
            HeaderLine::Blank if start > 0 => match self.length {
                Some(length) => {
                    self.body = Some(after..after.saturating_add(length));
                    None
                }
                None => {
                    let item = self.broken(FaultKind::MissingContentLength, 0, 0..start, after);
                    Some(Step::Item(item.ending_a_line()))
                }
            },
            HeaderLine::Blank if rules.skip_blank_lines => Some(Step::Skip(Passed { bytes: after, lines: 1 })),
            HeaderLine::Blank => broken(FaultKind::BlankLine, 0),
            HeaderLine::Length(Some(length)) if self.length.is_none_or(|before| before == length) => {
                self.length = Some(length);
                None
            }
            HeaderLine::Length(_) => broken(FaultKind::InvalidContentLength, start),
            HeaderLine::OtherCharset => {
                self.has_other_charset = true;
                None
            }
            // A program that prints `INFO: ready` rarely ends its lines like that.
            HeaderLine::Unknown if start == 0 && line.len() == end => broken(FaultKind::InvalidHeader, 0),
            HeaderLine::Other | HeaderLine::Unknown => None,
            HeaderLine::NoiseBeforeLength(len) => {
                let len = start + len;
                Some(Step::Item(self.broken(FaultKind::InvalidHeader, start, 0..len, len)))
            }
            HeaderLine::Noise => broken(FaultKind::InvalidHeader, start),
        }
    }

    /// The message after a complete header. `len` bytes have arrived.
    fn body_step(&self, body: Range<usize>, len: usize, is_end: bool, max_line_len: usize) -> Step {
        let mut item = message(body.clone(), self.lines);
        if body.len() > max_line_len {
            let passed = Passed { bytes: body.start, lines: self.lines };
            return Step::Discard(passed, Oversized::Body(body.len() as u64));
        }
        if body.end > len {
            if !is_end {
                return Step::More;
            }
            item.text.end = len;
            item.passed.bytes = len;
            item.broken = Some((FaultKind::IncompleteFrame, len - body.start));
        } else if self.has_other_charset {
            item.broken = Some((FaultKind::UnsupportedCharset, 0));
        }
        Step::Item(item)
    }

    /// The end of a stream that doesn't end after a message.
    fn last_step(&self, bytes: &[u8], rules: &Rules) -> Step {
        let (start, end) = (self.line, bytes.len());
        let broken = |kind, at, len| Step::Item(self.broken(kind, at, 0..len, len));
        match HeaderLine::of(&bytes[start..]) {
            _ if bytes.is_empty() => Step::More,
            HeaderLine::Blank if start > 0 => broken(FaultKind::IncompleteFrame, end, end),
            HeaderLine::Blank if rules.skip_blank_lines => Step::Skip(Passed { bytes: end, lines: 0 }),
            HeaderLine::Blank => broken(FaultKind::BlankLine, 0, end),
            HeaderLine::NoiseBeforeLength(len) => broken(FaultKind::InvalidHeader, start, start + len),
            HeaderLine::Unknown if start == 0 => broken(FaultKind::InvalidHeader, 0, end),
            HeaderLine::Noise => broken(FaultKind::InvalidHeader, start, end),
            _ => broken(FaultKind::IncompleteFrame, end, end),
        }
    }

    /// A fault whose text is part of the header, and which the next item follows at `after`.
    fn broken(&self, kind: FaultKind, at: usize, text: Range<usize>, after: usize) -> Item {
        let passed = Passed { bytes: after, lines: self.lines };
        Item { text, line: 0, passed, may_have_lines: false, is_in_parts: false, broken: Some((kind, at)) }
    }
}

impl Item {
    /// Counts the line that ends with the item.
    fn ending_a_line(mut self) -> Self {
        self.passed.lines += 1;
        self
    }
}

/// A message whose header has this many lines.
#[inline(always)]
fn message(body: Range<usize>, lines: u64) -> Item {
    let passed = Passed { bytes: body.end, lines };
    Item { text: body, line: lines, passed, may_have_lines: true, is_in_parts: false, broken: None }
}

/// The number of lines of a [`common_header`].
pub(super) const COMMON_LINES: u64 = 2;

/// The range of the body, if the header is spelled as most programs do. Other headers are read line by line.
#[inline(always)]
pub(super) fn common_header(bytes: &[u8]) -> Option<Range<usize>> {
    let rest = bytes.strip_prefix(b"Content-Length: ")?;
    let word = swar::eight(rest);
    let digits = swar::digits(word).filter(|&digits| digits > 0)?;
    if rest.get(digits..digits + 4)? != b"\r\n\r\n" {
        return None;
    }
    let start = bytes.len() - rest.len() + digits + 4;
    Some(start..start + short_number(word, digits))
}

/// The number spelled by the first one to seven bytes, without a branch for each digit.
#[inline(always)]
fn short_number(text: [u8; 8], digits: usize) -> usize {
    // The last digit becomes the highest byte, and leading zeros fill the lowest ones.
    let ones = u64::from_le_bytes(text) << (64 - 8 * digits) & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = 10u64.wrapping_mul(ones).wrapping_add(ones >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = 100u64.wrapping_mul(pairs).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    let number = 10_000u64.wrapping_mul(fours).wrapping_add(fours >> 32) & 0xffff_ffff;
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The length of the message at the start of the bytes, with its header, if it is complete, its header is spelled as
/// most programs do, and its body is within the limit.
#[inline]
pub(super) fn whole_message(bytes: &[u8], rules: &Rules) -> Option<usize> {
    let body = common_header(bytes)?;
    (body.end <= bytes.len() && body.len() <= rules.limits.max_line_len).then_some(body.end)
}

/// A line of a header, or between messages.
enum HeaderLine {
    Blank,
    /// The `Content-Length`, if it is a number of at most 4 GiB.
    Length(Option<usize>),
    /// A `Content-Type` with a charset other than UTF-8.
    OtherCharset,
    /// Any other `Content-Type`.
    Other,
    /// A field with another name.
    Unknown,
    /// Text of this length before a `Content-Length`.
    NoiseBeforeLength(usize),
    Noise,
}

impl HeaderLine {
    fn of(line: &[u8]) -> Self {
        if let Some(start @ 1..) = field_at_end(line) {
            return Self::NoiseBeforeLength(start);
        }
        if line.len() > MAX_HEADER {
            return Self::Noise;
        }
        if line.trim_ascii().is_empty() {
            return Self::Blank;
        }
        let Some(colon) = memchr::memchr(b':', line) else { return Self::Noise };
        let (name, value) = (line[..colon].trim_ascii_end(), line[colon + 1..].trim_ascii());
        match () {
            () if name.is_empty() || !name.iter().all(|&byte| is_name(byte)) => Self::Noise,
            () if name.eq_ignore_ascii_case(CONTENT_LENGTH) => Self::Length(number(value)),
            () if !name.eq_ignore_ascii_case(b"content-type") => Self::Unknown,
            () if has_other_charset(value) => Self::OtherCharset,
            () => Self::Other,
        }
    }
}

/// Where a `Content-Length` field with a number starts that ends the line, with or without its line ending.
///
/// A field such as `X-Content-Length` isn't one.
pub(super) fn field_at_end(line: &[u8]) -> Option<usize> {
    let from = line.len().saturating_sub(MAX_FIELD_AT_END);
    let field = line[from..].trim_ascii_end();
    let digits = field.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let name = field[..field.len() - digits].trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
    let start = name.len().checked_sub(CONTENT_LENGTH.len())?;
    let is_field =
        digits > 0 && name[start..].eq_ignore_ascii_case(CONTENT_LENGTH) && line[..from + start].last() != Some(&b'-');
    is_field.then_some(from + start)
}

/// Whether a name of a field may contain this byte (RFC 9110, section 5.6.2).
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A length of at most 4 GiB. No limit on messages can be higher.
fn number(digits: &[u8]) -> Option<usize> {
    let is_number = digits.iter().all(u8::is_ascii_digit);
    let number: u32 = std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()?;
    usize::try_from(number).ok()
}

/// Whether a media type names a charset other than UTF-8.
fn has_other_charset(media_type: &[u8]) -> bool {
    media_type.split(|&byte| byte == b';').skip(1).any(|parameter| {
        let Some(equals) = memchr::memchr(b'=', parameter) else { return false };
        let (name, value) = (parameter[..equals].trim_ascii(), parameter[equals + 1..].trim_ascii());
        let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
        name.eq_ignore_ascii_case(b"charset")
            && ![&b"utf-8"[..], b"utf8"].iter().any(|utf_8| value.eq_ignore_ascii_case(utf_8))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_read_at_once() {
        for number in (0..2000).chain([9_999, 10_000, 65_536, 99_999, 123_456, 1_234_567, 9_999_999]) {
            let text = format!("{number}\r\n\r\n{{}}");
            let digits = text.find('\r').unwrap();
            assert_eq!(short_number(swar::eight(text.as_bytes()), digits), number);
            let header = format!("Content-Length: {text}");
            let start = header.len() - 2;
            assert_eq!(common_header(header.as_bytes()), Some(start..start + number));
        }
        for header in [
            "Content-Length: 12345678\r\n\r\n",
            "Content-Length: \r\n\r\n",
            "Content-Length: 1\n\n",
            "content-length: 1\r\n\r\n",
        ] {
            assert_eq!(common_header(header.as_bytes()), None, "{header}");
        }
    }
}

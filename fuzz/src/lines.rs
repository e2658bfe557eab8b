//! A naive line splitter to compare the decoder with.

use wireline::Frame;

use super::input::Settings;

/// A line without its line ending.
#[derive(Debug)]
pub struct Line<'a> {
    pub number: u64,
    pub offset: u64,
    pub text: &'a [u8],
}

impl<'a> Line<'a> {
    /// The part of the line that a decoder reads: what follows noise if that is salvaged, otherwise all of it.
    pub fn part(&self, settings: &Settings) -> &'a [u8] {
        let start = self.text.iter().position(|&byte| byte == b'{').unwrap_or(0);
        let (noise, message) = self.text.split_at(start);
        let is_salvaged = settings.salvage
            && self.text.len() <= settings.max_line_len
            && !noise.contains(&b'"')
            && !noise.iter().all(|byte| b" \t\r".contains(byte))
            && !noise_shown(noise).last().is_some_and(|byte| b" \t#$&'()*+,-/:;<=>@[\\]^_`|}~".contains(byte))
            && Frame::parse(message, &settings.rules()).is_ok();
        if is_salvaged { message } else { self.text }
    }
}

/// Noise without the carriage returns and terminal escapes at its end.
fn noise_shown(noise: &[u8]) -> &[u8] {
    let is_escape = |end: &[u8]| match end {
        [0x1b, b'[', parameters @ .., b'@'..=b'~'] => parameters.iter().all(|byte| (b' '..=b'?').contains(byte)),
        _ => end == b"\r",
    };
    let mut shown = noise;
    while let Some(start) = (0..shown.len()).find(|&start| is_escape(&shown[start..])) {
        shown = &shown[..start];
    }
    shown
}

/// The lines for which a decoder must return a frame or a fault.
pub fn lines<'a>(stream: &'a [u8], settings: &Settings) -> Vec<Line<'a>> {
    let is_blank = |line: &[u8]| line.iter().all(|byte| b" \t\r".contains(byte));
    let mut pieces: Vec<_> = stream.split(|&byte| byte == b'\n').collect();
    // The text after the last line feed is a line only if it isn't empty.
    let unterminated = pieces.pop().filter(|last| !last.is_empty());

    let mut found = Vec::new();
    let mut offset = 0;
    let ends = pieces.iter().map(|piece| (*piece, true)).chain(unterminated.map(|last| (last, false)));
    for (number, (piece, is_terminated)) in (1..).zip(ends) {
        let mark = if offset == 0 && piece.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut text = &piece[mark..];
        if is_terminated {
            text = text.strip_suffix(b"\r").unwrap_or(text);
        }
        if !(settings.skip_blank_lines && text.len() <= settings.max_line_len && is_blank(text)) {
            found.push(Line { number, offset: (offset + mark) as u64, text });
        }
        offset += piece.len() + 1;
    }
    found
}

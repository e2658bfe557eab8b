//! A naive line splitter to compare the decoder with.

use super::input::Settings;

/// A line without its line ending.
#[derive(Debug)]
pub struct Line<'a> {
    pub number: u64,
    pub offset: u64,
    pub text: &'a [u8],
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

//! Naive models of the framings other than lines, which need the whole stream at once.

use wireline::{Decoder, Fault, FaultKind, Frame, Framing, Rules};

use super::describe;

/// A text that a decoder must return as a frame or a fault.
#[derive(Debug)]
pub struct Expected {
    pub text: Vec<u8>,
    pub line: u64,
    pub offset: u64,
    pub what: What,
}

#[derive(Debug)]
pub enum What {
    /// What `Frame::parse` says about the text.
    Parsed,
    Fault(FaultKind),
    /// Beyond the limit, with this length.
    TooLong(usize),
}

/// A model of [`Framing::ContentLength`].
pub fn content_length(stream: &[u8], max_line_len: usize, skips_blank_lines: bool) -> Vec<Expected> {
    let mut found = Vec::new();
    let mut at = if stream.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let number = |at: usize| 1 + stream[..at].iter().filter(|&&byte| byte == b'\n').count() as u64;
    let mut push = |from: usize, to: usize, what: What| {
        let text = stream[from..to].to_vec();
        found.push(Expected { text, line: number(from), offset: from as u64, what });
    };
    'item: while at < stream.len() {
        let (start, mut line) = (at, at);
        let (mut length, mut has_other_charset) = (None, false);
        loop {
            let line_feed = stream[line..].iter().position(|&byte| byte == b'\n').map(|len| line + len);
            let end = line_feed.unwrap_or(stream.len());
            if line > start && end - start >= 4096 {
                push(start, line, What::Fault(FaultKind::HeaderTooLong));
                at = line;
                continue 'item;
            }
            let text = match line_feed {
                Some(_) => stream[line..end].strip_suffix(b"\r").unwrap_or(&stream[line..end]),
                None => &stream[line..],
            };
            at = line_feed.map_or(stream.len(), |end| end + 1);
            let fault = |kind| What::Fault(kind);
            let fields: Vec<_> =
                (line..line + text.len()).filter(|&from| is_length_field(stream, from, line + text.len())).collect();
            let is_short = text.len() <= 4096;
            let colon = text.iter().position(|&byte| byte == b':');
            let name = colon.map(|colon| String::from_utf8_lossy(text[..colon].trim_ascii_end()).to_lowercase());
            let is_name = |name: &String| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
            };
            let is_print = |name: &String| {
                let is_known = ["content-length", "content-type"].contains(&&**name);
                line == start && !is_known && !stream[line..at].ends_with(b"\r\n")
            };
            if let Some(&field) = fields.last().filter(|&&field| field > line) {
                push(start, field, fault(FaultKind::InvalidHeader));
                at = field;
            } else if is_short && text.trim_ascii().is_empty() {
                if line == start {
                    if !skips_blank_lines {
                        push(start, start + text.len(), fault(FaultKind::BlankLine));
                    }
                    continue 'item;
                }
                if line_feed.is_none() {
                    push(start, at, fault(FaultKind::IncompleteFrame));
                    break 'item;
                }
                let Some(length) = length else {
                    push(start, line, fault(FaultKind::MissingContentLength));
                    continue 'item;
                };
                let body = at;
                at = stream.len().min(body + length);
                let what = match () {
                    () if length > max_line_len => What::TooLong(length),
                    () if at < body + length => What::Fault(FaultKind::IncompleteFrame),
                    () if has_other_charset => What::Fault(FaultKind::UnsupportedCharset),
                    () => What::Parsed,
                };
                push(body, at, what);
            } else if let Some(name) = name.filter(is_name).filter(|name| is_short && !is_print(name)) {
                let value = String::from_utf8_lossy(text[colon.unwrap() + 1..].trim_ascii()).into_owned();
                let mut is_valid = true;
                if name == "content-length" {
                    let number: Option<u32> = value.parse().ok().filter(|_| !value.starts_with('+'));
                    is_valid = number.is_some_and(|number| length.is_none_or(|length| length == number as usize));
                    length = number.map(|number| number as usize);
                }
                has_other_charset |= name == "content-type" && {
                    let lower = value.to_lowercase();
                    lower.split(';').skip(1).filter_map(|parameter| parameter.split_once('=')).any(|(name, value)| {
                        let utf_8 = ["utf-8", "utf8", "\"utf-8\"", "\"utf8\""];
                        let [name, value] =
                            [name, value].map(|text| text.trim_matches(|c: char| c.is_ascii_whitespace()));
                        name == "charset" && !utf_8.contains(&value)
                    })
                };
                if line_feed.is_none() {
                    push(start, at, fault(FaultKind::IncompleteFrame));
                } else if !is_valid {
                    push(start, line + text.len(), fault(FaultKind::InvalidContentLength));
                } else {
                    line = at;
                    continue;
                }
            } else {
                push(start, line + text.len(), fault(FaultKind::InvalidHeader));
            }
            continue 'item;
        }
    }
    found
}

/// Whether the bytes from `from` to `end` are `Content-Length`, a colon and a number, of at most 64 bytes in all.
fn is_length_field(stream: &[u8], from: usize, end: usize) -> bool {
    let field = String::from_utf8_lossy(&stream[from..end]).to_lowercase();
    let number = field
        .strip_prefix("content-length")
        .and_then(|rest| rest.trim_start_matches(|c: char| c.is_ascii_whitespace()).strip_prefix(':'));
    let number = number.map(|number| number.trim_matches(|c: char| c.is_ascii_whitespace()));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        && end - from <= 64
        && (from == 0 || stream[from - 1] != b'-')
}

/// A model of [`Framing::EventStream`], and the last id.
pub fn event_stream(stream: &[u8], max_line_len: usize, skip_empty: bool) -> (Vec<Expected>, Option<String>) {
    // The lines, each with its number, its offset and whether it has a line ending.
    let mut lines = Vec::new();
    let mut at = if stream.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    for number in 1.. {
        let end = stream[at..].iter().position(|byte| b"\r\n".contains(byte)).map_or(stream.len(), |len| at + len);
        if at == stream.len() {
            break;
        }
        lines.push((number, at, &stream[at..end], end < stream.len()));
        at = if stream[end..].starts_with(b"\r\n") { end + 2 } else { stream.len().min(end + 1) };
    }
    let (mut found, mut id) = (Vec::new(), None);
    let mut event: Vec<(u64, usize, &[u8], bool)> = Vec::new();
    let mut end_event = |event: &mut Vec<(u64, usize, &[u8], bool)>, is_complete: bool| {
        let mut data = Vec::new();
        for &(number, at, line, _) in &*event {
            let line_text = line;
            let colon = line_text.iter().position(|&byte| byte == b':').unwrap_or(line_text.len());
            let value = line_text.get(colon + 1..).unwrap_or_default();
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &line_text[..colon] {
                b"data" => data.push((number, at + line.len() - value.len(), value)),
                b"id" if is_complete && !value.contains(&0) => {
                    id = std::str::from_utf8(value).ok().filter(|id| (1..=1024).contains(&id.len())).map(str::to_owned);
                }
                _ => {}
            }
        }
        let raw = match (event.first(), event.last()) {
            (Some(first), Some(last)) => last.1 + last.2.len() - first.1,
            _ => 0,
        };
        if let Some(&(line, offset, _)) = data.first() {
            let text = data.iter().map(|data| data.2).collect::<Vec<_>>().join(&b"\n"[..]);
            let what = match () {
                () if text.len() > max_line_len => What::TooLong(text.len()),
                () if raw > max_line_len + 4096 => What::TooLong(0),
                () if !is_complete => What::Fault(FaultKind::IncompleteFrame),
                () => What::Parsed,
            };
            let is_skipped = skip_empty && data.len() == 1 && text.is_empty() && matches!(what, What::Parsed);
            if !is_skipped {
                found.push(Expected { text, line, offset: offset as u64, what });
            }
        }
        event.clear();
    };
    for line in lines {
        match line.2 {
            [] => end_event(&mut event, true),
            [b':', ..] if event.is_empty() => {}
            _ => event.push(line),
        }
    }
    end_event(&mut event, false);
    (found, id)
}

/// Feeds the stream in pieces, and compares every result with the model.
pub fn check<'a>(rules: Rules, framing: Framing, stream: &[u8], pieces: impl IntoIterator<Item = &'a [u8]>) {
    let max_line_len = rules.settings().max_line_len;
    let (expected, id) = match framing {
        Framing::ContentLength => (content_length(stream, max_line_len, rules.settings().skip_blank_lines), None),
        _ => event_stream(stream, max_line_len, rules.settings().skip_blank_lines),
    };
    let mut expected = expected.into_iter();
    let mut decoder = Decoder::new(rules).framing(framing);
    let mut drain = |decoder: &mut Decoder| {
        while let Some(found) = decoder.next_frame() {
            let expected = expected.next().unwrap_or_else(|| panic!("{found:?} after the last frame"));
            check_one(&found, &expected, &rules);
            let text = if expected.text.len() <= max_line_len && !matches!(expected.what, What::TooLong(_)) {
                &expected.text[..]
            } else {
                b""
            };
            assert_eq!(decoder.last_line(), text, "wrong last line");
        }
    };
    for piece in pieces {
        decoder.feed(piece);
        drain(&mut decoder);
        let most = max_line_len.max(4096) + 4096 + 128;
        assert!(decoder.buffered() <= most, "{} bytes of an incomplete frame", decoder.buffered());
    }
    decoder.finish();
    drain(&mut decoder);
    assert_eq!(decoder.buffered(), 0, "bytes are left");
    assert_eq!(decoder.last_event_id(), id.as_deref());
    if let Some(missing) = expected.next() {
        panic!("{missing:?} is missing");
    }
}

fn check_one(found: &Result<Frame<'_>, Fault>, expected: &Expected, rules: &Rules) {
    let place = match found {
        Ok(frame) => (frame.line(), frame.offset()),
        Err(fault) => (fault.line(), fault.offset()),
    };
    assert_eq!(place, (expected.line, expected.offset), "{found:?}, expected {expected:?}");
    let parsed = Frame::parse(&expected.text, rules);
    match (&expected.what, found) {
        (What::Parsed, _) => {
            assert_eq!(describe(found), describe(&parsed), "expected {expected:?}");
            if let Ok(frame) = found {
                assert_eq!(frame.as_bytes(), expected.text);
            }
        }
        (What::TooLong(len), Err(fault)) => {
            assert_eq!(fault.kind(), FaultKind::LineTooLong, "expected {expected:?}");
            assert!(fault.line_len() == *len as u64 || *len == 0);
            if expected.text.len() == *len {
                let id = parsed.unwrap_err().id().map(|id| id.as_json().to_owned());
                assert_eq!(fault.id().map(|id| id.as_json().to_owned()), id, "expected {expected:?}");
            }
        }
        (What::Fault(kind), Err(fault)) => {
            let is_long = expected.text.len() > rules.settings().max_line_len;
            let kind = if is_long { FaultKind::LineTooLong } else { *kind };
            assert_eq!((fault.kind(), fault.line_len()), (kind, expected.text.len() as u64), "expected {expected:?}");
        }
        _ => panic!("{found:?}, expected {expected:?}"),
    }
}

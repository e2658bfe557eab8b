//! Sessions in a file, one JSON object a line, from which every byte of both directions can be had again.
//!
//! ```json
//! {"time":1763289406.123456,"event":"start"}
//! {"time":1763289406.140012,"from":"client","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}
//! {"time":1763289406.141203,"from":"server","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}
//! {"time":1763289406.150000,"event":"end","code":0}
//! ```
//!
//! A line is without its line feed. One that is not UTF-8 is `base64` instead of `line`. What is too long to be held
//! comes in parts, all but the last with `"more":true`; and what the stream ends with, if it is no whole line, is
//! `"open":true`.

use std::borrow::Cow;
use std::io::{self, BufRead, Read, Write};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::{Deserialize, Serialize};

use crate::session::Side;

/// How much of a line is held until its end comes.
const PART: usize = 1 << 20;

/// One line of the file.
#[derive(Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Record<'a> {
    /// Seconds since 1970, in UTC.
    time: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Side>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    line: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    base64: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_false")]
    more: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    open: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<Event>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Event {
    /// A session begins: whatever came before in this file is of another one.
    Start,
    /// The server has ended.
    End,
}

impl<'a> Record<'a> {
    /// Whether a line is one of a recording, and what it says.
    fn parse(line: &'a [u8]) -> Option<Self> {
        // Most lines that are no records are messages, and need not be read to their end to know it.
        if !line.starts_with(OPENING) {
            return None;
        }
        let record: Self = serde_json::from_slice(line).ok()?;
        let texts = usize::from(record.line.is_some()) + usize::from(record.base64.is_some());
        let is_whole = if record.from.is_some() { texts == 1 } else { texts == 0 && record.event.is_some() };
        is_whole.then_some(record)
    }

    /// None if its bytes cannot be read.
    fn into_entry(self) -> Option<Entry> {
        let time = self.time;
        let Some(from) = self.from else { return Some(Entry { time, what: What::Event(self.event?) }) };
        let mut bytes = match (self.line, self.base64) {
            (Some(line), _) => line.into_owned().into_bytes(),
            (None, Some(base64)) => BASE64_STANDARD.decode(&*base64).ok()?,
            (None, None) => return None,
        };
        if !self.more && !self.open {
            bytes.push(b'\n');
        }
        Some(Entry { time, what: What::Bytes { from, bytes, is_end: self.open } })
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// How every record begins.
const OPENING: &[u8] = b"{\"time\":";

/// Whether a file that begins with `start` is a recording.
pub(crate) fn is_recording(start: &[u8]) -> bool {
    let Some(rest) = start.strip_prefix(OPENING) else { return false };
    let number = rest.iter().take_while(|byte| b"0123456789.eE+-".contains(byte)).count();
    rest[number..].starts_with(b",\"event\":") || rest[number..].starts_with(b",\"from\":")
}

/// Whether a file of which `start` has been read yet can be one.
pub(crate) fn may_be_recording(start: &[u8]) -> bool {
    let len = start.len().min(OPENING.len());
    start[..len] == OPENING[..len] && !start.contains(&b'\n')
}

/// As much as [`is_recording`] needs to see.
pub(crate) const START: usize = 64;

/// Reads recordings.
pub(crate) struct Reader<R> {
    input: R,
    line: Vec<u8>,
    /// How many lines have been read.
    pub(crate) number: u64,
    /// How many bytes have been read.
    pub(crate) offset: u64,
    /// The first line that is no record.
    unreadable: Option<u64>,
}

/// What a record says.
pub(crate) struct Entry {
    /// Seconds since 1970, in UTC.
    pub(crate) time: f64,
    pub(crate) what: What,
}

pub(crate) enum What {
    Event(Event),
    /// Bytes that passed, with the line feed if there was one.
    Bytes {
        from: Side,
        bytes: Vec<u8>,
        /// Whether they are the stream's last ones.
        is_end: bool,
    },
}

impl<R: BufRead> Reader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, line: Vec::new(), number: 0, offset: 0, unreadable: None }
    }

    /// The next record. What is none is passed over, and an error at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Entry>> {
        loop {
            // What is left of a line that was too long has its number.
            self.number += u64::from(self.line.is_empty() || self.line.ends_with(b"\n"));
            self.line.clear();
            // A limit, so that what is no recording cannot fill the memory. What is longer is read as several lines, none
            // of which is a record.
            let len = (&mut self.input).take(MAX_RECORD).read_until(b'\n', &mut self.line)?;
            if len == 0 {
                let unreadable = self.unreadable.map(|line| format!("expected a record on line {line}"));
                return unreadable.map_or(Ok(None), |what| Err(io::Error::other(what)));
            }
            self.offset += len as u64;
            if let Some(entry) = Record::parse(&self.line).and_then(Record::into_entry) {
                return Ok(Some(entry));
            }
            if !self.line.trim_ascii().is_empty() {
                self.unreadable = self.unreadable.or(Some(self.number));
            }
        }
    }
}

/// The longest record there is: each byte of a part may be written as six.
const MAX_RECORD: u64 = 6 * PART as u64 + 256;

/// Writes recordings.
pub(crate) struct Recorder<W> {
    output: W,
    /// When the session began, since 1970.
    epoch: Duration,
    /// What has come since the last line end.
    rests: [Vec<u8>; 2],
}

impl<W: Write> Recorder<W> {
    pub(crate) fn new(output: W, epoch: Duration) -> io::Result<Self> {
        let mut recorder = Self { output, epoch, rests: [Vec::new(), Vec::new()] };
        recorder.write(Duration::ZERO, Record { event: Some(Event::Start), ..Record::default() })?;
        Ok(recorder)
    }

    /// Some bytes have passed.
    pub(crate) fn bytes(&mut self, from: Side, mut bytes: &[u8], at: Duration) -> io::Result<()> {
        let mut rest = std::mem::take(&mut self.rests[from as usize]);
        while !bytes.is_empty() {
            let room = PART - rest.len();
            let within = &bytes[..bytes.len().min(room)];
            match memchr::memchr(b'\n', within) {
                Some(end) => {
                    rest.extend_from_slice(&bytes[..end]);
                    bytes = &bytes[end + 1..];
                    self.write_text(from, &rest, at, Record::default())?;
                    rest.clear();
                }
                None => {
                    rest.extend_from_slice(within);
                    bytes = &bytes[within.len()..];
                    if rest.len() == PART {
                        // Half a character would make the part base64.
                        let end = PART - rest.utf8_chunks().last().map_or(0, |last| last.invalid().len());
                        self.write_text(from, &rest[..end], at, Record { more: true, ..Record::default() })?;
                        rest.drain(..end);
                    }
                }
            }
        }
        self.rests[from as usize] = rest;
        Ok(())
    }

    /// No more bytes will pass in that direction.
    pub(crate) fn end(&mut self, from: Side, at: Duration) -> io::Result<()> {
        let rest = std::mem::take(&mut self.rests[from as usize]);
        if rest.is_empty() {
            return Ok(());
        }
        self.write_text(from, &rest, at, Record { open: true, ..Record::default() })
    }

    /// The server has ended.
    pub(crate) fn finish(&mut self, code: Option<i32>, signal: Option<i32>, at: Duration) -> io::Result<()> {
        self.write(at, Record { event: Some(Event::End), code, signal, ..Record::default() })?;
        self.flush()
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    fn write_text(&mut self, from: Side, text: &[u8], at: Duration, record: Record<'_>) -> io::Result<()> {
        let (line, base64) = match str::from_utf8(text) {
            Ok(line) => (Some(line.into()), None),
            Err(_) => (None, Some(BASE64_STANDARD.encode(text).into())),
        };
        self.write(at, Record { from: Some(from), line, base64, ..record })
    }

    fn write(&mut self, at: Duration, record: Record<'_>) -> io::Result<()> {
        let time = (self.epoch + at).as_micros() as f64 / 1e6;
        serde_json::to_writer(&mut self.output, &Record { time, ..record })?;
        self.output.write_all(b"\n")
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;

    /// What is recorded of chunks, and the bytes of both directions that can be read from it again.
    fn record(chunks: &[(bool, Vec<u8>)]) -> (String, [Vec<u8>; 2]) {
        let mut recorder = Recorder::new(Vec::new(), Duration::from_secs(1)).unwrap();
        for (is_client, chunk) in chunks {
            let from = if *is_client { Side::Client } else { Side::Server };
            recorder.bytes(from, chunk, Duration::from_millis(1)).unwrap();
        }
        for from in Side::BOTH {
            recorder.end(from, Duration::from_millis(2)).unwrap();
        }
        recorder.finish(Some(3), None, Duration::from_millis(3)).unwrap();

        let text = String::from_utf8(recorder.output).unwrap();
        let mut bytes = [Vec::new(), Vec::new()];
        let mut reader = Reader::new(text.as_bytes());
        while let Some(entry) = reader.next().unwrap() {
            if let What::Bytes { from, bytes: passed, .. } = entry.what {
                bytes[from as usize].extend(passed);
            }
        }
        (text, bytes)
    }

    #[test]
    fn has_this_form() {
        let (text, _) = record(&[
            (true, b"{}\n\n\xff\r\n".to_vec()),
            (false, "\u{e9}\"".into()),
            (true, b"half".to_vec()),
            (false, b"\n".to_vec()),
        ]);
        let expected = [
            r#"{"time":1.0,"event":"start"}"#,
            r#"{"time":1.001,"from":"client","line":"{}"}"#,
            r#"{"time":1.001,"from":"client","line":""}"#,
            r#"{"time":1.001,"from":"client","base64":"/w0="}"#,
            "{\"time\":1.001,\"from\":\"server\",\"line\":\"\u{e9}\\\"\"}",
            r#"{"time":1.002,"from":"client","line":"half","open":true}"#,
            r#"{"time":1.003,"event":"end","code":3}"#,
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        assert!(expected.iter().all(|line| is_recording(line.as_bytes())));
        let long = format!(r#"{{"time":1763289406.123456,"from":"client","line":"{}""#, "x".repeat(START));
        assert!(is_recording(&long.as_bytes()[..START]));
    }

    quickcheck! {
        fn every_byte_can_be_had_again(chunks: Vec<(bool, Vec<u8>)>) -> bool {
            let passed = |client| {
                chunks.iter().filter(|(is_client, _)| *is_client == client).flat_map(|(_, chunk)| chunk.clone()).collect()
            };
            let expected: [Vec<u8>; 2] = [passed(true), passed(false)];
            record(&chunks).1 == expected
        }
    }

    #[test]
    fn long_lines_come_in_parts() {
        // Each part would end within a character.
        let line = format!("x{}", "\u{e9}".repeat(PART));
        for size in [1 << 16, 3 * PART, PART - 1, PART] {
            let chunks: Vec<_> = line.as_bytes().chunks(size).map(|chunk| (false, chunk.to_vec())).collect();
            let (text, bytes) = record(&[chunks, vec![(false, b"\n".to_vec())]].concat());
            assert_eq!(bytes[1], format!("{line}\n").into_bytes());
            assert_eq!(text.matches(r#""more":true"#).count(), 2, "{size}");
            assert!(!text.contains("base64"), "{size}");
        }
    }

    #[test]
    fn messages_are_no_records() {
        for line in [
            "",
            "{}",
            r#"{"jsonrpc":"2.0","method":"m"}"#,
            r#"{"time":1,"jsonrpc":"2.0","method":"m"}"#,
            r#"{"time":1}"#,
            r#"{"time":1,"from":"client"}"#,
            r#"{"time":1,"from":"nobody","line":""}"#,
            r#"{"time":1,"line":""}"#,
            r#"{"time":1,"from":"client","line":"","base64":""}"#,
            r#"{"time":1,"from":"client","line":""#,
        ] {
            assert_eq!(Record::parse(line.as_bytes()), None, "{line}");
            assert!(!is_recording(line.as_bytes()) || line.contains("\"from\""), "{line}");
        }
        for line in ["{}", r#"{"time":1,"from":"client","base64":"?"}"#] {
            let text = format!("{{\"time\":1.0,\"event\":\"start\"}}\n\n{line}\n{{\"time\":1.0,\"event\":\"end\"}}\n");
            let mut reader = Reader::new(text.as_bytes());
            assert!((0..2).all(|_| reader.next().unwrap().is_some()));
            assert_eq!(reader.next().err().unwrap().to_string(), "expected a record on line 3");
        }
        let long = format!("{}\n{{\"time\":1.0,\"event\":\"end\"}}\n", "x".repeat(2 * MAX_RECORD as usize));
        let mut reader = Reader::new(long.as_bytes());
        assert!(reader.next().unwrap().is_some());
        assert_eq!(reader.number, 2);
    }
}

//! Recordings of sessions: one JSON object per line, from which every byte of both directions can be restored.
//!
//! ```json
//! {"time":1763289406.123456,"event":"start"}
//! {"time":1763289406.140012,"from":"client","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}
//! {"time":1763289406.141203,"from":"server","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}
//! {"time":1763289406.150000,"event":"end","code":0}
//! ```
//!
//! `line` is without its newline. A line that is not UTF-8 is stored as `base64` instead. A line longer than
//! [`MAX_PART_LEN`] is split into records, all but the last with `"more":true`. A line that was not terminated when the
//! stream ended has `"open":true`.
//!
//! `wireline tap` writes this format; `wireline check` and `wireline stats` read it.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::{Deserialize, Serialize};

use crate::session::Side;

/// The longest part of a line in one record.
pub(crate) const MAX_PART_LEN: usize = 1 << 20;

/// The longest record: JSON may escape each byte of a part as six.
const MAX_RECORD_LEN: u64 = 6 * MAX_PART_LEN as u64 + 256;

/// One line of the file.
#[derive(Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record<'a> {
    /// Seconds since 1970 (UTC).
    pub(crate) time: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Side>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) base64: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) more: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) open: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) event: Option<SessionEvent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<i32>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SessionEvent {
    /// A session starts. Earlier records of the file belong to other sessions.
    Start,
    /// The server has exited.
    End,
}

impl<'a> Record<'a> {
    /// Parses a line. Returns `None` if it is not a record.
    fn parse(line: &'a [u8]) -> Option<Self> {
        // Rejects a message without parsing all of it.
        if !line.starts_with(OPENING) {
            return None;
        }
        let record: Self = serde_json::from_slice(line).ok()?;
        let texts = usize::from(record.line.is_some()) + usize::from(record.base64.is_some());
        let is_valid = if record.from.is_some() { texts == 1 } else { texts == 0 && record.event.is_some() };
        is_valid.then_some(record)
    }

    /// Restores the bytes. Returns `None` if they are not valid base64.
    fn into_entry(self) -> Option<Entry> {
        let time = self.time;
        let Some(from) = self.from else { return Some(Entry { time, content: Content::Event(self.event?) }) };
        let mut bytes = match (self.line, self.base64) {
            (Some(line), _) => line.into_owned().into_bytes(),
            (None, Some(base64)) => BASE64_STANDARD.decode(&*base64).ok()?,
            (None, None) => return None,
        };
        if !self.more && !self.open {
            bytes.push(b'\n');
        }
        Some(Entry { time, content: Content::Bytes { from, bytes, is_last: self.open } })
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The start of every record.
const OPENING: &[u8] = b"{\"time\":";

/// How much of a file [`is_recording`] needs.
pub(crate) const DETECTION_LEN: usize = 64;

/// Whether a file with this start is a recording.
pub(crate) fn is_recording(start: &[u8]) -> bool {
    let Some(rest) = start.strip_prefix(OPENING) else { return false };
    let number_len = rest.iter().take_while(|byte| b"0123456789.eE+-".contains(byte)).count();
    rest[number_len..].starts_with(b",\"event\":") || rest[number_len..].starts_with(b",\"from\":")
}

/// Whether more bytes after `start` could make it a recording.
pub(crate) fn may_be_recording(start: &[u8]) -> bool {
    let len = start.len().min(OPENING.len());
    start[..len] == OPENING[..len] && !start.contains(&b'\n')
}

/// Reads a recording.
pub(crate) struct Reader<R> {
    input: R,
    line: Vec<u8>,
    /// The number of the last line read.
    pub(crate) line_number: u64,
    /// How many bytes have been read.
    pub(crate) offset: u64,
    /// The number of the first line that is not a record.
    first_invalid: Option<u64>,
}

/// The content of a record.
pub(crate) struct Entry {
    /// Seconds since 1970 (UTC).
    pub(crate) time: f64,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Event(SessionEvent),
    /// Bytes that one side sent, including the newline if there was one.
    Bytes {
        from: Side,
        bytes: Vec<u8>,
        /// Whether the stream ended after these bytes.
        is_last: bool,
    },
}

impl<R: BufRead> Reader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, line: Vec::new(), line_number: 0, offset: 0, first_invalid: None }
    }

    /// Returns the next record. Lines that are not records are skipped, and reported as an error at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Entry>> {
        loop {
            // The rest of an oversized line has the number of the line.
            self.line_number += u64::from(self.line.is_empty() || self.line.ends_with(b"\n"));
            self.line.clear();
            // The limit bounds memory. An oversized line is read in pieces, none of which is a record.
            let len = (&mut self.input).take(MAX_RECORD_LEN).read_until(b'\n', &mut self.line)?;
            if len == 0 {
                return match self.first_invalid {
                    None => Ok(None),
                    Some(line) => Err(io::Error::other(format!("line {line} is not a record of a session"))),
                };
            }
            self.offset += len as u64;
            if let Some(entry) = Record::parse(&self.line).and_then(Record::into_entry) {
                return Ok(Some(entry));
            }
            if !self.line.trim_ascii().is_empty() {
                self.first_invalid = self.first_invalid.or(Some(self.line_number));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_not_records() {
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
    }

    #[test]
    fn invalid_lines_are_skipped_and_reported_at_the_end() {
        for line in ["{}", r#"{"time":1,"from":"client","base64":"?"}"#] {
            let text = format!("{{\"time\":1.0,\"event\":\"start\"}}\n\n{line}\n{{\"time\":1.0,\"event\":\"end\"}}\n");
            let mut reader = Reader::new(text.as_bytes());
            assert!((0..2).all(|_| reader.next().unwrap().is_some()));
            assert_eq!(reader.next().err().unwrap().to_string(), "line 3 is not a record of a session");
        }
    }

    #[test]
    fn oversized_line_counts_as_one() {
        let text = format!("{}\n{{\"time\":1.0,\"event\":\"end\"}}\n", "x".repeat(2 * MAX_RECORD_LEN as usize));
        let mut reader = Reader::new(text.as_bytes());
        assert!(reader.next().unwrap().is_some());
        assert_eq!(reader.line_number, 2);
    }
}

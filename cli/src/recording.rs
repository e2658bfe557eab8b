//! Recordings of sessions: one JSON object per line, from which every byte of both directions can be restored.
//!
//! ```json
//! {"wireline-recording":2,"time":1763289406.123456}
//! {"time":1763289406.130407,"from":"stderr","line":"listening"}
//! {"time":1763289406.140012,"from":"client","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}
//! {"time":1763289406.141203,"from":"server","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}
//! {"time":1763289406.150000,"event":"end","code":0}
//! ```
//!
//! `docs/recordings.md` describes the format for programs that read or write it. `wireline tap` writes it; [`Reader`]
//! reads it.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::{Deserialize, Serialize};
use wireline::RawJson;

use crate::session::Side;

/// The longest part of a line in one record.
pub(crate) const MAX_PART_LEN: usize = 1 << 20;

/// The longest record: JSON may escape each byte of a part as six.
const MAX_RECORD_LEN: u64 = 6 * MAX_PART_LEN as u64 + 256;

/// One line of the file.
#[derive(Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record<'a> {
    /// The version of the format. Only a header has it.
    #[serde(rename = "wireline-recording", default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u32>,
    /// Seconds since 1970 (UTC).
    pub(crate) time: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Stream>,
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

/// Where bytes come from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stream {
    Client,
    /// The server's standard output.
    Server,
    /// The server's standard error, which is in recordings since version 2.
    Stderr,
}

impl From<Side> for Stream {
    fn from(side: Side) -> Self {
        match side {
            Side::Client => Self::Client,
            Side::Server => Self::Server,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SessionEvent {
    /// The server has exited.
    End,
}

impl<'a> Record<'a> {
    /// The start of a session.
    pub(crate) fn header() -> Self {
        Self { version: Some(VERSION), ..Self::default() }
    }

    /// Checks whether a line is JSON that may be a record. [`parse`](Self::parse) then relies on that, which makes both
    /// faster than serde_json, since most lines have many escapes.
    fn check(line: &[u8]) -> Option<RawJson<'_>> {
        // Rejects a message without parsing all of it.
        let may_be_record = line.starts_with(OPENING) || line.starts_with(HEADER_OPENING);
        may_be_record.then(|| RawJson::parse(line).ok()).flatten()
    }

    /// Parses what [`check`](Self::check) has accepted. Returns `None` if it is not a record.
    fn parse(json: &'a RawJson<'_>) -> Option<Self> {
        let record: Self = json.deserialize().ok()?;
        let texts = usize::from(record.line.is_some()) + usize::from(record.base64.is_some());
        let is_valid = match (record.version, record.from, record.event) {
            (Some(_), None, None) | (None, None, Some(_)) => texts == 0,
            (None, Some(_), None) => texts == 1,
            _ => false,
        };
        is_valid.then_some(record)
    }

    /// Restores the content. Returns `None` if it is not valid base64.
    fn into_content(self) -> Option<Content> {
        if self.version.is_some() {
            return Some(Content::Start);
        }
        let Some(from) = self.from else { return Some(Content::End { code: self.code, signal: self.signal }) };
        let mut bytes = match (self.line, self.base64) {
            (Some(line), _) => line.into_owned().into_bytes(),
            (None, Some(base64)) => BASE64_STANDARD.decode(&*base64).ok()?,
            (None, None) => return None,
        };
        if !self.more && !self.open {
            bytes.push(b'\n');
        }
        let is_last = self.open;
        Some(match from {
            Stream::Client => Content::Bytes { from: Side::Client, bytes, is_last },
            Stream::Server => Content::Bytes { from: Side::Server, bytes, is_last },
            Stream::Stderr => Content::Stderr { bytes },
        })
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The version of the format that is written. All versions up to it are read.
const VERSION: u32 = 2;

/// The start of every header, and so of every recording.
const HEADER_OPENING: &[u8] = b"{\"wireline-recording\":";

/// The start of every other record.
const OPENING: &[u8] = b"{\"time\":";

/// How much of a file [`is_recording`] needs.
pub(crate) const DETECTION_LEN: usize = HEADER_OPENING.len();

/// Whether a file with this start is a recording.
pub(crate) fn is_recording(start: &[u8]) -> bool {
    start.starts_with(HEADER_OPENING)
}

/// Whether more bytes after `start` could make it a recording.
pub(crate) fn may_be_recording(start: &[u8]) -> bool {
    let len = start.len().min(HEADER_OPENING.len());
    start[..len] == HEADER_OPENING[..len]
}

/// Reads a recording, one record at a time.
///
/// Memory is bounded by the longest record. To follow a file that is being written, give it an input that waits at the
/// end of the file instead of returning 0.
pub(crate) struct Reader<R> {
    input: R,
    line: Vec<u8>,
    /// The number of the last line read.
    pub(crate) line_number: u64,
    /// How many bytes have been read.
    pub(crate) offset: u64,
    /// When the current session started, in seconds since 1970.
    session_start: Option<f64>,
    /// The number of the first line that is not a record.
    first_invalid: Option<u64>,
}

/// What a record says.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    /// Seconds since 1970 (UTC).
    pub(crate) time: f64,
    /// The time since the start of its session.
    pub(crate) at: Duration,
    pub(crate) content: Content,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Content {
    /// A session starts. Earlier records belong to other sessions.
    Start,
    /// Bytes that one side sent, including the newline if there was one.
    ///
    /// A whole line, or a part of a line that is longer than [`MAX_PART_LEN`].
    Bytes {
        from: Side,
        bytes: Vec<u8>,
        /// Whether the stream ended after these bytes, without a newline.
        is_last: bool,
    },
    /// Bytes that the server wrote to its standard error: a line with its newline, or a part of one.
    Stderr { bytes: Vec<u8> },
    /// The server has exited, with a code or by a signal.
    End { code: Option<i32>, signal: Option<i32> },
}

impl<R: BufRead> Reader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, line: Vec::new(), line_number: 0, offset: 0, session_start: None, first_invalid: None }
    }

    /// Like [`next`](Self::next), and tells how many bytes of the file that took.
    pub(crate) fn next_telling(&mut self, tell: impl FnOnce(u64)) -> io::Result<Option<Entry>> {
        let before = self.offset;
        let entry = self.next();
        tell(self.offset - before);
        entry
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
            let json = Record::check(&self.line);
            if let Some(record) = json.as_ref().and_then(Record::parse) {
                let (time, version) = (record.time, record.version);
                if let Some(version) = version.filter(|version| !(1..=VERSION).contains(version)) {
                    return Err(io::Error::other(format!(
                        "the recording has version {version} of the format, and this wireline reads versions 1 to {VERSION}"
                    )));
                }
                if let Some(content) = record.into_content() {
                    if content == Content::Start {
                        self.session_start = None;
                    }
                    let start = *self.session_start.get_or_insert(time);
                    // Times are unchecked: they may go backwards, or be absurd.
                    let at = Duration::try_from_secs_f64(time - start).unwrap_or_default();
                    // They are in microseconds, which their difference as a number is not exactly.
                    let at = Duration::from_micros(((at.as_nanos() + 500) / 1000).try_into().unwrap_or(u64::MAX));
                    return Ok(Some(Entry { time, at, content }));
                }
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
            r#"{"time":1731,"event":"server started"}"#,
            r#"{"wireline-recording":1}"#,
            r#"{"wireline-recording":1,"time":1,"from":"client","line":""}"#,
            r#"{"wireline-recording":1,"time":1,"event":"end"}"#,
        ] {
            assert_eq!(Record::check(line.as_bytes()).as_ref().and_then(Record::parse), None, "{line}");
        }
    }

    #[test]
    fn only_a_header_makes_a_recording() {
        let header = serde_json::to_string(&Record { time: 1.5, ..Record::header() }).unwrap();
        assert_eq!(header, r#"{"wireline-recording":2,"time":1.5}"#);
        assert!(is_recording(&header.as_bytes()[..DETECTION_LEN]));
        assert!((0..DETECTION_LEN).all(|len| may_be_recording(&header.as_bytes()[..len])));
        for line in [
            "",
            r#"{"time":1731,"event":"server started"}"#,
            r#"{"time":1763289406.123456,"event":"start"}"#,
            r#"{"time":1763289406.123456,"from":"client","line":""}"#,
            r#"{"jsonrpc":"2.0","method":"wireline-recording"}"#,
        ] {
            assert!(!is_recording(line.as_bytes()), "{line}");
            assert_eq!(may_be_recording(line.as_bytes()), line.is_empty(), "{line}");
        }
    }

    #[test]
    fn other_versions_are_refused() {
        for version in [0, 3] {
            let header = format!("{{\"wireline-recording\":{version},\"time\":1.0}}");
            let error = Reader::new(header.as_bytes()).next().unwrap_err().to_string();
            assert!(error.contains(&format!("version {version} ")) && error.contains("versions 1 to 2"), "{error}");
        }
    }

    #[test]
    fn the_first_version_is_read() {
        let text = r#"{"wireline-recording":1,"time":5.0}
{"time":5.5,"from":"client","line":""}
"#;
        let mut reader = Reader::new(text.as_bytes());
        assert_eq!(reader.next().unwrap().unwrap().content, Content::Start);
        let content = reader.next().unwrap().unwrap().content;
        assert_eq!(content, Content::Bytes { from: Side::Client, bytes: b"\n".to_vec(), is_last: false });
    }

    #[test]
    fn times_are_relative_to_their_session() {
        let text = r#"{"wireline-recording":1,"time":5.0}
{"time":5.5,"from":"client","line":""}
{"wireline-recording":1,"time":9.0}
{"time":8.0,"from":"client","line":""}
{"time":1e300,"event":"end","signal":9}
"#;
        let mut reader = Reader::new(text.as_bytes());
        let entries: Vec<Entry> = std::iter::from_fn(|| reader.next().unwrap()).collect();
        let times: Vec<f64> = entries.iter().map(|entry| entry.at.as_secs_f64()).collect();
        assert_eq!(times, [0.0, 0.5, 0.0, 0.0, 0.0]);
        assert_eq!(entries[4].content, Content::End { code: None, signal: Some(9) });
    }

    #[test]
    fn invalid_lines_are_skipped_and_reported_at_the_end() {
        for line in ["{}", r#"{"time":1,"from":"client","base64":"?"}"#] {
            let text =
                format!("{{\"wireline-recording\":1,\"time\":1.0}}\n\n{line}\n{{\"time\":1.0,\"event\":\"end\"}}\n");
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

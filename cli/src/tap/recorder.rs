//! Writes the recording of a session. [`crate::recording`] describes the format.

use std::io::{self, Write};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::recording::{MAX_PART_LEN, Record, SessionEvent, Stream};

pub(crate) struct Recorder<W> {
    output: W,
    /// When the session started, since 1970.
    epoch: Duration,
    /// For each stream, what it has sent since its last newline.
    unterminated: [Vec<u8>; 3],
}

impl<W: Write> Recorder<W> {
    pub(crate) fn new(output: W, epoch: Duration) -> io::Result<Self> {
        let mut recorder = Self { output, epoch, unterminated: Default::default() };
        recorder.write(Duration::ZERO, Record::header())?;
        Ok(recorder)
    }

    /// Records bytes that came `from` a side, or from the server's standard error.
    pub(crate) fn bytes(&mut self, from: impl Into<Stream>, mut bytes: &[u8], at: Duration) -> io::Result<()> {
        let from = from.into();
        let mut line = std::mem::take(&mut self.unterminated[from as usize]);
        while !bytes.is_empty() {
            let room = MAX_PART_LEN - line.len();
            let fitting = &bytes[..bytes.len().min(room)];
            match memchr::memchr(b'\n', fitting) {
                Some(end) => {
                    line.extend_from_slice(&bytes[..end]);
                    bytes = &bytes[end + 1..];
                    self.write_line(from, &line, at, Record::default())?;
                    line.clear();
                }
                None => {
                    line.extend_from_slice(fitting);
                    bytes = &bytes[fitting.len()..];
                    if line.len() == MAX_PART_LEN {
                        // A part that ends within a character would not be UTF-8, and be stored as base64.
                        let end = MAX_PART_LEN - line.utf8_chunks().last().map_or(0, |last| last.invalid().len());
                        self.write_line(from, &line[..end], at, Record { more: true, ..Record::default() })?;
                        line.drain(..end);
                    }
                }
            }
        }
        self.unterminated[from as usize] = line;
        Ok(())
    }

    /// Records that `from` will send no more.
    pub(crate) fn end_of_stream(&mut self, from: impl Into<Stream>, at: Duration) -> io::Result<()> {
        let from = from.into();
        let line = std::mem::take(&mut self.unterminated[from as usize]);
        if line.is_empty() {
            return Ok(());
        }
        self.write_line(from, &line, at, Record { open: true, ..Record::default() })
    }

    /// Records that the server has exited, with a code or by a signal.
    pub(crate) fn end_of_session(&mut self, code: Option<i32>, signal: Option<i32>, at: Duration) -> io::Result<()> {
        self.write(at, Record { event: Some(SessionEvent::End), code, signal, ..Record::default() })?;
        self.flush()
    }

    /// Starts another session. What the client has sent since its last newline belongs to it.
    pub(crate) fn next_session(&mut self, at: Duration) -> io::Result<()> {
        self.write(at, Record::header())
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    fn write_line(&mut self, from: Stream, line: &[u8], at: Duration, record: Record<'_>) -> io::Result<()> {
        let (line, base64) = match str::from_utf8(line) {
            Ok(line) => (Some(line.into()), None),
            Err(_) => (None, Some(BASE64_STANDARD.encode(line).into())),
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
    use crate::recording::{Content, Reader, is_recording};
    use crate::session::Side;

    /// Records chunks, and returns the recording and the bytes of both directions that can be restored from it.
    fn record(chunks: &[(bool, Vec<u8>)]) -> (String, [Vec<u8>; 2]) {
        let mut recorder = Recorder::new(Vec::new(), Duration::from_secs(1)).unwrap();
        for (is_client, chunk) in chunks {
            let from = if *is_client { Side::Client } else { Side::Server };
            recorder.bytes(from, chunk, Duration::from_millis(1)).unwrap();
        }
        for from in Side::BOTH {
            recorder.end_of_stream(from, Duration::from_millis(2)).unwrap();
        }
        recorder.end_of_session(Some(3), None, Duration::from_millis(3)).unwrap();

        let text = String::from_utf8(recorder.output).unwrap();
        let mut restored = [Vec::new(), Vec::new()];
        let mut reader = Reader::new(text.as_bytes());
        while let Some(entry) = reader.next().unwrap() {
            if let Content::Bytes { from, bytes, .. } = entry.content {
                restored[from as usize].extend(bytes);
            }
        }
        (text, restored)
    }

    #[test]
    fn format_is_stable() {
        let (text, _) = record(&[
            (true, b"{}\n\n\xff\r\n".to_vec()),
            (false, "\u{e9}\"".into()),
            (true, b"half".to_vec()),
            (false, b"\n".to_vec()),
        ]);
        let expected = [
            r#"{"wireline-recording":2,"time":1.0}"#,
            r#"{"time":1.001,"from":"client","line":"{}"}"#,
            r#"{"time":1.001,"from":"client","line":""}"#,
            r#"{"time":1.001,"from":"client","base64":"/w0="}"#,
            "{\"time\":1.001,\"from\":\"server\",\"line\":\"\u{e9}\\\"\"}",
            r#"{"time":1.002,"from":"client","line":"half","open":true}"#,
            r#"{"time":1.003,"event":"end","code":3}"#,
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        assert!(is_recording(text.as_bytes()));
    }

    #[test]
    fn standard_error_is_a_stream_of_its_own() {
        let mut recorder = Recorder::new(Vec::new(), Duration::from_secs(1)).unwrap();
        recorder.bytes(Stream::Stderr, b"loa", Duration::ZERO).unwrap();
        recorder.bytes(Side::Server, b"{}\n", Duration::ZERO).unwrap();
        recorder.bytes(Stream::Stderr, b"ding\n\xff\ndone", Duration::ZERO).unwrap();
        recorder.end_of_stream(Stream::Stderr, Duration::ZERO).unwrap();
        let expected = [
            r#"{"wireline-recording":2,"time":1.0}"#,
            r#"{"time":1.0,"from":"server","line":"{}"}"#,
            r#"{"time":1.0,"from":"stderr","line":"loading"}"#,
            r#"{"time":1.0,"from":"stderr","base64":"/w=="}"#,
            r#"{"time":1.0,"from":"stderr","line":"done","open":true}"#,
        ];
        assert_eq!(str::from_utf8(&recorder.output).unwrap().lines().collect::<Vec<_>>(), expected);
    }

    quickcheck! {
        fn every_byte_can_be_restored(chunks: Vec<(bool, Vec<u8>)>) -> bool {
            let sent = |client| {
                chunks.iter().filter(|(is_client, _)| *is_client == client).flat_map(|(_, chunk)| chunk.clone()).collect()
            };
            let expected: [Vec<u8>; 2] = [sent(true), sent(false)];
            record(&chunks).1 == expected
        }
    }

    #[test]
    fn long_lines_are_split() {
        // Every part would end within a character.
        let line = format!("x{}", "\u{e9}".repeat(MAX_PART_LEN));
        for chunk_len in [1 << 16, 3 * MAX_PART_LEN, MAX_PART_LEN - 1, MAX_PART_LEN] {
            let chunks: Vec<_> = line.as_bytes().chunks(chunk_len).map(|chunk| (false, chunk.to_vec())).collect();
            let (text, restored) = record(&[chunks, vec![(false, b"\n".to_vec())]].concat());
            assert_eq!(restored[1], format!("{line}\n").into_bytes());
            assert_eq!(text.matches(r#""more":true"#).count(), 2, "{chunk_len}");
            assert!(!text.contains("base64"), "{chunk_len}");
        }
    }
}

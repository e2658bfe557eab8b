//! How messages are delimited in a stream: given, or found out from its first lines.

mod frames;

use clap::ValueEnum;
use wireline::{Decoder, Framing, Rules};

pub(crate) use frames::{Frames, InFrame, Mistake, described};

/// How many bytes may be held back, and how many are looked at.
const MAX_HELD: usize = 4 << 10;
const MAX_LOOK: usize = 64 << 10;

/// What a line with the data of an event starts with.
const DATA: &[u8] = b"data:";

/// How many bytes [`detect`] needs of a file.
pub(crate) const DETECTION_LEN: usize = MAX_LOOK + 2 * MAX_HELD;

/// The option of all commands that read traffic.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct FramingArgs {
    /// How messages are delimited
    ///
    /// Each stream is looked at: the first line that looks like the start of a message decides.
    #[arg(long, value_enum, default_value_t = FramingArg::Auto)]
    framing: FramingArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FramingArg {
    /// What the first bytes of each stream look like, otherwise lines
    Auto,
    /// One message on each line, as in MCP over stdio and ACP
    Lines,
    /// A header with a Content-Length before each message, as in LSP
    ContentLength,
    /// Server-sent events, as in MCP over HTTP
    EventStream,
}

impl FramingArgs {
    /// The framing that was asked for. `None` if each stream is to be looked at.
    pub(crate) fn given(self) -> Option<Framing> {
        match self.framing {
            FramingArg::Auto => None,
            FramingArg::Lines => Some(Framing::Lines),
            FramingArg::ContentLength => Some(Framing::ContentLength),
            FramingArg::EventStream => Some(Framing::EventStream),
        }
    }
}

/// Finds out how a stream is framed, while its bytes arrive.
///
/// The first line that looks like the start of a message decides. Lines before it, such as those of a log, are passed on at
/// once, to be decoded as lines; only what may be the start of a header or an event is held back until the next line. So
/// the outcome depends on the bytes alone, never on how they were split.
pub(crate) struct Detection {
    held: Vec<u8>,
    /// Where they start: the number of the line, and the offset in the stream.
    line: u64,
    offset: usize,
}

/// What comes next in a stream whose framing isn't known yet.
pub(crate) enum Next {
    /// These whole lines tell nothing. They are to be decoded as lines.
    Lines(Vec<u8>),
    /// The framing is known. These are all bytes that haven't been passed on.
    Framed(Start, Vec<u8>),
}

/// Where the first message of a stream starts, at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) framing: Framing,
    line: u64,
    offset: u64,
}

impl Start {
    /// The start of a stream with a known framing.
    pub(crate) fn of(framing: Framing) -> Self {
        Self { framing, line: 1, offset: 0 }
    }

    /// A decoder of what comes from here on.
    pub(crate) fn decoder(self, rules: Rules) -> Decoder {
        Decoder::new(rules).framing(self.framing).starting_at(self.line, self.offset)
    }
}

impl Detection {
    pub(crate) fn new() -> Self {
        Self { held: Vec::new(), line: 1, offset: 0 }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// What is known of the bytes so far. `None` if more are needed.
    pub(crate) fn next(&mut self) -> Option<Next> {
        match look(&self.held) {
            Look::Framed(framing) => Some(self.end(framing)),
            Look::Unknown(len) if self.offset + len < MAX_LOOK => {
                let lines: Vec<u8> = self.held.drain(..len).collect();
                self.line += memchr::memchr_iter(b'\n', &lines).count() as u64;
                self.offset += len;
                Some(Next::Lines(lines))
            }
            Look::Unknown(_) => Some(self.end(Framing::Lines)),
            Look::Open => None,
        }
    }

    /// The incomplete line at the end of what is held back.
    pub(crate) fn open_line(&self) -> &[u8] {
        &self.held[memchr::memrchr(b'\n', &self.held).map_or(0, |at| at + 1)..]
    }

    /// Ends the stream, and returns what is left, which is taken for lines.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    fn end(&mut self, framing: Framing) -> Next {
        Next::Framed(Start { framing, line: self.line, offset: self.offset as u64 }, self.finish())
    }
}

/// What a side sends that commands don't understand which need lines.
pub(crate) const CONTENT_LENGTH: &str = "Content-Length headers, as in LSP";
pub(crate) const EVENT_STREAM: &str = "an event stream";

/// Whether a line is a `Content-Length` header.
pub(crate) fn is_content_length(line: &[u8]) -> bool {
    line.len() < MAX_HELD && Framing::detect(&[line, b"\n"].concat()) == Some(Framing::ContentLength)
}

/// The framing of a stream that starts with these bytes: lines, if they don't tell.
pub(crate) fn detect(start: &[u8]) -> Framing {
    let mut detection = Detection::new();
    detection.add(start);
    loop {
        match detection.next() {
            Some(Next::Framed(start, _)) => return start.framing,
            Some(Next::Lines(_)) => {}
            None => return Framing::Lines,
        }
    }
}

enum Look {
    Framed(Framing),
    /// The first bytes, which are whole lines, tell nothing.
    Unknown(usize),
    Open,
}

/// Looks at bytes from the start of a line on.
fn look(bytes: &[u8]) -> Look {
    // Whether the lines before name an event, whose data may be no message, as that of MCP's `endpoint`.
    let (mut len, mut is_named) = (0, false);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match Framing::detect(&line[..line.len().min(MAX_HELD)]) {
            // A line of a log may look like the name of an event. Its data decides.
            Some(Framing::EventStream) if starts_with(line, b"event:") && !has_data(line) => is_named = true,
            None if is_named && line.starts_with(DATA) && len + DATA.len() <= MAX_HELD => {
                return Look::Framed(Framing::EventStream);
            }
            Some(framing) => return Look::Framed(framing),
            None if len + line.len() > MAX_HELD => {}
            None if is_blank(line) => is_named &= !line.ends_with(b"\n"),
            None if may_be_first(line) || !line.ends_with(b"\n") => {}
            None => return Look::Unknown(len + line.len()),
        }
        if len + line.len() > MAX_HELD {
            return if len == 0 { Look::Framed(Framing::Lines) } else { Look::Unknown(len) };
        }
        len += line.len();
    }
    Look::Open
}

/// Whether a header or an event may start with this line, although it doesn't tell.
fn may_be_first(line: &[u8]) -> bool {
    [&b":"[..], b"id:", b"retry:", b"content-type:"].iter().any(|name| starts_with(line, name))
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Whether there is data after lines that end in carriage returns.
fn has_data(line: &[u8]) -> bool {
    line.split(|byte| *byte == b'\r').any(|line| line.starts_with(DATA))
}

fn starts_with(line: &[u8], name: &[u8]) -> bool {
    line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is passed on as lines, and how the rest is framed, for a stream that arrives in pieces of this length.
    fn detected(stream: &[u8], piece: usize) -> (Vec<u8>, Start, Vec<u8>) {
        let (mut detection, mut lines) = (Detection::new(), Vec::new());
        for (number, bytes) in stream.chunks(piece).enumerate() {
            detection.add(bytes);
            while let Some(next) = detection.next() {
                match next {
                    Next::Lines(more) => lines.extend(more),
                    Next::Framed(start, mut rest) => {
                        rest.extend_from_slice(stream.get((number + 1) * piece..).unwrap_or_default());
                        return (lines, start, rest);
                    }
                }
            }
        }
        (lines, Start { framing: Framing::Lines, line: 0, offset: 0 }, detection.finish())
    }

    #[test]
    fn outcome_does_not_depend_on_pieces() {
        let long = "x".repeat(MAX_HELD);
        let noise = "noise\n".repeat(MAX_LOOK / 6 + 2);
        for (lines, rest, framing) in [
            ("", "{\"jsonrpc\"", Framing::Lines),
            ("", "\n{", Framing::Lines),
            ("starting\nINFO: done\n", "[{", Framing::Lines),
            ("", "Content-Length: 5\r\n\r\n{}", Framing::ContentLength),
            ("", "Content-Type: x\r\nContent-Length: 5\r\n", Framing::ContentLength),
            ("hello\n", "done Content-Length: 5\r\n\r\n{}", Framing::ContentLength),
            ("", "event: message\nid: 1\ndata: {}\n\n", Framing::EventStream),
            ("", "event: message\rdata: {}\r\r\n", Framing::EventStream),
            ("", ": ping\n\nid: 1\nretry: 5\ndata: \n\n", Framing::EventStream),
            ("", &format!(": ping\n\ndata: {{{long}}}\n"), Framing::EventStream),
            ("", "event: endpoint\ndata: /m\n\n", Framing::EventStream),
            ("", "event: endpoint\r\nid: 1\r\ndata: /m\r\n\r\n", Framing::EventStream),
            ("", ": ping\n\nevent: endpoint\n: ping\ndata:/m", Framing::EventStream),
            ("", "event: started\n{}\n", Framing::Lines),
            ("event: started\n\ndata: loaded\ndata: \tloaded\n", "{}\n", Framing::Lines),
            ("event: started\nlistening\n", "Content-Length: 5\n", Framing::ContentLength),
            ("", &format!("{long} Content-Length: 5\n"), Framing::Lines),
            ("\n", &format!("{long}\nContent-Length: 5\n"), Framing::Lines),
            (&noise[..MAX_LOOK / 6 * 6], "noise\nContent-Length: 5\n", Framing::Lines),
        ] {
            let stream = format!("{lines}{rest}");
            let start = Start { framing, line: 1 + lines.matches('\n').count() as u64, offset: lines.len() as u64 };
            for piece in [1, 2, 7, 1000, stream.len()] {
                let found = detected(stream.as_bytes(), piece);
                assert_eq!(found, (lines.into(), start, rest.into()), "{piece}");
            }
            assert_eq!(detect(stream.as_bytes()), framing);
        }
    }

    #[test]
    fn streams_without_a_message_are_lines() {
        for (lines, rest) in [("", ""), ("oops\n", "Content-Length: 5"), ("", "id: 1\n\n"), ("a\n", "b")] {
            let stream = format!("{lines}{rest}");
            for piece in [1, 100] {
                let (passed, _, held) = detected(stream.as_bytes(), piece);
                assert_eq!((passed, held), (lines.into(), rest.into()));
            }
            assert_eq!(detect(stream.as_bytes()), Framing::Lines);
        }
    }
}

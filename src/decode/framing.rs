//! How messages are delimited in a stream: one variant for each framing.

use std::fmt;

use super::content_length;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How messages are delimited in a stream.
///
/// Set it with [`Decoder::framing`](crate::Decoder::framing), [`Encoder::framing`](crate::Encoder::framing) and
/// [`connection::Config::framing`](crate::connection::Config::framing). Framings may be added, so a `match` needs a
/// wildcard arm.
///
/// | | ends at | text in a stream |
/// |---|---|---|
/// | [`Lines`](Self::Lines) | a line feed | `{"jsonrpc":"2.0","method":"m"}\n` |
/// | [`ContentLength`](Self::ContentLength) | the length in its header | `Content-Length: 30\r\n\r\n{"jsonrpc":"2.0","method":"m"}` |
/// | [`EventStream`](Self::EventStream) | a blank line | `data: {"jsonrpc":"2.0","method":"m"}\n\n` |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// One message on each line, as in NDJSON, MCP over stdio and ACP.
    #[default]
    Lines,
    /// A header with a `Content-Length` before each message, as in the Language Server Protocol and the Build
    /// Server Protocol. (The Debug Adapter Protocol has the same headers, but its messages aren't JSON-RPC.)
    ///
    /// A header is lines of `Name: value` up to a blank line. Names are compared without regard to case, and lines may end
    /// with CR LF or LF alone. Unknown fields are ignored, but at the start of a header they must end with CR LF, as a
    /// print such as `INFO: ready` mostly doesn't. `Content-Type` may only name UTF-8 as its charset. The message may
    /// contain line breaks between its tokens.
    ContentLength,
    /// Server-sent events, as in MCP over HTTP: the message is the `data` of an event.
    ///
    /// Lines may end with LF, CR LF or CR alone. Comments and unknown fields are ignored, and events without data, or
    /// with empty data, are skipped. Several `data` lines are joined by line feeds. [`Decoder::event_name`](crate::Decoder::event_name) and
    /// [`Decoder::last_event_id`](crate::Decoder::last_event_id) return the other fields.
    EventStream,
}

impl Framing {
    /// All framings.
    pub const ALL: &'static [Self] = &[Self::Lines, Self::ContentLength, Self::EventStream];

    /// A short name in kebab case, for options and logs. It never changes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::ContentLength => "content-length",
            Self::EventStream => "event-stream",
        }
    }

    /// Guesses the framing from the first bytes of a stream. `None` if they don't tell.
    ///
    /// The first line that looks like the start of a message decides, so log lines before it do no harm:
    ///
    /// - `{`, or `[` before an object or the end of the line: [`Lines`](Self::Lines);
    /// - `Content-Length:` and a number, also after other text on the line: [`ContentLength`](Self::ContentLength);
    /// - `data:` before `{`, `[` or the end of the line, or `event:` and one word: [`EventStream`](Self::EventStream).
    ///
    /// The end of a line must be among the bytes, so pass a few kilobytes, or all that have arrived.
    ///
    /// ```
    /// use wireline::Framing;
    ///
    /// assert_eq!(Framing::detect(b"{\"jsonrpc\":\"2.0\","), Some(Framing::Lines));
    /// assert_eq!(Framing::detect(b"starting...\nContent-Length: 52\r\n\r\n{"), Some(Framing::ContentLength));
    /// assert_eq!(Framing::detect(b"event: message\ndata: {\"jsonrpc\":\"2.0\","), Some(Framing::EventStream));
    /// assert_eq!(Framing::detect(b"starting...\n"), None);
    /// ```
    #[must_use]
    pub fn detect(start: &[u8]) -> Option<Self> {
        let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
        let mut lines = text.split_inclusive(|byte| matches!(byte, b'\n' | b'\r'));
        lines.find_map(|line| match line.trim_ascii_start() {
            [b'{', ..] => Some(Self::Lines),
            [b'[', rest @ ..] if starts_object_or_ends(rest) => Some(Self::Lines),
            _ if is_whole(line) && content_length::field_at_end(line).is_some() => Some(Self::ContentLength),
            _ if is_event_field(line) => Some(Self::EventStream),
            _ => None,
        })
    }
}

/// Whether a line continues with an object, or with nothing. A line that isn't complete doesn't.
fn starts_object_or_ends(rest: &[u8]) -> bool {
    match rest.trim_ascii_start() {
        [] => is_whole(rest),
        [first, ..] => matches!(first, b'{' | b'[' | b']'),
    }
}

fn is_whole(line: &[u8]) -> bool {
    matches!(line.last(), Some(b'\n' | b'\r'))
}

/// Whether a line is a field of an event, and can't as well be a line of a log.
fn is_event_field(line: &[u8]) -> bool {
    if let Some(data) = line.strip_prefix(b"data:") {
        return matches!(data.trim_ascii_start(), [b'{', ..]) || starts_object_or_ends(data);
    }
    let is_word = |name: &[u8]| !name.is_empty() && !name.contains(&b' ');
    is_whole(line) && line.strip_prefix(b"event:").is_some_and(|name| is_word(name.trim_ascii()))
}

/// The name.
impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_of_its_own() {
        for (i, framing) in Framing::ALL.iter().enumerate() {
            assert!(Framing::ALL[..i].iter().all(|other| other.name() != framing.name()));
        }
        assert_eq!(Framing::default(), Framing::Lines);
    }

    #[test]
    fn the_first_line_that_tells_decides() {
        let (lines, content_length, event_stream) =
            (Some(Framing::Lines), Some(Framing::ContentLength), Some(Framing::EventStream));
        for (start, expected) in [
            ("", None),
            ("{", lines),
            (" \t{\"jsonrpc\":\"2.0\"}", lines),
            ("\u{feff}{}", lines),
            ("\r\n\n{}\n", lines),
            ("[{\"jsonrpc\"", lines),
            ("[ [", lines),
            ("[\n", lines),
            ("[", None),
            ("[ ", None),
            ("[info] started\n", None),
            ("[info] started\n{\"jsonrpc\"", lines),
            ("{}\nContent-Length: 5\r\n", lines),
            ("Content-Length: 5", None),
            ("Content-Length: 5\r\n", content_length),
            ("content-length:5\n\n{}", content_length),
            ("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 5\r\n\r\n", content_length),
            ("started Content-Length: 5\r\n\r\n{}", content_length),
            ("Content-Length: five\r\n\r\n", None),
            ("X-Content-Length: 5\r\n\r\n", None),
            ("data: {\"jsonrpc\"", event_stream),
            ("data:[{", event_stream),
            ("data:\n", event_stream),
            ("data:", None),
            ("data: ", None),
            ("data: loaded\n", None),
            ("event: message\n", event_stream),
            ("event:message\rdata:", event_stream),
            ("event: mess", None),
            ("event: it works\n", None),
            (": comment\n\nid: 5\nretry: 10\ndata:\n", event_stream),
            ("id: 5\n", None),
        ] {
            assert_eq!(Framing::detect(start.as_bytes()), expected, "{start:?}");
        }
    }
}

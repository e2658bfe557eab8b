//! One line, ready to be written.

use std::fmt;

use bytes::Bytes;

use crate::decode::Reply;
use crate::message::Rules;

use super::encoder::Encoder;
use super::error::EncodeError;

/// One message or batch that has passed the rules, as a complete line: what writers, codecs and channels take.
///
/// Only an [`Encoder`] makes one, so it has exactly one line break, at its end. Clones share its bytes.
///
/// ```
/// use std::sync::mpsc;
/// use wireline::{Id, Line, Rules, to_line};
///
/// let (sender, receiver) = mpsc::channel::<Line>();
/// sender.send(to_line(&Rules::mcp(), |encoder| encoder.request(&Id::from(1), "ping", &()))?)?;
/// let line = receiver.recv()?;
/// assert_eq!(line.as_bytes(), b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
/// assert_eq!(line.text(), br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#); // for an HTTP body
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Line {
    /// Ends in the only line feed.
    bytes: Bytes,
}

impl Line {
    /// The line with its line feed.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The line without its line feed: for transports that have message boundaries of their own.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - 1]
    }

    /// The line with its line feed, as a buffer.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The line without its line feed, as a buffer.
    #[must_use]
    pub fn into_text(mut self) -> Bytes {
        self.bytes.truncate(self.bytes.len() - 1);
        self.bytes
    }
}

impl AsRef<[u8]> for Line {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl From<Line> for Bytes {
    fn from(line: Line) -> Self {
        line.into_bytes()
    }
}

impl PartialEq<str> for Line {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Line {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

/// The length. The rest is the program's, and may be secret.
impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Line({} bytes)", self.bytes.len())
    }
}

/// The line that `write` makes an [`Encoder`] append.
///
/// ```
/// use wireline::{Id, Rules};
///
/// let line = wireline::to_line(&Rules::mcp(), |encoder| encoder.request(&Id::from(1), "ping", &()))?;
/// assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
/// # Ok::<(), wireline::EncodeError>(())
/// ```
///
/// # Errors
///
/// What `write` returned; or it wrote nothing, or more than one line.
pub fn to_line(
    rules: &Rules,
    write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
) -> Result<Line, EncodeError> {
    let mut encoder = Encoder::new(*rules);
    write(&mut encoder)?;
    let bytes = encoder.take();
    match memchr::memchr(b'\n', &bytes) {
        Some(end) if end + 1 == bytes.len() => Ok(Line { bytes }),
        _ => Err(EncodeError::not_one_line()),
    }
}

/// The reply as JSON text, without a line ending.
impl fmt::Display for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rules of a stream may be too narrow for any answer; this is only its text.
        let rules = self.fault().rules().max_line_len(usize::MAX).max_depth(usize::MAX);
        let line = to_line(&rules, |encoder| encoder.error_reply(self)).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(line.text()))
    }
}

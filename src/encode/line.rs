//! One line, ready to be written.

use std::fmt;

use bytes::{Bytes, BytesMut};

use crate::message::Rules;

use super::encoder::Encoder;
use super::error::EncodeError;

/// One complete line with a message or a batch that passed the rules, for writers, codecs and channels.
///
/// Only an [`Encoder`] creates one, so its only line break is at its end. Clones share its bytes.
///
/// ```
/// use std::sync::mpsc;
/// use wireline::{Id, Line, Rules, to_line};
///
/// let (sender, receiver) = mpsc::channel::<Line>();
/// sender.send(to_line(&Rules::mcp(), |encoder| encoder.request(&Id::from(1), "ping", &()))?)?;
/// let line = receiver.recv()?;
/// assert_eq!(line.as_bytes(), b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
/// assert_eq!(line.text(), r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#); // for an HTTP body
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Line {
    /// Its only line feed is its last byte.
    bytes: Bytes,
}

impl Line {
    /// The line with its line feed.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The message without its line feed, for transports with their own boundaries. It contains no CR or LF.
    ///
    /// Each call revalidates UTF-8, to avoid `unsafe`; [`into_message`](Self::into_message) doesn't.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.bytes.len() - 1]).unwrap_or_default()
    }

    /// The line with its line feed, as a buffer.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The message without its line feed, as a buffer.
    #[must_use]
    pub fn into_message(mut self) -> Bytes {
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

/// Shows only the length, since the contents may be secret.
impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Line({} bytes)", self.bytes.len())
    }
}

/// Encodes a single line; `write` calls one method of the [`Encoder`].
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
/// `write` returned an error, or wrote nothing, or more than one line.
pub fn to_line(
    rules: &Rules,
    write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>,
) -> Result<Line, EncodeError> {
    // A buffer of its own, of which `write` sees only the encoder: whatever is in it was encoded.
    let mut buffer = BytesMut::new();
    write(&mut Encoder::append_to(&mut buffer, *rules))?;
    match memchr::memchr(b'\n', &buffer) {
        Some(end) if end + 1 == buffer.len() => Ok(Line { bytes: buffer.freeze() }),
        _ => Err(EncodeError::not_one_line()),
    }
}

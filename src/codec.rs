//! A codec for tokio's [`Framed`](tokio_util::codec::Framed).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use futures_util::{SinkExt, StreamExt};
//! use tokio_util::codec::Framed;
//! use wireline::codec::Codec;
//! use wireline::{Frame, Id, Message, Rules, to_line};
//!
//! let rules = Rules::mcp();
//! let (near, far) = tokio::io::duplex(1024);
//! let mut near = Framed::new(near, Codec::new(rules));
//! let mut far = Framed::new(far, Codec::new(rules));
//!
//! near.send(to_line(&rules, |encoder| encoder.request(&Id::from(1), "ping", &()))?).await?;
//! match far.next().await.unwrap()? {
//!     Ok(Frame::Message(Message::Request(request))) => assert_eq!(request.method(), "ping"),
//!     Ok(_) => {}
//!     Err(fault) => { /* a bad line; the stream continues */ }
//! }
//! near.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A bad line is an item, `Ok(Err(fault))`. It isn't an error of the stream, because `Framed` ends at the first error;
//! only transport failures are errors. Reading is cancel-safe, as with any codec: a partly received line is kept.
//! Nothing is read while frames are waiting to be taken.

use std::io;

use bytes::BytesMut;
use tokio_util::codec;

use crate::decode::{Decoder, Fault};
use crate::encode::Line;
use crate::message::{Frame, Rules};

/// A codec that decodes frames and sends lines; see the [module](self).
///
/// It sends [`Line`]s from any source: a channel, another task, a forwarded message or a fault's reply. It doesn't
/// track requests; [`aio::Connection`](crate::aio::Connection) does.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use futures_util::{SinkExt, StreamExt};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio_util::codec::Framed;
/// use wireline::codec::Codec;
/// use wireline::{Frame, Rules, to_line};
///
/// let rules = Rules::mcp();
/// let (mut client, server) = tokio::io::duplex(1024);
/// let (mut lines, mut frames) = Framed::new(server, Codec::new(rules)).split();
/// client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1}\n{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n").await?;
/// client.shutdown().await?;
/// while let Some(frame) = frames.next().await {
///     match frame? {
///         // Sends a message back as it came.
///         Ok(Frame::Message(message)) => match to_line(&rules, |encoder| encoder.forward(&message)) {
///             Ok(line) => lines.send(line).await?,
///             Err(error) => eprintln!("{error}"), // about this message alone
///         },
///         Ok(Frame::Batch(_)) => {}
///         Err(fault) => {
///             if let Some(Ok(line)) = fault.reply().map(|reply| to_line(&rules, |encoder| encoder.error_reply(&reply))) {
///                 lines.send(line).await?;
///             }
///         }
///     }
/// }
/// drop((lines, frames));
/// let mut answers = String::new();
/// client.read_to_string(&mut answers).await?;
/// let (reply, echo) = answers.split_once('\n').unwrap();
/// assert!(reply.starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"#));
/// assert_eq!(echo, "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Codec {
    decoder: Decoder,
}

impl Codec {
    /// A codec for the start of a stream.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self::with_decoder(Decoder::new(rules))
    }

    /// A codec with your own decoder, which may already contain bytes.
    #[must_use]
    pub fn with_decoder(decoder: Decoder) -> Self {
        Self { decoder }
    }

    /// The decoder, for [`last_line`](Decoder::last_line) and the like.
    #[must_use]
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }
}

impl codec::Decoder for Codec {
    /// A frame that shares the buffer, or the fault of a line.
    type Item = Result<Frame<'static>, Fault>;
    /// The transport's error. This codec adds no errors of its own.
    type Error = io::Error;

    fn decode(&mut self, source: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if !source.is_empty() {
            self.decoder.feed_buffer(source.split());
        }
        Ok(self.decoder.next_frame().map(|frame| frame.map(Frame::into_owned)))
    }

    fn decode_eof(&mut self, source: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if !source.is_empty() {
            self.decoder.feed_buffer(source.split());
        }
        self.decoder.finish();
        self.decode(source)
    }
}

impl codec::Encoder<Line> for Codec {
    /// The transport's error. A line is already encoded, so this codec adds no errors of its own.
    type Error = io::Error;

    fn encode(&mut self, line: Line, buffer: &mut BytesMut) -> io::Result<()> {
        buffer.extend_from_slice(line.as_bytes());
        Ok(())
    }
}

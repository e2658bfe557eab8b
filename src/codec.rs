//! On tokio: a codec for [`Framed`](tokio_util::codec::Framed).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use futures_util::{SinkExt, StreamExt};
//! use tokio_util::codec::Framed;
//! use wireline::codec::{Codec, encode};
//! use wireline::{Frame, Id, Message, Rules};
//!
//! let (near, far) = tokio::io::duplex(1024);
//! let mut near = Framed::new(near, Codec::new(Rules::mcp()));
//! let mut far = Framed::new(far, Codec::new(Rules::mcp()));
//!
//! near.send(encode(|encoder| encoder.request(&Id::from(1), "ping", &()))).await?;
//! match far.next().await.unwrap()? {
//!     Ok(Frame::Message(Message::Request(request))) => assert_eq!(request.method(), "ping"),
//!     Ok(_) => {}
//!     Err(fault) => { /* a bad line; the stream goes on */ }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A bad line is an item, `Ok(Err(fault))`. It is not an error of the stream, because `Framed` ends at one of those: what
//! remains as such are errors of the transport. Reading is cancel-safe, as it is for any codec: what has come in of a line
//! is kept. Nothing is read while frames are waiting to be taken.

use std::fmt;
use std::io;

use bytes::BytesMut;
use tokio_util::codec;

use crate::decode::decoder::Decoder;
use crate::decode::fault::{Fault, Reply};
use crate::encode::encoder::Encoder;
use crate::encode::error::EncodeError;
use crate::io::SendError;
use crate::message::frame::{Batch, Frame};
use crate::message::message::Message;
use crate::message::rules::Rules;

/// Frames from, and lines to, a byte stream; see the [module](self).
///
/// Besides what [`encode`] gives, it sends frames, messages and batches from elsewhere as they came, and the
/// [replies](crate::Fault::reply) that faults call for:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use futures_util::{SinkExt, StreamExt};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio_util::codec::Framed;
/// use wireline::{Rules, codec::Codec};
///
/// let (mut client, server) = tokio::io::duplex(1024);
/// let mut server = Framed::new(server, Codec::new(Rules::mcp()));
/// client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1}\n{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n").await?;
/// client.shutdown().await?;
/// while let Some(frame) = server.next().await {
///     match frame? {
///         Ok(frame) => server.send(frame).await?,
///         Err(fault) => {
///             if let Some(reply) = fault.reply() {
///                 server.send(reply).await?;
///             }
///         }
///     }
/// }
/// drop(server);
/// let mut lines = String::new();
/// client.read_to_string(&mut lines).await?;
/// let (reply, echo) = lines.split_once('\n').unwrap();
/// assert!(reply.starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"#));
/// assert_eq!(echo, "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Codec {
    decoder: Decoder,
    rules: Rules,
}

impl Codec {
    /// A codec that judges both directions by `rules`.
    pub fn new(rules: Rules) -> Self {
        Self::with_decoder(Decoder::new(rules))
    }

    /// A codec that judges both directions by a decoder's rules. The decoder may have been fed before.
    pub fn with_decoder(decoder: Decoder) -> Self {
        Self { rules: *decoder.rules(), decoder }
    }

    /// The decoder, for [`last_line`](Decoder::last_line) and the like.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }
}

impl codec::Decoder for Codec {
    /// A frame that shares the buffer, or what was wrong with a line.
    type Item = Result<Frame<'static>, Fault>;
    /// Of the transport; this codec adds none.
    type Error = io::Error;

    fn decode(&mut self, source: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if !source.is_empty() {
            self.decoder.feed_buffer(source.split());
        }
        Ok(self.decoder.next_frame().map(|frame| frame.map(Frame::into_owned)))
    }

    fn decode_eof(&mut self, source: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        self.decoder.finish();
        self.decode(source)
    }
}

/// A message to be sent, as what appends it to an encoder; see [`encode`].
pub struct Encode<F>(F);

impl<F> fmt::Debug for Encode<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encode").finish_non_exhaustive()
    }
}

/// A message for a [`Codec`] to send: what `write` makes an [`Encoder`] append.
///
/// ```
/// use bytes::BytesMut;
/// use tokio_util::codec::Encoder;
/// use wireline::{Id, Rules, codec::{Codec, encode}};
///
/// let (mut codec, mut buffer) = (Codec::new(Rules::json_rpc()), BytesMut::new());
/// codec.encode(encode(|encoder| encoder.response(&Id::from(1), "pong")), &mut buffer)?;
/// // What is refused leaves nothing in the buffer, so that a sink can go on.
/// assert!(codec.encode(encode(|encoder| encoder.response(&Id::from(2), &f64::NAN)), &mut buffer).is_err());
/// assert_eq!(buffer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"pong\"}\n");
/// # Ok::<(), wireline::io::SendError>(())
/// ```
pub fn encode<F>(write: F) -> Encode<F>
where
    F: FnOnce(&mut Encoder<&mut BytesMut>) -> Result<(), EncodeError>,
{
    Encode(write)
}

impl<F> codec::Encoder<Encode<F>> for Codec
where
    F: FnOnce(&mut Encoder<&mut BytesMut>) -> Result<(), EncodeError>,
{
    type Error = SendError;

    fn encode(&mut self, Encode(write): Encode<F>, buffer: &mut BytesMut) -> Result<(), SendError> {
        Ok(write(&mut Encoder::append_to(buffer, self.rules))?)
    }
}

/// Items that are messages already, and how they are appended.
macro_rules! sends {
    ($($(#[$doc:meta])* $item:ty: |$message:ident, $encoder:ident| $append:expr;)*) => {$(
        $(#[$doc])*
        impl codec::Encoder<$item> for Codec {
            type Error = SendError;

            fn encode(&mut self, $message: $item, buffer: &mut BytesMut) -> Result<(), SendError> {
                let mut $encoder = Encoder::append_to(buffer, self.rules);
                Ok($append?)
            }
        }
    )*};
}

sends! {
    /// A message or a batch from elsewhere, as it came.
    Frame<'_>: |frame, encoder| encoder.raw(frame.as_bytes());
    /// A message from elsewhere, as it came.
    Message<'_>: |message, encoder| encoder.forward(&message);
    /// A batch from elsewhere, as it came.
    Batch<'_>: |batch, encoder| encoder.raw(batch.as_bytes());
    /// The answer that a fault calls for.
    Reply<'_>: |reply, encoder| encoder.error_reply(&reply);
}

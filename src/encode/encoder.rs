//! Messages in, whole lines out.

use std::borrow::BorrowMut;
use std::fmt;

use bytes::{Bytes, BytesMut};

use crate::decode::fault::{FaultKind, Reply};
use crate::encode::draft::Draft;
use crate::encode::error::EncodeError;
use crate::encode::payload::{Payload, refuse_line_breaks};
use crate::encode::rpc_error::RpcError;
use crate::message::id::Id;
use crate::message::message::Message;
use crate::message::rules::Rules;
use crate::trace;

/// Turns messages into lines: each call appends one whole line to a buffer, or nothing.
///
/// If a payload cannot be serialized, or panics while it is, if a line break would get into the line, or if the rules
/// do not permit the message, the buffer is as it was before, and the [`EncodeError`] says why. What an encoder emits, a
/// [`Decoder`](crate::Decoder) with the same rules accepts.
///
/// The buffer is the encoder's own ([`new`](Self::new)) or somebody else's ([`append_to`](Encoder::append_to)). Writing
/// it out is the caller's job, and so is flushing.
///
/// ```
/// use serde_json::json;
/// use wireline::{Encoder, Id, RpcError, Rules};
///
/// let mut encoder = Encoder::new(Rules::mcp());
/// encoder.request(&Id::from(1), "tools/call", &json!({"name": "echo"}))?;
/// encoder.request(&Id::from(2), "ping", &())?; // no params
/// encoder.response(&Id::from("a"), &json!({"ok": true}))?;
/// encoder.error(&Id::from("b"), &RpcError::method_not_found())?;
/// assert_eq!(
///     encoder.take(),
///     concat!(
///         r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#, "\n",
///         r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#, "\n",
///         r#"{"jsonrpc":"2.0","id":"a","result":{"ok":true}}"#, "\n",
///         r#"{"jsonrpc":"2.0","id":"b","error":{"code":-32601,"message":"Method not found"}}"#, "\n",
///     ),
/// );
/// # Ok::<(), wireline::EncodeError>(())
/// ```
pub struct Encoder<B = BytesMut> {
    rules: Rules,
    buffer: B,
}

impl Encoder {
    /// An encoder with a buffer of its own.
    pub fn new(rules: Rules) -> Self {
        Self { rules, buffer: BytesMut::new() }
    }

    /// Takes out the lines that have been encoded.
    pub fn take(&mut self) -> Bytes {
        self.buffer.split().freeze()
    }
}

impl<'b> Encoder<&'b mut BytesMut> {
    /// An encoder that appends to `buffer`.
    ///
    /// ```
    /// use bytes::BytesMut;
    /// use wireline::{Encoder, Rules};
    ///
    /// let mut out = BytesMut::from("{\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n");
    /// Encoder::append_to(&mut out, Rules::mcp()).notification("two", &())?;
    /// assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 2);
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    pub fn append_to(buffer: &'b mut BytesMut, rules: Rules) -> Self {
        Self { rules, buffer }
    }
}

impl<B: BorrowMut<BytesMut>> Encoder<B> {
    /// The buffer: the lines that have been encoded and not been taken out.
    pub fn buffer(&mut self) -> &mut BytesMut {
        self.buffer.borrow_mut()
    }

    /// Appends a request. Params that are written as `null`, such as `&()`, are left out.
    ///
    /// # Errors
    ///
    /// See [`EncodeError`]; the buffer is then as it was before. It is so for all of these.
    pub fn request(&mut self, id: &Id<'_>, method: &str, params: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.line(|draft| draft.request(id, method, params))
    }

    /// Appends a notification. Params that are written as `null`, such as `&()`, are left out.
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn notification(&mut self, method: &str, params: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.line(|draft| draft.notification(method, params))
    }

    /// Appends a response with a result.
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn response(&mut self, id: &Id<'_>, result: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.line(|draft| draft.response(id, result))
    }

    /// Appends a response with an error. `None` leaves out the id, which MCP permits; [`Id::NULL`] says null.
    ///
    /// ```
    /// use wireline::{Encoder, Id, RpcError, Rules};
    ///
    /// let mut encoder = Encoder::new(Rules::mcp());
    /// encoder.error(&Id::from(1), &RpcError::invalid_params("expected a name"))?;
    /// encoder.error(None, &RpcError::internal())?;
    /// assert_eq!(
    ///     encoder.take(),
    ///     concat!(
    ///         r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"expected a name"}}"#, "\n",
    ///         r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"}}"#, "\n",
    ///     ),
    /// );
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn error<'i>(&mut self, id: impl Into<Option<&'i Id<'i>>>, error: &RpcError) -> Result<(), EncodeError> {
        self.line(|draft| draft.error(id.into(), error))
    }

    /// Appends the answer that a [`Fault`](crate::Fault) calls for; see [`Fault::reply`](crate::Fault::reply).
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn error_reply(&mut self, reply: &Reply<'_>) -> Result<(), EncodeError> {
        self.line(|draft| draft.error_reply(reply))
    }

    /// Appends a batch of what `fill` puts into it, as one line.
    ///
    /// An entry that is refused leaves no trace, and the batch can go on without it; the batch is taken back as a whole if
    /// `fill` returns an error.
    ///
    /// ```
    /// use wireline::{Encoder, Id, Rules};
    ///
    /// let mut encoder = Encoder::new(Rules::json_rpc());
    /// encoder.batch(|batch| {
    ///     batch.response(&Id::from(1), &"one")?;
    ///     batch.response(&Id::from(2), &"two")
    /// })?;
    /// assert_eq!(
    ///     encoder.take(),
    ///     "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"one\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"two\"}]\n"
    /// );
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What `fill` returned; or the batch is empty, too long, or not permitted.
    pub fn batch(
        &mut self,
        fill: impl FnOnce(&mut BatchEncoder<'_>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.line(|draft| {
            if !draft.rules.batches {
                return Err(EncodeError::rule(FaultKind::BatchNotAllowed, None));
            }
            draft.text(b"[")?;
            let mut batch = BatchEncoder { out: draft.out, rules: draft.rules, line: draft.line, len: 0 };
            fill(&mut batch)?;
            if batch.len == 0 {
                return Err(EncodeError::rule(FaultKind::EmptyBatch, None));
            }
            draft.text(b"]")
        })
    }

    /// Appends a whole message that serializes, envelope and all, if it passes the rules: what SDKs with types of their
    /// own for messages have.
    ///
    /// ```
    /// use wireline::{EncodeErrorKind, Encoder, FaultKind, Rules};
    ///
    /// #[derive(serde::Serialize)]
    /// struct Call { jsonrpc: &'static str, id: u64, method: &'static str }
    ///
    /// let mut encoder = Encoder::new(Rules::mcp());
    /// encoder.message(&Call { jsonrpc: "2.0", id: 1, method: "ping" })?;
    /// let refused = encoder.message(&Call { jsonrpc: "1.0", id: 2, method: "ping" }).unwrap_err();
    /// assert_eq!(refused.kind(), EncodeErrorKind::Rule(FaultKind::InvalidVersion));
    /// assert_eq!(encoder.take(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn message(&mut self, message: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.line(|draft| draft.message(message))
    }

    /// Appends a line that somebody else made, without its line end, if it passes the rules.
    ///
    /// ```
    /// use wireline::{EncodeErrorKind, Encoder, Rules};
    ///
    /// let mut encoder = Encoder::new(Rules::mcp());
    /// encoder.raw(br#"{"method":"note", "jsonrpc":"2.0"}"#)?;
    /// let refused = encoder.raw(b"{\"method\":\"note\",\n\"jsonrpc\":\"2.0\"}").unwrap_err();
    /// assert_eq!((refused.kind(), refused.offset()), (EncodeErrorKind::LineBreak, Some(17)));
    /// assert_eq!(encoder.take(), "{\"method\":\"note\", \"jsonrpc\":\"2.0\"}\n");
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The rule that it breaks, or that there is a line break in it; for that see [`flatten`](Self::flatten).
    pub fn raw(&mut self, line: &[u8]) -> Result<(), EncodeError> {
        self.line(|draft| draft.raw(line))
    }

    /// Appends a text that somebody else made, if it passes the rules, on one line.
    ///
    /// Line breaks between its tokens become spaces, which changes no value. Blanks at its ends are left out.
    ///
    /// ```
    /// use wireline::{Encoder, Rules};
    ///
    /// let mut encoder = Encoder::new(Rules::mcp());
    /// encoder.flatten(b"{\n \"jsonrpc\": \"2.0\",\n \"method\": \"a\\nb\"\n}\n")?;
    /// assert_eq!(encoder.take(), "{  \"jsonrpc\": \"2.0\",  \"method\": \"a\\nb\" }\n");
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The rule that it breaks.
    pub fn flatten(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        self.line(|draft| {
            let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
            let end = text.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
            draft.text(&text[start..end])?;
            draft.judge()?;
            // In JSON, line breaks stand nowhere but between tokens.
            for byte in &mut draft.out[draft.start..] {
                if matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
            Ok(())
        })
    }

    /// Appends a message under another id, with nothing else changed: what a proxy does all day.
    ///
    /// ```
    /// use wireline::{Encoder, Frame, Id, Rules};
    ///
    /// let line = br#"{"method":"sum", "params":[1.10, 2e0], "id": "a", "jsonrpc":"2.0"}"#;
    /// let Frame::Message(message) = Frame::parse(line, &Rules::json_rpc())? else { panic!() };
    /// let mut encoder = Encoder::new(Rules::json_rpc());
    /// encoder.with_id(&message, &Id::from(7))?;
    /// assert_eq!(
    ///     encoder.take(),
    ///     "{\"method\":\"sum\", \"params\":[1.10, 2e0], \"id\": 7, \"jsonrpc\":\"2.0\"}\n"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The message has no id, has a line break between its tokens, or is not what these rules permit.
    pub fn with_id(&mut self, message: &Message<'_>, id: &Id<'_>) -> Result<(), EncodeError> {
        self.line(|draft| {
            let (text, envelope) = message.text_and_envelope();
            if envelope.id.is_empty() {
                return Err(EncodeError::rule(FaultKind::MissingId, None));
            }
            let id = id.as_json().as_bytes();
            draft.permits_id(id, envelope.kind)?;
            let (before, after) = (&text[..envelope.id.start()], &text[envelope.id.end()..]);
            // The other id's place is enough for the line end.
            draft.out.reserve(text.len() + id.len());
            draft.text(before)?;
            draft.text(id)?;
            draft.text(after)?;
            draft.judge_again(envelope)
        })
    }

    /// Appends a message as it came.
    ///
    /// One that has been judged by the same rules is not judged again.
    ///
    /// ```
    /// use wireline::{Encoder, Frame, Rules};
    ///
    /// let line = br#"{"method":"note", "params":{"x":1.10}, "jsonrpc":"2.0"}"#;
    /// let Frame::Message(message) = Frame::parse(line, &Rules::json_rpc())? else { panic!() };
    /// let mut encoder = Encoder::new(Rules::json_rpc());
    /// encoder.forward(&message)?;
    /// assert_eq!(encoder.take().strip_suffix(b"\n"), Some(&line[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The message has a line break between its tokens, or is not what these rules permit.
    pub fn forward(&mut self, message: &Message<'_>) -> Result<(), EncodeError> {
        self.line(|draft| {
            let (text, envelope) = message.text_and_envelope();
            draft.text(text)?;
            draft.judge_again(envelope)
        })
    }

    fn line(&mut self, write: impl FnOnce(&mut Draft<'_>) -> Result<(), EncodeError>) -> Result<(), EncodeError> {
        let out = self.buffer.borrow_mut();
        let start = out.len();
        let mut draft = Draft { out, rules: &self.rules, line: start, start, from: start, depth: 0, whole: false };
        write(&mut draft).inspect_err(trace::refusal)?;
        draft.out.extend_from_slice(b"\n");
        draft.whole = true;
        Ok(())
    }
}

impl<B> fmt::Debug for Encoder<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// The line that `write` makes an [`Encoder`] append, for callers without a buffer.
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
/// What `write` returned.
pub fn to_line(
    rules: &Rules,
    write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
) -> Result<Bytes, EncodeError> {
    let mut encoder = Encoder::new(*rules);
    write(&mut encoder)?;
    Ok(encoder.take())
}

/// The text that `write` makes an [`Encoder`] append, without a line end: for transports with boundaries of their own.
///
/// ```
/// use wireline::{Id, Rules};
///
/// let body = wireline::to_text(&Rules::mcp(), |encoder| encoder.request(&Id::from(1), "ping", &()))?;
/// assert_eq!(body, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
/// # Ok::<(), wireline::EncodeError>(())
/// ```
///
/// # Errors
///
/// What `write` returned, or that it wrote more than one line.
pub fn to_text(
    rules: &Rules,
    write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
) -> Result<Bytes, EncodeError> {
    let mut line = to_line(rules, write)?;
    line.truncate(line.len().saturating_sub(1));
    refuse_line_breaks(&line)?;
    Ok(line)
}

/// Fills a batch, see [`Encoder::batch`]. Each call appends one entry, or nothing.
pub struct BatchEncoder<'d> {
    out: &'d mut BytesMut,
    rules: &'d Rules,
    /// Where the batch begins.
    line: usize,
    len: usize,
}

impl BatchEncoder<'_> {
    /// Appends a request; see [`Encoder::request`].
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn request(&mut self, id: &Id<'_>, method: &str, params: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.entry(|draft| draft.request(id, method, params))
    }

    /// Appends a notification; see [`Encoder::notification`].
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn notification(&mut self, method: &str, params: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.entry(|draft| draft.notification(method, params))
    }

    /// Appends a response with a result; see [`Encoder::response`].
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn response(&mut self, id: &Id<'_>, result: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.entry(|draft| draft.response(id, result))
    }

    /// Appends a response with an error; see [`Encoder::error`].
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn error<'i>(&mut self, id: impl Into<Option<&'i Id<'i>>>, error: &RpcError) -> Result<(), EncodeError> {
        self.entry(|draft| draft.error(id.into(), error))
    }

    /// Appends the answer that a fault calls for; see [`Encoder::error_reply`].
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn error_reply(&mut self, reply: &Reply<'_>) -> Result<(), EncodeError> {
        self.entry(|draft| draft.error_reply(reply))
    }

    /// Appends an entry that somebody else made; see [`Encoder::raw`].
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn raw(&mut self, entry: &[u8]) -> Result<(), EncodeError> {
        self.entry(|draft| draft.raw(entry))
    }

    /// How many entries there are so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn entry(&mut self, write: impl FnOnce(&mut Draft<'_>) -> Result<(), EncodeError>) -> Result<(), EncodeError> {
        if self.len == self.rules.max_batch_len {
            return Err(EncodeError::rule(FaultKind::BatchTooLong, None));
        }
        let comma = self.out.len();
        let start = comma + usize::from(self.len > 0);
        let mut draft =
            Draft { out: self.out, rules: self.rules, line: self.line, start, from: comma, depth: 1, whole: false };
        if self.len > 0 {
            draft.text(b",")?;
        }
        write(&mut draft)?;
        draft.fits(1)?; // the bracket that ends the batch
        draft.whole = true;
        self.len += 1;
        Ok(())
    }
}

impl fmt::Debug for BatchEncoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchEncoder").field("len", &self.len).finish_non_exhaustive()
    }
}

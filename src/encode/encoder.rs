//! Turns messages into whole lines.

use std::fmt;

use bytes::{Bytes, BytesMut};
use serde::Serialize;

use crate::decode::Framing;
use crate::message::{AnyMessage, FaultKind, Id, Rules};

use super::draft::Draft;
use super::error::EncodeError;
use super::error_reply::ErrorReply;
use super::framed;
use super::line::to_line;
use super::rpc_error::RpcError;

/// Turns messages into lines: each call appends one whole line to a buffer, or nothing.
///
/// If a payload fails to serialize or panics, if the line would contain a line break, or if the rules don't permit the
/// message, the buffer stays as it was and the [`EncodeError`] says why. A [`Decoder`](crate::Decoder) with the same
/// rules accepts everything that an encoder emits.
///
/// The encoder has its own buffer ([`new`](Self::new)) or appends to yours ([`append_to`](Encoder::append_to)). The
/// caller writes it out and flushes.
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
pub struct Encoder<'b> {
    /// The rules for what this side sends.
    rules: Rules,
    framing: Framing,
    out: Out<'b>,
    /// The batch that is being written, if any: then messages are its entries, not lines.
    batch: Option<OpenBatch>,
}

/// The buffer that an encoder appends to.
enum Out<'b> {
    Own(BytesMut),
    Borrowed(&'b mut BytesMut),
}

struct OpenBatch {
    /// Where its line starts.
    line: usize,
    /// The number of entries so far.
    len: usize,
}

impl Encoder<'static> {
    /// An encoder with its own buffer.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self { rules: rules.outgoing(), framing: Framing::Lines, out: Out::Own(BytesMut::new()), batch: None }
    }
}

impl<'b> Encoder<'b> {
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
        Self { rules: rules.outgoing(), framing: Framing::Lines, out: Out::Borrowed(buffer), batch: None }
    }
}

impl Encoder<'_> {
    /// Sets how messages are delimited. The default is [`Framing::Lines`].
    ///
    /// ```
    /// use wireline::{Encoder, Framing, Rules};
    ///
    /// let mut encoder = Encoder::new(Rules::json_rpc()).framing(Framing::ContentLength);
    /// encoder.notification("exit", &())?;
    /// assert_eq!(encoder.take(), "Content-Length: 33\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}");
    ///
    /// let mut encoder = Encoder::new(Rules::mcp()).framing(Framing::EventStream);
    /// encoder.notification("exit", &())?;
    /// assert_eq!(encoder.take(), "data: {\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n\n");
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    #[must_use]
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Appends an event with an id and a name, for [`Framing::EventStream`]; `write` appends its message.
    ///
    /// ```
    /// use wireline::{Encoder, Framing, Id, Rules};
    ///
    /// let mut encoder = Encoder::new(Rules::mcp()).framing(Framing::EventStream);
    /// encoder.event(Some("7"), Some("message"), |encoder| encoder.response(&Id::from(1), &serde_json::json!({})))?;
    /// assert_eq!(
    ///     encoder.take(),
    ///     "id: 7\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"
    /// );
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `write` returned an error, or appended nothing or more than one message; or the framing is another one; or the id
    /// or the name contains a line break or a null character. Nothing has been appended.
    pub fn event(
        &mut self,
        id: Option<&str>,
        name: Option<&str>,
        write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let is_plain = |field: &str| !field.contains(['\n', '\r', '\0']);
        if self.framing != Framing::EventStream || ![id, name].into_iter().flatten().all(is_plain) {
            return Err(EncodeError::event());
        }
        let line = to_line(&self.rules, write)?;
        let out = self.out.buffer();
        for (field, value) in [("id: ", id), ("event: ", name)] {
            for part in value.iter().flat_map(|value| [field, value, "\n"]) {
                out.extend_from_slice(part.as_bytes());
            }
        }
        framed::append(out, line.as_bytes(), Framing::EventStream);
        Ok(())
    }

    /// The contents of the buffer. While a batch is being filled, they end with an unfinished line.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.out {
            Out::Own(buffer) => buffer,
            Out::Borrowed(buffer) => buffer,
        }
    }

    /// Takes everything out of the buffer, including what yours contained before. While a batch is being filled, this
    /// returns nothing.
    pub fn take(&mut self) -> Bytes {
        match self.batch {
            None => self.out.buffer().split().freeze(),
            Some(_) => Bytes::new(),
        }
    }

    /// Empties the buffer but keeps its capacity. While a batch is being filled, this does nothing.
    pub fn clear(&mut self) {
        if self.batch.is_none() {
            self.out.buffer().clear();
        }
    }

    /// Appends a batch as one line; `fill` adds its entries.
    ///
    /// A refused entry leaves no trace, and `fill` can continue without it. If `fill` returns an error, the whole batch
    /// is removed.
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
    /// `fill` returned an error, or the batch is empty, too long, not permitted, or inside another batch.
    pub fn batch(&mut self, fill: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Result<(), EncodeError> {
        let rules = self.rules;
        let is_entry = self.batch.is_some();
        self.append(|draft| {
            if is_entry {
                return Err(EncodeError::rule(FaultKind::NotAnObject, None));
            }
            if !rules.batches {
                return Err(EncodeError::rule(FaultKind::BatchNotAllowed, None));
            }
            draft.text(b"[")?;
            let batch = Some(OpenBatch { line: draft.line, len: 0 });
            let mut entries = Encoder { rules, framing: Framing::Lines, out: Out::Borrowed(draft.out), batch };
            fill(&mut entries)?;
            if entries.batch.is_none_or(|batch| batch.len == 0) {
                return Err(EncodeError::rule(FaultKind::EmptyBatch, None));
            }
            draft.text(b"]")
        })
    }

    /// Appends a request. Params that serialize as `null`, such as `&()`, are left out.
    ///
    /// # Errors
    ///
    /// See [`EncodeError`]. On an error, this and all methods below leave the buffer as it was.
    pub fn request(
        &mut self,
        id: &Id<'_>,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<(), EncodeError> {
        self.append(|draft| draft.request(id, method, params))
    }

    /// Appends a notification. Params that serialize as `null`, such as `&()`, are left out.
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn notification(&mut self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), EncodeError> {
        self.append(|draft| draft.notification(method, params))
    }

    /// Appends a response with a result.
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn response(&mut self, id: &Id<'_>, result: &(impl Serialize + ?Sized)) -> Result<(), EncodeError> {
        self.append(|draft| draft.response(id, result))
    }

    /// Appends a response with an error. `None` leaves out the id, which MCP permits; [`Id::NULL`] writes null.
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
        self.append(|draft| draft.error(id.into(), error))
    }

    /// Appends the reply to a [`Fault`](crate::Fault); see [`Fault::reply`](crate::Fault::reply).
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn error_reply(&mut self, reply: &ErrorReply<'_>) -> Result<(), EncodeError> {
        self.error(reply.id().as_ref(), &reply.error())
    }

    /// Appends a value that serializes as a whole message, envelope included, if it passes the rules.
    ///
    /// This is for SDKs with their own message types.
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
    pub fn message(&mut self, message: &(impl Serialize + ?Sized)) -> Result<(), EncodeError> {
        self.append(|draft| draft.message(message))
    }

    /// Appends an existing line, passed without its line ending, if it passes the rules.
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
    /// The line breaks a rule or contains a line break. For texts with line breaks, see [`flatten`](Self::flatten) and
    /// [`normalize`](Self::normalize).
    pub fn raw(&mut self, line: &[u8]) -> Result<(), EncodeError> {
        self.append(|draft| draft.raw(line))
    }

    /// Appends an existing text as one line, if it passes the rules.
    ///
    /// Line breaks between its tokens become spaces, which doesn't change any value. White space around it is dropped.
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
    /// The text breaks a rule.
    pub fn flatten(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        self.append(|draft| draft.flatten(text))
    }

    /// Appends an existing text, without its line breaks and null params.
    ///
    /// [Flattens](Self::flatten) the text and leaves out null params, which some libraries write although JSON-RPC 2.0
    /// doesn't permit them. Everything else stays unchanged, byte for byte.
    ///
    /// ```
    /// use wireline::{Encoder, Rules};
    ///
    /// let mut encoder = Encoder::new(Rules::json_rpc());
    /// encoder.normalize(br#"{"jsonrpc":"2.0","method":"ready","params":null}"#)?;
    /// encoder.normalize(b"[{\"params\": null,\n \"method\": \"m\", \"id\": 1.0, \"jsonrpc\": \"2.0\"}]")?;
    /// assert_eq!(
    ///     encoder.take(),
    ///     concat!(
    ///         r#"{"jsonrpc":"2.0","method":"ready"}"#, "\n",
    ///         r#"[{"method": "m", "id": 1.0, "jsonrpc": "2.0"}]"#, "\n",
    ///     ),
    /// );
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text breaks another rule, or exceeds the line limit before anything is removed.
    pub fn normalize(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        self.append(|draft| draft.normalize(text))
    }

    /// Appends a message with its id replaced and everything else unchanged, as a proxy does.
    ///
    /// ```
    /// use wireline::{Encoder, Frame, Id, Message, Rules};
    ///
    /// let line = br#"{"method":"sum", "params":[1.10, 2e0], "id": "a", "jsonrpc":"2.0"}"#;
    /// let Frame::Message(Message::Request(request)) = Frame::parse(line, &Rules::json_rpc())? else { panic!() };
    /// let mut encoder = Encoder::new(Rules::json_rpc());
    /// encoder.forward_with_id(&request, &Id::from(7))?;
    /// assert_eq!(
    ///     encoder.take(),
    ///     "{\"method\":\"sum\", \"params\":[1.10, 2e0], \"id\": 7, \"jsonrpc\":\"2.0\"}\n"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Line breaks between its tokens become spaces, as for [`forward`](Self::forward).
    ///
    /// # Errors
    ///
    /// The message has no id, or these rules don't permit it.
    pub fn forward_with_id(&mut self, message: &impl AnyMessage, id: &Id<'_>) -> Result<(), EncodeError> {
        self.append(|draft| draft.forward_with_id(message, id))
    }

    /// Appends a message as it was received.
    ///
    /// A message that has passed the same rules isn't checked again, and is always accepted. Line breaks between its
    /// tokens, as an HTTP body may have, become spaces.
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
    /// These rules don't permit the message.
    pub fn forward(&mut self, message: &impl AnyMessage) -> Result<(), EncodeError> {
        self.append(|draft| draft.forward(message))
    }

    /// Appends a message with the value at a JSON pointer replaced, and also its id unless `id` is `None`, as a gateway
    /// does.
    ///
    /// Everything else stays unchanged, byte for byte, and isn't decoded.
    ///
    /// ```
    /// use wireline::{Encoder, Frame, Id, Message, Rules};
    ///
    /// let line = br#"{"id":1,"method":"tools/call","params":{"name":"files/read", "arguments":{"n":1.10}},"jsonrpc":"2.0"}"#;
    /// let Frame::Message(Message::Request(request)) = Frame::parse(line, &Rules::mcp())? else { panic!() };
    /// let mut encoder = Encoder::new(Rules::mcp());
    /// encoder.forward_with(&request, &Id::from(7), "/params/name", "read")?;
    /// assert_eq!(
    ///     encoder.take(),
    ///     concat!(
    ///         r#"{"id":7,"method":"tools/call","params":{"name":"read", "arguments":{"n":1.10}},"jsonrpc":"2.0"}"#, "\n",
    ///     ),
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Pointer`](crate::EncodeErrorKind::Pointer) if there is no such value, if a member on the path to it occurs
    /// twice, or if the pointer leads to the id or to the whole message. Otherwise, the value can't be encoded, the
    /// message has no id to replace, or the rules don't permit the result.
    pub fn forward_with<'i>(
        &mut self,
        message: &impl AnyMessage,
        id: impl Into<Option<&'i Id<'i>>>,
        pointer: &str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), EncodeError> {
        self.append(|draft| draft.forward_with(message, id.into(), pointer, value))
    }

    /// Appends the message that `write` writes, as a line or as an entry of the batch, or nothing if that fails.
    #[inline]
    fn append(&mut self, write: impl FnOnce(&mut Draft<'_>) -> Result<(), EncodeError>) -> Result<(), EncodeError> {
        if self.framing != Framing::Lines && self.batch.is_none() {
            return self.append_framed(write);
        }
        let mut draft = match &self.batch {
            None => Draft::line(self.out.buffer(), &self.rules),
            Some(batch) => Draft::entry(self.out.buffer(), &self.rules, batch.line, batch.len)?,
        };
        let appended = write(&mut draft).and_then(|()| draft.complete()).map_err(|error| error.under(&self.rules));
        match (&mut self.batch, &appended) {
            (Some(batch), Ok(())) => batch.len += 1,
            // The closure that fills the batch decides whether to continue without this entry.
            (Some(_), Err(_)) | (None, Ok(())) => {}
            (None, Err(error)) => error.log(),
        }
        appended
    }

    /// Appends a line, and then puts it into its frame.
    fn append_framed(
        &mut self,
        write: impl FnOnce(&mut Draft<'_>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let out = self.out.buffer();
        let start = out.len();
        let mut draft = Draft::line(out, &self.rules);
        let appended = write(&mut draft).and_then(|()| draft.complete()).map_err(|error| error.under(&self.rules));
        drop(draft);
        match &appended {
            Ok(()) => framed::wrap(out, start, self.framing),
            Err(error) => error.log(),
        }
        appended
    }
}

impl Out<'_> {
    #[inline]
    fn buffer(&mut self) -> &mut BytesMut {
        match self {
            Self::Own(buffer) => buffer,
            Self::Borrowed(buffer) => buffer,
        }
    }
}

impl fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").field("rules", &self.rules).finish_non_exhaustive()
    }
}

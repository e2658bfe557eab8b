//! A blocking server.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::{Bytes, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::decode::Fault;
use crate::encode::{EncodeError, Encoder, RpcError};
use crate::json::Text;
use crate::ledger;
use crate::message::{Batch, Frame, Id, Message, RawJson, Rules};

use super::reader::FrameReader;

/// Answers are written when this many bytes have accumulated, or when the next read may block.
const WRITE: usize = 64 << 10;

/// Serves requests until the stream ends.
///
/// `handler` is called for each request and notification, one after the other. Its return value answers a request, and
/// is dropped for a notification. Every request is answered exactly once, with an internal error if the handler panics
/// or its result can't be encoded. Faulty lines are answered according to [`Fault::reply`], batches with one array, and
/// responses are ignored. The writer is flushed before each read that may block.
///
/// Faults, panics and results that can't be encoded are reported on stderr, or as events if the feature `tracing` is
/// on; see [`Incident::log`]. To report them in another way, or not at all, use [`serve_with`].
///
/// ```
/// use wireline::{RpcError, Rules, io};
///
/// let requests = &br#"
/// {"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}
/// {"jsonrpc":"2.0","id":2,"method":"subtract","params":[1,2]}
/// {"jsonrpc":"2.0","id":3,"method":"add","params":["one"]}
/// "#[..];
/// let mut answers = Vec::new();
/// io::serve(requests, &mut answers, Rules::json_rpc(), |call| match call.method() {
///     "add" => {
///         let (a, b): (i64, i64) = call.params()?;
///         Ok(a + b)
///     }
///     _ => Err(RpcError::method_not_found()),
/// })?;
/// assert_eq!(
///     String::from_utf8(answers).unwrap(),
///     r#"{"jsonrpc":"2.0","id":1,"result":3}
/// {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}
/// {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Invalid params"}}
/// "#
/// );
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// The reader or the writer failed. Everything read before that was answered, as far as the answers could be written.
pub fn serve<T: Serialize>(
    reader: impl Read,
    writer: impl Write,
    rules: Rules,
    handler: impl FnMut(Call<'_>) -> Result<T, RpcError>,
) -> io::Result<()> {
    serve_with(reader, writer, rules, handler, |incident| incident.log())
}

/// Serves requests as [`serve`] does, and calls `report` for each [`Incident`] instead of logging it.
///
/// ```
/// use wireline::{RpcError, Rules, io};
///
/// let mut incidents = Vec::new();
/// io::serve_with(
///     &b"Listening...\n"[..],
///     &mut Vec::new(),
///     Rules::mcp(),
///     |_| Err::<(), _>(RpcError::method_not_found()),
///     |incident| incidents.push(incident.to_string()), // or `|_| {}` to be silent
/// )?;
/// assert_eq!(incidents, ["line 1, column 1: not JSON: expected an object"]);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// As for [`serve`].
pub fn serve_with<T: Serialize>(
    reader: impl Read,
    mut writer: impl Write,
    rules: Rules,
    handler: impl FnMut(Call<'_>) -> Result<T, RpcError>,
    report: impl FnMut(Incident<'_>),
) -> io::Result<()> {
    let mut reader = FrameReader::new(reader, rules);
    let mut server = Server { rules: rules.for_answers(), out: BytesMut::new(), handler, report };
    loop {
        while let Some(frame) = reader.next_buffered() {
            server.answer_frame(frame);
            if server.out.len() >= WRITE {
                server.write_out(&mut writer)?;
            }
        }
        server.write_out(&mut writer)?;
        flush(&mut writer)?;
        if !reader.fill()? {
            return Ok(());
        }
    }
}

/// Answers one message or batch whose boundaries are known, such as an HTTP body or a WebSocket message.
///
/// Everything is answered and reported as by [`serve`]. The answer is one text without a line ending. It is `None` if
/// nothing needs an answer: notifications, responses, and faults that aren't answered.
///
/// ```
/// use wireline::{RpcError, Rules, io};
///
/// let body = br#"[
///     {"jsonrpc": "2.0", "id": 1, "method": "double", "params": [2]},
///     {"jsonrpc": "2.0", "method": "double", "params": [3]},
///     {"jsonrpc": "2.0", "id": 2, "method": "halve", "params": [4]}
/// ]"#;
/// let answer = io::answer(body, &Rules::json_rpc(), |call| match call.method() {
///     "double" => call.params::<[i64; 1]>().map(|[n]| 2 * n),
///     _ => Err(RpcError::method_not_found()),
/// });
/// assert_eq!(
///     answer.unwrap(),
///     concat!(
///         r#"[{"jsonrpc":"2.0","id":1,"result":4},"#,
///         r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}]"#,
///     ),
/// );
/// ```
///
/// Each response respects the limits of `rules`. The array that answers a batch may exceed the line limit, and be one
/// level deeper than a message.
pub fn answer<T: Serialize>(
    text: &[u8],
    rules: &Rules,
    handler: impl FnMut(Call<'_>) -> Result<T, RpcError>,
) -> Option<Bytes> {
    answer_with(text, rules, handler, |incident| incident.log())
}

/// Answers one text as [`answer`] does, and calls `report` for each [`Incident`] instead of logging it.
pub fn answer_with<T: Serialize>(
    text: &[u8],
    rules: &Rules,
    handler: impl FnMut(Call<'_>) -> Result<T, RpcError>,
    report: impl FnMut(Incident<'_>),
) -> Option<Bytes> {
    let mut server = Server { rules: rules.for_answers(), out: BytesMut::new(), handler, report };
    match Frame::parse(text, rules) {
        Ok(Frame::Batch(batch)) => {
            server.answer_entries(&batch);
            into_array(&server.out)
        }
        frame => {
            server.answer_frame(frame);
            // Without its line feed.
            let len = server.out.len().checked_sub(1)?;
            Some(server.out.split_to(len).freeze())
        }
    }
}

/// The lines as entries of one array, if there are any.
fn into_array(lines: &[u8]) -> Option<Bytes> {
    let mut array = BytesMut::with_capacity(lines.len() + 1);
    for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        array.extend_from_slice(if array.is_empty() { b"[" } else { b"," });
        array.extend_from_slice(line);
    }
    if array.is_empty() {
        return None;
    }
    array.extend_from_slice(b"]");
    Some(array.freeze())
}

/// A request or a notification, for a handler.
pub struct Call<'a> {
    method: Cow<'a, str>,
    params: Option<RawJson<'a>>,
    id: Option<&'a Id<'a>>,
}

impl<'a> Call<'a> {
    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Decodes the params. If there are none, `T` is decoded from `null`, so that an `Option` is `None`.
    ///
    /// # Errors
    ///
    /// The params don't fit `T`. The error says "Invalid params", and the handler can return it with `?`. It leaves out
    /// serde's reason, which may quote the peer's text. To tell callers more, decode [`raw_params`](Self::raw_params).
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        let null = RawJson::of_json(Text::borrowed("null", None));
        self.params.as_ref().unwrap_or(&null).deserialize().map_err(|_| RpcError::invalid_params("Invalid params"))
    }

    /// The params as they were sent, if there are any.
    #[must_use]
    pub fn raw_params(&self) -> Option<&RawJson<'a>> {
        self.params.as_ref()
    }

    /// The request's id, or `None` for a notification.
    #[must_use]
    pub fn id(&self) -> Option<&Id<'a>> {
        self.id
    }
}

/// Shows only types and lengths. The contents are the peer's.
impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("params", &self.params).field("id", &self.id).finish_non_exhaustive()
    }
}

/// A problem that [`serve`] or [`answer`] has handled and reports.
///
/// Its text contains none of the peer's bytes, unless a handler's panic message does. Incidents may be added, so a
/// `match` needs a wildcard arm.
#[derive(Debug)]
#[non_exhaustive]
pub enum Incident<'a> {
    /// A line, or an entry of a batch, that isn't a valid message. It was answered if it has a [`reply`](Fault::reply).
    Fault(&'a Fault),
    /// The handler panicked, or its result panicked while it was encoded or dropped. A request was answered with an
    /// internal error, unless its result had already been encoded.
    Panic {
        /// The request's id, or `None` for a notification.
        id: Option<&'a Id<'a>>,
        /// The panic message, if there is one.
        message: Option<&'a str>,
    },
    /// The handler's result, or its error, couldn't be sent. The request was answered with an internal error.
    Replaced {
        /// The request's id.
        id: &'a Id<'a>,
        /// Why it couldn't be encoded.
        error: &'a EncodeError,
    },
}

impl Incident<'_> {
    /// Writes a line to stderr, or emits an event if the feature `tracing` is on, as [`serve`] and [`answer`] do.
    pub fn log(&self) {
        #[cfg(feature = "tracing")]
        match self {
            // These were reported where they were found.
            Self::Fault(_) | Self::Replaced { .. } => {}
            Self::Panic { id, message } => tracing::error!(has_id = id.is_some(), message, "handler panicked"),
        }
        // If stderr is gone, there is nobody to tell.
        #[cfg(not(feature = "tracing"))]
        let _ = writeln!(io::stderr().lock(), "wireline: {self}");
    }
}

impl fmt::Display for Incident<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fmt::Display::fmt(fault, f),
            Self::Panic { message: Some(message), .. } => write!(f, "handler panicked: {message}"),
            Self::Panic { message: None, .. } => f.write_str("handler panicked"),
            Self::Replaced { error, .. } => write!(f, "answered with an internal error: {error}"),
        }
    }
}

struct Server<H, R> {
    /// Limits that leave room for an answer.
    rules: Rules,
    /// Whole lines.
    out: BytesMut,
    handler: H,
    report: R,
}

impl<T, H, R> Server<H, R>
where
    T: Serialize,
    H: FnMut(Call<'_>) -> Result<T, RpcError>,
    R: FnMut(Incident<'_>),
{
    fn answer_frame(&mut self, frame: Result<Frame<'_>, Fault>) {
        match frame {
            Ok(Frame::Message(message)) => self.answer_message(&message),
            Ok(Frame::Batch(batch)) => {
                let before = mem::take(&mut self.out);
                self.answer_entries(&batch);
                let answers = mem::replace(&mut self.out, before);
                let entries = answers[..].split(|&byte| byte == b'\n').filter(|entry| !entry.is_empty());
                ledger::append_array(&mut self.out, self.rules, entries);
            }
            Err(fault) => self.answer_fault(&fault),
        }
    }

    /// Appends the answers to a batch, each as a line.
    fn answer_entries(&mut self, batch: &Batch<'_>) {
        for entry in batch {
            match entry {
                Ok(message) => self.answer_message(&message),
                Err(fault) => {
                    fault.log();
                    self.answer_fault(&fault);
                }
            }
        }
    }

    fn answer_fault(&mut self, fault: &Fault) {
        if let Some(reply) = fault.reply() {
            ledger::append_reply(&mut self.out, &reply);
        }
        (self.report)(Incident::Fault(fault));
    }

    fn answer_message(&mut self, message: &Message<'_>) {
        let (id, call) = match message {
            Message::Request(request) => {
                let call = Call { method: request.method(), params: request.params(), id: Some(request.id()) };
                (Some(request.id()), call)
            }
            Message::Notification(notification) => {
                (None, Call { method: notification.method(), params: notification.params(), id: None })
            }
            Message::Response(_) => return,
        };
        let before = self.out.len();
        let Self { rules, out, handler, .. } = self;
        let mut replaced = None;
        let called = catch_unwind(AssertUnwindSafe(|| {
            let outcome = handler(call);
            if let Some(id) = id {
                let mut encoder = Encoder::append_to(out, *rules);
                replaced = match &outcome {
                    Ok(result) => encoder.response(id, result),
                    Err(error) => encoder.error(id, error),
                }
                .err();
            }
        }));
        if let Some(id) = id
            && self.out.len() == before
        {
            // The handler or its result panicked, or the result can't be encoded. (If the result panicked only when it
            // was dropped, it has been encoded.)
            let encoded = Encoder::append_to(&mut self.out, self.rules).error(id, &RpcError::internal());
            debug_assert!(encoded.is_ok(), "no room for an answer: {encoded:?}");
        }
        if let (Some(id), Some(error)) = (id, &replaced) {
            (self.report)(Incident::Replaced { id, error });
        }
        if let Err(carried) = called {
            let text = carried.downcast_ref::<String>().map(String::as_str);
            let message = text.or_else(|| carried.downcast_ref::<&str>().copied());
            (self.report)(Incident::Panic { id, message });
            let_go(carried);
        }
    }

    fn write_out(&mut self, writer: &mut impl Write) -> io::Result<()> {
        writer.write_all(&self.out)?;
        self.out.clear();
        if self.out.capacity() > 2 * WRITE {
            self.out = BytesMut::new();
        }
        Ok(())
    }
}

fn flush(writer: &mut impl Write) -> io::Result<()> {
    loop {
        match writer.flush() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            flushed => return flushed,
        }
    }
}

/// Drops a panic's payload. If that panics in turn, the second payload is leaked.
fn let_go(carried: Box<dyn Any + Send>) {
    if let Err(carried) = catch_unwind(AssertUnwindSafe(|| drop(carried))) {
        mem::forget(carried);
    }
}

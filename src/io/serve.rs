//! A blocking server.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read, Write};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::decode::Fault;
use crate::encode::{EncodeError, Encoder, RpcError};
use crate::json::Text;
use crate::ledger;
use crate::message::{Batch, Frame, Id, Message, RawJson, Rules};

use super::reader::FrameReader;

/// Answers are written out when there are so many bytes of them, or none can be added without another read.
const WRITE: usize = 64 << 10;

/// Serves requests until the stream ends.
///
/// `handler` is called for each request and notification, one after the other. What it returns for a request is its
/// answer; if it panics, the answer is an internal error. What it returns for a notification is dropped. Lines that are
/// wrong are answered as [`Fault::reply`] advises, batches by one array, responses are passed over. The writer is flushed
/// whenever the next read may have to wait.
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
/// The reader or the writer failed. What was read before has been answered, and the answers written as far as possible.
pub fn serve<T: Serialize>(
    reader: impl Read,
    mut writer: impl Write,
    rules: Rules,
    mut handler: impl FnMut(Call<'_>) -> Result<T, RpcError>,
) -> io::Result<()> {
    let mut reader = FrameReader::new(reader, rules);
    let mut encoder = Encoder::new(rules);
    loop {
        while let Some(frame) = reader.next_buffered() {
            answer_frame(frame, &mut encoder, &rules, &mut handler);
            if encoder.as_bytes().len() >= WRITE {
                write_out(&mut encoder, &mut writer)?;
            }
        }
        write_out(&mut encoder, &mut writer)?;
        writer.flush()?;
        if !reader.fill()? {
            return Ok(());
        }
    }
}

/// A request or a notification, for a handler.
pub struct Call<'a> {
    method: Cow<'a, str>,
    params: Option<RawJson<'a>>,
    id: Option<&'a Id<'a>>,
}

impl<'a> Call<'a> {
    /// The method's name.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The params, decoded. Where there are none, `T` is decoded from `null`, so that an `Option` is `None`.
    ///
    /// # Errors
    ///
    /// They do not fit `T`: "Invalid params", for the handler to pass on by `?`. What serde says about it may quote the
    /// peer's words, and is not in it; where callers should be told more, use [`raw_params`](Self::raw_params).
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        let null = RawJson::of_json(Text::borrowed("null", None));
        self.params.as_ref().unwrap_or(&null).deserialize().map_err(|_| RpcError::invalid_params("Invalid params"))
    }

    /// The params as they were sent, if there are any.
    pub fn raw_params(&self) -> Option<&RawJson<'a>> {
        self.params.as_ref()
    }

    /// The request's id, or `None` for a notification.
    pub fn id(&self) -> Option<&Id<'a>> {
        self.id
    }
}

/// Says what it is, not what it reads.
impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("params", &self.params).field("id", &self.id).finish_non_exhaustive()
    }
}

fn answer_frame<T: Serialize>(
    frame: Result<Frame<'_>, Fault>,
    encoder: &mut Encoder,
    rules: &Rules,
    handler: &mut impl FnMut(Call<'_>) -> Result<T, RpcError>,
) {
    match frame {
        Ok(Frame::Message(message)) => answer_message(&message, encoder, handler),
        Ok(Frame::Batch(batch)) => answer_batch(&batch, encoder, rules, handler),
        Err(fault) => answer_fault(&fault, encoder),
    }
}

fn answer_message<T: Serialize>(
    message: &Message<'_>,
    encoder: &mut Encoder,
    handler: &mut impl FnMut(Call<'_>) -> Result<T, RpcError>,
) {
    match message {
        Message::Request(request) => {
            let call = Call { method: request.method(), params: request.params(), id: Some(request.id()) };
            let before = encoder.as_bytes().len();
            caught(|| {
                let outcome = caught(|| handler(call)).unwrap_or_else(|| Err(RpcError::internal()));
                // What cannot be encoded is replaced by an internal error.
                drop(ledger::answer(encoder, request.id(), outcome.as_ref()));
            });
            if encoder.as_bytes().len() == before {
                // The outcome panicked while it was encoded. (If it did while it was dropped, it has been.)
                not_even_an_error(encoder.error(request.id(), &RpcError::internal()));
            }
        }
        Message::Notification(notification) => {
            let call = Call { method: notification.method(), params: notification.params(), id: None };
            caught(|| drop(handler(call)));
        }
        Message::Response(_) => {}
    }
}

/// What `run` returns, or `None` if it panics.
fn caught<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(let_go).ok()
}

/// Drops what a panic carries. If that panics in turn, what that one carries is not touched any more.
fn let_go(carried: Box<dyn Any + Send>) {
    if let Err(carried) = catch_unwind(AssertUnwindSafe(|| drop(carried))) {
        mem::forget(carried);
    }
}

fn answer_fault(fault: &Fault, encoder: &mut Encoder) {
    if let Some(reply) = fault.reply() {
        not_even_an_error(encoder.error_reply(&reply));
    }
}

/// The answers to a batch as one array; or as few as the line limit permits.
fn answer_batch<T: Serialize>(
    batch: &Batch<'_>,
    encoder: &mut Encoder,
    rules: &Rules,
    handler: &mut impl FnMut(Call<'_>) -> Result<T, RpcError>,
) {
    let mut answers = Encoder::new(*rules);
    for entry in batch {
        match entry {
            Ok(message) => answer_message(&message, &mut answers, handler),
            Err(fault) => {
                fault.log();
                answer_fault(&fault, &mut answers);
            }
        }
    }
    let answers = answers.take();
    let mut lines = answers.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).peekable();
    while let Some(&first) = lines.peek() {
        let array = encoder.batch(|array| {
            while let Some(line) = lines.peek() {
                match array.raw(line) {
                    Ok(()) => drop(lines.next()),
                    Err(error) if array.is_empty() => return Err(error),
                    Err(_) => break,
                }
            }
            Ok(())
        });
        if array.is_err() {
            // It does not fit between two brackets.
            not_even_an_error(encoder.raw(first));
            lines.next();
        }
    }
}

/// The line limit is so small that an error with the request's own id is too long: there is no way to answer.
fn not_even_an_error(_: Result<(), EncodeError>) {}

fn write_out(encoder: &mut Encoder, writer: &mut impl Write) -> io::Result<()> {
    writer.write_all(encoder.as_bytes())?;
    encoder.clear();
    if encoder.capacity() > 2 * WRITE {
        drop(encoder.take());
    }
    Ok(())
}

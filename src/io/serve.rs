//! Serves requests one after the other, from a stream or a single text.

use std::io::{self, ErrorKind, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use bytes::Bytes;
use serde::Serialize;

use crate::connection::{Call, Caller, Config, Connection, Event, Incident, Peer, Ticket, handler};
use crate::encode::{Array, RpcError};
use crate::message::{Frame, Message, Rules};

/// Answers are written when this many bytes have accumulated, or when the next read may block.
const WRITE_THRESHOLD: usize = 64 << 10;

/// Serves requests until the stream ends.
///
/// `handler` is called for each request and notification, one after the other. Its return value answers a request, and
/// is dropped for a notification. Every request is answered exactly once, with an internal error if the handler panics
/// or its result can't be encoded. Faulty lines are answered according to [`Fault::reply`](crate::Fault::reply), and
/// batches with an array, or several if one would exceed the limits. Responses are ignored: a handler can notify the
/// peer, but not [call](crate::connection::Peer::call) it. The writer is flushed before each read that may block.
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
    config: impl Into<Config>,
    handler: impl FnMut(Call<'_>) -> Result<T, RpcError>,
) -> io::Result<()> {
    serve_with(reader, writer, config, handler, |incident| incident.log())
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
    mut reader: impl Read,
    mut writer: impl Write,
    config: impl Into<Config>,
    handler: impl FnMut(Call<'_>) -> Result<T, RpcError>,
    report: impl FnMut(Incident<'_>),
) -> io::Result<()> {
    // The only thread can't wait for a response, so no calls are allowed.
    let mut connection = Connection::new(config.into().calls(0));
    let mut server = Server { peer: connection.peer(), handler, report };
    loop {
        // If `report` panics, the answers to earlier requests are still written.
        let served = catch_unwind(AssertUnwindSafe(|| server.serve_ready(&mut connection)));
        write_out(&mut connection, &mut writer)?;
        match served {
            Err(payload) => {
                flush(&mut writer)?;
                resume_unwind(payload);
            }
            Ok(true) => continue,
            Ok(false) => flush(&mut writer)?,
        }
        if !read(&mut connection, &mut reader)? {
            return Ok(());
        }
    }
}

/// Answers one message or batch whose boundaries are known, such as an HTTP body or a WebSocket message.
///
/// Answers and reports the way [`serve`] does. The answer is one text without a line ending. It is `None` if nothing
/// needs an answer: notifications, responses, and faults that aren't answered.
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
/// Each response respects the limits of `rules`. The array that answers a batch may exceed the line limit, and may be
/// nested one level deeper than a message.
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
    let mut connection = Connection::new(Config::new(*rules).calls(0).backlog(usize::MAX));
    let mut server = Server { peer: connection.peer(), handler, report };
    match Frame::parse(text, rules) {
        Ok(Frame::Batch(batch)) => {
            batch.into_iter().for_each(|entry| server.serve_event(connection.event_of(entry)));
            into_array(connection.pending())
        }
        Ok(Frame::Message(message)) => {
            server.serve_event(connection.event_of(Ok(message)));
            into_text(connection.pending())
        }
        Err(fault) => {
            server.serve_event(connection.event_of(Err(fault)));
            into_text(connection.pending())
        }
    }
}

/// The line without its line feed, if there is one.
fn into_text(lines: &[u8]) -> Option<Bytes> {
    lines.strip_suffix(b"\n").map(Bytes::copy_from_slice)
}

/// The lines as entries of one array, if there are any.
fn into_array(lines: &[u8]) -> Option<Bytes> {
    let mut array = Array::default();
    lines.split_inclusive(|&byte| byte == b'\n').for_each(|line| array.push(line));
    let mut line = array.into_line()?;
    line.truncate(line.len() - 1);
    Some(line.freeze())
}

struct Server<H, R> {
    peer: Peer<Caller>,
    handler: H,
    report: R,
}

impl<T, H, R> Server<H, R>
where
    T: Serialize,
    H: FnMut(Call<'_>) -> Result<T, RpcError>,
    R: FnMut(Incident<'_>),
{
    /// Serves the buffered events. Returns whether there may be more before the next read.
    fn serve_ready(&mut self, connection: &mut Connection<Caller>) -> bool {
        while connection.is_ready() {
            if let Some(event) = connection.next_event() {
                self.serve_event(event);
            }
            if connection.link().level() >= WRITE_THRESHOLD {
                return true;
            }
        }
        // With a small backlog, no event is ready until the queued answers are written.
        connection.link().is_full()
    }

    fn serve_event(&mut self, event: Event<'_, Caller>) {
        match event {
            Event::Request(request, ticket) => self.call(Message::Request(request), Some(ticket)),
            Event::Notification(notification) => self.call(Message::Notification(notification), None),
            Event::Fault(fault) => (self.report)(Incident::Fault(&fault)),
            _ => {}
        }
    }

    fn call(&mut self, message: Message<'_>, ticket: Option<Ticket>) {
        let Self { peer, handler, report } = self;
        let id = ticket.as_ref().map(Ticket::id);
        let call = Call::new(message, peer.clone());
        if let Some(outcome) = handler::catch(id, report, || handler(call)) {
            handler::settle(ticket, outcome, report);
        }
    }
}

/// Reads once. Returns false at the end of the stream.
fn read(connection: &mut Connection<Caller>, reader: &mut impl Read) -> io::Result<bool> {
    if connection.has_ended() {
        return Ok(false);
    }
    loop {
        match connection.read_with(|room| reader.read(room)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // At the end of the stream, there may be a last line.
            read => return read.map(|_| true),
        }
    }
}

fn write_out(connection: &mut Connection<Caller>, writer: &mut impl Write) -> io::Result<()> {
    while connection.wants_write() {
        let lines = connection.pending();
        writer.write_all(lines)?;
        let len = lines.len();
        connection.advance(len);
    }
    Ok(())
}

pub(super) fn flush(writer: &mut impl Write) -> io::Result<()> {
    loop {
        match writer.flush() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            flushed => return flushed,
        }
    }
}

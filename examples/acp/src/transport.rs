//! Connects the SDK to a pair of byte streams through wireline. Unlike the SDK's `ByteStreams`, it limits the length of
//! lines, and no call waits forever because of a bad line.

use std::future::{Future, pending};
use std::io;

use agent_client_protocol::{Channel, ConnectTo, ConnectionDriver, Error, Lines, Role};
use futures_util::{AsyncRead, AsyncWrite, AsyncWriteExt, Sink, Stream, StreamExt, sink, stream, try_join};
use smol::channel::{self, Receiver};
use smol::future::or;
use wireline::aio::{FrameReader, Futures, LineSender, LineWriter};
use wireline::io::SendError;
use wireline::{Fault, Frame, Id, Message, RpcError, Rules, to_line};

/// A peer at the other end of two byte streams, for clients and agents.
///
/// - A bad line is reported on stderr and the session continues, even if the line isn't UTF-8.
/// - A malformed request is answered with its id if that can be recovered.
/// - A malformed response fails the call it belongs to.
/// - A message that breaks the rules isn't sent: if it is a request, its call fails; if it is a response, an internal
///   error is sent in its place.
/// - The length of lines and the backlog of unwritten bytes are limited.
#[derive(Debug)]
pub struct Transport<R, W> {
    reader: R,
    writer: W,
    rules: Rules,
}

impl<R, W> Transport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Talks to the peer under `rules`. The SDK has no batches, so an array is always a fault.
    pub fn new(reader: R, writer: W, rules: Rules) -> Self {
        Self { reader, writer, rules: rules.batches(false) }
    }

    /// The SDK's end of the connection, and the task that writes to the peer.
    fn into_lines(
        self,
    ) -> (
        Lines<impl Sink<String, Error = io::Error> + Send, impl Stream<Item = io::Result<String>> + Send>,
        impl Future<Output = Result<(), Error>> + Send + 'static,
    ) {
        let Self { reader, writer, rules } = self;
        let frames = FrameReader::new(Futures(reader), rules);
        let writer = LineWriter::new(Futures(writer), rules);
        let (sender, (failed, failures)) = (writer.sender(), channel::unbounded());

        let incoming = Incoming { frames, failures, sender: sender.clone(), rules };
        let incoming = stream::unfold(incoming, async |mut incoming| {
            let line = incoming.next_line().await?;
            Some((line, incoming))
        });
        let outgoing = sink::unfold((sender, failed), move |(sender, failed), line: String| async move {
            match sender.send(|encoder| encoder.raw(line.as_bytes())).await {
                Err(SendError::Encode(error)) => {
                    eprintln!("not sent: {error}");
                    let fault = Frame::parse(line.as_bytes(), &rules).err();
                    match fault.as_ref().and_then(|fault| Some((fault.id()?, fault.is_response()))) {
                        Some((id, true)) => sender.send(|encoder| encoder.error(id, &RpcError::internal())).await?,
                        // If nobody is listening any more, nobody is waiting for an answer.
                        Some((id, false)) => drop(failed.try_send(failure(id, &error.to_string(), &rules))),
                        None => {}
                    }
                }
                sent => sent?,
            }
            Ok((sender, failed))
        });
        let writing = async {
            let Futures(mut writer) = writer.run().await?;
            writer.close().await
        };
        (Lines::new(outgoing, incoming.boxed()), async { writing.await.map_err(Error::into_internal_error) })
    }
}

struct Incoming<R> {
    frames: FrameReader<Futures<R>>,
    /// Responses to calls that couldn't be sent.
    failures: Receiver<String>,
    /// For answers to bad lines.
    sender: LineSender,
    rules: Rules,
}

impl<R: AsyncRead + Send + Unpin> Incoming<R> {
    /// The next message for the SDK, or `None` at the end of the stream.
    async fn next_line(&mut self) -> Option<io::Result<String>> {
        loop {
            let Self { frames, failures, sender, rules } = self;
            // Cancel-safe: a partly read line stays in the reader.
            let frame = or(async { Ok(frames.next().await) }, async {
                match failures.recv().await {
                    Ok(failure) => Err(failure),
                    Err(_) => pending().await,
                }
            });
            let answered = match frame.await {
                Err(failure) => return Some(Ok(failure)),
                Ok(None) => return None,
                Ok(Some(Err(error))) => return Some(Err(error)),
                Ok(Some(Ok(Ok(Frame::Message(Message::Request(request)))))) if !is_known(request.id()) => {
                    let error = RpcError::invalid_request("Invalid Request: `id` must be a string or a 64-bit integer");
                    sender.send(|encoder| encoder.error(request.id(), &error)).await
                }
                Ok(Some(Ok(Ok(frame)))) => return Some(Ok(String::from_utf8_lossy(frame.as_bytes()).into_owned())),
                Ok(Some(Ok(Err(fault)))) => {
                    eprintln!("bad line: {fault}");
                    match (fault.reply(), fault.id()) {
                        (Some(reply), _) => sender.send(|encoder| encoder.error_reply(&reply)).await,
                        // A line with an id that must not be answered is a response.
                        (None, Some(id)) => return Some(Ok(unusable(id, &fault, rules))),
                        (None, None) => Ok(()),
                    }
                }
            };
            if let Err(error) = answered {
                return Some(Err(error.into()));
            }
        }
    }
}

/// Whether the SDK can represent the id. It treats other numbers as no id at all, and would answer with a null id.
fn is_known(id: &Id<'_>) -> bool {
    !id.is_number() || id.as_json().parse::<i64>().is_ok()
}

fn unusable(id: &Id<'_>, fault: &Fault, rules: &Rules) -> String {
    failure(id, &format!("unusable response: {}", fault.reason()), rules)
}

/// A response that makes the SDK fail the call with this id.
fn failure(id: &Id<'_>, reason: &str, rules: &Rules) -> String {
    let error = RpcError::new(-32603, reason.to_owned());
    let line =
        to_line(rules, |encoder| encoder.error(id, &error).or_else(|_| encoder.error(id, &RpcError::internal())));
    line.map(|line| String::from_utf8_lossy(line.text()).into_owned()).unwrap_or_default()
}

/// Reads and writes until both are done: the SDK drops its senders when it has nothing more to send.
impl<R, W, Counterpart: Role> ConnectTo<Counterpart> for Transport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    async fn connect_to(self, client: impl ConnectTo<Counterpart::Counterpart>) -> Result<(), Error> {
        let (lines, writing) = self.into_lines();
        try_join!(ConnectTo::<Counterpart>::connect_to(lines, client), writing)?;
        Ok(())
    }

    fn into_channel_and_future(self) -> (Channel, Option<ConnectionDriver>) {
        let (lines, writing) = self.into_lines();
        let (channel, driver) = ConnectTo::<Counterpart>::into_channel_and_future(lines);
        let driver = driver.map(|driver| {
            driver.map_future(|reading| async {
                try_join!(reading, writing)?;
                Ok(())
            })
        });
        (channel, driver)
    }
}

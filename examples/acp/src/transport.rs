//! Connects the SDK to a pair of byte streams through wireline. Unlike the SDK's `ByteStreams`, it limits the length of
//! lines, and no call waits forever because of a bad line.

use std::collections::HashMap;
use std::future::{Future, pending, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use agent_client_protocol::{Channel, ConnectTo, ConnectionDriver, Error, Lines, Role};
use futures_util::{AsyncRead, AsyncWrite, Sink, Stream, StreamExt, sink, try_join};
use smol::channel::{self, Receiver, Sender};
use smol::future::or;
use wireline::aio::{Connection, Futures};
use wireline::connection::{Config, Event, Lost, Peer, Ticket};
use wireline::{Frame, Id, Message, RpcError, Rules, to_line};

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
    /// Talks to the peer under `rules`. The SDK has no batches, so an array is always a fault. It takes null params for
    /// none, and so does this.
    pub fn new(reader: R, writer: W, rules: Rules) -> Self {
        Self { reader, writer, rules: rules.batches(false).null_params(true) }
    }

    /// The SDK's end of the connection, and the task that reads and writes.
    fn into_lines(
        self,
    ) -> (
        Lines<impl Sink<String, Error = io::Error> + Send, impl Stream<Item = io::Result<String>> + Send>,
        impl Future<Output = Result<(), Error>> + Send + 'static,
    ) {
        let config = Config::new(self.rules).calls(usize::MAX);
        let (peer, connection) = Connection::keeping(Futures(self.reader), Futures(self.writer), config);
        let (received, incoming) = channel::bounded(1);
        let (gone, is_gone) = channel::bounded(1);
        let tickets = Tickets::default();
        let outgoing = Outgoing { peer, tickets: Arc::clone(&tickets), received: received.clone(), _gone: gone };
        let outgoing = sink::unfold(outgoing, |outgoing, text: String| async move {
            outgoing.send(&text).await?;
            Ok(outgoing)
        });
        let driving = drive(connection, tickets, received, is_gone);
        (Lines::new(outgoing, incoming.map(Ok).boxed()), async { driving.await.map_err(Error::into_internal_error) })
    }
}

/// The requests that the SDK works on.
type Tickets = Arc<Mutex<HashMap<Id<'static>, Ticket>>>;

/// Takes what the SDK sends. It is dropped when the SDK has nothing more to send.
struct Outgoing {
    peer: Peer<()>,
    tickets: Tickets,
    /// To the SDK.
    received: Sender<String>,
    /// Never used: dropping it ends the connection.
    _gone: Sender<()>,
}

impl Outgoing {
    async fn send(&self, text: &str) -> io::Result<()> {
        let sending = match Frame::parse(text.as_bytes(), self.peer.rules()) {
            Ok(Frame::Message(Message::Request(request))) => {
                self.peer.track(request.id(), ());
                self.peer.forward(&request)
            }
            Ok(Frame::Message(Message::Notification(notification))) => self.peer.forward(&notification),
            Ok(Frame::Message(Message::Response(response))) => {
                let ticket = response.id().and_then(|id| self.ticket(id));
                ticket.into_iter().for_each(|ticket| ticket.relay(&response));
                return Ok(());
            }
            Ok(Frame::Batch(_)) => return Ok(()), // unreachable: the rules allow no batches
            Err(fault) => {
                eprintln!("not sent: {fault}");
                let Some(id) = fault.id() else { return Ok(()) };
                if fault.is_response() {
                    let ticket = self.ticket(id);
                    ticket.into_iter().for_each(|ticket| ticket.fail(&RpcError::internal()));
                } else {
                    // If nobody is listening any more, nobody is waiting for an answer.
                    let _ = self.received.send(failure(id, &fault.to_string(), self.peer.rules())).await;
                }
                return Ok(());
            }
        };
        sending.await.map_err(|error| io::Error::new(io::ErrorKind::BrokenPipe, error))
    }

    fn ticket(&self, id: &Id<'_>) -> Option<Ticket> {
        let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.remove(&id.clone().into_owned())
    }
}

/// Reads and writes until the SDK has nothing more to send.
async fn drive<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    mut connection: Connection<Futures<R>, Futures<W>, ()>,
    tickets: Tickets,
    received: Sender<String>,
    is_gone: Receiver<()>,
) -> io::Result<()> {
    let rules = *connection.peer().rules();
    let read = async {
        let mut next = async || {
            poll_fn(|cx| {
                let next = pin!(connection.next_incoming()).poll(cx);
                match next.map_ok(|event| event.map(|event| accept(event, &tickets, &rules))) {
                    // The peer reads no more, so it won't answer either.
                    Poll::Pending if !connection.can_write() => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                    next => next,
                }
            })
            .await
        };
        while let Some(accepted) = next().await? {
            if let Some(text) = accepted {
                // Fails when the SDK listens no more, which it does while it has something to send.
                let _ = received.send(text).await;
            }
        }
        // The SDK sees the end. It may still answer.
        received.close();
        while connection.next_event().await?.is_some() {}
        pending::<io::Result<()>>().await
    };
    let gone = async {
        let _ = is_gone.recv().await;
        Ok(())
    };
    or(read, gone).await?;
    tickets.lock().unwrap_or_else(PoisonError::into_inner).clear();
    connection.finish().await
}

/// What the SDK gets for an event.
fn accept(event: Event<'_, ()>, tickets: &Tickets, rules: &Rules) -> Option<String> {
    match event {
        Event::Request(request, ticket) if is_known(request.id()) => {
            let mut tickets = tickets.lock().unwrap_or_else(PoisonError::into_inner);
            tickets.insert(request.id().clone().into_owned(), ticket);
            Some(request.raw().as_json().to_owned())
        }
        Event::Request(_, ticket) => {
            ticket.fail(&RpcError::invalid_request("Invalid Request: `id` must be a string or a 64-bit integer"));
            None
        }
        Event::Notification(notification) | Event::Cancelled(notification, ..) => {
            Some(notification.raw().as_json().to_owned())
        }
        Event::Response(response, ()) => Some(response.raw().as_json().to_owned()),
        Event::Lost(id, (), Lost::Faulty(fault)) => {
            eprintln!("bad line: {fault}");
            Some(failure(&id, &format!("unusable response: {}", fault.reason()), rules))
        }
        Event::Fault(fault) => {
            eprintln!("bad line: {fault}");
            None
        }
        // The SDK fails all calls in the end, and has no use for an answer to none.
        _ => None,
    }
}

/// Whether the SDK can represent the id. It treats other numbers as no id at all, and would answer with a null id.
fn is_known(id: &Id<'_>) -> bool {
    !id.is_number() || id.as_json().parse::<i64>().is_ok()
}

/// A response that makes the SDK fail the call with this id. It isn't sent, so the line limit doesn't apply.
fn failure(id: &Id<'_>, reason: &str, rules: &Rules) -> String {
    let error = RpcError::new(-32603, reason.to_owned());
    let line = to_line(&rules.max_line_len(usize::MAX), |encoder| encoder.error(id, &error));
    line.map(|line| line.text().to_owned()).unwrap_or_default()
}

/// Reads and writes until both are done: the SDK drops its senders when it has nothing more to send.
impl<R, W, Counterpart: Role> ConnectTo<Counterpart> for Transport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    async fn connect_to(self, client: impl ConnectTo<Counterpart::Counterpart>) -> Result<(), Error> {
        let (lines, driving) = self.into_lines();
        try_join!(ConnectTo::<Counterpart>::connect_to(lines, client), driving)?;
        Ok(())
    }

    fn into_channel_and_future(self) -> (Channel, Option<ConnectionDriver>) {
        let (lines, driving) = self.into_lines();
        let (channel, driver) = ConnectTo::<Counterpart>::into_channel_and_future(lines);
        let driver = driver.map(|driver| {
            driver.map_future(|exchange| async {
                try_join!(exchange, driving)?;
                Ok(())
            })
        });
        (channel, driver)
    }
}

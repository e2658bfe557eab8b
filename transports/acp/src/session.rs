//! Reads and writes until both sides have nothing more to say.

use std::fmt::Display;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use agent_client_protocol::{Error, RawJsonRpcId, TransportFrame};
use futures::channel::{mpsc, oneshot};
use futures::future::{Either, select};
use futures::{FutureExt, StreamExt};
use futures_timer::Delay;
use wireline::aio::{Connection, Source, Target};

use crate::child_process::Keeper;
use crate::inbox::Gate;
use crate::link::Link;

/// How long the SDK may take to end a session whose agent has exited.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long the SDK may still pass on calls to an agent that has exited, to be told so.
const LAST_CALLS: Duration = Duration::from_millis(100);

/// A connection, and the SDK's side of it.
pub(crate) struct Session<R, W> {
    pub(crate) connection: Connection<Gate<R>, W, RawJsonRpcId>,
    pub(crate) link: Link,
    pub(crate) outgoing: Outgoing,
    pub(crate) keeper: Option<Keeper>,
}

impl<R: Source, W: Target> Session<R, W> {
    pub(crate) async fn run(self) -> Result<(), Error> {
        let Self { mut connection, link, mut outgoing, mut keeper } = self;
        {
            // In this order: `send` looks whether `receive` has seen the end.
            let receive = pin!(receive(&mut connection, &link, keeper.as_mut()));
            let send = pin!(send(&mut outgoing, &link));
            if let Either::Left((result, _)) = select(receive, send).await {
                return result;
            }
        }
        link.end_incoming();
        match keeper {
            Some(keeper) => keeper.end(&mut connection, &link).await,
            None => connection.finish().await.map_err(internal)?,
        }
        Ok(())
    }
}

/// Receives until the stream ends, and keeps writing then. Ready if the connection fails, or when the agent has exited
/// and the SDK goes on.
async fn receive<R: Source, W: Target>(
    connection: &mut Connection<Gate<R>, W, RawJsonRpcId>,
    link: &Link,
    keeper: Option<&mut Keeper>,
) -> Result<(), Error> {
    let ended = loop {
        match connection.next_incoming().await {
            Ok(Some(event)) => link.accept(event),
            Ok(None) => break Ok(()),
            // A peer that has hung up reads no more either, so that writing fails says nothing new.
            Err(error) => match connection.next_incoming().now_or_never() {
                Some(Ok(None)) => break Ok(()),
                _ => break Err(error),
            },
        }
    };
    let status = match keeper {
        Some(keeper) => keeper.status_soon(link).await,
        None => None,
    };
    let Some(status) = status else {
        ended.map_err(internal)?;
        link.end_incoming();
        return keep_writing(connection).await;
    };
    let reason = format!("agent exited ({status})");
    link.fail_calls(reason.clone());
    // The SDK may have accepted calls that it hasn't passed on yet.
    Delay::new(LAST_CALLS).await;
    link.end_incoming();
    select(pin!(keep_writing(connection)), Delay::new(FAREWELL)).await;
    match status.success() {
        true => Ok(()),
        false => Err(Error::internal_error().data(reason)),
    }
}

async fn keep_writing<R: Source, W: Target>(
    connection: &mut Connection<Gate<R>, W, RawJsonRpcId>,
) -> Result<(), Error> {
    while let Ok(Some(_)) = connection.next_event().await {}
    pending().await
}

/// Sends what the SDK says. Ready when it will say no more, and wants to end or has nothing more to hear.
async fn send(outgoing: &mut Outgoing, link: &Link) {
    while let Some(frame) = poll_fn(|cx| outgoing.poll_next(cx)).await {
        link.send(frame).await;
    }
    link.end_outgoing();
    poll_fn(|cx| match link.incoming_has_ended() {
        true => Poll::Ready(()),
        false => outgoing.poll_finish(cx),
    })
    .await;
}

/// What the SDK says, until it asks to finish.
pub(crate) struct Outgoing {
    queue: mpsc::UnboundedReceiver<TransportFrame>,
    /// `None` once it is received, or can't be any more.
    finish: Option<oneshot::Receiver<()>>,
    finishes: bool,
}

impl Outgoing {
    /// Also returns what asks to finish.
    pub(crate) fn new(queue: mpsc::UnboundedReceiver<TransportFrame>) -> (Self, impl FnOnce() + Send + 'static) {
        let (finish, finish_receiver) = oneshot::channel();
        let ask = move || {
            let _ = finish.send(());
        };
        (Self { queue, finish: Some(finish_receiver), finishes: false }, ask)
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<TransportFrame>> {
        if self.poll_finish(cx).is_ready() {
            self.queue.close();
        }
        self.queue.poll_next_unpin(cx)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(finish) = &mut self.finish {
            if let Poll::Ready(asked) = Pin::new(finish).poll(cx) {
                // Losing the means to ask isn't asking.
                (self.finish, self.finishes) = (None, asked.is_ok());
            }
        }
        match self.finishes {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

pub(crate) fn internal(error: impl Display) -> Error {
    Error::internal_error().data(error.to_string())
}

//! A WebSocket: each WebSocket message is one JSON-RPC message or batch, and answers come in any order.
//!
//! Binary messages are treated like text, since their bytes are validated anyway; answers are always text. A message up
//! to twice as long as allowed is still read for its id and answered with an error. A longer one closes the connection
//! with code 1009 (message too big, RFC 6455).

use std::future::poll_fn;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite;
use wireline::Frame;
use wireline::connection::{Config, Connection, Event};

use crate::exchange::Methods;
use crate::post::Endpoint;

/// Methods of one client that may run at a time. At the limit, nothing more is read.
const CALLS: usize = 64;
/// Requests of one client that may be in flight, those of batches included. More are refused.
const REQUESTS: usize = 2048;

pub(crate) async fn upgrade<M: Methods>(State(endpoint): State<Endpoint<M>>, upgrade: WebSocketUpgrade) -> Response {
    let longest = endpoint.rules.settings().max_line_len.saturating_mul(2);
    let upgrade = upgrade.max_message_size(longest).max_frame_size(longest);
    upgrade.on_upgrade(|mut socket| async move {
        let Err(error) = serve(&mut socket, endpoint).await else { return };
        let code = match error.into_inner().downcast_ref() {
            Some(tungstenite::Error::Capacity(_)) => close_code::SIZE,
            Some(tungstenite::Error::Utf8(_)) => close_code::INVALID,
            _ => close_code::PROTOCOL,
        };
        // If the client has gone, there is nobody to tell.
        let _ = socket.send(Message::Close(Some(CloseFrame { code, reason: Utf8Bytes::default() }))).await;
    })
}

async fn serve<M: Methods>(
    socket: &mut WebSocket,
    Endpoint { methods, rules }: Endpoint<M>,
) -> Result<(), axum::Error> {
    let mut connection: Connection<()> = Connection::new(Config::new(rules).in_flight(REQUESTS));
    let mut calls = JoinSet::new();
    loop {
        let text = tokio::select! {
            () = poll_fn(|cx| connection.poll_wake(cx)) => {
                send(socket, &mut connection).await?;
                continue;
            }
            Some(_) = calls.join_next() => continue,
            received = socket.recv(), if calls.len() < CALLS => match received {
                Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => message.into_data(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue, // axum answers pings
                Some(Ok(Message::Close(_))) | None => return Ok(()),
                Some(Err(error)) => return Err(error),
            },
        };
        if let Some(event) = connection.accept(Frame::from_bytes(text, &rules)) {
            start(event, &methods, &mut calls);
        }
        // The other entries of a batch.
        while let Some(event) = connection.next_event() {
            start(event, &methods, &mut calls);
        }
    }
}

/// Calls a method in its own task. If it panics, or its result does while it is encoded, its ticket is dropped, which
/// answers.
fn start<M: Methods>(event: Event<'_, ()>, methods: &M, calls: &mut JoinSet<()>) {
    let (message, ticket) = match event {
        Event::Request(request, ticket) => (wireline::Message::Request(request.into_owned()), Some(ticket)),
        Event::Notification(notification) => (wireline::Message::Notification(notification.into_owned()), None),
        _ => return, // already answered, if it should be
    };
    let methods = methods.clone();
    calls.spawn(async move {
        let outcome = methods.call(message.into()).await;
        if let Some(ticket) = ticket {
            ticket.settle(outcome);
        }
    });
}

/// Sends each line as a message.
async fn send(socket: &mut WebSocket, connection: &mut Connection<()>) -> Result<(), axum::Error> {
    let lines = connection.pending().to_vec();
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let text = str::from_utf8(line).map_err(axum::Error::new)?;
        socket.send(Message::text(text)).await?;
    }
    connection.advance(lines.len());
    Ok(())
}

//! A WebSocket: each WebSocket message is one JSON-RPC message or batch, and answers come in any order.
//!
//! Binary messages are treated like text, since their bytes are validated anyway; answers are always text. A message up
//! to twice as long as allowed is still read for its id and answered with an error. A longer one closes the connection
//! with code 1009 (message too big, RFC 6455).

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite;
use wireline::ledger::{Answer, Inbound};
use wireline::{Frame, Rules};

use crate::body::AnswerBody;
use crate::exchange::{self, Methods};
use crate::post::Endpoint;

/// Messages of one client that may be processed at a time. At the limit, nothing more is read.
const MESSAGES: usize = 64;
/// Requests of one client that may be in flight, those of batches included. More are refused.
const REQUESTS: usize = 2048;

pub(crate) async fn upgrade<M: Methods>(State(endpoint): State<Endpoint<M>>, upgrade: WebSocketUpgrade) -> Response {
    let longest = endpoint.rules.limits().max_line_len.saturating_mul(2);
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
    let dropped = Arc::new(Notify::new());
    let owed = Inbound::with_wake(rules, REQUESTS, {
        let dropped = Arc::clone(&dropped);
        move || dropped.notify_one()
    });
    let mut exchanges = JoinSet::new();
    loop {
        let text = tokio::select! {
            Some(exchange) = exchanges.join_next() => {
                if let Ok((answers, is_batch)) = exchange {
                    send(socket, answers, is_batch).await?;
                }
                continue;
            }
            // A result panicked while it was being encoded.
            () = dropped.notified() => {
                for answer in owed.dropped() {
                    send(socket, vec![answer], false).await?;
                }
                continue;
            }
            received = socket.recv(), if exchanges.len() < MESSAGES => match received {
                Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => message.into_data(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue, // axum answers pings
                Some(Ok(Message::Close(_))) | None => return Ok(()),
                Some(Err(error)) => return Err(error),
            },
        };
        match parse(text, &owed, &rules) {
            Ok(frame) => {
                let (owed, methods) = (owed.clone(), methods.clone());
                exchanges.spawn(async move {
                    let is_batch = matches!(frame, Frame::Batch(_));
                    (exchange::answers(frame, &owed, &methods).await, is_batch)
                });
            }
            Err(answer) => send(socket, answer.into_iter().collect(), false).await?,
        }
    }
}

/// Parses a frame, or returns the answer to a text that isn't one, if it gets any.
fn parse(text: axum::body::Bytes, owed: &Inbound, rules: &Rules) -> Result<Frame<'static>, Option<Answer>> {
    Frame::from_bytes(text, rules).map_err(|fault| fault.reply().map(|reply| owed.reply(&reply)))
}

async fn send(socket: &mut WebSocket, answers: Vec<Answer>, is_batch: bool) -> Result<(), axum::Error> {
    let Some(mut body) = AnswerBody::new(answers, is_batch) else { return Ok(()) };
    let text = Utf8Bytes::try_from(body.accept()).map_err(axum::Error::new)?;
    socket.send(Message::Text(text)).await
}

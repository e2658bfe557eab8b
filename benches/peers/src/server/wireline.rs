//! `Framed` with wireline's codec, and its ledger.

use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_util::codec::Framed;
use wireline::codec::Codec;
use wireline::ledger::{Answer, Inbound, Ticket};
use wireline::{Frame, Message, Request, RpcError, Rules};

use super::{Params, QUEUE, WORKS, handle};

pub(super) async fn in_place(stream: UnixStream) {
    let rules = Rules::json_rpc();
    let owed = Inbound::new(rules, 1000);
    let mut framed = Framed::new(stream, Codec::new(rules));
    loop {
        // Answers leave when there is nothing more to read.
        let frame = match framed.next().now_or_never() {
            Some(frame) => frame,
            None => {
                SinkExt::<Answer>::flush(&mut framed).await.expect(WORKS);
                framed.next().await
            }
        };
        let Some(frame) = frame else { break };
        let Ok(Frame::Message(Message::Request(request))) = frame.expect(WORKS) else { panic!("not a request") };
        let answer = match owed.admit(&request) {
            Ok(ticket) => answer(ticket, &request),
            Err(refusal) => refusal,
        };
        framed.feed(answer).await.expect(WORKS);
    }
    SinkExt::<Answer>::close(&mut framed).await.expect(WORKS);
}

pub(super) async fn in_tasks(stream: UnixStream) {
    let rules = Rules::json_rpc();
    let owed = Inbound::new(rules, 1000);
    let (mut sink, mut frames) = Framed::new(stream, Codec::new(rules)).split::<Answer>();
    let (answers, mut outbox) = mpsc::channel::<Answer>(QUEUE);
    let write = async move {
        let mut some = Vec::new();
        while outbox.recv_many(&mut some, QUEUE).await > 0 {
            for answer in some.drain(..) {
                sink.feed(answer).await.expect(WORKS);
            }
            sink.flush().await.expect(WORKS);
        }
    };
    let read = async move {
        while let Some(frame) = frames.next().await {
            let Ok(Frame::Message(Message::Request(request))) = frame.expect(WORKS) else { panic!("not a request") };
            let permit = answers.clone().reserve_owned().await.expect(WORKS);
            match owed.admit(&request) {
                Ok(ticket) => drop(tokio::spawn(async move { permit.send(answer(ticket, &request)) })),
                Err(refusal) => drop(permit.send(refusal)),
            }
        }
    };
    tokio::join!(write, read);
}

fn answer(ticket: Ticket, request: &Request<'_>) -> Answer {
    let params = request.params().and_then(|params| params.deserialize::<Params>().ok());
    match params {
        Some(params) => ticket.respond(&handle(&request.method(), params)),
        None => ticket.fail(&RpcError::invalid_params("Invalid params")),
    }
}

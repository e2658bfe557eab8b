//! wireline's halves of a connection, its ledger, and for comparison its codec in a `Framed`.

use bytes::BytesMut;
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio_util::codec::Framed;
use wireline::aio::{FrameReader, LineWriter, Tokio};
use wireline::codec::Codec;
use wireline::ledger::{Answer, Inbound, Ticket};
use wireline::{Fault, Frame, Message, Request, RpcError, Rules};

use super::{Params, WORKS, handle};

pub(super) async fn in_place(stream: UnixStream) {
    let rules = Rules::json_rpc();
    let (reader, mut writer) = stream.into_split();
    let (owed, mut frames) = (Inbound::new(rules, 1000), FrameReader::new(Tokio(reader), rules));
    let mut out = BytesMut::new();
    loop {
        while let Some(frame) = frames.next_buffered() {
            let request = request(frame);
            let answer = match owed.admit(&request) {
                Ok(ticket) => answer(ticket, &request),
                Err(refusal) => refusal,
            };
            answer.accept_into(&mut out);
        }
        // Answers leave when there is nothing more to read.
        writer.write_all(&out).await.expect(WORKS);
        out.clear();
        if !frames.fill().await.expect(WORKS) {
            break;
        }
    }
}

/// Answers where it reads, while another task writes.
pub(super) async fn halves(stream: UnixStream) {
    let rules = Rules::json_rpc();
    let (reader, writer) = stream.into_split();
    let (owed, mut frames) = (Inbound::new(rules, 1000), FrameReader::new(Tokio(reader), rules));
    let writer = LineWriter::new(Tokio(writer), rules);
    let sender = writer.sender();
    let writing = tokio::spawn(writer.run());
    while let Some(frame) = frames.next_frame().await.expect(WORKS) {
        let request = request(frame);
        let answer = match owed.admit(&request) {
            Ok(ticket) => answer(ticket, &request),
            Err(refusal) => refusal,
        };
        sender.answer(answer).await.expect(WORKS);
    }
    drop(sender);
    writing.await.expect(WORKS).expect(WORKS);
}

pub(super) async fn in_tasks(stream: UnixStream) {
    let rules = Rules::json_rpc();
    let (reader, writer) = stream.into_split();
    let (owed, mut frames) = (Inbound::new(rules, 100_000), FrameReader::new(Tokio(reader), rules));
    let writer = LineWriter::new(Tokio(writer), rules);
    let sender = writer.sender();
    let writing = tokio::spawn(writer.run());
    while let Some(frame) = frames.next_frame().await.expect(WORKS) {
        let request = request(frame);
        match owed.admit(&request) {
            Ok(ticket) => {
                let (request, sender) = (request.into_owned(), sender.clone());
                tokio::spawn(async move { sender.answer(answer(ticket, &request)).await.expect(WORKS) });
            }
            Err(refusal) => sender.answer(refusal).await.expect(WORKS),
        }
    }
    drop(sender);
    writing.await.expect(WORKS).expect(WORKS);
}

pub(super) async fn framed(stream: UnixStream) {
    let rules = Rules::json_rpc();
    let owed = Inbound::new(rules, 1000);
    let mut framed = Framed::new(stream, Codec::new(rules));
    loop {
        let frame = match framed.next().now_or_never() {
            Some(frame) => frame,
            None => {
                SinkExt::<Answer>::flush(&mut framed).await.expect(WORKS);
                framed.next().await
            }
        };
        let Some(frame) = frame else { break };
        let request = request(frame.expect(WORKS));
        let answer = match owed.admit(&request) {
            Ok(ticket) => answer(ticket, &request),
            Err(refusal) => refusal,
        };
        framed.feed(answer).await.expect(WORKS);
    }
    SinkExt::<Answer>::close(&mut framed).await.expect(WORKS);
}

fn request(frame: Result<Frame<'_>, Fault>) -> Request<'_> {
    match frame {
        Ok(Frame::Message(Message::Request(request))) => request,
        other => panic!("not a request: {other:?}"),
    }
}

fn answer(ticket: Ticket, request: &Request<'_>) -> Answer {
    let params = request.params().and_then(|params| params.deserialize::<Params>().ok());
    match params {
        Some(params) => ticket.respond(&handle(&request.method(), params)),
        None => ticket.fail(&RpcError::invalid_params("Invalid params")),
    }
}

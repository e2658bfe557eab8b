//! A small server on stdin and stdout: `add`, and a subscription, `count`.

use std::io::{self, Write};

use serde_json::json;
use wireline_jsonrpsee::wireline::io::{FrameReader, FrameWriter};
use wireline_jsonrpsee::wireline::ledger::{Answer, Inbound, Ticket};
use wireline_jsonrpsee::wireline::{Frame, Message, Request, RpcError, Rules};

pub(crate) fn run() -> io::Result<()> {
    println!("server started"); // where it doesn't belong
    let rules = Rules::json_rpc();
    let mut frames = FrameReader::new(io::stdin().lock(), rules);
    let (writer, owed) = (FrameWriter::new(io::stdout(), rules), Inbound::new(rules, 1000));
    while let Some(frame) = frames.next_frame()? {
        match frame {
            Ok(Frame::Message(Message::Request(request))) => {
                writer.answer(answer(&owed, &request))?;
                if request.method() == "count" {
                    count(&request, &writer)?;
                }
            }
            Ok(Frame::Message(_)) => {}
            Ok(Frame::Batch(batch)) => {
                let answers = batch.iter().filter_map(|entry| match entry {
                    Ok(Message::Request(request)) => Some(answer(&owed, &request)),
                    Ok(_) => None,
                    Err(fault) => fault.reply().map(|reply| owed.reply(&reply)),
                });
                writer.answer(owed.batch(answers))?;
            }
            Err(fault) => {
                if let Some(reply) = fault.reply() {
                    writer.answer(owed.reply(&reply))?;
                }
            }
        }
    }
    writer.flush()?;
    Ok(())
}

fn answer(owed: &Inbound, request: &Request<'_>) -> Answer {
    match owed.admit(request) {
        Ok(ticket) => respond(ticket, request),
        Err(refusal) => refusal,
    }
}

fn respond(ticket: Ticket, request: &Request<'_>) -> Answer {
    match &*request.method() {
        "add" => match request.params().and_then(|params| params.deserialize::<(i64, i64)>().ok()) {
            Some((a, b)) => ticket.respond(&(a + b)),
            None => ticket.fail(&RpcError::invalid_params("expected two integers")),
        },
        "count" => ticket.respond(&"counter"),
        "stop" => ticket.respond(&true),
        _ => ticket.fail(&RpcError::method_not_found()),
    }
}

/// A real server would do this in a thread of its own, until it is told to stop.
fn count(request: &Request<'_>, writer: &FrameWriter<impl Write>) -> io::Result<()> {
    let last = request.params().and_then(|params| params.deserialize::<(u64,)>().ok()).map_or(0, |(last,)| last);
    for tick in 1..=last {
        writer.send(|encoder| encoder.notification("tick", &json!({"subscription": "counter", "result": tick})))?;
    }
    Ok(())
}

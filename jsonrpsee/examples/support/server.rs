//! A small server on stdin and stdout: `add`, and a subscription, `count`.

use std::io::{self, Write};

use serde_json::json;
use wireline_jsonrpsee::wireline::io::FrameReader;
use wireline_jsonrpsee::wireline::ledger::{Answer, Inbound, Ticket};
use wireline_jsonrpsee::wireline::{Frame, Message, Request, RpcError, Rules, to_line};

pub(crate) fn run() -> io::Result<()> {
    println!("server started"); // where it doesn't belong
    let rules = Rules::json_rpc();
    let (mut frames, mut stdout) = (FrameReader::new(io::stdin().lock(), rules), io::stdout().lock());
    let owed = Inbound::new(rules, 1000);
    while let Some(frame) = frames.next_frame()? {
        let answer = match frame {
            Ok(Frame::Message(Message::Request(request))) => {
                stdout.write_all(&answer(&owed, &request).accept())?;
                if request.method() == "count" {
                    count(&request, &rules, &mut stdout)?;
                }
                continue;
            }
            Ok(Frame::Message(_)) => continue,
            Ok(Frame::Batch(batch)) => owed.batch(batch.iter().filter_map(|entry| match entry {
                Ok(Message::Request(request)) => Some(answer(&owed, &request)),
                Ok(_) => None,
                Err(fault) => fault.reply().map(|reply| owed.reply(&reply)),
            })),
            Err(fault) => match fault.reply() {
                Some(reply) => owed.reply(&reply),
                None => continue,
            },
        };
        stdout.write_all(&answer.accept())?;
    }
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
fn count(request: &Request<'_>, rules: &Rules, stdout: &mut impl Write) -> io::Result<()> {
    let last = request.params().and_then(|params| params.deserialize::<(u64,)>().ok()).map_or(0, |(last,)| last);
    for tick in 1..=last {
        let params = json!({"subscription": "counter", "result": tick});
        stdout.write_all(to_line(rules, |encoder| encoder.notification("tick", &params))?.as_bytes())?;
    }
    Ok(())
}

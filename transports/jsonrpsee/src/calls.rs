//! Answers as jsonrpsee takes them.
//!
//! jsonrpsee matches answers to calls itself. But it ends the client for an answer to no call, for the answer to a batch
//! that lacks an entry or comes one by one, and for an error object with members or a code that its types don't have. So
//! each answer is matched by the connection first, and written anew.

use std::collections::HashMap;

use wireline::connection::Peer;
use wireline::{Fault, Frame, Id, Message, RawJson, Response};

/// What JSON-RPC calls an internal error: the answer to a call can't be used.
const UNUSABLE: i32 = -32603;

/// What is kept for each call, with its id as jsonrpsee spells it.
#[derive(Debug)]
pub(crate) enum Call {
    Alone(Id<'static>),
    Entry { batch: u64, index: usize },
}

/// The batches of calls in flight.
#[derive(Default)]
pub(crate) struct Batches {
    open: HashMap<u64, Batch>,
    next: u64,
    /// Those that were answered in part by the array at hand.
    begun: Vec<u64>,
}

struct Batch {
    ids: Vec<Id<'static>>,
    /// The text of each answer so far.
    answers: Vec<Option<String>>,
    missing: usize,
}

impl Batches {
    /// Expects answers to what is about to be sent.
    pub(crate) fn track(&mut self, frame: &Frame<'_>, peer: &Peer<Call>) {
        // It fails if the connection has ended, and then everything does: jsonrpsee doesn't use an id again while it is
        // in flight.
        match frame {
            Frame::Message(Message::Request(request)) => {
                peer.track(request.id(), Call::Alone(request.id().clone().into_owned()));
            }
            Frame::Message(_) => {}
            Frame::Batch(batch) => {
                let requests = batch.iter().filter_map(|entry| match entry {
                    Ok(Message::Request(request)) => Some(request.id().clone().into_owned()),
                    _ => None,
                });
                let ids: Vec<_> = requests.collect();
                self.next += 1;
                for (index, id) in ids.iter().enumerate() {
                    peer.track(id, Call::Entry { batch: self.next, index });
                }
                if !ids.is_empty() {
                    let (answers, missing) = (vec![None; ids.len()], ids.len());
                    self.open.insert(self.next, Batch { ids, answers, missing });
                }
            }
        }
    }

    /// Takes the answer to a call. Returns a text for jsonrpsee, unless its batch has more entries.
    pub(crate) fn settle(&mut self, call: Call, response: &Response<'_>) -> Option<String> {
        self.settle_with(call, |id| answer(id, response))
    }

    /// Takes an answer that can't be used, for a reason that goes into an error.
    pub(crate) fn fail(&mut self, call: Call, reason: &str) -> Option<String> {
        self.settle_with(call, |id| error(id, UNUSABLE, &format!("unusable response: {reason}")))
    }

    /// Takes an error without an id, which is how a server says that it has no use for a whole batch. Unless there are
    /// several, it is clear which.
    pub(crate) fn settle_without_id(&mut self, response: &Response<'_>, peer: &Peer<Call>) -> Option<String> {
        let batch = match (response.id(), response.error(), self.open.len()) {
            (Some(id), Some(_), 1) if id.is_null() => self.open.keys().next().copied()?,
            _ => return None,
        };
        self.complete(batch, peer, |id| answer(id, response))
    }

    /// The answers to batches of which the server has sent all that it will: they came in an array that has ended. In a
    /// single line they might be followed by others.
    pub(crate) fn end_of_line(&mut self, in_array: bool, peer: &Peer<Call>) -> Vec<String> {
        let begun = std::mem::take(&mut self.begun);
        let begun = begun.into_iter().filter(|_| in_array);
        begun.filter_map(|batch| self.complete(batch, peer, |id| error(id, UNUSABLE, NO_ENTRY))).collect()
    }

    fn settle_with(&mut self, call: Call, text: impl FnOnce(&Id<'_>) -> String) -> Option<String> {
        let (number, index) = match call {
            Call::Alone(id) => return Some(text(&id)),
            Call::Entry { batch, index } => (batch, index),
        };
        let batch = self.open.get_mut(&number)?;
        if let (Some(id), Some(answer @ None)) = (batch.ids.get(index), batch.answers.get_mut(index)) {
            *answer = Some(text(id));
            batch.missing -= 1;
        }
        if batch.missing > 0 {
            self.begun.push(number);
            return None;
        }
        let Batch { answers, .. } = self.open.remove(&number)?;
        Some(array(answers.into_iter().flatten()))
    }

    /// Ends a batch, with `missing` for the calls that haven't been answered.
    fn complete(&mut self, number: u64, peer: &Peer<Call>, missing: impl Fn(&Id<'_>) -> String) -> Option<String> {
        let Batch { ids, answers, .. } = self.open.remove(&number)?;
        Some(array(ids.iter().zip(answers).map(|(id, answer)| {
            answer.unwrap_or_else(|| {
                peer.withdraw(id);
                missing(id)
            })
        })))
    }
}

const NO_ENTRY: &str = "no response in the answer to the batch";

fn array(texts: impl Iterator<Item = String>) -> String {
    format!("[{}]", texts.collect::<Vec<_>>().join(","))
}

/// Answers to all calls in what can't be sent, for a reason that goes into the errors. None if there are no calls.
pub(crate) fn refusal(frame: &Result<Frame<'_>, Fault>, reason: &str) -> Option<String> {
    const INVALID_REQUEST: i32 = -32600;

    let refused = |id: Option<&Id<'_>>| Some(error(id?, INVALID_REQUEST, &format!("not sent: {reason}")));
    match frame {
        Ok(Frame::Message(message)) => refused(message.id()),
        Ok(Frame::Batch(batch)) => {
            let texts: Vec<_> = batch.iter().filter_map(|entry| refused(entry.ok()?.id())).collect();
            (!texts.is_empty()).then(|| array(texts.into_iter()))
        }
        Err(fault) => refused(fault.id()),
    }
}

/// A response as jsonrpsee takes it, with the id that jsonrpsee has sent.
fn answer(id: &Id<'_>, response: &Response<'_>) -> String {
    match response.outcome() {
        Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, id.as_json(), result.as_json()),
        Err(object) => match i32::try_from(object.code()) {
            Ok(code) => error_with(id, code, &object.message(), object.data().as_ref().map(RawJson::as_json)),
            Err(_) => error(id, UNUSABLE, "unusable response: error code beyond 32 bits"),
        },
    }
}

fn error(id: &Id<'_>, code: i32, message: &str) -> String {
    error_with(id, code, message, None)
}

fn error_with(id: &Id<'_>, code: i32, message: &str, data: Option<&str>) -> String {
    let (id, message) = (id.as_json(), serde_json::Value::from(message));
    match data {
        Some(data) => {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message},"data":{data}}}}}"#)
        }
        None => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#),
    }
}

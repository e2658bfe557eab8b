//! Calls in flight, and their answers as jsonrpsee takes them.
//!
//! jsonrpsee matches answers to calls itself. But it ends the client for an answer to no call, for the answer to a batch
//! that lacks an entry or comes one by one, and for an error object with members or a code that its types don't have. So
//! each answer is matched here first, and written anew.

use std::collections::HashMap;

use wireline::ledger::Outbound;
use wireline::{Fault, Frame, Id, Message, RawJson, Response};

/// What JSON-RPC calls an internal error: the answer to a call can't be used.
const UNUSABLE: i32 = -32603;

/// The calls in flight.
pub(crate) struct Calls {
    open: Outbound<Call>,
    batches: HashMap<u64, Batch>,
    next_batch: u64,
}

/// A call, with its id as jsonrpsee spells it.
enum Call {
    Alone(Id<'static>),
    Entry { batch: u64, index: usize },
}

struct Batch {
    ids: Vec<Id<'static>>,
    /// The text of each answer so far.
    answers: Vec<Option<String>>,
    missing: usize,
}

/// What became of an answer.
pub(crate) enum Settled {
    /// A text for jsonrpsee.
    Whole(String),
    /// An entry of this batch, which has more.
    Part(u64),
    /// It answers no call in flight.
    Stray,
}

impl Calls {
    pub(crate) fn new() -> Self {
        // What a program has in flight is up to the program.
        Self { open: Outbound::new(usize::MAX), batches: HashMap::new(), next_batch: 0 }
    }

    /// Records what is about to be sent.
    pub(crate) fn open(&mut self, frame: &Frame<'_>) {
        match frame {
            Frame::Message(Message::Request(request)) => {
                let id = request.id().clone().into_owned();
                // jsonrpsee doesn't use an id again while it is in flight.
                let _ = self.open.track(request.id(), Call::Alone(id));
            }
            Frame::Message(_) => {}
            Frame::Batch(batch) => {
                let requests = batch.iter().filter_map(|entry| match entry {
                    Ok(Message::Request(request)) => Some(request.id().clone().into_owned()),
                    _ => None,
                });
                let ids: Vec<_> = requests.collect();
                self.next_batch += 1;
                let batch = self.next_batch;
                for (index, id) in ids.iter().enumerate() {
                    let _ = self.open.track(id, Call::Entry { batch, index });
                }
                if !ids.is_empty() {
                    let (answers, missing) = (vec![None; ids.len()], ids.len());
                    self.batches.insert(batch, Batch { ids, answers, missing });
                }
            }
        }
    }

    /// Takes the answer to a call.
    pub(crate) fn settle(&mut self, response: &Response<'_>) -> Settled {
        let Some(id) = response.id() else { return Settled::Stray };
        if id.is_null() {
            return self.settle_without_id(response);
        }
        self.settle_with(id, |id| answer(id, response))
    }

    /// Takes an answer that can't be used, for a reason that goes into an error.
    pub(crate) fn fail(&mut self, id: &Id<'_>, reason: &str) -> Settled {
        self.settle_with(id, |id| error(id, UNUSABLE, &format!("unusable response: {reason}")))
    }

    fn settle_with(&mut self, id: &Id<'_>, text: impl FnOnce(&Id<'_>) -> String) -> Settled {
        match self.open.withdraw(id) {
            Some(Call::Alone(id)) => Settled::Whole(text(&id)),
            Some(Call::Entry { batch, index }) => self.fill(batch, index, text),
            None => Settled::Stray,
        }
    }

    /// An error without an id is how a server says that it has no use for a whole batch. Unless there are several, it is
    /// clear which.
    fn settle_without_id(&mut self, response: &Response<'_>) -> Settled {
        let batch = match (response.error(), self.batches.len()) {
            (Some(_), 1) => self.batches.keys().next().copied(),
            _ => None,
        };
        let whole = batch.and_then(|batch| self.complete(batch, |id| answer(id, response)));
        whole.map_or(Settled::Stray, Settled::Whole)
    }

    fn fill(&mut self, number: u64, index: usize, text: impl FnOnce(&Id<'_>) -> String) -> Settled {
        let Some(batch) = self.batches.get_mut(&number) else { return Settled::Stray };
        if let (Some(id), Some(answer @ None)) = (batch.ids.get(index), batch.answers.get_mut(index)) {
            *answer = Some(text(id));
            batch.missing -= 1;
        }
        if batch.missing > 0 {
            return Settled::Part(number);
        }
        match self.complete(number, |id| error(id, UNUSABLE, "no response")) {
            Some(whole) => Settled::Whole(whole),
            None => Settled::Stray,
        }
    }

    /// The answers to a batch, of which the server has sent all that it will. None if it was complete before.
    pub(crate) fn finish(&mut self, batch: u64) -> Option<String> {
        self.complete(batch, |id| error(id, UNUSABLE, "no response in the answer to the batch"))
    }

    /// Ends a batch, with `missing` for the calls that haven't been answered.
    fn complete(&mut self, number: u64, missing: impl Fn(&Id<'_>) -> String) -> Option<String> {
        let Batch { ids, answers, .. } = self.batches.remove(&number)?;
        let texts: Vec<_> = ids
            .iter()
            .zip(answers)
            .map(|(id, answer)| {
                answer.unwrap_or_else(|| {
                    self.open.withdraw(id);
                    missing(id)
                })
            })
            .collect();
        Some(format!("[{}]", texts.join(",")))
    }
}

/// Answers to all calls in what can't be sent, for a reason that goes into the errors. None if there are no calls.
pub(crate) fn refusal(frame: &Result<Frame<'_>, Fault>, reason: &str) -> Option<String> {
    const INVALID_REQUEST: i32 = -32600;

    let refused = |id: Option<&Id<'_>>| Some(error(id?, INVALID_REQUEST, &format!("not sent: {reason}")));
    match frame {
        Ok(Frame::Message(message)) => refused(message.id()),
        Ok(Frame::Batch(batch)) => {
            let texts: Vec<_> = batch.iter().filter_map(|entry| refused(entry.ok()?.id())).collect();
            (!texts.is_empty()).then(|| format!("[{}]", texts.join(",")))
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

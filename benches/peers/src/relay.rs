//! Relaying: each line of a stream is decoded and forwarded, under another id if it has one.

use std::hint::black_box;
use std::time::Duration;

use bytes::BytesMut;
use serde_json::value::RawValue;
use sonic_rs::{JsonValueMutTrait, LazyValue};
use wireline::{Decoder, Encoder, Frame, Id, Message, Rules};
use wireline_corpus::Corpus as Generated;

use crate::comparison::{Comparison, Part, Row};
use crate::contenders::{self, lines};
use crate::corpora::Corpus;
use crate::progress::Progress;
use crate::rounds::{self, Best, Runner};

const CORPORA: [Generated; 3] = [Generated::Small, Generated::Tools, Generated::Source];

const VALID: &str = "a generated line is valid, and can be forwarded";

const ID: i64 = 17;

/// One comparison per corpus.
pub(crate) fn compare(time: Duration) -> Vec<Comparison> {
    CORPORA.into_iter().map(|corpus| compare_corpus(&Corpus::generated(corpus), time)).collect()
}

fn compare_corpus(corpus: &Corpus, time: Duration) -> Comparison {
    let slices = corpus.slices();
    let mut relays = relays();
    for slice in &slices {
        let expected = meaning(relays[0].relay.relay(slice));
        for Relay { name, relay, .. } in &mut relays {
            assert!(meaning(relay.relay(slice)) == expected, "{name} forwards different messages");
        }
    }

    let mut runners: Vec<Runner<'_>> = Vec::new();
    for Relay { relay, .. } in &mut relays {
        let slices = &slices;
        runners.push(Box::new(move |slice| {
            black_box(relay.relay(&slices[slice]));
        }));
    }
    let progress = Progress::of(&format!("relaying {}", corpus.name));
    let Best { times, rounds } = rounds::best(&mut runners, slices.len(), time, &progress);
    drop(runners);
    let rows = relays.iter().zip(times).map(|(relay, time)| Row::new(relay.name, relay.part, Some(time)));
    Comparison {
        title: corpus.name.clone(),
        messages: corpus.messages(),
        bytes: corpus.bytes(),
        rounds,
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// The parsed lines, whatever their spelling.
fn meaning(stream: &[u8]) -> Vec<serde_json::Value> {
    lines(stream).map(|line| serde_json::from_slice(line).expect(VALID)).collect()
}

/// One way of relaying.
struct Relay {
    name: &'static str,
    part: Part,
    relay: Box<dyn Forward>,
}

trait Forward {
    /// Forwards the lines of `stream`.
    fn relay(&mut self, stream: &[u8]) -> &[u8];
}

fn relays() -> Vec<Relay> {
    let peer = |name, forward| Relay {
        name,
        part: Part::Peer,
        relay: Box::new(LineByLine { out: Vec::new(), id: ID.to_string(), forward }),
    };
    vec![
        Relay { name: "wireline", part: Part::Subject, relay: Box::new(Splicing::new()) },
        peer("sonic-rs LazyValue", sonic_rs_lazy),
        peer("sonic-rs Value", sonic_rs_value),
        peer("serde_json RawValue", serde_json_raw),
        peer("serde_json Value", serde_json_value),
    ]
}

/// A [`Decoder`] and [`Encoder::forward_with_id`], which changes nothing but the id.
struct Splicing {
    decoder: Decoder,
    out: BytesMut,
    id: Id<'static>,
}

impl Splicing {
    fn new() -> Self {
        Self { decoder: Decoder::new(Rules::json_rpc()).keep_capacity(8 << 20), out: BytesMut::new(), id: Id::from(ID) }
    }
}

impl Forward for Splicing {
    fn relay(&mut self, stream: &[u8]) -> &[u8] {
        self.out.clear();
        let mut encoder = Encoder::append_to(&mut self.out, Rules::json_rpc());
        self.decoder.feed(stream);
        while let Some(frame) = self.decoder.next_frame() {
            let Ok(Frame::Message(message)) = &frame else { panic!("{VALID}") };
            let sent = match message {
                Message::Request(_) | Message::Response(_) => encoder.forward_with_id(message, &self.id),
                Message::Notification(_) => encoder.forward(message),
            };
            sent.expect(VALID);
        }
        &self.out
    }
}

/// Decodes, changes and encodes line by line, into a reused buffer.
struct LineByLine {
    out: Vec<u8>,
    id: String,
    /// Appends the forwarded line with the given id, without a line feed.
    forward: fn(&mut Vec<u8>, &[u8], &str),
}

impl Forward for LineByLine {
    fn relay(&mut self, stream: &[u8]) -> &[u8] {
        self.out.clear();
        for line in lines(stream) {
            (self.forward)(&mut self.out, line, &self.id);
            self.out.push(b'\n');
        }
        &self.out
    }
}

/// Unknown members would be lost, but the corpora have none.
fn sonic_rs_lazy(out: &mut Vec<u8>, line: &[u8], id: &str) {
    let mut message: contenders::sonic_rs::Envelope<'_> = sonic_rs::from_slice(line).expect(VALID);
    let id: LazyValue<'_> = sonic_rs::from_str(id).expect(VALID);
    message.id = message.id.map(|_| id);
    sonic_rs::to_writer(out, &message).expect(VALID);
}

fn sonic_rs_value(out: &mut Vec<u8>, line: &[u8], _: &str) {
    let mut message: sonic_rs::Value = sonic_rs::from_slice(line).expect(VALID);
    if let Some(id) = message.get_mut("id") {
        *id = sonic_rs::Value::from(ID);
    }
    sonic_rs::to_writer(out, &message).expect(VALID);
}

/// Unknown members would be lost, but the corpora have none.
fn serde_json_raw(out: &mut Vec<u8>, line: &[u8], id: &str) {
    let mut message: contenders::serde_json::Envelope<'_> = serde_json::from_slice(line).expect(VALID);
    let id: &RawValue = serde_json::from_str(id).expect(VALID);
    message.id = message.id.map(|_| id);
    serde_json::to_writer(out, &message).expect(VALID);
}

fn serde_json_value(out: &mut Vec<u8>, line: &[u8], _: &str) {
    let mut message: serde_json::Value = serde_json::from_slice(line).expect(VALID);
    if let Some(id) = message.get_mut("id") {
        *id = serde_json::Value::from(ID);
    }
    serde_json::to_writer(out, &message).expect(VALID);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_relays() {
        let stream = b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[1.5]}\n";
        for Relay { name, relay, .. } in &mut relays() {
            let sent = meaning(relay.relay(stream));
            assert_eq!(sent.len(), 2, "{name}");
            assert_eq!(sent[0]["id"], ID, "{name}");
            assert_eq!(sent[1], meaning(stream)[1], "{name}");
        }
    }
}

//! How each library finds what is counted. All but wireline read line by line into a buffer that they reuse.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Error, Read};

use serde::Deserialize;
use serde_json::value::RawValue;
use simd_json::prelude::ValueAsScalar;
use simd_json::{Buffers, INPUT_PADDING, Tape, fill_tape_padded};
use sonic_rs::{JsonValueTrait, LazyValue};
use wireline::{Decoder, Frame, Message, Rules};

use super::{Part, Tally};

pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) count: fn(Part, &mut Tally) -> io::Result<()>,
}

pub(super) const CONTENDERS: &[Contender] = &[
    Contender { name: "wireline", count: wireline },
    Contender { name: "simd-json", count: simd_json },
    Contender { name: "sonic-rs", count: sonic_rs },
    Contender { name: "serde_json", count: serde_json },
];

/// How much is read at once.
const READ: usize = 256 << 10;

fn unexpected(what: impl std::fmt::Display) -> Error {
    Error::other(format!("not a message of the recording: {what}"))
}

fn wireline(mut part: Part, tally: &mut Tally) -> io::Result<()> {
    let mut decoder = Decoder::new(Rules::json_rpc()).keep_capacity(2 * READ);
    while decoder.read_with(READ, |room| part.read(room))? > 0 {
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Ok(Frame::Message(Message::Request(request))) => {
                    let id = request.id().as_u64().ok_or_else(|| unexpected("id"))?;
                    let params = request.params();
                    let name = params.as_ref().and_then(|params| params.pointer("/name"));
                    let name = name.as_ref().and_then(|name| name.as_str());
                    tally.request(id, &request.method(), name.as_deref());
                }
                Ok(Frame::Message(Message::Notification(_))) => tally.notification(),
                Ok(Frame::Message(Message::Response(response))) => {
                    let id = response.id().and_then(wireline::Id::as_u64).ok_or_else(|| unexpected("id"))?;
                    tally.response(id, response.outcome().is_err());
                }
                Ok(Frame::Batch(_)) => return Err(unexpected("batch")),
                Err(fault) => return Err(unexpected(fault)),
            }
        }
    }
    Ok(())
}

/// Calls `count` for each line, without its line feed.
fn each_line(part: Part, mut count: impl FnMut(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(READ, part);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        line.pop_if(|last| *last == b'\n');
        count(&mut line)?;
        line.clear();
    }
    Ok(())
}

fn simd_json(part: Part, tally: &mut Tally) -> io::Result<()> {
    let mut buffers = Buffers::default();
    let mut spare = Some(Tape(Vec::new()));
    each_line(part, |line| {
        let mut tape = spare.take().unwrap_or(Tape(Vec::new())).reset();
        let len = line.len();
        line.extend_from_slice(&[0; INPUT_PADDING]);
        fill_tape_padded(line, len, &mut buffers, &mut tape).map_err(unexpected)?;
        {
            let value = tape.as_value();
            let message = value.as_object().ok_or_else(|| unexpected("no object"))?;
            let id = message.get("id").map(|id| id.as_u64().ok_or_else(|| unexpected("id"))).transpose()?;
            match (message.get("method"), id) {
                (Some(method), Some(id)) => {
                    let name = message.get("params");
                    let name = name.as_ref().and_then(|params| params.get("name"));
                    let name = name.as_ref().and_then(|name| name.as_str());
                    tally.request(id, method.as_str().ok_or_else(|| unexpected("method"))?, name);
                }
                (Some(_), None) => tally.notification(),
                (None, id) => {
                    tally.response(id.ok_or_else(|| unexpected("no id"))?, message.get("error").is_some());
                }
            }
        }
        spare = Some(tape.reset());
        Ok(())
    })
}

#[derive(Deserialize)]
struct Lazy<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<LazyValue<'a>>,
    #[serde(borrow)]
    error: Option<LazyValue<'a>>,
}

fn sonic_rs(part: Part, tally: &mut Tally) -> io::Result<()> {
    each_line(part, |line| {
        let message: Lazy<'_> = sonic_rs::from_slice(line).map_err(unexpected)?;
        match (message.method, message.id) {
            (Some(method), Some(id)) => {
                let name = message.params.as_ref().and_then(|params| params.get("name"));
                let name = name.as_ref().and_then(|name| name.as_str());
                tally.request(id, &method, name);
            }
            (Some(_), None) => tally.notification(),
            (None, id) => tally.response(id.ok_or_else(|| unexpected("no id"))?, message.error.is_some()),
        }
        Ok(())
    })
}

#[derive(Deserialize)]
struct Raw<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<Named<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// serde skips the other members, and checks them meanwhile.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
}

fn serde_json(part: Part, tally: &mut Tally) -> io::Result<()> {
    each_line(part, |line| {
        let message: Raw<'_> = serde_json::from_slice(line).map_err(unexpected)?;
        match (message.method, message.id) {
            (Some(method), Some(id)) => {
                tally.request(id, &method, message.params.and_then(|params| params.name).as_deref());
            }
            (Some(_), None) => tally.notification(),
            (None, id) => tally.response(id.ok_or_else(|| unexpected("no id"))?, message.error.is_some()),
        }
        Ok(())
    })
}

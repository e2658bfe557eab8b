//! `io::serve` survives any input and answers each request once, in order, with valid lines. `io::answer` does the same
//! for each line on its own.
//!
//! Input: five bytes of [`Settings`], the size of a read, and the stream.

use std::io::{self, ErrorKind, Read};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use wireline::connection::{Call, Incident};
use wireline::io::{answer_with, serve_with};
use wireline::{EncodeError, Encoder, Fault, Frame, Message, RpcError, Rules, to_line};

use super::common::quiet_panics_on_purpose;
use super::input::{Choices, Settings};
use super::lines::lines;

/// See the [module](self).
pub fn run(data: &[u8]) {
    quiet_panics_on_purpose();
    let mut choices = Choices::new(data);
    let settings = Settings::choose(&mut choices);
    let size = choices.limit(usize::MAX).max(1);
    let stream = choices.rest();
    let rules = settings.rules();
    // An answer may always be this long and this deep.
    let (len, depth) = (settings.max_line_len.max(128), settings.max_depth.max(3));
    let wide = rules.max_line_len(len).max_depth(depth);
    // In an array, it has to leave room for the brackets.
    let inside = wide.max_line_len(len - 2).max_depth(depth - 1);

    let mut output = Vec::new();
    let (mut calls, mut faults) = (Vec::new(), 0);
    let handler = |call: Call<'_>| {
        calls.push((call.method().to_owned(), call.id().map(|id| id.as_json().to_owned())));
        handle(&call)
    };
    let report = |incident: Incident<'_>| faults += usize::from(matches!(incident, Incident::Fault(_)));
    serve_with(Pieces { rest: stream, size, interrupt: false }, &mut output, rules, handler, report)
        .expect("neither stream fails");

    let mut found = found_lines(&output, &wide).into_iter();
    let (mut expected_calls, mut expected_faults) = (Vec::new(), 0);
    for line in lines(stream, &settings) {
        // The answers in the stream, and those to the line on its own, where it is line 1.
        let (mut answers, mut alone) = (Vec::new(), Vec::new());
        let mut take = |entry: Result<Message<'_>, Fault>, limits: &[Rules]| {
            if let Ok(message) = &entry {
                let method = match message {
                    Message::Request(request) => Some(request.method().into_owned()),
                    Message::Notification(notification) => Some(notification.method().into_owned()),
                    Message::Response(_) => None,
                };
                let id = message.id().map(|id| id.as_json().to_owned());
                expected_calls.extend(method.map(|method| (method, id)));
            }
            expected_faults += usize::from(entry.is_err());
            answers.extend(answer(&entry, line.number, limits));
            alone.extend(answer(&entry, 1, &[wide]));
        };
        let text = line.part(&settings);
        match Frame::parse(text, &rules) {
            Ok(Frame::Message(message)) => take(Ok(message), &[wide]),
            Err(fault) => take(Err(fault), &[wide]),
            Ok(Frame::Batch(batch)) => {
                batch.into_iter().for_each(|entry| take(entry, &[inside, wide]));
                let array = format!("[{}]", alone.join(","));
                check_text(text, &rules, (!alone.is_empty()).then_some(array));
                if !answers.is_empty() {
                    check_batch(&mut found, &answers, &wide);
                }
                continue;
            }
        }
        check_text(text, &rules, alone.pop());
        for answer in answers {
            let found = found.next();
            assert_eq!(found, Some(Found::One(answer)), "the answer to line {}", line.number);
        }
    }
    assert_eq!(found.next(), None, "an answer to nothing");
    assert_eq!(calls, expected_calls);
    assert_eq!(faults, expected_faults, "each fault is reported once");
}

/// Checks that a line on its own gets the same answer.
fn check_text(text: &[u8], rules: &Rules, expected: Option<String>) {
    let found = answer_with(text, rules, |call| handle(&call), |_| {});
    let found = found.map(|answer| String::from_utf8(answer.to_vec()).expect("UTF-8"));
    assert_eq!(found, expected, "the answer to {:?}", String::from_utf8_lossy(text));
}

/// Handles a call as the method's name says: it succeeds, fails, panics, or returns something that can't be sent.
fn handle(call: &Call<'_>) -> Result<Outcome, RpcError> {
    match call.method() {
        "echo" => Ok(Outcome::Json(call.raw_params().map_or("null".to_owned(), |params| params.as_json().to_owned()))),
        "object" => Ok(Outcome::Json("{}".to_owned())),
        "pair" => call.params::<(i8, i8)>().map(|(a, b)| Outcome::Json((i16::from(a) + i16::from(b)).to_string())),
        "fail" => Err(RpcError::new(1, "failed\n")),
        "data" => RpcError::new(-1, "").with_data(&[0; 3]).map_or_else(|_| panic!("expected data"), Err),
        "long" => Ok(Outcome::Json(format!("{{\"long\":\"{}\"}}", "x".repeat(200)))),
        "panic" => panic!("on purpose"),
        "nan" => Ok(Outcome::NotANumber),
        "explode" => Ok(Outcome::Explosive),
        _ => Err(RpcError::method_not_found()),
    }
}

/// The result of a handler.
enum Outcome {
    /// As it came, blanks and line breaks included.
    Json(String),
    NotANumber,
    Explosive,
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(json) => serde_json::from_str::<&RawValue>(json).expect("JSON").serialize(serializer),
            Self::NotANumber => f64::NAN.serialize(serializer),
            Self::Explosive => panic!("on purpose"),
        }
    }
}

/// The answer to a line or an entry of a batch, if there is one, under the first of `limits` that it fits.
fn answer(entry: &Result<Message<'_>, Fault>, line: u64, limits: &[Rules]) -> Option<String> {
    let encode_under = |rules: &Rules, write: &dyn Fn(&mut Encoder) -> Result<(), EncodeError>| {
        to_line(rules, write).ok().map(|line| line.text().to_owned())
    };
    let encode = |write: &dyn Fn(&mut Encoder) -> Result<(), EncodeError>| {
        limits.iter().find_map(|rules| encode_under(rules, write))
    };
    match entry {
        Ok(Message::Request(request)) => {
            let method = request.method();
            let params = request.params().map_or("null".to_owned(), |params| params.as_json().to_owned());
            let result = |json: &str| {
                let json = RawValue::from_string(json.to_owned()).expect("JSON");
                encode(&|encoder| encoder.response(request.id(), &json))
            };
            let error = |error: &RpcError| encode(&|encoder| encoder.error(request.id(), error));
            let first = match &*method {
                "echo" => result(&params),
                "object" => result("{}"),
                "pair" => match serde_json::from_str::<(i8, i8)>(&params) {
                    Ok((a, b)) => result(&(i16::from(a) + i16::from(b)).to_string()),
                    Err(_) => error(&RpcError::invalid_params("Invalid params")),
                },
                "fail" => error(&RpcError::new(1, "failed\n")),
                "data" => error(&RpcError::new(-1, "").with_data(&[0; 3]).expect("data")),
                "long" => result(&format!("{{\"long\":\"{}\"}}", "x".repeat(200))),
                "panic" | "nan" | "explode" => None,
                _ => error(&RpcError::method_not_found()),
            };
            // A result that can't be sent is replaced.
            first.or_else(|| error(&RpcError::internal()))
        }
        Ok(Message::Notification(_) | Message::Response(_)) => None,
        Err(fault) => {
            // It was parsed on its own, as line 1.
            let reply = fault.reply()?.to_string().replacen("\"line\":1,", &format!("\"line\":{line},"), 1);
            // The position is left out if there is no room for it.
            let short = match reply.split_once(",{\"fault\"") {
                // As in Stratum, where it is the last element of an array.
                Some((start, _)) => Some(format!("{start},null]}}")),
                None => reply.split(",\"data\"").next().map(|start| format!("{start}}}}}")),
            };
            limits.iter().find_map(|rules| {
                encode_under(rules, &|encoder| encoder.raw(reply.as_bytes())).or_else(|| {
                    encode_under(rules, &|encoder| encoder.raw(short.as_deref().unwrap_or_default().as_bytes()))
                })
            })
        }
    }
}

/// Checks that the answers to a batch are one array, unless that would break the rules.
fn check_batch(found: &mut impl Iterator<Item = Found>, answers: &[String], rules: &Rules) {
    let may_be_array = |answers: &[String]| match Frame::parse(format!("[{}]", answers.join(",")).as_bytes(), rules) {
        Ok(Frame::Batch(batch)) => batch.iter().all(|entry| entry.is_ok()),
        _ => false,
    };
    let mut left = answers.to_vec();
    let mut lines = 0;
    while !left.is_empty() {
        let given = match found.next() {
            Some(Found::One(answer)) => {
                assert!(!may_be_array(std::slice::from_ref(&answer)), "no array around {answer}");
                vec![answer]
            }
            Some(Found::Several(answers)) => answers,
            None => panic!("there is no answer with {:?}", left[0]),
        };
        // What doesn't fit an array leaves before it.
        let mut after = 0;
        for answer in &given {
            let at = left[after..].iter().position(|expected| expected == answer);
            let Some(at) = at else { panic!("{given:?}, not {left:?}") };
            after += at;
            left.remove(after);
        }
        lines += 1;
    }
    assert!(lines == 1 || !may_be_array(answers), "{lines} lines of answers, not one array of {answers:?}");
}

/// A line of output.
#[derive(Debug, PartialEq)]
enum Found {
    One(String),
    Several(Vec<String>),
}

/// The lines of the output. Each must be valid according to serde_json and the rules.
fn found_lines(output: &[u8], rules: &Rules) -> Vec<Found> {
    let output = std::str::from_utf8(output).expect("UTF-8 is put out");
    assert!(output.is_empty() || output.ends_with('\n'), "half a line is put out");
    let line = |line: &str| {
        assert!(!line.contains('\r'), "a line break in {line:?}");
        let is_response = |message: &Message<'_>| matches!(message, Message::Response(_));
        match Frame::parse(line.as_bytes(), rules) {
            Ok(Frame::Message(message)) => {
                assert!(is_response(&message), "no response: {line:?}");
                assert!(serde_json::from_str::<&RawValue>(line).is_ok(), "no JSON: {line:?}");
                Found::One(line.to_owned())
            }
            Ok(Frame::Batch(batch)) => {
                assert!(batch.iter().all(|entry| entry.is_ok_and(|entry| is_response(&entry))), "{line:?}");
                let entries: Vec<&RawValue> = serde_json::from_str(line).expect("JSON");
                Found::Several(entries.iter().map(|entry| entry.get().to_owned()).collect())
            }
            Err(fault) => panic!("{fault:?} in {line:?}"),
        }
    };
    output.split_terminator('\n').map(line).collect()
}

/// Reads `size` bytes at a time, with interruptions.
struct Pieces<'a> {
    rest: &'a [u8],
    size: usize,
    interrupt: bool,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupt = !self.interrupt && self.size % 2 == 1;
        if self.interrupt {
            return Err(ErrorKind::Interrupted.into());
        }
        let len = self.size.min(self.rest.len()).min(buffer.len());
        buffer[..len].copy_from_slice(&self.rest[..len]);
        self.rest = &self.rest[len..];
        Ok(len)
    }
}

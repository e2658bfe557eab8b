//! A report for machines: one JSON object for each line that is not blank.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use wireline::{Fault, Frame, Id, Message};

use crate::report::Report;
use crate::session::Side;
use crate::source::Source;
use crate::summary::Summary;
use crate::tally::Kind;

pub(crate) struct Ndjson {
    /// Whether to say which file a line is of.
    several: bool,
    /// How each object begins.
    opening: Vec<u8>,
    from: Option<Side>,
}

impl Ndjson {
    pub(crate) fn new(several: bool) -> Self {
        Self { several, opening: Vec::new(), from: None }
    }

    /// The beginning of an object, up to where the line is.
    fn place(&self, line: u64, offset: u64, len: u64, text: &mut Vec<u8>) -> io::Result<()> {
        text.write_all(&self.opening)?;
        if let Some(from) = self.from {
            write!(text, r#""from":"{}","#, from.name())?;
        }
        text.write_all(b"\"line\":")?;
        json(text, &line)?;
        text.write_all(b",\"offset\":")?;
        json(text, &offset)?;
        text.write_all(b",\"len\":")?;
        json(text, &len)?;
        text.write_all(b",")
    }

    fn frame(&self, frame: &Frame<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        self.place(frame.line(), frame.offset(), frame.as_bytes().len() as u64, text)
    }
}

impl Report for Ndjson {
    fn open(&mut self, source: &Source) {
        self.opening.clear();
        self.opening.push(b'{');
        if self.several {
            let name = serde_json::Value::from(source.name());
            self.opening.extend_from_slice(format!("\"file\":{name},").as_bytes());
        }
    }

    fn side(&mut self, from: Option<Side>) {
        self.from = from;
    }

    fn message(&self, frame: &Frame<'_>, message: &Message<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        self.frame(frame, text)?;
        write_message(message, text)?;
        text.write_all(b"}\n")
    }

    fn batch<'a>(
        &self,
        frame: &Frame<'_>,
        entries: impl Iterator<Item = Result<Message<'a>, Fault>>,
        text: &mut Vec<u8>,
    ) -> io::Result<()> {
        self.frame(frame, text)?;
        write_kind(Kind::Batch.name(), text)?;
        text.write_all(b",\"entries\":[")?;
        let mut opening: &[u8] = b"{";
        for entry in entries {
            text.write_all(opening)?;
            match entry {
                Ok(message) => write_message(&message, text)?,
                Err(fault) => write_fault(&fault, text)?,
            }
            opening = b"},{";
        }
        // A batch has at least one entry.
        text.write_all(b"}]}\n")
    }

    fn fault(&self, fault: &Fault, _: &[u8], text: &mut Vec<u8>) -> io::Result<()> {
        self.place(fault.line(), fault.offset(), fault.line_len(), text)?;
        write_fault(fault, text)?;
        text.write_all(b"}\n")
    }

    fn finish(&self, _: &Summary<'_>, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }
}

fn write_message(message: &Message<'_>, text: &mut Vec<u8>) -> io::Result<()> {
    write_kind(Kind::of(message).name(), text)?;
    write_id(message.id().as_ref(), text)?;
    let method = match message {
        Message::Request(request) => request.method(),
        Message::Notification(notification) => notification.method(),
        Message::Response(_) => return Ok(()),
    };
    text.write_all(b",\"method\":")?;
    json(text, &*method)
}

fn write_fault(fault: &Fault, text: &mut Vec<u8>) -> io::Result<()> {
    write_kind("fault", text)?;
    write_id(fault.id(), text)?;
    write!(text, r#","fault":"{}","code":{},"column":{}"#, fault.kind().name(), fault.code(), fault.column())?;
    if let Some(hint) = fault.hint() {
        write!(text, r#","hint":"{}""#, hint.name())?;
    }
    if let Some(reply) = fault.reply() {
        text.write_all(b",\"reply\":")?;
        serde_json::Serializer::new(text).collect_str(&reply)?;
    }
    Ok(())
}

fn write_kind(name: &str, text: &mut Vec<u8>) -> io::Result<()> {
    text.write_all(b"\"kind\":\"")?;
    text.write_all(name.as_bytes())?;
    text.write_all(b"\"")
}

/// The id as it was sent, which is JSON.
fn write_id(id: Option<&Id<'_>>, text: &mut Vec<u8>) -> io::Result<()> {
    let Some(id) = id else { return Ok(()) };
    text.write_all(b",\"id\":")?;
    text.write_all(id.as_json().as_bytes())
}

fn json<T: Serialize + ?Sized>(text: &mut Vec<u8>, value: &T) -> io::Result<()> {
    Ok(serde_json::to_writer(text, value)?)
}

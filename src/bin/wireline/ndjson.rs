//! A report for machines: one JSON object for each line that is not blank.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use wireline::{Fault, Frame, Id, Message};

use crate::output::Output;
use crate::report::Report;
use crate::source::Source;
use crate::tally::{Kind, Tally};

pub(crate) struct Ndjson {
    /// Whether to say which file a line is of.
    several: bool,
    /// How each object begins.
    opening: Vec<u8>,
}

impl Ndjson {
    pub(crate) fn new(several: bool) -> Self {
        Self { several, opening: Vec::new() }
    }

    /// The beginning of an object, up to where the line is.
    fn place(&self, line: u64, offset: u64, len: u64, output: &mut Output) -> io::Result<()> {
        output.write_all(&self.opening)?;
        json(output, &line)?;
        output.write_all(b",\"offset\":")?;
        json(output, &offset)?;
        output.write_all(b",\"len\":")?;
        json(output, &len)?;
        output.write_all(b",")
    }

    fn frame(&self, frame: &Frame<'_>, output: &mut Output) -> io::Result<()> {
        self.place(frame.line(), frame.offset(), frame.as_bytes().len() as u64, output)
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
        self.opening.extend_from_slice(b"\"line\":");
    }

    fn message(&mut self, frame: &Frame<'_>, message: &Message<'_>, output: &mut Output) -> io::Result<()> {
        self.frame(frame, output)?;
        write_message(message, output)?;
        output.write_all(b"}")?;
        output.end_line()
    }

    fn batch<'a>(
        &mut self,
        frame: &Frame<'_>,
        entries: impl Iterator<Item = Result<Message<'a>, Fault>>,
        output: &mut Output,
    ) -> io::Result<()> {
        self.frame(frame, output)?;
        write_kind(Kind::Batch.name(), output)?;
        output.write_all(b",\"entries\":[")?;
        let mut opening: &[u8] = b"{";
        for entry in entries {
            output.write_all(opening)?;
            match entry {
                Ok(message) => write_message(&message, output)?,
                Err(fault) => write_fault(&fault, output)?,
            }
            opening = b"},{";
        }
        // A batch has at least one entry.
        output.write_all(b"}]}")?;
        output.end_line()
    }

    fn fault(&mut self, fault: &Fault, _: &[u8], output: &mut Output) -> io::Result<()> {
        self.place(fault.line(), fault.offset(), fault.line_len(), output)?;
        write_fault(fault, output)?;
        output.write_all(b"}")?;
        output.end_line()
    }

    fn finish(&mut self, _: &Tally, _: &mut Output) -> io::Result<()> {
        Ok(())
    }
}

fn write_message(message: &Message<'_>, output: &mut Output) -> io::Result<()> {
    write_kind(Kind::of(message).name(), output)?;
    write_id(message.id().as_ref(), output)?;
    let method = match message {
        Message::Request(request) => request.method(),
        Message::Notification(notification) => notification.method(),
        Message::Response(_) => return Ok(()),
    };
    output.write_all(b",\"method\":")?;
    json(output, &*method)
}

fn write_fault(fault: &Fault, output: &mut Output) -> io::Result<()> {
    write_kind("fault", output)?;
    write_id(fault.id(), output)?;
    write!(output, r#","fault":"{}","code":{},"column":{}"#, fault.kind().name(), fault.code(), fault.column())?;
    if let Some(hint) = fault.hint() {
        write!(output, r#","hint":"{}""#, hint.name())?;
    }
    if let Some(reply) = fault.reply() {
        output.write_all(b",\"reply\":")?;
        serde_json::Serializer::new(output).collect_str(&reply)?;
    }
    Ok(())
}

fn write_kind(name: &str, output: &mut Output) -> io::Result<()> {
    output.write_all(b"\"kind\":\"")?;
    output.write_all(name.as_bytes())?;
    output.write_all(b"\"")
}

/// The id as it was sent, which is JSON.
fn write_id(id: Option<&Id<'_>>, output: &mut Output) -> io::Result<()> {
    let Some(id) = id else { return Ok(()) };
    output.write_all(b",\"id\":")?;
    output.write_all(id.as_json().as_bytes())
}

fn json<T: Serialize + ?Sized>(output: &mut Output, value: &T) -> io::Result<()> {
    Ok(serde_json::to_writer(output, value)?)
}

//! The report for machines: one JSON object per line of input, blank lines excepted.

use std::io::{self, Write};
use std::ops::Range;

use serde::Serialize;
use wireline::{Fault, Frame, Id, Message};

use super::{Position, Report};
use crate::framing::Mistake;
use crate::input::Source;
use crate::judge::Finding;
use crate::message_kind::MessageKind;
use crate::session::Side;
use crate::terminal::printable_json;

pub(crate) struct Ndjson {
    /// Whether objects name the file that they are about.
    with_file: bool,
    /// The start of every object.
    opening: Vec<u8>,
    sender: Option<Side>,
}

impl Ndjson {
    pub(crate) fn new(with_file: bool) -> Self {
        Self { with_file, opening: Vec::new(), sender: None }
    }

    /// Writes the start of an object, up to the line's position.
    fn write_start(&self, at: &Position, text: &mut Vec<u8>) -> io::Result<()> {
        text.write_all(&self.opening)?;
        if let Some(sender) = self.sender {
            write!(text, r#""from":"{}","#, sender.name())?;
        }
        write_position(at, text)
    }
}

impl Report for Ndjson {
    const WARNS_ON_STDERR: bool = true;

    fn set_source(&mut self, source: &Source) {
        self.opening.clear();
        self.opening.push(b'{');
        if self.with_file {
            let name = serde_json::Value::from(source.name()).to_string();
            self.opening.extend_from_slice(format!("\"file\":{},", printable_json(&name)).as_bytes());
        }
    }

    fn set_sender(&mut self, sender: Option<Side>) {
        self.sender = sender;
    }

    fn message(&self, at: &Position, message: &Message<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        self.write_start(at, text)?;
        write_message(message, text)?;
        text.write_all(b"}\n")
    }

    fn batch<'a>(
        &self,
        at: &Position,
        _: &Frame<'_>,
        entries: impl Iterator<Item = Result<Message<'a>, Fault>>,
        text: &mut Vec<u8>,
    ) -> io::Result<()> {
        self.write_start(at, text)?;
        write_kind(MessageKind::Batch.name(), text)?;
        text.write_all(b",\"entries\":[")?;
        let mut opening: &[u8] = b"{";
        for entry in entries {
            text.write_all(opening)?;
            match entry {
                Ok(message) => write_message(&message, text)?,
                Err(fault) => write_fault(&fault, at, text)?,
            }
            opening = b"},{";
        }
        // An empty batch is a fault, so there was an entry.
        text.write_all(b"}]}\n")
    }

    fn fault(&self, at: &Position, fault: &Fault, _: &[u8], text: &mut Vec<u8>) -> io::Result<Range<usize>> {
        self.write_start(at, text)?;
        write_fault(fault, at, text)?;
        text.write_all(b"}\n").map(|()| 0..0)
    }

    fn finding(&self, finding: &Finding, text: &mut Vec<u8>) -> io::Result<()> {
        text.write_all(&self.opening)?;
        write_finding(finding, text)?;
        text.write_all(b"}\n")
    }

    /// Adds a member to the object of the line.
    fn unterminated(&self, text: &mut Vec<u8>) -> io::Result<()> {
        const END: &[u8] = b"}\n";
        if text.ends_with(END) {
            text.truncate(text.len() - END.len());
            text.write_all(b",\"unterminated\":true}\n")?;
        }
        Ok(())
    }
}

/// Writes the members about a position.
pub(super) fn write_position(at: &Position, text: &mut Vec<u8>) -> io::Result<()> {
    let Position { line, offset, len, in_frame } = at;
    text.write_all(b"\"line\":")?;
    write_json(text, line)?;
    text.write_all(b",\"offset\":")?;
    write_json(text, offset)?;
    text.write_all(b",\"len\":")?;
    write_json(text, len)?;
    if let Some(in_frame) = in_frame {
        write!(text, ",\"frame\":{}", in_frame.number)?;
    }
    text.write_all(b",")
}

fn write_message(message: &Message<'_>, text: &mut Vec<u8>) -> io::Result<()> {
    write_kind(MessageKind::of(message).name(), text)?;
    write_id(message.id(), text)?;
    let method = match message {
        Message::Request(request) => request.method(),
        Message::Notification(notification) => notification.method(),
        Message::Response(_) => return Ok(()),
    };
    text.write_all(b",\"method\":")?;
    write_printable(&method, text)
}

pub(super) fn write_fault(fault: &Fault, at: &Position, text: &mut Vec<u8>) -> io::Result<()> {
    write_kind("fault", text)?;
    write_id(fault.id(), text)?;
    write!(text, r#","fault":"{}","code":{},"column":{}"#, fault.kind().name(), fault.code(), fault.column())?;
    if let Some(hint) = Mistake::behind(fault, at.in_frame) {
        write!(text, r#","hint":"{}""#, hint.name())?;
    }
    if let Some(reply) = fault.reply() {
        text.write_all(b",\"reply\":")?;
        write_printable(&reply.to_string(), text)?;
    }
    Ok(())
}

/// Writes the members about a finding.
pub(super) fn write_finding(finding: &Finding, text: &mut Vec<u8>) -> io::Result<()> {
    let Finding { rule, dialect, place, evidence, .. } = finding;
    if let Some(sender) = finding.sender {
        write!(text, r#""from":"{}","#, sender.name())?;
    }
    write!(text, r#""line":{},"#, place.line)?;
    write_kind("finding", text)?;
    write!(text, r#","rule":"{}","severity":"{}","protocol":"{dialect}""#, rule.name(), rule.severity().name())?;
    for (name, value) in [("text", Some(evidence)), ("see", rule.reference(*dialect).as_ref())] {
        if let Some(value) = value {
            write!(text, r#","{name}":"#)?;
            write_printable(value, text)?;
        }
    }
    Ok(())
}

fn write_kind(name: &str, text: &mut Vec<u8>) -> io::Result<()> {
    text.write_all(b"\"kind\":\"")?;
    text.write_all(name.as_bytes())?;
    text.write_all(b"\"")
}

/// Writes an id as it was spelled in the message, apart from characters that a terminal must not get.
fn write_id(id: Option<&Id<'_>>, text: &mut Vec<u8>) -> io::Result<()> {
    let Some(id) = id else { return Ok(()) };
    text.write_all(b",\"id\":")?;
    text.write_all(printable_json(id.as_json()).as_bytes())
}

/// Writes a string without characters that a terminal must not get.
fn write_printable(string: &str, text: &mut Vec<u8>) -> io::Result<()> {
    let start = text.len();
    write_json(text, string)?;
    // Nearly all strings are ASCII, of which only DEL is not printable and not escaped either.
    if text[start..].iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(());
    }
    let json = String::from_utf8_lossy(&text[start..]).into_owned();
    text.truncate(start);
    text.write_all(printable_json(&json).as_bytes())
}

fn write_json<T: Serialize + ?Sized>(text: &mut Vec<u8>, value: &T) -> io::Result<()> {
    Ok(serde_json::to_writer(text, value)?)
}

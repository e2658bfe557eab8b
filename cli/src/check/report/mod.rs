//! The formats of a report.

mod human;
mod json;
mod junit;
mod layout;
mod ndjson;
mod sarif;

use std::io;
use std::ops::Range;

use wireline::{Fault, Frame, Message};

use super::assembly::Assembly;
use super::counts::Counts;
use super::summary::Summary;
use crate::framing::InFrame;
use crate::input::Source;
use crate::judge::Finding;
use crate::session::Side;

pub(crate) use human::Human;
pub(crate) use json::Json;
pub(crate) use junit::{Junit, document as junit_document};
pub(crate) use layout::Layout;
pub(crate) use ndjson::Ndjson;
pub(crate) use sarif::Sarif;

/// Where a message or a fault is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// The number of the line or the record in the file.
    pub(crate) line: u64,
    /// The start and the length of the text, in its stream.
    pub(crate) offset: u64,
    pub(crate) len: u64,
    /// Set if the stream isn't framed by lines.
    pub(crate) in_frame: Option<InFrame>,
}

impl Position {
    /// The frame of a fault, for people, unless the stream is framed by lines.
    pub(crate) fn frame(&self, fault: &Fault) -> String {
        self.in_frame.map_or_else(String::new, |in_frame| in_frame.position(fault))
    }
}

/// A format. Its methods append whole lines to a text, or nothing.
///
/// Threads share it: its only state is where the lines come from.
pub(crate) trait Report: Sync {
    /// Whether faults may be left out if there are many.
    const MAY_BE_FOLDED: bool = false;

    /// Whether the report has a beginning and an end even if nothing could be read.
    const HAS_FRAME: bool = false;

    /// Whether warnings go to standard error, because the format has no place for them.
    const WARNS_ON_STDERR: bool = false;

    /// How the parts of the report are put together.
    fn assembly(&self) -> Assembly {
        Assembly::Plain
    }

    /// What the report starts with.
    fn opening(&self) -> &'static str {
        ""
    }

    /// Sets where the lines come from.
    fn set_source(&mut self, source: &Source);

    /// What the report says of a source as a whole, if it has a place for that.
    fn note(&self, what: &str) -> String {
        let _ = what;
        String::new()
    }

    /// Sets who sent the lines, if that is known.
    fn set_sender(&mut self, sender: Option<Side>);

    /// Who sent the lines, if that is known.
    fn sender(&self) -> Option<Side> {
        None
    }

    /// Reports a line that is one message. Most formats list only faults.
    fn message(&self, at: &Position, message: &Message<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        let _ = (at, message, text);
        Ok(())
    }

    /// Reports a line that is a batch. Must consume all entries, because the iterator counts them.
    fn batch<'a>(
        &self,
        at: &Position,
        frame: &Frame<'_>,
        entries: impl Iterator<Item = Result<Message<'a>, Fault>>,
        text: &mut Vec<u8>,
    ) -> io::Result<()> {
        for fault in entries.filter_map(Result::err) {
            self.fault(at, &fault, frame.as_bytes(), text)?;
        }
        Ok(())
    }

    /// Reports a faulty line. `line` is empty if the decoder did not keep it.
    ///
    /// Returns where the text has details that also hold for a finding which includes this fault.
    fn fault(&self, at: &Position, fault: &Fault, line: &[u8], text: &mut Vec<u8>) -> io::Result<Range<usize>>;

    /// Reports that the line before has no line end.
    fn unterminated(&self, text: &mut Vec<u8>) -> io::Result<()> {
        let _ = text;
        Ok(())
    }

    /// Reports that a message or a session breaks a rule.
    fn finding(&self, finding: &Finding, text: &mut Vec<u8>) -> io::Result<()> {
        let _ = (finding, text);
        Ok(())
    }

    /// Ends the report about a source. `unread` says why it could not be read to its end.
    fn end_source(&mut self, counts: &Counts, unread: Option<&str>, text: &mut Vec<u8>) -> io::Result<()> {
        let _ = (counts, unread, text);
        Ok(())
    }

    /// Ends the report.
    fn summary(&self, summary: &Summary<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        let _ = (summary, text);
        Ok(())
    }
}

/// Reports nothing.
pub(crate) struct Quiet;

impl Report for Quiet {
    fn set_source(&mut self, _: &Source) {}

    fn set_sender(&mut self, _: Option<Side>) {}

    fn fault(&self, _: &Position, _: &Fault, _: &[u8], _: &mut Vec<u8>) -> io::Result<Range<usize>> {
        Ok(0..0)
    }
}

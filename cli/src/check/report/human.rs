//! The report for people: faults and a summary.

use std::io::{self, IsTerminal, Write};

use wireline::{Fault, FaultKind, Frame, Id, Message};

use super::Report;
use crate::check::summary::Summary;
use crate::input::Source;
use crate::session::Side;
use crate::terminal::{Excerpt, Styles};

pub(crate) struct Human {
    source: String,
    sender: Option<Side>,
    /// Whether to show excerpts of faulty lines.
    show: bool,
    is_terminal: bool,
    styles: Styles,
}

impl Human {
    pub(crate) fn new(show: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        Self { source: String::new(), sender: None, show, is_terminal, styles: Styles::detect(is_terminal) }
    }
}

impl Report for Human {
    fn set_source(&mut self, source: &Source) {
        self.source = source.escaped_name();
    }

    fn set_sender(&mut self, sender: Option<Side>) {
        self.sender = sender;
    }

    fn message(&self, _: &Frame<'_>, _: &Message<'_>, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }

    fn batch<'a>(
        &self,
        frame: &Frame<'_>,
        entries: impl Iterator<Item = Result<Message<'a>, Fault>>,
        text: &mut Vec<u8>,
    ) -> io::Result<()> {
        for fault in entries.filter_map(Result::err) {
            self.fault(&fault, frame.as_bytes(), text)?;
        }
        Ok(())
    }

    fn fault(&self, fault: &Fault, line: &[u8], text: &mut Vec<u8>) -> io::Result<()> {
        let Self { source, styles: Styles { strong, bad, dim, accent, .. }, .. } = self;
        let (reason, name) = (fault.reason(), fault.kind().name());
        let position = format_args!("{source}:{}:{}:", fault.line(), fault.column());
        let sender = self.sender.map_or_else(String::new, |side| format!(" {}:", side.name()));
        writeln!(text, "{strong}{position}{strong:#}{sender} {reason} {bad}[{name}]{bad:#}")?;

        // How much of an oversized line is left depends on how it was read.
        if self.show && fault.kind() != FaultKind::LineTooLong {
            let Excerpt { text: excerpt, caret } = Excerpt::new(line, fault.column());
            writeln!(text, "    {dim}|{dim:#} {excerpt}")?;
            writeln!(text, "    {dim}|{dim:#} {:caret$}{bad}^{bad:#}", "")?;
        }
        if let Some(hint) = fault.hint() {
            writeln!(text, "    {accent}hint:{accent:#} {hint}")?;
        }
        write!(text, "    {dim}reply: ")?;
        match (fault.reply(), fault.id()) {
            (None, _) if fault.is_response() => write!(text, "none, because the line looks like a response")?,
            (None, _) => write!(text, "none, because the line has no readable id")?,
            (Some(reply), Some(id)) => write!(text, "error {} with the line's id ({})", reply.code(), type_of(id))?,
            (Some(reply), None) if reply.id().is_none() => write!(text, "error {} without an id", reply.code())?,
            (Some(reply), None) => write!(text, "error {} with id null", reply.code())?,
        }
        writeln!(text, "{dim:#}")
    }

    fn summary(&self, summary: &Summary<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        summary.write(&self.styles, self.is_terminal, text)
    }
}

/// The type of an id, which reveals nothing of its content.
fn type_of(id: &Id<'_>) -> &'static str {
    if id.is_string() {
        "a string"
    } else if id.is_number() {
        "a number"
    } else {
        "null"
    }
}

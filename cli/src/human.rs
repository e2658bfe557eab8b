//! A report for people: the faults, and a summary.

use std::io::{self, IsTerminal, Write};

use wireline::{Fault, FaultKind, Frame, Id, Message};

use crate::colours::Colours;
use crate::excerpt::Excerpt;
use crate::report::Report;
use crate::session::Side;
use crate::source::Source;
use crate::summary::Summary;

pub(crate) struct Human {
    source: String,
    from: Option<Side>,
    /// Whether to show what is faulty.
    show: bool,
    is_terminal: bool,
    colours: Colours,
}

impl Human {
    pub(crate) fn new(show: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        Self { source: String::new(), from: None, show, is_terminal, colours: Colours::detect(is_terminal) }
    }
}

impl Report for Human {
    fn open(&mut self, source: &Source) {
        self.source = source.shown();
    }

    fn side(&mut self, from: Option<Side>) {
        self.from = from;
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
        let Self { source, colours: Colours { place, bad, quiet, hint, .. }, .. } = self;
        let (kind, name) = (fault.kind(), fault.kind().name());
        let at = format_args!("{source}:{}:{}:", fault.line(), fault.column());
        let from = self.from.map_or_else(String::new, |side| format!(" {}:", side.name()));
        writeln!(text, "{place}{at}{place:#}{from} {kind} {bad}[{name}]{bad:#}")?;

        // Of a line that is too long there may be nothing left, depending on how it came in.
        if self.show && kind != FaultKind::LineTooLong {
            let Excerpt { text: excerpt, caret } = Excerpt::new(line, fault.column());
            writeln!(text, "    {quiet}|{quiet:#} {excerpt}")?;
            writeln!(text, "    {quiet}|{quiet:#} {:caret$}{bad}^{bad:#}", "")?;
        }
        if let Some(guess) = fault.hint() {
            writeln!(text, "    {hint}hint:{hint:#} {guess}")?;
        }
        write!(text, "    {quiet}reply: ")?;
        match (fault.reply(), fault.id()) {
            (None, Some(_)) => write!(text, "none, as it looks like a response")?,
            (None, None) => write!(text, "none")?,
            (Some(reply), Some(id)) => write!(text, "error {} with its id, {}", reply.code(), type_of(id))?,
            (Some(reply), None) if reply.id().is_none() => write!(text, "error {} without an id", reply.code())?,
            (Some(reply), None) => write!(text, "error {} with id null", reply.code())?,
        }
        writeln!(text, "{quiet:#}")
    }

    fn finish(&self, summary: &Summary<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        summary.write(&self.colours, self.is_terminal, text)
    }
}

/// What an id is, without a word of it.
fn type_of(id: &Id<'_>) -> &'static str {
    match () {
        () if id.is_string() => "a string",
        () if id.is_number() => "a number",
        () => "null",
    }
}

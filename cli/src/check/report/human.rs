//! The report for people: faults and a summary.

use std::io::{self, IsTerminal, Write};

use clap::builder::styling::Style;
use wireline::{Fault, FaultKind, Frame, Id, Message};

use super::Report;
use crate::check::assembly::Assembly;
use crate::check::folding::Folder;
use crate::check::summary::Summary;
use crate::input::Source;
use crate::line_ends::UNTERMINATED_HINT;
use crate::session::Side;
use crate::terminal::{Excerpt, Styles, columns, terminal_columns, wrap};

/// The width of the space before details.
const INDENT: usize = 4;

pub(crate) struct Human {
    source: String,
    sender: Option<Side>,
    /// Whether to show excerpts of faulty lines.
    show: bool,
    /// Whether to report equal faults one by one, however many.
    all: bool,
    /// The width of the terminal, or unlimited.
    columns: usize,
    styles: Styles,
}

impl Human {
    pub(crate) fn new(show: bool, all: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let columns = if is_terminal { terminal_columns(io::stdout()) } else { usize::MAX };
        let styles = Styles::detect(is_terminal);
        Self { source: String::new(), sender: None, show, all, columns, styles }
    }
}

impl Human {
    /// Writes an indented text in lines that fit the terminal.
    fn write_wrapped(&self, what: &str, style: Style, text: &mut Vec<u8>) -> io::Result<()> {
        let room = self.columns.saturating_sub(INDENT + 1);
        wrap(what, room).try_for_each(|line| writeln!(text, "{:INDENT$}{style}{line}{style:#}", ""))
    }

    fn write_hint(&self, hint: &str, text: &mut Vec<u8>) -> io::Result<()> {
        let accent = self.styles.accent;
        // The first line is shorter by its label.
        let label = "hint: ";
        let room = self.columns.saturating_sub(INDENT + label.len() + 1);
        for (number, line) in wrap(hint, room).enumerate() {
            match number {
                0 => writeln!(text, "{:INDENT$}{accent}hint:{accent:#} {line}", "")?,
                _ => writeln!(text, "{:1$}{line}", "", INDENT + label.len())?,
            }
        }
        Ok(())
    }
}

impl Report for Human {
    const MAY_BE_FOLDED: bool = true;

    fn assembly(&self) -> Assembly {
        if self.all { Assembly::Plain } else { Assembly::Folded(Folder::default()) }
    }

    fn sender(&self) -> Option<Side> {
        self.sender
    }

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
        let Self { source, styles: Styles { strong, bad, dim, .. }, .. } = self;
        let (reason, name) = (fault.reason(), fault.kind().name());
        let position = format_args!("{source}:{}:{}:", fault.line(), fault.column());
        let sender = self.sender.map_or_else(String::new, |side| format!(" {}:", side.name()));
        let plain = format!("{position}{sender} {reason} [{name}]");
        if columns(&plain) < self.columns {
            writeln!(text, "{strong}{position}{strong:#}{sender} {reason} {bad}[{name}]{bad:#}")?;
        } else {
            writeln!(text, "{strong}{position}{strong:#}{sender}")?;
            self.write_wrapped(&format!("{reason} [{name}]"), *bad, text)?;
        }

        // How much of an oversized line is left depends on how it was read.
        if self.show && fault.kind() != FaultKind::LineTooLong {
            let Excerpt { text: excerpt, caret } = Excerpt::new(line, fault.column(), self.columns);
            writeln!(text, "    {dim}|{dim:#} {excerpt}")?;
            writeln!(text, "    {dim}|{dim:#} {:caret$}{bad}^{bad:#}", "")?;
        }
        if let Some(hint) = fault.hint() {
            self.write_hint(&hint.to_string(), text)?;
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

    fn unterminated(&self, text: &mut Vec<u8>) -> io::Result<()> {
        let Self { source, styles: Styles { strong, bad, .. }, .. } = self;
        let sender = self.sender.map_or_else(String::new, |side| format!(" {}:", side.name()));
        writeln!(text, "{strong}{source}:{strong:#}{sender} the last line has no line end {bad}[unterminated]{bad:#}")?;
        self.write_hint(UNTERMINATED_HINT, text)
    }

    fn summary(&self, summary: &Summary<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        summary.write(&self.styles, self.columns, text)
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

//! The report for people: faults and a summary.

use std::fmt::Display;
use std::io::{self, Write};
use std::ops::Range;

use clap::builder::styling::Style;
use wireline::{Fault, FaultKind, Id};

use super::{Layout, Position, Report};
use crate::check::assembly::Assembly;
use crate::check::folding::Folder;
use crate::check::summary::Summary;
use crate::framing::Mistake;
use crate::input::Source;
use crate::judge::{Finding, Severity};
use crate::line_ends::UNTERMINATED_HINT;
use crate::session::Side;
use crate::terminal::{Excerpt, Styles, wrap_message};

pub(crate) struct Human {
    source: String,
    sender: Option<Side>,
    /// Whether to show excerpts of faulty lines.
    show: bool,
    /// Whether to report equal faults one by one, however many.
    all: bool,
    layout: Layout,
}

impl Human {
    pub(crate) fn new(show: bool, all: bool) -> Self {
        Self { source: String::new(), sender: None, show, all, layout: Layout::detect() }
    }

    /// What a finding is, after its sender if that is known.
    fn sent(&self, what: impl Display) -> String {
        match self.sender {
            Some(sender) => format!("{}: {what}", sender.name()),
            None => what.to_string(),
        }
    }

    fn write_hint(&self, hint: &str, text: &mut Vec<u8>) -> io::Result<()> {
        let Styles { accent, .. } = self.layout.styles;
        self.layout.write_detail("hint: ", accent, hint, Style::new(), text)
    }
}

impl Report for Human {
    const MAY_BE_FOLDED: bool = true;

    fn assembly(&self) -> Assembly {
        if self.all { Assembly::Plain } else { Assembly::Folded(Box::new(Folder::new(String::new(), self.layout))) }
    }

    fn sender(&self) -> Option<Side> {
        self.sender
    }

    fn set_source(&mut self, source: &Source) {
        self.source = source.escaped_name();
    }

    fn note(&self, what: &str) -> String {
        wrap_message(&format!("{}: {what}", self.source), self.layout.columns) + "\n"
    }

    fn set_sender(&mut self, sender: Option<Side>) {
        self.sender = sender;
    }

    fn fault(&self, at: &Position, fault: &Fault, line: &[u8], text: &mut Vec<u8>) -> io::Result<Range<usize>> {
        let Styles { bad, dim, .. } = self.layout.styles;
        let (position, what) = match at.in_frame {
            None => (format!("{}:{}:{}:", self.source, at.line, fault.column()), self.sent(fault.reason())),
            Some(_) => {
                let what = format!("{}{}", at.frame(fault), fault.reason());
                (format!("{}:{}:", self.source, at.line), self.sent(what))
            }
        };
        self.layout.write_heading(&position, &what, fault.kind().name(), text)?;

        let start = text.len();
        // How much of an oversized line is left depends on how it was read.
        if self.show && fault.kind() != FaultKind::LineTooLong {
            let Excerpt { text: excerpt, caret } = Excerpt::new(line, fault.column(), self.layout.columns);
            writeln!(text, "    {dim}|{dim:#} {excerpt}")?;
            writeln!(text, "    {dim}|{dim:#} {:caret$}{bad}^{bad:#}", "")?;
        }
        if let Some(hint) = Mistake::behind(fault, at.in_frame) {
            self.write_hint(&hint.to_string(), text)?;
        }
        let details = start..text.len();
        let reply = match (fault.reply(), fault.id()) {
            (None, _) if fault.is_response() => "none, because the line looks like a response".to_owned(),
            (None, _) => "none, because the line has no readable id".to_owned(),
            (Some(reply), Some(id)) => format!("error {} with the line's id ({})", reply.code(), type_of(id)),
            (Some(reply), None) if reply.id().is_none() => format!("error {} without an id", reply.code()),
            (Some(reply), None) => format!("error {} with id null", reply.code()),
        };
        self.layout.write_detail("reply: ", dim, &reply, dim, text)?;
        Ok(details)
    }

    fn finding(&self, finding: &Finding, text: &mut Vec<u8>) -> io::Result<()> {
        let Styles { bad, accent, dim, .. } = self.layout.styles;
        let Finding { rule, dialect, place, evidence, detail, .. } = finding;
        let position = format!("{}:{}:", self.source, place.line);
        let detail = detail.as_deref().filter(|_| self.show).map_or_else(String::new, |detail| format!(" ({detail})"));
        let what = format!("{}{evidence}{detail}", finding.sent());
        self.layout.write_heading(&position, &what, rule.name(), text)?;
        let (label, style) = match rule.severity() {
            Severity::Error => ("error: ", bad),
            Severity::Warning => ("warning: ", accent),
        };
        self.layout.write_detail(label, style, rule.text(), Style::new(), text)?;
        match rule.reference(*dialect) {
            Some(reference) => self.layout.write_detail("see: ", dim, &reference, dim, text),
            None => Ok(()),
        }
    }

    fn unterminated(&self, text: &mut Vec<u8>) -> io::Result<()> {
        let (position, what) = (format!("{}:", self.source), self.sent("the last line has no line end"));
        self.layout.write_heading(&position, &what, "unterminated", text)?;
        self.write_hint(UNTERMINATED_HINT, text)
    }

    fn summary(&self, summary: &Summary<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        summary.write(&self.layout.styles, self.layout.columns, text)
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

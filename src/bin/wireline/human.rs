//! A report for people: the faults, and a summary.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::BinaryBytes;
use wireline::{Fault, FaultKind, Frame, Id, Message};

use crate::colours::Colours;
use crate::excerpt::Excerpt;
use crate::output::Output;
use crate::report::Report;
use crate::source::Source;
use crate::tally::{Kind, Tally};

pub(crate) struct Human {
    source: String,
    /// Whether to show what is faulty.
    show: bool,
    colours: Colours,
}

impl Human {
    pub(crate) fn new(show: bool) -> Self {
        Self { source: String::new(), show, colours: Colours::detect(io::stdout().is_terminal()) }
    }
}

impl Report for Human {
    fn open(&mut self, source: &Source) {
        self.source = source.shown();
    }

    fn message(&mut self, _: &Frame<'_>, _: &Message<'_>, _: &mut Output) -> io::Result<()> {
        Ok(())
    }

    fn batch<'a>(
        &mut self,
        frame: &Frame<'_>,
        entries: impl Iterator<Item = Result<Message<'a>, Fault>>,
        output: &mut Output,
    ) -> io::Result<()> {
        for fault in entries.filter_map(Result::err) {
            self.fault(&fault, frame.as_bytes(), output)?;
        }
        Ok(())
    }

    fn fault(&mut self, fault: &Fault, line: &[u8], output: &mut Output) -> io::Result<()> {
        let Self { source, colours: Colours { place, bad, quiet, hint, .. }, .. } = self;
        let (kind, name) = (fault.kind(), fault.kind().name());
        let at = format_args!("{source}:{}:{}:", fault.line(), fault.column());
        write!(output, "{place}{at}{place:#} {kind} {bad}[{name}]{bad:#}")?;
        output.end_line()?;

        // Of a line that is too long there may be nothing left, depending on how it came in.
        if self.show && kind != FaultKind::LineTooLong {
            let Excerpt { text, caret } = Excerpt::new(line, fault.column());
            write!(output, "    {quiet}|{quiet:#} {text}")?;
            output.end_line()?;
            write!(output, "    {quiet}|{quiet:#} {:caret$}{bad}^{bad:#}", "")?;
            output.end_line()?;
        }
        if let Some(guess) = fault.hint() {
            write!(output, "    {hint}hint:{hint:#} {guess}")?;
            output.end_line()?;
        }
        write!(output, "    {quiet}reply: ")?;
        match (fault.reply(), fault.id()) {
            (None, Some(_)) => write!(output, "none, as it looks like a response")?,
            (None, None) => write!(output, "none")?,
            (Some(reply), Some(id)) => write!(output, "error {} with its id, {}", reply.code(), type_of(id))?,
            (Some(reply), None) if reply.id().is_none() => write!(output, "error {} without an id", reply.code())?,
            (Some(reply), None) => write!(output, "error {} with id null", reply.code())?,
        }
        write!(output, "{quiet:#}")?;
        output.end_line()
    }

    fn finish(&mut self, tally: &Tally, output: &mut Output) -> io::Result<()> {
        let Colours { good, bad, .. } = self.colours;
        let (faults, elapsed) = (tally.faults(), tally.elapsed());
        if faults > 0 {
            output.end_line()?;
        }
        let width = tally.lines.max(faults).to_string().len().max(6);
        for (kind, one, more) in [
            (Kind::Request, "request", "requests"),
            (Kind::Notification, "notification", "notifications"),
            (Kind::Response, "response", "responses"),
            (Kind::Error, "error response", "error responses"),
            (Kind::Batch, "batch", "batches"),
        ] {
            let count = tally.of_kind(kind);
            write!(output, "{count:width$} {}", if count == 1 { one } else { more })?;
            output.end_line()?;
        }
        let verdict = if faults == 0 { good } else { bad };
        write!(output, "{verdict}{faults:width$} {}{verdict:#}", if faults == 1 { "fault" } else { "faults" })?;
        output.end_line()?;
        for (kind, count) in tally.faults_by_kind() {
            write!(output, "{:width$} {count:width$} {}", "", kind.name())?;
            output.end_line()?;
        }
        let (size, rate) = (BinaryBytes(tally.bytes), BinaryBytes(per_second(tally.bytes, elapsed)));
        let lines = if tally.lines == 1 { "line" } else { "lines" };
        write!(output, "{:width$} {lines}, {size} in {elapsed:.1?}, {rate}/s", tally.lines)?;
        output.end_line()
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

fn per_second(bytes: u64, elapsed: Duration) -> u64 {
    (bytes as f64 / elapsed.as_secs_f64().max(1e-9)) as u64
}

//! Keeps a report short: a message that was printed over several lines is one finding, and of many equal faults only
//! the first ones are reported.
//!
//! It works on the report in the order of the lines, so that its result does not depend on the number of threads.

use std::io::Write;

use wireline::{Fault, FaultKind, Hint};

use crate::findings::{EqualFaults, Likeness, LinePart, MAX_EQUAL, PrintedRun};
use crate::session::Side;

/// A part of a report, always whole lines.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    /// The faults among them that may be folded, in order.
    pub(crate) faults: Vec<ReportedFault>,
}

/// Where a report speaks of a fault.
pub(crate) struct ReportedFault {
    start: usize,
    end: usize,
    kind: FaultKind,
    hint: Option<Hint>,
    sender: Option<Side>,
    part: LinePart,
}

impl ReportedFault {
    /// A fault in `line` that the report speaks of from `start` to `end`.
    pub(crate) fn new(fault: &Fault, line: &[u8], sender: Option<Side>, start: usize, end: usize) -> Self {
        Self { start, end, kind: fault.kind(), hint: fault.hint(), sender, part: LinePart::new(fault, line) }
    }
}

/// Lines that look like messages printed over several lines.
struct Run {
    lines: PrintedRun,
    sender: Option<Side>,
    /// The report about the first of the lines.
    text: Vec<u8>,
}

/// Folds the report about one source.
#[derive(Default)]
pub(crate) struct Folder {
    /// The name of the source, as the report has it.
    source: String,
    run: Option<Run>,
    equal: EqualFaults,
}

impl Folder {
    pub(crate) fn new(source: String) -> Self {
        Self { source, ..Self::default() }
    }

    /// Returns what is to be printed of `text`, and clears it.
    pub(crate) fn fold(&mut self, text: &mut Text) -> Vec<u8> {
        if text.faults.is_empty() && self.run.is_none() {
            return std::mem::take(&mut text.bytes);
        }
        let mut folded = Vec::with_capacity(text.bytes.len().min(64 << 10));
        let mut copied = 0;
        for fault in text.faults.drain(..) {
            if fault.start > copied {
                self.end_run(&mut folded);
                folded.extend_from_slice(&text.bytes[copied..fault.start]);
            }
            self.add(&fault, &text.bytes[fault.start..fault.end], &mut folded);
            copied = fault.end;
        }
        if text.bytes.len() > copied {
            self.end_run(&mut folded);
            folded.extend_from_slice(&text.bytes[copied..]);
        }
        text.bytes.clear();
        folded
    }

    fn add(&mut self, fault: &ReportedFault, text: &[u8], folded: &mut Vec<u8>) {
        let &ReportedFault { kind, hint, sender, part, .. } = fault;
        if self.run.as_mut().is_some_and(|run| run.sender == sender && run.lines.add(part)) {
            return;
        }
        self.end_run(folded);
        if let Some(lines) = PrintedRun::start(part) {
            self.run = Some(Run { lines, sender, text: text.to_vec() });
        } else if self.equal.add(None, Likeness::Fault(kind, hint)) <= MAX_EQUAL {
            folded.extend_from_slice(text);
        }
    }

    fn end_run(&mut self, folded: &mut Vec<u8>) {
        let Some(Run { lines, sender, text }) = self.run.take() else { return };
        if self.equal.add(None, Likeness::PrintedRun) > MAX_EQUAL {
            return;
        }
        if lines.is_single() {
            folded.extend_from_slice(&text);
            return;
        }
        let sender = sender.map_or_else(String::new, |side| format!(" {}:", side.name()));
        let (source, first) = (&self.source, lines.first_line());
        // Writing to a vector cannot fail.
        let _ = writeln!(folded, "{source}:{first}:{sender} {lines} [{}]", Hint::PrettyPrinted.name());
        // What the report says of the first line, between its position and the reply.
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        if let [_, details @ .., _] = &lines[..] {
            details.iter().for_each(|line| folded.extend_from_slice(line));
        }
    }

    /// Ends the report about the source.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let mut folded = Vec::new();
        self.end_run(&mut folded);
        for (_, more) in self.equal.more() {
            let _ = writeln!(folded, "{}: {more}", self.source);
        }
        folded
    }
}

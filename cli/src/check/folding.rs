//! Keeps a report short: a message that was printed over several lines is one finding, and of many equal faults only
//! the first ones are reported.
//!
//! It works on the report in the order of the lines, so that its result does not depend on the number of threads.

use std::ops::Range;

use wireline::{Fault, Hint};

use super::report::Layout;
use crate::findings::{EqualFaults, Likeness, LinePart, MAX_EQUAL, PrintedRun};
use crate::judge::Rule;
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
    all: Range<usize>,
    /// The part of it that also holds for a run of which the fault is the first.
    details: Range<usize>,
    likeness: Likeness,
    sender: Option<Side>,
    /// `None` for a finding of the judge, which is about a valid line.
    part: Option<LinePart>,
}

impl ReportedFault {
    /// A fault in `line` with this number, of which `all` and `details` of the report speak.
    pub(crate) fn new(
        fault: &Fault,
        number: u64,
        line: &[u8],
        sender: Option<Side>,
        all: Range<usize>,
        details: Range<usize>,
    ) -> Self {
        let likeness = Likeness::Fault(fault.kind(), fault.hint());
        Self { all, details, likeness, sender, part: Some(LinePart::new(fault, number, line)) }
    }

    /// A finding, of which `all` of the report speaks.
    pub(crate) fn of_finding(rule: Rule, all: Range<usize>) -> Self {
        Self { all, details: 0..0, likeness: Likeness::Finding(rule), sender: None, part: None }
    }
}

/// Lines that look like messages printed over several lines.
struct Run {
    lines: PrintedRun,
    sender: Option<Side>,
    /// The report about the first of the lines, and the part of it that holds for all.
    text: Vec<u8>,
    details: Vec<u8>,
}

/// Folds the report about one source.
pub(crate) struct Folder {
    /// The name of the source, as the report has it.
    source: String,
    layout: Layout,
    run: Option<Run>,
    equal: EqualFaults,
}

impl Folder {
    pub(crate) fn new(source: String, layout: Layout) -> Self {
        Self { source, layout, run: None, equal: EqualFaults::default() }
    }

    /// Starts with another source.
    pub(crate) fn start(&mut self, source: String) {
        *self = Self::new(source, self.layout);
    }

    /// Returns what is to be printed of `text`, and clears it.
    pub(crate) fn fold(&mut self, text: &mut Text) -> Vec<u8> {
        if text.faults.is_empty() && self.run.is_none() {
            return std::mem::take(&mut text.bytes);
        }
        let mut folded = Vec::with_capacity(text.bytes.len().min(64 << 10));
        let mut copied = 0;
        for fault in text.faults.drain(..) {
            if fault.all.start > copied {
                self.end_run(&mut folded);
                folded.extend_from_slice(&text.bytes[copied..fault.all.start]);
            }
            copied = fault.all.end;
            self.add(fault, &text.bytes, &mut folded);
        }
        if text.bytes.len() > copied {
            self.end_run(&mut folded);
            folded.extend_from_slice(&text.bytes[copied..]);
        }
        text.bytes.clear();
        folded
    }

    fn add(&mut self, fault: ReportedFault, text: &[u8], folded: &mut Vec<u8>) {
        let ReportedFault { all, details, likeness, sender, part } = fault;
        if let (Some(run), Some(part)) = (&mut self.run, part)
            && run.sender == sender
            && run.lines.add(part)
        {
            return;
        }
        self.end_run(folded);
        if let Some(lines) = part.and_then(PrintedRun::start) {
            self.run = Some(Run { lines, sender, text: text[all].to_vec(), details: text[details].to_vec() });
        } else if self.equal.add(None, likeness) <= MAX_EQUAL {
            folded.extend_from_slice(&text[all]);
        }
    }

    fn end_run(&mut self, folded: &mut Vec<u8>) {
        let Some(Run { lines, sender, text, details }) = self.run.take() else { return };
        if self.equal.add(None, Likeness::PrintedRun) > MAX_EQUAL {
            return;
        }
        if lines.is_single() {
            folded.extend_from_slice(&text);
            return;
        }
        let sender = sender.map_or_else(String::new, |side| format!("{}: ", side.name()));
        let (position, what) = (format!("{}:{}:", self.source, lines.first_line()), format!("{sender}{lines}"));
        // Writing to a vector cannot fail.
        let _ = self.layout.write_heading(&position, &what, Hint::PrettyPrinted.name(), folded);
        folded.extend_from_slice(&details);
    }

    /// Ends the report about the source.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let mut folded = Vec::new();
        self.end_run(&mut folded);
        for (_, more, name) in std::mem::take(&mut self.equal).more() {
            let _ = self.layout.write_heading(&format!("{}:", self.source), &more, name, &mut folded);
        }
        folded
    }
}

//! Keeps a report short: a message that was printed over several lines is one finding, and of many equal faults only
//! the first ones are reported.
//!
//! It works on the report in the order of the lines, so that its result does not depend on the number of threads.

use std::collections::HashMap;
use std::io::Write;

use wireline::{Fault, FaultKind, Hint};

use crate::session::Side;
use crate::units::{Count, counted};

/// How many equal faults of a source are reported one by one.
pub(crate) const MAX_EQUAL: u64 = 20;

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
    line: u64,
    kind: FaultKind,
    hint: Option<Hint>,
    sender: Option<Side>,
    /// Whether the line opens an object or an array that nothing encloses.
    is_opening: bool,
}

impl ReportedFault {
    /// A fault in `line` that the report speaks of from `start` to `end`.
    pub(crate) fn new(fault: &Fault, line: &[u8], sender: Option<Side>, start: usize, end: usize) -> Self {
        let is_opening = matches!(line.first(), Some(b'{' | b'['));
        Self { start, end, line: fault.line(), kind: fault.kind(), hint: fault.hint(), sender, is_opening }
    }
}

/// Lines that look like one message, printed over several lines.
struct Run {
    sender: Option<Side>,
    first: u64,
    last: u64,
    /// How many messages they look like.
    messages: u64,
    /// The report about the first of the lines.
    text: Vec<u8>,
}

/// Folds the report about one source.
#[derive(Default)]
pub(crate) struct Folder {
    /// The name of the source, as the report has it.
    source: String,
    run: Option<Run>,
    equal: HashMap<(FaultKind, Option<&'static str>), u64>,
}

impl Folder {
    pub(crate) fn new(source: String) -> Self {
        Self { source, ..Self::default() }
    }

    /// Returns what is to be printed of `text`, and clears it.
    pub(crate) fn fold(&mut self, text: &mut Text) -> Vec<u8> {
        if text.faults.is_empty() && self.run.is_none() {
            text.faults.clear();
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
        if fault.hint == Some(Hint::PrettyPrinted) {
            match &mut self.run {
                Some(run) if run.last + 1 == fault.line && run.sender == fault.sender => {
                    run.last = fault.line;
                    run.messages += u64::from(fault.is_opening);
                }
                _ => {
                    self.end_run(folded);
                    let (line, sender) = (fault.line, fault.sender);
                    let messages = u64::from(fault.is_opening);
                    self.run = Some(Run { sender, first: line, last: line, messages, text: text.to_vec() });
                }
            }
            return;
        }
        self.end_run(folded);
        let count = self.equal.entry((fault.kind, fault.hint.map(Hint::name))).or_default();
        *count += 1;
        if *count <= MAX_EQUAL {
            folded.extend_from_slice(text);
        }
    }

    fn end_run(&mut self, folded: &mut Vec<u8>) {
        let Some(run) = self.run.take() else { return };
        let count = self.equal.entry((FaultKind::TrailingData, Some("run"))).or_default();
        *count += 1;
        if *count > MAX_EQUAL {
            return;
        }
        let Run { sender, first, last, messages, text } = run;
        if first == last {
            folded.extend_from_slice(&text);
            return;
        }
        let sender = sender.map_or_else(String::new, |side| format!(" {}:", side.name()));
        let what = match messages {
            ..=1 => "one message printed over several lines".to_owned(),
            messages => format!("{} messages printed over several lines", Count(messages)),
        };
        // Writing to a vector cannot fail.
        let _ = writeln!(folded, "{}:{first}:{sender} lines {first}–{last}: {what} [pretty-printed]", self.source);
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
        let mut more: Vec<_> = self.equal.into_iter().filter(|(_, count)| *count > MAX_EQUAL).collect();
        more.sort_by_key(|((kind, hint), count)| (std::cmp::Reverse(*count), kind.name(), *hint));
        for ((kind, hint), count) in more {
            let (source, count) = (&self.source, count - MAX_EQUAL);
            let _ = match hint {
                Some("run") => {
                    let what = counted(count, "more group of lines", "more groups of lines");
                    writeln!(folded, "{source}: {what} like that [pretty-printed]")
                }
                _ => writeln!(
                    folded,
                    "{source}: {} like that [{}]",
                    counted(count, "more fault", "more faults"),
                    kind.name()
                ),
            };
        }
        folded
    }
}

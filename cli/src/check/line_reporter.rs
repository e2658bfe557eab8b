//! Takes lines out of a decoder, counts them, and collects the report about them.

use std::io;

use wireline::{Decoder, Frame};

use super::counts::Counts;
use super::folding::{ReportedFault, Text};
use super::report::Report;
use crate::message_kind::MessageKind;

/// How much text to collect before sending it.
const TEXT_LEN: usize = 64 << 10;

/// Receives collected text, and clears it.
pub(crate) type SendText<'a> = dyn FnMut(&mut Text) -> io::Result<()> + 'a;

/// Whether the last line must have a line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    Required,
    Optional,
}

/// Counts and reports what a decoder yields.
pub(crate) struct LineReporter<'a, R> {
    report: &'a R,
    counts: &'a mut Counts,
    text: Text,
    send: &'a mut SendText<'a>,
}

impl<'a, R: Report> LineReporter<'a, R> {
    pub(crate) fn new(report: &'a R, counts: &'a mut Counts, send: &'a mut SendText<'a>) -> Self {
        Self { report, counts, text: Text::default(), send }
    }

    /// Reports all lines that are complete, and sends the text when there is enough of it.
    pub(crate) fn report_lines(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        loop {
            let Self { report, counts, text, .. } = self;
            let (faults_before, start) = (counts.faults(), text.bytes.len());
            match decoder.next_frame() {
                None => return Ok(()),
                Some(Ok(frame)) => match &frame {
                    Frame::Message(message) => {
                        counts.add_message(MessageKind::of(message));
                        report.message(&frame, message, &mut text.bytes)?;
                    }
                    Frame::Batch(batch) => {
                        counts.add_message(MessageKind::Batch);
                        let entries = batch.iter().inspect(|entry| counts.add_batch_entry(entry));
                        report.batch(&frame, entries, &mut text.bytes)?;
                    }
                },
                Some(Err(fault)) => {
                    counts.add_fault(&fault);
                    let line = decoder.last_line();
                    let details = report.fault(&fault, line, &mut text.bytes)?;
                    if R::MAY_BE_FOLDED {
                        let all = start..text.bytes.len();
                        text.faults.push(ReportedFault::new(&fault, line, report.sender(), all, details));
                    }
                }
            }
            counts.lines += 1;
            counts.faulty_lines += u64::from(counts.faults() > faults_before);
            if text.bytes.len() >= TEXT_LEN {
                self.send()?;
            }
        }
    }

    /// Ends the stream, and reports its last line if that is without its line end.
    pub(crate) fn finish(&mut self, decoder: &mut Decoder, ends: Ends) -> io::Result<()> {
        self.report_lines(decoder)?;
        let lines_before = self.counts.lines;
        decoder.finish();
        self.report_lines(decoder)?;
        if self.counts.lines > lines_before && ends == Ends::Required {
            self.counts.unterminated += 1;
            self.report.unterminated(&mut self.text.bytes)?;
        }
        Ok(())
    }

    /// Sends the text collected so far.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        if self.text.bytes.is_empty() {
            return Ok(());
        }
        (self.send)(&mut self.text)?;
        self.text.bytes.shrink_to(2 * TEXT_LEN);
        Ok(())
    }

    /// Adds lines that ended in a carriage return and a line feed.
    pub(crate) fn add_returns(&mut self, lines: u64) {
        self.counts.add_returns(None, lines);
    }

    pub(crate) fn add_bytes(&mut self, bytes: u64) {
        self.counts.bytes += bytes;
    }
}

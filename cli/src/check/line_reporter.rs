//! Takes lines out of a decoder, counts them, and collects the report about them.

use std::io;

use wireline::{Decoder, Frame};

use super::counts::Counts;
use super::folding::{ReportedFault, Text};
use super::judging::Judging;
use super::report::{Position, Report};
use crate::framing::Frames;
use crate::judge::{self, Finding};
use crate::message_kind::MessageKind;
use crate::session::Side;

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
pub(crate) struct LineReporter<'a, 'b, R> {
    report: &'a R,
    counts: &'a mut Counts,
    text: Text,
    send: &'a mut SendText<'a>,
    judging: Option<(&'a mut Judging<'b>, Side)>,
    judges_lines: bool,
    /// Set if the stream isn't framed by lines.
    frames: Option<Frames>,
    /// The number of the record whose bytes complete a frame.
    record: Option<u64>,
    /// What to report after the current line.
    findings: Vec<Finding>,
}

impl<'a, 'b, R: Report> LineReporter<'a, 'b, R> {
    pub(crate) fn new(report: &'a R, counts: &'a mut Counts, send: &'a mut SendText<'a>) -> Self {
        let (text, findings) = (Text::default(), Vec::new());
        Self { report, counts, text, send, judging: None, judges_lines: false, frames: None, record: None, findings }
    }

    /// Judges each line on its own, without regard to its sender.
    pub(crate) fn judging_lines(mut self, judges_lines: bool) -> Self {
        self.judges_lines = judges_lines;
        self
    }

    /// Judges the lines as messages of a session that `sender` sends.
    pub(crate) fn judging(mut self, judging: &'a mut Judging<'b>, sender: Side) -> Self {
        self.judging = Some((judging, sender));
        self
    }

    /// Sets whether the stream isn't framed by lines, and the record that completes its frames, if it is recorded.
    pub(crate) fn set_frames(&mut self, frames: Option<Frames>, record: Option<u64>) {
        (self.frames, self.record) = (frames, record.filter(|_| frames.is_some()));
    }

    pub(crate) fn frames(&self) -> Option<Frames> {
        self.frames
    }

    /// Reports all lines that are complete, and sends the text when there is enough of it.
    pub(crate) fn report_lines(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        match self.frames {
            None => self.report_frames::<false>(decoder),
            Some(_) => self.report_frames::<true>(decoder),
        }
    }

    /// Compiled separately for lines, so that they don't take longer because of the other framings.
    fn report_frames<const ARE_NUMBERED: bool>(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        loop {
            let Some(frame) = decoder.next_frame() else { return Ok(()) };
            // Not right after their line: a missing line end is reported before them.
            if !self.findings.is_empty() {
                self.report_findings()?;
            }
            let Self { report, counts, text, judging, judges_lines, frames, record, findings, .. } = self;
            let (mut frames, record) = if ARE_NUMBERED { (frames.as_mut(), *record) } else { (None, None) };
            let (faults_before, start) = (counts.faults(), text.bytes.len());
            match frame {
                Ok(frame) => {
                    let in_frame = frames.as_deref_mut().map(Frames::add_message);
                    let (line, len) = (record.unwrap_or(frame.line()), frame.as_bytes().len() as u64);
                    let at = Position { line, offset: frame.offset(), len, in_frame };
                    match &frame {
                        Frame::Message(message) => {
                            if let Some((judging, sender)) = judging {
                                *findings = judging.add_message(*sender, at.line, message);
                            }
                            if *judges_lines {
                                *findings = judge::judge_line(at.line, message);
                            }
                            counts.add_message(MessageKind::of(message));
                            report.message(&at, message, &mut text.bytes)?;
                        }
                        Frame::Batch(batch) => {
                            counts.add_message(MessageKind::Batch);
                            let entries = batch.iter().inspect(|entry| counts.add_batch_entry(entry));
                            report.batch(&at, &frame, entries, &mut text.bytes)?;
                            if let Some((judging, sender)) = judging {
                                for entry in batch {
                                    match entry {
                                        Ok(entry) => findings.extend(judging.add_message(*sender, at.line, &entry)),
                                        Err(fault) => judging.add_fault(*sender, &fault),
                                    }
                                }
                            }
                        }
                    }
                }
                Err(fault) => {
                    let line = decoder.last_line();
                    let in_frame = match frames {
                        None => None,
                        Some(frames) => match frames.add_fault(&fault, line) {
                            None => continue,
                            in_frame => in_frame,
                        },
                    };
                    let (number, offset, len) = (record.unwrap_or(fault.line()), fault.offset(), fault.line_len());
                    let at = Position { line: number, offset, len, in_frame };
                    counts.add_fault(&fault);
                    if let Some((judging, sender)) = judging {
                        judging.add_fault(*sender, &fault);
                    }
                    let details = report.fault(&at, &fault, line, &mut text.bytes)?;
                    if R::MAY_BE_FOLDED {
                        let all = start..text.bytes.len();
                        text.faults.push(ReportedFault::new(&fault, at.line, line, report.sender(), all, details));
                    }
                }
            }
            counts.lines += 1;
            if ARE_NUMBERED {
                counts.frames += 1;
            }
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
        // In another framing, an incomplete frame is a fault.
        if self.counts.lines > lines_before && ends == Ends::Required && self.frames.is_none() {
            self.counts.unterminated += 1;
            self.report.unterminated(&mut self.text.bytes)?;
        }
        Ok(())
    }

    /// Counts and reports which rules are broken.
    fn report_findings(&mut self) -> io::Result<()> {
        let Self { report, counts, text, findings, .. } = self;
        for finding in findings.drain(..) {
            counts.add_broken(finding.rule);
            let start = text.bytes.len();
            report.finding(&finding, &mut text.bytes)?;
            if R::MAY_BE_FOLDED {
                text.faults.push(ReportedFault::of_finding(finding.rule, start..text.bytes.len()));
            }
        }
        Ok(())
    }

    /// Adds what was found out otherwise than by a line.
    pub(crate) fn add_findings(&mut self, findings: impl IntoIterator<Item = Finding>) -> io::Result<()> {
        self.findings.extend(findings);
        self.report_findings()
    }

    /// Sends the text collected so far.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        self.report_findings()?;
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

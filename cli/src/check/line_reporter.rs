//! Takes lines out of a decoder, counts them, and collects the report about them.

use std::io::{self, Read};

use wireline::{Decoder, Frame};

use super::counts::Counts;
use super::report::Report;
use crate::input::read_retrying;
use crate::message_kind::MessageKind;

/// How much text to collect before sending it.
const TEXT_LEN: usize = 64 << 10;

/// Receives collected text, always whole lines, and clears it.
pub(crate) type SendText<'a> = dyn FnMut(&mut Vec<u8>) -> io::Result<()> + 'a;

/// Counts and reports what a decoder yields.
pub(crate) struct LineReporter<'a, R> {
    report: &'a R,
    counts: &'a mut Counts,
    text: Vec<u8>,
    send: &'a mut SendText<'a>,
}

impl<'a, R: Report> LineReporter<'a, R> {
    pub(crate) fn new(report: &'a R, counts: &'a mut Counts, send: &'a mut SendText<'a>) -> Self {
        Self { report, counts, text: Vec::new(), send }
    }

    /// Reports all lines that are complete, and sends the text when there is enough of it.
    pub(crate) fn report_lines(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        loop {
            let Self { report, counts, text, .. } = self;
            let faults_before = counts.faults();
            match decoder.next_frame() {
                None => return Ok(()),
                Some(Ok(frame)) => match &frame {
                    Frame::Message(message) => {
                        counts.add_message(MessageKind::of(message));
                        report.message(&frame, message, text)?;
                    }
                    Frame::Batch(batch) => {
                        counts.add_message(MessageKind::Batch);
                        report.batch(&frame, batch.iter().inspect(|entry| counts.add_batch_entry(entry)), text)?;
                    }
                },
                Some(Err(fault)) => {
                    counts.add_fault(&fault);
                    report.fault(&fault, decoder.last_line(), text)?;
                }
            }
            counts.lines += 1;
            counts.faulty_lines += u64::from(counts.faults() > faults_before);
            if text.len() >= TEXT_LEN {
                self.send()?;
            }
        }
    }

    /// Sends the text collected so far.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        (self.send)(&mut self.text)?;
        self.text.shrink_to(2 * TEXT_LEN);
        Ok(())
    }

    pub(crate) fn add_bytes(&mut self, bytes: u64) {
        self.counts.bytes += bytes;
    }
}

/// Reads once, at most `max_len` bytes, into the decoder's buffer. Returns 0 at the end of the input.
pub(crate) fn read_into(input: &mut (impl Read + ?Sized), decoder: &mut Decoder, max_len: usize) -> io::Result<usize> {
    decoder.read_with(max_len, |room| read_retrying(input, room))
}

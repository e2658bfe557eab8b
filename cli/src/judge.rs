//! Lines are judged, counted and reported.

use std::io::{self, Read};

use wireline::{Decoder, Frame};

use crate::report::Report;
use crate::tally::{Kind, Tally};

/// How much is read at once: what measures fastest. It is still in the cache when it is judged, and so are the zeros
/// that [`read`] puts there first, which cost less than a copy from a buffer of its own would.
pub(crate) const READ: usize = 128 << 10;

/// How much text is gathered before it is handed on.
const FULL: usize = 64 << 10;

/// Counts what a decoder gives out, and gathers the text about it.
pub(crate) struct Judge<'a, R> {
    report: &'a R,
    tally: &'a mut Tally,
    text: Vec<u8>,
    send: &'a mut Sink<'a>,
}

/// Takes the gathered text, which is whole lines, and leaves none.
pub(crate) type Sink<'a> = dyn FnMut(&mut Vec<u8>) -> io::Result<()> + 'a;

impl<'a, R: Report> Judge<'a, R> {
    pub(crate) fn new(report: &'a R, tally: &'a mut Tally, send: &'a mut Sink<'a>) -> Self {
        Self { report, tally, text: Vec::new(), send }
    }

    /// Judges what is complete, and sends the text about it when there is enough.
    pub(crate) fn judge(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        loop {
            let Self { report, tally, text, .. } = self;
            let faults = tally.faults();
            match decoder.next_frame() {
                None => return Ok(()),
                Some(Ok(frame)) => match &frame {
                    Frame::Message(message) => {
                        tally.count(Kind::of(message));
                        report.message(&frame, message, text)?;
                    }
                    Frame::Batch(batch) => {
                        tally.count(Kind::Batch);
                        report.batch(&frame, batch.iter().inspect(|entry| tally.count_entry(entry)), text)?;
                    }
                },
                Some(Err(fault)) => {
                    tally.count_fault(&fault);
                    report.fault(&fault, decoder.last_line(), text)?;
                }
            }
            tally.lines += 1;
            tally.faulty += u64::from(tally.faults() > faults);
            if text.len() >= FULL {
                self.send()?;
            }
        }
    }

    /// Sends what text there is.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        (self.send)(&mut self.text)?;
        self.text.shrink_to(2 * FULL);
        Ok(())
    }

    /// Counts what has been read.
    pub(crate) fn count_bytes(&mut self, bytes: u64) {
        self.tally.bytes += bytes;
    }
}

/// Reads once, at most `most` bytes, into the decoder's own buffer, and returns how much it was: nothing at the end.
pub(crate) fn read(input: &mut (impl Read + ?Sized), decoder: &mut Decoder, most: usize) -> io::Result<usize> {
    let buffer = decoder.spare(most);
    let start = buffer.len();
    buffer.resize(start + most.min(buffer.capacity() - start), 0);
    let read = read_some(input, &mut buffer[start..]);
    buffer.truncate(start + *read.as_ref().unwrap_or(&0));
    read
}

/// Reads once, whatever interrupts it.
pub(crate) fn read_some(input: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

//! The loop: read, judge, report.

use std::io::{self, Read};

use wireline::{Decoder, Frame, Rules};

use crate::args::{Check, Format};
use crate::human::Human;
use crate::ndjson::Ndjson;
use crate::output::Output;
use crate::report::{Quiet, Report};
use crate::source::Source;
use crate::tally::{Kind, Tally};
use crate::{FAILED, FAULTY, FINE};

/// How much is read at once: what measures fastest. It is still in the cache when it is judged, and so are the zeros
/// that [`read`] puts there first, which cost less than a copy from a buffer of its own would.
const READ: usize = 128 << 10;

/// Checks what `args` name, and returns the exit code.
pub(crate) fn run(args: &Check) -> u8 {
    let sources = Source::all(&args.files);
    let output = Output::new(&sources, args.quiet);
    match args.format {
        _ if args.quiet => Checker::new(args.judging.rules(), output, Quiet).run(&sources),
        Format::Human => Checker::new(args.judging.rules(), output, Human::new(args.show)).run(&sources),
        Format::Ndjson => Checker::new(args.judging.rules(), output, Ndjson::new(sources.len() > 1)).run(&sources),
    }
}

struct Checker<R> {
    rules: Rules,
    output: Output,
    report: R,
    tally: Tally,
}

/// Why a source was not checked to its end.
enum Failure {
    /// The others can still be checked.
    Read(io::Error),
    /// Nobody learns of anything any more.
    Write(io::Error),
}

impl<R: Report> Checker<R> {
    fn new(rules: Rules, output: Output, report: R) -> Self {
        Self { rules, output, report, tally: Tally::default() }
    }

    fn run(mut self, sources: &[Source]) -> u8 {
        let mut unread = 0;
        for source in sources {
            match self.check(source) {
                Ok(()) => {}
                Err(Failure::Read(error)) => {
                    unread += 1;
                    self.output.complain(&format!("cannot read {}: {error}", source.shown()));
                }
                Err(Failure::Write(error)) => return self.give_up(&error),
            }
        }
        self.output.end_progress();
        let told = match unread < sources.len() {
            true => self.report.finish(&self.tally, &mut self.output).and_then(|()| self.output.send()),
            false => Ok(()),
        };
        match told {
            Err(error) => self.give_up(&error),
            Ok(()) if unread > 0 => FAILED,
            Ok(()) if self.tally.faults() > 0 => FAULTY,
            Ok(()) => FINE,
        }
    }

    /// Reads a source to its end.
    fn check(&mut self, source: &Source) -> Result<(), Failure> {
        let mut input = source.open().map_err(Failure::Read)?;
        let mut decoder = Decoder::new(self.rules).retain(2 * READ);
        self.report.open(source);
        loop {
            let len = read(&mut *input, &mut decoder).map_err(Failure::Read)?;
            if len == 0 {
                decoder.finish();
            }
            self.tally.bytes += len as u64;
            self.output.advance(len as u64);
            // What was read is reported before the next read, which may take its time.
            self.judge(&mut decoder).and_then(|()| self.output.send()).map_err(Failure::Write)?;
            if len == 0 {
                return Ok(());
            }
        }
    }

    /// Reports what is complete.
    fn judge(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        let Self { output, report, tally, .. } = self;
        loop {
            let fault = match decoder.next_frame() {
                None => return Ok(()),
                Some(Err(fault)) => fault,
                Some(Ok(frame)) => {
                    tally.lines += 1;
                    match &frame {
                        Frame::Message(message) => {
                            tally.count(Kind::of(message));
                            report.message(&frame, message, output)?;
                        }
                        Frame::Batch(batch) => {
                            tally.count(Kind::Batch);
                            report.batch(&frame, batch.iter().inspect(|entry| tally.count_entry(entry)), output)?;
                        }
                    }
                    continue;
                }
            };
            tally.lines += 1;
            tally.count_fault(&fault);
            report.fault(&fault, decoder.last_line(), output)?;
        }
    }

    /// The exit code when nothing can be written. A reader that has gone away, like `head`, has seen enough.
    fn give_up(&self, error: &io::Error) -> u8 {
        if error.kind() != io::ErrorKind::BrokenPipe {
            self.output.complain(&format!("cannot write to standard output: {error}"));
        }
        FAILED
    }
}

/// Reads once, into the decoder's own buffer, and returns how much it was: nothing at the end.
fn read(input: &mut dyn Read, decoder: &mut Decoder) -> io::Result<usize> {
    let buffer = decoder.spare(READ);
    let start = buffer.len();
    buffer.resize(start + READ.min(buffer.capacity() - start), 0);
    let read = loop {
        match input.read(&mut buffer[start..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    buffer.truncate(start + *read.as_ref().unwrap_or(&0));
    read
}

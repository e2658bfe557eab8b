//! `wireline check`: reads each source, checks its lines and reports the faults.

mod args;
mod counts;
mod line_reporter;
mod parallel;
mod report;
mod summary;

use std::fs::File;
use std::io::{self, BufRead, Read};

use wireline::{Decoder, Rules};

pub(crate) use args::Args;

use crate::exit;
use crate::input::{Input, READ_LEN, Source, read_at};
use crate::output::Output;
use crate::recording::{Content, Entry, Reader};
use crate::session::Side;
use args::Format;
use counts::Counts;
use line_reporter::{LineReporter, SendText, read_into};
use parallel::{ParallelCheck, SEGMENT_LEN};
use report::{Human, Ndjson, Quiet, Report};
use summary::Summary;

/// Checks the sources that `args` name, and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    let sources = Source::all(&args.files);
    match args.format {
        _ if args.quiet => Checker::new(args, &sources, Quiet).run(&sources),
        Format::Human => Checker::new(args, &sources, Human::new(args.show)).run(&sources),
        Format::Ndjson => Checker::new(args, &sources, Ndjson::new(sources.len() > 1)).run(&sources),
    }
}

struct Checker<R> {
    rules: Rules,
    jobs: usize,
    output: Output,
    report: R,
}

/// Why a source was not checked to its end.
#[derive(Debug)]
enum Failure {
    /// The source cannot be read. The others are still checked.
    Read(io::Error),
    /// The report cannot be written.
    Write(io::Error),
}

impl<R: Report> Checker<R> {
    fn new(args: &Args, sources: &[Source], report: R) -> Self {
        Self { rules: args.rules.rules(), jobs: args.jobs(), output: Output::new(sources, args.quiet), report }
    }

    fn run(mut self, sources: &[Source]) -> u8 {
        let mut summary = Summary::new();
        for source in sources {
            let mut counts = Counts::default();
            let checked = self.check(source, &mut counts);
            summary.add(source, &counts, checked.is_ok());
            match checked {
                Ok(()) => {}
                Err(Failure::Read(error)) => {
                    self.output.report_error(&format!("cannot read {}: {error}", source.escaped_name()));
                }
                Err(Failure::Write(error)) => return self.output.write_failed(&error),
            }
        }
        self.output.end_progress();
        let mut text = Vec::new();
        let written = match summary.incomplete() < sources.len() {
            true => self.report.summary(&summary, &mut text).and_then(|()| self.output.send(&mut text)),
            false => Ok(()),
        };
        match written {
            Err(error) => self.output.write_failed(&error),
            Ok(()) if summary.incomplete() > 0 => exit::FAILURE,
            Ok(()) if summary.total().faults() > 0 => exit::FAULTS_FOUND,
            Ok(()) => exit::SUCCESS,
        }
    }

    fn check(&mut self, source: &Source, counts: &mut Counts) -> Result<(), Failure> {
        self.report.set_source(source);
        match source.open().map_err(Failure::Read)? {
            Input::File { file, len } if self.jobs > 1 && len > SEGMENT_LEN as u64 => {
                self.check_in_parallel(&file, len, counts)
            }
            Input::File { mut file, .. } => self.check_in_sequence(&mut file, counts),
            Input::Stream(mut stream) => self.check_in_sequence(&mut *stream, counts),
            Input::Recording(input) => self.check_recording(input, counts),
        }
    }

    fn check_in_sequence(&mut self, input: &mut dyn Read, counts: &mut Counts) -> Result<(), Failure> {
        let Self { output, report, rules, .. } = self;
        let progress = output.progress();
        let advance = |bytes| progress.advance(bytes);
        check_stream(*rules, input, report, counts, &advance, &mut |text| output.send(text))
    }

    fn check_in_parallel(&mut self, file: &File, len: u64, counts: &mut Counts) -> Result<(), Failure> {
        let Self { output, report, rules, jobs } = self;
        let progress = output.progress();
        let segments = usize::try_from(len.div_ceil(SEGMENT_LEN as u64)).unwrap_or(usize::MAX);
        let check = ParallelCheck {
            rules: *rules,
            jobs: segments.min(*jobs),
            segment_len: SEGMENT_LEN,
            read_at: &|buffer, offset| read_at(file, buffer, offset),
            advance: &|bytes| progress.advance(bytes),
        };
        check.run(&*report, counts, &mut |text| output.send(text))
    }

    /// Checks what both sides sent. A line is numbered by its record, so that it can be found in the file.
    fn check_recording(&mut self, input: impl BufRead, counts: &mut Counts) -> Result<(), Failure> {
        let progress = self.output.progress();
        let mut reader = Reader::new(input);
        // For each side: how many bytes it has sent, and the decoder that holds an incomplete line.
        let mut offsets = [0, 0];
        let mut incomplete: [Option<Decoder>; 2] = [None, None];
        loop {
            let before = reader.offset;
            let entry = reader.next();
            progress.advance(reader.offset - before);
            let Ok(Some(Entry { content: Content::Bytes { from, bytes, is_last }, .. })) = entry else {
                // A session starts or ends here, so incomplete lines stay incomplete.
                for (decoder, from) in incomplete.iter_mut().zip(Side::BOTH) {
                    if let Some(mut decoder) = decoder.take() {
                        decoder.finish();
                        self.report_recorded_lines(from, &mut decoder, counts)?;
                    }
                }
                offsets = [0, 0];
                match entry {
                    Ok(Some(_)) => continue,
                    Ok(None) => return Ok(()),
                    Err(error) => return Err(Failure::Read(error)),
                }
            };
            let (offset, incomplete) = (&mut offsets[from as usize], &mut incomplete[from as usize]);
            let mut decoder =
                incomplete.take().unwrap_or_else(|| Decoder::new(self.rules).starting_at(reader.line_number, *offset));
            decoder.feed(&bytes);
            *offset += bytes.len() as u64;
            counts.bytes += bytes.len() as u64;
            if is_last {
                decoder.finish();
            }
            self.report_recorded_lines(from, &mut decoder, counts)?;
            if !is_last && !bytes.ends_with(b"\n") {
                *incomplete = Some(decoder);
            }
        }
    }

    fn report_recorded_lines(
        &mut self,
        sender: Side,
        decoder: &mut Decoder,
        counts: &mut Counts,
    ) -> Result<(), Failure> {
        let Self { output, report, .. } = self;
        report.set_sender(Some(sender));
        let mut send = |text: &mut Vec<u8>| output.send(text);
        let mut reporter = LineReporter::new(&*report, counts, &mut send);
        let reported = reporter.report_lines(decoder).and_then(|()| reporter.send()).map_err(Failure::Write);
        report.set_sender(None);
        reported
    }
}

/// Checks a stream to its end, in one thread.
fn check_stream(
    rules: Rules,
    input: &mut dyn Read,
    report: &impl Report,
    counts: &mut Counts,
    advance: &dyn Fn(u64),
    send: &mut SendText<'_>,
) -> Result<(), Failure> {
    let mut reporter = LineReporter::new(report, counts, send);
    let mut decoder = Decoder::new(rules).keep_capacity(2 * READ_LEN);
    loop {
        let len = read_into(input, &mut decoder, READ_LEN).map_err(Failure::Read)?;
        if len == 0 {
            decoder.finish();
        }
        reporter.add_bytes(len as u64);
        advance(len as u64);
        // Report before the next read, which may block.
        reporter.report_lines(&mut decoder).and_then(|()| reporter.send()).map_err(Failure::Write)?;
        if len == 0 {
            return Ok(());
        }
    }
}

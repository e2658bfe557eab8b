//! `wireline check`: each source is read, judged and reported.

use std::fs::File;
use std::io::{self, BufRead, Read};

use wireline::{Decoder, Rules};

use crate::args::{Check, Format};
use crate::human::Human;
use crate::judge::{Judge, READ, Sink, read};
use crate::ndjson::Ndjson;
use crate::output::Output;
use crate::pieces::{PIECE, Pieces};
use crate::recording::{Entry, Reader, What};
use crate::report::{Quiet, Report};
use crate::session::Side;
use crate::source::{Input, Source, read_at};
use crate::summary::Summary;
use crate::tally::Tally;
use crate::{FAILED, FAULTY, FINE};

/// Checks what `args` name, and returns the exit code.
pub(crate) fn run(args: &Check) -> u8 {
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
pub(crate) enum Failure {
    /// The others can still be checked.
    Read(io::Error),
    /// Nobody learns of anything any more.
    Write(io::Error),
}

impl<R: Report> Checker<R> {
    fn new(args: &Check, sources: &[Source], report: R) -> Self {
        Self { rules: args.judging.rules(), jobs: args.jobs(), output: Output::new(sources, args.quiet), report }
    }

    fn run(mut self, sources: &[Source]) -> u8 {
        let mut summary = Summary::new();
        for source in sources {
            let mut tally = Tally::default();
            let checked = self.check(source, &mut tally);
            summary.add(source, &tally, checked.is_ok());
            match checked {
                Ok(()) => {}
                Err(Failure::Read(error)) => {
                    self.output.complain(&format!("cannot read {}: {error}", source.shown()));
                }
                Err(Failure::Write(error)) => return self.give_up(&error),
            }
        }
        self.output.end_progress();
        let mut text = Vec::new();
        let told = match summary.unread() < sources.len() {
            true => self.report.finish(&summary, &mut text).and_then(|()| self.output.send(&mut text)),
            false => Ok(()),
        };
        match told {
            Err(error) => self.give_up(&error),
            Ok(()) if summary.unread() > 0 => FAILED,
            Ok(()) if summary.total().faults() > 0 => FAULTY,
            Ok(()) => FINE,
        }
    }

    /// Reads a source to its end.
    fn check(&mut self, source: &Source, tally: &mut Tally) -> Result<(), Failure> {
        self.report.open(source);
        match source.open().map_err(Failure::Read)? {
            Input::File { file, len } if self.jobs > 1 && len > PIECE as u64 => self.check_pieces(&file, len, tally),
            Input::File { mut file, .. } => self.check_whole(&mut file, tally),
            Input::Stream(mut input) => self.check_whole(&mut *input, tally),
            Input::Recording(input) => self.check_recording(input, tally),
        }
    }

    fn check_whole(&mut self, input: &mut dyn Read, tally: &mut Tally) -> Result<(), Failure> {
        let Self { output, report, rules, .. } = self;
        let progress = output.progress();
        let advance = |bytes| progress.advance(bytes);
        check_stream(*rules, input, report, tally, &advance, &mut |text| output.send(text))
    }

    fn check_pieces(&mut self, file: &File, len: u64, tally: &mut Tally) -> Result<(), Failure> {
        let Self { output, report, rules, jobs } = self;
        let progress = output.progress();
        let pieces = usize::try_from(len.div_ceil(PIECE as u64)).unwrap_or(usize::MAX);
        let pieces = Pieces {
            rules: *rules,
            jobs: pieces.min(*jobs),
            size: PIECE,
            read_at: &|buffer, offset| read_at(file, buffer, offset),
            advance: &|bytes| progress.advance(bytes),
        };
        pieces.check(&*report, tally, &mut |text| output.send(text))
    }

    /// Judges what both sides said. A line has the number of its record, so that it can be found in the file.
    fn check_recording(&mut self, input: impl BufRead, tally: &mut Tally) -> Result<(), Failure> {
        let progress = self.output.progress();
        let mut reader = Reader::new(input);
        // For each side: how much it has said, and who judges what is not a whole line yet.
        let mut offsets = [0, 0];
        let mut unfinished: [Option<Decoder>; 2] = [None, None];
        loop {
            let before = reader.offset;
            let entry = reader.next();
            progress.advance(reader.offset - before);
            let Ok(Some(Entry { what: What::Bytes { from, bytes, is_end }, .. })) = entry else {
                // What has begun will not be ended any more.
                for (decoder, from) in unfinished.iter_mut().zip(Side::BOTH) {
                    if let Some(mut decoder) = decoder.take() {
                        decoder.finish();
                        self.judge_recorded(from, &mut decoder, tally)?;
                    }
                }
                offsets = [0, 0];
                match entry {
                    Ok(Some(_)) => continue,
                    Ok(None) => return Ok(()),
                    Err(error) => return Err(Failure::Read(error)),
                }
            };
            let (offset, unfinished) = (&mut offsets[from as usize], &mut unfinished[from as usize]);
            let mut decoder =
                unfinished.take().unwrap_or_else(|| Decoder::new(self.rules).resume(reader.number, *offset));
            decoder.feed(&bytes);
            *offset += bytes.len() as u64;
            tally.bytes += bytes.len() as u64;
            if is_end {
                decoder.finish();
            }
            self.judge_recorded(from, &mut decoder, tally)?;
            if !is_end && !bytes.ends_with(b"\n") {
                *unfinished = Some(decoder);
            }
        }
    }

    fn judge_recorded(&mut self, from: Side, decoder: &mut Decoder, tally: &mut Tally) -> Result<(), Failure> {
        let Self { output, report, .. } = self;
        report.side(Some(from));
        let mut send = |text: &mut Vec<u8>| output.send(text);
        let mut judge = Judge::new(&*report, tally, &mut send);
        let judged = judge.judge(decoder).and_then(|()| judge.send()).map_err(Failure::Write);
        report.side(None);
        judged
    }

    /// The exit code when nothing can be written. A reader that has gone away, like `head`, has seen enough.
    fn give_up(&self, error: &io::Error) -> u8 {
        if error.kind() != io::ErrorKind::BrokenPipe {
            self.output.complain(&format!("cannot write to standard output: {error}"));
        }
        FAILED
    }
}

/// Judges all of a stream, in one go. The text about it goes to `send`.
pub(crate) fn check_stream(
    rules: Rules,
    input: &mut dyn Read,
    report: &impl Report,
    tally: &mut Tally,
    advance: &dyn Fn(u64),
    send: &mut Sink<'_>,
) -> Result<(), Failure> {
    let mut judge = Judge::new(report, tally, send);
    let mut decoder = Decoder::new(rules).retain(2 * READ);
    loop {
        let len = read(input, &mut decoder, READ).map_err(Failure::Read)?;
        if len == 0 {
            decoder.finish();
        }
        judge.count_bytes(len as u64);
        advance(len as u64);
        // What was read is reported before the next read, which may take its time.
        judge.judge(&mut decoder).and_then(|()| judge.send()).map_err(Failure::Write)?;
        if len == 0 {
            return Ok(());
        }
    }
}

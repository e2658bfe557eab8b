//! `wireline check`: reads each source, checks its lines and reports the faults.

mod args;
mod assembly;
mod counts;
mod folding;
mod judging;
mod line_reporter;
mod parallel;
mod report;
mod summary;

use std::fs::File;
use std::io::{self, BufRead, Read};

use wireline::{Decoder, Rules};

pub(crate) use args::Args;

use crate::exit;
use crate::input::{BINARY, Input, READ_LEN, Source, read_at, read_retrying};
use crate::judge::{self, Finding, Severity};
use crate::line_ends::{LineEnds, RETURN_HINT, count_returns};
use crate::output::Output;
use crate::recording::{Content, Entry, Reader};
use crate::rules_args::RulesArgs;
use crate::session::Side;
use crate::units::counted;
use args::Format;
use assembly::Assembly;
use counts::Counts;
use folding::Text;
use judging::Judging;
use line_reporter::{Ends, LineReporter};
use parallel::{ParallelCheck, SEGMENT_LEN};
use report::{Human, Json, Junit, Ndjson, Quiet, Report, Sarif};
use summary::Summary;

/// What to say of a source without messages.
const NO_MESSAGES: &str = "no messages found";

/// Checks the sources that `args` name, and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    if args.list_rules {
        return list_rules();
    }
    let sources = Source::all(&args.files);
    match args.format {
        _ if args.quiet => Checker::new(args, &sources, Quiet).run(&sources),
        Format::Human => Checker::new(args, &sources, Human::new(args.show, args.all)).run(&sources),
        Format::Ndjson => Checker::new(args, &sources, Ndjson::new(sources.len() > 1)).run(&sources),
        Format::Json => Checker::new(args, &sources, Json::default()).run(&sources),
        Format::Junit => Checker::new(args, &sources, Junit::new(args.fail_on)).run(&sources),
        Format::Sarif => Checker::new(args, &sources, Sarif::default()).run(&sources),
    }
}

/// Prints the table of rules.
fn list_rules() -> u8 {
    let mut output = Output::new(&[], false);
    match output.send(&mut judge::list().into_bytes()) {
        Ok(()) => exit::SUCCESS,
        Err(error) => output.write_failed(&error),
    }
}

struct Checker<'a, R> {
    args: &'a RulesArgs,
    rules: Rules,
    fail_on: Severity,
    ends: Ends,
    judges_lines: bool,
    allow_empty: bool,
    jobs: usize,
    output: Output,
    report: R,
    assembly: Assembly,
}

/// Why a source was not checked to its end.
#[derive(Debug)]
enum Failure {
    /// The source cannot be read. The others are still checked.
    Read(io::Error),
    /// The report cannot be written.
    Write(io::Error),
}

impl<'a, R: Report> Checker<'a, R> {
    fn new(args: &'a Args, sources: &[Source], report: R) -> Self {
        Self {
            args: &args.rules,
            rules: args.rules.rules(),
            fail_on: args.fail_on,
            ends: if args.allow_unterminated { Ends::Optional } else { Ends::Required },
            judges_lines: args.judge_lines,
            allow_empty: args.allow_empty,
            jobs: args.jobs(),
            output: Output::new(sources, args.quiet),
            assembly: report.assembly(),
            report,
        }
    }

    fn run(mut self, sources: &[Source]) -> u8 {
        let mut summary = Summary::new();
        if let Err(error) = send_if_any(&mut self.output, self.report.opening().into()) {
            return self.output.write_failed(&error);
        }
        for source in sources {
            let mut counts = Counts::default();
            let checked = self.check(source, &mut counts);
            let unread = match checked {
                Ok(()) => None,
                Err(Failure::Read(error)) => {
                    self.output.report_error(&format!("cannot read {}: {error}", source.escaped_name()));
                    Some(error.to_string())
                }
                Err(Failure::Write(error)) => return self.output.write_failed(&error),
            };
            counts.empty = u64::from(counts.lines == 0 && unread.is_none() && !self.allow_empty);
            let ended = self.end_source(source, &counts, unread.as_deref());
            summary.add(source, &counts, unread.is_none());
            if let Err(error) = ended {
                return self.output.write_failed(&error);
            }
        }
        self.output.end_progress();
        let mut text = self.assembly.finish();
        let written = match summary.incomplete() < sources.len() || R::HAS_FRAME {
            true => self.report.summary(&summary, &mut text).and_then(|()| self.output.send(&mut text)),
            false => Ok(()),
        };
        match written {
            Err(error) => self.output.write_failed(&error),
            Ok(()) if summary.incomplete() > 0 => exit::FAILURE,
            Ok(()) if summary.total().failures(self.fail_on) > 0 => exit::FAULTS_FOUND,
            Ok(()) => exit::SUCCESS,
        }
    }

    /// Ends the report about a source, and warns of what its format does not tell.
    fn end_source(&mut self, source: &Source, counts: &Counts, unread: Option<&str>) -> io::Result<()> {
        if R::WARNS_ON_STDERR && counts.all_with_return() > 0 {
            let (name, lines) = (source.escaped_name(), counted(counts.all_with_return(), "line", "lines"));
            self.output.report_error(&format!("{name}: {lines} with CRLF line ends: {RETURN_HINT}"));
        }
        if R::WARNS_ON_STDERR && counts.empty > 0 {
            self.output.report_error(&format!("{}: {NO_MESSAGES}", source.escaped_name()));
        }
        let mut text = Text::default();
        self.report.end_source(counts, unread, &mut text.bytes)?;
        let Self { output, assembly, fail_on, .. } = self;
        send(output, assembly, &mut text)?;
        send_if_any(output, assembly.end_source(counts, *fail_on, unread.is_some()))
    }

    fn check(&mut self, source: &Source, counts: &mut Counts) -> Result<(), Failure> {
        self.report.set_source(source);
        self.assembly.start_source(source.escaped_name());
        let input = source.open().map_err(Failure::Read)?;
        if input.is_binary() {
            let note = self.report.note(BINARY);
            send_if_any(&mut self.output, note.into()).map_err(Failure::Write)?;
        }
        if input.has_byte_order_mark() {
            self.report_byte_order_mark(counts)?;
        }
        match input {
            Input::File { file, len, .. } if self.jobs > 1 && len > SEGMENT_LEN as u64 => {
                self.check_in_parallel(&file, len, counts)
            }
            Input::File { mut file, .. } => self.check_in_sequence(&mut file, counts),
            Input::Stream { mut stream, .. } => self.check_in_sequence(&mut *stream, counts),
            Input::Recording(input) => self.check_recording(input, counts),
        }
    }

    /// Reports that a plain file starts with a byte order mark, which is accepted.
    fn report_byte_order_mark(&mut self, counts: &mut Counts) -> Result<(), Failure> {
        let Self { output, report, assembly, judges_lines, .. } = self;
        let finding = judge::byte_order_mark();
        if !*judges_lines {
            let note = report.note(&format!("{}, which the check accepts: {}", finding.evidence, finding.rule.text()));
            return send_if_any(output, note.into()).map_err(Failure::Write);
        }
        let mut send = |text: &mut Text| send(output, assembly, text);
        let mut reporter = LineReporter::new(&*report, counts, &mut send);
        reporter.add_findings([finding]).and_then(|()| reporter.send()).map_err(Failure::Write)
    }

    fn check_in_sequence(&mut self, input: &mut dyn Read, counts: &mut Counts) -> Result<(), Failure> {
        let Self { output, report, assembly, rules, ends, judges_lines, .. } = self;
        let progress = output.progress();
        let advance = |bytes| progress.advance(bytes);
        let mut send = |text: &mut Text| send(output, assembly, text);
        let reporter = LineReporter::new(&*report, counts, &mut send).judging_lines(*judges_lines);
        check_stream(*rules, *ends, input, reporter, &advance)
    }

    fn check_in_parallel(&mut self, file: &File, len: u64, counts: &mut Counts) -> Result<(), Failure> {
        let Self { output, report, assembly, rules, ends, judges_lines, jobs, .. } = self;
        let progress = output.progress();
        let segments = usize::try_from(len.div_ceil(SEGMENT_LEN as u64)).unwrap_or(usize::MAX);
        let check = ParallelCheck {
            rules: *rules,
            ends: *ends,
            judges_lines: *judges_lines,
            jobs: segments.min(*jobs),
            segment_len: SEGMENT_LEN,
            read_at: &|buffer, offset| read_at(file, buffer, offset),
            advance: &|bytes| progress.advance(bytes),
        };
        check.run(&*report, counts, &mut |text| send(output, assembly, text))
    }

    /// Checks what both sides sent. A line is numbered by its record, so that it can be found in the file.
    fn check_recording(&mut self, input: impl BufRead, counts: &mut Counts) -> Result<(), Failure> {
        let progress = self.output.progress();
        let mut reader = Reader::new(input);
        // For each side: how many bytes it has sent, and the decoder that holds an incomplete line.
        let mut offsets = [0, 0];
        let mut incomplete: [Option<Decoder>; 2] = [None, None];
        let mut judging = Judging::new(self.args);
        loop {
            let entry = reader.next_telling(|bytes| progress.advance(bytes));
            if let Ok(Some(entry)) = &entry
                && entry.content != Content::Start
            {
                judging.set_time(entry.at);
            }
            if matches!(&entry, Ok(Some(Entry { content: Content::Stderr { .. }, .. }))) {
                continue;
            }
            let Ok(Some(Entry { content: Content::Bytes { from, bytes, is_last }, .. })) = entry else {
                // A session starts or ends here, so incomplete lines stay incomplete.
                for (decoder, from) in incomplete.iter_mut().zip(Side::BOTH) {
                    if let Some(mut decoder) = decoder.take() {
                        self.report_recorded_lines(from, &mut decoder, true, None, &mut judging, counts)?;
                    }
                }
                self.end_recorded_session(&mut judging, counts)?;
                offsets = [0, 0];
                match entry {
                    Ok(Some(_)) => continue,
                    Ok(None) => return Ok(()),
                    Err(error) => return Err(Failure::Read(error)),
                }
            };
            let start = judging.start_stream(from, reader.line_number, &bytes).filter(|_| offsets[from as usize] == 0);
            let (offset, incomplete) = (&mut offsets[from as usize], &mut incomplete[from as usize]);
            let mut decoder = incomplete
                .take()
                .unwrap_or_else(|| Decoder::new(judging.rules()).starting_at(reader.line_number, *offset));
            decoder.feed(&bytes);
            *offset += bytes.len() as u64;
            counts.bytes += bytes.len() as u64;
            counts.add_returns(Some(from), count_returns(&bytes));
            self.report_recorded_lines(from, &mut decoder, is_last, start, &mut judging, counts)?;
            if !is_last && !bytes.ends_with(b"\n") {
                *incomplete = Some(decoder);
            }
        }
    }

    fn report_recorded_lines(
        &mut self,
        sender: Side,
        decoder: &mut Decoder,
        is_last: bool,
        start: Option<Finding>,
        judging: &mut Judging<'_>,
        counts: &mut Counts,
    ) -> Result<(), Failure> {
        let Self { output, report, assembly, ends, .. } = self;
        report.set_sender(Some(sender));
        let mut send = |text: &mut Text| send(output, assembly, text);
        let mut reporter = LineReporter::new(&*report, counts, &mut send).judging(judging, sender);
        reporter.add_findings(start).map_err(Failure::Write)?;
        let reported = match is_last {
            true => reporter.finish(decoder, *ends),
            false => reporter.report_lines(decoder),
        };
        let reported = reported.and_then(|()| reporter.send()).map_err(Failure::Write);
        report.set_sender(None);
        reported
    }

    /// Reports what is wrong with a session as a whole.
    fn end_recorded_session(&mut self, judging: &mut Judging<'_>, counts: &mut Counts) -> Result<(), Failure> {
        let Self { output, report, assembly, .. } = self;
        let findings = judging.end_session();
        let mut send = |text: &mut Text| send(output, assembly, text);
        let mut reporter = LineReporter::new(&*report, counts, &mut send).judging(judging, Side::Client);
        reporter.add_findings(findings).and_then(|()| reporter.send()).map_err(Failure::Write)
    }
}

/// Writes a part of the report.
fn send(output: &mut Output, assembly: &mut Assembly, text: &mut Text) -> io::Result<()> {
    send_if_any(output, assembly.add(text))
}

fn send_if_any(output: &mut Output, mut text: Vec<u8>) -> io::Result<()> {
    if text.is_empty() { Ok(()) } else { output.send(&mut text) }
}

/// Checks a stream to its end, in one thread.
fn check_stream(
    rules: Rules,
    ends: Ends,
    input: &mut dyn Read,
    mut reporter: LineReporter<'_, '_, impl Report>,
    advance: &dyn Fn(u64),
) -> Result<(), Failure> {
    let mut decoder = Decoder::new(rules).keep_capacity(2 * READ_LEN);
    let mut line_ends = LineEnds::default();
    loop {
        let returns_before = line_ends.with_return;
        let read = |room: &mut [u8]| {
            let len = read_retrying(input, room)?;
            line_ends.add(&room[..len]);
            Ok(len)
        };
        let len = decoder.read_with(READ_LEN, read).map_err(Failure::Read)?;
        reporter.add_bytes(len as u64);
        reporter.add_returns(line_ends.with_return - returns_before);
        advance(len as u64);
        if len == 0 {
            return reporter.finish(&mut decoder, ends).and_then(|()| reporter.send()).map_err(Failure::Write);
        }
        // Report before the next read, which may block.
        reporter.report_lines(&mut decoder).and_then(|()| reporter.send()).map_err(Failure::Write)?;
    }
}

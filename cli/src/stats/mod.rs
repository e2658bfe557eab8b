//! `wireline stats`: methods, latencies and sizes of recorded or plain traffic.

mod histogram;
mod machine;

use std::io::{self, BufRead, IsTerminal, Read};
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use crate::exit;
use crate::input::{BINARY, Input, READ_LEN, Source, read_retrying};
use crate::output::{Output, Progress, report_error};
use crate::recording::{Content, Reader};
use crate::rules_args::RulesArgs;
use crate::session::{Follower, Side, overview};
use crate::terminal::{Styles, Width, printable_json};
use crate::units::{Bytes, Seconds};

/// Show methods, latencies and sizes of recorded or plain traffic
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = NOTES)]
pub(crate) struct Args {
    /// Files, directories or glob patterns to read; `-` means standard input [default: the newest recording]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    rules: RulesArgs,

    /// Leave out the texts of errors, which are the peer's own words
    #[arg(long)]
    no_reasons: bool,

    /// Format of the statistics
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables and histograms
    Human,
    /// One JSON object
    Json,
    /// One JSON object per method and subject, then one with the totals
    Ndjson,
}

const ABOUT: &str = "\
Shows how often each method was called, with its errors, latencies and sizes. Then lists why calls failed, requests that \
were never answered, and responses that match no request.

A recording written by `wireline tap --record` contains the time and the sender of every line. Plain traffic, one \
message per line, contains neither. Requests and responses are then matched by id across all files, whatever their \
order, and latencies are not available. The two directions of a session may be separate files.";

const NOTES: &str = "\
Exit codes:
  0  everything was read, faulty or not
  2  usage error, or something could not be read or written

Examples:
  The newest recording that `wireline tap --record` made without a name:
    wireline stats

  A recording in a file:
    wireline tap --quiet --record session.tap -- my-server
    wireline stats session.tap";

/// Reads the sources that `args` name, prints the statistics and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    let sources = match args.files.is_empty() {
        true => Source::one_or_newest(None).map(|newest| vec![newest]),
        false => Ok(Source::all(&args.files)),
    };
    let sources = match sources {
        Ok(sources) => sources,
        Err(message) => {
            report_error(&message);
            return exit::FAILURE;
        }
    };
    let mut output = Output::new(&sources, false);
    let mut reading = Reading {
        follower: Follower::new(&args.rules),
        elapsed: Duration::ZERO,
        no_reasons: args.no_reasons,
        progress: output.progress(),
    };
    let (mut code, mut unread) = (exit::SUCCESS, 0);
    for source in &sources {
        let read = source.open().and_then(|input| {
            if input.is_binary() {
                output.report_error(&format!("{}: {BINARY}", source.escaped_name()));
            }
            reading.read(input)
        });
        if let Err(error) = read {
            output.report_error(&format!("cannot read {}: {error}", source.escaped_name()));
            code = exit::FAILURE;
            unread += 1;
        }
    }
    reading.follower.end_session(None, |_, _| {});
    output.end_progress();
    if unread == sources.len() && reading.follower.session.is_empty() {
        return code;
    }
    let text = match args.format {
        Format::Human => reading.text(),
        Format::Json => format!("{}\n", printable_json(&reading.json().to_string())),
        Format::Ndjson => reading.ndjson(),
    };
    match output.send(&mut text.into_bytes()) {
        Ok(()) => code,
        Err(error) => output.write_failed(&error),
    }
}

struct Reading {
    follower: Follower,
    /// The total duration of all recorded sessions.
    elapsed: Duration,
    /// Whether to leave out the texts of errors.
    no_reasons: bool,
    progress: Progress,
}

impl Reading {
    fn text(&self) -> String {
        let session = &self.follower.session;
        let styles = Styles::detect(io::stdout().is_terminal());
        let elapsed = Some(self.elapsed).filter(|elapsed| !elapsed.is_zero());
        let width = Width::of(&io::stdout());
        let overview = overview(session, elapsed, !self.no_reasons, width, styles);
        let bytes = |bytes| Bytes(bytes).to_string();
        let sizes = histogram::draw("message sizes", session.sizes(), bytes, width.columns(), styles);
        let nanoseconds = |nanoseconds| Seconds(Duration::from_nanos(nanoseconds)).to_string();
        let latencies = histogram::draw("latencies", &session.latencies(), nanoseconds, width.columns(), styles);
        let sections: Vec<String> = [overview, sizes, latencies].into_iter().filter(|text| !text.is_empty()).collect();
        sections.join("\n")
    }

    fn read(&mut self, input: Input) -> io::Result<()> {
        let is_recording = matches!(input, Input::Recording(_));
        if is_recording {
            // A recording does not answer the requests of plain files before it.
            self.follower.end_session(None, |_, _| {});
        }
        self.follower.session.set_one_stream(!is_recording);
        match input {
            Input::File { mut file, .. } => self.read_plain(&mut file),
            Input::Stream { mut stream, .. } => self.read_plain(&mut stream),
            Input::Recording(input) => self.read_recording(input),
        }
    }

    fn read_plain(&mut self, input: &mut impl Read) -> io::Result<()> {
        let mut buffer = vec![0; READ_LEN];
        loop {
            let len = read_retrying(input, &mut buffer)?;
            if len == 0 {
                self.follower.end_stream(Side::Client, None, |_, _| {});
                self.follower.start_streams();
                return Ok(());
            }
            self.follower.add_bytes(Side::Client, &buffer[..len], None, |_, _| {});
            self.progress.advance(len as u64);
        }
    }

    fn read_recording(&mut self, input: impl BufRead) -> io::Result<()> {
        let mut reader = Reader::new(input);
        let mut at = Duration::ZERO;
        let read = loop {
            let entry = match reader.next_telling(|bytes| self.progress.advance(bytes)) {
                Ok(Some(entry)) => entry,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            if entry.content == Content::Start {
                self.end_session(at);
            }
            at = entry.at;
            if let Content::Bytes { from, bytes, is_last } = entry.content {
                self.follower.add_bytes(from, &bytes, Some(at), |_, _| {});
                if is_last {
                    self.follower.end_stream(from, Some(at), |_, _| {});
                }
            }
        };
        self.end_session(at);
        read
    }

    fn end_session(&mut self, at: Duration) {
        for from in Side::BOTH {
            self.follower.end_stream(from, Some(at), |_, _| {});
        }
        self.follower.end_session(Some(at), |_, _| {});
        self.elapsed = self.elapsed.saturating_add(at);
    }
}

//! `wireline show`: the transcript of a recording.

mod follow;
mod ndjson;

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, StdoutLock, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::exit;
use crate::filter::Filter;
use crate::framing::FramingArgs;
use crate::input::{Input, READ_LEN, Source};
use crate::output::report_error;
use crate::recording::{Content, Reader};
use crate::rules_args::RulesArgs;
use crate::session::{Follower, Seen, Session, Side};
use crate::terminal::{Styles, Width};
use crate::transcript::{CalledWith, Faults, Payloads, RUN_PAUSE, Transcript};
use follow::FollowedFile;
use ndjson::Ndjson;

/// Show the transcript of a recording again, or a part of it
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = NOTES)]
pub(crate) struct Args {
    /// Recording that `wireline tap --record` wrote; `-` means standard input [default: the newest one]
    #[arg(value_name = "RECORDING")]
    recording: Option<PathBuf>,

    /// Format of the transcript
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,

    /// Show the start of params, results and errors, with control characters escaped
    #[arg(long)]
    show: bool,

    /// Show params, results and errors indented; on a terminal cut to its width and to 20 lines
    #[arg(long)]
    pretty: bool,

    /// Show params, results and errors indented, all of them
    #[arg(long)]
    full: bool,

    /// Show every fault, even if there are many equal ones
    ///
    /// Otherwise, the first 20 of each kind are shown and the others counted, and a message that was printed over
    /// several lines is one fault.
    #[arg(long)]
    all: bool,

    /// Leave out the texts of errors and the arguments of failed calls, which are the peers' own words
    #[arg(long)]
    no_reasons: bool,

    /// Leave out what the server wrote to standard error
    #[arg(long)]
    no_stderr: bool,

    /// Wait for more at the end of a recording that is being written, until its session ends
    #[arg(short, long)]
    follow: bool,

    #[command(flatten)]
    filter: Filter,

    #[command(flatten)]
    rules: RulesArgs,

    #[command(flatten)]
    framing: FramingArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines for people
    Human,
    /// One JSON object per message, fault, and line of standard error; with --show, it has the message itself
    Ndjson,
}

const ABOUT: &str = "\
Shows what `wireline tap` logged while it recorded a session, one line per message: time, direction (→ from the client, \
← from the server), kind, method, id, size, and the latency of a response.

What the server wrote to standard error is shown between the messages, unless --no-stderr or a filter is passed. Filters select messages. If there are several, a message must pass all of them; if one is given several times, it must \
pass one of those. An answer belongs to the method and the tool of its request.

Of the contents of messages, only the texts of errors are shown, and with --errors the arguments of failed calls as well, \
unless you pass --show, --pretty or --full. --no-reasons leaves them out.";

const NOTES: &str = "\
Exit codes:
  0  everything was read
  2  usage error, or the recording could not be read

Widths:
  Lines are cut to the width of the terminal, or to that in the environment variable COLUMNS. If standard output is not a \
terminal, nothing is cut.

Examples:
  The newest recording that `wireline tap --record` made without a name:
    wireline show --errors

  Messages and lines of standard error that contain a word:
    wireline show --grep timeout session.tap

  The slowest calls, with jq:
    wireline show --format ndjson session.tap | jq -s 'sort_by(-.seconds)[:5]'

  All calls of one tool, with their contents:
    wireline show --tool echo --pretty session.tap

  Failed calls, and answers that took longer than 100 ms:
    wireline show --errors session.tap
    wireline show --slower-than 100ms session.tap

  Watch a session while it is recorded:
    wireline show --follow session.tap";

/// How much text to collect, and for how long, before it is written.
const WRITE_LEN: usize = 32 << 10;
const WRITE_INTERVAL: Duration = Duration::from_millis(100);

/// Prints the transcript, and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    let stdout = io::stdout().lock();
    let width = Width::of(&stdout);
    let payloads = match args {
        Args { full: true, .. } => Payloads::Full,
        Args { pretty: true, .. } if !width.is_limited() => Payloads::Full,
        Args { pretty: true, .. } => Payloads::Pretty,
        Args { show: true, .. } if !width.is_limited() => Payloads::Line,
        Args { show: true, .. } => Payloads::Start,
        _ => Payloads::Hidden,
    };
    let transcript = Transcript {
        styles: Styles::detect(stdout.is_terminal()),
        width,
        payloads,
        reasons: !args.no_reasons,
        called_with: (args.filter.only_errors() && !args.no_reasons).then(CalledWith::default),
        filter: args.filter.clone(),
        quiet: false,
        faults: Faults::new(args.all),
        text: String::new(),
    };
    let ndjson = (args.format == Format::Ndjson).then(|| Ndjson {
        session: 1,
        has_messages: payloads != Payloads::Hidden,
        has_reasons: !args.no_reasons,
    });
    let follower = Follower::new(&args.rules, args.framing);
    let mut showing = Showing { args, follower, transcript, stdout, last_write: Instant::now(), sessions: 0, ndjson };
    let recording = match Source::one_or_newest(args.recording.as_deref()) {
        Ok(recording) => recording,
        Err(message) => return failure(&message),
    };
    let name = recording.escaped_name();
    match open(args, &recording).and_then(|(input, handle)| showing.show(Reader::new(input), handle.as_ref())) {
        Ok(()) => exit::SUCCESS,
        // Its reader, such as `head`, has seen enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => exit::SUCCESS,
        Err(Failure::Output(error)) => failure(&format!("cannot write to standard output: {error}")),
        Err(Failure::Input(error)) => failure(&format!("cannot read {name}: {error}")),
        Err(Failure::NotARecording) => {
            failure(&format!("{name} is not a recording: `wireline tap --record FILE -- SERVER` makes one"))
        }
    }
}

enum Failure {
    Input(io::Error),
    Output(io::Error),
    NotARecording,
}

fn failure(message: &str) -> u8 {
    report_error(message);
    exit::FAILURE
}

/// Opens the recording. If it is followed, there is a second handle to see its length.
fn open(args: &Args, source: &Source) -> Result<(Box<dyn BufRead>, Option<File>), Failure> {
    if let Source::File(path) = source
        && args.follow
    {
        let file = File::open(path).map_err(Failure::Input)?;
        // Whatever is not a regular file waits by itself.
        if file.metadata().map_err(Failure::Input)?.is_file() {
            let file = FollowedFile::new(file);
            if !file.is_recording().map_err(Failure::Input)? {
                return Err(Failure::NotARecording);
            }
            let handle = file.handle().map_err(Failure::Input)?;
            return Ok((Box::new(BufReader::with_capacity(READ_LEN, file)), Some(handle)));
        }
    }
    match source.open() {
        Ok(Input::Recording(input)) => Ok((input, None)),
        Ok(_) => Err(Failure::NotARecording),
        Err(error) => Err(Failure::Input(error)),
    }
}

struct Showing<'a> {
    args: &'a Args,
    follower: Follower,
    transcript: Transcript,
    stdout: StdoutLock<'static>,
    last_write: Instant,
    sessions: u64,
    /// Set for programs instead of people.
    ndjson: Option<Ndjson>,
}

impl Showing<'_> {
    fn show<R: BufRead>(&mut self, mut reader: Reader<R>, followed: Option<&File>) -> Result<(), Failure> {
        let mut last = Duration::ZERO;
        let read = loop {
            let entry = match reader.next() {
                Ok(Some(entry)) => entry,
                Ok(None) => break Ok(()),
                Err(error) => break Err(Failure::Input(error)),
            };
            last = entry.at;
            let is_end = matches!(entry.content, Content::End { .. });
            self.add(entry.content, entry.at);
            let is_all_read = || followed.is_some_and(|file| file.metadata().is_ok_and(|it| it.len() <= reader.offset));
            if self.args.follow
                || self.transcript.text.len() >= WRITE_LEN
                || self.last_write.elapsed() >= WRITE_INTERVAL
            {
                self.write()?;
            }
            if is_end && is_all_read() {
                break Ok(());
            }
            if self.transcript.run_deadline().is_some() && follow::stays_true(is_all_read, RUN_PAUSE) {
                // As in a live session: the next line may be long in coming.
                self.transcript.end_run();
                self.write()?;
            }
        };
        self.end_streams(last);
        self.write()?;
        read
    }

    fn add(&mut self, content: Content, at: Duration) {
        let Styles { dim, bad, good, .. } = self.transcript.styles;
        match content {
            Content::Start => {
                self.sessions += 1;
                if self.sessions > 1 {
                    self.end_streams(at);
                    // Streams that have ended take nothing more, and what was known of a session says nothing of the next.
                    self.follower = Follower::new(&self.args.rules, self.args.framing);
                    self.transcript.called_with = self.transcript.called_with.take().map(|_| CalledWith::default());
                    if let Some(ndjson) = &mut self.ndjson {
                        ndjson.session = self.sessions;
                        return;
                    }
                    let rule = "─".repeat(3);
                    self.transcript.text.push_str(&format!("{dim}{rule} session {} {rule}{dim:#}\n", self.sessions));
                }
            }
            Content::Bytes { from, bytes, is_last } => {
                let Self { follower, transcript, ndjson, .. } = self;
                let mut see = |session: &_, seen: Seen<'_>| see(transcript, ndjson.as_ref(), session, from, &seen, at);
                follower.add_bytes(from, &bytes, Some(at), &mut see);
                if is_last {
                    follower.end_stream(from, Some(at), &mut see);
                }
            }
            Content::Stderr { bytes } => {
                let Self { transcript, ndjson, .. } = self;
                match ndjson {
                    _ if self.args.no_stderr => {}
                    None => transcript.add_stderr(&bytes, at),
                    Some(ndjson) if transcript.filter.shows_stderr(&bytes) => {
                        ndjson.add_stderr(&mut transcript.text, &bytes, at);
                    }
                    Some(_) => {}
                }
            }
            Content::End { code, signal } => {
                self.end_streams(at);
                if self.args.filter.is_empty() {
                    if let Some(ndjson) = &self.ndjson {
                        return ndjson.add_end(&mut self.transcript.text, code, signal, at);
                    }
                    let (style, how) = match (code, signal) {
                        (Some(0), _) => (good, "server exited with code 0".to_owned()),
                        (Some(code), _) => (bad, format!("server exited with code {code}")),
                        (None, Some(signal)) => (bad, format!("server was killed by signal {signal}")),
                        (None, None) => (bad, "server exited".to_owned()),
                    };
                    let seconds = at.as_secs_f64();
                    self.transcript.text.push_str(&format!("{dim}{seconds:8.3}{dim:#}   {style}{how}{style:#}\n"));
                }
            }
        }
    }

    /// Ends what is unterminated. Ending a stream twice does no harm.
    fn end_streams(&mut self, at: Duration) {
        let Self { follower, transcript, ndjson, .. } = self;
        let mut see =
            |from, session: &Session, seen: Seen<'_>| see(transcript, ndjson.as_ref(), session, from, &seen, at);
        for from in Side::BOTH {
            follower.end_stream(from, Some(at), |session, seen| see(from, session, seen));
        }
        follower.end_session(Some(at), |session, seen| see(Side::Client, session, seen));
        transcript.end_faults(at);
    }

    fn write(&mut self) -> Result<(), Failure> {
        self.last_write = Instant::now();
        let written = self.stdout.write_all(self.transcript.text.as_bytes()).and_then(|()| self.stdout.flush());
        self.transcript.text.clear();
        written.map_err(Failure::Output)
    }
}

/// Adds what was seen to the transcript, for people or for programs.
fn see(
    transcript: &mut Transcript,
    ndjson: Option<&Ndjson>,
    session: &Session,
    from: Side,
    seen: &Seen<'_>,
    at: Duration,
) {
    match ndjson {
        None => transcript.add(session, from, seen, at),
        Some(ndjson) => ndjson.add(&mut transcript.text, &transcript.filter, session, from, seen, at),
    }
}

//! `wireline report`: a recording as a web page.

mod args;
mod embed;
mod open;
mod page;
mod rows;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{self, Path, PathBuf};
use std::time::SystemTime;

pub(crate) use args::Args;

use crate::exit;
use crate::input::{Input, Source};
use crate::output::{Output, Progress, report_error};
use crate::recording::Reader;
use crate::terminal::escape;
use crate::units::counted;
use page::Page;
use rows::{LeftOut, Limits, Rows};

/// Writes the page and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    let source = match Source::one_or_newest(args.recording.as_deref()) {
        Ok(source) => source,
        Err(message) => {
            report_error(&message);
            return exit::FAILURE;
        }
    };
    let source = &source;
    let output = Output::new(std::slice::from_ref(source), false);
    let destination = &Destination::new(args);
    let made = make(args, source, destination, &output.progress());
    output.end_progress();
    let Made { left_out, unreadable } = match made {
        Ok(made) => made,
        Err(Failure::Write(error)) if matches!(destination, Destination::Stdout) => return output.write_failed(&error),
        Err(failure) => {
            output.report_error(&failure.message(source, destination));
            return exit::FAILURE;
        }
    };
    note_limits(args, left_out, &output);
    let mut problems: Vec<String> =
        unreadable.iter().map(|error| format!("cannot read {}: {error}", source.escaped_name())).collect();
    if let (true, Some(path)) = (args.open, destination.path()) {
        problems.extend(show(path, destination, &output));
    }
    for problem in &problems {
        output.report_error(problem);
    }
    if problems.is_empty() { exit::SUCCESS } else { exit::FAILURE }
}

/// Opens the page in a browser. Returns what has kept it from that.
fn show(path: &Path, destination: &Destination, output: &Output) -> Option<String> {
    let name = escaped(path);
    match open::open(&path::absolute(path).unwrap_or_else(|_| path.to_owned())) {
        Ok(()) => {
            if let Destination::Temporary(_) = destination {
                output.report_error(&format!("the page is {name}"));
            }
            None
        }
        Err(error) => Some(format!("cannot open a browser: {error}; the page is {name}")),
    }
}

/// Where the page goes.
enum Destination {
    Stdout,
    File(PathBuf),
    /// A file to look at right away.
    Temporary(PathBuf),
}

impl Destination {
    fn new(args: &Args) -> Self {
        match &args.output {
            Some(path) => Self::File(path.clone()),
            None if args.open => {
                let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
                Self::Temporary(std::env::temp_dir().join(format!("wireline-report-{now}.html")))
            }
            None => Self::Stdout,
        }
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdout => None,
            Self::File(path) | Self::Temporary(path) => Some(path),
        }
    }

    fn create(&self) -> Result<Box<dyn Write>, Failure> {
        let file = match self {
            Self::Stdout if io::stdout().is_terminal() => return Err(Failure::Terminal),
            Self::Stdout => return Ok(Box::new(io::stdout())),
            Self::File(path) => File::create(path),
            Self::Temporary(path) => create_private(path),
        };
        Ok(Box::new(file.map_err(Failure::Write)?))
    }
}

/// Creates a file that only its owner can read, as it may contain secrets, and others may look into its folder.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Why there is no page.
enum Failure {
    Open(io::Error),
    Write(io::Error),
    NotARecording,
    Terminal,
}

impl Failure {
    fn message(&self, source: &Source, destination: &Destination) -> String {
        let name = source.escaped_name();
        match self {
            Self::Open(error) => format!("cannot read {name}: {error}"),
            Self::Write(error) => {
                format!("cannot write {}: {error}", destination.path().map(escaped).unwrap_or_default())
            }
            Self::NotARecording => {
                format!("{name} is not a recording: `wireline tap --record FILE` writes one")
            }
            Self::Terminal => "the report is a web page: look at it with `--open`, or send it to a file with \
                               `> report.html` or `--output report.html`"
                .to_owned(),
        }
    }
}

/// A page, and what it lacks.
struct Made {
    left_out: LeftOut,
    /// Why not all of the recording could be read.
    unreadable: Option<io::Error>,
}

fn make(args: &Args, source: &Source, destination: &Destination, progress: &Progress) -> Result<Made, Failure> {
    let Input::Recording(input) = source.open().map_err(Failure::Open)? else { return Err(Failure::NotARecording) };
    let output = destination.create()?;
    let page = Page::new(BufWriter::with_capacity(1 << 16, output)).map_err(Failure::Write)?;
    let limits = Limits {
        payload_len: usize::try_from(args.max_payload).unwrap_or(usize::MAX),
        page_len: args.max_page,
        has_reasons: !args.no_reasons && args.max_payload > 0,
        has_stderr: !args.no_stderr && args.max_payload > 0,
    };
    let mut rows = Rows::new(page, limits, args.rules.clone());
    let read = rows.add_recording(&mut Reader::new(input), |bytes| progress.advance(bytes));
    // What could be read is worth a page, even if the recording breaks off.
    let unreadable = match read {
        Ok(written) => written.map(|()| None).map_err(Failure::Write)?,
        Err(error) => Some(error),
    };
    let reason = unreadable.as_ref().map(ToString::to_string);
    let left_out = rows.finish(&title(args, source), reason.as_deref()).map_err(Failure::Write)?;
    Ok(Made { left_out, unreadable })
}

fn escaped(path: &Path) -> String {
    escape(path.as_os_str().as_encoded_bytes())
}

fn title(args: &Args, source: &Source) -> String {
    let file_name = || match source {
        Source::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        Source::Stdin => None,
    };
    args.title.clone().or_else(file_name).unwrap_or_else(|| "session".to_owned())
}

/// Says on standard error what the page does not contain.
fn note_limits(args: &Args, LeftOut { cut_payloads, rows, stderr_lines }: LeftOut, output: &Output) {
    if cut_payloads > 0 && args.max_payload > 0 {
        let payloads = counted(cut_payloads, "payload was cut", "payloads were cut");
        output.report_error(&format!("{payloads} to {} bytes: see --max-payload", args.max_payload));
    }
    if rows > 0 {
        let messages = counted(rows, "message was left out", "messages were left out");
        output.report_error(&format!("{messages} because the page is full: see --max-page"));
    }
    if stderr_lines > 0 {
        let lines = counted(stderr_lines, "line of standard error was", "lines of standard error were");
        output.report_error(&format!("{lines} left out because the page is full: see --max-page"));
    }
}

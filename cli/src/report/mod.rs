//! `wireline report`: a recording as a web page.

mod args;
mod embed;
mod page;
mod rows;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};

pub(crate) use args::Args;

use crate::exit;
use crate::input::{Input, Source};
use crate::output::{Output, Progress};
use crate::recording::Reader;
use crate::terminal::escape;
use crate::units::counted;
use page::Page;
use rows::{LeftOut, Limits, Rows};

/// Writes the page and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    let source = &Source::one(&args.recording);
    let output = Output::new(std::slice::from_ref(source), false);
    let made = make(args, source, &output.progress());
    output.end_progress();
    match made {
        Ok(left_out) => {
            note_limits(args, left_out, &output);
            exit::SUCCESS
        }
        Err(Failure::Write(error)) if args.output.is_none() => output.write_failed(&error),
        Err(failure) => {
            output.report_error(&failure.message(args, source));
            exit::FAILURE
        }
    }
}

enum Failure {
    /// There is a page, but it lacks what could not be read.
    Read(io::Error),
    Write(io::Error),
    NotARecording,
    Terminal,
}

impl Failure {
    fn message(&self, args: &Args, source: &Source) -> String {
        let name = source.escaped_name();
        match self {
            Self::Read(error) => format!("cannot read {name}: {error}"),
            Self::Write(error) => {
                let output = args.output.as_deref().map(|path| escape(path.as_os_str().as_encoded_bytes()));
                format!("cannot write {}: {error}", output.unwrap_or_default())
            }
            Self::NotARecording => {
                format!("{name} is not a recording: `wireline tap --record FILE` writes one")
            }
            Self::Terminal => {
                "the report is a web page: send it to a file with `> report.html` or `--output report.html`".to_owned()
            }
        }
    }
}

fn make(args: &Args, source: &Source, progress: &Progress) -> Result<LeftOut, Failure> {
    let Input::Recording(input) = source.open().map_err(Failure::Read)? else { return Err(Failure::NotARecording) };
    let output: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(File::create(path).map_err(Failure::Write)?),
        None if io::stdout().is_terminal() => return Err(Failure::Terminal),
        None => Box::new(io::stdout()),
    };
    let page = Page::new(BufWriter::with_capacity(1 << 16, output)).map_err(Failure::Write)?;
    let limits =
        Limits { payload_len: usize::try_from(args.max_payload).unwrap_or(usize::MAX), page_len: args.max_page };
    let mut rows = Rows::new(page, limits, args.rules.clone());
    let read = rows.add_recording(&mut Reader::new(input), |bytes| progress.advance(bytes));
    // What could be read is worth a page, even if the recording breaks off.
    let (written, read) = match read {
        Ok(written) => (written, Ok(())),
        Err(error) => (Ok(()), Err(Failure::Read(error))),
    };
    written.map_err(Failure::Write)?;
    let left_out = rows.finish(&title(args, source)).map_err(Failure::Write)?;
    read.map(|()| left_out)
}

fn title(args: &Args, source: &Source) -> String {
    let file_name = || match source {
        Source::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        Source::Stdin => None,
    };
    args.title.clone().or_else(file_name).unwrap_or_else(|| "session".to_owned())
}

/// Says on standard error what the page does not contain.
fn note_limits(args: &Args, LeftOut { cut_payloads, rows }: LeftOut, output: &Output) {
    if cut_payloads > 0 && args.max_payload > 0 {
        let payloads = counted(cut_payloads, "payload was cut", "payloads were cut");
        output.report_error(&format!("{payloads} to {} bytes: see --max-payload", args.max_payload));
    }
    if rows > 0 {
        let messages = counted(rows, "message was left out", "messages were left out");
        output.report_error(&format!("{messages} because the page is full: see --max-page"));
    }
}

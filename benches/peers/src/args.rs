//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;
use wireline_json::Cpu;

use crate::machine::{cpu_name, cpus};

pub(crate) const HELP: &str = "\
Compares wireline with its alternatives in decoding, encoding and relaying JSON-RPC messages, and
in whole servers, in one process and one thread; and in whole programs: calls to a child process,
and statistics of a recorded session of 500 MB.

Usage: peers [OPTIONS] [FOLDER]...

Each contender runs once per round, in a different order each time, and the best of all rounds
counts: with enough rounds, results are reliable even on a busy machine. Before anything is timed,
all contenders must accept every line and find the same members in it.

Arguments:
  [FOLDER]...      recorded traffic, decoded after the generated corpora: all *.ndjson and *.jsonl
                   files in the folder and its direct subfolders are one corpus. Lines that some
                   contender refuses are left out for all, and a note says how many

Options:
  --seconds N      time per comparison [default: 3]. With 0, programs make few calls and read 1 MB:
                   to see that they work
  --only NAME      run only this; can be repeated. NAME is a corpus (small, tools, base64, source,
                   text, numbers, or a folder's name), encode, deserialize,
                   relay, server, calls or etl
  --by-name        make one corpus per file name in a folder, instead of one of the whole folder
  --cpu NAME       the kernel of wireline's scanner: avx512, avx2, portable, or all for a row each
                   [default: the best that this CPU supports]
  --markdown       print tables as Markdown
  --save FILE      write the ratios to a file
  --beside FILE    show the ratios of another run, which has saved them, in a column beside these:
                   for another build profile
  --svg FILE       write decoding speeds as a chart, for light and dark pages
  --serve NAME...  be one of the programs that the group calls starts, on stdin and stdout
  -h, --help       print this help
  -V, --version    print the versions of everything compared

Examples:
  peers                                    everything, in a few minutes
  peers --only calls --only etl            whole programs
  peers --only small --seconds 20          one corpus, as precisely as possible
  peers --cpu all --only source            each kernel of the scanner
  peers --by-name recordings --only recordings/client_to_server
  peers --markdown --svg peers.svg > peers.md

Build profiles change the ratios. To see two of them:
  cargo run --release -- --save plain.tsv && cargo run --profile fat -- --beside plain.tsv
";

/// The parsed command line.
#[derive(Debug, PartialEq)]
pub(crate) enum Args {
    Help,
    Version,
    /// The program to be, and those that it starts in turn.
    Serve(Vec<String>),
    Run(Options),
}

#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    /// Time per comparison.
    pub(crate) time: Duration,
    /// Empty to run everything.
    pub(crate) only: Vec<String>,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) by_name: bool,
    /// At least one, the best first.
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) markdown: bool,
    pub(crate) save: Option<PathBuf>,
    pub(crate) beside: Option<PathBuf>,
    pub(crate) svg: Option<PathBuf>,
}

impl Options {
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

/// Parses the arguments after the program's name.
pub(crate) fn parse<I>(args: I) -> Result<Args, lexopt::Error>
where
    I: IntoIterator,
    I::Item: Into<std::ffi::OsString>,
{
    let mut options = Options {
        time: Duration::from_secs(3),
        only: Vec::new(),
        folders: Vec::new(),
        by_name: false,
        cpus: cpus().into_iter().take(1).collect(),
        markdown: false,
        save: None,
        beside: None,
        svg: None,
    };
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(Args::Help),
            Short('V') | Long("version") => return Ok(Args::Version),
            Long("seconds") => options.time = parser.value()?.parse_with(seconds)?,
            Long("only") => options.only.push(parser.value()?.string()?),
            Long("by-name") => options.by_name = true,
            Long("cpu") => options.cpus = parser.value()?.parse_with(implementations)?,
            Long("markdown") => options.markdown = true,
            Long("save") => options.save = Some(parser.value()?.into()),
            Long("beside") => options.beside = Some(parser.value()?.into()),
            Long("svg") => options.svg = Some(parser.value()?.into()),
            Long("serve") => {
                let roles = parser.values()?.map(|role| role.string());
                return roles.collect::<Result<_, _>>().map(Args::Serve);
            }
            Value(folder) => options.folders.push(folder.into()),
            _ => return Err(arg.unexpected()),
        }
    }
    Ok(Args::Run(options))
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or("expected a number of seconds")
}

fn implementations(name: &str) -> Result<Vec<Cpu>, String> {
    let mut found = cpus();
    if name != "all" {
        found.retain(|&cpu| cpu_name(cpu) == name);
    }
    if found.is_empty() {
        let names: Vec<String> = cpus().into_iter().map(cpu_name).collect();
        return Err(format!("expected a kernel that this CPU supports ({}), or all", names.join(", ")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &[&str]) -> Options {
        match parse(args) {
            Ok(Args::Run(options)) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn everything_runs_by_default() {
        assert!(options(&[]).wants("small"));
        let options = options(&["--only", "small", "--only", "relay", "--seconds", "0.5", "folder"]);
        assert!(options.wants("small") && options.wants("relay") && !options.wants("tools"));
        assert_eq!(options.time, Duration::from_millis(500));
        assert_eq!(options.folders, [PathBuf::from("folder")]);
    }

    #[test]
    fn kernels_are_chosen() {
        assert_eq!(options(&["--cpu", "portable"]).cpus, [Cpu::Portable]);
        assert_eq!(options(&["--cpu=all"]).cpus, cpus());
        assert_eq!(options(&[]).cpus, cpus()[..1]);
    }

    #[test]
    fn misuse_is_an_error() {
        for args in [&["--cpu", "z80"][..], &["--seconds", "-1"], &["--seconds"], &["--fast"], &["--markdown=1"]] {
            assert!(parse(args).is_err(), "{args:?}");
        }
        assert_eq!(parse(["--help"]).ok(), Some(Args::Help));
        assert_eq!(parse(["--serve", "a", "b"]).ok(), Some(Args::Serve(vec!["a".to_owned(), "b".to_owned()])));
    }

    #[test]
    fn help_fits_a_terminal() {
        assert!(HELP.lines().all(|line| line.chars().count() <= 100));
    }
}

//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;
use wireline::Cpu;

use crate::machine::{cpu_name, cpus};

pub(crate) const HELP: &str = "\
Decodes, encodes and relays JSON-RPC messages by wireline and by what would be used instead of it,
side by side in one process and one thread, and prints who took how long.

Usage: peers [OPTIONS] [FOLDER]...

Everybody runs once in each round, in another order each time, and the best of all rounds counts: so
figures hold on a machine that is not quiet, if there are enough rounds. Before the clock runs, all
must have accepted every line and found the same members in it.

Arguments:
  [FOLDER]...      recorded traffic, decoded after the generated: all files *.ndjson and *.jsonl in
                   the folder, and in the folders in it, are one corpus. Lines that not everybody
                   accepts are left out for all, and a note says how many

Options:
  --seconds N      time for each comparison [default: 3]
  --only NAME      only this; may be given several times. NAME is a corpus (small, tools, base64,
                   source, text, numbers, or a folder's name), encode or relay
  --by-name        make not one corpus of a folder, but one of all files in it of the same name
  --cpu NAME       the implementation of wireline's scanner: avx512, avx2, portable, or all for a
                   row each [default: the best that runs here]
  --markdown       print tables as they are pasted into a README
  --svg FILE       draw how fast everybody decodes as a chart, for light and dark pages
  -h, --help       print this
  -V, --version    print the versions of all that is compared

Examples:
  peers                                    everything, in about a minute
  peers --only small --seconds 20          one corpus, as well as it gets
  peers --cpu all --only source            what each implementation of the scanner gives
  peers --by-name recordings --only recordings/client_to_server
  peers --markdown --svg peers.svg > peers.md
";

/// What is wanted.
#[derive(Debug, PartialEq)]
pub(crate) enum Args {
    Help,
    Version,
    Run(Options),
}

#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    /// For each comparison.
    pub(crate) time: Duration,
    /// Nothing, if all is wanted.
    pub(crate) only: Vec<String>,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) by_name: bool,
    /// At least one, the best first.
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) markdown: bool,
    pub(crate) svg: Option<PathBuf>,
}

impl Options {
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

/// Reads what comes after the program's name.
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
            Long("svg") => options.svg = Some(parser.value()?.into()),
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
        return Err(format!("expected one that runs here: {}, or all", names.join(", ")));
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
    fn all_is_wanted_unless_something_is() {
        assert!(options(&[]).wants("small"));
        let options = options(&["--only", "small", "--only", "relay", "--seconds", "0.5", "folder"]);
        assert!(options.wants("small") && options.wants("relay") && !options.wants("tools"));
        assert_eq!(options.time, Duration::from_millis(500));
        assert_eq!(options.folders, [PathBuf::from("folder")]);
    }

    #[test]
    fn implementations_are_chosen() {
        assert_eq!(options(&["--cpu", "portable"]).cpus, [Cpu::Portable]);
        assert_eq!(options(&["--cpu=all"]).cpus, cpus());
        assert_eq!(options(&[]).cpus, cpus()[..1]);
    }

    #[test]
    fn misuse_is_told() {
        for args in [&["--cpu", "z80"][..], &["--seconds", "-1"], &["--seconds"], &["--fast"], &["--markdown=1"]] {
            assert!(parse(args).is_err(), "{args:?}");
        }
        assert_eq!(parse(["--help"]).ok(), Some(Args::Help));
    }

    #[test]
    fn help_fits_a_terminal() {
        assert!(HELP.lines().all(|line| line.chars().count() <= 100));
    }
}

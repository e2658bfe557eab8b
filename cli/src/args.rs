//! The arguments.

#[cfg(unix)]
use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use wireline::Rules;

use crate::help::{ABOUT, CHECK_ABOUT, CHECK_NOTES, COMPLETIONS_ABOUT, MAN_ABOUT, STATS_ABOUT, STATS_NOTES};
#[cfg(unix)]
use crate::help::{TAP_ABOUT, TAP_NOTES};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

#[derive(Debug, Parser)]
#[command(name = "wireline", version, about = ABOUT, styles = STYLES, max_term_width = 100)]
#[command(after_help = "Try: wireline check --help, or wireline tap --help")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check that each line is one JSON-RPC 2.0 message
    #[command(long_about = CHECK_ABOUT, after_long_help = CHECK_NOTES)]
    Check(Check),

    /// Run a server, and tell what passes between it and its client
    #[cfg(unix)]
    #[command(long_about = TAP_ABOUT, after_long_help = TAP_NOTES)]
    Tap(Tap),

    /// Methods, latencies and sizes of a recorded session, or of plain traffic
    #[command(long_about = STATS_ABOUT, after_long_help = STATS_NOTES)]
    Stats(Stats),

    /// Print what makes a shell complete the arguments
    #[command(long_about = COMPLETIONS_ABOUT)]
    Completions {
        /// For which shell
        shell: Shell,
    },

    /// Print the manual page, or put all pages into a directory
    #[command(long_about = MAN_ABOUT)]
    Man(Man),
}

/// What is accepted.
#[derive(Debug, clap::Args)]
pub(crate) struct Judging {
    /// What is accepted
    #[arg(long, value_enum, default_value_t = Dialect::JsonRpc)]
    rules: Dialect,

    /// The longest line accepted, in bytes, or with a suffix K, M or G (powers of 1024)
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "16M")]
    max_len: usize,

    /// How deep brackets may be nested
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), default_value_t = 128)]
    max_depth: u16,
}

impl Judging {
    pub(crate) fn rules(&self) -> Rules {
        let rules = match self.rules {
            Dialect::JsonRpc => Rules::json_rpc(),
            Dialect::Mcp => Rules::mcp(),
            Dialect::Acp => Rules::acp(),
        };
        rules.max_line_len(self.max_len).max_depth(self.max_depth.into())
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Files to check; standard input if there is none, or for `-`
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) judging: Judging,

    /// How many threads judge a large file at the same time: as many as there are CPUs unless set
    ///
    /// What is reported, and in which order, does not depend on it. Standard input and pipes are judged by one.
    #[arg(short, long, value_name = "N", value_parser = parse_jobs)]
    jobs: Option<usize>,

    /// How to report
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// Show the part of a faulty line around the fault, with what a terminal could act upon escaped
    ///
    /// For the human format.
    #[arg(long)]
    pub(crate) show: bool,

    /// Print nothing: only the exit code tells
    ///
    /// What cannot be read is still named on standard error.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// The command that the page is about: wireline itself, unless one is named
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,

    /// Where to put all pages, as wireline.1, wireline-check.1 and so on
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}

impl Check {
    /// How many threads there are for one file.
    pub(crate) fn jobs(&self) -> usize {
        // Where a file cannot be read at an offset.
        if !cfg!(any(unix, windows)) {
            return 1;
        }
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.unwrap_or_else(available)
    }
}

#[cfg(unix)]
#[derive(Debug, clap::Args)]
pub(crate) struct Tap {
    #[command(flatten)]
    pub(crate) judging: Judging,

    /// Add the session to this file, so that `wireline check` and `wireline stats` can read it
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// Add what is told to this file, instead of writing it to standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// Show the beginnings of params, results and errors, with what a terminal could act upon escaped
    #[arg(long)]
    pub(crate) show: bool,

    /// Tell only what is wrong, and the table at the end; twice: nothing at all
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) quiet: u8,

    /// The server, and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// Files to read; standard input if there is none, or for `-`
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) judging: Judging,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Dialect {
    /// JSON-RPC 2.0 as it is written
    JsonRpc,
    /// The Model Context Protocol: ids are strings or integers, params and results are objects, no batches
    Mcp,
    /// The Agent Client Protocol: ids are strings, integers or null
    Acp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The faults, and a summary
    Human,
    /// One JSON object for each line that is not blank
    Ndjson,
}

fn parse_jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs @ 1..=1024) => Ok(jobs),
        _ => Err("expected a number of threads, from 1 to 1024".to_owned()),
    }
}

/// Reads `4096`, `64K`, `16M` or `1G`.
fn parse_size(text: &str) -> Result<usize, String> {
    let shifts = [('k', 10), ('m', 20), ('g', 30)];
    let suffix = text.chars().last().map(|last| last.to_ascii_lowercase());
    let shift = shifts.iter().find(|(name, _)| Some(*name) == suffix).map(|(_, shift)| *shift);
    let digits = if shift.is_some() { &text[..text.len() - 1] } else { text };

    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("expected a number of bytes, such as 4096, 64K, 16M or 1G".to_owned());
    }
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift.unwrap_or(0)));
    match bytes {
        Some(bytes @ 1..=0x1_0000_0000) => Ok(usize::try_from(bytes).unwrap_or(usize::MAX)),
        _ => Err("expected at least 1 byte, and at most 4G".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn reads_sizes() {
        for (text, bytes) in
            [("1", 1), ("4096", 4096), ("64K", 65536), ("64k", 65536), ("16M", 16 << 20), ("1G", 1 << 30)]
        {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "0", "0M", "5G", "-1", "+1", "1.5M", "16MB", "16 M", "99999999999999999999", "1é", "é"]
        {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}

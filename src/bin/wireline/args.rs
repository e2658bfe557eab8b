//! The arguments, and the help that explains them.

#[cfg(unix)]
use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand, ValueEnum};
use wireline::Rules;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const ABOUT: &str = "Judges newline-delimited JSON-RPC 2.0, as MCP and other protocols speak it over pipes.";

const CHECK_ABOUT: &str = "\
Checks that each line is one JSON-RPC 2.0 message, and says what is wrong with those that are not.

A line must be valid UTF-8 and valid JSON; a request, a notification, a response or a batch of them; with the right \
\"jsonrpc\", one kind of content, an id of a type that the rules permit, no member twice, and within the limits on \
length and depth. Blank lines are passed over. A faulty line does not end the check: the next one is judged as if it \
had not been there.

For each fault you learn where it is, what was expected there, what the mistake probably is, and whether a server \
would answer the line. The text of the lines themselves is not printed unless you ask for it with --show, so that a \
report can be shared when the traffic cannot.

A file that `wireline tap --record` has written is read as the session that it is: a line's number is that of its \
record.

Files are streamed: the memory needed depends on the longest line, not on the file.";

const CHECK_NOTES: &str = "\
Exit codes:
  0  every line is fine
  1  some line, or some entry of a batch, is faulty
  2  wrong usage, or something could not be read or written

Examples:
  Check a recorded session by the rules of MCP, and look at the bad lines:
    wireline check --rules mcp --show session.ndjson

  See what a server really writes to its standard output:
    my-server < requests.ndjson | wireline check --rules mcp

  Count the methods in a log, with jq:
    wireline check --format ndjson log.ndjson | jq .method | sort | uniq -c";

#[cfg(unix)]
const TAP_ABOUT: &str = "\
Runs a server that speaks JSON-RPC over its standard input and output, and stands between it and its client.

Put it in front of the server's command in the configuration of any client. Every byte passes unchanged and at once in \
both directions, whether it is valid or not; so do standard error, signals and the exit code. Meanwhile each line is \
judged, and told on standard error: when it came, from whom (→ from the client, ← from the server), what it is, its \
method, id and size, and with an answer how long it took. Faulty lines come with their place, and with what the mistake \
probably is. At the end there is a table by method, and what was never answered.

What the messages carry is not shown unless you ask for it with --show.";

#[cfg(unix)]
const TAP_NOTES: &str = "\
Exit codes:
  That of the server; if a signal has ended it, the tap ends by the same one. Otherwise:
  125  a file could not be opened, or something of the kind
  126  the command could not be run
  127  the command was not found

If standard error is not read, what cannot be written is left out and counted: the session does not wait for it. A \
recording is complete, so that the session waits for the disk if need be. SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1 \
and SIGUSR2 are passed on to the server.

Examples:
  See what a client and a server say to each other:
    wireline tap -- my-server --verbose

  In the configuration of a client that shows nobody its servers' standard error:
    { \"command\": \"wireline\", \"args\": [\"tap\", \"--log\", \"/tmp/session.log\", \"--\", \"my-server\"] }

  Keep a session, and look at it later:
    wireline tap --quiet --record session.tap -- my-server
    wireline stats session.tap
    wireline check --rules mcp --show session.tap";

const STATS_ABOUT: &str = "\
Shows which methods were called how often, with their errors, latencies and sizes; what was never answered, and what was \
answered without having been asked.

A file that `wireline tap --record` has written has the time and the sender of each line. Plain traffic, one message a \
line, has neither: requests and answers in the same file are matched by their ids, and there are no latencies.

All files together are one session.";

const STATS_NOTES: &str = "\
Exit codes:
  0  all has been read, whatever there was in it
  2  wrong usage, or something could not be read or written

Examples:
  wireline tap --quiet --record session.tap -- my-server
  wireline stats session.tap";

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
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

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

impl Check {
    /// How many threads there are for one file.
    pub(crate) fn jobs(&self) -> usize {
        // Where a file cannot be read at an offset.
        if !cfg!(any(unix, windows)) {
            return 1;
        }
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or_else(available, usize::from)
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
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
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

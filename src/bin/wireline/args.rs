//! The arguments, and the help that explains them.

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

#[derive(Debug, Parser)]
#[command(name = "wireline", version, about = ABOUT, styles = STYLES, max_term_width = 100)]
#[command(after_help = "Try: wireline check --help")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check that each line is one JSON-RPC 2.0 message
    #[command(long_about = CHECK_ABOUT, after_long_help = CHECK_NOTES)]
    Check(Check),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Files to check; standard input if there is none, or for `-`
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// What is accepted
    #[arg(long, value_enum, default_value_t = Dialect::JsonRpc)]
    rules: Dialect,

    /// The longest line accepted, in bytes, or with a suffix K, M or G (powers of 1024)
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "16M")]
    max_len: usize,

    /// How deep brackets may be nested
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), default_value_t = 128)]
    max_depth: u16,

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
    pub(crate) fn rules(&self) -> Rules {
        let rules = match self.rules {
            Dialect::JsonRpc => Rules::json_rpc(),
            Dialect::Mcp => Rules::mcp(),
            Dialect::Acp => Rules::acp(),
        };
        rules.max_line_len(self.max_len).max_depth(self.max_depth.into())
    }
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

//! The arguments and the help text of `wireline report`.

use std::path::PathBuf;

use crate::rules_args::RulesArgs;
use crate::units::parse_len;

/// Turn a recording into a web page: timeline, messages, histograms
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = NOTES)]
pub(crate) struct Args {
    /// Recording to read; `-` means standard input [default: the newest one]
    #[arg(value_name = "RECORDING")]
    pub(super) recording: Option<PathBuf>,

    /// Write the page to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    /// Open the page in the browser; without --output, from a temporary file
    #[arg(long)]
    pub(super) open: bool,

    /// Title of the page [default: the file name of the recording]
    #[arg(long, value_name = "TEXT")]
    pub(super) title: Option<String>,

    /// Longest payload to include, in bytes; longer ones are cut, 0 leaves all of them out
    #[arg(long, value_name = "BYTES", value_parser = parse_len, default_value = "64K")]
    pub(super) max_payload: u64,

    /// Largest page, in bytes; messages beyond it are counted but not included
    #[arg(long, value_name = "BYTES", value_parser = parse_len, default_value = "256M")]
    pub(super) max_page: u64,

    /// Leave out the texts of errors, which are the peer's own words; implied by --max-payload 0
    #[arg(long)]
    pub(super) no_reasons: bool,

    /// Leave out what the server wrote to standard error; implied by --max-payload 0
    #[arg(long)]
    pub(super) no_stderr: bool,

    #[command(flatten)]
    pub(super) rules: RulesArgs,
}

const ABOUT: &str = "\
Turns a recording written by `wireline tap --record` into a web page: one file, which opens in any browser, loads \
nothing from the network, and can be mailed or attached to an issue.

The page shows what client and server agreed on, a timeline of all calls with their latencies, every message with its \
payload, what the server wrote to standard error between them, a table by method and tool, and histograms of latencies \
and sizes. Its filter box finds messages by method, \
tool, id, latency, time and text; press ? on the page for its keys.

The page contains the messages themselves, so it may contain secrets. Leave the payloads out with --max-payload 0.";

const NOTES: &str = "\
Limits:
  Suffixes K, M and G multiply by a power of 1024. A page of 100,000 messages opens in about a second. The page and \
standard error say what was cut or left out.

The browser:
  --open starts `xdg-open`, `gio open` or `wslview`, on macOS `open`, and on Windows `start`. Its temporary file is \
readable to you alone, and stays until the system clears the folder. A browser in a sandbox may not see that folder: name \
another file with --output.

Exit codes:
  0  the page is complete within its limits
  2  usage error, or something could not be read, written or opened

Examples:
  Look at the newest recording that `wireline tap --record` made without a name:
    wireline report --open

  Record a session and look at it:
    wireline tap --quiet --record session.tap -- my-server
    wireline report --open session.tap

  Write a page to keep or to send:
    wireline report session.tap > report.html

  In PowerShell, whose > changes the encoding:
    wireline report session.tap --output report.html

  A page without any contents of messages, to show to others:
    wireline report --max-payload 0 session.tap > report.html";

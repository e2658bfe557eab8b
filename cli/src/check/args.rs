//! The arguments and the help text of `wireline check`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::framing::FramingArgs;
use crate::input::CAN_READ_AT;
use crate::judge::Severity;
use crate::rules_args::RulesArgs;

/// Check that every line is one JSON-RPC 2.0 message
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = NOTES)]
pub(crate) struct Args {
    /// Files, directories or glob patterns to check; `-` or none means standard input
    ///
    /// Of a directory, all files are checked, in subdirectories as well, apart from hidden ones.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) rules: RulesArgs,

    #[command(flatten)]
    pub(crate) framing: FramingArgs,

    /// Number of threads that check one large file [default: number of CPUs]
    ///
    /// The report and its order do not depend on it. Standard input and pipes are always checked by one thread.
    #[arg(short, long, value_name = "N", value_parser = parse_jobs)]
    jobs: Option<usize>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// Show each faulty line around its fault, with control characters escaped (human format only)
    #[arg(long)]
    pub(crate) show: bool,

    /// Report every fault, even if there are many equal ones (human format only)
    ///
    /// Otherwise, the first 20 of each kind are reported and the others counted, and a message that was printed over
    /// several lines is one finding.
    #[arg(long)]
    pub(crate) all: bool,

    /// Accept a last line without a line end
    #[arg(long)]
    pub(crate) allow_unterminated: bool,

    /// Accept input without any message
    #[arg(long)]
    pub(crate) allow_empty: bool,

    /// What makes the check fail, besides faulty lines: rules of severity `error`, or any broken rule
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = Severity::Error)]
    pub(crate) fail_on: Severity,

    /// Judge the messages in plain files as well, each on its own, by the rules about what official clients refuse
    ///
    /// Recordings are always judged, and by all rules. A plain file doesn't tell who sent what, and judging its lines takes
    /// longer than checking them.
    #[arg(long)]
    pub(crate) judge_lines: bool,

    /// Print the table of rules that sessions are judged by, and exit
    #[arg(long, exclusive = true)]
    pub(crate) list_rules: bool,

    /// Print no report; only set the exit code
    ///
    /// Files that cannot be read are still reported on standard error.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Faults and a summary
    Human,
    /// One JSON object per line of input, blank lines excepted
    Ndjson,
    /// One JSON object with all faults and the totals of each file
    Json,
    /// JUnit XML for CI: a test suite per file, with a failure per faulty line
    Junit,
    /// SARIF 2.1.0, which code hosts and editors read
    Sarif,
}

impl Args {
    /// How many threads may check one file.
    pub(crate) fn jobs(&self) -> usize {
        if !CAN_READ_AT {
            return 1;
        }
        self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }
}

fn parse_jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs @ 1..=1024) => Ok(jobs),
        _ => Err("expected a number of threads from 1 to 1024".to_owned()),
    }
}

const ABOUT: &str = "\
Checks that every line is one JSON-RPC 2.0 message, and explains what is wrong with each line that is not.

A line must be valid UTF-8 and valid JSON, and hold a request, a notification, a response or a batch of them. The check \
covers the \"jsonrpc\" version, the types of all members that JSON-RPC defines, duplicate members, and the limits on \
line length and nesting depth. Blank lines are skipped, but a file without any message is a finding: it is rarely what \
was meant to be checked. A faulty line does not affect the lines after it.

Each fault is reported with its position, what was expected there, the likely mistake, and whether a server would \
answer the line. The human-readable report never shows message contents unless you pass --show, so you can share it \
when the traffic is confidential. The ndjson report contains ids and method names.

A recording written by `wireline tap --record` is checked as the session it contains: line numbers refer to its \
records. The session is also judged: whether each request is answered once, whether both sides keep to the protocol that \
they agreed on, whether arguments and results of tools match their schemas, and whether official clients would refuse a \
message. --list-rules lists the rules.

A stream that starts with a Content-Length header, as in LSP, or with a server-sent event, as in MCP over HTTP, is \
checked as such: each message, instead of each line. Its faults are reported with the number of the frame and its offset. \
--framing overrides what the first message looks like.

Input is streamed: memory use depends on the longest line, not on the file. Large files are checked by several \
threads, and reported in order all the same. The report goes to standard output. If standard error is a terminal, it \
shows the progress of long checks.";

const NOTES: &str = "\
Exit codes:
  0  no faults
  1  at least one line or batch entry is faulty, a last line has no line end, a file has no messages, or a session breaks a
     rule whose severity is at least that of --fail-on
  2  usage error, or something could not be read or written

Examples:
  Check a captured session against the rules of MCP, and look at the faulty lines:
    wireline check --rules mcp --show session.ndjson

  Test whether any of last week's logs contains a fault:
    wireline check --quiet logs/*.ndjson || echo 'found faults'

  Check what a server really writes to its standard output:
    my-server < requests.ndjson | wireline check --rules mcp

  Judge a recorded session in CI, and let warnings fail too:
    wireline check --fail-on warning --format sarif session.tap > session.sarif

  Check what a server of MCP sends over HTTP:
    curl -sN -H 'Accept: text/event-stream' http://localhost:3000/mcp | wireline check --rules mcp

  Count the methods in a log with jq:
    wireline check --format ndjson log.ndjson | jq .method | sort | uniq -c";

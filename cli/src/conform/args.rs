//! The arguments and the help text of `wireline conform`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::value::RawValue;

use super::selection::Selector;
use crate::rules_args::{Dialect, DialectParser};
use crate::units::parse_duration;

/// Test whether a server follows its protocol, and reduce each failure to the smallest input
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = NOTES)]
#[command(override_usage = "wireline conform [OPTIONS] -- SERVER...\n       \
    wireline conform --client [OPTIONS] -- CLIENT... {server}\n       wireline conform --list [OPTIONS]")]
pub(crate) struct Args {
    /// Protocol of the server
    #[arg(long, value_parser = DialectParser, default_value_t = Dialect::Mcp)]
    pub(super) rules: Dialect,

    /// Test a client instead: play servers that misbehave to it. `{server}` in its arguments stands for the server's command
    #[arg(long, conflicts_with_all = ["call", "probe"])]
    pub(super) client: bool,

    /// Tool that may be called, and its arguments as a JSON object (MCP)
    ///
    /// Of the other tools, only those are called that the server annotates as read-only.
    #[arg(long, value_name = "NAME=JSON", value_parser = parse_call)]
    pub(super) call: Vec<ToolCall>,

    /// Method that the server knows and that does no harm, with its params if it needs any
    ///
    /// Most requests of the test have this method. By default it is `ping` or `server/discover` under MCP, and under
    /// other rules a method that doesn't exist, which is answered with an error.
    #[arg(long, value_name = "METHOD[=JSON]", value_parser = parse_probe)]
    pub(super) probe: Option<Probe>,

    /// Run only these checks: a name, in which `*` stands for any text, a property or a level
    #[arg(long, value_name = "CHECK")]
    pub(super) only: Vec<Selector>,

    /// List the checks instead of running them
    #[arg(long)]
    pub(super) list: bool,

    /// How many random requests and mutations to send
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), default_value_t = 1000)]
    pub(super) cases: u32,

    /// Seed of everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,

    /// How long a server may take to answer, or to exit; or how much longer a client may take than with a good server
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "5s")]
    pub(super) timeout: Duration,

    /// How long a server may take to start
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "30s")]
    pub(super) start_timeout: Duration,

    /// How long to look for a smaller input that fails in the same way, for each failure
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "20s")]
    pub(super) shrink: Duration,

    /// Where to save a recording of each failure
    #[arg(long, value_name = "DIRECTORY", default_value = "wireline-conform")]
    pub(super) recordings: PathBuf,

    /// Show the start of what the server sent, with control characters escaped
    #[arg(long)]
    pub(super) show: bool,

    /// Format of the report or the list
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,

    /// Server to run, and its arguments
    #[arg(value_name = "SERVER", last = true, required_unless_present = "list")]
    pub(super) command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    Human,
    /// One JSON object for programs
    Json,
    /// JUnit XML for CI: a test suite per property (reports only)
    Junit,
    /// A page of documentation (lists only)
    Markdown,
}

impl Args {
    /// Why this format doesn't fit what is asked for, if it doesn't.
    pub(super) fn misfit(&self) -> Option<&'static str> {
        match (self.list, self.format) {
            (true, Format::Junit) => Some("--format junit is for reports, not for --list: use human, json or markdown"),
            (false, Format::Markdown) => Some("--format markdown is for --list"),
            _ => None,
        }
    }
}

/// A tool to call.
#[derive(Clone, Debug)]
pub(super) struct ToolCall {
    pub(super) name: String,
    /// A JSON object, on one line.
    pub(super) arguments: String,
}

/// The method of most requests.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub(super) method: String,
    /// JSON on one line.
    pub(super) params: Option<String>,
}

fn parse_call(text: &str) -> Result<ToolCall, String> {
    let (name, arguments) = text.split_once('=').unwrap_or((text, "{}"));
    let arguments = one_line(arguments)?;
    if name.is_empty() || !arguments.starts_with('{') {
        return Err("expected a name and its arguments, such as 'echo={\"text\":\"x\"}'".to_owned());
    }
    Ok(ToolCall { name: name.to_owned(), arguments })
}

fn parse_probe(text: &str) -> Result<Probe, String> {
    let (method, params) = text.split_once('=').map_or((text, None), |(method, params)| (method, Some(params)));
    let params = params.map(one_line).transpose()?;
    if method.is_empty() || params.as_ref().is_some_and(|params| !params.starts_with(['{', '['])) {
        return Err("expected a method, or one with params, such as 'status={\"verbose\":true}'".to_owned());
    }
    Ok(Probe { method: method.to_owned(), params })
}

/// Valid JSON without line breaks between its tokens.
fn one_line(json: &str) -> Result<String, String> {
    let json: Box<RawValue> = serde_json::from_str(json).map_err(|error| format!("not JSON: {error}"))?;
    Ok(json.get().replace(['\n', '\r'], " "))
}

const ABOUT: &str = "\
Starts a server as a client would, and tests through its standard input and output that it follows its protocol: every \
byte of its output belongs to a message, messages are found however their bytes arrive, every request gets exactly one \
response, valid messages are processed and others refused, and the process starts and exits as it should.

The server may be written in any language, and need not know that it is tested. It is started several times. For each \
failure, the smallest input that still fails is searched for by running the server again. It is printed as a command \
that can be pasted into a shell, and saved as a recording for `wireline show`.

A check is a `must` if a client hangs, or loses or corrupts messages when it fails, and a `should` otherwise. Everything \
that the specification permits is accepted. `wireline conform --list` describes all checks.";

const NOTES: &str = "\
Exit codes:
  0  all checks passed, or were skipped for a reason that the report names
  1  at least one check failed
  2  usage error, or the server could not be started, or the report could not be written; or a client failed although its \
server behaved

What is called:
  Under MCP, no tool is called except those of --call and those that the server annotates with readOnlyHint. Other \
requests are `ping`, `tools/list`, `server/discover`, and methods that don't exist. Under other rules, only the method of \
--probe and methods that don't exist are called.

What is random:
  Requests and mutations depend on --seed alone. A server that answers the same requests in the same way gets the same \
report.

Testing a client:
  With --client, the program to test is a client that runs a session of its own and exits. It is run with a server that \
behaves, and then once for each misbehaviour: noise on stdout, bad lines, answers under wrong ids, twice or never, a server \
that dies, and others; `wireline conform --client --list` describes them. A client must not hang, crash, or take wrong data \
for an answer. It should go on where the specification lets it.

  An argument {server} is replaced by the server's command and its arguments, several arguments, because many clients take \
those as the rest of their own. In an argument that contains more, such as '--server={server}', {server} becomes one \
command line, quoted for a shell. For a client that wants something else, write a script that makes it from \"$@\".

  The client gets no input. Whether it used a wrong answer is seen from its output, so let it print what it gets. A client \
has twice the time that it takes with a good server, and --timeout, and 3 s. A client that gives up on an answer only after \
a minute needs --timeout 70s.

Examples:
  Test an MCP server:
    wireline conform -- my-server

  Let it call two tools, and write a report for CI:
    wireline conform --call 'echo={\"text\":\"x\"}' --call now --format junit -- my-server > report.xml

  Test a server that speaks JSON-RPC:
    wireline conform --rules json-rpc --probe 'status={}' -- my-server

  Run only the checks of framing, and one other:
    wireline conform --only framing --only long-id -- my-server

  Run only the checks whose failure makes a client hang or lose messages:
    wireline conform --only must -- my-server

  Test a client in Python or TypeScript, which starts the server with the rest of its arguments:
    wireline conform --client -- python client.py {server}
    wireline conform --client --timeout 70s -- npx tsx client.ts {server}

  Test a client that takes its server as one command line, with JSON-RPC, and only where it hangs or crashes:
    wireline conform --client --rules json-rpc --only must -- my-client '--server={server}'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_probes() {
        let call = parse_call("echo={\"a\":\n\"=\"}").unwrap();
        assert_eq!((call.name.as_str(), call.arguments.as_str()), ("echo", "{\"a\": \"=\"}"));
        assert_eq!(parse_call("now").unwrap().arguments, "{}");
        for text in ["", "={}", "echo=1", "echo=", "echo={"] {
            assert!(parse_call(text).is_err(), "{text}");
        }
        let probe = parse_probe("status=[1]").unwrap();
        assert_eq!((probe.method.as_str(), probe.params.as_deref()), ("status", Some("[1]")));
        assert_eq!(parse_probe("status").unwrap().params, None);
        for text in ["", "=[]", "status=1", "status="] {
            assert!(parse_probe(text).is_err(), "{text}");
        }
    }
}

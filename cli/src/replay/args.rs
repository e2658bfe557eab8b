//! The arguments and the help text of `wireline replay`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::ignore_rule::IgnoreRule;
use crate::json::VolatileKind;
use crate::rules_args::RulesArgs;
use crate::units::parse_duration;

/// Play a recording against a server and compare its answers, or answer a client from it
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = NOTES)]
#[command(override_usage = "wireline replay [OPTIONS] RECORDING -- COMMAND...\n       \
    wireline replay [OPTIONS] --as-server RECORDING")]
pub(crate) struct Args {
    /// Recording that `wireline tap --record` wrote
    #[arg(value_name = "RECORDING")]
    pub(super) recording: PathBuf,

    /// Play the server's side instead: answer a client on standard input and output
    #[arg(long, conflicts_with_all = ["command", "format", "timeout"])]
    pub(super) as_server: bool,

    /// Ignore this part of each message; a JSON pointer, in which `*` stands for any one name or index
    ///
    /// With a method, or a method and a tool, in front of the pointer, the part is ignored only in messages about those:
    /// `tools/call:get_time /result/content/*/text`.
    #[arg(long, value_name = "[METHOD[:TOOL] ]POINTER")]
    pub(super) ignore: Vec<IgnoreRule>,

    /// Ignore values of this kind, alone or within texts: they must be of this kind in both, but may differ
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',')]
    pub(super) ignore_kind: Vec<VolatileKind>,

    /// Write the session as it went this time to a new recording; FILE may be the recording that is replayed
    #[arg(long, value_name = "FILE", conflicts_with = "as_server")]
    pub(super) update: Option<PathBuf>,

    /// When to send messages
    #[arg(long, value_enum, default_value_t = Timing::Fast)]
    pub(super) timing: Timing,

    /// How long to wait for an answer, in addition to the time that it took in the recording
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s")]
    pub(super) timeout: Duration,

    /// Play only the session with this number, from 1 [default: all sessions of the recording]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) session: Option<u64>,

    /// With --as-server: if no recorded request has the same params, answer like the next one of the same method
    #[arg(long, requires = "as_server")]
    pub(super) loose: bool,

    /// Show the start of values that differ, with control characters escaped
    #[arg(long)]
    pub(super) show: bool,

    /// Form of the report
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,

    #[command(flatten)]
    pub(super) rules: RulesArgs,

    /// Server to run, and its arguments
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "as_server")]
    pub(super) command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Timing {
    /// As soon as everything has come that came before in the recording
    Fast,
    /// Also no earlier than in the recording
    Recorded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Text for people
    Human,
    /// One JSON object for programs
    Json,
}

const ABOUT: &str = "\
Starts a server, sends it what the client sent in a recorded session, and compares its answers with the recorded ones: a \
regression test from a recording.

Each message is sent byte for byte, once every answer, request and notification of the server has come that came before it \
in the recording. A request of the server is answered as the client answered it. Each answer, and each request of the server, is \
then compared with the recorded one by value: the order of an object's members and the spelling of strings and numbers \
make no difference. The report names what is added, missing or changed by its path. A recording with several sessions is \
replayed one session after the other, each with a new server.

With --as-server, it is the other way round: wireline answers a client from the recording, for tests without the real \
server. Each request gets the answer that the same request, by method and params, got in the recording.

The report never shows values unless you pass --show.";

const NOTES: &str = "\
Exit codes:
  0  all answers are as recorded; with --as-server, every request was found in the recording
  1  something is different, or was not found
  2  usage error, the recording could not be read, or the server could not be started

What is compared:
  Answers, and requests of the server, as whole messages, so a path starts with /result, /error or /params. Notifications \
are not compared, because their number and order often depend on timing. The text of a tool's content is compared as JSON \
if it is an object or an array; paths go on into it, as in /result/content/0/text/temperature. Elements of an array are compared in order; if \
elements were inserted or removed at one place, only those count. Numbers are compared exactly: 1 is 1.0, and \
0.1 is not 0.10000000000000001.

What is not waited for:
  A notification that does not come within a second after the time that it took in the recording, and later ones of that \
method. An answer that the recording does not have either, and an answer to a request that the client cancelled. A `ping` of \
the server is answered at once. Any other request of the server that is not in the recording gets the error -32601.

Servers that misbehave:
  An answer that does not come in time is reported, and the replay goes on. It ends early if the server exits, does not \
read, or leaves three answers in a row outstanding. After the last message the server's input is closed. A server that \
has not exited 2 s later is terminated.

As a server:
  The first request with the same method and params that has not been used yet gives the answer; if all have been used, \
the last one. The member `_meta` of params and what --ignore names (such as /params/arguments/now) make no difference, \
and for `initialize` no params do. Notifications and requests that the server sent after a message, and before the next \
one of the client, are sent again. Progress carries the client's own token. A request that is not in the recording gets \
the error -32601 (unknown method) or -32602 (unknown params), and is reported on standard error. A request that the \
recorded server never answered stays open until the client cancels it or closes its output.

Examples:
  Record a session once, and repeat it after every change of the server:
    wireline tap --quiet --record session.tap -- my-server
    wireline replay session.tap -- my-server

  Ignore a time in every result, and the text of each content:
    wireline replay --ignore /result/time --ignore '/result/content/*/text' session.tap -- my-server

  Ignore what one tool says, and all times and UUIDs:
    wireline replay --ignore 'tools/call:get_time /result/content/*/text' session.tap -- my-server
    wireline replay --ignore-kind time,uuid session.tap -- my-server

  Accept the new answers:
    wireline replay --update session.tap session.tap -- my-server

  Test a client without its server:
    my-client --server 'wireline replay --as-server session.tap'";

//! The arguments and the help text of `wireline guard`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::rules_args::RulesArgs;
use crate::units::parse_duration;

/// Run a server, and make sure that its client gets valid messages and one response to each request
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = NOTES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) rules: RulesArgs,

    /// Answer a request with an error if the server takes longer than this, as in 30s or 2m; 0 to wait for ever
    ///
    /// A notification about the progress of a request restarts its clock.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "0")]
    pub(super) timeout: Duration,

    /// At the end of the client's input, give the server this long to answer, and the same again to exit
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "5s")]
    pub(super) grace: Duration,

    /// Start the server again if it ends before the client does, at most this often
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) restart: u32,

    /// Append the session to this file, for `wireline check` and `wireline stats` to read
    ///
    /// In the name, %t stands for the time, %p for the process id, %% for %, and ~ at the start for the home directory.
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,

    /// Do not record what the server writes to standard error
    #[arg(long)]
    pub(super) no_stderr: bool,

    /// Append what would go to standard error to this file; %t, %p and ~ as for --record
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,

    /// Show the invalid messages of the server, with control characters escaped
    #[arg(long)]
    pub(super) show: bool,

    /// Don't report repairs, and don't summarise them at the end
    #[arg(short, long)]
    pub(super) quiet: bool,

    /// Wait for the end of standard input, and then end the process group
    #[arg(long, hide = true, exclusive = true)]
    pub(super) watch: bool,

    /// Server to run, and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub(super) command: Vec<OsString>,
}

const ABOUT: &str = "\
Runs a server that speaks JSON-RPC over its standard input and output, and stands between it and its client, so that the \
client can rely on what even a careless server sends:

- Standard output has valid messages, one on each line, and nothing else. Stray output goes to standard error, marked \
with `stdout: `.
- Each request gets one response. A second one is dropped. A request that the server leaves unanswered when it ends, \
closes its output or exceeds --timeout is answered with an error.
- The server gets valid messages. Bad lines of the client are answered here.
- When the client or wireline ends, even by SIGKILL, the server ends too, along with the processes that it has started.

Put `wireline guard --` in front of the server's command in the configuration of any client. Valid messages pass \
unchanged, byte for byte.";

const NOTES: &str = "\
What is put right, if it comes from the server:
  A byte order mark, a carriage return before the line feed, a missing line ending, blank lines, null params, a message \
that is printed over several lines, and a message on a line with other text or escape sequences for a terminal. No value \
changes, with one exception: the escape of half a surrogate pair, such as \\ud83d alone, is replaced by \\ufffd. It is no \
character, and many clients refuse the whole message because of it.
  An invalid response whose id can be read is replaced by an error. Of what may be a copy of a message, as in a log line, \
only the first response to a request counts.
  Under the rules of MCP and ACP, a request or notification that the server prints just as the client has sent it is \
dropped: it is an echo.
  Each kind of repair is told once on standard error, as the line of which side (→ client, ← server), and counted in a \
summary at the end. Nothing of the messages is shown without --show.

What the client is answered here:
  -32700, -32600  an invalid line, a line beyond the limits, or a request with the id of another one in flight
  -32603          the server's response is invalid or beyond the limits
  -32000          the server has ended, has closed its output, or doesn't read
  -32001          the server has exceeded --timeout
  While the server doesn't read, nothing more is read from the client than a pipe holds; what comes after that is \
answered once the server reads again or ends.
  A response that comes later is dropped. Until it has come, the id can't be used again. A request that was cancelled \
under MCP isn't answered here, because its client expects no answer.
  Of a batch, the entries that are valid reach the server, and the others are answered with an array of their own.

The end:
  At the end of the client's input, the server gets --grace to answer the requests in flight. Then its input is closed, \
and it gets --grace again to exit. After that, its process group gets SIGTERM, and SIGKILL a second later. If the client \
has gone and reads no answers, the server's input is closed at once.
  The server has a process group of its own, which a small process watches that ends it when wireline has ended, for \
whatever reason. Only processes that have moved to another group or session, as daemons do, can outlive it.

Restarts:
  --restart N starts a server again that exits or closes its output while the client is connected. The requests in flight \
are answered with errors. The handshake of MCP or ACP is repeated, without the client noticing, and the restart fails if \
the server doesn't agree on the same version. The server's own state is lost: use it for servers that have none, such as \
MCP servers whose tools don't depend on earlier calls. Subscriptions, log levels and ACP sessions don't survive. In a \
recording, each server has a session of its own, which starts with the repeated handshake.

Exit codes:
  The exit code of the server. If a signal ended the server, wireline ends by the same signal, or exits with 128 plus its \
number. Otherwise:
  2    usage error
  125  the guard could not start, for example because there are too many processes
  126  COMMAND could not be run
  127  COMMAND was not found

Signals:
  SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1 and SIGUSR2 are forwarded to the server's process group unless they are \
ignored.

Files:
  A recording holds what both sides have sent, before anything is put right, secrets included, and is created for its \
owner only (mode 600).

On Windows:
  The server and the processes that it has started are ended by `taskkill /T`, which finds only processes whose parents \
still run. A last message without its line ending is passed on when the server's output ends.

Examples:
  Configure a client:
    { \"command\": \"wireline\", \"args\": [\"guard\", \"--rules\", \"mcp\", \"--\", \"my-server\"] }

  Answer requests that take longer than a minute, and start a server again that dies:
    wireline guard --rules mcp --timeout 1m --restart 5 -- my-server

  Record what the server really sends, and examine it later:
    wireline guard --record session.tap -- my-server
    wireline check --rules mcp --show session.tap";

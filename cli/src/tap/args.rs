//! The arguments and the help text of `wireline tap`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::filter::Filter;
use crate::framing::FramingArgs;
use crate::rules_args::RulesArgs;
use crate::units::{parse_duration, parse_len};

/// Run a server and log what passes between it and its client
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = NOTES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) rules: RulesArgs,

    #[command(flatten)]
    pub(super) framing: FramingArgs,

    /// Append the session to this file, for the other commands to read; without a name, to a new one in the folder of
    /// recordings
    ///
    /// Other commands without a file read the newest recording in that folder, $XDG_STATE_HOME/wireline or
    /// ~/.local/state/wireline. In the name, %t stands for the time, %p for the process id, %% for %, and ~ at the start for the home directory.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(super) record: Option<Option<PathBuf>>,

    /// How many recordings the folder keeps; the oldest ones are removed
    #[arg(long, value_name = "N", default_value = "100")]
    pub(super) keep: u64,

    /// How large the recordings in the folder may be together, in bytes; the oldest ones are removed
    #[arg(long, value_name = "BYTES", value_parser = parse_len, default_value = "1G")]
    pub(super) keep_size: u64,

    /// Do not record what the server writes to standard error
    #[arg(long)]
    pub(super) no_stderr: bool,

    /// Append the log to this file instead of writing it to standard error; %t, %p and ~ as for --record
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,

    /// Show the start of params, results and errors, with control characters escaped
    #[arg(long)]
    pub(super) show: bool,

    /// Log every fault, even if there are many equal ones
    ///
    /// Otherwise, the first 20 of each kind are logged and the others counted, and a message that was printed over
    /// several lines is one fault.
    #[arg(long)]
    pub(super) all: bool,

    /// Say that a request is still pending after this long, as in 500ms, 5s or 2m; 0 to never say it
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "5s")]
    pub(super) slow_after: Duration,

    /// Log only problems and the table at the end; pass it twice to log nothing
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(super) quiet: u8,

    #[command(flatten)]
    pub(super) filter: Filter,

    /// Server to run, and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub(super) command: Vec<OsString>,
}

const ABOUT: &str = "\
Runs a server that speaks JSON-RPC over its standard input and output, relays between it and its client, and logs every \
message.

Put `wireline tap --` in front of the server's command in the configuration of any client. Bytes pass in both \
directions unchanged and without delay, valid or not, and so do standard error, signals and the exit code. The log goes \
to standard error, one line per message: time, direction (→ from the client, ← from the server), kind, method, id, size, \
and the latency of a response. Faulty lines are logged with the position of the fault and the likely mistake. The log \
ends with a table of all methods and a list of unanswered requests.

Messages with Content-Length headers, as language servers send them, are understood as well, without an option.

Of MCP and ACP, the log says what a call is about (`tools/call echo`), what both sides agreed on, and which results are \
failures (`isError`). It tells if a request is not answered for 5 s (see --slow-after), and if a line is not ended for \
1 s, because the other side is waiting then.

Apart from that the log never shows message contents unless you pass --show.";

const NOTES: &str = "\
Exit codes:
  The exit code of the server. If a signal ended the server, the tap ends by the same signal, or exits with 128 plus its \
number. Otherwise:
  2    usage error
  125  the tap could not start, for example because there are too many processes
  126  COMMAND could not be run
  127  COMMAND was not found

Slow readers:
  The session never waits for the reader of standard error. Lines that are not read in time are dropped, and the log \
says how many. At the end, the tap waits up to 10 s for the reader. A log file and a recording are always complete: for \
them the session waits for the disk if it must. If the log or the recording is a named pipe, the session waits up to 5 s \
for its reader, and then goes on without it.

Files:
  A recording holds every byte of the session, secrets included, and is created for its owner only (mode 600). If a file \
cannot be opened or written, the tap says so on standard error, and the session goes on without it. A recording that \
another tap is writing gets a numbered neighbour: session.tap, then session-2.tap. Relative names start from the \
directory in which the client starts its servers.

Standard error:
  A recording includes the server's standard error, with the time of each line, unless --no-stderr is passed or standard \
error is a terminal. The server then writes to a pipe, and the tap passes the bytes on at once. If nobody reads them, \
they are dropped after a while, so that the server does not have to wait.

Signals:
  SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1 and SIGUSR2 are forwarded to the server unless they are ignored. While the \
tap is in the foreground of a terminal, SIGINT and SIGQUIT are not forwarded, because Ctrl-C and Ctrl-\\ signal the \
server as well. On Linux, the server ignores every signal that was ignored when the tap started. SIGPIPE is an \
exception if `env` cannot ignore signals (GNU's can) and an environment variable has a name that is not valid in a shell, \
such as a.b.

On Windows:
  Ctrl-C and Ctrl-Break reach the server by way of the console, and the tap stays to write its summary. A client that ends \
the tap's process otherwise ends it at once: the recording is complete up to its last flush, without a summary. Names \
without an extension are also looked for as .cmd and .bat.

After the server has exited:
  Its remaining output is relayed to the end. If another process still holds the server's standard output, the tap stops \
after 1 s of silence. A client that reads nothing for 1 s is given up only if the tap has received SIGINT, SIGQUIT or \
SIGTERM.

Examples:
  Watch what a client and a server say to each other:
    wireline tap -- my-server

  Configure a client that hides the standard error of its servers:
    { \"command\": \"wireline\", \"args\": [\"tap\", \"--log\", \"session.log\", \"--\", \"my-server\"] }

  Watch an editor and its language server:
    wireline tap --log lsp.log -- pylsp

  Log only failures, and calls of one tool that take longer than a second:
    wireline tap --errors -- my-server
    wireline tap --tool echo --slower-than 1s -- my-server

  Record every session of a client, and look at the last one:
    { \"command\": \"wireline\", \"args\": [\"tap\", \"--record\", \"--\", \"my-server\"] }
    wireline show

  Record every session to a file of its own elsewhere:
    { \"command\": \"wireline\", \"args\": [\"tap\", \"--record\", \"~/taps/%t-%p.tap\", \"--\", \"my-server\"] }

  Record a session and examine it later:
    wireline tap --quiet --record session.tap -- my-server
    wireline show --errors session.tap
    wireline stats session.tap
    wireline check --rules mcp --show session.tap";

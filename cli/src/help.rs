//! What `--help` says of the commands.

pub(crate) const ABOUT: &str = "Judges newline-delimited JSON-RPC 2.0, as MCP and other protocols speak it over pipes.";

pub(crate) const CHECK_ABOUT: &str = "\
Checks that each line is one JSON-RPC 2.0 message, and says what is wrong with those that are not.

A line must be valid UTF-8 and valid JSON; a request, a notification, a response or a batch of them; with the right \
\"jsonrpc\", one kind of content, an id of a type that the rules permit, no member twice, and within the limits on \
length and depth. Blank lines are passed over. A faulty line does not end the check: the next one is judged as if it \
had not been there.

For each fault you learn where it is, what was expected there, what the mistake probably is, and whether a server \
would answer the line. The text of the lines themselves is not printed unless you ask for it with --show, so that a \
report can be shared when the traffic cannot. With --format ndjson it has ids and methods in it, whatever those say.

A file that `wireline tap --record` has written is read as the session that it is: a line's number is that of its \
record.

Files are streamed: the memory needed depends on the longest line, not on the file. Large ones are judged by several \
threads at the same time. The report comes in the order of the lines all the same, on standard output; the progress of \
what takes long is shown on standard error, if that is a terminal. At the end comes a summary, the verdict first.";

pub(crate) const CHECK_NOTES: &str = "\
Exit codes:
  0  every line is fine
  1  some line, or some entry of a batch, is faulty
  2  wrong usage, or something could not be read or written

Examples:
  Check a recorded session by the rules of MCP, and look at the bad lines:
    wireline check --rules mcp --show session.ndjson

  Check all logs of a week, and only ask whether there is something wrong:
    wireline check --quiet logs/*.ndjson || echo 'something is wrong'

  See what a server really writes to its standard output:
    my-server < requests.ndjson | wireline check --rules mcp

  Count the methods in a log, with jq:
    wireline check --format ndjson log.ndjson | jq .method | sort | uniq -c";

#[cfg(unix)]
pub(crate) const TAP_ABOUT: &str = "\
Runs a server that speaks JSON-RPC over its standard input and output, and stands between it and its client.

Put it in front of the server's command in the configuration of any client. Every byte passes unchanged and at once in \
both directions, whether it is valid or not; so do standard error, signals and the exit code. Meanwhile each line is \
judged, and told on standard error: when it came, from whom (→ from the client, ← from the server), what it is, its \
method, id and size, and with an answer how long it took. Faulty lines come with their place, and with what the mistake \
probably is. At the end there is a table by method, and what was never answered.

What the messages carry is not shown unless you ask for it with --show.";

#[cfg(unix)]
pub(crate) const TAP_NOTES: &str = "\
Exit codes:
  That of the server; if a signal has ended it, the tap ends by the same one, or with 128 and its number. Otherwise:
  2    wrong usage
  125  a file could not be opened, or something of the kind
  126  the command could not be run
  127  the command was not found

The session does not wait for whoever reads standard error: what comes faster than it is read is left out, and counted; \
and at the end it waits ten seconds for it at the most. \
A log in a file and a recording have everything; for those, the session waits for the disk if need be.

SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1 and SIGUSR2 are passed on to the server, unless they are ignored. The keys of \
a terminal send SIGINT and SIGQUIT to the server as well; so these are not passed on while the tap is in a terminal's \
foreground.

When the server has ended, what it has left is passed on to the end. If something that it started still has its \
standard output, that is waited for as long as it does not pause for a second. A client that takes nothing for a second \
is not waited for if the tap was sent SIGINT, SIGQUIT or SIGTERM. A log or a recording that is a pipe with a name is opened when \
somebody reads it, and not before.

Examples:
  See what a client and a server say to each other:
    wireline tap -- my-server

  In the configuration of a client that shows nobody its servers' standard error:
    { \"command\": \"wireline\", \"args\": [\"tap\", \"--log\", \"session.log\", \"--\", \"my-server\"] }

  Keep a session, and look at it later:
    wireline tap --quiet --record session.tap -- my-server
    wireline stats session.tap
    wireline check --rules mcp --show session.tap";

pub(crate) const STATS_ABOUT: &str = "\
Shows which methods were called how often, with their errors, latencies and sizes; what was never answered, and what was \
answered without having been asked.

A file that `wireline tap --record` has written has the time and the sender of each line. Plain traffic, one message a \
line, has neither: requests and answers in all such files are matched by their ids, whoever sent them and in whatever \
order, and there are no latencies. So the two directions of a session may be two files.";

pub(crate) const STATS_NOTES: &str = "\
Exit codes:
  0  all has been read, whatever there was in it
  2  wrong usage, or something could not be read or written

Examples:
  wireline tap --quiet --record session.tap -- my-server
  wireline stats session.tap";

pub(crate) const COMPLETIONS_ABOUT: &str = "\
Prints what makes a shell complete the arguments, to be put where the shell looks for it:

  bash        wireline completions bash > ~/.local/share/bash-completion/completions/wireline
  zsh         wireline completions zsh > \"${fpath[1]}/_wireline\"
  fish        wireline completions fish > ~/.config/fish/completions/wireline.fish
  powershell  wireline completions powershell >> $PROFILE
  elvish      wireline completions elvish >> ~/.config/elvish/rc.elv";

pub(crate) const MAN_ABOUT: &str = "\
Prints the manual page of wireline or of one of its commands, in roff, or puts all pages into a directory.

To read one, without installing it:
  wireline man check | man -l -

To install all, as a package does:
  wireline man --dir /usr/local/share/man/man1";

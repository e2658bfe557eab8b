//! `wireline misbehave`: a server that breaks one promise and keeps all others.
//!
//! The checks of `wireline conform` are tested against it, and `wireline conform --client` plays it to a client.
//!
//! - `table`: the misbehaviours by name
//! - `server`: a server without faults, and the places where a misbehaviour hooks in
//! - `output`, `answers`, `input`, `lifecycle`: the hooks, by what they break
//! - `services`: the methods, for each protocol
//! - `lines`: splits the input into lines
//! - `log`: what the server saw, for `conform --client`

mod answers;
mod input;
mod lifecycle;
mod lines;
mod log;
mod output;
mod server;
mod services;
mod table;

use std::path::PathBuf;

use self::log::Log;
use self::server::Server;
use crate::exit;
use crate::output::{print, report_error};
use crate::rules_args::RulesArgs;
use crate::terminal::escape;

pub(crate) use self::log::{Observed, read_log};
pub(crate) use self::table::find;

/// Serve on standard input and output, and misbehave in one way
#[derive(Debug, clap::Args)]
#[command(hide = true, long_about = ABOUT)]
pub(crate) struct Args {
    /// How to misbehave; `none` for a server without faults
    #[arg(value_name = "NAME", required_unless_present = "list")]
    name: Option<String>,

    /// List the names, and what each does
    #[arg(long)]
    list: bool,

    /// Write what the server sees to this file, as NDJSON without message contents
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    #[command(flatten)]
    rules: RulesArgs,
}

const ABOUT: &str = "\
A server on standard input and output that breaks one promise, such as printing a log line between two messages, and \
keeps all others. It is for testing clients, and for testing `wireline conform`.

With --rules mcp, it is an MCP server with the tools `echo` {text}, `add` {a, b} and `slow` {ms}; with --rules acp, an ACP \
agent that repeats prompts; otherwise, a server with the methods `ping`, `echo`, `add` and `slow`.

Examples:
  wireline misbehave --list
  my-client wireline misbehave noise-between --rules mcp";

/// Serves until the client closes its output, and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    let Some(name) = args.name.as_deref().filter(|_| !args.list) else { return print(table::listing().as_bytes()) };
    let Some(misbehaviour) = find(name) else {
        report_error(&format!(
            "no misbehaviour is called `{}`; `wireline misbehave --list` lists all",
            escape(name.as_bytes())
        ));
        return exit::FAILURE;
    };
    let log = match args.log.as_deref().map(Log::open).transpose() {
        Ok(log) => log.unwrap_or_default(),
        Err(error) => {
            report_error(&format!("cannot write the log: {error}"));
            return exit::FAILURE;
        }
    };
    match Server::start(&args.rules, misbehaviour, log) {
        Ok(server) => server.serve(),
        Err(error) => {
            report_error(&format!("cannot serve on standard input and output: {error}"));
            exit::FAILURE
        }
    }
}

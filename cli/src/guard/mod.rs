//! `wireline guard`: stands between a client and the server that it runs, and puts right what the server does wrong.
//!
//! ```text
//!            read                          write
//!   client ───────→ upstream: judge, answer ───────→ server
//!          ←─────── downstream: put right   ←───────
//!           write          │                 read
//!                        state: requests in flight
//! ```
//!
//! Both relays decide under one lock what becomes of a request and its response, and write without it. Valid messages are
//! passed on as they are, whole lines at a time. What the guard has to say itself is queued at one of the two [outlets],
//! so no relay waits for the reader of the other one.
//!
//! | file | job |
//! |---|---|
//! | `session` | starts and ends the server, and fails what it leaves unanswered |
//! | `upstream`, `downstream` | the two directions |
//! | `state`, `ledger` | what they share: the requests in flight |
//! | `lines`, `printed`, `repair`, `copies` | what may be a message, and where |
//! | `handshake` | what a restarted server gets again |
//! | `group` | the server's processes, and what ends them |
//! | `outlet`, `reporter`, `recording` | where everything goes |
//!
//! [outlets]: outlet::Outlet

mod args;
mod copies;
mod downstream;
mod group;
mod handshake;
mod incident;
mod ledger;
mod lines;
mod outlet;
mod printed;
mod recording;
mod repair;
mod reporter;
mod session;
mod state;
mod upstream;

use std::process::ExitCode;

use wireline::{Id, RpcError, Rules, to_line};

pub(crate) use args::Args;

use crate::output::report_error;
use crate::protocol::Protocols;
use crate::tap::sys;
use crate::tap::{EXIT_TAP_FAILED, Failure};
use outlet::Outlet;
use recording::Recording;
use reporter::Reporter;
use state::Shared;

/// The codes of errors that the guard answers with, as the official SDKs of MCP use them.
const CONNECTION_CLOSED: i64 = -32000;
const REQUEST_TIMEOUT: i64 = -32001;

/// What all parts of a session need.
struct Link {
    rules: Rules,
    /// The rules for the guard's own answers, which are short and have to fit.
    answers: Rules,
    protocols: Protocols,
    has_timeout: bool,
    can_restart: bool,
    records_stderr: bool,
    /// Whether a message that the client has sent can't come from the server too. Peers of JSON-RPC may be symmetric.
    drops_copies: bool,
    shared: Shared,
    reporter: Reporter,
    recording: Recording,
    to_client: Outlet,
    to_server: Outlet,
}

impl Link {
    /// The line of an error response.
    fn error_line(&self, id: &Id<'_>, error: &RpcError) -> Vec<u8> {
        // Never fails, because the id has passed the rules.
        to_line(&self.answers, |encoder| encoder.error(id, error)).map_or(Vec::new(), |line| line.as_bytes().to_vec())
    }
}

/// Runs the command, and exits as it does.
pub(crate) fn run(args: &Args) -> ExitCode {
    if args.watch {
        return group::watch().map_or(ExitCode::from(EXIT_TAP_FAILED), |()| ExitCode::SUCCESS);
    }
    match session::run(args) {
        Ok(status) => sys::exit_like(status),
        Err(Failure { code, message }) => {
            report_error(&message);
            ExitCode::from(code)
        }
    }
}

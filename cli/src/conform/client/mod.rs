//! `wireline conform --client`: plays servers that misbehave to a client, and watches how it gets along.
//!
//! - `table`: the checks, each with a misbehaviour and what the client may do
//! - `command`: the client's command line, with the server's in it
//! - `session`: one run of the client
//! - `verdict`: what a run says about a check

mod command;
mod session;
mod table;
mod verdict;

use std::collections::BTreeMap;
use std::time::Duration;

use self::command::ClientCommand;
use self::session::{Ending, Scratch, Session};
use self::table::ClientCheck;
use self::verdict::{Baseline, judge};
use super::args::Args;
use super::check::Check;
use super::layout;
use super::outcome::Finding;
use super::progress::Progress;
use super::report::{Report, list};
use super::selection::select;
use crate::exit;
use crate::misbehave::{Observed, find};
use crate::output::{print, report_error};
use crate::rules_args::Dialect;
use crate::terminal::escape;

/// How often the client is run with the server that behaves: to learn whether it always prints the same.
const BASELINE_RUNS: usize = 2;

/// What a misbehaving server takes longer than one that behaves, such as a late start.
const SLOWNESS: Duration = Duration::from_secs(3);

/// Tests a client and returns the exit code.
pub(super) fn run(args: &Args) -> u8 {
    match test(args) {
        Ok(code) => code,
        Err(message) => {
            report_error(&message);
            exit::FAILURE
        }
    }
}

fn test(args: &Args) -> Result<u8, String> {
    let selected = select(table::checks().map(|check| &check.check), &args.only)?;
    let (styles, columns) = layout();
    if args.list {
        return Ok(print(list(&selected, args.format, PAGE, styles, columns).as_bytes()));
    }
    let client = ClientCommand::new(&args.command, args.rules)?;
    let scratch = Scratch::new().map_err(|error| format!("cannot create a directory for logs: {error}"))?;
    let baseline = baseline(&client, &scratch, args)?;
    let limit = 2 * baseline.elapsed + args.timeout + SLOWNESS;
    let is_selected = |check: &Check| selected.iter().any(|selected| selected.name == check.name);
    let mut sessions: BTreeMap<&str, Session> = BTreeMap::new();
    let mut findings = Vec::new();
    let progress = Progress::new(selected.len());
    for ClientCheck { check, misbehaviour, demand, is_first } in
        table::checks().filter(|check| is_selected(&check.check))
    {
        progress.start(check.name);
        if !sessions.contains_key(misbehaviour) {
            let session =
                Session::run(&client, misbehaviour, &scratch, limit).map_err(|error| client.cannot_run(&error))?;
            sessions.insert(misbehaviour, session);
        }
        let session = &sessions[misbehaviour];
        let sent = find(misbehaviour).map_or("", |misbehaviour| misbehaviour.does);
        let repeat = client.displayed(misbehaviour);
        let outcome = judge((*demand, *is_first), session, &baseline, sent, repeat);
        findings.push(Finding { check, outcome, elapsed: session.elapsed });
    }
    progress.end();
    let report = Report {
        subject: "client",
        protocol: protocol(args.rules).to_owned(),
        command: client.displayed("NAME"),
        seed: args.seed,
        findings,
    };
    let printed = print(report.render(args.format, styles, columns).as_bytes());
    Ok(match report.has_failures() {
        true if printed == exit::SUCCESS => exit::CHECKS_FAILED,
        _ => printed,
    })
}

/// Runs the client with a server that behaves. It must succeed, or else no failure would mean anything.
fn baseline(client: &ClientCommand, scratch: &Scratch, args: &Args) -> Result<Baseline, String> {
    let mut sessions = Vec::new();
    for _ in 0..BASELINE_RUNS {
        let session = Session::run(client, "none", scratch, args.start_timeout + args.timeout)
            .map_err(|error| client.cannot_run(&error))?;
        let problem = match &session.ending {
            Ending::Exited(0) if session.has_seen(|seen| matches!(seen, Observed::Request)) => None,
            Ending::Exited(0) => {
                Some("sent no request to the server: does it start the command of {server}?".to_owned())
            }
            ending => Some(format!("{ending}")),
        };
        if let Some(problem) = problem {
            let words = match args.show {
                true => format!("; its last words: {}", escape(session.last_words().as_bytes())),
                false => String::new(),
            };
            let command = client.displayed("none");
            return Err(format!(
                "the client must succeed with a server that behaves, but it {problem}{words}; try it: {command}"
            ));
        }
        sessions.push(session);
    }
    Ok(Baseline::new(&sessions, args.show))
}

fn protocol(rules: Dialect) -> &'static str {
    match rules {
        Dialect::JsonRpc => "JSON-RPC 2.0",
        Dialect::Mcp => "MCP",
        Dialect::Acp => "ACP",
    }
}

/// What the page of `--list --format markdown` starts with.
const PAGE: &str = "\
# How clients are tested

`wireline conform --client` runs a client once for each of these misbehaviours of its server. A page generated by \
`wireline conform --client --list --format markdown`.
";

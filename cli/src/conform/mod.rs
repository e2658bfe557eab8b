//! `wireline conform`: tests a server through its standard input and output.
//!
//! - `check`, `checks`: what a check is, and the table of checks
//! - `script`, `maker`, `mutation`: what a check sends, as data
//! - `oracle`, `judge`, `message`: what may come back, by a naive reading of the specifications
//! - `server`, `group`, `live`: a server that runs, and the play of a script against it
//! - `handshake`, `profile`: what the server speaks
//! - `bench`: plays the scripts of all checks
//! - `shrink`, `command`: the smallest script that fails, and a command that sends it
//! - `outcome`, `report`: what was found
//! - `client`: the same for clients, to which this program plays the server

mod args;
mod bench;
mod check;
mod checks;
mod client;
mod command;
mod group;
mod handshake;
mod judge;
mod live;
mod maker;
mod message;
mod mutation;
mod oracle;
mod outcome;
mod profile;
mod progress;
mod random;
mod report;
mod script;
mod selection;
mod server;
mod shrink;
mod tools;
mod violation;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

pub(crate) use args::Args;

use crate::exit;
use crate::output::{print, report_error};
use crate::terminal::{Styles, Width};
use bench::Bench;
use check::Check;
use checks::ServerCheck;
use live::Settings;
use outcome::{Failure, Finding, Outcome};
use profile::{Era, Profile};
use progress::Progress;
use report::Report;
use violation::Violation;

/// What the page of documentation says before its tables.
const PAGE: &str = include_str!("page.md");

/// Runs or lists the checks, and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    if let Some(problem) = args.misfit() {
        return failure(problem);
    }
    if !args.list
        && let Err(error) = group::end_on_signals()
    {
        return failure(&format!("cannot catch signals: {error}"));
    }
    if args.client {
        return client::run(args);
    }
    let (styles, columns) = layout();
    let selected = match selection::select(checks::descriptions(), &args.only) {
        Ok(selected) => selected,
        Err(message) => return failure(&message),
    };
    if args.list {
        return print(report::list(&selected, args.format, PAGE, styles, columns).as_bytes());
    }
    let report = match test(args, &selected) {
        Ok(report) => report,
        Err(message) => return failure(&message),
    };
    let code = print(report.render(args.format, styles, columns).as_bytes());
    match code {
        exit::SUCCESS if report.has_failures() => exit::CHECKS_FAILED,
        code => code,
    }
}

/// The narrowest layout.
const LEAST_COLUMNS: usize = 40;

/// The styles and the width of standard output.
fn layout() -> (Styles, usize) {
    let stdout = io::stdout();
    let is_terminal = stdout.is_terminal();
    (Styles::detect(is_terminal), Width::of(&stdout).limit().max(LEAST_COLUMNS))
}

/// Runs the selected checks. Fails if the command can't be run.
fn test(args: &Args, selected: &[&'static Check]) -> Result<Report, String> {
    let selected: Vec<&'static ServerCheck> =
        checks::all().filter(|check| selected.iter().any(|selected| selected.name == check.check.name)).collect();
    let progress = Progress::new(selected.len());
    let settings = Settings { args, never_exits: false };
    let started = Instant::now();
    progress.start("handshake");
    let detected = handshake::detect(&settings);
    let (profile, findings) = match detected {
        Ok(mut profile) => {
            tools::find(&mut profile, &settings);
            let mut bench = Bench::new(settings, profile.clone());
            let mut findings = Vec::new();
            for check in selected {
                progress.start(check.check.name);
                findings.push(bench.run(check));
            }
            progress.end();
            for warning in &bench.warnings {
                report_error(warning);
            }
            (profile, findings)
        }
        Err(Violation::CannotRun { why }) => {
            progress.end();
            return Err(why);
        }
        Err(violation) => {
            progress.end();
            let profile = Profile::new(args.rules, Era::None, args.probe.clone());
            (profile, not_started(&selected, &violation, started.elapsed()))
        }
    };
    Ok(Report {
        subject: "server",
        protocol: profile.protocol(),
        command: command::words(&args.command),
        seed: args.seed,
        findings,
    })
}

/// The findings if the server doesn't answer its first request.
fn not_started(selected: &[&'static ServerCheck], violation: &Violation, elapsed: Duration) -> Vec<Finding> {
    let outcome = |check: &Check| match check.name {
        "starts-in-time" => Outcome::Failed(Box::new(Failure {
            sent: "the first request".to_owned(),
            came: violation.came(false),
            ..Failure::default()
        })),
        _ => Outcome::Skipped("the server didn't answer its first request".into()),
    };
    // The reason is reported even if its check isn't selected.
    let start = checks::all().find(|check| check.check.name == "starts-in-time");
    let missing = start.filter(|start| !selected.iter().any(|check| check.check.name == start.check.name));
    let all = selected.iter().copied().chain(missing);
    all.map(|check| Finding { check: &check.check, outcome: outcome(&check.check), elapsed }).collect()
}

fn failure(message: &str) -> u8 {
    report_error(message);
    exit::FAILURE
}

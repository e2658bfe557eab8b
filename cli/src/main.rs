//! The command-line tool: judges recorded or live JSON-RPC traffic, line by line.

// On other systems than Unix there is no `tap`, and much that only it needs is there for nothing.
mod args;
mod check;
mod colours;
mod excerpt;
#[cfg_attr(not(unix), allow(dead_code))]
mod follow;
mod generate;
mod help;
mod human;
mod judge;
mod ndjson;
mod output;
mod overview;
mod pieces;
#[cfg_attr(not(unix), allow(dead_code))]
mod recording;
mod report;
mod session;
mod source;
mod stats;
mod summary;
mod tally;
#[cfg(unix)]
mod tap;
mod terminal;
#[cfg(unix)]
mod transcript;
mod units;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

/// Every line was fine.
const FINE: u8 = 0;
/// Some line was not.
const FAULTY: u8 = 1;
/// Something could not be read or written. Wrong usage ends with the same code, by clap.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let code = match Args::parse().command {
        Command::Check(args) => check::run(&args),
        // It ends as its server does, if need be by a signal.
        #[cfg(unix)]
        Command::Tap(args) => return tap::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Completions { shell } => generate::completions(shell),
        Command::Man(args) => generate::man(&args),
    };
    ExitCode::from(code)
}

//! The command-line tool: judges recorded or live JSON-RPC traffic, line by line.

mod args;
mod check;
mod colours;
mod excerpt;
mod follow;
mod human;
mod judge;
mod ndjson;
mod output;
mod overview;
mod pieces;
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
    match Args::parse().command {
        Command::Check(args) => check::run(&args).into(),
        #[cfg(unix)]
        Command::Tap(args) => tap::run(&args),
        Command::Stats(args) => stats::run(&args).into(),
    }
}

//! The command-line tool: judges recorded or live JSON-RPC traffic, line by line.

mod args;
mod check;
mod colours;
mod excerpt;
mod human;
mod ndjson;
mod output;
mod report;
mod source;
mod tally;

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
    let Command::Check(check) = Args::parse().command;
    ExitCode::from(check::run(&check))
}

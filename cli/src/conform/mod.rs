//! `wireline conform`: tests a server through its standard input and output.

mod args;
mod check;
mod checks;
mod client;
mod outcome;
mod report;
mod selection;

pub(crate) use args::Args;

/// Runs the checks and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    match args.client {
        true => client::run(args),
        false => {
            crate::output::report_error("only clients can be tested so far: add --client");
            crate::exit::FAILURE
        }
    }
}

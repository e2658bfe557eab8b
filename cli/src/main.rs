//! `wireline`: checks, watches, guards and measures newline-delimited JSON-RPC 2.0.
//!
//! Each subcommand is a module with its `Args` (help text included) and a `run` function. To add one, write the module
//! and name it in [`Command`] and in [`main`]. The other modules are shared:
//!
//! - `input`, `output`: the files and streams to read; standard output, errors and the progress bar
//! - `rules_args`: the options that say which lines are accepted
//! - `framing`: how messages are delimited in a stream
//! - `protocol`: what messages mean in MCP and other protocols, as a table for each
//! - `recording`, `recordings`: the file format that `tap --record` writes, and the folder of such files
//! - `session`: matches responses to requests, and describes a session as `tap` and `stats` print it
//! - `judge`: which rules a session breaks
//! - `transcript`, `filter`: the line about each message, and which of them to show
//! - `findings`: what keeps long lists of faults short
//! - `spawn`: starts servers
//! - `json`: JSON texts compared, found and printed
//! - `terminal`, `units`: escaping, widths and colours; numbers with units

mod check;
mod completions;
mod conform;
mod filter;
mod findings;
mod framing;
mod guard;
mod input;
mod json;
mod judge;
mod line_ends;
mod man;
mod message_kind;
mod misbehave;
mod output;
mod protocol;
mod recording;
mod recordings;
mod replay;
mod report;
mod rules_args;
mod session;
mod show;
mod spawn;
mod stats;
mod tap;
mod terminal;
mod transcript;
mod units;

use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ColorChoice, Parser, Subcommand};

/// The exit codes of all subcommands except `tap` and `guard`, which exit as their server does.
mod exit {
    /// The input was read, and nothing is wrong with it.
    pub(crate) const SUCCESS: u8 = 0;
    /// `check` found a fault.
    pub(crate) const FAULTS_FOUND: u8 = 1;
    /// `replay` found a difference.
    pub(crate) const DIFFERENCES_FOUND: u8 = 1;
    /// `conform` found a check that failed.
    pub(crate) const CHECKS_FAILED: u8 = 1;
    /// Something could not be read or written. Clap exits with the same code after a usage error.
    pub(crate) const FAILURE: u8 = 2;
}

#[derive(Debug, Parser)]
#[command(name = "wireline", version, about = env!("CARGO_PKG_DESCRIPTION"), styles = STYLES, max_term_width = 100)]
#[command(after_help = "Run `wireline COMMAND --help` for details and examples.")]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// When to use colours; auto means on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Args),
    Tap(tap::Args),
    Guard(guard::Args),
    Show(show::Args),
    Stats(stats::Args),
    Replay(replay::Args),
    Conform(conform::Args),
    Report(report::Args),
    Completions(completions::Args),
    Man(man::Args),
    Misbehave(misbehave::Args),
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

fn main() -> ExitCode {
    let cli = Cli::parse();
    terminal::set_color(cli.color);
    let code = match cli.command {
        Command::Check(args) => check::run(&args),
        // Both return an `ExitCode` of their own, because a signal may have ended the server.
        Command::Tap(args) => return tap::run(&args),
        Command::Guard(args) => return guard::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Conform(args) => conform::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Misbehave(args) => misbehave::run(&args),
    };
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}

//! `wireline completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::output::print;

/// Generate shell completions
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT)]
pub(crate) struct Args {
    /// Shell to generate completions for
    shell: Shell,
}

const ABOUT: &str = "\
Generates a completion script and prints it. Save it where your shell looks for completions:

  bash        wireline completions bash > ~/.local/share/bash-completion/completions/wireline
  zsh         wireline completions zsh > \"${fpath[1]}/_wireline\"
  fish        wireline completions fish > ~/.config/fish/completions/wireline.fish
  powershell  wireline completions powershell >> $PROFILE
  elvish      wireline completions elvish >> ~/.config/elvish/rc.elv";

/// Prints the script and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "wireline", &mut script);
    print(&script)
}

//! What is made from the arguments' descriptions: shell completions and manual pages.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Args, Man};
use crate::excerpt::escape;
use crate::{FAILED, FINE};

/// Prints what makes a shell complete the arguments.
pub(crate) fn completions(shell: Shell) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "wireline", &mut script);
    print(&script)
}

/// Prints a manual page, or puts all of them into a directory.
pub(crate) fn man(args: &Man) -> u8 {
    // Nobody looks for a page about `wireline help`.
    let mut wireline = Args::command().disable_help_subcommand(true);
    wireline.build();
    if let Some(directory) = &args.dir {
        return match write_pages(&wireline, directory) {
            Ok(()) => FINE,
            Err(error) => {
                complain(&format!("cannot write to {}: {error}", escape(directory.as_os_str().as_encoded_bytes())))
            }
        };
    }
    let command = match &args.command {
        None => Some(&wireline),
        Some(name) => wireline.find_subcommand(name),
    };
    match command.map(page) {
        Some((_, Ok(text))) => print(&text),
        Some((_, Err(error))) => complain(&error.to_string()),
        None => {
            let names: Vec<&str> = wireline.get_subcommands().map(clap::Command::get_name).collect();
            complain(&format!("expected one of the commands {}", names.join(", ")))
        }
    }
}

fn write_pages(wireline: &clap::Command, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for command in wireline.get_subcommands().chain([wireline]) {
        let (name, text) = page(command);
        fs::write(directory.join(name), text?)?;
    }
    Ok(())
}

/// The page of a command: the name of its file, and its text.
fn page(command: &clap::Command) -> (String, io::Result<Vec<u8>>) {
    let man = clap_mangen::Man::new(command.clone()).source(concat!("wireline ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    let rendered = man.render(&mut text);
    (man.get_filename(), rendered.map(|()| text))
}

fn print(text: &[u8]) -> u8 {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Ok(()) => FINE,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => FAILED,
        Err(error) => complain(&format!("cannot write to standard output: {error}")),
    }
}

/// Says on standard error what went wrong, and returns the exit code for it.
fn complain(what: &str) -> u8 {
    // If nobody hears it there is nothing left to be done.
    let _ = writeln!(io::stderr(), "wireline: {what}");
    FAILED
}

//! `wireline man`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::CommandFactory;

use crate::output::{print, report_error};
use crate::terminal::escape;
use crate::{Cli, exit};

/// Print a manual page, or write all of them to a directory
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT)]
pub(crate) struct Args {
    /// Command to print the page of [default: wireline itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,

    /// Write all pages (wireline.1, wireline-check.1, ...) to this directory
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

const ABOUT: &str = "\
Prints the manual page of wireline or of one of its commands in roff, or writes all pages to a directory.

Read a page without installing it:
  wireline man check | man -l -

Install all pages:
  wireline man --dir /usr/local/share/man/man1";

/// Prints or writes the pages and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    // A page about `wireline help` helps nobody.
    let mut wireline = Cli::command().disable_help_subcommand(true);
    wireline.build();
    if let Some(directory) = &args.dir {
        return match write_pages(&wireline, directory) {
            Ok(()) => exit::SUCCESS,
            Err(error) => {
                let directory = escape(directory.as_os_str().as_encoded_bytes());
                failure(&format!("cannot write manual pages to {directory}: {error}"))
            }
        };
    }
    let command = match &args.command {
        None => Some(&wireline),
        Some(name) => wireline.find_subcommand(name),
    };
    match command.map(page) {
        Some((_, Ok(text))) => print(&text),
        Some((_, Err(error))) => failure(&format!("cannot generate the manual page: {error}")),
        None => {
            let name = escape(args.command.as_deref().unwrap_or_default().as_bytes());
            let names: Vec<&str> = wireline.get_subcommands().map(clap::Command::get_name).collect();
            failure(&format!("no manual page for `{name}`: expected one of {}", names.join(", ")))
        }
    }
}

fn write_pages(wireline: &clap::Command, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for command in wireline.get_subcommands().chain([wireline]) {
        let (file_name, text) = page(command);
        fs::write(directory.join(file_name), text?)?;
    }
    Ok(())
}

/// The file name and the text of a command's page.
fn page(command: &clap::Command) -> (String, io::Result<Vec<u8>>) {
    let man = clap_mangen::Man::new(command.clone()).source(concat!("wireline ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    let rendered = man.render(&mut text);
    (man.get_filename(), rendered.map(|()| text))
}

fn failure(message: &str) -> u8 {
    report_error(message);
    exit::FAILURE
}

//! `wireline man`.

use std::fs;
use std::io::{self, Write};
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
            let names: Vec<&str> = wireline
                .get_subcommands()
                .filter(|command| !command.is_hide_set())
                .map(clap::Command::get_name)
                .collect();
            failure(&format!("no manual page for `{name}`: expected one of {}", names.join(", ")))
        }
    }
}

fn write_pages(wireline: &clap::Command, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let commands = wireline.get_subcommands().filter(|command| !command.is_hide_set());
    for command in commands.chain([wireline]) {
        let (file_name, text) = page(command);
        fs::write(directory.join(file_name), text?)?;
    }
    Ok(())
}

/// The file name and the text of a command's page.
fn page(command: &clap::Command) -> (String, io::Result<Vec<u8>>) {
    let notes = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let command = command.clone().after_long_help("").after_help("");
    let man = clap_mangen::Man::new(command.clone()).source(concat!("wireline ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    let rendered = render(&man, &command, &notes, &mut text);
    (man.get_filename(), rendered.map(|()| text))
}

/// Writes a page whose sections after the options are those of `notes`.
fn render(man: &clap_mangen::Man, command: &clap::Command, notes: &str, text: &mut Vec<u8>) -> io::Result<()> {
    man.render_title(text)?;
    man.render_name_section(text)?;
    man.render_synopsis_section(text)?;
    man.render_description_section(text)?;
    man.render_options_section(text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(text)?;
    }
    write_notes(notes, text)?;
    // Only `wireline` itself has a version.
    if command.get_version().is_some() {
        man.render_version_section(text)?;
    }
    Ok(())
}

/// Writes the notes of a help text: a heading at the start of a line begins a section, and indented lines belong to it.
///
/// Prose is filled to the width of the reader's terminal. Commands stay as they are, so that they can be copied.
fn write_notes(notes: &str, text: &mut Vec<u8>) -> io::Result<()> {
    let mut lines = notes.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_suffix(':').filter(|heading| !heading.starts_with(' ')) {
            let title = if heading == "Exit codes" { "EXIT STATUS".to_owned() } else { heading.to_uppercase() };
            writeln!(text, ".SH {title}")?;
        } else if is_command(line) {
            writeln!(text, ".PP\n.nf\n.RS 4\n{}", roff(line.trim_start()))?;
            while let Some(line) = lines.next_if(|line| is_command(line)) {
                writeln!(text, "{}", roff(line.trim_start()))?;
            }
            writeln!(text, ".RE\n.fi")?;
        } else if let Some((code, meaning)) = line.trim_start().split_once("  ").filter(|(code, _)| is_number(code)) {
            writeln!(text, ".TP 5\n{code}\n{}", roff(meaning.trim_start()))?;
        } else if !line.is_empty() {
            writeln!(text, ".PP\n{}", roff(line.trim_start()))?;
        }
    }
    Ok(())
}

/// Whether a line is an example of what to type.
fn is_command(line: &str) -> bool {
    line.starts_with("    ") || line.starts_with("  wireline ")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A line of text, in which hyphens, quotes and backslashes stay as they are typed.
fn roff(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    // A dot at the start would be a request.
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

fn failure(message: &str) -> u8 {
    report_error(message);
    exit::FAILURE
}

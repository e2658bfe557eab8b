//! Starts servers, with pipes as their standard input and output.

#[cfg(unix)]
pub(crate) mod ignored;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, Stdio};

use crate::terminal::escape;
#[cfg(unix)]
use unix::spawn;
#[cfg(windows)]
use windows::spawn;

/// Starts the server that a command line names.
pub(crate) fn start(command: &[OsString]) -> io::Result<Child> {
    spawn(&mut server(command)?)
}

/// Starts the server that a command line names, as the leader of a process group where there are any.
pub(crate) fn start_in_group(command: &[OsString], stderr: Stdio) -> io::Result<Child> {
    let mut command = server(command)?;
    command.stderr(stderr);
    #[cfg(unix)]
    return std::os::unix::process::CommandExt::process_group(&mut command, 0).spawn();
    #[cfg(not(unix))]
    spawn(&mut command)
}

fn server(command: &[OsString]) -> io::Result<Command> {
    let [program, arguments @ ..] = command else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(command)
}

/// Says that a server could not be started, and what the likely mistake is.
pub(crate) fn cannot_run(command: &[OsString], error: &io::Error) -> String {
    let program = command.first().map_or(&b""[..], |program| program.as_encoded_bytes());
    let mut message = format!("cannot run {}: {error}", escape(program));
    if command.len() == 1 && program.contains(&b' ') {
        message
            .push_str("; the whole command is in quotes, so it is taken for the name of one program: leave them out");
    }
    message
}

//! Unix: a server inherits the signals that are ignored.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::Access;

use super::ignored;

/// Starts the server. It ignores every signal that was ignored when this process started.
///
/// SIGPIPE is an exception if nothing on this system can ignore it and pass on the environment as it is.
pub(super) fn spawn(command: &mut Command, configure: &dyn Fn(&mut Command)) -> io::Result<Child> {
    configure(command);
    // What cannot be run is reported as always.
    if !ignored::was_sigpipe_ignored() || !is_runnable(command.get_program()) {
        return command.spawn();
    }
    // The standard library turns SIGPIPE back on in each process that it starts. Another program can ignore it again.
    let Some(mut wrapper) = ignoring_sigpipe(command.get_program()) else { return command.spawn() };
    wrapper.arg(command.get_program()).args(command.get_args());
    configure(&mut wrapper);
    match wrapper.spawn() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => command.spawn(),
        spawned => spawned,
    }
}

/// A command that ignores SIGPIPE and becomes the program that its last arguments name.
fn ignoring_sigpipe(program: &OsStr) -> Option<Command> {
    const IGNORE: &str = "--ignore-signal=PIPE";
    let null = Stdio::null;
    let is_supported = Command::new("env").args([IGNORE, "true"]).stdin(null()).stdout(null()).stderr(null()).status();
    // A name with `=` would be taken for a variable.
    if is_supported.is_ok_and(|status| status.success()) && !program.as_bytes().contains(&b'=') {
        let mut env = Command::new("env");
        env.args([IGNORE, "--"]);
        return Some(env);
    }
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' PIPE; exec \"$0\" \"$@\""]);
    passes_through_shell().then_some(shell)
}

/// Whether a shell passes on every variable of this process's environment, which is the server's as well. Some shells,
/// such as dash, remove those whose names are not identifiers, and a server needs its variables more than an ignored
/// SIGPIPE.
fn passes_through_shell() -> bool {
    std::env::vars_os().all(|(name, _)| is_identifier(name.as_bytes()))
}

/// Whether a shell can have a variable of this name.
fn is_identifier(name: &[u8]) -> bool {
    name.first().is_some_and(|first| !first.is_ascii_digit())
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Whether there is a program of this name that may be run, as a path or in one of the directories for programs.
fn is_runnable(program: &OsStr) -> bool {
    let may_run = |path: &Path| path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok();
    if program.as_bytes().contains(&b'/') {
        return may_run(Path::new(program));
    }
    let directories = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&directories).any(|directory| may_run(&directory.join(program)))
}

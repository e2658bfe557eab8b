//! Opens a page in the browser of the user's choice.

use std::fmt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// The programs of this platform that open a file in whatever the user has chosen for its kind, the usual one first.
const OPENERS: &[Opener] = if cfg!(windows) {
    // A built-in command of the shell, which takes the first quoted argument as the title of a window.
    &[Opener { program: "cmd", args: &["/c", "start", "\"\""] }]
} else if cfg!(target_os = "macos") {
    &[Opener { program: "open", args: &[] }]
} else {
    &[
        Opener { program: "xdg-open", args: &[] },
        Opener { program: "gio", args: &["open"] },
        Opener { program: "wslview", args: &[] },
    ]
};

struct Opener {
    program: &'static str,
    args: &'static [&'static str],
}

/// Why there is no browser to look at.
#[derive(Debug)]
pub(super) enum Error {
    NoOpener,
    Failed(&'static str, ExitStatus),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOpener => {
                let programs: Vec<_> = OPENERS.iter().map(|opener| format!("`{}`", opener.program)).collect();
                write!(f, "found no {} to open it with", programs.join(", "))
            }
            Self::Failed(program, status) => write!(f, "`{program}` failed ({status})"),
        }
    }
}

/// Opens the file with the first program that can be started. `path` must be absolute, so that it isn't taken for an option.
pub(super) fn open(path: &Path) -> Result<(), Error> {
    for opener in OPENERS {
        // What browsers print is of no interest.
        let command = &mut Command::new(opener.program);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        add_args(command, opener.args, path);
        match command.status() {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => return Err(Error::Failed(opener.program, status)),
            Err(_) => {}
        }
    }
    Err(Error::NoOpener)
}

#[cfg(not(windows))]
fn add_args(command: &mut Command, args: &[&str], path: &Path) {
    command.args(args).arg(path);
}

/// The shell reads `&` and the like in a path as its own, unless the path is in quotes, which no path contains.
#[cfg(windows)]
fn add_args(command: &mut Command, args: &[&str], path: &Path) {
    use std::ffi::OsString;
    use std::os::windows::process::CommandExt;

    for arg in args {
        command.raw_arg(arg);
    }
    let mut quoted = OsString::from("\"");
    quoted.push(path);
    quoted.push("\"");
    command.raw_arg(quoted);
}

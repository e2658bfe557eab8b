//! Windows: `taskkill /T` ends a process and its descendants, as long as their parents still run.
//!
//! A watcher process does that when the guard has ended, for whatever reason. It learns the server's process id through
//! a pipe.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use crate::spawn;
use crate::tap::sys::{Signals, Target};

/// The processes of one server. Dropping it ends them.
pub(in crate::guard) struct Group {
    watcher: Mutex<Child>,
}

impl Group {
    /// Starts a watcher.
    pub(in crate::guard) fn start(_: &Target) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["guard", "--watch"]);
        let watcher = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { watcher: Mutex::new(watcher) })
    }

    /// Starts a server.
    pub(in crate::guard) fn spawn(&self, command: &[OsString]) -> io::Result<Child> {
        let child = spawn::start_with(command, &|command| {
            command.stderr(Stdio::piped());
        })?;
        let mut watcher = self.watcher.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(pipe) = &mut watcher.stdin {
            writeln!(pipe, "{}", child.id())?;
            pipe.flush()?;
        }
        Ok(child)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let watcher = self.watcher.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        drop(watcher.stdin.take());
        let _ = watcher.wait();
    }
}

/// Waits until the guard has ended or closes the pipe, and ends the server that it has named.
pub(in crate::guard) fn watch() -> io::Result<()> {
    // Ctrl-C is for the guard to decide about.
    let _signals = Signals::catch()?;
    let mut id = String::new();
    io::stdin().read_to_string(&mut id)?;
    if let Ok(id) = id.trim().parse::<u32>() {
        let mut taskkill = Command::new("taskkill");
        taskkill.args(["/T", "/F", "/PID", &id.to_string()]);
        taskkill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    }
    Ok(())
}

/// Catches Ctrl-C and Ctrl-Break, which reach the server by way of the console.
pub(in crate::guard) fn forward_signals() -> io::Result<Target> {
    Ok(Signals::catch()?.forward_to_group())
}

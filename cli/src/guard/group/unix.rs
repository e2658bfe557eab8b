//! Unix: a process group, led by a process that ends it.
//!
//! ```text
//!   wireline guard ──pipe──→ watcher     leads the group, and waits for the end of the pipe
//!         └────────────────→ server      joins the group before it starts
//!                              └───────→ its children
//! ```
//!
//! However the guard ends, the pipe ends too, and the watcher ends the group, itself included. A server that is just
//! being started has the pipe open as well until it is a member of the group, so none is missed. And since the watcher
//! leads the group, the group's id can't belong to another one before the watcher has been waited for.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, getpgid, getpgrp, getpid, getppid, kill_process_group, setpgid, test_kill_process_group,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use crate::spawn;
use crate::tap::sys::{Signals, Target};

/// How long the group has between SIGTERM and SIGKILL.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often to look whether the group has ended meanwhile.
const INTERVAL: Duration = Duration::from_millis(2);

/// What the watcher says when it is ready, and what it is told if the guard still runs.
const READY: &[u8] = b"r";
const END: &[u8] = b"e";

/// The process group of one server. Dropping it ends the group.
pub(in crate::guard) struct Group {
    watcher: Child,
    target: Target,
}

impl Group {
    /// Starts a watcher, and waits until it survives signals to its group.
    pub(in crate::guard) fn start(target: &Target) -> io::Result<Self> {
        // The path of this program may lead to another one after an update.
        let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
        let mut command = Command::new(program);
        command.args(["guard", "--watch"]).process_group(0);
        let mut watcher = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let ready = watcher.stdout.take().map_or(Ok(0), |mut stdout| stdout.read(&mut [0]));
        let group = Self { watcher, target: target.clone() };
        match ready? {
            0 => Err(io::Error::other("the process that watches the server has exited")),
            _ => Ok(group),
        }
    }

    /// Starts a server in the group, and forwards signals to the group from now on.
    pub(in crate::guard) fn spawn(&self, command: &[OsString]) -> io::Result<Child> {
        let id = Pid::from_child(&self.watcher);
        let child = spawn::start_with(command, &|command| {
            command.stderr(Stdio::piped()).process_group(id.as_raw_nonzero().get());
        })?;
        self.target.set_group(id);
        Ok(child)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.watcher.stdin.take() {
            // Fails if the watcher has been killed.
            let _ = pipe.write_all(END);
        }
        // The id is free for others once the watcher has been waited for.
        self.target.clear();
        let _ = self.watcher.wait();
    }
}

/// Waits until the guard has ended or closes the pipe, and ends the group that this process leads.
pub(in crate::guard) fn watch() -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    io::stdout().write_all(READY)?;
    io::stdout().flush()?;
    let mut last = Vec::new();
    io::stdin().read_to_end(&mut last)?;
    // If a user tries this option in a pipeline, the pipeline should survive.
    let group = getpid();
    if getpgrp() != group {
        return Ok(());
    }
    // Outside of the group, this process can tell whether it has other members. Only the guard's group is known.
    let is_outside = last == END && getppid().is_some_and(|guard| join_group_of(guard).is_ok());
    let started = Instant::now();
    let mut is_over = kill_process_group(group, Signal::TERM).is_err();
    while !is_over && started.elapsed() < PATIENCE {
        thread::sleep(INTERVAL);
        is_over = is_outside && test_kill_process_group(group).is_err();
    }
    if !is_over {
        // The last thing that this process does, if it is still a member.
        kill_process_group(group, Signal::KILL)?;
    }
    Ok(())
}

fn join_group_of(process: Pid) -> rustix::io::Result<()> {
    setpgid(None, Some(getpgid(Some(process))?))
}

/// Catches signals before a server starts, and forwards them to the server's group.
pub(in crate::guard) fn forward_signals() -> io::Result<Target> {
    Ok(Signals::catch()?.forward_to_group())
}

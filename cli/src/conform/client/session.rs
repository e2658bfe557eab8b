//! One run of the client: its process, what it printed, and what its server saw.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::command::ClientCommand;
use crate::conform::group::Group;
use crate::misbehave::{Observed, read_log};

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How long a server may outlive its client before it counts as left behind.
const OUTLIVES: Duration = Duration::from_millis(500);

/// How much of what a client printed last is shown.
const LAST_WORDS: usize = 200;

/// A directory for logs, which is removed with all that is in it.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        let started = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let path = std::env::temp_dir().join(format!("wireline-conform-{}-{started}", std::process::id()));
        // Fails if it exists, so another process can't have created it.
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// A path in the directory, at which there is nothing.
    fn empty(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        let _ = fs::remove_file(&path);
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How a client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Exited(i32),
    /// By a signal that this program didn't send.
    Killed(i32),
    /// It still ran when its time was over, and was killed.
    Hung,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(101) => f.write_str("exited with code 101, as after a panic in Rust"),
            Self::Exited(code @ (134 | 139)) => {
                write!(f, "exited with code {code}, as a shell does for a crashed program")
            }
            Self::Exited(code) => write!(f, "exited with code {code}"),
            Self::Killed(signal) => write!(f, "was killed by signal {signal}"),
            Self::Hung => f.write_str("was still running when its time was over"),
        }
    }
}

/// A finished run.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) ending: Ending,
    pub(super) elapsed: Duration,
    pub(super) stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// What the servers saw that the client has started.
    pub(super) seen: Vec<Observed>,
    /// Whether a server was still running some time after the client had exited.
    pub(super) is_server_left: bool,
}

impl Session {
    /// Runs the client, until it exits or its time is over.
    pub(super) fn run(
        client: &ClientCommand,
        misbehaviour: &str,
        scratch: &Scratch,
        limit: Duration,
    ) -> io::Result<Self> {
        let [log, stdout, stderr] = ["log", "stdout", "stderr"].map(|name| scratch.empty(name));
        let mut command = client.command(misbehaviour, &log);
        // Files, because a process that is left behind would keep a pipe open.
        command.stdin(Stdio::null()).stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let started = Instant::now();
        let (mut child, group) = Group::start(|| start(&mut command))?;
        let ending = wait(&mut child, started + limit)?;
        let elapsed = started.elapsed();
        let is_server_left = ending != Ending::Hung && has_server_left(&log);
        group.kill();
        // Does nothing to a process that has exited.
        let _ = child.kill();
        child.wait()?;
        kill_servers(&log);
        Ok(Self {
            ending,
            elapsed,
            stdout: fs::read(&stdout)?,
            stderr: fs::read(&stderr)?,
            // Without a log, the client has started no server.
            seen: read_log(&log).unwrap_or_default(),
            is_server_left,
        })
    }

    pub(super) fn has_seen(&self, is_meant: impl Fn(&Observed) -> bool) -> bool {
        self.seen.iter().any(is_meant)
    }

    pub(super) fn count(&self, is_meant: impl Fn(&Observed) -> bool) -> usize {
        self.seen.iter().filter(|seen| is_meant(seen)).count()
    }

    /// The last line that the client printed on stderr.
    pub(super) fn last_words(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let line = text.trim_end().lines().next_back().unwrap_or_default();
        line.chars().take(LAST_WORDS).collect()
    }
}

fn start(command: &mut Command) -> io::Result<Child> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command.spawn()
}

fn wait(child: &mut Child, deadline: Instant) -> io::Result<Ending> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(ending(status));
        }
        if Instant::now() >= deadline {
            return Ok(Ending::Hung);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn ending(status: ExitStatus) -> Ending {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Ending::Killed(signal);
    }
    Ending::Exited(status.code().unwrap_or(-1))
}

/// Whether a server of this log still runs, after some time.
fn has_server_left(log: &Path) -> bool {
    let deadline = Instant::now() + OUTLIVES;
    while Instant::now() < deadline {
        if running_servers(log).is_empty() {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}

/// Kills the servers of this log. Some clients start them in a process group of their own.
fn kill_servers(log: &Path) {
    #[cfg(unix)]
    for pid in running_servers(log) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
    #[cfg(not(unix))]
    let _ = log;
}

/// The processes that wrote to this log and haven't ended. Only Linux tells, since elsewhere the process may be another.
fn running_servers(log: &Path) -> Vec<u32> {
    let seen = read_log(log).unwrap_or_default();
    let pids = seen.iter().filter_map(|seen| if let Observed::Started { pid } = seen { Some(*pid) } else { None });
    pids.filter(|pid| is_server(*pid, log)).collect()
}

/// Whether a process is a server with this log.
fn is_server(pid: u32, log: &Path) -> bool {
    // Empty for a process that has ended but that its parent hasn't waited for.
    let Ok(arguments) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    arguments.split(|byte| *byte == 0).any(|argument| argument == log.as_os_str().as_encoded_bytes())
}

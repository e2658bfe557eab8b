//! The processes of a server: itself and those that it has started, as far as they stay in its process group.

#[cfg(unix)]
use std::collections::BTreeSet;
use std::io;
use std::process::Child;
#[cfg(unix)]
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A process group, or on Windows a process.
pub(super) struct Group {
    #[cfg(unix)]
    leader: rustix::process::Pid,
}

/// The leaders of the groups that run.
#[cfg(unix)]
static RUNNING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

#[cfg(unix)]
fn running() -> MutexGuard<'static, BTreeSet<i32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a signal that ends this process end all groups first. The terminal sends them none, and they may not notice the
/// end of their input.
#[cfg(unix)]
pub(super) fn end_on_signals() -> io::Result<()> {
    use crate::spawn::ignored;
    use rustix::process::{Pid, Signal, kill_process_group};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

    let before = ignored::now();
    let caught = [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|signal| !ignored::is_ignored(before, *signal));
    let mut signals = signal_hook::iterator::Signals::new(caught)?;
    std::thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            // Held until this process ends, so that no other group starts.
            let running = running();
            for leader in running.iter().filter_map(|leader| Pid::from_raw(*leader)) {
                let _ = kill_process_group(leader, Signal::KILL);
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// The console sends Ctrl-C to all processes.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "nothing can fail")]
pub(super) fn end_on_signals() -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        running().remove(&self.leader.as_raw_nonzero().get());
    }
}

#[cfg(unix)]
impl Group {
    /// Starts a process that leads a group. `start` must make it do so.
    pub(super) fn start(start: impl FnOnce() -> io::Result<Child>) -> io::Result<(Child, Self)> {
        let mut running = running();
        let child = start()?;
        let leader = rustix::process::Pid::from_child(&child);
        running.insert(leader.as_raw_nonzero().get());
        Ok((child, Self { leader }))
    }

    pub(super) fn kill(&self) {
        let _ = rustix::process::kill_process_group(self.leader, rustix::process::Signal::KILL);
    }

    /// Whether a process of the group runs. Where `/proc` doesn't tell, one that has ended but that its parent has not
    /// waited for counts as well.
    pub(super) fn has_members(&self) -> bool {
        match self.members() {
            Some(members) => !members.is_empty(),
            None => rustix::process::test_kill_process_group(self.leader).is_ok(),
        }
    }

    /// The resident memory of all members in bytes.
    pub(super) fn memory(&self) -> Option<u64> {
        let members = self.members().filter(|members| !members.is_empty())?;
        Some(members.iter().filter_map(|pid| resident_memory(*pid)).sum())
    }

    /// The processes of the group that run. `None` where `/proc` doesn't tell.
    fn members(&self) -> Option<Vec<u32>> {
        // Of another system's `/proc`, too, but only Linux has this file.
        std::fs::metadata("/proc/self/stat").ok()?;
        let group = self.leader.as_raw_nonzero().get();
        let pids = std::fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        Some(pids.filter(|pid| is_running_member(*pid, group)).collect())
    }
}

/// Whether a process is in a group, and has not ended.
#[cfg(unix)]
fn is_running_member(pid: u32, group: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // After the name in parentheses, which may contain anything: state, parent, group.
    let mut fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
    let (state, found) = (fields.next(), fields.nth(1).and_then(|field| field.parse::<i32>().ok()));
    found == Some(group) && !matches!(state, Some("Z" | "X"))
}

#[cfg(unix)]
fn resident_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| 1024 * kilobytes)
}

#[cfg(not(unix))]
#[allow(clippy::unused_self, reason = "there are no groups")]
impl Group {
    pub(super) fn start(start: impl FnOnce() -> io::Result<Child>) -> io::Result<(Child, Self)> {
        Ok((start()?, Self {}))
    }

    pub(super) fn kill(&self) {}

    pub(super) fn has_members(&self) -> bool {
        false
    }

    pub(super) fn memory(&self) -> Option<u64> {
        None
    }
}

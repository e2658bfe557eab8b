//! The processes of a server: itself and those that it has started, as far as they stay in its process group.

use std::process::Child;

/// A process group, or on Windows a process.
pub(super) struct Group {
    #[cfg(unix)]
    leader: rustix::process::Pid,
}

#[cfg(unix)]
impl Group {
    pub(super) fn new(child: &Child) -> Self {
        Self { leader: rustix::process::Pid::from_child(child) }
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
    pub(super) fn new(_: &Child) -> Self {
        Self {}
    }

    pub(super) fn kill(&self) {}

    pub(super) fn has_members(&self) -> bool {
        false
    }

    pub(super) fn memory(&self) -> Option<u64> {
        None
    }
}

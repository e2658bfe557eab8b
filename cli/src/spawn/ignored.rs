//! The signals that were ignored when this process started: `nohup` and `systemd` set some, and a server inherits them.

#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};

/// SIGPIPE, as it was before the standard library ignored it.
#[cfg(target_os = "linux")]
static SIGPIPE: AtomicBool = AtomicBool::new(false);

/// Runs before `main`, and so before the standard library ignores SIGPIPE. At that time only what needs no set-up by the
/// standard library may be used: here, reading a file.
#[cfg(target_os = "linux")]
#[ctor::ctor(unsafe)]
fn look_at_sigpipe() {
    SIGPIPE.store(is_ignored(now(), signal_hook::consts::SIGPIPE), Ordering::Relaxed);
}

/// Whether SIGPIPE was ignored when this process started. Only Linux tells.
pub(super) fn was_sigpipe_ignored() -> bool {
    #[cfg(target_os = "linux")]
    return SIGPIPE.load(Ordering::Relaxed);
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// The signals that are ignored now, one bit each. Only Linux tells: elsewhere, none counts as ignored.
pub(crate) fn now() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Whether a signal is among them.
pub(crate) fn is_ignored(signals: u64, signal: i32) -> bool {
    signals & 1 << (signal - 1) != 0
}

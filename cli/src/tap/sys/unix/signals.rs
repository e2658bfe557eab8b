//! Forwards signals to the server.

use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator;
use signal_hook::low_level::emulate_default_handler;

use crate::spawn::ignored::{self, is_ignored};

/// Signals that are caught before the server starts, so that none is lost.
pub(in crate::tap) struct Signals(iterator::Signals);

/// The process that signals are forwarded to.
pub(in crate::tap) struct Target {
    /// `None` once it has exited.
    pid: Arc<Mutex<Option<Pid>>>,
    is_stop_requested: Arc<AtomicBool>,
}

impl Signals {
    pub(in crate::tap) fn catch() -> io::Result<Self> {
        let ignored = ignored::now();
        let forwarded = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];
        let caught = forwarded.into_iter().filter(|signal| !is_ignored(ignored, *signal));
        // Makes writing beyond the file size limit an error of that file, instead of the end of this process. So it is
        // already if the signal is ignored, which the server inherits.
        if !is_ignored(ignored, SIGXFSZ) {
            signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        }
        iterator::Signals::new(caught).map(Self)
    }

    /// Forwards signals to `child` while it runs. After that they act on this process, as if they were not caught.
    pub(in crate::tap) fn forward_to(mut self, child: &Child) -> Target {
        let pid = Arc::new(Mutex::new(Some(Pid::from_child(child))));
        let is_stop_requested = Arc::new(AtomicBool::new(false));
        let target = Target { pid: Arc::clone(&pid), is_stop_requested: Arc::clone(&is_stop_requested) };
        // Without this thread the session still works, and ends when its input is closed.
        let _ = thread::Builder::new().spawn(move || {
            for number in self.0.forever() {
                // SIGHUP does not count: it tells some servers to reload their configuration.
                if matches!(number, SIGINT | SIGQUIT | SIGTERM) {
                    is_stop_requested.store(true, Ordering::Relaxed);
                }
                if matches!(number, SIGINT | SIGQUIT) && is_in_foreground() {
                    continue;
                }
                match (*lock(&pid), Signal::from_named_raw(number)) {
                    // Fails if it has exited meanwhile.
                    (Some(pid), Some(signal)) => drop(kill_process(pid, signal)),
                    _ => drop(emulate_default_handler(number)),
                }
            }
        });
        target
    }
}

impl Target {
    /// Stops forwarding, because the process has exited and its id may be reused.
    pub(in crate::tap) fn clear(&self) {
        *lock(&self.pid) = None;
    }

    /// Whether a signal has asked the server or the tap to stop.
    pub(in crate::tap) fn is_stop_requested(&self) -> bool {
        self.is_stop_requested.load(Ordering::Relaxed)
    }
}

/// Whether the terminal sends SIGINT and SIGQUIT to this process group, which includes the server.
fn is_in_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    terminal.is_ok_and(|terminal| rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp()))
}

fn lock(pid: &Mutex<Option<Pid>>) -> MutexGuard<'_, Option<Pid>> {
    pid.lock().unwrap_or_else(PoisonError::into_inner)
}

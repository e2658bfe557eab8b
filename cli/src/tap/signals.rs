//! Signals for the tap, which are meant for the server.

use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator;
use signal_hook::low_level::emulate_default_handler;

/// Caught, so that none gets lost before there is a server.
pub(crate) struct Signals(iterator::Signals);

/// The server, as long as it can be sent something.
pub(crate) struct Server {
    pid: Arc<Mutex<Option<Pid>>>,
    is_told_to_end: Arc<AtomicBool>,
}

impl Signals {
    pub(crate) fn catch() -> io::Result<Self> {
        let ignored = ignored();
        let passed_on = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];
        let caught = passed_on.into_iter().filter(|signal| ignored & 1 << (signal - 1) == 0);
        // A file that may grow no more is an error of that file, and not the end.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        iterator::Signals::new(caught).map(Self)
    }

    /// Passes on what is caught. The tap itself goes on until the server ends; after that, it is the tap that is meant.
    pub(crate) fn forward_to(mut self, child: &Child) -> Server {
        let pid = Arc::new(Mutex::new(Some(Pid::from_child(child))));
        let is_told_to_end = Arc::new(AtomicBool::new(false));
        let server = Server { pid: Arc::clone(&pid), is_told_to_end: Arc::clone(&is_told_to_end) };
        // Without the thread there is still a session, which can be ended by closing its input.
        let _ = thread::Builder::new().spawn(move || {
            for number in self.0.forever() {
                // By SIGHUP some are told to read their configuration again.
                if matches!(number, SIGINT | SIGQUIT | SIGTERM) {
                    is_told_to_end.store(true, Ordering::Relaxed);
                }
                if matches!(number, SIGINT | SIGQUIT) && is_in_foreground() {
                    continue;
                }
                match (*lock(&pid), Signal::from_named_raw(number)) {
                    // It may have ended by itself.
                    (Some(pid), Some(signal)) => drop(kill_process(pid, signal)),
                    _ => drop(emulate_default_handler(number)),
                }
            }
        });
        server
    }
}

impl Server {
    /// It has ended, and its number may soon be another process's.
    pub(crate) fn forget(&self) {
        *lock(&self.pid) = None;
    }

    /// Whether a signal has told it, or the tap, to end.
    pub(crate) fn is_told_to_end(&self) -> bool {
        self.is_told_to_end.load(Ordering::Relaxed)
    }
}

/// Which signals are ignored, one bit each, and are to be ignored by the server as well: `nohup` does that. Elsewhere than on
/// Linux it is not known, and none is.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Whether the keys of a terminal send their signals to this process's group, which the server is part of: then it has been
/// sent this one as well.
fn is_in_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    terminal.is_ok_and(|terminal| rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp()))
}

fn lock(pid: &Mutex<Option<Pid>>) -> std::sync::MutexGuard<'_, Option<Pid>> {
    pid.lock().unwrap_or_else(PoisonError::into_inner)
}

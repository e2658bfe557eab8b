//! Forwards signals to the server.

use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, getpgrp, kill_process, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator;
use signal_hook::low_level::emulate_default_handler;

use crate::spawn::ignored::{self, is_ignored};

/// Signals that are caught before the server starts, so that none is lost.
pub(crate) struct Signals(iterator::Signals);

/// Where signals are forwarded to.
#[derive(Clone)]
pub(crate) struct Target {
    /// `None` once it has exited.
    recipient: Arc<Mutex<Option<Recipient>>>,
    is_stop_requested: Arc<AtomicBool>,
}

#[derive(Clone, Copy)]
enum Recipient {
    /// A process of this process's group.
    Process(Pid),
    /// A process group of its own, to which the terminal sends nothing.
    Group(Pid),
}

impl Signals {
    pub(crate) fn catch() -> io::Result<Self> {
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
    pub(crate) fn forward_to(self, child: &Child) -> Target {
        self.forward(Some(Recipient::Process(Pid::from_child(child))))
    }

    /// Forwards signals to the process group that [`Target::set_group`] names.
    pub(crate) fn forward_to_group(self) -> Target {
        self.forward(None)
    }

    fn forward(mut self, recipient: Option<Recipient>) -> Target {
        let recipient = Arc::new(Mutex::new(recipient));
        let is_stop_requested = Arc::new(AtomicBool::new(false));
        let target = Target { recipient: Arc::clone(&recipient), is_stop_requested: Arc::clone(&is_stop_requested) };
        // Without this thread the session still works, and ends when its input is closed.
        let _ = thread::Builder::new().spawn(move || {
            for number in self.0.forever() {
                // SIGHUP does not count: it tells some servers to reload their configuration.
                if matches!(number, SIGINT | SIGQUIT | SIGTERM) {
                    is_stop_requested.store(true, Ordering::Relaxed);
                }
                let recipient = lock(&recipient);
                // Sending fails if the recipient has exited meanwhile.
                match (*recipient, Signal::from_named_raw(number)) {
                    (Some(Recipient::Process(_)), _) if matches!(number, SIGINT | SIGQUIT) && is_in_foreground() => {}
                    (Some(Recipient::Process(pid)), Some(signal)) => drop(kill_process(pid, signal)),
                    (Some(Recipient::Group(group)), Some(signal)) => drop(kill_process_group(group, signal)),
                    _ => drop(emulate_default_handler(number)),
                }
            }
        });
        target
    }
}

impl Target {
    /// Stops forwarding, because the process has exited and its id may be reused.
    pub(crate) fn clear(&self) {
        *lock(&self.recipient) = None;
    }

    /// Forwards signals to this process group from now on. Its id must not be reused before [`clear`](Self::clear).
    pub(crate) fn set_group(&self, group: Pid) {
        *lock(&self.recipient) = Some(Recipient::Group(group));
    }

    /// Whether a signal has asked the server or the tap to stop.
    pub(crate) fn is_stop_requested(&self) -> bool {
        self.is_stop_requested.load(Ordering::Relaxed)
    }
}

/// Whether the terminal sends SIGINT and SIGQUIT to this process group, which includes the server.
fn is_in_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    terminal.is_ok_and(|terminal| rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp()))
}

fn lock(recipient: &Mutex<Option<Recipient>>) -> MutexGuard<'_, Option<Recipient>> {
    recipient.lock().unwrap_or_else(PoisonError::into_inner)
}

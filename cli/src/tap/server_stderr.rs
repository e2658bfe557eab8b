//! The server's standard error, on its way to the tap's: the same bytes at once, and a copy for the recording.

use std::fs::File;
use std::io::Read;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use super::log::Log;
use super::relay::{Activity, ActivityMonitor, Event, EventKind, retry};
use super::sys::Ready;
use crate::session::Side;

/// How much to read at once.
const READ_LEN: usize = 16 << 10;

/// Passes on standard error. If nobody reads the tap's, bytes are dropped, so that the server never waits.
pub(super) struct StderrRelay {
    pub(super) input: File,
    pub(super) output: Log,
    pub(super) events: SyncSender<Event>,
    pub(super) monitor: ActivityMonitor,
}

impl StderrRelay {
    pub(super) fn run(mut self) {
        let mut buffer = vec![0; READ_LEN];
        loop {
            self.monitor.set(Activity::Reading);
            let read = retry(&mut self.input, Ready::Input, |input| input.read(&mut buffer));
            let at = Instant::now();
            self.monitor.set(Activity::Reporting);
            let Ok(len @ 1..) = read else { return };
            let bytes = &buffer[..len];
            // Fails once the session is over.
            let _ = self.events.send(Event { from: Side::Server, at, kind: EventKind::Stderr(bytes.to_vec()) });
            self.monitor.set(Activity::Writing);
            self.output.write_bytes(bytes);
        }
    }
}

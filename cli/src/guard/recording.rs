//! Records what both sides send, before anything is put right.

use std::fs::File;
use std::io::{self, BufWriter};
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::output::report_error;
use crate::recording::Stream;
use crate::session::Side;
use crate::tap::files::{NamedFile, RecordingFile};
use crate::tap::recorder::Recorder;
use crate::tap::sys;

/// How many events may be queued before the session waits for the disk.
const MAX_EVENTS: usize = 512;

/// Passes what is to be recorded to a thread that records it. Without a file, it does nothing.
#[derive(Clone)]
pub(super) struct Recording(Option<SyncSender<Event>>);

struct Event {
    at: Instant,
    kind: EventKind,
}

enum EventKind {
    Bytes(Stream, Vec<u8>),
    EndOfStream(Side),
    /// A server has ended, with this status if it has exited, and another one comes.
    NextServer(Option<ExitStatus>),
    End(ExitStatus),
}

impl Recording {
    /// Starts to record to a file.
    pub(super) fn start(file: Option<NamedFile>) -> io::Result<(Self, Option<JoinHandle<()>>)> {
        let Some(NamedFile { file, name }) = file else { return Ok((Self(None), None)) };
        let (sender, events) = sync_channel(MAX_EVENTS);
        let started = Instant::now();
        let thread = thread::Builder::new().spawn(move || {
            if let Err(error) = record(file, &events, started) {
                report_error(&format!("cannot write to the recording {name}: {error}; the session goes on unrecorded"));
            }
        })?;
        Ok((Self(Some(sender)), Some(thread)))
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Records bytes before they are passed on, so that a request comes before its response.
    pub(super) fn bytes(&self, from: impl Into<Stream>, bytes: &[u8]) {
        if self.is_on() {
            self.send(EventKind::Bytes(from.into(), bytes.to_vec()));
        }
    }

    pub(super) fn end_of_stream(&self, from: Side) {
        self.send(EventKind::EndOfStream(from));
    }

    /// Ends the session with one server. What comes next belongs to the session with the next one.
    pub(super) fn next_server(&self, status: Option<ExitStatus>) {
        self.send(EventKind::NextServer(status));
    }

    pub(super) fn end(&self, status: ExitStatus) {
        self.send(EventKind::End(status));
    }

    fn send(&self, kind: EventKind) {
        if let Some(sender) = &self.0 {
            // Fails after the recording has failed, which has been reported.
            let _ = sender.send(Event { at: Instant::now(), kind });
        }
    }
}

fn record(file: File, events: &Receiver<Event>, started: Instant) -> io::Result<()> {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut recorder = Recorder::new(BufWriter::new(RecordingFile(file)), epoch)?;
    while let Ok(first) = events.recv() {
        for Event { at, kind } in std::iter::once(first).chain(std::iter::from_fn(|| events.try_recv().ok())) {
            let at: Duration = at.saturating_duration_since(started);
            match kind {
                EventKind::Bytes(from, bytes) => recorder.bytes(from, &bytes, at)?,
                EventKind::EndOfStream(from) => recorder.end_of_stream(from, at)?,
                EventKind::NextServer(status) => {
                    for from in [Stream::Server, Stream::Stderr] {
                        recorder.end_of_stream(from, at)?;
                    }
                    let (code, signal) = (status.and_then(|it| it.code()), status.and_then(sys::signal));
                    recorder.end_of_session(code, signal, at)?;
                    recorder.next_session(at)?;
                }
                EventKind::End(status) => {
                    for from in [Stream::Client, Stream::Server, Stream::Stderr] {
                        recorder.end_of_stream(from, at)?;
                    }
                    return recorder.end_of_session(status.code(), sys::signal(status), at);
                }
            }
        }
        recorder.flush()?;
    }
    Ok(())
}

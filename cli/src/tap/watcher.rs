//! Turns the events of a session into the log and the recording.

use std::fs::File;
use std::io::{self, BufWriter};
#[cfg(target_os = "linux")]
use std::io::{ErrorKind, Read};
#[cfg(target_os = "linux")]
use std::mem;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Args;
use super::escaped_path;
use super::log::Log;
use super::recorder::Recorder;
use super::relay::{Event, EventKind};
use super::transcript::Transcript;
use crate::session::{Follower, Side, overview};
use crate::terminal::Styles;

/// How long to let events accumulate, so that not every message wakes this thread.
const PAUSE: Duration = Duration::from_millis(1);

/// How many bytes of traffic or of text to process before writing. After that many there is no pause.
const BATCH_LEN: usize = 64 << 10;

/// How much to read from a pipe at once: half its capacity, so that one half can be filled while the other is decoded.
#[cfg(target_os = "linux")]
const PIPE_READ_LEN: usize = super::pipes::PIPE_CAPACITY / 2;

pub(super) struct Watcher {
    started: Instant,
    follower: Follower,
    transcript: Transcript,
    recorder: Option<Recorder<BufWriter<File>>>,
    /// The path of the recording, for messages.
    recording_name: String,
    log: Log,
    is_silent: bool,
    #[cfg(target_os = "linux")]
    buffer: Vec<u8>,
}

impl Watcher {
    pub(super) fn new(args: &Args, started: Instant, log: Log, recording: Option<File>) -> Self {
        let transcript = Transcript {
            styles: Styles::detect(log.is_terminal),
            show: args.show,
            quiet: args.quiet > 0,
            text: String::new(),
        };
        let mut watcher = Self {
            started,
            follower: Follower::new(args.rules.rules(), args.rules.protocols()),
            transcript,
            recorder: None,
            recording_name: args.record.as_deref().map(escaped_path).unwrap_or_default(),
            log,
            is_silent: args.quiet > 1,
            #[cfg(target_os = "linux")]
            buffer: Vec::new(),
        };
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let recorder = recording.map(|file| Recorder::new(BufWriter::new(file), epoch)).transpose();
        match recorder {
            Ok(recorder) => watcher.recorder = recorder,
            Err(error) => watcher.report_recording_error(&error),
        }
        watcher
    }

    /// Processes events until the session is over.
    pub(super) fn run(&mut self, events: &Receiver<Event>) {
        while let Ok(first) = events.recv() {
            let rest = std::iter::from_fn(|| events.try_recv().ok());
            let mut len = 0;
            for event in std::iter::once(first).chain(rest) {
                if let EventKind::SessionOver = event.kind {
                    return;
                }
                len += self.process(event);
                if len >= BATCH_LEN || self.transcript.text.len() >= BATCH_LEN {
                    break;
                }
            }
            let flushed = self.recorder.as_mut().map_or(Ok(()), Recorder::flush);
            self.stop_recording_on_error(flushed);
            self.write_log();
            if len < BATCH_LEN {
                thread::sleep(PAUSE);
            }
        }
    }

    /// Processes one event, and returns how many bytes it was about.
    fn process(&mut self, Event { from, at, kind }: Event) -> usize {
        let at = at.duration_since(self.started);
        match kind {
            EventKind::Bytes(bytes) => {
                self.process_bytes(from, &bytes, at);
                bytes.len()
            }
            #[cfg(target_os = "linux")]
            EventKind::Piped { pipe, len } => {
                let mut buffer = mem::take(&mut self.buffer);
                buffer.resize(PIPE_READ_LEN, 0);
                let mut unread = len;
                while unread > 0 {
                    // A packet pipe discards what does not fit, but the buffer is larger than any packet.
                    match (&*pipe).read(&mut buffer[..unread.min(PIPE_READ_LEN)]) {
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        // The bytes are relayed all the same, only not logged.
                        Ok(0) | Err(_) => break,
                        Ok(read) => {
                            self.process_bytes(from, &buffer[..read], at);
                            unread -= read;
                        }
                    }
                }
                self.buffer = buffer;
                len
            }
            EventKind::EndOfStream => {
                let Self { follower, transcript, recorder, .. } = self;
                follower.end_stream(from, Some(at), |session, seen| transcript.add(session, from, &seen, at));
                let recorded = recorder.as_mut().map(|recorder| recorder.end_of_stream(from, at));
                self.stop_recording_on_error(recorded.unwrap_or(Ok(())));
                0
            }
            EventKind::SessionOver => 0,
        }
    }

    fn process_bytes(&mut self, from: Side, bytes: &[u8], at: Duration) {
        let Self { follower, transcript, recorder, .. } = self;
        follower.add_bytes(from, bytes, Some(at), |session, seen| transcript.add(session, from, &seen, at));
        let recorded = recorder.as_mut().map(|recorder| recorder.bytes(from, bytes, at));
        self.stop_recording_on_error(recorded.unwrap_or(Ok(())));
    }

    /// Ends the log and the recording after the server has exited.
    pub(super) fn finish(mut self, status: ExitStatus) {
        let elapsed = self.started.elapsed();
        // Ending a stream twice does no harm.
        for from in Side::BOTH {
            self.process(Event { from, at: Instant::now(), kind: EventKind::EndOfStream });
        }
        self.follower.end_session(Some(elapsed));
        let recorder = self.recorder.as_mut();
        let recorded = recorder.map(|recorder| recorder.end_of_session(status.code(), status.signal(), elapsed));
        self.stop_recording_on_error(recorded.unwrap_or(Ok(())));

        let Self { mut transcript, log, .. } = self;
        if self.is_silent {
            transcript.text.clear();
        } else {
            let Styles { dim, bad, good, .. } = transcript.styles;
            let overview = overview(&self.follower.session, Some(elapsed), log.columns, transcript.styles);
            let (style, outcome) = match (status.code(), status.signal()) {
                (Some(0), _) => (good, "server exited with code 0".to_owned()),
                (Some(code), _) => (bad, format!("server exited with code {code}")),
                (None, Some(signal)) => (bad, format!("server was killed by signal {signal}")),
                (None, None) => (bad, "server exited".to_owned()),
            };
            let rule = "─".repeat(79);
            transcript.text.push_str(&format!("{dim}{rule}{dim:#}\n{overview}{style}{outcome}{style:#}\n"));
        }
        log.close(&transcript.text);
    }

    fn write_log(&mut self) {
        if self.is_silent {
            self.transcript.text.clear();
        }
        self.log.write(&mut self.transcript.text);
    }

    fn stop_recording_on_error(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.recorder = None;
            self.report_recording_error(&error);
        }
    }

    fn report_recording_error(&mut self, error: &io::Error) {
        let name = &self.recording_name;
        let message = format!("cannot write to the recording {name}: {error}; the session goes on unrecorded");
        self.log.write(&mut format!("wireline: {message}\n"));
    }
}

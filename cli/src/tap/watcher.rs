//! Turns the events of a session into the log and the recording.

use std::io::{self, BufWriter};
#[cfg(target_os = "linux")]
use std::io::{ErrorKind, Read};
#[cfg(target_os = "linux")]
use std::mem;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Args;
use super::files::{NamedFile, RecordingFile};
use super::log::Log;
use super::recorder::Recorder;
use super::relay::{Event, EventKind};
use super::sys;
use crate::recording::Stream;
use crate::session::{Follower, Seen, Side, overview, tells};
use crate::terminal::Styles;
use crate::transcript::{Faults, Payloads, Transcript};

/// How long to let events accumulate, so that not every message wakes this thread.
const PAUSE: Duration = Duration::from_millis(1);

/// How many bytes of traffic or of text to process before writing. After that many there is no pause.
const BATCH_LEN: usize = 64 << 10;

/// How long a line may be without its end before the log says so.
const OPEN_LINE: Duration = Duration::from_secs(1);

/// How much to read from a pipe at once: half its capacity, so that one half can be filled while the other is decoded.
#[cfg(target_os = "linux")]
const PIPE_READ_LEN: usize = sys::PIPE_CAPACITY / 2;

pub(super) struct Watcher {
    started: Instant,
    /// When that was, since 1970.
    epoch: Duration,
    follower: Follower,
    transcript: Transcript,
    recorder: Option<Recorder<BufWriter<RecordingFile>>>,
    /// The path of the recording, for messages.
    recording_name: String,
    log: Log,
    is_silent: bool,
    alarms: Alarms,
    #[cfg(target_os = "linux")]
    buffer: Vec<u8>,
}

/// What to say if nothing happens.
struct Alarms {
    /// How long a request may be pending before the log says so. `None` if it never does.
    patience: Option<Duration>,
    /// When to look at the pending requests next.
    next_look: Option<Duration>,
    /// For each side, when the last bytes of a line without its end arrived, unless the log has said so.
    open_since: [Option<Duration>; 2],
}

impl Alarms {
    /// When to say something next, unless something happens before.
    fn next(&self) -> Option<Duration> {
        let open_lines = self.open_since.iter().flatten().map(|since| *since + OPEN_LINE);
        open_lines.chain(self.next_look).min()
    }
}

impl Watcher {
    /// Without a log, it only writes messages about the tap itself.
    pub(super) fn new(args: &Args, started: Instant, log: Log, has_log: bool, recording: Option<NamedFile>) -> Self {
        let (recording, recording_name) = recording.map(|NamedFile { file, name }| (file, name)).unzip();
        let transcript = Transcript {
            styles: Styles::detect(log.is_terminal),
            width: log.width,
            payloads: if args.show { Payloads::Start } else { Payloads::Hidden },
            reasons: args.show,
            called_with: None,
            filter: args.filter.clone(),
            quiet: args.quiet > 0,
            faults: Faults::new(args.all),
            text: String::new(),
        };
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut watcher = Self {
            started,
            epoch,
            follower: Follower::new(&args.rules, args.framing),
            transcript,
            recorder: None,
            recording_name: recording_name.unwrap_or_default(),
            log,
            is_silent: args.quiet > 1 || !has_log,
            alarms: Alarms {
                patience: Some(args.slow_after).filter(|patience| !patience.is_zero()),
                next_look: None,
                open_since: [None, None],
            },
            #[cfg(target_os = "linux")]
            buffer: Vec::new(),
        };
        let recorder = recording.map(|file| Recorder::new(BufWriter::new(RecordingFile(file)), epoch)).transpose();
        match recorder {
            Ok(recorder) => watcher.recorder = recorder,
            Err(error) => watcher.report_recording_error(&error),
        }
        watcher
    }

    /// Processes events until the session is over.
    pub(super) fn run(&mut self, events: &Receiver<Event>) {
        loop {
            let Some(first) = self.next_event(events) else { return };
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
            self.ring_if_due();
            self.write_log();
            if len < BATCH_LEN {
                thread::sleep(PAUSE);
            }
        }
    }

    /// Waits for an event, and meanwhile says what does not happen. Returns `None` if there will be no more.
    fn next_event(&mut self, events: &Receiver<Event>) -> Option<Event> {
        loop {
            let Some(alarm) = self.next_alarm() else { return events.recv().ok() };
            match events.recv_timeout(alarm.saturating_sub(self.started.elapsed())) {
                Ok(event) => return Some(event),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    self.ring();
                    self.write_log();
                }
            }
        }
    }

    /// When to [`ring`](Self::ring) next.
    fn next_alarm(&self) -> Option<Duration> {
        self.alarms.next().into_iter().chain(self.transcript.run_deadline()).min()
    }

    /// Rings even while there are always more events, as from a server that never stops talking.
    fn ring_if_due(&mut self) {
        if self.next_alarm().is_some_and(|alarm| alarm <= self.started.elapsed()) {
            self.ring();
        }
    }

    /// Says which lines have not been ended, and which requests have not been answered, for too long.
    fn ring(&mut self) {
        let now = self.started.elapsed();
        let Self { follower, transcript, alarms, .. } = self;
        if transcript.run_deadline().is_some_and(|deadline| now >= deadline) {
            transcript.end_run();
        }
        for from in Side::BOTH {
            let open_since = &mut alarms.open_since[from as usize];
            if let Some(waited) = open_since.and_then(|since| now.checked_sub(since)).filter(|it| *it >= OPEN_LINE) {
                *open_since = None;
                if let Some(open) = follower.open(from) {
                    transcript.add_open_line(from, &open, waited, now);
                }
            }
        }
        if let (Some(patience), Some(next_look)) = (alarms.patience, alarms.next_look)
            && now >= next_look
        {
            let (overdue, next_sent) = follower.session.take_overdue(now.saturating_sub(patience));
            for request in &overdue {
                transcript.add_overdue(&follower.session, request, now);
            }
            alarms.next_look = next_sent.map(|sent| sent + patience);
        }
    }

    /// Processes one event, and returns how many bytes it was about.
    fn process(&mut self, Event { from, at, kind }: Event) -> usize {
        let at = self.recorded_time(at.duration_since(self.started));
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
            EventKind::Stderr(bytes) => {
                let recorded = self.recorder.as_mut().map(|recorder| recorder.bytes(Stream::Stderr, &bytes, at));
                self.stop_recording_on_error(recorded.unwrap_or(Ok(())));
                bytes.len()
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

    /// A time since the start of the session as its recording has it, in whole microseconds, so that both give the same
    /// figures.
    fn recorded_time(&self, at: Duration) -> Duration {
        let micros = (self.epoch + at).as_micros() - self.epoch.as_micros();
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    fn process_bytes(&mut self, from: Side, bytes: &[u8], at: Duration) {
        let Self { follower, transcript, recorder, .. } = self;
        follower.add_bytes(from, bytes, Some(at), |session, seen| transcript.add(session, from, &seen, at));
        self.alarms.open_since[from as usize] = follower.open(from).map(|_| at);
        // A request among these bytes is not due before that. If an alarm is set already, it is earlier.
        self.alarms.next_look = self.alarms.next_look.or_else(|| Some(at + self.alarms.patience?));
        let recorded = recorder.as_mut().map(|recorder| {
            recorder.bytes(from, bytes, at)?;
            if follower.is_framed(from) { recorder.end_of_part(from, at) } else { Ok(()) }
        });
        self.stop_recording_on_error(recorded.unwrap_or(Ok(())));
    }

    /// Ends the log and the recording after the server has exited.
    pub(super) fn finish(mut self, status: ExitStatus) {
        let elapsed = self.recorded_time(self.started.elapsed());
        // Ending a stream twice does no harm.
        for from in Side::BOTH {
            self.process(Event { from, at: Instant::now(), kind: EventKind::EndOfStream });
        }
        self.transcript.end_faults(elapsed);
        let Self { follower, transcript, .. } = &mut self;
        follower.end_session(Some(elapsed), |session, seen| match seen {
            // The overview comes next.
            Seen::Finding(finding) if tells(finding.rule) => {}
            _ => transcript.add(session, Side::Client, &seen, elapsed),
        });
        let recorded = self.recorder.as_mut().map(|recorder| {
            recorder.end_of_stream(Stream::Stderr, elapsed)?;
            recorder.end_of_session(status.code(), sys::signal(status), elapsed)
        });
        self.stop_recording_on_error(recorded.unwrap_or(Ok(())));

        let Self { mut transcript, log, .. } = self;
        if self.is_silent {
            transcript.text.clear();
        } else {
            let Styles { dim, bad, good, .. } = transcript.styles;
            let overview =
                overview(&self.follower.session, Some(elapsed), transcript.reasons, log.width, transcript.styles);
            let (style, outcome) = match (status.code(), sys::signal(status)) {
                (Some(0), _) => (good, "server exited with code 0".to_owned()),
                (Some(code), _) => (bad, format!("server exited with code {code}")),
                (None, Some(signal)) => (bad, format!("server was killed by signal {signal}")),
                (None, None) => (bad, "server exited".to_owned()),
            };
            let rule = "─".repeat(log.width.columns().saturating_sub(1));
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
        self.log.write_message(&message);
    }
}

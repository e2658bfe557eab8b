//! Makes sense of what passes.

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

use super::log::Log;
use super::relay::{Passed, What};
use crate::args::Tap;
use crate::colours::Colours;
use crate::follow::Follower;
use crate::overview::overview;
use crate::recording::Recorder;
use crate::session::Side;
use crate::transcript::Transcript;

/// How long what has come is left to gather, so that not every message wakes this thread.
const GATHER: Duration = Duration::from_millis(1);

/// How many bytes are seen, or told, before they are written down. While there are as many there is nothing to wait for.
const MUCH: usize = 64 << 10;

/// How much is taken from a pipe at once: half of what it holds, so that one half can be filled while the other is judged.
#[cfg(target_os = "linux")]
const PIECE: usize = super::PIPE / 2;

pub(crate) struct Watcher {
    started: Instant,
    follower: Follower,
    transcript: Transcript,
    recorder: Option<Recorder<BufWriter<File>>>,
    log: Log,
    is_silent: bool,
    /// Room for the bytes at hand.
    #[cfg(target_os = "linux")]
    bytes: Vec<u8>,
}

impl Watcher {
    pub(crate) fn new(args: &Tap, started: Instant, log: Log, record: Option<File>) -> Self {
        let transcript = Transcript {
            colours: Colours::detect(log.is_terminal),
            show: args.show,
            quiet: args.quiet > 0,
            text: String::new(),
        };
        let mut watcher = Self {
            started,
            follower: Follower::new(args.judging.rules()),
            transcript,
            recorder: None,
            log,
            is_silent: args.quiet > 1,
            #[cfg(target_os = "linux")]
            bytes: Vec::new(),
        };
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let recorder = record.map(|file| Recorder::new(BufWriter::new(file), epoch)).transpose();
        match recorder {
            Ok(recorder) => watcher.recorder = recorder,
            Err(error) => watcher.complain(&error),
        }
        watcher
    }

    /// Until nothing more is to be expected.
    pub(crate) fn run(&mut self, passed: &Receiver<Passed>) {
        while let Ok(first) = passed.recv() {
            let rest = std::iter::from_fn(|| passed.try_recv().ok());
            let mut len = 0;
            for event in std::iter::once(first).chain(rest) {
                if let What::Finished = event.what {
                    return;
                }
                len += self.see(event);
                if len >= MUCH || self.transcript.text.len() >= MUCH {
                    break;
                }
            }
            let flushed = self.recorder.as_mut().map_or(Ok(()), Recorder::flush);
            self.keep_recording(flushed);
            self.tell();
            if len < MUCH {
                thread::sleep(GATHER);
            }
        }
    }

    /// Returns how many bytes it was.
    fn see(&mut self, Passed { from, at, what }: Passed) -> usize {
        let at = at.duration_since(self.started);
        match what {
            What::Bytes(bytes) => {
                self.see_bytes(from, &bytes, at);
                bytes.len()
            }
            #[cfg(target_os = "linux")]
            What::Shared { pipe, len } => {
                let mut bytes = mem::take(&mut self.bytes);
                bytes.resize(PIECE, 0);
                let mut rest = len;
                while rest > 0 {
                    // They are there already. A pipe of packets gives one at a time, and what of it is not taken is lost: so
                    // there is always room for one.
                    match (&*pipe).read(&mut bytes[..rest.min(PIECE)]) {
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        // If they cannot be had, nothing is known of them.
                        Ok(0) | Err(_) => break,
                        Ok(read) => {
                            self.see_bytes(from, &bytes[..read], at);
                            rest -= read;
                        }
                    }
                }
                self.bytes = bytes;
                len
            }
            What::End => {
                let Self { follower, transcript, recorder, .. } = self;
                follower.end(from, Some(at), |session, seen| transcript.tell(session, from, &seen, at));
                let recorded = recorder.as_mut().map(|recorder| recorder.end(from, at));
                self.keep_recording(recorded.unwrap_or(Ok(())));
                0
            }
            What::Finished => 0,
        }
    }

    fn see_bytes(&mut self, from: Side, bytes: &[u8], at: Duration) {
        let Self { follower, transcript, recorder, .. } = self;
        follower.bytes(from, bytes, Some(at), |session, seen| transcript.tell(session, from, &seen, at));
        let recorded = recorder.as_mut().map(|recorder| recorder.bytes(from, bytes, at));
        self.keep_recording(recorded.unwrap_or(Ok(())));
    }

    /// The server has ended: says what there is to say about all of it.
    pub(crate) fn finish(mut self, status: ExitStatus) {
        let elapsed = self.started.elapsed();
        // Those that have ended already have nothing left.
        for from in Side::BOTH {
            self.see(Passed { from, at: Instant::now(), what: What::End });
        }
        self.follower.close(Some(elapsed));
        let recorder = self.recorder.as_mut();
        let recorded = recorder.map(|recorder| recorder.finish(status.code(), status.signal(), elapsed));
        self.keep_recording(recorded.unwrap_or(Ok(())));

        let Self { mut transcript, log, .. } = self;
        if self.is_silent {
            transcript.text.clear();
        } else {
            let Colours { quiet, bad, good, .. } = transcript.colours;
            let text = overview(&self.follower.session, Some(elapsed), log.columns, transcript.colours);
            let (style, how) = match (status.code(), status.signal()) {
                (Some(0), _) => (good, "the server ended with code 0".to_owned()),
                (Some(code), _) => (bad, format!("the server ended with code {code}")),
                (None, Some(signal)) => (bad, format!("the server was ended by signal {signal}")),
                (None, None) => (bad, "the server has ended".to_owned()),
            };
            let rule = "─".repeat(79);
            transcript.text.push_str(&format!("{quiet}{rule}{quiet:#}\n{text}{style}{how}{style:#}\n"));
        }
        log.close(&transcript.text);
    }

    /// Gives the text to the log.
    fn tell(&mut self) {
        if self.is_silent {
            self.transcript.text.clear();
        }
        self.log.write(&mut self.transcript.text);
    }

    /// Gives up on a recording that cannot be written, and goes on without it.
    fn keep_recording(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.recorder = None;
            self.complain(&error);
        }
    }

    fn complain(&mut self, error: &io::Error) {
        self.log.write(&mut format!("wireline: cannot write to the recording any more: {error}\n"));
    }
}

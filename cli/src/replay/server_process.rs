//! A server that runs: its process, and a thread for each of its pipes, so that neither can block the replay.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, ExitStatus};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use wireline::{Decoder, Rules};

use super::new_recording::NewRecording;
use super::script::{Received, decode_received};
use crate::input::read_retrying;
use crate::session::Side;
use crate::spawn;

/// How much to read or write at once.
const PIPE_LEN: usize = 64 << 10;

/// How many reads or lines may be queued.
const MAX_QUEUED: usize = 16;

/// How long a server may take to exit once its input is closed, and once it has been told to terminate.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the output of an exited server must be silent before it counts as ended.
const SILENCE: Duration = Duration::from_millis(500);

const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(super) struct ServerProcess {
    child: Child,
    /// `None` once the input is closed.
    to_server: Option<SyncSender<Vec<u8>>>,
    from_server: Receiver<Vec<u8>>,
    /// How many bytes the server has taken.
    taken: Arc<AtomicU64>,
    decoder: Decoder,
    /// Decoded, but not returned yet.
    received: VecDeque<Received>,
    is_output_ended: bool,
    /// Gets a copy of what passes.
    recording: Option<Rc<RefCell<NewRecording>>>,
}

/// What came while waiting.
pub(super) enum Event {
    Received(Received),
    /// Nothing came in time.
    Timeout,
    /// The server has closed its output.
    Ended,
}

/// What became of a line to send.
pub(super) enum Sending {
    Queued,
    /// The server has not taken enough yet. Try again with the same line.
    Full(Vec<u8>),
    /// The server has closed its input.
    Closed,
}

/// How a server ended.
pub(super) enum ServerEnd {
    /// On its own.
    Exited(ExitStatus),
    /// It had to be terminated or killed.
    Terminated,
}

impl ServerProcess {
    pub(super) fn start(
        command: &[OsString],
        rules: Rules,
        recording: Option<Rc<RefCell<NewRecording>>>,
    ) -> io::Result<Self> {
        let mut child = spawn::start(command)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (to_server, lines) = sync_channel::<Vec<u8>>(MAX_QUEUED);
        let (reads, from_server) = sync_channel(MAX_QUEUED);
        let taken = Arc::new(AtomicU64::new(0));
        let threads = thread::Builder::new()
            .spawn({
                let taken = Arc::clone(&taken);
                move || write_lines(stdin, &lines, &taken)
            })
            .and_then(|_| thread::Builder::new().spawn(move || read_all(stdout, &reads)));
        if let Err(error) = threads {
            let _ = child.kill().and_then(|()| child.wait());
            return Err(error);
        }
        if let Some(recording) = &recording {
            recording.borrow_mut().start_session();
        }
        Ok(Self {
            child,
            to_server: Some(to_server),
            from_server,
            taken,
            decoder: Decoder::new(rules),
            received: VecDeque::new(),
            is_output_ended: false,
            recording,
        })
    }

    /// Queues bytes to be written.
    pub(super) fn send(&self, bytes: Vec<u8>) -> Sending {
        let Some(to_server) = &self.to_server else { return Sending::Closed };
        let copy = self.recording.as_ref().map(|_| bytes.clone());
        match to_server.try_send(bytes) {
            Ok(()) => {
                self.record(Side::Client, &copy.unwrap_or_default());
                Sending::Queued
            }
            Err(TrySendError::Full(bytes)) => Sending::Full(bytes),
            Err(TrySendError::Disconnected(_)) => Sending::Closed,
        }
    }

    /// How many bytes the server has taken so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Whether nothing more will come.
    pub(super) fn is_output_ended(&self) -> bool {
        self.is_output_ended && self.received.is_empty()
    }

    /// What the server sends next. Waits until `deadline`.
    pub(super) fn next(&mut self, deadline: Instant) -> Event {
        loop {
            if let Some(received) = self.received.pop_front() {
                return Event::Received(received);
            }
            if self.is_output_ended {
                return Event::Ended;
            }
            match self.from_server.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => {
                    self.record(Side::Server, &bytes);
                    self.decoder.feed(&bytes);
                }
                Err(RecvTimeoutError::Timeout) => return Event::Timeout,
                Err(RecvTimeoutError::Disconnected) => {
                    self.decoder.finish();
                    self.is_output_ended = true;
                }
            }
            self.received.extend(decode_received(&mut self.decoder));
            // A server that sends only empty lines must not hold up its client.
            if self.received.is_empty() && !self.is_output_ended && Instant::now() >= deadline {
                return Event::Timeout;
            }
        }
    }

    /// Closes the server's input, passes on what it still sends, and waits for its end.
    pub(super) fn finish(mut self, mut receive: impl FnMut(Received)) -> io::Result<ServerEnd> {
        self.to_server = None;
        let mut end = self.wait_for_exit(&mut receive)?.map(ServerEnd::Exited);
        if end.is_none() {
            terminate(&mut self.child);
            self.wait_for_exit(&mut receive)?;
            // Does nothing to a process that has exited.
            let _ = self.child.kill();
            self.child.wait()?;
            end = Some(ServerEnd::Terminated);
        }
        // Another process may hold the output open, and may even write to it for ever.
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while Instant::now() < deadline
            && let Event::Received(received) = self.next(Instant::now() + SILENCE)
        {
            receive(received);
        }
        let end = end.unwrap_or(ServerEnd::Terminated);
        if let Some(recording) = &self.recording {
            recording.borrow_mut().end_session(match end {
                ServerEnd::Exited(status) => Some(status),
                ServerEnd::Terminated => None,
            });
        }
        Ok(end)
    }

    fn record(&self, from: Side, bytes: &[u8]) {
        if let Some(recording) = &self.recording {
            recording.borrow_mut().add_bytes(from, bytes);
        }
    }

    /// Waits up to [`EXIT_TIMEOUT`] for the process to exit.
    fn wait_for_exit(&mut self, receive: &mut impl FnMut(Received)) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + EXIT_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            match self.next(Instant::now() + POLL_INTERVAL) {
                Event::Received(received) => receive(received),
                Event::Timeout => {}
                Event::Ended => thread::sleep(POLL_INTERVAL),
            }
        }
    }
}

/// A replay that ends early leaves no process behind.
impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill().and_then(|()| self.child.wait());
        }
    }
}

fn write_lines(mut stdin: impl Write, lines: &Receiver<Vec<u8>>, taken: &AtomicU64) {
    for line in lines {
        for part in line.chunks(PIPE_LEN) {
            if stdin.write_all(part).and_then(|()| stdin.flush()).is_err() {
                return;
            }
            taken.fetch_add(part.len() as u64, Ordering::Relaxed);
        }
    }
}

fn read_all(mut stdout: impl Read, reads: &SyncSender<Vec<u8>>) {
    let mut buffer = vec![0; PIPE_LEN];
    // A read error ends the stream like its end does.
    while let Ok(len @ 1..) = read_retrying(&mut stdout, &mut buffer) {
        if reads.send(buffer[..len].to_vec()).is_err() {
            return;
        }
    }
}

/// Asks a process to exit.
fn terminate(child: &mut Child) {
    #[cfg(unix)]
    let _ = rustix::process::kill_process(rustix::process::Pid::from_child(child), rustix::process::Signal::TERM);
    #[cfg(not(unix))]
    let _ = child.kill();
}

//! What a server finds on its stdout and stderr.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Stdout {
    Pipe,
    File,
    Terminal,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Stderr {
    Read,
    /// The reader is gone before the server starts.
    Closed,
    /// The reader leaves in the middle of the session.
    ClosedHalfway,
    /// The reader stays, but never reads.
    Unread,
    Null,
    File,
    /// Every write fails.
    Full,
}

/// What a server writes, while it runs and in the end.
pub(crate) enum Output {
    /// From a pipe or a terminal.
    Stream(Stream),
    File(File),
}

impl Stdout {
    pub(crate) const ALL: [Self; 3] = [Self::Pipe, Self::File, Self::Terminal];

    pub(crate) fn attach(self, command: &mut Command) -> Output {
        match self {
            Self::Pipe => {
                let (reader, writer) = io::pipe().unwrap();
                command.stdout(writer);
                Output::Stream(Stream::new(reader))
            }
            Self::File => {
                let file = temporary_file();
                command.stdout(file.try_clone().unwrap());
                Output::File(file)
            }
            Self::Terminal => {
                let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
                grantpt(&terminal).unwrap();
                unlockpt(&terminal).unwrap();
                let name = ptsname(&terminal, Vec::new()).unwrap();
                let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
                let server_end: OwnedFd = rustix::fs::open(name, flags, rustix::fs::Mode::empty()).unwrap();
                command.stdout(server_end);
                Output::Stream(Stream::new(File::from(terminal)))
            }
        }
    }
}

impl Output {
    pub(crate) fn so_far(&mut self) -> String {
        match self {
            Self::Stream(stream) => text(&stream.bytes.lock().unwrap()),
            Self::File(file) => contents(file),
        }
    }

    /// All of it, once the other end is closed.
    pub(crate) fn text(&mut self) -> String {
        if let Self::Stream(stream) = self {
            stream.finish();
        }
        self.so_far()
    }
}

impl Stderr {
    pub(crate) const ALL: [Self; 7] =
        [Self::Read, Self::Closed, Self::ClosedHalfway, Self::Unread, Self::Null, Self::File, Self::Full];

    pub(crate) fn attach(self, command: &mut Command) -> AttachedStderr {
        match self {
            Self::Read => {
                let (reader, writer) = io::pipe().unwrap();
                command.stderr(writer);
                AttachedStderr::Output(Output::Stream(Stream::new(reader)))
            }
            Self::Closed | Self::ClosedHalfway | Self::Unread => {
                let (reader, writer) = io::pipe().unwrap();
                command.stderr(writer);
                match self {
                    Self::Closed => AttachedStderr::Discarded,
                    Self::ClosedHalfway => AttachedStderr::UntilHalfTime(Some(reader)),
                    _ => AttachedStderr::Unread(reader),
                }
            }
            Self::Null => {
                command.stderr(Stdio::null());
                AttachedStderr::Discarded
            }
            Self::File => {
                let file = temporary_file();
                command.stderr(file.try_clone().unwrap());
                AttachedStderr::Output(Output::File(file))
            }
            // Only Linux and FreeBSD have such a device.
            Self::Full => {
                let full = File::options().write(true).open("/dev/full");
                command.stderr(full.map_or_else(|_| Stdio::null(), Stdio::from));
                AttachedStderr::Discarded
            }
        }
    }
}

pub(crate) enum AttachedStderr {
    Output(Output),
    UntilHalfTime(Option<io::PipeReader>),
    /// Keeps the pipe open.
    Unread(#[expect(dead_code, reason = "never read")] io::PipeReader),
    Discarded,
}

impl AttachedStderr {
    pub(crate) fn at_half_time(&mut self) {
        if let Self::UntilHalfTime(reader) = self {
            drop(reader.take());
        }
    }

    /// What arrived, if anything can.
    pub(crate) fn text(&mut self) -> Option<String> {
        match self {
            Self::Output(output) => Some(output.text()),
            _ => None,
        }
    }
}

/// Reads on a thread, so that the writer never waits.
pub(crate) struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Stream {
    fn new(mut reader: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&bytes);
        let thread = thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The error of a terminal whose other end is closed is an end as well.
            while let Ok(len @ 1..) = reader.read(&mut buffer) {
                read.lock().unwrap().extend_from_slice(&buffer[..len]);
            }
        });
        Self { bytes, thread: Some(thread) }
    }

    fn finish(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn contents(file: &mut File) -> String {
    // The server shares the position, but appends wherever it is.
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    text(&bytes)
}

/// Terminals turn line feeds into CRLF.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n")
}

fn temporary_file() -> File {
    use std::sync::atomic::{AtomicUsize, Ordering};

    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("wireline-stdio-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).append(true).create_new(true).open(&path).unwrap();
    fs::remove_file(path).unwrap();
    file
}

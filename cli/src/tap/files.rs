//! The files of a tap: its log and its recording.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::recording::{DETECTION_LEN, is_recording};

/// How long the session waits for whoever reads its recording.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens a log for appending.
pub(super) fn open_log(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

/// Opens a recording for appending, locks it, and makes sure that a new line starts.
pub(super) fn open_recording(path: &Path) -> io::Result<File> {
    if path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        return open_named_pipe(path);
    }
    let is_file = path.metadata().map_or(true, |metadata| metadata.is_file());
    // A recording may hold secrets. The mode of a file that exists already stays as it is.
    let mut file = File::options().create(true).read(is_file).append(true).mode(0o600).open(path)?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(io::Error::other("another `wireline tap` is recording to it"));
    }
    if is_file && !may_be_appended_to(&file)? {
        return Err(io::Error::other("the file exists and is not a recording"));
    }
    if is_file && file.seek(SeekFrom::End(-1)).is_ok() {
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

/// Opens a named pipe as soon as it has a reader.
fn open_named_pipe(path: &Path) -> io::Result<File> {
    // Not for reading as well: the tap would not notice when the reader leaves.
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let started = Instant::now();
    loop {
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(pipe) => return Ok(pipe.into()),
            Err(Errno::NXIO) if started.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            Err(Errno::NXIO) => {
                let seconds = PATIENCE.as_secs();
                return Err(io::Error::other(format!("nobody has opened the named pipe for reading for {seconds} s")));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Writes to a recording, and waits at most [`PATIENCE`] for whoever reads it.
pub(super) struct RecordingFile(pub(super) File);

impl Write for RecordingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let timeout = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
                    if poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], Some(&timeout)) == Ok(0) {
                        let seconds = PATIENCE.as_secs();
                        return Err(io::Error::other(format!("its reader has taken nothing for {seconds} s")));
                    }
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Whether a file is empty or a recording.
fn may_be_appended_to(file: &File) -> io::Result<bool> {
    let mut start = [0; DETECTION_LEN];
    let len = file.read_at(&mut start, 0)?;
    Ok(len == 0 || is_recording(&start[..len]))
}

/// Fails if the log and the recording are one regular file.
pub(super) fn ensure_distinct(log: &File, recording: &File) -> io::Result<()> {
    let (log, recording) = (log.metadata()?, recording.metadata()?);
    match recording.is_file() && (log.dev(), log.ino()) == (recording.dev(), recording.ino()) {
        true => Err(io::Error::other("--log names the same file")),
        false => Ok(()),
    }
}

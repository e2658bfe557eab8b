//! The files of a tap: its log and its recording.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use super::sys;
use crate::recording::{DETECTION_LEN, is_recording};

/// How long the session waits for whoever reads its recording.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a recording cannot be opened that another process has opened for writing.
pub(super) const RECORDED_BY_ANOTHER: &str = "another `wireline tap` is recording to it";

/// Opens a log for appending.
pub(super) fn open_log(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

/// Opens a recording for appending, locks it, and makes sure that a new line starts.
pub(super) fn open_recording(path: &Path) -> io::Result<File> {
    if let Some(pipe) = sys::open_named_pipe(path, PATIENCE) {
        return pipe;
    }
    let is_file = path.metadata().map_or(true, |metadata| metadata.is_file());
    let mut file = sys::open_exclusively(path, is_file)?;
    if is_file && !may_be_appended_to(&mut file)? {
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

/// Whether a file is empty or a recording.
fn may_be_appended_to(file: &mut File) -> io::Result<bool> {
    let mut start = Vec::new();
    file.take(DETECTION_LEN as u64).read_to_end(&mut start)?;
    Ok(start.is_empty() || is_recording(&start))
}

/// Writes to a recording, and waits at most [`PATIENCE`] for whoever reads it.
pub(super) struct RecordingFile(pub(super) File);

impl Write for RecordingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !sys::is_writable_within(&self.0, PATIENCE) {
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

/// Fails if the log and the recording are one regular file.
pub(super) fn ensure_distinct(log: &File, recording: &File) -> io::Result<()> {
    match recording.metadata()?.is_file() && sys::is_same_file(log, recording)? {
        true => Err(io::Error::other("--log names the same file")),
        false => Ok(()),
    }
}

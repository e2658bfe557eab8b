//! The files of a tap: its log and its recording.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::sys;

/// Why a recording cannot be opened that another process has opened for writing.
pub(super) const RECORDED_BY_ANOTHER: &str = "another `wireline tap` is recording to it";

/// Opens a log for appending.
pub(super) fn open_log(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

/// Opens a recording for appending, locks it, and makes sure that a new line starts.
pub(super) fn open_recording(path: &Path) -> io::Result<File> {
    // A named pipe must not be opened for reading as well: the tap would not notice when its reader leaves.
    let is_file = path.metadata().map_or(true, |metadata| metadata.is_file());
    let mut file = sys::open_exclusively(path, is_file)?;
    if is_file && file.seek(SeekFrom::End(-1)).is_ok() {
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

/// Fails if the log and the recording are one regular file.
pub(super) fn ensure_distinct(log: &File, recording: &File) -> io::Result<()> {
    match recording.metadata()?.is_file() && sys::is_same_file(log, recording)? {
        true => Err(io::Error::other("--log names the same file")),
        false => Ok(()),
    }
}

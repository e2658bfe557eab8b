//! The files of a tap: its log and its recording.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Opens a log for appending.
pub(super) fn open_log(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

/// Opens a recording for appending, locks it, and makes sure that a new line starts.
pub(super) fn open_recording(path: &Path) -> io::Result<File> {
    // A named pipe must not be opened for reading as well: the tap would not notice when its reader leaves.
    let is_file = path.metadata().map_or(true, |metadata| metadata.is_file());
    let mut file = File::options().create(true).read(is_file).append(true).open(path)?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(io::Error::other("another `wireline tap` is recording to it"));
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

/// Fails if the log and the recording are one regular file.
pub(super) fn ensure_distinct(log: &File, recording: &File) -> io::Result<()> {
    let (log, recording) = (log.metadata()?, recording.metadata()?);
    match recording.is_file() && (log.dev(), log.ino()) == (recording.dev(), recording.ino()) {
        true => Err(io::Error::other("--log names the same file")),
        false => Ok(()),
    }
}

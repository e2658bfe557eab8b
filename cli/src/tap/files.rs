//! The files of a tap: its log and its recording.
//!
//! Whatever is wrong with one of them is told, and the session goes on without it: a tap never keeps a server from
//! working.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::names::{expand, neighbours};
use super::sys;
use crate::output::report_error;
use crate::recording::{DETECTION_LEN, is_recording};
use crate::terminal::escape;

/// How long the session waits for whoever reads its recording or its log.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a recording cannot be opened that another process has opened for writing. The error's kind is
/// [`ErrorKind::ResourceBusy`].
pub(crate) const RECORDED_BY_ANOTHER: &str = "another `wireline` is recording to it";

/// The files that could be opened.
pub(crate) struct Files {
    pub(crate) log: LogFile,
    pub(crate) recording: Option<NamedFile>,
}

pub(crate) enum LogFile {
    /// Standard error.
    Stderr,
    File(NamedFile),
    /// The file that should have it cannot be opened.
    Missing,
}

pub(crate) struct NamedFile {
    pub(crate) file: File,
    /// Escaped, for messages.
    pub(crate) name: String,
}

impl Files {
    /// Opens the files with these names, which may have placeholders. For the recording, there may be an error instead.
    pub(crate) fn open(log: Option<&Path>, recording: Option<io::Result<PathBuf>>) -> Self {
        let log = match log.map(expand) {
            None => LogFile::Stderr,
            Some(path) => match open_log(&path) {
                Ok(file) => LogFile::File(NamedFile { file, name: escaped(&path) }),
                Err(error) => {
                    let place = place(&path);
                    report_error(&format!("cannot open the log {place}: {error}; the session goes on without a log"));
                    LogFile::Missing
                }
            },
        };
        let recording = recording.and_then(|path| {
            let path = path.map(|path| expand(&path));
            let opened = match &path {
                Ok(path) => open_recording(path, &log),
                Err(error) => Err(io::Error::other(error.to_string())),
            };
            match opened {
                Ok(recording) => Some(recording),
                Err(error) => {
                    let place = path.map_or_else(|_| "the folder of recordings".to_owned(), |path| place(&path));
                    report_error(&format!("cannot record to {place}: {error}; the session goes on unrecorded"));
                    None
                }
            }
        });
        Self { log, recording }
    }
}

/// Opens a log for appending.
fn open_log(path: &Path) -> io::Result<File> {
    match sys::open_named_pipe(path, PATIENCE) {
        Some(pipe) => pipe,
        None => File::options().create(true).append(true).open(path),
    }
}

/// Opens a recording, or a numbered neighbour of it that no other tap records to.
fn open_recording(path: &Path, log: &LogFile) -> io::Result<NamedFile> {
    let is_in_use =
        |opened: &io::Result<File>| opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::ResourceBusy);
    let mut tried = neighbours(path).map(|path| (open_for_appending(&path), path));
    let mut first_error = None;
    let (opened, actual) = tried
        .find_map(|(opened, actual)| match is_in_use(&opened) {
            true => {
                first_error = first_error.take().or(opened.err());
                None
            }
            false => Some((opened, actual)),
        })
        .unwrap_or_else(|| (Err(first_error.unwrap_or(ErrorKind::ResourceBusy.into())), path.to_owned()));
    let file = opened?;
    if let LogFile::File(log) = log {
        ensure_distinct(&log.file, &file)?;
    }
    let name = escaped(&actual);
    if actual != path {
        report_error(&format!("{}: {RECORDED_BY_ANOTHER}, so this session is recorded to {name}", escaped(path)));
    }
    Ok(NamedFile { file, name })
}

/// Opens a recording for appending, locks it, and makes sure that a new line starts.
fn open_for_appending(path: &Path) -> io::Result<File> {
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

/// Fails if the log and the recording are one regular file.
fn ensure_distinct(log: &File, recording: &File) -> io::Result<()> {
    match recording.metadata()?.is_file() && sys::is_same_file(log, recording)? {
        true => Err(io::Error::other("--log names the same file")),
        false => Ok(()),
    }
}

fn escaped(path: &Path) -> String {
    escape(path.as_os_str().as_encoded_bytes())
}

/// A path for messages, with the directory that a relative one starts from: a client may start its servers anywhere.
fn place(path: &Path) -> String {
    let directory = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    match path.is_absolute() {
        true => escaped(path),
        false => format!("{} in {}", escaped(path), escaped(&directory())),
    }
}

/// Writes to a recording, and waits at most [`PATIENCE`] for whoever reads it.
pub(crate) struct RecordingFile(pub(crate) File);

impl Write for RecordingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
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

//! The files and streams that commands read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::recording;
use crate::terminal::{escape, escape_end};

/// How much to read at once, by measurement: it is still in the cache when it is decoded.
pub(crate) const READ_LEN: usize = 128 << 10;

const STDIN: &str = "<stdin>";

/// A file or standard input, as named on the command line.
pub(crate) enum Source {
    File(PathBuf),
    Stdin,
}

impl Source {
    /// The sources that the arguments name: standard input for `-`, or if there are none.
    pub(crate) fn all(files: &[PathBuf]) -> Vec<Self> {
        if files.is_empty() {
            return vec![Self::Stdin];
        }
        let source = |file: &PathBuf| if file == Path::new("-") { Self::Stdin } else { Self::File(file.clone()) };
        files.iter().map(source).collect()
    }

    pub(crate) fn open(&self) -> io::Result<Input> {
        let Self::File(path) = self else { return Input::from_stream(io::stdin().lock()) };
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Input::from_stream(file);
        }
        let mut start = [0; recording::DETECTION_LEN];
        let len = read_at(&file, &mut start, 0).unwrap_or(0);
        // On Windows, reading at an offset moves the cursor.
        #[cfg(windows)]
        io::Seek::rewind(&mut &file)?;
        Ok(match recording::is_recording(&start[..len]) {
            true => Input::Recording(Box::new(BufReader::with_capacity(READ_LEN, file))),
            false => Input::File { file, len: metadata.len() },
        })
    }

    /// The length in bytes, if it is known before reading.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Self::File(path) => path.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len()),
            Self::Stdin => None,
        }
    }

    /// The unescaped name, for machines.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Stdin => STDIN.to_owned(),
        }
    }

    /// The name, escaped for a terminal.
    pub(crate) fn escaped_name(&self) -> String {
        match self {
            Self::File(path) => escape(path.as_os_str().as_encoded_bytes()),
            Self::Stdin => STDIN.to_owned(),
        }
    }

    /// The end of the escaped name that fits into `columns`.
    pub(crate) fn escaped_name_within(&self, columns: usize) -> String {
        match self {
            Self::File(path) => escape_end(path.as_os_str().as_encoded_bytes(), columns),
            Self::Stdin => STDIN.to_owned(),
        }
    }
}

/// A source, opened for reading.
pub(crate) enum Input {
    /// A regular file, which can be read at any offset, and its length when it was opened.
    File { file: File, len: u64 },
    /// A pipe, a terminal or a device.
    Stream(Box<dyn Read>),
    /// A recording that `wireline tap` wrote.
    Recording(Box<dyn BufRead>),
}

impl Input {
    fn from_stream(mut stream: impl Read + 'static) -> io::Result<Self> {
        let mut start = Vec::new();
        // Plain traffic is recognised by its first bytes, so a slow writer's first message is not held back.
        while start.len() < recording::DETECTION_LEN && recording::may_be_recording(&start) {
            let mut more = [0; recording::DETECTION_LEN];
            match read_retrying(&mut stream, &mut more)? {
                0 => break,
                len => start.extend_from_slice(&more[..len]),
            }
        }
        let is_recording = recording::is_recording(&start);
        let stream = io::Cursor::new(start).chain(stream);
        Ok(match is_recording {
            true => Self::Recording(Box::new(BufReader::with_capacity(READ_LEN, stream))),
            false => Self::Stream(Box::new(stream)),
        })
    }
}

/// Reads once, and again if a signal interrupts it.
pub(crate) fn read_retrying(input: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Whether [`read_at`] works on this system.
pub(crate) const CAN_READ_AT: bool = cfg!(any(unix, windows));

/// Reads at an offset, without regard to the file's cursor.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, buffer, offset);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, buffer, offset);
    #[cfg(not(any(unix, windows)))]
    return Err(io::ErrorKind::Unsupported.into());
}
